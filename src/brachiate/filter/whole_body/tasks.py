"""The controller [DF] VII-C 1: what is wished of a body in one step, as a program for the optimizer.

What physics demands: coordinates without motors take no torque [DF] eq. 34, contacts hold (:mod:`.contact_constraints`),
joints and motors keep to their limits. What is wished: the centre of mass and the angular momentum as planned, feet in the air on their
paths, every joint like the reference [DF] eq. 39.
"""

from __future__ import annotations

from brachiate.compiled import index, kernel
from brachiate.filter.whole_body.arrays import CENTRE_WEIGHT, HOLDS, LIMB_DAMPING, LIMB_STIFFNESS, LIMIT_AHEAD, REACHES, SPIN_WEIGHT, STEP
from brachiate.filter.whole_body.contact_constraints import add_point, add_ray, add_turn, new_row
from brachiate.filter.whole_body.qp import AT_LEAST, EQUAL, RAYS, ROWS, STRIDE
from brachiate.filter.whole_body.state import at_zero, point_acceleration, solve3
from brachiate.kinematics import origin_of
from brachiate.spatial import Vec3, compose, cross, logarithm, motion, quaternion_of, rotation, transpose, vec3, vec3_at, velocity_at

FASTER = 2.0  # steps in which a motor may come to its largest speed
BRISK = 2000.0  # [rad/s²] no joint speeds up more: what is slower by that for so many steps need not be looked at
TOES = 3.0  # times as fast as feet turn what hangs on them: it weighs little, and is to be flat when it comes down
HAND = 0.1  # [m] by which turning counts as moving, of a point that is kept: about the size of a hand
HARDEST = 5.0  # times its weight a body hangs by one hand at most: who swings around a bar has four, by both


@kernel
def physics(T, W, K, P):
    """Rows of coordinates without motors, and the bounds of joints."""
    n, rays = W.v.shape[0], P.lives.shape[0]
    for k in range(n):
        if K.passive[k]:
            scale = 1.0 / K.A[index(k * n + k)]
            at = new_row(P, EQUAL, -K.b[k] * scale, 0.0, 1)
            put_balance(K, P, at, k, n, rays, scale)
    ahead, soon = K.gain[LIMIT_AHEAD], FASTER * K.gain[STEP]
    for k in range(n):
        for side in (1.0, -1.0):  # at most a part of what is left to the motor's speed is made use of in a step
            if side * W.v[k] + soon * BRISK > K.speed[k]:
                at = new_row(P, AT_LEAST, (side * W.v[k] - K.speed[k]) / soon, 1e-6, 0)
                P.C[index(at + k * P.count[STRIDE])] = -side
        if K.number[k] >= 0:
            x = W.q[K.number[k]]
            later = x + ahead * W.v[k]
            if later < K.lower[k] + 0.05:
                at = new_row(P, AT_LEAST, 2.0 * (K.lower[k] - later) / (ahead * ahead), 1e-6, 0)
                P.C[index(at + k * P.count[STRIDE])] = 1.0
            if later > K.upper[k] - 0.05:
                at = new_row(P, AT_LEAST, 2.0 * (later - K.upper[k]) / (ahead * ahead), 1e-6, 0)
                P.C[index(at + k * P.count[STRIDE])] = -1.0


@kernel
def limit_motor(K, P, k, side):
    """Another row: a bound of the torque of coordinate k from below (side 1) or above (-1). Returns its number, from 1 on."""
    n = P.weight.shape[0]
    scale = 1.0 / K.A[index(k * n + k)]
    at = new_row(P, AT_LEAST, (-K.effort[k] - side * K.b[k]) * scale, 1e-6, 1)
    put_balance(K, P, at, k, n, P.lives.shape[0], side * scale)
    return at + 1


@kernel
def limit_motors(K, P):
    """Bounds of the torques that were at their limits in the step before: guess that they are so again."""
    for k in range(P.weight.shape[0]):
        if K.least[k]:
            K.least[k] = limit_motor(K, P, k, 1.0)
            P.acts[K.least[k] - 1] = 1
        if K.most[k]:
            K.most[k] = limit_motor(K, P, k, -1.0)
            P.acts[K.most[k] - 1] = 1


