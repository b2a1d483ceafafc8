"""A simulated jump: PD torques from a crouch to a stretch."""

from __future__ import annotations

from functools import cache

import numpy as np

import brachiate as br
from brachiate.figures.poses import both_sides
from brachiate.motion.motion import Motion
from brachiate.scenes.placement import SIDES, place_at, rotation_about_y
from brachiate.scenes.standing import joint_displacement

ARMS = {"shoulder": {"forward": 30}, "elbow": 20}
CROUCH = both_sides(hip={"forward": 60}, knee=90, ankle={"forward": 40}, **ARMS)
STRETCH = both_sides(hip={"forward": 0}, knee=5, ankle={"forward": -30}, **ARMS)
LEG_STIFFNESS, OTHER_STIFFNESS = 600.0, 100.0  # [N·m/rad]
EXTENSION_TIME = 0.35  # [s] from crouch to stretch
TAKE_OFF, END = 0.245, 0.88  # [s]
FIRST, EVERY = 20, 4  # [ms] first frame, and time between frames


@cache
def jump() -> Motion:
    """Jump of human28 at 250 Hz, from the crouch until before landing."""
    figure = br.figures.human28()
    world = br.World()
    world.add(br.figures.ground(), name="floor")
    man = world.add(figure.with_springs(0.0, "stand", 3.0), name="man")
    man.set_pose(CROUCH)
    place_at(world, man, [f"{side}_sole" for side in SIDES], (0, 0, 0), rotation_about_y(12.0))
    world.enable_contact(friction=1.0)
    simulation = br.Simulation(world, dt=0.001)
    start, end = figure.configuration(CROUCH), figure.configuration(STRETCH)

    def control(world: br.World) -> None:
        s = min(world.time / EXTENSION_TIME, 1.0)
        share = s**3 * (10 - 15 * s + 6 * s**2)
        world.torque = {
            f"man/{name}": -(LEG_STIFFNESS if name.rpartition("_")[2] in ("hip", "knee", "ankle", "chest") else OTHER_STIFFNESS)
            * joint_displacement(_interpolate(start[joint.q], end[joint.q], share), world[f"man/{name}"])
            for name, joint in figure.joints.items()
            if name != "root"
        }

    simulation.control(control)
    run = simulation.run(END, progress=False)
    return Motion(figure, run.time[FIRST::EVERY], run.q[FIRST::EVERY], "jump")


def _interpolate(a, b, share):
    x = (1 - share) * a + share * b
    return x / np.linalg.norm(x) if len(x) == 4 else x
