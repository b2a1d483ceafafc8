"""People who fall: to the ground from where they stand, and down a flight of stairs."""

from __future__ import annotations

import numpy as np

from brachiate import figures, validation
from brachiate.figures.poses import both
from brachiate.scenes.bodies import SIDES, put, turning
from brachiate.scenes.scene import Scene
from brachiate.scenes.solids import stairs
from brachiate.show.draw import Look, View
from brachiate.simulate.simulation import Simulation
from brachiate.world.world import World

FALL = """\
Nobody holds this figure up: its joints have hardly any tone, and stop at their limits. Pushed a little, it folds, and comes to lie
on the ground. At the end the ground bears its weight, and nothing else: run.contacts["man"].force."""
STAIRS = """\
The same figure on the landing of a flight of stairs. Every limb may touch every step, the ground, and the other limbs."""


BENT = both(hip={"forward": 14}, knee=26, ankle={"forward": 12})  # a little, so that knees give way


def fall(
    push: float = 0.8, seconds: float = 3.0, stiffness: float = 5.0, damping: float = 1.5, friction: float = 0.8, dt: float = 0.002
) -> Scene:
    """A figure that is pushed falls to the ground, and comes to rest.

    Args:
        push: How fast it turns about its feet at first, forwards and a little to its right [rad/s].
        seconds: How long it is worth watching [s].
        stiffness: Of the joints towards standing [N·m/rad]: far too little to stand by.
        damping: Of the joints [N·m·s/rad].
        friction: Of everything.
        dt: Length of a step [s].
    """
    world = World()
    world.add(figures.ground(), name="floor")
    man = world.add(figures.human28().sprung(stiffness, "stand", damping), name="man")
    man.pose(BENT)
    put(world, man, [f"{side}_sole" for side in SIDES], (0, 0, 0), np.eye(3))
    world.v = {"man/root": turning(world, "man/pelvis", (0, 0, 0), (0.3 * push, push, 0))}
    world.touch(friction=friction)
    look = Look(View(around=-60, above=14), times=(0, 0.3, 0.45, 0.6, 0.75, 3.0), columns=6, weight_length=1.2)
    return Scene("fall", "A figure falls", FALL, world, Simulation(world, dt=dt), seconds, look, passive=False)


def stairs_tumble(
    push: float = 1.6,
    steps: int = 7,
    seconds: float = 4.0,
    stiffness: float = 25.0,
    damping: float = 3.0,
    friction: float = 0.4,
    dt: float = 0.002,
) -> Scene:
    """A figure tumbles down a flight of stairs.

    Args:
        push: How fast it turns about its feet at first, forwards [rad/s].
        steps: How many there are, the landing counted.
        seconds: How long it is worth watching [s].
        stiffness: Of the joints towards a posture that is rolled up [N·m/rad].
        damping: Of the joints [N·m·s/rad].
        friction: Of everything.
        dt: Length of a step [s].
    """
    steps = validation.whole(steps, "number of steps", least=1)
    rise, tread = 0.17, 0.26
    world = World()
    world.add(figures.ground(), name="floor")
    world.add(stairs(steps, rise, tread, width=1.6, landing=0.7), name="stairs")
    man = world.add(figures.human28().sprung(stiffness, "tumble", damping), name="man")
    start = np.array((-0.2, 0.0, steps * rise))
    man.place(world.position("man/pelvis") + start)
    world.v = {"man/root": turning(world, "man/pelvis", start, (0.1 * push, push, 0))}
    world.touch(friction=friction)
    look = Look(View(around=-68, above=16), times=(0, 0.4, 0.6, 0.8, 1.0, 4.0), columns=3)
    return Scene("stairs-tumble", "A figure tumbles down stairs", STAIRS, world, Simulation(world, dt=dt), seconds, look, passive=False)
