"""Scenes of animation space [EGC] 4.3, 4.5, 5: bodies directed by functions of their motion."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from brachiate import animation as an
from brachiate import validation
from brachiate.animation.direct import Directed
from brachiate.errors import ArgumentError
from brachiate.figures.chains import chain
from brachiate.model.builder import ModelBuilder
from brachiate.model.joints import Revolute
from brachiate.model.model import Model
from brachiate.model.shapes import Box, Capsule, Sphere
from brachiate.scenes.scene import Scene
from brachiate.show.canvas import Camera
from brachiate.show.draw import ViewSettings, strobe
from brachiate.show.force_marks import ForceMarks
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

    Args:
        *what: As for :class:`Scene`.
        script: The phases, one after the other; it connects and cuts between them.
        replay: Directed motions of another run, phase by phase: their torques move the body, by forward dynamics alone.
        reactions: Links at whose origins reactions act, by the name of their functions without ``_x`` and ``_z``.
        **settings: As for :class:`Scene`.

    Attributes:
        runs: The directed motions of a run.
    """

    def __init__(
        self, *what: Any, script: Callable[[Any], Iterator[Phase]], replay: Sequence[Directed] = (),
        reactions: Mapping[str, str] | None = None, **settings: Any,
    ) -> None:  # fmt: skip
        super().__init__(*what, conservative=False, **settings)
        self.runs: list[Directed] = []
        self.replayed = list(replay)
        self.reactions = dict(reactions or {})
        self.phases = script(self)  #: those that are still to come

    def run(self, seconds: float | None = None) -> Recording:
        """Direct the motion for some seconds; a phase that they cut short is not resumed."""
        left = self.seconds if seconds is None else validation.number(seconds, "seconds", above=0.0, maximum=1e6)
        dt, parts = self.simulation.dt, []
        for phase in self.phases:
            options = phase.options
            if self.replayed:
                options = {**options, "torques": self.replayed[len(self.runs)].torques_at}
            run = phase.space.direct(phase.targets, min(phase.seconds, left), dt=dt, **options)
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
        forces = {f"{name}.force": np.concatenate([_reaction(p, name)[1 if n else 0 :] for n, p in enumerate(parts)])
                  for name in self.reactions}  # fmt: skip
        return Recording(self.world.model, self.world.gravity, time, q, v, torques, forces=forces)

    def picture(self, run: Recording, path: str | Path, times: Any = None) -> None:
        """Draw the scene at some times of a run, side by side, with reactions as arrows."""
        marks = self._reaction_marks(run) if self.reactions else None
        strobe(run.model, run.time, run.q, path, self.look, times, marks)

    def _reaction_marks(self, run: Recording) -> Callable[[int], ForceMarks]:
        weight = self.world.totals().mass * float(np.linalg.norm(self.world.gravity)) / len(self.reactions)
        copy = self.world.copy()

        def marks(row: int) -> ForceMarks:
            copy.data.q[:] = run.q[row]
            points = np.array([copy.position(link) for link in self.reactions.values()])
            return ForceMarks(points, np.array([run[f"{name}.force"][row] for name in self.reactions]), [], weight)

        return marks


def _reaction(run: Directed, name: str) -> Array:
    """Force that holds a point in the x-z plane (T, 3) [N]."""
    reactions = run.reactions
    return np.stack([reactions[f"{name}_x"], np.zeros(len(run.times)), reactions[f"{name}_z"]], axis=1)


# --- three links --------------------------------------------------------------------------------------

SITTING = """\
[EGC, Section 4.5] Shank, thigh and trunk, one after the other from the ankle, which is fixed. The hip stays on a chair while the trunk
bends forward and back: its position is a coordinate of animation space, held by the motors (extended coordinates), by the chair (hard), or
by springs and dampers (soft). The arrows are the reaction at the hip."""


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


def sitting(technique: str = "all", seconds: float = 2.0, dt: float = 0.005) -> Scene:
    """Figures of three links bend on chairs: their hips are held by motors, by a constraint, and by springs.

    Args:
        technique: ``all``, side by side, or one of ``extended``, ``hard`` and ``soft``.
        seconds: Duration [s].
        dt: Step length [s].
    """
    techniques = an.CLOSURES if validation.one_of(technique, ("all", *an.CLOSURES), "technique") == "all" else (technique,)
    world = World()
    figure = planar_figure((0.43, 0.42, 0.6), (8.0, 16.0, 40.0), ("shank", "thigh", "trunk"), ("ankle", "knee", "hip"))
    functions: dict[str, Any] = {}
    targets: dict[str, Any] = {}
    held: dict[str, str] = {}
    for n, name in enumerate(techniques):
        world.add(figure, name, at=(1.3 * (n - (len(techniques) - 1) / 2), 0, 0))
        world[f"{name}/ankle"], world[f"{name}/knee"], world[f"{name}/hip"] = 0.15, -1.6, 1.5
        seat, start = world.position(f"{name}/trunk"), world.angle(f"{name}/hip")
        chair = ModelBuilder("chair")
        chair.link("seat", at=seat - (0.0, 0.0, 0.07), shapes=Box(size=np.array((0.4, 0.4, 0.04)), color=(0.46, 0.34, 0.22, 1)))
        world.add(chair.build(), f"{name}_chair")
        hip = an.position(f"{name}/trunk")
        functions |= {f"{name}/hip_x": hip.x, f"{name}/hip_z": hip.z, f"{name}/bend": an.joint(f"{name}/hip")}
        bend = an.keys({0.0: start, 0.45 * seconds: start + 0.7, seconds: start - 0.2})
        targets |= {f"{name}/hip_x": seat[0], f"{name}/hip_z": seat[2], f"{name}/bend": bend}
        held |= {f"{name}/hip_x": name, f"{name}/hip_z": name}
    phase = Phase(an.AnimationSpace(world, functions), targets, seconds, {"held": held, "stiffness": 2e5, "damping": 3e3})
    times = (0.2 * seconds, 0.45 * seconds) if technique == "all" else ()
    look = ViewSettings(camera=Camera(azimuth=-90.0, elevation=4.0), times=times, columns=2 if times else 6, weight_length=0.35)
    title = "Sitting: the hip held by motors, by the chair, by springs" if technique == "all" else f"Sitting: {technique} technique"
    scene = ("sitting", title, SITTING, world, Simulation(world, dt), seconds, look)
    hips = {f"{name}/hip": f"{name}/trunk" for name in techniques}
    return DirectedScene(*scene, script=lambda _: iter([phase]), reactions=hips)


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
