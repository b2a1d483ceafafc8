"""Constraint rows of connections (loop-closing joints): residuals c, directions T, bias γ = J̇v, Jacobian rows J.

A connection is a joint between a frame of the first body and a frame of the second. The motions S it allows and the
directions T it constrains are taken about the second frame's point P, along world axes: TᵀS = 0. So J = Tᵀ(V₂ − V₁) and,
because the relative motion is S v_l, γ = Tᵀ(A₂ − A₁ − Ṡ v_l) [RBDA] 8.2, [CKC] eq. 10-13.
"""

from __future__ import annotations

import math

from brachiate.compiled import index, kernel
from brachiate.constraints.arrays import CONTACT, GENERAL_JOINT, HINGE, POINT, SLIDER, SWING_LIMIT, WELD
from brachiate.constraints.limit_rows import swing_or_twist
from brachiate.constraints.sparsity import LANES, put_row_entry
from brachiate.dynamics.inverse import FRICTION_SPEED_SCALE, base_acceleration
from brachiate.kinematics import tree_origin, zero_motion
from brachiate.model.joints import BALL, SLIDE, TURN
from brachiate.spatial import (
    Force,
    Four,
    MotionVector,
    Vec3,
    axis_rotation,
    compose,
    cross,
    exponential,
    force,
    motion,
    motion_cross,
    moved_motion,
    norm,
    normalized,
    orthonormal_pair,
    put6,
    put_four,
    put_quaternion_at,
    put_vec3,
    quaternion_at,
    quaternion_difference,
    rotation,
    rotation_of,
    screw_velocity,
    vec3,
    vec3_at,
    velocity_at,
)

MAX_FIT_ITERATIONS = 12  # Newton iterations on the coordinates of a general joint; one or two are usual
FIT_TOLERANCE = 1e-13  # [rad or m] correction at which they have converged


@kernel
def frame_pose(T, W, body, R, p):
    """Orientation of a frame fixed in a body, its position from the tree's origin, and that origin."""
    if body < 0:
        return R, p, Vec3(0.0, 0.0, 0.0)
    R_body = rotation(W.R, body)
    return compose(R_body, R), vec3(W.x, body) + R_body @ p, tree_origin(T, W, body)


@kernel
def rotation_vector_between(A, B):
    """Rotation vector, along world axes, that rotates the frame A into B."""
    s = 0.5 * (cross(A.x, B.x) + cross(A.y, B.y) + cross(A.z, B.z))
    n, c = norm(s), 0.5 * (A.x @ B.x + A.y @ B.y + A.z @ B.z - 1.0)
    if n < 1e-6:
        return s
    return (math.atan2(n, c) / n) * s


@kernel
def put_force_directions(cons, r):
    """Directions T of a point constraint: three forces, from row r."""
    zero = Vec3(0.0, 0.0, 0.0)
    put6(cons.T, r, Force(zero, Vec3(1.0, 0.0, 0.0)))
    put6(cons.T, r + 1, Force(zero, Vec3(0.0, 1.0, 0.0)))
    put6(cons.T, r + 2, Force(zero, Vec3(0.0, 0.0, 1.0)))


@kernel
def put_moment_directions(cons, r):
    """Directions T of an orientation constraint: three moments, from row r."""
    zero = Vec3(0.0, 0.0, 0.0)
    put6(cons.T, r, Force(Vec3(1.0, 0.0, 0.0), zero))
    put6(cons.T, r + 1, Force(Vec3(0.0, 1.0, 0.0), zero))
    put6(cons.T, r + 2, Force(Vec3(0.0, 0.0, 1.0), zero))


