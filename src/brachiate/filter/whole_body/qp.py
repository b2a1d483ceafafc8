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

Equations without forces always act: they are eliminated once, and what is solved again and again has the size of all others.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from brachiate.compiled import Floats, Ints, entry, fields_of, index, kernel, opener, outlined
from brachiate.linalg.lu import eliminate, factor, factor_corner, solve_transposed
from brachiate.model.arrays import OK, STALLED
from brachiate.spatial import Four, four, put_four

EQUAL, AT_LEAST = range(2)
ROWS, RAYS, SOLVES, STRIDE, ROWS_BEFORE, RAYS_BEFORE, FIRST, OTHERS = range(8)  # places of Program.count
TRIES, PATIENCE = 12, 3  # exchanges of all that are wrong, and how many of them without getting better
MOST = 1000  # solves in all: far more than any program has taken
CLOSE = 1e-9  # of a row's own size: what is wrong by no more is right
NOTHING = 1e-14  # so that a row of forces none of which lives calls for them
STIFF = 1e-10  # of a row's own size: rows that do not give do so by this much, so that two may say the same
SPARE = 8  # places in the order of rows that whole fours and the wishes take


class Program(NamedTuple):
    """Sizes: n accelerations, R rows (whole fours), K rays. C is kept by columns: what is done to one row is done to all of them.

    A bound that acts has a pull, a ray that lives a force, and what does neither has room: right is what is not below zero. Bounds and rays
    have one numbering: rays come behind all rows.
    """

    count: Ints  # (8,) rows and rays in use, solves, R, rows and rays in use the last time, first of others than the base, how many of them
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
    order: Ints  # (R + 8,) scratch: rows, the base first, which are equations without forces; -1 where there is none, up to whole fours
    list: Ints  # (R,) scratch: places in this order of others that act, those that pull first
    unit: Floats  # (n,) scratch: w^-½
    X: Floats  # (n (R + 8),) scratch: C w^-½ of rows in this order, column by column
    G: Floats  # ((R + 8)²,) scratch: C w⁻¹ Cᵀ of these, then without the base; and d − C â, likewise, in the row behind the last
    own: Floats  # (R,) scratch: of a row, with what it gives
    open: Floats  # (R,) scratch: d − C â
    size: Floats  # (R,) scratch: of a row's numbers
    M: Floats  # (R R,) scratch: the matrix
    x: Floats  # (R,) scratch: its solution
    pull: Floats  # (R + 8,) scratch: pulls in the order above
    column: Floats  # (R,) scratch: of one force
    room: Floats  # (R,) scratch: C a + D ρ − d of bounds that do not act
    drho: Floats  # (K,) scratch: how these change
    dy: Floats  # (R,)
    droom: Floats  # (R,)


open_program = opener(Program)


