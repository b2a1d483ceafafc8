"""The last resort: forces that surely exist, by maximal dissipation over cones of friction at every corner.

Minimize ½ wᵀGw + u0ᵀw, the energy left, over forces at corners within their cones. The problem is convex, so an accelerated
projected gradient finds its solution [Mazhar 2015]. No corner moves in and energy never grows; but what slips also lifts,
by friction times its speed: the price for convexity.
"""

from __future__ import annotations

import math

from brachiate.compiled import far, kernel
from brachiate.contact.arrays import CORNERS, PAIRS, ROWS, open_problem
from brachiate.contact.solver.contact_law import Parts, corner, diagonal, move, parts, put_parts
from brachiate.model.arrays import OK
from brachiate.spatial import Vec3, put_vec3, vec3

ENOUGH = 1e-6  # [m/s]
MOST = 20000


@kernel
def slot(P, which, p, j):
    """Where the force at a corner is kept: 0 those that are, 1 those before, 2 those ahead."""
    return (which * P.corners.shape[0] + p) * CORNERS + j


@kernel
def gather(P, which):
    """Wrenches of the forces at corners."""
    for p in range(P.count[PAIRS]):
        along, normal = Vec3(0.0, 0.0, 0.0), Vec3(0.0, 0.0, 0.0)
        for j in range(P.corners[p]):
            f = vec3(P.push, slot(P, which, p, j))
            along = along + Vec3(f.x, f.y, P.V[p, j, 0] * f.y - P.V[p, j, 1] * f.x)
            normal = normal + f.z * corner(P, p, j)
        put_parts(P.w, P.at[p], P.at[p + 1] - P.at[p], Parts(along, normal))


@kernel
def corner_velocity(P, p, j, u):
    """Velocity of a corner."""
    return Vec3(u.along.x - u.along.z * P.V[p, j, 1], u.along.y + u.along.z * P.V[p, j, 0], corner(P, p, j) @ u.normal)


@kernel
def corner_ease(P, p, j):
    """An upper bound of the velocity that a unit force at a corner gives there, but for what rows have in common."""
    at, rows = P.at[p], P.at[p + 1] - P.at[p]
    x, y = P.V[p, j, 0], P.V[p, j, 1]
    if rows == 1:
        return diagonal(P, at)
    ease = diagonal(P, at) + diagonal(P, at + 1) + diagonal(P, at + 2)
    if rows == 5:
        return ease + x * x * (diagonal(P, at + 3) + diagonal(P, at + 4))
    if rows == 6:
        return ease + y * y * diagonal(P, at + 3) + x * x * diagonal(P, at + 4) + (x * x + y * y) * diagonal(P, at + 5)
    return ease


@kernel
def into_cone(f, friction):
    """The nearest force within the cone of friction."""
    along = math.sqrt(f.x * f.x + f.y * f.y)
    if friction * along <= -f.z:  # first: without friction a pull is in the other cone's place, too
        return Vec3(0.0, 0.0, 0.0)
    if along <= friction * f.z:
        return f
    z = (f.z + friction * along) / (1.0 + friction * friction)
    return Vec3(friction * z / along * f.x, friction * z / along * f.y, z)


@kernel
def descend(P, steepness):
    """Go down from the forces ahead. Returns how steep it may be there, how far from still it is, and whether to slow down."""
    bend = limit = still = uphill = 0.0
    gather(P, 2)
    move(P)
    for r in range(P.count[ROWS]):
        P.best[r], P.z[r] = P.w[r], P.u[r]
    for p in range(P.count[PAIRS]):
        u = parts(P, P.u, p)
        for j in range(P.corners[p]):
            ahead, before = vec3(P.push, slot(P, 2, p, j)), vec3(P.push, slot(P, 1, p, j))
            ease = corner_ease(P, p, j)
            v = corner_velocity(P, p, j, u)
            f = into_cone(ahead - (1.0 / (steepness * ease)) * v, P.friction[p])
            put_vec3(P.push, slot(P, 0, p, j), f)
            step = f - ahead
            limit += steepness * ease * (step @ step)
            uphill -= ease * (step @ (f - before))
            rest = ahead - into_cone(ahead - (1.0 / ease) * v, P.friction[p])
            still = max(still, ease * math.sqrt(rest @ rest))
    gather(P, 0)
    move(P)
    for r in range(P.count[ROWS]):
        bend += (P.w[r] - P.best[r]) * (P.u[r] - P.z[r])
    return bend <= limit * (1.0 + 1e-9) + 1e-300, still, uphill > 0.0


@kernel
def go_ahead(P, momentum):
    """What is becomes what was; what is ahead lies beyond it."""
    for p in range(P.count[PAIRS]):
        for j in range(P.corners[p]):
            now, before = vec3(P.push, slot(P, 0, p, j)), vec3(P.push, slot(P, 1, p, j))
            put_vec3(P.push, slot(P, 2, p, j), now + momentum * (now - before))
            put_vec3(P.push, slot(P, 1, p, j), now)


@kernel
def shrink(P):
    """Take as much of the forces as leaves the least energy: never more than there was. Says whether all are numbers."""
    gain = stiffness = 0.0
    for r in range(P.count[ROWS]):
        gain -= P.w[r] * P.u0[r]
        stiffness += P.w[r] * (P.u[r] - P.u0[r])
    part = gain / stiffness if gain > 0.0 and stiffness > 0.0 else 0.0
    for r in range(P.count[ROWS]):
        P.w[r] = part * P.w[r] if part > 0.0 else 0.0
    move(P)
    return abs(gain) + abs(stiffness) < math.inf


@far
def dissipate_most(key, held, x, n):
    """Forces w and velocities u of the convex problem; the residual is how far they are from its solution, as a speed."""
    (P,) = open_problem(held)
    for i in range(P.push.shape[0]):
        P.push[i, 0] = P.push[i, 1] = P.push[i, 2] = 0.0
    steepness, theta, off = 1.0, 1.0, math.inf
    for _ in range(MOST):
        fits, off, uphill = descend(P, steepness)
        if not fits:
            steepness *= 2.0
            continue
        if off <= ENOUGH:
            break
        if uphill:
            theta = 1.0
        after = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * theta * theta))
        go_ahead(P, (theta - 1.0) / after)
        theta = after
    P.residual[0] = off if shrink(P) else math.inf
    return OK
