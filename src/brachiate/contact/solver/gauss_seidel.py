"""The law solved for one pair while all others keep their forces, and sweeps of that over all pairs (block Gauss-Seidel)."""

from __future__ import annotations

import math
from typing import NamedTuple

from brachiate.compiled import far, kernel
from brachiate.contact.arrays import PAIRS, STRIDE, SWEEPS, open_problem
from brachiate.contact.solver.contact_law import (
    CORNER,
    EDGE,
    FACE,
    NO_LENGTH,
    NONE,
    SLIPS,
    STICKS,
    Parts,
    add_row,
    corner,
    from_centre,
    move,
    next_corner,
    outside,
    parts,
    put_parts,
    settle_centre,
)
from brachiate.model.arrays import OK
from brachiate.spatial import Sym3, Vec3, cross, norm, trace

ROUND_OFF = 1e-12  # of the largest corner speed: not seen as moving into each other
ONE_LINE = 1e-13  # square of the sine at which two corners do the same
NEWTONS = 30
SINGULAR = 1e-13  # added to what friction meets, of its trace


class Own(NamedTuple):
    """A pair's own part of G: normal and tangential rows, and how tangential ones (x, y, turn) answer to normal forces."""

    normal: Sym3
    along: Sym3
    x: Vec3
    y: Vec3
    turn: Vec3


