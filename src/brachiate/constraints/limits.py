"""Limits of joints: monitored during integration, and constraint rows while they are reached (unilateral constraints).

A limit that is not reached costs a comparison each step. One that is passed becomes a row that can only push: the coordinate
stops there, by an impulse without rebound, and the limit is released as soon as its force would pull.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from brachiate.compiled import ArrayHandle, Floats, Ints, Key, Rows3, call_address, entry, kernel, struct_opener
from brachiate.constraints.arrays import JOINT_LIMIT, RESIDUALS, SWING_LIMIT, TWIST_LIMIT, open_constraints
from brachiate.constraints.constraint_memory import ConstraintMemory, restore_constraints, save_constraints
from brachiate.constraints.constraint_set import ConstraintSet
from brachiate.constraints.limit_rows import MIN_TWIST_COS2
from brachiate.constraints.storage import RunMemory
from brachiate.kinematics import forward_kinematics
from brachiate.model.arrays import open_model
from brachiate.model.data import Data
from brachiate.model.joints import ELEMENT_NQ, ELEMENT_NV, Cone, Joint
from brachiate.model.model import Model
from brachiate.spatial import Vec3, normalized, quaternion_at, vec3
from brachiate.validation import Array

REMOVAL_DISTANCE = 1e-2  # [rad or m] a coordinate this far from its limit needs no row


class LimitArrays(NamedTuple):
    """All limits of a model: nl of them."""

    count: Ints  # (2,) steps done, limit passed
    kind: Ints  # (nl,) JOINT_LIMIT, SWING_LIMIT, TWIST_LIMIT
    v_index: Ints  # (nl,) (first) velocity
    q_index: Ints  # (nl,) (first) index in q
    bound: Floats  # (nl,) [rad or m]
    side: Ints  # (nl,) 1: a lower limit, -1: an upper one
    axis: Rows3  # (nl, 3) of a cone limit
    owner: Ints  # (nl,) connection whose joint it limits, -1 for a joint of the tree
    constraint_index: Ints  # (nl,) its constraint, -1 if it is not a row


open_limits = struct_opener(LimitArrays)


@kernel
def limit_passed(key, constraint_key, limits_key, steps):
    """Whether a limit without a row is passed; stores which, and after how many steps."""
    T, W = open_model(key)
    (limits,) = open_limits(limits_key)
    limits.count[0], limits.count[1] = steps, -1
    loops = W.q
    if constraint_key is not None:
        (cons,) = open_constraints(constraint_key)
        if limits.kind.shape[0] and limits.owner[limits.kind.shape[0] - 1] >= 0:  # those of loop-closing joints come last
            forward_kinematics(T, W)
            call_address(cons.functions[RESIDUALS], key, constraint_key, 0.0, 0)
            loops = cons.q
    for n in range(limits.kind.shape[0]):
        if limits.constraint_index[n] < 0 and distance_to_limit(W.q if limits.owner[n] < 0 else loops, limits, n) < 0.0:
            limits.count[1] = n
            return True
    return False


@kernel
def distance_to_limit(q, limits, n):
    """Distance to limit n [rad or m] at the joint coordinates q; negative if it is passed."""
    at = limits.q_index[n]
    if limits.kind[n] == JOINT_LIMIT:
        value = q[at]
    else:
        p, u = normalized(quaternion_at(q, at)), vec3(limits.axis, n)
        v = Vec3(p.x, p.y, p.z)
        along = u @ v
        if limits.kind[n] == TWIST_LIMIT:
            if p.w * p.w + along * along < MIN_TWIST_COS2:
                return 1.0
            value = 2.0 * math.atan2(along, p.w)
            value -= 2.0 * math.pi * math.floor((value + math.pi) / (2.0 * math.pi))
        else:
            value = 2.0 * math.atan2(math.sqrt(max(v @ v - along * along, 0.0)), math.sqrt(p.w * p.w + along * along))
    return limits.side[n] * (value - limits.bound[n])


@entry
def _distance_to_limit(key: Key, constraint_key: Key, limits_key: Key, n: int):
    T, W = open_model(key)
    (cons,) = open_constraints(constraint_key)
    (limits,) = open_limits(limits_key)
    if limits.owner[n] < 0:
        return distance_to_limit(W.q, limits, n)
    forward_kinematics(T, W)
    call_address(cons.functions[RESIDUALS], key, constraint_key, 0.0, 0)
    return distance_to_limit(cons.q, limits, n)


class LimitMonitor:
    """Limits of a model, and which of them are rows of its constraint set."""

    def __init__(self, model: Model, constraint_set: ConstraintSet) -> None:
        self.constraint_set = constraint_set
        self.limited_joints = dict(constraint_set.limited_joints)
        limits = _all_limits(model, constraint_set)
        self.names = [limit.name for limit in limits]
        self.arrays = _limit_arrays(limits)
        self._numbers = {(limit.name, limit.kind, limit.side): n for n, limit in enumerate(limits)}
        self.find_rows()
        self._structure: ConstraintMemory | None = None  # before the first change of structure in a run
        self.handle = ArrayHandle(self.arrays)

    @property
    def key(self) -> Any:
        """First argument of compiled entry points; a copy has its own."""
        return self.handle.key

    def find_rows(self) -> None:
        """Find which limits are rows of the constraint set: some may have been restored, or removed with their connection."""
        cons = self.constraint_set.arrays
        self.arrays.constraint_index[:] = -1
        for i, name in self.constraint_set.active_limits.items():
            self.arrays.constraint_index[self._numbers[name, int(cons.kind[i]), int(cons.side[i])]] = i

    def begin_run(self) -> RunMemory:
        """Begin a run that can be undone; returns the memory that :meth:`undo_run` needs."""
        self._structure = None
        return self.constraint_set.run_memory()

    def undo_run(self, memory: RunMemory) -> None:
        """Undo the changes of a run: rows of limits that were added or removed, and what rows remember."""
        if self._structure is not None:
            restore_constraints(self.constraint_set, self._structure)
        self.constraint_set.set_run_memory(memory)

    def _save_structure(self) -> None:
        if self._structure is None:
            self._structure = save_constraints(self.constraint_set)

    def add_row(self, n: int) -> int:
        """Make limit n a row; returns the index of its constraint."""
        self._save_structure()
        L, constraint_set = self.arrays, self.constraint_set
        indices = int(L.v_index[n]), int(L.q_index[n])
        i = constraint_set.add_limit(int(L.kind[n]), *indices, float(L.bound[n]), int(L.side[n]), L.axis[n], int(L.owner[n]))
        constraint_set.active_limits[i] = self.names[n]
        L.constraint_index[n] = i
        return i

    def stop_at(self, n: int) -> None:
        """Make limit n a row, and stop the coordinate that has reached it by an impulse."""
        L, constraint_set = self.arrays, self.constraint_set
        i = self.add_row(n)
        # A coordinate that is beyond its limit is kept where it is: positions do not jump.
        constraint_set.arrays.polynomial[i, 0] += L.side[n] * min(self.distance(constraint_set.data, n), 0.0)
        constraint_set.update_structure()
        constraint_set.apply_connection_impulse()

    def distance(self, data: Data, n: int | None = None) -> float:
        """Distance to limit n, or to the one last passed [rad or m]."""
        return float(_distance_to_limit(data.key, self.constraint_set.key, self.key, int(self.arrays.count[1]) if n is None else n))

    def restore_previous(self) -> None:
        """Restore which limits were active, and where, before the last step."""
        cons = self.constraint_set.arrays
        if self.constraint_set.active_limits:
            cons.inactive[:] = cons.inactive_previous
            cons.polynomial[:, 0] = np.where(cons.side != 0, cons.bound_previous, cons.polynomial[:, 0])
            self.constraint_set.update_structure()
            self.constraint_set.accelerations()

    def remove_inactive(self) -> None:
        """Remove the rows of limits from which coordinates have moved away."""
        self.find_rows()
        L, cons, removed = self.arrays, self.constraint_set.arrays, False
        for n in np.flatnonzero(L.constraint_index >= 0):
            i = int(L.constraint_index[n])
            if cons.inactive[i] and L.side[n] * cons.c[cons.row[i]] > REMOVAL_DISTANCE:
                self._save_structure()
                self.constraint_set.remove(i)
                del self.constraint_set.active_limits[i]
                L.constraint_index[n], removed = -1, True
        if removed:
            self.constraint_set.update_structure()
            if self.constraint_set.count:
                self.constraint_set.accelerations()


class _Limit(NamedTuple):
    """One entry of LimitArrays, with its name."""

    name: str
    kind: int
    v_index: int
    q_index: int
    bound: float
    side: int
    axis: Array
    owner: int


def limit_arrays(model: Model, constraint_set: ConstraintSet) -> LimitArrays:
    """All limits of the joints of a tree, and of loop-closing joints."""
    return _limit_arrays(_all_limits(model, constraint_set))


def _all_limits(model: Model, constraint_set: ConstraintSet) -> list[_Limit]:
    limits = _tree_limits(model)
    for i, (name, joint) in constraint_set.limited_joints.items():
        limits += _loop_limits(constraint_set, i, name, joint)
    return limits


def _limit_arrays(limits: list[_Limit]) -> LimitArrays:
    n = len(limits)
    return LimitArrays(
        count=np.zeros(2, np.int64),
        kind=np.array([limit.kind for limit in limits], np.int64),
        v_index=np.array([limit.v_index for limit in limits], np.int64),
        q_index=np.array([limit.q_index for limit in limits], np.int64),
        bound=np.array([limit.bound for limit in limits], float),
        side=np.array([limit.side for limit in limits], np.int64),
        axis=np.array([limit.axis for limit in limits], float).reshape(n, 3),
        owner=np.array([limit.owner for limit in limits], np.int64),
        constraint_index=np.full(n, -1, np.int64),
    )


def _tree_limits(model: Model) -> list[_Limit]:
    """Limits of the joints of the tree."""
    limits: list[_Limit] = []
    lower, upper = model.limits
    for name, q_index in model.scalar_coordinates.items():
        k = model.coordinate_index[name]
        limits += _joint_limits(name, k, q_index, lower[k], upper[k], -1)
    for name, joined in model.joints.items():
        limits += _cone_limits(name, joined.v.start, joined.q.start, model.links[joined.link].joint.cone, -1)
    return limits


def _loop_limits(constraint_set: ConstraintSet, i: int, name: str, joint: Joint) -> list[_Limit]:
    """Limits of the joint of connection i."""
    q, v = int(constraint_set.arrays.q_at[i]), int(constraint_set.arrays.v_at[i])
    if joint.cone is not None:
        return _cone_limits(name, v, q, joint.cone, i)
    limits: list[_Limit] = []
    names, j, k = joint.coordinate_names(name), 0, 0
    for element in joint.elements:
        if ELEMENT_NV[element.kind] == 1:
            limits += _joint_limits(names[k], v + k, q + j, joint.lower[k], joint.upper[k], i)
        j, k = j + ELEMENT_NQ[element.kind], k + ELEMENT_NV[element.kind]
    return limits


def _joint_limits(name: str, v_index: int, q_index: int, lower: float, upper: float, owner: int) -> list[_Limit]:
    finite = ((bound, side) for bound, side in ((lower, 1), (upper, -1)) if np.isfinite(bound))
    return [_Limit(f"limit of {name}", JOINT_LIMIT, v_index, q_index, bound, side, np.zeros(3), owner) for bound, side in finite]


def _cone_limits(name: str, v_index: int, q_index: int, cone: Cone | None, owner: int) -> list[_Limit]:
    if cone is None:
        return []
    limits: list[_Limit] = []
    if cone.swing < np.pi:
        limits.append(_Limit(f"swing limit of {name}", SWING_LIMIT, v_index, q_index, cone.swing, -1, cone.axis, owner))
    for bound, side in ((cone.twist[0], 1), (cone.twist[1], -1)):
        if np.isfinite(bound) and abs(bound) < np.pi:
            limits.append(_Limit(f"twist limit of {name}", TWIST_LIMIT, v_index, q_index, bound, side, cone.axis, owner))
    return limits
