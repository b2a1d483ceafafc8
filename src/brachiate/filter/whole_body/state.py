"""Look: what a body does, what the reference does, and how far the one is from the other."""

from __future__ import annotations

from brachiate.compiled import index, kernel
from brachiate.dynamics.inverse import gather, move_body, passive_forces
from brachiate.dynamics.mass import mass_matrix
from brachiate.filter.schedule.centroidal_trajectory import centre_of, momentum_of, put_locked
from brachiate.filter.whole_body.arrays import JOINT_DAMPING, JOINT_STIFFNESS
from brachiate.kinematics import body_inertias, origin_of, poses, zero_motion
from brachiate.model.joints import BALL, FLOAT
from brachiate.spatial import (
    Motion,
    Vec3,
    compose,
    cross,
    inertia,
    motion,
    moved_force,
    put_vec3_at,
    quaternion_at,
    rotation_of,
    transpose,
    turn_between,
    unrotate,
    vec3_at,
    velocity_at,
)


@kernel
def dynamics(T, W, K):
    """Mass matrix and bias; forces that push the body from outside are not known."""
    poses(T, W)
    body_inertias(T, W)
    for i in range(T.parent.shape[0]):
        move_body(T, W, i, zero_motion())
    gather(T, W, K.b)
    passive_forces(T, W, K.b)
    mass_matrix(T, W)
    n = W.v.shape[0]
    for k in range(n):
        for d in range(T.row[k], T.row[k] + T.depth[k] + 1):
            j = T.above[index(d)]
            K.A[index(k * n + j)] = W.L[index(d)]
            K.A[index(j * n + k)] = W.L[index(d)]


@kernel
def at_zero(W, i):
    """Acceleration of body i at zero joint accelerations; the pass before has counted gravity in."""
    A = motion(W.A, i)
    return Motion(A.w, A.v + Vec3(W.gravity[0], W.gravity[1], W.gravity[2]))


@kernel
def point_acceleration(W, i, r):
    """Acceleration of the point at r of body i at zero joint accelerations."""
    V = motion(W.V, i)
    return velocity_at(at_zero(W, i), r) + cross(V.w, velocity_at(V, r))


@kernel
def measure(T, W, Wr, K):
    """Centre of mass, momentum and inertia of the body as a whole, and centre of mass of the reference."""
    m, c = centre_of(T, W, K.members)
    p, L = momentum_of(T, W, K.members, c)
    K.mass[0] = m
    put_vec3_at(K.com, 0, c)
    put_vec3_at(K.com, 3, (1.0 / m) * p)
    put_vec3_at(K.momentum, 0, L)
    put_locked(T, W, K.members, c, K.locked, 0)
    _, c = centre_of(T, Wr, K.members)
    p, L = momentum_of(T, Wr, K.members, c)
    put_vec3_at(K.aimed, 0, c)
    put_vec3_at(K.aimed, 3, (1.0 / m) * p)
    put_vec3_at(K.aimed_spin, 0, L)


@kernel
def solve3(I, n, x):
    """I⁻¹ x of the n-th of symmetric matrices."""
    a, b, c = I[n, 0, 0], I[n, 0, 1], I[n, 0, 2]
    d, e, f = I[n, 1, 1], I[n, 1, 2], I[n, 2, 2]
    A, B, C = d * f - e * e, c * e - b * f, b * e - c * d
    D, E, F = a * f - c * c, b * c - a * e, a * d - b * b
    det = a * A + b * B + c * C
    return Vec3(
        (A * x.x + B * x.y + C * x.z) / det,
        (B * x.x + D * x.y + E * x.z) / det,
        (C * x.x + E * x.y + F * x.z) / det,
    )


@kernel
def follow(T, W, Wr, K):
    """K.wanted ← accelerations that follow the reference [DF] eq. 39, on the manifold; K.e ← how far it is off."""
    kp, kd = K.gain[JOINT_STIFFNESS], K.gain[JOINT_DAMPING]
    for e in range(T.kind.shape[0]):
        j, k = T.q_at[e], T.v_at[e]
        if T.kind[e] < BALL:
            K.e[k] = Wr.q[j] - W.q[j]
            K.wanted[k] = Wr.a[k] + kd * (Wr.v[k] - W.v[k]) + kp * K.e[k]
            continue
        if T.kind[e] == FLOAT:
            R, Rr = rotation_of(quaternion_at(W.q, j + 3)), rotation_of(quaternion_at(Wr.q, j + 3))
            w, wr = vec3_at(W.v, k + 3), vec3_at(Wr.v, k + 3)
            speed, speed_r = R @ vec3_at(W.v, k), Rr @ vec3_at(Wr.v, k)
            jolt = Rr @ (vec3_at(Wr.a, k) + cross(wr, vec3_at(Wr.v, k)))
            off = vec3_at(Wr.q, j) - vec3_at(W.q, j)
            put_vec3_at(K.e, k, unrotate(R, off))
            put_vec3_at(K.wanted, k, unrotate(R, jolt + kd * (speed_r - speed) + kp * off) - cross(w, vec3_at(W.v, k)))
            j, k = j + 3, k + 3
        d = turn_between(W.q, Wr.q, j)
        Re = compose(transpose(rotation_of(quaternion_at(W.q, j))), rotation_of(quaternion_at(Wr.q, j)))
        put_vec3_at(K.e, k, d)
        put_vec3_at(K.wanted, k, Re @ vec3_at(Wr.a, k) + kd * (Re @ vec3_at(Wr.v, k) - vec3_at(W.v, k)) + kp * d)


@kernel
def turned_as_a_whole(T, W, K):
    """K.lean ← I⁻¹ of the angular momentum that going from the reference to here in a second would have."""
    L = Vec3(0.0, 0.0, 0.0)
    c = vec3_at(K.com, 0)
    for k in range(W.v.shape[0]):
        i = T.body[k]
        e = T.element[i]
        if T.kind[e] == FLOAT and T.parent[i] < 0 and k < T.v_at[e] + 3:
            continue
        if K.members[i]:
            h = moved_force(inertia(W.composite, i) @ motion(W.S, k), c - origin_of(T, W, i))
            L = L - K.e[k] * h.n
    put_vec3_at(K.lean, 0, solve3(K.locked, 0, L))
