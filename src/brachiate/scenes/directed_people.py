"""Standing people directed by a few functions of their motion through the dynamics filter: reach for a cup, lift a barbell."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from brachiate import animation as an
from brachiate import figures, manifold, validation
from brachiate.errors import ArgumentError
from brachiate.figures import ranges
from brachiate.figures.objects import STEEL, WOOD
from brachiate.figures.poses import both_sides
from brachiate.filter.offline import FIGURE
from brachiate.filter.offline_tracker import OfflineTracker
from brachiate.filter.reference.preprocess import make_reference
from brachiate.filter.reference.reference import Reference
from brachiate.filter.results.result import FilterResult
from brachiate.filter.tasks.task import Task
from brachiate.filter.tracking.disturbances import Push
from brachiate.filter.tracking.simulation_world import simulation_world
from brachiate.model.builder import ModelBuilder
from brachiate.model.joints import Compound, Prismatic, Spherical
from brachiate.model.model import Model
from brachiate.model.shapes import Cylinder, frame_along
from brachiate.motion.motion import Motion
from brachiate.scenes.placement import SIDES
from brachiate.scenes.scene import Scene
from brachiate.show.canvas import Camera
from brachiate.show.draw import ViewSettings
from brachiate.simulate.recording import Recording
from brachiate.simulate.simulation import Simulation
from brachiate.validation import Array
from brachiate.world.world import World

FRAME_RATE = 100.0  # [frames/s] of the standing reference
LONGER = 1.2  # [s] by which the reference is longer than the scene: the filter looks ahead, and plans otherwise where a motion ends
AT_EASE = both_sides(shoulder={"out": 12}, elbow=20)  # hands clear of the thighs
RATE, GAZE_RATE = 40.0, 60.0  # [1/s] of the feedback
PUSH_DURATION = 0.1  # [s]
SHOULDERS = (0.0, 0.0, 0.3)  # [m] point of the chest that is pushed
EYES = (0.112, 0.0, 0.107)  # [m] middle of the eyes in the head
RED = (0.78, 0.26, 0.24, 1.0)
IRON = (0.2, 0.21, 0.23, 1.0)

CUP = """\
A figure that stands on its feet by contact alone is directed by two functions: its right hand reaches for a cup, and its eyes stay on it
(animation space [EGC] as tasks of the dynamics filter's whole-body QP). Balance, the other joints and the forces of the feet follow. The
same while it is pushed."""
BARBELL = """\
Both hands lift a barbell, to which they are connected by ball joints: two closed loops [CKC]. Its height, distance and direction are the
functions that are directed; the figure stands on its feet by contact alone. The same while it is pushed."""


class DirectedPerson(Scene):
    """Standing figure that is directed by tasks of the filter.

    Args:
        name: Name of the scene.
        title: Title of the scene.
        description: What happens.
        reference: Standing reference.
        tasks: Functions that are directed, by name.
        pushes: External disturbances.
        world: World with the figure at the first frame of the reference.
        seconds: Duration [s].
        look: View of its picture.
    """

    def __init__(
        self, name: str, title: str, description: str, reference: Reference, tasks: Mapping[str, Task], pushes: list[Push], world: World,
        seconds: float, look: ViewSettings,
    ) -> None:  # fmt: skip
        self.reference, self.pushes = reference, pushes
        self.tracker = OfflineTracker(world, FIGURE, reference, plan_whole_clip=True, tasks=tasks)
        simulation = Simulation(world, dt=reference.dt)
        simulation.control(self.tracker.control)
        for push in pushes:
            push.schedule(simulation, FIGURE)
        super().__init__(name, title, description, world, simulation, seconds, look, conservative=False)

    def run(self, seconds: float | None = None) -> Recording:
        """Simulate; ``outcome`` tells how closely the functions were at their targets."""
        run = super().run(seconds)
        result = self.filtered(run)
        self.outcome = str(result.failure) if result.failure else "; ".join(str(task) for task in result.tasks.values())
        return run

    def filtered(self, run: Recording) -> FilterResult:
        """Result of the filter for a run of this scene: errors of the tasks, contact forces, joint torques."""
        return self.tracker.result(run)


def reach_cup(
    x: float = 0.42, y: float = -0.22, z: float = 1.15, push: float = 0.0, heading: float = 0.0, at: float = 2.0, seconds: float = 3.5,
    dt: float = 0.002,
) -> Scene:  # fmt: skip
    """A standing figure reaches for a cup and keeps its gaze on it.

    Args:
        x: Position of the cup, forward of the ankles [m].
        y: To the left [m].
        z: Height [m].
        push: Velocity change of the whole body by a push at the shoulders [m/s].
        heading: Direction of the push, from forward to the left [degrees].
        at: Time of the push [s].
        seconds: Duration [s].
        dt: Step length [s].
    """
    cup = validation.vector((x, y, z), "position of the cup")
    figure = figures.human28()
    reference = standing(figure, figure.configuration(AT_EASE, figure.poses["stand"]), seconds, dt)
    world = simulation_world(reference)
    world.add(cup_model(), "cup", at=cup)
    for part in ("cup", "saucer"):  # the hand takes hold of it
        world.ignore_contact(f"cup/{part}", [f"{FIGURE}/{link}" for link in figure.links])
    eyes = an.position("head", EYES)
    sight = an.unit(an.position("cup/cup") - eyes)
    tasks = {
        "cup": Task(an.position("right_grip") - an.position("cup/cup"), an.reach(0.0, by=1.2), rate=RATE),
        "gaze": Task(an.angle(an.axis("head", "x"), sight), tolerance=np.radians(0.1), rate=GAZE_RATE),
    }
    look = ViewSettings(
        Camera(azimuth=-60, elevation=8), times=(0, 0.3, 0.6, 0.9, 1.2, seconds), columns=6, max_height=3.2, weight_length=1.2
    )
    pushes = push_at(figure, push, heading, at, seconds)
    return DirectedPerson("reach-cup", "Reaching for a cup with the eyes on it", CUP, reference, tasks, pushes, world, seconds, look)


def lift_barbell(
    mass: float = 16.0, height: float = 1.45, push: float = 0.0, heading: float = 0.0, at: float = 2.6, seconds: float = 4.0,
    dt: float = 0.002,
) -> Scene:  # fmt: skip
    """A standing figure lifts a barbell with both hands.

    Args:
        mass: Of the barbell [kg].
        height: To which it is lifted [m].
        push: Velocity change of the whole body by a push at the shoulders [m/s].
        heading: Direction of the push, from forward to the left [degrees].
        at: Time of the push [s].
        seconds: Duration [s].
        dt: Step length [s].
    """
    figure = with_barbell(figures.human28(), ranges.mass(mass, "mass of the barbell"))
    height = validation.number(height, "height", minimum=0.6, maximum=1.8)
    reference = standing(figure, holding_posture(figure, (0.24, 0.0, 0.9)), seconds, dt)
    world = simulation_world(reference)
    world.ignore_contact(f"{FIGURE}/barbell", [f"{FIGURE}/{link}" for link in figure.links if link != "barbell"])
    world.q = reference.states(slice(0, 1)).q[0]
    for side in SIDES:
        world.connect(f"{FIGURE}/{side}_grip", f"{FIGURE}/barbell", Spherical(effort=0.0), name=f"{side} hand")
    bar, along = an.position("barbell"), an.axis("barbell", "y")
    start = world.position(f"{FIGURE}/barbell")
    lift = {0.3: float(start[2]), 1.8: height}
    tasks = {
        "height": Task(bar.z, an.keys(lift), rate=RATE),
        "ahead": Task(bar.x, an.keys({0.3: float(start[0]), 1.05: 0.42, 1.8: 0.34}), rate=RATE),
        "aside": Task(bar.y, float(start[1]), rate=RATE),
        "level": Task(along.z, rate=RATE),
        "straight": Task(along.x, rate=RATE),
    }
    look = ViewSettings(
        Camera(azimuth=-50, elevation=8), times=(0, 0.7, 1.0, 1.3, 1.8, seconds), columns=6, max_height=3.2, weight_length=1.2
    )
    pushes = push_at(figure, push, heading, at, seconds)
    return DirectedPerson("lift-barbell", "Both hands lift a barbell", BARBELL, reference, tasks, pushes, world, seconds, look)


def standing(figure: Model, q: Array, seconds: float, dt: float) -> Reference:
    """Reference of a figure that stands still, in a scene of so many seconds."""
    frames = round((validation.number(seconds, "seconds", above=0.1, maximum=60.0) + LONGER) * FRAME_RATE) + 1
    return make_reference(Motion(figure, np.arange(frames) / FRAME_RATE, np.repeat(q[None], frames, axis=0), "stand"), dt=dt)


def push_at(figure: Model, change: float, heading: float, at: float, seconds: float) -> list[Push]:
    """Push that changes the velocity of the whole body by so much; none for no change."""
    change, at = validation.number(change, "push", minimum=0.0, maximum=2.0), validation.number(at, "at", minimum=0.0)
    angle = np.radians(validation.number(heading, "heading", minimum=-360.0, maximum=360.0))
    force = change * figure.mass / PUSH_DURATION
    if force == 0.0:
        return []
    if at >= seconds:
        raise ArgumentError(f"at: a push at {at:g} s would never act, as the scene ends at {seconds:g} s.")
    return [Push("chest", (force * np.cos(angle), force * np.sin(angle), 0.0), at, PUSH_DURATION, SHOULDERS)]


def cup_model() -> Model:
    """Cup, whose middle is its origin, on a saucer; neither moves."""
    b = ModelBuilder("cup")
    b.link("cup", shapes=Cylinder(radius=0.035, length=0.1, color=RED))
    b.link("saucer", at=(0, 0, 0), shapes=[Cylinder(radius=0.06, length=0.01, position=np.array((0, 0, -0.055)), color=WOOD)])
    return b.build()


def with_barbell(figure: Model, mass: float) -> Model:
    """Figure with a barbell as a link: its joint to the chest has six degrees of freedom and no motors, so hands have to hold it."""
    half, radius, rod = 0.62, 0.16, 0.4
    b = ModelBuilder("barbell")
    b.link("chest")
    free = {f"slide_{letter}": Prismatic(letter, effort=0.0) for letter in "xyz"} | {"turn": Spherical(effort=0.0, damping=0.02)}
    across = rod * mass * (2.0 * half) ** 2 / 12 + (1.0 - rod) * mass * half**2
    plates = [
        Cylinder(radius=radius, length=0.05, position=np.array((0, s * half, 0)), rotation=frame_along("y"), color=IRON) for s in (-1, 1)
    ]
    b.link(
        "barbell", parent="chest", joint=Compound(free), joint_name="barbell", mass=mass, center=(0, 0, 0),
        inertia=(across, 0.5 * (1.0 - rod) * mass * radius**2, across),
        shapes=[Cylinder(radius=0.014, length=2 * half + 0.1, rotation=frame_along("y"), color=STEEL), *plates],
    )  # fmt: skip
    return Model(f"{figure.name} with a barbell", [*figure.links.values(), b.build().links["barbell"]], *figure._parts()[1:])


def holding_posture(figure: Model, middle: Any) -> Array:
    """Standing posture with both hands on the barbell, whose middle is at a point of the world (3,) [m], by inverse kinematics."""
    world = World()
    world.add(figure, FIGURE)
    world.q = figure.configuration({f"{side}_elbow": 0.8 for side in SIDES}, figure.poses["stand"])  # stretched arms are a singular posture
    world.connect(f"{FIGURE}/pelvis", "world")
    world.connect(f"{FIGURE}/chest", f"{FIGURE}/pelvis", name="trunk")
    space = an.AnimationSpace(
        world, {side: an.position(f"{FIGURE}/{side}_grip") for side in SIDES} | {"bar": an.position(f"{FIGURE}/barbell")}
    )
    wanted = np.concatenate([*(np.add(middle, (0.0, side * 0.22, 0.0)) for side in (1, -1)), np.asarray(middle, float)])
    for _ in range(100):
        error = wanted - space.value()
        if np.abs(error).max() < 1e-10:
            return world.q.copy()
        step = np.asarray(space.solve_velocity(error).values)
        world.q = manifold.integrate(world.data, world.q.copy(), step, min(1.0, 0.3 / max(float(np.abs(step).max()), 1e-12)))
    raise ArgumentError(f"The hands do not reach a barbell at {np.round(middle, 3).tolist()}.")
