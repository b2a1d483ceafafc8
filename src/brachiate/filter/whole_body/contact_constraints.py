"""Contact constraints of the whole-body QP: friction-cone generators, stance, touchdown and non-penetration rows.

Supporting corners keep their position, corners that must not touch keep clear, landing corners come to rest, no corner penetrates, and
contact forces are inside linearized friction cones.
"""

from __future__ import annotations

from brachiate.compiled import index, kernel
from brachiate.filter.schedule.arrays import MAX_CORNERS
from brachiate.filter.whole_body.arrays import (
    CONTACT_ALLOWED,
    CONTACT_DISTANCE,
    CONTACT_EARLY,
    CONTACT_FORBIDDEN,
    CONTACT_REQUIRED,
    FRICTION_SHARE,
    PENETRATION_HORIZON,
    STANCE_DAMPING,
    STANCE_WEIGHT,
    SUPPORT_INSET,
    TIME_STEP,
    TOUCHDOWN_SPEED,
    TOUCHDOWN_TIME,
    TOUCHDOWN_WEIGHT,
)
from brachiate.filter.whole_body.qp import EQUALITY, INEQUALITY, RAYS, ROWS, STRIDE
from brachiate.filter.whole_body.state import bias_acceleration, point_bias_acceleration
from brachiate.kinematics import tree_origin
from brachiate.spatial import Vec3, cross, motion, norm, put_vec3, rotation, unrotate, vec3, vec3_at, velocity_at

HOVER_FACTOR = 3.0  # times the contact distance at which a corner that is required supports already: it lands within the step
SETTLING_TIME = 0.04  # [s] in which the gap of such corners closes
MIN_TOUCHDOWN_SHARE = 0.2  # of the touchdown speed: minimum landing speed of a corner, so that it makes firm contact
# Deceleration of an approaching corner in units of gap/horizon²: uniform until it touches; critically damped, so that it does not touch.
BRAKE_TO_TOUCH, BRAKE_TO_AVOID = 2.0, 4.0
WALL_COSINE = 0.5  # of the normal's angle to the vertical: steeper surfaces are walls, which do not support a foot
MIN_HORIZONTAL_DEMAND = 0.1  # [m/s²] added to the horizontal demand, so that its direction is defined at rest
FOOT_ROTATION_LENGTH = 0.1  # [m/rad] weight of a stance foot's rotation against its displacement


@kernel
def add_row(qp, kind, rhs, compliance, has_forces):
    """Add a zero row to the QP. Returns its index."""
    r, stride = qp.counts[ROWS], qp.counts[STRIDE]
    qp.counts[ROWS] = r + 1
    qp.kind[r], qp.rhs[r], qp.compliance[r], qp.has_forces[r] = kind, rhs, compliance, has_forces
    for k in range(qp.weights.shape[0]):
        qp.C[index(k * stride + r)] = 0.0
    if has_forces:
        for j in range(qp.counts[RAYS]):
            qp.D[index(r * qp.active_rays.shape[0] + j)] = 0.0
    return r


@kernel
def add_point_jacobian(T, W, C, at, stride, i, r, axis, sign):
    """Add sign · axisᵀ J to a row, J the linear Jacobian of the point at r of body i."""
    while i >= 0:
        for k in range(T.dof[i], T.dof[i + 1]):
            C[index(at + k * stride)] += sign * (axis @ velocity_at(motion(W.S, k), r))
        i = T.parent[i]


@kernel
def add_angular_jacobian(T, W, C, at, stride, i, axis, sign):
    """Add sign · axisᵀ J to a row, J the angular Jacobian of body i."""
    while i >= 0:
        for k in range(T.dof[i], T.dof[i + 1]):
            C[index(at + k * stride)] += sign * (axis @ motion(W.S, k).w)
        i = T.parent[i]


@kernel
def point_motion(T, W, i, p):
    """Velocity, bias acceleration J̇ v, angular velocity and angular bias acceleration of body i at world point p; zero for the world."""
    if i < 0:
        return Vec3(0.0, 0.0, 0.0), Vec3(0.0, 0.0, 0.0), Vec3(0.0, 0.0, 0.0), Vec3(0.0, 0.0, 0.0)
    r = p - tree_origin(T, W, i)
    V = motion(W.V, i)
    return velocity_at(V, r), point_bias_acceleration(W, i, r), V.w, bias_acceleration(W, i).w


