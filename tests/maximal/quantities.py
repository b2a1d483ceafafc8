"""Accelerations, wrenches, impulses, constraint errors, mobility, momentum and energy by maximal coordinates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from tests.maximal.joints import RANK, dissipative_forces, spring_torques
from tests.maximal.rotations import cross
from tests.maximal.system import Connection, InconsistentRows, RowDecomposition, System, link_frames

from brachiate import Model
from brachiate.validation import Array

INCONSISTENT = 1e-7  # relative residual above which rows are inconsistent


class Pose(NamedTuple):
    rotation: Array  # (3, 3)
    position: Array  # (3,)


def bodies(model: Model, q: Array, v: Array) -> tuple[dict[str, Pose], dict[str, Array]]:
    """Pose of every link, and velocity (of its origin, then angular; world axes)."""
    frames = link_frames(model, np.asarray(q, float), np.asarray(v, float))
    return {name: Pose(frames[name].R, frames[name].p) for name in model.links}, {name: frames[name].twist for name in model.links}


def accelerations(
    model: Model,
    q: Array,
    v: Array,
    tau: Array,
    gravity: Array,
    connections: Sequence[Connection] = (),
    prescribed: Mapping[str, float] | None = None,
    tolerance: float = INCONSISTENT,
) -> tuple[Array, Array]:
    """Accelerations of the tree's coordinates (nv,), and the wrench of every connection (number of connections, 6).

    A wrench acts from the connection on its second link and includes springs, dampers and friction in it: force, then moment
    about the origin of the second frame, world axes. Where :func:`determined` is false it is not unique.

    The state must satisfy the connections in position and velocity; errors there cause errors of the same size.

    Args:
        tau: Torques of the motors of the tree (nv,).
        prescribed: Accelerations of prescribed coordinates of the tree, by name.
        tolerance: Relative residual above which rows are refused as inconsistent; below it they are solved by least squares.
    """
    prescribed = prescribed or {}
    system = System(model, q, v, connections)
    rows = RowDecomposition(system.rows(prescribed))
    gamma = np.concatenate([*(-j.bias for j in system.joints), list(prescribed.values())])
    f, B = system.forces(np.asarray(tau, float), np.asarray(gravity, float)), system.root_inertia()
    x = rows.solution(gamma, tolerance)
    # M (x + N y) = f + Jᵀλ, and NᵀJᵀ = 0; NᵀMN = (BN)ᵀBN is inverted by the singular values of BN for accuracy
    N = rows.null_space
    force = N.T @ (f - B.T @ (B @ x))
    _, s, Wt = np.linalg.svd(B @ N)
    has_inertia = s > RANK * s.max(initial=0.0)
    if np.linalg.norm(Wt[: len(s)][~has_inertia] @ force) > INCONSISTENT * (1 + np.linalg.norm(force)):
        raise InconsistentRows("A force acts along a motion that has no inertia.")
    x = x + N @ (Wt[: len(s)][has_inertia].T @ (Wt[: len(s)][has_inertia] @ force / s[has_inertia] ** 2))
    wrenches = rows.multipliers(B.T @ (B @ x) - f)[6 * len(system.tree) : 6 * len(system.joints)]
    return x[system.tree_rates], wrenches.reshape(-1, 6)


def impulse(model: Model, q: Array, v: Array, connections: Sequence[Connection], prescribed: Iterable[str] = ()) -> Array:
    """Velocities (nv,) after a plastic impact of all connections at once, prescribed coordinates at rest.

    Of all velocities that satisfy the rows they are the nearest to those before in the kinetic energy norm.
    """
    system = System(model, q, v, connections)
    N, B = RowDecomposition(system.rows(prescribed)).null_space, system.root_inertia()
    after = N @ np.linalg.lstsq(B @ N, B @ system.u, rcond=RANK)[0]
    return after[system.tree_rates]


def gaps(model: Model, q: Array, connections: Sequence[Connection]) -> Array:
    """Gap of each connection, from the end of its chain to its second frame, world axes: rows (position [m], rotation vector [rad])."""
    return np.array([j.gap for j in System(model, q, np.zeros(model.nv), connections).connections]).reshape(-1, 6)


def residuals(model: Model, q: Array, connections: Sequence[Connection]) -> Array:
    """Constraint error of each connection: rows (position [m], angle [rad]) at the nearest coordinates of its joint."""
    g = gaps(model, q, connections)
    return np.stack([np.linalg.norm(g[:, :3], axis=1), np.linalg.norm(g[:, 3:], axis=1)], axis=1)


def drifts(model: Model, q: Array, v: Array, connections: Sequence[Connection]) -> Array:
    """Rate of the gap of each connection at the nearest rates of its joint: rows (linear [m/s], angular [rad/s]), world axes."""
    return np.array([j.drift for j in System(model, q, v, connections).connections]).reshape(-1, 6)


def coordinates(model: Model, q: Array, v: Array, connection: Connection) -> tuple[Array, Array]:
    """Coordinates (nq,) and rates (nv,) of a connection's joint."""
    (j,) = System(model, q, v, [connection]).connections
    return j.q, j.rates


def mobility(model: Model, q: Array, connections: Sequence[Connection], prescribed: Iterable[str] = (), rank: float = RANK) -> int:
    """Number of independent velocities of the tree; ``rank``: relative threshold of singular values."""
    system = System(model, q, np.zeros(model.nv), connections)
    _, s, Vt = np.linalg.svd(system.rows(prescribed))
    N = Vt[int((s > rank * s.max(initial=0.0)).sum()) :].T
    return int(np.linalg.matrix_rank(N[system.tree_rates], tol=1e-8)) if N.size else 0


def determined(model: Model, q: Array, connections: Sequence[Connection], prescribed: Iterable[str] = ()) -> list[bool]:
    """Whether each connection's wrench is unique, or redundant rows leave a part of it undetermined."""
    system = System(model, q, np.zeros(model.nv), connections)
    redundant_multipliers = RowDecomposition(system.rows(prescribed)).redundant_multipliers
    first = len(system.tree)
    return [bool(np.abs(redundant_multipliers[6 * n : 6 * n + 6]).max(initial=0.0) < 1e-8) for n in range(first, first + len(connections))]


def momentum(model: Model, q: Array, v: Array) -> tuple[Array, Array]:
    """Linear and angular momentum of all links, the latter about the origin of the world."""
    frames = link_frames(model, np.asarray(q, float), np.asarray(v, float))
    linear, angular = np.zeros(3), np.zeros(3)
    for name, link in model.links.items():
        center = frames[name].fixed_frame(link.center, np.eye(3))
        linear += link.mass * center.v
        angular += cross(center.p, link.mass * center.v) + center.R @ link.inertia @ center.R.T @ center.w
    return linear, angular


def energy(model: Model, q: Array, v: Array, gravity: Array, connections: Sequence[Connection] = ()) -> tuple[float, float]:
    """Kinetic energy including rotors, and potential energy including springs (also of connections)."""
    system = System(model, q, v, connections)
    potential = sum(spring_torques(j.joint, j.q)[1] for j in system.joints)
    for name, link in model.links.items():
        potential -= link.mass * float(np.dot(gravity, system.frames[name].fixed_frame(link.center, np.eye(3)).p))
    return 0.5 * float(np.sum((system.root_inertia() @ system.u) ** 2)), potential


def losses(model: Model, q: Array, v: Array, connections: Sequence[Connection] = ()) -> float:
    """Power [W] dissipated by dampers and dry friction."""
    return -sum(float(dissipative_forces(j.joint, j.rates) @ j.rates) for j in System(model, q, v, connections).joints)
