"""What each bond holds at the present state: residuals c, directions T, bias γ = J̇v, Jacobian rows J.

A connection is a joint between a frame of the first body and a frame of the second. The motions S it allows and the
directions T it holds are taken about the second frame's point P, along world axes: TᵀS = 0. So J = Tᵀ(V₂ − V₁) and,
because the relative motion is S v_l, γ = Tᵀ(A₂ − A₁ − Ṡ v_l) [RBDA] 8.2, [CKC] eq. 10-13.
"""

from __future__ import annotations

import math

from brachiate.compiled import far, index, kernel, outlined
from brachiate.constraints.arrays import (
    ANY,
    ASLEEP,
    BALL_LOCK,
    CONNECTION,
    COORDINATE,
    HINGE,
    LIMIT,
    POINT,
    SLIDER,
    SWING,
    TOUCH,
    TOUCHES,
    USED,
    WELD,
    open_bonds,
)
from brachiate.constraints.sparsity import LANES, between
from brachiate.dynamics.inverse import CREEP, base_acceleration, move_body
from brachiate.kinematics import origin_of, zero_motion
from brachiate.model.arrays import OK, open_rooms
from brachiate.model.joints import BALL, SLIDE, TURN
from brachiate.spatial import (
    Force,
    Four,
    Motion,
    Quaternion,
    Vec3,
    axis_rotation,
    compose,
    conjugate,
    cross,
    exponential,
    force,
    logarithm,
    motion,
    motion_cross,
    moved_motion,
    norm,
    normalized,
    put6,
    put_four,
    put_quaternion_at,
    put_vec3,
    quaternion_at,
    rotation,
    rotation_of,
    screw_velocity,
    turn_between,
    vec3,
    vec3_at,
    velocity_at,
)

FIT = 12  # at most so many corrections of a joint's coordinates; one or two are the rule
FITTED = 1e-13  # [rad or m]
UPSIDE_DOWN = 0.03  # cos² of half the swing: beyond 160 degrees there is no telling a twist from a change of direction


@kernel
def end(T, W, body, R, p):
    """Orientation of a frame fixed in a body, its place from the tree's origin, and that origin."""
    if body < 0:
        return R, p, Vec3(0.0, 0.0, 0.0)
    R_body = rotation(W.R, body)
    return compose(R_body, R), vec3(W.x, body) + R_body @ p, origin_of(T, W, body)


@kernel
def across(u):
    """Two unit vectors across a unit vector and each other."""
    a = Vec3(0.0, u.z, -u.y) if abs(u.x) < 0.6 else Vec3(-u.z, 0.0, u.x)
    a = (1.0 / norm(a)) * a
    return a, cross(u, a)


@kernel
def turn_vector(A, B):
    """Rotation vector, along world axes, that turns the frame A into B."""
    s = 0.5 * (cross(A.x, B.x) + cross(A.y, B.y) + cross(A.z, B.z))
    n, c = norm(s), 0.5 * (A.x @ B.x + A.y @ B.y + A.z @ B.z - 1.0)
    if n < 1e-6:
        return s
    return (math.atan2(n, c) / n) * s


@kernel
def put_forces(B, r):
    """Hold the point in all directions: three rows from r."""
    zero = Vec3(0.0, 0.0, 0.0)
    put6(B.T, r, Force(zero, Vec3(1.0, 0.0, 0.0)))
    put6(B.T, r + 1, Force(zero, Vec3(0.0, 1.0, 0.0)))
    put6(B.T, r + 2, Force(zero, Vec3(0.0, 0.0, 1.0)))


@kernel
def put_moments(B, r):
    """Hold the orientation about all axes: three rows from r."""
    zero = Vec3(0.0, 0.0, 0.0)
    put6(B.T, r, Force(Vec3(1.0, 0.0, 0.0), zero))
    put6(B.T, r + 1, Force(Vec3(0.0, 1.0, 0.0), zero))
    put6(B.T, r + 2, Force(Vec3(0.0, 0.0, 1.0), zero))


