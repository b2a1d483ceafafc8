"""Robot motion tables (.csv) in Unitree's column order: root position, root quaternion, one number per joint; no header."""

from __future__ import annotations

import re
from os import PathLike
from pathlib import Path
from typing import NamedTuple

import numpy as np

from brachiate.assumptions import Assumption
from brachiate.errors import MotionError, MotionFileError
from brachiate.figures import ranges
from brachiate.io.atomic import replace_files, write_text
from brachiate.io.motion_text import parse_numbers, read_text
from brachiate.io.number_text import format_rows
from brachiate.model.joints import Free
from brachiate.model.model import Model
from brachiate.motion.motion import Motion
from brachiate.validation import Array

DEFAULT_RATE = 30.0  # [Hz] of tables that do not state it, as Unitree's
ROOT_COLUMNS = ("x", "y", "z", "qx", "qy", "qz", "qw")
NAMES_SUFFIX = ".names.txt"  # of the file beside a table that lists its columns
_RATE_COMMENT = re.compile(r"^#.*?([0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?) frames/s")


class _NamesFile(NamedTuple):
    """Content of a names file: the column of the table for each of our columns, and the frame rate."""

    order: list[int]
    rate: float | None


def read_csv(path: str | PathLike[str], figure: Model, *, rate: float | None = None) -> Motion:
    """Read a robot table: x y z, qx qy qz qw, then one number per joint in the figure's order; no header.

    If a names file ``NAME.names.txt`` is beside it, as :func:`write_csv` writes it, columns are taken by name, in any order.

    Args:
        path: The file.
        figure: The robot, with a floating base and revolute or prismatic joints.
        rate: Frame rate [Hz]; by default that of the names file, or 30, as these files have.
    """
    path = Path(path)
    root, names, joint_columns = _columns(figure)
    text = read_text(Path(path)).replace(",", " ").replace(";", " ")
    values = parse_numbers(text.splitlines(), 7 + len(names), str(path), 1, f"7 of the root and {len(names)} joints of {figure.name!r}")
    names_path = path.with_suffix(NAMES_SUFFIX)
    names_file = _read_names(names_path, figure, names) if names_path.is_file() else None
    if names_file is not None:
        values = values[:, names_file.order]
    if not len(values):
        raise MotionFileError(f"{path} has no frames.")
    lengths = np.linalg.norm(values[:, 3:7], axis=1)
    if np.abs(lengths - 1).max() > 0.02:
        k = int(np.argmax(np.abs(lengths - 1)))
        raise MotionFileError(f"{path} line {k + 1}: columns 4-7 are not a unit quaternion (qx qy qz qw); their norm is {lengths[k]:.3g}.")
    rate, assumptions = _rate(rate, names_path, names_file)
    q = np.tile(figure.neutral, (len(values), 1))
    q[:, root] = np.concatenate((values[:, :3], (values[:, [6, 3, 4, 5]].T / lengths).T), axis=1)
    q[:, joint_columns] = values[:, 7:]
    return Motion(figure, np.arange(len(values)) / rate, q, path.stem, assumptions)


def write_csv(motion: Motion, path: str | PathLike[str]) -> None:
    """Write a robot table, and beside it ``NAME.names.txt`` with the names of its columns and the frame rate."""
    root, names, joint_columns = _columns(motion.figure)
    values = np.concatenate((motion.q[:, root][:, [0, 1, 2, 4, 5, 6, 3]], motion.q[:, joint_columns]), axis=1)
    path = Path(path)
    rate = (len(motion) - 1) / motion.duration if len(motion) > 1 else DEFAULT_RATE
    lines = [f"# {motion.figure.name}, {rate:.9g} frames/s, meters and radians, z up", *ROOT_COLUMNS, *names]
    with replace_files(path.parent, "the motion") as files:  # the names come first: without them the frame rate is unknown
        write_text(files.path(path.with_suffix(NAMES_SUFFIX).name), "\n".join(lines) + "\n", "the names of the columns")
        write_text(files.path(path.name), format_rows(values + 0.0, ","), "the motion")


def _columns(figure: Model) -> tuple[slice, list[str], Array]:
    """Position of the floating base in q, names of the joints in order, and their positions in q."""
    links = list(figure.links.values())
    root = next((link for link in links if isinstance(link.joint, Free)), None)
    if root is None:
        raise MotionError(f"Figure {figure.name!r} has no floating base; load it with floating_base=True.")
    names, columns = [], []
    for link in links:
        if link is root or link.joint.nv == 0:
            continue
        if link.joint.nv != 1 or link.joint.nq != 1:
            raise MotionError(
                f"Joint {link.joint_name!r} ({link.joint.type}) is neither revolute nor prismatic, and robot tables have one number per "
                "joint. Retarget the motion to a robot first, or write .npz, .bvh or .mot."
            )
        names.append(link.joint_name)
        columns.append(figure.joints[link.joint_name].q.start)
    return figure.joints[root.joint_name].q, names, np.array(columns, int)


def _rate(rate: float | None, names_path: Path, names_file: _NamesFile | None) -> tuple[float, tuple[Assumption, ...]]:
    """Return the frame rate [Hz], and what is assumed about the table."""
    order = ("by name", f"{names_path.name} is beside it") if names_file is not None else ("in order", "there is no names file beside it")
    assumptions = [
        Assumption("quaternions", "qx qy qz qw", "columns 4-7, as in Unitree's tables"),
        Assumption("angles", "radians", "as in Unitree's tables"),
        Assumption("joints", *order),
    ]
    if rate is None and names_file is not None and names_file.rate is not None:
        rate = names_file.rate
        assumptions.append(Assumption("frame rate", f"{rate:g} frames/s", f"stated in {names_path.name}", "rate"))
    if rate is None:
        rate = DEFAULT_RATE
        assumptions.append(Assumption("frame rate", f"{DEFAULT_RATE:g} frames/s", "the file does not state it", "rate"))
    return ranges.rate(rate), tuple(assumptions)


def _read_names(path: Path, figure: Model, names: list[str]) -> _NamesFile:
    """Read a names file; the names must be those of this robot."""
    lines = [line.strip() for line in read_text(path).splitlines()]
    found = [line for line in lines if line and not line.startswith("#")]
    expected = [*ROOT_COLUMNS, *names]
    missing = [name for name in expected if name not in found]
    if missing or len(found) != len(expected):
        unknown = [name for name in found if name not in expected]
        raise MotionFileError(
            f"{path} has {len(found)} names, and figure {figure.name!r} has {len(expected)} columns: it is a table of another robot"
            + (f"; it lacks {missing[0]!r}" if missing else "")
            + (f" and has {unknown[0][:80]!r}." if unknown else ".")
        )
    rate = next((match[1] for line in lines if (match := _RATE_COMMENT.search(line))), None)
    return _NamesFile([found.index(name) for name in expected], float(rate) if rate is not None else None)
