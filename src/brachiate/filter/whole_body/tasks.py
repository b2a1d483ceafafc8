"""Tasks and constraints of the whole-body QP [DF] VII-C 1.

Constraints: no torque at the floating base [DF] eq. 34, contacts (:mod:`.contact_constraints`), grips, limits of joint position, speed and
torque. Tasks: CoM acceleration and angular momentum rate of the plan, swing feet on their trajectories, tracked links, functions of the
motion. The joint-space PD accelerations [DF] eq. 39 (:mod:`.state`) are the target of the QP itself.
"""

from __future__ import annotations

import numpy as np

from brachiate.compiled import index, kernel
from brachiate.filter.schedule.arrays import MAX_CORNERS
from brachiate.filter.whole_body.arrays import (
    ANGULAR_MOMENTUM_WEIGHT,
    COM_WEIGHT,
    FOOT_DAMPING,
    FOOT_STIFFNESS,
    GRIP_CLOSED,
    GRIP_REACHING,
    LIMIT_HORIZON,
    TIME_STEP,
)
from brachiate.filter.whole_body.contact_constraints import add_angular_jacobian, add_point_jacobian, add_ray, add_row
from brachiate.filter.whole_body.qp import EQUALITY, INEQUALITY, RAYS, ROWS, STRIDE
from brachiate.filter.whole_body.state import bias_acceleration, point_bias_acceleration
from brachiate.kinematics import tree_origin
from brachiate.linalg.symmetric3 import solve_symmetric3
from brachiate.spatial import Vec3, compose, cross, logarithm, motion, norm, quaternion_of, rotation, transpose, vec3, vec3_at, velocity_at

SPEED_LIMIT_STEPS = 2.0  # time steps in which a joint may reach its speed limit
MAX_JOINT_ACCELERATION = 2000.0  # [rad/s²] joints that cannot reach their speed limit in these steps get no row
TOE_GAIN_FACTOR = 3.0  # PD rate of toes relative to feet: they are light, and have to be flat at touchdown
LINK_ROTATION_LENGTH = 0.1  # [m/rad] weight of a tracked link's rotation against its displacement: the size of a hand
MAX_GRIP_FORCE = 5.0  # [body weights] of one hand: giant swings on a bar reach four, by both hands


@kernel
def floating_base_and_limits(T, W, ctl, qp):
    """Rows of the unactuated coordinates [DF] eq. 34, and bounds of joint speeds and positions."""
    n, rays = W.v.shape[0], qp.active_rays.shape[0]
    for k in range(n):
        if ctl.unactuated[k]:
            scale = 1.0 / ctl.M[index(k * n + k)]
            at = add_row(qp, EQUALITY, -ctl.bias[k] * scale, 0.0, 1)
            put_torque_row(ctl, qp, at, k, n, rays, scale)
    horizon, duration = ctl.gain[LIMIT_HORIZON], SPEED_LIMIT_STEPS * ctl.gain[TIME_STEP]
    for k in range(n):
        for side in (1.0, -1.0):  # a step uses at most a part of the remaining speed
            if side * W.v[k] + duration * MAX_JOINT_ACCELERATION > ctl.speed_limit[k]:
                at = add_row(qp, INEQUALITY, (side * W.v[k] - ctl.speed_limit[k]) / duration, 1e-6, 0)
                qp.C[index(at + k * qp.counts[STRIDE])] = -side
        if ctl.limited_q_at[k] >= 0:
            x = W.q[ctl.limited_q_at[k]]
            predicted = x + horizon * W.v[k]
            if predicted < ctl.lower[k] + 0.05:
                at = add_row(qp, INEQUALITY, 2.0 * (ctl.lower[k] - predicted) / (horizon * horizon), 1e-6, 0)
                qp.C[index(at + k * qp.counts[STRIDE])] = 1.0
            if predicted > ctl.upper[k] - 0.05:
                at = add_row(qp, INEQUALITY, 2.0 * (predicted - ctl.upper[k]) / (horizon * horizon), 1e-6, 0)
                qp.C[index(at + k * qp.counts[STRIDE])] = -1.0


@kernel
def add_torque_limit(ctl, qp, k, side):
    """Add a bound of the torque of coordinate k, lower (side 1) or upper (-1). Returns its row index plus 1."""
    n = qp.weights.shape[0]
    scale = 1.0 / ctl.M[index(k * n + k)]
    at = add_row(qp, INEQUALITY, (-ctl.effort[k] - side * ctl.bias[k]) * scale, 1e-6, 1)
    put_torque_row(ctl, qp, at, k, n, qp.active_rays.shape[0], side * scale)
    return at + 1


