"""Mass matrix of trees by composite bodies [RBDA] 6.2, and its sparse factor A = LᵀDL [RBDA] 6.5.

Rows are packed: row k holds the entries with the velocities from the root down to k, so the row of an ancestor is as
long as the prefix of k's row it meets, and every update is a contiguous one. Rows are padded to a multiple of four
numbers, the width of a vector register.
"""

from __future__ import annotations

from brachiate.compiled import index, kernel, outlined
from brachiate.kinematics import ball_motions, body_inertias, finite, poses, sound
from brachiate.model.arrays import NOT_FINITE, OK, OVERFLOW, PAD, SINGULAR, SINGULAR_MARGIN, open_rooms
from brachiate.spatial import inertia, motion, put_inertia, trace


@kernel
def composite_inertias(T, W):
    """Inertia of every body together with all it carries."""
    for i in range(T.parent.shape[0]):
        for c in range(10):
            W.composite[i, c] = W.inertia[i, c]
    gather_composites(T, W)


@kernel
def gather_composites(T, W):
    """Add every body's part in W.composite to its parent's."""
    n = T.parent.shape[0]
    for i in range(n - 1, -1, -1):
        p = T.parent[i]
        if p >= 0:
            put_inertia(W.composite, p, inertia(W.composite, p) + inertia(W.composite, i))


@kernel
def mass_matrix(T, W):
    """Packed rows of the mass matrix in W.L."""
    ball_motions(T, W)
    composite_inertias(T, W)
    for k in range(T.depth.shape[0]):
        I, S = inertia(W.composite, T.body[k]), motion(W.S, k)
        F = I @ S
        r, n = T.row[k], T.depth[k]
        for d in range(n):
            W.L[index(r + d)] = motion(W.S, T.above[index(r + d)]) @ F
        W.L[index(r + n)] = S @ F + T.armature[k]
        W.D[k] = T.armature[k] + trace(I.I) * (S.w @ S.w) + I.m * (S.v @ S.v)
        for d in range(r + n + 1, T.row[k + 1]):
            W.L[index(d)] = 0.0  # the factor's vector operations run over the padding


@kernel
def unpack(T, W, out):
    """Both halves of the full matrix from its packed rows; what is not there stays as it was."""
    for k in range(T.depth.shape[0]):
        for d in range(T.row[k], T.row[k] + T.depth[k] + 1):
            j = T.above[index(d)]
            out[index(k), index(j)] = out[index(j), index(k)] = W.L[index(d)]


@kernel
def factor(T, W):
    """Factor the packed mass matrix in place; W.D, the size of each row before, is the inverse of the diagonal after.

    Returns the first row found singular, where round-off is all that is left of the diagonal; -1 if there is none.
    """
    bad = -1
    L = W.L
    for k in range(T.depth.shape[0] - 1, -1, -1):
        n, row = T.depth[k], T.row[k]
        pivot = L[index(row + n)]
        if bad < 0 and not pivot > SINGULAR_MARGIN * W.D[k]:
            bad = k
        r = 1.0 / pivot
        W.D[k] = r
        for f in range(0, n, PAD):  # four columns of row k at a time, against every ancestor that reaches them
            i = index(row + f)
            a0, a1, a2, a3 = L[i], L[i + index(1)], L[i + index(2)], L[i + index(3)]
            for d in range(f, n):
                s = L[index(row + d)] * r
                j = index(T.row_above[index(row + d)] + f)
                b0, b1, b2, b3 = L[j], L[j + index(1)], L[j + index(2)], L[j + index(3)]
                L[j], L[j + index(1)], L[j + index(2)], L[j + index(3)] = b0 - s * a0, b1 - s * a1, b2 - s * a2, b3 - s * a3
        for d in range(n):
            L[index(row + d)] *= r
    return bad


@kernel
def solve_up(T, W, y):
    """y ← L⁻ᵀ y, from the tips to the root."""
    for k in range(T.depth.shape[0] - 1, -1, -1):
        s, r = y[k], T.row[k]
        for d in range(T.depth[k]):
            y[index(T.above[index(r + d)])] -= W.L[index(r + d)] * s


@kernel
def solve_down(T, W, y):
    """y ← L⁻¹ y, from the root to the tips."""
    for k in range(T.depth.shape[0]):
        r, n = T.row[k], T.depth[k]
        s, t = y[k], 0.0  # two sums, so that one addition need not wait for the other
        for d in range(0, n - 1, 2):
            s -= W.L[index(r + d)] * y[index(T.above[index(r + d)])]
            t -= W.L[index(r + d + 1)] * y[index(T.above[index(r + d + 1)])]
        if n % 2:
            s -= W.L[index(r + n - 1)] * y[index(T.above[index(r + n - 1)])]
        y[k] = s + t


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
    if not sound(T, W.q, W.q):  # velocities do not matter here
        return NOT_FINITE
    poses(T, W)
    body_inertias(T, W)
    mass_matrix(T, W)
    return OK if finite(W.L) else OVERFLOW


@kernel
def factored(T, W):
    """Mass matrix and its factor at poses already known; remembers where it is singular."""
    mass_matrix(T, W)
    bad = factor(T, W)
    if bad >= 0:
        W.status[1] = bad
        return SINGULAR
    return OK
