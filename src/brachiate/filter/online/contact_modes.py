"""Contact modes of the feet in incoming frames: the sequence of least cost, by fixed-lag dynamic programming (Viterbi).

Costs are those of :mod:`brachiate.contact_estimation.ground_contacts`: height and speed of heels and fronts in contact, the root residual
that remains with the feet in contact (without contact the body must fall, with contact nothing may pull), and switching. The frames that
still wait are decided together; frames that have been tracked stay as they are.
"""

from __future__ import annotations

import numpy as np

from brachiate.compiled import index, kernel
from brachiate.contact_estimation.cost_constants import (
    CORRELATION_TIME,
    END_SWITCH,
    FREE_COST,
    MAX_RESIDUAL_SHARE,
    MOMENT_ARM,
    NORMAL_SPEED_SCALE,
    RESIDUAL_SCALE,
    SPEED_SCALE,
    SUPPORT_SWITCH,
    TAIL_COST,
    UNCARRIED_COST,
    UNCARRIED_SHARE,
)
from brachiate.spatial import Vec3, vec3

MODES = 4  # of a foot: bit 0 its heel, bit 1 its front in contact
MAX_LEGS = 4  # 256 combinations
HEIGHT_SCALE = 0.015  # [m] uncertainty of the height of an end in contact
RAISED_HEIGHT = 0.03  # [m] of a part of the front above the lowest one: it has lifted off
FRICTION, SOLE_HALF_WIDTH = 0.8, 0.05  # of the ground; [m] distance of the center of pressure from the middle line of a sole
NO_END = 1e3  # cost of an end that a foot does not have


@kernel
def end_cost(height, tangential_speed, normal_velocity):
    """Cost of an end in contact, beyond that of a free one: as ``kinematic_cost`` of whole motions."""
    above = max(height, 0.0) / HEIGHT_SCALE
    squares = above * above + (tangential_speed / SPEED_SCALE) ** 2 + (normal_velocity / NORMAL_SPEED_SCALE) ** 2
    half = 0.5 * squares
    return (half if half < TAIL_COST else TAIL_COST * (1.0 + np.log(half / TAIL_COST))) - FREE_COST


@kernel
def distance_from_segment(p, a, b):
    """Horizontal distance of a point from a segment [m]."""
    x, y = b.x - a.x, b.y - a.y
    t = min(max(((p.x - a.x) * x + (p.y - a.y) * y) / max(x * x + y * y, 1e-12), 0.0), 1.0)
    return ((p.x - a.x - t * x) ** 2 + (p.y - a.y - t * y) ** 2) ** 0.5


@kernel
def turns_left(a, b, p):
    """Whether p is to the left of the way from a to b."""
    return (b.x - a.x) * (p.y - a.y) - (b.y - a.y) * (p.x - a.x) > 0.0