@kernel
def situate(T, W, B, i):
    """Residuals c and directions T of connection i at the present poses, and the motions S of its joint."""
    R1, x1, o1 = end(T, W, B.first[i], rotation(B.R_first, i), vec3(B.p_first, i))
    R2, x2, o2 = end(T, W, B.second[i], rotation(B.R_second, i), vec3(B.p_second, i))
    d = (o2 - o1) + (x2 - x1)
    put_vec3(B.P_first, i, x1 + d)
    put_vec3(B.P_second, i, x2)
    r, form = B.row[i], B.form[i]
    zero = Vec3(0.0, 0.0, 0.0)
    if form in (POINT, HINGE, WELD):
        put_forces(B, r)
        B.c[r], B.c[r + 1], B.c[r + 2] = d
    if form == WELD:
        put_moments(B, r + 3)
        B.c[r + 3], B.c[r + 4], B.c[r + 5] = turn_vector(R1, R2)
    elif form == HINGE:
        axis = vec3(B.e_axis, B.element[i])
        u, w = R1 @ axis, R2 @ axis
        a, b = across(axis)  # turned with the first body, so that rows change smoothly
        a, b = R1 @ a, R1 @ b
        swing = cross(u, w)
        put6(B.T, r + 3, Force(a, zero))
        put6(B.T, r + 4, Force(b, zero))
        B.c[r + 3], B.c[r + 4] = a @ swing, b @ swing
        put6(B.S, B.v_at[i], Motion(u, zero))
        put6(B.N, B.v_at[i], Force(u, zero))
    elif form == SLIDER:
        axis = vec3(B.e_axis, B.element[i])
        u = R1 @ axis
        a, b = across(axis)
        a, b = R1 @ a, R1 @ b
        put_moments(B, r)
        B.c[r], B.c[r + 1], B.c[r + 2] = turn_vector(R1, R2)
        put6(B.T, r + 3, Force(zero, a))
        put6(B.T, r + 4, Force(zero, b))
        B.c[r + 3], B.c[r + 4] = a @ d, b @ d
        put6(B.S, B.v_at[i], Motion(zero, u))
        put6(B.N, B.v_at[i], Force(zero, u))
    elif form == ANY:
        fit(B, i, R1, R2, d)
    if form == HINGE or (form != ANY and B.acts[i]):  # angles are followed always, to count full turns
        find_joint(B, i, R1, R2, d)


@kernel
def find_joint(B, i, R1, R2, d):
    """Coordinates of a joint that is one elementary motion; angles go on counting past full turns."""
    q, form = B.q_at[i], B.form[i]
    if form == HINGE:
        u = R1 @ vec3(B.e_axis, B.element[i])
        R = compose(R1, axis_rotation(vec3(B.e_axis, B.element[i]), B.q[q]))
        s = 0.5 * (cross(R.x, R2.x) + cross(R.y, R2.y) + cross(R.z, R2.z))
        B.q[q] += math.atan2(u @ s, 0.5 * (R.x @ R2.x + R.y @ R2.y + R.z @ R2.z - 1.0))
    elif form == SLIDER:
        B.q[q] = (R1 @ vec3(B.e_axis, B.element[i])) @ d
    elif form == POINT:
        k = B.v_at[i]
        R = compose(R1, rotation_of(quaternion_at(B.q, q)))
        turn = turn_vector(R, R2)
        w = Vec3(R.x @ turn, R.y @ turn, R.z @ turn)
        put_quaternion_at(B.q, q, normalized(quaternion_at(B.q, q) @ exponential(w)))
        zero = Vec3(0.0, 0.0, 0.0)
        put6(B.S, k, Motion(R2.x, zero))
        put6(B.S, k + 1, Motion(R2.y, zero))
        put6(B.S, k + 2, Motion(R2.z, zero))
        put6(B.N, k, Force(R2.x, zero))
        put6(B.N, k + 1, Force(R2.y, zero))
        put6(B.N, k + 2, Force(R2.z, zero))


