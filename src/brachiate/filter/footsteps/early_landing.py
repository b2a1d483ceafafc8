"""Early landings: a foot in the air lands sooner than in the reference, to regain balance.

The capture point error grows as exp(ωt) until the next landing. If it would outgrow the reach of that step, the swing is shortened to the
longest one that can still arrest it [Khadiv 2020]. The foot blends from its reference trajectory to a level landing at its next
foothold (in a long swing at the last one), displaced as the centroidal plan decides. It stands there until the reference has landed, too;
if that is far ahead, until the body is calm, and then blends back.
"""

from __future__ import annotations

import numpy as np

from brachiate.compiled import kernel
from brachiate.filter.footsteps.capture_step import LANDING, NO_LEG, is_foot
from brachiate.filter.footsteps.swing_foot import MIN_QUINTIC_STEPS, on_slope
from brachiate.filter.schedule.arrays import EXTRAPOLATION_TIME, MAX_CORNERS, NEVER, STEP_REACH
from brachiate.spatial import Vec3, norm, put_vec3, vec3

# In reaches of a step (0.35 m for a body of 1.7 m):
LOST = 1.0  # capture point error at the scheduled landing beyond which the foot lands earlier
COP_AUTHORITY = 0.12  # distance of the CoP from the middle of the sole, which works against the error meanwhile
SHORTEST_SWING = 0.6  # remaining swing at least, in durations of a capture step
FOOT_SPEED = 14.0  # in reaches per second: mean speed of the fastest swing, after SHORTEST_SWING / 2
LONG_SWING = 2.4  # likewise: in longer ones the next foothold is not yet in reach
MIN_GAIN = 0.03  # [s] by which a landing is earlier at least
RETURN_DURATION = 1.6  # in durations of a capture step: of a foot back to its trajectory
FOREVER = 1 << 40  # frame


@kernel
def mean_corner(window, at):
    """Mean position of the corners of a contact link; ``at``: frame times number of links, plus link."""
    n, total = at % window.leg.shape[0], Vec3(0.0, 0.0, 0.0)
    for j in range(window.corner_count[n]):
        total = total + vec3(window.corner_positions, MAX_CORNERS * at + j)
    return (1.0 / window.corner_count[n]) * total


@kernel
def foot_link(window, leg):
    """Contact link of a leg that follows a swing trajectory."""
    found = -1
    for n in range(window.leg.shape[0]):
        if window.leg[n] == leg and window.swings[n] == 1:
            found = n
    return found


@kernel
def longest_swing(error, limit, authority, omega):
    """Time [s] until a capture point error [m] reaches a limit [m], if the CoP works against it by ``authority`` [m]."""
    if error <= authority:
        return np.inf
    if error >= limit:
        return 0.0
    return np.log((limit - authority) / (error - authority)) / omega


