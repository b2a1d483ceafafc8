"""Footholds of incoming frames, and the offsets of feet: horizontally to the foothold, vertically to the ground and clear of it."""

from __future__ import annotations

import numpy as np

from brachiate.compiled import kernel
from brachiate.contact_estimation.stance_constants import CREEP_SPEED, LIFTOFF_SPEED, STANCE_MAX_DISTANCE
from brachiate.filter.online.contact_modes import foot_mode
from brachiate.filter.schedule.arrays import MAX_CORNERS
from brachiate.spatial import Vec3, put_vec3, vec3

STATIONARY_MAX_SPEED = 0.15  # [m/s] slower corners are at their foothold
RETURN_MAX_SPEED = 0.05  # [m/s] a slower foot that had left its foothold is at rest at another one
OFFSET_DECAY_TIME = 0.06  # [s] in which the foot offset decays after lift-off
SWING_CLEARANCE, CLEARANCE_TIME = 0.01, 0.06  # [m] of swing feet; [s] after lift-off and before landing in which it grows and vanishes
MAX_LIFT_SPEED = 0.5  # [m/s] of this offset


@kernel
def rest_height(window, est, leg):
    """Mean height of the corners of a foot at rest above the floor [m]."""
    height, count = 0.0, 0
    for n in range(window.leg.shape[0]):
        for j in range(window.corner_count[n] if window.leg[n] == leg and window.swings[n] == 1 else 0):
            height, count = height + est.rest_height[MAX_CORNERS * n + j], count + 1
    return height / max(count, 1)


@kernel
def mean_rest_height(window, est):
    """Mean of this height over the feet, by which the whole reference is lowered [m]."""
    l, total = est.phase_time.shape[0], 0.0
    for leg in range(l):
        total += rest_height(window, est, leg) / l
    return total


@kernel
def lowering(window, est, leg):
    """Vertical offset of a foot: captured feet come to rest at different heights above one floor."""
    return Vec3(0.0, 0.0, mean_rest_height(window, est) - rest_height(window, est, leg))


@kernel
def slowest_corner_speed(window, est, i, leg):
    """Speed of the slowest corner of a foot in frame i [m/s]."""
    m, slowest = window.leg.shape[0], np.inf
    for n in range(m):
        for j in range(window.corner_count[n] if window.leg[n] == leg else 0):
            slowest = min(slowest, est.corner_speed[MAX_CORNERS * (i * m + n) + j])
    return slowest


@kernel
def has_left_foothold(window, est, i, leg):
    """Whether a foot moves in frame i, and its lowest corner has left the place where it was at rest: as ``trim_ends`` of whole motions."""
    m, lowest, left, speed = window.leg.shape[0], np.inf, False, slowest_corner_speed(window, est, i, leg)
    for n in range(m):
        for j in range(window.corner_count[n] if window.leg[n] == leg else 0):
            c, at = MAX_CORNERS * n + j, MAX_CORNERS * (i * m + n) + j
            height = est.corner_height[at]
            if height < lowest:
                lowest, p, q = height, vec3(window.corner_positions, at), vec3(est.foothold, c)
                away = ((p.x - q.x) ** 2 + (p.y - q.y) ** 2) ** 0.5
                slid, lifted = away > STANCE_MAX_DISTANCE and speed > LIFTOFF_SPEED, height > STANCE_MAX_DISTANCE and speed > CREEP_SPEED
                left = est.foothold_time[c] > 0.0 and (slid or lifted)
    return left


@kernel
def end_left_stances(window, est, i):
    """End stances in frame i of feet that have left their foothold, while another foot is in contact.

    A foot that rolls off is low and slow for longer than it can bear load. Until its contact mode ends it does not return, unless it rests.
    """
    m, l = window.leg.shape[0], est.phase_time.shape[0]
    for leg in range(l if i > 0 else 0):
        at, others = i * l + leg, 0
        for other in range(l):
            others |= window.in_contact[i * l + other] if other != leg else 0
        if not (window.in_contact[at] and others):
            continue
        if window.in_contact[at - l]:
            ended = has_left_foothold(window, est, i, leg)
        else:
            ended = foot_mode(est.mode[i - 1], leg) > 0 and slowest_corner_speed(window, est, i, leg) > RETURN_MAX_SPEED
        if ended:
            window.in_contact[at] = 0
            for n in range(m):
                if window.leg[n] == leg:
                    window.contact_mask[i * m + n] = window.upcoming_mask[i * m + n] = 0


@kernel
def restart_foothold(window, est, start, end, leg, dt):
    """Estimate the foothold of a leg anew from the frames [start, end) of its stance."""
    m = window.leg.shape[0]
    for n in range(m):
        for j in range(window.corner_count[n] if window.leg[n] == leg else 0):
            est.foothold_time[MAX_CORNERS * n + j] = 0.0
    l = est.phase_time.shape[0]
    for i in range(max(start, 0), end):
        if window.in_contact[i * l + leg]:
            average_foothold(window, est, i, leg, dt)


