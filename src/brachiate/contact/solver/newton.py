"""Forces for states: what bears rests, what sticks does not slip, what slips is rubbed against its slipping.

That is a set of equations for the :mod:`.unknowns`, linear but for directions of slipping and centres of pressure: a few Newton
steps. Bodies that rest on many places have forces that no equation tells apart, so every step is proximal: the diagonal is
raised a little, and forces stay close to those before where nothing decides.

The factor is kept from one solution to the next. While states and nearly everything else stay the same it serves again.
"""

from __future__ import annotations

from brachiate.compiled import call_at, far, kernel
from brachiate.contact.arrays import CHOOSE, FACTORS, PAIRS, STRIDE, open_problem
from brachiate.contact.solver.contact_law import (
    AIM,
    CORNER,
    EDGE,
    EXACT,
    NONE,
    SLIPS,
    STICKS,
    Parts,
    corner,
    from_centre,
    move,
    normal_ease,
    parts,
    put_parts,
    residual,
    rubbing,
    settle_centre,
)
from brachiate.contact.solver.mode_unknowns import NOTHING, bearing, describe, place, push_of, tested
from brachiate.linalg.lu import factor, solve_transposed
from brachiate.model.arrays import OK
from brachiate.spatial import Vec3, four, norm, put_four

# How much diagonals are raised: with a little a kept factor serves and states are found, with less fewer steps do.
LOOSE, TIGHT = 1e-3, 1e-7
KEEPS = 0.1  # a step that leaves more than this of the residual has an old factor, or wrong states
IMMOVABLE = 1e-12  # of the normal ease, added to diagonals: some directions do not move at all
ABSURD = 1e6  # [m/s]


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
            diagonal = P.factor[row + P.first[p] + c]
            P.factor[row + P.first[p] + c] = diagonal + raised * diagonal + IMMOVABLE * normal_ease(P, p)
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
        elif count > 0:
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


@far
def newton(key, held, raised, most):
    """Newton steps from forces whose residual is known, until the law holds: with the states as they are, as long as that helps.

    ``raised`` is how much diagonals are.
    """
    (P,) = open_problem(held)
    last = P.residual[0]
    lean(P)
    move(P)
    for n in range(most):
        old = step_once(P, raised)
        off = residual(P)
        P.residual[0] = off
        if off <= EXACT or (off <= AIM and not off < KEEPS * last):
            break
        if not off < ABSURD:
            P.kept[0] = -1
            break
        if off > KEEPS * last:
            P.kept[0] = -1
            if not old and n + 1 < most:
                call_at(P.far[CHOOSE], held, held, 0.0, 0)
        last = off
    return OK
