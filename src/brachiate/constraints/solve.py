"""Constraint forces: G λ = right-hand side with the Delassus operator G = J A⁻¹ Jᵀ and the sparse factor A = LᵀDL.

This is the range-space (Schur complement) method. With Y = L⁻ᵀ Jᵀ and Z = D Y, G = Yᵀ Z, and forces λ change velocities by
L⁻¹ D Y λ. Rows whose chains do not overlap have no entry in G: it is stored and factored within its skyline, so the cost of
ladders of loops is linear in their length.

Redundant rows are left out, not regularized (:mod:`.redundancy` decides which). The pivots of the factor tell when that must
be decided again: a pivot relative to the row's size is the squared sine of its angle, in the mass metric, to the rows before it.
"""

from __future__ import annotations

from brachiate.compiled import by_address, index, kernel, outlined
from brachiate.constraints.arrays import (
    CONSTRAINTS,
    CONTACTS,
    G_SIZE_WITH_CONTACTS,
    INDEPENDENT,
    INDEPENDENT_ROWS,
    PAIRS_WITH_CONTACTS,
    REDUNDANT,
    REDUNDANT_ROWS,
    ROWS,
    UNCLASSIFIED,
    WEAK_ROWS,
    open_constraints,
)
from brachiate.constraints.redundancy import classify_rows
from brachiate.constraints.rows import fill_jacobian
from brachiate.constraints.sparsity import LANES, chain, row_blocks
from brachiate.dynamics.factor import backward_sweep_two_chains
from brachiate.model.arrays import open_model
from brachiate.model.status import OK
from brachiate.spatial import Four, four, put_four

# A pivot below this fraction of its row's size is round-off.
ROUND_OFF = 1e-15
# A redundant row with a pivot above this fraction of its size may have become independent.
REDUNDANT_PIVOT_LIMIT = 1e-10
# Pivots measure angles of rows in the mass metric, so rows are classified again this factor before it may matter.
PIVOT_SAFETY = 10.0
INFINITE_SCALE = 1e300


@kernel
def compute_delassus(T, W, cons):
    """Y, Z and G of all rows, from the factor of the mass matrix."""
    for a in range(cons.count[CONSTRAINTS] + cons.count[CONTACTS]):
        i = cons.order[a]
        one, other, common = cons.tip_first[i], cons.tip_second[i], cons.common[i]
        for f in range(row_blocks(cons, i)):
            at = cons.y_at[i] + f * cons.y_stride[i]
            second = at + cons.y_second[i]
            backward_sweep_two_chains(T, W, cons.J, cons.Y, cons.Z, at, one, second, other, common)
    accumulate_delassus(cons)


@kernel
def accumulate_delassus(cons):
    """G = Yᵀ Z within its skyline."""
    for j in range(cons.count[G_SIZE_WITH_CONTACTS]):
        cons.G[index(j)] = 0.0
    for n in range(cons.count[PAIRS_WITH_CONTACTS]):
        i, j = cons.pair[n, 0], cons.pair[n, 1]
        low, high, width = cons.pair[n, 4], cons.pair[n, 5], cons.g_width[i]
        for f in range(row_blocks(cons, i)):
            y = cons.y_at[i] + f * cons.y_stride[i] + cons.pair[n, 2]
            g = cons.g_at[cons.row[i]] + LANES * f * width + cons.row[j] - cons.skyline_start[cons.row[i]]
            for h in range(row_blocks(cons, j)):
                if i != j or h <= f:
                    add_block_product(cons, y, cons.y_at[j] + h * cons.y_stride[j] + cons.pair[n, 3], low, high, g + LANES * h, width)


@kernel
def add_block_product(cons, y, z, low, high, g, width):
    """G += products of four rows of Y with four rows of Z, over a range of a chain."""
    zero = Four(0.0, 0.0, 0.0, 0.0)
    a, b, c, d = zero, zero, zero, zero
    for n in range(low, high):
        Y, Z = four(cons.Y, y + 4 * n), four(cons.Z, z + 4 * n)
        a, b, c, d = a + Y.a * Z, b + Y.b * Z, c + Y.c * Z, d + Y.d * Z
    put_four(cons.G, g, four(cons.G, g) + a)
    put_four(cons.G, g + width, four(cons.G, g + width) + b)
    put_four(cons.G, g + 2 * width, four(cons.G, g + 2 * width) + c)
    put_four(cons.G, g + 3 * width, four(cons.G, g + 3 * width) + d)


