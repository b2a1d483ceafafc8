"""MPC problem of the reference window: nodes, support patches, force limits and landings; footstep targets and capture point."""

from __future__ import annotations

import numpy as np

from brachiate.centroidal.problem import FLIGHT, GRIP, MAX_MOTORS, MAX_PATCH_POINTS, MAX_PATCHES, MAX_VERTICAL_ACCELERATION, STANCE
from brachiate.compiled import kernel
from brachiate.filter.footsteps.swing_foot import corner_position, on_slope
from brachiate.filter.schedule.arrays import (
    EXTRAPOLATION_TIME,
    FOOTHOLD_DECAY,
    LANDING_FREEZE_TIME,
    MAX_CONTACT_POINTS,
    MAX_CORNERS,
    MAX_UNANCHORED_POINTS,
    NEVER,
    STEP_REACH,
    count_bits,
)
from brachiate.filter.whole_body.tasks import is_gripping
from brachiate.spatial import Vec3, put_vec3, vec3, vec3_at

FULL_CONTACT_TIME = 0.04  # [s] in which a foot in contact reaches its scheduled corners
MIN_INTERVALS = 3  # of a plan, also at the end of a clip
MIN_INTERVAL = 0.004  # [s] between nodes


@kernel
def place_nodes(window, feet, k, intervals):
    """Node times of the next plan, as far as frames are known; the nearest nodes are moved to the start and end of flights.

    So contact forces act exactly until lift-off and from touchdown on. Returns the number of intervals.
    """
    horizon, end, N = max((window.frame_count[0] - 1 - k) * window.dt[0], feet.gain[EXTRAPOLATION_TIME]), 0.0, 0
    while intervals.shape[0] > N and (N < MIN_INTERVALS or end + intervals[N] < horizon):
        end += intervals[N]
        N += 1
        feet.node_times[N], feet.node_is_free[N] = end, 1
    feet.node_times[0] = 0.0
    for c in range(window.flight_boundaries.shape[0]):
        change = (window.flight_boundaries[c] - k) * window.dt[0]
        if change <= 0.0 or change >= end:
            continue
        best, n = np.inf, 0
        for i in range(1, N + 1):
            distance = abs(feet.node_times[i] - change)
            if feet.node_is_free[i] and distance < best:
                best, n = distance, i
        if n > 0 and feet.node_times[n - 1] + MIN_INTERVAL <= change and (n == N or change <= feet.node_times[n + 1] - MIN_INTERVAL):
            feet.node_times[n], feet.node_is_free[n] = change, 0
    return N


@kernel
def frame_at(window, k, t):
    """Frame nearest to time t after frame k."""
    return min(k + int(np.rint(t / window.dt[0])), window.frame_count[0] - 1)


@kernel
def build_problem(T, W, ctl, window, feet, problem, k, N, foot_count):
    """Fill the plan problem: reference at the nodes, support and limits of the intervals, landings. Returns the number of landings."""
    l, last = feet.in_contact.shape[0], window.frame_count[0] - 1
    shift_z = on_slope(window, vec3_at(feet.reference_shift, 0)).z
    for j in range(N + 1):
        i = frame_at(window, k, feet.node_times[j])
        put_vec3(problem.com, j, vec3(window.com, i))
        put_vec3(problem.com_velocity, j, vec3(window.com_velocity, i))
        problem.com[j, 2] += shift_z
        beyond = feet.node_times[j] - (last - k) * window.dt[0]
        if feet.gain[EXTRAPOLATION_TIME] > 0.0 and beyond > 0.0:  # extrapolated at constant velocity
            put_vec3(problem.com, j, vec3(problem.com, j) + beyond * vec3(window.com_velocity, last))
        problem.height_slack[j] = window.height_slack[i]
        for leg in range(foot_count):
            problem.offset_share[j, leg] = window.load_share[i * l + leg]
        for leg in range(foot_count, l):  # contact links that cannot step keep their foothold
            if feet.in_contact[leg] and window.stance_index[i * l + leg] <= feet.stance_index[leg]:
                put_vec3(problem.com, j, vec3(problem.com, j) + window.load_share[i * l + leg] * vec3(feet.foothold_offset, leg))
    for j in range(N):
        problem.dt[j] = feet.node_times[j + 1] - feet.node_times[j]
        i = frame_at(window, k, feet.node_times[j + 1] - 0.5 * problem.dt[j])
        set_reference_rates(window, problem, k, j, feet.node_times[j], feet.node_times[j + 1])
        for x in range(3):
            for y in range(3):
                problem.inertia[j, x, y] = window.locked_inertia[i, x, y]
        set_support_patches(T, W, ctl, window, feet, problem, k, i, j, foot_count)
        set_force_limits(W, ctl, window, feet, problem, i, j, foot_count)
    return set_landings(window, feet, problem, k, N, foot_count)


