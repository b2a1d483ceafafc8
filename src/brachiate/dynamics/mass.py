"""Mass matrix of trees by composite bodies [RBDA] 6.2, and its sparse factor A = LᵀDL [RBDA] 6.5.

Rows are packed: row k holds the entries with the velocities from the root down to k, so the row of an ancestor is as
long as the prefix of k's row it meets, and every update is a contiguous one.
"""

from __future__ import annotations

from brachiate.compiled import kernel, outlined
from brachiate.kinematics import body_inertias, poses, sound
from brachiate.model.rooms import NOT_FINITE, OK, SINGULAR, open_rooms
from brachiate.spatial import inertia, motion, put_inertia


@kernel
def composite_inertias(T, W):
    """Inertia of every body together with all it carries."""
    n = T.parent.shape[0]
    for i in range(n):
        for c in range(10):
            W.composite[i, c] = W.inertia[i, c]
    for i in range(n - 1, -1, -1):
        p = T.parent[i]
        if p >= 0:
            put_inertia(W.composite, p, inertia(W.composite, p) + inertia(W.composite, i))


@kernel
def mass_matrix(T, W, implicit):
    """Packed rows of the mass matrix in W.L, its diagonal with ``implicit`` times W.y added."""
    composite_inertias(T, W)
    for k in range(T.depth.shape[0]):
        F = inertia(W.composite, T.body[k]) @ motion(W.S, k)
        r = T.row[k]
        n = T.depth[k]
        for d in range(n):
            W.L[r + d] = motion(W.S, T.above[r + d]) @ F
        W.L[r + n] = motion(W.S, k) @ F + T.armature[k] + implicit * W.y[k]


@kernel
def factor(T, W):
    """Factor the packed mass matrix in place; W.D is the inverse diagonal. Returns the first singular row, or -1."""
    bad = -1
    for k in range(T.depth.shape[0] - 1, -1, -1):
        n = T.depth[k]
        rk = T.row[k]
        pivot = W.L[rk + n]
        if not pivot > 0.0:
            bad = k
        r = 1.0 / pivot
        W.D[k] = r
        for d in range(n - 1, -1, -1):
            s = W.L[rk + d]
            if s != 0.0:
                s *= r
                ri = T.row[T.above[rk + d]]
                for f in range(d + 1):
                    W.L[ri + f] -= s * W.L[rk + f]
        for d in range(n):
            W.L[rk + d] *= r
    return bad


@kernel
def solve_up(T, W, y):
    """y ← L⁻ᵀ y, from the tips to the root."""
    for k in range(T.depth.shape[0] - 1, -1, -1):
        s = y[k]
        r = T.row[k]
        for d in range(T.depth[k]):
            y[T.above[r + d]] -= W.L[r + d] * s


@kernel
def solve_down(T, W, y):
    """y ← L⁻¹ y, from the root to the tips."""
    for k in range(T.depth.shape[0]):
        s = y[k]
        r = T.row[k]
        for d in range(T.depth[k]):
            s -= W.L[r + d] * y[T.above[r + d]]
        y[k] = s


@kernel
def solve(T, W, y):
    """y ← A⁻¹ y with the factor."""
    solve_up(T, W, y)
    for k in range(y.shape[0]):
        y[k] *= W.D[k]
    solve_down(T, W, y)


@outlined
def mass_matrix_packed(key):
    """Rows of the mass matrix at W.q, packed in W.L."""
    T, W = open_rooms(key)
    if not sound(T, W):
        return NOT_FINITE
    poses(T, W)
    body_inertias(T, W)
    mass_matrix(T, W, 0.0)
    return OK


@kernel
def factored(T, W, implicit):
    """Mass matrix and its factor at poses already known; remembers where it is singular."""
    mass_matrix(T, W, implicit)
    bad = factor(T, W)
    if bad >= 0:
        W.status[1] = bad
        return SINGULAR
    return OK
