"""Capture steps (push recovery): footsteps that are not in the reference, decided from the capture point at the end of the plan.

If the capture point at the end of the plan is farther from that of the reference than a foot is length, the plan does not regain balance:
neither by ankles and hips nor by the scheduled steps. Then a stance leg makes a capture step. It is overlaid on the reference window while
it lasts; plan, contacts and swing foot treat it like a step of the reference. Later the feet return to their places.
"""

from __future__ import annotations

import numpy as np

from brachiate.centroidal.planner import open_plan
from brachiate.compiled import Key, entry, kernel
from brachiate.filter.footsteps.capture_step import LANDING, NO_LEG, STEP, is_foot, open_capture_step
from brachiate.filter.footsteps.early_landing import (
    blend_feet,
    decide_landing,
    has_landed,
    release_feet,
)
from brachiate.filter.footsteps.mpc_problem import capture_point_error, first_node
from brachiate.filter.footsteps.swing_foot import corner_position
from brachiate.filter.schedule.arrays import EXTRAPOLATION_TIME, MAX_CORNERS, open_feet, open_window
from brachiate.filter.schedule.leg_force_limits import copy_force_limits
from brachiate.filter.whole_body.arrays import open_control
from brachiate.filter.whole_body.tasks import is_gripping
from brachiate.model.arrays import open_model
from brachiate.model.status import OK
from brachiate.spatial import Vec3, norm, put_vec3, vec3

STANCE_AFTER_STEP = 0.15  # [s] of stance that the schedule must have after a step
UNLOADED_PREFERENCE = 0.2  # weight of an unloaded leg against stepping outward, in the choice of the leg
WEIGHT_SHIFT_FACTOR = 1.5  # time to shift the weight off the leg before a return step, in swing durations
CAPTURE_DISTANCE = 1.0  # [foot lengths] capture point error at the end of the plan beyond which a step is made
CAPTURE_ROTATION = 0.9  # [rad] planned body rotation beyond which a step is made
PAUSE_AFTER_STEP = 0.1  # [s] after a landing without a new decision
LEG_LENGTH_RATIO = 0.9  # leg length relative to the height of the CoM
CALM_DISTANCE = 0.25  # [foot lengths] capture point error below which the figure is at rest
STANCE_TOLERANCE = 0.5  # [foot lengths] relative displacement of the feet above which one returns


@kernel
def terminal_capture_point_error(feet, problem, plan, step, gravity):
    """step.terminal_error ← capture point c + ċ/ω at the end of the plan relative to the reference at the feet. Returns its norm."""
    N, foot_count = feet.plan_size[0], plan.assumed_offset.shape[0]
    inverse_omega = (max(plan.com[N, 2], 0.1) / gravity) ** 0.5
    for i in range(2):
        x = plan.com[N, i] - problem.com[N, i] + inverse_omega * (plan.com_velocity[N, i] - problem.com_velocity[N, i])
        for leg in range(min(feet.in_contact.shape[0], foot_count)):
            offset = feet.foothold_offset[leg, i]
            for n in range(feet.plan_size[1]):
                if feet.landing_stance[n, 0] == leg:
                    offset = plan.landing_offset[n, i]
            x -= problem.offset_share[N, leg] * offset
        step.terminal_error[i] = x
    return (step.terminal_error[0] * step.terminal_error[0] + step.terminal_error[1] * step.terminal_error[1]) ** 0.5


@kernel
def max_planned_rotation(feet, plan):
    """Largest rotation of the body from the reference in the plan [rad]."""
    largest = 0.0
    for j in range(feet.plan_size[0] + 1):
        largest = max(largest, norm(vec3(plan.orientation, j)))
    return largest


@kernel
def foot_and_heading(T, W, ctl, window, k, leg):
    """Center of the swing foot of a leg, its position in the reference, and its heading from heel to toes (not normalized)."""
    m, position, reference, heading = window.leg.shape[0], Vec3(0.0, 0.0, 0.0), Vec3(0.0, 0.0, 0.0), Vec3(0.0, 0.0, 0.0)
    for n in range(m):
        if window.leg[n] == leg and window.swings[n] == 1:
            part = 1.0 / window.corner_count[n]
            for j in range(window.corner_count[n]):
                p = part * corner_position(T, W, ctl, n, j)
                position, reference = position + p, reference + part * vec3(window.corner_positions, MAX_CORNERS * (k * m + n) + j)
                heading = heading + (p if 2 * j >= window.corner_count[n] else -1.0 * p)  # heel corners come first
    return position, reference, heading


