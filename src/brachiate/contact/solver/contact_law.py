"""The law of contact for one pair, and how far forces and velocities are from holding it.

Normal part: (f_z, n_x, n_y) is a sum of pushes at the corners, corners do not move into each other, and none that leaves is
pushed. Whether the whole face bears, an edge, a corner or nothing comes out of that.

Tangential part, at the centre of pressure c = (-n_y, n_x) / f_z: with f' = (f_x, f_y, m/l), where m is the moment about c, and
s' = (v_x - ω_z c_y, v_y + ω_z c_x, l ω_z), either nothing slips, s' = 0 and |f'| ≤ grip f_z, or friction works against it:
f' = -friction f_z s'/|s'|. The length l(c) is ``spin`` times the mean distance of the corners from c; it vanishes where a single
corner bears. Only a pair that stuck at the state it starts from has its grip; otherwise grip is friction, plain Coulomb.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from brachiate.compiled import kernel
from brachiate.contact.arrays import CORNERS, FROZEN, PAIRS, ROWS, STRIDE
from brachiate.spatial import Vec3, four, norm, put_four

# What of an area bears: nothing, the face, edge j (from corner j to the next) or corner j. NEW: nobody knows yet.
# A segment that bears as a whole does so on its edge 0, a point on its corner 0.
NEW, NONE, FACE, EDGE = -1, 0, 1, 2
CORNER = EDGE + CORNERS
STICKS, SLIPS = 0, 1

TOLERANCE = 1e-6  # [m/s] to which the law is held at least
AIM = 2e-7  # [m/s] to which solutions hold it, so that there is room for friction to be brought into its cone to round-off
EXACT = 1e-12  # [m/s] and to which it is held wherever that takes a step more or two
NO_LENGTH = 1e-6  # [m] below which friction has no moment
STIFF = 1e-9  # of the normal ease: what is less cannot slide
ON_EDGE = 1e-12  # sine of the angle of two corners, seen from a centre that is on the edge between them


class Parts(NamedTuple):
    """A twist (v_x, v_y, ω_z), (v_z, ω_x, ω_y) or a wrench (f_x, f_y, n_z), (f_z, n_x, n_y)."""

    along: Vec3
    normal: Vec3


@kernel
def parts(P, x, p):
    """Rows of pair p, taken apart; what a segment or a point does not have is zero."""
    at, rows = P.at[p], P.at[p + 1] - P.at[p]
    if rows == 3:
        return Parts(Vec3(x[at], x[at + 1], 0.0), Vec3(x[at + 2], 0.0, 0.0))
    if rows == 1:
        return Parts(Vec3(0.0, 0.0, 0.0), Vec3(x[at], 0.0, 0.0))
    if rows == 5:
        return Parts(Vec3(x[at], x[at + 1], x[at + 4]), Vec3(x[at + 2], 0.0, x[at + 3]))
    return Parts(Vec3(x[at], x[at + 1], x[at + 5]), Vec3(x[at + 2], x[at + 3], x[at + 4]))


@kernel
def put_parts(x, at, rows, a):
    """Store a twist or a wrench in packed rows."""
    if rows == 1:
        x[at] = a.normal.x
        return
    x[at], x[at + 1], x[at + 2] = a.along.x, a.along.y, a.normal.x
    if rows == 5:
        x[at + 3], x[at + 4] = a.normal.z, a.along.z
    elif rows == 6:
        x[at + 3], x[at + 4], x[at + 5] = a.normal.y, a.normal.z, a.along.z


@kernel
def corner(P, p, j):
    """The wrench of a unit push at corner j; times the twist it is the speed of that corner."""
    return Vec3(1.0, P.V[p, j, 1], -P.V[p, j, 0])


@kernel
def next_corner(P, p, j):
    """The corner after corner j."""
    return j + 1 if j + 1 < P.corners[p] else 0


@kernel
def full(P, p):
    """The state in which all of the area bears."""
    return FACE if P.corners[p] >= 3 else EDGE if P.corners[p] == 2 else CORNER


@kernel
def harmonic(r, q):
    """The length at a place on an edge, at distances r and q from its ends: both weighted with the distance to the other."""
    return 2.0 * r * q / (r + q) if r + q > 0.0 else 0.0


@kernel
def length(P, p, x, y):
    """l(c) = spin Σ λ_j |p_j - c| with mean-value weights λ [Floater 2003]: over edges, t = tan of half the angle they are seen under."""
    k = P.corners[p]
    if k == 1 or P.spin[p] == 0.0:
        return 0.0
    if k == 2:
        r, q = x - P.V[p, 0, 0], P.V[p, 1, 0] - x
        return P.spin[p] * harmonic(abs(r), abs(q)) if r * q > 0.0 else 0.0
    ax, ay = P.V[p, k - 1, 0] - x, P.V[p, k - 1, 1] - y
    a = math.sqrt(ax * ax + ay * ay)
    top = bottom = 0.0
    for j in range(k):
        bx, by = P.V[p, j, 0] - x, P.V[p, j, 1] - y
        b = math.sqrt(bx * bx + by * by)
        if a < NO_LENGTH or b < NO_LENGTH:
            return 0.0
        ab = a * b
        t = (ab - (ax * bx + ay * by)) / max(ax * by - ay * bx, ON_EDGE * ab + 1e-300)
        top += t
        bottom += t * (a + b) / ab
        ax, ay, a = bx, by, b
    return P.spin[p] * 2.0 * top / bottom


@kernel
def outside(P, p, x, y):
    """How far the centre of pressure is outside of the area."""
    k, out = P.corners[p], 0.0
    if k == 2:
        return max(min(P.V[p, 0, 0], P.V[p, 1, 0]) - x, x - max(P.V[p, 0, 0], P.V[p, 1, 0]), 0.0)
    for j in range(k if k > 2 else 0):
        i = next_corner(P, p, j)
        ex, ey = P.V[p, i, 0] - P.V[p, j, 0], P.V[p, i, 1] - P.V[p, j, 1]
        side = ex * (y - P.V[p, j, 1]) - ey * (x - P.V[p, j, 0])
        if side < 0.0:
            out = max(out, -side / math.sqrt(ex * ex + ey * ey))
    return out


@kernel
def drawn_in(P, p, x, y):
    """The centre of pressure on the border of the area, if it is outside of it by a hair."""
    k = P.corners[p]
    if k == 2:
        return min(max(x, min(P.V[p, 0, 0], P.V[p, 1, 0])), max(P.V[p, 0, 0], P.V[p, 1, 0])), y
    for _ in range(CORNERS):  # past a corner it is drawn to both of its edges in turn
        for j in range(k if k > 2 else 0):
            i = next_corner(P, p, j)
            ex, ey = P.V[p, i, 0] - P.V[p, j, 0], P.V[p, i, 1] - P.V[p, j, 1]
            part = min(ex * (y - P.V[p, j, 1]) - ey * (x - P.V[p, j, 0]), 0.0) / (ex * ex + ey * ey)
            x, y = x + part * ey, y - part * ex
    return x, y


@kernel
def diagonal(P, r):
    """What row r answers to its own force."""
    return P.G[r * P.count[STRIDE] + r]


@kernel
def push_row(P, p):
    """The row of a pair's push: the third, or the only one of a joint that is stopped."""
    return P.at[p] + 2 if P.at[p + 1] > P.at[p] + 1 else P.at[p]


