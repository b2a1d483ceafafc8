"""Articulated body algorithm: forward dynamics in O(N) [RBDA] 7.3.

World axes, but each body's quantities about a point of its own joint: moving them to the parent is a translation only, and
values do not grow along a chain of a thousand links. Ball joints and floating roots are eliminated three velocities at once;
the velocities of any other joint one at a time, which is Gaussian elimination.
"""

from __future__ import annotations

from typing import NamedTuple

from brachiate.compiled import kernel, operators
from brachiate.dynamics.inverse import base_acceleration, external_forces, passive_forces
from brachiate.kinematics import joint_center, joint_kind, joint_velocity, simple_ball, zero_motion
from brachiate.model.arrays import SINGULAR_MARGIN
from brachiate.model.joints import BALL, FLOAT, TURN
from brachiate.model.status import OK, SINGULAR
from brachiate.spatial import (
    Force,
    MotionVector,
    Rotation,
    Sym3,
    Vec3,
    cross,
    force,
    force_cross,
    inertia_about,
    motion,
    moved_force,
    moved_motion,
    put6,
    put_vec3,
    rotated,
    rotation,
    trace,
    transpose,
    unrotate,
    vec3,
    vec3_at,
)


@operators
class Articulated(NamedTuple):
    """Articulated inertia, a symmetric 6×6 matrix [[I, H], [Hᵀ, M]]: apparent inertia of a body with its subtree."""

    I: Sym3
    H: Rotation  # any 3×3 matrix by its columns
    M: Sym3

    def __matmul__(a, b: MotionVector) -> Force:
        return Force(a.I @ b.w + a.H @ b.v, Vec3(a.H.x @ b.w, a.H.y @ b.w, a.H.z @ b.w) + a.M @ b.v)

    def __add__(a, b: Articulated) -> Articulated:
        return Articulated(a.I + b.I, Rotation(a.H.x + b.H.x, a.H.y + b.H.y, a.H.z + b.H.z), a.M + b.M)


@kernel
def rigid(b):
    """Articulated inertia of a rigid body."""
    h = b.h
    H = Rotation(Vec3(0.0, h.z, -h.y), Vec3(-h.z, 0.0, h.x), Vec3(h.y, -h.x, 0.0))
    return Articulated(b.I, H, Sym3(b.m, 0.0, 0.0, b.m, 0.0, b.m))


@kernel
def outer_square(v):
    """v vᵀ."""
    return Sym3(v.x * v.x, v.x * v.y, v.x * v.z, v.y * v.y, v.y * v.z, v.z * v.z)


@kernel
def scaled(s, a):
    """s A of a symmetric matrix."""
    return Sym3(s * a.xx, s * a.xy, s * a.xz, s * a.yy, s * a.yz, s * a.zz)


@kernel
def eliminated(a, U, r):
    """Inertia after eliminating one velocity: A − r U Uᵀ."""
    n, f = U.n, U.f
    H = Rotation(a.H.x - (r * f.x) * n, a.H.y - (r * f.y) * n, a.H.z - (r * f.z) * n)
    return Articulated(a.I + scaled(-r, outer_square(n)), H, a.M + scaled(-r, outer_square(f)))


@kernel
def moved_inertia(a, r):
    """Inertia about an origin from which the current one is displaced by r."""
    M = a.M
    H = Rotation(
        a.H.x + cross(r, Vec3(M.xx, M.xy, M.xz)),
        a.H.y + cross(r, Vec3(M.xy, M.yy, M.yz)),
        a.H.z + cross(r, Vec3(M.xz, M.yz, M.zz)),
    )
    old, new = transpose(a.H), transpose(H)
    # I + Qᵀ + Q' with Q = r× Hᵀ before and Q' after the move
    Qx, Qy, Qz = cross(r, old.x), cross(r, old.y), cross(r, old.z)
    Nx, Ny, Nz = cross(r, new.x), cross(r, new.y), cross(r, new.z)
    I = Sym3(Qx.x + Nx.x, Qx.y + Ny.x, Qx.z + Nz.x, Qy.y + Ny.y, Qy.z + Nz.y, Qz.z + Nz.z)
    return Articulated(a.I + I, H, M)


@kernel
def articulated_at(A, i):
    """Row i of an (n, 21) array."""
    a = A[i]
    return Articulated(
        Sym3(a[0], a[1], a[2], a[3], a[4], a[5]),
        Rotation(Vec3(a[6], a[7], a[8]), Vec3(a[9], a[10], a[11]), Vec3(a[12], a[13], a[14])),
        Sym3(a[15], a[16], a[17], a[18], a[19], a[20]),
    )