@kernel
def all_legs_stand(window, feet, step, k, until):
    """Whether all legs are in stance until a frame; beyond the window (online), whether the reference hardly moves."""
    l = feet.in_contact.shape[0]
    if l < 2:
        return False
    if until >= window.frame_count[0] and feet.gain[EXTRAPOLATION_TIME] > 0.0:
        distance = (until - k) * window.dt[0] * norm(vec3(window.com_velocity, k))
        if distance > CALM_DISTANCE * step.foot_length[0]:
            return False
    for leg in range(l):
        if not feet.in_contact[leg] or not feet.landed[leg] or feet.stance_index[leg] != window.next_stance_index[k * l + leg]:
            return False
        for i in range(k, min(until, window.frame_count[0] - 1) + 1):
            if not window.in_contact[i * l + leg]:
                return False
    return True


@kernel
def choose_leg(T, W, ctl, window, feet, k, x, y):
    """Leg that can step in direction (x, y) without crossing the others, with a preference for the less loaded one; or NO_LEG."""
    l, best, found, count = feet.in_contact.shape[0], -np.inf, NO_LEG, 0
    for leg in range(l):
        count += 1 if is_foot(window, leg) else 0
    inverse_omega = (max(ctl.com[2], 0.1) / -W.gravity[2]) ** 0.5
    capture_point = Vec3(ctl.com[0] + inverse_omega * ctl.com[3], ctl.com[1] + inverse_omega * ctl.com[4], 0.0)
    size = max((x * x + y * y) ** 0.5, 1e-9)
    for leg in range(l):
        if count < 2 or not is_foot(window, leg):
            continue
        position, reference, heading = foot_and_heading(T, W, ctl, window, k, leg)
        others, reference_side = Vec3(0.0, 0.0, 0.0), Vec3(0.0, 0.0, 0.0)
        for other in range(l):
            if other != leg and is_foot(window, other):
                other_position, other_reference, _ = foot_and_heading(T, W, ctl, window, k, other)
                others, reference_side = (
                    others + (1.0 / (count - 1)) * other_position,
                    reference_side + (1.0 / (count - 1)) * (reference - other_reference),
                )
        lateral = Vec3(heading.y, -heading.x, 0.0)  # toward the side of the leg
        lateral = (1.0 if lateral @ reference_side > 0.0 else -1.0) / max(norm(lateral), 1e-9) * lateral
        outward = (x * lateral.x + y * lateral.y) / size
        apart = Vec3(position.x - others.x, position.y - others.y, 0.0)
        load = (capture_point - Vec3(others.x, others.y, 0.0)) @ apart / max(apart @ apart, 1e-9)
        score = outward - UNLOADED_PREFERENCE * (2.0 * min(max(load, 0.0), 1.0) - 1.0)
        if score > best:
            best, found = score, leg
    return found


@kernel
def start_step(window, feet, step, leg, start, k, is_capture):
    """Start a step of a leg. The present stance gets the number before, so the stance after landing keeps the scheduled number."""
    m, stances = window.leg.shape[0], window.stance_frames.shape[0] // feet.in_contact.shape[0]
    step.swing_leg[0], step.lifted_off[0], step.feet_displaced[0], step.is_capture[0] = leg, 0, 1, is_capture
    step.kind[0] = STEP
    step.swing_frames[0], step.swing_frames[1] = start, start + max(int(step.swing_duration[0] / window.dt[0]), 2)
    for n in range(m):
        step.initial_support[n] = window.contact_mask[k * m + n]
    feet.is_planned[leg * stances + feet.stance_index[leg]] = 0
    feet.stance_index[leg] -= 1
    for i in range(3):
        step.previous_offset[0, i] = feet.foothold_offset[leg, i]


