"""AMASS and similar files: NumPy archives with rotation vectors of SMPL joints and the root position, frame by frame.

The joint hierarchy is that of SMPL, SMPL-H or SMPL-X; bone lengths are not in the file. They come from a file given by the user, or are
those of a standard person [DL]. At rest the body faces z with y up, and the world has z up, so the root is rotated from one to the other
even in quiet standing.
"""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path

import numpy as np

from brachiate import rotations, validation
from brachiate.assumptions import Assumption
from brachiate.clip.clip import Clip, Origin
from brachiate.clip.units_and_axes import AXES, UPRIGHT_COSINE, rotations_to_z_up, to_z_up
from brachiate.errors import FileFormatError, MotionError, MotionFileError
from brachiate.io.archive import array_names, read_arrays
from brachiate.io.limits import MAX_MAGNITUDE
from brachiate.io.motion_text import frame_step, no_frames, read_bytes
from brachiate.io.smpl import (
    ANKLE,
    LAYOUTS,
    MAX_UNPACKED_SIZE,
    MODELS,
    Bones,
    bones_from_file,
    checked_array,
    list_names,
    make_skeleton,
    standard_bones,
)
from brachiate.model import anthropometry
from brachiate.validation import Array

#: Rest position of the pelvis of an average body in the axes of the file [m]: root positions in the file are relative to it.
PELVIS = {True: (0.0, -0.35, 0.012), False: (0.0, -0.22, 0.028)}  # of SMPL-X, and of those before it
RATES = ("mocap_framerate", "mocap_frame_rate", "mocap_fps", "fps")
PARTS = {"root_orient": 3, "pose_body": 63, "pose_hand": 90}  # arrays instead of poses, in some files
USED = ("poses", "trans", "betas", *PARTS, *RATES)
MAX_ROTATION = 1000.0  # [rad]
DEFAULT_STATURE, MAX_STATURE, MIN_STATURE = 1.75, 2.2, 1.2  # [m]
MIN_STANDING_HEIGHT = 0.35  # height of the pelvis above the feet in standing, as a share of the stature
STANDING_PERCENTILE = 10.0  # [%] of the ratio of root height to leg height over standing frames
MAX_STATURE_FRAMES = 400  # used to estimate the stature


def has_motion_arrays(names: list[str]) -> bool:
    """Whether array names are those of an AMASS motion."""
    return "trans" in names and ("poses" in names or "pose_body" in names)


def read_amass(
    path: str | PathLike[str],
    *,
    skeleton: str | PathLike[str] | None = None,
    height: float | None = None,
    up: str | None = None,
    rate: float | None = None,
    frames: slice | None = None,
) -> Clip:
    """Read an AMASS file; the clip is in meters with z up.

    Args:
        path: The file.
        skeleton: File with the rest positions of the joints in body axes (x left, y up, z forward) [m]: JSON with three numbers by joint
            name, an archive with ``J`` in the order of the joints, or the archive of a body model (``J_regressor``, ``v_template``,
            ``shapedirs``), which is shaped by the file's ``betas``. By default those of a standard person.
        height: Stature of the standard person [m]; by default such that the feet stand on the ground, at height 0.
        up: Axis of the file's world that points up; by default inferred from the posture.
        rate: Frames a second, if the file does not say it.
        frames: Selection of frames; by default all.
    """
    path = Path(path)
    return parse_amass(read_bytes(path), str(path), skeleton=skeleton, height=height, up=up, rate=rate, frames=frames)


def parse_amass(
    data: bytes,
    where: str,
    *,
    skeleton: str | PathLike[str] | None = None,
    height: float | None = None,
    up: str | None = None,
    rate: float | None = None,
    frames: slice | None = None,
) -> Clip:
    """Parse the bytes of an AMASS file; ``where`` names it in messages."""
    content = _content(data, where)
    poses, count = _poses(content, where)
    position = checked_array(content, "trans", (len(poses), 3), MAX_MAGNITUDE, where)
    sampling = _rate(content, rate, where) / frame_step(frames)
    total = len(poses)
    if frames is not None:
        poses, position = poses[frames], position[frames]
    if not len(poses):
        raise no_frames(where, frames, total)
    assumptions: list[Assumption] = []
    _note_gender(data, where, assumptions)
    if count == 55:
        assumptions.append(Assumption("face", "left out", "jaw and eyes are not joints of a body"))
    body = bones_from_file(Path(skeleton), content, where) if skeleton is not None else standard_bones()
    names = [name for name in LAYOUTS[count] if name in body.rest]
    q = rotations.from_rotation_vector(poses[:, [LAYOUTS[count].index(name) for name in names]])
    up = _up(q[:, 0], up, assumptions)
    # W R Pᵀ: from z-up body axes at rest to those of the file, rotated there, then to z-up world axes.
    P, W = (np.eye(3)[list(AXES[axis])] for axis in ("y", up))
    q = rotations_to_z_up(q, "y")
    q[:, 0] = rotations.product(rotations.from_matrix(W @ P.T), q[:, 0])
    start = body.pelvis if body.pelvis is not None else np.array(PELVIS[count == 55])
    roots = to_z_up(position + start, up)
    if skeleton is None:
        body = body.scaled(_height(height, names, body, q, roots, assumptions))
        assumptions.insert(
            0, Assumption("skeleton", "that of a standard person", "the file has rotations, but no bone lengths", "skeleton")
        )
    bones = make_skeleton(names, body)
    translations = np.broadcast_to(bones.offsets, (len(q), len(bones), 3)).copy()
    translations[:, 0] = roots
    times = np.arange(len(q)) / sampling
    return Clip(bones, times, q, translations, Path(where).stem, tuple(assumptions), Origin("AMASS", up=up))


