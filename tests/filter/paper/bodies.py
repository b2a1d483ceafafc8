"""Figures for the paper's filter, and its equations as they are printed."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import brachiate as br
from brachiate.filter.paper import PaperFilter
from brachiate.filter.paper.arrays import COST_A, COST_F, COST_T, ROBUST, WIDTH
from brachiate.validation import Array


def standing() -> br.World:
    """A man who stands on the ground."""
    world = br.World()
    world.add(br.figures.human28(), name="man").pose("stand")
    world.add(br.figures.ground())
    world.touch()
    return world


def flying(height: float = 3.0) -> br.World:
    """A man in the air, on his way up, turning."""
    world = br.World()
    man = world.add(br.figures.human28(), name="man")
    man.pose("stand")
    man.place((0, 0, height))
    world.v = {"man/root": (0.5, 0.2, 2.0, 0.4, 1.0, -0.3)}
    return world


class Held(NamedTuple):
    """H_C, Ĥ_C and what is demanded along them, of the directions that are held."""

    rows: Array  # (m, nv)
    columns: Array  # (m, nv)
    want: Array  # (m,)
    force: Array  # (m,)


def held(one: PaperFilter) -> Held:
    s, P, X = one.solution, one.problem, one.trial
    n, m, width = len(s.a), int(X.count[1]), int(s.count[WIDTH])
    H = s.H.reshape(-1, width)[:, :n]
    rows, columns, want = np.zeros((m, n)), np.zeros((m, n)), np.zeros(m)
    for d in range(m):
        span = slice(P.at[X.pair[d]], P.at[X.pair[d] + 1])
        size = span.stop - span.start
        rows[d], columns[d] = X.row[d, :size] @ H[span], X.column[d, :size] @ H[span]
        want[d] = X.row[d, :size] @ (s.pull[span] - s.drift[span])
    return Held(rows, columns, want, s.x[:m].copy())


class Printed(NamedTuple):
    """The solution by eq. 34-45."""

    a: Array  # (nv,)
    force: Array  # (m,) τ_C
    torque: Array  # (nv,)


def printed(one: PaperFilter) -> Printed:
    """Solve for the states that a filter's last step ended in with pseudoinverses of the whole of W [DF] eq. 34-45."""
    s, gain, h = one.solution, one.solution.gain, held(one)
    n, m = len(s.a), len(h.want)
    A = s.A.reshape(n, -1)[:, :n]
    motors = np.flatnonzero(s.motor)
    W = np.block([[A, -h.columns.T, -np.eye(n)[:, motors]], [h.rows, np.zeros((m, m + len(motors)))]])
    u = np.concatenate((-s.b, h.want))
    S = np.repeat(gain[[COST_A, COST_F, COST_T]], (n, m, len(motors))) ** -0.5
    inverse = np.linalg.pinv(W * S, rcond=1e-13)
    z, null = inverse @ u, np.eye(len(S)) - inverse @ (W * S)
    V = S[:n, None] * null[:n]  # eq. 44
    root = np.sqrt(s.weight)[:, None]
    e = s.weight**0.5 * (s.wanted - S[:n] * z[:n])
    # the singularity-robust inverse V* = Vᵀ (V Vᵀ + k)⁻¹ of weighted errors, eq. 45
    y = (root * V).T @ np.linalg.solve((root * V) @ (root * V).T + gain[ROBUST] * np.eye(n), e)
    x = S * (z + null @ y)
    torque = np.zeros(n)
    torque[motors] = x[n + m :]
    return Printed(x[:n], x[n : n + m], torque)
