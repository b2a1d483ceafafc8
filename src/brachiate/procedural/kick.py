"""A kick to the front."""

from __future__ import annotations

import numpy as np

from brachiate import rotations, validation
from brachiate.clip.clip import Clip
from brachiate.errors import ArgumentError
from brachiate.procedural.curves import Curve, keyed
from brachiate.procedural.footwork import Print, footwork
from brachiate.procedural.person import SIDES, Person
from brachiate.procedural.puppet import STANDING, Puppet, moments
from brachiate.validation import Array

LOWEST, HIGHEST = 0.15, 0.75  # over stature
#: Parts of the time: the foot leaves the floor, is back, is drawn up, is farthest, is drawn back again, comes down.
LEAVE, BACK, DRAWN, FAR, AGAIN, DOWN = 0.26, 0.36, 0.48, 0.57, 0.68, 0.86
OVER = 0.8  # of the way from the middle hips go aside, above the foot that stays
SINK = 0.012  # [m] of the hips, above one leg
LIFT = 0.04  # [m] more than the angles say, so that toes pass above the floor
KNEE = np.radians(8.0)  # at the farthest
LEAN = np.radians(14.0)  # of the hips, backward, at the farthest


def kick(high: float = 0.9, side: str = "right", seconds: float = 2.4, height: float = 1.75, rate: float = 120.0) -> Clip:
    """Stand on one leg and kick to the front with the other.

    Args:
        high: Of the ankle that kicks, at the farthest [m].
        side: ``"left"`` or ``"right"``: which leg kicks.
        seconds: How long.
        height: Of the person [m].
        rate: Frames a second.
    """
    times = moments(seconds, rate, least=0.8)
    person = Person(height)
    mine = validation.one_of(side, ("left", "right"), "side").capitalize()
    high = validation.number(high, "high")
    if not LOWEST * height <= high <= HIGHEST * height:
        raise ArgumentError(f"high must be {LOWEST * height:.2f} to {HIGHEST * height:.2f} m for someone of {height:g} m, got {high:g}.")
    return _kick(person, times, mine, _raised(person, high))


def _raised(person: Person, high: float) -> float:
    """How far forward the thigh must be for the ankle to be so high at the farthest [rad]."""
    x, down = person.shank * np.sin(KNEE), person.thigh + person.shank * np.cos(KNEE)
    below = STANDING * person.hip - SINK + LIFT * float(_hop(np.array(FAR))) - high
    return float(np.arccos(below / np.hypot(x, down)) + np.arctan2(x, down))


def _hop(part: Array) -> Array:
    """One in the middle of the foot's way through the air, nothing at its ends."""
    return np.sin(np.pi * np.clip((part - LEAVE) / (DOWN - LEAVE), 0.0, 1.0))


def _kick(person: Person, times: Array, mine: str, raised: float) -> Clip:
    """Kick with a leg raised so far from hanging down [rad]."""
    end, s = times[-1], SIDES[mine]
    other = next(side for side in SIDES if side != mine)

    def over(keys: dict[float, float]) -> Curve:
        return keyed({part * end: value for part, value in keys.items()})

    aside = over({0.04: 0.0, LEAVE: 1.0, DOWN: 1.0, 0.98: 0.0})
    lean = over({0.1: 0.0, LEAVE: 0.1, BACK: 0.12, FAR: -LEAN, DOWN: 0.06, 0.98: 0.0})
    twist = over({0.1: 0.0, BACK: -0.15, FAR: 0.2, DOWN: 0.0, 0.98: 0.0})
    thigh = over({0.1: 0.0, LEAVE: -0.1, BACK: -0.35, DRAWN: 0.85 * raised, FAR: raised, AGAIN: 0.8 * raised, DOWN: 0.1, 1.0: 0.0})
    knee = over({0.1: 0.1, LEAVE: 0.5, BACK: 1.2, DRAWN: 1.75, FAR: KNEE, AGAIN: 1.5, DOWN: 0.35, 1.0: 0.1})
    ankle = over({0.1: 0.0, LEAVE: -0.1, BACK: -0.5, DRAWN: -0.3, FAR: -0.5, AGAIN: -0.4, DOWN: 0.0, 1.0: 0.0})
    heel = over({0.1: 0.0, LEAVE: 1.0, DOWN: 1.0, 0.94: 0.0})

    def root(t: Array) -> Array:
        y = -s * OVER * person.stance * aside(t)
        return np.stack((-0.5 * lean(t), y, STANDING * person.hip - SINK * aside(t)), axis=-1)

    def pelvis(t: Array) -> Array:
        return rotations.product(rotations.about(2, s * twist(t)), rotations.about(1, lean(t)))

    def pitch(t: Array) -> Array:
        return heel(t) * (thigh(t) - knee(t) + ankle(t))

    def free(t: Array) -> Array:
        upper, lower = thigh(t), thigh(t) - knee(t)
        x = person.thigh * np.sin(upper) + person.shank * np.sin(lower)
        z = -person.thigh * np.cos(upper) - person.shank * np.cos(lower)
        return (
            root(t) + rotations.turned(pelvis(t), person.offset(f"{mine}UpLeg")) + np.stack((x, 0.0 * x, z + LIFT * _hop(t / end)), axis=-1)
        )

    puppet = Puppet(person, times, root(times), pelvis(times))
    puppet.trunk(lean=-0.6 * lean(times) + 0.1 * aside(times), twist=-1.6 * s * twist(times))
    stays = footwork(person, times, [Print(-1.0, end + 1.0, 0.0, -s * person.stance)], np.zeros_like)
    marks = [Print(-1.0, LEAVE * end, 0.0, s * person.stance), Print(DOWN * end, end + 1.0, 0.0, s * person.stance)]
    puppet.leg(other, stays)
    puppet.leg(mine, footwork(person, times, marks, pitch, free))
    guard = aside(times)
    for side in SIDES:
        swung = (1.0 if side == other else -1.2) * 2.2 * twist(times)
        puppet.arm(side, forward=0.35 * guard + swung, elbow=0.15 + 1.2 * guard, aside=0.12 + 0.15 * guard)
    return puppet.clip("kick")
