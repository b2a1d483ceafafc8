"""Forces that hold: G λ = right-hand side with G = J A⁻¹ Jᵀ, by the sparse factor A = LᵀDL (range space method).

With Y = L⁻ᵀ Jᵀ and Z = D Y, G = Yᵀ Z, and what the forces λ do to velocities is L⁻¹ Z λ. Rows whose chains do not meet
have no entry in G: it is kept and factored within its skyline, so ladders of loops stay linear in their length.

Rank is decided by the pivots of the factor: a pivot relative to the row's own size is the squared sine of the angle, in
the mass metric, between this row and those before it. Rows that say nothing new are dropped, not blurred.
"""

from __future__ import annotations

from brachiate.compiled import far, index, kernel
from brachiate.constraints.rooms import DROPPED, NEW, PAIRS, REDUNDANT, REGULAR, ROWS, USED, WEAK, open_bonds
from brachiate.constraints.rows import fill, gross
from brachiate.model.rooms import OK, open_rooms

# A row whose entries cancel to this fraction of their size (squared) is zero: both bodies move alike along it.
NOTHING = 1e-24
# A row at an angle to the others whose squared sine is below this says what they say. Round-off in the squared sine of
# rows well apart is about 1e-15, so 1e-12 leaves three digits of room on that side.
SAME = 1e-12
# A row whose squared size has shrunk to this fraction of what it would be if nothing cancelled is about to be lost.
NEARLY_LOST = 1e-6


@kernel
def chain_up(T, W, x, at, tip, stop):
    """x ← L⁻ᵀ x for a vector that lives on one chain, its velocities from the tip down to (not including) ``stop``."""
    for d in range(T.depth[tip], stop - 1, -1):
        s = x[index(at + d)]
        row = T.row[T.above[index(T.row[tip] + d)]]
        for e in range(d):
            x[index(at + e)] -= W.L[index(row + e)] * s


@kernel
def scaled_chain(T, W, B, at, tip):
    """Z ← D Y along one chain."""
    for d in range(T.depth[tip] + 1):
        B.Z[index(at + d)] = W.D[index(T.above[index(T.row[tip] + d)])] * B.Y[index(at + d)]


@kernel
def respond(T, W, B):
    """Y, Z and G of all rows, with the factor of the mass matrix."""
    for a in range(B.count[USED]):
        i = B.order[a]
        one, other, common = B.tip_first[i], B.tip_second[i], B.common[i]
        for m in range(B.rows[i]):
            at = B.y_at[i] + m * B.y_stride[i]
            second = at + B.y_second[i]
            for j in range(at, at + B.y_stride[i]):
                B.Y[index(j)] = B.J[index(j)]
            if other >= 0:
                chain_up(T, W, B.Y, second, other, common)
                for e in range(common):  # from here on the two chains are one
                    B.Y[index(at + e)] += B.Y[index(second + e)]
                    B.Y[index(second + e)] = 0.0
                scaled_chain(T, W, B, second, other)
            if one >= 0:
                chain_up(T, W, B.Y, at, one, 0)
                scaled_chain(T, W, B, at, one)
    products(B)


@kernel
def products(B):
    """G = Yᵀ Z within its skyline."""
    for r in range(B.count[ROWS]):
        for j in range(B.g_at[r], B.g_at[r] + r - B.meets[r] + 1):
            B.G[index(j)] = 0.0
    for n in range(B.count[PAIRS]):
        i, j = B.pair[n, 0], B.pair[n, 1]
        low, high = B.pair[n, 4], B.pair[n, 5]
        for a in range(B.rows[i]):
            r = B.row[i] + a
            y = B.y_at[i] + a * B.y_stride[i] + B.pair[n, 2]
            g = B.g_at[r] + B.row[j] - B.meets[r]
            for b in range(min(B.rows[j], r - B.row[j] + 1)):
                z = B.y_at[j] + b * B.y_stride[j] + B.pair[n, 3]
                s = 0.0
                for d in range(low, high):
                    s += B.Y[index(y + d)] * B.Z[index(z + d)]
                B.G[index(g + b)] += s


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
def factor_rows(B, decide, weak):
    """Factor G in place, leaving out rows that are redundant, and those whose pivot fell below ``weak`` times their size.

    With ``decide``, say which rows are redundant: new ones that bring nothing. Ones that held and are about to be lost are
    never called redundant: they are weak, and the posture close to a singular one. Redundant ones that bring something
    again hold again.
    """
    least, dropped, weaks = 1.0, 0, 0
    for a in range(B.count[USED]):
        i = B.order[a]
        for r in range(B.row[i], B.row[i] + B.rows[i]):
            size, pivot = eliminate(B, r)
            whole = gross(B, i, r)
            lost = not size > NOTHING * whole or not pivot > SAME * size
            if decide and B.state[r] == NEW:
                B.state[r] = REDUNDANT if lost else REGULAR
            elif decide and B.state[r] == REDUNDANT and pivot > 10.0 * SAME * size and not lost:
                B.state[r] = REGULAR
            B.margin[r] = max(pivot, 0.0) / whole if whole > 0.0 else 0.0
            B.pivot[r] = 0.0
            if B.state[r] == REDUNDANT or B.state[r] == NEW:
                dropped += 1
                continue
            least = min(least, B.margin[r])
            if pivot > weak * whole and pivot > 1e-15 * size:
                B.pivot[r] = 1.0 / pivot
            else:
                B.weak[weaks] = r
                weaks += 1
    B.count[DROPPED], B.count[WEAK] = dropped, weaks
    B.most[1] = least


@far
def relate(key, held, weak, decide):
    """J, Y, Z and the factor of G at poses and with a mass matrix already known; ``decide`` and ``weak`` as in factor_rows."""
    T, W = open_rooms(key)
    (B,) = open_bonds(held)
    fill(T, W, B)
    respond(T, W, B)
    factor_rows(B, decide, weak)
    return OK


@kernel
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


@kernel
def along_chain(T, B, A, at, tip, start, y):
    """Product of a row's part on one chain with velocities y."""
    s = 0.0
    if tip >= 0:
        row = T.row[tip]
        for d in range(start, T.depth[tip] + 1):
            s += A[index(at + d)] * y[index(T.above[index(row + d)])]
    return s


@kernel
def row_product(T, B, A, i, m, y):
    """Product of row m of bond i, as it stands in A (J, Y or Z), with velocities y."""
    at = B.y_at[i] + m * B.y_stride[i]
    s = along_chain(T, B, A, at, B.tip_first[i], 0, y)
    return s + along_chain(T, B, A, at + B.y_second[i], B.tip_second[i], B.common[i], y)


@kernel
def spread_chain(T, A, at, tip, start, s, y):
    """y += s times a row's part on one chain."""
    if tip >= 0:
        row = T.row[tip]
        for d in range(start, T.depth[tip] + 1):
            y[index(T.above[index(row + d)])] += s * A[index(at + d)]


@kernel
def spread(T, B, A, x, y):
    """y += Aᵀ x over all rows, A being J, Y or Z."""
    for a in range(B.count[USED]):
        i = B.order[a]
        for m in range(B.rows[i]):
            s = x[B.row[i] + m]
            if s != 0.0:
                at = B.y_at[i] + m * B.y_stride[i]
                spread_chain(T, A, at, B.tip_first[i], 0, s, y)
                spread_chain(T, A, at + B.y_second[i], B.tip_second[i], B.common[i], s, y)