@kernel
def cancel_step(feet, step):
    """Cancel the step; if the foot was never lifted, the stance gets its number back."""
    leg = step.swing_leg[0]
    if feet.in_contact[leg] and not step.lifted_off[0]:
        feet.stance_index[leg] += 1
    step.swing_leg[0] = NO_LEG


@kernel
def stands_early(window, feet, step, leg, i):
    """Number of the stance, at its foothold of an early landing, of a leg in frame i; -1 if it does not stand there."""
    if step.held[leg] and i < step.hold_until[leg]:
        return feet.stance_index[leg]
    landing = step.swing_leg[0] == leg and step.kind[0] == LANDING
    return feet.stance_index[leg] + 1 if landing and step.swing_frames[1] <= i < step.hold_until[leg] else -1


@kernel
def overlay_frame(window, view, feet, step, i):
    """Write frame i of the contact schedule with the step into the view."""
    l, dt, swing_leg = feet.in_contact.shape[0], window.dt[0], step.swing_leg[0]
    start, end = step.swing_frames[0], step.swing_frames[1]
    for leg in range(l):
        at = i * l + leg
        view.in_contact[at], view.stance_index[at] = window.in_contact[at], window.stance_index[at]
        view.next_stance_index[at], view.time_to_landing[at] = window.next_stance_index[at], window.time_to_landing[at]
        put_vec3(view.foot_offset, at, vec3(window.foot_offset, at))
        early = stands_early(window, feet, step, leg, i)
        if leg == swing_leg and i < end:
            previous = feet.stance_index[leg]
            view.stance_index[at] = previous if i < (start + end) // 2 else previous + 1
            view.next_stance_index[at] = previous if i < start else previous + 1
            view.in_contact[at], view.time_to_landing[at] = 1 if i < start else 0, 0.0 if i < start else (end - i) * dt
        elif early >= 0:
            view.in_contact[at], view.time_to_landing[at] = 1, 0.0
            view.stance_index[at] = view.next_stance_index[at] = early
            put_vec3(view.foot_offset, at, vec3(step.landing_foot_offset, leg))
        elif swing_leg != NO_LEG and leg != swing_leg and start <= i < end and not window.in_contact[at]:  # stance until it has landed
            view.in_contact[at], view.time_to_landing[at] = 1, 0.0
            view.stance_index[at] = view.next_stance_index[at] = feet.stance_index[leg]
    overlay_links(window, view, feet, step, i)


@kernel
def overlay_links(window, view, feet, step, i):
    """Write the contacts of the links in frame i, and the corners of feet that land early, into the view."""
    m, l = window.leg.shape[0], feet.in_contact.shape[0]
    for n in range(m):
        at, leg = i * m + n, window.leg[n]
        early, every = stands_early(window, feet, step, leg, i), (1 << window.corner_count[n]) - 1
        view.contact_mask[at], view.upcoming_mask[at] = window.contact_mask[at], window.upcoming_mask[at]
        for j in range(window.corner_count[n]):
            c = MAX_CORNERS * at + j
            put_vec3(
                view.corner_positions,
                c,
                vec3(step.landing_corners, MAX_CORNERS * n + j) if early >= 0 else vec3(window.corner_positions, c),
            )
        if leg == step.swing_leg[0] and step.swing_frames[0] <= i < step.swing_frames[1]:
            view.contact_mask[at], view.upcoming_mask[at] = 0, every
        elif early >= 0:
            view.contact_mask[at] = view.upcoming_mask[at] = every
        elif view.in_contact[i * l + leg] and not window.in_contact[i * l + leg]:
            view.contact_mask[at] = view.upcoming_mask[at] = step.initial_support[n]


