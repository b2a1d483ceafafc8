"""Centroidal MPC: plan of CoM, angular momentum and footholds over a horizon of the reference motion.

First the vertical plan, then the horizontal plan for given heights; both are staged least-squares problems. A plan starts at the present
state of the body, so it can be updated at any rate (receding horizon); between two plans hold ω² and the CMP of c̈ = ω² (c - cmp), not c̈.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from brachiate.centroidal.arrays import StageArrays, allocate_stages
from brachiate.centroidal.horizontal import (
    USUAL_STANCE_DURATION,
    build_horizontal,
    read_horizontal_solution,
    read_landing_offsets,
    stage_sizes,
)
from brachiate.centroidal.pendulum import ANGULAR_ACCELERATION, COP, LANDING
from brachiate.centroidal.problem import (
    FLIGHT,
    GRIP,
    MAX_FEET,
    MAX_MOTORS,
    MAX_PATCH_POINTS,
    MAX_VERTICAL_ACCELERATION,
    STANCE,
    VALID,
    PlanParameters,
    PlanProblem,
    PlanSolution,
    allocate_problem,
    allocate_solution,
    check_problem,
    plan_parameters,
)
from brachiate.centroidal.settings import PlanSettings
from brachiate.centroidal.staged_least_squares import EMPTY_ACTIVE_SET, NOT_FINITE, STATUS, WARM_START, solve_staged
from brachiate.centroidal.vertical import (
    CONTROL_COUNT,
    MAX_ROWS,
    STATE_COUNT,
    VERTICAL_ACCELERATION,
    build_vertical,
    read_vertical_solution,
)
from brachiate.compiled import ArrayHandle, Key, call_address, entry, kernel, struct_opener
from brachiate.errors import ArgumentError, StateError
from brachiate.validation import Array, integer, number, numbers

__all__ = ["FLIGHT", "GRIP", "STANCE", "CentroidalPlan", "CentroidalPlanner", "PlanProblem", "PlanSettings"]

RELAYOUT_DISTANCE = 0.002  # [m] footholds farther from those assumed: support polygons are updated
MAX_LAYOUTS = 3  # support polygon updates of a plan
DEFAULT_INTERVALS = (0.024,) * 12 + (0.06,) * 14  # [s]

open_plan = struct_opener(PlanParameters, PlanProblem, PlanSolution, StageArrays, StageArrays)


@kernel
def previous_interval(sol, t):
    """Interval of the previous plan at a time."""
    k = 0
    while k < sol.interval_count[0] - 1 and sol.node_time[k + 1] < t:
        k += 1
    return k


@kernel
def warm_start(params, problem, sol, vertical, horizontal, N, elapsed):
    """Warm start: controls of the previous plan where the contact mode is the same at the same time."""
    t, wv, ws = elapsed, vertical.size[4], horizontal.size[4]
    for k in range(N):
        old = previous_interval(sol, t + 0.5 * problem.dt[k])
        t += problem.dt[k]
        same = sol.contact_mode[old] == problem.contact_mode[k]
        vertical.z[k * wv + VERTICAL_ACCELERATION] = sol.vertical_acceleration[old] if same else problem.com_acceleration[k, 2]
        for i in range(2):
            horizontal.z[k * ws + COP + i] = 0.0
            if same:
                horizontal.z[k * ws + COP + i] = (
                    sol.cop[old, i] - sol.initial_state[i] if problem.contact_mode[k] == STANCE else sol.horizontal_acceleration[old, i]
                )
        for i in range(3):
            horizontal.z[k * ws + ANGULAR_ACCELERATION + i] = sol.angular_acceleration[old, i] if same else 0.0
    for n in range(problem.landing_foot.shape[0]):
        if problem.landing_foot[n] >= 0 and problem.landing_start[n] < N:
            at = problem.landing_start[n] * ws + LANDING + 2 * problem.landing_foot[n]
            horizontal.z[at], horizontal.z[at + 1] = problem.landing_target[n, 0], problem.landing_target[n, 1]


@kernel
def store_nodes(problem, sol, N):
    """Store times and contact modes of intervals for the warm start of the next plan."""
    sol.interval_count[0], sol.node_time[0] = N, 0.0
    for k in range(N):
        sol.node_time[k + 1], sol.contact_mode[k] = sol.node_time[k] + problem.dt[k], problem.contact_mode[k]


@entry
def solve_plan(key: Key, vertical_key: Key, horizontal_key: Key, solver: int, N: int, elapsed: float):
    """Solve a plan of N intervals. Returns a status.

    ``vertical_key`` and ``horizontal_key`` are those of the two least-squares problems, ``solver`` is the address of their solver,
    ``elapsed`` the time [s] since the previous plan for a warm start, negative for a cold start.
    """
    params, problem, sol, vertical, horizontal = open_plan(key)
    sol.error[0] = check_problem(params, problem, sol, N)
    if sol.error[0] != VALID:
        return NOT_FINITE
    warm = elapsed >= 0.0 and sol.interval_count[0] > 0
    if warm:
        warm_start(params, problem, sol, vertical, horizontal, N, elapsed)
    sol.interval_count[0] = 0
    build_vertical(params, problem, sol, vertical, N)
    start = WARM_START if warm else EMPTY_ACTIVE_SET
    status = call_address(solver, vertical_key, vertical_key, 0.0, start)
    sol.iterations[0], sol.iterations[1], sol.iterations[2] = vertical.iterations[0], 0, 0
    if status == NOT_FINITE:
        return status
    read_vertical_solution(params, problem, sol, vertical, N)
    for n in range(problem.landing_foot.shape[0]):
        sol.landing_offset[n, 0], sol.landing_offset[n, 1] = problem.landing_target[n, 0], problem.landing_target[n, 1]
    horizontal_status = status
    for _ in range(MAX_LAYOUTS):
        build_horizontal(params, problem, sol, horizontal, N)
        horizontal_status = call_address(solver, horizontal_key, horizontal_key, 0.0, start)
        start = WARM_START
        sol.iterations[1] += horizontal.iterations[0]
        sol.iterations[2] += 1
        if horizontal_status == NOT_FINITE:
            return horizontal_status
        if read_landing_offsets(params, problem, sol, horizontal, N) < RELAYOUT_DISTANCE:
            break
    read_horizontal_solution(params, problem, sol, horizontal, N)
    store_nodes(problem, sol, N)
    return max(status, horizontal_status)


@dataclass(frozen=True)
class CentroidalPlan:
    """Centroidal plan of N intervals between N + 1 nodes; world axes, z up.

    Attributes:
        com, com_velocity: (N + 1, 3) [m], [m/s] center of mass at nodes
        orientation, angular_velocity: (N + 1, 3) [rad], [rad/s] whole-body orientation relative to the reference, and its rate
        cop: (N, 3) [m] center of pressure of intervals; the CoM where there is none
        cmp, omega_squared: (N, 2) [m], (N,) [1/s²] c̈ = ω² (c - cmp) horizontally; ω² is 0 in flight and with grips
        com_acceleration: (N, 3) [m/s²] at the start of intervals
        angular_acceleration: (N, 3) [rad/s²] relative to the reference
        angular_momentum_rate: (N, 3) [N·m] about the CoM
        landing_offset: (L, 2) [m] foothold offsets of the landings
        iterations: of the vertical and of the horizontal plan
        status: an entry of :data:`brachiate.centroidal.staged_least_squares.STATUS`
        com_deviation, orientation_deviation: (max, RMS) of |c - reference| [m] and |orientation| [rad] over all nodes but the first:
            feasibility of the reference

    """

    com: Array
    com_velocity: Array
    orientation: Array
    angular_velocity: Array
    cop: Array
    cmp: Array
    omega_squared: Array
    com_acceleration: Array
    angular_acceleration: Array
    angular_momentum_rate: Array
    landing_offset: Array
    iterations: tuple[int, int]
    status: str
    com_deviation: tuple[float, float]
    orientation_deviation: tuple[float, float]

    @property
    def converged(self) -> bool:
        """Whether the plan is optimal to round-off."""
        return self.status == STATUS[0]

    def acceleration_at(self, com: ArrayLike) -> Array:
        """CoM acceleration [m/s²] in the first interval at a CoM position."""
        result = self.com_acceleration[0].copy()
        if self.omega_squared[0] != 0.0:
            result[:2] = self.omega_squared[0] * (np.asarray(com, float)[:2] - self.cmp[0])
        return result


class CentroidalPlanner:
    """Centroidal planner (MPC) of a body; allocates its arrays once.

    Args:
        mass: [kg]
        height: [m] of the body; settings are scaled with it
        feet: number of feet whose footholds are planned, up to 4
        intervals: largest number of intervals of a plan
        landings: largest number of landings of a plan; default: intervals + 4
        gravity: [m/s²]
        settings: for a body height of 1.7 m

    """

    def __init__(
        self,
        mass: float,
        *,
        height: float = 1.7,
        feet: int = 2,
        intervals: int = len(DEFAULT_INTERVALS),
        landings: int | None = None,
        gravity: float = 9.81,
        settings: PlanSettings | None = None,
    ) -> None:
        self.mass, self.gravity = number(mass, "mass", above=0.0), number(gravity, "gravity", above=0.0)
        self.feet, self.intervals = integer(feet, "feet", minimum=0), integer(intervals, "intervals", minimum=1)
        if self.feet > MAX_FEET:
            raise ArgumentError(f"feet must be at most {MAX_FEET}, got {self.feet}.")
        self.landings = self.intervals + 4 if landings is None else integer(landings, "landings", minimum=0)
        self.settings = (settings or PlanSettings()).scaled(height)
        #: Planning problem, to be filled before each plan.
        self.problem = allocate_problem(self.intervals, self.landings)
        #: Solution of the last plan.
        self.solution = allocate_solution(self.intervals, self.landings)
        nx, nu, rows = stage_sizes(self.feet)
        vertical, horizontal = (
            allocate_stages(self.intervals, STATE_COUNT, CONTROL_COUNT, MAX_ROWS),
            allocate_stages(self.intervals, nx, nu, rows),
        )
        self._vertical, self._horizontal = ArrayHandle(vertical), ArrayHandle(horizontal)
        #: Body and settings for the kernels.
        self.parameters = plan_parameters(self.settings, self.mass, self.gravity, self.feet)
        self._handle = ArrayHandle(self.parameters, self.problem, self.solution, vertical, horizontal)
        self.clear()

    @property
    def key(self) -> Any:
        """First argument of compiled entry points; a copy has its own."""
        return self._handle.key

    def clear(self) -> None:
        """Reset the problem to defaults: flight, default interval lengths, no landings."""
        for name, array in self.problem._asdict().items():
            array[...] = {
                "patch_foot": -1,
                "friction": 0.8,
                "max_vertical_acceleration": MAX_VERTICAL_ACCELERATION * self.gravity,
                "height_slack": np.inf,
            }.get(name, 0)
        problem = self.problem
        problem.landing_foot[:], problem.landing_time[:], problem.landing_duration[:], problem.reach_slack[:] = (
            -1,
            np.inf,
            USUAL_STANCE_DURATION,
            np.inf,
        )
        problem.landing_min[:], problem.landing_max[:] = -np.inf, np.inf
        problem.dt[:] = DEFAULT_INTERVALS[0]
        n = min(self.intervals, len(DEFAULT_INTERVALS))
        if self.intervals <= len(DEFAULT_INTERVALS):
            problem.dt[:n] = DEFAULT_INTERVALS[:n]
        problem.inertia[:] = np.eye(3) * 0.06 * self.mass  # about that of a crouched body
        self.solution.interval_count[0] = 0

    def solve(
        self,
        com: ArrayLike,
        com_velocity: ArrayLike,
        orientation: ArrayLike = (0.0, 0.0, 0.0),
        angular_velocity: ArrayLike = (0.0, 0.0, 0.0),
        offsets: ArrayLike | None = None,
        *,
        intervals: int | None = None,
        elapsed: float | None = None,
    ) -> CentroidalPlan:
        """Plan from the present state of the body.

        Args:
            com, com_velocity: (3,) [m], [m/s] center of mass
            orientation, angular_velocity: (3,) [rad], [rad/s] whole-body orientation relative to the reference, and its rate
            offsets: (feet, 2) [m] of the present, or last, footholds from those of the reference
            intervals: number of intervals to plan; default: all
            elapsed: [s] since the previous plan, for a warm start; default: cold start

        """
        sol = self.solution
        N = self.intervals if intervals is None else integer(intervals, "intervals", minimum=1)
        if self.intervals < N:
            raise ArgumentError(f"intervals: {N} were given, at most {self.intervals} are possible.")
        since = -1.0 if elapsed is None else number(elapsed, "elapsed", minimum=0.0)
        state = [
            numbers(x, (3,), w)
            for x, w in (
                (com, "com"),
                (com_velocity, "com_velocity"),
                (orientation, "orientation"),
                (angular_velocity, "angular_velocity"),
            )
        ]
        foot_offsets = np.zeros((self.feet, 2)) if offsets is None else numbers(offsets, (self.feet, 2), "offsets")
        sol.initial_state[:12] = np.concatenate(state)
        sol.initial_state[12 : 12 + 2 * self.feet] = foot_offsets.reshape(-1)
        return self.to_plan(N, self.solve_in_place(N, since))

    def solve_in_place(self, N: int, since: float) -> int:
        """Plan N intervals from ``solution.initial_state``; ``since``: time [s] since the previous plan, negative for a cold start.

        Returns the status; the plan is in ``solution``.
        """
        sol = self.solution
        status = int(solve_plan(self.key, self._vertical.key, self._horizontal.key, solve_staged.address, N, since))
        if sol.error[0] != VALID:
            raise ArgumentError(self._error_message(int(sol.error[0]), int(sol.error[1])))
        if status == NOT_FINITE:
            raise StateError("the plan is not finite: values of the problem or of the state are too large.")
        return status

    def to_plan(self, N: int, status: int) -> CentroidalPlan:
        """Copy of the solution as a plan."""
        sol, problem = self.solution, self.problem
        com_error = np.sqrt(np.square(sol.com[1 : N + 1] - problem.com[1 : N + 1]).sum(axis=1))
        orientation_error = np.sqrt(np.square(sol.orientation[1 : N + 1]).sum(axis=1))
        acceleration = np.empty((N, 3))
        acceleration[:, :2], acceleration[:, 2] = sol.horizontal_acceleration[:N], sol.vertical_acceleration[:N]

        def max_and_rms(x: Array) -> tuple[float, float]:
            return float(x.max()), float(np.sqrt(x @ x / N))

        return CentroidalPlan(
            sol.com[: N + 1].copy(),
            sol.com_velocity[: N + 1].copy(),
            sol.orientation[: N + 1].copy(),
            sol.angular_velocity[: N + 1].copy(),
            sol.cop[:N].copy(),
            sol.cmp[:N].copy(),
            sol.omega_squared[:N].copy(),
            acceleration,
            sol.angular_acceleration[:N].copy(),
            sol.angular_momentum_rate[:N].copy(),
            sol.landing_offset.copy(),
            (int(sol.iterations[0]), int(sol.iterations[1])),
            STATUS[status],
            max_and_rms(com_error),
            max_and_rms(orientation_error),
        )

    def _error_message(self, error: int, k: int) -> str:
        problem, feet = self.problem, f"-1 to {self.feet - 1}"
        messages: tuple[Any, ...] = (
            "",
            lambda: f"problem.dt: interval {k} must be longer than 0 s and shorter than 1000 s, got {problem.dt[k]:g}.",
            lambda: (
                f"problem: com, com_velocity, com_acceleration and angular_momentum_rate must be finite, but are not at node "
                f"or interval {k}."
            ),
            lambda: f"problem.inertia: interval {k} is not symmetric and positive definite.",
            lambda: (
                f"problem: interval {k} must be FLIGHT, STANCE or GRIP, with up to {MAX_PATCH_POINTS} finite points in a patch, "
                f"of feet from {feet}; got contact_mode {problem.contact_mode[k]}, patch_size {problem.patch_size[k].tolist()}, "
                f"patch_foot {problem.patch_foot[k].tolist()}."
            ),
            lambda: f"problem: interval {k} is STANCE, but none of its patches has a point. Add a point, or set FLIGHT or GRIP.",
            lambda: (
                f"problem: at {k}, offset_share must be finite, height_slack a number or inf, friction at least 0 and "
                f"max_vertical_acceleration above {self.settings.min_vertical_acceleration * self.gravity:g} m/s²."
            ),
            lambda: (
                f"problem: landing {k} needs a foot from {feet}, finite target and directions, times, ordered bounds, and must take effect "
                f"at an interval from 0 on and no later than its touchdown; got foot {problem.landing_foot[k]}, "
                f"start {problem.landing_start[k]}, touchdown {problem.landing_touchdown[k]}."
            ),
            lambda: f"problem: landing {k} takes effect at the same interval as another of foot {problem.landing_foot[k]}.",
            lambda: (
                f"problem: interval {k} needs 0 to {MAX_MOTORS} motors of a foot from {feet}, with finite numbers and limits above 0; got "
                f"{problem.motor_count[k]} of foot {problem.motor_foot[k]}."
            ),
        )
        return messages[error]()