@kernel
def own_part(P, p):
    """The pair's own part of G; zero for what a segment or a point does not have."""
    stride, rows = P.count[STRIDE], P.at[p + 1] - P.at[p]
    a = P.at[p] * stride + P.at[p]
    if rows == 1:
        none, flat = Vec3(0.0, 0.0, 0.0), Sym3(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
        return Own(Sym3(P.G[a], 0.0, 0.0, 0.0, 0.0, 0.0), flat, none, none, none)
    b, c = a + stride, a + 2 * stride
    G, none = P.G, Vec3(0.0, 0.0, 0.0)
    if rows == 3:
        along = Sym3(G[a], G[a + 1], 0.0, G[b + 1], 0.0, 0.0)
        return Own(Sym3(G[c + 2], 0.0, 0.0, 0.0, 0.0, 0.0), along, Vec3(G[a + 2], 0.0, 0.0), Vec3(G[b + 2], 0.0, 0.0), none)
    d = c + stride
    e = d + stride
    if rows == 5:
        along = Sym3(G[a], G[a + 1], G[a + 4], G[b + 1], G[b + 4], G[e + 4])
        normal = Sym3(G[c + 2], 0.0, G[c + 3], 0.0, 0.0, G[d + 3])
        return Own(normal, along, Vec3(G[a + 2], 0.0, G[a + 3]), Vec3(G[b + 2], 0.0, G[b + 3]), Vec3(G[e + 2], 0.0, G[e + 3]))
    f = e + stride
    along = Sym3(G[a], G[a + 1], G[a + 5], G[b + 1], G[b + 5], G[f + 5])
    normal = Sym3(G[c + 2], G[c + 3], G[c + 4], G[d + 3], G[d + 4], G[e + 4])
    x, y, turn = Vec3(G[a + 2], G[a + 3], G[a + 4]), Vec3(G[b + 2], G[b + 3], G[b + 4]), Vec3(G[f + 2], G[f + 3], G[f + 4])
    return Own(normal, along, x, y, turn)


@kernel
def solved(a, b):
    """x of a x = b for a symmetric matrix; not a number where it is singular."""
    x, y, z = Vec3(a.xx, a.xy, a.xz), Vec3(a.xy, a.yy, a.yz), Vec3(a.xz, a.yz, a.zz)
    yz, zx, xy = cross(y, z), cross(z, x), cross(x, y)
    r = 1.0 / (x @ yz)
    return Vec3(
        r * (yz.x * b.x + zx.x * b.y + xy.x * b.z), r * (yz.y * b.x + zx.y * b.y + xy.y * b.z), r * (yz.z * b.x + zx.z * b.y + xy.z * b.z)
    )


@kernel
def deepest(P, p, u, one, other):
    """How fast the worst corner moves in, those two left out (they rest); zero if none does."""
    worst = 0.0
    for j in range(P.corners[p]):
        if j != one and j != other:
            worst = min(worst, corner(P, p, j) @ u)
    return worst


@kernel
def on_corner(P, p, G, b, j):
    """The push at corner j that lets it rest."""
    d = corner(P, p, j)
    g = d @ (G @ d)
    return -(d @ b) / g * d if g > 0.0 else Vec3(-1.0, 0.0, 0.0)


@kernel
def on_edge(P, p, G, b, j):
    """The pushes at both ends of edge j that let them rest; a pull (f_z < 0) if they are not both pushes."""
    d, e = corner(P, p, j), corner(P, p, next_corner(P, p, j))
    gd, ge = G @ d, G @ e
    dd, de, ee = d @ gd, d @ ge, e @ ge
    whole = dd * ee - de * de
    if whole <= ONE_LINE * dd * ee:
        return Vec3(-1.0, 0.0, 0.0)
    x, y = (de * (e @ b) - ee * (d @ b)) / whole, (de * (d @ b) - dd * (e @ b)) / whole
    return x * d + y * e if x >= 0.0 and y >= 0.0 else Vec3(-1.0, 0.0, 0.0)


@kernel
def normal_forces(P, p, G, b):
    """What bears, and its normal forces: nothing, the face, one of its edges, one of its corners, whichever holds the law.

    Of several candidates that fail by round-off the one that fails least is taken.
    """
    k, scale = P.corners[p], 0.0
    for j in range(k):
        scale = max(scale, abs(corner(P, p, j) @ b))
    slack = -ROUND_OFF * scale
    if deepest(P, p, b, -1, -1) >= slack:
        return NONE, Vec3(0.0, 0.0, 0.0)
    if k >= 3:
        n = solved(G, -b)
        if n.x > 0.0 and outside(P, p, -n.z / n.x, n.y / n.x) == 0.0:
            return FACE, n
    area, best, least = NONE, Vec3(0.0, 0.0, 0.0), -math.inf
    for j in range(k if k >= 3 else k - 1):
        n = on_edge(P, p, G, b, j)
        if n.x > 0.0:
            worst = deepest(P, p, b + G @ n, j, next_corner(P, p, j))
            if worst > least:
                area, best, least = EDGE + j, n, worst
            if worst >= slack:
                return area, best
    for j in range(k):
        n = on_corner(P, p, G, b, j)
        if n.x > 0.0:
            worst = deepest(P, p, b + G @ n, j, j)
            if worst > least:
                area, best, least = CORNER + j, n, worst
            if worst >= slack:
                break
    return area, best


@kernel
def raised(a, x):
    """A symmetric matrix with x added to its diagonal."""
    return Sym3(a.xx + x, a.xy, a.xz, a.yy + x, a.yz, a.zz + x)


@kernel
def least_slip(G, b, stick, slide):
    """(f', whether it slips): G f + b = 0 if that is no more than ``stick``, else f of size ``slide`` against what slips then.

    The latter is a secular equation, |f(x)| = slide with (G + x) f = -b; 1/|f| is nearly linear in x, so Newton takes few steps.
    """
    f = solved(G, -b)
    size = norm(f)
    if size <= stick:
        return f, STICKS
    if slide <= 0.0:
        return Vec3(0.0, 0.0, 0.0), SLIPS
    x = 0.0
    for _ in range(NEWTONS):
        if abs(size - slide) <= 1e-13 * slide:
            break
        x += size * size / (f @ solved(raised(G, x), f)) * (size - slide) / slide
        f = solved(raised(G, x), -b)
        size = norm(f)
    return (slide / size) * f, SLIPS


@kernel
def friction_forces(P, p, G, b, push):
    """Friction at the centre of pressure, and whether it slips."""
    slide, stick = P.friction[p] * push, (P.grip[p] if P.held[p] else P.friction[p]) * push
    x, y, l = P.centre[p, 0], P.centre[p, 1], P.centre[p, 2]
    if l <= NO_LENGTH:
        l = 0.0
    ax, ay, az = G.xx - y * G.xz, G.xy - y * G.yz, G.xz - y * G.zz
    by, bz = G.yy + x * G.yz, G.yz + x * G.zz
    H = Sym3(ax - y * az, ay + x * az, l * az, by + x * bz, l * bz, l * l * G.zz)
    if l == 0.0:
        H = Sym3(H.xx, H.xy, 0.0, H.yy, 0.0, 1.0)
    return least_slip(raised(H, SINGULAR * trace(H) + 1e-200), Vec3(b.x - b.z * y, b.y + b.z * x, l * b.z), stick, slide)


@kernel
def solve_pair(P, p, inner):
    """Forces of one pair that hold the law, those of all others given: normal and tangential parts in turn, so many times."""
    G = own_part(P, p)
    u, w = parts(P, P.u, p), parts(P, P.w, p)
    n, t = w.normal, w.along
    # what its rows do without its own forces
    b = u.normal - G.normal @ n - t.x * G.x - t.y * G.y - t.z * G.turn
    c = u.along - G.along @ t - Vec3(G.x @ n, G.y @ n, G.turn @ n)
    area, slip = NONE, SLIPS
    for _ in range(inner):
        area, n = normal_forces(P, p, G.normal, b + t.x * G.x + t.y * G.y + t.z * G.turn)
        if area == NONE:
            t, slip = Vec3(0.0, 0.0, 0.0), SLIPS
            break
        settle_centre(P, p, Parts(t, n))
        f, slip = friction_forces(P, p, G.along, c + Vec3(G.x @ n, G.y @ n, G.turn @ n), n.x)
        t = from_centre(P, p, f)
    P.area[p], P.slip[p] = area, slip
    return Parts(t, n)


@kernel
def sweep(P, part, inner):
    """Solve pair after pair; that part of the change is made, and velocities follow."""
    for p in range(P.count[PAIRS]):
        at, rows = P.at[p], P.at[p + 1] - P.at[p]
        put_parts(P.z, at, rows, solve_pair(P, p, inner))
        for r in range(at, at + rows):
            change = part * (P.z[r] - P.w[r])
            if change != 0.0:
                P.w[r] += change
                add_row(P, r, change)


@far
def sweeps(key, held, part, times):
    """Sweep so many times, making that part of each change. With none, once: only states change, to those that fit the forces.

    Whole changes are quick, and made with the parts of a pair solved twice in turn. Those may run in circles; partial ones with
    parts solved once do not, for where they come to rest the law holds.
    """
    (P,) = open_problem(held)
    P.path[SWEEPS] += times
    move(P)
    for _ in range(max(times, 1)):
        sweep(P, part, 2 if part == 1.0 else 1)
    return OK