@kernel
def connection_residuals(T, W, cons, i):
    """Residuals c and directions T of connection i at the current poses, and the motion subspace S of its joint."""
    R1, x1, o1 = frame_pose(T, W, cons.first[i], rotation(cons.R_first, i), vec3(cons.p_first, i))
    R2, x2, o2 = frame_pose(T, W, cons.second[i], rotation(cons.R_second, i), vec3(cons.p_second, i))
    d = (o2 - o1) + (x2 - x1)
    put_vec3(cons.P_first, i, x1 + d)
    put_vec3(cons.P_second, i, x2)
    r, form = cons.row[i], cons.form[i]
    for m in range(r, r + cons.rows[i]):
        cons.velocity_target[m] = 0.0  # rows are reused: a prescribed coordinate may have left its rate
    zero = Vec3(0.0, 0.0, 0.0)
    if form in (POINT, HINGE, WELD):
        put_force_directions(cons, r)
        cons.c[r], cons.c[r + 1], cons.c[r + 2] = d
    if form == WELD:
        put_moment_directions(cons, r + 3)
        cons.c[r + 3], cons.c[r + 4], cons.c[r + 5] = rotation_vector_between(R1, R2)
    elif form == HINGE:
        axis = vec3(cons.e_axis, cons.element[i])
        u, w = R1 @ axis, R2 @ axis
        a, b = orthonormal_pair(axis)  # fixed in the first body, so that rows change smoothly
        a, b = R1 @ a, R1 @ b
        swing = cross(u, w)
        put6(cons.T, r + 3, Force(a, zero))
        put6(cons.T, r + 4, Force(b, zero))
        cons.c[r + 3], cons.c[r + 4] = a @ swing, b @ swing
        put6(cons.S, cons.v_at[i], MotionVector(u, zero))
        put6(cons.N, cons.v_at[i], Force(u, zero))
    elif form == SLIDER:
        axis = vec3(cons.e_axis, cons.element[i])
        u = R1 @ axis
        a, b = orthonormal_pair(axis)
        a, b = R1 @ a, R1 @ b
        put_moment_directions(cons, r)
        cons.c[r], cons.c[r + 1], cons.c[r + 2] = rotation_vector_between(R1, R2)
        put6(cons.T, r + 3, Force(zero, a))
        put6(cons.T, r + 4, Force(zero, b))
        cons.c[r + 3], cons.c[r + 4] = a @ d, b @ d
        put6(cons.S, cons.v_at[i], MotionVector(zero, u))
        put6(cons.N, cons.v_at[i], Force(zero, u))
    elif form == GENERAL_JOINT:
        fit_joint_coordinates(cons, i, R1, R2, d)
    if form == HINGE or (form != GENERAL_JOINT and cons.has_joint_forces[i]):  # angles are always updated, to count full turns
        update_joint_coordinates(cons, i, R1, R2, d)


@kernel
def update_joint_coordinates(cons, i, R1, R2, d):
    """Coordinates of a joint of one elementary motion; angles are counted beyond full turns."""
    q, form = cons.q_at[i], cons.form[i]
    if form == HINGE:
        u = R1 @ vec3(cons.e_axis, cons.element[i])
        R = compose(R1, axis_rotation(vec3(cons.e_axis, cons.element[i]), cons.q[q]))
        s = 0.5 * (cross(R.x, R2.x) + cross(R.y, R2.y) + cross(R.z, R2.z))
        cons.q[q] += math.atan2(u @ s, 0.5 * (R.x @ R2.x + R.y @ R2.y + R.z @ R2.z - 1.0))
    elif form == SLIDER:
        cons.q[q] = (R1 @ vec3(cons.e_axis, cons.element[i])) @ d
    elif form == POINT:
        k = cons.v_at[i]
        R = compose(R1, rotation_of(quaternion_at(cons.q, q)))
        turn = rotation_vector_between(R, R2)
        w = Vec3(R.x @ turn, R.y @ turn, R.z @ turn)
        put_quaternion_at(cons.q, q, normalized(quaternion_at(cons.q, q) @ exponential(w)))
        zero = Vec3(0.0, 0.0, 0.0)
        put6(cons.S, k, MotionVector(R2.x, zero))
        put6(cons.S, k + 1, MotionVector(R2.y, zero))
        put6(cons.S, k + 2, MotionVector(R2.z, zero))
        put6(cons.N, k, Force(R2.x, zero))
        put6(cons.N, k + 1, Force(R2.y, zero))
        put6(cons.N, k + 2, Force(R2.z, zero))


