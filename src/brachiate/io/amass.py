"""AMASS and what looks like it: NumPy archives with rotations of SMPL's joints as vectors, and the place of the body, frame by frame.

Joints and what they hang on are SMPL's, SMPL-H's or SMPL-X's; how long the bones are is not in the file. They come from a file of the
user's, or are those of a standard person [DL]. At rest the body looks along z with y up; the world it moves in has z up, so the root
is turned from one to the other even where somebody just stands.
"""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path

import numpy as np

from brachiate import rotations, validation
from brachiate.assumptions import Guess
from brachiate.clip.clip import Clip, Origin
from brachiate.clip.units_and_axes import AXES, STANDING, permuted, permuted_turns
from brachiate.errors import FileFormatError, MotionError, MotionFileError
from brachiate.io.archive import arrays, names_in
from brachiate.io.motion_text import LARGEST, read_bytes, stride
from brachiate.io.smpl import ANKLE, LAYOUTS, MODELS, MOST_UNPACKED, Bones, checked, given_by, listed, skeleton_of, standard
from brachiate.model import anthropometry
from brachiate.validation import Array

#: Where the pelvis of an average body rests along the file's axes [m]: places in the file are counted from there.
PELVIS = {True: (0.0, -0.35, 0.012), False: (0.0, -0.22, 0.028)}  # of SMPL-X, and of those before it
RATES = ("mocap_framerate", "mocap_frame_rate", "mocap_fps", "fps")
PARTS = {"root_orient": 3, "pose_body": 63, "pose_hand": 90}  # what poses are in some files
USED = ("poses", "trans", "betas", *PARTS, *RATES)
MOST_TURN = 1000.0  # [rad]
USUAL, TALLEST, SMALLEST = 1.75, 2.2, 1.2  # [m] statures
UPRIGHT = 0.35  # of the stature: feet farther below the pelvis than this carry it
CARRIED = 10.0  # [%] of such frames have the pelvis lower over its feet than the others: those in which they stand
SEEN = 400  # frames are enough to find out how tall somebody is


def has_motion(names: list[str]) -> bool:
    """Whether these are the names of the arrays in such a file."""
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
    """Read such a file; the clip comes in metres with z up, and need not be settled.

    Args:
        path: The file.
        skeleton: Where joints are at rest along the body's axes (x left, y up, z forward) [m]: JSON with three numbers for each joint by
            name, an archive with ``J`` in the order of the joints, or the archive of a body model (``J_regressor``, ``v_template``,
            ``shapedirs``), which takes the file's ``betas``. By default those of a standard person.
        height: Of the standard person [m]; by default such that the feet stand on the ground, at height 0.
        up: Axis of the file's world that points upwards; by default found from how the body stands.
        rate: Frames a second, if the file does not say it.
        frames: Some of the frames.
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
    """The clip of a file's bytes; ``where`` names it in messages."""
    content = _content(data, where)
    poses, count = _poses(content, where)
    place = checked(content, "trans", (len(poses), 3), LARGEST, where)
    speed = _rate(content, rate, where) / stride(frames)
    if frames is not None:
        poses, place = poses[frames], place[frames]
    if not len(poses):
        raise MotionFileError(f"{where} has no frames, or none of those asked for. A motion has one at least.")
    guesses: list[Guess] = []
    _tell_gender(data, where, guesses)
    if count == 55:
        guesses.append(Guess("face", "left out", "jaw and eyes are no joints of a body"))
    body = given_by(Path(skeleton), content, where) if skeleton is not None else standard()
    names = [name for name in LAYOUTS[count] if name in body.rest]
    q = rotations.from_vector(poses[:, [LAYOUTS[count].index(name) for name in names]])
    up = _up(q[:, 0], up, guesses)
    # W R Pᵀ: from the body's axes at rest as we have them back to the file's, turned there, and to ours of the world.
    P, W = (np.eye(3)[list(AXES[axis])] for axis in ("y", up))
    q = permuted_turns(q, "y")
    q[:, 0] = rotations.product(rotations.from_matrix(W @ P.T), q[:, 0])
    start = body.pelvis if body.pelvis is not None else np.array(PELVIS[count == 55])
    roots = permuted(place + start, up)
    if skeleton is None:
        body = body.scaled(_height(height, names, body, q, roots, guesses))
        guesses.insert(0, Guess("skeleton", "a standard person's", "the file has no bones, only how they turn", "skeleton"))
    bones = skeleton_of(names, body)
    places = np.broadcast_to(bones.offsets, (len(q), len(bones), 3)).copy()
    places[:, 0] = roots
    times = np.arange(len(q)) / speed
    return Clip(bones, times, q, places, Path(where).stem, tuple(guesses), Origin("AMASS", up=up))


# --- what is in the file ------------------------------------------------------------------------


