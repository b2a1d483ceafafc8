"""High bar of [SVC] Fig. 14: a figure swings, and releases one hand."""

from __future__ import annotations

import numpy as np

from brachiate import figures
from brachiate.model.joints import Revolute
from brachiate.scenes.placement import place_at, rigid_rotation_velocity
from brachiate.scenes.scene import Scene
from brachiate.show.draw import Camera, ViewSettings
from brachiate.simulate.simulation import Simulation
from brachiate.world.world import World

ABOUT = """\
Each hand is connected to the bar by a hinge: 24 joint variables, 12 degrees of freedom. When the right hand is released there are 23 and
17, and the figure turns over under its left hand. As in the paper there are no motor torques, and joints stop at their limits, which
dissipates some energy."""


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
    """A figure on the high bar releases one hand.

    Args:
        release: Time at which the right hand is released [s].
        seconds: Duration [s].
        swing: Initial angular velocity about the bar [rad/s].
        stiffness: Stiffness of the joints towards the hanging posture [N·m/rad].
        damping: Damping of the joints [N·m·s/rad].
        limits: Whether joints stop at their limits, which dissipates energy.
        dt: Step length [s].
        integrator: As in :class:`~brachiate.Simulation`.
    """
    world = World()
    man = world.add(figures.human16().with_springs(stiffness, "hang", damping), name="man")
    world.add(figures.bar(length=2.0), name="bar")
    man.set_pose("hang")
    rod = world.position("bar/rod")
    place_at(world, man, ("left_grip", "right_grip"), rod, np.eye(3))
    world.v = {"man/root": rigid_rotation_velocity(world, "man/pelvis", rod, (0, -swing, 0))}
    simulation = Simulation(world, dt=dt, integrator=integrator, limits=limits)
    look = ViewSettings(Camera(azimuth=-62, elevation=8), times=(0, 0.5, 0.9, 1.2, 1.4, 1.6, 1.8, 2.0, 2.25, 2.5), columns=5)
    conservative = damping == 0 and not limits
    scene = Scene("highbar", "A figure on the high bar lets go with one hand", ABOUT, world, simulation, seconds, look, conservative)
    scene.connect("man/left_grip", "bar/rod", Revolute("y"), name="left hand")
    right = scene.connect("man/right_grip", "bar/rod", Revolute("y"), name="right hand")
    simulation.at(release, lambda: scene.cut(right))
    return scene
