"""Kinematic quantities with gradient, rate and bias: what functions are made of [EGC] 4.2.

Gradient columns are per unit of a joint velocity; the bias is the second time derivative at v̇ = 0 (of quantities that depend on
velocities, the first; of rates of momentum, their value at v̇ = 0). For a point p and a vector a of a link, and joint velocity n with
motion axis s_n: ∂p = s_n × (p − r_n) [EGC] eq. 16, ∂a = s_n × a.
"""

from __future__ import annotations

from brachiate.compiled import index, kernel, outlined
from brachiate.functions.arrays import (
    ANGULAR_MOMENTUM,
    ANGULAR_MOMENTUM_RATE,
    ANGULAR_VELOCITY,
    AXIS,
    CENTER,
    JOINT,
    JOINT_RATE,
    KINETIC,
    MOMENTUM,
    MOMENTUM_RATE,
    POINT,
    QUATERNION_SCALAR,
    QUATERNION_VECTOR,
    SIGNAL,
    VELOCITY,
)
from brachiate.kinematics import (
    ball_motion_columns,
    body_inertias,
    body_velocities,
    forward_kinematics,
    tree_origin,
    zero_motion,
)
from brachiate.spatial import (
    Force,
    Vec3,
    cross,
    force,
    force_cross,
    inertia,
    motion,
    moved_force,
    normalized,
    put6,
    put_inertia,
    put_vec3,
    put_vec3_at,
    quaternion_at,
    rotation,
    vec3,
    vec3_at,
    velocity_at,
)


@outlined
def update_sources(T, W, P, E):
    """Values, gradients, rates and biases of all sources at (W.q, W.v)."""
    forward_kinematics(T, W)
    ball_motion_columns(T, W)
    body_velocities(T, W)
    for i in range(T.parent.shape[0]):  # accelerations at zero joint acceleration
        p = T.parent[i]
        put6(W.A, i, (motion(W.A, p) if p >= 0 else zero_motion()) + motion(W.C, i))
    sources, members = P.kind.shape[0], -1
    if sources > 0 and P.kind[sources - 1] >= CENTER:
        body_inertias(T, W)
    for s in range(sources):
        if P.kind[s] >= CENTER:
            if P.body[s] != members:
                members = P.body[s]
                member_inertias(T, W, P, E, members)
            update_whole(T, W, P, E, s)
        elif P.kind[s] == POINT or P.kind[s] == VELOCITY:
            update_point(T, W, P, E, s)
        elif P.kind[s] == AXIS or P.kind[s] == ANGULAR_VELOCITY:
            update_axis(T, W, P, E, s)
        else:
            update_coordinate(W, P, E, s)


@kernel
def put_source(P, E, s, value, rate, bias):
    """Store the three components of a source."""
    k = P.scalar[s]
    put_vec3_at(E.value, k, value)
    put_vec3_at(E.rate, k, rate)
    put_vec3_at(E.bias, k, bias)


@outlined
def update_point(T, W, P, E, s):
    """Position of a point of a body, or its velocity."""
    i = P.body[s]
    r = vec3(W.x, i) + rotation(W.R, i) @ vec3(P.point, s)
    for c in range(P.column[s], P.column[s + 1]):
        put_vec3(E.gradient, c, velocity_at(motion(W.S, P.velocity[c]), r))
    V, A = motion(W.V, i), motion(W.A, i)
    velocity = velocity_at(V, r)
    bias = velocity_at(A, r) + cross(V.w, velocity)
    if P.kind[s] == POINT:
        put_source(P, E, s, r + tree_origin(T, W, i), velocity, bias)
    else:
        put_source(P, E, s, velocity, bias, bias)


@outlined
def update_axis(T, W, P, E, s):
    """Axis fixed in a body, or its angular velocity."""
    i = P.body[s]
    V, A = motion(W.V, i), motion(W.A, i)
    if P.kind[s] == AXIS:
        a = rotation(W.R, i) @ vec3(P.point, s)
        for c in range(P.column[s], P.column[s + 1]):
            put_vec3(E.gradient, c, cross(motion(W.S, P.velocity[c]).w, a))
        rate = cross(V.w, a)
        put_source(P, E, s, a, rate, cross(A.w, a) + cross(V.w, rate))
    else:
        for c in range(P.column[s], P.column[s + 1]):
            put_vec3(E.gradient, c, motion(W.S, P.velocity[c]).w)
        put_source(P, E, s, V.w, A.w, A.w)


