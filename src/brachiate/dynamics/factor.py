"""Implicit factor A = LᵀDL of the mass matrix from articulated inertias: O(N) to compute and to apply.

Row k of L is D_k U_k·S_j for every velocity j above k, with U_k = I_k S_k and the articulated inertia I_k [RBDA] 7.3: eliminating
a velocity from the mass matrix is the elimination of a joint in the articulated body algorithm. So sums over velocities below
are sums of forces, and sums over velocities above are sums of motions, propagated from body to body, each about a point of the
body's own joint.

Ball joints and floating roots are eliminated three velocities at once: D has 3×3 blocks there. Between :func:`backward_sweep`
and :func:`forward_sweep` their three components are along world axes.
"""

from __future__ import annotations

from brachiate.compiled import index, kernel, outlined
from brachiate.dynamics.articulated import (
    articulated_at,
    block,
    eliminate_ball,
    eliminate_revolute,
    eliminate_root_translation,
    eliminate_velocity,
    has_rotor,
    moved_inertia,
    moved_mass,
    put_articulated,
    rigid,
    smaller_margin,
    store_block,
    through_ball,
    weakest_axis,
)
from brachiate.kinematics import joint_center, joint_kind, simple_ball, zero_motion
from brachiate.model.arrays import SINGULAR_MARGIN
from brachiate.model.joints import BALL, FLOAT, TURN
from brachiate.model.status import OK, SINGULAR
from brachiate.spatial import (
    Force,
    Four,
    MotionVector,
    Rotation,
    Sym3,
    Vec3,
    force,
    four,
    inertia_about,
    motion,
    moved_force,
    moved_motion,
    put6,
    put_four,
    put_vec3,
    put_vec3_at,
    rotated,
    rotation,
    unrotate,
    vec3,
    vec3_at,
)


@kernel
def zero_force():
    """Zero force vector."""
    return Force(Vec3(0.0, 0.0, 0.0), Vec3(0.0, 0.0, 0.0))


@kernel
def body_inertia_about(T, W, i, c):
    """Rigid-body inertia of body i about the point c, along world axes."""
    R, b = rotation(W.R, i), T.inertia
    about = rotated(R, Sym3(b[i, 4], b[i, 5], b[i, 6], b[i, 7], b[i, 8], b[i, 9]))
    return inertia_about(b[i, 0], vec3(W.x, i) - c + R @ Vec3(b[i, 1], b[i, 2], b[i, 3]), about)


@kernel
def store_ball_factor(W, k, E, K, only_mass):
    """Store the factor of a ball joint: E, K = E H, and in W.D whether it transmits no moment."""
    store_block(W, k, E)
    U = W.U
    U[k + 1, 0], U[k + 1, 1], U[k + 1, 2] = K.x
    U[k + 1, 3], U[k + 1, 4], U[k + 1, 5] = K.y
    U[k + 2, 0], U[k + 2, 1], U[k + 2, 2] = K.z
    W.D[k] = 1.0 if only_mass else 0.0


@kernel
def ball_coupling(W, k):
    """K = E H of a ball joint."""
    U = W.U
    return Rotation(
        Vec3(U[k + 1, 0], U[k + 1, 1], U[k + 1, 2]),
        Vec3(U[k + 1, 3], U[k + 1, 4], U[k + 1, 5]),
        Vec3(U[k + 2, 0], U[k + 2, 1], U[k + 2, 2]),
    )


@kernel
def propagate_through_ball(W, i, k, x, K, P):
    """Net moment in a ball joint with the moment x and the force P of its subtree, and the force on the parent."""
    t = x - P.n
    if W.D[k] > 0.0:
        return t, Force(x, P.f + Vec3(K.x @ t, K.y @ t, K.z @ t))
    return t, through_ball(articulated_at(W.IA, i), P, block(W, k) @ t)


@kernel
def eliminate_velocities(T, W, i, c, A, implicit):
    """Eliminate the velocities of a general joint, from the last. Returns the remaining inertia, the margin, and its velocity."""
    margin, weakest = 1.0, T.dof[i]
    for k in range(T.dof[i + 1] - 1, T.dof[i] - 1, -1):
        A, left = eliminate_velocity(T, W, k, moved_motion(motion(W.S, k), c), A, implicit)
        margin, weakest = smaller_margin(margin, weakest, left, k)
    return A, margin, weakest