@kernel
def set_reference_rates(window, problem, k, j, begin, end):
    """Mean CoM acceleration and angular momentum rate of the reference in interval j (trapezoidal): single frames may oscillate."""
    first, last = frame_at(window, k, begin), frame_at(window, k, end)
    acceleration, momentum_rate, total = Vec3(0.0, 0.0, 0.0), Vec3(0.0, 0.0, 0.0), 0.0
    for i in range(first, last + 1):
        part = 1.0 if first < i < last or first == last else 0.5  # trapezoidal rule
        acceleration = acceleration + part * vec3(window.com_acceleration, i)
        momentum_rate = momentum_rate + part * vec3(window.angular_momentum_rate, i)
        total += part
    put_vec3(problem.com_acceleration, j, (1.0 / total) * acceleration)
    put_vec3(problem.angular_momentum_rate, j, (1.0 / total) * momentum_rate)


@kernel
def set_support_patches(T, W, ctl, window, feet, problem, k, i, j, foot_count):
    """Support patches of interval j with its middle at frame i: measured contact points in the first, scheduled corners later."""
    m, l = window.leg.shape[0], feet.in_contact.shape[0]
    patch = 0
    for p in range(MAX_PATCHES):
        problem.patch_size[j, p], problem.patch_foot[j, p] = 0, -1
    for n in range(m):
        leg, mask = window.leg[n], window.contact_mask[i * m + n]
        foot = leg if leg < foot_count else -1
        p = patch
        for other in range(patch):  # links of a foot share a patch if there are too many links
            if m > MAX_PATCHES and problem.patch_foot[j, other] == foot:
                p = other
        if p >= MAX_PATCHES:
            continue
        at = k * l + leg
        offset = vec3(feet.foothold_offset, leg) if foot >= 0 else Vec3(0.0, 0.0, 0.0)
        time, stance = window.time_to_landing[at], window.in_contact[at]
        # A foot that landed early stays until its scheduled landing; if that is not known, as long as its corners are upcoming
        before_landing = i < k + time / window.dt[0] if time < NEVER else window.upcoming_mask[k * m + n] > 0
        landed_early = feet.in_contact[leg] and not stance and before_landing
        partial = ctl.supporting_corners[n] < count_bits(mask)
        completing = feet.in_contact[leg] and stance and (i - k) * window.dt[0] < FULL_CONTACT_TIME and partial
        count = before = problem.patch_size[j, p]
        if j == 0 or (mask == 0 and landed_early) or completing:
            if ctl.supporting_corners[n]:
                for c in range(min(feet.contact_count[n], MAX_PATCH_POINTS - before)):
                    put_patch_point(problem, j, p, count, vec3(feet.contact_points, MAX_CONTACT_POINTS * n + c) - offset)
                    count += 1
        elif mask > 0:
            current = window.stance_index[i * l + leg] <= feet.stance_index[leg] and feet.in_contact[leg]
            for c in range(window.corner_count[n]):
                if (mask >> c) & 1 and count < MAX_PATCH_POINTS:
                    if current:
                        point = corner_position(T, W, ctl, n, c) - offset
                    else:
                        point = vec3(window.corner_positions, MAX_CORNERS * (i * m + n) + c) + vec3(window.foot_offset, i * l + leg)
                    put_patch_point(problem, j, p, count, point)
                    count += 1
        if count > before:
            problem.patch_size[j, p], problem.patch_foot[j, p] = count, foot
            patch = max(patch, p + 1)
    patch = add_unanchored_patch(window, feet, problem, i, j, patch)
    problem.contact_mode[j] = GRIP if is_gripping(ctl, i, j == 0) else STANCE if patch > 0 else FLIGHT