def program_for(n: int, rows: int, rays: int) -> Program:
    """Make the arrays for n accelerations and up to so many rows and rays."""
    stride = -(-rows // 4) * 4
    wide = stride + SPARE
    length = {"count": 8, "light": 1, "C": n * stride, "D": stride * rays, "M": stride * stride, "X": n * wide, "G": wide * wide}
    length |= dict.fromkeys(("order", "pull"), wide)
    length |= dict.fromkeys(("lives", "lived", "rho", "drho"), rays) | dict.fromkeys(("weight", "wish", "unit", "a"), n)
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
    """Look at all rows once, and eliminate the base."""
    R, full = P.count[STRIDE], whole(P.count[ROWS])
    for r in range(full):
        P.open[index(r)], P.size[index(r)] = P.want[index(r)], max(abs(P.want[index(r)]), NOTHING)
    for k in range(P.weight.shape[0]):
        wish, at = P.wish[index(k)], k * R
        P.unit[index(k)] = 1.0 / np.sqrt(P.weight[index(k)])
        for r in range(full):
            P.open[index(r)] -= wish * P.C[index(at + r)]
            P.size[index(r)] = max(P.size[index(r)], abs(P.C[index(at + r)]))
    for r in range(P.count[ROWS]):
        if P.kind[r] == EQUAL:
            P.acts[r] = 1
        P.acted[r] = P.acts[r]
    for j in range(P.count[RAYS]):
        P.lived[j] = P.lives[j]
    multiply(P)
    reduce(P)


@kernel
def put_in_order(P):
    """Where rows are in the matrix of all: the base first. Returns how many places there are, in whole fours."""
    n = 0
    for r in range(P.count[ROWS]):
        if P.kind[r] == EQUAL and not P.pulls[r]:
            P.order[n] = r
            n += 1
    P.count[FIRST] = whole(n)
    for i in range(n, whole(n)):
        P.order[i] = -1
    n = whole(n)
    for r in range(P.count[ROWS]):
        if P.kind[r] != EQUAL or P.pulls[r]:
            P.order[n] = r
            n += 1
    P.count[OTHERS] = n - P.count[FIRST]
    for i in range(n, whole(n)):
        P.order[i] = -1
    return whole(n)


@kernel
def multiply(P):
    """G ← C w⁻¹ Cᵀ of all rows in their order, with what they give; and behind them d − C â."""
    R = P.count[STRIDE]
    L, size = R + SPARE, put_in_order(P)
    for k in range(P.weight.shape[0]):
        for i in range(size):
            r = P.order[index(i)]
            P.X[index(k * L + i)] = P.unit[index(k)] * P.C[index(k * R + r)] if r >= 0 else 0.0
    for i in range(size):
        row, stop, r = i * L, whole(i + 1), P.order[i]
        for j in range(stop):
            P.G[index(row + j)] = 0.0
        for k in range(P.weight.shape[0]):
            x = P.X[index(k * L + i)]
            if x != 0.0:
                for j in range(stop):
                    P.G[index(row + j)] += x * P.X[index(k * L + j)]
        for j in range(i):
            P.G[index(j * L + i)] = P.G[index(row + j)]
        P.G[index(size * L + i)] = 0.0
        if r < 0:
            P.G[index(row + i)] = 1.0
        else:
            P.G[index(size * L + i)] = P.open[r]
            P.own[r] = P.G[index(row + i)] + P.give[r]
            P.G[index(row + i)] += P.give[r] + STIFF * P.G[index(row + i)] + NOTHING


@kernel
def reduce(P):
    """Free all others, and the wishes, of what the base says: G ← L U as far as its columns go."""
    L, first, size = P.count[STRIDE] + SPARE, P.count[FIRST], P.count[FIRST] + whole(P.count[OTHERS])
    for k in range(0, first, 4):
        a = k * L
        b, c, d = a + L, a + 2 * L, a + 3 * L
        factor_corner(P.G, a + k, b + k, c + k, d + k)
        lb, lc, ld = four(P.G, b + k), four(P.G, c + k), four(P.G, d + k)
        for j in range(k + 4, size, 4):
            x = four(P.G, a + j)
            y = four(P.G, b + j) - lb.a * x
            z = four(P.G, c + j) - lc.a * x - lc.b * y
            put_four(P.G, b + j, y)
            put_four(P.G, c + j, z)
            put_four(P.G, d + j, four(P.G, d + j) - ld.a * x - ld.b * y - ld.c * z)
        for r in range(k + 4, size + 1):
            eliminate(P.G, k, a, b, c, d, r * L, size)


@kernel
def gather_matrix(P):
    """The matrix of others that act and forces that live; returns how many rows it has."""
    R, K, first = P.count[STRIDE], P.lives.shape[0], P.count[FIRST]
    L, end = R + SPARE, first + P.count[OTHERS]
    n = 0
    for i in range(first, end):
        if P.acts[P.order[i]] and P.pulls[P.order[i]]:
            P.list[n] = i
            n += 1
    pulling = n
    for i in range(first, end):
        if P.acts[P.order[i]] and not P.pulls[P.order[i]]:
            P.list[n] = i
            n += 1
    for i in range(n):
        at = P.list[i] * L
        for j in range(n):
            P.M[index(i * R + j)] = P.G[index(at + P.list[index(j)])]
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
                P.column[index(i)] = P.D[index(P.order[index(P.list[index(i)])] * K + k)]
            for i in range(pulling):
                s = P.column[index(i)] / P.light[0]
                for j in range(some):
                    P.M[index(i * R + j)] += s * P.column[index(j)]
    return n


@outlined
def solve_rows(P):
    """Pulls of the rows that act, and the accelerations and forces they make; returns how many others act."""
    n = gather_matrix(P)
    L, wishes = P.count[STRIDE] + SPARE, P.count[FIRST] + whole(P.count[OTHERS])
    factor(P.M, P.count[STRIDE], whole(n))
    P.count[SOLVES] += 1
    for i in range(n):
        P.x[i] = P.G[index(wishes * L + P.list[i])]
    spread(P, n, 1.0, -1, P.rho, P.y, P.room)
    pull_base(P, n)
    move(P)
    return n


@kernel
def solve_change(P, n, i):
    """How that changes with number i, which acts or lives, as it gets room."""
    j = i - P.count[ROWS]
    for m in range(n):
        r = P.order[P.list[m]]
        P.x[m] = 1.0 if r == i else 0.0
        if j >= 0 and P.pulls[r]:
            P.x[m] = -P.D[r * P.lives.shape[0] + j] / P.light[0]
    spread(P, n, 0.0, j, P.drho, P.dy, P.droom)


@outlined
def spread(P, n, part, ray, rho, y, room):
    """Solve for the rows in the matrix, and say what comes of it: with the wishes (part 1), or without them (0), and a ray with room."""
    R, K, rays, first = P.count[STRIDE], P.lives.shape[0], P.count[RAYS], P.count[FIRST]
    L, wishes = R + SPARE, first + whole(P.count[OTHERS])
    for i in range(n, whole(n)):
        P.x[i] = 0.0
    solve_transposed(P.M, R, whole(n), P.x)
    for j in range(rays):
        rho[j] = 1.0 if j == ray else 0.0
    for i in range(n):
        r, x = P.order[P.list[i]], P.x[i]
        y[r] = x
        if P.pulls[r]:
            for j in range(rays):
                rho[index(j)] += P.D[index(r * K + j)] * x
    for j in range(rays):
        rho[index(j)] /= P.light[0]  # of those that do not live: what they would be
    for i in range(first, first + P.count[OTHERS]):
        r = P.order[i]
        if not P.acts[r]:
            s = -part * P.G[index(wishes * L + i)]
            for j in range(n):
                s += P.G[index(i * L + P.list[index(j)])] * P.x[index(j)]
            if P.pulls[r]:
                for j in range(rays):
                    s += P.D[index(r * K + j)] * rho[index(j)] * P.lives[index(j)]
            y[r], room[r] = 0.0, s


@kernel
def pull_base(P, n):
    """Pulls of all rows in their order: those of the base follow from those of others."""
    L, first, wishes = P.count[STRIDE] + SPARE, P.count[FIRST], P.count[FIRST] + whole(P.count[OTHERS])
    for j in range(first):
        P.pull[index(j)] = P.G[index(wishes * L + j)]
    for j in range(first, wishes):
        P.pull[index(j)] = 0.0
    for i in range(n):
        at, x = P.list[i] * L, P.x[i]
        P.pull[P.list[i]] = x
        for j in range(first):
            P.pull[index(j)] -= P.G[index(at + j)] * x
    for k in range(first - 4, -1, -4):
        a = k * L
        b, c, d = a + L, a + 2 * L, a + 3 * L
        lb, lc, ld = four(P.G, b + k), four(P.G, c + k), four(P.G, d + k)
        p, q, r, s = four(P.pull, k)
        r = r - ld.c * s
        q = q - lc.b * r - ld.b * s
        p = p - lb.a * q - lc.a * r - ld.a * s
        put_four(P.pull, k, Four(p, q, r, s))
        for j in range(0, k, 4):
            x = four(P.pull, j) - p * four(P.G, a + j) - q * four(P.G, b + j) - r * four(P.G, c + j) - s * four(P.G, d + j)
            put_four(P.pull, j, x)
    for i in range(first):
        if P.order[i] >= 0:
            P.y[P.order[i]] = P.pull[i]


@kernel
def move(P):
    """Accelerations that pulls make."""
    L, size = P.count[STRIDE] + SPARE, P.count[FIRST] + whole(P.count[OTHERS])
    for k in range(P.weight.shape[0]):
        p = q = r = s = 0.0
        for i in range(k * L, k * L + size, 4):
            x, y = four(P.X, i), four(P.pull, i - k * L)
            p, q, r, s = p + x.a * y.a, q + x.b * y.b, r + x.c * y.c, s + x.d * y.d
        P.a[index(k)] = P.wish[index(k)] + P.unit[index(k)] * ((p + q) + (r + s))


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
    return CLOSE * P.size[i] * fast / (P.own[i] if P.acts[i] else 1.0)


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