@kernel
def distance_from_feet(est, stands, p):
    """Horizontal distance of a point from the convex hull of the middle lines of the feet in contact [m]; ``stands``: as bits."""
    l, best = est.phase_time.shape[0], np.inf
    for a in range(2 * l):
        if not (stands >> (a // 2)) & 1:
            continue
        for b in range(a + 1, 2 * l):
            if not (stands >> (b // 2)) & 1:
                continue
            pa, pb = vec3(est.end_point, a), vec3(est.end_point, b)
            best = min(best, distance_from_segment(p, pa, pb))
            for c in range(b + 1, 2 * l):
                if (stands >> (c // 2)) & 1:
                    pc = vec3(est.end_point, c)
                    side = turns_left(pa, pb, p)
                    if side == turns_left(pb, pc, p) and side == turns_left(pc, pa, p):
                        best = 0.0
    return best


@kernel
def share_cost(share):
    """Cost of a root residual, as a share of the weight: as ``residual_cost`` of whole motions."""
    share = min(share, MAX_RESIDUAL_SHARE)
    uncarried = max(share - UNCARRIED_SHARE, 0.0) / (1.0 - UNCARRIED_SHARE)
    return 0.5 * (share / RESIDUAL_SCALE) ** 2 + UNCARRIED_COST * uncarried


@kernel
def residual_cost(est, stands, force, moment, com, floor):
    """Cost of the root residual of these feet in contact: force [weights] and moment about the CoM [weights · m] that are required."""
    if stands == 0:
        return share_cost((force.x * force.x + force.y * force.y + force.z * force.z) ** 0.5)
    load, height = max(force.z, 0.05), com.z - floor
    pull = max(-force.z, 0.0)
    slip = max((force.x * force.x + force.y * force.y) ** 0.5 - FRICTION * max(force.z, 0.0), 0.0)
    cop = Vec3(com.x - (height * force.x + moment.y) / load, com.y - (height * force.y - moment.x) / load, 0.0)
    lever = max(distance_from_feet(est, stands, cop) - SOLE_HALF_WIDTH, 0.0) * max(force.z, 0.0) / MOMENT_ARM
    return share_cost((pull * pull + slip * slip + lever * lever) ** 0.5)


@kernel
def foot_mode(mode, leg):
    """Mode of a foot in a combination."""
    return (mode >> (2 * leg)) & 3


@kernel
def switch_cost(a, b):
    """Cost of a foot's switching between two modes."""
    change = a ^ b
    ends = (change & 1) + (change >> 1)
    return END_SWITCH * ends + (SUPPORT_SWITCH if (a > 0) != (b > 0) else 0.0)


@kernel
def frame_costs(est, dt, force, moment, com, floor):
    """est.mode_cost ← cost of every combination in this frame, for est.end_costs and the required force and moment."""
    l, scale = est.phase_time.shape[0], dt / CORRELATION_TIME
    for stands in range(1 << l):
        est.stand_cost[stands] = residual_cost(est, stands, force, moment, com, floor)
    for c in range(est.least.shape[0]):
        stands, cost = 0, 0.0
        for leg in range(l):
            mode = foot_mode(c, leg)
            stands |= (1 << leg) if mode else 0
            for end in range(2):
                cost += est.end_costs[2 * leg + end] if (mode >> end) & 1 else 0.0
        est.mode_cost[c] = scale * (cost + est.stand_cost[stands])


@kernel
def advance_modes(est, f):
    """est.least ← least cost of all sequences that end in each combination in frame f; est.previous ← the combination before it.

    Switching costs add up over the feet, so the best combination before is found foot by foot.
    """
    count, l = est.least.shape[0], est.phase_time.shape[0]
    for c in range(count):
        est.previous[index(f * count + c)] = c
        if f == 0:
            est.least[c] = 0.0
    for leg in range(l if f > 0 else 0):
        for c in range(count):
            est.reached[c], est.reached_from[c] = np.inf, c
            for mode in range(MODES):
                other = c ^ ((foot_mode(c, leg) ^ mode) << (2 * leg))
                cost = est.least[other] + switch_cost(mode, foot_mode(c, leg))
                if cost < est.reached[c]:
                    est.reached[c], est.reached_from[c] = cost, est.previous[index(f * count + other)]
        for c in range(count):
            est.least[c], est.previous[index(f * count + c)] = est.reached[c], est.reached_from[c]
    lowest = np.inf
    for c in range(count):
        est.least[c] += est.mode_cost[c]
        lowest = min(lowest, est.least[c])
    for c in range(count):  # only differences matter: a stream of any length loses no digits
        est.least[c] -= lowest


@kernel
def decide_modes(est, f, fixed):
    """est.mode ← combinations of least cost in the frames up to f that are not fixed. Returns the first frame that has changed."""
    count, best = est.least.shape[0], 0
    for c in range(count):
        if est.least[c] < est.least[best]:
            best = c
    changed, i = f, f
    while i >= max(min(fixed, f), 0):
        if i < f and est.mode[i] != best:
            changed = i
        est.mode[i] = best
        best = est.previous[index(i * count + best)]
        i -= 1
    return max(changed, 0)


@kernel
def put_contact_masks(window, est, i):
    """Contact masks and stance flags of frame i by its modes: of a front with several links those that are about as low as the lowest."""
    m, l = window.leg.shape[0], est.phase_time.shape[0]
    for leg in range(l):
        mode, lowest = foot_mode(est.mode[i], leg), np.inf
        window.in_contact[i * l + leg] = 1 if mode else 0
        for n in range(m):
            if window.leg[n] == leg:
                lowest = min(lowest, est.end_height[2 * (i * m + n) + 1])
        for n in range(m):
            if window.leg[n] == leg:
                half = heel_corners(window, n)
                heel, every = (1 << half) - 1, (1 << window.corner_count[n]) - 1
                front = (mode >> 1) & 1 and est.end_height[2 * (i * m + n) + 1] - lowest < RAISED_HEIGHT
                mask = (heel if mode & 1 else 0) | ((every & ~heel) if front else 0)
                window.contact_mask[i * m + n] = window.upcoming_mask[i * m + n] = mask


@kernel
def heel_corners(window, n):
    """Number of heel corners of a sole, which come first; toes have none."""
    return window.corner_count[n] // 2 if window.swings[n] else 0


@kernel
def clear_ends(est, at):
    """Heights of the ends of a sole before its corners are measured; ``at``: frame times soles, plus sole."""
    est.end_height[2 * at] = est.end_height[2 * at + 1] = np.inf