@kernel
def add_active_torque_limits(ctl, qp):
    """Warm start: bounds of the torques that were at their limits in the last step, as active rows."""
    for k in range(qp.weights.shape[0]):
        if ctl.lower_torque_row[k]:
            ctl.lower_torque_row[k] = add_torque_limit(ctl, qp, k, 1.0)
            qp.active_rows[ctl.lower_torque_row[k] - 1] = 1
        if ctl.upper_torque_row[k]:
            ctl.upper_torque_row[k] = add_torque_limit(ctl, qp, k, -1.0)
            qp.active_rows[ctl.upper_torque_row[k] - 1] = 1


@kernel
def add_violated_torque_limits(ctl, qp):
    """Add bounds of the torques that the solution violates (constraint generation). Returns whether there were any."""
    rows = qp.counts[ROWS]
    for k in range(qp.weights.shape[0]):
        if not ctl.unactuated[k] and ctl.effort[k] < 1e9:
            t = joint_torque(ctl, qp, k)
            if t < -ctl.effort[k] and not ctl.lower_torque_row[k]:
                ctl.lower_torque_row[k] = add_torque_limit(ctl, qp, k, 1.0)
                qp.active_rows[ctl.lower_torque_row[k] - 1] = 0
            if t > ctl.effort[k] and not ctl.upper_torque_row[k]:
                ctl.upper_torque_row[k] = add_torque_limit(ctl, qp, k, -1.0)
                qp.active_rows[ctl.upper_torque_row[k] - 1] = 0
    return qp.counts[ROWS] > rows


@kernel
def drop_inactive_torque_limits(ctl, qp):
    """Keep only the active torque bounds for the next step."""
    for k in range(qp.weights.shape[0]):
        if ctl.lower_torque_row[k] and not qp.active_rows[ctl.lower_torque_row[k] - 1]:
            ctl.lower_torque_row[k] = 0
        if ctl.upper_torque_row[k] and not qp.active_rows[ctl.upper_torque_row[k] - 1]:
            ctl.upper_torque_row[k] = 0


@kernel
def joint_torque(ctl, qp, k):
    """Torque of coordinate k in the solution: M a + h − Jᵀ f."""
    n = qp.weights.shape[0]
    t = ctl.bias[k]
    for j in range(n):
        t += ctl.M[index(k * n + j)] * qp.a[index(j)]
    for j in range(qp.counts[RAYS]):
        t -= ctl.ray_force[index(j * n + k)] * qp.rho[index(j)]
    return t


@kernel
def put_torque_row(ctl, qp, at, k, n, rays, scale):
    """Write scale · (M a − Jᵀ f) of coordinate k into a row."""
    row, stride = at * rays, qp.counts[STRIDE]
    for j in range(n):
        qp.C[index(at + j * stride)] = scale * ctl.M[index(k * n + j)]
    for j in range(qp.counts[RAYS]):
        qp.D[index(row + j)] = -scale * ctl.ray_force[index(j * n + k)]


@kernel
def centroidal_task(ctl, qp, W):
    """Centroidal task: CoM acceleration and angular momentum rate of the plan, as rows in the contact forces alone."""
    rays = qp.active_rays.shape[0]
    m, c = ctl.mass[0], vec3_at(ctl.com, 0)
    compliance = 1.0 / ctl.gain[COM_WEIGHT], 1.0 / ctl.gain[ANGULAR_MOMENTUM_WEIGHT]
    desired = vec3_at(ctl.com_acceleration, 0) - Vec3(W.gravity[0], W.gravity[1], W.gravity[2])
    angular = solve_symmetric3(ctl.locked_inertia, 0, vec3_at(ctl.angular_momentum_rate, 0))
    add_row(qp, EQUALITY, desired.x, compliance[0], 1)
    add_row(qp, EQUALITY, desired.y, compliance[0], 1)
    add_row(qp, EQUALITY, desired.z, compliance[0], 1)
    add_row(qp, EQUALITY, angular.x, compliance[1], 1)
    add_row(qp, EQUALITY, angular.y, compliance[1], 1)
    add_row(qp, EQUALITY, angular.z, compliance[1], 1)
    row = (qp.counts[ROWS] - 6) * rays
    for j in range(qp.counts[RAYS]):
        u = vec3(ctl.ray_direction, j)
        t = solve_symmetric3(ctl.locked_inertia, 0, cross(vec3(ctl.ray_point, j) - c, u))
        qp.D[index(row + j)] = u.x / m
        qp.D[index(row + rays + j)] = u.y / m
        qp.D[index(row + 2 * rays + j)] = u.z / m
        qp.D[index(row + 3 * rays + j)] = t.x
        qp.D[index(row + 4 * rays + j)] = t.y
        qp.D[index(row + 5 * rays + j)] = t.z


