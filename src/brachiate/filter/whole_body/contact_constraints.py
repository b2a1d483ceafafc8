"""Bearing: what touches, as rows and rays of the program.

What stands stays where it stands, what should not touch keeps off, what comes down comes to rest, nothing goes into the ground, and forces
are within their cones.
"""

from __future__ import annotations

from brachiate.compiled import index, kernel
from brachiate.filter.whole_body.arrays import (
    AHEAD,
    CLOSING,
    CLOSING_WEIGHT,
    CONE,
    FREE,
    INSET,
    LATER,
    MAY,
    NEAR,
    SHOULD,
    STANCE_DAMPING,
    STANCE_WEIGHT,
    STEP,
    TOUCHDOWN,
)
from brachiate.filter.whole_body.qp import AT_LEAST, EQUAL, RAYS, ROWS, STRIDE
from brachiate.filter.whole_body.state import at_zero, point_acceleration
from brachiate.kinematics import origin_of
from brachiate.spatial import Vec3, cross, motion, norm, put_vec3, rotation, unrotate, vec3, vec3_at, velocity_at

HOVERS = 3.0  # times as far above the ground as what touches bears still, if it should: it comes down within a step
SINKS = 0.04  # [s] in which it does
FIRM = 0.2  # of the fastest a corner comes down at least: so it touches firmly
GENTLY, NEVER = 2.0, 4.0  # by which what comes near brakes: evenly, until it is there; damped critically, so that it does not get there
UPRIGHT = 0.5  # cosine: what faces farther from up or down is a wall, which no sole is to stand on
SLIGHT = 0.1  # [m/s²] along the ground, by which a body at rest pushes somewhere rather than nowhere
SOLE = 0.1  # [m] by which turning counts as moving, of what stands


@kernel
def new_row(P, kind, want, give, pulls):
    """Another row of the program, all zero; returns its number."""
    r, R = P.count[ROWS], P.count[STRIDE]
    P.count[ROWS] = r + 1
    P.kind[r], P.want[r], P.give[r], P.pulls[r] = kind, want, give, pulls
    for k in range(P.weight.shape[0]):
        P.C[index(k * R + r)] = 0.0
    if pulls:
        for j in range(P.count[RAYS]):
            P.D[index(r * P.lives.shape[0] + j)] = 0.0
    return r


@kernel
def add_point(T, W, C, at, stride, i, r, axis, sign):
    """Put the velocity of the point at r of body i along an axis, per unit of every velocity, into a row."""
    while i >= 0:
        for k in range(T.dof[i], T.dof[i + 1]):
            C[index(at + k * stride)] += sign * (axis @ velocity_at(motion(W.S, k), r))
        i = T.parent[i]


@kernel
def add_turn(T, W, C, at, stride, i, axis, sign):
    """The same of its angular velocity."""
    while i >= 0:
        for k in range(T.dof[i], T.dof[i + 1]):
            C[index(at + k * stride)] += sign * (axis @ motion(W.S, k).w)
        i = T.parent[i]


@kernel
def moves(T, W, i, p):
    """Velocity and acceleration at zero joint accelerations of the point p of the world, as of body i; zero for what stands still."""
    if i < 0:
        return Vec3(0.0, 0.0, 0.0), Vec3(0.0, 0.0, 0.0), Vec3(0.0, 0.0, 0.0), Vec3(0.0, 0.0, 0.0)
    r = p - origin_of(T, W, i)
    V = motion(W.V, i)
    return velocity_at(V, r), point_acceleration(W, i, r), V.w, at_zero(W, i).w


@kernel
def relative_point(T, W, P, kind, first, second, p, axis, want, give):
    """A row: acceleration along an axis of the second body against the first, at a point of the world."""
    at = new_row(P, kind, want, give, 0)
    if second >= 0:
        add_point(T, W, P.C, at, P.count[STRIDE], second, p - origin_of(T, W, second), axis, 1.0)
    if first >= 0:
        add_point(T, W, P.C, at, P.count[STRIDE], first, p - origin_of(T, W, first), axis, -1.0)


@kernel
def relative_turn(T, W, P, first, second, axis, want, give):
    """The same of angular acceleration."""
    at = new_row(P, EQUAL, want, give, 0)
    if second >= 0:
        add_turn(T, W, P.C, at, P.count[STRIDE], second, axis, 1.0)
    if first >= 0:
        add_turn(T, W, P.C, at, P.count[STRIDE], first, axis, -1.0)


