"""Energy and momentum conserving steps of particle systems [Simo 1992], [Gonzalez 1996]: the equations of a step and their solution.

The force of a link acts along the mean of its directions before and after the step, with the mean stress of its potential (discrete
gradient): linear and angular momentum are conserved, and energy is, but for dampers, at any stiffness. Newton's method solves for the
positions after the step; the matrix is factored in a band, which is O(n) for chains, or applied within conjugate gradients.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from brachiate.compiled import Floats, Ints, Key, Rows3, Rows6, entry, index, kernel, outlined, struct_opener
from brachiate.particles.arrays import BOUNCE, DAMPING, GRAVITY, KEEP_FORCES, NO_FLOOR, PLASTIC, RESTITUTION, STIFFNESS, WIND, open_system
from brachiate.particles.explicit import with_drag
from brachiate.particles.floor_contact import RESTING, compliant_force, finite_states, rubbed, surface_gap
from brachiate.particles.forces import gathered_force, turn_forces
from brachiate.particles.implicit_solvers import band_solve, conjugate_gradients
from brachiate.spatial import Vec3, cross, norm, put_vec3, vec3, vec3_at

MAX_ITERATIONS = 100
TOLERANCE = 2e-14  # last correction of positions, relative to the size of the system
ROUNDING = 1e-11  # of positions, below which corrections that no longer decrease are round-off
NOT_CONVERGED = -2  # status; a number from 0 on is that of a particle that is not finite


class StepArrays(NamedTuple):
    """Unknowns and matrix of a step. w: half bandwidth of the matrix of 3n rows."""

    size: Ints  # (2,) w, or -1: conjugate gradients; iterations of the last step
    order: Ints  # (n,) place of a particle in the matrix
    scale: Floats  # (1,) size of the system [m]
    x0: Rows3  # (n, 3) state before
    v0: Rows3  # (n, 3)
    v: Rows3  # (n, 3) mean velocity
    middle: Rows3  # (n, 3) mean positions
    load: Rows3  # (n, 3) constant forces [N]
    right: Rows3  # (n, 3) residual forces, then corrections of positions
    diagonal: Rows6  # (n, 6) blocks of the matrix: xx, yy, zz, yz, xz, xy
    link: Rows6  # (m, 6) stiffness of a link
    joint: Floats  # (j,) stiffness along the gradient of the angle
    gradient: Rows3  # (3j, 3) gradients of the angles
    band: Floats  # (3n (w+1),) matrix, then its Cholesky factor, by rows
    solution: Floats  # (3n,) of the banded system
    p: Rows3  # (n, 3) of conjugate gradients
    q: Rows3
    z: Rows3


open_step = struct_opener(StepArrays)


@entry
def run_implicit(key: Key, step_key: Key, dt: float, steps: int):
    """Make steps; returns -1, the number of a particle whose state is not finite, or NOT_CONVERGED."""
    C, L, J, P, F = open_system(key)
    (S,) = open_step(step_key)
    for _ in range(steps):
        begin_step(C, S, dt)
        if not solve_step(C, L, J, P, F, S, dt):
            bad = finite_states(C)
            return bad if bad >= 0 else NOT_CONVERGED
        end_step(C, L, J, P, F, S, dt)
    return finite_states(C)


@outlined
def begin_step(C, S, dt):
    """State before the step, constant forces, and first guess: constant velocities."""
    gravity, wind = vec3_at(C.environment, GRAVITY), vec3_at(C.environment, WIND)
    for n in range(C.x.shape[0]):
        i = index(n)
        x, v = vec3(C.x, i), vec3(C.v, i)
        put_vec3(S.x0, i, x)
        put_vec3(S.v0, i, v)
        put_vec3(S.load, i, C.mass[i] * with_drag(C, i, gravity + C.inverse_mass[i] * vec3(C.external, i), v - wind, dt))
        put_vec3(C.x, i, x + dt * v)


@outlined
def solve_step(C, L, J, P, F, S, dt):
    """Newton's method for C.x after the step. Returns whether it converged."""
    largest = math.inf
    for iteration in range(MAX_ITERATIONS):
        evaluate_forces(C, L, J, P, S, dt)
        evaluate_residuals(C, L, J, P, F, S, dt)
        solved = band_solve(C, L, J, S) if S.size[0] >= 0 else conjugate_gradients(C, L, J, S)
        if not solved:
            return False
        before, largest, size = largest, 0.0, S.scale[0]
        for n in range(C.x.shape[0]):
            i = index(n)
            step = vec3(S.right, i)
            x = vec3(C.x, i) + step
            largest, size = max(largest, abs(step.x), abs(step.y), abs(step.z)), max(size, abs(x.x), abs(x.y), abs(x.z))
            put_vec3(C.x, i, x)
        if not math.isfinite(largest):
            return False
        S.size[1] = iteration + 1
        if largest <= TOLERANCE * size or (largest >= 0.5 * before and largest <= ROUNDING * size):
            return True
    return False


