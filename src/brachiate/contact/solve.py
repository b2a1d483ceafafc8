"""The coupled problem of all pairs: u = u0 + G w with the law of contact for every one of them.

Mostly nothing changes: forces of the step before hold the law, or do after a Newton step or two with the same states
(:mod:`.states`). Otherwise states are found by sweeps over the pairs (:mod:`.local`), and Newton tries them: after
1, 2, 4 ... sweeps. Should that not settle, centres of pressure are frozen as far as friction goes, and as a last resort a convex
problem is solved (:mod:`.convex`). Every way is counted in ``path``.
"""

from __future__ import annotations

import math

from brachiate.compiled import entry, kernel, outlined
from brachiate.contact.convex import dissipate_most
from brachiate.contact.law import NEW, NONE, STICKS, TOLERANCE, full, residual
from brachiate.contact.local import solve_pair, sweeps
from brachiate.contact.rooms import AS_FROZEN, CONVEX, FROZEN, PAIRS, ROWS, STATES, SWEEPS, SWEPT, UNSOLVED, WARM, open_problem
from brachiate.contact.states import LOOSE, TIGHT, newton

ROUNDS, FREEZE, MOST_SWEEPS = 9, 4, 64
TRUSTED = 1.0  # [m/s] residual up to which forces that failed are worth going on from
HARMLESS = 1e-4  # [m/s] residual up to which forces are taken that do not quite hold the law


@kernel
def begin(P):
    """See who may grip, and how many pairs are new; these start without forces."""
    P.count[FROZEN] = 0
    new = 0
    for p in range(P.count[PAIRS]):
        P.held[p] = int(P.area[p] > NONE and P.slip[p] == STICKS)
        P.centre[p, 0] = P.centre[p, 1] = P.centre[p, 2] = 0.0
        if P.area[p] == NEW:
            new += 1
            for r in range(P.at[p], P.at[p + 1]):
                P.w[r] = 0.0
    return new


@kernel
def all_stick(P):
    """Let everything bear and stick."""
    for p in range(P.count[PAIRS]):
        P.area[p], P.slip[p] = full(P, p), STICKS


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
def done(P, way, off):
    """Count the way that was taken."""
    P.path[way] += 1
    P.residual[0] = off
    return off


@kernel
def look_at_states(P):
    """States that fit the forces, pair by pair."""
    for p in range(P.count[PAIRS]):
        solve_pair(P, p)


@kernel
def first_try(P, new):
    """With the states before, or if there are none with everything sticking. Returns the residual."""
    if 0 < new < P.count[PAIRS]:
        return residual(P)
    if new:
        all_stick(P)
        return newton(P, residual(P), 3, TIGHT)
    off = residual(P)
    return off if off <= TOLERANCE else newton(P, off, 5, LOOSE)


@kernel
def one_round(P, times, both):
    """Some sweeps, and Newton with the states found. Returns the residual."""
    sweeps(P, times)
    P.path[SWEEPS] += times
    swept = residual(P)
    if swept <= TOLERANCE:
        return swept
    copy(P, P.swept, P.w)
    off = newton(P, swept, 3, LOOSE)
    if off > TOLERANCE and both:
        P.kept[0] = -1
        off = newton(P, off, 3, TIGHT)
        P.kept[0] = -1
    if not off < swept:
        copy(P, P.w, P.swept)
        off = residual(P)
    return off


@outlined
def solve(P):
    """Find forces w, velocities u and states that hold the law. Returns the residual, as a speed.

    Before, w, area and slip are those to start from; a pair whose area is NEW has none.
    """
    new = begin(P)
    copy(P, P.start, P.w)
    off = first_try(P, new)
    if off <= TOLERANCE:
        return done(P, STATES if new else WARM, off)
    if not off < TRUSTED or new == P.count[PAIRS]:
        copy(P, P.w, P.start)
        residual(P)
    best, times = math.inf, 1
    for n in range(ROUNDS):
        if n == FREEZE:
            recall(P)
            residual(P)
            P.count[FROZEN] = 1
        off = one_round(P, times, n % 2 == 1)
        if off <= TOLERANCE:
            return done(P, AS_FROZEN if P.count[FROZEN] else SWEPT, off)
        if not P.count[FROZEN] and off < best:
            best = off
            remember(P)
        times = min(2 * times, MOST_SWEEPS)
    P.count[FROZEN] = 0
    if best <= HARMLESS:
        recall(P)
        return done(P, UNSOLVED, residual(P))
    off = dissipate_most(P)
    look_at_states(P)
    return done(P, CONVEX, off)


@entry
def solve_problem(key):
    """Solve one problem from Python."""
    (P,) = open_problem(key)
    return solve(P)
