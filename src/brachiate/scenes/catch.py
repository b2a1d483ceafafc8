"""Someone jumps up to a bar, catches it, swings, lets go, and lands."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from brachiate import figures
from brachiate.figures.poses import Pose, both
from brachiate.model.joints import Revolute
from brachiate.model.model import Model
from brachiate.scenes.bodies import SIDES, about_y, put
from brachiate.scenes.scene import Scene
from brachiate.scenes.standing import turned_by
from brachiate.show.draw import Look, View
from brachiate.simulate.simulation import Simulation
from brachiate.world.world import World

ABOUT = """\
From a crouch, the torques of hips, knees and ankles throw the figure up; only contact with the ground bears that. When both hands are
near the bar they are held to it by hinges, which takes an impulse; the figure swings, lets go, lands on its feet, and sits down. The
structure changes where things touch: loops and contacts are found together."""

HEIGHT = 2.45  # of the bar [m]
BEFORE = 0.42  # where the feet are at first, before the bar [m]
LEAN = 18.0  # of the trunk at first [°]
ARMS = {"forward": 166.0, "out": -12.0}  # wide, as hinges in parallel arms would be a singular posture
CROUCH = both(hip={"forward": 54}, knee=83, ankle={"forward": 47}, shoulder=ARMS, elbow=2)
STRETCH = both(hip={"forward": -17}, knee=2, ankle={"forward": -55}, shoulder=ARMS, elbow=2)
HANG = both(hip={"forward": 5}, knee=5, shoulder=ARMS, elbow=2)
LAND = both(hip={"forward": 45}, knee=60, ankle={"forward": 25}, shoulder={"forward": 60, "out": 10}, elbow=20)
STRONG: Mapping[str, float] = {"ankle": 1500, "knee": 1500, "hip": 1500, "chest": 1500, "neck": 80, "shoulder": 300, "elbow": 60}
LOOSE: Mapping[str, float] = {"ankle": 40, "knee": 60, "hip": 150, "chest": 200, "neck": 40, "shoulder": 5, "elbow": 5}
FIRM: Mapping[str, float] = {"ankle": 300, "knee": 300, "hip": 300, "chest": 400, "neck": 60, "shoulder": 40, "elbow": 20}


def catch_bar(
    reach: float = 0.05, release: float = 1.25, seconds: float = 2.5, damping: float = 3.0, friction: float = 1.0, dt: float = 0.002
) -> Scene:
    """A figure jumps, catches a bar with both hands, swings, lets go, and lands.

    Args:
        reach: How near to the bar both hands must come to catch it [m].
        release: When it lets go [s].
        seconds: How long it is worth watching [s].
        damping: Of the joints [N·m·s/rad].
        friction: Of everything.
        dt: Length of a step [s].
    """
    world = World()
    world.add(figures.ground(), name="floor")
    world.add(figures.bar(height=HEIGHT, length=1.8), name="bar")
    man = world.add(figures.human28().sprung(0.0, "stand", damping), name="man")
    man.pose(CROUCH)
    put(world, man, [f"{side}_sole" for side in SIDES], (-BEFORE, 0, 0), about_y(LEAN))
    world.touch(friction=friction)
    simulation = Simulation(world, dt=dt)
    look = Look(View(around=-68, above=7), times=(0, 0.1, 0.2, 0.3, 0.6, 0.9, 1.25, 1.5, 1.68, seconds), columns=5)
    scene = Scene("catch-bar", "Jump, catch a bar, swing, let go, land", ABOUT, world, simulation, seconds, look, passive=False)
    will = Will(man.model)
    simulation.control(will.control)

    def catch() -> None:
        for side in SIDES:
            scene.connect(f"man/{side}_grip", "bar/rod", Revolute("y"), name=f"{side} hand")
        will.change(HANG, LOOSE)

    def let_go() -> None:
        scene.cut(*world.connections.values())
        will.change(LAND, FIRM)

    simulation.when(lambda _: _distance(world) - reach, catch, rising=False)
    simulation.at(release, let_go)
    return scene


class Will:
    """What the figure wants: a posture, and how stiffly; a controller that brings it there."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.joints = [name for name in model.joints if name != "root"]
        self.change(STRETCH, STRONG)

    def change(self, posture: Pose, stiffness: Mapping[str, float]) -> None:
        """Want something else from now on."""
        q = self.model.configuration(posture)
        self.wanted = {f"man/{name}": (stiffness[name.rpartition("_")[2]], q[self.model.joints[name].q]) for name in self.joints}

    def control(self, world: World) -> None:
        """Set torques like those of springs; motors have their limits."""
        world.torque = {name: -stiffness * turned_by(rest, world[name]) for name, (stiffness, rest) in self.wanted.items()}


def _distance(world: World) -> float:
    """Of the hand that is farther from the bar [m]."""
    return max(float(np.linalg.norm((world.position(f"man/{side}_grip") - world.position("bar/rod"))[[0, 2]])) for side in SIDES)
