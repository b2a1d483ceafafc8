"""Memory of a constraint set: all that later steps depend on, saved and restored with the state of a world.

Besides the constraints themselves these are limits that are reached, the classification of rows, and the order of everything: sums of
rows in another order differ in their last bits.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from brachiate.constraints.arrays import CONTACTS, ROWS, ConstraintArrays
from brachiate.constraints.constraint_set import PER_CONSTRAINT, PER_ROW, SCRATCH, ConstraintSet
from brachiate.model.joints import Joint
from brachiate.validation import Array

# Arrays that are sized by the model, not by constraints or rows
_WHOLE = ("max_error", "time", "dt", "v_before", "z")


class ConstraintMemory(NamedTuple):
    """Values of a constraint set."""

    order: tuple[int, ...]  # indices of constraints, oldest first
    active_limits: dict[int, str]
    limited_joints: dict[int, tuple[str, Joint]]
    capacity: int  # number of constraints that there was room for
    crossing_size: int  # length of the scratch array for crossing singular postures
    counts: Array  # of constraints, rows, ..., weak rows
    values: dict[str, Array]  # of constraints
    rows: dict[str, Array]  # of their rows, as last classified


def save_constraints(constraint_set: ConstraintSet) -> ConstraintMemory:
    """Return the values of a constraint set, without contacts."""
    cons, capacity, rows = constraint_set.arrays, constraint_set.capacity, int(constraint_set.arrays.count[ROWS])
    values, row_values = {}, {}
    for name, array in zip(ConstraintArrays._fields, cons, strict=True):
        if name in SCRATCH or name == "count":
            continue
        if name in PER_ROW:
            row_values[name] = array[:rows].copy()
        else:
            values[name] = array.copy() if name in _WHOLE else array[: PER_CONSTRAINT.get(name, 1) * capacity].copy()
    return ConstraintMemory(
        tuple(constraint_set.order), dict(constraint_set.active_limits), dict(constraint_set.limited_joints), capacity,
        constraint_set.crossing_size, cons.count[:CONTACTS].copy(), values, row_values,
    )  # fmt: skip


def restore_constraints(constraint_set: ConstraintSet, memory: ConstraintMemory) -> None:
    """Bring back the values of a constraint set of the same model."""
    constraint_set.reserve_constraints(memory.capacity, memory.crossing_size)
    constraint_set.order, constraint_set.count = list(memory.order), len(memory.order)
    constraint_set.active_limits, constraint_set.limited_joints = dict(memory.active_limits), dict(memory.limited_joints)
    constraint_set.arrays.used[: constraint_set.capacity] = 0
    _write(constraint_set.arrays, memory.values)
    constraint_set.update_structure()
    if constraint_set.count and np.array_equal(constraint_set.arrays.count[: ROWS + 1], memory.counts[: ROWS + 1]):
        constraint_set.arrays.count[:CONTACTS] = memory.counts
        _write(constraint_set.arrays, memory.rows)


def _write(arrays: ConstraintArrays, values: dict[str, Array]) -> None:
    for name, value in values.items():
        getattr(arrays, name)[: len(value)] = value
