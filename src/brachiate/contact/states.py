"""Forces for given states: what bears rests, what sticks does not slip, what slips is rubbed against its slipping.

That is a set of equations, linear but for directions of slipping and centres of pressure: a few Newton steps. The unknowns of
a pair are pushes of what bears and, along the plane, forces of what sticks or the part of friction across its direction (the
part along it is friction times the push). Bodies that rest on many places have forces that no equation tells apart, so
every step is proximal: the diagonal is raised a little, and forces stay close to those before where nothing decides.

The factor is kept from one solution to the next. While states and nearly everything else stay the same it serves again.
"""

from __future__ import annotations

from brachiate.compiled import far, index, kernel
from brachiate.contact.factor import factor, solve_transposed
from brachiate.contact.law import (
    CORNER,
    EDGE,
    FACE,
    NO_LENGTH,
    NONE,
    SLIPS,
    STICKS,
    TOLERANCE,
    Parts,
    corner,
    from_centre,
    full,
    length,
    move,
    next_corner,
    parts,
    put_parts,
    residual,
    rubbing,
    settle_centre,
    sliding_ease,
    slipping,
)
from brachiate.contact.rooms import BLOCK, FACTORS, FROZEN, PAIRS, STRIDE, WIDTH, open_problem
from brachiate.model.rooms import OK
from brachiate.spatial import Vec3, cross, four, norm, put_four

LOOSE, TIGHT, VERY_LOOSE = 1e-4, 1e-7, 3e-2  # how much diagonals are raised: loosely a kept factor serves, tightly fewer steps do
NOTHING = Vec3(0.0, 0.0, 0.0)
KEEPS = 0.1  # a kept factor is made anew if a step leaves more than this of the residual
HOPELESS = 0.7  # states are given up if a step leaves more than this
NUDGE = 1e-7  # [m]
PATIENT = 8  # with so many steps nothing is given up before the last: residuals may rise on the way
ABSURD = 1e6  # [m/s]


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