# --- content of the file ------------------------------------------------------------------------


def _content(data: bytes, where: str) -> dict[str, Array]:
    try:
        names = array_names(data, where, "an AMASS motion")
        if not has_motion_arrays(names):
            raise MotionFileError(f"{where} is not an AMASS motion: it has no arrays named 'poses' and 'trans', but {list_names(names)}.")
        return read_arrays(data, where, "an AMASS motion", USED, MAX_UNPACKED_SIZE)
    except FileFormatError as error:
        raise MotionFileError(str(error)) from None


def _poses(content: Mapping[str, Array], where: str) -> tuple[Array, int]:
    """Rotation vectors [rad] of all joints (f, n, 3), and the number of joints."""
    if "poses" in content:
        shape = content["poses"].shape
        if len(shape) != 2 or shape[1] not in [3 * n for n in LAYOUTS]:
            known = ", ".join(f"{3 * n} ({name})" for n, name in MODELS.items())
            raise MotionFileError(f"{where}: 'poses' has the shape {shape}; rows of {known} numbers were expected.")
        rows = checked_array(content, "poses", shape, MAX_ROTATION, where)
    else:
        if "root_orient" not in content:
            raise MotionFileError(f"{where} has 'pose_body' but no 'root_orient': the orientation of the pelvis is missing.")
        f = content["pose_body"].shape[0] if content["pose_body"].ndim else 0
        rows = np.concatenate(
            [checked_array(content, name, (f, width), MAX_ROTATION, where) for name, width in PARTS.items() if name in content], axis=1
        )
    return rows.reshape(len(rows), rows.shape[1] // 3, 3), rows.shape[1] // 3


def _rate(content: Mapping[str, Array], given: float | None, where: str) -> float:
    name = next((name for name in RATES if name in content), None)
    if name is None:
        if given is None:
            raise MotionFileError(f"{where} does not state the frame rate ({', '.join(RATES)}). Give it: rate=120.")
        return validation.number(given, "rate", minimum=1e-3, maximum=1e5)
    if content[name].size != 1:
        raise MotionFileError(f"{where}: {name!r} has the shape {content[name].shape}; one number was expected.")
    rate = float(checked_array({name: content[name].reshape(())}, name, (), 1e5, where))
    if rate < 1e-3:
        raise MotionFileError(f"{where}: {rate:g} frames per second are not possible.")
    if given is not None and abs(validation.number(given, "rate") - rate) > 1e-6 * rate:
        raise MotionFileError(f"{where} states {rate:g} frames per second, and rate={given:g} was given. Leave the rate out.")
    return rate


def _note_gender(data: bytes, where: str, assumptions: list[Assumption]) -> None:
    """Note a female gender, which files have as text or bytes, in an array of zero or one dimension; objects are ignored."""
    try:
        word = read_arrays(data, where, "an AMASS motion", ("gender",), MAX_UNPACKED_SIZE)["gender"].ravel()
    except (FileFormatError, KeyError):
        return
    if word.size == 1 and word.dtype.kind in "US":
        text = word[0].decode("latin-1") if isinstance(word[0], bytes) else str(word[0])
        if "female" in text[:40].lower():
            assumptions.append(
                Assumption("gender", "female", "stated in the file; the mass distribution is male unless sex is given", "sex")
            )


def _up(root: Array, given: str | None, assumptions: list[Assumption]) -> str:
    if given is not None:
        if given not in AXES:
            raise MotionError(f"up={given!r} is not one of 'x', 'y', 'z': the axis of the file that points up.")
        return given
    mean = rotations.rotate(root, np.array((0.0, 1.0, 0.0))).mean(axis=0)
    up = "y" if mean[1] > UPRIGHT_COSINE else "z"
    upright = mean["xyz".index(up)] > UPRIGHT_COSINE
    why = f"the trunk points along it, {mean['xyz'.index(up)]:.2f} of the way on average" if upright else "as in AMASS files"
    assumptions.append(Assumption("up axis", up, why, "up"))
    return up


def _height(given: float | None, names: list[str], body: Bones, q: Array, roots: Array, assumptions: list[Assumption]) -> float:
    """Stature [m]: as given, or such that the feet stand on the ground."""
    if given is not None:
        return validation.number(given, "height", minimum=anthropometry.HEIGHTS[0], maximum=anthropometry.HEIGHTS[1])
    some = np.unique(np.linspace(0, len(q) - 1, MAX_STATURE_FRAMES).astype(int))
    skeleton = make_skeleton(names, body)
    translations = np.broadcast_to(skeleton.offsets, (len(some), len(names), 3)).copy()
    clip = Clip(skeleton, np.arange(len(some)), q[some], translations)
    # From the ankles, not the toes, which penetrate the ground in many motions.
    ankles = [skeleton.index(f"{side}_ankle") for side in ("left", "right")]
    low = ANKLE - clip.positions[:, ankles, 2].min(axis=1)
    stands = low > MIN_STANDING_HEIGHT
    if stands.any():
        height = float(np.percentile(roots[some, 2][stands] / low[stands], STANDING_PERCENTILE))
        if MIN_STATURE < height < MAX_STATURE:
            assumptions.append(
                Assumption("size", f"a person of {height:.2f} m", "the feet then stand on the ground, where height is 0", "height")
            )
            return height
    assumptions.append(
        Assumption("size", f"a person of {DEFAULT_STATURE:.2f} m", "default: the feet are not near the ground, where height is 0", "height")
    )
    return DEFAULT_STATURE