@kernel
def world_axis(c):
    """Unit vector of world axis c."""
    return Vec3(1.0 if c == 0 else 0.0, 1.0 if c == 1 else 0.0, 1.0 if c == 2 else 0.0)


@kernel
def point_acceleration_task(T, W, qp, i, r, desired, compliance):
    """Three rows: acceleration of the point at r of body i."""
    desired = desired - point_bias_acceleration(W, i, r)
    for c in range(3):
        u = world_axis(c)
        at = add_row(qp, EQUALITY, u @ desired, compliance, 0)
        add_point_jacobian(T, W, qp.C, at, qp.counts[STRIDE], i, r, u, 1.0)


@kernel
def point_tracking_task(T, W, ref, ctl, qp, i, point, offset, velocity, acceleration, weight):
    """PD task of a point of body i on its reference trajectory, shifted by an offset with its velocity and acceleration."""
    r, rr = vec3(W.x, i) + rotation(W.R, i) @ point, vec3(ref.x, i) + rotation(ref.R, i) @ point
    V, Vr = motion(W.V, i), motion(ref.V, i)
    error = tree_origin(T, ref, i) + rr + offset - tree_origin(T, W, i) - r
    velocity_error = velocity_at(Vr, rr) + velocity - velocity_at(V, r)
    reference = velocity_at(motion(ref.A, i), rr) + cross(Vr.w, velocity_at(Vr, rr)) + acceleration
    desired = reference + ctl.gain[FOOT_DAMPING] * velocity_error + ctl.gain[FOOT_STIFFNESS] * error
    point_acceleration_task(T, W, qp, i, r, desired, 1.0 / weight)


@kernel
def grip_task(T, W, ref, ctl, qp, g):
    """Grip: a closed one is fixed and has a force in any direction (six rays); a reaching one is guided to its hold."""
    i = ctl.grip_body[g]
    if ctl.grip_mode[g] == GRIP_CLOSED:
        r = vec3(W.x, i) + rotation(W.R, i) @ vec3(ctl.grip_point, g)
        point_acceleration_task(T, W, qp, i, r, Vec3(0.0, 0.0, 0.0), 0.0)
        for c in range(3):
            add_ray(T, W, ctl, qp, -1, -1, i, tree_origin(T, W, i) + r, world_axis(c))
            add_ray(T, W, ctl, qp, -1, -1, i, tree_origin(T, W, i) + r, -1.0 * world_axis(c))
    elif ctl.grip_mode[g] == GRIP_REACHING:
        zero = Vec3(0.0, 0.0, 0.0)
        point_tracking_task(T, W, ref, ctl, qp, i, vec3(ctl.grip_point, g), zero, zero, zero, ctl.grip_weight[0])


@kernel
def limit_grip_force(W, ctl, qp):
    """Bounds of the grip forces: without torque limits the figure would be clamped between hands and feet."""
    g = (W.gravity[0] ** 2 + W.gravity[1] ** 2 + W.gravity[2] ** 2) ** 0.5
    rays, j = qp.active_rays.shape[0], 0
    while j < qp.counts[RAYS] and ctl.ray_patch[j] >= 0:
        j += 1
    while j < qp.counts[RAYS]:
        at = add_row(qp, INEQUALITY, -MAX_GRIP_FORCE * g, 1e-6, 1)
        for c in range(6):
            qp.D[index(at * rays + j + c)] = -1.0 / ctl.mass[0]
        j += 6


@kernel
def is_gripping(ctl, i, now):
    """Whether any grip is closed now; or, if not ``now``, whether one is scheduled in frame i."""
    gripping = False
    for g in range(ctl.grip_mode.shape[0]):
        gripping = gripping or (ctl.grip_mode[g] == GRIP_CLOSED if now else ctl.grip_frames[g, 0] <= i < ctl.grip_frames[g, 1])
    return gripping