@kernel
def set_force_limits(W, ctl, window, feet, problem, i, j, foot_count):
    """Vertical acceleration and torque limits of the stance legs in interval j with its middle at frame i."""
    if window.max_vertical_force.shape[0] == 0:
        return
    l, total, legs, stance_leg = feet.in_contact.shape[0], 0.0, 0, -1
    for leg in range(l):
        if feet.in_contact[leg] if j == 0 else window.in_contact[i * l + leg]:
            total, legs, stance_leg = total + window.max_vertical_force[i * l + leg], legs + 1, leg
    unanchored = window.unanchored_count.shape[0] > 0 and window.unanchored_count[i] > 0
    if problem.contact_mode[j] != STANCE or unanchored or legs == 0:
        total, legs = np.inf, 0
    g = -W.gravity[2]
    # At least zero: in another posture the legs could carry the weight
    problem.max_vertical_acceleration[j] = max(min(total / ctl.mass[0] - g, MAX_VERTICAL_ACCELERATION * g), 0.0)
    problem.motor_count[j] = 0
    if legs == 1 and total < np.inf:
        set_motor_limits(window, problem, i * l + stance_leg, j, stance_leg if stance_leg < foot_count else -1)


@kernel
def set_motor_limits(window, problem, at, j, foot):
    """Torque limits of the only stance leg in interval j."""
    problem.motor_foot[j] = foot
    for x in range(2):
        problem.motor_point[j, x] = window.motor_point[at, x] + window.foot_offset[at, x]
    for n in range(MAX_MOTORS * at, MAX_MOTORS * (at + 1)):
        if window.motor_rows[n, 5] < np.inf:
            for x in range(6):
                problem.motor_rows[j, problem.motor_count[j], x] = window.motor_rows[n, x]
            problem.motor_count[j] += 1


@kernel
def add_unanchored_patch(window, feet, problem, i, j, patch):
    """Add contact points without a fixed foothold (rolling, sliding) in interval j as one more patch. Returns how many there are."""
    if window.unanchored_count.shape[0] == 0:
        return patch
    p = patch
    for other in range(patch):
        if problem.patch_foot[j, other] < 0:
            p = other
    count = feet.unanchored_count[0] if j == 0 else window.unanchored_count[i]
    if p >= MAX_PATCHES or count == 0:
        return patch
    shift = on_slope(window, vec3_at(feet.reference_shift, 0))
    for c in range(min(count, MAX_PATCH_POINTS - problem.patch_size[j, p])):
        point = vec3(feet.unanchored_points, c) if j == 0 else vec3(window.unanchored_points, MAX_UNANCHORED_POINTS * i + c) + shift
        put_patch_point(problem, j, p, problem.patch_size[j, p], point)
        problem.patch_size[j, p] += 1
    return max(patch, p + 1)


@kernel
def put_patch_point(problem, j, patch, n, p):
    """Write point n of a patch of interval j."""
    problem.patch_points[j, patch, n, 0], problem.patch_points[j, patch, n, 1], problem.patch_points[j, patch, n, 2] = p.x, p.y, p.z


@kernel
def first_node(feet, N, t):
    """First node at or after time t; N + 1 if there is none."""
    n = 0
    while n <= N and feet.node_times[n] < t:
        n += 1
    return n