@kernel
def put_articulated(A, i, b):
    """Store in row i of an (n, 21) array."""
    a = A[i]
    a[0], a[1], a[2], a[3], a[4], a[5] = b.I
    (a[6], a[7], a[8]), (a[9], a[10], a[11]), (a[12], a[13], a[14]) = b.H
    a[15], a[16], a[17], a[18], a[19], a[20] = b.M


@kernel
def sym_inverse(a):
    """Inverse of a symmetric positive definite 3×3 matrix, and its distance from singularity (0: singular; at most 1)."""
    x, y, z = a.yy * a.zz - a.yz * a.yz, a.xz * a.yz - a.xy * a.zz, a.xy * a.yz - a.xz * a.yy
    det = a.xx * x + a.xy * y + a.xz * z
    inverse = Sym3(x, y, z, a.xx * a.zz - a.xz * a.xz, a.xy * a.xz - a.xx * a.yz, a.xx * a.yy - a.xy * a.xy)
    return scaled(1.0 / det, inverse), det / (a.xx * a.yy * a.zz)


@kernel
def rotor_inertia(T, W, R, k, implicit):
    """Armature of three velocities along the child's axes, and implicit damping, as a matrix along world axes."""
    g = Vec3(
        T.armature[k] + implicit * W.y[k],
        T.armature[k + 1] + implicit * W.y[k + 1],
        T.armature[k + 2] + implicit * W.y[k + 2],
    )
    return rotated(R, Sym3(g.x, 0.0, 0.0, g.y, 0.0, g.z))


@kernel
def has_rotor(T, W, k, implicit):
    """Whether any of three velocities has armature or implicit damping."""
    return T.armature[k] + T.armature[k + 1] + T.armature[k + 2] + implicit * (W.y[k] + W.y[k + 1] + W.y[k + 2]) > 0.0


@kernel
def weakest_axis(W, i, A):
    """Axis of body i with the smallest articulated inertia: 0, 1 or 2."""
    d = rotated(transpose(rotation(W.R, i)), A.I)
    return 0 if d.xx <= d.yy and d.xx <= d.zz else 1 if d.yy <= d.zz else 2


@kernel
def net_torque(W, R, k):
    """Torque of three velocities along the child's axes, minus passive forces, along world axes."""
    return R @ Vec3(W.tau[k] - W.bias[k], W.tau[k + 1] - W.bias[k + 1], W.tau[k + 2] - W.bias[k + 2])


