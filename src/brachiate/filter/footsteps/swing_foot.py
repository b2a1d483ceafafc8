"""Stance and swing of the feet: contact modes, swing-foot trajectories and footholds relative to the reference.

A foot that lands beside its reference foothold has a horizontal *foothold offset*, which it keeps until its next landing. MPC and contacts
share this state: a foot that has landed, early or late, is in stance whatever the schedule says.
"""

from __future__ import annotations

from brachiate.compiled import kernel
from brachiate.filter.schedule.arrays import (
    EARLY_LANDING_TIME,
    FLAT_FOOT_WEIGHT,
    FLIGHT_HEIGHT_TOLERANCE,
    FOOT_ROLL_WEIGHT,
    LATE_LANDING_SPEED,
    MAX_CONTACT_POINTS,
    MAX_CORNERS,
    MAX_UNANCHORED_POINTS,
    NEVER,
    REFERENCE_SHIFT_TIME,
    SWING_FOOT_ORIENTATION_WEIGHT,
    SWING_FOOT_WEIGHT,
    SWING_RETARGET_TIME,
    count_bits,
)
from brachiate.filter.whole_body.arrays import CONTACT_ALLOWED, CONTACT_EARLY, CONTACT_FORBIDDEN, CONTACT_REQUIRED, TOUCHDOWN_TIME
from brachiate.filter.whole_body.qp import RAYS
from brachiate.kinematics import tree_origin
from brachiate.spatial import Vec3, put_vec3, rotation, vec3, vec3_at

EDGE_CORNERS = 2  # a link with no more supporting corners stands on an edge
MIN_QUINTIC_STEPS = 6.0  # time steps of the quintic at least: with four the recursion is unstable
LANDING_WINDOW = 0.06  # [s] before the scheduled landing from which on contact is allowed
MAX_FLIGHT_LIFT = 0.3  # [m] by which feet follow the CoM at most in a long flight


@kernel
def on_slope(window, offset):
    """Offset with the height of the sloped terrain added."""
    return Vec3(offset.x, offset.y, offset.z + offset.x * window.terrain_gradient[0] + offset.y * window.terrain_gradient[1])


@kernel
def corner_position(T, W, ctl, n, j):
    """World position of corner j of contact link n [m]."""
    i = ctl.contact_body[n]
    return tree_origin(T, W, i) + vec3(W.x, i) + rotation(W.R, i) @ vec3(ctl.corner, MAX_CORNERS * n + j)


@kernel
def init_feet(T, W, ctl, window, feet, k):
    """Initialize the feet to the contact schedule of frame k, at which the figure is."""
    m, l = window.leg.shape[0], feet.in_contact.shape[0]
    for leg in range(l):
        stance = window.in_contact[k * l + leg]
        feet.in_contact[leg] = feet.landed[leg] = stance
        feet.stance_index[leg] = window.next_stance_index[k * l + leg] if stance else window.next_stance_index[k * l + leg] - 1
    if window.unanchored_count.shape[0] > 0:
        feet.unanchored_count[0] = window.unanchored_count[k]
        for j in range(feet.unanchored_count[0]):
            put_vec3(feet.unanchored_points, j, vec3(window.unanchored_points, MAX_UNANCHORED_POINTS * k + j))
    for n in range(m):
        mask = window.contact_mask[k * m + n]
        ctl.supporting_corners[n] = count_bits(mask)
        feet.contact_count[n] = 0
        for j in range(window.corner_count[n]):
            if (mask >> j) & 1:
                put_vec3(feet.contact_points, MAX_CONTACT_POINTS * n + feet.contact_count[n], corner_position(T, W, ctl, n, j))
                feet.contact_count[n] += 1


@kernel
def update_phase(ctl, window, feet, k):
    """Contact modes and swing foot tasks of all contact links for the next step: stance, landing or swing."""
    m, l = window.leg.shape[0], feet.in_contact.shape[0]
    scheduled, supported = 0, 0
    for leg in range(l):
        feet.supported[leg] = 0
        scheduled |= window.in_contact[k * l + leg]
    for n in range(m):  # a stance continues until the links that are scheduled next support the figure
        if ctl.supporting_corners[n] > 0 and window.contact_mask[k * m + n] > 0:
            feet.supported[window.leg[n]] = supported = 1
    unsupported = scheduled == 1 and supported == 0
    for n in range(m):
        required = set_contact_modes(ctl, window, feet, k, n, unsupported)
        set_foot_task(ctl, window, feet, k, n, required)


