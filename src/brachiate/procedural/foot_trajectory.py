"""Foot trajectory: rolling on its footprints in stance, and in between a given swing trajectory, blended to leave and meet them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from brachiate import rotations
from brachiate.procedural.curves import Curve, connecting_curve, smoothstep
from brachiate.procedural.person import Person
from brachiate.validation import Array

TOES_STRAIGHT_BY, TOES_BEND_FROM = 0.7, 0.8  # shares of the swing: toes are straight by then, and bend again from then to land on them


class Footprint(NamedTuple):
    """Stance of a foot over a time interval [s]: position of the flat foot [m] and its yaw to the left [rad]."""

    begin: float
    end: float
    x: float
    y: float
    yaw: float = 0.0


class SampleFootTrajectory(NamedTuple):
    """One foot in all frames."""

    ankle: Array  # (f, 3) [m]
    orientation: Array  # (f, 4)
    toe_flexion: Array  # (f,) [rad] upward
    stance: Array  # (f,) bool


def foot_trajectory(
    person: Person, times: Array, footprints: Sequence[Footprint], pitch: Curve, swing: Curve | None = None
) -> SampleFootTrajectory:
    """Return the trajectory of a foot over its footprints.

    Args:
        person: The person.
        times: Times of the frames [s].
        footprints: In order of time; the first and the last extend beyond all frames.
        pitch: Angle of the sole, toes up [rad]; in stance the foot rolls about its contact with the floor.
        swing: Position of the ankle in swing [m]; needed if there is more than one footprint.
    """
    ankle, yaw, toe_flexion = np.zeros((len(times), 3)), np.zeros(len(times)), person.toe_flexion(pitch(times))
    stance = np.zeros(len(times), bool)
    for print_ in footprints:
        inside = (times >= print_.begin) & (times <= print_.end)
        ankle[inside], yaw[inside], stance[inside] = _stance_ankle(person, print_, pitch)(times[inside]), print_.yaw, True
    for one, other in pairwise(footprints):
        assert swing is not None
        airborne = (times > one.end) & (times < other.begin)
        t, u = times[airborne], (times[airborne] - one.end) / (other.begin - one.end)
        leaving, meeting = (_difference(_stance_ankle(person, print_, pitch), swing) for print_ in (one, other))
        ankle[airborne] = swing(t) + connecting_curve(leaving, one.end, meeting, other.begin)(t)
        yaw[airborne] = one.yaw + smoothstep(u) * (other.yaw - one.yaw)
        toe_flexion[airborne] *= 1.0 - smoothstep(u / TOES_STRAIGHT_BY) + smoothstep((u - TOES_BEND_FROM) / (1.0 - TOES_BEND_FROM))
    orientation = rotations.product(rotations.about_axis(2, yaw), rotations.about_axis(1, -pitch(times)))
    return SampleFootTrajectory(ankle, orientation, toe_flexion, stance)


def _stance_ankle(person: Person, footprint: Footprint, pitch: Curve) -> Curve:
    """Position of the ankle over a footprint, as if the stance lasted forever."""
    yaw, position = rotations.about_axis(2, np.array(footprint.yaw)), np.array((footprint.x, footprint.y, 0.0))
    return lambda t: position + rotations.rotate(yaw, person.rolling_ankle(pitch(t)))


def _difference(a: Curve, b: Curve) -> Curve:
    return lambda t: a(t) - b(t)
