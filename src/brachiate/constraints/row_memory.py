"""Memory of constraint rows: limits that are reached, and the classification of all rows; saved and restored with the state of a world."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from brachiate.constraints.arrays import CONTACTS, INDEPENDENT_ROWS, ROWS
from brachiate.constraints.constraint_set import ConstraintSet
from brachiate.validation import Array

_ROW_ARRAYS = ("state", "weak_rows", "pivot_scale", "sine", "sine_previous", "sine_margin")


class ActiveLimit(NamedTuple):
    """Limit that was a row of a constraint set; places are those in the order of its constraints."""

    place: int
    owner: int  # place of the connection whose joint it limits, -1 for a joint of the tree
    name: str
    kind: int
    v_index: int  # from the first one of the owner's joint, if it has an owner
    q_index: int
    bound: float  # [rad or m]
    acting_bound: float  # [rad or m]
    side: int
    inactive: int
    axis: Array


class RowMemory(NamedTuple):
    """What the rows of a constraint set remember: limits that are reached, and the classification of all rows."""

    limits: tuple[ActiveLimit, ...]
    counts: Array  # of constraints, rows, ..., weak rows
    classified_at: float  # [s]
    rows: tuple[Array, ...]  # arrays of _ROW_ARRAYS


def save_row_memory(constraint_set: ConstraintSet) -> RowMemory:
    """Return what later steps depend on besides state and structure."""
    cons = constraint_set.arrays
    limits = tuple(
        _active_limit(constraint_set, place) for place, i in enumerate(constraint_set.order) if i in constraint_set.active_limits
    )
    rows = int(cons.count[ROWS])
    return RowMemory(
        limits, cons.count[:CONTACTS].copy(), float(cons.time[1]), tuple(getattr(cons, name)[:rows].copy() for name in _ROW_ARRAYS)
    )


def _active_limit(constraint_set: ConstraintSet, place: int) -> ActiveLimit:
    cons, i = constraint_set.arrays, constraint_set.order[place]
    j = int(cons.owner[i])
    v_at, q_at = (int(cons.v_at[j]), int(cons.q_at[j])) if j >= 0 else (0, 0)
    return ActiveLimit(
        place=place, owner=constraint_set.order.index(j) if j >= 0 else -1, name=constraint_set.active_limits[i], kind=int(cons.kind[i]),
        v_index=int(cons.v_index[i]) - v_at, q_index=int(cons.q_index[i]) - q_at, bound=float(cons.bound[i]),
        acting_bound=float(cons.polynomial[i, 0]), side=int(cons.side[i]), inactive=int(cons.inactive[i]), axis=cons.target[i, :3].copy(),
    )  # fmt: skip


def restore_row_memory(constraint_set: ConstraintSet, memory: RowMemory | None) -> None:
    """Restore the memory of a set with the same constraints; without one, limits that are reached are detected again."""
    constraint_set.remove_limits()
    if memory is None:
        return
    cons = constraint_set.arrays
    for limit in memory.limits:
        j = constraint_set.order[limit.owner] if limit.owner >= 0 else -1
        v_at, q_at = (int(cons.v_at[j]), int(cons.q_at[j])) if j >= 0 else (0, 0)
        i = constraint_set.add_limit(limit.kind, v_at + limit.v_index, q_at + limit.q_index, limit.bound, limit.side, limit.axis, j)
        constraint_set.order.insert(limit.place, constraint_set.order.pop())
        constraint_set.active_limits[i] = limit.name
        cons = constraint_set.arrays  # longer ones, if these were full
        cons.polynomial[i, 0], cons.inactive[i] = limit.acting_bound, limit.inactive
    if memory.limits:
        constraint_set.update_structure()
        cons = constraint_set.arrays
    if constraint_set.count and np.array_equal(cons.count[:INDEPENDENT_ROWS], memory.counts[:INDEPENDENT_ROWS]):
        cons.count[:CONTACTS], cons.time[1] = memory.counts, memory.classified_at
        for name, values in zip(_ROW_ARRAYS, memory.rows, strict=True):
            getattr(cons, name)[: len(values)] = values
