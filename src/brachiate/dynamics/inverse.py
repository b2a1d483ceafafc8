"""Inverse dynamics of trees: the forces that a motion takes, by the recursive Newton-Euler method [RBDA] 5.3."""

from __future__ import annotations

from brachiate.compiled import kernel, outlined
from brachiate.kinematics import center, finite, joint_kind, joint_motion, joint_velocity, poses, sound, zero_motion
from brachiate.model.arrays import NOT_FINITE, OK, OVERFLOW, open_rooms
from brachiate.model.joints import BALL, FLOAT
from brachiate.spatial import (
    Force,
    Motion,
    Sym3,
    Vec3,
    cross,
    force,
    motion,
    put6,
    put_vec3_at,
    rotation,
    screw_velocity,
    turn_between,
    unrotate,
    vec3,
    velocity_at,
)

# Dry friction is F v/√(v² + ε²): below this speed [rad/s or m/s] it grows with the speed instead of switching sign.
CREEP = 1e-3


@kernel
def base_acceleration(W):
    """Gravity as an upward acceleration of the inertial frame."""
    return Motion(Vec3(0.0, 0.0, 0.0), Vec3(-W.gravity[0], -W.gravity[1], -W.gravity[2]))


@kernel
def bias_forces(T, W):
    """Torque of every coordinate at zero acceleration: Coriolis and gravity. Leaves V and A (at zero acceleration)."""
    for i in range(T.parent.shape[0]):
        move_body(T, W, i, zero_motion())
    external_forces(T, W)
    gather(T, W, W.bias)


@kernel
def required_forces(T, W, a, tau):
    """Torque of every coordinate for the accelerations a. Leaves V, A and F."""
    for i in range(T.parent.shape[0]):
        move_body(T, W, i, joint_motion(T, W, i, a))
    external_forces(T, W)
    gather(T, W, tau)
    for k in range(a.shape[0]):
        tau[k] += T.armature[k] * a[k]


@kernel
def move_body(T, W, i, AJ):
    """Velocity of body i, its acceleration with AJ added by its joint, and the force that takes."""
    p = T.parent[i]
    if p >= 0:
        Vp, Ap = motion(W.V, p), motion(W.A, p)
    else:
        Vp, Ap = zero_motion(), base_acceleration(W)
    V, C = joint_velocity(T, W, i, Vp, W.v)
    A = Ap + C + AJ
    put6(W.V, i, V)
    put6(W.A, i, A)
    put6(W.F, i, inertial_force(T, W, i, V, A))


@kernel
def inertial_force(T, W, i, V, A):
    """Newton and Euler for one body: force at its centre of mass, moment along its own axes, where its inertia is constant."""
    I, R = T.inertia, rotation(W.R, i)
    c = vec3(W.x, i) + R @ Vec3(I[i, 1], I[i, 2], I[i, 3])
    f = I[i, 0] * (velocity_at(A, c) + cross(V.w, velocity_at(V, c)))
    w = unrotate(R, V.w)
    about = Sym3(I[i, 4], I[i, 5], I[i, 6], I[i, 7], I[i, 8], I[i, 9])
    n = R @ (about @ unrotate(R, A.w) + cross(w, about @ w))
    return Force(n + cross(c, f), f)


@kernel
def gather(T, W, tau):
    """Add every body's force to its parent's; its part along the joint is the joint's torque."""
    for i in range(T.parent.shape[0] - 1, -1, -1):
        F, p = force(W.F, i), T.parent[i]
        k, kind = T.dof[i], joint_kind(T, i)
        if kind >= BALL:
            R = rotation(W.R, i)
            if kind == FLOAT:
                put_vec3_at(tau, k, unrotate(R, F.f))
                k += 3
            put_vec3_at(tau, k, unrotate(R, F.n - cross(center(T, W, i), F.f)))
        else:
            for m in range(k, T.dof[i + 1]):
                tau[m] = motion(W.S, m) @ F
        if p >= 0:
            put6(W.F, p, force(W.F, p) + F)


@kernel
def external_forces(T, W):
    """Take the pushes on links off the forces that joints must bring."""
    for n in range(W.push_count[0]):
        i = W.push_body[n]
        R = rotation(W.R, i)
        f = Vec3(W.push_force[n, 0], W.push_force[n, 1], W.push_force[n, 2])
        m = Vec3(W.push_force[n, 3], W.push_force[n, 4], W.push_force[n, 5])
        if W.push_in_link[n]:
            f, m = R @ f, R @ m
        at = vec3(W.x, i) + R @ vec3(W.push_point, n)
        put6(W.F, i, force(W.F, i) - Force(m + cross(at, f), f))


@kernel
def braking(T, k, v):
    """What dampers and dry friction of coordinate k take at that speed."""
    return T.damping[k] * v + T.friction[k] * v / (v * v + CREEP * CREEP) ** 0.5


@kernel
def passive_forces(T, W, tau):
    """Take springs, dampers and dry friction off the torques that motors must bring."""
    if T.passive[0] == 0:
        return
    for k in range(tau.shape[0]):
        tau[k] += braking(T, k, W.v[k])
    for e in range(T.kind.shape[0]):
        k, q = T.v_at[e], T.q_at[e]
        if T.kind[e] < BALL:
            tau[k] += T.stiffness[k] * (W.q[q] - T.rest[q])
        elif T.kind[e] == BALL:  # a free joint has no spring
            w = turn_between(T.rest, W.q, q)
            # The slope of ½ wᵀ K w along rotations in child axes. Only springs alike about all axes pull along w itself.
            t = screw_velocity(w, Vec3(T.stiffness[k] * w.x, T.stiffness[k + 1] * w.y, T.stiffness[k + 2] * w.z))
            tau[k] += t.x
            tau[k + 1] += t.y
            tau[k + 2] += t.z


@outlined
def inverse_dynamics(key):
    """Torques W.tau for the accelerations W.a at the state (W.q, W.v)."""
    T, W = open_rooms(key)
    if not (sound(T, W.q, W.v) and finite(W.a)):
        return NOT_FINITE
    poses(T, W)
    required_forces(T, W, W.a, W.tau)
    passive_forces(T, W, W.tau)
    return OK if finite(W.tau) else OVERFLOW


@outlined
def bias(key):
    """Torques W.bias at zero acceleration: Coriolis, gravity, springs, dampers, friction, minus external forces."""
    T, W = open_rooms(key)
    if not sound(T, W.q, W.v):
        return NOT_FINITE
    poses(T, W)
    bias_forces(T, W)
    passive_forces(T, W, W.bias)
    return OK if finite(W.bias) else OVERFLOW
