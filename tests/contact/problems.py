"""Contact problems of a single rigid body, and of any pairs whose answers to forces are known in all six directions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from brachiate.compiled import Handle
from brachiate.contact.arrays import Problem
from brachiate.contact.published.trial import Trial, trial_for
from brachiate.contact.published.trial_and_error import solve_by_trial
from brachiate.contact.solver.dense_problem import packed_problem, unpacked
from brachiate.validation import Array

SOLE = np.array([(-0.1, -0.05), (0.15, -0.05), (0.15, 0.05), (-0.1, 0.05)])  # P is not in its middle
LINE = np.array([(-0.2, 0.0), (0.1, 0.0)])
SPOT = np.array([(0.0, 0.0)])


class Solved(NamedTuple):
    """A problem and its solution, unpacked: one row of six for each pair."""

    P: Problem
    X: Trial
    w: Array  # (m, 6)
    u: Array  # (m, 6)
    solves: int

    @property
    def residual(self) -> float:
        return float(self.P.residual[0])


def problem(areas: list[Array], G: Array, u0: Array, friction: Array | float = 0.6, grip: Array | float | None = None) -> Problem:
    """A problem whose rows of G are further apart than need be: a stride that is taken for the number of rows shows."""
    P = packed_problem(areas, G, u0, friction, grip)
    n = len(P.u0)
    wide = np.full((n, n + 1), np.nan)
    wide[:, :n] = P.G.reshape(n, n)
    P.count[2] = n + 1
    return P._replace(G=wide.ravel())


def solve(P: Problem, *, edges: bool = True, collide: bool = True, motion: Array | None = None) -> Solved:
    """Solve by trial and error from the fullest states."""
    X = trial_for(len(P.corners))
    if motion is not None:
        X.motion[:] = motion
    handle = Handle(P, X)
    solves = solve_by_trial(handle.key, True, collide, edges)
    return Solved(P, X, unpacked(P, P.w), unpacked(P, P.u), solves)


def body_answer(mass: float, inertia: Array, places: list[Array], turns: list[Array] | None = None) -> tuple[Array, Array]:
    """Rows H (6 m, 6) of pairs at places from the centre of a free body, and its G; velocities are (v, ω) at the centre."""
    H = np.zeros((6 * len(places), 6))
    for i, p in enumerate(places):
        R = np.eye(3) if turns is None else turns[i]
        cross = np.array([(0, -p[2], p[1]), (p[2], 0, -p[0]), (-p[1], p[0], 0)])
        H[6 * i : 6 * i + 3] = R.T @ np.hstack((np.eye(3), -cross))
        H[6 * i + 3 : 6 * i + 6, 3:] = R.T
    A = np.zeros((6, 6))
    A[:3, :3], A[3:, 3:] = mass * np.eye(3), inertia
    return H, H @ np.linalg.solve(A, H.T)


def corner_speeds(P: Problem, u: Array) -> list[Array]:
    """Speed along the normal of all corners of every pair."""
    return [x[2] + P.V[i, :n, 1] * x[3] - P.V[i, :n, 0] * x[4] for i, (n, x) in enumerate(zip(P.corners, u))]
