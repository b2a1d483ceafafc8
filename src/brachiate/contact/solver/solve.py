"""The coupled problem of all pairs: u = u0 + G w with the law of contact for every one of them.

Mostly nothing changes: forces of the step before hold the law, or do after a Newton step or two with the same states
(:mod:`.newton`). Otherwise states are found in rounds, by sweeps over the pairs (:mod:`.local`) or by splitting the pairs from
their coupling (:mod:`.split`), and Newton tries them after each. Where one runs in circles the other one mostly does not. Should
that not settle, the path is followed that leads from pairs alone to all of them (:mod:`.follow`). Should
that be lost, centres of pressure are frozen as far as friction goes, and as a last resort a convex problem is solved
(:mod:`.relaxed`). Every way is counted in ``path``.
"""

from __future__ import annotations

import math

import numpy as np

from brachiate.compiled import call_at, entry, far, fields_of, kernel
from brachiate.contact.arrays import (
    AS_FROZEN,
    BLOCK,
    CONVEX,
    CORNERS,
    DISSIPATE,
    FOLLOW,
    FOLLOWED,
    FROZEN,
    NEWTON,
    PAIRS,
    PARTED,
    ROWS,
    SOLVE,
    SPLIT,
    STATES,
    SWEEP,
    SWEPT,
    UNSOLVED,
    WARM,
    WAY,
    WAYS,
    Problem,
    open_problem,
)
from brachiate.contact.solver.contact_law import (
    AIM,
    EXACT,
    NEW,
    NO_LENGTH,
    NONE,
    SLIPS,
    STICKS,
    TOLERANCE,
    Parts,
    drawn_in,
    from_centre,
    full,
    moment_at_centre,
    outside,
    parts,
    push_row,
    put_parts,
    residual,
    rubbing,
    settle_centre,
    shortened,
)
from brachiate.contact.solver.continuation import follow
from brachiate.contact.solver.convex_relaxation import dissipate_most
from brachiate.contact.solver.douglas_rachford import choose, split
from brachiate.contact.solver.gauss_seidel import sweeps
from brachiate.contact.solver.newton import LOOSE, TIGHT, newton
from brachiate.model.arrays import OK
from brachiate.spatial import Vec3, norm

ON, ANEW, BEST = range(3)

# What finds states, in turn: sweeps that make that part of each change, or splitting with that share of pairs' own answers as
# its metric; so many times; and whether on from the forces of the round before, anew from none (some that sweeps lead to are too far
# off), or from the best so far. A small share reaches far, a large one is sure. Newton is tried after each, so short rounds find
# more than long ones. Following a path, by at most so many steps, is surest of all; but each of them costs as much as many others, and
# ever more with more pairs. Every share has a path of its own, should one be too crooked.
ROUNDS = (
    (SWEEP, 1.0, 1, ON),
    (SWEEP, 1.0, 2, ON),
    (SWEEP, 1.0, 4, ON),
    (SPLIT, 0.1, 16, ON),
    (SPLIT, 0.01, 32, ON),
    (SWEEP, 0.5, 16, ON),
    (SPLIT, 0.1, 64, ON),
    (SPLIT, 0.01, 128, ON),
    (SWEEP, 0.5, 32, ON),
    (SPLIT, 1.0, 256, ON),
    (SPLIT, 0.1, 256, ON),
    (SPLIT, 0.01, 512, ON),
    (SWEEP, 0.5, 64, ON),
    (SPLIT, 0.03, 128, BEST),
    *(((SPLIT, 0.03, 128, ON),) * 15),
    (SPLIT, 1.0, 64, ANEW),
    *(((SPLIT, 1.0, 64, ON),) * 7),
    *(((SPLIT, 0.5, 64, ON),) * 16),
    (FOLLOW, 0.3, 300, ANEW),
    (FOLLOW, 0.1, 300, ANEW),
    (FOLLOW, 1.0, 300, ANEW),
    (FOLLOW, 3.0, 300, ANEW),
    (FOLLOW, 0.03, 300, ANEW),
    (SWEEP, 0.5, 64, ON),  # with centres frozen, if nothing has come near
)
FIRST, STEPS = 5, 6  # Newton steps of the first try, and of later rounds
PATIENT, MODEST = 5, 5e-7  # so many rounds aim as high as they can; [m/s] what later ones are content with
OVER, ROUND_OFF = 1e-11, 1e-14  # of friction: more than round-off, and what is
HAIR = 1e-12  # [m] a centre of pressure is no farther outside of its area: more than round-off
TRUSTED = 1.0  # [m/s] residual up to which forces that failed are worth going on from
HARMLESS = 1e-4  # [m/s] residual up to which forces are taken that do not quite hold the law


