"""Centroidal MPC (model predictive control): plans of CoM, angular momentum and footholds over the reference window or a whole clip."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.interpolate import CubicHermiteSpline

from brachiate.centroidal.planner import DEFAULT_INTERVALS, CentroidalPlan, CentroidalPlanner
from brachiate.centroidal.problem import MAX_FEET
from brachiate.compiled import ArrayHandle
from brachiate.errors import ArgumentError, StateError
from brachiate.filter.footsteps.foot_state import FootStates
from brachiate.filter.footsteps.mpc_problem import MIN_INTERVALS
from brachiate.filter.schedule.arrays import FootState, ReferenceWindow
from brachiate.filter.schedule.contact_schedule import ContactSchedule
from brachiate.filter.settings import FilterSettings
from brachiate.filter.tracking.control_step import apply_plan, build_mpc, init_tracking
from brachiate.filter.tracking.feasibility import Feasibility
from brachiate.filter.tracking.whole_body_controller import WholeBodyController
from brachiate.validation import Array

CLIP_INTERVAL = 0.024  # [s] intervals of the plan of a whole clip


def horizon_intervals(horizon: float) -> Array:
    """Lengths of the intervals of a receding horizon [s], short ones first."""
    ends = np.cumsum(DEFAULT_INTERVALS)
    return np.array(DEFAULT_INTERVALS[: max(MIN_INTERVALS, int(np.searchsorted(ends, horizon - 1e-9)) + 1)])


class CentroidalMpc:
    """Receding-horizon centroidal planner (MPC) of the controlled figure.

    Args:
        window: Reference frames and contact schedule ahead.
        controller: Whole-body controller of the figure.
        settings: Of the filter, scaled to the figure.
        height: Of the figure [m].
        intervals: Lengths of the plan's intervals [s].
        extrapolation_time: [s] by which plans extend beyond the window; 0 if the motion ends there.
        k: First frame.
    """

    def __init__(
        self,
        window: ArrayHandle,
        controller: WholeBodyController,
        settings: FilterSettings,
        height: float,
        intervals: Array,
        extrapolation_time: float = 0.0,
        k: int = 0,
    ) -> None:
        self.window, self.controller, self.intervals = window, controller, intervals
        reference, data = window.structs[0], controller.world.data
        assert isinstance(reference, ReferenceWindow)
        gravity, mass = -float(controller.world.gravity[2]), controller.figure.model.mass
        self.legs = len(np.unique(reference.leg[reference.swings == 1]))  #: legs that swing and land on planned footholds
        self.planner = CentroidalPlanner(
            mass,
            height=height,
            feet=min(self.legs, MAX_FEET),
            intervals=len(intervals),
            gravity=gravity,
            settings=settings.plan,
        )
        freeze = self.planner.settings.landing_freeze_time
        self.feet = FootStates(reference, settings, freeze, len(intervals), self.planner.landings, extrapolation_time)
        self.status = 0
        status = init_tracking(data.key, controller.reference.key, controller.key, window.key, self.feet.key, k)
        if status:
            data.raise_status(status)

    def plan(self, k: int, elapsed: float, adapt_problem: Callable[[], None] | None = None) -> None:
        """Plan from frame k on, and set the CoM acceleration, angular momentum rate and landing targets of the plan.

        Args:
            k: Frame.
            elapsed: Since the last plan [s], for the warm start; negative for a cold start.
            adapt_problem: Called when the problem is set up, to change it before it is solved.
        """
        controller, feet, planner = self.controller, self.feet, self.planner
        planner.problem.friction[:] = controller.world.contact_settings.material.friction
        data = controller.world.data
        N = build_mpc(data.key, controller.key, self.window.key, feet.key, planner.key, k, self.intervals, planner.feet)
        if adapt_problem is not None:
            adapt_problem()
        try:
            self.status = planner.solve_in_place(N, elapsed)
        except ArgumentError as problem:  # of numbers that are not finite: the state of a body that falls, not an argument of the user
            raise StateError(f"The centroidal plan at frame {k} is not possible: {problem}") from None
        apply_plan(controller.key, self.window.key, feet.key, planner.key, k)

    @property
    def last_plan(self) -> CentroidalPlan:
        """Copy of the last plan."""
        return self.planner.to_plan(int(self.feet.arrays.plan_size[0]), self.status)


def plan_clip_in_place(schedule: ContactSchedule, controller: WholeBodyController, settings: FilterSettings, height: float) -> Feasibility:
    """Plan the whole clip at once, and write the plan into the arrays of ``schedule``, in place of the reference's centroidal trajectory.

    Overwritten are CoM, velocity and acceleration, angular momentum and its rate, orientation offset, and foot offsets of all frames.
    Returns the deviation of the plan from the reference.
    """
    count = max(int((len(schedule) - 1) * schedule.dt / CLIP_INTERVAL), MIN_INTERVALS)
    mpc = CentroidalMpc(schedule.handle, controller, settings, height, np.full(count, CLIP_INTERVAL))
    mpc.plan(0, -1.0)
    plan = mpc.last_plan
    nodes = mpc.feet.arrays.node_times[: len(plan.com)].copy()
    reference_com = schedule.com[np.minimum(np.rint(nodes / schedule.dt).astype(int), len(schedule) - 1)]
    feasibility = Feasibility(schedule.reference.times[0] + nodes, plan.com - reference_com, plan.orientation)
    _write_centroidal_trajectory(schedule, plan, nodes)
    _write_foot_offsets(schedule, mpc.feet.arrays)
    return feasibility


def _write_centroidal_trajectory(schedule: ContactSchedule, plan: CentroidalPlan, nodes: Array) -> None:
    """Interpolate the plan at the frames of the schedule."""
    times = np.minimum(schedule.dt * np.arange(len(schedule)), nodes[-1])
    path = CubicHermiteSpline(nodes, plan.com, plan.com_velocity)
    schedule.com[:], schedule.com_velocity[:] = path(times), path(times, 1)
    interval = np.clip(np.searchsorted(nodes, times + 1e-9, side="right") - 1, 0, len(plan.cmp) - 1)
    omega_squared = plan.omega_squared[interval][:, None]
    acceleration = schedule.com_acceleration
    acceleration[:] = plan.com_acceleration[interval]
    pendulum = omega_squared * (schedule.com[:, :2] - plan.cmp[interval])
    acceleration[:, :2] = np.where(omega_squared != 0.0, pendulum, acceleration[:, :2])
    schedule.orientation_offset[:] = np.stack([np.interp(times, nodes, x) for x in plan.orientation.T], axis=1)
    # Linear between nodes, as in flight it is constant: that of the reference oscillates
    at = np.minimum(np.rint(nodes / schedule.dt).astype(int), len(schedule) - 1)
    momentum = schedule.angular_momentum[at] + np.einsum("nij,nj->ni", schedule.locked_inertia[at], plan.angular_velocity)
    schedule.angular_momentum[:] = np.stack([np.interp(times, nodes, x) for x in momentum.T], axis=1)
    schedule.angular_momentum_rate[:] = (np.diff(momentum, axis=0) / np.diff(nodes)[:, None])[interval]


def _write_foot_offsets(schedule: ContactSchedule, feet: FootState) -> None:
    """Planned foothold offsets during stances, quintic between them."""
    for leg, stances in enumerate(schedule.stance_frames):
        before, end = np.zeros(2), 0
        for n, (begin, stop) in enumerate(stances):
            at, first = leg * (len(feet.is_planned) // schedule.leg_count) + n, max(begin, 0)
            target = feet.planned_offset[at, :2] if feet.is_planned[at] else before
            x = (np.arange(end, first) - end) / max(first - end, 1)
            part = (x**3 * (10.0 - 15.0 * x + 6.0 * x * x))[:, None]
            schedule.foot_offset[end:first, leg, :2] = (1.0 - part) * before + part * target
            schedule.foot_offset[first:stop, leg, :2] = target
            before, end = target, stop
        schedule.foot_offset[end:, leg, :2] = before
    schedule.foot_offset_rate[:] = np.gradient(schedule.foot_offset, schedule.dt, axis=0)
