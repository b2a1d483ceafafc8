"""Inchworms directed by functions of their motion [EGC] 5.2: a walk on level or sloping ground, and a race."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from brachiate import animation as an
from brachiate import validation
from brachiate.animation.direct import Directed
from brachiate.animation.plan import Piecewise, constant, minimum_jerk
from brachiate.errors import ArgumentError
from brachiate.figures.chains import inchworm as inchworm_figure
from brachiate.figures.objects import ground
from brachiate.functions.motion_functions import spline_pieces
from brachiate.model.joints import Prismatic
from brachiate.scenes.directed import DirectedScene, Phase
from brachiate.scenes.scene import Scene
from brachiate.show.canvas import Camera
from brachiate.show.draw import ViewSettings
from brachiate.simulate.recording import Recording
from brachiate.simulate.simulation import Simulation
from brachiate.validation import Array
from brachiate.world.connections import Connection
from brachiate.world.world import World

SEGMENTS, LENGTH = 16, 0.005
_LANE = 0.03  # [m] between the worms of a race
_LIFT = 0.002  # [m] of the head while it moves
_RATE = 25.0  # [1/s] of the feedback to the plan

INCHWORM = """\
[EGC, Section 5.2, Fig. 6] A worm of 16 segments with two-axis joints walks: its tail grasps the ground while the head reaches forward, an
open chain; then the head grasps and the tail slides forward on the ground, a closed chain. The base changes by connecting one end and
cutting the other. Position and direction of the moving end and two functions (φ − α(t))² of its shape are the coordinates."""

RACE = """\
[EGC, Section 5.2] Inchworms with different strides, cadences, arches, masses and friction of the sliding rear race in one world."""


@dataclass(frozen=True)
class WormGait:
    """Settings of a worm.

    Args:
        stride: Length of a step [m].
        duration: Of half a step [s].
        arch: Steepest slope of its arched body relative to the figure's, which is 65 degrees.
        mass: Of a segment [kg].
        friction: Dry friction of the sliding rear [N].
        stiffness: Of the body at a joint [N·m/rad]: with it the body carries itself, so that a motion is not lost to the least disturbance.
        damping: Of the body at a joint [N·m·s/rad].
    """

    stride: float = 0.02
    duration: float = 0.6
    arch: float = 1.0
    mass: float = 0.001
    friction: float = 0.0
    stiffness: float = 0.012
    damping: float = 5e-6

    def __post_init__(self) -> None:
        validation.number(self.duration, "duration of half a step", above=0.0)
        validation.number(self.arch, "arch", above=0.0, maximum=1.2)
        validation.number(self.mass, "mass of a segment", above=0.0)
        validation.number(self.friction, "friction", minimum=0.0)
        most = SEGMENTS * LENGTH * (1.0 - np.cos(self.arch * np.radians(65.0) / np.sqrt(2.0)))
        validation.number(self.stride, "stride", above=0.0)
        if self.stride > most:
            raise ArgumentError(f"stride: {self.stride:g} m is more than a worm with this arch gains by stretching, {most:.3g} m.")


#: Settings of the race.
RACERS: Mapping[str, WormGait] = {
    "steady": WormGait(),
    "hasty": WormGait(stride=0.012, duration=0.3, arch=0.85),
    "strider": WormGait(stride=0.025, duration=0.7, arch=1.1),
    "heavy": WormGait(stride=0.02, duration=0.8, mass=0.002, friction=0.02),
}


class Worm:
    """Walk of an inchworm, half step by half step.

    Args:
        scene: Its scene, in whose world it lies arched.
        name: Name of the worm.
        gait: Its settings.
        along: Direction of the walk (3,), on the ground.
    """

    def __init__(self, scene: DirectedScene, name: str, gait: WormGait, along: Array) -> None:
        self.scene, self.world, self.name, self.gait, self.along = scene, scene.world, name, gait, along
        self.up = np.cross(along, np.cross((0.0, 0.0, 1.0), along))
        self.ends = {"tail": f"{name}/segment1", "head": f"{name}/segment{SEGMENTS}"}
        self.shape = [f"{name}/joint{round(share * SEGMENTS)}.first" for share in (0.25, 0.75)]
        self.arch = {joint: self.world.angle(joint) for joint in self.shape}
        self.half_steps = 0
        self.grasp = scene.connect(self.ends["tail"], "world")
        self.slider: Connection | None = None
        self._begin_half_step()

    @property
    def progress(self) -> float:
        """How far the head is along the walk [m]."""
        return float(self.along @ self.world.position(f"{self.name}/head_sole"))

    def change_base(self) -> None:
        """The end that has moved grasps the ground, and the other one lets go: the front becomes the base, or the rear."""
        self.half_steps += 1
        if self.half_steps % 2:  # the rear slides, held to the ground and in its direction
            grasp = self.scene.connect(self.ends["head"], "world")
            self.scene.cut(self.grasp)
            self.slider = self.scene.connect(self.ends["tail"], "world", Prismatic(self.along, friction=self.gait.friction, effort=0.0))
        else:
            assert self.slider is not None
            self.scene.cut(self.slider)
            grasp = self.scene.connect(self.ends["tail"], "world")
            self.scene.cut(self.grasp)
        self.grasp = grasp
        self._begin_half_step()

    def _begin_half_step(self) -> None:
        begin, end = self.world.time, self.world.time + self.gait.duration
        self.end, sliding = end, bool(self.half_steps % 2)
        moving = "tail" if sliding else "head"
        position = an.position(f"{self.name}/{moving}_sole")
        forward, side = an.axis(self.ends[moving], "x"), an.axis(self.ends[moving], "y")
        functions: dict[str, Any] = {"along": an.dot(tuple(self.along), position)}
        if not sliding:  # the slider keeps the others
            functions |= {
                "up": an.dot(tuple(self.up), position), "side": position.y, "pitch": an.dot(tuple(self.up), forward), "yaw": forward.y,
                "roll": an.dot(tuple(self.up), side),
            }  # fmt: skip
        now = dict(zip(functions, an.FunctionSet(self.world, functions).value(), strict=True))
        self.targets: dict[str, Any] = {name: minimum_jerk((x, 0.0, 0.0), 0.0, begin, self.gait.duration) for name, x in now.items()}
        self.targets["along"] = minimum_jerk((now["along"], 0.0, 0.0), now["along"] + self.gait.stride, begin, self.gait.duration)
        if not sliding:
            up = {begin: now["up"], 0.5 * (begin + end): now["up"] + _LIFT, end: now["up"]}
            self.targets |= {"up": Piecewise(*spline_pieces(up)), "side": constant(now["side"])}
        for n, joint in enumerate(self.shape):
            alpha = an.signal({begin: self.world.angle(joint), end: self.arch[joint] if sliding else 0.0})
            functions[f"shape{n + 1}"] = (an.joint(joint) - alpha) ** 2
            self.targets[f"shape{n + 1}"] = 0.0
        self.functions = {f"{self.name}/{name}": function for name, function in functions.items()}
        self.targets = {f"{self.name}/{name}": target for name, target in self.targets.items()}


class WormScene(DirectedScene):
    """Walk of one or several worms.

    Attributes:
        worms: By name, once the walk has begun.
        distances: How far each has come, after a run [m].
    """

    def __init__(self, *what: Any, gaits: Mapping[str, WormGait], along: Array, replay: Sequence[Directed] = ()) -> None:
        self.worms: dict[str, Worm] = {}
        self._gaits, self._along = gaits, along
        self.distances: dict[str, float] = {}
        super().__init__(*what, script=WormScene._phases, replay=replay)

    def _phases(self) -> Iterator[Phase]:
        self.worms = {name: Worm(self, name, gait, self._along) for name, gait in self._gaits.items()}
        self._start = {name: worm.progress for name, worm in self.worms.items()}
        slack = 0.5 * self.simulation.dt
        while True:
            end = min(worm.end for worm in self.worms.values())
            functions = {name: function for worm in self.worms.values() for name, function in worm.functions.items()}
            targets = {name: target for worm in self.worms.values() for name, target in worm.targets.items()}
            yield Phase(an.AnimationSpace(self.world, functions), targets, end - self.world.time, {"rate": _RATE})
            for worm in self.worms.values():
                if worm.end - self.world.time < slack:
                    worm.change_base()

    def run(self, seconds: float | None = None) -> Recording:
        """Let them walk; ``outcome`` tells how far they came, and who won."""
        run = super().run(seconds)
        self.distances = {name: worm.progress - self._start[name] for name, worm in self.worms.items()}
        order = sorted(self.distances, key=lambda name: -self.distances[name])
        told = ", ".join(f"{name} {1000 * self.distances[name]:.1f} mm" for name in order)
        self.outcome = f"{order[0]!r} wins: {told}." if len(order) > 1 else f"The worm has come {told.partition(' ')[2]} forward."
        return run

    @property
    def winner(self) -> str:
        """Name of the worm that is in front."""
        return max(self.distances, key=self.distances.__getitem__)


def _walk(
    name: str,
    title: str,
    text: str,
    gaits: Mapping[str, WormGait],
    slope: float,
    seconds: float,
    dt: float,
    replay: Sequence[Directed] = (),
) -> Scene:
    angle = np.radians(validation.number(slope, "slope", minimum=-30.0, maximum=30.0))
    world, along = World(), np.array([np.cos(angle), 0.0, np.sin(angle)])
    rotation = np.array([along, (0, 1, 0), (-np.sin(angle), 0, np.cos(angle))]).T
    world.add(ground(), "ground", rotation=rotation)
    for n, (worm, gait) in enumerate(gaits.items()):
        lane = np.array((0.0, _LANE * ((len(gaits) - 1) / 2 - n), 0.0))
        figure = inchworm_figure(SEGMENTS, LENGTH, gait.mass, yaw=True).with_springs(gait.stiffness, "stand", gait.damping)
        world.add(figure, worm, at=lane, rotation=rotation).set_pose("arch")
        for joint in range(1, SEGMENTS):
            world[f"{worm}/joint{joint}.first"] = gait.arch * world.angle(f"{worm}/joint{joint}.first")
    elevation = 6.0 if len(gaits) == 1 else 35.0
    look = ViewSettings(camera=Camera(azimuth=-90.0, elevation=elevation))
    return WormScene(name, title, text, world, Simulation(world, dt), seconds, look, gaits=gaits, along=along, replay=replay)


def inchworm(
    steps: int = 3, stride: float = 0.02, slope: float = 0.0, friction: float = 0.0, seconds: float = 3.6, dt: float = 0.01,
    replay: Sequence[Directed] = (),
) -> Scene:  # fmt: skip
    """An inchworm walks by grasping the ground with its tail and its head in turn.

    Args:
        steps: Number of steps.
        stride: Length of a step [m].
        slope: Of the ground, upwards [degrees].
        friction: Dry friction of the sliding rear [N].
        seconds: Duration [s].
        dt: Step length [s].
        replay: ``runs`` of another such scene, whose torques move the worm without any control.
    """
    steps = validation.integer(steps, "steps", minimum=1, maximum=100)
    seconds = validation.number(seconds, "seconds", above=0.0)
    gait = WormGait(stride=stride, duration=seconds / (2 * steps), friction=friction)
    return _walk("inchworm", "An inchworm walks", INCHWORM, {"worm": gait}, slope, seconds, dt, replay)


def inchworm_race(slope: float = 0.0, gaits: Mapping[str, WormGait] | None = None, seconds: float = 4.2, dt: float = 0.01) -> Scene:
    """Inchworms with different settings race.

    Args:
        slope: Of the ground, upwards [degrees].
        gaits: Settings of the worms by name; by default four.
        seconds: Duration [s].
        dt: Step length [s].
    """
    chosen = RACERS if gaits is None else validation.mapping(gaits, "gaits", "settings by name of worm")
    if not chosen or not all(isinstance(gait, WormGait) for gait in chosen.values()):
        raise ArgumentError(f"gaits: expected {{'name': WormGait(...)}}, got {validation.short_repr(gaits)}.")
    return _walk("inchworm-race", "Inchworms race", RACE, chosen, slope, seconds, dt)