@kernel
def begin(P, again):
    """See who may grip and who is new: new ones have no forces, and if all are new, all shall stick. Returns how many are new.

    ``again``: who may grip is known from the first time.
    """
    P.count[FROZEN] = 0
    pairs, new = P.count[PAIRS], 0
    for p in range(pairs):
        if not again:
            P.stuck[p] = int(P.area[p] > NONE and P.slip[p] == STICKS)
        P.held[p] = P.stuck[p]
        P.centre[p, 0] = P.centre[p, 1] = P.centre[p, 2] = 0.0
        new += int(P.area[p] == NEW)
        for r in range(P.at[p], P.at[p + 1]):
            if P.area[p] == NEW or not abs(P.w[r]) < math.inf:
                P.w[r] = 0.0
    if new == pairs:
        for p in range(pairs):
            P.area[p], P.slip[p] = full(P, p), STICKS
    return new


@kernel
def copy(P, to, source):
    """Copy numbers of rows."""
    for r in range(P.count[ROWS]):
        to[r] = source[r]


@kernel
def remember(P):
    """Keep forces and states as the best so far."""
    copy(P, P.best, P.w)
    for p in range(P.count[PAIRS]):
        P.best_area[p], P.best_slip[p] = P.area[p], P.slip[p]


@kernel
def recall(P):
    """Go back to the best forces and states."""
    copy(P, P.w, P.best)
    for p in range(P.count[PAIRS]):
        P.area[p], P.slip[p] = P.best_area[p], P.best_slip[p]


@kernel
def forget(P):
    """Go back to no forces."""
    for r in range(P.count[ROWS]):
        P.w[r] = 0.0


@kernel
def freeze(P):
    """From now on friction acts at the centres of pressure of the best forces so far: convergent, and friction still only brakes."""
    recall(P)
    for p in range(P.count[PAIRS]):
        settle_centre(P, p, parts(P, P.w, p))
    P.count[FROZEN] = 1


@kernel
def let_go(P, k):
    """Who slips in a later round has lost its grip, so that it does not stick and slip in turn; in the end everyone has."""
    for p in range(P.count[PAIRS]):
        if (k > 2 and P.slip[p] == SLIPS) or k > 4:
            P.held[p] = 0


@kernel
def into_area(P, p):
    """Bring the centre of pressure of pair p onto the area it is outside of, by a hair within the tolerance. Says whether it was."""
    w = parts(P, P.w, p)
    push, f = w.normal.x, rubbing(P, p, w.along)
    x, y = -w.normal.z / push, w.normal.y / push
    if P.corners[p] == 1 or outside(P, p, x, y) <= HAIR:
        return False
    x, y = drawn_in(P, p, x, y)
    normal = Vec3(push, push * y, -push * x)
    settle_centre(P, p, Parts(w.along, normal))
    put_parts(P.w, P.at[p], P.at[p + 1] - P.at[p], Parts(from_centre(P, p, f), normal))
    return True


@kernel
def into_cones(P):
    """Take away what is too much by a hair within the tolerance. Says whether anything was.

    That is friction beyond its cone, or that turns where it has no length, and pressure beside its area. Centres of pressure are known:
    the residual was the last that was looked at.
    """
    found = False
    for p in range(P.count[PAIRS]):
        if P.at[p + 1] - P.at[p] == 1 or not P.w[push_row(P, p)] > 0.0:
            continue
        found = into_area(P, p) or found
        w = parts(P, P.w, p)
        f = rubbing(P, p, w.along)
        most = (P.grip[p] if P.held[p] and P.slip[p] == STICKS else P.friction[p]) * w.normal.x
        turns = P.centre[p, 2] <= NO_LENGTH and moment_at_centre(P, p, w.along) != 0.0 and P.corners[p] > 1
        if turns or norm(f) > (1.0 + ROUND_OFF) * most:
            put_parts(P.w, P.at[p], P.at[p + 1] - P.at[p], Parts(from_centre(P, p, shortened(f, most)), w.normal))
            found = True
    return found


@kernel
def done(P, way, off):
    """Count the way that was taken. What is not pushed does not bear, whatever was tried. The residual is the law's, whatever was."""
    for p in range(P.count[PAIRS]):
        if not P.w[push_row(P, p)] > 0.0:
            P.area[p], P.slip[p] = NONE, SLIPS
    P.path[way] += 1
    P.count[WAY] = way
    P.count[FROZEN] = 0
    if way in (AS_FROZEN, CONVEX):
        off = residual(P)
    P.residual[0] = residual(P) if into_cones(P) else off
    return OK


@kernel
def try_states(P, key, off, steps, loose, tight):
    """Newton from the states that are: loosely, then tightly. Returns the residual."""
    P.residual[0] = off
    for n in range(2):
        wanted = loose if n == 0 else tight
        if wanted and not P.residual[0] <= (AIM if n else EXACT):
            if n:
                P.kept[0] = -1
            call_at(P.far[NEWTON], key, key, TIGHT if n else LOOSE, steps)
    if tight:
        P.kept[0] = -1  # too tight to serve again
    return P.residual[0]


@kernel
def rubs_too_much(P, p):
    """Whether a pair sticks by more friction than it has, be it ever so little."""
    if P.area[p] == NONE or P.slip[p] == SLIPS:
        return False
    w = parts(P, P.w, p)
    return norm(rubbing(P, p, w.along)) > (1.0 + OVER) * (P.grip[p] if P.held[p] else P.friction[p]) * w.normal.x