@outlined
def factor(T, W, implicit):
    """U and D at the current poses, with ``implicit`` times the damping W.y; stores where it is singular."""
    n, status = T.parent.shape[0], OK
    for i in range(n):
        c = joint_center(T, W, i)
        put_vec3(W.c, i, c)
        put_articulated(W.IA, i, rigid(body_inertia_about(T, W, i, c)))
    for i in range(n - 1, -1, -1):
        A, c, p, k, kind = articulated_at(W.IA, i), vec3(W.c, i), T.parent[i], T.dof[i], joint_kind(T, i)
        weakest, only_mass = k, False
        if kind == BALL or (kind == FLOAT and p < 0):
            turns = k + 3 if kind == FLOAT else k
            E, K, left, margin = eliminate_ball(T, W, i, turns, A, implicit)
            only_mass = not has_rotor(T, W, turns, implicit)
            store_ball_factor(W, turns, E, K, only_mass)
            weakest = turns
            if kind == FLOAT:
                margin = min(margin, eliminate_root_translation(T, W, i, k, left, implicit))
        elif kind == TURN:
            left, margin = eliminate_revolute(T, W, k, A, implicit)
        else:
            left, margin, weakest = eliminate_velocities(T, W, i, c, A, implicit)
        if status == OK and not margin > SINGULAR_MARGIN:
            status = SINGULAR
            W.status[1] = weakest + (weakest_axis(W, i, A) if simple_ball(T, i) else 0)
        if p >= 0:
            back = c - vec3(W.c, p)
            more = moved_mass(left.M, back) if only_mass else moved_inertia(left, back)
            put_articulated(W.IA, p, articulated_at(W.IA, p) + more)
    return status


@outlined
def backward_sweep(T, W, y):
    """y ← L⁻ᵀ y, from the tips to the root."""
    n = T.parent.shape[0]
    for i in range(n):
        put6(W.PA, i, zero_force())
    for i in range(n - 1, -1, -1):
        P, c, p, k = force(W.PA, i), vec3(W.c, i), T.parent[i], T.dof[i]
        if simple_ball(T, i):
            R, turns = rotation(W.R, i), T.dof[i + 1] - 3
            t, P = propagate_through_ball(W, i, turns, R @ vec3_at(y, turns), ball_coupling(W, turns), P)
            put_vec3_at(y, turns, t)
            if turns > k:
                put_vec3_at(y, k, R @ vec3_at(y, k) - P.f)
        elif joint_kind(T, i) == TURN:
            y[k] -= vec3(W.S, k) @ P.n
            P = P + (W.D[k] * y[k]) * force(W.U, k)
        else:
            for j in range(T.dof[i + 1] - 1, k - 1, -1):
                y[j] -= moved_motion(motion(W.S, j), c) @ P
                P = P + (W.D[j] * y[j]) * force(W.U, j)
        if p >= 0:
            put6(W.PA, p, force(W.PA, p) + moved_force(P, vec3(W.c, p) - c))


@outlined
def forward_sweep(T, W, y):
    """y ← L⁻¹ D y, from the root to the tips."""
    for i in range(T.parent.shape[0]):
        c, p, k = vec3(W.c, i), T.parent[i], T.dof[i]
        A = moved_motion(motion(W.A, p), c - vec3(W.c, p)) if p >= 0 else zero_motion()
        if simple_ball(T, i):
            R, turns = rotation(W.R, i), T.dof[i + 1] - 3
            if turns > k:  # a root: the inertial frame is at rest
                A = MotionVector(A.w, block(W, k) @ vec3_at(y, k))
                put_vec3_at(y, k, unrotate(R, A.v))
            w = block(W, turns) @ vec3_at(y, turns) - ball_coupling(W, turns) @ A.v
            w = w - (A.w if W.D[turns] > 0.0 else block(W, turns) @ (articulated_at(W.IA, i).I @ A.w))
            put_vec3_at(y, turns, unrotate(R, w))
            A = MotionVector(A.w + w, A.v)
        elif joint_kind(T, i) == TURN:
            y[k] = W.D[k] * (y[k] - A @ force(W.U, k))
            A = MotionVector(A.w + y[k] * vec3(W.S, k), A.v)
        else:
            for j in range(k, T.dof[i + 1]):
                y[j] = W.D[j] * (y[j] - A @ force(W.U, j))
                A = A + y[j] * moved_motion(motion(W.S, j), c)
        put6(W.A, i, A)