@kernel
def normal_ease(P, p):
    """The normal speed that a unit push gives."""
    return diagonal(P, push_row(P, p))


@kernel
def sliding_ease(P, p):
    """The speed along the plane that a unit force gives, on the average; not zero where nothing can slide."""
    if P.at[p + 1] == P.at[p] + 1:  # a joint that is stopped
        return normal_ease(P, p)
    return 0.5 * (diagonal(P, P.at[p]) + diagonal(P, P.at[p] + 1)) + STIFF * normal_ease(P, p)


@kernel
def turning_ease(P, p):
    """A speed for a unit moment: geometric mean of what it turns and what a push moves."""
    most = 0.0
    for r in range(P.at[p] + 3, P.at[p + 1]):
        most = max(most, diagonal(P, r))
    return math.sqrt(most * normal_ease(P, p))


@kernel
def settle_centre(P, p, w):
    """Note where friction acts: at the centre of pressure, with the length it has there. Frozen ones stay where they are."""
    if P.corners[p] > 1 and not P.count[FROZEN] and w.normal.x > 0.0:
        x, y = -w.normal.z / w.normal.x, w.normal.y / w.normal.x
        P.centre[p, 0], P.centre[p, 1], P.centre[p, 2] = x, y, length(P, p, x, y)


@kernel
def slipping(P, p, u):
    """s': how the pair slips at the centre of pressure; (v_x, v_y, ω_z) seen from there."""
    x, y, l = P.centre[p, 0], P.centre[p, 1], P.centre[p, 2]
    return Vec3(u.x - u.z * y, u.y + u.z * x, l * u.z if l > NO_LENGTH else 0.0)


