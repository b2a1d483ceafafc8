"""Motion tracker: one control step of the dynamics filter, state → swing feet → centroidal MPC → whole-body QP → torques."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from brachiate.compiled import ArrayHandle
from brachiate.errors import StateError
from brachiate.filter.footsteps.recovery_step import RecoveryStep
from brachiate.filter.schedule.arrays import ReferenceWindow
from brachiate.filter.settings import FilterSettings
from brachiate.filter.tasks.function_tasks import FunctionTasks
from brachiate.filter.tracking.capture_steps import CaptureStepPlanner, swinging_feet
from brachiate.filter.tracking.centroidal_mpc import CentroidalMpc, horizon_intervals
from brachiate.filter.tracking.fall_detection import MAX_JOINT_SPEED, RUNAWAY_DURATION, Failure, fall_reason, nearness_of_a_fall
from brachiate.filter.tracking.whole_body_controller import WholeBodyController
from brachiate.validation import Array
from brachiate.world.world import World


class MotionTracker:
    """Tracks the frames of a reference window in simulation.

    Args:
        controller: Whole-body controller; its figure is at frame k of the reference.
        window: Reference frames and contact schedule.
        settings: Of the filter, scaled to the figure.
        height: Of the figure [m].
        dt: Time step [s].
        extrapolation_time: [s] by which plans extend beyond the window; 0 if the motion ends there.
        k: First frame.
        predict: Called before every plan to extend the window by predicted frames.
        tasks: Functions of the motion that are directed.
    """

    def __init__(
        self,
        controller: WholeBodyController,
        window: ArrayHandle,
        settings: FilterSettings,
        height: float,
        dt: float,
        extrapolation_time: float = 0.0,
        k: int = 0,
        predict: Callable[[int], bool] | None = None,
        tasks: FunctionTasks | None = None,
    ) -> None:
        self.controller, self.window, self.settings, self.dt = controller, window, settings, dt
        self.mpc = CentroidalMpc(window, controller, settings, height, horizon_intervals(settings.horizon), extrapolation_time, k)
        legs = len(self.mpc.feet.arrays.in_contact)
        reference = window.structs[0]
        assert isinstance(reference, ReferenceWindow)
        # Not with contact links that cannot swing, such as a seat
        can_step = legs == self.mpc.legs and len(swinging_feet(reference)) > 1
        self.capture_steps: CaptureStepPlanner | None = None
        if settings.recovery_step_duration > 0.0 and can_step:
            self.capture_steps = CaptureStepPlanner(window, self.mpc, controller, settings, height, dt)
        self._predict = predict
        self.tasks = tasks
        self._start_time = controller.world.time - k * dt  # of the clip, in the world's time [s]
        self._planned_frame, self._planned_support = -1, self._support_pattern
        self.failure: Failure | None = None  #: time and reason of the fall
        self.solves = 0  #: linear solves of the QP in the last step
        self._runaway_steps = 0  # in a row in which a joint is faster than any person's

    @property
    def recovery_steps(self) -> tuple[RecoveryStep, ...]:
        """Footsteps so far that are not in the reference."""
        return () if self.capture_steps is None else tuple(self.capture_steps.steps)

    @property
    def stepping_link(self) -> str | None:
        """Foot that makes such a step now."""
        return None if self.capture_steps is None else self.capture_steps.stepping_link

    def control(self, k: int) -> None:
        """Set the torques of the next time step, with frame k as the reference. A state or plan that is not finite is a failure."""
        if self.tasks is not None:  # errors of a user's function are errors, not failures
            self._direct_functions(self.tasks)
        try:
            self._control(k)
        except StateError as problem:
            self.failure = self.failure or Failure(float(self.controller.world.time), str(problem))
            return
        self._detect_fall()

    def _control(self, k: int) -> None:
        feet, capture_steps = self.mpc.feet, self.capture_steps
        window = self.window if capture_steps is None else capture_steps.window_at(k)
        self.controller.update_state(window, feet, k)
        if capture_steps is not None:
            capture_steps.lift_foot(k)
        window = self._replan_if_due(k, window)
        self.solves = self.controller.solve(window, feet, k)
        if capture_steps is not None:
            capture_steps.finish_landed_step(k)

    @property
    def clip_time(self) -> float:
        """Time since the start of the clip [s]."""
        return float(self.controller.world.time - self._start_time)

    def _direct_functions(self, tasks: FunctionTasks) -> None:
        """Set the rows of functions of the motion, at the present state."""
        controller, near = self.controller, nearness_of_a_fall(*self.mpc.feet.arrays.root_error.tolist())
        rows = tasks.update(self.clip_time, controller.control.a, controller.function_multipliers(), self.dt, near)
        controller.set_function_rows(*rows)

    def _replan_if_due(self, k: int, window: ArrayHandle) -> ArrayHandle:
        """Solve the MPC again if the support has changed or the replanning interval is over. Returns the window by then."""
        elapsed, support = (k - self._planned_frame) * self.dt, self._support_pattern
        first = self._planned_frame < 0
        if first or elapsed >= self.settings.replan_interval - 1e-9 or support != self._planned_support:
            if self._predict is not None:
                self._predict(k)
            self._planned_frame, self._planned_support = k, support
            window = self._plan(k, -1.0 if first else elapsed)
        return window

    def _plan(self, k: int, elapsed: float) -> ArrayHandle:
        """Solve the MPC, and once more if a capture step has been added to the window."""
        capture_steps = self.capture_steps
        if capture_steps is None:
            self.mpc.plan(k, elapsed)
            return self.window
        for again in (False, True):
            self.mpc.window = window = capture_steps.window_at(k)
            self.mpc.plan(k, 0.0 if again else elapsed, lambda: capture_steps.adapt_problem(k))
            if again or not capture_steps.decide_step(k):
                break
        return window

    def replace_controller(self, controller: WholeBodyController) -> None:
        """Continue with a new controller of the same figure, after the model of the world has changed."""
        controller.control.supporting_corners[:] = self.controller.control.supporting_corners
        self.controller = self.mpc.controller = controller
        if self.capture_steps is not None:
            self.capture_steps.controller = controller

    @property
    def _support_pattern(self) -> tuple[int, ...]:
        """Stance of the legs and modes of the grips."""
        return (*self.mpc.feet.stance_pattern, *self.controller.control.grip_mode.tolist())

    def drop_frames(self, frames: int) -> None:
        """Shift frame numbers after the first frames of the window have been dropped."""
        self._planned_frame -= frames
        if self.capture_steps is not None:
            self.capture_steps.drop_frames(frames)

    def _detect_fall(self) -> None:
        reason = fall_reason(*self.mpc.feet.arrays.root_error.tolist())
        speed = np.abs(self.controller.world.v[self.controller.v_at])
        speed[:6] = 0.0
        self._runaway_steps = self._runaway_steps + 1 if speed.max() > MAX_JOINT_SPEED else 0
        if self._runaway_steps * self.dt > RUNAWAY_DURATION:  # contacts of limbs this fast would take minutes to solve
            k = int(speed.argmax())
            reason = f"{self.controller.figure.model.coordinates[k]} runs away at {speed[k]:.0f} rad/s"
        if reason is not None and self.failure is None:
            self.failure = Failure(float(self.controller.world.time), reason)


def set_figure_state(world: World, controller: WholeBodyController, q: Array, v: Array) -> None:
    """Set configuration and velocity of the controlled figure."""
    world_q, world_v = world.q.copy(), world.v.copy()
    world_q[controller.q_at], world_v[controller.v_at] = q, v
    world.q, world.v = world_q, world_v
