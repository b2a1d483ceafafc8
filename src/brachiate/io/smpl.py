"""SMPL skeletons: joints in the order of the files, and their rest positions, of a standard person [DL] or from a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from brachiate import validation
from brachiate.clip.skeleton import End, Skeleton
from brachiate.clip.units_and_axes import to_z_up
from brachiate.errors import FileFormatError, MotionFileError
from brachiate.io.archive import array_names, read_arrays
from brachiate.io.json_text import parse_json
from brachiate.io.limits import MAX_JSON_SIZE, MAX_MAGNITUDE
from brachiate.io.motion_text import read_bytes, read_text
from brachiate.model import anthropometry
from brachiate.validation import Array

#: Parents of the body joints, in the order of all of these files.
BODY: Mapping[str, str] = {
    "pelvis": "", "left_hip": "pelvis", "right_hip": "pelvis", "spine1": "pelvis", "left_knee": "left_hip", "right_knee": "right_hip",
    "spine2": "spine1", "left_ankle": "left_knee", "right_ankle": "right_knee", "spine3": "spine2", "left_foot": "left_ankle",
    "right_foot": "right_ankle", "neck": "spine3", "left_collar": "spine3", "right_collar": "spine3", "head": "neck",
    "left_shoulder": "left_collar", "right_shoulder": "right_collar", "left_elbow": "left_shoulder", "right_elbow": "right_shoulder",
    "left_wrist": "left_elbow", "right_wrist": "right_elbow",
}  # fmt: skip
FINGERS = ("index", "middle", "pinky", "ring", "thumb")
HANDS = tuple(f"{side}_{finger}{k}" for side in ("left", "right") for finger in FINGERS for k in (1, 2, 3))
#: Joints of a row, by their number; those of the face are ignored.
LAYOUTS: Mapping[int, tuple[str, ...]] = {
    22: tuple(BODY),
    24: (*BODY, "left_hand", "right_hand"),
    52: (*BODY, *HANDS),
    55: (*BODY, "jaw", "left_eye", "right_eye", *HANDS),
}
MODELS = {22: "SMPL's body", 24: "SMPL", 52: "SMPL-H", 55: "SMPL-X"}
_OTHERS = ("left_hand", "right_hand", *HANDS)
MAX_UNPACKED_SIZE = 2**30  # bytes
ANKLE = 0.039  # height of the ankle, as a share of the stature [DC]
LENGTH_RANGE = (0.01, 3.0)  # [m] minimum length of legs, maximum distance of joints from the pelvis at rest
#: Fingers, as shares of the hand length: lateral position, first and last joint.
_FINGERS = {"index": (0.13, 0.5, 0.95), "middle": (0.0, 0.5, 1.0), "pinky": (-0.22, 0.45, 0.75), "ring": (-0.12, 0.48, 0.95)}
_FINGERS |= {"thumb": (0.2, 0.15, 0.6)}


def list_names(names: list[str]) -> str:
    """Names for a message, truncated."""
    return ", ".join(name[:30] for name in names[:8]) + (", ..." if len(names) > 8 else "") if names else "none at all"


def checked_array(content: Mapping[str, Array], name: str, shape: tuple[int, ...], largest: float, where: str) -> Array:
    """Return an array of finite numbers of this shape, none beyond ``largest``; raise an error otherwise."""
    array = content[name]
    if array.dtype.kind not in "fiu" or array.shape != shape:
        expected = " x ".join(map(str, shape)) or "one"
        raise MotionFileError(f"{where}: {name!r} is {array.dtype} of the shape {array.shape}; {expected} numbers were expected.")
    values = array.astype(float)
    wrong = ~(np.abs(values) <= largest)  # NaN too
    if wrong.any():
        at = tuple(int(k) for k in np.argwhere(wrong)[0]) if shape else ()
        row = f" (row {at[0]})" if len(at) > 1 else ""
        raise MotionFileError(f"{where}: a number in {name!r}{row} is {values[at]:g}, which is not a finite number up to {largest:g}.")
    return values


@dataclass(frozen=True)
class Bones:
    """Rest positions of joints and limb tips, z up, relative to the pelvis [m]."""

    rest: Mapping[str, Array]
    tips: Mapping[str, Array]  # relative to their joint
    pelvis: Array | None = None  # in axes of the file, relative to the origin of root positions

    def scaled(self, factor: float) -> Bones:
        """Return the bones scaled by a factor."""
        rest, tips = ({name: factor * x for name, x in table.items()} for table in (self.rest, self.tips))
        return Bones(rest, tips, self.pelvis)


def _parent(name: str) -> str:
    if name in BODY:
        return BODY[name]
    side, _, part = name.partition("_")
    return f"{side}_wrist" if part == "hand" or part.endswith("1") else f"{name[:-1]}{int(name[-1]) - 1}"


def make_skeleton(names: list[str], body: Bones) -> Skeleton:
    """Return the skeleton of these joints, the pelvis first."""
    parents = tuple(names.index(_parent(name)) if _parent(name) else -1 for name in names)
    offsets = np.array([body.rest[name] - (body.rest[_parent(name)] if _parent(name) else 0.0) for name in names])
    offsets[0] = 0.0
    tips = {name: tip for name, tip in body.tips.items() if name in names and not any(_parent(other) == name for other in names)}
    return Skeleton(tuple(names), parents, offsets, tuple(End(names.index(name), tip) for name, tip in tips.items()))


def standard_bones() -> Bones:
    """T-pose of a person of one meter stature: lengths of limbs and trunk after de Leva [DL], the rest estimated."""
    length = {name: anthropometry.segment(name, 1.0).length for name in ("thigh", "shank", "upper_arm", "forearm", "foot")}
    neck, shoulder, hand = (anthropometry.distance(name, 1.0) for name in ("neck_to_hips", "shoulders_to_hips", "wrist_to_fingertip"))
    # The pelvis is above the hips such that its height is that of SMPL, 0.547 of the stature; the toe joint is above the sole.
    hips, sole = 0.017, 0.012
    trunk = neck - hips
    rest: dict[str, Any] = {"pelvis": (0, 0, 0), "spine1": (-0.01, 0, 0.21 * trunk), "spine2": (-0.012, 0, 0.47 * trunk)}
    rest |= {"spine3": (-0.01, 0, 0.58 * trunk), "neck": (-0.015, 0, trunk), "head": (0.0, 0, trunk + 0.045)}
    tips: dict[str, Any] = {"head": (0.0, 0.0, 0.105)}
    for side, s in (("left", 1.0), ("right", -1.0)):
        leg = {"hip": (0, s * 0.048, -hips), "knee": (0, s * 0.048, -hips - length["thigh"])}
        bottom = -hips - length["thigh"] - length["shank"]
        leg |= {"ankle": (0, s * 0.048, bottom), "foot": (0.45 * length["foot"], s * 0.052, bottom - ANKLE + sole)}
        high, reach = shoulder - hips, 0.110
        arm = {"collar": (-0.01, s * 0.035, high - 0.01), "shoulder": (-0.01, s * reach, high)}
        arm |= {"elbow": (-0.01, s * (reach + length["upper_arm"]), high)}
        wrist = reach + length["upper_arm"] + length["forearm"]
        arm |= {"wrist": (-0.01, s * wrist, high), "hand": (-0.01, s * (wrist + 0.45 * hand), high)}
        rest |= {f"{side}_{joint}": place for joint, place in (leg | arm).items()}
        tips |= {
            f"{side}_foot": (0.28 * length["foot"], 0, -sole),
            f"{side}_hand": (0, s * 0.55 * hand, 0),
            f"{side}_wrist": (0, s * hand, 0),
        }
        for finger, (ahead, start, end) in _FINGERS.items():
            for k in (1, 2, 3):
                out = wrist + hand * (start + (k - 1) / 3 * (end - start))
                rest[f"{side}_{finger}{k}"] = (-0.01 + hand * ahead, s * out, high)
            tips[f"{side}_{finger}3"] = (0, s * hand * (end - start) / 3, 0)
    return Bones({k: np.array(x, float) for k, x in rest.items()}, {k: np.array(x, float) for k, x in tips.items()})


def bones_from_file(path: Path, content: Mapping[str, Array], where: str) -> Bones:
    """Return bones from a file given by the user."""
    rest = _from_json(path) if path.suffix.lower() == ".json" else _from_archive(path, content, where)
    missing = [name for name in BODY if name not in rest]
    if missing:
        raise MotionFileError(f"{path}: the skeleton lacks {list_names(missing)}. All {len(BODY)} joints of the body are needed.")
    rest = {name: rest[name] for name in (*BODY, *_OTHERS) if name in rest}
    for name in _OTHERS:  # from the knuckles outward
        if name in rest and _parent(name) not in rest:
            del rest[name]
    away = {name: x - rest["pelvis"] for name, x in rest.items()}
    far = max(away, key=lambda name: float(np.abs(away[name]).max()))
    legs = [float(np.linalg.norm(rest[f"{side}_hip"] - rest[f"{side}_ankle"])) for side in ("left", "right")]
    if not np.abs(away[far]).max() < LENGTH_RANGE[1] or min(legs) < LENGTH_RANGE[0]:
        raise MotionFileError(
            f"{path}: {far!r} is {np.round(away[far], 2)} from the pelvis, and the legs are {min(legs):.3g} m long. Are these meters?"
        )
    usual = standard_bones()
    size = sum(legs) / 2 / float(np.linalg.norm(usual.rest["left_hip"] - usual.rest["left_ankle"]))
    return Bones({name: to_z_up(x, "y") for name, x in away.items()}, usual.scaled(size).tips, rest["pelvis"])


def _from_json(path: Path) -> dict[str, Array]:
    content = parse_json(read_text(path, MAX_JSON_SIZE), str(path), MotionFileError)
    if not isinstance(content, dict):
        raise MotionFileError(f'{path}: three numbers for each joint were expected, {{"pelvis": [0, 0.9, 0], ...}}.')
    return {name: _three(place, path, name) for name, place in content.items() if name in BODY or name in _OTHERS}


def _three(place: Any, path: Path, name: str) -> Array:
    right = isinstance(place, list) and len(place) == 3 and all(isinstance(x, int | float) and abs(x) <= MAX_MAGNITUDE for x in place)
    if not right:
        raise MotionFileError(f"{path}: {name!r} is {validation.short_repr(place)}; three finite numbers were expected.")
    return np.array(place, float)


def _from_archive(path: Path, content: Mapping[str, Array], where: str) -> dict[str, Array]:
    parts = ("J_regressor", "v_template", "shapedirs")
    try:
        data = read_bytes(path)
        names = array_names(data, str(path), "a skeleton")
        shaped = "betas" in content and all(part in names for part in parts)
        found = read_arrays(data, str(path), "a skeleton", parts if shaped else ("J",), MAX_UNPACKED_SIZE)
    except FileFormatError as error:
        raise MotionFileError(str(error)) from None
    if not found:
        raise MotionFileError(f"{path}: expected 'J', the rest positions of the joints, or {', '.join(parts)}; it has {list_names(names)}.")
    J = _shaped(found, content["betas"], path, where) if shaped else found["J"]
    if J.ndim != 2 or len(J) not in LAYOUTS:
        raise MotionFileError(f"{path}: joints at rest have the shape {J.shape}; {', '.join(map(str, LAYOUTS))} rows of 3 were expected.")
    places = checked_array({"J": J}, "J", (len(J), 3), MAX_MAGNITUDE, str(path))
    return dict(zip(LAYOUTS[len(J)], places, strict=True))


def _shaped(found: Mapping[str, Array], betas: Array, path: Path, where: str) -> Array:
    """Joint positions of a body model with shape parameters: regressed from its vertices."""
    regressor, vertices, directions = (found[name] for name in ("J_regressor", "v_template", "shapedirs"))
    rows, v = regressor.shape[:1], vertices.shape[0] if vertices.ndim == 2 else -1
    if regressor.ndim != 2 or directions.ndim != 3 or directions.shape[:2] != (v, 3):
        raise MotionFileError(f"{path}: J_regressor, v_template and shapedirs do not fit each other: {[found[k].shape for k in found]}.")
    regressor = checked_array(found, "J_regressor", (*rows, v), MAX_MAGNITUDE, str(path))
    vertices = checked_array(found, "v_template", (v, 3), MAX_MAGNITUDE, str(path))
    directions = checked_array(found, "shapedirs", directions.shape, MAX_MAGNITUDE, str(path))
    shape = betas[0] if betas.ndim == 2 and len(betas) else betas
    shape = checked_array({"betas": shape}, "betas", (shape.size,), 1e3, where)
    k = min(len(shape), directions.shape[2])
    return regressor @ (vertices + directions[..., :k] @ shape[:k])
