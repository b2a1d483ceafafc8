"""The optimizer [DF] VII-C 2: of all accelerations and forces that physics allows, those nearest to what is wished.

    minimise  ½ Σ wₖ (aₖ − âₖ)² + ½ ε Σ ρⱼ² + ½ Σ (C a + D ρ − d)² / give      over the rows that give,
    while     C a + D ρ = d  in rows that do not,   C a + D ρ ≥ d  in rows that are bounds,   ρ ≥ 0.

a are accelerations, ρ forces along the edges of friction cones. The paper has a pseudoinverse of the whole system, with contact states by
trial and error; here forces are in their cones from the start, and limits are rows among others.

Weights of a and ρ are diagonal, so what is left to solve has the size of the rows, and not of the body:

    (C w⁻¹ Cᵀ + D ε⁻¹ Dᵀ + give) y = d − C â,    a = â + w⁻¹ Cᵀ y,    ρ = ε⁻¹ Dᵀ y

over the rows that act and the forces that are not zero. Which those are is found by exchanging all that are wrong at once, and, where that
does not go on getting better, one at a time: this ends, as the problem is strictly convex [Júdice & Pires 1994]. From one step to the
next they seldom change.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from brachiate.compiled import Floats, Ints, entry, fields_of, index, kernel, opener, outlined
from brachiate.contact.factor import factor, solve_transposed
from brachiate.model.rooms import OK, STALLED

EQUAL, AT_LEAST = range(2)
ROWS, RAYS, SOLVES, STRIDE, ROWS_BEFORE, RAYS_BEFORE = range(6)  # places of Program.count
PATIENCE = 3  # exchanges of all that are wrong without getting better, before they are exchanged one at a time
SOON, MOST = 25, 200  # solves from what was known before, and from nothing
CLOSE = 1e-9  # of a row's own size: what is wrong by no more is right
NOTHING = 1e-14  # so that a row of forces none of which lives calls for them
STIFF = 1e-10  # of a row's own size: rows that do not give do so by this much, so that two may say the same


class Program(NamedTuple):
    """Sizes: n accelerations, R rows (whole fours), K rays. C is kept by columns: what is done to one row is done to all of them."""

    count: Ints  # (6,) rows and rays in use, solves it took, R, rows and rays in use the last time
    weight: Floats  # (n,)
    wish: Floats  # (n,) â
    kind: Ints  # (R,) EQUAL or AT_LEAST
    give: Floats  # (R,) inverse of a row's weight, 0 for one that does not give
    want: Floats  # (R,) d
    pulls: Ints  # (R,) 1 if the row has numbers in D
    C: Floats  # (n R,) column by column; all zero where there is no row
    D: Floats  # (R K,) row by row
    light: Floats  # (1,) ε
    acts: Ints  # (R,) whether a bound acts; kept from the last solution as the first guess
    lives: Ints  # (K,) whether a force is not zero, likewise
    a: Floats  # (n,)
    rho: Floats  # (K,)
    y: Floats  # (R,) what a row pulls
    made: Ints  # (R,) scratch: whether its products are known
    list: Ints  # (R,) scratch: rows in the matrix, those that pull first
    G: Floats  # (R R,) scratch: C w⁻¹ Cᵀ
    open: Floats  # (R,) scratch: d − C â
    size: Floats  # (R,) scratch: of a row's numbers
    M: Floats  # (R R,) scratch: the matrix
    x: Floats  # (R,) scratch: its solution
    column: Floats  # (R,) scratch: of one force
    rest: Floats  # (R,) scratch: C a


open_program = opener(Program)


def program_for(n: int, rows: int, rays: int) -> Program:
    """Make the arrays for n accelerations and up to so many rows and rays."""
    stride = -(-rows // 4) * 4
    length = {"count": 6, "light": 1, "C": n * stride, "D": stride * rays, "G": stride * stride, "M": stride * stride}
    length |= dict.fromkeys(("lives", "rho"), rays) | dict.fromkeys(("weight", "wish", "a"), n)
    program = Program(**{name: np.zeros((length.get(name, stride), *f.row), f.dtype) for name, f in fields_of(Program).items()})
    program.count[STRIDE] = stride
    program.weight[:] = 1.0
    program.light[0] = 1e-6
    return program


@kernel
def whole(n):
    """So many, rounded up to fours."""
    return (n + 3) // 4 * 4


@kernel
def times(P, x, out):
    """Out ← C x."""
    R, full = P.count[STRIDE], whole(P.count[ROWS])
    for r in range(full):
        out[index(r)] = 0.0
    for k in range(P.weight.shape[0]):
        s, at = x[index(k)], k * R
        for r in range(full):
            out[index(r)] += s * P.C[index(at + r)]


@kernel
def make_row(P, r):
    """Products of a row with all others: it will be in the matrix."""
    R, full = P.count[STRIDE], whole(P.count[ROWS])
    row = r * R
    for s in range(full):
        P.G[index(row + s)] = 0.0
    for k in range(P.weight.shape[0]):
        at = k * R
        x = P.C[index(at + r)]
        if x != 0.0:
            x /= P.weight[index(k)]
            for s in range(full):
                P.G[index(row + s)] += x * P.C[index(at + s)]
    P.made[r] = 1


@kernel
def begin(P):
    """Look at all rows once."""
    R = P.count[STRIDE]
    times(P, P.wish, P.open)
    for r in range(P.count[ROWS]):
        P.size[r] = abs(P.want[r])
    for k in range(P.weight.shape[0]):
        for r in range(P.count[ROWS]):
            P.size[index(r)] = max(P.size[index(r)], abs(P.C[index(k * R + r)]))
    for r in range(P.count[ROWS]):
        P.open[r] = P.want[r] - P.open[r]
        P.made[r] = 0
        if P.kind[r] == EQUAL:
            P.acts[r] = 1


@kernel
def gather_matrix(P):
    """The matrix of the rows that act and the forces that live; returns how many rows it has."""
    R, K = P.count[STRIDE], P.lives.shape[0]
    n = pulling = 0
    for r in range(P.count[ROWS]):
        if P.acts[r] and P.pulls[r]:
            P.list[n] = r
            n += 1
    pulling = n
    for r in range(P.count[ROWS]):
        if P.acts[r] and not P.pulls[r]:
            P.list[n] = r
            n += 1
    for i in range(n):
        r = P.list[i]
        if not P.made[r]:
            make_row(P, r)
        for j in range(n):
            P.M[index(i * R + j)] = P.G[index(r * R + P.list[index(j)])]
        P.x[i] = P.open[r]
    full, some = whole(n), whole(pulling)
    for i in range(n, full):
        for j in range(full):
            P.M[index(i * R + j)] = 0.0
            P.M[index(j * R + i)] = 0.0
        P.M[index(i * R + i)] = 1.0
        P.x[i] = 0.0
    for i in range(pulling, some):
        P.column[i] = 0.0
    for k in range(P.count[RAYS]):
        if P.lives[k]:
            for i in range(pulling):
                P.column[index(i)] = P.D[index(P.list[index(i)] * K + k)]
            for i in range(pulling):
                s = P.column[index(i)] / P.light[0]
                for j in range(some):
                    P.M[index(i * R + j)] += s * P.column[index(j)]
    for i in range(n):
        P.M[index(i * R + i)] += P.give[P.list[i]] + STIFF * P.M[index(i * R + i)] + NOTHING
    return n


@kernel
def solve_rows(P):
    """Pulls of the rows that act, and the accelerations and forces they make."""
    n, R, K = gather_matrix(P), P.count[STRIDE], P.lives.shape[0]
    factor(P.M, R, whole(n))
    solve_transposed(P.M, R, whole(n), P.x)
    for r in range(P.count[ROWS]):
        P.y[r] = 0.0
    for j in range(P.count[RAYS]):
        P.rho[j] = 0.0
    for i in range(n):
        r, y = P.list[i], P.x[i]
        P.y[r] = y
        if P.pulls[r]:
            for j in range(P.count[RAYS]):
                P.rho[index(j)] += P.D[index(r * K + j)] * y
    for j in range(P.count[RAYS]):
        P.rho[j] /= P.light[0]  # of those that do not live: what they would be
    for k in range(P.weight.shape[0]):
        s, at = 0.0, k * R
        for i in range(n):
            s += P.C[index(at + P.list[index(i)])] * P.x[index(i)]
        P.a[k] = P.wish[k] + s / P.weight[k]


@kernel
def wrong(P, j, strong):
    """Whether force j is on the wrong side: one that lives pulls, or one that does not would push."""
    return P.rho[j] < -CLOSE * strong if P.lives[j] else P.rho[j] > CLOSE * strong


@kernel
def out_of_bounds(P, r, silent):
    """Whether bound r is on the wrong side: it acts and pulls the wrong way, or does not, and is not kept."""
    if P.kind[r] == EQUAL:
        return False
    if P.acts[r]:
        own = P.G[index(r * P.count[STRIDE] + r)] + P.give[r]
        return P.y[r] * own < -CLOSE * P.size[r] * silent
    rest = P.rest[r] - P.want[r]
    if P.pulls[r]:
        at = r * P.lives.shape[0]
        for j in range(P.count[RAYS]):
            rest += P.D[index(at + j)] * P.rho[index(j)] * P.lives[index(j)]
    return rest < -CLOSE * P.size[r] * silent


@kernel
def forget(P):
    """Begin with no bound acting and all forces living: who they were before is not known."""
    for r in range(P.acts.shape[0]):
        P.acts[r] = 0
    for j in range(P.lives.shape[0]):
        P.lives[j] = 1


@outlined
def optimize(P):
    """Find a, ρ and y. Returns OK, or STALLED if it does not come to an end (which round-off may do)."""
    P.count[SOLVES] = 0
    if P.count[ROWS] != P.count[ROWS_BEFORE] or P.count[RAYS] != P.count[RAYS_BEFORE]:
        forget(P)
    P.count[ROWS_BEFORE], P.count[RAYS_BEFORE] = P.count[ROWS], P.count[RAYS]
    status = improve(P, SOON)
    if status != OK:
        forget(P)
        status = improve(P, MOST)
    for j in range(P.count[RAYS]):
        P.rho[j] = max(P.rho[j], 0.0) if P.lives[j] else 0.0
    for r in range(P.count[ROWS]):
        if P.kind[r] == AT_LEAST:
            P.y[r] = max(P.y[r], 0.0)
    return status


@kernel
def improve(P, most):
    """Exchange what is wrong until nothing is, for so many solves at most."""
    begin(P)
    best, patience = P.count[ROWS] + P.count[RAYS] + 1, PATIENCE
    for _ in range(most):
        solve_rows(P)
        P.count[SOLVES] += 1
        strong = fast = 1.0
        for j in range(P.count[RAYS]):
            strong = max(strong, P.rho[j])
        for k in range(P.weight.shape[0]):
            fast = max(fast, abs(P.a[index(k)]))
        times(P, P.a, P.rest)
        faults = 0
        for j in range(P.count[RAYS]):
            faults += wrong(P, j, strong)
        for r in range(P.count[ROWS]):
            faults += out_of_bounds(P, r, fast)
        if faults == 0:
            return OK
        one = False
        if faults < best:
            best, patience = faults, PATIENCE
        elif patience > 0:
            patience -= 1
        else:
            one = True
        exchange(P, one, strong, fast)
    return STALLED


@kernel
def exchange(P, one, strong, fast):
    """Put what is wrong on the other side: all of it, or the last one only."""
    for r in range(P.count[ROWS] - 1, -1, -1):
        if out_of_bounds(P, r, fast):
            P.acts[r] = 1 - P.acts[r]
            if one:
                return
    for j in range(P.count[RAYS] - 1, -1, -1):
        if wrong(P, j, strong):
            P.lives[j] = 1 - P.lives[j]
            if one:
                return


@entry
def solve_program(key):
    """Find a, ρ and y of a program."""
    (P,) = open_program(key)
    return optimize(P)