@kernel
def carry(B, e, R, x, P):
    """Carry a frame by one elementary motion of a joint, and store the motions it gives to the point P."""
    k, q = B.e_v[e], B.e_q[e]
    zero = Vec3(0.0, 0.0, 0.0)
    if B.e_kind[e] == SLIDE:
        u = R @ vec3(B.e_axis, e)
        put6(B.S, k, Motion(zero, u))
        return R, x + B.q[q] * u
    x = x + R @ vec3(B.e_anchor, e)
    if B.e_kind[e] == TURN:
        u = R @ vec3(B.e_axis, e)
        put6(B.S, k, Motion(u, cross(u, P - x)))
        R = compose(R, axis_rotation(vec3(B.e_axis, e), B.q[q]))
    else:
        R = compose(R, rotation_of(quaternion_at(B.q, q)))
        put6(B.S, k, Motion(R.x, cross(R.x, P - x)))
        put6(B.S, k + 1, Motion(R.y, cross(R.y, P - x)))
        put6(B.S, k + 2, Motion(R.z, cross(R.z, P - x)))
    return R, x - R @ vec3(B.e_anchor, e)


@kernel
def fit(B, i, R1, R2, d):
    """Coordinates of any joint that bring its frame nearest to the second one; what is left over are the residuals."""
    k, n, r = B.v_at[i], B.freedoms[i], B.row[i]
    for _ in range(FIT):
        R, x = R1, Vec3(0.0, 0.0, 0.0)
        for e in range(B.element[i], B.element[i] + B.elements[i]):
            R, x = carry(B, e, R, x, d)
        E = Motion(turn_vector(R, R2), d - x)
        complement(B, k, n, r)
        most = 0.0
        for e in range(B.element[i], B.element[i] + B.elements[i]):
            m, q = B.e_v[e], B.e_q[e]
            if B.e_kind[e] == BALL:
                w = Vec3(E @ force(B.N, m), E @ force(B.N, m + 1), E @ force(B.N, m + 2))
                put_quaternion_at(B.q, q, normalized(quaternion_at(B.q, q) @ exponential(w)))
                most = max(most, norm(w))
            else:
                s = E @ force(B.N, m)
                B.q[q] += s
                most = max(most, abs(s))
        for m in range(6 - n):
            B.c[r + m] = E @ force(B.T, r + m)
        if not most > FITTED:
            break


@kernel
def complement(B, k, n, r):
    """N and T from S: NᵀS = 1, TᵀS = 0, by Gram and Schmidt; the basis goes to T's rows and beyond, in B.basis order."""
    # Orthonormal basis of the motions, kept in N for the moment.
    for m in range(n):
        v = motion(B.S, k + m)
        for _ in range(2):
            for j in range(m):
                b = force(B.N, k + j)
                s = v @ b
                v = v - s * Motion(b.n, b.f)
        s = 1.0 / math.sqrt(v.w @ v.w + v.v @ v.v)
        put6(B.N, k + m, Force(s * v.w, s * v.v))
    # Its complement: the unit directions, the one least covered so far first.
    for t in range(6 - n):
        best, chosen = -1.0, 0
        for u in range(6):
            left = 1.0
            for j in range(n):
                left -= B.N[k + j, u] * B.N[k + j, u]
            for j in range(t):
                left -= B.T[r + j, u] * B.T[r + j, u]
            if left > best:
                best, chosen = left, u
        for c in range(6):
            B.T[r + t, c] = 0.0
        B.T[r + t, chosen] = 1.0
        for _ in range(2):
            for j in range(n + t):
                b = force(B.N, k + j) if j < n else force(B.T, r + j - n)
                v = force(B.T, r + t)
                s = Motion(b.n, b.f) @ v
                put6(B.T, r + t, v - s * b)
        v = force(B.T, r + t)
        put6(B.T, r + t, (1.0 / math.sqrt(v.n @ v.n + v.f @ v.f)) * v)
    # S = Q U with U upper triangular, so N = U⁻¹ Qᵀ, from the last row up.
    for m in range(n - 1, -1, -1):
        q = force(B.N, k + m)
        s = 1.0 / (motion(B.S, k + m) @ q)
        row = s * q
        for j in range(m + 1, n):
            # U[m, j] = q_m · S_j, and N_j is already the true one
            row = row - (s * (motion(B.S, k + j) @ q)) * force(B.N, k + j)
        put6(B.N, k + m, row)


