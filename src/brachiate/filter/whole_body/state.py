"""State of the whole-body controller: mass matrix and bias, centroidal quantities, joint-space PD accelerations [DF] eq. 39."""

from __future__ import annotations

from brachiate.compiled import index, kernel
from brachiate.dynamics.inverse import accumulate_forces, body_motion_and_force, passive_forces
from brachiate.dynamics.mass import mass_matrix
from brachiate.dynamics.momentum import center_of_mass, momentum_about
from brachiate.filter.schedule.centroidal_trajectory import put_locked_inertia
from brachiate.filter.whole_body.arrays import JOINT_DAMPING, JOINT_STIFFNESS, TIME_STEP
from brachiate.kinematics import body_inertias, forward_kinematics, tree_origin, zero_motion
from brachiate.linalg.symmetric3 import solve_symmetric3
from brachiate.model.joints import BALL, FLOAT
from brachiate.spatial import (
    MotionVector,
    Vec3,
    compose,
    cross,
    inertia,
    motion,
    moved_force,
    put_vec3_at,
    quaternion_at,
    quaternion_difference,
    rotation_of,
    transpose,
    unrotate,
    vec3_at,
    velocity_at,
)

SHIFT_TIME = 0.15  # [s] time constant with which plans follow the posture that functions call for


@kernel
def compute_dynamics(T, W, ctl):
    """ctl.M ← mass matrix, ctl.bias ← Coriolis, gravity and passive joint forces; external pushes are unknown to the controller."""
    forward_kinematics(T, W)
    body_inertias(T, W)
    for i in range(T.parent.shape[0]):
        body_motion_and_force(T, W, i, zero_motion())
    accumulate_forces(T, W, ctl.bias)
    passive_forces(T, W, ctl.bias)
    mass_matrix(T, W)
    n = W.v.shape[0]
    for k in range(n):
        for d in range(T.row[k], T.row[k] + T.depth[k] + 1):
            j = T.above[index(d)]
            ctl.M[index(k * n + j)] = W.L[index(d)]
            ctl.M[index(j * n + k)] = W.L[index(d)]


@kernel
def bias_acceleration(W, i):
    """Bias acceleration J̇ v of body i, spatial: its acceleration at zero joint accelerations (W.A includes −gravity)."""
    A = motion(W.A, i)
    return MotionVector(A.w, A.v + Vec3(W.gravity[0], W.gravity[1], W.gravity[2]))


@kernel
def point_bias_acceleration(W, i, r):
    """Bias acceleration J̇ v of the point at r of body i [m/s²]."""
    V = motion(W.V, i)
    return velocity_at(bias_acceleration(W, i), r) + cross(V.w, velocity_at(V, r))


@kernel
def compute_centroidal_state(T, W, ref, ctl):
    """CoM, angular momentum about it and locked inertia of the figure, and CoM and angular momentum of the reference."""
    m, c = center_of_mass(T, W, ctl.members)
    momentum = momentum_about(T, W, ctl.members, c)
    ctl.mass[0] = m
    put_vec3_at(ctl.com, 0, c)
    put_vec3_at(ctl.com, 3, (1.0 / m) * momentum.f)
    put_vec3_at(ctl.angular_momentum, 0, momentum.n)
    put_locked_inertia(T, W, ctl.members, c, ctl.locked_inertia, 0)
    _, c = center_of_mass(T, ref, ctl.members)
    momentum = momentum_about(T, ref, ctl.members, c)
    put_vec3_at(ctl.reference_com, 0, c)
    put_vec3_at(ctl.reference_com, 3, (1.0 / m) * momentum.f)
    put_vec3_at(ctl.reference_angular_momentum, 0, momentum.n)


