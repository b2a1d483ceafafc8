"""Time integration under constant torques by one of several methods, in compiled code.

Explicit methods integrate y = (q, v) as a plain vector and normalize quaternions at the end of a step: the exact flow preserves
their length, so this changes y by no more than the local error, and the order is kept [HLW] IV.4. Semi-implicit Euler moves along the
manifold itself [SVC] 5.1.

With a constraint set, accelerations satisfy the constraints, and after every step the state is projected onto them, position and
velocity, in the mass metric. Euler steps do so approximately, to third order in the step; recorded states are closed to round-off.
"""

from __future__ import annotations

from typing import Any, NamedTuple, NoReturn

import numpy as np

from brachiate import validation
from brachiate.compiled import ArrayHandle
from brachiate.constraints.constraint_set import ConstraintSet
from brachiate.constraints.limits import LimitMonitor
from brachiate.errors import ArgumentError, StateError
from brachiate.model.data import Data
from brachiate.model.status import LIMIT_PASSED, LOOP_OPEN, NOT_CONVERGED, NOT_FINITE, OK
from brachiate.simulate.bulirsch_stoer import MIDPOINT_COLUMNS, run_bulirsch_stoer
from brachiate.simulate.butcher_tables import DORMAND_PRINCE, DORMAND_PRINCE_DENSE, DORMAND_PRINCE_ERROR, RK4, RK8, ButcherTable
from brachiate.simulate.dormand_prince import run_dormand_prince
from brachiate.simulate.euler import run_euler
from brachiate.simulate.integrator_kernels import IntegratorArrays
from brachiate.simulate.runge_kutta import run_runge_kutta
from brachiate.validation import Array

_MAX_ROOT_ITERATIONS = 40  # to locate the time at which a limit is reached


class IntegrationMethod(NamedTuple):
    """Integration method: compiled entry point, order, and Butcher table if it has one."""

    run: Any
    order: int
    table: ButcherTable | None
    adaptive: bool


#: Every integration method by name.
METHODS: dict[str, IntegrationMethod] = {
    "euler": IntegrationMethod(run_euler, 1, None, False),
    "rk4": IntegrationMethod(run_runge_kutta, RK4.order, RK4, False),
    "rk8": IntegrationMethod(run_runge_kutta, RK8.order, RK8, False),
    "dormand-prince": IntegrationMethod(run_dormand_prince, DORMAND_PRINCE.order, DORMAND_PRINCE, True),
    "bulirsch-stoer": IntegrationMethod(run_bulirsch_stoer, 2 * MIDPOINT_COLUMNS, None, True),
}


