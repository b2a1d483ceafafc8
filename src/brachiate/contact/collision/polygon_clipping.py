"""Polygons and segments in the plane of contact, cut by the edges of a convex polygon."""

from __future__ import annotations

import math

from brachiate.compiled import kernel, outlined
from brachiate.contact.collision.patch import copy_corner, turn

PARALLEL = 0.02  # [rad] lines that cross at less than this touch along what they have in common
ON_EDGE = 1e-12  # [m²] a corner this near to an edge, times the edge's length, is on it: it is not cut twice


@kernel
def corner_between(S, a, b, s, t, to):
    """Where the line from corner a to b meets the edge they are at distances s and t from."""
    k = s / (s - t)
    S.flat[to, 0] = S.flat[a, 0] + k * (S.flat[b, 0] - S.flat[a, 0])
    S.flat[to, 1] = S.flat[a, 1] + k * (S.flat[b, 1] - S.flat[a, 1])


@kernel
def cut(S, at, count, p, q, to):
    """Cut a polygon by the edge from corner p to q, keeping what is on its left. Returns how many corners are left."""
    n = 0
    for j in range(count):
        a, b = at + j, at + (j + 1) % count
        s, t = turn(S, p, q, a), turn(S, p, q, b)
        if s >= -ON_EDGE:
            copy_corner(S, a, to + n)
            n += 1
        if (s > ON_EDGE and t < -ON_EDGE) or (s < -ON_EDGE and t > ON_EDGE):
            corner_between(S, a, b, s, t, to + n)
            n += 1
    return n


@outlined
def clipped(S, at, count, by, edges, sign, places):
    """Cut a polygon, or a segment of two corners, by the convex polygon ``by``. Returns where the rest is, and how many corners.

    ``sign`` is -1 if ``by`` is clockwise. The last two of the four ``places`` of S.flat are used.
    """
    if count == 2:
        return at, clipped_segment(S, at, by, edges, sign)
    start, spare = at, 2 * places
    for k in range(edges):
        p, q = by + k, by + (k + 1) % edges
        if sign < 0:
            p, q = q, p
        count = cut(S, start, count, p, q, spare)
        if count == 0:
            return start, 0
        start, spare = spare, 5 * places - spare
    return start, count


@kernel
def clipped_segment(S, at, by, edges, sign):
    """Cut a segment in place. Returns 2, or 0 if nothing is left."""
    low, high = 0.0, 1.0
    for k in range(edges):
        p, q = by + k, by + (k + 1) % edges
        s, t = sign * turn(S, p, q, at), sign * turn(S, p, q, at + 1)
        if s < -ON_EDGE and t < -ON_EDGE:
            return 0
        if s < 0.0 and t > s:
            low = max(low, s / (s - t))
        elif t < 0.0 and s > t:
            high = min(high, s / (s - t))
    if low > high:
        return 0
    u, v = S.flat[at, 0], S.flat[at, 1]
    du, dv = S.flat[at + 1, 0] - u, S.flat[at + 1, 1] - v
    S.flat[at, 0], S.flat[at, 1] = u + low * du, v + low * dv
    S.flat[at + 1, 0], S.flat[at + 1, 1] = u + high * du, v + high * dv
    return 2


@kernel
def inside(S, k, by, edges, sign):
    """Whether a corner is in a convex polygon."""
    out = 0
    for j in range(edges):
        out += sign * turn(S, by + j, by + (j + 1) % edges, k) < -ON_EDGE
    return out == 0


@kernel
def overlap(S, a, b):
    """The common part of two segments that are almost parallel: of a, two corners at a and beside it. Returns 2, or 0 if none."""
    u, v = S.flat[a, 0], S.flat[a, 1]
    du, dv = S.flat[a + 1, 0] - u, S.flat[a + 1, 1] - v
    length2 = du * du + dv * dv
    s = ((S.flat[b, 0] - u) * du + (S.flat[b, 1] - v) * dv) / length2
    t = ((S.flat[b + 1, 0] - u) * du + (S.flat[b + 1, 1] - v) * dv) / length2
    low, high = max(0.0, min(s, t)), min(1.0, max(s, t))
    if low >= high:
        return 0
    S.flat[a, 0], S.flat[a, 1] = u + low * du, v + low * dv
    S.flat[a + 1, 0], S.flat[a + 1, 1] = u + high * du, v + high * dv
    return 2


@kernel
def parallel(S, a, b):
    """Whether two segments are parallel to a degree, and both have a direction."""
    p, q = S.flat[a + 1, 0] - S.flat[a, 0], S.flat[a + 1, 1] - S.flat[a, 1]
    r, s = S.flat[b + 1, 0] - S.flat[b, 0], S.flat[b + 1, 1] - S.flat[b, 1]
    both = math.sqrt((p * p + q * q) * (r * r + s * s))
    return abs(p * s - q * r) < PARALLEL * both and both > 1e-8
