"""Contact problems for the solvers: one or several contacts of bodies, built independently of the package except for its arrays."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from brachiate.compiled import ArrayHandle
from brachiate.contact.arrays import FROZEN, NUM_CONTACTS, NUM_ROWS, STRIDE, ContactProblem
from brachiate.contact.solver.contact_law import UNKNOWN
from brachiate.contact.solver.solve import new_problem, solve_problem
from brachiate.validation import Array

#: Components of (f_x, f_y, f_z, n_x, n_y, n_z) that a point, a segment and a polygon transmit.
KEPT = {1: [0, 1, 2], 2: [0, 1, 2, 4, 5]}


def row_indices(corners: int) -> list[int]:
    return KEPT.get(corners, [0, 1, 2, 3, 4, 5])


class Case(NamedTuple):
    """A problem as plain arrays with packed rows; u0 = H v."""

    patches: list[Array]  # (k, 2) corners of each pair
    G: Array  # (n, n) packed
    u0: Array  # (n,) packed
    friction: Array
    static_friction: Array
    torsion_scale: Array

    @property
    def rows(self) -> list[slice]:
        ends = np.cumsum([0] + [len(row_indices(len(a))) for a in self.patches])
        return [slice(a, b) for a, b in pairwise(ends)]

    def wrench(self, x: Array, p: int) -> Array:
        full = np.zeros(6)
        full[row_indices(len(self.patches[p]))] = x[self.rows[p]]
        return full


def case(
    patches: Sequence[Array],
    G: Array,
    u0: Array,
    friction: float | Array,
    static_friction: float | Array | None = None,
    torsion_scale: float | Array = 1.0,
) -> Case:
    """Problem from matrices with six rows per contact; components that a segment or a point does not transmit are removed."""
    picked = np.concatenate([6 * p + np.array(row_indices(len(a))) for p, a in enumerate(patches)])
    m = len(patches)
    friction = np.broadcast_to(np.asarray(friction, float), m)
    return Case(
        list(patches), G[np.ix_(picked, picked)], u0[picked], friction,
        friction if static_friction is None else np.broadcast_to(np.asarray(static_friction, float), m),
        np.broadcast_to(np.asarray(torsion_scale, float), m),
    )  # fmt: skip


class Solver:
    """Arrays of a problem, and its last solution."""

    def __init__(self, pairs: int) -> None:
        self.problem: ContactProblem = new_problem(pairs)
        self.handle = ArrayHandle(self.problem)

    def load(self, c: Case, fresh: bool = True) -> None:
        problem, m, n = self.problem, len(c.patches), len(c.u0)
        stride = (n + 3) // 4 * 4
        problem.count[[NUM_CONTACTS, NUM_ROWS, STRIDE, FROZEN]] = m, n, stride, 0
        problem.row_start[: m + 1] = np.cumsum([0] + [len(row_indices(len(a))) for a in c.patches])
        for p, a in enumerate(c.patches):
            problem.corners[p], problem.V[p, : len(a)] = len(a), a
        problem.friction[:m], problem.static_friction[:m], problem.torsion_scale[:m] = c.friction, c.static_friction, c.torsion_scale
        G = problem.G[: n * stride].reshape(n, stride)
        G[:] = np.nan  # padding must not be read
        G[:, :n] = c.G
        problem.u0[:n] = c.u0
        if fresh:
            problem.normal_mode[:m], problem.w[:n] = UNKNOWN, 0.0

    def solve(self, c: Case, fresh: bool = True) -> tuple[Array, Array, float]:
        """Forces and velocities, and the residual of the contact law."""
        self.load(c, fresh)
        off = solve_problem(self.handle.key)
        n = len(c.u0)
        return self.problem.w[:n].copy(), self.problem.u[:n].copy(), float(off)


def energy_gain(c: Case, w: Array) -> float:
    return float(w @ c.u0 + 0.5 * w @ c.G @ w)


def penetration(c: Case, u: Array) -> float:
    """Speed of the fastest approaching corner."""
    worst = 0.0
    for p, a in enumerate(c.patches):
        _, _, z, x, y, _ = c.wrench(u, p)
        worst = max(worst, float(-(z + a[:, 1] * x - a[:, 0] * y).min()))
    return worst


# --- bodies ---------------------------------------------------------------------------------------


class Body(NamedTuple):
    mass: float
    inertia: Array  # (3, 3)
    position: Array = np.zeros(3)
    velocity: Array = np.zeros(6)  # linear first


class ContactPair(NamedTuple):
    """Body ``second`` rests on body ``first`` (-1: the ground) at a point, with axes as columns."""

    first: int
    second: int
    point: Array
    axes: Array
    corners: Array


def skew(r: Array) -> Array:
    return np.array([[0.0, -r[2], r[1]], [r[2], 0.0, -r[0]], [-r[1], r[0], 0.0]])


def contact_case(
    bodies: Sequence[Body], contacts: Sequence[ContactPair], friction: float | Array, free: Sequence[int] = range(6), **options: float
) -> Case:
    """Contact problem of bodies that can move in the given directions only."""
    n = 6 * len(bodies)
    weights, v = np.zeros((n, n)), np.concatenate([b.velocity for b in bodies])
    for i, b in enumerate(bodies):
        inverse = np.zeros((6, 6))
        inverse[:3, :3], inverse[3:, 3:] = np.eye(3) / b.mass, np.linalg.inv(b.inertia)
        directions = 6 * i + np.array(free)
        weights[np.ix_(directions, directions)] = inverse[np.ix_(free, free)]
    H = np.zeros((6 * len(contacts), n))
    for p, t in enumerate(contacts):
        for body, sign in ((t.first, -1.0), (t.second, 1.0)):
            if body >= 0:
                r = t.point - bodies[body].position
                H[6 * p : 6 * p + 3, 6 * body : 6 * body + 3] = sign * t.axes.T
                H[6 * p : 6 * p + 3, 6 * body + 3 : 6 * body + 6] = -sign * t.axes.T @ skew(r)
                H[6 * p + 3 : 6 * p + 6, 6 * body + 3 : 6 * body + 6] = sign * t.axes.T
    return case([t.corners for t in contacts], H @ weights @ H.T, H @ v, friction, **options)


def box(half: Sequence[float], mass: float = 1.0, **more: Array) -> Body:
    x, y, z = np.square(half)
    return Body(mass, np.diag([y + z, x + z, x + y]) * mass / 3.0, **more)


def rectangle(x: float, y: float) -> Array:
    return np.array([[-x, -y], [x, -y], [x, y], [-x, y]])


def rotation(angle: float, axis: int) -> Array:
    c, s = np.cos(angle), np.sin(angle)
    i, j = [(1, 2), (2, 0), (0, 1)][axis]
    R = np.eye(3)
    R[i, i] = R[j, j] = c
    R[i, j], R[j, i] = -s, s
    return R


def random_patch(rng: np.random.Generator, corners: int, size: float = 0.1) -> Array:
    """A point, a segment along x, or a convex polygon, counter-clockwise."""
    if corners == 1:
        return np.zeros((1, 2))
    if corners == 2:
        return np.array([[-rng.uniform(0.2, 1.0) * size, 0.0], [rng.uniform(0.2, 1.0) * size, 0.0]])
    angles = np.sort(rng.uniform(0, 2 * np.pi, corners))
    while np.diff(np.append(angles, angles[0] + 2 * np.pi)).max() > 0.9 * np.pi or np.diff(angles).min() < 0.05:
        angles = np.sort(rng.uniform(0, 2 * np.pi, corners))
    return rng.uniform(0.3, 1.0) * size * np.stack([np.cos(angles), rng.uniform(0.3, 1.0) * np.sin(angles)], axis=1)


def random_contacts(rng: np.random.Generator, m: int) -> Case:
    """Fully coupled contacts: G = J M⁻¹ Jᵀ of random rows and a random mass matrix."""
    nv = 6 + 3 * m
    root = rng.normal(size=(nv, nv))
    inverse = np.linalg.inv(root @ root.T / nv + 0.1 * np.eye(nv))
    J = rng.normal(size=(6 * m, nv))
    J.reshape(m, 6, nv)[:, 3:] *= rng.uniform(1.0, 10.0)
    patches = [random_patch(rng, int(rng.integers(1, 9))) for _ in range(m)]
    return case(patches, J @ inverse @ J.T, J @ rng.normal(size=nv) * rng.choice([0.01, 1.0, 10.0]), rng.uniform(0.0, 1.2, m))