@kernel
def moment_at_centre(P, p, w):
    """The moment about the centre of pressure of a wrench along the plane."""
    return w.z - P.centre[p, 0] * w.y + P.centre[p, 1] * w.x


@kernel
def rubbing(P, p, w):
    """f': what friction does, as forces at the centre of pressure."""
    l = P.centre[p, 2]
    return Vec3(w.x, w.y, moment_at_centre(P, p, w) / l if l > NO_LENGTH else 0.0)


@kernel
def from_centre(P, p, f):
    """(f_x, f_y, n_z) of a force f' at the centre of pressure."""
    return Vec3(f.x, f.y, P.centre[p, 2] * f.z + P.centre[p, 0] * f.y - P.centre[p, 1] * f.x)


@kernel
def shortened(a, most):
    """A vector, no longer than that."""
    size = norm(a)
    return a if size <= most else (most / size) * a


@kernel
def friction_violation(P, p, f, s, push):
    """How far f' and s' are from the law of friction: its natural map, or for what sticks by its grip, grip and slipping."""
    ease = sliding_ease(P, p)
    if P.held[p] and P.slip[p] == STICKS and P.grip[p] > P.friction[p]:
        return max(norm(s), ease * (norm(f) - P.grip[p] * push))
    return ease * norm(f - shortened(f - (1.0 / ease) * s, P.friction[p] * push))


@kernel
def violation(P, p):
    """How far pair p is from the law, as a speed."""
    u, w = parts(P, P.u, p), parts(P, P.w, p)
    push, worst = w.normal.x, 0.0
    if not u.along @ u.along + u.normal @ u.normal < math.inf:
        return math.inf
    for j in range(P.corners[p]):
        worst = max(worst, -(corner(P, p, j) @ u.normal))
    if push <= 0.0:
        turn = turning_ease(P, p) * (abs(w.normal.y) + abs(w.normal.z) + abs(w.along.z))
        slide = sliding_ease(P, p) * (abs(w.along.x) + abs(w.along.y))
        return max(worst, -push * normal_ease(P, p), turn, slide)
    settle_centre(P, p, w)
    x, y = -w.normal.z / push, w.normal.y / push
    out = outside(P, p, x, y)
    if out > 0.0:
        worst = max(worst, out * push * turning_ease(P, p))
    leaving = u.normal.x + y * u.normal.y - x * u.normal.z
    worst = max(worst, min(abs(leaving), push * normal_ease(P, p)))
    if P.centre[p, 2] <= NO_LENGTH and P.corners[p] > 1:
        worst = max(worst, abs(moment_at_centre(P, p, w.along)) * turning_ease(P, p))
    return max(worst, friction_violation(P, p, rubbing(P, p, w.along), slipping(P, p, u.along), push))


@kernel
def move(P):
    """u = u0 + G w: four rows at a time, without those that have no force."""
    n, stride = P.count[ROWS], P.count[STRIDE]
    for i in range(0, n, 4):
        put_four(P.u, i, four(P.u0, i))
    for r in range(0, n - 3, 4):
        a, b, c, d = four(P.w, r)
        if a == 0.0 and b == 0.0 and c == 0.0 and d == 0.0:
            continue
        at = r * stride
        for i in range(0, n, 4):
            first = four(P.u, i) + a * four(P.G, at + i) + b * four(P.G, at + stride + i)
            put_four(P.u, i, first + c * four(P.G, at + 2 * stride + i) + d * four(P.G, at + 3 * stride + i))
    for r in range(n // 4 * 4, n):
        add_row(P, r, P.w[r])


@kernel
def add_row(P, r, f):
    """What a force f on row r does to all rows."""
    at = r * P.count[STRIDE]
    for i in range(0, P.count[ROWS], 4):
        put_four(P.u, i, four(P.u, i) + f * four(P.G, at + i))


@kernel
def residual(P):
    """The largest violation of any part of the law, as a speed; u is computed from the forces."""
    move(P)
    worst = 0.0
    for p in range(P.count[PAIRS]):
        worst = max(worst, violation(P, p))
    return worst


def state_name(area: int, slip: int) -> str:
    """The name C0 ... C7 of [DF] V of the state in which the same directions are held.

    C2, held at a centre of pressure on the border while the area turns about it, is none of ours: over an edge the area turns
    about that edge (C1, C5), over a corner about the corner (C3, C6).
    """
    if area == NONE:
        return "C7"
    which = 0 if area == FACE else 1 if area < CORNER else 2
    return (("C0", "C1", "C3"), ("C4", "C5", "C6"))[slip][which]
