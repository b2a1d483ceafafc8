"""Falling figures: to the ground from standing, and down stairs."""

from __future__ import annotations

import numpy as np

from brachiate import figures, validation
from brachiate.figures.poses import both_sides
from brachiate.scenes.contact_objects import stairs
from brachiate.scenes.placement import SIDES, place_at, rigid_rotation_velocity
from brachiate.scenes.scene import Scene
from brachiate.show.draw import Camera, ViewSettings
from brachiate.simulate.simulation import Simulation
from brachiate.world.world import World

FALL = """\
A figure with nearly passive joints, which stop at their limits. With a small initial velocity it collapses and comes to rest on the
ground. At the end the ground reaction force equals its weight: run.contacts["man"].force."""
STAIRS = """\
The same figure on the landing of stairs. Every limb may collide with every step, the ground, and the other limbs."""


BENT = both_sides(hip={"forward": 14}, knee=26, ankle={"forward": 12})  # slightly, so that the knees buckle


def fall(
    push: float = 0.8, seconds: float = 3.0, stiffness: float = 5.0, damping: float = 1.5, friction: float = 0.8, dt: float = 0.002
) -> Scene:
    """A figure falls to the ground, and comes to rest.

    Args:
        push: Initial angular velocity about the feet, forwards and slightly to the right [rad/s].
        seconds: Duration [s].
        stiffness: Stiffness of the joints towards standing [N·m/rad]: far too little to stand.
        damping: Damping of the joints [N·m·s/rad].
        friction: Friction coefficient of all contacts.
        dt: Step length [s].
    """
    world = World()
    world.add(figures.ground(), name="floor")
    man = world.add(figures.human28().with_springs(stiffness, "stand", damping), name="man")
    man.set_pose(BENT)
    place_at(world, man, [f"{side}_sole" for side in SIDES], (0, 0, 0), np.eye(3))
    world.v = {"man/root": rigid_rotation_velocity(world, "man/pelvis", (0, 0, 0), (0.3 * push, push, 0))}
    world.enable_contact(friction=friction)
    look = ViewSettings(Camera(azimuth=-60, elevation=14), times=(0, 0.3, 0.45, 0.6, 0.75, 3.0), columns=6, weight_length=1.2)
    return Scene("fall", "A figure falls", FALL, world, Simulation(world, dt=dt), seconds, look, conservative=False)


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
        push: Initial angular velocity about the feet, forwards [rad/s].
        steps: Number of steps, including the landing.
        seconds: Duration [s].
        stiffness: Stiffness of the joints towards a tucked posture [N·m/rad].
        damping: Damping of the joints [N·m·s/rad].
        friction: Friction coefficient of all contacts.
        dt: Step length [s].
    """
    steps = validation.integer(steps, "number of steps", minimum=1)
    rise, tread = 0.17, 0.26
    world = World()
    world.add(figures.ground(), name="floor")
    world.add(stairs(steps, rise, tread, width=1.6, landing=0.7), name="stairs")
    man = world.add(figures.human28().with_springs(stiffness, "tumble", damping), name="man")
    start = np.array((-0.2, 0.0, steps * rise))
    man.place(world.position("man/pelvis") + start)
    world.v = {"man/root": rigid_rotation_velocity(world, "man/pelvis", start, (0.1 * push, push, 0))}
    world.enable_contact(friction=friction)
    look = ViewSettings(Camera(azimuth=-68, elevation=16), times=(0, 0.4, 0.6, 0.8, 1.0, 4.0), columns=3)
    return Scene(
        "stairs-tumble", "A figure tumbles down stairs", STAIRS, world, Simulation(world, dt=dt), seconds, look, conservative=False
    )
