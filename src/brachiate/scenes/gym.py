"""The high bar of [SVC] Fig. 14: a figure swings, and lets go with one hand."""

from __future__ import annotations

import numpy as np

from brachiate import figures
from brachiate.model.joints import Revolute
from brachiate.scenes.bodies import put, turning
from brachiate.scenes.scene import Scene
from brachiate.show.draw import Look, View
from brachiate.simulate.simulation import Simulation
from brachiate.world.world import World

ABOUT = """\
Each hand is held to the bar by a hinge: 24 joint variables, 12 freedoms. When the right hand lets go there are 23 and 17, and the
figure turns over under its left hand. As in the paper no motor works, and joints stop at their limits, which takes some energy."""


def highbar(
    release: float = 1.2,
    seconds: float = 2.5,
    swing: float = 2.6,
    stiffness: float = 0.0,
    damping: float = 0.0,
    limits: bool = True,
    dt: float = 0.002,
    integrator: str = "rk4",
) -> Scene:
    """A figure on the high bar lets go with one hand.

    Args:
        release: When the right hand lets go [s].
        seconds: How long it is worth watching [s].
        swing: How fast everything turns about the bar at first [rad/s].
        stiffness: Of the joints towards the hanging posture [N·m/rad].
        damping: Of the joints [N·m·s/rad].
        limits: Whether joints stop at their limits. Energy is then lost in every stop.
        dt: Length of a step [s].
        integrator: As in :class:`~brachiate.Simulation`.
    """
    world = World()
    man = world.add(figures.human16().sprung(stiffness, "hang", damping), name="man")
    world.add(figures.bar(length=2.0), name="bar")
    man.pose("hang")
    rod = world.position("bar/rod")
    put(world, man, ("left_grip", "right_grip"), rod, np.eye(3))
    world.v = {"man/root": turning(world, "man/pelvis", rod, (0, -swing, 0))}
    simulation = Simulation(world, dt=dt, integrator=integrator, limits=limits)
    look = Look(View(around=-62, above=8), times=(0, 0.5, 0.9, 1.2, 1.4, 1.6, 1.8, 2.0, 2.25, 2.5), columns=5)
    passive = damping == 0 and not limits
    scene = Scene("highbar", "A figure on the high bar lets go with one hand", ABOUT, world, simulation, seconds, look, passive)
    scene.connect("man/left_grip", "bar/rod", Revolute("y"), name="left hand")
    right = scene.connect("man/right_grip", "bar/rod", Revolute("y"), name="right hand")
    simulation.at(release, lambda: scene.cut(right))
    return scene
