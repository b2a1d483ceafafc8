"""Rank detection: which constraint rows are independent, which are redundant, and which are weak near a singular posture.

Rank is a matter of directions, not of masses: rows of J are compared in the metric of joint velocities, each relative to its
size if nothing cancelled in it. They are orthogonalized by Gram-Schmidt, twice, which keeps the angle itself to round-off where
pivots of J A⁻¹ Jᵀ only keep its square. Rows with the largest remainder are accepted first, a decade at a time; within a decade
the oldest, so that the selection persists while it is no worse.

This is exact and takes some microseconds. It runs after a change of structure, and when pivots of the factor (:mod:`.solve`)
are doubtful.
"""

from __future__ import annotations

import math

from brachiate.compiled import index, kernel, outlined
from brachiate.constraints.arrays import COMPLIANT, CONSTRAINTS, INACTIVE, INDEPENDENT, REDUNDANT, ROWS, UNCLASSIFIED, WEAK_ROWS
from brachiate.constraints.sparsity import LANES, acts_between_bodies, chain
from brachiate.spatial import force, motion, vec3, velocity_at

# Sine of the angle between a row and all others below which it is redundant. Round-off is about 1e-15, amplified for rows at
# small angles to others: it is divided by that angle, of which the smallest is this one.
MIN_SINE = 1e-9
RESIDUAL_FACTOR, MAX_RESIDUAL_SINE = 100.0, 1e-6  # residuals rotate rows by about as much, which bounds the resolution
EXCHANGE_FACTOR = 10.0  # a redundant row replaces an independent one only if its sine is larger by this factor
ZERO_ROW = 1e-24  # squared relative size of a row that is round-off only
FIRST_SINE = 0.3  # sine at which rows are accepted first
MIN_RELIABLE_SINE = 1e-5  # sine below which too few digits are left while the posture changes
LOOKAHEAD_STEPS = 3.0  # number of steps over which changes of a sine are extrapolated


@kernel
def chain_scale(T, W, tip, start, P):
    """Sums of squares of the angular and linear motion that the joints of a chain give to the point P of its tip."""
    angular = linear = 0.0
    for d in range(start, T.depth[tip] + 1 if tip >= 0 else 0):
        S = motion(W.S, T.above[index(T.row[tip] + d)])
        v = velocity_at(S, P)
        angular, linear = angular + S.w @ S.w, linear + v @ v
    return angular, linear


@kernel
def row_scales(T, W, cons, i):
    """Squared sizes of rows of constraint i if nothing cancelled: of an angular row, and of a linear one."""
    if not acts_between_bodies(cons, i):
        return 0.0, 1.0
    angular, linear = chain_scale(T, W, cons.tip_first[i], cons.common[i], vec3(cons.P_first, i))
    second_angular, second_linear = chain_scale(T, W, cons.tip_second[i], cons.common[i], vec3(cons.P_second, i))
    return angular + second_angular, linear + second_linear


