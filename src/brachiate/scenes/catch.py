"""A figure jumps to a bar, grips it, swings, releases it, and lands."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from brachiate import figures
from brachiate.figures.poses import JointValues, both_sides
from brachiate.model.joints import Revolute
from brachiate.model.model import Model
from brachiate.scenes.placement import SIDES, place_at, rotation_about_y
from brachiate.scenes.scene import Scene
from brachiate.scenes.standing import joint_displacement
from brachiate.show.draw import Camera, ViewSettings
from brachiate.simulate.simulation import Simulation
from brachiate.world.world import World

ABOUT = """\
From a crouch, torques of hips, knees and ankles accelerate the figure upwards against the ground. When both hands are near the bar they
are connected to it by hinges, with an impulse; the figure swings, releases the bar, lands on its feet, and sits down. The structure
changes during contact: loop constraints and contacts are solved together."""

HEIGHT = 2.45  # [m] of the bar
BEFORE = 0.42  # [m] initial distance of the feet from the bar
LEAN = 18.0  # [°] initial lean of the trunk
ARMS = {"forward": 166.0, "out": -12.0}  # wide: parallel arms with hinges would be a singular posture
CROUCH = both_sides(hip={"forward": 54}, knee=83, ankle={"forward": 47}, shoulder=ARMS, elbow=2)
STRETCH = both_sides(hip={"forward": -17}, knee=2, ankle={"forward": -55}, shoulder=ARMS, elbow=2)
HANG = both_sides(hip={"forward": 5}, knee=5, shoulder=ARMS, elbow=2)
LAND = both_sides(hip={"forward": 45}, knee=60, ankle={"forward": 25}, shoulder={"forward": 60, "out": 10}, elbow=20)
STRONG: Mapping[str, float] = {"ankle": 1500, "knee": 1500, "hip": 1500, "chest": 1500, "neck": 80, "shoulder": 300, "elbow": 60}
LOOSE: Mapping[str, float] = {"ankle": 40, "knee": 60, "hip": 150, "chest": 200, "neck": 40, "shoulder": 5, "elbow": 5}
FIRM: Mapping[str, float] = {"ankle": 300, "knee": 300, "hip": 300, "chest": 400, "neck": 60, "shoulder": 40, "elbow": 20}


def catch_bar(
    reach: float = 0.05, release: float = 1.25, seconds: float = 2.5, damping: float = 3.0, friction: float = 1.0, dt: float = 0.002
) -> Scene:
    """A figure jumps, grips a bar with both hands, swings, releases it, and lands.

    Args:
        reach: Distance of both hands from the bar at which they grip it [m].
        release: Time of the release [s].
        seconds: Duration [s].
        damping: Damping of the joints [N·m·s/rad].
        friction: Friction coefficient of all contacts.
        dt: Step length [s].
    """
    world = World()
    world.add(figures.ground(), name="floor")
    world.add(figures.bar(height=HEIGHT, length=1.8), name="bar")
    man = world.add(figures.human28().with_springs(0.0, "stand", damping), name="man")
    man.set_pose(CROUCH)
    place_at(world, man, [f"{side}_sole" for side in SIDES], (-BEFORE, 0, 0), rotation_about_y(LEAN))
    world.enable_contact(friction=friction)
    simulation = Simulation(world, dt=dt)
    look = ViewSettings(Camera(azimuth=-68, elevation=7), times=(0, 0.1, 0.2, 0.3, 0.6, 0.9, 1.25, 1.5, 1.68, seconds), columns=5)
    scene = Scene("catch-bar", "Jump, catch a bar, swing, let go, land", ABOUT, world, simulation, seconds, look, conservative=False)
    controller = PostureController(man.model)
    simulation.control(controller.control)

    def grip_bar() -> None:
        for side in SIDES:
            scene.connect(f"man/{side}_grip", "bar/rod", Revolute("y"), name=f"{side} hand")
        controller.set_posture(HANG, LOOSE)

    def release_bar() -> None:
        scene.cut(*world.connections.values())
        controller.set_posture(LAND, FIRM)

    simulation.when(lambda _: _distance(world) - reach, grip_bar, rising=False)
    simulation.at(release, release_bar)
    return scene


class PostureController:
    """Proportional joint controller towards a posture."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.joints = [name for name in model.joints if name != "root"]
        self.set_posture(STRETCH, STRONG)

    def set_posture(self, posture: JointValues, stiffness: Mapping[str, float]) -> None:
        """Set posture and stiffness [N·m/rad] by joint type."""
        q = self.model.configuration(posture)
        self.targets = {f"man/{name}": (stiffness[name.rpartition("_")[2]], q[self.model.joints[name].q]) for name in self.joints}

    def control(self, world: World) -> None:
        """Set spring-like torques; the simulation clamps them to the effort limits."""
        world.torque = {name: -stiffness * joint_displacement(rest, world[name]) for name, (stiffness, rest) in self.targets.items()}


def _distance(world: World) -> float:
    """Distance of the farther hand from the bar [m]."""
    return max(float(np.linalg.norm((world.position(f"man/{side}_grip") - world.position("bar/rod"))[[0, 2]])) for side in SIDES)