@kernel
def factor_row(cons, r):
    """Row r of G = L D Lᵀ from those before it; returns its diagonal before and its pivot."""
    start, row = cons.skyline_start[r], cons.g_at[r] - cons.skyline_start[r]
    size = cons.G[index(row + r)]
    pivot = size
    for s in range(start, r):
        other = cons.g_at[s] - cons.skyline_start[s]
        x = cons.G[index(row + s)]
        for t in range(max(start, cons.skyline_start[s]), s):
            x -= cons.G[index(row + t)] * cons.G[index(other + t)]
        cons.G[index(row + s)] = x
    for s in range(start, r):
        x = cons.G[index(row + s)] * cons.inverse_pivot[s]
        pivot -= x * cons.G[index(row + s)]
        cons.G[index(row + s)] = x
    return size, pivot


@kernel
def store_columns_below(cons, nv):
    """Store the products of redundant rows with independent rows behind them, which factoring overwrites, in cons.dense_rows."""
    for r in range(cons.count[ROWS]):
        if cons.state[r] == REDUNDANT:
            n = 0
            for s in range(r + 1, cons.count[ROWS]):
                if cons.state[s] == INDEPENDENT and n < nv:
                    start = cons.skyline_start[s]
                    cons.dense_rows[index(r * nv + n)] = cons.G[index(cons.g_at[s] - start + r)] if start <= r else 0.0
                    n += 1


@kernel
def pivot_of_redundant_row(cons, r, pivot, nv):
    """Pivot of a redundant row behind all independent rows, from the one behind those that precede it, once all are factored.

    Of rows that depend on each other any may be the redundant one: alone with rows before it, it may be independent.
    """
    start, row, n = cons.skyline_start[r], cons.g_at[r] - cons.skyline_start[r], 0
    for s in range(r + 1, cons.count[ROWS]):
        if cons.state[s] != INDEPENDENT or n == nv:
            continue
        low, other, m = cons.skyline_start[s], cons.g_at[s] - cons.skyline_start[s], 0
        x = cons.dense_rows[index(r * nv + n)]
        for t in range(max(start, low), r):
            if cons.inverse_pivot[t] > 0.0:
                x -= cons.G[index(other + t)] * cons.G[index(row + t)] / cons.inverse_pivot[t]
        for t in range(r + 1, s):
            if cons.state[t] == INDEPENDENT:
                if t >= low:
                    x -= cons.G[index(other + t)] * cons.dense_rows[index(r * nv + m)]
                m += 1
        cons.dense_rows[index(r * nv + n)] = x
        pivot -= x * x * cons.inverse_pivot[s]
        n += 1
    return pivot


@kernel
def factor_independent_rows(cons, weak, nv):
    """Factor G in place without rows that are not independent. Returns whether rows must be classified again.

    Reasons are a pivot that has shrunk to ``weak`` of its value at right angles, a redundant row with a pivot, and
    unclassified rows.
    """
    doubtful, independent, redundant = False, 0, 0
    store_columns_below(cons, nv)
    for r in range(cons.count[ROWS]):
        size, pivot = factor_row(cons, r)
        cons.inverse_pivot[r] = 0.0
        if cons.state[r] == INDEPENDENT:
            independent += 1
            doubtful = doubtful or not (pivot > PIVOT_SAFETY * weak * cons.pivot_scale[r] and pivot > 100.0 * ROUND_OFF * size)
            if pivot > ROUND_OFF * size:
                cons.inverse_pivot[r] = 1.0 / pivot
        elif cons.state[r] == REDUNDANT:
            redundant += 1
            cons.remaining[r] = pivot
        elif cons.state[r] == UNCLASSIFIED:
            doubtful = True
    for r in range(cons.count[ROWS] if redundant > 0 else 0):
        if cons.state[r] == REDUNDANT:
            pivot, size = pivot_of_redundant_row(cons, r, cons.remaining[r], nv), cons.G[cons.g_at[r] - cons.skyline_start[r] + r]
            doubtful = doubtful or pivot > REDUNDANT_PIVOT_LIMIT * size + cons.pivot_scale[r]
    cons.count[INDEPENDENT_ROWS], cons.count[REDUNDANT_ROWS] = independent, redundant
    return doubtful


@kernel
def update_pivot_scales(cons):
    """Store the pivots that belong to the sines just computed, to compare later pivots with."""
    for r in range(cons.count[ROWS]):
        if cons.state[r] == INDEPENDENT:
            cons.pivot_scale[r] = (
                1.0 / (cons.inverse_pivot[r] * cons.sine[r] * cons.sine[r])
                if cons.inverse_pivot[r] * cons.sine[r] > 0.0
                else INFINITE_SCALE
            )
        else:
            cons.pivot_scale[r] = 0.0
    for n in range(cons.count[WEAK_ROWS]):
        cons.pivot_scale[cons.weak_rows[n]] = INFINITE_SCALE


