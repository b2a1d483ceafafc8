"""Motions in files: an archive with names and units inside, and the plain tables robots are moved by."""

from __future__ import annotations

import re
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import NamedTuple

import numpy as np

from brachiate import validation
from brachiate.assumptions import Guess
from brachiate.errors import FileFormatError, MotionError, MotionFileError
from brachiate.io.archive import read_archive, with_suffix
from brachiate.io.motion_text import read_text, table
from brachiate.model.joints import Free
from brachiate.model.model import Model
from brachiate.motion.contact_labels import labels_from
from brachiate.motion.motion import Motion
from brachiate.validation import Array

FORMAT = "brachiate motion 1"
UNITS = "s, m, rad; quaternions w x y z; free joints: position, quaternion; forces: N, then the point in m"
RATE = 30.0  # [frames/s] of tables that do not say it
ROOT = ("x", "y", "z", "qx", "qy", "qz", "qw")  # columns of a table that are the root's
NAMES = ".names.txt"  # what the file beside a table ends in that has the names of its columns
_RATE = re.compile(r"^#.*?([0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?) frames/s")


def save_motion(motion: Motion, path: str | PathLike[str]) -> None:
    """Write a NumPy archive with names, units and version inside; nothing in it is code."""
    model = motion.figure
    np.savez_compressed(
        with_suffix(path),
        format=np.array(FORMAT),
        units=np.array(UNITS),
        name=np.array(motion.name),
        figure=np.array(model.name),
        captured=np.array(motion.captured),
        coordinates=np.array(model.coordinates, dtype=str),
        joints=np.array(list(model.joints), dtype=str),
        joint_q=np.array([(j.q.start, j.q.stop) for j in model.joints.values()], np.int64).reshape(-1, 2),
        times=motion.times,
        q=motion.q,
        contacts=np.array(motion.contacts.lines() if motion.contacts is not None else [], dtype=str),
        force_parts=np.array(list(motion.forces), dtype=str),
        forces=np.array(list(motion.forces.values()), float).reshape(len(motion.forces), len(motion), 6),
    )


def load_motion(path: str | PathLike[str], figure: Model) -> Motion:
    """Read a motion of this figure; one of another is refused, with the first name that differs."""
    content = read_archive(path, FORMAT, "a motion")
    missing = [name for name in ("coordinates", "times", "q") if name not in content]
    if missing:
        raise FileFormatError(f"{path} lacks {', '.join(missing)}.")
    theirs = tuple(map(str, np.atleast_1d(content["coordinates"])))
    if theirs != figure.coordinates:
        differ = next((f"{a!r} instead of {b!r}" for a, b in zip(theirs, figure.coordinates, strict=False) if a != b), "other ones")
        raise FileFormatError(
            f"{path} has {len(theirs)} coordinates, figure {figure.name!r} {len(figure.coordinates)}, and there is {differ}: this is "
            f"a motion of another figure ({content.get('figure', 'unknown')!s})."
        )
    for name, columns in (("times", None), ("q", figure.nq)):
        array = content[name]
        right = array.ndim == (1 if columns is None else 2) and array.dtype == np.float64 and np.isfinite(array).all()
        if not right or (columns is not None and array.shape != (len(content["times"]), columns)):
            raise FileFormatError(f"{path}: {name} is {array.shape} {array.dtype}; finite numbers for every frame were expected.")
    lines = [str(line) for line in np.atleast_1d(content.get("contacts", np.zeros(0)))]
    return Motion(
        figure,
        content["times"],
        content["q"],
        str(content.get("name", Path(path).stem)),
        captured=bool(content.get("captured", False)),
        contacts=labels_from(lines, str(path)) if lines else None,
        forces=_forces(content, str(path)),
    )


def _forces(content: Mapping[str, Array], where: str) -> dict[str, Array]:
    parts = [str(part) for part in np.atleast_1d(content.get("force_parts", np.zeros(0)))]
    values = content.get("forces", np.zeros((0, len(content["times"]), 6)))
    if values.shape != (len(parts), len(content["times"]), 6) or values.dtype != np.float64 or not np.isfinite(values).all():
        raise FileFormatError(
            f"{where}: forces are {values.shape} {values.dtype}; six finite numbers for each part and frame were expected."
        )
    return dict(zip(parts, values, strict=True))


def _columns(figure: Model) -> tuple[slice, list[str], Array]:
    """Root, names of the joints in order, and their places in q, for a table of robots."""
    links = list(figure.links.values())
    root = next((link for link in links if isinstance(link.joint, Free)), None)
    if root is None:
        raise MotionError(f"Figure {figure.name!r} has no free root; read it with floating=True to move it as a whole.")
    names, places = [], []
    for link in links:
        if link is root or link.joint.nv == 0:
            continue
        if link.joint.nv != 1 or link.joint.nq != 1:
            raise MotionError(
                f"Joint {link.joint_name!r} ({link.joint.type}) is no hinge or slide, and tables of robots have one number for a joint: "
                "this is a body's motion, not a robot's. Retarget it to a robot first, or write .npz, .bvh or .mot."
            )
        names.append(link.joint_name)
        places.append(figure.joints[link.joint_name].q.start)
    return figure.joints[root.joint_name].q, names, np.array(places, int)


