"""Scenes of particle systems [NSP]: a link that falls, a walker, a ring of rope, a rope bridge."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from brachiate import particles, validation
from brachiate.particles import Floor, GaitSettings, ParticleRecording, ParticleSystem, WalkingControl
from brachiate.particles.walker import slope_rotation
from brachiate.scenes.scene import StructureChange
from brachiate.show.draw import Camera, ViewSettings

LINK = """\
[NSP] Fig. 10: a link of three particles falls, bounces off the floor with its third particle, and the springs pass the collision on to
the others, which shift aside."""
WALKER = """\
[NSP] Fig. 11-14: eight particles and six joints with PD servos. The walker drops, stands until t = 1 s, and walks on a plan whose ZMP
stays in the support polygon."""
RING = "A closed rope falls on the floor and collapses: closed and open chains are the same to particles."
BRIDGE = "A rope bridge of ten thousand links hangs in its fixed ends while a weight crosses it."
GROUNDS = ("firm", "soft")
SIDE = Camera(azimuth=-90.0, elevation=6.0)


@dataclass(eq=False)
class ParticleScene:
    """Ready-made scene of particles: ``run = scene.run()``, ``scene.picture(run, "scene.png")``."""

    name: str
    title: str
    description: str  # what happens
    system: ParticleSystem
    seconds: float  # default duration [s]
    floor: Floor | None = None
    integrator: str = "explicit"
    dt: float | None = None  # [s]; None: suggested
    rate: float = 100.0  # records per second
    control: Callable[[ParticleSystem, float], Any] | None = None
    look: ViewSettings = field(default_factory=ViewSettings)
    changes: list[StructureChange] = field(default_factory=list)  #: none: particles are neither connected nor cut
    on_change: Callable[[StructureChange], Any] | None = None
    tell: Callable[[ParticleRecording], str] | None = None  # what came of a run
    outcome: str = ""  #: what came of it, told after a run

    def __post_init__(self) -> None:
        self.description = " ".join(self.description.split())
        self.seconds = validation.number(self.seconds, "seconds", above=0.0, maximum=1e6)
        if self.dt is not None:
            validation.number(self.dt, "dt", above=0.0, maximum=1.0)

    def run(self, seconds: float | None = None) -> ParticleRecording:
        """Run for some seconds, by default the duration of the scene."""
        seconds = self.seconds if seconds is None else seconds
        run = particles.simulate(
            self.system, seconds, self.floor, self.integrator, self.dt, rate=self.rate, control=self.control, control_rate=500.0
        )
        self.outcome = self.tell(run) if self.tell is not None else ""
        return run

    def summary(self, run: ParticleRecording) -> dict[str, str]:
        """Numbers of a run by heading."""
        energy, stretch = run["energy"], np.abs(run.tension) / np.maximum(run.structure.stiffness, 1e-300) / run.samples.length
        return {
            "time [s]": f"{run.time[-1]:g}",
            "particles": str(len(run.structure.particles)),
            "links": str(len(run.structure.links)),
            "joints": str(len(run.structure.joints)),
            "energy gain [J]": f"{energy[-1] - energy[0]:.2g}",
            "largest strain": f"{float(stretch.max(initial=0.0)):.1e}",
        }

    def picture(self, run: ParticleRecording, path: str | Path, times: Any = None) -> None:
        """Draw the scene at some times of a run, side by side."""
        run.picture(path, self.look, times)


def particle_link(restitution: float = 0.8, seconds: float = 1.2, dt: float = 1e-4, integrator: str = "explicit") -> ParticleScene:
    """A link of three particles falls, bounces and shifts.

    Args:
        restitution: Of the floor.
        seconds: Duration [s].
        dt: Step length [s].
        integrator: As in :class:`~brachiate.particles.Stepper`.
    """
    system = ParticleSystem()
    system.add_particles([(-0.25, 0.0, 0.75), (0.0, 0.0, 0.9), (0.1, 0.0, 0.6)], 1.0)
    system.add_links([("p1", "p2"), ("p2", "p3")], stiffness=1e5, damping=20.0)
    system.add_joint("joint", "p1", "p2", "p3", axis="y", friction=0.05)
    look = ViewSettings(SIDE, times=tuple(np.linspace(0.0, 1.0, 6)), columns=6, forces=False)
    floor = Floor(restitution=restitution, friction=0.3)
    return ParticleScene(
        "particle-link", "A link of three particles falls and bounces", LINK, system, seconds, floor, integrator, dt, look=look
    )


def particle_walker(
    steps: int = 6,
    slope: float = 0.0,
    ground: str = "firm",
    friction: float = 0.8,
    mass: float = 1.0,
    seconds: float = 14.0,
    dt: float = 5e-5,
) -> ParticleScene:
    """Eight particles drop, stand and walk.

    Args:
        steps: Number of steps.
        slope: Of the floor, rising ahead [deg].
        ground: "firm" or "soft", which keeps footprints.
        friction: Coefficient of friction.
        mass: Factor on the masses.
        seconds: Duration [s].
        dt: Step length [s].
    """
    validation.one_of(ground, GROUNDS, "ground")
    soft: dict[str, Any] = {"yield_force": 60.0, "hardening": 2e4} if ground == "soft" else {}
    floor = Floor(stiffness=2e5, damping=1000.0, friction=friction, slope=slope, **soft)
    system, settings = particles.walker(mass_factor=mass, slope=slope), GaitSettings(steps=steps)
    plan = particles.plan_walk(system, settings, slope)

    def tell(run: ParticleRecording) -> str:
        x = run.positions @ slope_rotation(slope)
        hips = x[:, 3:5, 2].mean(axis=1) - x[:, [1, 6], 2].min(axis=1)
        travel = float((x[-1] - x[0])[3:5, 0].mean())
        state = "stood all the time" if hips.min() > 0.7 else f"fell at {run.time[hips < 0.7][0]:.2f} s"
        margin = f"The planned ZMP is {100 * plan.margin:.1f} cm inside the support polygon."
        return f"The walker {state}; its hips travelled {travel:.2f} m. {margin}"

    control = WalkingControl(plan, settings, slope)
    control(system, 0.0)
    look = ViewSettings(SIDE, times=(0.0, 1.0, 2.6, 3.0, 4.6, 5.0), columns=6)
    title = f"A walker of eight particles makes {steps} steps"
    return ParticleScene("particle-walker", title, WALKER, system, seconds, floor, "explicit", dt, control=control, look=look, tell=tell)


def rope_ring(count: int = 48, seconds: float = 1.5, dt: float = 1e-4, integrator: str = "explicit") -> ParticleScene:
    """A ring of rope falls on the floor and collapses.

    Args:
        count: Number of links.
        seconds: Duration [s].
        dt: Step length [s].
        integrator: As in :class:`~brachiate.particles.Stepper`.
    """
    system = particles.ring(count, 0.4, (0.0, 0.0, 0.9), mass=0.8, stiffness=1e3, damping_time=2e-3, thickness=0.012)
    shift = 0.01 * np.sin(np.arange(count))  # a perfect ring would stand on its lowest point
    system.positions = system.positions + np.stack([0.2 * shift, shift, 0.0 * shift], axis=1)
    look = ViewSettings(Camera(azimuth=-60.0, elevation=16.0), columns=6, forces=False)
    floor = Floor(restitution=0.1, friction=0.5)
    return ParticleScene("rope-ring", "A ring of rope falls and collapses", RING, system, seconds, floor, integrator, dt, look=look)


def bridge(
    sections: int = 476, weight: float = 3000.0, seconds: float = 4.0, dt: float = 1e-4, integrator: str = "leapfrog"
) -> ParticleScene:
    """A weight crosses a rope bridge of ten thousand links.

    Args:
        sections: Number of sections of 21 links.
        weight: That crosses the bridge [N].
        seconds: Duration [s].
        dt: Step length [s].
        integrator: As in :class:`~brachiate.particles.Stepper`.
    """
    system = particles.bridge(sections, 100.0, 8.0, mass=8000.0, stiffness=2e6, damping_time=1e-4)
    weight = validation.number(weight, "weight", minimum=0.0, maximum=1e9)

    def cross(bridge: ParticleSystem, time: float) -> None:
        """Put the weight on the section that it has reached."""
        external, at = bridge.arrays.external, min(max(time / seconds, 0.0), 1.0) * (sections - 2) + 1.0
        external[:] = 0.0
        row, share = int(at), at - int(at)
        for section, part in ((row, 1.0 - share), (row + 1, share)):
            external[7 * section : 7 * section + 5, 2] = -0.2 * part * weight

    def tell(run: ParticleRecording) -> str:
        middle = run.positions[:, 7 * (sections // 2) + 2, 2]
        return f"By its own weight and the load the middle of the deck sank by {100 * (middle[0] - middle.min()):.1f} cm at most."

    look = ViewSettings(Camera(azimuth=-75.0, elevation=14.0), columns=2, ground=False, times=(0.0, 0.5 * seconds), width=9.0, forces=False)
    return ParticleScene(
        "bridge", "A weight crosses a rope bridge", BRIDGE, system, seconds, None, integrator, dt, 20.0, cross, look, tell=tell
    )