@kernel
def relative_motion(T, W, B, i):
    """Velocity of the first body at the point P, and of the second against it."""
    V1, V2 = zero_motion(), zero_motion()
    if B.first[i] >= 0:
        V1 = moved_motion(motion(W.V, B.first[i]), vec3(B.P_first, i))
    if B.second[i] >= 0:
        V2 = moved_motion(motion(W.V, B.second[i]), vec3(B.P_second, i))
    return V1, V2 - V1


@kernel
def joint_bias(B, i, V1, V):
    """Ṡ v_l: acceleration at the second frame at zero joint acceleration, for the relative motion V; leaves v_l."""
    form, zero = B.form[i], Vec3(0.0, 0.0, 0.0)
    if form == POINT:
        if B.acts[i]:
            for k in range(B.v_at[i], B.v_at[i] + 3):
                B.v[k] = V @ force(B.N, k)
        return motion_cross(V1, Motion(V.w, zero))
    if form == WELD:
        return zero_motion()
    k = B.v_at[i]
    C = zero_motion()
    for m in range(k, k + B.freedoms[i]):
        B.v[m] = V @ force(B.N, m)
    for e in range(B.element[i], B.element[i] + B.elements[i]):
        m = B.e_v[e]
        VJ = B.v[m] * motion(B.S, m)
        if B.e_kind[e] == BALL:
            VJ = VJ + B.v[m + 1] * motion(B.S, m + 1) + B.v[m + 2] * motion(B.S, m + 2)
        C = C + motion_cross(V1, VJ)
        V1 = V1 + VJ
    return C


@kernel
def bias_row(T, W, B, i):
    """γ of connection i, or of a limit of its joint, from the accelerations W.A at zero joint accelerations.

    Gravity is in those of both bodies, so it drops out.
    """
    V1, V = relative_motion(T, W, B, i)
    C = joint_bias(B, i if B.owner[i] < 0 else B.owner[i], V1, V)
    A1 = A2 = base_acceleration(W)
    if B.first[i] >= 0:
        A1 = moved_motion(motion(W.A, B.first[i]), vec3(B.P_first, i))
    if B.second[i] >= 0:
        A2 = moved_motion(motion(W.A, B.second[i]), vec3(B.P_second, i))
    A = A2 - A1 - C
    for r in range(B.row[i], B.row[i] + B.rows[i]):
        t = force(B.T, r)
        B.gamma[r], B.speed[r] = A @ t, V @ t
    if B.kind[i] >= SWING:  # its slope turns, too
        _, _, gamma = cone(B, i, quaternion_at(B.q, B.number[i]), vec3_at(B.v, B.coordinate[i]))
        B.gamma[B.row[i]] += gamma
    if B.soft[i]:
        F = Force(Vec3(0.0, 0.0, 0.0), Vec3(0.0, 0.0, 0.0))
        for r in range(B.row[i], B.row[i] + B.rows[i]):
            t = force(B.T, r)
            k = (t.f @ t.f) * B.give_move[i, 0] + (t.n @ t.n) * B.give_turn[i, 0]
            c = (t.f @ t.f) * B.give_move[i, 1] + (t.n @ t.n) * B.give_turn[i, 1]
            B.force[r] = -k * B.c[r] - c * (V @ t)
            F = F + B.force[r] * t
        press(W, B.second[i], vec3(B.P_second, i), F)
        press(W, B.first[i], vec3(B.P_first, i), -1.0 * F)
        put6(B.yielding, i, F)


