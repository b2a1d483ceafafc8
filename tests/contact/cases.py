"""Contact problems to try the solution on: one or several pairs of bodies, made with nothing of the package but its arrays."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from brachiate.compiled import Handle
from brachiate.contact.arrays import FROZEN, PAIRS, ROWS, STRIDE, Problem
from brachiate.contact.solver.contact_law import NEW
from brachiate.contact.solver.solve import new_problem, solve_problem
from brachiate.validation import Array

#: Which of (f_x, f_y, f_z, n_x, n_y, n_z) a point, a segment and a polygon have.
KEPT = {1: [0, 1, 2], 2: [0, 1, 2, 4, 5]}


def kept(corners: int) -> list[int]:
    return KEPT.get(corners, [0, 1, 2, 3, 4, 5])


class Case(NamedTuple):
    """A problem as plain arrays: six rows to every pair in H; u0 = H v."""

    areas: list[Array]  # (k, 2) corners of each pair
    G: Array  # (n, n) packed
    u0: Array  # (n,) packed
    friction: Array
    grip: Array
    spin: Array

    @property
    def rows(self) -> list[slice]:
        ends = np.cumsum([0] + [len(kept(len(a))) for a in self.areas])
        return [slice(a, b) for a, b in pairwise(ends)]

    def wrench(self, x: Array, p: int) -> Array:
        full = np.zeros(6)
        full[kept(len(self.areas[p]))] = x[self.rows[p]]
        return full


def case(
    areas: Sequence[Array], G: Array, u0: Array, friction: float | Array, grip: float | Array | None = None, spin: float | Array = 1.0
) -> Case:
    """From matrices with six rows to every pair, those that a segment or a point does not have left out here."""
    picked = np.concatenate([6 * p + np.array(kept(len(a))) for p, a in enumerate(areas)])
    m = len(areas)
    friction = np.broadcast_to(np.asarray(friction, float), m)
    return Case(
        list(areas), G[np.ix_(picked, picked)], u0[picked], friction,
        friction if grip is None else np.broadcast_to(np.asarray(grip, float), m), np.broadcast_to(np.asarray(spin, float), m),
    )  # fmt: skip


class Solver:
    """A room for problems, and the last solution in it."""

    def __init__(self, pairs: int) -> None:
        self.P: Problem = new_problem(pairs)
        self.handle = Handle(self.P)

    def load(self, c: Case, fresh: bool = True) -> None:
        P, m, n = self.P, len(c.areas), len(c.u0)
        stride = (n + 3) // 4 * 4
        P.count[[PAIRS, ROWS, STRIDE, FROZEN]] = m, n, stride, 0
        P.at[: m + 1] = np.cumsum([0] + [len(kept(len(a))) for a in c.areas])
        for p, a in enumerate(c.areas):
            P.corners[p], P.V[p, : len(a)] = len(a), a
        P.friction[:m], P.grip[:m], P.spin[:m] = c.friction, c.grip, c.spin
        G = P.G[: n * stride].reshape(n, stride)
        G[:] = np.nan  # what is behind the last row does not matter
        G[:, :n] = c.G
        P.u0[:n] = c.u0
        if fresh:
            P.area[:m], P.w[:n] = NEW, 0.0

    def solve(self, c: Case, fresh: bool = True) -> tuple[Array, Array, float]:
        """Forces and velocities, and what is left of the law."""
        self.load(c, fresh)
        off = solve_problem(self.handle.key)
        n = len(c.u0)
        return self.P.w[:n].copy(), self.P.u[:n].copy(), float(off)


def energy_gain(c: Case, w: Array) -> float:
    return float(w @ c.u0 + 0.5 * w @ c.G @ w)


def penetration(c: Case, u: Array) -> float:
    """The fastest corner that moves in."""
    worst = 0.0
    for p, a in enumerate(c.areas):
        _, _, z, x, y, _ = c.wrench(u, p)
        worst = max(worst, float(-(z + a[:, 1] * x - a[:, 0] * y).min()))
    return worst


# --- bodies ---------------------------------------------------------------------------------------


class Body(NamedTuple):
    mass: float
    inertia: Array  # (3, 3)
    position: Array = np.zeros(3)
    velocity: Array = np.zeros(6)  # linear first


class Touch(NamedTuple):
    """Body ``second`` rests on body ``first`` (-1: the ground) at a point, with axes as columns."""

    first: int
    second: int
    point: Array
    axes: Array
    corners: Array


def skew(r: Array) -> Array:
    return np.array([[0.0, -r[2], r[1]], [r[2], 0.0, -r[0]], [-r[1], r[0], 0.0]])


def together(
    bodies: Sequence[Body], touches: Sequence[Touch], friction: float | Array, free: Sequence[int] = range(6), **options: float
) -> Case:
    """The problem of bodies that are free to move in those of their six directions."""
    n = 6 * len(bodies)
    weights, v = np.zeros((n, n)), np.concatenate([b.velocity for b in bodies])
    for i, b in enumerate(bodies):
        inverse = np.zeros((6, 6))
        inverse[:3, :3], inverse[3:, 3:] = np.eye(3) / b.mass, np.linalg.inv(b.inertia)
        ways = 6 * i + np.array(free)
        weights[np.ix_(ways, ways)] = inverse[np.ix_(free, free)]
    H = np.zeros((6 * len(touches), n))
    for p, t in enumerate(touches):
        for body, sign in ((t.first, -1.0), (t.second, 1.0)):
            if body >= 0:
                r = t.point - bodies[body].position
                H[6 * p : 6 * p + 3, 6 * body : 6 * body + 3] = sign * t.axes.T
                H[6 * p : 6 * p + 3, 6 * body + 3 : 6 * body + 6] = -sign * t.axes.T @ skew(r)
                H[6 * p + 3 : 6 * p + 6, 6 * body + 3 : 6 * body + 6] = sign * t.axes.T
    return case([t.corners for t in touches], H @ weights @ H.T, H @ v, friction, **options)


def box(half: Sequence[float], mass: float = 1.0, **more: Array) -> Body:
    x, y, z = np.square(half)
    return Body(mass, np.diag([y + z, x + z, x + y]) * mass / 3.0, **more)


def rectangle(x: float, y: float) -> Array:
    return np.array([[-x, -y], [x, -y], [x, y], [-x, y]])


def turned(angle: float, axis: int) -> Array:
    c, s = np.cos(angle), np.sin(angle)
    i, j = [(1, 2), (2, 0), (0, 1)][axis]
    R = np.eye(3)
    R[i, i] = R[j, j] = c
    R[i, j], R[j, i] = -s, s
    return R


def random_area(rng: np.random.Generator, corners: int, size: float = 0.1) -> Array:
    """A point, a segment along x, or a convex polygon, counter-clockwise."""
    if corners == 1:
        return np.zeros((1, 2))
    if corners == 2:
        return np.array([[-rng.uniform(0.2, 1.0) * size, 0.0], [rng.uniform(0.2, 1.0) * size, 0.0]])
    angles = np.sort(rng.uniform(0, 2 * np.pi, corners))
    while np.diff(np.append(angles, angles[0] + 2 * np.pi)).max() > 0.9 * np.pi or np.diff(angles).min() < 0.05:
        angles = np.sort(rng.uniform(0, 2 * np.pi, corners))
    return rng.uniform(0.3, 1.0) * size * np.stack([np.cos(angles), rng.uniform(0.3, 1.0) * np.sin(angles)], axis=1)


def random_pairs(rng: np.random.Generator, m: int) -> Case:
    """Pairs that have everything to do with each other: G = J M⁻¹ Jᵀ of random rows and a random mass matrix."""
    nv = 6 + 3 * m
    root = rng.normal(size=(nv, nv))
    inverse = np.linalg.inv(root @ root.T / nv + 0.1 * np.eye(nv))
    J = rng.normal(size=(6 * m, nv))
    J.reshape(m, 6, nv)[:, 3:] *= rng.uniform(1.0, 10.0)
    areas = [random_area(rng, int(rng.integers(1, 9))) for _ in range(m)]
    return case(areas, J @ inverse @ J.T, J @ rng.normal(size=nv) * rng.choice([0.01, 1.0, 10.0]), rng.uniform(0.0, 1.2, m))