def read_csv(path: str | PathLike[str], figure: Model, *, rate: float | None = None) -> Motion:
    """Read a table as Unitree's robots have it: x y z, qx qy qz qw, then one number a joint in the figure's order; no header.

    If ``NAME.names.txt`` is beside it, as :func:`write_csv` writes it, columns are taken by the names in it, in any order.

    Args:
        path: The file.
        figure: The robot, with a free root and hinges or slides.
        rate: Frames a second; by default what the file of names says, or 30, as these files have.
    """
    path = Path(path)
    root, names, places = _columns(figure)
    text = read_text(Path(path)).replace(",", " ").replace(";", " ")
    lines = text.splitlines()
    values = table(lines, 7 + len(names), str(path), 1, f"7 of the root and {len(names)} joints of {figure.name!r}")
    beside = path.with_suffix(NAMES)
    told = _named_columns(beside, figure, names) if beside.is_file() else None
    if told is not None:
        values = values[:, told.order]
    if not len(values):
        raise MotionFileError(f"{path} has no frames.")
    lengths = np.linalg.norm(values[:, 3:7], axis=1)
    if np.abs(lengths - 1).max() > 0.02:
        k = int(np.argmax(np.abs(lengths - 1)))
        raise MotionFileError(f"{path} line {k + 1}: columns 4-7 are no unit quaternion (qx qy qz qw); they are {lengths[k]:.3g} long.")
    guesses = [Guess("quaternions", "qx qy qz qw", "columns 4-7, as Unitree's tables have them"), Guess("angles", "radians", "the same")]
    how = ("by name", f"{beside.name} is beside it") if told is not None else ("in order", "there is no file of names beside it")
    guesses.append(Guess("joints", *how))
    if rate is None and told is not None and told.rate is not None:
        rate = told.rate
        guesses.append(Guess("frame rate", f"{rate:g} frames/s", f"{beside.name} says so", "rate"))
    if rate is None:
        rate = RATE
        guesses.append(Guess("frame rate", f"{RATE:g} frames/s", "the file does not say it", "rate"))
    rate = validation.number(rate, "rate", above=0.0)
    q = np.tile(figure.neutral, (len(values), 1))
    q[:, root] = np.concatenate((values[:, :3], (values[:, [6, 3, 4, 5]].T / lengths).T), axis=1)
    q[:, places] = values[:, 7:]
    return Motion(figure, np.arange(len(values)) / rate, q, path.stem, tuple(guesses))


class _Columns(NamedTuple):
    """What a file of names says: where each of our columns is in the table, and how many frames a second there are."""

    order: list[int]
    rate: float | None


def _named_columns(path: Path, figure: Model, names: list[str]) -> _Columns:
    """Read the names of a table's columns; they must be those of this robot."""
    lines = [line.strip() for line in read_text(path).splitlines()]
    found = [line for line in lines if line and not line.startswith("#")]
    wanted = [*ROOT, *names]
    missing = [name for name in wanted if name not in found]
    if missing or len(found) != len(wanted):
        beyond = [name for name in found if name not in wanted]
        raise MotionFileError(
            f"{path} has {len(found)} names, and figure {figure.name!r} takes {len(wanted)}: this is a table of another robot"
            + (f"; it lacks {missing[0]!r}" if missing else "")
            + (f" and has {beyond[0][:80]!r}." if beyond else ".")
        )
    rate = next((match[1] for line in lines if (match := _RATE.search(line))), None)
    return _Columns([found.index(name) for name in wanted], float(rate) if rate is not None else None)


def write_csv(motion: Motion, path: str | PathLike[str]) -> None:
    """Write such a table, and beside it ``NAME.names.txt`` with the names of its columns and the frame rate."""
    root, names, places = _columns(motion.figure)
    values = np.concatenate((motion.q[:, root][:, [0, 1, 2, 4, 5, 6, 3]], motion.q[:, places]), axis=1)
    path = Path(path)
    path.write_text("\n".join(",".join(f"{x:.9g}" for x in row) for row in values + 0.0) + "\n")
    rate = (len(motion) - 1) / motion.duration if len(motion) > 1 else RATE
    told = [f"# {motion.figure.name}, {rate:.9g} frames/s, metres and radians, z up", *ROOT, *names]
    path.with_suffix(NAMES).write_text("\n".join(told) + "\n")
