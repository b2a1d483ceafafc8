"""Worlds for tests of the published filter, and its equations as printed."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import brachiate as br
from brachiate.filter.paper import PaperFilter
from brachiate.filter.paper.arrays import COST_A, COST_F, COST_T, SR_DAMPING, WIDTH
from brachiate.validation import Array


def standing() -> br.World:
    """A standing figure on the ground."""
    world = br.World()
    world.add(br.figures.human28(), name="man").set_pose("stand")
    world.add(br.figures.ground())
    world.enable_contact()
    return world


def flying(height: float = 3.0) -> br.World:
    """A figure in flight, rising and rotating."""
    world = br.World()
    man = world.add(br.figures.human28(), name="man")
    man.set_pose("stand")
    man.place((0, 0, height))
    world.v = {"man/root": (0.5, 0.2, 2.0, 0.4, 1.0, -0.3)}
    return world


class HeldDirections(NamedTuple):
    """H_C, Ĥ_C and the demanded accelerations of the held directions."""

    rows: Array  # (m, nv)
    columns: Array  # (m, nv)
    demand: Array  # (m,)
    force: Array  # (m,)


def held_directions(paper_filter: PaperFilter) -> HeldDirections:
    s, problem, trial = paper_filter.arrays, paper_filter.problem, paper_filter.trial
    n, m, width = len(s.a), int(trial.count[1]), int(s.count[WIDTH])
    H = s.H.reshape(-1, width)[:, :n]
    rows, columns, demand = np.zeros((m, n)), np.zeros((m, n)), np.zeros(m)
    for d in range(m):
        span = slice(problem.row_start[trial.pair[d]], problem.row_start[trial.pair[d] + 1])
        size = span.stop - span.start
        rows[d], columns[d] = trial.row[d, :size] @ H[span], trial.column[d, :size] @ H[span]
        demand[d] = trial.row[d, :size] @ (s.stabilization[span] - s.drift[span])
    return HeldDirections(rows, columns, demand, s.unknowns[:m].copy())


class Printed(NamedTuple):
    """Solution by eq. 34-45."""

    a: Array  # (nv,)
    force: Array  # (m,) τ_C
    torque: Array  # (nv,)


def printed(paper_filter: PaperFilter) -> Printed:
    """Solution for the final contact states of the last step by pseudoinverses of the whole of W [DF] eq. 34-45."""
    s, gain, h = paper_filter.arrays, paper_filter.arrays.gain, held_directions(paper_filter)
    n, m = len(s.a), len(h.demand)
    A = s.A.reshape(n, -1)[:, :n]
    motors = np.flatnonzero(s.actuated)
    W = np.block([[A, -h.columns.T, -np.eye(n)[:, motors]], [h.rows, np.zeros((m, m + len(motors)))]])
    u = np.concatenate((-s.b, h.demand))
    S = np.repeat(gain[[COST_A, COST_F, COST_T]], (n, m, len(motors))) ** -0.5
    inverse = np.linalg.pinv(W * S, rcond=1e-13)
    z, null = inverse @ u, np.eye(len(S)) - inverse @ (W * S)
    V = S[:n, None] * null[:n]  # eq. 44
    root = np.sqrt(s.weight)[:, None]
    e = s.weight**0.5 * (s.desired - S[:n] * z[:n])
    # singularity-robust inverse V* = Vᵀ (V Vᵀ + k)⁻¹ of weighted errors, eq. 45
    y = (root * V).T @ np.linalg.solve((root * V) @ (root * V).T + gain[SR_DAMPING] * np.eye(n), e)
    x = S * (z + null @ y)
    torque = np.zeros(n)
    torque[motors] = x[n + m :]
    return Printed(x[:n], x[n : n + m], torque)
