"""The controller [DF] VII-C 1: what is wished of a body in one step, as a program for the optimizer.

What physics demands: coordinates without motors take no torque [DF] eq. 34, what stands stays where it stands, forces are within their
cones, nothing goes into the ground, joints and motors keep to their limits. What is wished: the centre of mass and the angular momentum
as planned, feet in the air on their paths, every joint like the reference [DF] eq. 39.
"""

from __future__ import annotations

from typing import NamedTuple

from brachiate.compiled import Floats, IntRows2, Ints, Rows3, Rows33, index, kernel, opener
from brachiate.dynamics.inverse import gather, move_body, passive_forces
from brachiate.dynamics.mass import mass_matrix
from brachiate.filter.optimizer import AT_LEAST, EQUAL, RAYS, ROWS, STRIDE
from brachiate.filter.survey import centre_of, momentum_of, put_locked
from brachiate.kinematics import body_inertias, origin_of, poses, zero_motion
from brachiate.model.joints import BALL, FLOAT
from brachiate.spatial import (
    Motion,
    Vec3,
    compose,
    cross,
    inertia,
    logarithm,
    motion,
    moved_force,
    norm,
    put_vec3,
    put_vec3_at,
    quaternion_at,
    quaternion_of,
    rotation,
    rotation_of,
    transpose,
    turn_between,
    unrotate,
    vec3,
    vec3_at,
    velocity_at,
)

CROWDED = 13  # status: more contacts than there is room for

# Places of Control.gain.
GAINS = (
    "JOINT_STIFFNESS",
    "JOINT_DAMPING",
    "LIMB_STIFFNESS",
    "LIMB_DAMPING",
    "STANCE_DAMPING",
    "CENTRE_WEIGHT",
    "SPIN_WEIGHT",
    "CONE",
    "INSET",
    "NEAR",
    "AHEAD",
    "LIMIT_AHEAD",
    "STEP",
    "MARGIN",
    "CLOSING",
    "TOUCHDOWN",
    "CLOSING_WEIGHT",
    "STANCE_WEIGHT",
)
(
    JOINT_STIFFNESS,
    JOINT_DAMPING,
    LIMB_STIFFNESS,
    LIMB_DAMPING,
    STANCE_DAMPING,
    CENTRE_WEIGHT,
    SPIN_WEIGHT,
    CONE,
    INSET,
    NEAR,
    AHEAD,
    LIMIT_AHEAD,
    STEP,
    MARGIN,
    CLOSING,
    TOUCHDOWN,
    CLOSING_WEIGHT,
    STANCE_WEIGHT,
) = range(18)

HOVERS = 3.0  # times as far above the ground as what touches bears still, if it should: it comes down within a step
SINKS = 0.04  # [s] in which it does
FASTER = 2.0  # steps in which a motor may come to its largest speed
BRISK = 2000.0  # [rad/s²] no joint speeds up more: what is slower by that for so many steps need not be looked at
FIRM = 0.2  # of the fastest a corner comes down at least: so it touches firmly
GENTLY, NEVER = 2.0, 4.0  # by which what comes near brakes: evenly, until it is there; damped critically, so that it does not get there
UPRIGHT = 0.5  # cosine: what faces farther from up or down is a wall, which no sole is to stand on
HARDEST = 5.0  # times its weight a body hangs by one hand at most: who swings around a bar has four, by both
SLIGHT = 0.1  # [m/s²] along the ground, by which a body at rest pushes somewhere rather than nowhere
SOLE = 0.1  # [m] by which turning counts as moving, of what stands
FREE, LATER, MAY, SHOULD = range(4)  # what a corner of a sole does about the ground; LATER: it keeps off, but bears if it touches
LOOSE, REACHES, HOLDS = range(3)  # what a point does about that which it is to hold