@kernel
def store_dense_row(T, cons, i, m, scale, nv):
    """Store row m of constraint i, scaled, as a dense row; returns its squared norm."""
    r = cons.row[i] + m
    at, lane = r * nv, cons.y_at[i] + (m // LANES) * cons.y_stride[i] + m % LANES
    for k in range(nv):
        cons.dense_rows[index(at + k)] = 0.0
    size = 0.0
    for which in range(2):
        tip, base, start = chain(T, cons, i, which)
        for d in range(start, T.depth[tip] + 1 if tip >= 0 else 0):
            x = scale * cons.J[index(lane + base + LANES * d)]
            cons.dense_rows[index(at + T.above[index(T.row[tip] + d)])] = x
            size += x * x
    return size


@kernel
def store_dense_rows(T, W, cons, nv):
    """Store all rows, scaled by their size if nothing cancelled. Returns the number of independent rows so far and the largest residual."""
    independent, residual = 0, 0.0
    for a in range(cons.count[CONSTRAINTS]):
        i = cons.order[a]
        angular, linear = row_scales(T, W, cons, i)
        for m in range(cons.rows[i]):
            r = cons.row[i] + m
            cons.sine[r], cons.remaining[r] = 0.0, -1.0  # -1: accepted already, or not a candidate
            if cons.state[r] in (INACTIVE, COMPLIANT):
                continue
            t = force(cons.T, r)
            scale2 = (t.n @ t.n) * angular + (t.f @ t.f) * linear if acts_between_bodies(cons, i) else linear
            scale = 1.0 / math.sqrt(scale2) if scale2 > ZERO_ROW * (angular + linear) else 0.0  # 0: both bodies move alike
            cons.remaining[r] = store_dense_row(T, cons, i, m, scale, nv)
            independent += int(cons.state[r] == INDEPENDENT)
            residual = max(residual, abs(cons.c[r]))
    return independent, residual


@kernel
def orthogonalize(cons, r, s, nv):
    """Subtract from row r its component along the unit row s; returns the squared norm of the remainder."""
    x, y, dot, size = r * nv, s * nv, 0.0, 0.0
    for k in range(nv):
        dot += cons.dense_rows[index(x + k)] * cons.dense_rows[index(y + k)]
    for k in range(nv):
        z = cons.dense_rows[index(x + k)] - dot * cons.dense_rows[index(y + k)]
        cons.dense_rows[index(x + k)] = z
        size += z * z
    return size


@kernel
def accept_row(cons, r, n, threshold, nv):
    """Accept row r if its remainder is large enough after a second orthogonalization; orthogonalize the others to it."""
    for s in range(n):
        if cons.sine[s] > 0.0:
            cons.remaining[r] = orthogonalize(cons, r, s, nv)
    if not cons.remaining[r] > threshold * threshold:
        return False
    sine = math.sqrt(cons.remaining[r])
    cons.sine[r], cons.remaining[r] = sine, -1.0
    for k in range(r * nv, (r + 1) * nv):
        cons.dense_rows[index(k)] /= sine
    for s in range(n):
        if cons.remaining[s] > 0.0:
            cons.remaining[s] = orthogonalize(cons, s, r, nv)
    return True


@kernel
def update_sine_margin(cons, r, elapsed):
    """Extrapolate how far the sine of row r may change in the next steps, from the classification before."""
    if elapsed > 0.0 or cons.state[r] == UNCLASSIFIED:
        change = abs(cons.sine[r] - cons.sine_previous[r])
        known = cons.state[r] != UNCLASSIFIED and elapsed < 1.5 * cons.dt[0]
        cons.sine_margin[r] = max(MIN_RELIABLE_SINE, LOOKAHEAD_STEPS * change * cons.dt[0] / elapsed) if known else 1.0
        cons.sine_previous[r] = cons.sine[r]


@outlined
def classify_rows(T, W, cons, weak, update_rank):
    """Classify rows as independent or redundant, and list the weak ones, which may become dependent in the next steps.

    The squared sine of weak rows is below ``weak`` in any case. Unclassified rows in the span of others are redundant. Independent
    rows that no other row can replace never become redundant: they are weak, and the posture is close to a singular one. Without
    ``update_rank`` the classification stays as it is; redundant rows that are listed as weak stay listed.
    """
    n, nv = cons.count[ROWS], W.v.shape[0]
    independent, residual = store_dense_rows(T, W, cons, nv)
    if not update_rank:
        for r in range(n):
            if cons.state[r] != INDEPENDENT:
                cons.remaining[r] = -1.0
    min_sine = max(MIN_SINE, min(MAX_RESIDUAL_SINE, RESIDUAL_FACTOR * residual))
    threshold = FIRST_SINE
    while True:
        for r in range(n):
            row_threshold = threshold * (EXCHANGE_FACTOR if cons.state[r] == REDUNDANT else 1.0)
            if cons.remaining[r] > row_threshold * row_threshold and accept_row(cons, r, n, row_threshold, nv):
                independent -= int(cons.state[r] != UNCLASSIFIED)
        if threshold == min_sine:
            break
        threshold = max(0.1 * threshold, min_sine)
    weak_count, elapsed = 0, abs(cons.time[0] - cons.time[1])
    for m in range(0 if update_rank else cons.count[WEAK_ROWS]):
        if cons.state[cons.weak_rows[m]] == REDUNDANT:
            cons.weak_rows[weak_count] = cons.weak_rows[m]
            weak_count += 1
    for r in range(n):
        accepted = cons.sine[r] > 0.0
        if not accepted and cons.remaining[r] < 0.0:
            continue
        kept = not accepted and independent > 0 and cons.state[r] == INDEPENDENT
        independent -= int(kept)
        if update_rank:
            update_sine_margin(cons, r, elapsed)
            cons.state[r] = INDEPENDENT if accepted or kept else REDUNDANT
        if kept or (accepted and not (cons.sine[r] > cons.sine_margin[r] or cons.sine[r] * cons.sine[r] > weak)):
            cons.weak_rows[weak_count] = r
            weak_count += 1
    cons.count[WEAK_ROWS] = weak_count
    if update_rank:
        cons.time[1] = cons.time[0]
