"""Standing on two feet by joint torques, and pushed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from brachiate import figures
from brachiate.scenes.placement import SIDES
from brachiate.scenes.scene import Scene
from brachiate.show.draw import Camera, ViewSettings
from brachiate.simulate.simulation import Simulation
from brachiate.validation import Array
from brachiate.world.world import World

ABOUT = """\
Proportional control holds every joint near its posture within effort limits, and ankle torques damp the sway. The feet are supported by
contact alone. Pushed in the back, the figure leans and returns, and the center of pressure stays within the feet:
run.contacts["man"].cop."""

#: Stiffness by joint type, the last word of the joint's name [N·m/rad].
STIFFNESS: Mapping[str, float] = {"ankle": 700, "knee": 600, "hip": 800, "chest": 800, "neck": 80, "shoulder": 60, "elbow": 40}
DAMPING = 15.0  # [N·m·s/rad] of all joints
SWAY = 200.0  # [N·s] ankle torque per forward velocity of the center of mass


def stand(
    push: float = 80.0, at: float = 1.0, lasting: float = 0.15, seconds: float = 6.0, friction: float = 0.8, dt: float = 0.002
) -> Scene:
    """A figure stands by joint torques, and is pushed.

    Args:
        push: Force on the chest, from behind [N].
        at: Time of the push [s].
        lasting: Duration of the push [s].
        seconds: Duration [s].
        friction: Friction coefficient of feet and ground.
        dt: Step length [s].
    """
    world = World()
    world.add(figures.ground(), name="floor")
    world.add(figures.human28().with_springs(0.0, "stand", DAMPING), name="man")
    world.enable_contact(friction=friction)
    simulation = Simulation(world, dt=dt)
    simulation.control(posture_controller(world, "man"))
    pushes = []
    simulation.at(at, lambda: pushes.append(world.apply_force("man/chest", (push, 0, 0), at=(0, 0, 0.25))))
    simulation.at(at + lasting, lambda: world.remove(pushes.pop()))
    look = ViewSettings(
        Camera(azimuth=-85, elevation=6),
        times=(0, at + 0.15, at + 0.35, at + 0.6, at + 1.0, seconds),
        columns=6,
        max_height=3.2,
        weight_length=1.2,
    )
    return Scene("stand", "Standing, and pushed", ABOUT, world, simulation, seconds, look, conservative=False)


def posture_controller(world: World, figure: str, posture: Mapping[str, Array] | None = None) -> Callable[[World], None]:
    """Controller that holds a figure's joints near a posture (standing, by default), and damps its sway."""
    joints = [name for name in world.figure(figure).model.joints if name != "root"]
    model = world.figure(figure).model
    wanted = model.configuration(dict(posture or {}))
    rest = {name: wanted[model.joints[name].q] for name in joints}

    def control(world: World) -> None:
        torque = {}
        for name in joints:
            full = f"{figure}/{name}"
            torque[full] = -STIFFNESS[name.rpartition("_")[2]] * joint_displacement(rest[name], world[full])
        # Not by the ankle rates: the feet are so light that they would oscillate.
        totals = world.totals(figure)
        for side in SIDES:
            torque[f"{figure}/{side}_ankle"][1] += SWAY * totals.momentum[0] / totals.mass
        world.torque = torque

    return control


def joint_displacement(start: Array, end: Any) -> Any:
    """Displacement of a joint between two values [rad]: an angle, or for a ball joint the rotation vector in its own axes."""
    if len(start) == 1:
        return end - start[0]
    w, u = start[0] * end[0] + start[1:] @ end[1:], start[0] * end[1:] - end[0] * start[1:] - np.cross(start[1:], end[1:])
    size = float(np.linalg.norm(u))
    return 2 * np.arctan2(size, abs(w)) * np.sign(w or 1.0) * u / max(size, 1e-300)