@kernel
def set_landings(window, feet, problem, k, N, foot_count):
    """Landings within the horizon; the new foothold offset takes effect at mid-swing. Returns their number."""
    l, dt = feet.in_contact.shape[0], window.dt[0]
    stances, count = window.stance_frames.shape[0] // max(l, 1), 0
    for row in range(problem.landing_foot.shape[0]):
        problem.landing_foot[row] = -1
    for leg in range(foot_count):
        before = -1
        for n in range(max(feet.stance_index[leg] + 1, 0), window.stance_count[leg]):
            start, end = window.stance_frames[leg * stances + n, 0], window.stance_frames[leg * stances + n, 1]
            time = (start - k) * dt
            if start < 0 or end <= k or time > feet.node_times[N] or count >= problem.landing_foot.shape[0]:
                continue
            lift_off = max(window.stance_frames[leg * stances + n - 1, 1], 0) if n > 0 else 0
            mid_swing = ((lift_off + start) // 2 - k) * dt
            first = max(first_node(feet, N, mid_swing) if mid_swing > 0.0 else 0, before + 1)
            touchdown = first_node(feet, N, time - 1e-9) if time > 0.0 else 0
            if first >= N:
                continue
            before = first
            problem.landing_foot[count], problem.landing_start[count], problem.landing_touchdown[count] = leg, first, max(touchdown, first)
            problem.landing_time[count], problem.landing_duration[count] = max(time, 0.0), (end - start) * dt
            target = vec3(feet.foothold_offset, leg)
            if problem.landing_time[count] < feet.gain[LANDING_FREEZE_TIME]:
                target = vec3(feet.swing_offset, leg)
            elif feet.is_planned[leg * stances + n]:
                target = vec3(feet.planned_offset, leg * stances + n)
            problem.landing_target[count, 0], problem.landing_target[count, 1] = target.x, target.y
            set_landing_limits(window, problem, count, leg * stances + n, max(start, 0) * l + leg)
            feet.landing_stance[count, 0], feet.landing_stance[count, 1] = leg, n
            count += 1
    return count


@kernel
def set_landing_limits(window, problem, row, stance, at):
    """Bounds of a foothold on its stair tread, less the offset that the plan of the whole clip has used."""
    used = window.stair_direction[0] * window.foot_offset[at, 0] + window.stair_direction[1] * window.foot_offset[at, 1]
    problem.landing_direction[row, 0], problem.landing_direction[row, 1] = window.stair_direction[0], window.stair_direction[1]
    problem.landing_min[row], problem.landing_max[row] = window.foothold_range[stance, 0] - used, window.foothold_range[stance, 1] - used


@kernel
def capture_point_error(ctl, window, feet, k, gravity):
    """Capture point c + ċ/ω of the figure relative to that of the shifted reference (x, y) [m], limited to the step reach."""
    inverse_omega = (max(window.com[k, 2], 0.1) / gravity) ** 0.5
    x = ctl.com[0] - window.com[k, 0] - feet.reference_shift[0] + inverse_omega * (ctl.com[3] - window.com_velocity[k, 0])
    y = ctl.com[1] - window.com[k, 1] - feet.reference_shift[1] + inverse_omega * (ctl.com[4] - window.com_velocity[k, 1])
    distance = (x * x + y * y) ** 0.5
    scale = min(1.0, feet.gain[STEP_REACH] / max(distance, 1e-9))
    return scale * x, scale * y


@kernel
def set_landing_targets(ctl, window, feet, k, landing, count, gravity):
    """Landing targets of the swing feet: footholds of the plan; without a planned landing, the capture point (online only)."""
    l = feet.in_contact.shape[0]
    stances = window.stance_frames.shape[0] // max(l, 1)
    for n in range(count):
        at = feet.landing_stance[n, 0] * stances + feet.landing_stance[n, 1]
        feet.planned_offset[at, 0], feet.planned_offset[at, 1], feet.is_planned[at] = landing[n, 0], landing[n, 1], 1
    for leg in range(l):
        stance = window.next_stance_index[k * l + leg]
        at = leg * stances + stance
        if stance > feet.stance_index[leg] and stance < stances and feet.is_planned[at]:
            feet.landing_offset[leg, 0], feet.landing_offset[leg, 1] = feet.planned_offset[at, 0], feet.planned_offset[at, 1]
        elif feet.gain[EXTRAPOLATION_TIME] > 0.0 and not feet.in_contact[leg]:
            x, y = capture_point_error(ctl, window, feet, k, gravity)
            feet.landing_offset[leg, 0] = feet.gain[FOOTHOLD_DECAY] * feet.reference_shift[0] + x
            feet.landing_offset[leg, 1] = feet.gain[FOOTHOLD_DECAY] * feet.reference_shift[1] + y
