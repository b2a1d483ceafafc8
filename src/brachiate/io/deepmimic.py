"""DeepMimic clips: JSON with rows of numbers for one known figure, ``humanoid3d``.

The file's x is forward, y up and z right, and lengths are meters. As nothing is left open, clips come settled: x forward, y left, z up.
The figure's joints and sizes are not in the file; they are those of DeepMimic's ``humanoid3d``. It has no joint between neck and head,
and no tips: a ``head`` that does not turn is put where its ball begins, and tips where the ball, the foot's box and the hand's end.
"""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from brachiate import rotations
from brachiate.assumptions import Assumption
from brachiate.clip.clip import Clip, Origin
from brachiate.clip.skeleton import End, Skeleton
from brachiate.errors import MotionFileError
from brachiate.io.json_text import parse_json
from brachiate.io.limits import MAX_JSON_SIZE, MAX_MAGNITUDE, MAX_NUMBERS
from brachiate.io.motion_text import read_text
from brachiate.validation import Array

#: Joints in the order of the file: name, parent, offset in axes of the file [m], and its count of numbers per row.
JOINTS = (
    ("root", "", (0.0, 0.0, 0.0), 4),
    ("chest", "root", (0.0, 0.236151, 0.0), 4),
    ("neck", "chest", (0.0, 0.223894, 0.0), 4),
    ("head", "neck", (0.0, 0.0725, 0.0), 0),
    ("right_hip", "root", (0.0, 0.0, 0.084887), 4),
    ("right_knee", "right_hip", (0.0, -0.421546, 0.0), 1),
    ("right_ankle", "right_knee", (0.0, -0.40987, 0.0), 4),
    ("right_shoulder", "chest", (-0.02405, 0.2435, 0.18311), 4),
    ("right_elbow", "right_shoulder", (0.0, -0.274788, 0.0), 1),
    ("right_wrist", "right_elbow", (0.0, -0.258947, 0.0), 0),
    ("left_hip", "root", (0.0, 0.0, -0.084887), 4),
    ("left_knee", "left_hip", (0.0, -0.421546, 0.0), 1),
    ("left_ankle", "left_knee", (0.0, -0.40987, 0.0), 4),
    ("left_shoulder", "chest", (-0.02405, 0.2435, -0.18311), 4),
    ("left_elbow", "left_shoulder", (0.0, -0.274788, 0.0), 1),
    ("left_wrist", "left_elbow", (0.0, -0.258947, 0.0), 0),
)
#: Limb tips: top of the head, and on both sides the toes and the end of the hand.
TIPS = {"head": (0.0, 0.205, 0.0), "ankle": (0.1335, -0.05, 0.0), "wrist": (0.0, -0.04, 0.0)}
WIDTH = 4 + sum(count for *_, count in JOINTS)  # frame duration, root position, rotations: 44
HINGE = 2  # axis of knees and elbows: z of the file
LOOPS = ("none", "wrap")
MIN_NORM, NORM_TOLERANCE = 0.1, 0.02  # of a quaternion; deviation from 1 above which it is reported
MAX_FRAME_DURATION = 1000.0  # [s]


def read_deepmimic(path: str | PathLike[str]) -> Clip:
    """Read a clip of DeepMimic's humanoid; it is in meters with x forward, y left and z up.

    Frames last as long as the file says; how long the last one does has no meaning. Whether the motion is a cycle is said
    by the assumption ``loop``: ``wrap`` or ``none``.
    """
    path = Path(path)
    return parse_deepmimic(read_text(path, MAX_JSON_SIZE), str(path))


def parse_deepmimic(text: str, where: str) -> Clip:
    """Parse the text of a DeepMimic file; ``where`` names it in messages."""
    content = _content(text, where)
    numbers = _rows(content.get("Frames"), where)
    loop = content.get("Loop", "none")
    if loop not in LOOPS:
        raise MotionFileError(f"{where}: 'Loop' is 'wrap' or 'none', not {str(loop)[:40]!r}.")
    names = tuple(name for name, *_ in JOINTS)
    parents = tuple(names.index(parent) if parent else -1 for _, parent, *_ in JOINTS)
    offsets = _to_z_up(np.array([place for _, _, place, _ in JOINTS]))
    tips = [(j, TIPS.get(name, TIPS.get(name.partition("_")[2]))) for j, name in enumerate(names)]
    skeleton = Skeleton(names, parents, offsets, tuple(End(j, _to_z_up(np.array(tip))) for j, tip in tips if tip))
    places = np.broadcast_to(offsets, (len(numbers), *offsets.shape)).copy()
    places[:, 0] = _to_z_up(numbers[:, 1:4])
    assumptions = [
        Assumption("loop", loop, "stated in the file" if "Loop" in content else "the file does not state it"),
        Assumption("skeleton", "humanoid3d", "the file has none, and its rows have the numbers of DeepMimic's figure"),
    ]
    times, q = _times(numbers[:, 0], where), _rotations(numbers, where, assumptions)
    return Clip(skeleton, times, q, places, Path(where).stem, tuple(assumptions), Origin("DeepMimic"))