@kernel
def duty(T, W, K, limb, p):
    """What is wished of a limb at a point of the world, as of the corner of its sole that is nearest: FREE, LATER, MAY bear, or SHOULD."""
    i = K.limb[limb]
    x = unrotate(rotation(W.R, i), p - origin_of(T, W, i) - vec3(W.x, i))
    best, found = 1e300, FREE
    for n in range(8 * limb, 8 * limb + 8):
        if K.may[n] < 0:
            break
        d = norm(vec3(K.corner, n) - x)
        if d < best:
            best, found = d, K.may[n]
    return found


@kernel
def add_ray(T, W, K, P, a, first, second, p, u):
    """A force along u at a point of the world, on the second body and against the first."""
    j, n = P.count[RAYS], W.v.shape[0]
    P.count[RAYS] = j + 1
    K.ray_area[j] = a
    put_vec3(K.at, j, p)
    put_vec3(K.along, j, u)
    for k in range(n):
        K.F[index(j * n + k)] = 0.0
    if second >= 0:
        add_point(T, W, K.F, j * n, 1, second, p - origin_of(T, W, second), u, 1.0)
    if first >= 0:
        add_point(T, W, K.F, j * n, 1, first, p - origin_of(T, W, first), u, -1.0)


@kernel
def along_ground(W, K, R):
    """The way along a surface in which it is to push, by the wish for the centre of mass; any way if that is none."""
    f = vec3_at(K.centre, 0) - Vec3(W.gravity[0], W.gravity[1], W.gravity[2])
    d = f - (R.z @ f) * R.z + SLIGHT * (R.x + R.y)
    return (1.0 / norm(d)) * d


@kernel
def add_rays(T, W, K, P, a, first, second, p, R, way, friction):
    """Four edges of the friction cone of a force at a point, one of them along ``way``: there all friction can be used."""
    u, v = friction * way, friction * cross(R.z, way)
    add_ray(T, W, K, P, a, first, second, p, R.z + u)
    add_ray(T, W, K, P, a, first, second, p, R.z + v)
    add_ray(T, W, K, P, a, first, second, p, R.z - v)
    add_ray(T, W, K, P, a, first, second, p, R.z - u)


@kernel
def stand(T, W, K, P, Gm, A, S, a):
    """What area a brings: forces where it bears, and rows that keep it there; bounds where it does not."""
    first, second = Gm.body[Gm.pair[A.pair[a], 0]], Gm.body[Gm.pair[A.pair[a], 1]]
    mine = second
    if second < 0 or not K.members[second]:
        mine = first
    limb = K.limb_of[mine]
    R, point, n = rotation(A.R, a), vec3(A.P, a), A.corners[a]
    dt = K.gain[STEP]
    wall = abs(R.z.z) < UPRIGHT
    bearing = 0
    mask = 0
    above = 0.0
    middle = Vec3(0.0, 0.0, 0.0)
    for j in range(n):
        x, y = A.V[a, j, 0], A.V[a, j, 1]
        p = point + x * R.x + y * R.y
        gap = A.gap[a, 0] + A.gap[a, 1] * x + A.gap[a, 2] * y
        v2, _, _, _ = moves(T, W, second, p)
        v1, _, _, _ = moves(T, W, first, p)
        if limb >= 0:
            K.height[limb] = min(K.height[limb], gap)
        what = MAY if limb < 0 else FREE if wall else duty(T, W, K, limb, p)
        if gap + dt * (R.z @ (v2 - v1)) < K.gain[NEAR] * (HOVERS if what == SHOULD else 1.0):
            if limb >= 0:
                K.touched[limb] += 1
            if what != FREE:
                mask |= 1 << j
                bearing += 1
                middle = middle + p
                above += gap
    if bearing > 0:
        middle = (1.0 / bearing) * middle
        if limb >= 0:
            K.stands[limb] += bearing
        far, way, push = 0.0, R.x, along_ground(W, K, R)
        for j in range(n):
            if mask & (1 << j):
                p = point + A.V[a, j, 0] * R.x + A.V[a, j, 1] * R.y
                d = p - middle
                size = norm(d)
                if size > far:
                    far, way = size, (1.0 / size) * d
                inset = min(0.3, K.gain[INSET] / max(size, 1e-6))
                add_rays(T, W, K, P, a, first, second, middle + (1.0 - inset) * d, R, push, K.gain[CONE] * S.friction[A.pair[a]])
        hold(T, W, K, P, first, second, middle, R, way, bearing if far > 0.005 else 1, above / bearing)
    if bearing < 3:
        coming, middle, soon = 0, Vec3(0.0, 0.0, 0.0), K.gain[CLOSING]
        for j in range(n):
            if not mask & (1 << j):
                x, y = A.V[a, j, 0], A.V[a, j, 1]
                p = point + x * R.x + y * R.y
                gap = A.gap[a, 0] + A.gap[a, 1] * x + A.gap[a, 2] * y
                left = approach(T, W, K, P, first, second, limb, p, R.z, gap)
                if left < K.gain[CLOSING]:
                    coming, middle, soon = coming + 1, middle + p, min(soon, left)
        if coming > 0:
            come_to_rest(T, W, K, P, first, second, (1.0 / coming) * middle, R, soon)