@kernel
def apply_joint_element(cons, e, R, x, P):
    """Move a frame by one elementary motion of a joint, and store the motion it gives to the point P."""
    k, q = cons.e_v[e], cons.e_q[e]
    zero = Vec3(0.0, 0.0, 0.0)
    if cons.e_kind[e] == SLIDE:
        u = R @ vec3(cons.e_axis, e)
        put6(cons.S, k, MotionVector(zero, u))
        return R, x + cons.q[q] * u
    x = x + R @ vec3(cons.e_anchor, e)
    if cons.e_kind[e] == TURN:
        u = R @ vec3(cons.e_axis, e)
        put6(cons.S, k, MotionVector(u, cross(u, P - x)))
        R = compose(R, axis_rotation(vec3(cons.e_axis, e), cons.q[q]))
    else:
        R = compose(R, rotation_of(quaternion_at(cons.q, q)))
        put6(cons.S, k, MotionVector(R.x, cross(R.x, P - x)))
        put6(cons.S, k + 1, MotionVector(R.y, cross(R.y, P - x)))
        put6(cons.S, k + 2, MotionVector(R.z, cross(R.z, P - x)))
    return R, x - R @ vec3(cons.e_anchor, e)


@kernel
def fit_joint_coordinates(cons, i, R1, R2, d):
    """Coordinates of a general joint that bring its frame closest to the second frame (Gauss-Newton); the rest is the residual."""
    k, n, r = cons.v_at[i], cons.dofs[i], cons.row[i]
    for _ in range(MAX_FIT_ITERATIONS):
        R, x = R1, Vec3(0.0, 0.0, 0.0)
        for e in range(cons.element[i], cons.element[i] + cons.elements[i]):
            R, x = apply_joint_element(cons, e, R, x, d)
        E = MotionVector(rotation_vector_between(R, R2), d - x)
        constraint_directions(cons, k, n, r)
        largest = 0.0
        for e in range(cons.element[i], cons.element[i] + cons.elements[i]):
            m, q = cons.e_v[e], cons.e_q[e]
            if cons.e_kind[e] == BALL:
                w = Vec3(E @ force(cons.N, m), E @ force(cons.N, m + 1), E @ force(cons.N, m + 2))
                put_quaternion_at(cons.q, q, normalized(quaternion_at(cons.q, q) @ exponential(w)))
                largest = max(largest, norm(w))
            else:
                s = E @ force(cons.N, m)
                cons.q[q] += s
                largest = max(largest, abs(s))
        for m in range(6 - n):
            cons.c[r + m] = E @ force(cons.T, r + m)
        if not largest > FIT_TOLERANCE:
            break


@kernel
def constraint_directions(cons, k, n, r):
    """N and T from S, with NᵀS = 1 and TᵀS = 0, by Gram-Schmidt orthogonalization."""
    # Orthonormal basis of the motions, stored in N temporarily.
    for m in range(n):
        v = motion(cons.S, k + m)
        for _ in range(2):
            for j in range(m):
                b = force(cons.N, k + j)
                s = v @ b
                v = v - s * MotionVector(b.n, b.f)
        s = 1.0 / math.sqrt(v.w @ v.w + v.v @ v.v)
        put6(cons.N, k + m, Force(s * v.w, s * v.v))
    # Its complement: from the unit directions, the one least covered so far first.
    for t in range(6 - n):
        best, chosen = -1.0, 0
        for u in range(6):
            left = 1.0
            for j in range(n):
                left -= cons.N[k + j, u] * cons.N[k + j, u]
            for j in range(t):
                left -= cons.T[r + j, u] * cons.T[r + j, u]
            if left > best:
                best, chosen = left, u
        for c in range(6):
            cons.T[r + t, c] = 0.0
        cons.T[r + t, chosen] = 1.0
        for _ in range(2):
            for j in range(n + t):
                b = force(cons.N, k + j) if j < n else force(cons.T, r + j - n)
                v = force(cons.T, r + t)
                s = MotionVector(b.n, b.f) @ v
                put6(cons.T, r + t, v - s * b)
        v = force(cons.T, r + t)
        put6(cons.T, r + t, (1.0 / math.sqrt(v.n @ v.n + v.f @ v.f)) * v)
    # S = Q U with U upper triangular, so N = U⁻¹ Qᵀ, from the last row up.
    for m in range(n - 1, -1, -1):
        q = force(cons.N, k + m)
        s = 1.0 / (motion(cons.S, k + m) @ q)
        row = s * q
        for j in range(m + 1, n):
            # U[m, j] = q_m · S_j; N_j is final already
            row = row - (s * (motion(cons.S, k + j) @ q)) * force(cons.N, k + j)
        put6(cons.N, k + m, row)


