"""Equations of closed chains in the tree's velocities, by elimination from maximal coordinates (tests/maximal), not by the package."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from tests import maximal
from tests.maximal import Connection, System, passive_forces
from tests.random_mechanisms import Mechanism, random_mechanism

from brachiate import Model, Revolute, figures
from brachiate.validation import Array

GRAVITY = np.array([0.4, 0.9, -9.3])
MOTORS_16 = np.arange(6, 22)  # of human16: all but its root


class ClosedChain(NamedTuple):
    """J v = 0, J a + γ = 0, mass matrix A and inverse dynamics of the tree; springs, dampers and friction in loops are included."""

    J: Array  # (m, n)
    gamma: Array  # (m,)
    gap: Array  # (m,) constraint error; J v is its rate
    A: Array  # (n, n)
    inverse_dynamics: Callable[[Array], Array]
    owner: Array  # (m,) index of the row's connection


def eliminate_links(model: Model, q: Array, v: Array, connections: Sequence[Connection], gravity: Array = GRAVITY) -> ClosedChain:
    """Eliminate link velocities V: the tree rows Jₗ V + Jᵣ v = 0 give V = G v, and link accelerations G a + g."""
    system = System(model, q, v, connections)
    rows, bias = system.rows(), np.concatenate([*(-j.bias for j in system.joints), np.zeros(0)])
    tree, links = slice(0, 6 * len(system.tree)), slice(0, system.at)
    G = -np.linalg.solve(rows[tree, links], rows[tree, system.tree_rates])
    g = np.linalg.solve(rows[tree, links], bias[tree])
    n, loops = model.nv, np.zeros(model.nv)
    J, gamma, gap, owner = [np.zeros((0, n))], [np.zeros(0)], [np.zeros(0)], [np.zeros(0, int)]
    for k, c in enumerate(system.connections):
        six = slice(6 * (len(system.tree) + k), 6 * (len(system.tree) + k) + 6)
        relative = rows[six, links] @ G  # relative twist of the frames per v
        T = np.linalg.svd(c.S)[0][:, np.linalg.matrix_rank(c.S) :] if c.S.size else np.eye(6)  # constrained directions of the joint
        J.append(T.T @ relative)
        gamma.append(T.T @ (rows[six, links] @ g - bias[six]))
        gap.append(T.T @ c.gap)
        owner.append(np.full(T.shape[1], k))
        loops += (np.linalg.pinv(c.S) @ relative).T @ passive_forces(c.joint, c.q, c.rates)
    B = system.root_inertia()
    from_tree = np.concatenate([G, np.eye(n), np.zeros((system.size - system.at - n, n))])
    start = np.concatenate([g, np.zeros(system.size - system.at)])
    f = system.forces(np.zeros(n), gravity)
    f[system.at + n :] = 0.0
    BG = B @ from_tree

    def inverse_dynamics(a: Array) -> Array:
        return BG.T @ (BG @ a + B @ start) - from_tree.T @ f - loops

    rows, gamma, gap, owner = (np.concatenate(parts) for parts in (J, gamma, gap, owner))
    return ClosedChain(rows, gamma, gap, BG.T @ BG, inverse_dynamics, owner)


@cache
def example(seed: int) -> tuple[Mechanism, ClosedChain]:
    """A random mechanism: every second one with springs, dampers and friction, every third with a redundant connection."""
    m = random_mechanism(seed, 4 + seed % 6, 1 + seed % 3, passive=bool(seed % 2), redundant=seed % 3 == 0)
    assert m.connections
    return m, eliminate_links(*m)


def loops_of(model: Model) -> list[Connection]:
    return [
        Connection(l.first, l.second, l.joint, l.first_position, l.first_rotation, l.second_position, l.second_rotation)
        for l in model.loops
    ]


def high_bar(hands: tuple[str, ...] = ("right", "left")) -> Mechanism:
    """A gymnast with randomly bent limbs whose hands rotate about a bar, the line through both grips [SVC] fig. 13."""
    model = figures.human16()
    rng = np.random.default_rng(16)
    q = model.poses["hang"].copy()
    for joint in model.joints.values():
        if joint.q.stop - joint.q.start == 4:
            bent = q[joint.q] + rng.normal(0.0, 0.15, 4)
            q[joint.q] = bent / np.linalg.norm(bent)
        elif joint.link not in ("pelvis",):
            q[joint.q] = rng.uniform(0.3, 0.9)
    poses, _ = maximal.bodies(model, q, np.zeros(model.nv))
    grips = {}
    for side in ("right", "left"):
        site = model.sites[f"{side}_grip"]
        grips[side] = poses[site.link].position + poses[site.link].rotation @ site.position
    y = grips["left"] - grips["right"]
    y /= np.linalg.norm(y)
    x = np.cross(y, [0.0, 0.0, 1.0])
    x /= np.linalg.norm(x)
    bar = np.stack([x, y, np.cross(x, y)], axis=1)
    connections = []
    for side in hands:
        R, p = poses[f"{side}_hand"]
        connections.append(Connection("world", f"{side}_hand", Revolute("y"), grips[side], bar, R.T @ (grips[side] - p), R.T @ bar))
    return Mechanism(model, q, np.zeros(model.nv), connections)