@kernel
def approach(T, W, K, P, first, second, limb, p, normal, gap):
    """A row for a corner that is not on the ground: it comes down where it should bear, and else does not run into it.

    What is to come down later keeps off the ground: it would rub over it. Returns how long a corner that should bear takes to touch [s].
    """
    v2, a2, _, _ = moves(T, W, second, p)
    v1, a1, _, _ = moves(T, W, first, p)
    speed, drift = normal @ (v2 - v1), normal @ (a2 - a1)
    what = MAY if limb < 0 else FREE if abs(normal.z) < UPRIGHT else duty(T, W, K, limb, p)
    if what == SHOULD:
        soon, most = K.gain[CLOSING], K.gain[TOUCHDOWN]
        wish = (-min(max(gap / soon, FIRM * most), most) - speed) / soon
        relative_point(T, W, P, EQUAL, first, second, p, normal, wish - drift, 1.0 / K.gain[CLOSING_WEIGHT])
        return gap / max(-speed, 1e-9)
    ahead = K.gain[AHEAD]
    stiff = NEVER if what <= LATER else GENTLY
    least = min(-stiff * (gap + ahead * speed) / (ahead * ahead), 200.0)
    # A foot beside toes that stand hardly can: an edge so near to their joint
    give = 1.0 / K.gain[CLOSING_WEIGHT] if what <= LATER else 1e-6
    relative_point(T, W, P, AT_LEAST, first, second, p, normal, least - drift, give)
    return 1e300


@kernel
def come_to_rest(T, W, K, P, first, second, p, R, soon):
    """Rows for what is about to touch, at p: by then it does not move along the ground, as what hardly bears has hardly any friction."""
    v2, a2, w2, alpha2 = moves(T, W, second, p)
    v1, a1, w1, alpha1 = moves(T, W, first, p)
    rate, give = 1.0 / max(soon, 0.5 * K.gain[CLOSING]), 1.0 / K.gain[CLOSING_WEIGHT]
    wish, turn = -rate * (v2 - v1) - (a2 - a1), -rate * (w2 - w1) - (alpha2 - alpha1)
    relative_point(T, W, P, EQUAL, first, second, p, R.x, R.x @ wish, give)
    relative_point(T, W, P, EQUAL, first, second, p, R.y, R.y @ wish, give)
    relative_turn(T, W, P, first, second, R.z, R.z @ turn, give / (SOLE * SOLE))


@kernel
def hold(T, W, K, P, first, second, p, R, way, corners, gap):
    """Rows that keep what bears in its place: a point, a line along ``way``, or a face; what hovers comes down."""
    v2, a2, w2, alpha2 = moves(T, W, second, p)
    v1, a1, w1, alpha1 = moves(T, W, first, p)
    v, a, w, alpha = v2 - v1, a2 - a1, w2 - w1, alpha2 - alpha1
    kd = K.gain[STANCE_DAMPING]
    wish, give = -kd * v - a, 1.0 / K.gain[STANCE_WEIGHT]  # soles that say nearly the same would else contradict each other
    relative_point(T, W, P, EQUAL, first, second, p, R.x, R.x @ wish, give)
    relative_point(T, W, P, EQUAL, first, second, p, R.y, R.y @ wish, give)
    relative_point(T, W, P, EQUAL, first, second, p, R.z, R.z @ wish - kd * gap / SINKS, give)
    if corners > 1:
        turn = -kd * w - alpha
        give /= SOLE * SOLE
        relative_turn(T, W, P, first, second, R.z, R.z @ turn, give)
        if corners > 2:
            relative_turn(T, W, P, first, second, R.x, R.x @ turn, give)
            relative_turn(T, W, P, first, second, R.y, R.y @ turn, give)
        else:
            across = cross(R.z, way)
            relative_turn(T, W, P, first, second, across, across @ turn, give)
