"""What is unknown when states are given, pair by pair: forces it stands for, and what is to vanish for it.

The unknowns of a pair are pushes of what bears and, along the plane, forces of what sticks or the part of friction across its
direction; the part along it is friction times the push.
"""

from __future__ import annotations

from brachiate.compiled import index, kernel
from brachiate.contact.arrays import BLOCK, FROZEN, PAIRS, WIDTH
from brachiate.contact.solver.contact_law import (
    CORNER,
    EDGE,
    FACE,
    NO_LENGTH,
    NONE,
    SLIPS,
    Parts,
    corner,
    from_centre,
    full,
    length,
    next_corner,
    parts,
    put_parts,
    rubbing,
    sliding_ease,
    slipping,
)
from brachiate.spatial import Vec3, cross, four, norm

NOTHING = Vec3(0.0, 0.0, 0.0)
NUDGE = 1e-7  # [m] by which a centre of pressure is moved to see how the length of friction changes


@kernel
def place(p, c):
    """Where column or row c of pair p is in its blocks."""
    return BLOCK * p + WIDTH * c


@kernel
def put_test(P, p, r, a):
    """Note what of the velocities of pair p equation r is about."""
    at, rows = BLOCK * p + r, P.at[p + 1] - P.at[p]
    P.test[at], P.test[at + WIDTH], P.test[at + 2 * WIDTH] = a.along.x, a.along.y, a.normal.x
    if rows == 5:
        P.test[at + 3 * WIDTH], P.test[at + 4 * WIDTH] = a.normal.z, a.along.z
    elif rows == 6:
        P.test[at + 3 * WIDTH], P.test[at + 4 * WIDTH], P.test[at + 5 * WIDTH] = a.normal.y, a.normal.z, a.along.z


@kernel
def put_both(P, p, c, a):
    """An unknown force of a sticking pair, and the velocity that it is to make vanish."""
    put_parts(P.basis, place(p, c), P.at[p + 1] - P.at[p], a)
    put_test(P, p, c, a)
    for r in range(WIDTH):
        P.own[place(p, c) + r] = 0.0


@kernel
def tested(P, p, x, at, low):
    """Four equations of pair p from equation ``low`` on, with its velocities in x from that place on."""
    test, rows = BLOCK * p + low, P.at[p + 1] - P.at[p]
    a = x[index(at)] * four(P.test, test)
    for i in range(1, rows):
        a = a + x[index(at + i)] * four(P.test, test + WIDTH * i)
    return a


@kernel
def bearing(P, p):
    """How many pushes are unknown."""
    return 0 if P.area[p] == NONE else 3 if P.area[p] == FACE else 2 if P.area[p] < CORNER else 1


@kernel
def push_of(P, p, c):
    """Normal forces of the pair's unknown push c."""
    area = P.area[p]
    if area == FACE:
        return Vec3(1.0 if c == 0 else 0.0, 1.0 if c == 1 else 0.0, 1.0 if c == 2 else 0.0)
    if area >= CORNER:
        return corner(P, p, area - CORNER)
    return corner(P, p, area - EDGE if c == 0 else next_corner(P, p, area - EDGE))


@kernel
def describe_sticking(P, p):
    """Forces and velocities of the unknowns of a pair that sticks; returns how many."""
    n = bearing(P, p)
    for c in range(n):
        put_both(P, p, c, Parts(NOTHING, push_of(P, p, c)))
    on_point = P.area[p] >= CORNER
    d = push_of(P, p, 0) if on_point else NOTHING
    put_both(P, p, n, Parts(Vec3(1.0, 0.0, -d.y), NOTHING))
    put_both(P, p, n + 1, Parts(Vec3(0.0, 1.0, -d.z), NOTHING))
    if on_point:
        return n + 2
    put_both(P, p, n + 2, Parts(Vec3(0.0, 0.0, 1.0), NOTHING))
    return n + 3


