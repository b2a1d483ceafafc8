"""Recording of a coupling: the particles, and the sums over world and particles that audit it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from brachiate.dynamics import Totals
from brachiate.particles.picture import system_surface
from brachiate.particles.recording import ParticleRecording, Samples, Structure, record
from brachiate.show.surface import Triangles
from brachiate.validation import Array


class CoupledTotals(NamedTuple):
    """Sums over the world and the particles, one row for each recorded state."""

    time: Array  # (n,) [s]
    momentum: Array  # (n, 3) [kg·m/s]
    angular_momentum: Array  # (n, 3) [kg·m²/s] about the world's origin
    energy: Array  # (n,) [J] kinetic, of gravity, of springs of joints, connections, links and attachments


class CoupledRecording:
    """What a simulation records of a coupling: ``run.partner``.

    ``particles`` is the recording of the particles, ``totals`` has momentum and energy of world and particles together, ``forces`` (n, 3)
    [N] by attachment the mean force on its link in the step before, NaN while the attachment did not exist.
    """

    def __init__(self, particles: ParticleRecording, totals: CoupledTotals, forces: Mapping[str, Array]) -> None:
        self.particles, self.totals, self.forces = particles, totals, forces
        self._size = float(np.ptp(particles.positions.reshape(-1, 3), axis=0).max(initial=1e-3))

    def __len__(self) -> int:
        """Return the number of states."""
        return len(self.totals.time)

    def surface(self, row: int) -> Triangles:
        """Shaded surface of the particles in a state, for pictures."""
        s = self.particles.structure
        return system_surface(self.particles.positions[row], s.ends, s.radius, self._size)

    def joined(self, later: Sequence[CoupledRecording]) -> CoupledRecording:
        """This recording and those of the following runs as one; the first state of each of them is the last one before."""
        parts = [self, *later]

        def columns(values: Sequence[Array]) -> Array:
            return np.concatenate([values[0], *(value[1:] for value in values[1:])])

        samples = Samples(*(columns(values) for values in zip(*(part.particles.samples for part in parts), strict=True)))
        totals = CoupledTotals(*(columns(values) for values in zip(*(part.totals for part in parts), strict=True)))
        names = dict.fromkeys(name for part in parts for name in part.forces)
        forces = {name: columns([part.forces.get(name, np.full((len(part), 3), np.nan)) for part in parts]) for name in names}
        return CoupledRecording(ParticleRecording(self.particles.structure, samples), totals, forces)


def coupled_recording(structure: Structure, rows: Sequence[tuple[Samples, Totals, Mapping[str, Array]]]) -> CoupledRecording:
    """Recording of samples, sums and forces of attachments, state by state."""
    totals = [total for _, total, _ in rows]
    spin = [total.angular_momentum + np.cross(total.center, total.momentum) for total in totals]
    sums = CoupledTotals(
        np.array([sample.time for sample, _, _ in rows]), np.array([total.momentum for total in totals]), np.array(spin),
        np.array([total.energy for total in totals]),
    )  # fmt: skip
    names, missing = dict.fromkeys(name for _, _, forces in rows for name in forces), np.full(3, np.nan)
    forces = {name: np.array([forces.get(name, missing) for _, _, forces in rows]) for name in names}
    return CoupledRecording(record(structure, [sample for sample, _, _ in rows]), sums, forces)
