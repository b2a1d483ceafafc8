"""Which rows hold: some say what others say already, and where a posture is singular some are about to say nothing.

That is a matter of directions, not of masses: rows of J are compared as they are, in the metric of the joints' velocities,
each as part of what it would be if nothing cancelled in it. They are freed of each other by Gram and Schmidt, twice, which
keeps the angle itself to round-off where pivots of J A⁻¹ Jᵀ only keep its square. Rows that stand out are taken first, a
decade at a time; within a decade the oldest, so that what was chosen stays chosen while it is no worse.

This is the exact answer, and costs some microseconds. It is asked for after a change of structure, and when the pivots of
the factor (:mod:`.solve`) arouse suspicion.
"""

from __future__ import annotations

import math

from brachiate.compiled import index, kernel, outlined
from brachiate.constraints.arrays import ASLEEP, NEW, REDUNDANT, REGULAR, ROWS, SOFT, USED, WEAK
from brachiate.constraints.rows import velocity_at
from brachiate.constraints.sparsity import LANES, between, chain
from brachiate.spatial import force, motion, vec3

# Sine of the angle between a row and all others below which it says what they say. Round-off is about 1e-15, and rows that
# lean on others at a small angle have more of it: it is divided by that angle, of which the smallest is this one.
SAME = 1e-9
LEAST_GAP, MOST_DOUBT = 100.0, 1e-6  # bonds that are open turn rows by about as much: nothing finer is seen then
LOYAL = 10.0  # a redundant row replaces one that holds only if it is so much better
NOTHING = 1e-24  # square of a row, of what any row of its bond could be, that is all round-off
STANDS_OUT = 0.3  # sine at which rows are taken first
FAINT = 1e-5  # sine below which too few digits are left to hold on to while things move
AHEAD = 3.0  # so many steps the judge looks ahead


@kernel
def whole_chain(T, W, tip, start, P):
    """Squares of how much the joints of a chain turn its tip, and move the point P of it."""
    turn = move = 0.0
    for d in range(start, T.depth[tip] + 1 if tip >= 0 else 0):
        S = motion(W.S, T.above[index(T.row[tip] + d)])
        v = velocity_at(S, P)
        turn, move = turn + S.w @ S.w, move + v @ v
    return turn, move


@kernel
def wholes(T, W, B, i):
    """Squares of what any row of bond i would be if nothing cancelled: one that turns, and one that moves."""
    if not between(B, i):
        return 0.0, 1.0
    turn, move = whole_chain(T, W, B.tip_first[i], B.common[i], vec3(B.P_first, i))
    more_turn, more_move = whole_chain(T, W, B.tip_second[i], B.common[i], vec3(B.P_second, i))
    return turn + more_turn, move + more_move