@kernel
def joint_forces(T, W, B, i):
    """Springs, dampers, friction and motors of a joint that closes a loop act on both its bodies."""
    F = Force(Vec3(0.0, 0.0, 0.0), Vec3(0.0, 0.0, 0.0))
    for e in range(B.element[i], B.element[i] + B.elements[i]):
        k, q = B.e_v[e], B.e_q[e]
        if B.e_kind[e] == BALL:
            w = turn_between(B.rest, B.q, q)
            s = screw_velocity(w, Vec3(B.stiffness[k] * w.x, B.stiffness[k + 1] * w.y, B.stiffness[k + 2] * w.z))
            F = F - s.x * force(B.N, k) - s.y * force(B.N, k + 1) - s.z * force(B.N, k + 2)
        else:
            F = F - (B.stiffness[k] * (B.q[q] - B.rest[q])) * force(B.N, k)
    for k in range(B.v_at[i], B.v_at[i] + B.freedoms[i]):
        v = B.v[k]
        F = F + (B.tau[k] - B.damping[k] * v - B.friction[k] * v / math.sqrt(v * v + CREEP * CREEP)) * force(B.N, k)
    put6(B.applied, i, F)
    press(W, B.second[i], vec3(B.P_second, i), F)
    press(W, B.first[i], vec3(B.P_first, i), -1.0 * F)


@kernel
def press(W, body, P, F):
    """Take a force on a body, given about the point P, off the forces that joints must bring."""
    if body >= 0:
        put6(W.F, body, force(W.F, body) - Force(F.n + cross(P, F.f), F.f))


@kernel
def polynomial(B, i, x):
    """A bond's polynomial at x, and its first and second derivative."""
    y, d, dd = 0.0, 0.0, 0.0
    for n in range(5, -1, -1):
        dd = dd * x + 2.0 * d
        d = d * x + y
        y = y * x + B.course[i, n]
    return y, d, dd


@kernel
def cone(B, i, q, w):
    """How far a ball's axis has swung, or its child twisted about it; the slope of that, and its bias at the velocity w."""
    r, u = B.row[i], vec3(B.target, i)
    q = normalized(q)
    v = Vec3(q.x, q.y, q.z)
    if B.kind[i] == SWING:
        # θ between u and its neutral direction p, both along the child's axes: θ̇ = −ω·n/s with n = u × p, ṗ = −ω × p.
        R = rotation_of(q)
        p = Vec3(R.x @ u, R.y @ u, R.z @ u)
        n, dn = cross(u, p), -cross(u, cross(w, p))
        s = max(norm(n), 1e-12)
        angle, slope = math.atan2(s, u @ p), (-1.0 / s) * n
        gamma = -(w @ dn) / s + (w @ n) * (n @ dn) / (s * s * s)
    else:
        # τ = 2 atan(b/a) with a = q.w, b = u·v: τ̇ = ω·N/D, N = a (a u + u × v) + b v, D = a² + b².
        a, b = q.w, u @ v
        da, dv = -0.5 * (v @ w), 0.5 * (a * w + cross(v, w))
        db = u @ dv
        m = a * u + cross(u, v)
        N, D = a * m + b * v, max(a * a + b * b, 1e-24)
        dN = da * m + a * (da * u + cross(u, dv)) + db * v + b * dv
        angle, slope = 2.0 * math.atan2(b, a), (1.0 / D) * N
        angle -= 2.0 * math.pi * math.floor((angle + math.pi) / (2.0 * math.pi))
        if D < UPSIDE_DOWN:  # it limits nothing here: it sleeps, far from waking
            B.state[r], B.sleeps[i], B.course[i, 0] = ASLEEP, 1, B.bound[i]
            angle = B.bound[i] + B.side[i]
        gamma = (w @ dN) / D - (w @ N) * 2.0 * (a * da + b * db) / (D * D)
    return angle, slope, gamma