@kernel
def average_foothold(window, est, i, leg, dt):
    """Take the corners of a leg that are stationary in frame i into the mean positions of its foothold."""
    m = window.leg.shape[0]
    for n in range(m):
        for j in range(window.corner_count[n] if window.leg[n] == leg else 0):
            c, at = MAX_CORNERS * n + j, MAX_CORNERS * (i * m + n) + j
            p = vec3(window.corner_positions, at)
            position = Vec3(p.x, p.y, est.ground_height[0])
            if est.foothold_time[c] == 0.0:
                put_vec3(est.foothold, c, position)
            if est.corner_speed[at] < STATIONARY_MAX_SPEED:
                est.foothold_time[c] += dt
                put_vec3(est.foothold, c, vec3(est.foothold, c) + (dt / est.foothold_time[c]) * (position - vec3(est.foothold, c)))


@kernel
def estimate_foothold(window, est, f, leg, dt):
    """Foothold of a leg: mean position of its corners while they are stationary. window.foot_offset ← from the frame to the foothold."""
    m, l = window.leg.shape[0], est.phase_time.shape[0]
    at = f * l + leg
    offset = vec3(window.foot_offset, at - l) if f > 0 else Vec3(0.0, 0.0, 0.0)
    if not window.in_contact[at]:
        if f >= window.frame_count[0]:  # otherwise as predicted
            offset = Vec3(offset.x, offset.y, 0.0)
            put_vec3(window.foot_offset, at, (1.0 - dt / OFFSET_DECAY_TIME) * offset + lowering(window, est, leg))
            put_vec3(window.foot_offset_rate, at, (-1.0 / OFFSET_DECAY_TIME) * offset)
        return
    if est.phase_changed[leg] == 1:
        restart_foothold(window, est, f, f, leg, dt)
    average_foothold(window, est, f, leg, dt)
    displacement, count = Vec3(0.0, 0.0, 0.0), 0
    for n in range(m):
        for j in range(window.corner_count[n] if window.leg[n] == leg else 0):
            if (window.contact_mask[f * m + n] >> j) & 1:
                p = vec3(window.corner_positions, MAX_CORNERS * (f * m + n) + j)
                displacement, count = (
                    displacement + vec3(est.foothold, MAX_CORNERS * n + j) - Vec3(p.x, p.y, est.ground_height[0]),
                    count + 1,
                )
    put_vec3(window.foot_offset, at, (1.0 / max(count, 1)) * displacement + lowering(window, est, leg))
    put_vec3(window.foot_offset_rate, at, Vec3(0.0, 0.0, 0.0))


@kernel
def raise_swing_feet(window, est, k, dt):
    """Vertical offsets of the feet that swing in frame k, so that they clear the ground but shortly after lift-off and before landing."""
    m, l = window.leg.shape[0], est.phase_time.shape[0]
    for leg in range(l):
        at, lowest, since = k * l + leg, np.inf, 0
        if window.in_contact[at]:
            continue
        for n in range(m):
            if window.leg[n] == leg:
                lowest = min(lowest, est.end_height[2 * (k * m + n)], est.end_height[2 * (k * m + n) + 1])
        while since * dt < CLEARANCE_TIME and since < k and not window.in_contact[at - since * l]:
            since += 1
        share = min(since * dt / CLEARANCE_TIME, window.time_to_landing[at] / CLEARANCE_TIME, 1.0)
        before = window.foot_offset[max(at - l, leg), 2]
        window.foot_offset[at, 2] = lowering(window, est, leg).z + max(share * SWING_CLEARANCE - lowest, 0.0)
        rate = (window.foot_offset[at, 2] - before) / dt
        window.foot_offset_rate[at, 2] = min(max(rate, -MAX_LIFT_SPEED), MAX_LIFT_SPEED)


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
                        p = vec3(window.corner_positions, at)
                        displacement = displacement + vec3(est.foothold, c) - Vec3(p.x, p.y, est.ground_height[0])
                        count += 1
        put_vec3(window.foot_offset, i * l + leg, (1.0 / max(count, 1)) * displacement + lowering(window, est, leg))
    liftoff = max(window.stance_frames[leg * capacity + n - 2, 1], 1) if n > 1 else 1
    first, last = vec3(window.foot_offset, (liftoff - 1) * l + leg), vec3(window.foot_offset, start * l + leg)
    for i in range(liftoff, start):
        x = (i - liftoff + 1) / (start - liftoff + 1)
        blend, rate = x * x * x * (10.0 - 15.0 * x + 6.0 * x * x), 30.0 * x * x * (1.0 - x) ** 2 / ((start - liftoff + 1) * dt)
        put_vec3(window.foot_offset, i * l + leg, (1.0 - blend) * first + blend * last)
        put_vec3(window.foot_offset_rate, i * l + leg, rate * (last - first))
