"""Capture steps (push recovery): footsteps that are not in the reference, overlaid on the reference window."""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from brachiate.centroidal.settings import REFERENCE_HEIGHT
from brachiate.compiled import ArrayHandle, array_fields
from brachiate.errors import StateError
from brachiate.filter.footsteps.capture_step import LANDING, NO_LEG, CaptureStep
from brachiate.filter.footsteps.capture_step_kernels import adapt_problem, decide_step, lift_swing_foot, overlay_step
from brachiate.filter.footsteps.recovery_step import RecoveryStep, direction_name
from brachiate.filter.schedule.arrays import EXTRAPOLATION_TIME, MAX_CORNERS, ReferenceWindow
from brachiate.filter.settings import FilterSettings
from brachiate.filter.tracking.centroidal_mpc import CentroidalMpc
from brachiate.filter.tracking.whole_body_controller import WholeBodyController

STEP_CLEARANCE = 0.06  # [m] height of the swing foot, for a figure of 1.7 m
# Factors of the plan parameters during a step: longer steps, and less trunk rotation, which would keep the foot from its foothold.
STEPPING_FACTORS = {"step_reach": 1.6, "orientation": 0.3, "angular_velocity": 0.3, "angular_acceleration": 0.1}
# Fields of the reference window that differ from the reference during a step.
OVERLAID_FIELDS = (
    "frame_count",
    "contact_mask",
    "upcoming_mask",
    "in_contact",
    "stance_index",
    "next_stance_index",
    "time_to_landing",
    "stance_frames",
    "stance_count",
    "corner_positions",
    "foot_offset",
)


def swinging_feet(window: ReferenceWindow) -> list[int]:
    """Contact links that are feet which can step: they swing and have a sole, where supporting hands and knees have a single point."""
    return [n for n in range(len(window.leg)) if window.swings[n] and window.corner_count[n] > 1]


