"""Causal smoothing of incoming reference frames, with online estimation of contacts, floor height and footholds.

Every coordinate is smoothed by a third-order (α-β-γ) tracking filter, which has no lag at constant acceleration and yields velocities and
accelerations. Sole corners that are low and slow are in contact, with hysteresis and debouncing. Floor height, rest heights of the sole
corners and footholds are estimated on the way; frames of the past are corrected when more is known.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from brachiate.compiled import Floats, Ints, Key, Rows3, entry, kernel, struct_opener
from brachiate.contact_estimation.contact_detector import update_contact
from brachiate.dynamics.momentum import center_of_mass, momentum_about
from brachiate.filter.schedule.arrays import MAX_CORNERS, NEVER, open_window
from brachiate.filter.schedule.centroidal_trajectory import put_locked_inertia
from brachiate.filter.schedule.leg_force_limits import compute_frame_force_limits, open_actuators
from brachiate.kinematics import body_inertias, body_velocities, finite, forward_kinematics, tree_origin, valid_state
from brachiate.manifold import configuration_difference, integrate_configuration, normalize_quaternions
from brachiate.model.arrays import open_model
from brachiate.model.joints import BALL, FLOAT
from brachiate.model.status import NOT_FINITE, OK
from brachiate.spatial import Vec3, motion, norm, put_vec3, quaternion_at, rotation, rotation_of, unrotate, vec3, velocity_at

SPEED_ON, CONTACT_SPEED_SLOPE = 0.45, 0.1  # [m/s], [1] largest speed of a corner in contact, and its increase with CoM speed
HEIGHT_ON, HEIGHT_OFF = 0.02, 0.03  # [m] above its rest height a corner makes contact below the first, loses it above the second
FLOOR_CLEARANCE, TOUCHDOWN_SPEED_FACTOR = 0.008, 2.0  # [m], [1] a landing corner this close to the floor may be faster by this factor
SPEED_OFF_FACTOR = 1.1  # hysteresis of the speed limit
REST_MAX_SPEED = 0.2  # [m/s] slower corners show where the floor is
FLOOR_TIME_CONSTANT, REST_HEIGHT_TIME_CONSTANT = 0.5, 0.2  # [s] of the estimates of floor height and rest heights of corners
REST_HEIGHT_MAX = 0.05  # [m] of a corner of a resting foot above the floor
APPROACH_HEIGHT = 0.08  # [m] a descending foot below it may land soon
APPROACH_DELAY = 0.08  # [s] after lift-off
LOAD_TRANSFER_TIME = 0.04  # [s] in which body weight shifts between legs
FEATURE_TIME_SCALE = 0.1  # [s] factor of velocities relative to angles in the feature vector of a frame
TOUCHDOWN_DEBOUNCE, LIFTOFF_DEBOUNCE = 0.024, 0.016  # [s] for which a contact change must persist
EARLY_LIFTOFF_DEBOUNCE = 0.06  # [s] likewise shortly after touchdown
STATIONARY_MAX_SPEED = 0.15  # [m/s] slower corners are at their foothold
FOOTHOLD_SETTLE_TIME = 0.15  # [s] after touchdown, when the foothold is known
OFFSET_DECAY_TIME = 0.06  # [s] in which the foot offset decays after lift-off
ROOT_MAX_ACCELERATION, JOINT_MAX_ACCELERATION = 20.0, 200.0  # [m/s²], [rad/s²] of human motion
MAX_JUMP = 1.0  # [m or rad] difference from the predicted frame, beyond which a frame is rejected


class EstimatorArrays(NamedTuple):
    """State of the estimator. Sizes: nq, nv of the figure, m soles, l legs, f frames, nf features."""

    gain: Floats  # (3,) α, β, γ: corrections of position, velocity and acceleration per prediction error
    q: Floats  # (nq,) smoothed configuration
    v: Floats  # (nv,)
    a: Floats  # (nv,)
    frame: Floats  # (nq,) incoming frame
    error: Floats  # (nv,) prediction error
    predicted_q: Floats  # (nq,)
    sole_body: Ints  # (m,)
    corner: Rows3  # (8 m, 3) [m] corners of soles in their bodies
    corner_contact: Ints  # (8 m,) contact flags of corners
    rest_height: Floats  # (8 m,) [m] height of a corner above the floor when the foot is at rest
    hip: Ints  # (m,) body at the hip of the leg, -1 if the sole does not lead
    leg_length: Floats  # (m,) [m]
    foothold: Rows3  # (8 m, 3) [m] present or last foothold of corners
    foothold_time: Floats  # (8 m,) [s] over which it was averaged
    phase_time: Floats  # (l,) [s] since touchdown or lift-off
    leg_load: Floats  # (l,) low-pass filtered stance flag
    phase_changed: Ints  # (l,) whether touchdown or lift-off is in this frame
    pending_frames: Ints  # (l,) frames for which the detected contact has differed from the debounced one
    raw_contact_mask: Ints  # (f m,) corners in contact before debouncing
    sole_height: Floats  # (m,) [m] of the lowest corner above its rest height
    sole_velocity: Floats  # (m,) [m/s] of this corner, upward
    floor_height: Floats  # (1,) [m] estimated floor of the reference
    ground_height: Floats  # (1,) [m] ground of the simulation
    last_com_velocity: Floats  # (3,) [m/s]
    last_angular_momentum: Floats  # (3,) [N·m·s]
    members: Ints  # (nb,) bodies of the figure
    known_frames: Ints  # (1,) received frames; later ones of the window are predicted
    first_valid_frame: Ints  # (1,) first frame after the transient of the smoothing
    known_stances: Ints  # (l,) stances of the received frames
    saved_phase: Floats  # (3 l,) phase_time, leg_load and pending_frames during a prediction
    feature: Floats  # (f nf,) feature vectors of frames, for the nearest-frame search
    feature_size: Ints  # (1,) nf
    jump_coordinate: Ints  # (1,) coordinate that jumps in a rejected frame; -1 for none


open_estimator = struct_opener(EstimatorArrays)


@kernel
def track_frame(T, est, dt, first):
    """Smooth the incoming frame by an α-β-γ filter: est.q, est.v, est.a. Returns the coordinate of a jump, or -1."""
    n = est.v.shape[0]
    if first:
        for i in range(est.q.shape[0]):
            est.q[i] = est.frame[i]
        for k in range(n):
            est.v[k] = est.a[k] = 0.0
        return -1
    for k in range(n):
        est.error[k] = est.v[k] + 0.5 * dt * est.a[k]
    integrate_configuration(T, est.q, est.error, dt, est.predicted_q)
    configuration_difference(T, est.predicted_q, est.frame, est.error)
    for k in range(n):
        if not abs(est.error[k]) < MAX_JUMP:
            return k
    integrate_configuration(T, est.predicted_q, est.error, est.gain[0], est.q)
    for k in range(n):
        est.v[k] += dt * est.a[k] + est.gain[1] / dt * est.error[k]
        limit = ROOT_MAX_ACCELERATION if k < 3 else JOINT_MAX_ACCELERATION
        est.a[k] = min(max(est.a[k] + est.gain[2] / (dt * dt) * est.error[k], -limit), limit)
    return -1


@kernel
def store_feature(T, est, f):
    """Feature vector of frame f: joint coordinates, velocities, tilt and height of the root; not its horizontal position and heading."""
    n = est.feature_size[0]
    at = f * n
    for e in range(T.kind.shape[0]):
        j = T.q_at[e]
        if T.kind[e] < BALL:
            est.feature[at] = est.q[j]
            at += 1
            continue
        if T.kind[e] == FLOAT:
            up = unrotate(rotation_of(quaternion_at(est.q, j + 3)), Vec3(0.0, 0.0, 1.0))
            est.feature[at], est.feature[at + 1], est.feature[at + 2], est.feature[at + 3] = up.x, up.y, up.z, est.q[j + 2]
        else:
            r = quaternion_at(est.q, j)
            s = 2.0 if r.w >= 0.0 else -2.0  # small rotations give angles
            est.feature[at], est.feature[at + 1], est.feature[at + 2], est.feature[at + 3] = s * r.w, s * r.x, s * r.y, s * r.z
        at += 4
    for k in range(est.v.shape[0]):
        est.feature[at + k] = FEATURE_TIME_SCALE * est.v[k]


@kernel
def corner_state(T, W, est, c):
    """Position and velocity of corner c, world axes."""
    i = est.sole_body[c // MAX_CORNERS]
    r = vec3(W.x, i) + rotation(W.R, i) @ vec3(est.corner, c)
    return tree_origin(T, W, i) + r, velocity_at(motion(W.V, i), r)


@kernel
def estimate_floor(T, W, window, est, dt, first):
    """est.floor_height ← low-pass filtered height of the lowest corner, while it is at rest."""
    lowest, at_rest = 1e300, False
    for n in range(window.leg.shape[0]):
        for j in range(window.corner_count[n]):
            p, v = corner_state(T, W, est, MAX_CORNERS * n + j)
            if p.z < lowest:
                lowest, at_rest = p.z, norm(v) < REST_MAX_SPEED
    if first:
        est.floor_height[0] = lowest
    elif at_rest and abs(lowest - est.floor_height[0]) < HEIGHT_OFF:
        est.floor_height[0] += dt / FLOOR_TIME_CONSTANT * (lowest - est.floor_height[0])


@kernel
def detect_contacts(T, W, window, est, f, dt, com_speed):
    """Contact masks of frame f by height and speed of the sole corners, with hysteresis, and debounced stance flags of the legs."""
    m, l = window.leg.shape[0], est.phase_time.shape[0]
    for leg in range(l):
        window.in_contact[f * l + leg] = 0
    max_speed = SPEED_ON + CONTACT_SPEED_SLOPE * com_speed
    for n in range(m):
        leg, mask, lowest, vertical_speed = window.leg[n], 0, 1e300, 0.0
        in_stance = f > 0 and window.in_contact[(f - 1) * l + leg] == 1
        for j in range(window.corner_count[n]):
            c = MAX_CORNERS * n + j
            p, v = corner_state(T, W, est, c)
            above_floor, speed = p.z - est.floor_height[0], norm(v)
            if in_stance and speed < STATIONARY_MAX_SPEED and abs(above_floor) < REST_HEIGHT_MAX:
                est.rest_height[c] += dt / REST_HEIGHT_TIME_CONSTANT * (above_floor - est.rest_height[c])
            height = above_floor - est.rest_height[c]
            # A corner that lands on the floor may still be fast; one that leaves it may not
            landing = height < FLOOR_CLEARANCE and (not in_stance or est.phase_time[leg] < FOOTHOLD_SETTLE_TIME)
            limit = TOUCHDOWN_SPEED_FACTOR * max_speed if landing else max_speed
            est.corner_contact[c] = update_contact(
                est.corner_contact[c], height, speed, v.z, HEIGHT_ON, HEIGHT_OFF, limit, SPEED_OFF_FACTOR * limit, REST_MAX_SPEED
            )
            if est.corner_contact[c]:
                mask |= 1 << j
            if height < lowest:
                lowest, vertical_speed = height, v.z
            put_vec3(window.corner_positions, MAX_CORNERS * (f * m + n) + j, Vec3(p.x, p.y, est.ground_height[0]))
        window.contact_mask[f * m + n] = window.upcoming_mask[f * m + n] = mask
        est.sole_height[n], est.sole_velocity[n] = lowest, vertical_speed
        if mask:
            window.in_contact[f * l + leg] = 1
    for leg in range(l):
        debounce_stance(window, est, f, leg, dt)


@kernel
def debounce_stance(window, est, f, leg, dt):
    """Debounced stance flag of a leg: a change counts only after it has persisted, so that a foot that grazes the floor is no stance."""
    m, l = window.leg.shape[0], est.phase_time.shape[0]
    detected, before = window.in_contact[f * l + leg], window.in_contact[(f - 1) * l + leg] if f > 0 else window.in_contact[leg]
    est.pending_frames[leg] = 0 if detected == before else est.pending_frames[leg] + 1
    # A foot that has just landed does not lift off at once: captured feet bounce as they land
    settled = est.phase_time[leg] > FOOTHOLD_SETTLE_TIME
    debounce = TOUCHDOWN_DEBOUNCE if detected else LIFTOFF_DEBOUNCE if settled else EARLY_LIFTOFF_DEBOUNCE
    stance = detected if est.pending_frames[leg] * dt > debounce else before
    window.in_contact[f * l + leg] = stance
    for n in range(m):
        if window.leg[n] == leg:
            est.raw_contact_mask[f * m + n] = window.contact_mask[f * m + n]
            if stance and not detected:
                window.contact_mask[f * m + n] = window.upcoming_mask[f * m + n] = window.contact_mask[(f - 1) * m + n]
            elif not stance:
                window.contact_mask[f * m + n] = window.upcoming_mask[f * m + n] = 0
                descending = est.sole_height[n] < APPROACH_HEIGHT and est.sole_velocity[n] < 0.0 and est.phase_time[leg] > APPROACH_DELAY
                if detected or descending:
                    window.upcoming_mask[f * m + n] = (1 << window.corner_count[n]) - 1


@kernel
def backdate_change(window, est, f, leg, stance):
    """Correct the frames between the detection of a contact change and its debounced confirmation. Returns the frame of the detection."""
    m, l = window.leg.shape[0], est.phase_time.shape[0]
    first = max(f - max(est.pending_frames[leg] - 1, 0), 0)
    for i in range(first, f):
        window.in_contact[i * l + leg] = stance
        for n in range(m):
            if window.leg[n] == leg:
                window.contact_mask[i * m + n] = window.upcoming_mask[i * m + n] = est.raw_contact_mask[i * m + n] if stance else 0
    est.pending_frames[leg] = 0
    return first


@kernel
def update_stances(window, est, f, dt, lookahead):
    """Stance list, stance indices, times to landing and load shares of frame f, and of earlier frames as far as they are known by now."""
    m, l = window.leg.shape[0], est.phase_time.shape[0]
    capacity, total = window.stance_frames.shape[0] // l, 0.0
    for leg in range(l):
        at = f * l + leg
        stance, before, first = window.in_contact[at], window.in_contact[at - l] if f > 0 else -1, f
        n = window.stance_count[leg]
        est.phase_changed[leg] = 1 if stance != before else 0
        if stance != before:
            if f > 0:
                first = backdate_change(window, est, f, leg, stance)
            est.phase_time[leg] = (f - first) * dt if f > 0 else NEVER
            if stance or f == 0:
                n = min(n, capacity - 1)  # a trembling foot does not exceed the stance list
                window.stance_frames[leg * capacity + n, 0] = first if stance else -1
                window.stance_frames[leg * capacity + n, 1] = f + stance
                n += 1
                window.stance_count[leg] = n
            if not stance and n > 0:  # a predicted stance may have lasted longer
                window.stance_frames[leg * capacity + n - 1, 1] = first
            if stance and f > 0:  # the time of this landing is now known for the swing before it
                for i in range(first - 1, -1, -1):
                    if window.in_contact[i * l + leg]:
                        break
                    window.time_to_landing[i * l + leg] = (first - i) * dt
        est.phase_time[leg] += dt
        if stance:
            window.stance_frames[leg * capacity + n - 1, 1] = f + 1
        for i in range(first, f + 1):
            window.stance_index[i * l + leg], window.next_stance_index[i * l + leg] = n - 1, n - 1 if stance else n
        for i in range(first, f):
            window.time_to_landing[i * l + leg] = 0.0 if stance else NEVER
        predicted = max(window.time_to_landing[at], dt) if f < window.frame_count[0] else NEVER
        window.time_to_landing[at] = 0.0 if stance else predicted
        est.leg_load[leg] += (1.0 if f == 0 else min(1.0, dt / LOAD_TRANSFER_TIME)) * (stance - est.leg_load[leg])
        total += est.leg_load[leg] + 1e-3
    for leg in range(l):
        window.load_share[f * l + leg] = (est.leg_load[leg] + 1e-3) / total
    for n in range(m):
        mask = window.contact_mask[f * m + n]
        for i in range(max(f - lookahead, 0), f):
            if window.contact_mask[i * m + n]:
                window.upcoming_mask[i * m + n] |= mask


@kernel
def estimate_foothold(T, W, window, est, f, leg, dt):
    """Foothold of a leg: mean position of its corners while they are stationary. window.foot_offset ← from the frame to the foothold."""
    m, l = window.leg.shape[0], est.phase_time.shape[0]
    at = f * l + leg
    offset = vec3(window.foot_offset, at - l) if f > 0 else Vec3(0.0, 0.0, 0.0)
    if not window.in_contact[at]:
        if f >= window.frame_count[0]:  # otherwise as predicted
            put_vec3(window.foot_offset, at, (1.0 - dt / OFFSET_DECAY_TIME) * offset)
            put_vec3(window.foot_offset_rate, at, (-1.0 / OFFSET_DECAY_TIME) * offset)
        return
    touchdown, count, displacement = est.phase_changed[leg] == 1, 0, Vec3(0.0, 0.0, 0.0)
    for n in range(m):
        if window.leg[n] != leg:
            continue
        for j in range(window.corner_count[n]):
            c = MAX_CORNERS * n + j
            p, v = corner_state(T, W, est, c)
            position = Vec3(p.x, p.y, est.ground_height[0])
            if touchdown:
                put_vec3(est.foothold, c, position + offset)
                est.foothold_time[c] = 0.0
            if norm(v) < STATIONARY_MAX_SPEED:
                est.foothold_time[c] += dt
                put_vec3(est.foothold, c, vec3(est.foothold, c) + (dt / est.foothold_time[c]) * (position - vec3(est.foothold, c)))
            if (window.contact_mask[f * m + n] >> j) & 1:
                displacement, count = displacement + vec3(est.foothold, c) - position, count + 1
    put_vec3(window.foot_offset, at, (1.0 / max(count, 1)) * displacement)
    put_vec3(window.foot_offset_rate, at, Vec3(0.0, 0.0, 0.0))


@kernel
def correct_past_frames(window, est, f, leg, dt):
    """Foot offsets of the last stance of a leg and of the swing before it, now that its foothold is known."""
    m, l = window.leg.shape[0], est.phase_time.shape[0]
    capacity, n = window.stance_frames.shape[0] // l, window.stance_count[leg]
    if n < 1 or window.stance_frames[leg * capacity + n - 1, 0] < 0:
        return
    start, end = window.stance_frames[leg * capacity + n - 1, 0], window.stance_frames[leg * capacity + n - 1, 1]
    for i in range(start, end):
        count, displacement = 0, Vec3(0.0, 0.0, 0.0)
        for s in range(m):
            if window.leg[s] == leg:
                for j in range(window.corner_count[s]):
                    if (window.contact_mask[i * m + s] >> j) & 1:
                        c, at = MAX_CORNERS * s + j, MAX_CORNERS * (i * m + s) + j
                        displacement = displacement + vec3(est.foothold, c) - vec3(window.corner_positions, at)
                        count += 1
        put_vec3(window.foot_offset, i * l + leg, (1.0 / max(count, 1)) * displacement)
    liftoff = max(window.stance_frames[leg * capacity + n - 2, 1], 1) if n > 1 else 1
    first, last = vec3(window.foot_offset, (liftoff - 1) * l + leg), vec3(window.foot_offset, start * l + leg)
    for i in range(liftoff, start):
        x = (i - liftoff + 1) / (start - liftoff + 1)
        blend, rate = x * x * x * (10.0 - 15.0 * x + 6.0 * x * x), 30.0 * x * x * (1.0 - x) ** 2 / ((start - liftoff + 1) * dt)
        put_vec3(window.foot_offset, i * l + leg, (1.0 - blend) * first + blend * last)
        put_vec3(window.foot_offset_rate, i * l + leg, rate * (last - first))


@kernel
def leg_extension_slack(T, W, window, est, f):
    """window.height_slack ← possible rise of the hips until a stance leg is straight [m]."""
    l = est.phase_time.shape[0]
    window.height_slack[f] = np.inf
    for n in range(window.leg.shape[0]):
        if est.hip[n] >= 0 and window.in_contact[f * l + window.leg[n]]:
            h, i = est.hip[n], est.sole_body[n]
            leg = tree_origin(T, W, h) + vec3(W.x, h) - tree_origin(T, W, i) - vec3(W.x, i)
            height2 = est.leg_length[n] ** 2 - leg.x * leg.x - leg.y * leg.y
            window.height_slack[f] = min(window.height_slack[f], max((max(height2, 0.0)) ** 0.5 - leg.z, 0.0))


@kernel
def store_centroidal(T, W, window, est, f, dt, rise):
    """CoM, angular momentum, their rates and locked inertia of frame f, moved up by ``rise``. Returns the unmoved CoM and its velocity."""
    mass, com = center_of_mass(T, W, est.members)
    h = momentum_about(T, W, est.members, com)
    L, velocity = h.n, (1.0 / mass) * h.f
    put_vec3(window.com, f, Vec3(com.x, com.y, com.z + rise))
    put_vec3(window.com_velocity, f, velocity)
    put_vec3(window.angular_momentum, f, L)
    put_locked_inertia(T, W, est.members, com, window.locked_inertia, f)
    put_vec3(window.orientation_offset, f, Vec3(0.0, 0.0, 0.0))
    for i, (v, momentum) in enumerate(((velocity.x, L.x), (velocity.y, L.y), (velocity.z, L.z))):
        window.com_acceleration[f, i] = 0.0 if f == 0 else (v - est.last_com_velocity[i]) / dt
        window.angular_momentum_rate[f, i] = 0.0 if f == 0 else (momentum - est.last_angular_momentum[i]) / dt
        est.last_com_velocity[i], est.last_angular_momentum[i] = v, momentum
    return com, velocity


@kernel
def store_state(window, est, f, rise):
    """Configuration, velocity and acceleration of frame f."""
    nq, nv = est.q.shape[0], est.v.shape[0]
    for i in range(nq):
        window.q[f * nq + i] = est.q[i]
    window.q[f * nq + 2] += rise
    for k in range(nv):
        window.v[f * nv + k], window.a[f * nv + k] = est.v[k], est.a[k]


@entry
def process_frame(data_key: Key, window_key: Key, estimator_key: Key, actuators_key: Key, lookahead: int):
    """Take in est.frame as the last known frame of the window; a frame with a jump is rejected (est.jump_coordinate)."""
    T, W = open_model(data_key)
    (window,) = open_window(window_key)
    (est,) = open_estimator(estimator_key)
    (actuators,) = open_actuators(actuators_key)
    f, dt, l = est.known_frames[0], window.dt[0], est.phase_time.shape[0]
    normalize_quaternions(T, est.frame)
    est.jump_coordinate[0] = track_frame(T, est, dt, f == 0)
    if est.jump_coordinate[0] >= 0:
        return OK
    for leg in range(l):
        window.stance_count[leg] = est.known_stances[leg]
    for i in range(est.q.shape[0]):
        W.q[i] = est.q[i]
    for k in range(est.v.shape[0]):
        W.v[k] = est.v[k]
    if not (valid_state(T, W.q, W.v) and finite(est.a)):
        return NOT_FINITE
    forward_kinematics(T, W)
    body_inertias(T, W)
    body_velocities(T, W)
    estimate_floor(T, W, window, est, dt, f == 0)
    rise = est.ground_height[0] - est.floor_height[0]
    com, velocity = store_centroidal(T, W, window, est, f, dt, rise)
    detect_contacts(T, W, window, est, f, dt, norm(velocity))
    update_stances(window, est, f, dt, lookahead)
    leg_extension_slack(T, W, window, est, f)
    if window.max_vertical_force.shape[0] > 0:
        compute_frame_force_limits(T, W, actuators, window, f, l, com)
    for leg in range(l):
        estimate_foothold(T, W, window, est, f, leg, dt)
        age, stance = est.phase_time[leg], window.in_contact[f * l + leg]
        if (stance and age - dt < FOOTHOLD_SETTLE_TIME <= age) or (not stance and est.phase_changed[leg]):
            correct_past_frames(window, est, f, leg, dt)
    window.long_flight[f] = 0
    store_state(window, est, f, rise)
    store_feature(T, est, f)
    for leg in range(l):
        est.known_stances[leg] = window.stance_count[leg]
    est.known_frames[0] = f + 1
    window.frame_count[0] = max(window.frame_count[0], f + 1)
    return OK
