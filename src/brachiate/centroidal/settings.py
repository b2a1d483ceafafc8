"""What a plan holds to, and how closely."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace

from brachiate.errors import ArgumentError
from brachiate.validation import number

STATURE = 1.7  # [m] of a body to which the numbers below belong

# How a setting grows with the body's size: lengths by its factor, times by the root of it, as those of a pendulum do.
_POWERS = {"m": 1.0, "m/s": 0.5, "m/s²": 0.0, "rad": 0.0, "rad/s": -0.5, "rad/s²": -1.0, "s": 0.5, "": 0.0}
_UNITS = {
    "centre": "m",
    "velocity": "m/s",
    "turn": "rad",
    "spin": "rad/s",
    "pressure": "m",
    "spin_change": "rad/s²",
    "offset": "m",
    "capture": "m",
    "end_turn": "rad",
    "ahead": "s",
    "height": "m",
    "climb": "m/s",
    "push": "m/s²",
    "unit": "s",
    "margin": "m",
    "friction_share": "",
    "twist": "",
    "reach": "m",
    "freeze": "s",
    "least_push": "",
    "least_height": "m",
    "inside": "m",
    "slip": "m/s²",
    "lever": "m",
    "bound": "m/s²",
    "stretch": "m",
    "strain": "m",
}


@dataclass(frozen=True)
class PlanSettings:
    """Tolerances and limits of a plan. A deviation of one tolerance costs ½, for the time ``unit``; defaults are for 1.7 m of height.

    What is to be near the reference:
        centre: [m] centre of mass along the ground
        velocity: [m/s] its rate
        turn: [rad] orientation
        spin: [rad/s] its rate
        pressure: [m] centre of pressure, from the middle of what bears
        spin_change: [rad/s²] angular acceleration beyond that of the reference
        offset: [m] of a foot from where it lands in the reference
        capture: [m] c + ċ/ω at the end, where the centre of mass is bound for
        end_turn: [rad] turn + ``ahead`` · spin at the end
        ahead: [s] see there
        height: [m] of the centre of mass
        climb: [m/s] its rate
        push: [m/s²] acceleration upward; where hands hold, in every direction
        unit: [s] length of an interval for which these hold

    What limits it:
        margin: [m] kept from the edge of what bears
        friction_share: of friction that the plan makes use of along the ground
        twist: of friction times the size of what bears, for moments about the vertical
        reach: [m] of steps, from the present mean offset of the feet
        freeze: [s] a foot that lands within this goes where it is heading for
        least_push: acceleration upward at least, in gravities, where feet bear
        least_height: [m] of the centre of mass over (or under) what bears, as far as the plan is concerned

    How hard the limits are (what a force of one costs in excess):
        inside: [m] of what bears, and of steps
        slip: [m/s²] of friction
        lever: [m] of moments about the vertical, over the force upward
        bound: [m/s²] of accelerations upward
        stretch: [m] of legs, upward
        strain: [m] of moments of motors, over the force upward: soft, as plans know nothing of what legs weigh
    """

    centre: float = 0.03
    velocity: float = 0.15
    turn: float = 0.06
    spin: float = 0.6
    pressure: float = 0.10
    spin_change: float = 8.0
    offset: float = 0.015
    capture: float = 0.02
    end_turn: float = 0.05
    ahead: float = 0.25
    height: float = 0.02
    climb: float = 0.15
    push: float = 3.0
    unit: float = 0.024
    margin: float = 0.008
    friction_share: float = 0.7
    twist: float = 0.9
    reach: float = 0.35
    freeze: float = 0.02
    least_push: float = -0.95
    least_height: float = 0.1
    inside: float = 1e-4
    slip: float = 0.01
    lever: float = 2e-4
    bound: float = 0.02
    stretch: float = 0.001
    strain: float = 0.01

    def __post_init__(self) -> None:
        may_be_zero = ("margin", "ahead", "freeze", "reach", "twist")
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name == "least_push":
                number(value, "least_push", above=-1.0, most=0.0)
            elif field.name in may_be_zero:
                number(value, field.name, least=0.0)
            else:
                number(value, field.name, above=0.0)
        if self.friction_share > 1.0:
            raise ArgumentError(f"friction_share must be at most 1, got {self.friction_share:g}.")

    def scaled(self, height: float) -> PlanSettings:
        """Return the settings for a body of another height [m], if these are for 1.7 m."""
        size = number(height, "height", above=0.0) / STATURE
        return replace(self, **{name: getattr(self, name) * math.pow(size, _POWERS[unit]) for name, unit in _UNITS.items()})
