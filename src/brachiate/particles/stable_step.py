"""Largest stable step of explicit integration, from stiffness, damping and mass; and a step that resolves the vibrations."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from brachiate.particles.arrays import DAMPING, NO_FLOOR, PUBLISHED_PLANES, RESTITUTION, STIFFNESS, FloorArrays
from brachiate.particles.system import ParticleSystem
from brachiate.validation import Array

MAX_STEP = 0.01  # [s] of systems without stiffness
SUGGESTED_SHARE = 0.25  # of the largest stable step: a period of the stiffest vibration has about twelve steps


class StableParticleStep(NamedTuple):
    """Largest stable step [s], and the particle that limits it."""

    seconds: float
    particle: str


def largest_stable_step(system: ParticleSystem, floor: FloorArrays | None = None) -> StableParticleStep:
    """Largest step of semi-implicit Euler and leapfrog steps that is stable.

    A mode of stiffness κ and damping δ per mass is stable if dt² κ + 2 dt δ < 4. The largest eigenvalue of M⁻¹K, K = Σ K_e, is at most
    the largest sum of the eigenvalues of the M⁻¹K_e of all elements of a particle: exact for a long uniform chain, where it is 4 k/m.
    """
    stiffness, damping = element_rates(system, floor)
    root = damping + np.sqrt(damping * damping + 4.0 * stiffness)
    worst = int(root.argmax()) if len(root) else 0
    if not len(root) or root[worst] == 0.0:
        return StableParticleStep(np.inf, "")
    return StableParticleStep(float(4.0 / root[worst]), system.particle_name(worst))


def suggested_step(system: ParticleSystem, floor: FloorArrays | None = None) -> float:
    """Step that resolves the stiffest vibration [s]: a quarter of the largest stable one, at most 10 ms."""
    return min(MAX_STEP, SUGGESTED_SHARE * largest_stable_step(system, floor).seconds)


def element_rates(system: ParticleSystem, floor: FloorArrays | None) -> tuple[Array, Array]:
    """Sums over the elements of each particle of their largest stiffness [1/s²] and damping [1/s] per mass: (n,), (n,)."""
    C, L, J = system.arrays, system.link_arrays, system.joint_arrays
    n, stiffness, damping = len(system), np.zeros(len(system)), np.zeros(len(system))

    def add(particles: Array, k: Array, c: Array) -> None:
        for column in particles.T:
            stiffness[:] += np.bincount(column, k, n)
            damping[:] += np.bincount(column, c, n)

    if len(L.length):
        per_mass = C.inverse_mass[L.ends].sum(axis=1)
        add(L.ends, L.stiffness * per_mass, L.damping * per_mass)
    if len(J.torque):
        arms = [C.x[J.particles[:, a]] - C.x[J.particles[:, 1]] for a in (0, 2)]
        inverse = [1.0 / np.maximum((arm * arm).sum(axis=1), 1e-300) for arm in arms]
        w = C.inverse_mass[J.particles]
        # Squares of the gradient of the angle by particle: 1/l₁², 1/l₃², and at most (1/l₁ + 1/l₃)² at the middle.
        per_inertia = w[:, 0] * inverse[0] + w[:, 2] * inverse[1] + w[:, 1] * (np.sqrt(inverse[0]) + np.sqrt(inverse[1])) ** 2
        add(J.particles, (J.limit_stiffness + J.proportional) * per_inertia, (J.friction + J.limit_damping + J.derivative) * per_inertia)
        planes = system.plane_arrays
        if C.options[PUBLISHED_PLANES] == 0 and len(planes.normal):
            of = np.repeat(np.arange(len(planes.normal)), np.diff(planes.start))
            free = C.mass[planes.member] * C.inverse_mass[planes.member]
            add(planes.member[:, None], planes.stiffness[of] * free, planes.damping[of] * free)
    if floor is not None and floor.kind[0] not in (NO_FLOOR, RESTITUTION):
        stiffness += floor.numbers[STIFFNESS] * C.inverse_mass
        damping += floor.numbers[DAMPING] * C.inverse_mass
    return stiffness, damping
