"""The optimizer [DF] VII-C 2: of all accelerations and forces that physics allows, those nearest to what is wished.

    minimise  ½ Σ wₖ (aₖ − âₖ)² + ½ ε Σ ρⱼ² + ½ Σ (C a + D ρ − d)² / give      over the rows that give,
    while     C a + D ρ = d  in rows that do not,   C a + D ρ ≥ d  in rows that are bounds,   ρ ≥ 0.

a are accelerations, ρ forces along the edges of friction cones. The paper has a pseudoinverse of the whole system, with contact states by
trial and error; here forces are in their cones from the start, and limits are rows among others.

Weights of a and ρ are diagonal, so what is left to solve has the size of the rows, and not of the body:

    (C w⁻¹ Cᵀ + D ε⁻¹ Dᵀ + give) y = d − C â,    a = â + w⁻¹ Cᵀ y,    ρ = ε⁻¹ Dᵀ y

over the rows that act and the forces that are not zero. Which those are is known but for a few from the step before. All that are wrong
are exchanged at once, which mostly does; where that does not go on getting better, one after the other is brought to its place, and what
would go wrong on the way is exchanged: principal pivoting, which ends, as the problem is strictly convex [Cottle & Dantzig 1968].
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from brachiate.compiled import Floats, Ints, entry, fields_of, index, kernel, opener, outlined
from brachiate.contact.factor import factor, solve_transposed
from brachiate.model.rooms import OK, STALLED

EQUAL, AT_LEAST = range(2)
ROWS, RAYS, SOLVES, STRIDE, ROWS_BEFORE, RAYS_BEFORE, MADE = range(7)  # places of Program.count
TRIES, PATIENCE = 12, 3  # exchanges of all that are wrong, and how many of them without getting better
MOST = 1000  # solves in all: far more than any program has taken
CLOSE = 1e-9  # of a row's own size: what is wrong by no more is right
NOTHING = 1e-14  # so that a row of forces none of which lives calls for them
STIFF = 1e-10  # of a row's own size: rows that do not give do so by this much, so that two may say the same
FAR = 1e300


class Program(NamedTuple):
    """Sizes: n accelerations, R rows (whole fours), K rays. C is kept by columns: what is done to one row is done to all of them.

    A bound that acts has a pull, a ray that lives a force, and what does neither has room: right is what is not below zero. Bounds and rays
    have one numbering: rays come behind all rows.
    """

    count: Ints  # (7,) rows and rays in use, solves it took, R, rows and rays in use the last time, rows whose products are known
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
    acted: Ints  # (R,) scratch: the first guess
    lived: Ints  # (K,) scratch: likewise
    made: Ints  # (R,) scratch: number of the row among those whose products are known, from 1 on; 0 if it is none of them
    list: Ints  # (R,) scratch: rows in the matrix, those that pull first
    unit: Floats  # (n,) scratch: w^-½
    X: Floats  # (n R,) scratch: C w^-½ of the rows whose products are known, column by column
    G: Floats  # (R R,) scratch: C w⁻¹ Cᵀ of these
    open: Floats  # (R,) scratch: d − C â
    size: Floats  # (R,) scratch: of a row's numbers
    M: Floats  # (R R,) scratch: the matrix
    x: Floats  # (R,) scratch: its solution
    column: Floats  # (R,) scratch: of one force
    room: Floats  # (R,) scratch: C a + D ρ − d of bounds that do not act
    da: Floats  # (n,) scratch: how all that changes
    drho: Floats  # (K,)
    dy: Floats  # (R,)
    droom: Floats  # (R,)


open_program = opener(Program)


def program_for(n: int, rows: int, rays: int) -> Program:
    """Make the arrays for n accelerations and up to so many rows and rays."""
    stride = -(-rows // 4) * 4
    length = {"count": 7, "light": 1, "D": stride * rays} | dict.fromkeys(("C", "X"), n * stride)
    length |= dict.fromkeys(("G", "M"), stride * stride)
    length |= dict.fromkeys(("lives", "lived", "rho", "drho"), rays) | dict.fromkeys(("weight", "wish", "unit", "a", "da"), n)
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
def first_guess(P):
    """Guess that what acted and lived the last time does so again; if there are others now, that no bound acts and all forces live."""
    P.count[SOLVES] = 0
    if P.count[ROWS] != P.count[ROWS_BEFORE]:
        for r in range(P.acts.shape[0]):
            P.acts[r] = 0
    if P.count[RAYS] != P.count[RAYS_BEFORE]:
        for j in range(P.lives.shape[0]):
            P.lives[j] = 1
    P.count[ROWS_BEFORE], P.count[RAYS_BEFORE] = P.count[ROWS], P.count[RAYS]


@kernel
def begin(P):
    """Look at all rows once."""
    R, full = P.count[STRIDE], whole(P.count[ROWS])
    for r in range(full):
        P.open[index(r)], P.size[index(r)] = P.want[index(r)], max(abs(P.want[index(r)]), NOTHING)
    for k in range(P.weight.shape[0]):
        wish, at = P.wish[index(k)], k * R
        P.unit[index(k)] = 1.0 / np.sqrt(P.weight[index(k)])
        for r in range(full):
            P.open[index(r)] -= wish * P.C[index(at + r)]
            P.size[index(r)] = max(P.size[index(r)], abs(P.C[index(at + r)]))
    P.count[MADE] = 0
    for r in range(P.count[ROWS]):
        P.made[r] = 0
        if P.kind[r] == EQUAL:
            P.acts[r] = 1
        P.acted[r] = P.acts[r]
    for j in range(P.count[RAYS]):
        P.lived[j] = P.lives[j]


@kernel
def make_row(P, r):
    """Products of a row with those made before, and itself: it will be in the matrix."""
    R, m = P.count[STRIDE], P.count[MADE]
    row, full = m * R, whole(m + 1)
    for s in range(full):
        P.G[index(row + s)] = 0.0
    for k in range(P.weight.shape[0]):
        at = k * R
        x = P.C[index(at + r)] * P.unit[index(k)]
        P.X[index(at + m)] = x
        if x != 0.0:
            for s in range(full):
                P.G[index(row + s)] += x * P.X[index(at + s)]
    for s in range(m):
        P.G[index(s * R + m)] = P.G[index(row + s)]
    P.made[r] = P.count[MADE] = m + 1


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
        if not P.made[P.list[i]]:
            make_row(P, P.list[i])
    for i in range(n):
        at = (P.made[P.list[i]] - 1) * R - 1
        for j in range(n):
            P.M[index(i * R + j)] = P.G[index(at + P.made[P.list[index(j)]])]
    full, some = whole(n), whole(pulling)
    for i in range(n, full):
        for j in range(full):
            P.M[index(i * R + j)] = 0.0
            P.M[index(j * R + i)] = 0.0
        P.M[index(i * R + i)] = 1.0
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


@outlined
def solve_rows(P):
    """Pulls of the rows that act, and the accelerations and forces they make; returns how many rows act."""
    n = gather_matrix(P)
    factor(P.M, P.count[STRIDE], whole(n))
    P.count[SOLVES] += 1
    for i in range(n):
        P.x[i] = P.open[P.list[i]]
    spread(P, n, 1.0, -1, P.a, P.rho, P.y, P.room)
    return n


@kernel
def solve_change(P, n, i):
    """How that changes with number i, which acts or lives, as it gets room."""
    j = i - P.count[ROWS]
    for m in range(n):
        P.x[m] = 1.0 if P.list[m] == i else 0.0
        if j >= 0 and P.pulls[P.list[m]]:
            P.x[m] = -P.D[P.list[m] * P.lives.shape[0] + j] / P.light[0]
    spread(P, n, 0.0, j, P.da, P.drho, P.dy, P.droom)


@outlined
def spread(P, n, part, ray, a, rho, y, room):
    """Solve for the rows in the matrix, and say what comes of it: with the wishes (part 1), or without them (0), and a ray with room."""
    R, K, rows, rays = P.count[STRIDE], P.lives.shape[0], P.count[ROWS], P.count[RAYS]
    for i in range(n, whole(n)):
        P.x[i] = 0.0
    solve_transposed(P.M, R, whole(n), P.x)
    for r in range(rows):
        y[r] = 0.0
    for j in range(rays):
        rho[j] = 1.0 if j == ray else 0.0
    for i in range(n):
        r, x = P.list[i], P.x[i]
        y[r] = x
        if P.pulls[r]:
            for j in range(rays):
                rho[index(j)] += P.D[index(r * K + j)] * x
    for j in range(rays):
        rho[index(j)] /= P.light[0]  # of those that do not live: what they would be
    for k in range(P.weight.shape[0]):
        s, at = 0.0, k * R
        for i in range(n):
            s += P.C[index(at + P.list[index(i)])] * P.x[index(i)]
        a[k] = part * P.wish[k] + s / P.weight[k]
    for r in range(rows):
        if not P.acts[r]:
            s = -part * P.want[r]
            for k in range(P.weight.shape[0]):
                s += P.C[index(k * R + r)] * a[index(k)]
            if P.pulls[r]:
                for j in range(rays):
                    s += P.D[index(r * K + j)] * rho[index(j)] * P.lives[index(j)]
            room[r] = s


@kernel
def inside(P, i):
    """Whether number i acts or lives."""
    return P.acts[i] if i < P.count[ROWS] else P.lives[i - P.count[ROWS]]


@kernel
def turn(P, i):
    """Put number i on the other side."""
    j = i - P.count[ROWS]
    if j < 0:
        P.acts[i] = 1 - P.acts[i]
    else:
        P.lives[j] = 1 - P.lives[j]


@kernel
def value(P, i, rho, y, room):
    """What must not be below zero of number i: its pull or force if it acts or lives, and else its room."""
    j = i - P.count[ROWS]
    if j < 0:
        return y[i] if P.acts[i] else room[i]
    return rho[j] if P.lives[j] else -rho[j]


@kernel
def tolerance(P, i, strong, fast):
    """How far below zero that may be by round-off."""
    if i >= P.count[ROWS]:
        return CLOSE * strong
    own = 1.0
    if P.acts[i]:
        m = P.made[i] - 1
        own = P.G[index(m * P.count[STRIDE] + m)] + P.give[i]
    return CLOSE * P.size[i] * fast / own


@kernel
def extent(P):
    """The largest force, and the largest acceleration, or 1."""
    strong = fast = 1.0
    for j in range(P.count[RAYS]):
        strong = max(strong, P.rho[index(j)])
    for k in range(P.weight.shape[0]):
        fast = max(fast, abs(P.a[index(k)]))
    return strong, fast


@kernel
def free(P, i):
    """Whether number i may change sides: all but equations."""
    return i >= P.count[ROWS] or P.kind[i] != EQUAL


@outlined
def optimize(P):
    """Find a, ρ and y from the first guess. Returns OK, or STALLED if it does not come to an end."""
    begin(P)
    status = exchange(P)
    if status != OK:
        for r in range(P.count[ROWS]):
            P.acts[r] = P.acted[r]
        for j in range(P.count[RAYS]):
            P.lives[j] = P.lived[j]
        status = drive(P)
    for j in range(P.count[RAYS]):
        P.rho[j] = max(P.rho[j], 0.0) if P.lives[j] else 0.0
    for r in range(P.count[ROWS]):
        if P.kind[r] == AT_LEAST:
            P.y[r] = max(P.y[r], 0.0)
    return status


@kernel
def exchange(P):
    """Exchange all that are wrong, again and again, as long as they get fewer."""
    best, patience = P.count[ROWS] + P.count[RAYS] + 1, PATIENCE
    for _ in range(TRIES):
        solve_rows(P)
        strong, fast = extent(P)
        faults = 0
        for i in range(P.count[ROWS] + P.count[RAYS]):
            if free(P, i) and value(P, i, P.rho, P.y, P.room) < -tolerance(P, i, strong, fast):
                turn(P, i)
                faults += 1
        if faults == 0:
            return OK
        if faults < best:
            best, patience = faults, PATIENCE
        elif patience == 0:
            break
        else:
            patience -= 1
    return STALLED


@kernel
def most_wrong(P):
    """Number that is farthest below zero, as multiples of round-off; -1 if none is."""
    strong, fast = extent(P)
    worst, found = -1.0, -1
    for i in range(P.count[ROWS] + P.count[RAYS]):
        if free(P, i):
            x = value(P, i, P.rho, P.y, P.room) / tolerance(P, i, strong, fast)
            if x < worst:
                worst, found = x, i
    return found


@kernel
def drive(P):
    """Bring the one that is most wrong to its place until none is wrong."""
    while P.count[SOLVES] < MOST:
        solve_rows(P)
        i = most_wrong(P)
        if i < 0:
            return OK
        leaves, room = inside(P, i), 0.0
        if not leaves:
            room = value(P, i, P.rho, P.y, P.room) * (1.0 if i < P.count[ROWS] else P.light[0])
            turn(P, i)
        bring(P, i, leaves, room)
    return STALLED


@kernel
def bring(P, i, leaves, room):
    """Let number i, which acts or lives, get more room, until its pull is not below zero and it leaves; or, if it came, its room is not.

    All others that are right stay so: what comes to zero on the way is exchanged. As the problem is strictly convex its pull grows with its
    room all the way, and no sets come twice.
    """
    while P.count[SOLVES] < MOST:
        solve_change(P, solve_rows(P), i)
        strong, fast = extent(P)
        end, blocks = 0.0, -1
        if leaves:
            end = -value(P, i, P.rho, P.y, P.room) / value(P, i, P.drho, P.dy, P.droom)
        for m in range(P.count[ROWS] + P.count[RAYS]):
            if m != i and free(P, m):
                change = value(P, m, P.drho, P.dy, P.droom)
                now = value(P, m, P.rho, P.y, P.room) + room * change
                if change < 0.0 and now >= -tolerance(P, m, strong, fast) and room - max(now, 0.0) / change < end:
                    end, blocks = room - max(now, 0.0) / change, m
        if blocks < 0:
            break
        turn(P, blocks)
        room = end
    if leaves:
        turn(P, i)


@entry
def solve_program(key):
    """Find a, ρ and y of a program."""
    (P,) = open_program(key)
    first_guess(P)
    return optimize(P)