@kernel
def cone_row(W, B, i, r):
    """Residual, speed and bias of a cone's limit in the tree; its slope goes to B.T."""
    w = vec3_at(W.v, B.coordinate[i])
    angle, slope, gamma = cone(B, i, quaternion_at(W.q, B.number[i]), w)
    B.c[r], B.rate[r], B.gamma[r], B.speed[r] = angle - B.course[i, 0], 0.0, gamma, slope @ w
    put6(B.T, r, Force(slope, Vec3(0.0, 0.0, 0.0)))


@kernel
def loop_limit(B, i):
    """Residual and direction of a limit of a connection's joint, whose coordinates are known."""
    r, j, k = B.row[i], B.owner[i], B.coordinate[i]
    put_vec3(B.P_first, i, vec3(B.P_first, j))
    put_vec3(B.P_second, i, vec3(B.P_second, j))
    B.rate[r] = 0.0
    if B.kind[i] == LIMIT:
        B.c[r] = B.q[B.number[i]] - B.course[i, 0]
        put6(B.T, r, force(B.N, k))
    else:
        angle, s, _ = cone(B, i, quaternion_at(B.q, B.number[i]), Vec3(0.0, 0.0, 0.0))
        B.c[r] = angle - B.course[i, 0]
        put6(B.T, r, s.x * force(B.N, k) + s.y * force(B.N, k + 1) + s.z * force(B.N, k + 2))


@kernel
def coordinate_row(T, W, B, i):
    """Residual, speed, rate and bias of a bond on coordinates of the tree."""
    r, k = B.row[i], B.coordinate[i]
    B.speed[r] = W.v[k]
    if B.kind[i] == BALL_LOCK:
        goal = Quaternion(B.target[i, 0], B.target[i, 1], B.target[i, 2], B.target[i, 3])
        B.c[r], B.c[r + 1], B.c[r + 2] = logarithm(conjugate(goal) @ normalized(quaternion_at(W.q, B.number[i])))
        for m in range(r, r + 3):
            B.rate[m], B.gamma[m], B.speed[m] = 0.0, 0.0, W.v[k + m - r]
    elif B.kind[i] == LIMIT:
        B.c[r], B.rate[r], B.gamma[r] = W.q[B.number[i]] - B.course[i, 0], 0.0, 0.0
    elif B.kind[i] >= SWING:
        cone_row(W, B, i, r)
    elif B.kind[i] == COORDINATE:
        y, d, dd = polynomial(B, i, min(B.clock[0], B.until[i]) - B.since[i])
        if B.clock[0] > B.until[i]:
            d, dd = 0.0, 0.0
        B.c[r], B.rate[r], B.gamma[r] = W.q[B.number[i]] - y, d, -dd
    else:
        y, d, dd = B.course[i, 0], 0.0, 0.0
        rate = 0.0
        if B.other[i] >= 0:
            y, d, dd = polynomial(B, i, W.q[B.other_number[i]])
            rate = W.v[B.other[i]]
        B.c[r], B.rate[r], B.gamma[r] = W.q[B.number[i]] - y, 0.0, -dd * rate * rate
        B.speed[r] -= d * rate


@far
def look(key, held, x, n):
    """How far every bond is open at the present poses; the largest goes to B.most."""
    T, W = open_rooms(key)
    (B,) = open_bonds(held)
    most = 0.0
    for a in range(B.count[USED]):
        i = B.order[a]
        if B.kind[i] == CONNECTION:
            situate(T, W, B, i)
        elif B.owner[i] >= 0:
            loop_limit(B, i)
        else:
            coordinate_row(T, W, B, i)
        for r in range(B.row[i], B.row[i] + B.rows[i]):
            most = max(most, abs(B.c[r]))
    B.most[0] = most
    return OK