@kernel
def relative_motion(T, W, cons, i):
    """Velocity of the first body at the point P, and of the second relative to it."""
    V1, V2 = zero_motion(), zero_motion()
    if cons.first[i] >= 0:
        V1 = moved_motion(motion(W.V, cons.first[i]), vec3(cons.P_first, i))
    if cons.second[i] >= 0:
        V2 = moved_motion(motion(W.V, cons.second[i]), vec3(cons.P_second, i))
    return V1, V2 - V1


@kernel
def joint_bias(cons, i, V1, V):
    """Ṡ v_l: acceleration of the second frame at zero joint acceleration, for the relative motion V; writes v_l."""
    form, zero = cons.form[i], Vec3(0.0, 0.0, 0.0)
    if form == POINT:
        if cons.has_joint_forces[i]:
            for k in range(cons.v_at[i], cons.v_at[i] + 3):
                cons.v[k] = V @ force(cons.N, k)
        return motion_cross(V1, MotionVector(V.w, zero))
    if form == WELD:
        return zero_motion()
    k = cons.v_at[i]
    C = zero_motion()
    for m in range(k, k + cons.dofs[i]):
        cons.v[m] = V @ force(cons.N, m)
    for e in range(cons.element[i], cons.element[i] + cons.elements[i]):
        m = cons.e_v[e]
        VJ = cons.v[m] * motion(cons.S, m)
        if cons.e_kind[e] == BALL:
            VJ = VJ + cons.v[m + 1] * motion(cons.S, m + 1) + cons.v[m + 2] * motion(cons.S, m + 2)
        C = C + motion_cross(V1, VJ)
        V1 = V1 + VJ
    return C


@kernel
def connection_bias(T, W, cons, i):
    """γ of connection i, or of a limit of its joint, from the accelerations W.A at zero joint acceleration.

    Both bodies' accelerations include gravity, so it cancels.
    """
    V1, V = relative_motion(T, W, cons, i)
    C = joint_bias(cons, i if cons.owner[i] < 0 else cons.owner[i], V1, V)
    A1 = A2 = base_acceleration(W)
    if cons.first[i] >= 0:
        A1 = moved_motion(motion(W.A, cons.first[i]), vec3(cons.P_first, i))
    if cons.second[i] >= 0:
        A2 = moved_motion(motion(W.A, cons.second[i]), vec3(cons.P_second, i))
    A = A2 - A1 - C
    for r in range(cons.row[i], cons.row[i] + cons.rows[i]):
        t = force(cons.T, r)
        cons.gamma[r], cons.velocity[r] = A @ t, V @ t
    if cons.kind[i] >= SWING_LIMIT:  # its gradient changes, too
        _, _, gamma = swing_or_twist(cons, i, quaternion_at(cons.q, cons.q_index[i]), vec3_at(cons.v, cons.v_index[i]))
        cons.gamma[cons.row[i]] += gamma
    if cons.compliant[i]:
        F = Force(Vec3(0.0, 0.0, 0.0), Vec3(0.0, 0.0, 0.0))
        for r in range(cons.row[i], cons.row[i] + cons.rows[i]):
            t = force(cons.T, r)
            k = (t.f @ t.f) * cons.linear_spring[i, 0] + (t.n @ t.n) * cons.angular_spring[i, 0]
            c = (t.f @ t.f) * cons.linear_spring[i, 1] + (t.n @ t.n) * cons.angular_spring[i, 1]
            cons.force[r] = -k * cons.c[r] - c * (V @ t)
            F = F + cons.force[r] * t
        subtract_body_force(W, cons.second[i], vec3(cons.P_second, i), F)
        subtract_body_force(W, cons.first[i], vec3(cons.P_first, i), -1.0 * F)
        put6(cons.compliant_wrench, i, F)


