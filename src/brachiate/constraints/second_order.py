"""What rows that seem redundant say to second order: nothing, if they truly are; otherwise the posture is singular.

A redundant row is a combination of others, uᵀJ = 0, so uᵀ(J a + γ) = uᵀγ(v) whatever the accelerations are. γ is quadratic
in the velocities. Where uᵀγ vanishes for all that the rows allow, the row repeats the others for good. Where it does not,
motions are free at this very posture that the next moment would break: it is shaky if they all are, and ways branch off
if some are not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from brachiate.validation import Array

if TYPE_CHECKING:
    from brachiate.constraints.constraint_set import Held

CURVED = 1e-8  # of uᵀγ at velocities of length one: round-off is some digits below


class SecondOrder:
    """The redundant rows of a constraint set at its data's configuration. The state is left as it was."""

    def __init__(self, held: Held, redundant: Sequence[int], others: Sequence[int]) -> None:
        self.held, self.rows = held, redundant
        held.look()
        J = held.jacobian()
        self._across = np.linalg.qr(J[others].T)[0]  # directions that rows hold
        self._u = np.zeros((len(redundant), len(J)))
        self._u[range(len(redundant)), redundant] = 1.0
        self._u[:, others] = -np.linalg.lstsq(J[others].T, J[redundant].T)[0].T

    def at(self, v: Array) -> Array:
        """uᵀγ of every redundant row at the velocity v."""
        data, room = self.held.data, self.held.room
        before, force = data.v.copy(), room.force.copy()
        try:
            data.v[:] = v
            self.held.look()
            return self._u @ room.gamma[: self._u.shape[1]]
        finally:
            data.v[:], room.force[:] = before, force

    def forms(self, directions: Array) -> Array:
        """uᵀγ of every redundant row as a quadratic form on (n, f) directions that the rows allow: (rows, f, f)."""
        f = directions.shape[1]
        out = np.zeros((len(self.rows), f, f))
        rest = self.at(np.zeros(len(directions)))
        for i in range(f):
            out[:, i, i] = self.at(directions[:, i]) - rest
        for i in range(f):
            for j in range(i):
                both = self.at(directions[:, i] + directions[:, j]) - rest
                out[:, i, j] = out[:, j, i] = 0.5 * (both - out[:, i, i] - out[:, j, j])
        return out

    def curved(self) -> list[int]:
        """Redundant rows that hold to second order, found by a few motions."""
        v = np.random.default_rng(0).normal(size=(self.held.data.model.nv, 3))
        v -= self._across @ (self._across.T @ v)
        size = np.linalg.norm(v, axis=0)
        v = v[:, size > 1e-9] / size[size > 1e-9]
        rest = self.at(np.zeros(len(v)))
        found = np.array([np.abs(self.at(w) - rest) for w in v.T]).reshape(-1, len(self.rows)).max(axis=0, initial=0.0)
        return [int(row) for row, bend in zip(self.rows, found, strict=True) if bend > CURVED]