@kernel
def biases(T, W, B):
    """γ of every connection and the forces of its joint, once bodies have velocities and accelerations W.A."""
    for a in range(B.count[USED]):
        i = B.order[a]
        if between(B, i):
            bias_row(T, W, B, i)
            if B.acts[i]:
                joint_forces(T, W, B, i)


@outlined
def gammas(T, W, B):
    """γ of every row at poses already known and the velocity W.v."""
    for i in range(T.parent.shape[0]):
        move_body(T, W, i, zero_motion())
    biases(T, W, B)


@kernel
def fill(T, W, B):
    """Jacobian rows J of every bond; the motions S and the factor of the mass matrix are known."""
    for a in range(B.count[USED] + B.count[TOUCHES]):
        i = B.order[a]
        if between(B, i):
            fill_chain(T, W, B, i, B.tip_first[i], vec3(B.P_first, i), 0, -1.0)
            fill_chain(T, W, B, i, B.tip_second[i], vec3(B.P_second, i), B.y_second[i], 1.0)
        else:
            fill_coordinates(T, W, B, i)


@kernel
def put_lane(B, base, m, stride, d, value):
    """Store the entry of row m at place d of a chain."""
    B.J[index(base + (m // LANES) * stride + LANES * d + m % LANES)] = value


@kernel
def fill_chain(T, W, B, i, tip, P, at, sign):
    """The part of connection i's rows along one chain. Where both chains are one, the two bodies move alike: zero."""
    n, common, stride = T.depth[tip] + 1 if tip >= 0 else 0, B.common[i], B.y_stride[i]
    base, r = B.y_at[i] + at, B.row[i]
    for d in range(common, n):
        k = T.above[index(T.row[tip] + d)]
        S = motion(W.S, k)
        v = velocity_at(S, P)
        if B.form[i] == POINT:
            j = index(base + LANES * d)
            B.J[j], B.J[j + index(1)], B.J[j + index(2)], B.J[j + index(3)] = sign * v.x, sign * v.y, sign * v.z, 0.0
        elif B.kind[i] == TOUCH:
            fill_touch(B, i, base + LANES * d, stride, sign * v, sign * S.w)
        else:
            for m in range(B.rows[i]):
                t = force(B.T, r + m)
                put_lane(B, base, m, stride, d, sign * (t.n @ S.w + t.f @ v))


@kernel
def fill_touch(B, i, at, stride, v, w):
    """One place of a contact area's rows: velocity and turning along its axes; a segment may turn about itself, a point anyhow."""
    R = rotation(B.R_second, i)
    last = 0.0
    if B.rows[i] == 6:
        last = R.x @ w
        put_four(B.J, at + stride, Four(R.y @ w, R.z @ w, 0.0, 0.0))
    elif B.rows[i] == 5:
        last = R.y @ w
        put_four(B.J, at + stride, Four(R.z @ w, 0.0, 0.0, 0.0))
    put_four(B.J, at, Four(R.x @ v, R.y @ v, R.z @ v, last))


@kernel
def fill_coordinates(T, W, B, i):
    """Rows of a bond on coordinates of the tree."""
    at, stride = B.y_at[i], B.y_stride[i]
    k = B.coordinate[i]
    if B.kind[i] >= SWING:
        for m in range(3):
            put_lane(B, at, 0, stride, T.depth[k + m], B.T[B.row[i], m])
        return
    for m in range(B.rows[i]):
        put_lane(B, at, m, stride, T.depth[k + m], 1.0)
    other = B.other[i]
    if other >= 0:
        _, d, _ = polynomial(B, i, W.q[B.other_number[i]])
        depth = T.depth[other]
        place = LANES * depth + (0 if depth < B.common[i] else B.y_second[i])
        B.J[at + place] = -d