@outlined
def evaluate_forces(C, L, J, P, S, dt):
    """Forces of links by discrete gradients, of joints and planes at mean positions and velocities; their stiffness."""
    for n in range(C.x.shape[0]):
        i = index(n)
        before, after = vec3(S.x0, i), vec3(C.x, i)
        put_vec3(S.middle, i, 0.5 * (before + after))
        put_vec3(S.v, i, (1.0 / dt) * (after - before))
    for n in range(L.ends.shape[0]):
        k = index(n)
        i, j = L.ends[k, 0], L.ends[k, 1]
        r0, r1 = vec3(S.x0, i) - vec3(S.x0, j), vec3(C.x, i) - vec3(C.x, j)
        mean_force(L, S, k, r0, r1, dt)
    if J.particles.shape[0] > 0:
        turn_forces(C, J, P, S.middle, S.v)
        for n in range(J.particles.shape[0]):
            joint_stiffness(J, P, S, n, dt)


@kernel
def mean_force(L, S, k, r0, r1, dt):
    """Force of link k over a step from r0 to r1, and its derivative."""
    d0, d1, rest, K = norm(r0), norm(r1), L.length[k], L.stiffness[k]
    both, change, r = d0 + d1, d1 - d0, 0.5 * (r0 + r1)
    p0, p1, share = d0 - rest, d1 - rest, 1.0
    if L.slack[k] != 0:
        q0, q1 = max(p0, 0.0), max(p1, 0.0)
        share = 1.0 if p0 > 0.0 and p1 > 0.0 else 0.0 if p0 <= 0.0 and p1 <= 0.0 else (q1 - q0) / change
        p0, p1 = q0, q1
    # (V₁ - V₀) / (½(d₁² - d₀²)) with V = ½K(d - l)²; the damper's work is -c Δd²/dt.
    scale = (K * share * (p0 + p1) + 2.0 * L.damping[k] * change / dt) / both
    slope = (K * share + 2.0 * L.damping[k] / dt - scale) / both
    if L.slack[k] != 0 and (share == 0.0 or scale < 0.0):
        scale, slope = 0.0, 0.0
    put_vec3(L.force, k, -scale * r)
    # Symmetric: the direction after the step is taken for that of the mean, whose product with it is not symmetric.
    length = norm(r)
    along, across = max(slope, 0.0) * length, max(0.5 * scale, 0.0)
    u = (1.0 / max(length, 1e-300)) * r
    put_block(S.link, k, across + along * u.x * u.x, across + along * u.y * u.y, across + along * u.z * u.z,
              along * u.y * u.z, along * u.x * u.z, along * u.x * u.y)  # fmt: skip


@kernel
def put_block(a, k, xx, yy, zz, yz, xz, xy):
    """Store a symmetric block."""
    a[k, 0], a[k, 1], a[k, 2], a[k, 3], a[k, 4], a[k, 5] = xx, yy, zz, yz, xz, xy


@outlined
def joint_stiffness(J, P, S, k, dt):
    """Stiffness of servo, friction and limits along the gradient of an angle."""
    a, b, c = J.particles[k, 0], J.particles[k, 1], J.particles[k, 2]
    r1, r3 = vec3(S.middle, a) - vec3(S.middle, b), vec3(S.middle, c) - vec3(S.middle, b)
    n = vec3(P.normal, J.plane[k]) if J.plane[k] >= 0 else cross(r1, r3)
    n = (1.0 / max(norm(n), 1e-300)) * n
    p1, p3 = r1 - (n @ r1) * n, r3 - (n @ r3) * n
    g1, g3 = (1.0 / (p1 @ p1)) * cross(n, p1), (-1.0 / (p3 @ p3)) * cross(n, p3)
    put_vec3(S.gradient, 3 * k, g1)
    put_vec3(S.gradient, 3 * k + 1, -(g1 + g3))
    put_vec3(S.gradient, 3 * k + 2, g3)
    beyond = J.angle[k] > J.upper[k] or J.angle[k] < J.lower[k]
    servo = 0.5 * J.proportional[k] + J.derivative[k] / dt if abs(J.motor[k]) < J.max_torque[k] else 0.0
    S.joint[k] = servo + J.friction[k] / dt + (0.5 * J.limit_stiffness[k] + J.limit_damping[k] / dt if beyond else 0.0)


@outlined
def evaluate_residuals(C, L, J, P, F, S, dt):
    """S.right: forces less mass times acceleration, zero for held particles; S.diagonal: blocks of the matrix."""
    for n in range(C.x.shape[0]):
        i = index(n)
        if C.inverse_mass[i] == 0.0:
            put_vec3(S.right, i, Vec3(0.0, 0.0, 0.0))
            put_block(S.diagonal, i, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0)
            continue
        m = 2.0 * C.mass[i] / dt
        put_block(S.diagonal, i, m / dt, m / dt, m / dt, 0.0, 0.0, 0.0)
        f = gathered_force(C, L, J, P, i) + vec3(S.load, i) - m * (vec3(S.v, i) - vec3(S.v0, i))
        if F.kind[0] > RESTITUTION:
            push, normal, slope = mean_floor_force(C, F, S, i)
            f = f + push * normal
            put_vec3(C.floor_force, i, push * normal)
            if push > 0.0:
                add_outer(S.diagonal, i, slope + F.numbers[DAMPING] / dt, normal)
        for q in range(L.start[i], L.start[i + index(1)]):
            k = L.incident[q]
            k = index(k if k >= 0 else -1 - k)
            for c in range(6):
                S.diagonal[i, c] += S.link[k, c]
        if J.particles.shape[0] > 0:
            add_joint_diagonal(C, J, P, S, i, dt)
        put_vec3(S.right, i, f)


