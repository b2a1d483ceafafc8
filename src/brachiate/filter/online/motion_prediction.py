"""Prediction of the reference from its own history, for cyclic motion (walking, running, dancing).

The past frame nearest to the present one is searched for by its feature vector, and the frames that followed it, transformed to the present
position and heading, extend the reference window as if they were known. If none is near, a past frame is searched for that is near when
seen in a mirror, as the steps of both legs are alike: half a cycle of history is enough. The search is repeated for every plan.
"""

from __future__ import annotations

from brachiate.centroidal.problem import MAX_MOTORS
from brachiate.compiled import Key, entry, index, kernel
from brachiate.filter.online.contact_estimator import open_estimator, update_stances
from brachiate.filter.schedule.arrays import MAX_CORNERS, NEVER, open_window
from brachiate.filter.schedule.leg_force_limits import copy_force_limits
from brachiate.spatial import Vec3, put_vec3, quaternion_at, vec3

MAX_FEATURE_DISTANCE = 0.09  # RMS difference of feature vectors, beyond which nothing is predicted
MIN_HISTORY = 0.5  # [s] age of the frames that are searched
MAX_MIRRORED_DISTANCE = 0.5  # RMS difference from a mirrored frame, by these scales, beyond which nothing is predicted
VELOCITY_SCALE, POSITION_SCALE = 0.3, 0.06  # [m/s], [m]
MIN_MIRRORED_HISTORY = 0.2  # [s] age of these frames: half a cycle of a run


@kernel
def nearest_frame(est, k, end):
    """Frame before ``end`` whose feature vector is nearest to that of frame k; -1 if none is near."""
    n, best, found = est.feature_size[0], MAX_FEATURE_DISTANCE * MAX_FEATURE_DISTANCE * est.feature_size[0], -1
    for p in range(max(est.first_valid_frame[0], 0), end):
        distance2 = 0.0
        for i in range(n):
            x = est.feature[index(p * n + i)] - est.feature[index(k * n + i)]
            distance2 += x * x
        if distance2 < best:
            best, found = distance2, p
    return found


@kernel
def heading(window, est, k):
    """Cosine and sine of the yaw of the body in frame k."""
    r = quaternion_at(window.q, k * est.q.shape[0] + 3)
    size = max(r.w * r.w + r.z * r.z, 1e-12)
    return (r.w * r.w - r.z * r.z) / size, 2.0 * r.w * r.z / size


@kernel
def moved(c, s, side, x):
    """Vector rotated about the vertical by the angle with cosine c and sine s; with side -1, reflected in its plane x z before."""
    return Vec3(c * x.x - side * s * x.y, s * x.x + side * c * x.y, x.z)


@kernel
def partner(window, n):
    """Sole of the other foot that corresponds to sole n; -1 if there is none."""
    found = -1
    for s in range(window.leg.shape[0]):
        same = window.swings[s] == window.swings[n] and window.corner_count[s] == window.corner_count[n]
        if window.leg[s] != window.leg[n] and same:
            found = s
    return found


@kernel
def can_mirror(window, est):
    """Whether the figure has two feet alike."""
    found = est.phase_time.shape[0] == 2
    for n in range(window.leg.shape[0]):
        found = found and partner(window, n) >= 0
    return found


@kernel
def mirrored_distance2(window, est, p, k):
    """Squared difference of frame k from frame p seen in a mirror: velocity and height of the CoM, and the feet relative to it."""
    m, l = window.leg.shape[0], est.phase_time.shape[0]
    cp, sp = heading(window, est, p)
    ck, sk = heading(window, est, k)
    c, s = ck * cp - sk * sp, sk * cp + ck * sp  # of the sum of both yaws
    d = (1.0 / VELOCITY_SCALE) * (vec3(window.com_velocity, k) - moved(c, s, -1.0, vec3(window.com_velocity, p)))
    height = (window.com[k, 2] - window.com[p, 2]) / POSITION_SCALE
    total, count = d @ d + height * height, 4
    for n in range(m):
        if window.swings[n] == 0:
            continue
        other, feet, seen = partner(window, n), Vec3(0.0, 0.0, 0.0), Vec3(0.0, 0.0, 0.0)
        part = 1.0 / (window.corner_count[n] * POSITION_SCALE)
        for j in range(window.corner_count[n]):
            feet = feet + part * (vec3(window.corner_positions, MAX_CORNERS * (k * m + n) + j) - vec3(window.com, k))
            seen = seen + part * (vec3(window.corner_positions, MAX_CORNERS * (p * m + other) + j) - vec3(window.com, p))
        d = feet - moved(c, s, -1.0, seen)
        total += d @ d
        count += 3
        if window.in_contact[k * l + window.leg[n]] != window.in_contact[p * l + window.leg[other]]:
            total += 1.0
    return total / count