@kernel
def pd_accelerations(T, W, ref, ctl):
    """ctl.desired ← a_ref + Kd (v_ref − v) + Kp (q_ref ⊖ q), ⊖ on the joint's manifold [DF] eq. 39; ctl.error ← q_ref ⊖ q."""
    kp, kd = ctl.gain[JOINT_STIFFNESS], ctl.gain[JOINT_DAMPING]
    for e in range(T.kind.shape[0]):
        j, k = T.q_at[e], T.v_at[e]
        if T.kind[e] < BALL:
            ctl.error[k] = ref.q[j] - W.q[j]
            ctl.desired[k] = ref.a[k] + kd * (ref.v[k] - W.v[k]) + kp * ctl.error[k]
            continue
        if T.kind[e] == FLOAT:
            R, Rr = rotation_of(quaternion_at(W.q, j + 3)), rotation_of(quaternion_at(ref.q, j + 3))
            w, wr = vec3_at(W.v, k + 3), vec3_at(ref.v, k + 3)
            velocity, velocity_ref = R @ vec3_at(W.v, k), Rr @ vec3_at(ref.v, k)
            acceleration = Rr @ (vec3_at(ref.a, k) + cross(wr, vec3_at(ref.v, k)))
            error = vec3_at(ref.q, j) - vec3_at(W.q, j)
            put_vec3_at(ctl.error, k, unrotate(R, error))
            put_vec3_at(ctl.desired, k, unrotate(R, acceleration + kd * (velocity_ref - velocity) + kp * error) - cross(w, vec3_at(W.v, k)))
            j, k = j + 3, k + 3
        d = quaternion_difference(W.q, ref.q, j)
        Re = compose(transpose(rotation_of(quaternion_at(W.q, j))), rotation_of(quaternion_at(ref.q, j)))
        put_vec3_at(ctl.error, k, d)
        put_vec3_at(ctl.desired, k, Re @ vec3_at(ref.a, k) + kd * (Re @ vec3_at(ref.v, k) - vec3_at(W.v, k)) + kp * d)


@kernel
def compute_orientation_error(T, W, ctl):
    """ctl.orientation_error ← rotation of the figure as a whole from the reference [rad].

    I⁻¹ L with the locked inertia I and the angular momentum L of moving from the reference to the present configuration in a second.
    """
    L = Vec3(0.0, 0.0, 0.0)
    c = vec3_at(ctl.com, 0)
    for k in range(W.v.shape[0]):
        i = T.body[k]
        e = T.element[i]
        if T.kind[e] == FLOAT and T.parent[i] < 0 and k < T.v_at[e] + 3:
            continue
        if ctl.members[i]:
            h = moved_force(inertia(W.composite, i) @ motion(W.S, k), c - tree_origin(T, W, i))
            L = L - ctl.error[k] * h.n
    put_vec3_at(ctl.orientation_error, 0, solve_symmetric3(ctl.locked_inertia, 0, L))


@kernel
def shift_by_functions(W, ref, ctl):
    """Changes of the plan's goals by functions that act: raised arms raise the CoM and rotate the figure as a whole, not its pelvis.

    The plan keeps the height of the pelvis and its orientation then, instead of those of the CoM and of the whole figure.
    """
    share = min(ctl.gain[TIME_STEP] / SHIFT_TIME, 1.0)
    height, turn = 0.0, Vec3(0.0, 0.0, 0.0)
    if ctl.function_count[0] > 0:
        z, k = ctl.q_at[2], ctl.v_at[3]
        height = (ctl.com[2] - W.q[z]) - (ctl.reference_com[2] - ref.q[z])
        turn = vec3_at(ctl.orientation_error, 0) + rotation_of(quaternion_at(W.q, z + 1)) @ vec3_at(ctl.error, k)
    change = share * (height - ctl.com_shift[0])
    ctl.com_shift[0] += change
    ctl.com_shift[1] = change / ctl.gain[TIME_STEP]
    old = vec3_at(ctl.orientation_shift, 0)
    put_vec3_at(ctl.orientation_shift, 0, old + share * (turn - old))
