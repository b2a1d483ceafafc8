"""Motions as OpenSim tables (``.mot``, ``.sto``): one column per coordinate, by name, angles in degrees.

Ball joints and floating bases are quaternions in a configuration and three intrinsic Euler angles in a table: ``hip_rz``, ``hip_rx``,
``hip_ry``, in this order. The position of a floating base is ``root_tx``, ``root_ty``, ``root_tz``. The header of the file explains this.
"""

from __future__ import annotations

from collections.abc import Iterator
from os import PathLike
from typing import NamedTuple

import numpy as np

from brachiate import rotations
from brachiate.errors import MotionError, MotionFileError
from brachiate.io.atomic import write_text
from brachiate.io.opensim import Table, format_table, read_table
from brachiate.model.joints import BALL, ELEMENT_NQ, ELEMENT_NV, FLOAT, SLIDE
from brachiate.model.model import Model
from brachiate.motion.motion import Motion
from brachiate.validation import Array

EULER_ORDER = "zxy"  # of the angles of ball joints and floating bases


class _Columns(NamedTuple):
    """Columns of one elementary joint, or of the position or orientation of a floating base, and their positions in q."""

    kind: str  # "angle", "length", "rotation"
    columns: tuple[str, ...]
    q: slice


def _column_groups(model: Model) -> Iterator[_Columns]:
    nq = nv = 0
    for link in model.links.values():
        for element in link.joint.elements:
            names, at = model.coordinates[nv : nv + ELEMENT_NV[element.kind]], nq
            nq, nv = nq + ELEMENT_NQ[element.kind], nv + ELEMENT_NV[element.kind]
            if element.kind in (BALL, FLOAT):
                owner = names[0].rpartition(".")[0]
                if element.kind == FLOAT:
                    yield _Columns("length", tuple(f"{owner}_t{axis}" for axis in "xyz"), slice(at, at + 3))
                yield _Columns("rotation", tuple(f"{owner}_r{axis}" for axis in EULER_ORDER), slice(nq - 4, nq))
            else:
                yield _Columns("length" if element.kind == SLIDE else "angle", names, slice(at, nq))


def motion_table(motion: Motion) -> Table:
    """Return all coordinates of a motion as columns: lengths in meters, angles in degrees."""
    columns: list[str] = []
    values: list[Array] = []
    for part in _column_groups(motion.figure):
        numbers = motion.q[:, part.q]
        if part.kind == "rotation":
            numbers = rotations.to_euler(EULER_ORDER, numbers / np.linalg.norm(numbers, axis=1, keepdims=True))
        columns += part.columns
        values.append(numbers if part.kind == "length" else np.degrees(numbers))
    return Table(motion.name, motion.times, tuple(columns), np.concatenate(values, axis=1), degrees=True)


def motion_from_table(table: Table, figure: Model) -> Motion:
    """Return the motion of a figure in a table: every coordinate must be there, in any order; other columns are ignored."""
    parts = list(_column_groups(figure))
    missing = [name for part in parts for name in part.columns if name not in table.columns]
    if missing:
        raise MotionError(
            f"The table {table.name!r} has no column {missing[0]!r}"
            + (f", nor {len(missing) - 1} others of figure {figure.name!r}" if len(missing) > 1 else "")
            + f". It has {', '.join(table.columns[:8])}{', ...' if len(table.columns) > 8 else ''}."
        )
    table = table.radians(lambda name: name in {name for part in parts if part.kind == "length" for name in part.columns})
    q = np.tile(figure.neutral, (len(table), 1))
    for part in parts:
        numbers = np.stack([table[name] for name in part.columns], axis=1)
        q[:, part.q] = rotations.unwrap(rotations.from_euler(EULER_ORDER, numbers)) if part.kind == "rotation" else numbers
    return Motion(figure, table.times, q, table.name, table.assumptions)


def read_motion_table(path: str | PathLike[str], figure: Model, *, frames: slice | None = None, degrees: bool | None = None) -> Motion:
    """Read a ``.mot`` or ``.sto`` file with the coordinates of a figure, as :func:`write_motion_table` writes them."""
    try:
        return motion_from_table(read_table(path, frames=frames, degrees=degrees), figure)
    except MotionFileError:
        raise
    except MotionError as error:
        raise MotionFileError(f"{path}: {error}") from None


def write_motion_table(motion: Motion, path: str | PathLike[str]) -> None:
    """Write a ``.mot`` or ``.sto`` file; its header explains the columns."""
    text = format_table(motion_table(motion))
    text = text.replace("\nendheader\n", "\n" + "\n".join((*_header(motion.figure), "endheader", "")), 1)
    write_text(path, text, "the motion")


def _header(model: Model) -> list[str]:
    parts = list(_column_groups(model))
    lengths = [name for part in parts if part.kind == "length" for name in part.columns]
    lines = [f"Coordinates of {model.name!r}. Units are S.I. units (seconds, meters), angles are in degrees. The z axis points up."]
    if lengths:
        lines.append(f"Lengths, not angles: {', '.join(lengths)}.")
    if any(part.kind == "rotation" for part in parts):
        axes = ", ".join(f"_r{axis}" for axis in EULER_ORDER)
        lines.append(f"Columns that end in {axes} are one rotation: intrinsic, about {', then '.join(EULER_ORDER)}.")
    return lines