@kernel
def across(h, third):
    """Two unit vectors across h, or one if there is no third direction."""
    if not third:
        return Vec3(-h.y, h.x, 0.0), NOTHING
    x, y, z = abs(h.x), abs(h.y), abs(h.z)
    axis = Vec3(1.0, 0.0, 0.0) if x <= y and x <= z else Vec3(0.0, 1.0, 0.0) if y <= z else Vec3(0.0, 0.0, 1.0)
    one = cross(h, axis)
    one = (1.0 / norm(one)) * one
    return one, cross(h, one)


@kernel
def length_slope(P, p, x, y):
    """How the length l changes with the centre of pressure."""
    l = P.centre[p, 2]
    return (length(P, p, x + NUDGE, y) - l) / NUDGE, (length(P, p, x, y + NUDGE) - l) / NUDGE


@kernel
def describe_slipping(P, p):
    """Forces and velocities of the unknowns of a pair that slips; returns how many.

    Friction is f' = R a/|a| with a = f' - s'/g and R = friction times push. A push takes friction with it, against
    the slipping; it also moves the centre of pressure, so friction's moment and what is called slipping change. Across a,
    δs + g (|a|/R - 1) δf = -g |a|/R f: the right-hand side is left in z.
    """
    rows, n = P.at[p + 1] - P.at[p], bearing(P, p)
    u, w = parts(P, P.u, p), parts(P, P.w, p)
    push, limit, g = w.normal.x, P.friction[p] * w.normal.x, sliding_ease(P, p)
    x, y, third = P.centre[p, 0], P.centre[p, 1], P.centre[p, 2] > NO_LENGTH
    f, s = rubbing(P, p, w.along), slipping(P, p, u.along)
    slope_x, slope_y = length_slope(P, p, x, y) if third and n > 1 and not P.count[FROZEN] else (0.0, 0.0)
    a = g * f - s
    size = norm(a)
    h = (1.0 / size) * a if size > 0.0 else Vec3(1.0, 0.0, 0.0)
    one, other = across(h, third)
    ratio = size / (g * limit) if limit > 0.0 else 1.0
    rubbed = limit > 0.0
    across_count = 0 if not rubbed else 2 if third else 1
    for c in range(n):
        d = push_of(P, p, c)
        cx, cy = -(d.z + x * d.x) / push, (d.y - y * d.x) / push
        longer = slope_x * cx + slope_y * cy
        along = from_centre(P, p, (P.friction[p] * d.x) * h)
        put_parts(P.basis, place(p, c), rows, Parts(along + Vec3(0.0, 0.0, cx * f.y - cy * f.x + longer * f.z), d))
        put_test(P, p, c, Parts(NOTHING, d))
        for r in range(n):
            P.own[place(p, r) + c] = 0.0
        drift = u.along.z * Vec3(-cy, cx, longer)
        P.own[place(p, n) + c], P.own[place(p, n + 1) + c] = one @ drift, other @ drift
    for c in range(across_count):
        t = one if c == 0 else other
        side = Parts(from_centre(P, p, t), NOTHING)
        put_parts(P.basis, place(p, n + c), rows, side)
        put_test(P, p, n + c, side)
        for r in range(n + 2):
            P.own[place(p, r) + n + c] = 0.0
        P.own[place(p, n + c) + n + c] = g * max(ratio - 1.0, 0.0)
        P.z[P.first[p] + n + c] = -g * max(ratio, 1.0) * (t @ f)
    return n + across_count


@kernel
def describe(P):
    """Unknowns of all pairs at the present forces and velocities; returns how many there are."""
    unknowns = 0
    for p in range(P.count[PAIRS]):
        P.first[p], P.plain[p] = unknowns, 0
        if P.area[p] == NONE:
            continue
        if P.slip[p] == SLIPS:
            unknowns += describe_slipping(P, p)
        elif P.area[p] == full(P, p):
            P.plain[p] = 1
            unknowns += P.at[p + 1] - P.at[p]
        else:
            unknowns += describe_sticking(P, p)
    P.first[P.count[PAIRS]] = unknowns
    return unknowns