@kernel
def set_contact_modes(ctl, window, feet, k, n, unsupported):
    """Contact modes of the corners of link n. Returns the corners at which contact is required, as bits."""
    m, l, dt, last = window.leg.shape[0], feet.in_contact.shape[0], window.dt[0], window.frame_count[0] - 1
    leg, corners = window.leg[n], window.corner_count[n]
    at = k * l + leg
    required, stance, every = window.contact_mask[k * m + n], window.in_contact[at] == 1, (1 << corners) - 1
    allowed = required | window.upcoming_mask[k * m + n]
    if not stance and LANDING_WINDOW < window.time_to_landing[at] < NEVER:  # a low swing foot must not land yet
        allowed = 0
    if unsupported or (stance and feet.supported[leg] == 0) or (required > 0 and feet.landed[leg] == 0):
        allowed = every
    early = 0
    if not stance and window.long_flight[k] == 1 and window.time_to_landing[at] <= feet.gain[EARLY_LANDING_TIME]:
        early = window.contact_mask[min(k + int(window.time_to_landing[at] / dt) + 1, last) * m + n]
        early = early if early > 0 else every
    if not stance and window.time_to_landing[at] <= ctl.gain[TOUCHDOWN_TIME]:  # so that it lands on time
        required |= window.contact_mask[min(k + int(window.time_to_landing[at] / dt + 0.5), last) * m + n]
    for j in range(corners):
        other = CONTACT_ALLOWED if (allowed >> j) & 1 else CONTACT_EARLY if (early >> j) & 1 else CONTACT_FORBIDDEN
        ctl.contact_mode[MAX_CORNERS * n + j] = CONTACT_REQUIRED if (required >> j) & 1 else other
    return required


@kernel
def set_foot_task(ctl, window, feet, k, n, required):
    """Weights and offsets of the foot task of link n: none for a flat stance foot, orientation of a rolling one, swing trajectory."""
    leg = window.leg[n]
    ctl.position_weight[n] = ctl.orientation_weight[n] = ctl.sole_level[n] = 0.0
    for i in range(3):
        ctl.position_offset[n, i] = ctl.velocity_offset[n, i] = ctl.acceleration_offset[n, i] = 0.0
    if window.swings[n] == 0:
        # Toes land flat: their joint is above the sole, so an edge in contact would have to slide for them to lie down
        if ctl.supporting_corners[n] <= EDGE_CORNERS:
            ctl.orientation_weight[n] = feet.gain[FLAT_FOOT_WEIGHT] if feet.in_contact[leg] else feet.gain[SWING_FOOT_ORIENTATION_WEIGHT]
        return
    if feet.in_contact[leg]:
        offset = vec3(feet.foothold_offset, leg) + vec3(window.foot_offset, k * feet.in_contact.shape[0] + leg)
        put_vec3(ctl.position_offset, n, on_slope(window, offset))
        if ctl.supporting_corners[n] <= EDGE_CORNERS:
            rolling = ctl.supporting_corners[n] >= count_bits(required)
            ctl.orientation_weight[n] = feet.gain[FOOT_ROLL_WEIGHT] if rolling else feet.gain[FLAT_FOOT_WEIGHT]
    else:
        swing_target(ctl, window, feet, k, n, leg)


@kernel
def clamp(x, limit):
    """x limited to [-limit, limit]."""
    return min(max(x, -limit), limit)


