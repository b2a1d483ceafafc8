"""Constraint set of one :class:`~brachiate.Data`: connections, prescribed and coupled coordinates, limits; each has an index."""

from __future__ import annotations

from typing import Any

import numpy as np

from brachiate.compiled import ArrayHandle, Key, call_address, entry
from brachiate.constraints.arrays import (
    CONNECTION,
    CONSTRAINTS,
    COUPLING,
    G_SIZE,
    GENERAL_JOINT,
    HINGE,
    INDEPENDENT_ROWS,
    LOCKED_BALL,
    OPERATION,
    PAIRS,
    POINT,
    PRESCRIBED,
    ROWS,
    SLIDER,
    WEAK_ROWS,
    WELD,
    Y_SIZE,
    open_constraints,
)  # fmt: skip
from brachiate.constraints.constrained_dynamics import (
    APPLY_CONNECTION_IMPULSE,
    COMPUTE_ACCELERATION_AND_RANK,
    EVALUATE_ROWS,
    PROJECT_STATE,
    run_constraint_operation,
    update_mass_factor,
)
from brachiate.constraints.rows import update_residuals
from brachiate.constraints.singular import cross_singularity
from brachiate.constraints.solve import factor_delassus
from brachiate.constraints.sparsity import LANES, build_structure
from brachiate.constraints.storage import (
    COORDINATES,
    ELEMENTS,
    INITIAL_SIZES,
    SCRATCH,
    VELOCITIES,
    RunMemory,
    array_lengths,
    copy_values,
    crossing_size,
    memory_views,
    new_arrays,
    write_values,
)
from brachiate.errors import StateError
from brachiate.kinematics import finite, valid_state
from brachiate.model.arrays import open_model
from brachiate.model.data import Data
from brachiate.model.flatten import Placement
from brachiate.model.joints import BALL, ELEMENT_NQ, ELEMENT_NV, SLIDE, TURN, Joint
from brachiate.model.status import LOOP_OPEN, NOT_FINITE, OK, OVERFLOW
from brachiate.spatial import quaternion_difference
from brachiate.validation import Array

_SPECIALIZED = {TURN: HINGE, SLIDE: SLIDER, BALL: POINT}


@entry
def _constraint_structure(key: Key, constraint_key: Key):
    T, _ = open_model(key)
    (cons,) = open_constraints(constraint_key)
    return build_structure(T, cons)


@entry
def _constraint_operation(key: Key, constraint_key: Key, operation: int):
    T, W = open_model(key)
    (cons,) = open_constraints(constraint_key)
    if not (valid_state(T, W.q, W.v) and finite(W.tau)):
        return NOT_FINITE
    if operation == PROJECT_STATE:
        call_address(cons.functions[OPERATION], key, constraint_key, 0.0, APPLY_CONNECTION_IMPULSE)
    status = call_address(cons.functions[OPERATION], key, constraint_key, 0.0, operation)
    if status != OK:
        return status
    # Only what this operation computed: others are left as a call before left them, which may have failed.
    computed = finite(W.a) if operation == COMPUTE_ACCELERATION_AND_RANK else finite(W.q) and finite(W.v)
    return OK if computed else OVERFLOW


