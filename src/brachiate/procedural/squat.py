"""A knee bend."""

from __future__ import annotations

import numpy as np

from brachiate import rotations, validation
from brachiate.clip.clip import Clip
from brachiate.errors import ArgumentError
from brachiate.procedural.curves import smooth
from brachiate.procedural.footwork import Print, footwork
from brachiate.procedural.person import SIDES, Person
from brachiate.procedural.puppet import STANDING, Puppet, moments
from brachiate.validation import Array

DEEPEST = 0.36  # over stature
BACK = 0.42  # of how far hips go down they go back
PELVIS, TRUNK = np.radians(70.0), np.radians(60.0)  # how far hips tip and the trunk bends forward, a stature down
ARMS = np.radians(85.0)  # they are raised forward to balance


def squat(depth: float = 0.45, seconds: float = 3.0, height: float = 1.75, rate: float = 120.0) -> Clip:
    """Go down on flat feet, arms forward, and up again.

    Args:
        depth: How far hips go down [m].
        seconds: How long.
        height: Of the person [m].
        rate: Frames a second.
    """
    times = moments(seconds, rate, least=0.5)
    person = Person(height)
    depth = validation.number(depth, "depth", above=0.0)
    if depth > DEEPEST * height:
        raise ArgumentError(
            f"depth must be at most {DEEPEST * height:.2f} m for someone of {height:g} m, got {depth:g}: hips touch the heels."
        )
    u = times / times[-1]
    down = smooth((u - 0.08) / 0.36) - smooth((u - 0.54) / 0.36)
    sunk = depth * down
    root = np.stack((-BACK * sunk, 0.0 * sunk, STANDING * person.hip - sunk), axis=-1)
    puppet = Puppet(person, times, root, rotations.about(1, PELVIS * sunk / height))
    puppet.trunk(lean=TRUNK * sunk / height)
    for side, s in SIDES.items():
        puppet.leg(side, footwork(person, times, [Print(-1.0, times[-1] + 1.0, 0.0, s * person.stance)], _flat))
        puppet.arm(side, forward=(ARMS + (PELVIS + TRUNK) * depth / height) * down, elbow=0.15 + 0.1 * down)
    return puppet.clip("squat")


def _flat(t: Array) -> Array:
    return np.zeros_like(t)
