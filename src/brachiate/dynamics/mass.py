"""Mass matrix of kinematic trees by the composite rigid body algorithm [RBDA] 6.2, and its sparse factor A = LᵀDL [RBDA] 6.5.

Rows are packed: row k contains the entries with the velocities from the root down to k, so the row of an ancestor is as long
as the matching prefix of row k, and every update is contiguous. Rows are padded to a multiple of four numbers, the width of a
vector register.
"""

from __future__ import annotations

from brachiate.compiled import index, kernel, outlined
from brachiate.kinematics import ball_motion_columns, body_inertias, finite, forward_kinematics, valid_state
from brachiate.model.arrays import PAD, SINGULAR_MARGIN, open_model
from brachiate.model.status import NOT_FINITE, OK, OVERFLOW, SINGULAR
from brachiate.spatial import inertia, motion, put_inertia, trace


@kernel
def composite_inertias(T, W):
    """Composite inertia: of every body with its subtree."""
    for i in range(T.parent.shape[0]):
        for c in range(10):
            W.composite[i, c] = W.inertia[i, c]
    accumulate_composites(T, W)


@kernel
def accumulate_composites(T, W):
    """Add W.composite of every body to that of its parent."""
    n = T.parent.shape[0]
    for i in range(n - 1, -1, -1):
        p = T.parent[i]
        if p >= 0:
            put_inertia(W.composite, p, inertia(W.composite, p) + inertia(W.composite, i))


@kernel
def mass_matrix(T, W):
    """Packed rows of the mass matrix in W.L."""
    ball_motion_columns(T, W)
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
            W.L[index(d)] = 0.0  # vector operations of the factor include the padding


@kernel
def unpack(T, W, out):
    """Both triangles of the full matrix from its packed rows; other entries are unchanged."""
    for k in range(T.depth.shape[0]):
        for d in range(T.row[k], T.row[k] + T.depth[k] + 1):
            j = T.above[index(d)]
            out[index(k), index(j)] = out[index(j), index(k)] = W.L[index(d)]


@kernel
def factor(T, W):
    """Factor the packed mass matrix in place; W.D, the scale of each row before, is the inverse of the diagonal after.

    Returns the first singular row, whose pivot is only round-off; -1 if there is none.
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
        for f in range(0, n, PAD):  # four columns of row k at a time, for every ancestor that has them
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
        s, t = y[k], 0.0  # two sums shorten the dependency chain
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
def compute_mass_matrix(key):
    """Rows of the mass matrix at W.q, packed in W.L."""
    T, W = open_model(key)
    if not valid_state(T, W.q, W.q):  # velocities are not used
        return NOT_FINITE
    forward_kinematics(T, W)
    body_inertias(T, W)
    mass_matrix(T, W)
    return OK if finite(W.L) else OVERFLOW


@kernel
def factor_mass_matrix(T, W):
    """Mass matrix and its factor at the current poses; stores where it is singular."""
    mass_matrix(T, W)
    bad = factor(T, W)
    if bad >= 0:
        W.status[1] = bad
        return SINGULAR
    return OK