@kernel
def advance_quintic(feet, leg, remaining, dt):
    """Advance the swing offset by one step along the quintic that comes to rest at the landing offset after the remaining time.

    The quintic is replanned in every step from the present offset, velocity and acceleration, so a landing target that changes does not
    make the foot jump. Its initial jerk with zero final velocity and acceleration is 60 Δ/T³ − 36 v/T² − 9 a/T.
    """
    T = max(remaining, feet.gain[SWING_RETARGET_TIME], MIN_QUINTIC_STEPS * dt)
    offset, velocity, acceleration = vec3(feet.swing_offset, leg), vec3(feet.swing_velocity, leg), vec3(feet.swing_acceleration, leg)
    jerk = (60.0 / T**3) * (vec3(feet.landing_offset, leg) - offset) - (36.0 / T**2) * velocity - (9.0 / T) * acceleration
    put_vec3(feet.swing_offset, leg, offset + dt * velocity + (0.5 * dt * dt) * acceleration)
    put_vec3(feet.swing_velocity, leg, velocity + dt * acceleration + (0.5 * dt * dt) * jerk)
    put_vec3(feet.swing_acceleration, leg, acceleration + dt * jerk)


@kernel
def swing_target(ctl, window, feet, k, n, leg):
    """Swing foot task: reference trajectory, shifted by the quintic toward the planned foothold.

    A late foot moves down faster; in a long flight feet follow the height of the CoM.
    """
    l = feet.in_contact.shape[0]
    at = k * l + leg
    time = window.time_to_landing[at]
    feet.time_to_landing[leg] = time if time < NEVER else max(feet.time_to_landing[leg] - window.dt[0], 0.0)  # prediction may be lost
    advance_quintic(feet, leg, feet.time_to_landing[leg], window.dt[0])
    put_vec3(ctl.position_offset, n, on_slope(window, vec3(feet.swing_offset, leg) + vec3(window.foot_offset, at)))
    put_vec3(ctl.velocity_offset, n, on_slope(window, vec3(feet.swing_velocity, leg) + vec3(window.foot_offset_rate, at)))
    put_vec3(ctl.acceleration_offset, n, on_slope(window, vec3(feet.swing_acceleration, leg)))
    ctl.position_weight[n], ctl.orientation_weight[n] = feet.gain[SWING_FOOT_WEIGHT], feet.gain[SWING_FOOT_ORIENTATION_WEIGHT]
    support = 0
    for other in range(l):
        support |= feet.in_contact[other]
    if window.in_contact[at]:
        ctl.velocity_offset[n, 2] -= feet.gain[LATE_LANDING_SPEED]
    elif window.long_flight[k] == 1 and support == 0:
        above = ctl.com[2] - window.com[k, 2]
        excess = max(abs(above) - feet.gain[FLIGHT_HEIGHT_TOLERANCE], 0.0) * (1.0 if above > 0.0 else -1.0)
        ctl.position_offset[n, 2] += clamp(excess, MAX_FLIGHT_LIFT)
        ctl.velocity_offset[n, 2] += (ctl.com[5] - window.com_velocity[k, 2]) if excess != 0.0 else 0.0


@kernel
def record_support_points(ctl, qp, geometry, patches, feet):
    """Contact points of the contact links and of other links, from the rays of the QP."""
    feet.unanchored_count[0] = 0
    for n in range(ctl.contact_body.shape[0]):
        feet.contact_count[n] = 0
    for j in range(0, qp.counts[RAYS], 4):
        if ctl.ray_patch[j] < 0:
            break
        pair = patches.pair[ctl.ray_patch[j]]
        body = max(geometry.body[geometry.pair[pair, 0]], geometry.body[geometry.pair[pair, 1]])
        n = ctl.contact_link_of[body] if body >= 0 else -1
        if n >= 0 and feet.contact_count[n] < MAX_CONTACT_POINTS:
            put_vec3(feet.contact_points, MAX_CONTACT_POINTS * n + feet.contact_count[n], vec3(ctl.ray_point, j))
            feet.contact_count[n] += 1
        elif n < 0 and feet.unanchored_count[0] < MAX_UNANCHORED_POINTS:
            put_vec3(feet.unanchored_points, feet.unanchored_count[0], vec3(ctl.ray_point, j))
            feet.unanchored_count[0] += 1


