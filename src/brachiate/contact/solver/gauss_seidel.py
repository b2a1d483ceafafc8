"""Block Gauss-Seidel: the contact law solved for one contact with the forces of all others fixed, and sweeps of that over all contacts."""

from __future__ import annotations

import math
from typing import NamedTuple

from brachiate.compiled import by_address, kernel
from brachiate.contact.arrays import GAUSS_SEIDEL_SWEEPS, NUM_CONTACTS, STRIDE, open_problem
from brachiate.contact.solver.contact_law import (
    CORNER,
    EDGE,
    FACE,
    MIN_TORSION_LENGTH,
    OPEN,
    SLIPPING,
    STICKING,
    ContactVector,
    add_row_response,
    contact_vector,
    corner_wrench,
    distance_outside,
    next_corner,
    put_contact_vector,
    tangential_wrench,
    update_center,
    update_velocities,
)
from brachiate.contact.solver.search_work import add_work, product_work
from brachiate.model.status import OK
from brachiate.spatial import Sym3, Vec3, cross, norm, trace

SPEED_ROUND_OFF = 1e-12  # of the largest corner speed: not an approach
SINGULAR_SINE2 = 1e-13  # squared sine below which the responses of two corners are parallel
MAX_NEWTON_STEPS = 30
REGULARIZATION = 1e-13  # of the trace, added to the matrix of friction


class LocalDelassus(NamedTuple):
    """Block of one contact of the Delassus matrix: normal and tangential part, and response of x, y and torsion to normal forces."""

    normal: Sym3
    tangential: Sym3
    x: Vec3
    y: Vec3
    torsional: Vec3


