"""The swing of [SVC] Fig. 15: a figure slides off its plate, and is left hanging by its hands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from brachiate import figures
from brachiate.figures.poses import both
from brachiate.model.joints import Prismatic, Spherical
from brachiate.model.model import Model
from brachiate.scenes.bodies import SIDES, about_y, put
from brachiate.scenes.scene import Scene
from brachiate.show.draw import Look, View
from brachiate.simulate.simulation import Simulation
from brachiate.world.world import World

ABOUT = """\
The hands are held to the ropes by ball joints, the thighs slide along the plate, and each is cut when its hip passes the plate's
front edge. [SVC] counts 30 joint variables, then 28. So do we for the figure (6 of its root, 16, 6 of its hands, 2 of its thighs);
the swing itself has 6 more (3, and 3 of the ball joint that closes it): 36, then 34. There are 9 freedoms, then 18."""

EDGE = 0.10  # of the plate, in front of its middle [m]
BEHIND = 0.01  # how far the hips are behind the middle of the plate at first [m]
ABOVE = 0.085  # and above it [m]
LEAN = 15.0  # of the trunk, backwards [°]
GRIP = (0, 0, 0.15)  # where the hands hold, above the rope's site [m]


def swing(
    pull: float = 50.0,
    seconds: float = 1.35,
    stiffness: float = 30.0,
    rub: float = 2500.0,
    limits: bool = False,
    dt: float = 0.001,
    integrator: str = "rk4",
) -> Scene:
    """A figure slides off a swing, and is left hanging by its hands.

    Args:
        pull: How far the swing is pulled back at first [°].
        seconds: How long it is worth watching [s].
        stiffness: Of the joints towards the posture in which it sits [N·m/rad].
        rub: Of the thighs on the plate [N·s/m].
        limits: Whether joints stop at their limits. Energy is then lost in every stop.
        dt: Length of a step [s].
        integrator: As in :class:`~brachiate.Simulation`.
    """
    world = World()
    world.add(figures.swing(height=3.0, rope=2.0), name="swing")
    for side in SIDES:
        world[f"swing/{side}_rope"] = np.radians(pull)
    model = figures.human16()
    posture = _reaching(world, model)
    _sit(world, model.sprung(stiffness, posture), posture)
    simulation = Simulation(world, dt=dt, integrator=integrator, limits=limits)
    look = Look(View(around=-50, above=7), times=(0, 0.3, 0.5, 0.7, 0.9, 1.0, 1.1, 1.2, 1.28, 1.35), columns=5)
    scene = Scene("swing", "A figure slides off a swing", ABOUT, world, simulation, seconds, look, passive=rub == 0 and not limits)
    for side in SIDES:
        scene.connect(f"man/{side}_grip", f"swing/{side}_hold", Spherical(), name=f"{side} hand")
    thighs = [scene.connect(f"man/{side}_thigh", "swing/plate", Prismatic("x", damping=rub), name=f"{side} thigh") for side in SIDES]

    def beyond(thigh: Any) -> float:
        return thigh.value - (EDGE + BEHIND) if thigh.alive else -1.0

    for thigh in thighs:
        simulation.when(lambda _, thigh=thigh: beyond(thigh), lambda thigh=thigh: scene.cut(thigh), falling=False)
    return scene


def _reaching(world: World, model: Model) -> dict[str, Any]:
    """The posture of someone who sits on the plate and holds the ropes, from a guess."""
    guess = both(hip={"forward": 90 - LEAN}, knee=60, shoulder={"forward": 20, "out": 12}, elbow=110)
    trial = world.copy()
    _sit(trial, model, guess)
    for side in SIDES:
        arm = (f"man/{side}_shoulder", f"man/{side}_elbow")
        trial.connect(f"man/{side}_grip", f"swing/{side}_hold", Spherical(), to_at=GRIP, allow=arm)
    return {name: trial[f"man/{name}"] for name in model.joints if name != "root"}


def _sit(world: World, model: Model, posture: Mapping[str, Any]) -> None:
    """Put a figure on the plate."""
    man = world.add(model, name="man")
    man.pose(posture)
    turn = world.pose("swing/plate").rotation
    put(world, man, ("pelvis",), world.position("swing/seat", (-BEHIND, 0, ABOVE)), turn @ about_y(-LEAN))