def _content(data: bytes, where: str) -> dict[str, Array]:
    try:
        names = names_in(data, where, "a motion of AMASS")
        if not has_motion(names):
            raise MotionFileError(f"{where} is no motion of AMASS: it has no arrays named 'poses' and 'trans', but {listed(names)}.")
        return arrays(data, where, "a motion of AMASS", USED, MOST_UNPACKED)
    except FileFormatError as error:
        raise MotionFileError(str(error)) from None


def _poses(content: Mapping[str, Array], where: str) -> tuple[Array, int]:
    """Rotation vectors [rad] of all joints, (f, n, 3), and how many joints a row has."""
    if "poses" in content:
        shape = content["poses"].shape
        if len(shape) != 2 or shape[1] not in [3 * n for n in LAYOUTS]:
            known = ", ".join(f"{3 * n} ({name})" for n, name in MODELS.items())
            raise MotionFileError(f"{where}: 'poses' has the shape {shape}; rows of {known} numbers were expected.")
        rows = checked(content, "poses", shape, MOST_TURN, where)
    else:
        if "root_orient" not in content:
            raise MotionFileError(f"{where} has 'pose_body' and no 'root_orient': how the pelvis is turned is missing.")
        f = content["pose_body"].shape[0] if content["pose_body"].ndim else 0
        rows = np.concatenate(
            [checked(content, name, (f, width), MOST_TURN, where) for name, width in PARTS.items() if name in content], axis=1
        )
    return rows.reshape(len(rows), rows.shape[1] // 3, 3), rows.shape[1] // 3


def _rate(content: Mapping[str, Array], given: float | None, where: str) -> float:
    name = next((name for name in RATES if name in content), None)
    if name is None:
        if given is None:
            raise MotionFileError(f"{where} does not say how many frames a second it has ({', '.join(RATES)}). Say it: rate=120.")
        return validation.number(given, "rate", least=1e-3, most=1e5)
    if content[name].size != 1:
        raise MotionFileError(f"{where}: {name!r} has the shape {content[name].shape}; one number was expected.")
    rate = float(checked({name: content[name].reshape(())}, name, (), 1e5, where))
    if rate < 1e-3:
        raise MotionFileError(f"{where}: {rate:g} frames a second cannot be.")
    if given is not None and abs(validation.number(given, "rate") - rate) > 1e-6 * rate:
        raise MotionFileError(f"{where} says that it has {rate:g} frames a second, and rate={given:g} was given. Leave the rate out.")
    return rate


def _tell_gender(data: bytes, where: str, guesses: list[Guess]) -> None:
    """Files have it as text or as bytes, in an array of none or one dimension; some as an object, which is passed over."""
    try:
        word = arrays(data, where, "a motion of AMASS", ("gender",), MOST_UNPACKED)["gender"].ravel()
    except (FileFormatError, KeyError):
        return
    if word.size == 1 and word.dtype.kind in "US":
        text = word[0].decode("latin-1") if isinstance(word[0], bytes) else str(word[0])
        if "female" in text[:40].lower():
            guesses.append(Guess("gender", "female", "the file says so; masses are those of men unless the sex is said", "sex"))


def _up(root: Array, given: str | None, guesses: list[Guess]) -> str:
    if given is not None:
        if given not in AXES:
            raise MotionError(f"up={given!r} is none of 'x', 'y', 'z': the axis of the file that points upwards.")
        return given
    mean = rotations.turned(root, np.array((0.0, 1.0, 0.0))).mean(axis=0)
    up = "y" if mean[1] > STANDING else "z"
    upright = mean["xyz".index(up)] > STANDING
    why = f"the trunk points along it, {mean['xyz'.index(up)]:.2f} of the way on the average" if upright else "files of AMASS have it so"
    guesses.append(Guess("up axis", up, why, "up"))
    return up


def _height(given: float | None, names: list[str], body: Bones, q: Array, roots: Array, guesses: list[Guess]) -> float:
    """Stature [m]: as given, or that with which the feet stand on the ground."""
    if given is not None:
        return validation.number(given, "height", least=anthropometry.HEIGHTS[0], most=anthropometry.HEIGHTS[1])
    some = np.unique(np.linspace(0, len(q) - 1, SEEN).astype(int))
    skeleton = skeleton_of(names, body)
    places = np.broadcast_to(skeleton.offsets, (len(some), len(names), 3)).copy()
    clip = Clip(skeleton, np.arange(len(some)), q[some], places)
    # By ankles, not by toes, which many a motion pushes into the ground.
    ankles = [skeleton.index(f"{side}_ankle") for side in ("left", "right")]
    low = ANKLE - clip.positions[:, ankles, 2].min(axis=1)
    stands = low > UPRIGHT
    if stands.any():
        height = float(np.percentile(roots[some, 2][stands] / low[stands], CARRIED))
        if SMALLEST < height < TALLEST:
            guesses.append(Guess("size", f"a person of {height:.2f} m", "the feet then stand on the ground, where height is 0", "height"))
            return height
    guesses.append(
        Guess("size", f"a person of {USUAL:.2f} m", "the usual one: the feet are nowhere near the ground, where height is 0", "height")
    )
    return USUAL