@kernel
def local_delassus(problem, p):
    """Block of contact p of the Delassus matrix; zero where a segment or a point has no row."""
    stride, rows = problem.count[STRIDE], problem.row_start[p + 1] - problem.row_start[p]
    a = problem.row_start[p] * stride + problem.row_start[p]
    if rows == 1:
        none, zero = Vec3(0.0, 0.0, 0.0), Sym3(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
        return LocalDelassus(Sym3(problem.G[a], 0.0, 0.0, 0.0, 0.0, 0.0), zero, none, none, none)
    b, c = a + stride, a + 2 * stride
    G, none = problem.G, Vec3(0.0, 0.0, 0.0)
    if rows == 3:
        tangential = Sym3(G[a], G[a + 1], 0.0, G[b + 1], 0.0, 0.0)
        return LocalDelassus(Sym3(G[c + 2], 0.0, 0.0, 0.0, 0.0, 0.0), tangential, Vec3(G[a + 2], 0.0, 0.0), Vec3(G[b + 2], 0.0, 0.0), none)
    d = c + stride
    e = d + stride
    if rows == 5:
        tangential = Sym3(G[a], G[a + 1], G[a + 4], G[b + 1], G[b + 4], G[e + 4])
        normal = Sym3(G[c + 2], 0.0, G[c + 3], 0.0, 0.0, G[d + 3])
        return LocalDelassus(
            normal, tangential, Vec3(G[a + 2], 0.0, G[a + 3]), Vec3(G[b + 2], 0.0, G[b + 3]), Vec3(G[e + 2], 0.0, G[e + 3])
        )
    f = e + stride
    tangential = Sym3(G[a], G[a + 1], G[a + 5], G[b + 1], G[b + 5], G[f + 5])
    normal = Sym3(G[c + 2], G[c + 3], G[c + 4], G[d + 3], G[d + 4], G[e + 4])
    x, y, torsional = Vec3(G[a + 2], G[a + 3], G[a + 4]), Vec3(G[b + 2], G[b + 3], G[b + 4]), Vec3(G[f + 2], G[f + 3], G[f + 4])
    return LocalDelassus(normal, tangential, x, y, torsional)


@kernel
def solve_symmetric(a, b):
    """x of a x = b for a symmetric 3×3 matrix; NaN if it is singular."""
    x, y, z = Vec3(a.xx, a.xy, a.xz), Vec3(a.xy, a.yy, a.yz), Vec3(a.xz, a.yz, a.zz)
    yz, zx, xy = cross(y, z), cross(z, x), cross(x, y)
    r = 1.0 / (x @ yz)
    return Vec3(
        r * (yz.x * b.x + zx.x * b.y + xy.x * b.z), r * (yz.y * b.x + zx.y * b.y + xy.y * b.z), r * (yz.z * b.x + zx.z * b.y + xy.z * b.z)
    )


@kernel
def fastest_approach(problem, p, u, one, other):
    """Normal speed of the fastest approaching corner besides two that rest; zero if none approaches."""
    worst = 0.0
    for j in range(problem.corners[p]):
        if j != one and j != other:
            worst = min(worst, corner_wrench(problem, p, j) @ u)
    return worst


@kernel
def corner_support(problem, p, G, b, j):
    """Normal force at corner j that brings it to rest."""
    d = corner_wrench(problem, p, j)
    g = d @ (G @ d)
    return -(d @ b) / g * d if g > 0.0 else Vec3(-1.0, 0.0, 0.0)


@kernel
def edge_support(problem, p, G, b, j):
    """Normal forces at both ends of edge j that bring them to rest; f_z < 0 if they are not both positive."""
    d, e = corner_wrench(problem, p, j), corner_wrench(problem, p, next_corner(problem, p, j))
    gd, ge = G @ d, G @ e
    dd, de, ee = d @ gd, d @ ge, e @ ge
    whole = dd * ee - de * de
    if whole <= SINGULAR_SINE2 * dd * ee:
        return Vec3(-1.0, 0.0, 0.0)
    x, y = (de * (e @ b) - ee * (d @ b)) / whole, (de * (d @ b) - dd * (e @ b)) / whole
    return x * d + y * e if x >= 0.0 and y >= 0.0 else Vec3(-1.0, 0.0, 0.0)


@kernel
def solve_normal(problem, p, G, b):
    """Normal mode and normal forces that satisfy the Signorini condition: nothing, the face, one of its edges, or one of its corners.

    Of several candidates that fail by round-off, the one that fails least is taken.
    """
    k, scale = problem.corners[p], 0.0
    for j in range(k):
        scale = max(scale, abs(corner_wrench(problem, p, j) @ b))
    tolerance = -SPEED_ROUND_OFF * scale
    if fastest_approach(problem, p, b, -1, -1) >= tolerance:
        return OPEN, Vec3(0.0, 0.0, 0.0)
    if k >= 3:
        n = solve_symmetric(G, -b)
        if n.x > 0.0 and distance_outside(problem, p, -n.z / n.x, n.y / n.x) == 0.0:
            return FACE, n
    mode, best, best_speed = OPEN, Vec3(0.0, 0.0, 0.0), -math.inf
    for j in range(k if k >= 3 else k - 1):
        n = edge_support(problem, p, G, b, j)
        if n.x > 0.0:
            worst = fastest_approach(problem, p, b + G @ n, j, next_corner(problem, p, j))
            if worst > best_speed:
                mode, best, best_speed = EDGE + j, n, worst
            if worst >= tolerance:
                return mode, best
    for j in range(k):
        n = corner_support(problem, p, G, b, j)
        if n.x > 0.0:
            worst = fastest_approach(problem, p, b + G @ n, j, j)
            if worst > best_speed:
                mode, best, best_speed = CORNER + j, n, worst
            if worst >= tolerance:
                break
    return mode, best


@kernel
def add_diagonal(a, x):
    """A symmetric matrix with x added to its diagonal."""
    return Sym3(a.xx + x, a.xy, a.xz, a.yy + x, a.yz, a.zz + x)


@kernel
def solve_friction_ball(G, b, stick, slide):
    """(f', tangential mode): G f + b = 0 if |f| ≤ ``stick``, else f of norm ``slide`` opposite to the resulting slip.

    The latter is a secular equation, |f(x)| = slide with (G + x) f = -b; 1/|f| is nearly linear in x, so Newton needs few steps.
    """
    f = solve_symmetric(G, -b)
    size = norm(f)
    if size <= stick:
        return f, STICKING
    if slide <= 0.0:
        return Vec3(0.0, 0.0, 0.0), SLIPPING
    x = 0.0
    for _ in range(MAX_NEWTON_STEPS):
        if abs(size - slide) <= 1e-13 * slide:
            break
        x += size * size / (f @ solve_symmetric(add_diagonal(G, x), f)) * (size - slide) / slide
        f = solve_symmetric(add_diagonal(G, x), -b)
        size = norm(f)
    return (slide / size) * f, SLIPPING


@kernel
def solve_friction(problem, p, G, b, normal_force):
    """Friction at the center of pressure, and the tangential mode."""
    slide, stick = (
        problem.friction[p] * normal_force,
        (problem.static_friction[p] if problem.static_allowed[p] else problem.friction[p]) * normal_force,
    )
    x, y, l = problem.center[p, 0], problem.center[p, 1], problem.center[p, 2]
    if l <= MIN_TORSION_LENGTH:
        l = 0.0
    ax, ay, az = G.xx - y * G.xz, G.xy - y * G.yz, G.xz - y * G.zz
    by, bz = G.yy + x * G.yz, G.yz + x * G.zz
    H = Sym3(ax - y * az, ay + x * az, l * az, by + x * bz, l * bz, l * l * G.zz)
    if l == 0.0:
        H = Sym3(H.xx, H.xy, 0.0, H.yy, 0.0, 1.0)
    return solve_friction_ball(
        add_diagonal(H, REGULARIZATION * trace(H) + 1e-200), Vec3(b.x - b.z * y, b.y + b.z * x, l * b.z), stick, slide
    )


@kernel
def solve_contact(problem, p, inner):
    """Forces of one contact that satisfy the law with all others fixed: normal and tangential part in turn, ``inner`` times."""
    G = local_delassus(problem, p)
    u, w = contact_vector(problem, problem.u, p), contact_vector(problem, problem.w, p)
    n, t = w.normal, w.tangential
    # velocities without its own forces
    b = u.normal - G.normal @ n - t.x * G.x - t.y * G.y - t.z * G.torsional
    c = u.tangential - G.tangential @ t - Vec3(G.x @ n, G.y @ n, G.torsional @ n)
    mode, slip = OPEN, SLIPPING
    for _ in range(inner):
        mode, n = solve_normal(problem, p, G.normal, b + t.x * G.x + t.y * G.y + t.z * G.torsional)
        if mode == OPEN:
            t, slip = Vec3(0.0, 0.0, 0.0), SLIPPING
            break
        update_center(problem, p, ContactVector(t, n))
        f, slip = solve_friction(problem, p, G.tangential, c + Vec3(G.x @ n, G.y @ n, G.torsional @ n), n.x)
        t = tangential_wrench(problem, p, f)
    problem.normal_mode[p], problem.tangential_mode[p] = mode, slip
    return ContactVector(t, n)


@kernel
def sweep(problem, relaxation, inner):
    """Solve contact after contact, apply the share ``relaxation`` of each change, and update the velocities."""
    for p in range(problem.count[NUM_CONTACTS]):
        at, rows = problem.row_start[p], problem.row_start[p + 1] - problem.row_start[p]
        put_contact_vector(problem.solution, at, rows, solve_contact(problem, p, inner))
        for r in range(at, at + rows):
            change = relaxation * (problem.solution[r] - problem.w[r])
            if change != 0.0:
                problem.w[r] += change
                add_row_response(problem, r, change)


@by_address
def gauss_seidel(key, problem_key, relaxation, times):
    """Gauss-Seidel sweeps with relaxation. With ``times`` = 0 one sweep that changes only the modes, to those that fit the forces.

    Full steps are fast and solve both parts of a contact twice in turn, but may cycle. Relaxed steps solve them once and do not: at their
    fixed points the law is satisfied.
    """
    (problem,) = open_problem(problem_key)
    problem.counters[GAUSS_SEIDEL_SWEEPS] += times
    add_work(problem, (times + 1) * product_work(problem))
    update_velocities(problem)
    for _ in range(max(times, 1)):
        sweep(problem, relaxation, 2 if relaxation == 1.0 else 1)
    return OK