@kernel
def nearest_mirrored(window, est, k, end):
    """Frame before ``end`` that is nearest to frame k when it is seen in a mirror; -1 if none is near."""
    best, found = MAX_MIRRORED_DISTANCE * MAX_MIRRORED_DISTANCE, -1
    if can_mirror(window, est):
        for p in range(max(est.first_valid_frame[0], 0), end):
            distance2 = mirrored_distance2(window, est, p, k)
            if distance2 < best:
                best, found = distance2, p
    return found


@kernel
def mirror_force_limits(window, to, of, shift, c, s):
    """Force limits of frame ``to`` ← those of the other leg in frame ``of``, reflected and shifted: axes of joints are axial vectors."""
    for leg in range(2):
        here, there = 2 * to + leg, 2 * of + 1 - leg
        window.max_vertical_force[here] = window.max_vertical_force[there]
        point = shift + moved(c, s, -1.0, Vec3(window.motor_point[there, 0], window.motor_point[there, 1], 0.0))
        window.motor_point[here, 0], window.motor_point[here, 1] = point.x, point.y
        for n in range(MAX_MOTORS):
            a, b = MAX_MOTORS * here + n, MAX_MOTORS * there + n
            moment = moved(c, s, -1.0, Vec3(window.motor_rows[b, 0], window.motor_rows[b, 1], window.motor_rows[b, 2]))
            axis = moved(c, s, -1.0, Vec3(window.motor_rows[b, 3], window.motor_rows[b, 4], 0.0))
            window.motor_rows[a, 0], window.motor_rows[a, 1], window.motor_rows[a, 2] = moment.x, moment.y, moment.z
            window.motor_rows[a, 3], window.motor_rows[a, 4], window.motor_rows[a, 5] = -axis.x, -axis.y, window.motor_rows[b, 5]


