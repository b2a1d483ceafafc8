"""Contact problems of a single rigid body, or of contacts with a given Delassus matrix in all six directions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from brachiate.compiled import ArrayHandle
from brachiate.contact.arrays import ContactProblem
from brachiate.contact.published.trial import TrialArrays, new_trial
from brachiate.contact.published.trial_and_error import solve_by_trial
from brachiate.contact.solver.dense_problem import problem_from_dense, unpack_rows
from brachiate.validation import Array

SOLE = np.array([(-0.1, -0.05), (0.15, -0.05), (0.15, 0.05), (-0.1, 0.05)])  # P is off its center
LINE = np.array([(-0.2, 0.0), (0.1, 0.0)])
SPOT = np.array([(0.0, 0.0)])


class Solved(NamedTuple):
    """A problem and its solution, unpacked: one row of six for each contact."""

    problem: ContactProblem
    trial: TrialArrays
    w: Array  # (m, 6)
    u: Array  # (m, 6)
    solves: int

    @property
    def residual(self) -> float:
        return float(self.problem.residual[0])


def problem(
    patches: list[Array], G: Array, u0: Array, friction: Array | float = 0.6, static_friction: Array | float | None = None
) -> ContactProblem:
    """Contact problem whose G has a stride larger than the number of rows, so that a confusion of the two fails."""
    contact_problem = problem_from_dense(patches, G, u0, friction, static_friction)
    n = len(contact_problem.u0)
    padded = np.full((n, n + 1), np.nan)
    padded[:, :n] = contact_problem.G.reshape(n, n)
    contact_problem.count[2] = n + 1
    return contact_problem._replace(G=padded.ravel())


def solve(contact_problem: ContactProblem, *, edges: bool = True, collide: bool = True, motion: Array | None = None) -> Solved:
    """Solve by trial and error from the states with most constraints."""
    trial = new_trial(len(contact_problem.corners))
    if motion is not None:
        trial.motion[:] = motion
    handle = ArrayHandle(contact_problem, trial)
    solves = solve_by_trial(handle.key, True, collide, edges)
    return Solved(
        contact_problem, trial, unpack_rows(contact_problem, contact_problem.w), unpack_rows(contact_problem, contact_problem.u), solves
    )


def body_delassus(mass: float, inertia: Array, positions: list[Array], rotations: list[Array] | None = None) -> tuple[Array, Array]:
    """Rows H (6 m, 6) of contacts at positions from the center of a free body, and its G; velocities are (v, ω) at the center."""
    H = np.zeros((6 * len(positions), 6))
    for i, p in enumerate(positions):
        R = np.eye(3) if rotations is None else rotations[i]
        cross = np.array([(0, -p[2], p[1]), (p[2], 0, -p[0]), (-p[1], p[0], 0)])
        H[6 * i : 6 * i + 3] = R.T @ np.hstack((np.eye(3), -cross))
        H[6 * i + 3 : 6 * i + 6, 3:] = R.T
    A = np.zeros((6, 6))
    A[:3, :3], A[3:, 3:] = mass * np.eye(3), inertia
    return H, H @ np.linalg.solve(A, H.T)


def corner_speeds(contact_problem: ContactProblem, u: Array) -> list[Array]:
    """Normal speeds of all corners of every contact."""
    return [
        x[2] + contact_problem.V[i, :n, 1] * x[3] - contact_problem.V[i, :n, 0] * x[4]
        for i, (n, x) in enumerate(zip(contact_problem.corners, u))
    ]
