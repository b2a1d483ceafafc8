"""Second-order test of redundant rows: truly redundant, or dependent only at this (singular) posture.

A redundant row is a combination of others, uᵀJ = 0, so uᵀ(J a + γ) = uᵀγ(v) for any accelerations. γ is quadratic in the
velocities. If uᵀγ vanishes for all velocities that the rows allow, the row is redundant. Otherwise the first-order motions at
this posture violate the constraint to second order: the posture is shaky if all of them do, and a bifurcation if some do not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from brachiate.validation import Array

if TYPE_CHECKING:
    from brachiate.constraints.constraint_set import ConstraintSet

CURVATURE_TOLERANCE = 1e-8  # of uᵀγ at unit velocities; round-off is some digits below


class SecondOrder:
    """Second-order forms of the redundant rows of a constraint set at its data's configuration. The state is restored."""

    def __init__(self, constraint_set: ConstraintSet, redundant: Sequence[int], others: Sequence[int]) -> None:
        self.constraint_set, self.rows = constraint_set, redundant
        constraint_set.evaluate_rows()
        J = constraint_set.jacobian()
        self._row_space = np.linalg.qr(J[others].T)[0]  # constrained directions
        self._u = np.zeros((len(redundant), len(J)))
        self._u[range(len(redundant)), redundant] = 1.0
        self._u[:, others] = -np.linalg.lstsq(J[others].T, J[redundant].T)[0].T

    def at(self, v: Array) -> Array:
        """uᵀγ of every redundant row at the velocity v."""
        data, arrays = self.constraint_set.data, self.constraint_set.arrays
        before, force = data.v.copy(), arrays.force.copy()
        try:
            data.v[:] = v
            self.constraint_set.evaluate_rows()
            return self._u @ arrays.gamma[: self._u.shape[1]]
        finally:
            data.v[:], arrays.force[:] = before, force

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
        """Redundant rows that constrain the motion to second order, found by a few random motions."""
        v = np.random.default_rng(0).normal(size=(self.constraint_set.data.model.nv, 3))
        v -= self._row_space @ (self._row_space.T @ v)
        size = np.linalg.norm(v, axis=0)
        v = v[:, size > 1e-9] / size[size > 1e-9]
        rest = self.at(np.zeros(len(v)))
        found = np.array([np.abs(self.at(w) - rest) for w in v.T]).reshape(-1, len(self.rows)).max(axis=0, initial=0.0)
        return [int(row) for row, size in zip(self.rows, found, strict=True) if size > CURVATURE_TOLERANCE]