class Integrator:
    """Integrator of one :class:`~brachiate.Data` by one of the :data:`METHODS`.

    Args:
        data: Model data whose state is advanced.
        method: Name of the method.
        tolerance: Local error of adaptive methods, relative and absolute; the others ignore it.
        constraint_set: Constraints; by default none.
        limits: Whether joints stop at their limits.
    """

    def __init__(
        self,
        data: Data,
        method: str = "euler",
        tolerance: float = 1e-9,
        constraint_set: ConstraintSet | None = None,
        *,
        limits: bool = False,
    ) -> None:
        self.data, self.constraint_set = data, ConstraintSet(data) if constraint_set is None else constraint_set
        self._limits = limits
        self._monitor = self._make_monitor()
        self.name = validation.one_of(method, tuple(METHODS), "integrator")
        self.method = METHODS[self.name]
        self.tolerance = validation.number(tolerance, "tolerance", minimum=1e-14, maximum=1.0)
        n = data.model.nq + data.model.nv
        table = self.method.table
        s = len(table.weights) if table else MIDPOINT_COLUMNS
        embedded = self.method.run is run_dormand_prince
        self._control = np.array([0.0, self.tolerance])
        self._last_state = np.zeros(n)
        self._no_rows = np.empty((0, data.model.nq)), np.empty((0, data.model.nv))
        self._scratch = ArrayHandle(
            IntegratorArrays(
                y=np.zeros(n), z=np.zeros(n), e=np.zeros(n), f=np.zeros(n), last=self._last_state, k=np.zeros(s * n),
                stages=table.stages.ravel().copy() if table else np.zeros(s * s),
                nodes=table.stages.sum(axis=1) if table else np.zeros(s),
                weights=table.weights.copy() if table else np.zeros(s),
                error=DORMAND_PRINCE_ERROR.copy() if embedded else np.zeros(s),
                dense=DORMAND_PRINCE_DENSE.copy() if embedded else np.zeros(s),
                control=self._control,
            )
        )  # fmt: skip

    def fits(self, data: Data, constraint_set: ConstraintSet, contact_state: object) -> bool:
        """Whether it integrates this data with these constraints, without contact."""
        return self.data is data and self.constraint_set is constraint_set and contact_state is None

    def _make_monitor(self) -> LimitMonitor | None:
        """Monitor of all joint limits, if there are any; those of loop joints come and go with the connections."""
        monitor = LimitMonitor(self.data.model, self.constraint_set) if self._limits else None
        return monitor if monitor and monitor.names else None

    def advance(self, dt: float, steps: int = 1, every: int = 1, time: float = 0.0) -> tuple[Array, Array]:
        """Advance by ``steps`` steps of ``dt`` with constant torques and applied forces; return q and v after every ``every`` steps.

        ``time`` [s] is the start time, for prescribed coordinates. On failure the state is as it was before the call.
        """
        if not (0.0 < dt < np.inf and steps >= 0 and every >= 1):
            raise ArgumentError(f"advance: expected dt > 0, steps >= 0 and every >= 1, got {dt}, {steps} and {every}.")
        if self._limits and self.constraint_set.limited_joints != (self._monitor.limited_joints if self._monitor else {}):
            self._monitor = self._make_monitor()
        work, rows = self.data.work, steps // every
        Q, V = np.empty((rows, len(work.q))), np.empty((rows, len(work.v)))
        if self._monitor is None:
            self._run(dt, steps, every, time, Q, V)
            return Q, V
        q, v, memory = work.q.copy(), work.v.copy(), self._monitor.begin_run()
        try:
            self._run_monitored(self._monitor, dt, steps, every, time, Q, V)
        except StateError:
            work.q[:], work.v[:] = q, v
            self._monitor.undo_run(memory)
            raise
        return Q, V

    def _run_monitored(self, monitor: LimitMonitor, dt: float, steps: int, every: int, time: float, Q: Array, V: Array) -> None:
        """Advance, activating every limit at the time it is reached. Adaptive methods check limits after every dt."""
        monitor.remove_inactive()
        done = 0
        while done < steps:
            row = done // every
            if done % every == 0 and not self.method.adaptive:
                count = steps - done
                status = self._run(dt, count, every, time + done * dt, Q[row:], V[row:])
            else:
                count = 1 if self.method.adaptive else min(every - done % every, steps - done)
                status = self._run(dt, count, count + 1, time + done * dt, Q, V)
            done += int(monitor.arrays.count[0]) if status == LIMIT_PASSED else count
            if status == LIMIT_PASSED:
                self._stop_at_limit(monitor, time + (done - 1) * dt, dt)
            if done % every == 0 and 0 < done // every <= len(Q):
                Q[done // every - 1], V[done // every - 1] = self.data.q, self.data.v
            monitor.remove_inactive()

    def _stop_at_limit(self, monitor: LimitMonitor, time: float, dt: float) -> None:
        """Locate the time at which a limit is reached within the last step (root finding), stop the joint there, and complete the step."""
        remaining = dt
        for _ in monitor.names:  # each limit is reached at most once in a step
            n, before = int(monitor.arrays.count[1]), self._last_state.copy()
            low, high, f_high = 0.0, remaining, monitor.distance(self.data, n)
            self._return_to(monitor, before)
            f_low = monitor.distance(self.data, n)
            if not f_low > 0.0:  # at the limit from the start
                high = 0.0
            for iteration in range(_MAX_ROOT_ITERATIONS):
                if high - low <= 1e-12 * dt or f_high > -1e-13:
                    break
                middle = (low * f_high - high * f_low) / (f_high - f_low) if iteration % 3 else 0.5 * (low + high)
                self._return_to(monitor, before)
                self._run(middle, 1, 2, time, *self._no_rows)
                f = monitor.distance(self.data, n)
                low, f_low, high, f_high = (middle, f, high, f_high) if f > 0.0 else (low, f_low, middle, f)
            self._return_to(monitor, before)
            if high > 0.0:
                self._run(high, 1, 2, time, *self._no_rows)
            monitor.stop_at(n)
            time, remaining = time + high, remaining - high
            if remaining <= 1e-12 * dt or self._run(remaining, 1, 2, time, *self._no_rows) != LIMIT_PASSED:
                return

    def _return_to(self, monitor: LimitMonitor, state: Array) -> None:
        """Return to an earlier state with its active limits."""
        nq = self.data.model.nq
        self.data.q[:], self.data.v[:] = state[:nq], state[nq:]
        monitor.restore_previous()

    def _run(self, dt: float, steps: int, every: int, time: float, Q: Array, V: Array) -> int:
        """Advance in one call of compiled code; on failure the state is as it was before."""
        data, constraint_set = self.data, self.constraint_set
        limits = None if self._monitor is None else self._monitor.key
        q, v, memory = data.work.q.copy(), data.work.v.copy(), constraint_set.run_memory()
        if self.method.adaptive and self._monitor is not None:
            self._last_state[:] = np.concatenate([q, v])
            constraint_set.arrays.inactive_previous[:], constraint_set.arrays.bound_previous[:] = (
                constraint_set.arrays.inactive,
                constraint_set.arrays.polynomial[:, 0],
            )
        key = constraint_set.key if constraint_set.count else None
        status = self.method.run(data.key, key, limits, self._scratch.key, time, dt, steps, every, Q, V)
        if status not in (OK, LIMIT_PASSED):
            constraint_set.set_run_memory(memory)
            data.q[:], data.v[:] = q, v  # so that an invalid initial state can be named
            self._raise_status(status, steps * dt)
        return status

    def _raise_status(self, status: int, seconds: float) -> NoReturn:
        data = self.data
        if status == LOOP_OPEN:
            raise StateError(f"Loop constraints opened within {seconds:g} s and could not be closed again. Use a shorter step.")
        if status == NOT_FINITE and all(np.isfinite(x).all() for x in (data.q, data.v, data.tau)):
            raise StateError(f"The state diverged to infinity within {seconds:g} s. Use a shorter step, or check the torques.")
        if status == NOT_CONVERGED:
            raise StateError(f"{self.name} cannot reach a tolerance of {self.tolerance:g} with any step. Allow a larger tolerance.")
        data.raise_status(status)

    def restart(self) -> None:
        """Reset the adaptive step length after a change of state or structure."""
        self._control[0] = 0.0
