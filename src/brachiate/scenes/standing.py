"""Someone who stands on two feet, and is pushed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from brachiate import figures
from brachiate.scenes.bodies import SIDES
from brachiate.scenes.scene import Scene
from brachiate.show.draw import Look, View
from brachiate.simulate.simulation import Simulation
from brachiate.validation import Array
from brachiate.world.world import World

ABOUT = """\
A controller holds every joint near its posture as springs would, by torques of motors with limits, and the ankles work against
swaying. Nothing else keeps the figure up: its feet are held by contact alone. It is pushed in the back, gives way, and comes back,
and the centre of pressure stays within the feet: run.contacts["man"].cop."""

#: Stiffness of the joints by the last word of their names [N·m/rad].
STIFFNESS: Mapping[str, float] = {"ankle": 700, "knee": 600, "hip": 800, "chest": 800, "neck": 80, "shoulder": 60, "elbow": 40}
DAMPING = 15.0  # of all joints, as flesh has it [N·m·s/rad]
SWAY = 200.0  # of the ankles, against the speed at which the body sways forwards [N·s]


def stand(
    push: float = 80.0, at: float = 1.0, lasting: float = 0.15, seconds: float = 6.0, friction: float = 0.8, dt: float = 0.002
) -> Scene:
    """A figure stands on its feet by the torques of its joints, and is pushed.

    Args:
        push: Force on the chest, from behind [N].
        at: When it is pushed [s].
        lasting: For how long [s].
        seconds: How long it is worth watching [s].
        friction: Of feet and ground.
        dt: Length of a step [s].
    """
    world = World()
    world.add(figures.ground(), name="floor")
    world.add(figures.human28().sprung(0.0, "stand", DAMPING), name="man")
    world.touch(friction=friction)
    simulation = Simulation(world, dt=dt)
    simulation.control(holding(world, "man"))
    pushes = []
    simulation.at(at, lambda: pushes.append(world.push("man/chest", (push, 0, 0), at=(0, 0, 0.25))))
    simulation.at(at + lasting, lambda: world.remove(pushes.pop()))
    look = Look(
        View(around=-85, above=6), times=(0, at + 0.15, at + 0.35, at + 0.6, at + 1.0, seconds), columns=6, tallest=3.2, weight_length=1.2
    )
    return Scene("stand", "Standing, and pushed", ABOUT, world, simulation, seconds, look, passive=False)


def holding(world: World, figure: str, posture: Mapping[str, Array] | None = None) -> Callable[[World], None]:
    """A controller that holds a figure's joints near a posture (standing, by default), and keeps it from swaying."""
    joints = [name for name in world.figure(figure).model.joints if name != "root"]
    model = world.figure(figure).model
    wanted = model.configuration(dict(posture or {}))
    rest = {name: wanted[model.joints[name].q] for name in joints}

    def control(world: World) -> None:
        torque = {}
        for name in joints:
            full = f"{figure}/{name}"
            torque[full] = -STIFFNESS[name.rpartition("_")[2]] * turned_by(rest[name], world[full])
        # Not against their own rates: feet are so light that they would tremble.
        totals = world.totals(figure)
        for side in SIDES:
            torque[f"{figure}/{side}_ankle"][1] += SWAY * totals.momentum[0] / totals.mass
        world.torque = torque

    return control


def turned_by(start: Array, end: Any) -> Any:
    """How far a joint has turned from one value to another [rad]: one angle, or of a ball joint a rotation vector in its own axes."""
    if len(start) == 1:
        return end - start[0]
    w, u = start[0] * end[0] + start[1:] @ end[1:], start[0] * end[1:] - end[0] * start[1:] - np.cross(start[1:], end[1:])
    size = float(np.linalg.norm(u))
    return 2 * np.arctan2(size, abs(w)) * np.sign(w or 1.0) * u / max(size, 1e-300)