@kernel
def eliminate_ball(T, W, i, k, A, implicit):
    """Eliminate a ball joint: all three rotations at once, about its center.

    Returns the inverse E of the joint-space inertia, K = E H, the inertia transmitted to the parent, and the margin from
    singularity. With D = I + G, G the rotors: A − U D⁻¹ Uᵀ is (G − G D⁻¹ G, G D⁻¹ H, M − Hᵀ D⁻¹ H), which without rotors is only a
    mass: a ball joint transmits no moment.
    """
    rotors = has_rotor(T, W, k, implicit)
    G = rotor_inertia(T, W, rotation(W.R, i), k, implicit) if rotors else Sym3(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    E, margin = sym_inverse(A.I + G)
    H = A.H
    K = Rotation(E @ H.x, E @ H.y, E @ H.z)
    M = A.M + Sym3(-(H.x @ K.x), -(H.x @ K.y), -(H.x @ K.z), -(H.y @ K.y), -(H.y @ K.z), -(H.z @ K.z))
    zero = Vec3(0.0, 0.0, 0.0)
    I, N = Sym3(0.0, 0.0, 0.0, 0.0, 0.0, 0.0), Rotation(zero, zero, zero)
    if rotors:
        g = Rotation(Vec3(G.xx, G.xy, G.xz), Vec3(G.xy, G.yy, G.yz), Vec3(G.xz, G.yz, G.zz))
        ex, ey, ez = E @ g.x, E @ g.y, E @ g.z
        I = G + Sym3(-(g.x @ ex), -(g.x @ ey), -(g.x @ ez), -(g.y @ ey), -(g.y @ ez), -(g.z @ ez))
        N = Rotation(G @ K.x, G @ K.y, G @ K.z)
    return E, K, Articulated(I, N, M), margin


@kernel
def through_ball(A, P, e):
    """Force P plus the inertia A times a ball joint's angular acceleration e."""
    return P + Force(A.I @ e, Vec3(A.H.x @ e, A.H.y @ e, A.H.z @ e))


@kernel
def ball_backward(T, W, i, k, A, P, implicit):
    """Backward pass of a ball joint. Returns inertia and bias force for the parent, and the margin from singularity."""
    E, _, left, margin = eliminate_ball(T, W, i, k, A, implicit)
    t = net_torque(W, rotation(W.R, i), k) - P.n
    store_block(W, k, E)
    W.u[k], W.u[k + 1], W.u[k + 2] = t
    return left, through_ball(A, P, E @ t), margin


@kernel
def store_block(W, k, E):
    """Store the inverse joint-space inertia of three velocities."""
    W.U[k, 0], W.U[k, 1], W.U[k, 2], W.U[k, 3], W.U[k, 4], W.U[k, 5] = E


@kernel
def block(W, k):
    """Inverse joint-space inertia of three velocities."""
    U = W.U
    return Sym3(U[k, 0], U[k, 1], U[k, 2], U[k, 3], U[k, 4], U[k, 5])


@kernel
def ball_forward(W, i, k, A, body):
    """Forward pass of a ball joint: adds its angular acceleration to the parent's acceleration A."""
    w = block(W, k) @ (vec3_at(W.u, k) - body.I @ A.w - body.H @ A.v)
    W.a[k], W.a[k + 1], W.a[k + 2] = unrotate(rotation(W.R, i), w)
    return MotionVector(A.w + w, A.v)


@kernel
def eliminate_velocity(T, W, k, S, A, implicit):
    """Eliminate one velocity with the motion S. Returns the remaining inertia, and the margin from singularity."""
    U = A @ S
    d = S @ U + T.armature[k] + implicit * W.y[k]
    put6(W.U, k, U)
    W.D[k] = 1.0 / d
    return eliminated(A, U, W.D[k]), d / (T.armature[k] + trace(A.I) * (S.w @ S.w) + trace(A.M) * (S.v @ S.v))


@kernel
def smaller_margin(margin, weakest, more, k):
    """Smaller of two margins, and its velocity. After a first NaN later margins are ignored."""
    if margin - margin == 0.0 and not more >= margin:
        return more, k
    return margin, weakest


@kernel
def velocities_backward(T, W, i, x, A, P, implicit):
    """Backward pass of a general joint, one velocity at a time from the last. Returns inertia and bias force for the parent."""
    margin, weakest = 1.0, T.dof[i]
    for k in range(T.dof[i + 1] - 1, T.dof[i] - 1, -1):
        S = moved_motion(motion(W.S, k), x)
        A, left = eliminate_velocity(T, W, k, S, A, implicit)
        margin, weakest = smaller_margin(margin, weakest, left, k)
        W.u[k] = W.tau[k] - W.bias[k] - S @ P
        P = P + (W.D[k] * W.u[k]) * force(W.U, k)
    return A, P, margin, weakest


@kernel
def eliminate_revolute(T, W, k, A, implicit):
    """Eliminate a revolute joint, a pure rotation about a point of its axis. Returns as :func:`eliminate_velocity`."""
    w = vec3(W.S, k)
    U = Force(A.I @ w, Vec3(A.H.x @ w, A.H.y @ w, A.H.z @ w))
    d = w @ U.n + T.armature[k] + implicit * W.y[k]
    put6(W.U, k, U)
    W.D[k] = 1.0 / d
    return eliminated(A, U, W.D[k]), d / (T.armature[k] + trace(A.I))


@kernel
def revolute_backward(T, W, k, A, P, implicit):
    """Backward pass of a revolute joint. Returns inertia and bias force for the parent, and the margin from singularity."""
    left, margin = eliminate_revolute(T, W, k, A, implicit)
    W.u[k] = W.tau[k] - W.bias[k] - vec3(W.S, k) @ P.n
    return left, P + (W.D[k] * W.u[k]) * force(W.U, k), margin


@kernel
def moved_mass(M, r):
    """Inertia of a direction-dependent mass M, about an origin from which it is displaced by r."""
    H = Rotation(cross(r, Vec3(M.xx, M.xy, M.xz)), cross(r, Vec3(M.xy, M.yy, M.yz)), cross(r, Vec3(M.xz, M.yz, M.zz)))
    new = transpose(H)
    Nx, Ny, Nz = cross(r, new.x), cross(r, new.y), cross(r, new.z)
    return Articulated(Sym3(Nx.x, Ny.x, Nz.x, Ny.y, Nz.y, Nz.z), H, M)


@kernel
def articulated_body_algorithm(T, W, implicit):
    """Accelerations W.a for the torques W.tau at the current poses; ``implicit`` as in forward.compute_accelerations."""
    nb = T.parent.shape[0]
    initialize_bodies(T, W)
    status = OK
    for i in range(nb - 1, -1, -1):
        x, p = vec3(W.c, i), T.parent[i]
        A, P = articulated_at(W.IA, i), force(W.PA, i)
        kind, k = joint_kind(T, i), T.dof[i]
        only_mass = False
        if kind == BALL:
            A, P, margin = ball_backward(T, W, i, k, A, P, implicit)
            weakest = k
            only_mass = not has_rotor(T, W, k, implicit)
        elif kind == TURN:
            A, P, margin = revolute_backward(T, W, k, A, P, implicit)
            weakest = k
        elif kind == FLOAT and p < 0:
            margin = root_backward(T, W, i, k, A, P, implicit)
            weakest = k + 3
        else:
            A, P, margin, weakest = velocities_backward(T, W, i, x, A, P, implicit)
        if status == OK and not margin > SINGULAR_MARGIN:
            status = SINGULAR
            W.status[1] = weakest + (weakest_axis(W, i, articulated_at(W.IA, i)) if simple_ball(T, i) else 0)
        if p >= 0:
            back = x - vec3(W.c, p)
            C = moved_motion(motion(W.C, i), x)
            if only_mass:
                P = Force(P.n, P.f + A.M @ C.v)
                put_articulated(W.IA, p, articulated_at(W.IA, p) + moved_mass(A.M, back))
            else:
                P = P + A @ C
                put_articulated(W.IA, p, articulated_at(W.IA, p) + moved_inertia(A, back))
            put6(W.PA, p, force(W.PA, p) + moved_force(P, -back))
    for i in range(nb):
        p, x = T.parent[i], vec3(W.c, i)
        A = moved_motion(motion(W.A, p), x - vec3(W.c, p)) if p >= 0 else base_acceleration(W)
        A = A + moved_motion(motion(W.C, i), x)
        kind, k = joint_kind(T, i), T.dof[i]
        if kind == BALL:
            A = ball_forward(W, i, k, A, articulated_at(W.IA, i))
        elif kind == FLOAT and p < 0:
            A = root_forward(W, i, k, A, articulated_at(W.IA, i))
        elif kind == TURN:
            W.a[k] = W.D[k] * (W.u[k] - A @ force(W.U, k))
            A = MotionVector(A.w + W.a[k] * vec3(W.S, k), A.v)
        else:
            for j in range(k, T.dof[i + 1]):
                W.a[j] = W.D[j] * (W.u[j] - A @ force(W.U, j))
                A = A + W.a[j] * moved_motion(motion(W.S, j), x)
        put6(W.A, i, A)
    return status


@kernel
def eliminate_root_translation(T, W, i, k, left, implicit):
    """Eliminate the translations of a floating root after its rotations; ``left`` is the remaining inertia."""
    M = left.M
    if has_rotor(T, W, k, implicit):
        M = M + rotor_inertia(T, W, rotation(W.R, i), k, implicit)
    E, margin = sym_inverse(M)
    store_block(W, k, E)
    store_block(W, k + 1, left.M)
    return margin


@kernel
def root_backward(T, W, i, k, A, P, implicit):
    """Backward pass of a floating root: its rotations as of a ball joint, then its translations."""
    left, Q, margin = ball_backward(T, W, i, k + 3, A, P, implicit)
    more = eliminate_root_translation(T, W, i, k, left, implicit)
    W.u[k], W.u[k + 1], W.u[k + 2] = net_torque(W, rotation(W.R, i), k) - Q.f
    return min(margin, more)


@kernel
def root_forward(W, i, k, A, body):
    """Forward pass of a floating root. The inertial frame does not rotate, so only its linear acceleration (gravity) counts."""
    v = block(W, k) @ (vec3_at(W.u, k) - block(W, k + 1) @ A.v)
    W.a[k], W.a[k + 1], W.a[k + 2] = unrotate(rotation(W.R, i), v)
    return ball_forward(W, i, k + 3, MotionVector(A.w, A.v + v), body)


@kernel
def initialize_bodies(T, W):
    """Velocities, and rigid-body inertia and bias force of every body about its joint center; passive torques in W.bias."""
    for k in range(W.bias.shape[0]):
        W.bias[k] = 0.0
    passive_forces(T, W, W.bias)
    if W.push_count[0]:
        for i in range(T.parent.shape[0]):
            put6(W.F, i, Force(Vec3(0.0, 0.0, 0.0), Vec3(0.0, 0.0, 0.0)))
        external_forces(T, W)
    for i in range(T.parent.shape[0]):
        p, b = T.parent[i], T.inertia
        V, C = joint_velocity(T, W, i, motion(W.V, p) if p >= 0 else zero_motion(), W.v)
        put6(W.V, i, V)
        put6(W.C, i, C)
        x, c, R = vec3(W.x, i), joint_center(T, W, i), rotation(W.R, i)
        put_vec3(W.c, i, c)
        about = rotated(R, Sym3(b[i, 4], b[i, 5], b[i, 6], b[i, 7], b[i, 8], b[i, 9]))
        I = inertia_about(b[i, 0], x - c + R @ Vec3(b[i, 1], b[i, 2], b[i, 3]), about)
        V = moved_motion(V, c)
        P = force_cross(V, I @ V)
        if W.push_count[0]:
            P = P + moved_force(force(W.F, i), c)
        put_articulated(W.IA, i, rigid(I))
        put6(W.PA, i, P)
