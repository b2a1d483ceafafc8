"""Equivalent masses: particles that have the mass, the center of mass and the inertia of a rigid body exactly."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from brachiate.validation import Array

SHARE = 0.5  # of the mass of a body that particles at given points get at most together
FLATNESS = 1e-9  # of the largest second moment: smaller ones are none
KEPT = 0.25  # of its smallest second moment is left to the particles that are free to be placed
BISECTIONS = 40


class BodyParticles(NamedTuple):
    """Particles of a body: first those at given points, then those that were placed."""

    points: Array  # (n, 3) [m] in the body
    masses: Array  # (n,) [kg]


def second_moments(mass: float, center: Array, inertia: Array) -> Array:
    """Σ m r rᵀ about the origin (3, 3) [kg·m²], from the inertia about the center of mass: ½ tr(I) 1 - I + m c cᵀ."""
    return 0.5 * np.trace(inertia) * np.eye(3) - inertia + mass * np.outer(center, center)


def equivalent_masses(mass: float, center: Array, inertia: Array, given: Array) -> BodyParticles | None:
    """Particles with a mass, a center of mass, and an inertia about it; some of them at given points (k, 3).

    The given points share at most half of the mass, so much that what is left is still that of a body. It is carried by equal masses: four
    at the corners of a tetrahedron, stretched to its second moments; three if it is flat; two if it is a rod. Returns None if no mass at
    the given points is possible, as beside a flat body or a rod.
    """
    total = second_moments(mass, center, inertia)
    about = total - mass * np.outer(center, center)
    moments = np.linalg.eigvalsh(about)
    needed = KEPT * max(moments[0], 0.0)
    low, high = 0.0, SHARE / max(len(given), 1)
    if not len(given):
        return BodyParticles(*_placed(mass, center, about))

    def left(share: float) -> tuple[float, Array, Array]:
        m = mass * (1.0 - share * len(given))
        c = (mass * center - share * mass * given.sum(axis=0)) / m
        return m, c, total - share * mass * given.T @ given - m * np.outer(c, c)

    def possible(share: float) -> bool:
        return bool(np.linalg.eigvalsh(left(share)[2])[0] >= needed - FLATNESS * moments[2])

    if possible(high):
        low = high
    for _ in range(BISECTIONS if low < high else 0):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if possible(middle) else (low, middle)
    if low < 1e-3 * SHARE / len(given):
        return None
    points, masses = _placed(*left(low))
    return BodyParticles(np.concatenate([given, points]), np.concatenate([np.full(len(given), low * mass), masses]))


def _placed(mass: float, center: Array, about: Array) -> tuple[Array, Array]:
    """Equal masses with the second moments ``about`` (3, 3) about their center."""
    values, axes = np.linalg.eigh(0.5 * (about + about.T))
    rank = int((values > FLATNESS * max(values[2], 0.0)).sum()) if values[2] > 0.0 else 0
    if rank == 0:
        return center[None], np.array([mass])
    # Corners of a simplex with Σ u = 0 and Σ u uᵀ = (count / rank) 1 in the space of the largest moments
    corners = {
        1: np.array([[1.0], [-1.0]]),
        2: np.array([[1.0, 0.0], [-0.5, np.sqrt(0.75)], [-0.5, -np.sqrt(0.75)]]),
        3: np.array([[1.0, 1.0, 1.0], [1.0, -1.0, -1.0], [-1.0, 1.0, -1.0], [-1.0, -1.0, 1.0]]) / np.sqrt(3.0),
    }[rank]
    stretch = axes[:, 3 - rank :] * np.sqrt(rank / mass * values[3 - rank :])
    return center + corners @ stretch.T, np.full(rank + 1, mass / (rank + 1))
