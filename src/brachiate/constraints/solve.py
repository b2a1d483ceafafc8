"""Forces that hold: G λ = right-hand side with G = J A⁻¹ Jᵀ, by the sparse factor A = LᵀDL (range space method).

With Y = L⁻ᵀ Jᵀ and Z = D Y, G = Yᵀ Z, and what the forces λ do to velocities is L⁻¹ D Y λ. Rows whose chains do not meet
have no entry in G: it is kept and factored within its skyline, so ladders of loops stay linear in their length.

Rows that say nothing new are dropped, not blurred: :mod:`.rank` knows which. The pivots of the factor tell when to ask it
again: a pivot relative to the row's size is the squared sine of the angle, in the mass metric, to those before it.
"""

from __future__ import annotations

from brachiate.compiled import far, index, kernel, outlined
from brachiate.constraints.arrays import (
    DROPPED,
    HOLDING,
    NEW,
    REDUNDANT,
    REGULAR,
    ROWS,
    TOUCH_G,
    TOUCH_PAIRS,
    TOUCHES,
    USED,
    WEAK,
    open_bonds,
)
from brachiate.constraints.redundancy import judge
from brachiate.constraints.rows import fill
from brachiate.constraints.sparsity import LANES, chain, fours
from brachiate.dynamics.factor import chains_up
from brachiate.model.arrays import OK, open_rooms
from brachiate.spatial import Four, four, put_four

# A pivot this small against its row's size is round-off.
ROUND_OFF = 1e-15
# A redundant row with a pivot beyond this part of its size may have something to say again.
SAYS_SOMETHING = 1e-10
# Pivots see the angles of rows through the masses: the judge is asked this much earlier than it may matter.
EARLY = 10.0
NEVER = 1e300


@kernel
def respond(T, W, B):
    """Y, Z and G of all rows, with the factor of the mass matrix."""
    for a in range(B.count[USED] + B.count[TOUCHES]):
        i = B.order[a]
        one, other, common = B.tip_first[i], B.tip_second[i], B.common[i]
        for f in range(fours(B, i)):
            at = B.y_at[i] + f * B.y_stride[i]
            second = at + B.y_second[i]
            chains_up(T, W, B.J, B.Y, B.Z, at, one, second, other, common)
    products(B)


@kernel
def products(B):
    """G = Yᵀ Z within its skyline."""
    for j in range(B.count[TOUCH_G]):
        B.G[index(j)] = 0.0
    for n in range(B.count[TOUCH_PAIRS]):
        i, j = B.pair[n, 0], B.pair[n, 1]
        low, high, width = B.pair[n, 4], B.pair[n, 5], B.g_width[i]
        for f in range(fours(B, i)):
            y = B.y_at[i] + f * B.y_stride[i] + B.pair[n, 2]
            g = B.g_at[B.row[i]] + LANES * f * width + B.row[j] - B.meets[B.row[i]]
            for h in range(fours(B, j)):
                if i != j or h <= f:
                    add_product(B, y, B.y_at[j] + h * B.y_stride[j] + B.pair[n, 3], low, high, g + LANES * h, width)


@kernel
def add_product(B, y, z, low, high, g, width):
    """Add the products of four rows of Y with four rows of Z, over a stretch of a chain, to G."""
    zero = Four(0.0, 0.0, 0.0, 0.0)
    a, b, c, d = zero, zero, zero, zero
    for n in range(low, high):
        Y, Z = four(B.Y, y + 4 * n), four(B.Z, z + 4 * n)
        a, b, c, d = a + Y.a * Z, b + Y.b * Z, c + Y.c * Z, d + Y.d * Z
    put_four(B.G, g, four(B.G, g) + a)
    put_four(B.G, g + width, four(B.G, g + width) + b)
    put_four(B.G, g + 2 * width, four(B.G, g + 2 * width) + c)
    put_four(B.G, g + 3 * width, four(B.G, g + 3 * width) + d)


@kernel
def eliminate(B, r):
    """Row r of G = L D Lᵀ from those before it; returns its size before and its pivot."""
    start, row = B.meets[r], B.g_at[r] - B.meets[r]
    size = B.G[index(row + r)]
    pivot = size
    for s in range(start, r):
        other = B.g_at[s] - B.meets[s]
        x = B.G[index(row + s)]
        for t in range(max(start, B.meets[s]), s):
            x -= B.G[index(row + t)] * B.G[index(other + t)]
        B.G[index(row + s)] = x
    for s in range(start, r):
        x = B.G[index(row + s)] * B.pivot[s]
        pivot -= x * B.G[index(row + s)]
        B.G[index(row + s)] = x
    return size, pivot