@kernel
def predict_frame(window, est, p, k, i, side):
    """Frame k + i ← frame p + i, transformed by the horizontal translation and yaw from the body at frame p to that at frame k.

    With side -1 the motion after frame p is seen in a mirror: the feet change places.
    """
    m, nq, new, old = window.leg.shape[0], est.q.shape[0], k + i, p + i
    l = est.phase_time.shape[0]
    cp, sp = heading(window, est, p)
    ck, sk = heading(window, est, k)
    c, s = ck * cp + side * sk * sp, sk * cp - side * ck * sp
    origin = Vec3(window.q[p * nq], window.q[p * nq + 1], 0.0)
    target = Vec3(window.q[k * nq], window.q[k * nq + 1], 0.0)
    put_vec3(window.com, new, target + moved(c, s, side, vec3(window.com, old) - origin))
    put_vec3(window.com_velocity, new, moved(c, s, side, vec3(window.com_velocity, old)))
    put_vec3(window.com_acceleration, new, moved(c, s, side, vec3(window.com_acceleration, old)))
    put_vec3(window.angular_momentum, new, side * moved(c, s, side, vec3(window.angular_momentum, old)))
    put_vec3(window.angular_momentum_rate, new, side * moved(c, s, side, vec3(window.angular_momentum_rate, old)))
    put_vec3(window.orientation_offset, new, Vec3(0.0, 0.0, 0.0))
    window.height_slack[new], window.long_flight[new] = window.height_slack[old], window.long_flight[old]
    a, b, d = window.locked_inertia[old, 0, 0], window.locked_inertia[old, 0, 1], window.locked_inertia[old, 1, 1]
    off_axis = moved(c, s, side, Vec3(window.locked_inertia[old, 0, 2], window.locked_inertia[old, 1, 2], 0.0))
    window.locked_inertia[new, 0, 0] = c * c * a - 2.0 * side * c * s * b + s * s * d
    window.locked_inertia[new, 1, 1] = s * s * a + 2.0 * side * c * s * b + c * c * d
    window.locked_inertia[new, 0, 1] = window.locked_inertia[new, 1, 0] = c * s * (a - d) + side * (c * c - s * s) * b
    window.locked_inertia[new, 0, 2] = window.locked_inertia[new, 2, 0] = off_axis.x
    window.locked_inertia[new, 1, 2] = window.locked_inertia[new, 2, 1] = off_axis.y
    window.locked_inertia[new, 2, 2] = window.locked_inertia[old, 2, 2]
    for n in range(m):
        there = old * m + (n if side > 0.0 else partner(window, n))
        window.contact_mask[new * m + n], window.upcoming_mask[new * m + n] = window.contact_mask[there], window.upcoming_mask[there]
        for j in range(window.corner_count[n]):
            corner = vec3(window.corner_positions, MAX_CORNERS * there + j)
            put_vec3(window.corner_positions, MAX_CORNERS * (new * m + n) + j, target + moved(c, s, side, corner - origin))
    if window.max_vertical_force.shape[0] > 0:
        if side > 0.0:
            copy_force_limits(window, l, new, old, target - moved(c, s, side, origin), c, s)
        else:
            mirror_force_limits(window, new, old, target - moved(c, s, side, origin), c, s)
    for leg in range(l):
        there = old * l + (leg if side > 0.0 else 1 - leg)
        offset = moved(c, s, side, vec3(window.foot_offset, there))
        window.in_contact[new * l + leg] = window.in_contact[there]
        put_vec3(window.foot_offset, new * l + leg, Vec3(offset.x, offset.y, window.foot_offset[k * l + leg, 2]))
        put_vec3(window.foot_offset_rate, new * l + leg, moved(c, s, side, vec3(window.foot_offset_rate, there)))


@kernel
def note_flights(window, first):
    """window.flight_boundaries ← frames of lift-off into flight and of touchdown from it after a frame; those not used are before it."""
    l, count = window.in_contact.shape[0] // window.height_slack.shape[0], 0
    supported = -1
    for i in range(first, window.frame_count[0]):
        now = 0
        for leg in range(l):
            now |= window.in_contact[i * l + leg]
        if supported >= 0 and now != supported and count < window.flight_boundaries.shape[0]:
            window.flight_boundaries[count] = i
            count += 1
        supported = now
    for c in range(count, window.flight_boundaries.shape[0]):
        window.flight_boundaries[c] = -1


@entry
def predict_from_history(window_key: Key, estimator_key: Key, tracked: int, max_frames: int, lookahead: int):
    """Extend the window by at most ``max_frames`` frames that followed the nearest past frame. Returns that frame, or -1.

    Boundaries of flights are noted from frame ``tracked`` on.
    """
    (window,) = open_window(window_key)
    (est,) = open_estimator(estimator_key)
    k, dt, l = est.known_frames[0] - 1, window.dt[0], est.phase_time.shape[0]
    window.frame_count[0] = k + 1
    for leg in range(l):
        window.stance_count[leg] = est.known_stances[leg]
        if not window.in_contact[k * l + leg]:
            window.time_to_landing[k * l + leg] = NEVER
    p, side = nearest_frame(est, k, k - int(MIN_HISTORY / dt)), 1.0
    if p < 0:
        p, side = nearest_mirrored(window, est, k, k - int(MIN_MIRRORED_HISTORY / dt)), -1.0
    if p < 0:
        note_flights(window, tracked)
        return p
    for leg in range(l):
        est.saved_phase[leg] = est.phase_time[leg]
    for i in range(1, min(max_frames, k - p, window.height_slack.shape[0] - k - 1) + 1):
        predict_frame(window, est, p, k, i, side)
        update_stances(window, est, k + i, dt, lookahead)
        window.frame_count[0] = k + i + 1
    for leg in range(l):
        est.phase_time[leg] = est.saved_phase[leg]
    note_flights(window, tracked)
    return p