@kernel
def put_row(T, B, i, m, scale, nv):
    """Row m of bond i, scaled, among the dense ones; returns its square."""
    r = B.row[i] + m
    at, lane = r * nv, B.y_at[i] + (m // LANES) * B.y_stride[i] + m % LANES
    for k in range(nv):
        B.dense[index(at + k)] = 0.0
    size = 0.0
    for which in range(2):
        tip, base, start = chain(T, B, i, which)
        for d in range(start, T.depth[tip] + 1 if tip >= 0 else 0):
            x = scale * B.J[index(lane + base + LANES * d)]
            B.dense[index(at + T.above[index(T.row[tip] + d)])] = x
            size += x * x
    return size


@kernel
def put_rows(T, W, B, nv):
    """All rows, each as part of what it would be if nothing cancelled. Returns how many hold so far and the largest gap."""
    before, gap = 0, 0.0
    for a in range(B.count[USED]):
        i = B.order[a]
        turn, move = wholes(T, W, B, i)
        for m in range(B.rows[i]):
            r = B.row[i] + m
            B.sine[r], B.left[r] = 0.0, -1.0  # -1: it is taken, or does not count
            if B.state[r] in (ASLEEP, SOFT):
                continue
            t = force(B.T, r)
            whole = (t.n @ t.n) * turn + (t.f @ t.f) * move if between(B, i) else move
            scale = 1.0 / math.sqrt(whole) if whole > NOTHING * (turn + move) else 0.0  # or both bodies move alike
            B.left[r] = put_row(T, B, i, m, scale, nv)
            before += int(B.state[r] == REGULAR)
            gap = max(gap, abs(B.c[r]))
    return before, gap


@kernel
def free_of(B, r, s, nv):
    """Row r, freed of what the unit row s says; returns the square of what is left."""
    x, y, dot, size = r * nv, s * nv, 0.0, 0.0
    for k in range(nv):
        dot += B.dense[index(x + k)] * B.dense[index(y + k)]
    for k in range(nv):
        z = B.dense[index(x + k)] - dot * B.dense[index(y + k)]
        B.dense[index(x + k)] = z
        size += z * z
    return size


@kernel
def take(B, r, n, least, nv):
    """Take row r, if it still stands out once more freed of those taken; free the others of it. Says whether."""
    for s in range(n):
        if B.sine[s] > 0.0:
            B.left[r] = free_of(B, r, s, nv)
    if not B.left[r] > least * least:
        return False
    sine = math.sqrt(B.left[r])
    B.sine[r], B.left[r] = sine, -1.0
    for k in range(r * nv, (r + 1) * nv):
        B.dense[index(k)] /= sine
    for s in range(n):
        if B.left[s] > 0.0:
            B.left[s] = free_of(B, s, r, nv)
    return True


@kernel
def look_ahead(B, r, passed):
    """How far the sine of row r may change in the next steps, going by what it was at the time before."""
    if passed > 0.0 or B.state[r] == NEW:
        change = abs(B.sine[r] - B.sine_last[r])
        known = B.state[r] != NEW and passed < 1.5 * B.step[0]
        B.reach[r] = max(FAINT, AHEAD * change * B.step[0] / passed) if known else 1.0
        B.sine_last[r] = B.sine[r]


@outlined
def judge(T, W, B, weak, decide):
    """Say which rows hold, and list those that are weak: that may be lost in the next steps, going by how their sine changes.

    The square of their sine is below ``weak`` in any case. New rows that bring nothing are redundant. Rows that held and have
    nobody to replace them are never called redundant: they are weak, and the posture is close to a singular one. Unless it is
    to ``decide``, what holds and what is redundant stays as it is; rows of the latter that are listed stay listed.
    """
    n, nv = B.count[ROWS], W.v.shape[0]
    before, gap = put_rows(T, W, B, nv)
    if not decide:
        for r in range(n):
            if B.state[r] != REGULAR:
                B.left[r] = -1.0
    finest = max(SAME, min(MOST_DOUBT, LEAST_GAP * gap))
    least = STANDS_OUT
    while True:
        for r in range(n):
            mine = least * (LOYAL if B.state[r] == REDUNDANT else 1.0)
            if B.left[r] > mine * mine and take(B, r, n, mine, nv):
                before -= int(B.state[r] != NEW)
        if least == finest:
            break
        least = max(0.1 * least, finest)
    weaks, passed = 0, abs(B.clock[0] - B.clock[1])
    for m in range(0 if decide else B.count[WEAK]):
        if B.state[B.weak[m]] == REDUNDANT:
            B.weak[weaks] = B.weak[m]
            weaks += 1
    for r in range(n):
        taken = B.sine[r] > 0.0
        if not taken and B.left[r] < 0.0:
            continue
        kept = not taken and before > 0 and B.state[r] == REGULAR
        before -= int(kept)
        if decide:
            look_ahead(B, r, passed)
            B.state[r] = REGULAR if taken or kept else REDUNDANT
        if kept or (taken and not (B.sine[r] > B.reach[r] or B.sine[r] * B.sine[r] > weak)):
            B.weak[weaks] = r
            weaks += 1
    B.count[WEAK] = weaks
    if decide:
        B.clock[1] = B.clock[0]
