"""Hanging from a bar, and swinging."""

from __future__ import annotations

import numpy as np

from brachiate import rotations, validation
from brachiate.assumptions import Guess
from brachiate.clip.clip import Clip
from brachiate.errors import ArgumentError
from brachiate.procedural.person import SIDES, Person
from brachiate.procedural.puppet import Puppet, moments
from brachiate.validation import Array

WIDEST = np.radians(70.0)
G = 9.81  # [m/s²]
LENGTH = 0.72  # over stature: of the pendulum that swings as fast
HIPS, LEGS = 0.35, 0.9  # how far they are behind the arms in the cycle [rad]
WHIP = 0.5  # of the swing is what hips and knees add to it
CLEAR = 0.02  # [m] between toes and floor, at least
SHRUG = 0.25  # collar bones are raised so far [rad]


def hang(swing: float = np.radians(25.0), bar: float = 2.5, seconds: float = 6.0, height: float = 1.75, rate: float = 120.0) -> Clip:
    """Hang from a high bar by both hands, and swing to and fro.

    The bar is along y above the origin. All of the body swings as a pendulum, legs a little late.

    Args:
        swing: How far to either side [rad].
        bar: How high the bar is [m].
        seconds: How long.
        height: Of the person [m].
        rate: Frames a second.
    """
    times = moments(seconds, rate, least=0.5)
    person = Person(height)
    swing = validation.number(swing, "swing", least=0.0, most=WIDEST)
    bar = validation.number(bar, "bar", above=0.0, most=20.0)
    puppet = _swinging(person, times, swing)
    low = _hung(puppet, bar)
    if low < CLEAR:
        least = bar + CLEAR - low
        raise ArgumentError(
            f"bar must be at least {least + 0.005:.2f} m high for someone of {height:g} m, got {bar:g}: toes would be at {low:.2f} m."
        )
    return puppet.clip("hang", Guess("bar", f"{bar:g} m high, along y at x = 0", "both hands hold it all the time"))


def _swinging(person: Person, times: Array, swing: float) -> Puppet:
    """The body as it swings, its root anywhere."""
    pace = np.sqrt(G / (LENGTH * person.height))

    def late(by: float) -> Array:
        return swing * np.sin(pace * times - by)

    arms, hips = late(0.0), late(HIPS)
    puppet = Puppet(person, times, np.zeros((len(times), 3)), rotations.about(1, -hips))
    puppet.trunk(lean=hips - arms)
    legs = WHIP * late(LEGS)
    for side, s in SIDES.items():
        puppet.turn(f"{side}Shoulder", x=s * SHRUG)
        puppet.turn(f"{side}Arm", x=s * (0.5 * np.pi - SHRUG))
        puppet.turn(f"{side}ForeArm", z=-s * 0.05)
        puppet.turn(f"{side}UpLeg", y=-(0.08 + legs), x=s * 0.02)
        puppet.turn(f"{side}Leg", y=0.2 + 0.5 * WHIP * (swing - late(LEGS)))
        puppet.turn(f"{side}Foot", y=0.55)
    return puppet


def _hung(puppet: Puppet, bar: float) -> float:
    """Move the root such that hands hold the bar; tells how high the lowest tip then is at least [m]."""
    clip, person = puppet.clip("hang"), puppet.person
    hands = np.zeros((len(clip), 3))
    for side, s in SIDES.items():
        j = clip.skeleton.index(f"{side}Hand")
        hands += 0.5 * (clip.positions[:, j] + rotations.turned(clip.orientations[:, j], person.grip * (1.0, s, 1.0)))
    puppet.places[:, 0] += (0.0, 0.0, bar) - hands
    return float(puppet.clip("hang").tips[..., 2].min())
