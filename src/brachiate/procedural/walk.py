"""Walking, along a straight line or any other."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from brachiate import rotations, validation
from brachiate.assumptions import Guess
from brachiate.clip.clip import Clip
from brachiate.errors import ArgumentError
from brachiate.procedural.footwork import Print, footwork
from brachiate.procedural.gait import LEAN, SHOULDERS, STANCE, TURN, Gait
from brachiate.procedural.person import SIDES, Person
from brachiate.procedural.puppet import Puppet, moments
from brachiate.validation import Array

#: A point that walks: where it is [m] and whither it looks [rad], at times: (f, 3).
Path = Callable[[Array], Array]
SLOWEST, FASTEST = 0.1, 2.5  # [m/s]
CADENCES = (0.5, 3.0)  # steps a second
AHEAD = {"Left": 0.0, "Right": 0.5}  # phase of a leg against the left one's


def walk(speed: float = 1.3, step: float = 0.7, seconds: float = 4.0, height: float = 1.75, rate: float = 120.0) -> Clip:
    """Walk straight on, steadily from the first frame to the last.

    Args:
        speed: Along x [m/s].
        step: Length of a step [m].
        seconds: How long.
        height: Of the person [m].
        rate: Frames a second.
    """
    times = moments(seconds, rate, least=0.1)
    gait = Gait(Person(height), step)
    pace = pace_of(speed, gait)
    return strolled(gait, pace, times, lambda t: straight(pace, t), "walk")


def pace_of(speed: float, gait: Gait) -> float:
    """A speed [m/s] that can be walked with these steps."""
    speed = validation.number(speed, "speed", least=SLOWEST, most=FASTEST)
    cadence = speed / gait.step
    if not CADENCES[0] <= cadence <= CADENCES[1]:
        low, high = (steps * gait.step for steps in CADENCES)
        raise ArgumentError(
            f"A speed of {speed:g} m/s with steps of {gait.step:g} m makes {cadence:.2g} steps a second; people walk with "
            f"{CADENCES[0]:g} to {CADENCES[1]:g}. Choose a speed from {low:.2g} to {high:.2g} m/s, or another step."
        )
    return speed


def straight(speed: float, t: Array, yaw: float = 0.0) -> Array:
    """A path through the origin at time 0."""
    return np.stack((speed * t * np.cos(yaw), speed * t * np.sin(yaw), np.full_like(t, yaw)), axis=-1)


def strolled(gait: Gait, speed: float, times: Array, path: Path, name: str, *guesses: Guess) -> Clip:
    """Walk along a path. Feet stand where it has them in the middle of their stance, and stay there.

    Args:
        gait: How.
        speed: At which steps are as long as the gait's [m/s].
        times: Of frames [s].
        path: Where to; also for times a little before the first frame and after the last.
        name: Of the clip.
        guesses: What else is to be told about it.
    """
    cycle = 2.0 * gait.step / speed
    phase = times / cycle
    scale, waves = gait.scale, np.cos(2.0 * np.pi * phase)
    puppet = Puppet(gait.person, times, placed(path(times), gait.root(phase)), headed(path(times), gait.pelvis(phase)))
    puppet.trunk(lean=np.radians(LEAN), twist=np.radians(TURN + SHOULDERS) * scale * waves)
    feet = {}
    for side, s in SIDES.items():
        mine, mirror = AHEAD[side], np.array((1.0, s, 1.0))

        def free(t: Array, mine: float = mine, mirror: Array = mirror) -> Array:
            return placed(path(t), mirror * gait.free(t / cycle + mine))

        def pitch(t: Array, mine: float = mine) -> Array:
            return gait.pitch(t / cycle + mine)

        feet[side] = footwork(gait.person, times, _prints(gait, cycle, mine, s, times, path), pitch, free)
        forward, elbow = gait.arm(phase + mine)
        puppet.arm(side, forward=forward, elbow=elbow)
    # In a curve legs need to reach further than straight on.
    puppet.places[:, 0, 2] -= max(puppet.too_high(side, feet[side]) for side in SIDES)
    for side in SIDES:
        puppet.leg(side, feet[side])
    told = Guess("steps", f"{gait.step:g} m long, {2.0 / cycle:.3g} a second", f"angles are {scale:.2f} of those of natural walking")
    return puppet.clip(name, told, *guesses)


def _prints(gait: Gait, cycle: float, ahead: float, side: float, times: Array, path: Path) -> list[Print]:
    """All prints of a foot, from one that ends before the first frame to one that begins after the last."""
    marks = []
    for n in range(int(np.floor(times[0] / cycle + ahead)) - 1, int(np.ceil(times[-1] / cycle + ahead)) + 2):
        begin = (n - ahead) * cycle
        middle = path(np.array([begin + 0.5 * STANCE * cycle]))
        ((x, y, _),) = placed(middle, np.array([(-STANCE * gait.step, side * gait.width, 0.0)]))
        marks.append(Print(begin, begin + STANCE * cycle, x, y, float(middle[0, 2])))
    return marks


def placed(path: Array, local: Array) -> Array:
    """Where something is that is somewhere seen from a point that walks."""
    return rotations.turned(rotations.about(2, path[:, 2]), local) + path * (1.0, 1.0, 0.0)


def headed(path: Array, q: Array) -> Array:
    """Rotations seen from a point that walks, in the world."""
    return rotations.product(rotations.about(2, path[:, 2]), q)
