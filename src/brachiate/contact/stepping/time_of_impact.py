"""Time of impact (continuous collision detection), and sub-stepping of fast bodies: no body turns far within a part of a step.

Impacts of fast shapes have parts of their own. The time of impact of two shapes is found by conservative advancement [Mirtich 1996]: bodies
keep their velocities, and time advances by the distance of the shapes over a bound of the speed at which it can shrink, until they touch.
"""

from __future__ import annotations

import math

from brachiate.compiled import kernel, outlined
from brachiate.contact.arrays import HEIGHT_FIELD, PLANE
from brachiate.contact.collision.broad_phase import place_shape, shape_rotation
from brachiate.contact.collision.gjk import core_radius, gjk_distance, support
from brachiate.contact.stepping.detection_margins import COMMON_REACH, TOUCH_GAP, body_velocity, max_point_speed
from brachiate.kinematics import body_velocities, forward_kinematics
from brachiate.spatial import Vec3, compose, cross, exponential, motion, norm, rotation_of, vec3

# [m] in a step, from which shapes are fast; thin ones from less. Contacts are detected within the reach of two steps, which up to this
# displacement is within the common margin of all pairs.
FAST_DISPLACEMENT = 0.5 * COMMON_REACH
# [rad] of a body within a part of a step. Gyroscopic forces at the midpoint are found by iteration, which contracts by about half of
# this: four passes leave 2e-4 of the first error, less than PREDICTION_TOLERANCE. A point leaves its tangent by 3 % of its radius.
MAX_TURN = 0.25
MAX_PARTS = 4096  # of a step, if bodies turn fast
MAX_PARTS_WORK = 24_576  # parts times degrees of freedom: bounds the work of a step
MAX_IMPACTS = 32  # impacts of fast shapes that are searched for in a step
IMPACT_PART = 1e-3  # of a step: part with an impact at its midpoint
MAX_ADVANCES = 32  # of conservative advancement; it ends before the impact, if it needs more
MAX_DISTANCES = 12_000  # evaluated in a step: two fifths of its work, so that some is left for contacts
# Of the thickness of two shapes, by which they may turn into each other within a part: from a half on the shortest way out may be on the
# other side. The rest is for turning with other velocities after an impact.
MAX_OVERLAP = 0.25


@kernel
def fast_displacement(geometry):
    """Displacement in a step from which some pair of shapes is fast [m]."""
    return min(FAST_DISPLACEMENT, geometry.min_pair_thickness[0])


@kernel
def may_be_fast(W, geometry, dt):
    """Whether a joint is so fast that a body may turn or move far in a step: a cheap test, which most steps do not pass."""
    fastest = 0.0
    for k in range(W.v.shape[0]):
        fastest = max(fastest, abs(W.v[k]))
    return fastest * dt > 0.5 * fast_displacement(geometry)


@kernel
def max_angular_speed(T, W):
    """Largest angular speed of a body [rad/s]."""
    fastest = 0.0
    for i in range(T.parent.shape[0]):
        fastest = max(fastest, norm(motion(W.V, i).w))
    return fastest


@kernel
def distance_at(W, geometry, scratch, a, b, xa, xb, va, vb, wa, wb, t):
    """Distance of two shapes after time t at constant velocities, direction from the first to the second, and a point of the first."""
    Ra = compose(rotation_of(exponential(t * wa)), shape_rotation(W, geometry, a))
    Rb = compose(rotation_of(exponential(t * wb)), shape_rotation(W, geometry, b))
    x = xa + t * va
    d = xb + t * vb - x
    if geometry.kind[a] == PLANE:
        p = support(geometry, b, Rb, d, -Ra.z, 0.0)
        gap = Ra.z @ p - core_radius(geometry, b)
        return gap, Ra.z, x + p - gap * Ra.z
    length, n, p = gjk_distance(geometry, scratch, a, b, Ra, Rb, d, 0.0, 0.0, math.inf)
    r = core_radius(geometry, a)
    if length == 0.0:  # cores overlap: no direction
        n = Vec3(0.0, 0.0, 0.0)
        return -r - core_radius(geometry, b) - 2.0 * TOUCH_GAP, n, x
    return length - r - core_radius(geometry, b), n, x + p + r * n