@kernel
def limit_more(K, P):
    """Bounds of torques that what was found has beyond their limits. Returns whether there were any: few ever act, so few are made."""
    rows = P.count[ROWS]
    for k in range(P.weight.shape[0]):
        if not K.passive[k] and K.effort[k] < 1e9:
            t = torque(K, P, k)
            if t < -K.effort[k] and not K.least[k]:
                K.least[k] = limit_motor(K, P, k, 1.0)
                P.acts[K.least[k] - 1] = 0
            if t > K.effort[k] and not K.most[k]:
                K.most[k] = limit_motor(K, P, k, -1.0)
                P.acts[K.most[k] - 1] = 0
    return P.count[ROWS] > rows


@kernel
def forget_limits(K, P):
    """Of the bounds of torques only those that act are kept for the next step."""
    for k in range(P.weight.shape[0]):
        if K.least[k] and not P.acts[K.least[k] - 1]:
            K.least[k] = 0
        if K.most[k] and not P.acts[K.most[k] - 1]:
            K.most[k] = 0


@kernel
def torque(K, P, k):
    """The torque of coordinate k that what was found takes."""
    n = P.weight.shape[0]
    t = K.b[k]
    for j in range(n):
        t += K.A[index(k * n + j)] * P.a[index(j)]
    for j in range(P.count[RAYS]):
        t -= K.F[index(j * n + k)] * P.rho[index(j)]
    return t


@kernel
def put_balance(K, P, at, k, n, rays, scale):
    """The torque of coordinate k beyond its bias, as a row of accelerations and forces."""
    row, R = at * rays, P.count[STRIDE]
    for j in range(n):
        P.C[index(at + j * R)] = scale * K.A[index(k * n + j)]
    for j in range(P.count[RAYS]):
        P.D[index(row + j)] = -scale * K.F[index(j * n + k)]


@kernel
def centre_rows(K, P, W):
    """Rows of the centre of mass and of angular momentum: of forces alone, as nothing else moves them."""
    rays = P.lives.shape[0]
    m, c = K.mass[0], vec3_at(K.com, 0)
    give = 1.0 / K.gain[CENTRE_WEIGHT], 1.0 / K.gain[SPIN_WEIGHT]
    wish = vec3_at(K.centre, 0) - Vec3(W.gravity[0], W.gravity[1], W.gravity[2])
    turn = solve3(K.locked, 0, vec3_at(K.spin, 0))
    new_row(P, EQUAL, wish.x, give[0], 1)
    new_row(P, EQUAL, wish.y, give[0], 1)
    new_row(P, EQUAL, wish.z, give[0], 1)
    new_row(P, EQUAL, turn.x, give[1], 1)
    new_row(P, EQUAL, turn.y, give[1], 1)
    new_row(P, EQUAL, turn.z, give[1], 1)
    row = (P.count[ROWS] - 6) * rays
    for j in range(P.count[RAYS]):
        u = vec3(K.along, j)
        t = solve3(K.locked, 0, cross(vec3(K.at, j) - c, u))
        P.D[index(row + j)] = u.x / m
        P.D[index(row + rays + j)] = u.y / m
        P.D[index(row + 2 * rays + j)] = u.z / m
        P.D[index(row + 3 * rays + j)] = t.x
        P.D[index(row + 4 * rays + j)] = t.y
        P.D[index(row + 5 * rays + j)] = t.z


@kernel
def axis(c):
    """Axis c of the world."""
    return Vec3(1.0 if c == 0 else 0.0, 1.0 if c == 1 else 0.0, 1.0 if c == 2 else 0.0)


@kernel
def put_point_rows(T, W, P, i, r, wish, give):
    """Three rows: the acceleration of the point at r of body i is as wished."""
    wish = wish - point_acceleration(W, i, r)
    for c in range(3):
        u = axis(c)
        at = new_row(P, EQUAL, u @ wish, give, 0)
        add_point(T, W, P.C, at, P.count[STRIDE], i, r, u, 1.0)


@kernel
def lead_point(T, W, Wr, K, P, i, point, offset, drift, swerve, weight):
    """Rows of a point of a body that is led along the reference's path, moved by an offset."""
    r, rr = vec3(W.x, i) + rotation(W.R, i) @ point, vec3(Wr.x, i) + rotation(Wr.R, i) @ point
    V, Vr = motion(W.V, i), motion(Wr.V, i)
    off = origin_of(T, Wr, i) + rr + offset - origin_of(T, W, i) - r
    slow = velocity_at(Vr, rr) + drift - velocity_at(V, r)
    jolt = velocity_at(motion(Wr.A, i), rr) + cross(Vr.w, velocity_at(Vr, rr)) + swerve
    put_point_rows(T, W, P, i, r, jolt + K.gain[LIMB_DAMPING] * slow + K.gain[LIMB_STIFFNESS] * off, 1.0 / weight)


