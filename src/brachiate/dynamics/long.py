"""The factor A = LᵀDL of long trees, never written out: O(N) to make and to use.

Row k of L is D_k U_k·S_j for every velocity j above k. U_k = I_k S_k is what the articulated inertia I_k behind it
[RBDA] 7.3 answers to S_k: eliminating a velocity from the mass matrix is letting a joint give way. So sums over what is
below a velocity are sums of forces, and over what is above it of motions, carried from body to body, each about a point
of the body's own joint.
"""

from __future__ import annotations

from brachiate.compiled import index, kernel, outlined
from brachiate.dynamics.articulated import load, moved_inertia, put, released, rigid
from brachiate.kinematics import center, zero_motion
from brachiate.model.rooms import SINGULAR_MARGIN
from brachiate.spatial import (
    Force,
    Sym3,
    Vec3,
    force,
    inertia_about,
    motion,
    moved_force,
    moved_motion,
    put6,
    put_vec3,
    rotated,
    rotation,
    trace,
    vec3,
)


@kernel
def no_force():
    """Nothing."""
    return Force(Vec3(0.0, 0.0, 0.0), Vec3(0.0, 0.0, 0.0))


@outlined
def articulate(T, W, implicit):
    """U and D at poses already known, ``implicit`` times the damping W.y included. Returns the first singular velocity, or -1."""
    n = T.parent.shape[0]
    for i in range(n):
        c, R, b = center(T, W, i), rotation(W.R, i), T.inertia
        put_vec3(W.c, i, c)
        about = rotated(R, Sym3(b[i, 4], b[i, 5], b[i, 6], b[i, 7], b[i, 8], b[i, 9]))
        put(W.IA, i, rigid(inertia_about(b[i, 0], vec3(W.x, i) - c + R @ Vec3(b[i, 1], b[i, 2], b[i, 3]), about)))
    bad = -1
    for i in range(n - 1, -1, -1):
        A, c, p = load(W.IA, i), vec3(W.c, i), T.parent[i]
        for k in range(T.dof[i + 1] - 1, T.dof[i] - 1, -1):
            S = moved_motion(motion(W.S, k), c)
            U = A @ S
            d = S @ U + T.armature[k] + implicit * W.y[k]
            if bad < 0 and not d > SINGULAR_MARGIN * (T.armature[k] + trace(A.I) * (S.w @ S.w) + trace(A.M) * (S.v @ S.v)):
                bad = k
            put6(W.U, k, U)
            W.D[k] = 1.0 / d
            A = released(A, U, W.D[k])
        if p >= 0:
            put(W.IA, p, load(W.IA, p) + moved_inertia(A, c - vec3(W.c, p)))
    return bad


@outlined
def long_up(T, W, y):
    """y ← L⁻ᵀ y, from the tips to the root."""
    n = T.parent.shape[0]
    for i in range(n):
        put6(W.PA, i, no_force())
    for i in range(n - 1, -1, -1):
        P, c, p = force(W.PA, i), vec3(W.c, i), T.parent[i]
        for k in range(T.dof[i + 1] - 1, T.dof[i] - 1, -1):
            y[k] -= moved_motion(motion(W.S, k), c) @ P
            P = P + (W.D[k] * y[k]) * force(W.U, k)
        if p >= 0:
            put6(W.PA, p, force(W.PA, p) + moved_force(P, vec3(W.c, p) - c))


@outlined
def long_down(T, W, y):
    """y ← L⁻¹ y, from the root to the tips."""
    for i in range(T.parent.shape[0]):
        c, p = vec3(W.c, i), T.parent[i]
        A = moved_motion(motion(W.A, p), c - vec3(W.c, p)) if p >= 0 else zero_motion()
        for k in range(T.dof[i], T.dof[i + 1]):
            y[k] -= W.D[k] * (A @ force(W.U, k))
            A = A + y[k] * moved_motion(motion(W.S, k), c)
        put6(W.A, i, A)


@kernel
def climb(T, W, x, at, tip, low, high, body, P):
    """x ← L⁻ᵀ x for four vectors side by side, along a chain from depth ``high`` - 1 up to ``low``.

    P is what came up so far, four forces about the joint of ``body``; returns both as they are at the end.
    """
    P0, P1, P2, P3 = P
    for d in range(high - 1, low - 1, -1):
        k = T.above[index(T.row[tip] + d)]
        i = T.body[k]
        c = vec3(W.c, i)
        if i != body and body >= 0:
            r = c - vec3(W.c, body)
            P0, P1, P2, P3 = moved_force(P0, r), moved_force(P1, r), moved_force(P2, r), moved_force(P3, r)
        body = i
        S, U, D, j = moved_motion(motion(W.S, k), c), force(W.U, k), W.D[k], index(at + 4 * d)
        x0, x1 = x[j] - S @ P0, x[j + index(1)] - S @ P1
        x2, x3 = x[j + index(2)] - S @ P2, x[j + index(3)] - S @ P3
        x[j], x[j + index(1)], x[j + index(2)], x[j + index(3)] = x0, x1, x2, x3
        P0, P1, P2, P3 = P0 + (D * x0) * U, P1 + (D * x1) * U, P2 + (D * x2) * U, P3 + (D * x3) * U
    return body, (P0, P1, P2, P3)


@outlined
def long_chains_up(T, W, x, at, one, second, other, common):
    """x ← L⁻ᵀ x for four vectors that live on two chains, which are one above the first ``common`` velocities."""
    none = no_force()
    none = (none, none, none, none)
    a, P = climb(T, W, x, at, one, common, T.depth[one] + 1 if one >= 0 else 0, -1, none)
    b, Q = climb(T, W, x, second, other, common, T.depth[other] + 1 if other >= 0 else 0, -1, none)
    if common == 0:
        return
    body = T.body[T.above[index(T.row[one] + common - 1)]]
    c = vec3(W.c, body)
    r = c - vec3(W.c, a) if a >= 0 else Vec3(0.0, 0.0, 0.0)
    s = c - vec3(W.c, b) if b >= 0 else Vec3(0.0, 0.0, 0.0)
    P = (
        moved_force(P[0], r) + moved_force(Q[0], s),
        moved_force(P[1], r) + moved_force(Q[1], s),
        moved_force(P[2], r) + moved_force(Q[2], s),
        moved_force(P[3], r) + moved_force(Q[3], s),
    )
    climb(T, W, x, at, one, 0, common, body, P)