@kernel
def record_contacts(T, W, ctl, window, feet, k):
    """Update stance, landing and foothold of every leg from the contacts of the QP, and shift the reference with the feet."""
    m, l = window.leg.shape[0], feet.in_contact.shape[0]
    for leg in range(l):
        at = k * l + leg
        link, corners, scheduled, flat = -1, 0, 0, True
        for n in range(m):
            if window.leg[n] == leg and ctl.supporting_corners[n] > 0:
                link = n if link < 0 else link
                corners += ctl.supporting_corners[n]
                scheduled += count_bits(window.contact_mask[k * m + n])
                flat = flat and ctl.supporting_corners[n] > EDGE_CORNERS
        if link >= 0:
            record_stance(T, W, ctl, window, feet, k, leg, link, flat)
            if window.in_contact[at] and corners >= min(EDGE_CORNERS, max(scheduled, 1)):
                feet.landed[leg] = 1
        elif not window.in_contact[at]:
            feet.landed[leg] = 0
        feet.in_contact[leg] = 1 if link >= 0 else 0
    shift_reference(window, feet, k)


@kernel
def record_stance(T, W, ctl, window, feet, k, leg, link, flat):
    """Stance number and foothold offset of a leg that is in contact by a link; the swing trajectory restarts there."""
    m, l, dt, last = window.leg.shape[0], feet.in_contact.shape[0], window.dt[0], window.frame_count[0] - 1
    at = k * l + leg
    if not feet.in_contact[leg]:
        feet.stance_index[leg] = max(feet.stance_index[leg], window.next_stance_index[at])
    current = feet.stance_index[leg] == window.next_stance_index[at]  # else lift-off is overdue, and the next foothold is another one
    if not feet.in_contact[leg] or (current and flat):
        frame = min(k + int(window.time_to_landing[at] / dt), last) if window.time_to_landing[at] < NEVER else k
        offset = Vec3(0.0, 0.0, 0.0)
        for j in range(window.corner_count[link]):
            offset = offset + corner_position(T, W, ctl, link, j) - vec3(window.corner_positions, MAX_CORNERS * (frame * m + link) + j)
        offset = (1.0 / window.corner_count[link]) * offset - vec3(window.foot_offset, frame * l + leg)
        put_vec3(feet.foothold_offset, leg, Vec3(offset.x, offset.y, 0.0))
    put_vec3(feet.swing_offset, leg, vec3(feet.foothold_offset, leg))
    feet.time_to_landing[leg] = 0.0
    put_vec3(feet.swing_velocity, leg, Vec3(0.0, 0.0, 0.0))
    put_vec3(feet.swing_acceleration, leg, Vec3(0.0, 0.0, 0.0))
    put_vec3(feet.landing_offset, leg, vec3(feet.foothold_offset, leg))


@kernel
def shift_reference(window, feet, k):
    """Let the shift of the whole reference follow the foothold offsets of the loaded legs (first-order lag)."""
    l, target = feet.in_contact.shape[0], Vec3(0.0, 0.0, 0.0)
    following = min(k + 1, window.frame_count[0] - 1)
    for leg in range(l):
        target = target + window.load_share[following * l + leg] * vec3(feet.foothold_offset, leg)
    part = min(1.0, window.dt[0] / feet.gain[REFERENCE_SHIFT_TIME])
    for i, x in enumerate((target.x, target.y, target.z)):
        feet.reference_shift[i] += part * (x - feet.reference_shift[i])


@kernel
def set_planned_rates(ctl, feet):
    """Desired CoM acceleration, ω² (c − cmp) where the plan has a CMP, and angular momentum rate of the plan at the present state."""
    for i in range(3):
        ctl.com_acceleration[i], ctl.angular_momentum_rate[i] = feet.com_acceleration[i], feet.angular_momentum_rate[i]
    if feet.cmp[2] != 0.0:
        ctl.com_acceleration[0] = feet.cmp[2] * (ctl.com[0] - feet.cmp[0])
        ctl.com_acceleration[1] = feet.cmp[2] * (ctl.com[1] - feet.cmp[1])


@kernel
def reference_shift(window, feet, k):
    """Shift of the reference in frame k with the feet: that of the whole reference, and the planned foot offsets [m]."""
    l = feet.in_contact.shape[0]
    shift = vec3_at(feet.reference_shift, 0)
    for leg in range(l):
        shift = shift + window.load_share[k * l + leg] * vec3(window.foot_offset, k * l + leg)
    return on_slope(window, shift)