class ConstraintSet:
    """Owner of the constraint arrays; ``constraint_set.key`` is the argument of compiled functions."""

    def __init__(self, data: Data) -> None:
        self.data = data
        self.count = 0
        self.order: list[int] = []  # indices of constraints, oldest first
        self.active_limits: dict[int, str] = {}  # indices of limits that are rows now, and their names
        self.limited_joints: dict[int, tuple[str, Joint]] = {}  # connections whose joints have limits, and their names
        self._allocate(INITIAL_SIZES)

    def _allocate(self, sizes: dict[str, int], values: dict[str, Array] | None = None) -> None:
        """Allocate arrays of these sizes, with these values of those that are not scratch."""
        self.sizes = sizes
        self._lengths = array_lengths(sizes, self.data.model.nv)
        self.arrays, self._memory = new_arrays(self._lengths)
        if values is not None:
            write_values(self.arrays, {name: value for name, value in values.items() if name not in SCRATCH})
        self.handle = ArrayHandle(self.arrays)
        self.key = self.handle.key

    def _reallocate(self, sizes: dict[str, int]) -> None:
        """Allocate longer arrays for the same constraints, whose rows keep their memory."""
        self._allocate(sizes, self.arrays._asdict())
        self._rebuild()

    def _rebuild(self) -> None:
        """Update the structure of the same constraints, whose rows keep their memory."""
        memory = self.run_memory()
        self.update_structure()
        self.set_run_memory(memory)

    def __reduce__(self) -> Any:
        """Copy and pickle the values; addresses are only valid in this process."""
        limits = dict(self.active_limits), dict(self.limited_joints)
        return _restored, (self.data, list(self.order), *limits, self.sizes, copy_values(self.arrays, self._lengths))

    @property
    def capacity(self) -> int:
        """Number of constraints that there is room for."""
        return self.sizes["constraints"]

    def reserve_constraints(self, capacity: int) -> None:
        """Make room for so many constraints."""
        if capacity > self.capacity:
            has_addresses = bool(self.arrays.functions[OPERATION])
            self._allocate(self.sizes | {"constraints": capacity}, self.arrays._asdict())
            if has_addresses:  # contact needs them without constraints, too
                self._set_addresses()

    def _free_slot(self) -> int:
        free = int(self.arrays.used[: self.sizes["constraints"]].argmin())
        if self.arrays.used[free]:
            self._allocate(self.sizes | {"constraints": 2 * self.sizes["constraints"]}, self.arrays._asdict())
            return self._free_slot()
        return free

    def update_structure(self) -> None:
        """Assign rows and their sparsity pattern after a change of structure, with longer arrays if needed."""
        if not self.count:  # without constraints nothing needs to be compiled
            self.arrays.count[:] = 0
            return
        self.arrays.count[CONSTRAINTS] = len(self.order)
        self.arrays.order[: len(self.order)] = self.order
        while _constraint_structure(self.data.key, self.key) != OK or self.sizes["crossing"] < self._crossing_size(1):
            need = {"rows": ROWS, "y": Y_SIZE, "g": G_SIZE, "pairs": PAIRS}
            sizes = {name: max(self.sizes[name], 2 * int(self.arrays.count[i])) for name, i in need.items()}
            sizes["crossing"] = max(self.sizes["crossing"], self._crossing_size(2))
            self._allocate(self.sizes | sizes, self.arrays._asdict())
        self._set_addresses()

    def _set_addresses(self) -> None:
        if not self.arrays.functions[OPERATION]:
            functions = update_residuals, update_mass_factor, factor_delassus, run_constraint_operation, cross_singularity
            self.arrays.functions[:] = [function.address for function in functions]

    def reserve_contacts(self, contacts: int) -> None:
        """Reserve storage for this number of contacts after the constraints, between any bodies."""
        n, longest = contacts, 2 * LANES * (int(self.data.model.tree.depth.max(initial=0)) + 1)
        constraints, rows = self.sizes["constraints"], int(self.arrays.count[ROWS]) + 6 * n
        need = {"rows": rows + 48, "y": int(self.arrays.count[Y_SIZE]) + n * 2 * longest, "pairs": int(self.arrays.count[PAIRS])}
        need |= {"g": int(self.arrays.count[G_SIZE]) + n * 2 * LANES * (rows + LANES), "contacts": n}
        need["pairs"] += 4 * n * (constraints + n)
        if any(self.sizes[name] < size for name, size in need.items()):
            self._reallocate(self.sizes | {name: max(self.sizes[name], size) for name, size in need.items()})
        self._set_addresses()

    def connect(self, first: Placement, second: Placement, joint: Joint, name: str = "loop") -> int:
        """Add a connection between frames fixed in two bodies; returns its index."""
        n = self._free_slot()
        cons = self.arrays
        elements = joint.elements
        cons.used[n], cons.kind[n], cons.form[n] = 1, CONNECTION, _form(joint)
        cons.first[n], cons.second[n], cons.v_index[n], cons.driver_v_index[n] = first.body, second.body, -1, -1
        cons.R_first[n], cons.p_first[n] = first.rotation, first.position
        cons.R_second[n], cons.p_second[n] = second.rotation, second.position
        cons.element[n], cons.elements[n] = ELEMENTS * n, len(elements)
        q, v = COORDINATES * n, VELOCITIES * n
        cons.q_at[n], cons.v_at[n], cons.dofs[n] = q, v, joint.nv
        cons.q[q : q + joint.nq], cons.rest[q : q + joint.nq] = joint.neutral, joint.rest
        cons.v[v : v + VELOCITIES] = cons.tau[v : v + VELOCITIES] = 0.0
        own = slice(v, v + joint.nv)
        cons.damping[own], cons.stiffness[own], cons.friction[own] = joint.damping, joint.stiffness, joint.friction
        cons.has_joint_forces[n] = int(joint.has_passive_forces or joint.has_limits)
        cons.side[n], cons.inactive[n], cons.compliant[n], cons.owner[n] = 0, 0, 0, -1
        if joint.has_limits:
            self.limited_joints[n] = name, joint
        for m, element in enumerate(elements, ELEMENTS * n):
            cons.e_kind[m], cons.e_axis[m], cons.e_anchor[m], cons.e_q[m], cons.e_v[m] = element.kind, element.axis, element.anchor, q, v
            q, v = q + ELEMENT_NQ[element.kind], v + ELEMENT_NV[element.kind]
        self.count += 1
        self.order.append(n)
        return n

    def make_compliant(self, i: int, stiffness: tuple[float, float], damping: tuple[float, float]) -> None:
        """Replace a connection by springs and dampers in its constrained directions: (linear, angular) stiffness and damping."""
        cons = self.arrays
        cons.compliant[i] = 1
        cons.linear_spring[i] = stiffness[0], damping[0], 0.0
        cons.angular_spring[i] = stiffness[1], damping[1], 0.0

    def add_limit(self, kind: int, v_index: int, q_index: int, bound: float, side: int, axis: Array | None = None, owner: int = -1) -> int:
        """Add a limit of a coordinate, or of a ball joint's swing or twist about an axis; returns its index.

        The coordinate is one of the tree, or of the joint of the connection ``owner``.
        """
        n = self._add_coordinate_constraint(kind, v_index, q_index)
        if owner >= 0:
            self.arrays.owner[n], self.arrays.first[n], self.arrays.second[n] = owner, self.arrays.first[owner], self.arrays.second[owner]
        self.arrays.polynomial[n], self.arrays.side[n], self.arrays.inactive[n] = 0.0, side, 0
        self.arrays.polynomial[n, 0] = self.arrays.bound[n] = bound
        if axis is not None:
            self.arrays.target[n, :3] = axis
        return n

    def prescribe(self, v_index: int, q_index: int, polynomial: Array, start_time: float, end_time: float) -> int:
        """Prescribe a coordinate as a polynomial of the time since ``start_time``, constant from ``end_time`` on; returns its index."""
        n = self._add_coordinate_constraint(PRESCRIBED, v_index, q_index)
        self.arrays.polynomial[n], self.arrays.start_time[n], self.arrays.end_time[n] = 0.0, start_time, end_time
        self.arrays.polynomial[n, : len(polynomial)] = polynomial
        return n

    def lock_ball(self, v_index: int, q_index: int, target: Array) -> int:
        """Lock a ball joint at a quaternion; returns its index."""
        n = self._add_coordinate_constraint(LOCKED_BALL, v_index, q_index)
        self.arrays.target[n, :4] = target
        return n

    def couple(self, v_index: int, q_index: int, driver_v_index: int, driver_q_index: int, coefficients: Array) -> int:
        """Couple a coordinate to a driving one by a polynomial; returns its index."""
        n = self._add_coordinate_constraint(COUPLING, v_index, q_index)
        self.arrays.driver_v_index[n], self.arrays.driver_q_index[n] = driver_v_index, driver_q_index
        self.arrays.polynomial[n] = 0.0
        self.arrays.polynomial[n, : len(coefficients)] = coefficients
        return n

    def _add_coordinate_constraint(self, kind: int, v_index: int, q_index: int) -> int:
        n = self._free_slot()
        cons = self.arrays
        cons.used[n], cons.kind[n], cons.form[n], cons.first[n], cons.second[n] = 1, kind, GENERAL_JOINT, -1, -1
        cons.v_index[n], cons.q_index[n], cons.driver_v_index[n], cons.driver_q_index[n], cons.owner[n] = v_index, q_index, -1, 0, -1
        cons.dofs[n] = cons.elements[n] = cons.has_joint_forces[n] = cons.side[n] = cons.inactive[n] = cons.compliant[n] = 0
        self.count += 1
        self.order.append(n)
        return n

    def remove_limits(self) -> None:
        """Remove all limits; those still reached are detected again."""
        for i in list(self.active_limits):
            self.remove(i)
        if self.active_limits:
            self.active_limits.clear()
            self.update_structure()

    def remove(self, i: int) -> None:
        """Remove a constraint, and with a connection the limits of its joint."""
        self.limited_joints.pop(i, None)
        for limit in [limit for limit in self.active_limits if self.arrays.owner[limit] == i]:
            del self.active_limits[limit]
            self.remove(limit)
        self.arrays.used[i] = 0
        self.order.remove(i)
        self.count -= 1

    # --- evaluation ---------------------------------------------------------------------------

    def row_states(self) -> Array:
        """Classification of all rows (INDEPENDENT, REDUNDANT, ...) as last computed: a copy."""
        return self.arrays.state[: self.arrays.count[ROWS]].copy()

    def run_memory(self) -> RunMemory:
        """What a run changes and the next one depends on, besides the state: a copy."""
        cons = self.arrays
        return RunMemory(cons.count[INDEPENDENT_ROWS : WEAK_ROWS + 1].copy(), float(cons.time[1]), self._lengths, self._memory.copy())

    def set_run_memory(self, memory: RunMemory) -> None:
        """Restore this memory, also if the arrays were enlarged since."""
        cons = self.arrays
        cons.count[INDEPENDENT_ROWS : WEAK_ROWS + 1], cons.time[1] = memory.counts, memory.classified_at
        if memory.lengths is self._lengths:
            self._memory[:] = memory.block
        else:
            write_values(cons, memory_views(memory.block, memory.lengths))

    def _crossing_size(self, times: int) -> int:
        """Length of the scratch array for crossing singular postures, with so many times the present rows."""
        return crossing_size(times * int(self.arrays.count[ROWS]), self.data.model.nq, self.data.model.nv)

    def accelerations(self) -> Array:
        """Accelerations at the data's state and torques; constraint forces are in ``arrays.force``. A view."""
        self.run_operation(COMPUTE_ACCELERATION_AND_RANK)
        return self.data.a

    def apply_connection_impulse(self) -> None:
        """Project the data's velocity onto all rows by impulses, stored in ``arrays.force`` [SVC] 4.3."""
        self.run_operation(APPLY_CONNECTION_IMPULSE)

    def evaluate_rows(self) -> None:
        """Compute residuals ``arrays.c`` and rows at the data's configuration; the state is unchanged."""
        self.run_operation(EVALUATE_ROWS)

    def velocity_error(self) -> float:
        """Largest remaining |J v − target| after the last :meth:`apply_connection_impulse` [m/s or rad/s]."""
        return float(self.arrays.max_error[1])

    def project_state(self) -> None:
        """Project the data's state onto the constraints: position, then velocity."""
        self.run_operation(PROJECT_STATE)

    def max_residual(self) -> float:
        """Largest residual of any row when last evaluated [m or rad]."""
        return float(np.abs(self.arrays.c[: self.arrays.count[ROWS]]).max(initial=0.0))

    def joint_state(self, i: int) -> tuple[Array, Array]:
        """Coordinates and velocities of a connection's joint at the data's state: two new cons."""
        cons = self.arrays
        acts = int(cons.has_joint_forces[i])
        cons.has_joint_forces[i] = 1  # otherwise joints without forces are not evaluated
        try:
            self.accelerations()
        finally:
            cons.has_joint_forces[i] = acts
        q, v, n = int(cons.q_at[i]), int(cons.v_at[i]), int(cons.dofs[i])
        numbers = sum(ELEMENT_NQ[cons.e_kind[e]] for e in range(cons.element[i], cons.element[i] + cons.elements[i]))
        return cons.q[q : q + numbers].copy(), cons.v[v : v + n].copy()

    def wrench(self, i: int) -> tuple[Array, Array]:
        """Moment and force (6,) of a connection on its second body about its point, world axes, and that point (3,).

        From the forces last computed; springs, dampers, friction and motors of its joint included.
        """
        cons, rows = self.arrays, self.row_slice(i)
        six = cons.compliant_wrench[i].copy() if cons.compliant[i] else cons.force[rows] @ cons.T[rows]
        if cons.has_joint_forces[i]:
            six = six + cons.joint_wrench[i]
        body = int(cons.second[i])
        origin = self.data.work.origin[self.data.model.tree.root[body]] if body >= 0 else np.zeros(3)
        return six, origin + cons.P_second[i]

    def spring_energy(self) -> float:
        """Energy of the springs in connections at the data's configuration [J]."""
        cons = self.arrays
        acts = cons.has_joint_forces.copy()
        cons.has_joint_forces[:] = 1  # otherwise joints without forces are not evaluated
        self.evaluate_rows()
        cons.has_joint_forces[:] = acts
        energy = 0.0
        for i in cons.order[: cons.count[CONSTRAINTS]]:
            if cons.compliant[i]:
                rows = self.row_slice(i)
                n, f = (cons.T[rows][:, part] for part in (slice(0, 3), slice(3, 6)))
                k = (f * f).sum(axis=1) * cons.linear_spring[i, 0] + (n * n).sum(axis=1) * cons.angular_spring[i, 0]
                energy += 0.5 * float(k @ cons.c[rows] ** 2)
            for e in range(cons.element[i], cons.element[i] + cons.elements[i]):
                k, q = int(cons.e_v[e]), int(cons.e_q[e])
                if cons.e_kind[e] == BALL:
                    w = np.array(quaternion_difference(cons.rest, cons.q, q))
                    energy += 0.5 * float(cons.stiffness[k : k + 3] @ (w * w))
                else:
                    energy += 0.5 * float(cons.stiffness[k] * (cons.q[q] - cons.rest[q]) ** 2)
        return energy

    def jacobian(self) -> Array:
        """Jacobian J as last computed: a new (rows, nv)."""
        cons, T = self.arrays, self.data.model.tree
        J = np.zeros((int(cons.count[ROWS]), self.data.model.nv))
        for i in cons.order[: cons.count[CONSTRAINTS]]:
            second = int(cons.tip_second[i]), int(cons.y_second[i]), int(cons.common[i])
            for tip, offset, start in ((int(cons.tip_first[i]), 0, 0), second):
                if tip < 0:
                    continue
                d = np.arange(start, T.depth[tip] + 1)
                for m in range(cons.rows[i]):
                    at = int(cons.y_at[i] + (m // LANES) * cons.y_stride[i] + offset + m % LANES)
                    J[cons.row[i] + m, T.above[T.row[tip] + d]] += cons.J[at + LANES * d]
        return J

    def row_slice(self, i: int) -> slice:
        """Rows of a constraint."""
        start = int(self.arrays.row[i])
        return slice(start, start + int(self.arrays.rows[i]))

    def run_operation(self, operation: int) -> None:
        """Run an operation of :func:`.constrained_dynamics.run_constraint_operation` on the data's state."""
        memory = self.run_memory()
        self.arrays.dt[0] = 0.0
        status = _constraint_operation(self.data.key, self.key, operation)
        if status == OK:
            return
        residual = self.max_residual()
        self.set_run_memory(memory)
        if status == LOOP_OPEN:
            raise StateError(f"The loops cannot be closed from this configuration: a residual of {residual:.3g} m or rad remains.")
        self.data.raise_status(status)


def _restored(
    data: Data, order: list[int], limits: dict[int, str], limited: dict[int, tuple[str, Joint]], sizes: dict[str, int],
    values: dict[str, Array],
) -> ConstraintSet:  # fmt: skip
    """Return a constraint set from its values."""
    restored = ConstraintSet(data)
    restored.order, restored.count = order, len(order)
    restored.active_limits, restored.limited_joints = limits, limited
    restored._allocate(sizes, values)
    restored._rebuild()
    return restored


def _form(joint: Joint) -> int:
    """Specialized form of a joint."""
    if not joint.elements:
        return WELD
    one = joint.elements[0]
    if len(joint.elements) > 1 or any(one.anchor.tolist()):
        return GENERAL_JOINT
    return _SPECIALIZED[one.kind]