@kernel
def extrapolate_frame(window, feet, i):
    """Extrapolate frame i of the window from the one before at constant velocity."""
    m, l = window.leg.shape[0], feet.in_contact.shape[0]
    put_vec3(window.com, i, vec3(window.com, i - 1) + window.dt[0] * vec3(window.com_velocity, i - 1))
    put_vec3(window.com_velocity, i, vec3(window.com_velocity, i - 1))
    put_vec3(window.angular_momentum, i, vec3(window.angular_momentum, i - 1))
    put_vec3(window.orientation_offset, i, vec3(window.orientation_offset, i - 1))
    put_vec3(window.com_acceleration, i, Vec3(0.0, 0.0, 0.0))
    put_vec3(window.angular_momentum_rate, i, Vec3(0.0, 0.0, 0.0))
    window.height_slack[i], window.long_flight[i] = window.height_slack[i - 1], window.long_flight[i - 1]
    for x in range(3):
        for y in range(3):
            window.locked_inertia[i, x, y] = window.locked_inertia[i - 1, x, y]
    for n in range(m):
        at, before = i * m + n, (i - 1) * m + n
        window.contact_mask[at], window.upcoming_mask[at] = window.contact_mask[before], window.upcoming_mask[before]
        for j in range(window.corner_count[n]):
            put_vec3(window.corner_positions, MAX_CORNERS * at + j, vec3(window.corner_positions, MAX_CORNERS * before + j))
    if window.max_vertical_force.shape[0] > 0:
        copy_force_limits(window, l, i, i - 1, Vec3(0.0, 0.0, 0.0), 1.0, 0.0)
    for leg in range(l):
        at, before = i * l + leg, (i - 1) * l + leg
        window.in_contact[at], window.stance_index[at] = window.in_contact[before], window.stance_index[before]
        window.next_stance_index[at], window.time_to_landing[at] = window.next_stance_index[before], window.time_to_landing[before]
        window.load_share[at] = window.load_share[before]
        put_vec3(window.foot_offset, at, vec3(window.foot_offset, before))
        put_vec3(window.foot_offset_rate, at, vec3(window.foot_offset_rate, before))


@entry
def overlay_step(source_key: Key, view_key: Key, feet_key: Key, step_key: Key, k: int, horizon: int):
    """Overlay step and early landings on the window from frame k on. Returns whether there are any.

    A step is canceled if the reference lifts the leg itself.
    """
    (window,) = open_window(source_key)
    (view,) = open_window(view_key)
    (feet,) = open_feet(feet_key)
    (step,) = open_capture_step(step_key)
    l, leg, held = feet.in_contact.shape[0], step.swing_leg[0], 0
    release_feet(window, feet, step, k, False)
    for each in range(l):
        held |= step.held[each]
    if leg != NO_LEG and step.kind[0] == STEP and not window.in_contact[k * l + leg]:
        cancel_step(feet, step)
    elif leg != NO_LEG and step.kind[0] == LANDING and has_landed(window, leg, k, feet.stance_index[leg] + 1):
        step.swing_leg[0] = NO_LEG
    if step.swing_leg[0] == NO_LEG and not held:
        return 0
    view.frame_count[0] = window.frame_count[0]
    if step.swing_leg[0] != NO_LEG and feet.gain[EXTRAPOLATION_TIME] > 0.0:  # else the window ends with the motion
        needed = step.swing_frames[1] + int(STANCE_AFTER_STEP / window.dt[0])
        view.frame_count[0] = max(window.frame_count[0], min(needed, window.height_slack.shape[0]))
    for i in range(window.frame_count[0], view.frame_count[0]):
        extrapolate_frame(window, feet, i)
    for i in range(max(k - 1, 0), min(k + horizon, view.frame_count[0])):
        overlay_frame(window, view, feet, step, i)
    overlay_stances(window, view, feet, step, k, horizon)
    return 1


@kernel
def overlay_stances(window, view, feet, step, k, horizon):
    """Write the stances with the step and early landings into the view."""
    l = feet.in_contact.shape[0]
    stances = window.stance_frames.shape[0] // l
    for n in range(window.stance_frames.shape[0]):
        view.stance_frames[n, 0], view.stance_frames[n, 1] = window.stance_frames[n, 0], window.stance_frames[n, 1]
    for leg in range(l):
        view.stance_count[leg] = window.stance_count[leg]
        swings, number = leg == step.swing_leg[0], feet.stance_index[leg]
        if swings:
            if number >= 0 and step.kind[0] == STEP:
                view.stance_frames[leg * stances + number, 1] = step.swing_frames[0]
            number += 1
        elif not step.held[leg]:
            continue
        at, early = leg * stances + number, step.kind[0] == LANDING or not swings
        ends = min(step.hold_until[leg], k + horizon) if early else 0
        start = step.swing_frames[1] if swings else k
        view.stance_frames[at, 0] = start if swings else min(view.stance_frames[at, 0], k)
        view.stance_frames[at, 1] = max(window.stance_frames[at, 1], start + 1, ends)
        view.stance_count[leg] = max(window.stance_count[leg], number + 1)


