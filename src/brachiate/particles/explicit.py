"""Explicit stepping of particle systems [NSP]: semi-implicit Euler and leapfrog steps, O(n), by one or several threads.

A step has two passes: forces of elements, then the sums for each particle and its motion. Both parts of a pass may be done by several
threads; the sums are always in the same order, so the result does not depend on their number.
"""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from brachiate.compiled import Key, entry, index, kernel
from brachiate.particles.arrays import GRAVITY, KEEP_FORCES, PLASTIC, WIND, FloorArrays, open_system
from brachiate.particles.floor_contact import finite_states, floor_step
from brachiate.particles.forces import element_forces, gathered_force, link_forces, turn_forces, without_normal_parts
from brachiate.spatial import norm, put_vec3, vec3, vec3_at

BLOCK = 2048  # particles that stay in the cache between both passes
MIN_PARTICLES_PER_THREAD = 20_000


@entry
def run_explicit(key: Key, dt: float, steps: int, leapfrog: bool):
    """Make steps; returns the number of the first particle whose state is not finite, or -1.

    Leapfrog steps begin and end with half a step at constant velocity: of second order, but for damping.
    """
    C, L, J, P, F = open_system(key)
    half = 0.5 * dt if leapfrog else 0.0
    if leapfrog:
        drift(C, half, 0, C.x.shape[0])
    for _ in range(steps):
        element_forces(C, L, J, P, C.x, C.v)
        advance(C, L, J, P, F, dt, 0, C.x.shape[0])
    if leapfrog:
        drift(C, -half, 0, C.x.shape[0])
    return finite_states(C)


@entry
def force_pass(key: Key, first: int, last: int, joints: bool):
    """Forces of links first to last - 1; of joints and planes if ``joints``."""
    C, L, J, P, _ = open_system(key)
    if joints and J.particles.shape[0] > 0:
        turn_forces(C, J, P, C.x, C.v)
    link_forces(L, C.x, C.v, first, last)


@entry
def motion_pass(key: Key, dt: float, first: int, last: int):
    """Move particles first to last - 1 by the forces of their elements."""
    C, L, J, P, F = open_system(key)
    advance(C, L, J, P, F, dt, first, last)


@entry
def drift_pass(key: Key, dt: float):
    """Move all particles at constant velocity; returns the number of the first one whose state is not finite, or -1."""
    C, _, _, _, _ = open_system(key)
    drift(C, dt, 0, C.x.shape[0])
    return finite_states(C)


@kernel
def drift(C, dt, first, last):
    """Positions after a time at constant velocity."""
    for n in range(first, last):
        i = index(n)
        put_vec3(C.x, i, vec3(C.x, i) + dt * vec3(C.v, i))


@kernel
def advance(C, L, J, P, F, dt, first, last):
    """Semi-implicit Euler step of particles first to last - 1: m v̇ = Σ forces, [NSP] eq. 27-29."""
    gravity, wind = vec3_at(C.environment, GRAVITY), vec3_at(C.environment, WIND)
    for n in range(first, last):
        i = index(n)
        f = gathered_force(C, L, J, P, i)
        x, v = vec3(C.x, i), vec3(C.v, i)
        if C.inverse_mass[i] == 0.0:
            put_vec3(C.force, i, f)
            put_vec3(C.impulse, i, vec3(C.impulse, i) + dt * f)
            put_vec3(C.x, i, x + dt * v)
            continue
        if C.options[KEEP_FORCES] != 0:
            put_vec3(C.force, i, f)
        a = with_drag(C, i, C.inverse_mass[i] * (f + vec3(C.external, i)) + gravity, v - wind, dt)
        a = without_normal_parts(C, J, P, i, a)
        if F.kind[0] != 0:
            x, v = floor_step(C, F, i, x, v, a, dt)
        else:
            v = v + dt * a
            x = x + dt * v
        put_vec3(C.x, i, x)
        put_vec3(C.v, i, v)


@kernel
def with_drag(C, i, a, u, dt):
    """Acceleration a with quadratic drag at a velocity u relative to the air, implicit in u: stable at any step."""
    if C.drag[i] != 0.0:
        rate = C.inverse_mass[i] * C.drag[i] * norm(u)
        a = (1.0 / (1.0 + dt * rate)) * (a - rate * u)
    return a


def run_threads(key: Any, counts: tuple[int, int], dt: float, steps: int, leapfrog: bool, threads: int) -> int:
    """As :func:`run_explicit`, by several threads; ``counts``: numbers of particles and of links."""
    particles, links = ([count * t // threads for t in range(threads + 1)] for count in counts)
    barrier = threading.Barrier(threads)

    def work(t: int) -> None:
        try:
            for _ in range(steps):
                force_pass(key, links[t], links[t + 1], t == 0)
                barrier.wait()
                motion_pass(key, dt, particles[t], particles[t + 1])
                barrier.wait()
        except BaseException:
            barrier.abort()
            raise

    if leapfrog:
        drift_pass(key, 0.5 * dt)
    with ThreadPoolExecutor(threads - 1) as pool:
        others: list[Any] = [pool.submit(work, t) for t in range(1, threads)]
        work(0)
        for other in others:
            other.result()
    return drift_pass(key, -0.5 * dt if leapfrog else 0.0)


def thread_count(particles: int, floor: FloorArrays, threads: int | None) -> int:
    """Threads that pay: one for each 20,000 particles, at most one for each core. Cells of a plastic floor are written by one only."""
    if floor.kind[0] == PLASTIC:
        return 1
    if threads is not None:
        return threads
    return max(1, min(os.cpu_count() or 1, particles // MIN_PARTICLES_PER_THREAD))