# --- four right-hand sides at a time, along chains -----------------------------------------------------------


@kernel
def fours3(x, j):
    """A Vec3 of fours from a flat array."""
    return Vec3(four(x, j), four(x, j + 4), four(x, j + 8))


@kernel
def put_fours3(x, j, v):
    """Store a Vec3 of fours in a flat array."""
    put_four(x, j, v.x)
    put_four(x, j + 4, v.y)
    put_four(x, j + 8, v.z)


@kernel
def force_times_four(U, s):
    """A force times each of four numbers."""
    return Force(Vec3(U.n.x * s, U.n.y * s, U.n.z * s), Vec3(U.f.x * s, U.f.y * s, U.f.z * s))


@outlined
def backward_sweep_chain(T, W, J, Y, Z, at, tip, low, high, body, P):
    """Y ← L⁻ᵀ J and Z ← D Y for four vectors side by side, along a chain from depth ``high`` - 1 up to ``low``.

    P is the force of fours accumulated so far, about the joint of ``body``; returns both at the end of the sweep.
    """
    d = high - 1
    while d >= low:
        k = T.above[index(T.row[tip] + d)]
        i = T.body[k]
        c = vec3(W.c, i)
        if body >= 0:
            P = moved_force(P, c - vec3(W.c, body))
        body = i
        if simple_ball(T, i):
            R, k, d = rotation(W.R, i), k - 2, d - 2
            t, P = propagate_through_ball(W, i, k, R @ fours3(J, at + 4 * d), ball_coupling(W, k), P)
            put_fours3(Y, at + 4 * d, t)
            put_fours3(Z, at + 4 * d, block(W, k) @ t)
            if k > T.dof[i]:  # a floating root: its translations, the end of the chain
                k, d = k - 3, d - 3
                t = R @ fours3(J, at + 4 * d) - P.f
                put_fours3(Y, at + 4 * d, t)
                put_fours3(Z, at + 4 * d, block(W, k) @ t)
            d -= 1
        elif joint_kind(T, i) == TURN:
            P = propagate_through_velocity(W, J, Y, Z, at + 4 * d, k, vec3(W.S, k) @ P.n, P)
            d -= 1
        else:
            while d >= low and T.body[k] == i:
                P = propagate_through_velocity(W, J, Y, Z, at + 4 * d, k, moved_motion(motion(W.S, k), c) @ P, P)
                d -= 1
                k -= 1
    return body, P


@kernel
def propagate_through_velocity(W, J, Y, Z, j, k, below, P):
    """Sweep over one velocity of four right-hand sides; returns the force on the parent."""
    s = four(J, j) - below
    z = W.D[k] * s
    put_four(Y, j, s)
    put_four(Z, j, z)
    return P + force_times_four(force(W.U, k), z)


@kernel
def zero_force_of_fours():
    """Zero force of fours."""
    zero = Four(0.0, 0.0, 0.0, 0.0)
    return Force(Vec3(zero, zero, zero), Vec3(zero, zero, zero))


@outlined
def backward_sweep_two_chains(T, W, J, Y, Z, at, one, second, other, common):
    """Y ← L⁻ᵀ J and Z ← D Y for four vectors on two chains that share their first ``common`` velocities."""
    a, P = backward_sweep_chain(T, W, J, Y, Z, at, one, common, T.depth[one] + 1 if one >= 0 else 0, -1, zero_force_of_fours())
    if other >= 0:
        b, Q = backward_sweep_chain(T, W, J, Y, Z, second, other, common, T.depth[other] + 1, -1, zero_force_of_fours())
        if common > 0:
            body = T.body[T.above[index(T.row[one] + common - 1)]]
            c = vec3(W.c, body)
            r = c - vec3(W.c, a) if a >= 0 else Vec3(0.0, 0.0, 0.0)
            s = c - vec3(W.c, b) if b >= 0 else Vec3(0.0, 0.0, 0.0)
            backward_sweep_chain(T, W, J, Y, Z, at, one, 0, common, body, moved_force(P, r) + moved_force(Q, s))