@outlined
def update_coordinate(W, P, E, s):
    """Joint variables, their rates, quaternions of joints, and functions of time."""
    kind, k, column = P.kind[s], P.scalar[s], P.column[s]
    if kind in (JOINT, JOINT_RATE):
        n = P.body[s]
        E.value[k] = W.q[P.coordinate[s]] if kind == JOINT else W.v[n]
        E.rate[k] = W.v[n] if kind == JOINT else 0.0
        E.bias[k] = 0.0
        put_vec3(E.gradient, column, Vec3(1.0, 0.0, 0.0))
    elif kind == SIGNAL:
        n = P.body[s]
        E.value[k], E.rate[k], E.bias[k] = E.signal[n, 0], E.signal[n, 1], E.signal[n, 2]
        put_vec3(E.gradient, column, Vec3(E.signal[n, 1], 0.0, 0.0))
    else:  # q ∘ exp(δ) = q ∘ (1 − |δ|²/8, δ/2): derivatives q ∘ e/2, second derivatives −q/4
        q, w = normalized(quaternion_at(W.q, P.coordinate[s])), vec3_at(W.v, P.body[s])
        v = Vec3(q.x, q.y, q.z)
        curvature = -0.25 * (w @ w)
        if kind == QUATERNION_SCALAR:
            E.value[k], E.rate[k], E.bias[k] = q.w, -0.5 * (v @ w), curvature * q.w
            put_vec3(E.gradient, column, Vec3(-0.5 * v.x, 0.0, 0.0))
            put_vec3(E.gradient, column + 1, Vec3(-0.5 * v.y, 0.0, 0.0))
            put_vec3(E.gradient, column + 2, Vec3(-0.5 * v.z, 0.0, 0.0))
        else:
            put_source(P, E, s, v, 0.5 * (q.w * w + cross(v, w)), curvature * v)
            put_vec3(E.gradient, column, 0.5 * Vec3(q.w, v.z, -v.y))
            put_vec3(E.gradient, column + 1, 0.5 * Vec3(-v.z, q.w, v.x))
            put_vec3(E.gradient, column + 2, 0.5 * Vec3(v.y, -v.x, q.w))


# --- of sets of bodies ------------------------------------------------------------------------------


@outlined
def member_inertias(T, W, P, E, members):
    """Composite inertia and momentum of the members of a set below each body."""
    n = T.parent.shape[0]
    for i in range(n):
        inside = 1.0 if P.members[members * n + i] else 0.0
        for c in range(10):
            E.composite[i, c] = inside * W.inertia[i, c]
        put6(W.F, i, inside * (inertia(W.inertia, i) @ motion(W.V, i)))
    for i in range(n - 1, -1, -1):
        p = T.parent[i]
        if p >= 0:
            put_inertia(E.composite, p, inertia(E.composite, p) + inertia(E.composite, i))
            put6(W.F, p, force(W.F, p) + force(W.F, i))


