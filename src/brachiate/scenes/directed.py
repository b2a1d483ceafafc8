"""Scenes of animation space [EGC] 4.3, 4.5, 5: bodies directed by functions of their motion."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from brachiate import animation as an
from brachiate import validation
from brachiate.animation.direct import Directed
from brachiate.errors import ArgumentError
from brachiate.figures.chains import chain
from brachiate.figures.chains import inchworm as inchworm_figure
from brachiate.figures.objects import ground
from brachiate.model.builder import ModelBuilder
from brachiate.model.joints import Revolute
from brachiate.model.model import Model
from brachiate.model.shapes import Box, Capsule, Sphere
from brachiate.scenes.scene import Scene
from brachiate.show.canvas import Camera
from brachiate.show.draw import ViewSettings
from brachiate.simulate.recording import Recording
from brachiate.simulate.simulation import Simulation
from brachiate.validation import Array
from brachiate.world.world import World


class Phase(NamedTuple):
    """Part of a directed motion."""

    space: an.AnimationSpace
    targets: dict[str, Any]
    seconds: float
    options: dict[str, Any] = {}  # noqa: RUF012  of AnimationSpace.direct


class DirectedScene(Scene):
    """Scene whose motion is directed by functions, phase by phase, not by its simulation.

    Attributes:
        runs: The directed motions of a run.
    """

    def __init__(self, *what: Any, script: Callable[[DirectedScene], Iterator[Phase]], **settings: Any) -> None:
        super().__init__(*what, conservative=False, **settings)
        self.runs: list[Directed] = []
        self.phases = script(self)  #: those that are still to come

    def run(self, seconds: float | None = None) -> Recording:
        """Direct the motion for some seconds; a phase that they cut short is not resumed."""
        left = self.seconds if seconds is None else validation.number(seconds, "seconds", above=0.0, maximum=1e6)
        dt, parts = self.simulation.dt, []
        for phase in self.phases:
            run = phase.space.direct(phase.targets, min(phase.seconds, left), dt=dt, **phase.options)
            self.runs.append(run)
            parts.append(run)
            self._update_max_gap()
            left -= phase.seconds
            if left < 0.5 * dt:
                break
        if not parts:
            raise ArgumentError("This scene has been played. Make it anew: scenes.make(...).")
        time, q, v, torques = (
            np.concatenate([getattr(part, name)[1 if n else 0 :] for n, part in enumerate(parts)])
            for name in ("times", "q", "v", "torques")
        )
        return Recording(self.world.model, self.world.gravity, time, q, v, torques)


# --- three links --------------------------------------------------------------------------------------

SITTING = """\
[EGC, Section 4.5] Shank, thigh and trunk, one after the other from the ankle, which is fixed. The hip stays on a chair while the trunk
bends forward and back: its position is a coordinate of animation space, held by the motors (extended coordinates), by the chair (hard), or
by springs and dampers (soft)."""


def planar_figure(lengths: tuple[float, ...], masses: tuple[float, ...], names: tuple[str, ...], joints: tuple[str, ...]) -> Model:
    """Links in the x-z plane, one on the other; angles are about y, zero is upright."""
    b = ModelBuilder("planar")
    for n, (length, mass, name, joint) in enumerate(zip(lengths, masses, names, joints, strict=True)):
        across = mass * length**2 / 12
        b.link(
            name, parent=names[n - 1] if n else None, joint=Revolute("y"), joint_name=joint,
            at=(0, 0, lengths[n - 1]) if n else (0, 0, 0.05), mass=mass, center=(0, 0, length / 2), inertia=(across, across, 0.1 * across),
            shapes=[Capsule.between((0, 0, 0), (0, 0, length), 0.04, color=((0.25, 0.45, 0.66, 1), (0.88, 0.6, 0.24, 1))[n % 2]),
                    Sphere(radius=0.05, color=(0.55, 0.58, 0.62, 1))],
        )  # fmt: skip
    return b.build()


def sitting(technique: str = "extended", seconds: float = 2.0, dt: float = 0.005) -> Scene:
    """A figure of three links bends on a chair: its hip is held by motors, by a constraint, or by springs.

    Args:
        technique: ``extended``, ``hard`` or ``soft``.
        seconds: Duration [s].
        dt: Step length [s].
    """
    validation.one_of(technique, an.CLOSURES, "technique")
    world = World()
    figure = planar_figure((0.43, 0.42, 0.6), (8.0, 16.0, 40.0), ("shank", "thigh", "trunk"), ("ankle", "knee", "hip"))
    world.add(figure, "man")
    world["man/ankle"], world["man/knee"], world["man/hip"] = 0.15, -1.6, 1.5
    seat = world.position("man/trunk")
    chair = ModelBuilder("chair")
    chair.link("seat", at=seat - (0.0, 0.0, 0.07), shapes=Box(size=np.array((0.4, 0.4, 0.04)), color=(0.46, 0.34, 0.22, 1)))
    world.add(chair.build(), "chair")
    hip = an.position("man/trunk")
    space = an.AnimationSpace(world, {"hip_x": hip.x, "hip_z": hip.z, "trunk": an.joint("man/hip")})
    start = world.angle("man/hip")
    bend = an.keys({0.0: start, 0.45 * seconds: start + 0.7, seconds: start - 0.2})
    options = {} if technique == "extended" else {"closure": technique, "held": ("hip_x", "hip_z"), "stiffness": 2e5, "damping": 3e3}
    phase = Phase(space, {"hip_x": seat[0], "hip_z": seat[2], "trunk": bend}, seconds, options)
    look = ViewSettings(camera=Camera(azimuth=-90.0, elevation=4.0))
    scene = ("sitting", f"Sitting: the hip held by the {technique} technique", SITTING, world, Simulation(world, dt), seconds, look)
    return DirectedScene(*scene, script=lambda _: iter([phase]))


# --- chains -------------------------------------------------------------------------------------------

REACH = """\
[EGC, Section 5.1, Fig. 5] The end of a chain of ten joints reaches for targets. Its first segment is fixed by the function f = φ², whose
rate and acceleration are zero; a target that the others cannot reach moves it nevertheless, as the position has priority."""


def reach_chain(fixed: bool = True, far: bool = True, seconds: float = 4.0, dt: float = 0.01) -> Scene:
    """The end of a ten-joint chain reaches for targets, its first segment fixed until the target is out of reach.

    Args:
        fixed: Whether the first segment is fixed by a function.
        far: Whether the last target is out of reach without the first segment.
        seconds: Duration [s].
        dt: Step length [s].
    """
    world = World(gravity=0.0)
    b = ModelBuilder("chain")
    for n in range(10):
        b.link(
            f"link{n + 1}", parent=f"link{n}" if n else None, joint=Revolute("y"), joint_name=f"joint{n + 1}",
            at=(0, 0, 0.1) if n else (0, 0, 0.5), mass=0.1, center=(0, 0, 0.05), inertia=(1e-4, 1e-4, 1e-5),
            shapes=Capsule.between((0, 0, 0), (0, 0, 0.1), 0.016, color=((0.25, 0.45, 0.66, 1), (0.88, 0.6, 0.24, 1))[n % 2]),
        )  # fmt: skip
    world.add(b.build(), "arm")
    for n in range(10):
        world[f"arm/joint{n + 1}"] = 0.25
    tip = an.position("arm/link10", (0, 0, 0.1))
    functions: dict[str, Any] = {"x": tip.x, "z": tip.z}
    if fixed:
        functions["first"] = lambda s: s.joint("arm/joint1") ** 2
    space = an.AnimationSpace(world, functions, priorities={"first": 1} if fixed else None)
    hold = {"first": 0.25**2} if fixed else {}
    near = world.position("arm/link1") + np.array([0.3, 0.0, 0.5])
    distant = world.position("arm/link2") + (0.93 if far else 0.8) * np.array([0.98, 0.0, -0.2])  # nine segments of 0.1 m reach 0.9 m
    phases = [
        Phase(space, {"x": an.reach(p[0], 0.7 * t), "z": an.reach(p[2], 0.7 * t), **hold}, t)
        for p, t in ((near, seconds / 4), (distant, 3 * seconds / 4))
    ]
    look = ViewSettings(camera=Camera(azimuth=-90.0, elevation=0.0), ground=False)
    scene = ("reach-chain", "A chain reaches for targets", REACH, world, Simulation(world, dt), seconds, look)
    return DirectedScene(*scene, script=lambda _: iter(phases))


DROP = "[EGC, Section 5] A chain pinned at one end is dropped from the horizontal: the check of the dynamics in closed form."


def dropping_chain(links: int = 10, seconds: float = 2.0, dt: float = 0.001, integrator: str = "rk4") -> Scene:
    """A chain pinned at one end is dropped.

    Args:
        links: Number of links.
        seconds: Duration [s].
        dt: Step length [s].
        integrator: Integration method.
    """
    world = World()
    world.add(chain(links), "chain")
    world["chain/joint1"] = -np.pi / 2
    simulation = Simulation(world, dt, integrator)
    look = ViewSettings(camera=Camera(azimuth=-90.0, elevation=0.0))
    return Scene("dropping-chain", "A pinned chain is dropped", DROP, world, simulation, seconds, look)


# --- inchworm -----------------------------------------------------------------------------------------

INCHWORM = """\
[EGC, Section 5.2, Fig. 6] A worm of 16 segments with two-axis joints walks: its tail grasps the ground while the head reaches forward, an
open chain; then the head grasps and the tail slides forward, a closed chain. The base changes by connecting one end and cutting the other.
Position and direction of the moving end and two functions (φ − α(t))² of its shape are the coordinates."""


class Worm:
    """Gait of an inchworm by phases.

    Args:
        world: World with the worm in its arched pose.
        name: Name of the worm.
        stride: Length of a step [m].
        duration: Of half a step [s].
        along: Direction of the walk (3,), on the ground.
        segments: Number of segments.
    """

    def __init__(self, world: World, name: str, stride: float, duration: float, along: Array, segments: int) -> None:
        self.world, self.name, self.stride, self.duration, self.along = world, name, stride, duration, along
        self.up = np.cross(along, np.cross((0.0, 0.0, 1.0), along))
        self.ends = {"tail": f"{name}/segment1", "head": f"{name}/segment{segments}"}
        self.shape = [f"{name}/joint{round(share * segments)}.first" for share in (0.25, 0.75)]
        self.arch = {joint: world.angle(joint) for joint in self.shape}

    def functions(self, end: str, arched: bool) -> dict[str, Any]:
        """Functions of half a step in which an end moves and the body straightens or arches."""
        position, forward, side = an.position(f"{self.name}/{end}_sole"), an.axis(self.ends[end], "x"), an.axis(self.ends[end], "y")
        functions: dict[str, Any] = {
            "along": an.dot(tuple(self.along), position), "up": an.dot(tuple(self.up), position), "side": position.y,
            "pitch": an.dot(tuple(self.up), forward), "yaw": forward.y, "roll": an.dot(tuple(self.up), side),
        }  # fmt: skip
        now = self.world.time
        for n, joint in enumerate(self.shape):
            alpha = an.signal({now: self.world.angle(joint), now + self.duration: self.arch[joint] if arched else 0.0})
            functions[f"shape{n + 1}"] = (an.joint(joint) - alpha) ** 2
        return functions

    def targets(self, space: an.AnimationSpace) -> dict[str, Any]:
        """Targets of half a step: a stride forward on the ground, level at its end."""
        now = dict(zip(space.names, space.value(), strict=True))
        level = {name: an.reach(0.0, self.duration) for name in ("pitch", "yaw", "roll")}
        move = {"along": an.reach(now["along"] + self.stride, self.duration), "up": now["up"], "side": now["side"]}
        return {**move, **level, "shape1": 0.0, "shape2": 0.0}


def inchworm(steps: int = 3, stride: float = 0.02, slope: float = 0.0, seconds: float = 3.6, dt: float = 0.01) -> Scene:
    """An inchworm walks by grasping the ground with its tail and its head in turn.

    Args:
        steps: Number of steps.
        stride: Length of a step [m].
        slope: Of the ground, upwards [degrees].
        seconds: Duration [s].
        dt: Step length [s].
    """
    steps = validation.integer(steps, "steps", minimum=1, maximum=100)
    stride = validation.number(stride, "stride", above=0.0, maximum=0.03)
    angle = np.radians(validation.number(slope, "slope", minimum=-30.0, maximum=30.0))
    world, along = World(), np.array([np.cos(angle), 0.0, np.sin(angle)])
    rotation = np.array([along, (0, 1, 0), (-np.sin(angle), 0, np.cos(angle))]).T
    world.add(ground(), "ground", rotation=rotation)
    world.add(inchworm_figure(16, yaw=True), "worm", rotation=rotation).set_pose("arch")
    worm = Worm(world, "worm", stride, seconds / (2 * steps), along, 16)

    def script(scene: DirectedScene) -> Iterator[Phase]:
        grasp = scene.connect(worm.ends["tail"], "world")
        for n in range(2 * steps):
            if n:
                other = scene.connect(worm.ends["head" if n % 2 else "tail"], "world")
                scene.cut(grasp)
                grasp = other
            space = an.AnimationSpace(world, worm.functions("tail" if n % 2 else "head", arched=bool(n % 2)))
            yield Phase(space, worm.targets(space), worm.duration, {"rate": 25.0})

    look = ViewSettings(camera=Camera(azimuth=-90.0, elevation=6.0))
    scene = ("inchworm", "An inchworm walks", INCHWORM, world, Simulation(world, dt), seconds, look)
    return DirectedScene(*scene, script=script)