@kernel
def let_slip(P):
    """Let such pairs slip; forces and states before are remembered. Says whether there are any."""
    found = False
    for p in range(P.count[PAIRS]):
        found = found or rubs_too_much(P, p)
    if found:
        remember(P)
        for p in range(P.count[PAIRS]):
            if rubs_too_much(P, p):
                P.slip[p] = SLIPS
    return found


@kernel
def slipped(P, key, before):
    """Newton with more that slips, if it holds the law better than before. Returns the residual."""
    P.residual[0] = before
    call_at(P.far[NEWTON], key, key, TIGHT, 3)
    P.kept[0] = -1
    if P.residual[0] < before:
        return P.residual[0]
    recall(P)
    return residual(P)


@kernel
def tightly(P, key, before):
    """Newton from the forces and states of the step before once more, tightly. Returns the residual.

    Where things wedge, one more push is answered the wrong way round: there loose steps lead away from a solution, be it ever so near.
    ``before`` is the residual that they led to; forces stay there if this leads nowhere, either.
    """
    copy(P, P.here, P.w)
    recall(P)
    P.kept[0] = -1
    P.residual[0] = residual(P)
    call_at(P.far[NEWTON], key, key, TIGHT, 3)
    P.kept[0] = -1
    if P.residual[0] <= AIM:
        return P.residual[0]
    copy(P, P.w, P.here)
    return before


@kernel
def last_resort(P, key, best):
    """The best forces so far if they do no harm, otherwise those of the convex problem."""
    P.count[FROZEN] = 0
    if best <= HARMLESS:
        recall(P)
        return done(P, UNSOLVED if best > TOLERANCE else PARTED, residual(P))
    call_at(P.far[DISSIPATE], key, key, 0.0, 0)
    call_at(P.far[SWEEP], key, key, 0.0, 0)
    return done(P, CONVEX, P.residual[0])


@kernel
def way_of(P, k, warm):
    """How a solution of round k was found."""
    if P.count[FROZEN]:
        return AS_FROZEN
    if k == 0:
        return WARM if warm else STATES
    by = ROUNDS[k - 1][0]
    return SWEPT if by == SWEEP else PARTED if by == SPLIT else FOLLOWED


@far
def solve(key, held, x, n):
    """Find forces w, velocities u and states that hold the law, for the problem of the key ``held``.

    Before, w, area and slip are those to start from; a pair whose area is NEW has none. ``n`` is 1 if the same problem but for
    u0 was just solved.
    """
    (P,) = open_problem(held)
    new = begin(P, n)
    fresh, warm = new == P.count[PAIRS], new == 0
    best = off = math.inf
    for k in range(len(ROUNDS) + 1):
        if k == len(ROUNDS):
            if best <= HARMLESS:
                break
            freeze(P)
        if k > 0:
            by, part, times, start = ROUNDS[k - 1]
            let_go(P, k)
            if start == ANEW:
                forget(P)
            elif start == BEST or (best < off and off > TRUSTED):
                recall(P)
            call_at(P.far[by], held, held, part, times)
        found = residual(P)
        copy(P, P.swept, P.w)
        if k == 0:
            remember(P)
        off = try_states(P, held, found, STEPS if k > 0 else FIRST, warm or k > 0, fresh if k == 0 else k % 2 == 0)
        if k == 0 and warm and not off <= AIM:
            off = tightly(P, held, off)
        if k == 0 and EXACT < off <= AIM and let_slip(P):
            off = slipped(P, held, off)
        if off > AIM and not off < (found if k > 0 else 0.0 if fresh else TRUSTED):
            copy(P, P.w, P.swept)
            off = residual(P)
        if off <= (AIM if k < PATIENT else MODEST):
            if into_cones(P):
                off = residual(P)
            if off <= TOLERANCE:
                return done(P, way_of(P, k, warm), off)
        if 0 < k < len(ROUNDS) and off < best:
            best = off
            remember(P)
    return last_resort(P, held, best)


@entry
def solve_problem(key):
    """Solve one problem from Python. Returns what is left of the law, as a speed."""
    (P,) = open_problem(key)
    call_at(P.far[SOLVE], key, key, 0.0, 0)
    return P.residual[0]


def new_problem(pairs: int) -> Problem:
    """Room for so many pairs of any kind."""
    m = max(pairs, 1)
    n = (6 * m + 3) // 4 * 4
    squares, blocks = ("G", "answer", "factor"), ("basis", "test", "own")
    size = {"count": 5, "path": len(WAYS) + 3, "far": 7, "residual": 1, "push": 3 * CORNERS * m}
    size.update(
        dict.fromkeys(squares, n * n + 4),  # fours may reach beyond the last row
        **dict.fromkeys(blocks, BLOCK * m),
        **dict.fromkeys(("u0", "u", "w", "z", "best", "swept", "shadow", "here", "onward", "bend", "weight", "live", "order"), n),
    )
    size.update(at=m + 1, first=m + 1, kept=m + 1)
    P = Problem(*(np.zeros((size.get(name, m), *kind.row), kind.dtype) for name, kind in fields_of(Problem).items()))
    P.far[:] = [piece.address for piece in (newton, sweeps, split, choose, dissipate_most, follow, solve)]
    return P