@kernel
def next_landing(window, k, leg):
    """Frame of the next landing of a leg that swings in frame k, -1 if it is not known, and the number of its stance."""
    at, last = k * (window.in_contact.shape[0] // window.height_slack.shape[0]) + leg, window.frame_count[0] - 1
    number = window.next_stance_index[at]
    if window.time_to_landing[at] >= NEVER:
        return -1, number
    landing = k + int(window.time_to_landing[at] / window.dt[0] + 0.5)
    return (landing if landing <= last else -1), number


@kernel
def foot_in_the_air(window, feet, k):
    """Leg of the only foot that swings, while the other one stands; NO_LEG if there is none."""
    if feet.in_contact.shape[0] != 2 or not is_foot(window, 0) or not is_foot(window, 1):
        return NO_LEG
    for leg in range(2):
        swings = not feet.in_contact[leg] and not window.in_contact[2 * k + leg]
        if swings and feet.in_contact[1 - leg] and window.in_contact[2 * k + 1 - leg]:
            return leg
    return NO_LEG


@kernel
def place_landing(window, feet, step, leg, k, landing):
    """Corners of the foothold: of the next one; in a long swing, of the last one or of the ground below the foot."""
    m, l = window.leg.shape[0], feet.in_contact.shape[0]
    stances = window.stance_frames.shape[0] // l
    far = landing < 0 or (landing - k) * window.dt[0] > LONG_SWING * step.swing_duration[0]
    frame, other, drop = landing, 1 - leg, 0.0
    if far:
        before = window.stance_frames[leg * stances + max(min(feet.stance_index[leg], stances - 1), 0), 1] - 1
        frame = before if 0 <= before < k else k
    if frame == k and not window.in_contact[k * l + leg]:
        n, s = foot_link(window, leg), foot_link(window, other)
        drop = mean_corner(window, k * m + n).z - mean_corner(window, k * m + s).z
    for n in range(m):
        if window.leg[n] == leg:
            for j in range(window.corner_count[n]):
                p = vec3(window.corner_positions, MAX_CORNERS * (frame * m + n) + j)
                put_vec3(step.landing_corners, MAX_CORNERS * n + j, Vec3(p.x, p.y, p.z - drop))
    put_vec3(step.landing_foot_offset, leg, vec3(window.foot_offset, frame * l + leg))
    step.hold_until[leg] = FOREVER if far else landing


@kernel
def error_over_foot(ctl, window, feet, k, leg, gravity):
    """Capture point of the figure relative to that of the reference, which stands displaced as the foot of a leg does: (x, y) [m]."""
    inverse_omega = (max(window.com[k, 2], 0.1) / gravity) ** 0.5
    foot = vec3(feet.foothold_offset, leg)
    x = ctl.com[0] - window.com[k, 0] - foot.x + inverse_omega * (ctl.com[3] - window.com_velocity[k, 0])
    y = ctl.com[1] - window.com[k, 1] - foot.y + inverse_omega * (ctl.com[4] - window.com_velocity[k, 1])
    return x, y


@kernel
def start_landing(window, feet, step, leg, k, landing, number, frames):
    """Let a leg land after so many frames, at the foothold of stance ``number``."""
    step.swing_leg[0], step.kind[0], step.is_capture[0], step.feet_displaced[0] = leg, LANDING, 1, 1
    step.lifted_off[0], step.swing_frames[0], step.swing_frames[1] = 1, k, k + frames
    place_landing(window, feet, step, leg, k, landing)
    put_vec3(step.blend, leg, Vec3(0.0, 0.0, 0.0))
    feet.stance_index[leg] = number - 1
    for i in range(3):
        step.previous_offset[0, i] = feet.foothold_offset[leg, i]
    for n in range(window.leg.shape[0]):
        step.initial_support[n] = window.contact_mask[k * window.leg.shape[0] + n]


@kernel
def shortened_swing(window, feet, step, k, leg, landing, error, gravity):
    """Remaining swing of a leg [s] that arrests a capture point error [m], if a foot is fast enough; inf if the scheduled one does."""
    omega, reach = (gravity / max(window.com[k, 2], 0.1)) ** 0.5, feet.gain[STEP_REACH]
    remaining = (landing - k) * window.dt[0] if landing >= 0 else np.inf
    if longest_swing(error, LOST * reach, COP_AUTHORITY * reach, omega) > remaining:
        return np.inf
    shortest, distance, m, n = SHORTEST_SWING * step.swing_duration[0], error, window.leg.shape[0], foot_link(window, leg)
    if landing >= 0:
        distance += norm(mean_corner(window, landing * m + n) - mean_corner(window, k * m + n))
    shortest = max(shortest, 0.5 * shortest + distance / (FOOT_SPEED * reach))
    return max(longest_swing(error, reach, COP_AUTHORITY * reach, omega), shortest)


@kernel
def decide_landing(ctl, window, feet, step, k, gravity):
    """Shorten the present swing if the capture point error calls for it. Returns whether it does."""
    dt, stances = window.dt[0], window.stance_frames.shape[0] // feet.in_contact.shape[0]
    leg = step.swing_leg[0] if step.swing_leg[0] != NO_LEG else foot_in_the_air(window, feet, k)
    # Incoming frames are less consistent than a reference: their capture point errors do not tell that a step is lost
    if leg == NO_LEG or feet.in_contact[leg] or feet.gain[EXTRAPOLATION_TIME] > 0.0:
        return 0
    landing, number = next_landing(window, k, leg)
    if number < 0 or number >= stances:
        return 0
    x, y = error_over_foot(ctl, window, feet, k, 1 - leg, gravity)
    duration = shortened_swing(window, feet, step, k, leg, landing, (x * x + y * y) ** 0.5, gravity)
    end = step.swing_frames[1] if step.swing_leg[0] == leg else landing if landing >= 0 else FOREVER
    if (end - k) * dt < duration + MIN_GAIN:
        return 0
    if step.swing_leg[0] == leg:
        step.swing_frames[1] = k + int(duration / dt)
        return 1
    start_landing(window, feet, step, leg, k, landing, number, int(duration / dt))
    at = leg * stances + number
    feet.planned_offset[at, 0] = feet.foothold_offset[1 - leg, 0] + x
    feet.planned_offset[at, 1] = feet.foothold_offset[1 - leg, 1] + y
    feet.is_planned[at] = 1
    return 1


@kernel
def has_landed(window, leg, k, number):
    """Whether the reference stands on a stance of a leg in frame k."""
    at = k * (window.in_contact.shape[0] // window.height_slack.shape[0]) + leg
    return window.in_contact[at] == 1 and window.next_stance_index[at] >= number


@kernel
def release_feet(window, feet, step, k, calm):
    """End the holds of feet that landed early: when the reference has landed, or once the body is calm."""
    for leg in range(feet.in_contact.shape[0]):
        if step.held[leg] and has_landed(window, leg, k, feet.stance_index[leg]):
            step.held[leg] = 0
            put_vec3(step.blend, leg, Vec3(0.0, 0.0, 0.0))
        elif step.held[leg] and calm and step.hold_until[leg] >= FOREVER // 2:
            step.held[leg] = 0
            feet.stance_index[leg] -= 1


@kernel
def advance_blend(step, leg, target, duration, dt):
    """Advance the share of the landing in the trajectory of a foot, along the quintic to rest at its target after a duration."""
    T = max(duration, MIN_QUINTIC_STEPS * dt)
    s, rate, second = step.blend[leg, 0], step.blend[leg, 1], step.blend[leg, 2]
    jerk = 60.0 / T**3 * (target - s) - 36.0 / T**2 * rate - 9.0 / T * second
    step.blend[leg, 0] = s + dt * rate + 0.5 * dt * dt * second
    step.blend[leg, 1] = rate + dt * second + 0.5 * dt * dt * jerk
    step.blend[leg, 2] = second + dt * jerk


@kernel
def blend_foot(ctl, window, feet, step, k, leg):
    """Move the task of a foot from its reference trajectory toward the landing, by its blend: position, velocity, acceleration, level."""
    m, l, dt, last = window.leg.shape[0], feet.in_contact.shape[0], window.dt[0], window.frame_count[0] - 1
    s, rate, second = step.blend[leg, 0], step.blend[leg, 1], step.blend[leg, 2]
    before, after = max(k - 1, 0), min(k + 1, last)
    for n in range(m):
        if window.leg[n] != leg:
            continue
        ctl.sole_level[n] = min(max(s, 0.0), 1.0)
        if window.swings[n] == 0 or feet.in_contact[leg]:
            continue
        here, goal = mean_corner(window, k * m + n), Vec3(0.0, 0.0, 0.0)
        for j in range(window.corner_count[n]):
            goal = goal + (1.0 / window.corner_count[n]) * vec3(step.landing_corners, MAX_CORNERS * n + j)
        past, ahead = mean_corner(window, before * m + n), mean_corner(window, after * m + n)
        velocity = (1.0 / max((after - before) * dt, dt)) * (ahead - past)
        acceleration = (1.0 / (dt * dt)) * (ahead - 2.0 * here + past) if after - before == 2 else Vec3(0.0, 0.0, 0.0)
        way = goal - here + on_slope(window, vec3(step.landing_foot_offset, leg) - vec3(window.foot_offset, k * l + leg))
        put_vec3(ctl.position_offset, n, vec3(ctl.position_offset, n) + s * way)
        put_vec3(ctl.velocity_offset, n, vec3(ctl.velocity_offset, n) + rate * way - s * velocity)
        put_vec3(ctl.acceleration_offset, n, vec3(ctl.acceleration_offset, n) + second * way - 2.0 * rate * velocity - s * acceleration)


@kernel
def blend_feet(ctl, window, feet, step, k):
    """Advance the blends of all feet, and move their tasks."""
    for leg in range(feet.in_contact.shape[0]):
        landing = step.swing_leg[0] == leg and step.kind[0] == LANDING
        if landing:
            advance_blend(step, leg, 1.0, (step.swing_frames[1] - k) * window.dt[0], window.dt[0])
        elif not step.held[leg]:
            stands = feet.in_contact[leg] == 1 and window.in_contact[k * feet.in_contact.shape[0] + leg] == 1
            if stands or step.blend[leg, 0] < 1e-3:
                put_vec3(step.blend, leg, Vec3(0.0, 0.0, 0.0))
            else:
                advance_blend(step, leg, 0.0, RETURN_DURATION * step.swing_duration[0], window.dt[0])
        if step.blend[leg, 0] > 0.0:
            blend_foot(ctl, window, feet, step, k, leg)