def _content(text: str, where: str) -> dict[str, Any]:
    content = parse_json(text, where, MotionFileError)
    if not isinstance(content, dict) or "Frames" not in content:
        raise MotionFileError(f"{where}: a JSON object with 'Loop' and 'Frames' was expected, as DeepMimic's clips have.")
    return content


def _rows(frames: Any, where: str) -> Array:
    """Rows of 'Frames': (frames, 44)."""
    if not isinstance(frames, list) or not frames:
        raise MotionFileError(f"{where}: 'Frames' must be a list of rows of {WIDTH} numbers, at least one.")
    if len(frames) * WIDTH > MAX_NUMBERS:
        raise MotionFileError(f"{where}: {len(frames)} frames are more than can be read ({MAX_NUMBERS} numbers).")
    for k, row in enumerate(frames):
        if not isinstance(row, list) or len(row) != WIDTH:
            found = f"{len(row)} found" if isinstance(row, list) else f"{str(row)[:40]!r} found"
            columns = "duration, root position, and rotations of the 13 joints"
            raise MotionFileError(f"{where} frame {k}: {WIDTH} numbers expected ({columns}), {found}.")
        wrong = _first_invalid(row)
        if wrong is not None:
            raise MotionFileError(
                f"{where} frame {k}: {str(row[wrong])[:40]!r} is not a finite number up to {MAX_MAGNITUDE:g} (column {wrong})."
            )
    return np.array(frames, float)


def _first_invalid(row: Sequence[Any]) -> int | None:
    """Index of the first value that is not a finite number of valid magnitude; None if there is none."""
    for k, x in enumerate(row):
        if isinstance(x, bool) or not isinstance(x, int | float) or not -MAX_MAGNITUDE <= x <= MAX_MAGNITUDE:
            return k
    return None


def _times(durations: Array, where: str) -> Array:
    wrong = (durations[:-1] <= 1e-6) | (durations[:-1] > MAX_FRAME_DURATION)
    if wrong.any():
        k = int(np.argmax(wrong))
        raise MotionFileError(
            f"{where} frame {k}: it lasts {durations[k]:g} s. All frames but the last must last up to {MAX_FRAME_DURATION:g} s."
        )
    return np.concatenate(((0.0,), np.cumsum(durations[:-1])))


def _rotations(numbers: Array, where: str, assumptions: list[Assumption]) -> Array:
    """Rotations of all joints; quaternions that are not normalized, as in some files, are normalized."""
    q = np.broadcast_to(rotations.IDENTITY, (len(numbers), len(JOINTS), 4)).copy()
    at, worst = 4, 0.0
    for j, (name, _, _, count) in enumerate(JOINTS):
        if count == 1:
            q[:, j] = rotations.about_axis(HINGE, numbers[:, at])
        elif count == 4:
            length = np.linalg.norm(numbers[:, at : at + 4], axis=-1)
            wrong = (length < MIN_NORM) | (length > 1.0 / MIN_NORM)
            if wrong.any():
                k = int(np.argmax(wrong))
                raise MotionFileError(f"{where} frame {k}: the quaternion of {name!r} has the norm {length[k]:.3g}, expected 1.")
            q[:, j] = numbers[:, at : at + 4] / length[:, None]
            worst = max(worst, float(np.abs(length - 1.0).max()))
        at += count
    if worst > NORM_TOLERANCE:
        assumptions.append(Assumption("quaternions", "normalized", f"some are off by up to {worst:.2g}"))
    return np.concatenate((q[..., :1], _to_z_up(q[..., 1:])), axis=-1)


def _to_z_up(v: Array) -> Array:
    """Convert vectors from the axes of the file (y up, z right) to z up, y left."""
    return np.stack((v[..., 0], -v[..., 2], v[..., 1]), axis=-1)
