"""Sample motion: walking around a corner, two straight walks joined by a change of heading."""

from __future__ import annotations

import numpy as np

from brachiate import validation
from brachiate.assumptions import Assumption
from brachiate.clip.clip import Clip
from brachiate.errors import ArgumentError
from brachiate.procedural.curves import Curve, smoothstep
from brachiate.procedural.gait import Gait
from brachiate.procedural.person import Person
from brachiate.procedural.skeleton_poser import frame_times
from brachiate.procedural.walk import Path, checked_speed, walk_along
from brachiate.validation import Array

MAX_ANGLE = np.radians(150.0)
MAX_YAW_RATE = 1.5  # [rad/s] mean over the turn
SAMPLES_PER_SECOND = 200  # of the numerical integration of a curved path
MARGIN = 10.0  # [s] before and after the motion, for footprints that begin or end outside of it


def turn(
    angle: float = 0.5 * np.pi,
    turn_duration: float = 1.6,
    speed: float = 1.2,
    step_length: float = 0.65,
    seconds: float = 5.0,
    height: float = 1.75,
    rate: float = 120.0,
) -> Clip:
    """Walk, and halfway change direction while walking on.

    Two straight walks of the same gait phase are joined: over the duration of the turn the heading changes from one to the other, and
    the person walks along it at constant speed, without leaning into the curve.

    Args:
        angle: Change of heading, to the left [rad].
        turn_duration: Duration of the turn [s].
        speed: Walking speed [m/s].
        step_length: Step length [m].
        seconds: Duration of the motion [s].
        height: Stature of the person [m].
        rate: Frame rate [Hz].
    """
    times = frame_times(seconds, rate, minimum=1.0)
    angle = validation.number(angle, "angle", minimum=-MAX_ANGLE, maximum=MAX_ANGLE)
    turn_duration = validation.number(turn_duration, "turn_duration", above=0.0, maximum=1e3)
    if turn_duration < abs(angle) / MAX_YAW_RATE:
        raise ArgumentError(
            f"turn_duration={turn_duration:g} s is too short to turn by {np.degrees(angle):.3g} degrees while walking: "
            f"at least {abs(angle) / MAX_YAW_RATE + 0.005:.2f} s are needed."
        )
    if turn_duration > times[-1]:
        raise ArgumentError(
            f"turn_duration={turn_duration:g} s is longer than the motion, {times[-1]:g} s. Choose a shorter turn, or more seconds."
        )
    gait = Gait(Person(height), step_length)
    speed = checked_speed(speed, gait)
    middle = 0.5 * times[-1]

    def heading(t: Array) -> Array:
        return angle * smoothstep((t - middle) / turn_duration + 0.5)

    assumption = Assumption("turn", f"{np.degrees(angle):.4g} degrees to the left in {turn_duration:g} s", "two straight walks are joined")
    return walk_along(gait, speed, times, _curved_path(speed, heading, times[-1]), "turn", assumption)


def _curved_path(speed: float, heading: Curve, end: float) -> Path:
    """Path from the origin whose tangent has a given heading."""
    from scipy.interpolate import CubicSpline  # noqa: PLC0415  (slow to import)

    t = np.linspace(-MARGIN, end + MARGIN, int((end + 2.0 * MARGIN) * SAMPLES_PER_SECOND))
    position = CubicSpline(t, speed * np.stack((np.cos(heading(t)), np.sin(heading(t))), axis=-1)).antiderivative()
    start = position(0.0)
    return lambda t: np.concatenate((position(t) - start, heading(t)[:, None]), axis=-1)