@outlined
def mean_floor_force(C, F, S, i):
    """Normal force of a compliant floor over a step, by the discrete gradient of its energy (of a plastic one at the end), and slope."""
    stiffness = F.numbers[STIFFNESS]
    if F.kind[0] == PLASTIC:
        push, n = compliant_force(F, vec3(C.x, i), C.radius[i], vec3(S.v, i), False)
        return push, n, stiffness
    before, _ = surface_gap(F, vec3(S.x0, i))
    after, n = surface_gap(F, vec3(C.x, i))
    p0, p1 = max(C.radius[i] - before, 0.0), max(C.radius[i] - after, 0.0)
    share = 1.0 if p0 > 0.0 and p1 > 0.0 else 0.0 if p0 + p1 == 0.0 else (p1 - p0) / (before - after)
    push = 0.5 * stiffness * share * (p0 + p1) - share * F.numbers[DAMPING] * (n @ vec3(S.v, i))
    return max(push, 0.0), n, 0.5 * stiffness


@outlined
def add_joint_diagonal(C, J, P, S, i, dt):
    """Add the stiffness of joints and planes at particle i to its block."""
    for q in range(J.start[i], J.start[i + index(1)]):
        k = J.incident[q]
        add_outer(S.diagonal, i, S.joint[k // 3], vec3(S.gradient, k))
    for q in range(P.at[i], P.at[i + index(1)]):
        for p in range(P.normal.shape[0]):
            if P.start[p] <= P.incident[q] < P.start[p + 1]:
                add_outer(S.diagonal, i, C.mass[i] * (0.5 * P.stiffness[p] + P.damping[p] / dt), vec3(P.normal, p))


@kernel
def add_outer(a, i, s, n):
    """Add s n nᵀ to a symmetric block."""
    a[i, 0] += s * n.x * n.x
    a[i, 1] += s * n.y * n.y
    a[i, 2] += s * n.z * n.z
    a[i, 3] += s * n.y * n.z
    a[i, 4] += s * n.x * n.z
    a[i, 5] += s * n.x * n.y


@outlined
def end_step(C, L, J, P, F, S, dt):
    """Velocities after the step from the forces at the solution, then impacts and friction of the floor."""
    evaluate_forces(C, L, J, P, S, dt)
    for n in range(C.x.shape[0]):
        i = index(n)
        f = gathered_force(C, L, J, P, i)
        if C.inverse_mass[i] == 0.0:
            put_vec3(C.force, i, f)
            put_vec3(C.impulse, i, vec3(C.impulse, i) + dt * f)
            continue
        if C.options[KEEP_FORCES] != 0:
            put_vec3(C.force, i, f)
        f = f + vec3(S.load, i)
        if F.kind[0] > RESTITUTION:
            f = f + vec3(C.floor_force, i)
            if F.kind[0] == PLASTIC:  # sinkage at the solution, not at positions on the way to it
                compliant_force(F, vec3(C.x, i), C.radius[i], vec3(S.v, i), True)
        v = vec3(S.v0, i) + (dt * C.inverse_mass[i]) * f
        put_vec3(C.v, i, v)
        if F.kind[0] != NO_FLOOR:
            meet_floor(C, F, S, i, dt)


@outlined
def meet_floor(C, F, S, i, dt):
    """Impact on a floor with restitution, friction on every floor, after a step without them."""
    x, v, per_mass = vec3(C.x, i), vec3(C.v, i), C.inverse_mass[i]
    gap, n = surface_gap(F, x)
    gap -= C.radius[i]
    closing = n @ v
    if F.kind[0] == RESTITUTION:
        put_vec3(C.floor_force, i, Vec3(0.0, 0.0, 0.0))
        if gap >= 0.0 or closing >= 0.0:
            return
        rests = closing > RESTING * (closing - n @ vec3(S.v0, i))
        leaving = 0.0 if rests else -F.numbers[BOUNCE] * closing
        after = rubbed(F, v - closing * n, leaving - closing) + leaving * n
        x = x + ((0.0 if rests else -F.numbers[BOUNCE] * gap) - gap) * n
    else:
        push = dt * per_mass * (n @ vec3(C.floor_force, i))
        if push == 0.0:
            return
        after = rubbed(F, v - closing * n, push) + closing * n
    slip = after - v
    slip = slip - (n @ slip) * n
    put_vec3(C.x, i, x + (0.5 * dt) * slip)
    put_vec3(C.v, i, after)
    put_vec3(C.floor_force, i, vec3(C.floor_force, i) + (1.0 / (per_mass * dt)) * (after - v))
