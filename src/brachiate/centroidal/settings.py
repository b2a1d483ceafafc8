"""Settings of the centroidal planner: tolerances, limits and their softness."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace

from brachiate.errors import ArgumentError
from brachiate.validation import number

REFERENCE_HEIGHT = 1.7  # [m] body height for which the defaults hold

# Exponent of the scale factor by unit (dynamic similarity of pendulums): lengths scale with body height, times with its square root.
_POWERS = {"m": 1.0, "m/s": 0.5, "m/s²": 0.0, "rad": 0.0, "rad/s": -0.5, "rad/s²": -1.0, "s": 0.5, "": 0.0}
_UNITS = {
    "com_position": "m",
    "com_velocity": "m/s",
    "orientation": "rad",
    "angular_velocity": "rad/s",
    "center_of_pressure": "m",
    "angular_acceleration": "rad/s²",
    "foothold_offset": "m",
    "capture_point": "m",
    "terminal_orientation": "rad",
    "terminal_lookahead": "s",
    "com_height": "m",
    "vertical_velocity": "m/s",
    "vertical_acceleration": "m/s²",
    "reference_interval": "s",
    "support_margin": "m",
    "friction_share": "",
    "yaw_friction": "",
    "step_reach": "m",
    "landing_freeze_time": "s",
    "min_vertical_acceleration": "",
    "min_com_height": "m",
    "support_softness": "m",
    "friction_softness": "m/s²",
    "yaw_moment_softness": "m",
    "vertical_acceleration_softness": "m/s²",
    "leg_length_softness": "m",
    "leg_torque_softness": "m",
}

#: Names of settings before version 0.2 and what they are called now.
RENAMED_SETTINGS: dict[str, str] = {
    "centre": "com_position",
    "velocity": "com_velocity",
    "turn": "orientation",
    "spin": "angular_velocity",
    "pressure": "center_of_pressure",
    "spin_change": "angular_acceleration",
    "offset": "foothold_offset",
    "capture": "capture_point",
    "end_turn": "terminal_orientation",
    "ahead": "terminal_lookahead",
    "height": "com_height",
    "climb": "vertical_velocity",
    "push": "vertical_acceleration",
    "unit": "reference_interval",
    "margin": "support_margin",
    "twist": "yaw_friction",
    "reach": "step_reach",
    "freeze": "landing_freeze_time",
    "least_push": "min_vertical_acceleration",
    "least_height": "min_com_height",
    "inside": "support_softness",
    "slip": "friction_softness",
    "lever": "yaw_moment_softness",
    "bound": "vertical_acceleration_softness",
    "stretch": "leg_length_softness",
    "strain": "leg_torque_softness",
}


@dataclass(frozen=True)
class PlanSettings:
    """Tolerances and limits of the centroidal plan; defaults are for a body height of 1.7 m.

    A deviation of one tolerance costs 1/2 per ``reference_interval``.

    Tracking tolerances:
        com_position: [m] horizontal CoM position
        com_velocity: [m/s] horizontal CoM velocity
        orientation: [rad] whole-body orientation relative to the reference
        angular_velocity: [rad/s] its rate
        center_of_pressure: [m] CoP, from the centroid of the support
        angular_acceleration: [rad/s²] angular acceleration relative to the reference
        foothold_offset: [m] foothold, from where the foot lands in the reference
        capture_point: [m] capture point c + ċ/ω at the end of the horizon
        terminal_orientation: [rad] orientation + ``terminal_lookahead`` · angular velocity at the end of the horizon
        terminal_lookahead: [s] extrapolation time of the terminal orientation
        com_height: [m] CoM height
        vertical_velocity: [m/s] its rate
        vertical_acceleration: [m/s²] vertical CoM acceleration; with grips, CoM acceleration in every direction
        reference_interval: [s] interval length to which these tolerances refer

    Limits:
        support_margin: [m] distance of the CoP from the edges of the support polygon
        friction_share: share of the friction coefficient available to horizontal forces
        yaw_friction: share of friction coefficient times support size available to the yaw moment
        step_reach: [m] largest foothold offset, relative to the present mean offset of the feet
        landing_freeze_time: [s] a foot that lands within this time keeps its target
        min_vertical_acceleration: [g] smallest vertical CoM acceleration in stance
        min_com_height: [m] smallest height of the CoM above (or below) the support that the pendulum model uses

    Softness of the limits (the violation at which a unit force acts):
        support_softness: [m] support polygon and step reach
        friction_softness: [m/s²] friction
        yaw_moment_softness: [m] yaw moment over vertical force
        vertical_acceleration_softness: [m/s²] bounds of the vertical acceleration
        leg_length_softness: [m] leg length, as CoM height
        leg_torque_softness: [m] leg joint torque over vertical force; soft, because the plan neglects the mass of the legs
    """

    com_position: float = 0.03
    com_velocity: float = 0.15
    orientation: float = 0.06
    angular_velocity: float = 0.6
    center_of_pressure: float = 0.10
    angular_acceleration: float = 8.0
    foothold_offset: float = 0.015
    capture_point: float = 0.02
    terminal_orientation: float = 0.05
    terminal_lookahead: float = 0.25
    com_height: float = 0.02
    vertical_velocity: float = 0.15
    vertical_acceleration: float = 3.0
    reference_interval: float = 0.024
    support_margin: float = 0.008
    friction_share: float = 0.7
    yaw_friction: float = 0.9
    step_reach: float = 0.35
    landing_freeze_time: float = 0.02
    min_vertical_acceleration: float = -0.95
    min_com_height: float = 0.1
    support_softness: float = 1e-4
    friction_softness: float = 0.01
    yaw_moment_softness: float = 2e-4
    vertical_acceleration_softness: float = 0.02
    leg_length_softness: float = 0.001
    leg_torque_softness: float = 0.01

    def __post_init__(self) -> None:
        may_be_zero = ("support_margin", "terminal_lookahead", "landing_freeze_time", "step_reach", "yaw_friction")
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name == "min_vertical_acceleration":
                number(value, "min_vertical_acceleration", above=-1.0, maximum=0.0)
            elif field.name in may_be_zero:
                number(value, field.name, minimum=0.0)
            else:
                number(value, field.name, above=0.0)
        if self.friction_share > 1.0:
            raise ArgumentError(f"friction_share must be at most 1, got {self.friction_share:g}.")

    def scaled(self, height: float) -> PlanSettings:
        """Settings for another body height [m], scaled from 1.7 m."""
        size = number(height, "height", above=0.0) / REFERENCE_HEIGHT
        return replace(self, **{name: getattr(self, name) * math.pow(size, _POWERS[unit]) for name, unit in _UNITS.items()})
