"""CSV tables of joint torques and contact forces over time."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from brachiate.io.atomic import replace_file
from brachiate.io.number_text import format_rows
from brachiate.validation import Array

BLOCK = 4096  # rows that are written together


def save_torques(path: Path, times: Array, torques: Mapping[str, Array]) -> Path:
    """Write torques by joint: (f, n) [N·m]."""
    heads, columns = ["time [s]"], [times]
    for name, values in torques.items():
        axes = [""] if values.shape[1] == 1 else [f".{axis}" for axis in "xyz"][: values.shape[1]]
        heads += [f"{name}{axis} [N·m]" for axis in axes]
        columns += list(values.T)
    return _save_table(path, heads, columns)


def save_forces(path: Path, times: Array, forces: Mapping[str, Array]) -> Path:
    """Write force [N] and center of pressure [m] by link: (f, 6), world axes; zeros without contact."""
    heads, columns = ["time [s]"], [times]
    for link, values in forces.items():
        heads += [f"{link}.{quantity}.{axis} [{unit}]" for quantity, unit in (("force", "N"), ("cop", "m")) for axis in "xyz"]
        columns += list(values.T)
    return _save_table(path, heads, columns)


def _save_table(path: Path, heads: list[str], columns: list[Array]) -> Path:
    with replace_file(path, "the table") as file:
        file.write((",".join(heads) + "\n").encode())
        for k in range(0, len(columns[0]), BLOCK):
            rows = np.stack([column[k : k + BLOCK] for column in columns], axis=1)
            file.write(format_rows(rows, ",").encode())
    return path
