"""From pairs that do not feel each other to all of them together, along a path that leads there whatever bends it has.

With shadows z as in :mod:`.split`, w(z) the forces of every pair alone against u = R (w - z), and t the part that pairs feel of each
other, solutions are zeros of

    u0 + R z + t (G - R) w(z).

For t = 0 there is one, z = -R⁻¹ u0. For t < 1 none is far away, so from there a path leads to t = 1 [Allgower & Georg 1990]. Where forces
are not the only ones it turns back and goes through smaller t again: who lets t only grow loses it there, and finds nothing. So it is
followed by its length, in z and τ = -log(1 - t). Which way is onward is told by the sign of the determinant, beyond kinks as well.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from brachiate.compiled import far, kernel, outlined
from brachiate.contact.arrays import FACTORS, PAIRS, ROWS, STRIDE, open_problem
from brachiate.contact.solver.contact_law import Parts, move, parts, put_parts, residual
from brachiate.contact.solver.douglas_rachford import measured, meet_shadow, metric
from brachiate.contact.solver.gauss_seidel import solved
from brachiate.contact.solver.mode_unknowns import place
from brachiate.linalg.lu import factor_pivoted, solve_pivoted
from brachiate.model.arrays import OK
from brachiate.spatial import Vec3, four, put_four

END = 21.0  # of τ: what pairs do not feel of each other by then is nothing
FIRST, LONGEST, SHORTEST = 0.05, 1e6, 1e-10  # steps along the path, z measured as parts of a typical speed: where things wedge, many
SMALLEST = 1e-9  # [m/s] a typical speed at least
CLOSE = 1e-8  # of that speed: no farther off the path
TRIES, HALF = 7, 0.5  # steps onto the path from beside it, each of which has to leave less than that
NUDGE, LITTLE = 1e-7, 1e-3  # shadows are moved by that part of themselves, or of a little, to see how forces answer


class Spot(NamedTuple):
    """A place beside the path, or on it."""

    off: float  # how far the law of all pairs is from being held there, in parts of the typical speed
    ahead: float  # how τ goes on along the path; how shadows do is in ``bend``
    across: float  # how τ changes to come onto the path; how shadows do is in ``z``
    distance: float  # how far that is


class Place(NamedTuple):
    """A place the path was followed to."""

    tries: int  # that it took, negative if in vain
    tau: float
    ahead: float


@kernel
def inner(P, x, y):
    """The product of two changes of shadows, as parts of the typical speed."""
    total = 0.0
    for r in range(P.count[ROWS]):
        total += P.weight[r] * P.weight[r] * x[r] * y[r]
    return total


@kernel
def begin_alone(P, share):
    """Shadows of pairs that do not feel each other, nobody gripping. Returns a typical speed."""
    total = 0.0
    for r in range(P.count[ROWS]):
        total += P.u0[r] * P.u0[r]
    speed = math.sqrt(total / P.count[ROWS]) + SMALLEST
    for p in range(P.count[PAIRS]):
        P.held[p] = 0
        at, rows, R, u = P.at[p], P.at[p + 1] - P.at[p], metric(P, p, share), parts(P, P.u0, p)
        put_parts(P.shadow, at, rows, Parts(-solved(R.along, u.along), -solved(R.normal, u.normal)))
        put_parts(P.weight, at, rows, Parts(Vec3(R.along.xx, R.along.yy, R.along.zz), Vec3(R.normal.xx, R.normal.yy, R.normal.zz)))
        for r in range(at, at + rows):
            P.weight[r] /= speed
    return speed


@kernel
def meet_around(P, p, R):
    """Forces of pair p, and how they answer to its shadows: by differences, row by row in ``own``."""
    at, rows = P.at[p], P.at[p + 1] - P.at[p]
    for c in range(rows):
        z = P.shadow[at + c]
        nudge = NUDGE * (abs(z) + LITTLE / P.weight[at + c])
        for side in range(2):
            P.shadow[at + c] = z - nudge if side == 0 else z + nudge
            meet_shadow(P, p, R)
            for r in range(rows):
                P.own[place(p, r) + c] = P.w[at + r] if side == 0 else (P.w[at + r] - P.own[place(p, r) + c]) / (2.0 * nudge)
        P.shadow[at + c] = z
    meet_shadow(P, p, R)


@kernel
def note_answers(P, p, R, felt):
    """What the shadows of pair p do to all equations: rows of the transposed matrix."""
    at, rows, n, stride = P.at[p], P.at[p + 1] - P.at[p], P.count[ROWS], P.count[STRIDE]
    padded = (n + 3) // 4 * 4
    for c in range(rows):
        row = (at + c) * stride
        for i in range(0, padded, 4):
            x = (felt * P.own[place(p, 0) + c]) * four(P.G, at * stride + i)
            for r in range(1, rows):
                x = x + (felt * P.own[place(p, r) + c]) * four(P.G, (at + r) * stride + i)
            put_four(P.factor, row + i, x)
        for r in range(rows):
            P.z[at + r] = (1.0 if r == c else 0.0) - felt * P.own[place(p, r) + c]
        put_parts(P.z, at, rows, measured(R, parts(P, P.z, p)))
        for r in range(rows):
            P.factor[row + at + r] += P.z[at + r]
        for r in range(n, padded):
            P.factor[row + r] = 0.0


@kernel
def factor_answers(P):
    """Factor what was noted, padded to whole fours. Returns the sign of the determinant."""
    n, stride = P.count[ROWS], P.count[STRIDE]
    padded = (n + 3) // 4 * 4
    for r in range(n, padded):
        for c in range(padded):
            P.factor[r * stride + c] = 1.0 if r == c else 0.0
        P.z[r] = P.bend[r] = 0.0
    P.path[FACTORS] += 1
    return factor_pivoted(P.factor, stride, padded, P.order)


@kernel
def open_law(P, p, R, felt):
    """How far pair p is from the law of all pairs, to z, and how that changes with τ, to ``bend``."""
    at, rows = P.at[p], P.at[p + 1] - P.at[p]
    z, w = measured(R, parts(P, P.shadow, p)), measured(R, parts(P, P.w, p))
    put_parts(P.z, at, rows, z)
    put_parts(P.bend, at, rows, w)
    worst = 0.0
    for r in range(at, at + rows):
        others = P.u[r] - P.u0[r] - P.bend[r]
        P.z[r] += P.u0[r] + felt * others
        P.bend[r] = (1.0 - felt) * others
        worst = max(worst, abs(P.z[r])) if abs(P.z[r]) < math.inf else math.inf
    return worst


@outlined
def look(P, share, speed, tau):
    """Where the path is, seen from the shadows that are, and which way it goes on."""
    P.kept[0] = -1
    felt, off = -math.expm1(-tau), 0.0
    for p in range(P.count[PAIRS]):
        R = metric(P, p, share)
        meet_around(P, p, R)
        note_answers(P, p, R, felt)
    sign = factor_answers(P)
    move(P)
    for p in range(P.count[PAIRS]):
        off = max(off, open_law(P, p, metric(P, p, share), felt))
    stride, padded = P.count[STRIDE], (P.count[ROWS] + 3) // 4 * 4
    solve_pivoted(P.factor, stride, padded, P.order, P.z)
    solve_pivoted(P.factor, stride, padded, P.order, P.bend)
    square = 1.0 + inner(P, P.bend, P.bend)
    across = -inner(P, P.bend, P.z) / square
    ahead = sign / math.sqrt(square)
    for r in range(P.count[ROWS]):
        P.z[r] = -P.z[r] - across * P.bend[r]
        P.bend[r] = -ahead * P.bend[r]
    return Spot(off / speed, ahead, across, math.sqrt(inner(P, P.z, P.z) + across * across))


@kernel
def come_onto(P, share, speed, tau, step):
    """Newton steps across the path, from beside it."""
    last = math.inf
    for n in range(TRIES):
        spot = look(P, share, speed, tau)
        if not spot.distance < 5.0 * step + LITTLE or (n > 1 and spot.off > max(HALF * last, CLOSE)):
            break
        for r in range(P.count[ROWS]):
            P.shadow[r] += P.z[r]
        tau += spot.across
        if spot.off <= CLOSE:
            return Place(n, tau, spot.ahead)
        last = spot.off
    return Place(-1, tau, 0.0)


@kernel
def set_out(P, way, step):
    """Shadows a step from here in that way."""
    for r in range(P.count[ROWS]):
        P.shadow[r] = P.here[r] + step * way[r]


@kernel
def arrive(P, share, speed, here, ahead, step):
    """Come onto the path from where τ and shadows were set out to. In vain if it is not onward, or not about a step."""
    there = come_onto(P, share, speed, here.tau + step * ahead, step)
    for r in range(P.count[ROWS]):
        P.z[r] = P.shadow[r] - P.here[r]
    gone = there.tau - here.tau
    length = math.sqrt(inner(P, P.z, P.z) + gone * gone)
    onward = inner(P, P.z, P.bend) + gone * there.ahead > 0.0
    return there if onward and 0.2 * step < length < 3.0 * step else Place(-1, there.tau, 0.0)


@kernel
def stay(P):
    """Let the place that was tried be here."""
    for r in range(P.count[ROWS]):
        P.here[r], P.onward[r] = P.shadow[r], P.bend[r]


@far
def follow(key, held, share, most):
    """Forces and states at the end of the path, or as far as so many steps lead; R is that share of what pairs themselves answer.

    Straight on at first. Where that leads off the path, it may have a kink: then the way it goes beyond is tried, else a shorter step.
    """
    (P,) = open_problem(held)
    speed, step = begin_alone(P, share), FIRST
    here = Place(0, 0.0, look(P, share, speed, 0.0).ahead)
    stay(P)
    for _ in range(most):
        if here.tau >= END or step < SHORTEST:
            break
        set_out(P, P.onward, step)
        there = arrive(P, share, speed, here, here.ahead, step)
        if there.tries < 0:
            set_out(P, P.onward, step)
            ahead = look(P, share, speed, here.tau + step * here.ahead).ahead
            set_out(P, P.bend, step)
            there = arrive(P, share, speed, here, ahead, step)
        if there.tries < 0:
            step *= 0.5
            continue
        stay(P)
        here = there
        step = min(LONGEST, step * (2.0 if there.tries < 3 else 1.3 if there.tries < 4 else 1.0))
    set_out(P, P.onward, 0.0)
    for p in range(P.count[PAIRS]):
        meet_shadow(P, p, metric(P, p, share))
    P.residual[0] = residual(P)
    return OK
