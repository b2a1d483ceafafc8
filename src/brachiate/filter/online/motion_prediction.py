"""Prediction of the reference from its own history, for cyclic motion (walking, running, dancing).

The past frame nearest to the present one is searched for by its feature vector, and the frames that followed it, transformed to the present
position and heading, extend the reference window as if they were known. The search is repeated for every plan.
"""

from __future__ import annotations

import numpy as np

from brachiate.compiled import Key, entry, index, kernel
from brachiate.filter.online.contact_estimator import open_estimator, update_stances
from brachiate.filter.schedule.arrays import MAX_CORNERS, NEVER, open_window
from brachiate.filter.schedule.leg_force_limits import copy_force_limits
from brachiate.spatial import Vec3, conjugate, put_vec3, quaternion_at, vec3

MAX_FEATURE_DISTANCE = 0.09  # RMS difference of feature vectors, beyond which nothing is predicted
MIN_HISTORY = 0.5  # [s] age of the frames that are searched


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
def yaw_rotated(c, s, x):
    """Vector rotated about the vertical by the angle with cosine c and sine s."""
    return Vec3(c * x.x - s * x.y, s * x.x + c * x.y, x.z)


@kernel
def predict_frame(window, est, p, k, i):
    """Frame k + i ← frame p + i, transformed by the horizontal translation and yaw from the body at frame p to that at frame k."""
    m, nq, new, old = window.leg.shape[0], est.q.shape[0], k + i, p + i
    l = est.phase_time.shape[0]
    rotation = quaternion_at(window.q, k * nq + 3) @ conjugate(quaternion_at(window.q, p * nq + 3))
    half = np.arctan2(rotation.z, rotation.w)
    c, s = np.cos(2.0 * half), np.sin(2.0 * half)
    origin = Vec3(window.q[p * nq], window.q[p * nq + 1], 0.0)
    target = Vec3(window.q[k * nq], window.q[k * nq + 1], 0.0)
    put_vec3(window.com, new, target + yaw_rotated(c, s, vec3(window.com, old) - origin))
    put_vec3(window.com_velocity, new, yaw_rotated(c, s, vec3(window.com_velocity, old)))
    put_vec3(window.com_acceleration, new, yaw_rotated(c, s, vec3(window.com_acceleration, old)))
    put_vec3(window.angular_momentum, new, yaw_rotated(c, s, vec3(window.angular_momentum, old)))
    put_vec3(window.angular_momentum_rate, new, yaw_rotated(c, s, vec3(window.angular_momentum_rate, old)))
    put_vec3(window.orientation_offset, new, Vec3(0.0, 0.0, 0.0))
    window.height_slack[new], window.long_flight[new] = window.height_slack[old], window.long_flight[old]
    a, b, d = window.locked_inertia[old, 0, 0], window.locked_inertia[old, 0, 1], window.locked_inertia[old, 1, 1]
    off_axis = yaw_rotated(c, s, Vec3(window.locked_inertia[old, 0, 2], window.locked_inertia[old, 1, 2], 0.0))
    window.locked_inertia[new, 0, 0] = c * c * a - 2.0 * c * s * b + s * s * d
    window.locked_inertia[new, 1, 1] = s * s * a + 2.0 * c * s * b + c * c * d
    window.locked_inertia[new, 0, 1] = window.locked_inertia[new, 1, 0] = c * s * (a - d) + (c * c - s * s) * b
    window.locked_inertia[new, 0, 2] = window.locked_inertia[new, 2, 0] = off_axis.x
    window.locked_inertia[new, 1, 2] = window.locked_inertia[new, 2, 1] = off_axis.y
    window.locked_inertia[new, 2, 2] = window.locked_inertia[old, 2, 2]
    for n in range(m):
        window.contact_mask[new * m + n] = window.contact_mask[old * m + n]
        window.upcoming_mask[new * m + n] = window.upcoming_mask[old * m + n]
        for j in range(window.corner_count[n]):
            to, source = MAX_CORNERS * (new * m + n) + j, MAX_CORNERS * (old * m + n) + j
            put_vec3(window.corner_positions, to, target + yaw_rotated(c, s, vec3(window.corner_positions, source) - origin))
    if window.max_vertical_force.shape[0] > 0:
        copy_force_limits(window, l, new, old, target - yaw_rotated(c, s, origin), c, s)
    for leg in range(l):
        window.in_contact[new * l + leg] = window.in_contact[old * l + leg]
        put_vec3(window.foot_offset, new * l + leg, yaw_rotated(c, s, vec3(window.foot_offset, old * l + leg)))
        put_vec3(window.foot_offset_rate, new * l + leg, yaw_rotated(c, s, vec3(window.foot_offset_rate, old * l + leg)))


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
    p = nearest_frame(est, k, k - int(MIN_HISTORY / dt))
    if p < 0:
        note_flights(window, tracked)
        return p
    for leg in range(l):
        est.saved_phase[leg] = est.phase_time[leg]
    for i in range(1, min(max_frames, k - p, window.height_slack.shape[0] - k - 1) + 1):
        predict_frame(window, est, p, k, i)
        update_stances(window, est, k + i, dt, lookahead)
        window.frame_count[0] = k + i + 1
    for leg in range(l):
        est.phase_time[leg] = est.saved_phase[leg]
    note_flights(window, tracked)
    return p