@kernel
def relative_point_row(T, W, qp, kind, first, second, p, axis, rhs, compliance):
    """Row: acceleration of the second body relative to the first along an axis, at a world point."""
    at = add_row(qp, kind, rhs, compliance, 0)
    if second >= 0:
        add_point_jacobian(T, W, qp.C, at, qp.counts[STRIDE], second, p - tree_origin(T, W, second), axis, 1.0)
    if first >= 0:
        add_point_jacobian(T, W, qp.C, at, qp.counts[STRIDE], first, p - tree_origin(T, W, first), axis, -1.0)


@kernel
def relative_angular_row(T, W, qp, first, second, axis, rhs, compliance):
    """Row: angular acceleration of the second body relative to the first about an axis."""
    at = add_row(qp, EQUALITY, rhs, compliance, 0)
    if second >= 0:
        add_angular_jacobian(T, W, qp.C, at, qp.counts[STRIDE], second, axis, 1.0)
    if first >= 0:
        add_angular_jacobian(T, W, qp.C, at, qp.counts[STRIDE], first, axis, -1.0)


@kernel
def contact_mode(T, W, ctl, link, p):
    """Scheduled contact mode of a contact link at a world point: that of its nearest corner."""
    i = ctl.contact_body[link]
    x = unrotate(rotation(W.R, i), p - tree_origin(T, W, i) - vec3(W.x, i))
    best, found = 1e300, CONTACT_FORBIDDEN
    for n in range(MAX_CORNERS * link, MAX_CORNERS * link + MAX_CORNERS):
        if ctl.contact_mode[n] < 0:
            break
        d = norm(vec3(ctl.corner, n) - x)
        if d < best:
            best, found = d, ctl.contact_mode[n]
    return found


@kernel
def add_ray(T, W, ctl, qp, a, first, second, p, u):
    """Add a ray: force along u at a world point, on the second body and opposite on the first; a is its contact patch, -1 for grips."""
    j, n = qp.counts[RAYS], W.v.shape[0]
    qp.counts[RAYS] = j + 1
    ctl.ray_patch[j] = a
    put_vec3(ctl.ray_point, j, p)
    put_vec3(ctl.ray_direction, j, u)
    for k in range(n):
        ctl.ray_force[index(j * n + k)] = 0.0
    if second >= 0:
        add_point_jacobian(T, W, ctl.ray_force, j * n, 1, second, p - tree_origin(T, W, second), u, 1.0)
    if first >= 0:
        add_point_jacobian(T, W, ctl.ray_force, j * n, 1, first, p - tree_origin(T, W, first), u, -1.0)


@kernel
def friction_direction(W, ctl, R):
    """Tangential direction of the contact force that the desired CoM acceleration calls for; arbitrary if there is none."""
    f = vec3_at(ctl.com_acceleration, 0) - Vec3(W.gravity[0], W.gravity[1], W.gravity[2])
    d = f - (R.z @ f) * R.z + MIN_HORIZONTAL_DEMAND * (R.x + R.y)
    return (1.0 / norm(d)) * d


@kernel
def add_cone_generators(T, W, ctl, qp, a, first, second, p, R, direction, friction):
    """Four generators of the linearized friction cone at a point, one along ``direction``, where the full friction is available."""
    u, v = friction * direction, friction * cross(R.z, direction)
    add_ray(T, W, ctl, qp, a, first, second, p, R.z + u)
    add_ray(T, W, ctl, qp, a, first, second, p, R.z + v)
    add_ray(T, W, ctl, qp, a, first, second, p, R.z - v)
    add_ray(T, W, ctl, qp, a, first, second, p, R.z - u)


@kernel
def corner_point(patches, a, j, R):
    """Corner j of contact patch a in world axes [m], and its gap [m]."""
    x, y = patches.V[a, j, 0], patches.V[a, j, 1]
    return vec3(patches.P, a) + x * R.x + y * R.y, patches.gap[a, 0] + patches.gap[a, 1] * x + patches.gap[a, 2] * y


