"""Inverse dynamics of kinematic trees by the recursive Newton-Euler algorithm [RBDA] 5.3."""

from __future__ import annotations

from brachiate.compiled import kernel, outlined
from brachiate.kinematics import (
    finite,
    forward_kinematics,
    joint_center,
    joint_kind,
    joint_motion,
    joint_velocity,
    valid_state,
    zero_motion,
)
from brachiate.model.arrays import open_model
from brachiate.model.joints import BALL, FLOAT
from brachiate.model.status import NOT_FINITE, OK, OVERFLOW
from brachiate.spatial import (
    Force,
    MotionVector,
    Sym3,
    Vec3,
    cross,
    force,
    motion,
    put6,
    put_vec3_at,
    quaternion_difference,
    rotation,
    screw_velocity,
    unrotate,
    vec3,
    velocity_at,
)

# Dry friction is regularized as F v/√(v² + ε²) with this ε [rad/s or m/s].
FRICTION_SPEED_SCALE = 1e-3


@kernel
def base_acceleration(W):
    """Gravity as an upward acceleration of the inertial frame."""
    return MotionVector(Vec3(0.0, 0.0, 0.0), Vec3(-W.gravity[0], -W.gravity[1], -W.gravity[2]))


@kernel
def bias_forces(T, W):
    """Torque of every coordinate at zero acceleration: Coriolis and gravity. Leaves V and A (at zero acceleration)."""
    for i in range(T.parent.shape[0]):
        body_motion_and_force(T, W, i, zero_motion())
    external_forces(T, W)
    accumulate_forces(T, W, W.bias)


@kernel
def required_forces(T, W, a, tau):
    """Torque of every coordinate for the accelerations a. Leaves V, A and F."""
    for i in range(T.parent.shape[0]):
        body_motion_and_force(T, W, i, joint_motion(T, W, i, a))
    external_forces(T, W)
    accumulate_forces(T, W, tau)
    for k in range(a.shape[0]):
        tau[k] += T.armature[k] * a[k]


@kernel
def body_motion_and_force(T, W, i, AJ):
    """Forward pass: velocity of body i, its acceleration with AJ added by its joint, and the required force."""
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
    """Newton-Euler equations of one body: force at its center of mass, moment along its own axes, where its inertia is constant."""
    I, R = T.inertia, rotation(W.R, i)
    c = vec3(W.x, i) + R @ Vec3(I[i, 1], I[i, 2], I[i, 3])
    f = I[i, 0] * (velocity_at(A, c) + cross(V.w, velocity_at(V, c)))
    w = unrotate(R, V.w)
    about = Sym3(I[i, 4], I[i, 5], I[i, 6], I[i, 7], I[i, 8], I[i, 9])
    n = R @ (about @ unrotate(R, A.w) + cross(w, about @ w))
    return Force(n + cross(c, f), f)


@kernel
def accumulate_forces(T, W, tau):
    """Backward pass: add every body's force to its parent's; its projection on S is the joint torque."""
    for i in range(T.parent.shape[0] - 1, -1, -1):
        F, p = force(W.F, i), T.parent[i]
        k, kind = T.dof[i], joint_kind(T, i)
        if kind >= BALL:
            R = rotation(W.R, i)
            if kind == FLOAT:
                put_vec3_at(tau, k, unrotate(R, F.f))
                k += 3
            put_vec3_at(tau, k, unrotate(R, F.n - cross(joint_center(T, W, i), F.f)))
        else:
            for m in range(k, T.dof[i + 1]):
                tau[m] = motion(W.S, m) @ F
        if p >= 0:
            put6(W.F, p, force(W.F, p) + F)


@kernel
def external_forces(T, W):
    """W.F −= external forces on links."""
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
def damping_and_friction(T, k, v):
    """Torque of damping and dry friction of coordinate k at the velocity v."""
    return T.damping[k] * v + T.friction[k] * v / (v * v + FRICTION_SPEED_SCALE * FRICTION_SPEED_SCALE) ** 0.5


@kernel
def passive_forces(T, W, tau):
    """tau += torque that overcomes springs, dampers and dry friction."""
    if T.passive[0] == 0:
        return
    for k in range(tau.shape[0]):
        tau[k] += damping_and_friction(T, k, W.v[k])
    for e in range(T.kind.shape[0]):
        k, q = T.v_at[e], T.q_at[e]
        if T.kind[e] < BALL:
            tau[k] += T.stiffness[k] * (W.q[q] - T.rest[q])
        elif T.kind[e] == BALL:  # a free joint has no spring
            w = quaternion_difference(T.rest, W.q, q)
            # Gradient of ½ wᵀ K w along rotations in child axes; it is along w only for equal stiffness about all axes.
            t = screw_velocity(w, Vec3(T.stiffness[k] * w.x, T.stiffness[k + 1] * w.y, T.stiffness[k + 2] * w.z))
            tau[k] += t.x
            tau[k + 1] += t.y
            tau[k + 2] += t.z


@outlined
def inverse_dynamics(key):
    """Torques W.tau for the accelerations W.a at the state (W.q, W.v)."""
    T, W = open_model(key)
    if not (valid_state(T, W.q, W.v) and finite(W.a)):
        return NOT_FINITE
    forward_kinematics(T, W)
    required_forces(T, W, W.a, W.tau)
    passive_forces(T, W, W.tau)
    return OK if finite(W.tau) else OVERFLOW


@outlined
def bias(key):
    """Torques W.bias at zero acceleration: Coriolis, gravity, springs, dampers, friction, minus external forces."""
    T, W = open_model(key)
    if not valid_state(T, W.q, W.v):
        return NOT_FINITE
    forward_kinematics(T, W)
    bias_forces(T, W)
    passive_forces(T, W, W.bias)
    return OK if finite(W.bias) else OVERFLOW