@outlined
def impact_time(T, W, geometry, scratch, i, h, dt):
    """Time of the impact of pair i within h, if its shapes are fast; longest part, if they touch already; evaluated distances.

    Infinite times: no impact, and no limit. Shapes that touch may turn into each other by a share of their thickness.
    """
    a, b = geometry.pair[i, 0], geometry.pair[i, 1]
    xa, xb = vec3(scratch.position, a), vec3(scratch.position, b)
    va, wa = body_velocity(T, W, geometry.body[a], xa)
    vb, wb = body_velocity(T, W, geometry.body[b], xb)
    turning = norm(wb) * geometry.bounding_radius[b]
    if geometry.kind[a] < PLANE:
        turning += norm(wa) * geometry.bounding_radius[a]
    speed = norm(vb - va) + turning
    if not dt * speed > min(FAST_DISPLACEMENT, geometry.thickness[a] + geometry.thickness[b]):
        return math.inf, math.inf, 0
    d = xb - xa
    if geometry.kind[a] < PLANE and norm(d) > geometry.bounding_radius[a] + geometry.bounding_radius[b] + h * speed:
        return math.inf, math.inf, 0
    t = 0.0
    for k in range(MAX_ADVANCES):
        gap, n, p = distance_at(W, geometry, scratch, a, b, xa, xb, va, vb, wa, wb, t)
        speed = n @ (va - vb) + turning
        if gap < TOUCH_GAP:
            if k > 0:
                return t, math.inf, k + 1
            closing = n @ (va + cross(wa, p - xa) - vb - cross(wb, p - xb))  # of the closest points
            if gap > -TOUCH_GAP and h * closing > 2.0 * TOUCH_GAP:
                return t, math.inf, 1
            limit = MAX_OVERLAP * (geometry.thickness[a] + geometry.thickness[b]) / max(speed, 1e-300)
            return math.inf, math.inf if geometry.kind[a] == PLANE else limit, 1
        if not speed > 0.0:
            return math.inf, math.inf, k + 1
        t += (gap - 0.5 * TOUCH_GAP) / speed
        if not t < h:
            return math.inf, math.inf, k + 1
    return t, math.inf, MAX_ADVANCES


@outlined
def first_impact(T, W, geometry, scratch, h, dt, budget):
    """Time of the first impact of fast shapes within h, longest part for those that touch, and what is left of the budget of distances.

    Infinite times: no impact, and no limit. Height fields are left to the detection margins.
    """
    first = longest = math.inf
    for g in range(geometry.kind.shape[0]):
        place_shape(T, W, geometry, scratch, g)
    for i in range(geometry.pair.shape[0]):
        if geometry.pair_enabled[i] == 0 or geometry.kind[geometry.pair[i, 0]] == HEIGHT_FIELD:
            continue
        t, limit, count = impact_time(T, W, geometry, scratch, i, min(h, first), dt)
        first, longest = min(first, t), min(longest, limit)
        budget -= count
        if budget <= 0:
            return math.inf, math.inf, 0
    return first, longest, budget


@kernel
def has_height_field(geometry):
    """Whether there are height fields."""
    found = False
    for g in range(geometry.kind.shape[0]):
        found = found or geometry.kind[g] == HEIGHT_FIELD
    return found


@outlined
def part_length(T, W, geometry, scratch, dt, remaining, impacts, budget):
    """Length of the next part of a step, whether impacts were searched for, and what is left of impacts and budget.

    A part ends shortly before an impact, which then has a short part of its own: velocities are very different after it.
    """
    forward_kinematics(T, W)
    body_velocities(T, W)
    h = remaining
    turn, parts = remaining * max_angular_speed(T, W), min(MAX_PARTS, MAX_PARTS_WORK / W.v.shape[0])
    if turn > MAX_TURN:
        h = remaining / math.ceil(min(turn / MAX_TURN, parts * remaining / dt + 1.0))
    if impacts <= 0 or budget <= 0 or has_height_field(geometry) or dt * max_point_speed(T, W, geometry) <= fast_displacement(geometry):
        return h, False, impacts, budget
    t, longest, budget = first_impact(T, W, geometry, scratch, h, dt, budget)
    if budget <= 0:
        return h, False, impacts, budget
    if t < h:
        impact_part = min(IMPACT_PART * dt, h)
        if t > impact_part:
            h = t - 0.5 * impact_part
        else:
            h, impacts = impact_part, impacts - 1
    h = min(h, max(longest, dt / parts))
    return h, True, impacts, budget
