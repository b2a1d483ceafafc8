"""Memory of a constraint set: all that later steps depend on, saved and restored with the state of a world, copied and pickled.

Besides the constraints themselves these are limits that are reached, the classification of rows, and the order of everything: sums of
rows in another order differ in their last bits.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from brachiate.constraints.arrays import CONTACTS, ROWS
from brachiate.constraints.constraint_set import ConstraintSet
from brachiate.constraints.storage import PER_ROW, array_lengths, copy_values, write_values
from brachiate.model.joints import Joint
from brachiate.validation import Array


class ConstraintMemory(NamedTuple):
    """Values of a constraint set."""

    order: tuple[int, ...]  # indices of constraints, oldest first
    active_limits: dict[int, str]
    limited_joints: dict[int, tuple[str, Joint]]
    capacity: int  # number of constraints that there was room for
    counts: Array  # of constraints, rows, ..., weak rows
    values: dict[str, Array]  # of all arrays that are not scratch, without contacts


def save_constraints(constraint_set: ConstraintSet) -> ConstraintMemory:
    """Return the values of a constraint set, without contacts."""
    cons, capacity = constraint_set.arrays, constraint_set.capacity
    sizes = constraint_set.sizes | {"contacts": 0, "rows": int(cons.count[ROWS])}
    values = copy_values(cons, array_lengths(sizes, constraint_set.data.model.nv))
    return ConstraintMemory(
        tuple(constraint_set.order), dict(constraint_set.active_limits), dict(constraint_set.limited_joints), capacity,
        values.pop("count")[:CONTACTS], values,
    )  # fmt: skip


def restore_constraints(constraint_set: ConstraintSet, memory: ConstraintMemory) -> None:
    """Bring back the values of a constraint set of the same model."""
    constraint_set.reserve_constraints(memory.capacity)
    constraint_set.order, constraint_set.count = list(memory.order), len(memory.order)
    constraint_set.active_limits, constraint_set.limited_joints = dict(memory.active_limits), dict(memory.limited_joints)
    constraint_set.arrays.used[: constraint_set.capacity] = 0
    rows = {name: memory.values[name] for name in PER_ROW}
    write_values(constraint_set.arrays, {name: value for name, value in memory.values.items() if name not in rows})
    constraint_set.update_structure()  # makes room for the rows
    if constraint_set.count and np.array_equal(constraint_set.arrays.count[: ROWS + 1], memory.counts[: ROWS + 1]):
        constraint_set.arrays.count[:CONTACTS] = memory.counts
        write_values(constraint_set.arrays, rows)