@kernel
def sole_tilt(ref, ctl, i, m):
    """Rotation vector [rad] that levels the sole of contact link m, on body i of the reference: from its normal to the vertical."""
    at = MAX_CORNERS * m
    a, b, c = vec3(ctl.corner, at), vec3(ctl.corner, at + 1), vec3(ctl.corner, at + 2)
    normal = rotation(ref.R, i) @ cross(b - a, c - a)
    size = norm(normal)
    normal = (1.0 if normal.z > 0.0 else -1.0) / max(size, 1e-12) * normal
    axis = cross(normal, Vec3(0.0, 0.0, 1.0))
    sine = norm(axis)
    return np.arctan2(sine, normal.z) / max(sine, 1e-9) * axis if size > 0.0 else Vec3(0.0, 0.0, 0.0)


@kernel
def angular_pd_acceleration(W, ref, ctl, i, factor, level, tilt):
    """PD angular acceleration of body i toward the reference orientation, less its bias acceleration; ``factor`` scales the PD rate.

    A share ``level`` of the rotation ``tilt`` is added to the reference, and its motion is less by as much.
    """
    R, Rr = rotation(W.R, i), rotation(ref.R, i)
    d = R @ logarithm(quaternion_of(compose(transpose(R), Rr))) + level * tilt
    velocity_error = (1.0 - level) * motion(ref.V, i).w - motion(W.V, i).w
    return (
        (1.0 - level) * motion(ref.A, i).w
        + factor * ctl.gain[FOOT_DAMPING] * velocity_error
        + factor * factor * ctl.gain[FOOT_STIFFNESS] * d
        - bias_acceleration(W, i).w
    )


@kernel
def swing_foot_task(T, W, ref, ctl, qp, m):
    """Swing foot task of contact link m: position on the reference trajectory shifted by its offset, and orientation."""
    i = ctl.contact_body[m]
    if ctl.position_weight[m] > 0.0:
        offset, velocity, acceleration = vec3(ctl.position_offset, m), vec3(ctl.velocity_offset, m), vec3(ctl.acceleration_offset, m)
        point_tracking_task(T, W, ref, ctl, qp, i, vec3(ctl.task_point, m), offset, velocity, acceleration, ctl.position_weight[m])
    if ctl.orientation_weight[m] > 0.0:
        is_toe = T.parent[i] >= 0 and ctl.contact_link_of[T.parent[i]] >= 0  # toes rotate about their joint only
        level, compliance, tilt = ctl.sole_level[m], 1.0 / ctl.orientation_weight[m], Vec3(0.0, 0.0, 0.0)
        if level > 0.0:
            tilt = sole_tilt(ref, ctl, i, m)
        angular = angular_pd_acceleration(W, ref, ctl, i, TOE_GAIN_FACTOR if is_toe else 1.0, level, tilt)
        for c in range(T.dof[i + 1] - T.dof[i] if is_toe else 3):
            u = motion(W.S, T.dof[i] + c).w if is_toe else world_axis(c)
            at = add_row(qp, EQUALITY, u @ angular, compliance, 0)
            add_angular_jacobian(T, W, qp.C, at, qp.counts[STRIDE], i, u, 1.0)


@kernel
def tracked_link_task(T, W, ref, ctl, qp, n):
    """Pose task of tracked link n, beside the joint-space feedback, as point P of [DF] eq. 40."""
    i, zero = ctl.tracked_body[n], Vec3(0.0, 0.0, 0.0)
    point, offset = vec3(ctl.tracked_point, n), vec3_at(ctl.tracked_offset, 0)
    point_tracking_task(T, W, ref, ctl, qp, i, point, offset, zero, zero, ctl.tracked_weight[n])
    angular = angular_pd_acceleration(W, ref, ctl, i, 1.0, 0.0, zero)
    compliance = 1.0 / (ctl.tracked_weight[n] * LINK_ROTATION_LENGTH * LINK_ROTATION_LENGTH)
    for c in range(3):
        at = add_row(qp, EQUALITY, world_axis(c) @ angular, compliance, 0)
        add_angular_jacobian(T, W, qp.C, at, qp.counts[STRIDE], i, world_axis(c), 1.0)


@kernel
def function_tasks(ctl, qp):
    """Rows G a = ü* − bias of functions of the motion; a weight of zero relaxes a row."""
    n, stride = qp.weights.shape[0], qp.counts[STRIDE]
    ctl.function_count[1] = qp.counts[ROWS]
    for r in range(ctl.function_count[0]):
        weight = ctl.function_weight[r]
        at = add_row(qp, EQUALITY, ctl.function_rhs[r] if weight > 0.0 else 0.0, 1.0 / max(weight, 1e-12), 0)
        if weight > 0.0:
            for k in range(n):
                qp.C[index(at + k * stride)] = ctl.function_gradient[index(r * n + k)]
