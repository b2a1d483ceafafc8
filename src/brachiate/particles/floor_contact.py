"""Contact of particles with the floor: restitution [NSP] eq. 30, spring-damper and plastic floors, friction [NSP] eq. 31-32 and Coulomb."""

from __future__ import annotations

import math

from brachiate.compiled import index, kernel, outlined
from brachiate.particles.arrays import (
    BOUNCE,
    DAMPING,
    DRAG,
    FRICTION,
    HARDENING,
    HEIGHT_ORIGIN,
    HEIGHT_SPACING,
    NORMAL,
    OFFSET,
    PLASTIC,
    RESTITUTION,
    SINK_ORIGIN,
    SINK_SPACING,
    STIFFNESS,
    YIELD,
)
from brachiate.spatial import Vec3, norm, put_vec3, vec3_at

AIR = 1e300  # [m] gap beside a grid of heights
RESTING = 2.0  # a contact rests if it closes no faster than what this many steps of its acceleration give


@kernel
def surface_gap(F, x):
    """Gap of a point above the undeformed floor [m], and the normal there."""
    if F.kind[1] == 0:
        n = vec3_at(F.numbers, NORMAL)
        return n @ x - F.numbers[OFFSET], n
    return height_gap(F, x)


@outlined
def height_gap(F, x):
    """Gap above a triangulated grid of heights: cells are split from their corner (0, 0) to (1, 1)."""
    columns = F.kind[1]
    rows = F.heights.shape[0] // columns
    dx, dy = F.numbers[HEIGHT_SPACING], F.numbers[HEIGHT_SPACING + 1]
    s, t = (x.x - F.numbers[HEIGHT_ORIGIN]) / dx, (x.y - F.numbers[HEIGHT_ORIGIN + 1]) / dy
    if not (0.0 <= s <= columns - 1.0 and 0.0 <= t <= rows - 1.0):
        return AIR, Vec3(0.0, 0.0, 1.0)
    i, j = min(int(s), columns - 2), min(int(t), rows - 2)
    s, t, at = s - i, t - j, j * columns + i
    low, high = F.heights[at], F.heights[at + columns + 1]
    if s >= t:
        along, across = F.heights[at + 1] - low, high - F.heights[at + 1]
    else:
        along, across = high - F.heights[at + columns], F.heights[at + columns] - low
    n = Vec3(-along / dx, -across / dy, 1.0)
    n = (1.0 / norm(n)) * n
    return (x.z - F.numbers[OFFSET] - (low + s * along + t * across)) * n.z, n


@kernel
def sinkage_cell(F, x):
    """Cell of the grid of plastic sinkage below a point, or -1 beside the grid."""
    columns = F.kind[2]
    rows = F.sinkage.shape[0] // columns
    s = (x.x - F.numbers[SINK_ORIGIN]) / F.numbers[SINK_SPACING]
    t = (x.y - F.numbers[SINK_ORIGIN + 1]) / F.numbers[SINK_SPACING + 1]
    if not (0.0 <= s < columns and 0.0 <= t < rows):
        return -1
    return int(t) * columns + int(s)


@kernel
def compliant_force(F, x, radius, v, sinks):
    """Normal force on a particle [N], not negative, and the normal. A plastic floor sinks until it bears its load; kept if ``sinks``."""
    gap, n = surface_gap(F, x)
    compression = radius - gap
    if compression <= 0.0:
        return 0.0, n
    if F.kind[0] == PLASTIC:
        cell = sinkage_cell(F, x)
        if cell >= 0:
            # Bearing capacity yield + hardening·sinkage: where elastic compression alone would bear more, the ground flows.
            k, hardening = F.numbers[STIFFNESS], F.numbers[HARDENING]
            sinkage = max((k * compression - F.numbers[YIELD]) / (k + hardening), F.sinkage[cell])
            if sinks:
                F.sinkage[cell] = sinkage
            compression -= sinkage
            if compression <= 0.0:
                return 0.0, n
    return max(F.numbers[STIFFNESS] * compression - F.numbers[DAMPING] * (n @ v), 0.0), n


@kernel
def rubbed(F, tangential, push):
    """Tangential velocity after friction; push: normal impulse per mass [m/s]."""
    # [NSP] eq. 31, f = -γ ẋ T_z, implicit in the velocity; then Coulomb friction, which may hold the particle.
    tangential = (1.0 / (1.0 + F.numbers[DRAG] * push)) * tangential
    limit = F.numbers[FRICTION] * push
    if limit > 0.0:
        speed = norm(tangential)
        tangential = Vec3(0.0, 0.0, 0.0) if speed <= limit else (1.0 - limit / speed) * tangential
    return tangential


@outlined
def floor_step(C, F, i, x, v, a, dt):
    """Position and velocity of particle i after a step with acceleration a (without the floor). Writes C.floor_force."""
    u = v + dt * a
    per_mass = C.inverse_mass[i]
    if F.kind[0] == RESTITUTION:
        gap, n = surface_gap(F, x + dt * u)
        gap -= C.radius[i]
        closing = n @ u
        if gap >= 0.0 or closing >= 0.0:
            put_vec3(C.floor_force, i, Vec3(0.0, 0.0, 0.0))
            return x + dt * u, u
        # [NSP] eq. 30, only while the particle approaches; a contact that no more than its acceleration closes comes to rest.
        rests = closing > RESTING * dt * (n @ a)
        leaving = 0.0 if rests else -F.numbers[BOUNCE] * closing
        after = rubbed(F, u - closing * n, leaving - closing) + leaving * n
        y = x + dt * after
        height, n = surface_gap(F, y)
        y = y + ((0.0 if rests else -F.numbers[BOUNCE] * gap) - height + C.radius[i]) * n  # as if it had bounced at the time of impact
        put_vec3(C.floor_force, i, (1.0 / (per_mass * dt)) * (after - u))
        return y, after
    normal_force, n = compliant_force(F, x, C.radius[i], v, True)
    if normal_force == 0.0:
        put_vec3(C.floor_force, i, Vec3(0.0, 0.0, 0.0))
        return x + dt * u, u
    push = dt * per_mass * normal_force
    after = rest_velocity(F, u, n, push)
    put_vec3(C.floor_force, i, (1.0 / (per_mass * dt)) * (after - u))
    return x + dt * after, after


@kernel
def rest_velocity(F, u, n, push):
    """Velocity u after a normal impulse (per mass) and its friction."""
    normal = n @ u
    return rubbed(F, u - normal * n, push) + (normal + push) * n


@kernel
def finite_states(C):
    """Number of the first particle whose state is not finite, or -1."""
    for n in range(C.x.shape[0]):
        i = index(n)
        total = C.x[i, 0] + C.x[i, 1] + C.x[i, 2] + C.v[i, 0] + C.v[i, 1] + C.v[i, 2]
        if not math.isfinite(total):
            return n
    return -1
