"""Motions as OpenSim's tables, ``.mot`` and ``.sto``: one column a coordinate, by name, angles in degrees.

Balls and free roots are quaternions in a configuration and three angles in a table: ``hip_rz``, ``hip_rx``, ``hip_ry``, about axes that
turn along, in this order. Where a free root is stands in ``root_tx``, ``root_ty``, ``root_tz``. The header says all this.
"""

from __future__ import annotations

from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import NamedTuple

import numpy as np

from brachiate import rotations
from brachiate.errors import MotionError, MotionFileError
from brachiate.io.opensim import Table, format_table, read_table
from brachiate.model.joints import BALL, FLOAT, FREEDOMS, NUMBERS, SLIDE
from brachiate.model.model import Model
from brachiate.motion.motion import Motion
from brachiate.validation import Array

ORDER = "zxy"  # of the axes that balls turn about


class _Part(NamedTuple):
    """One elementary motion of a joint, or the place or the turn of a free one: its columns and its numbers in q."""

    kind: str  # "angle", "length", "turn"
    columns: tuple[str, ...]
    q: slice


def _parts(model: Model) -> Iterator[_Part]:
    nq = nv = 0
    for link in model.links.values():
        for element in link.joint.elements:
            names, at = model.coordinates[nv : nv + FREEDOMS[element.kind]], nq
            nq, nv = nq + NUMBERS[element.kind], nv + FREEDOMS[element.kind]
            if element.kind in (BALL, FLOAT):
                owner = names[0].rpartition(".")[0]
                if element.kind == FLOAT:
                    yield _Part("length", tuple(f"{owner}_t{axis}" for axis in "xyz"), slice(at, at + 3))
                yield _Part("turn", tuple(f"{owner}_r{axis}" for axis in ORDER), slice(nq - 4, nq))
            else:
                yield _Part("length" if element.kind == SLIDE else "angle", names, slice(at, nq))


def table_of(motion: Motion) -> Table:
    """All coordinates of a motion as columns: lengths in metres, angles in degrees."""
    columns: list[str] = []
    values: list[Array] = []
    for part in _parts(motion.figure):
        numbers = motion.q[:, part.q]
        if part.kind == "turn":
            numbers = rotations.to_euler(ORDER, numbers / np.linalg.norm(numbers, axis=1, keepdims=True))
        columns += part.columns
        values.append(numbers if part.kind == "length" else np.degrees(numbers))
    return Table(motion.name, motion.times, tuple(columns), np.concatenate(values, axis=1), degrees=True)


def motion_from(table: Table, figure: Model) -> Motion:
    """The motion of a figure that a table has: every coordinate must be there, in any order; other columns are not looked at."""
    parts = list(_parts(figure))
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
        q[:, part.q] = rotations.steady(rotations.from_euler(ORDER, numbers)) if part.kind == "turn" else numbers
    return Motion(figure, table.times, q, table.name, table.guesses)


def read_motion_table(path: str | PathLike[str], figure: Model, *, frames: slice | None = None, degrees: bool | None = None) -> Motion:
    """Read a ``.mot`` or ``.sto`` file with the coordinates of a figure, as :func:`write_motion_table` writes them."""
    try:
        return motion_from(read_table(path, frames=frames, degrees=degrees), figure)
    except MotionFileError:
        raise
    except MotionError as error:
        raise MotionFileError(f"{path}: {error}") from None


def write_motion_table(motion: Motion, path: str | PathLike[str]) -> None:
    """Write a ``.mot`` or ``.sto`` file; what its columns mean is said in its header."""
    text = format_table(table_of(motion))
    Path(path).write_text(text.replace("\nendheader\n", "\n" + "\n".join((*_told(motion.figure), "endheader", "")), 1), encoding="utf-8")


def _told(model: Model) -> list[str]:
    parts = list(_parts(model))
    lengths = [name for part in parts if part.kind == "length" for name in part.columns]
    told = [f"Coordinates of {model.name!r}. Units are S.I. units (seconds, metres), angles are in degrees. The axis z points upwards."]
    if lengths:
        told.append(f"Lengths, not angles: {', '.join(lengths)}.")
    if any(part.kind == "turn" for part in parts):
        axes = ", ".join(f"_r{axis}" for axis in ORDER)
        told.append(f"Columns that end in {axes} are one rotation: about {', then '.join(ORDER)}, each axis turned by those before.")
    return told