@kernel
def height_drop(feet, problem, plan, j, patch):
    """Height by which the CoM must be lower at node j than above the reference foothold, for the leg to reach its patch [m]."""
    leg, x, y = problem.patch_foot[j, patch], plan.com[j, 0] - problem.com[j, 0], plan.com[j, 1] - problem.com[j, 1]
    foot_x, foot_y = feet.foothold_offset[leg, 0], feet.foothold_offset[leg, 1]
    for n in range(feet.plan_size[1]):
        if problem.landing_foot[n] == leg and problem.landing_start[n] <= j:
            foot_x, foot_y = problem.landing_target[n, 0], problem.landing_target[n, 1]
    length = LEG_LENGTH_RATIO * (problem.com[j, 2] - problem.patch_points[j, patch, 0, 2])
    horizontal = min((foot_x - x) ** 2 + (foot_y - y) ** 2, 0.25 * length * length)
    return length - (length * length - horizontal) ** 0.5


@entry
def adapt_problem(feet_key: Key, plan_key: Key, step_key: Key, dt: float, k: int):
    """Adapt the MPC problem to displaced feet: start of the new foothold offset, and height of the CoM within leg reach."""
    (feet,) = open_feet(feet_key)
    (step,) = open_capture_step(step_key)
    _, problem, plan, _, _ = open_plan(plan_key)
    N = feet.plan_size[0]
    leg = step.swing_leg[0]
    for n in range(feet.plan_size[1]):
        if leg != NO_LEG and feet.landing_stance[n, 0] == leg and feet.landing_stance[n, 1] == feet.stance_index[leg] + 1:
            middle = ((step.swing_frames[0] + step.swing_frames[1]) // 2 - k) * dt
            problem.landing_start[n] = min(first_node(feet, N, middle) if middle > 0.0 else 0, problem.landing_touchdown[n], N - 1)
    for j in range(1, min(N, plan.interval_count[0])):
        drop = 0.0
        for patch in range(problem.patch_size.shape[1]):
            if problem.patch_size[j, patch] > 0 and problem.patch_foot[j, patch] >= 0:
                drop = max(drop, height_drop(feet, problem, plan, j, patch))
        problem.height_slack[j] -= drop
    return OK


@entry
def lift_swing_foot(control_key: Key, window_key: Key, feet_key: Key, step_key: Key, k: int):
    """Add the height of the step, 16 h x² (1 − x)², and its derivatives to the task of the swing foot, or the way to an early landing."""
    (ctl,) = open_control(control_key)
    (window,) = open_window(window_key)
    (feet,) = open_feet(feet_key)
    (step,) = open_capture_step(step_key)
    leg, dt = step.swing_leg[0], window.dt[0]
    blend_feet(ctl, window, feet, step, k)
    start, end = step.swing_frames[0], step.swing_frames[1]
    if leg == NO_LEG or step.kind[0] == LANDING or k < start or k >= end or feet.in_contact[leg]:
        return OK
    step.lifted_off[0] = 1
    x = (k - start) / (end - start)
    scale, duration = 16.0 * step.clearance[0], (end - start) * dt
    y = 1.0 - x
    height = Vec3(0.0, 0.0, scale * x * x * y * y)
    velocity = Vec3(0.0, 0.0, 2.0 * scale * x * y * (y - x) / duration)
    acceleration = Vec3(0.0, 0.0, 2.0 * scale * ((y - x) * (y - x) - 2.0 * x * y) / duration**2)
    for n in range(window.leg.shape[0]):
        if window.leg[n] == leg and window.swings[n] == 1:
            put_vec3(ctl.position_offset, n, vec3(ctl.position_offset, n) + height)
            put_vec3(ctl.velocity_offset, n, vec3(ctl.velocity_offset, n) + velocity)
            put_vec3(ctl.acceleration_offset, n, vec3(ctl.acceleration_offset, n) + acceleration)
    return OK


@kernel
def stance_deviation(window, feet):
    """Largest relative displacement of two feet from the reference [m], and the leg with the largest foothold offset."""
    relative, largest, farthest = 0.0, -1.0, NO_LEG
    for leg in range(feet.in_contact.shape[0]):
        if not is_foot(window, leg):
            continue
        x = vec3(feet.foothold_offset, leg)
        size = (x.x * x.x + x.y * x.y) ** 0.5
        if size > largest:
            largest, farthest = size, leg
        for other in range(leg):
            d = x - vec3(feet.foothold_offset, other)
            relative = max(relative, (d.x * d.x + d.y * d.y) ** 0.5 if is_foot(window, other) else 0.0)
    return relative, farthest


@entry
def decide_step(data_key: Key, control_key: Key, window_key: Key, feet_key: Key, plan_key: Key, step_key: Key, k: int):
    """Start a capture step if the last plan does not regain balance, or a return step once at rest. Returns whether one was started."""
    T, W = open_model(data_key)
    (ctl,) = open_control(control_key)
    (window,) = open_window(window_key)
    (feet,) = open_feet(feet_key)
    (step,) = open_capture_step(step_key)
    _, problem, plan, _, _ = open_plan(plan_key)
    dt, gravity = window.dt[0], -W.gravity[2]
    if is_gripping(ctl, k, True):  # a grip holds the figure
        return 0
    terminal, foot_length = terminal_capture_point_error(feet, problem, plan, step, gravity), step.foot_length[0]
    x, y = capture_point_error(ctl, window, feet, k, gravity)
    disturbed = (x * x + y * y) ** 0.5 > CALM_DISTANCE * foot_length
    release_feet(window, feet, step, k, not disturbed and terminal < CALM_DISTANCE * foot_length)
    # No step for a large rotation while the body is already returning
    leaving = x * step.terminal_error[0] + y * step.terminal_error[1] > 0.0
    lost = terminal > CAPTURE_DISTANCE * foot_length or (leaving and max_planned_rotation(feet, plan) > CAPTURE_ROTATION)
    if step.swing_leg[0] != NO_LEG:
        if step.kind[0] == LANDING:
            return decide_landing(ctl, window, feet, step, k, gravity)
        if not lost or step.swing_frames[0] <= k + 1:
            return 0
        cancel_step(feet, step)  # a return step gives way to a capture step
    swing, after = int(step.swing_duration[0] / dt), int(STANCE_AFTER_STEP / dt)
    if k < step.swing_frames[1] + int(PAUSE_AFTER_STEP / dt):
        return 0
    if decide_landing(ctl, window, feet, step, k, gravity):
        return 1
    if lost:
        if not all_legs_stand(window, feet, step, k, k + swing + after):
            return 0
        leg = choose_leg(T, W, ctl, window, feet, k, x, y)
        if leg == NO_LEG:
            return 0
        start_step(window, feet, step, leg, k + 1, k, 1)
        stances = window.stance_frames.shape[0] // feet.in_contact.shape[0]
        at = leg * stances + feet.stance_index[leg] + 1
        feet.planned_offset[at, 0], feet.planned_offset[at, 1] = feet.reference_shift[0] + x, feet.reference_shift[1] + y
        feet.is_planned[at] = 1
        return 1
    if step.feet_displaced[0]:
        if disturbed or terminal > CALM_DISTANCE * foot_length:
            return 0
        deviation, leg = stance_deviation(window, feet)
        if deviation < STANCE_TOLERANCE * foot_length:
            step.feet_displaced[0] = 0
            return 0
        shift = int(WEIGHT_SHIFT_FACTOR * step.swing_duration[0] / dt)
        if not all_legs_stand(window, feet, step, k, k + shift + swing + after):
            return 0
        start_step(window, feet, step, leg, k + shift, k, 0)
        return 1
    return 0
