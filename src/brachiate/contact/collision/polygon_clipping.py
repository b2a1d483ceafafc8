"""Clipping of polygons and segments in the contact plane by a convex polygon (Sutherland-Hodgman)."""

from __future__ import annotations

import math

from brachiate.compiled import kernel, outlined
from brachiate.contact.collision.patch import copy_point, orient2d

PARALLEL_ANGLE = 0.02  # [rad] lines that cross at less touch along their common part
EDGE_TOLERANCE = 1e-12  # [m²] distance to an edge times its length: a closer point is on the edge


@kernel
def put_intersection(scratch, a, b, s, t, to):
    """Intersection of the line from point a to b with an edge, to which their distances are s and t."""
    k = s / (s - t)
    scratch.plane_points[to, 0] = scratch.plane_points[a, 0] + k * (scratch.plane_points[b, 0] - scratch.plane_points[a, 0])
    scratch.plane_points[to, 1] = scratch.plane_points[a, 1] + k * (scratch.plane_points[b, 1] - scratch.plane_points[a, 1])


@kernel
def clip_by_edge(scratch, at, count, p, q, to):
    """Clip a polygon by the edge from p to q, keeping what is on its left. Returns how many corners are left."""
    n = 0
    for j in range(count):
        a, b = at + j, at + (j + 1) % count
        s, t = orient2d(scratch, p, q, a), orient2d(scratch, p, q, b)
        if s >= -EDGE_TOLERANCE:
            copy_point(scratch, a, to + n)
            n += 1
        if (s > EDGE_TOLERANCE and t < -EDGE_TOLERANCE) or (s < -EDGE_TOLERANCE and t > EDGE_TOLERANCE):
            put_intersection(scratch, a, b, s, t, to + n)
            n += 1
    return n


@outlined
def clip_polygon(scratch, at, count, by, edges, sign, capacity):
    """Clip a polygon, or a segment of two points, by the convex polygon ``by``. Returns where the result is, and how many corners.

    ``sign`` is -1 if ``by`` is clockwise. The last two of the four blocks of scratch.plane_points, of size ``capacity``, are used.
    """
    if count == 2:
        return at, clip_segment(scratch, at, by, edges, sign)
    start, spare = at, 2 * capacity
    for k in range(edges):
        p, q = by + k, by + (k + 1) % edges
        if sign < 0:
            p, q = q, p
        count = clip_by_edge(scratch, start, count, p, q, spare)
        if count == 0:
            return start, 0
        start, spare = spare, 5 * capacity - spare
    return start, count


@kernel
def clip_segment(scratch, at, by, edges, sign):
    """Clip a segment in place. Returns 2, or 0 if nothing is left."""
    low, high = 0.0, 1.0
    for k in range(edges):
        p, q = by + k, by + (k + 1) % edges
        s, t = sign * orient2d(scratch, p, q, at), sign * orient2d(scratch, p, q, at + 1)
        if s < -EDGE_TOLERANCE and t < -EDGE_TOLERANCE:
            return 0
        if s < 0.0 and t > s:
            low = max(low, s / (s - t))
        elif t < 0.0 and s > t:
            high = min(high, s / (s - t))
    if low > high:
        return 0
    u, v = scratch.plane_points[at, 0], scratch.plane_points[at, 1]
    du, dv = scratch.plane_points[at + 1, 0] - u, scratch.plane_points[at + 1, 1] - v
    scratch.plane_points[at, 0], scratch.plane_points[at, 1] = u + low * du, v + low * dv
    scratch.plane_points[at + 1, 0], scratch.plane_points[at + 1, 1] = u + high * du, v + high * dv
    return 2


@kernel
def is_inside(scratch, k, by, edges, sign):
    """Whether a point is in a convex polygon."""
    violated = 0
    for j in range(edges):
        violated += sign * orient2d(scratch, by + j, by + (j + 1) % edges, k) < -EDGE_TOLERANCE
    return violated == 0


@kernel
def segment_overlap(scratch, a, b):
    """Common part of two nearly parallel segments, in place of segment a. Returns 2, or 0 if there is none."""
    u, v = scratch.plane_points[a, 0], scratch.plane_points[a, 1]
    du, dv = scratch.plane_points[a + 1, 0] - u, scratch.plane_points[a + 1, 1] - v
    length2 = du * du + dv * dv
    s = ((scratch.plane_points[b, 0] - u) * du + (scratch.plane_points[b, 1] - v) * dv) / length2
    t = ((scratch.plane_points[b + 1, 0] - u) * du + (scratch.plane_points[b + 1, 1] - v) * dv) / length2
    low, high = max(0.0, min(s, t)), min(1.0, max(s, t))
    if low >= high:
        return 0
    scratch.plane_points[a, 0], scratch.plane_points[a, 1] = u + low * du, v + low * dv
    scratch.plane_points[a + 1, 0], scratch.plane_points[a + 1, 1] = u + high * du, v + high * dv
    return 2


@kernel
def are_parallel(scratch, a, b):
    """Whether two segments are nearly parallel, and neither is degenerate."""
    p, q = scratch.plane_points[a + 1, 0] - scratch.plane_points[a, 0], scratch.plane_points[a + 1, 1] - scratch.plane_points[a, 1]
    r, s = scratch.plane_points[b + 1, 0] - scratch.plane_points[b, 0], scratch.plane_points[b + 1, 1] - scratch.plane_points[b, 1]
    both = math.sqrt((p * p + q * q) * (r * r + s * s))
    return abs(p * s - q * r) < PARALLEL_ANGLE * both and both > 1e-8