@kernel
def apply_joint_forces(T, W, cons, i):
    """Apply the springs, dampers, friction and motors of a loop-closing joint to both its bodies."""
    F = Force(Vec3(0.0, 0.0, 0.0), Vec3(0.0, 0.0, 0.0))
    for e in range(cons.element[i], cons.element[i] + cons.elements[i]):
        k, q = cons.e_v[e], cons.e_q[e]
        if cons.e_kind[e] == BALL:
            w = quaternion_difference(cons.rest, cons.q, q)
            s = screw_velocity(w, Vec3(cons.stiffness[k] * w.x, cons.stiffness[k + 1] * w.y, cons.stiffness[k + 2] * w.z))
            F = F - s.x * force(cons.N, k) - s.y * force(cons.N, k + 1) - s.z * force(cons.N, k + 2)
        else:
            F = F - (cons.stiffness[k] * (cons.q[q] - cons.rest[q])) * force(cons.N, k)
    for k in range(cons.v_at[i], cons.v_at[i] + cons.dofs[i]):
        v = cons.v[k]
        F = F + (
            cons.tau[k] - cons.damping[k] * v - cons.friction[k] * v / math.sqrt(v * v + FRICTION_SPEED_SCALE * FRICTION_SPEED_SCALE)
        ) * force(cons.N, k)
    put6(cons.joint_wrench, i, F)
    subtract_body_force(W, cons.second[i], vec3(cons.P_second, i), F)
    subtract_body_force(W, cons.first[i], vec3(cons.P_first, i), -1.0 * F)


@kernel
def subtract_body_force(W, body, P, F):
    """W.F of a body −= a force about the point P: external forces reduce what the joints must transmit."""
    if body >= 0:
        put6(W.F, body, force(W.F, body) - Force(F.n + cross(P, F.f), F.f))


@kernel
def fill_chain_rows(T, W, cons, i, tip, P, at, sign):
    """Entries of connection i's rows along one kinematic chain. On the common part both bodies move alike: zero."""
    n, common, stride = T.depth[tip] + 1 if tip >= 0 else 0, cons.common[i], cons.y_stride[i]
    base, r = cons.y_at[i] + at, cons.row[i]
    for d in range(common, n):
        k = T.above[index(T.row[tip] + d)]
        S = motion(W.S, k)
        v = velocity_at(S, P)
        if cons.form[i] == POINT:
            j = index(base + LANES * d)
            cons.J[j], cons.J[j + index(1)], cons.J[j + index(2)], cons.J[j + index(3)] = sign * v.x, sign * v.y, sign * v.z, 0.0
        elif cons.kind[i] == CONTACT:
            fill_contact_rows(cons, i, base + LANES * d, stride, sign * v, sign * S.w)
        else:
            for m in range(cons.rows[i]):
                t = force(cons.T, r + m)
                put_row_entry(cons, base, m, stride, d, sign * (t.n @ S.w + t.f @ v))


@kernel
def fill_contact_rows(cons, i, at, stride, v, w):
    """One column of a contact patch's rows: linear and angular velocity along its axes; 6 rows of an area, 5 of a segment, 3 of a point."""
    R = rotation(cons.R_second, i)
    last = 0.0
    if cons.rows[i] == 6:
        last = R.x @ w
        put_four(cons.J, at + stride, Four(R.y @ w, R.z @ w, 0.0, 0.0))
    elif cons.rows[i] == 5:
        last = R.y @ w
        put_four(cons.J, at + stride, Four(R.z @ w, 0.0, 0.0, 0.0))
    put_four(cons.J, at, Four(R.x @ v, R.y @ v, R.z @ v, last))