@outlined
def update_whole(T, W, P, E, s):
    """Center of mass, momentum, angular momentum about the center of mass, their rates, and kinetic energy of a set of bodies."""
    n, kind, members = T.parent.shape[0], P.kind[s], P.body[s]
    mass, h = 0.0, Vec3(0.0, 0.0, 0.0)
    for i in range(n):
        if T.parent[i] < 0:
            I = inertia(E.composite, i)
            mass += I.m
            h = h + I.h + I.m * vec3(W.origin, i)
    center = (1.0 / mass) * h
    total = rate = Force(Vec3(0.0, 0.0, 0.0), Vec3(0.0, 0.0, 0.0))  # momentum about the center of mass, and its rate at v̇ = 0
    energy = power = 0.0
    for i in range(n):
        if P.members[members * n + i]:
            I, V, A = inertia(W.inertia, i), motion(W.V, i), motion(W.A, i)
            L, r = I @ V, center - tree_origin(T, W, i)
            D = I @ A
            total = total + moved_force(L, r)
            rate = rate + moved_force(D + force_cross(V, L), r)
            energy += 0.5 * (V @ L)
            power += V @ D
            for k in range(T.dof[i], T.dof[i + 1]):
                energy += 0.5 * T.armature[k] * W.v[k] * W.v[k]
    for c in range(P.column[s], P.column[s + 1]):
        k = P.velocity[c]
        i, S = T.body[k], motion(W.S, k)
        if kind == KINETIC:
            rotor = T.armature[k] * W.v[k] if P.members[members * n + i] else 0.0
            put_vec3(E.gradient, c, Vec3(S @ force(W.F, i) + rotor, 0.0, 0.0))
        else:
            L = inertia(E.composite, i) @ S
            if kind in (ANGULAR_MOMENTUM, ANGULAR_MOMENTUM_RATE):
                put_vec3(E.gradient, c, moved_force(L, center - tree_origin(T, W, i)).n)
            else:
                put_vec3(E.gradient, c, (1.0 / mass if kind == CENTER else 1.0) * L.f)
    k = P.scalar[s]
    if kind == CENTER:
        put_source(P, E, s, center, (1.0 / mass) * total.f, (1.0 / mass) * rate.f)
    elif kind == MOMENTUM:
        put_source(P, E, s, total.f, rate.f, rate.f)
    elif kind == ANGULAR_MOMENTUM:
        put_source(P, E, s, total.n, rate.n, rate.n)
    elif kind in (MOMENTUM_RATE, ANGULAR_MOMENTUM_RATE):
        bias = rate.f if kind == MOMENTUM_RATE else rate.n
        value = bias
        for c in range(P.column[s], P.column[s + 1]):
            value = value + E.acceleration[P.velocity[c]] * vec3(E.gradient, c)
        put_source(P, E, s, value, bias, bias)
    else:
        E.value[k], E.rate[k], E.bias[k] = energy, power, power


# --- second derivatives -----------------------------------------------------------------------------


@outlined
def add_source_hessian(T, W, P, E, s, f, size):
    """E.block += f · H of a source with the adjoint f, rows and columns in places of the support [EGC] eq. 17.

    For a vector g_n of the gradient that turns with an ancestor's velocity m, H_mn = s_m × g_n, and f · (s_m × g_n) = (f × s_m) · g_n.
    Within a ball or floating motion, whose exponential turns about all axes at once, the mean of both orders (docs/conventions.md).
    """
    kind, block, place = P.kind[s], E.block, E.place
    if kind in (POINT, AXIS, CENTER):
        for c in range(P.column[s], P.column[s + 1]):
            n = P.velocity[index(c)]
            put_vec3(E.turned, n, cross(f, motion(W.S, n).w))
        for c in range(P.column[s], P.column[s + 1]):
            n = index(P.velocity[index(c)])
            g, b, at, row = vec3(E.gradient, c), vec3(E.turned, n), place[n], T.row[n]
            element = P.element[n]
            for d in range(T.depth[n]):
                m = T.above[index(row + d)]
                h = vec3(E.turned, m) @ g
                if m >= element:
                    h = 0.5 * (h + b @ vec3(E.gradient, c - P.velocity[index(c)] + m))
                other = place[index(m)]
                block[index(other * size + at)] += h
                block[index(at * size + other)] += h
            block[index(at * size + at)] += b @ g
    elif kind == SIGNAL:
        at = E.place[P.velocity[P.column[s]]]
        E.block[at * size + at] += f.x * E.bias[P.scalar[s]]
    elif kind in (QUATERNION_SCALAR, QUATERNION_VECTOR):
        k = P.scalar[s]
        x = f.x * E.value[k]
        if kind == QUATERNION_VECTOR:
            x = f @ vec3_at(E.value, k)
        for c in range(P.column[s], P.column[s + 1]):
            at = E.place[P.velocity[c]]
            E.block[at * size + at] -= 0.25 * x
