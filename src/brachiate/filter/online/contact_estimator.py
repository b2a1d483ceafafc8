"""Causal smoothing of incoming reference frames, with online estimation of contacts, floor height and footholds.

Every coordinate is smoothed by a third-order (α-β-γ) tracking filter, which has no lag at constant acceleration and yields velocities and
accelerations. The contact modes of the feet are those of least cost (:mod:`.contact_modes`), decided anew for all frames that wait. Floor
height, rest heights of the sole corners and footholds are estimated on the way; frames of the past are corrected when more is known.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from brachiate.compiled import Floats, Ints, Key, Rows3, entry, kernel, struct_opener
from brachiate.dynamics.momentum import center_of_mass, momentum_about
from brachiate.filter.online.contact_modes import (
    NO_END,
    advance_modes,
    clear_ends,
    decide_modes,
    end_cost,
    frame_costs,
    heel_corners,
    put_contact_masks,
)
from brachiate.filter.online.footholds import (
    STATIONARY_MAX_SPEED,
    correct_past_frames,
    end_left_stances,
    estimate_foothold,
    mean_rest_height,
    raise_swing_feet,
    restart_foothold,
)
from brachiate.filter.online.smoothing import store_feature, track_frame
from brachiate.filter.schedule.arrays import MAX_CORNERS, NEVER, open_window
from brachiate.filter.schedule.centroidal_trajectory import put_locked_inertia
from brachiate.filter.schedule.leg_force_limits import compute_frame_force_limits, open_actuators
from brachiate.kinematics import body_inertias, body_velocities, finite, forward_kinematics, tree_origin, valid_state
from brachiate.manifold import normalize_quaternions
from brachiate.model.arrays import open_model
from brachiate.model.status import NOT_FINITE, OK
from brachiate.spatial import Vec3, motion, norm, put_vec3, rotation, vec3, velocity_at

REST_MAX_SPEED = 0.2  # [m/s] slower corners show where the floor is
FLOOR_TIME_CONSTANT, REST_HEIGHT_TIME_CONSTANT = 0.5, 0.2  # [s] of the estimates of floor height and rest heights of corners
MAX_FLOOR_CHANGE = 0.15  # [m] of resting corners from the floor: beyond it they rest on something else
ACCELERATION_TIME = 0.015  # [s] of the low-pass filter of accelerations, which tell whether a contact carries the motion
LIFTED_HEIGHT = 0.02  # [m] from which on corner positions are not on the ground
REST_HEIGHT_MAX = 0.05  # [m] of a corner of a resting foot above the floor
APPROACH_HEIGHT = 0.08  # [m] a descending foot below it may land soon
APPROACH_DELAY = 0.08  # [s] after lift-off
LOAD_TRANSFER_TIME = 0.04  # [s] in which body weight shifts between legs
FOOTHOLD_SETTLE_TIME = 0.15  # [s] after touchdown, when the foothold is known


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
    rest_height: Floats  # (8 m,) [m] height of a corner above the floor when the foot is at rest
    rest_time: Floats  # (8 m,) [s] for which it has been at rest
    hip: Ints  # (m,) body at the hip of the leg, -1 if the sole does not lead
    leg_length: Floats  # (m,) [m]
    foothold: Rows3  # (8 m, 3) [m] present or last foothold of corners
    foothold_time: Floats  # (8 m,) [s] over which it was averaged
    phase_time: Floats  # (l,) [s] since touchdown or lift-off
    frame_load: Floats  # (f l,) low-pass filtered stance flag
    phase_changed: Ints  # (l,) whether touchdown or lift-off is in this frame
    corner_speed: Floats  # (f 8 m,) [m/s]
    corner_height: Floats  # (f 8 m,) [m] above the floor, beyond its rest height
    end_height: Floats  # (f m 2,) [m] of the lowest heel and front corner of a sole above the floor; inf: it has none
    end_point: Rows3  # (2 l, 3) [m] heel and toe of every foot in this frame
    required: Rows3  # (2, 3) [m/s²], [m weights] low-pass filtered acceleration of the CoM, and rate of the angular momentum
    end_costs: Floats  # (2 l,) cost of heel and front in contact
    stand_cost: Floats  # (2^l,) cost of the root residual, by the feet in contact
    mode_cost: Floats  # (c,) cost of the combinations of contact modes in this frame
    least: Floats  # (c,) least cost of all sequences that end in a combination
    reached: Floats  # (c,) scratch
    reached_from: Ints  # (c,) scratch
    previous: Ints  # (f c,) combination in the frame before, on the sequence of least cost to a combination
    mode: Ints  # (f,) combination of the contact modes of the feet
    sole_height: Floats  # (m,) [m] of the lowest corner above its rest height
    sole_velocity: Floats  # (m,) [m/s] of this corner, upward
    floor_height: Floats  # (1,) [m] estimated floor of the reference
    floor_time: Floats  # (1,) [s] for which resting corners have shown it
    ground_height: Floats  # (1,) [m] ground of the simulation
    last_com_velocity: Floats  # (3,) [m/s]
    last_angular_momentum: Floats  # (3,) [N·m·s]
    members: Ints  # (nb,) bodies of the figure
    mass: Floats  # (1,) [kg]
    known_frames: Ints  # (1,) received frames; later ones of the window are predicted
    first_valid_frame: Ints  # (1,) first frame after the transient of the smoothing
    known_stances: Ints  # (l,) stances of the received frames
    saved_phase: Floats  # (l,) phase_time during a prediction
    feature: Floats  # (f nf,) feature vectors of frames, for the nearest-frame search
    feature_size: Ints  # (1,) nf
    jump_coordinate: Ints  # (1,) coordinate that jumps in a rejected frame; -1 for none


open_estimator = struct_opener(EstimatorArrays)


@kernel
def corner_state(T, W, est, c):
    """Position and velocity of corner c, world axes."""
    i = est.sole_body[c // MAX_CORNERS]
    r = vec3(W.x, i) + rotation(W.R, i) @ vec3(est.corner, c)
    return tree_origin(T, W, i) + r, velocity_at(motion(W.V, i), r)


@kernel
def estimate_floor(T, W, window, est, dt, first):
    """est.floor_height ← height of the lowest corner while it is at rest: its mean at first, low-pass filtered later."""
    lowest, at_rest = 1e300, False
    for n in range(window.leg.shape[0]):
        for j in range(window.corner_count[n]):
            p, v = corner_state(T, W, est, MAX_CORNERS * n + j)
            if p.z < lowest:
                lowest, at_rest = p.z, norm(v) < REST_MAX_SPEED
    if first:
        est.floor_height[0] = lowest
    elif at_rest and abs(lowest - est.floor_height[0]) < MAX_FLOOR_CHANGE:
        est.floor_time[0] = min(est.floor_time[0] + dt, FLOOR_TIME_CONSTANT)
        est.floor_height[0] += dt / est.floor_time[0] * (lowest - est.floor_height[0])


@kernel
def measure_corners(T, W, window, est, f, dt):
    """Positions, speeds and heights of the sole corners in frame f; costs of heels and fronts in contact, est.end_costs."""
    m, l = window.leg.shape[0], est.phase_time.shape[0]
    for end in range(2 * l):
        est.end_costs[end] = NO_END
    for n in range(m):
        leg, at = window.leg[n], f * m + n
        in_stance, lowest, heel = f > 0 and window.in_contact[(f - 1) * l + leg] == 1, 1e300, heel_corners(window, n)
        clear_ends(est, at)
        for j in range(window.corner_count[n]):
            c, end = MAX_CORNERS * n + j, 0 if j < heel else 1
            p, v = corner_state(T, W, est, c)
            above_floor, speed = p.z - est.floor_height[0], norm(v)
            if in_stance and speed < STATIONARY_MAX_SPEED and abs(above_floor) < REST_HEIGHT_MAX:
                est.rest_time[c] = min(est.rest_time[c] + dt, REST_HEIGHT_TIME_CONSTANT)
                est.rest_height[c] += dt / est.rest_time[c] * (above_floor - est.rest_height[c])
            height = above_floor - est.rest_height[c]
            est.corner_speed[MAX_CORNERS * at + j], est.corner_height[MAX_CORNERS * at + j] = speed, height
            put_vec3(window.corner_positions, MAX_CORNERS * at + j, Vec3(p.x, p.y, est.ground_height[0] + max(height - LIFTED_HEIGHT, 0.0)))
            if height < lowest:
                lowest, est.sole_velocity[n] = height, v.z
            if height < est.end_height[2 * at + end]:
                est.end_height[2 * at + end] = height
                if height < lowest_end(window, est, f, leg, end, n):
                    est.end_costs[2 * leg + end] = end_cost(height, (v.x * v.x + v.y * v.y) ** 0.5, v.z)
                    put_vec3(est.end_point, 2 * leg + end, p)
        est.sole_height[n] = lowest


@kernel
def lowest_end(window, est, f, leg, end, n):
    """Height of the lowest heel (end 0) or front (1) corner of the soles of a leg before sole n."""
    lowest, m = np.inf, window.leg.shape[0]
    for s in range(n):
        if window.leg[s] == leg:
            lowest = min(lowest, est.end_height[2 * (f * m + s) + end])
    return lowest


@kernel
def estimate_modes(W, window, est, f, dt, com, fixed):
    """Contact modes of frame f, and of earlier ones from ``fixed`` on. Returns the first frame that has changed."""
    g = (W.gravity[0] ** 2 + W.gravity[1] ** 2 + W.gravity[2] ** 2) ** 0.5
    valid = f > est.first_valid_frame[0]  # before, accelerations are those of the smoothing
    a = vec3(window.com_acceleration, f) if valid else Vec3(0.0, 0.0, 0.0)
    moment = (1.0 / (est.mass[0] * g)) * vec3(window.angular_momentum_rate, f) if valid else Vec3(0.0, 0.0, 0.0)
    part = dt / ACCELERATION_TIME if valid else 1.0
    put_vec3(est.required, 0, vec3(est.required, 0) + part * (a - vec3(est.required, 0)))
    put_vec3(est.required, 1, vec3(est.required, 1) + part * (moment - vec3(est.required, 1)))
    a, moment = vec3(est.required, 0), vec3(est.required, 1)
    force = (1.0 / g) * (a - Vec3(W.gravity[0], W.gravity[1], W.gravity[2]))
    frame_costs(est, dt, force, moment, com, est.floor_height[0])
    advance_modes(est, f)
    return decide_modes(est, f, fixed)


@kernel
def update_schedule(window, est, first, f, dt, lookahead):
    """Contact schedule of the frames from the first one whose modes have changed up to frame f."""
    m, l = window.leg.shape[0], est.phase_time.shape[0]
    if first < f:
        rewind_stances(window, est, first, dt)
    for i in range(first, f + 1):
        put_contact_masks(window, est, i)
        end_left_stances(window, est, i)
        update_stances(window, est, i, dt, lookahead)
        for leg in range(l):
            estimate_foothold(window, est, i, leg, dt)
            age, stance = est.phase_time[leg], window.in_contact[i * l + leg]
            if (
                (stance and age - dt < FOOTHOLD_SETTLE_TIME <= age)
                or (not stance and est.phase_changed[leg])
                or (stance and i == f > first)
            ):
                correct_past_frames(window, est, i, leg, dt)
    for n in range(m):  # of the newest frame it is not known how it goes on
        leg = window.leg[n]
        descending = est.sole_height[n] < APPROACH_HEIGHT and est.sole_velocity[n] < 0.0 and est.phase_time[leg] > APPROACH_DELAY
        if not window.in_contact[f * l + leg] and descending:
            window.upcoming_mask[f * m + n] = (1 << window.corner_count[n]) - 1


@kernel
def rewind_stances(window, est, first, dt):
    """Take back the stances, and the times of landings, from a frame on."""
    l = est.phase_time.shape[0]
    capacity = window.stance_frames.shape[0] // l
    for leg in range(l):
        n = window.stance_count[leg]
        while n > 0 and window.stance_frames[leg * capacity + n - 1, 0] >= first:
            n -= 1
        window.stance_count[leg] = n
        if n > 0 and window.stance_frames[leg * capacity + n - 1, 0] >= 0:
            window.stance_frames[leg * capacity + n - 1, 1] = min(window.stance_frames[leg * capacity + n - 1, 1], first)
        est.phase_time[leg], i = 0.0, first - 1
        stance = window.in_contact[i * l + leg] if first > 0 else -1
        while i >= 0 and window.in_contact[i * l + leg] == stance:
            if not stance:
                window.time_to_landing[i * l + leg] = NEVER
            est.phase_time[leg] += dt
            i -= 1
        if i < 0:
            est.phase_time[leg] = NEVER
        restart_foothold(window, est, i + 1, first, leg, dt)


@kernel
def update_stances(window, est, f, dt, lookahead):
    """Stance list, stance indices, times to landing and load shares of frame f, which follows the frames so far."""
    m, l = window.leg.shape[0], est.phase_time.shape[0]
    capacity, total = window.stance_frames.shape[0] // l, 0.0
    for leg in range(l):
        at = f * l + leg
        stance, before = window.in_contact[at], window.in_contact[at - l] if f > 0 else -1
        n = window.stance_count[leg]
        est.phase_changed[leg] = 1 if stance != before else 0
        if stance != before:
            est.phase_time[leg] = 0.0 if f > 0 else NEVER
            if stance or f == 0:
                n = min(n, capacity - 1)  # a trembling foot does not exceed the stance list
                window.stance_frames[leg * capacity + n, 0] = f if stance else -1
                window.stance_frames[leg * capacity + n, 1] = f + stance
                n += 1
                window.stance_count[leg] = n
            if not stance and n > 0:  # a predicted stance may have lasted longer
                window.stance_frames[leg * capacity + n - 1, 1] = f
            if stance and f > 0:  # the time of this landing is now known for the swing before it
                for i in range(f - 1, -1, -1):
                    if window.in_contact[i * l + leg]:
                        break
                    window.time_to_landing[i * l + leg] = (f - i) * dt
        est.phase_time[leg] += dt
        if stance:
            window.stance_frames[leg * capacity + n - 1, 1] = f + 1
        window.stance_index[at], window.next_stance_index[at] = n - 1, n - 1 if stance else n
        predicted = max(window.time_to_landing[at], dt) if f < window.frame_count[0] else NEVER
        window.time_to_landing[at] = 0.0 if stance else predicted
        load = est.frame_load[at - l] if f > 0 else 0.0
        est.frame_load[at] = load + (1.0 if f == 0 else min(1.0, dt / LOAD_TRANSFER_TIME)) * (stance - load)
        total += est.frame_load[at] + 1e-3
    for leg in range(l):
        window.load_share[f * l + leg] = (est.frame_load[f * l + leg] + 1e-3) / total
    for n in range(m):
        mask = window.contact_mask[f * m + n]
        for i in range(max(f - lookahead, 0), f):
            if window.contact_mask[i * m + n]:
                window.upcoming_mask[i * m + n] |= mask


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
def process_frame(data_key: Key, window_key: Key, estimator_key: Key, actuators_key: Key, lookahead: int, fixed: int):
    """Take in est.frame as the last known frame of the window; a frame with a jump is rejected (est.jump_coordinate).

    Contacts of frames before ``fixed`` stay as they are.
    """
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
    rise = est.ground_height[0] - est.floor_height[0] - mean_rest_height(window, est)
    com, _ = store_centroidal(T, W, window, est, f, dt, rise)
    measure_corners(T, W, window, est, f, dt)
    first = estimate_modes(W, window, est, f, dt, com, fixed)
    update_schedule(window, est, first, f, dt, lookahead)
    leg_extension_slack(T, W, window, est, f)
    if window.max_vertical_force.shape[0] > 0:
        compute_frame_force_limits(T, W, actuators, window, f, l, com)
    raise_swing_feet(window, est, min(max(fixed, 0), f), dt)
    window.long_flight[f] = 0
    store_state(window, est, f, rise)
    store_feature(T, est, f)
    for leg in range(l):
        est.known_stances[leg] = window.stance_count[leg]
    est.known_frames[0] = f + 1
    window.frame_count[0] = max(window.frame_count[0], f + 1)
    return OK
