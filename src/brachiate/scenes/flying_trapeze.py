"""Flying trapeze: a flyer releases the knees and is caught by the hands."""

from __future__ import annotations

from brachiate import figures
from brachiate.figures.human_shapes import SHIRT, Color
from brachiate.figures.poses import axis_quaternion, both_sides
from brachiate.model.joints import Cylindrical, Revolute, Spherical
from brachiate.model.model import Model
from brachiate.scenes import props
from brachiate.scenes.placement import RED, SIDES, place_at, rotation_about_y, with_shirt
from brachiate.scenes.scene import Scene
from brachiate.show.draw import Camera, ViewSettings
from brachiate.simulate.simulation import Simulation
from brachiate.validation import Array
from brachiate.world.connections import Connection
from brachiate.world.world import World

ABOUT = """\
Both hang by their knees and swing towards each other. The flyer releases the bar, and the hands are connected by ball joints when they
are nearest, at a relative velocity of about 2 m/s: the reports of the two connections have the impulses and energy losses. Springs keep
both postures."""

ROPE, HEIGHT = 2.2, 5.15  # [m]
KNEE = (-0.058, 0.0, -0.035)  # [m] popliteal fossa (back of the knee) in the shank
STRETCHED = both_sides(hip={"out": 8}, knee=110, shoulder={"forward": 165, "out": 4}, elbow=5)
CATCHER = (4.58, HEIGHT + 0.36)  # [m] beam of the catcher's trapeze, chosen so that the hands meet


def trapeze(
    release: float = 1.5,
    seconds: float = 2.7,
    pull: float = 45.0,
    stiffness: float = 150.0,
    limits: bool = False,
    dt: float = 0.002,
    integrator: str = "rk4",
) -> Scene:
    """A flyer releases a trapeze, and is caught in the air by the hands of a catcher.

    Args:
        release: Time at which the flyer releases the bar [s].
        seconds: Duration [s].
        pull: Initial angle of the flyer's trapeze [°].
        stiffness: Stiffness of all joints towards the stretched posture [N·m/rad].
        limits: Whether joints stop at their limits, which dissipates energy.
        dt: Step length [s].
        integrator: As in :class:`~brachiate.Simulation`.
    """
    world = World()
    _hang(world, "flyer", figures.human16(height=1.66, mass=56.0, sex="female"), (0.0, HEIGHT), pull, stiffness, RED)
    _hang(world, "catcher", figures.human16(), CATCHER, -30.0, stiffness, SHIRT)
    simulation = Simulation(world, dt=dt, integrator=integrator, limits=limits)
    look = ViewSettings(Camera(azimuth=-72, elevation=6), times=(0, 0.8, 1.5, 1.7, 1.9, 2.1, 2.3, 2.5, 2.7), columns=3)
    scene = Scene("trapeze", "A flyer is caught in the air", ABOUT, world, simulation, seconds, look, conservative=not limits)
    knees = _hook(scene, "flyer")
    _hook(scene, "catcher")
    simulation.at(release, lambda: scene.cut(*knees))

    def nearing(_: World) -> float:
        apart, rate = between_hands(world)
        return float(apart @ rate) if world.time > release else -1.0

    def catch() -> None:
        for side in SIDES:
            scene.connect(f"flyer/{side}_grip", f"catcher/{side}_grip", Spherical(), name=f"{side} hands")

    simulation.when(nearing, catch, falling=False)
    return scene


def _hang(world: World, name: str, model: Model, beam: tuple[float, float], turn: float, stiffness: float, shirt: Color) -> None:
    """Hang a figure by its knees from its own trapeze, both rotated rigidly about the beam [°]."""
    x, height = beam
    swing = f"{name}'s trapeze"
    world.add(props.trapeze(height, ROPE, width=0.9), name=swing, at=(x, 0, 0))
    world[f"{swing}/left_rope"] = axis_quaternion((0, 1, 0), turn)
    man = world.add(with_shirt(model.with_springs(stiffness, STRETCHED), shirt), name=name)
    man.set_pose(STRETCHED)
    upside_down = world.pose(f"{swing}/bar").rotation @ rotation_about_y(180.0)
    place_at(world, man, [f"{side}_shank" for side in SIDES], world.position(f"{swing}/middle"), upside_down, at=KNEE)


def _hook(scene: Scene, name: str) -> list[Connection]:
    """Connect the knees to the bar. One may slide along it: two collinear hinges would constrain the distance of the hips twice."""
    joints = {"left": Revolute("y"), "right": Cylindrical("y")}
    return [
        scene.connect(f"{name}/{side}_shank", f"{name}'s trapeze/bar", joint, at=KNEE, name=f"{name}'s {side} knee")
        for side, joint in joints.items()
    ]


def between_hands(world: World) -> tuple[Array, Array]:
    """Vector from the catcher's left hand to the flyer's [m], and its rate [m/s]."""
    flyer, catcher = "flyer/left_grip", "catcher/left_grip"
    return world.position(flyer) - world.position(catcher), (world.velocity(flyer) - world.velocity(catcher))[:3]
