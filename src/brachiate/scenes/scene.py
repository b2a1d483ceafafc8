"""Scene: a world with its simulation, what is to happen in it, and from where to look."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from brachiate import validation
from brachiate.show.draw import Look
from brachiate.simulate.constraint_forces import Forces
from brachiate.simulate.recording import Recording
from brachiate.simulate.simulation import Simulation
from brachiate.validation import Array
from brachiate.world.connections import Bond, Connection, Report
from brachiate.world.contact_history import ContactHistory
from brachiate.world.world import World

_LOOKS = 100  # how often in a run the loops are looked at, at least


class Happening(NamedTuple):
    """A change of structure, and when it happened [s]."""

    time: float
    report: Report

    def __str__(self) -> str:
        """Return both in one line."""
        return f"{self.time:.3f} s  {self.report}"


@dataclass(eq=False)
class Scene:
    """What :func:`brachiate.scenes.make` returns: ``run = scene.run()``, ``scene.picture(run, "scene.png")``."""

    name: str
    title: str
    about: str  # what happens, and what to look at
    world: World
    simulation: Simulation  # its events are registered already
    seconds: float  # how long it is worth watching
    look: Look = field(default_factory=Look)
    passive: bool = True  # whether nothing but impulses changes the energy
    happened: list[Happening] = field(default_factory=list)  #: every connection made and cut, in order
    tell: Callable[[Happening], Any] | None = None  #: called as they happen
    gap: float = 0.0  #: largest gap of any loop seen in a run [m or rad]

    def __post_init__(self) -> None:
        self.about = " ".join(self.about.split())
        self.seconds = validation.number(self.seconds, "seconds", above=0.0, most=1e6)

    def connect(self, link: str, to: str, *joint: Any, **how: Any) -> Connection:
        """Connect as :meth:`World.connect` does, and note what that did."""
        connection = self.world.connect(link, to, *joint, **how)
        self.note(connection.report)
        return connection

    def cut(self, *bonds: Bond) -> None:
        """Cut what is not cut yet, and note what that did."""
        for bond in bonds:
            if bond.alive:
                self.note(self.world.cut(bond))

    def note(self, report: Report) -> None:
        """Remember a change of structure, and tell it to whoever listens."""
        self.happened.append(Happening(self.world.time, report))
        if self.tell is not None:
            self.tell(self.happened[-1])

    def run(self, seconds: float | None = None) -> Recording:
        """Run for some seconds, by default as long as the scene is worth watching; look at its loops on the way."""
        seconds = self.seconds if seconds is None else validation.number(seconds, "seconds", above=0.0, most=1e6)
        dt = self.simulation.dt
        stretch = dt * max(1, int(seconds / dt / _LOOKS))
        end, parts = self.world.time + seconds, []
        while end - self.world.time > 1e-9 * dt:
            parts.append(self.simulation.run(min(stretch, end - self.world.time), progress=False))
            self._look_at_loops()
        return _joined(parts)

    def _look_at_loops(self) -> None:
        held = self.world.held
        if self.world.bonds:
            held.look()
            gaps = [np.abs(held.room.c[held.rows_of(bond.place)]).max(initial=0.0) for bond in self.world.bonds]
            self.gap = max(self.gap, *map(float, gaps))

    def drift(self, run: Recording) -> Array:
        """Energy over time less that at the start, what impulses took added [J]: zero in a passive scene, but for errors."""
        energy = run["energy"]
        for happening in self.happened:
            if happening.time > run.time[0]:
                energy[run.time >= happening.time] += happening.report.energy_lost
        return energy - energy[0]

    def picture(self, run: Recording, path: str | Path, times: Any = None) -> None:
        """Draw the scene at a few moments of a run, one beside the other."""
        run.picture(path, self.look, times)


def _joined(parts: list[Recording]) -> Recording:
    """One recording of several that follow each other."""
    first = parts[0]
    columns = [
        np.concatenate([getattr(first, what), *(getattr(part, what)[1:] for part in parts[1:])]) for what in ("time", "q", "v", "torque")
    ]
    forces = Forces.joined([part.forces for part in parts if isinstance(part.forces, Forces)])
    contacts = ContactHistory.joined([part.contacts for part in parts])
    return Recording(first.model, first.gravity, *columns, forces=forces, contacts=contacts)