class CaptureStepPlanner:
    """Decides on capture steps and overlays them on the reference window; plan, swing foot and contacts treat them like any other step.

    Args:
        window: Reference frames and contact schedule.
        mpc: Centroidal planner of the window.
        controller: Whole-body controller of the figure.
        settings: Of the filter, scaled to the figure.
        height: Of the figure [m].
        dt: Time step [s].
    """

    def __init__(
        self,
        window: ArrayHandle,
        mpc: CentroidalMpc,
        controller: WholeBodyController,
        settings: FilterSettings,
        height: float,
        dt: float,
    ) -> None:
        self.source, self.mpc, self.controller, self.dt = window, mpc, controller, dt
        reference = self._reference
        if mpc.feet.arrays.gain[EXTRAPOLATION_TIME] > 0.0:
            self.view  # noqa: B018 - frames of a window that moves are copied before it does
        links, legs = len(reference.leg), len(reference.stance_count)
        length = {"swing_frames": 2, "initial_support": links, "terminal_error": 2, "landing_corners": MAX_CORNERS * links}
        length |= dict.fromkeys(("held", "hold_until", "blend", "landing_foot_offset"), legs)
        fields = array_fields(CaptureStep)
        self.step = CaptureStep(**{name: np.zeros((length.get(name, 1), *kind.row), kind.dtype) for name, kind in fields.items()})
        self.step.swing_duration[0], self.step.clearance[0] = settings.recovery_step_duration, STEP_CLEARANCE * height / REFERENCE_HEIGHT
        self.step.foot_length[0] = min(self._foot_lengths())
        self.step.swing_leg[0] = NO_LEG
        self._handle = ArrayHandle(self.step)
        self._horizon = math.ceil(settings.horizon / dt) + 2
        self.steps: list[RecoveryStep] = []  #: steps so far
        self._parameters = {name: float(getattr(mpc.planner.parameters, name)[0]) for name in STEPPING_FACTORS}

    @cached_property
    def view(self) -> ArrayHandle:
        """Copy of the reference window for steps, with arrays of its own where they differ; made for the first step."""
        reference = self._reference
        return ArrayHandle(reference._replace(**{name: getattr(reference, name).copy() for name in OVERLAID_FIELDS}))

    @property
    def _reference(self) -> ReferenceWindow:
        window = self.source.structs[0]
        assert isinstance(window, ReferenceWindow)
        return window

    def _foot_lengths(self) -> list[float]:
        """Lengths of the feet that swing [m]; supporting hands and knees are single points, without a length."""
        reference, corners = self._reference, self.controller.control.corner.reshape(-1, MAX_CORNERS, 3)
        soles = [corners[n, : reference.corner_count[n]] for n in swinging_feet(reference)]
        return [float(np.linalg.norm(points[:, None] - points[None], axis=2).max()) for points in soles]

    @property
    def is_stepping(self) -> bool:
        """Whether a step is planned or being made."""
        return bool(self.step.swing_leg[0] != NO_LEG)

    @property
    def stepping_link(self) -> str | None:
        """Foot that makes the step."""
        return self.controller.contact_links[self._swing_link(int(self.step.swing_leg[0]))] if self.is_stepping else None

    def _swing_link(self, leg: int) -> int:
        """Contact link of a leg that follows the swing trajectory."""
        reference = self._reference
        return int(np.flatnonzero((reference.leg == leg) & (reference.swings == 1))[0])

    def window_at(self, k: int) -> ArrayHandle:
        """Reference window from frame k on, with the step overlaid."""
        if not self.is_stepping and not self.step.held.any():
            return self.source
        overlaid = overlay_step(self.source.key, self.view.key, self.mpc.feet.key, self._handle.key, k, self._horizon)
        return self.view if overlaid else self.source

    def lift_foot(self, k: int) -> None:
        """Add the height of the step to the target of the swing foot, or move it toward an early landing."""
        if self.is_stepping or self.step.held.any() or self.step.blend[:, 0].any():
            lift_swing_foot(self.controller.key, self.source.key, self.mpc.feet.key, self._handle.key, k)

    def adapt_problem(self, k: int) -> None:
        """Adapt the MPC problem to the step: parameters, time at which the foothold takes effect, height of the CoM."""
        swinging = self.is_stepping and k + 1 >= self.step.swing_frames[0]
        for name, value in self._parameters.items():
            getattr(self.mpc.planner.parameters, name)[0] = value * (STEPPING_FACTORS[name] if swinging else 1.0)
        if swinging:  # the foothold is free, however long the following stance is
            self.mpc.planner.problem.landing_duration[:] = 0.0
        if self.step.feet_displaced[0]:
            adapt_problem(self.mpc.feet.key, self.mpc.planner.key, self._handle.key, self.dt, k)

    def decide_step(self, k: int) -> bool:
        """Start a step if the last plan does not recover balance. Returns whether one was started, which changes the window."""
        data, feet, planner = self.controller.world.data, self.mpc.feet, self.mpc.planner
        return bool(decide_step(data.key, self.controller.key, self.source.key, feet.key, planner.key, self._handle.key, k))

    def finish_landed_step(self, k: int) -> bool:
        """Return to the reference once the foot has landed. Returns whether it has."""
        step, feet = self.step, self.mpc.feet.arrays
        leg = int(step.swing_leg[0])
        if leg == NO_LEG or not step.lifted_off[0] or not feet.in_contact[leg]:
            return False
        self.steps.append(self._record(leg, k))
        if step.kind[0] == LANDING and k < step.hold_until[leg]:
            step.held[leg] = 1
        step.swing_leg[0], step.swing_frames[1] = NO_LEG, k
        return True

    def _record(self, leg: int, k: int) -> RecoveryStep:
        """Record of the step that has just landed."""
        step, reference, now = self.step, self._reference, float(self.controller.world.time)
        n = self._swing_link(leg)
        corners = reference.corner_positions[MAX_CORNERS * (k * len(reference.leg) + n) :][: reference.corner_count[n]]
        half = (len(corners) + 1) // 2  # a single point has no heading, and the step is described in world axes
        heading = corners[-half:].mean(axis=0) - corners[:half].mean(axis=0)
        x, y, _ = (self.mpc.feet.arrays.foothold_offset[leg] - step.previous_offset[0]).tolist()
        if not math.isfinite(x + y + float(heading.sum())):
            raise StateError(f"The step of {self.controller.contact_links[n]} landed at a position that is not finite.")
        direction, start = direction_name((x, y), heading), now - (k - int(step.swing_frames[0])) * self.dt
        return RecoveryStep(leg, self.controller.contact_links[n], start, now, x, y, direction, bool(step.is_capture[0]))

    def drop_frames(self, frames: int) -> None:
        """Shift frame numbers after the first frames of the window have been dropped."""
        self.step.swing_frames[:] -= frames
        self.step.hold_until[:] -= frames
