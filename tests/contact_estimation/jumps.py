"""A jump that our simulator made: from a crouch, by torques of hips, knees and ankles, up into the air."""

from __future__ import annotations

from functools import cache

import numpy as np

import brachiate as br
from brachiate.figures.poses import both
from brachiate.motion.motion import Motion
from brachiate.scenes.bodies import SIDES, about_y, put
from brachiate.scenes.standing import turned_by

ARMS = {"shoulder": {"forward": 30}, "elbow": 20}
CROUCH = both(hip={"forward": 60}, knee=90, ankle={"forward": 40}, **ARMS)
STRETCH = both(hip={"forward": 0}, knee=5, ankle={"forward": -30}, **ARMS)
STRONG, WEAK = 600.0, 100.0  # [N·m/rad]
LASTS = 0.35  # [s] from crouch to stretch
TAKE_OFF, END = 0.245, 0.88  # [s]
FIRST, EVERY = 20, 4  # [ms] when soles have settled, and between frames


@cache
def jump() -> Motion:
    """Motion of a human28, 250 frames a second, from the crouch until before it comes down."""
    figure = br.figures.human28()
    world = br.World()
    world.add(br.figures.ground(), name="floor")
    man = world.add(figure.sprung(0.0, "stand", 3.0), name="man")
    man.pose(CROUCH)
    put(world, man, [f"{side}_sole" for side in SIDES], (0, 0, 0), about_y(12.0))
    world.touch(friction=1.0)
    simulation = br.Simulation(world, dt=0.001)
    start, end = figure.configuration(CROUCH), figure.configuration(STRETCH)

    def control(world: br.World) -> None:
        s = min(world.time / LASTS, 1.0)
        part = s**3 * (10 - 15 * s + 6 * s**2)
        world.torque = {
            f"man/{name}": -(STRONG if name.rpartition("_")[2] in ("hip", "knee", "ankle", "chest") else WEAK)
            * turned_by(_between(start[joint.q], end[joint.q], part), world[f"man/{name}"])
            for name, joint in figure.joints.items()
            if name != "root"
        }

    simulation.control(control)
    run = simulation.run(END, progress=False)
    return Motion(figure, run.time[FIRST::EVERY], run.q[FIRST::EVERY], "jump")


def _between(a, b, part):
    x = (1 - part) * a + part * b
    return x / np.linalg.norm(x) if len(x) == 4 else x