@kernel
def note_live(P):
    """List the fours of rows in which some pair has unknowns; returns how many."""
    live, end = 0, 0
    for p in range(P.count[PAIRS]):
        if P.area[p] != NONE:
            for i in range(max(P.at[p] // 4 * 4, end), P.at[p + 1], 4):
                P.live[live], end = i, i + 4
                live += 1
    return live


@kernel
def answer_of(P, p, c, live):
    """Velocities of live rows for unknown c of pair p."""
    stride, rows = P.count[STRIDE], P.at[p + 1] - P.at[p]
    to, g, at = (P.first[p] + c) * stride, P.at[p] * stride, place(p, c)
    if P.plain[p]:
        for n in range(live):
            i = P.live[n]
            put_four(P.answer, to + i, four(P.G, g + c * stride + i))
        return
    x, y, z = P.basis[at], P.basis[at + 1], P.basis[at + 2]
    for n in range(live):
        i = P.live[n]
        put_four(P.answer, to + i, x * four(P.G, g + i) + y * four(P.G, g + stride + i) + z * four(P.G, g + 2 * stride + i))
    if rows > 3:
        g += 3 * stride
        x, y, z = P.basis[at + 3], P.basis[at + 4], P.basis[at + 5] if rows > 5 else 0.0
        last = 2 * stride if rows > 5 else 0
        for n in range(live):
            i = P.live[n]
            more = x * four(P.G, g + i) + y * four(P.G, g + stride + i) + z * four(P.G, g + last + i)
            put_four(P.answer, to + i, four(P.answer, to + i) + more)


@kernel
def meet(P, q, row):
    """What an unknown does to the equations of pair q, into its row of the matrix.

    Four at a time: those beyond the last of the pair are overwritten by the next.
    """
    source, to, count = row + P.at[q], row + P.first[q], P.first[q + 1] - P.first[q]
    for low in range(0, count, 4):
        put_four(P.factor, to + low, four(P.answer, source + low) if P.plain[q] else tested(P, q, P.answer, source, low))


@kernel
def assemble(P, unknowns, raised):
    """The transposed matrix of the equations: row c says what unknown c does to all of them. Padded to whole fours."""
    stride, padded, live = P.count[STRIDE], (unknowns + 3) // 4 * 4, note_live(P)
    for p in range(P.count[PAIRS]):
        for c in range(P.first[p + 1] - P.first[p]):
            answer_of(P, p, c, live)
            row = (P.first[p] + c) * stride
            for q in range(P.count[PAIRS]):
                meet(P, q, row)
            if not P.plain[p]:
                for r in range(P.first[p + 1] - P.first[p]):
                    P.factor[row + P.first[p] + r] += P.own[place(p, r) + c]
            P.factor[row + P.first[p] + c] *= 1.0 + raised
            for r in range(unknowns, padded):
                P.factor[row + r] = 0.0
    for c in range(unknowns, padded):
        for r in range(padded):
            P.factor[c * stride + r] = 1.0 if r == c else 0.0


@kernel
def state_of(P, p):
    """One number for the state of a pair."""
    return 256 * P.corners[p] + 4 * P.area[p] + P.slip[p]


@kernel
def is_kept(P, unknowns):
    """Whether the factor is one for these states."""
    same = P.kept[0] == unknowns
    for p in range(P.count[PAIRS]):
        same = same and P.kept[p + 1] == state_of(P, p)
    return same


@kernel
def keep(P, unknowns):
    """Note what states the factor is for."""
    P.kept[0] = unknowns
    for p in range(P.count[PAIRS]):
        P.kept[p + 1] = state_of(P, p)


@kernel
def open_equations(P, unknowns):
    """How far the equations are from being held, with the other sign, in z."""
    for p in range(P.count[PAIRS]):
        count, at, first = P.first[p + 1] - P.first[p], P.at[p], P.first[p]
        if P.plain[p]:
            for r in range(count):
                P.z[first + r] = -P.u[at + r]
        else:
            a = tested(P, p, P.u, at, 0)
            still = count if P.slip[p] == STICKS else bearing(P, p)
            P.z[first] = -a.a
            if still > 1:
                P.z[first + 1] = -a.b
            if still > 2:
                P.z[first + 2] = -a.c
            if still > 3:
                P.z[first + 3] = -a.d
            if still > 4:
                P.z[first + 4] = -tested(P, p, P.u, at, 4).a
    for r in range(unknowns, (unknowns + 3) // 4 * 4):
        P.z[r] = 0.0


@kernel
def add_forces(P):
    """Forces of the unknowns, added to those that are; friction of what slips is then as large as it has to be."""
    for p in range(P.count[PAIRS]):
        at, rows, first = P.at[p], P.at[p + 1] - P.at[p], P.first[p]
        if P.area[p] == NONE:
            for r in range(rows):
                P.w[at + r] = 0.0
        elif P.plain[p]:
            for r in range(rows):
                P.w[at + r] += P.z[first + r]
        else:
            for c in range(P.first[p + 1] - first):
                for r in range(rows):
                    P.w[at + r] += P.basis[place(p, c) + r] * P.z[first + c]
            if P.slip[p] == SLIPS:
                rub(P, p)


@kernel
def rub(P, p):
    """Bring friction of a pair that slips to its size, at the centre of pressure that it has now."""
    w = parts(P, P.w, p)
    push, before = w.normal.x, rubbing(P, p, w.along)
    settle_centre(P, p, w)
    size = norm(before)
    limit = P.friction[p] * max(push, 0.0)
    f = (limit / size) * before if size > 0.0 else NOTHING
    put_parts(P.w, P.at[p], P.at[p + 1] - P.at[p], Parts(from_centre(P, p, f), w.normal))


@kernel
def lean(P):
    """Bring forces onto what bears: centres of pressure onto edges and corners, friction of what slips to its size."""
    for p in range(P.count[PAIRS]):
        at, rows = P.at[p], P.at[p + 1] - P.at[p]
        w = parts(P, P.w, p)
        push, normal, along = w.normal.x, w.normal, w.along
        if P.area[p] == NONE:
            normal, along = NOTHING, NOTHING
        elif P.area[p] >= CORNER:
            d = corner(P, p, P.area[p] - CORNER)
            normal, along = push * d, Vec3(along.x, along.y, -d.z * along.y - d.y * along.x)
        elif P.area[p] >= EDGE and P.corners[p] > 2:
            d, e = push_of(P, p, 0), push_of(P, p, 1)
            x, y = d.z - e.z, e.y - d.y  # along the edge
            part = ((push * d.z - normal.z) * x + (normal.y - push * d.y) * y) / (x * x + y * y)
            normal = push * d + part * (e - d)
        put_parts(P.w, at, rows, Parts(along, normal))
        if P.area[p] != NONE and P.slip[p] == SLIPS:
            rub(P, p)


@kernel
def step_once(P, raised):
    """One Newton step. Returns whether the factor was an old one."""
    unknowns = describe(P)
    padded = (unknowns + 3) // 4 * 4
    old = is_kept(P, unknowns)
    if not old:
        assemble(P, unknowns, raised)
        factor(P.factor, P.count[STRIDE], padded)
        keep(P, unknowns)
        P.path[FACTORS] += 1
    open_equations(P, unknowns)
    solve_transposed(P.factor, P.count[STRIDE], padded, P.z)
    add_forces(P)
    return old


@kernel
def choose_friction(P):
    """Let those slip whose friction would have to be too large, going by forces and slipping as they are, and others stick."""
    for p in range(P.count[PAIRS]):
        w = parts(P, P.w, p)
        if P.area[p] != NONE and w.normal.x > 0.0 and not P.held[p]:
            g = sliding_ease(P, p)
            a = g * rubbing(P, p, w.along) - slipping(P, p, parts(P, P.u, p).along)
            P.slip[p] = SLIPS if norm(a) > g * P.friction[p] * w.normal.x else STICKS
            if P.slip[p] == SLIPS:
                rub(P, p)


@kernel
def pulls(P):
    """Whether a pair that slips has lost its push: then its friction has no direction."""
    lost = False
    for p in range(P.count[PAIRS]):
        lost = lost or (P.slip[p] == SLIPS and P.area[p] != NONE and not P.w[P.at[p] + 2] > 0.0)
    return lost


@far
def newton(key, held, raised, most):
    """Newton steps with the states as they are, from forces whose residual and velocities are known, until the law holds.

    They end early if they do not help: then the states are wrong. ``raised`` is how much diagonals are.
    """
    (P,) = open_problem(held)
    last = P.residual[0]
    lean(P)
    move(P)
    for n in range(most):
        if pulls(P):
            break
        old = step_once(P, raised)
        off = residual(P)
        P.residual[0] = off
        if off <= TOLERANCE:
            break
        if not off < ABSURD:
            P.kept[0] = -1
            break
        if old and off > KEEPS * last:
            P.kept[0] = -1
        elif not old and n > 0 and off > HOPELESS * last and most < PATIENT:
            break
        elif most >= PATIENT:
            P.kept[0] = -1  # nothing old
            choose_friction(P)
        last = off
    return OK