@kernel
def grasp(T, W, Wr, K, P, g):
    """What a grip brings: a point that holds stays, by a force of any direction; one that reaches is led to where it will."""
    i = K.grip_body[g]
    if K.grip[g] == HOLDS:
        r = vec3(W.x, i) + rotation(W.R, i) @ vec3(K.grip_point, g)
        put_point_rows(T, W, P, i, r, Vec3(0.0, 0.0, 0.0), 0.0)
        for c in range(3):
            add_ray(T, W, K, P, -1, -1, i, origin_of(T, W, i) + r, axis(c))
            add_ray(T, W, K, P, -1, -1, i, origin_of(T, W, i) + r, -1.0 * axis(c))
    elif K.grip[g] == REACHES:
        still = Vec3(0.0, 0.0, 0.0)
        lead_point(T, W, Wr, K, P, i, vec3(K.grip_point, g), still, still, still, K.grip_lead[0])


@kernel
def spare_hands(W, K, P):
    """Rows that keep what holds from pulling more than a body can: motors without limits would clamp it between hands and feet."""
    g = (W.gravity[0] ** 2 + W.gravity[1] ** 2 + W.gravity[2] ** 2) ** 0.5
    rays, j = P.lives.shape[0], 0
    while j < P.count[RAYS] and K.ray_area[j] >= 0:
        j += 1
    while j < P.count[RAYS]:
        at = new_row(P, AT_LEAST, -HARDEST * g, 1e-6, 1)
        for c in range(6):
            P.D[index(at * rays + j + c)] = -1.0 / K.mass[0]
        j += 6


@kernel
def is_held(K, i, now):
    """Whether something holds now; or else whether it should in frame i."""
    found = False
    for g in range(K.grip.shape[0]):
        found = found or (K.grip[g] == HOLDS if now else K.grip_span[g, 0] <= i < K.grip_span[g, 1])
    return found


@kernel
def turn_wish(W, Wr, K, i, quick):
    """The angular acceleration that brings a body to the reference's orientation, but for what it has without any joint's."""
    R, Rr = rotation(W.R, i), rotation(Wr.R, i)
    d = R @ logarithm(quaternion_of(compose(transpose(R), Rr)))
    slow = motion(Wr.V, i).w - motion(W.V, i).w
    return motion(Wr.A, i).w + quick * K.gain[LIMB_DAMPING] * slow + quick * quick * K.gain[LIMB_STIFFNESS] * d - at_zero(W, i).w


@kernel
def lead_limb(T, W, Wr, K, P, m):
    """Rows of a limb that is led along the reference's path, moved by its offset."""
    i = K.limb[m]
    if K.lead[m] > 0.0:
        lead_point(T, W, Wr, K, P, i, vec3(K.point, m), vec3(K.offset, m), vec3(K.drift, m), vec3(K.swerve, m), K.lead[m])
    if K.turn[m] > 0.0:
        hangs = T.parent[i] >= 0 and K.limb_of[T.parent[i]] >= 0  # toes turn about their joint alone: all else is the foot's
        turn, give = turn_wish(W, Wr, K, i, TOES if hangs else 1.0), 1.0 / K.turn[m]
        for c in range(T.dof[i + 1] - T.dof[i] if hangs else 3):
            u = motion(W.S, T.dof[i] + c).w if hangs else axis(c)
            at = new_row(P, EQUAL, u @ turn, give, 0)
            add_turn(T, W, P.C, at, P.count[STRIDE], i, u, 1.0)


@kernel
def keep_point(T, W, Wr, K, P, n):
    """Rows of a point whose place and orientation are fed back beside those of joints, as P of [DF] eq. 40."""
    i, still = K.kept[n], Vec3(0.0, 0.0, 0.0)
    lead_point(T, W, Wr, K, P, i, vec3(K.kept_point, n), vec3_at(K.kept_offset, 0), still, still, K.kept_weight[n])
    turn, give = turn_wish(W, Wr, K, i, 1.0), 1.0 / (K.kept_weight[n] * HAND * HAND)
    for c in range(3):
        at = new_row(P, EQUAL, axis(c) @ turn, give, 0)
        add_turn(T, W, P.C, at, P.count[STRIDE], i, axis(c), 1.0)
