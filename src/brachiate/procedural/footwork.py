"""Where a foot is: on its prints while they last, and between them on a free way that is bent to begin and end on prints."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from brachiate import rotations
from brachiate.procedural.curves import Curve, bridged, smooth
from brachiate.procedural.person import Person
from brachiate.validation import Array

LIMP, READY = 0.7, 0.8  # of the way in the air: toes are straight from then, and bend again from then if they are to land


class Print(NamedTuple):
    """A foot on the floor, from a time to another [s], flat above a place [m] and turned to the left [rad]."""

    begin: float
    end: float
    x: float
    y: float
    yaw: float = 0.0


class Feet(NamedTuple):
    """One foot in all frames: its ankle [m], how it is turned, how far toes bend up [rad], and whether it stands."""

    ankle: Array
    turn: Array
    bend: Array
    stands: Array


def footwork(person: Person, times: Array, prints: Sequence[Print], pitch: Curve, free: Curve | None = None) -> Feet:
    """Follow prints.

    Args:
        person: Whose foot.
        times: Of frames [s].
        prints: In order of time; the first and the last reach beyond all frames.
        pitch: How far toes are higher than the heel [rad]; while a foot stands it turns about what it stands on.
        free: The ankle's way [m] where no print holds it.
    """
    ankle, yaw, bend = np.zeros((len(times), 3)), np.zeros(len(times)), person.bend(pitch(times))
    stands = np.zeros(len(times), bool)
    for mark in prints:
        held = (times >= mark.begin) & (times <= mark.end)
        ankle[held], yaw[held], stands[held] = _standing(person, mark, pitch)(times[held]), mark.yaw, True
    for one, other in pairwise(prints):
        assert free is not None
        air = (times > one.end) & (times < other.begin)
        t, u = times[air], (times[air] - one.end) / (other.begin - one.end)
        off, back = (_less(_standing(person, mark, pitch), free) for mark in (one, other))
        ankle[air] = free(t) + bridged(off, one.end, back, other.begin)(t)
        yaw[air] = one.yaw + smooth(u) * (other.yaw - one.yaw)
        bend[air] *= 1.0 - smooth(u / LIMP) + smooth((u - READY) / (1.0 - READY))
    turn = rotations.product(rotations.about(2, yaw), rotations.about(1, -pitch(times)))
    return Feet(ankle, turn, bend, stands)


def _standing(person: Person, mark: Print, pitch: Curve) -> Curve:
    """The ankle above a print, as if it lasted for ever."""
    spin, place = rotations.about(2, np.array(mark.yaw)), np.array((mark.x, mark.y, 0.0))
    return lambda t: place + rotations.turned(spin, person.rolled(pitch(t)))


def _less(a: Curve, b: Curve) -> Curve:
    return lambda t: a(t) - b(t)
