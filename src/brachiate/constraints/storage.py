"""Storage of a constraint set: the length of every array, which of them are memory, and which are scratch.

Every array that is not scratch is saved with a world, also one that is added later. The arrays of the run memory are those that a run of
compiled code reads before it writes them: they lie one after the other in one block, so that a copy of all takes a microsecond.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from brachiate.compiled import array_fields
from brachiate.constraints.arrays import ConstraintArrays
from brachiate.validation import Array

# Storage for the joint of every constraint, whatever its kind: a loop-closing joint has at most five degrees of freedom.
ELEMENTS, COORDINATES, VELOCITIES = 5, 8, 6
_PER_ELEMENT = ("e_kind", "e_axis", "e_anchor", "e_q", "e_v")
_PER_COORDINATE = ("q", "q_part", "rest")
_PER_VELOCITY = ("v", "tau", "damping", "stiffness", "friction", "S", "N")
PER_ROW = ("T", "c", "gamma", "velocity_target", "acceleration_target", "velocity", "rhs", "force", "state", "weak_rows")
PER_ROW += ("skyline_start", "g_at", "inverse_pivot", "pivot_scale", "sine", "sine_previous", "sine_margin", "remaining")
#: Neither saved nor copied: computed anew before every use, whatever they contain.
SCRATCH = ("J", "Y", "Z", "G", "pair", "functions", "singular_scratch", "dense_rows", "q_part")
#: What a run changes and the next one depends on, besides ``count`` and ``time``: restored if a run fails or is repeated. Joints of
#: connections follow their angles from state to state, limits become active and inactive, rows are classified.
RUN_MEMORY = ("q", "inactive", "polynomial", "state", "weak_rows", "c", "pivot_scale", "sine", "sine_previous", "sine_margin")
_FIELDS = array_fields(ConstraintArrays)
INITIAL_SIZES = {"constraints": 8, "contacts": 0, "rows": 48, "y": 1024, "g": 1024, "pairs": 128, "crossing": 0}


class RunMemory(NamedTuple):
    """Copy of the run memory of a constraint set."""

    counts: Array  # of independent, redundant and weak rows
    classified_at: float  # [s]
    lengths: Mapping[str, int]  # of the arrays
    block: Array  # the arrays of RUN_MEMORY, one after the other


def crossing_size(rows: int, nq: int, nv: int) -> int:
    """Length of the scratch array for crossing singular postures, with so many rows of constraints."""
    return nq + 2 * nv + rows * (2 * rows + 2 * nv + 1)


def array_lengths(sizes: Mapping[str, int], nv: int) -> dict[str, int]:
    """Length of every array for these capacities, and ``nv`` velocities of the tree."""
    n, rows = sizes["constraints"], sizes["rows"]
    lengths = dict.fromkeys(_FIELDS, n + sizes["contacts"]) | dict.fromkeys(PER_ROW, rows)
    for names, entries in ((_PER_ELEMENT, ELEMENTS), (_PER_COORDINATE, COORDINATES), (_PER_VELOCITY, VELOCITIES)):
        lengths |= dict.fromkeys(names, entries * n)
    lengths |= {"J": sizes["y"], "Y": sizes["y"], "Z": sizes["y"], "G": sizes["g"], "pair": sizes["pairs"], "dense_rows": rows * nv}
    return lengths | {
        "count": 13,
        "functions": 5,
        "max_error": 2,
        "time": 2,
        "dt": 1,
        "z": nv,
        "v_before": nv,
        "singular_scratch": sizes["crossing"],
    }


def new_arrays(lengths: Mapping[str, int]) -> tuple[ConstraintArrays, Array]:
    """Arrays of these lengths, all zero, and the block that contains those of the run memory."""
    block = np.zeros(sum(lengths[name] * math.prod(_FIELDS[name].row) for name in RUN_MEMORY))
    memory = memory_views(block, lengths)
    arrays = {
        name: memory[name] if name in memory else np.zeros((lengths[name], *field.row), field.dtype) for name, field in _FIELDS.items()
    }
    return ConstraintArrays(**arrays), block


def memory_views(block: Array, lengths: Mapping[str, int]) -> dict[str, Array]:
    """The arrays of a run memory, by name: views of its block."""
    views, start = {}, 0
    for name in RUN_MEMORY:
        field = _FIELDS[name]
        end = start + lengths[name] * math.prod(field.row)
        views[name], start = block[start:end].view(field.dtype).reshape(lengths[name], *field.row), end
    return views


def copy_values(arrays: ConstraintArrays, lengths: Mapping[str, int]) -> dict[str, Array]:
    """Copies of the beginnings, of these lengths, of all arrays that are not scratch."""
    return {name: getattr(arrays, name)[: lengths[name]].copy() for name in _FIELDS if name not in SCRATCH}


def write_values(arrays: ConstraintArrays, values: Mapping[str, Array]) -> None:
    """Write values to the beginnings of arrays, or their beginnings where the arrays are shorter."""
    for name, value in values.items():
        array = getattr(arrays, name)
        n = min(len(array), len(value))
        array[:n] = value[:n]