@kernel
def add_contact(T, W, ctl, qp, geometry, patches, contact, a):
    """Rows and rays of contact patch a: friction-cone forces and stance rows where it supports, non-penetration rows elsewhere."""
    first, second = geometry.body[geometry.pair[patches.pair[a], 0]], geometry.body[geometry.pair[patches.pair[a], 1]]
    body = second
    if second < 0 or not ctl.members[second]:
        body = first
    link = ctl.contact_link_of[body]
    R = rotation(patches.R, a)
    mask, count, total, gaps = find_support(T, W, ctl, patches, a, first, second, link, R)
    if count > 0:
        if link >= 0:
            ctl.supporting_corners[link] += count
        friction = ctl.gain[FRICTION_SHARE] * contact.friction[patches.pair[a]]
        add_support(T, W, ctl, qp, patches, a, first, second, R, mask, count, (1.0 / count) * total, gaps / count, friction)
    if count < 3:
        add_approach(T, W, ctl, qp, patches, a, first, second, link, R, mask)


@kernel
def find_support(T, W, ctl, patches, a, first, second, link, R):
    """Corners of patch a that support the figure in this step, as bits, their number, and the sums of their positions and gaps."""
    dt = ctl.gain[TIME_STEP]
    wall = abs(R.z.z) < WALL_COSINE
    count = 0
    mask = 0
    gaps = 0.0
    total = Vec3(0.0, 0.0, 0.0)
    for j in range(patches.corners[a]):
        p, gap = corner_point(patches, a, j, R)
        v2, _, _, _ = point_motion(T, W, second, p)
        v1, _, _, _ = point_motion(T, W, first, p)
        if link >= 0:
            ctl.clearance[link] = min(ctl.clearance[link], gap)
        mode = CONTACT_ALLOWED if link < 0 else CONTACT_FORBIDDEN if wall else contact_mode(T, W, ctl, link, p)
        if gap + dt * (R.z @ (v2 - v1)) < ctl.gain[CONTACT_DISTANCE] * (HOVER_FACTOR if mode == CONTACT_REQUIRED else 1.0):
            if link >= 0:
                ctl.touching_corners[link] += 1
            if mode != CONTACT_FORBIDDEN:
                mask |= 1 << j
                count += 1
                total = total + p
                gaps += gap
    return mask, count, total, gaps


@kernel
def add_support(T, W, ctl, qp, patches, a, first, second, R, mask, count, center, gap, friction):
    """Friction-cone generators at the supporting corners of patch a, inset from its edge, and rows that keep it in place."""
    farthest, edge, direction = 0.0, R.x, friction_direction(W, ctl, R)
    for j in range(patches.corners[a]):
        if mask & (1 << j):
            p, _ = corner_point(patches, a, j, R)
            d = p - center
            distance = norm(d)
            if distance > farthest:
                farthest, edge = distance, (1.0 / distance) * d
            inset = min(0.3, ctl.gain[SUPPORT_INSET] / max(distance, 1e-6))
            add_cone_generators(T, W, ctl, qp, a, first, second, center + (1.0 - inset) * d, R, direction, friction)
    stance_rows(T, W, ctl, qp, first, second, center, R, edge, count if farthest > 0.005 else 1, gap)


@kernel
def add_approach(T, W, ctl, qp, patches, a, first, second, link, R, mask):
    """Rows of the corners of patch a that do not support: non-penetration, and rest along the ground at touchdown."""
    landing, total, soonest = 0, Vec3(0.0, 0.0, 0.0), ctl.gain[TOUCHDOWN_TIME]
    for j in range(patches.corners[a]):
        if not mask & (1 << j):
            p, gap = corner_point(patches, a, j, R)
            time = non_penetration_row(T, W, ctl, qp, first, second, link, p, R.z, gap)
            if time < ctl.gain[TOUCHDOWN_TIME]:
                landing, total, soonest = landing + 1, total + p, min(soonest, time)
    if landing > 0:
        touchdown_rows(T, W, ctl, qp, first, second, (1.0 / landing) * total, R, soonest)