@kernel
def factor_without_weak_rows(cons):
    """Factor G again, without the weak rows."""
    accumulate_delassus(cons)
    for r in range(cons.count[ROWS]):
        _, pivot = factor_row(cons, r)
        cons.inverse_pivot[r] = 0.0 if cons.state[r] != INDEPENDENT else 1.0 / pivot
        for n in range(cons.count[WEAK_ROWS]):
            if cons.weak_rows[n] == r:
                cons.inverse_pivot[r] = 0.0


@by_address
def factor_delassus(key, constraint_key, weak, update_rank):
    """J, Y, Z and the factor of G at the current poses, with the current factor of the mass matrix.

    If pivots are doubtful, find the weak rows, and with ``update_rank`` the independent ones (:func:`.redundancy.classify_rows`).
    """
    T, W = open_model(key)
    (cons,) = open_constraints(constraint_key)
    fill_jacobian(T, W, cons)
    compute_delassus(T, W, cons)
    doubtful = factor_independent_rows(cons, weak, W.v.shape[0])
    if update_rank and not doubtful:
        cons.count[WEAK_ROWS] = 0
    if doubtful:
        classify_rows(T, W, cons, weak, update_rank)
    if doubtful and update_rank:
        accumulate_delassus(cons)
        factor_independent_rows(cons, weak, W.v.shape[0])
        update_pivot_scales(cons)
    if cons.count[WEAK_ROWS]:
        factor_without_weak_rows(cons)
    return OK


@outlined
def solve_rows(cons, x):
    """x ← G⁻¹ x with the factor; zero for rows that are left out."""
    n = cons.count[ROWS]
    for r in range(n):
        row, s = cons.g_at[r] - cons.skyline_start[r], x[r]
        for t in range(cons.skyline_start[r], r):
            s -= cons.G[index(row + t)] * x[index(t)]
        x[r] = s
    for r in range(n):
        x[r] *= cons.inverse_pivot[r]
    for r in range(n - 1, -1, -1):
        row, s = cons.g_at[r] - cons.skyline_start[r], x[r]
        for t in range(cons.skyline_start[r], r):
            x[index(t)] -= cons.G[index(row + t)] * s
        x[r] = s


@outlined
def multiply_rows(T, cons, M, y, out):
    """out ← M y for all constraint rows; M is J, Y or Z."""
    multiply_constraint_rows(T, cons, 0, cons.count[CONSTRAINTS], M, y, out)


@outlined
def add_transposed_product(T, cons, M, x, y):
    """y += Mᵀ x over all constraint rows; M is J, Y or Z."""
    add_transposed_constraint_product(T, cons, 0, cons.count[CONSTRAINTS], M, x, y)


@kernel
def multiply_constraint_rows(T, cons, start, end, M, y, out):
    """out ← M y for the rows of the constraints ``order[start:end]``."""
    for a in range(start, end):
        i = cons.order[a]
        for f in range(row_blocks(cons, i)):
            at = cons.y_at[i] + f * cons.y_stride[i]
            s = Four(0.0, 0.0, 0.0, 0.0)
            for which in range(2):
                tip, base, low = chain(T, cons, i, which)
                if tip < 0:
                    continue
                for d in range(low, T.depth[tip] + 1):
                    v = y[index(T.above[index(T.row[tip] + d)])]
                    s = s + v * four(M, at + base + 4 * d)
            r, n = cons.row[i] + LANES * f, cons.rows[i] - LANES * f
            out[r] = s.a
            if n > 1:
                out[r + 1] = s.b
            if n > 2:
                out[r + 2] = s.c
            if n > 3:
                out[r + 3] = s.d


@kernel
def add_transposed_constraint_product(T, cons, start, end, M, x, y):
    """y += Mᵀ x over the rows of the constraints ``order[start:end]``."""
    for a in range(start, end):
        i = cons.order[a]
        for f in range(row_blocks(cons, i)):
            at, r, n = cons.y_at[i] + f * cons.y_stride[i], cons.row[i] + LANES * f, cons.rows[i] - LANES * f
            x0, x1, x2, x3 = x[r], x[r + 1] if n > 1 else 0.0, x[r + 2] if n > 2 else 0.0, x[r + 3] if n > 3 else 0.0
            for which in range(2):
                tip, base, low = chain(T, cons, i, which)
                if tip < 0:
                    continue
                for d in range(low, T.depth[tip] + 1):
                    rows = four(M, at + base + 4 * d)
                    y[index(T.above[index(T.row[tip] + d)])] += rows.a * x0 + rows.b * x1 + rows.c * x2 + rows.d * x3