@kernel
def factor_rows(B, weak):
    """Factor G in place, leaving out rows that are not regular. Says whether the judge should look which those are.

    A pivot that has shrunk to ``weak`` of what it would be at right angles is one reason; a redundant row with a pivot, and new
    rows, are others.
    """
    doubtful, holding, dropped = False, 0, 0
    for r in range(B.count[ROWS]):
        size, pivot = eliminate(B, r)
        B.pivot[r] = 0.0
        if B.state[r] == REGULAR:
            holding += 1
            doubtful = doubtful or not (pivot > EARLY * weak * B.whole[r] and pivot > 100.0 * ROUND_OFF * size)
            if pivot > ROUND_OFF * size:
                B.pivot[r] = 1.0 / pivot
        elif B.state[r] == REDUNDANT:
            dropped += 1
            doubtful = doubtful or pivot > SAYS_SOMETHING * size + B.whole[r]
        elif B.state[r] == NEW:
            doubtful = True
    B.count[HOLDING], B.count[DROPPED] = holding, dropped
    return doubtful


@kernel
def compare_with(B):
    """Keep what the pivots are while the judge's sines hold, for those to come to be compared with."""
    for r in range(B.count[ROWS]):
        if B.state[r] == REGULAR:
            B.whole[r] = 1.0 / (B.pivot[r] * B.sine[r] * B.sine[r]) if B.pivot[r] * B.sine[r] > 0.0 else NEVER
        else:
            B.whole[r] = 0.0
    for n in range(B.count[WEAK]):
        B.whole[B.weak[n]] = NEVER


@kernel
def factor_without_weak(B):
    """Factor G once more, without the rows that are weak."""
    products(B)
    for r in range(B.count[ROWS]):
        _, pivot = eliminate(B, r)
        B.pivot[r] = 0.0 if B.state[r] != REGULAR else 1.0 / pivot
        for n in range(B.count[WEAK]):
            if B.weak[n] == r:
                B.pivot[r] = 0.0


@far
def relate(key, held, weak, decide):
    """J, Y, Z and the factor of G at poses and with a mass matrix already known.

    If there is any doubt, look which rows are weak, and with ``decide`` which hold (:func:`.rank.judge`).
    """
    T, W = open_rooms(key)
    (B,) = open_bonds(held)
    fill(T, W, B)
    respond(T, W, B)
    doubtful = factor_rows(B, weak)
    if decide and not doubtful:
        B.count[WEAK] = 0
    if doubtful:
        judge(T, W, B, weak, decide)
    if doubtful and decide:
        products(B)
        factor_rows(B, weak)
        compare_with(B)
    if B.count[WEAK]:
        factor_without_weak(B)
    return OK


@outlined
def solve_rows(B, x):
    """x ← G⁻¹ x with the factor; zero for rows that are dropped."""
    n = B.count[ROWS]
    for r in range(n):
        row, s = B.g_at[r] - B.meets[r], x[r]
        for t in range(B.meets[r], r):
            s -= B.G[index(row + t)] * x[index(t)]
        x[r] = s
    for r in range(n):
        x[r] *= B.pivot[r]
    for r in range(n - 1, -1, -1):
        row, s = B.g_at[r] - B.meets[r], x[r]
        for t in range(B.meets[r], r):
            x[index(t)] -= B.G[index(row + t)] * s
        x[r] = s


@outlined
def times(T, B, A, y, out):
    """Out ← A y for all rows that hold, A being J, Y or Z."""
    times_of(T, B, 0, B.count[USED], A, y, out)


@outlined
def spread(T, B, A, x, y):
    """y += Aᵀ x over all rows that hold, A being J, Y or Z."""
    spread_of(T, B, 0, B.count[USED], A, x, y)


@kernel
def times_of(T, B, start, end, A, y, out):
    """Out ← A y for the rows of some bonds."""
    for a in range(start, end):
        i = B.order[a]
        for f in range(fours(B, i)):
            at = B.y_at[i] + f * B.y_stride[i]
            s = Four(0.0, 0.0, 0.0, 0.0)
            for which in range(2):
                tip, base, low = chain(T, B, i, which)
                if tip < 0:
                    continue
                for d in range(low, T.depth[tip] + 1):
                    v = y[index(T.above[index(T.row[tip] + d)])]
                    s = s + v * four(A, at + base + 4 * d)
            r, n = B.row[i] + LANES * f, B.rows[i] - LANES * f
            out[r] = s.a
            if n > 1:
                out[r + 1] = s.b
            if n > 2:
                out[r + 2] = s.c
            if n > 3:
                out[r + 3] = s.d


@kernel
def spread_of(T, B, start, end, A, x, y):
    """y += Aᵀ x over the rows of some bonds."""
    for a in range(start, end):
        i = B.order[a]
        for f in range(fours(B, i)):
            at, r, n = B.y_at[i] + f * B.y_stride[i], B.row[i] + LANES * f, B.rows[i] - LANES * f
            x0, x1, x2, x3 = x[r], x[r + 1] if n > 1 else 0.0, x[r + 2] if n > 2 else 0.0, x[r + 3] if n > 3 else 0.0
            for which in range(2):
                tip, base, low = chain(T, B, i, which)
                if tip < 0:
                    continue
                for d in range(low, T.depth[tip] + 1):
                    rows = four(A, at + base + 4 * d)
                    y[index(T.above[index(T.row[tip] + d)])] += rows.a * x0 + rows.b * x1 + rows.c * x2 + rows.d * x3