@kernel
def non_penetration_row(T, W, ctl, qp, first, second, link, p, normal, gap):
    """Row for a corner without contact: landing if contact is required, else non-penetration.

    A corner that lands later keeps clear of the ground, over which it would slide. Returns the time to touchdown of a required corner [s].
    """
    v2, a2, _, _ = point_motion(T, W, second, p)
    v1, a1, _, _ = point_motion(T, W, first, p)
    speed, bias = normal @ (v2 - v1), normal @ (a2 - a1)
    mode = CONTACT_ALLOWED if link < 0 else CONTACT_FORBIDDEN if abs(normal.z) < WALL_COSINE else contact_mode(T, W, ctl, link, p)
    if mode == CONTACT_REQUIRED:
        duration, fastest = ctl.gain[TOUCHDOWN_TIME], ctl.gain[TOUCHDOWN_SPEED]
        desired = (-min(max(gap / duration, MIN_TOUCHDOWN_SHARE * fastest), fastest) - speed) / duration
        relative_point_row(T, W, qp, EQUALITY, first, second, p, normal, desired - bias, 1.0 / ctl.gain[TOUCHDOWN_WEIGHT])
        return gap / max(-speed, 1e-9)
    horizon = ctl.gain[PENETRATION_HORIZON]
    braking = BRAKE_TO_AVOID if mode <= CONTACT_EARLY else BRAKE_TO_TOUCH
    bound = min(-braking * (gap + horizon * speed) / (horizon * horizon), 200.0)
    # Soft: the edge of a foot next to the joint of toes in stance can hardly keep clear
    compliance = 1.0 / ctl.gain[TOUCHDOWN_WEIGHT] if mode <= CONTACT_EARLY else 1e-6
    relative_point_row(T, W, qp, INEQUALITY, first, second, p, normal, bound - bias, compliance)
    return 1e300


@kernel
def touchdown_rows(T, W, ctl, qp, first, second, p, R, time):
    """Rows for a touchdown at p in so many seconds: no tangential motion by then, since a light contact has little friction."""
    v2, a2, w2, alpha2 = point_motion(T, W, second, p)
    v1, a1, w1, alpha1 = point_motion(T, W, first, p)
    rate, compliance = 1.0 / max(time, 0.5 * ctl.gain[TOUCHDOWN_TIME]), 1.0 / ctl.gain[TOUCHDOWN_WEIGHT]
    desired, angular = -rate * (v2 - v1) - (a2 - a1), -rate * (w2 - w1) - (alpha2 - alpha1)
    relative_point_row(T, W, qp, EQUALITY, first, second, p, R.x, R.x @ desired, compliance)
    relative_point_row(T, W, qp, EQUALITY, first, second, p, R.y, R.y @ desired, compliance)
    relative_angular_row(T, W, qp, first, second, R.z, R.z @ angular, compliance / (FOOT_ROTATION_LENGTH * FOOT_ROTATION_LENGTH))


@kernel
def stance_rows(T, W, ctl, qp, first, second, p, R, edge, corners, gap):
    """Rows that keep a support in place: a point, a line along ``edge``, or a face; a remaining gap closes."""
    v2, a2, w2, alpha2 = point_motion(T, W, second, p)
    v1, a1, w1, alpha1 = point_motion(T, W, first, p)
    v, a, w, alpha = v2 - v1, a2 - a1, w2 - w1, alpha2 - alpha1
    kd = ctl.gain[STANCE_DAMPING]
    desired, compliance = -kd * v - a, 1.0 / ctl.gain[STANCE_WEIGHT]  # soft: nearly redundant rows of two soles would be inconsistent
    relative_point_row(T, W, qp, EQUALITY, first, second, p, R.x, R.x @ desired, compliance)
    relative_point_row(T, W, qp, EQUALITY, first, second, p, R.y, R.y @ desired, compliance)
    relative_point_row(T, W, qp, EQUALITY, first, second, p, R.z, R.z @ desired - kd * gap / SETTLING_TIME, compliance)
    if corners > 1:
        angular = -kd * w - alpha
        compliance /= FOOT_ROTATION_LENGTH * FOOT_ROTATION_LENGTH
        relative_angular_row(T, W, qp, first, second, R.z, R.z @ angular, compliance)
        if corners > 2:
            relative_angular_row(T, W, qp, first, second, R.x, R.x @ angular, compliance)
            relative_angular_row(T, W, qp, first, second, R.y, R.y @ angular, compliance)
        else:
            lateral = cross(R.z, edge)
            relative_angular_row(T, W, qp, first, second, lateral, lateral @ angular, compliance)
