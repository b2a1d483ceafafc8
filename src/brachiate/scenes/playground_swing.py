"""Swing of [SVC] Fig. 15: a figure slides off its plate, and remains hanging by its hands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from brachiate import figures
from brachiate.figures.poses import both_sides
from brachiate.model.joints import Prismatic, Spherical
from brachiate.model.model import Model
from brachiate.scenes.placement import SIDES, place_at, rotation_about_y
from brachiate.scenes.scene import Scene
from brachiate.show.draw import Camera, ViewSettings
from brachiate.simulate.simulation import Simulation
from brachiate.world.world import World

ABOUT = """\
The hands are connected to the ropes by ball joints, the thighs to the plate by prismatic joints, each of which is cut when its hip passes
the front edge of the plate. [SVC] counts 30 joint variables, then 28, as here for the figure (6 of its root, 16, 6 of its hands, 2 of its
thighs); the swing itself has 6 more (3, and 3 of the ball joint that closes it): 36, then 34. There are 9 degrees of freedom, then 18."""

EDGE = 0.10  # [m] of the plate, in front of its middle
BEHIND = 0.01  # [m] initial position of the hips behind the middle of the plate
ABOVE = 0.085  # [m] and above it
LEAN = 15.0  # [°] of the trunk, backwards
GRIP = (0, 0, 0.15)  # [m] position of the grip above the site of the rope


def swing(
    pull: float = 50.0,
    seconds: float = 1.35,
    stiffness: float = 30.0,
    rub: float = 2500.0,
    limits: bool = False,
    dt: float = 0.001,
    integrator: str = "rk4",
) -> Scene:
    """A figure slides off a swing, and remains hanging by its hands.

    Args:
        pull: Initial angle of the swing [°].
        seconds: Duration [s].
        stiffness: Stiffness of the joints towards the sitting posture [N·m/rad].
        rub: Damping of the thighs on the plate [N·s/m].
        limits: Whether joints stop at their limits, which dissipates energy.
        dt: Step length [s].
        integrator: As in :class:`~brachiate.Simulation`.
    """
    world = World()
    world.add(figures.swing(height=3.0, rope=2.0), name="swing")
    for side in SIDES:
        world[f"swing/{side}_rope"] = np.radians(pull)
    model = figures.human16()
    posture = _reaching(world, model)
    _sit(world, model.with_springs(stiffness, posture), posture)
    simulation = Simulation(world, dt=dt, integrator=integrator, limits=limits)
    look = ViewSettings(Camera(azimuth=-50, elevation=7), times=(0, 0.3, 0.5, 0.7, 0.9, 1.0, 1.1, 1.2, 1.28, 1.35), columns=5)
    scene = Scene("swing", "A figure slides off a swing", ABOUT, world, simulation, seconds, look, conservative=rub == 0 and not limits)
    for side in SIDES:
        scene.connect(f"man/{side}_grip", f"swing/{side}_hold", Spherical(), name=f"{side} hand")
    thighs = [scene.connect(f"man/{side}_thigh", "swing/plate", Prismatic("x", damping=rub), name=f"{side} thigh") for side in SIDES]

    def beyond(thigh: Any) -> float:
        return thigh.value - (EDGE + BEHIND) if thigh.alive else -1.0

    for thigh in thighs:
        simulation.when(lambda _, thigh=thigh: beyond(thigh), lambda thigh=thigh: scene.cut(thigh), falling=False)
    return scene


def _reaching(world: World, model: Model) -> dict[str, Any]:
    """Sitting posture with the hands at the ropes, by assembly from an initial guess."""
    guess = both_sides(hip={"forward": 90 - LEAN}, knee=60, shoulder={"forward": 20, "out": 12}, elbow=110)
    trial = world.copy()
    _sit(trial, model, guess)
    for side in SIDES:
        arm = (f"man/{side}_shoulder", f"man/{side}_elbow")
        trial.connect(f"man/{side}_grip", f"swing/{side}_hold", Spherical(), to_at=GRIP, allow=arm)
    return {name: trial[f"man/{name}"] for name in model.joints if name != "root"}


def _sit(world: World, model: Model, posture: Mapping[str, Any]) -> None:
    """Add a figure that sits on the plate."""
    man = world.add(model, name="man")
    man.set_pose(posture)
    turn = world.pose("swing/plate").rotation
    place_at(world, man, ("pelvis",), world.position("swing/seat", (-BEHIND, 0, ABOVE)), turn @ rotation_about_y(-LEAN))
