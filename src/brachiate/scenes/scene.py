"""Scene: a world with its simulation, scheduled events, and view."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from brachiate import validation
from brachiate.show.draw import ViewSettings
from brachiate.simulate.constraint_forces import ConstraintForces
from brachiate.simulate.recording import Recording
from brachiate.simulate.simulation import Simulation
from brachiate.validation import Array
from brachiate.world.connections import Connection, ConnectionReport, Constraint
from brachiate.world.contact_history import ContactHistory
from brachiate.world.world import World

_GAP_CHECKS = 100  # evaluations of the constraint residual in a run


class StructureChange(NamedTuple):
    """Change of structure (connection or cut) with its time [s]."""

    time: float
    report: ConnectionReport

    def __str__(self) -> str:
        """Return both in one line."""
        return f"{self.time:.3f} s  {self.report}"


@dataclass(eq=False)
class Scene:
    """Ready-made scene, from :func:`brachiate.scenes.make`: ``run = scene.run()``, ``scene.picture(run, "scene.png")``."""

    name: str
    title: str
    description: str  # what happens
    world: World
    simulation: Simulation  # with its events registered
    seconds: float  # default duration [s]
    look: ViewSettings = field(default_factory=ViewSettings)
    conservative: bool = True  # whether nothing but impulses changes the energy
    changes: list[StructureChange] = field(default_factory=list)  #: every connection and cut, in order
    on_change: Callable[[StructureChange], Any] | None = None  #: called at every change
    outcome: str = ""  #: what came of it, told after a run
    max_gap: float = 0.0  #: largest constraint residual seen in a run [m or rad]

    def __post_init__(self) -> None:
        self.description = " ".join(self.description.split())
        self.seconds = validation.number(self.seconds, "seconds", above=0.0, maximum=1e6)

    def connect(self, link: str, to: str, *joint: Any, **how: Any) -> Connection:
        """Connect as :meth:`World.connect` does, and record the change."""
        connection = self.world.connect(link, to, *joint, **how)
        self.record_change(connection.report)
        return connection

    def cut(self, *constraints: Constraint) -> None:
        """Cut constraints that are still active, and record the changes."""
        for constraint in constraints:
            if constraint.alive:
                self.record_change(self.world.cut(constraint))

    def record_change(self, report: ConnectionReport) -> None:
        """Record a change of structure, and call ``on_change``."""
        self.changes.append(StructureChange(self.world.time, report))
        if self.on_change is not None:
            self.on_change(self.changes[-1])

    def run(self, seconds: float | None = None) -> Recording:
        """Run for some seconds, by default the duration of the scene, and track the largest constraint residual."""
        seconds = self.seconds if seconds is None else validation.number(seconds, "seconds", above=0.0, maximum=1e6)
        dt = self.simulation.dt
        span = dt * max(1, int(seconds / dt / _GAP_CHECKS))
        end, parts = self.world.time + seconds, []
        while end - self.world.time > 1e-9 * dt:
            parts.append(self.simulation.run(min(span, end - self.world.time), progress=False))
            self._update_max_gap()
        return _joined(parts)

    def _update_max_gap(self) -> None:
        constraint_set = self.world.constraint_set
        if self.world.constraints:
            constraint_set.evaluate_rows()
            residuals = constraint_set.arrays.c
            gaps = [np.abs(residuals[constraint_set.row_slice(c.index)]).max(initial=0.0) for c in self.world.constraints]
            self.max_gap = max(self.max_gap, *map(float, gaps))

    def energy_drift(self, run: Recording) -> Array:
        """Energy relative to the start, corrected by the losses of impulses (n,) [J]: the integration error of a conservative scene."""
        energy = run["energy"]
        for change in self.changes:
            if change.time > run.time[0]:
                energy[run.time >= change.time] += change.report.energy_lost
        return energy - energy[0]

    def summary(self, run: Recording) -> dict[str, str]:
        """Numbers of a run by heading: mobility, energy drift, loop gap."""
        change = self.energy_drift(run)
        largest = change[np.abs(change).argmax()]
        mobility = self.world.mobility()
        return {
            "time [s]": f"{run.time[-1]:g}",
            "variables": str(mobility.variables),
            "mobility": str(mobility.dof),
            "energy drift [J]" if self.conservative else "energy gain [J]": f"{largest:.2g}",
            "of kinetic": f"{abs(largest) / float(np.max(run['kinetic energy'], initial=1e-300)):.1e}",
            "loop gap [m, rad]": f"{self.max_gap:.1e}",
        }

    def picture(self, run: Recording, path: str | Path, times: Any = None) -> None:
        """Draw the scene at some times of a run, side by side."""
        run.picture(path, self.look, times)


def _joined(parts: list[Recording]) -> Recording:
    """One recording of consecutive ones."""
    first = parts[0]
    columns = [
        np.concatenate([getattr(first, name), *(getattr(part, name)[1:] for part in parts[1:])]) for name in ("time", "q", "v", "torque")
    ]
    forces = ConstraintForces.joined([part.forces for part in parts if isinstance(part.forces, ConstraintForces)])
    contacts = ContactHistory.joined([part.contacts for part in parts])
    joined = Recording(first.model, first.gravity, *columns, forces=forces, contacts=contacts)
    if first.partner is not None:
        joined.partner = first.partner.joined([part.partner for part in parts[1:]])
    return joined
