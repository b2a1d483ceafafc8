"""Walking round a corner: two straight walks, joined."""

from __future__ import annotations

import numpy as np

from brachiate import validation
from brachiate.assumptions import Guess
from brachiate.clip.clip import Clip
from brachiate.errors import ArgumentError
from brachiate.procedural.curves import Curve, smooth
from brachiate.procedural.gait import Gait
from brachiate.procedural.person import Person
from brachiate.procedural.puppet import moments
from brachiate.procedural.walk import Path, pace_of, strolled
from brachiate.validation import Array

SHARPEST = np.radians(150.0)
QUICKEST = 1.5  # [rad/s] on the average
FINE = 200  # places a second at which a curved path is found
MARGIN = 10.0  # [s] before and after, for prints that begin or end beyond all frames


def turn(
    angle: float = 0.5 * np.pi,
    blend: float = 1.6,
    speed: float = 1.2,
    step: float = 0.65,
    seconds: float = 5.0,
    height: float = 1.75,
    rate: float = 120.0,
) -> Clip:
    """Walk, and half-way turn to another direction while walking on.

    Two straight walks in step with each other, joined: for a while the heading goes over from one to the other, and the person goes
    where it points, as fast as before. Nobody leans into the curve.

    Args:
        angle: To the left [rad].
        blend: How long the turning takes [s].
        speed: Before and after [m/s].
        step: Length of a step [m].
        seconds: How long all of it takes.
        height: Of the person [m].
        rate: Frames a second.
    """
    times = moments(seconds, rate, least=1.0)
    angle = validation.number(angle, "angle", least=-SHARPEST, most=SHARPEST)
    blend = validation.number(blend, "blend", above=0.0)
    if blend < abs(angle) / QUICKEST:
        raise ArgumentError(
            f"blend={blend:g} s is too short to turn by {np.degrees(angle):.3g} degrees while walking: "
            f"at least {abs(angle) / QUICKEST + 0.005:.2f} s are needed."
        )
    if blend > times[-1]:
        raise ArgumentError(f"blend={blend:g} s is longer than the whole turn, {times[-1]:g} s. Choose a shorter blend, or more seconds.")
    gait = Gait(Person(height), step)
    pace = pace_of(speed, gait)
    corner = 0.5 * times[-1]

    def heading(t: Array) -> Array:
        return angle * smooth((t - corner) / blend + 0.5)

    told = Guess("turn", f"{np.degrees(angle):.4g} degrees to the left in {blend:g} s", "two straight walks are joined by their headings")
    return strolled(gait, pace, times, _led(pace, heading, times[-1]), "turn", told)


def _led(speed: float, heading: Curve, end: float) -> Path:
    """The path of a point that always goes where it looks, from the origin."""
    from scipy.interpolate import CubicSpline  # noqa: PLC0415  (slow to import)

    t = np.linspace(-MARGIN, end + MARGIN, int((end + 2.0 * MARGIN) * FINE))
    way = CubicSpline(t, speed * np.stack((np.cos(heading(t)), np.sin(heading(t))), axis=-1)).antiderivative()
    start = way(0.0)
    return lambda t: np.concatenate((way(t) - start, heading(t)[:, None]), axis=-1)