class Control(NamedTuple):
    """Sizes: nv velocities, m limbs, of k corners each, g grips, K rays, na areas."""

    gain: Floats  # (18,) see above
    members: Ints  # (nb,) bodies of the figure
    passive: Ints  # (nv,) 1 if there is no motor
    weight: Floats  # (nv,) of the reference's acceleration
    effort: Floats  # (nv,) [N·m or N] of motors at most; inf for no limit
    speed: Floats  # (nv,) [rad/s or m/s] of motors at most; inf for no limit
    lower: Floats  # (nv,) limits of coordinates [rad or m]; -inf and inf for none
    upper: Floats  # (nv,)
    number: Ints  # (nv,) place in q of those
    centre: Floats  # (3,) [m/s²] wished acceleration of the centre of mass
    spin: Floats  # (3,) [N·m] wished rate of angular momentum about it
    limb: Ints  # (m,) bodies that stand at times
    point: Rows3  # (m, 3) [m] of theirs that is led, body axes
    lead: Floats  # (m,) weight of its path, 0 if it is not led
    turn: Floats  # (m,) and of its orientation
    offset: Rows3  # (m, 3) [m] of its path from the reference's
    drift: Rows3  # (m, 3) [m/s] rate of that
    swerve: Rows3  # (m, 3) [m/s²] more acceleration than the reference's
    corner: Rows3  # (8 m, 3) [m] of its sole, body axes
    may: Ints  # (8 m,) FREE, LATER, MAY or SHOULD; -1 behind the last one
    limb_of: Ints  # (nb,) which limb a body is, -1 for none
    grip: Ints  # (g,) LOOSE, REACHES for its place, or HOLDS: it is connected there
    grip_body: Ints  # (g,) whose
    grip_point: Rows3  # (g, 3) [m] that holds, body axes
    grip_span: IntRows2  # (g, 2) first frame in which it should, and the one after the last
    grip_lead: Floats  # (1,) weight of its path while it reaches
    q_at: Ints  # (nq of the figure,) where its configuration is in the world's; the root's comes first
    v_at: Ints  # (nv of the figure,) and its velocity
    # what comes out
    a: Floats  # (nv,) accelerations
    wanted: Floats  # (nv,) those wished
    mass: Floats  # (1,) [kg]
    com: Floats  # (6,) centre of mass [m], its velocity [m/s]
    momentum: Floats  # (3,) [N·m·s] angular, about the centre of mass
    locked: Rows33  # (1, 3, 3) [kg·m²] inertia about the centre of mass of the body as one piece
    lean: Floats  # (3,) [rad] how far it is turned from the reference as a whole
    got: Floats  # (6,) acceleration of the centre of mass [m/s²] and rate of angular momentum [N·m] of the solution
    aimed: Floats  # (6,) centre of mass and velocity of the reference
    aimed_spin: Floats  # (3,) and its angular momentum
    stands: Ints  # (m,) how many corners of a limb bear
    touched: Ints  # (m,) how many corners of a limb are on something
    height: Floats  # (m,) [m] gap of its lowest corner, 1 if it is not near anything
    ray_area: Ints  # (K,) which area a ray is of, -1 of none: it is of a grip, and those come last
    at: Rows3  # (K, 3) [m] where it acts, world
    along: Rows3  # (K, 3) its direction
    # scratch
    least: Ints  # (nv,) row of the bound of a motor's torque from below, from 1 on; 0 if there is none
    most: Ints  # (nv,) and from above; both are kept from step to step while they act
    A: Floats  # (nv nv,) mass matrix
    b: Floats  # (nv,) bias
    F: Floats  # (K nv,) generalized force of every ray
    e: Floats  # (nv,) scratch


open_control = opener(Control)


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
    relative_point(T, W, P, AT_LEAST, first, second, p, normal, least - drift, 1e-6)
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
def lead_limb(T, W, Wr, K, P, m):
    """Rows of a limb that is led along the reference's path, moved by its offset."""
    i = K.limb[m]
    kp, kd = K.gain[LIMB_STIFFNESS], K.gain[LIMB_DAMPING]
    if K.lead[m] > 0.0:
        lead_point(T, W, Wr, K, P, i, vec3(K.point, m), vec3(K.offset, m), vec3(K.drift, m), vec3(K.swerve, m), K.lead[m])
    if K.turn[m] > 0.0:
        R, Rr = rotation(W.R, i), rotation(Wr.R, i)
        d = R @ logarithm(quaternion_of(compose(transpose(R), Rr)))
        turn = motion(Wr.A, i).w + kd * (motion(Wr.V, i).w - motion(W.V, i).w) + kp * d - at_zero(W, i).w
        give = 1.0 / K.turn[m]
        hangs = T.parent[i] >= 0 and K.limb_of[T.parent[i]] >= 0  # toes turn about their joint alone: all else is the foot's
        for c in range(T.dof[i + 1] - T.dof[i] if hangs else 3):
            u = motion(W.S, T.dof[i] + c).w if hangs else axis(c)
            at = new_row(P, EQUAL, u @ turn, give, 0)
            add_turn(T, W, P.C, at, P.count[STRIDE], i, u, 1.0)
