"""Largest stable step of explicit integration with compliant connections (spring-dampers)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from brachiate import dynamics
from brachiate.errors import StateError
from brachiate.world.connections import Connection
from brachiate.world.world import World

MAX_STEP = 1e9  # [s] without springs and dampers


class StableStep(NamedTuple):
    """Largest stable step, and the connection that limits it."""

    seconds: float
    connection: str


def largest_stable_step(world: World) -> StableStep:
    """Largest step of semi-implicit Euler integration that is stable with the spring-dampers of a world, in its present posture.

    A mode of stiffness κ and damping δ per unit of inertia is stable if dt² κ + 2 dt δ < 4. The largest κ and δ of each connection are
    taken together, and other constraints are disregarded: both make the result smaller than necessary, not larger.
    """
    compliant = [c for c in world.connections.values() if isinstance(c, Connection) and c.compliance is not None]
    found = StableStep(MAX_STEP, "")
    if not compliant:
        return found
    constraint_set = world.constraint_set
    constraint_set.evaluate_rows()
    J, arrays = constraint_set.jacobian(), constraint_set.arrays
    L = np.linalg.cholesky(dynamics.mass_matrix(world.data, world.data.q))
    for connection in compliant:
        rows = constraint_set.row_slice(connection.index)
        X = np.linalg.solve(L, J[rows].T)  # columns L⁻¹ Jᵀ
        directions = arrays.T[rows]  # moment, then force
        angular, linear = (directions[:, :3] ** 2).sum(axis=1), (directions[:, 3:] ** 2).sum(axis=1)
        (k, k_angular), (c, c_angular) = connection.compliance.pairs  # type: ignore[union-attr]
        stiffness, damping = (
            float(np.linalg.norm(X * np.sqrt(weights), 2) ** 2)
            for weights in (k * linear + k_angular * angular, c * linear + c_angular * angular)
        )
        root = damping + np.sqrt(damping * damping + 4.0 * stiffness)
        seconds = 4.0 / root if root > 0.0 else MAX_STEP
        if seconds < found.seconds:
            found = StableStep(seconds, connection.name)
    return found


def check_stable_step(world: World, dt: float) -> None:
    """Refuse steps that spring-dampers of connections make unstable in the present posture.

    Raises:
        StateError: The step is too long.
    """
    stable = largest_stable_step(world)
    if dt > stable.seconds:
        raise StateError(
            f"The spring-damper of {stable.connection!r} is unstable with steps of {1000 * dt:.3g} ms: the largest stable step is "
            f"{1000 * stable.seconds:.3g} ms in this posture. Use dt={0.5 * stable.seconds:.2g} or shorter, less stiffness or damping, "
            "or a rigid connection."
        )
