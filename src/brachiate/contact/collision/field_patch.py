"""Loose points of a height field made into a polygon with an affine gap."""

from __future__ import annotations

import math

from brachiate.compiled import kernel
from brachiate.contact.collision.patch import at_corner, distance2, straightened, turn
from brachiate.spatial import Vec3, vec3


@kernel
def lay_members(S, count, m, x, R, o, axes):
    """Points of bundle m in the plane of contact, to the last of the four places of S.flat. Returns how many."""
    places, n = S.member.shape[0], 0
    for k in range(count):
        if S.member[k] == m:
            q = x + R @ vec3(S.flat, k) - o
            at = 3 * places + n
            S.flat[at, 0], S.flat[at, 1], S.flat[at, 2] = q @ axes.x, q @ axes.y, S.flat[2 * places + k, 0]
            n += 1
    return n


@kernel
def affine_fit(S, count, m, x, R, o, axes, corners):
    """The affine gap nearest to that of all points of bundle m, moved so that its smallest at a corner is the true smallest one.

    Returns it, the smallest gap, how far any gap is from being affine, and how high the points are above o.
    """
    places = S.member.shape[0]
    n = up = su = sv = sg = uu = uv = vv = ug = vg = 0.0
    least = math.inf
    for k in range(count):
        if S.member[k] == m:
            q, g = x + R @ vec3(S.flat, k) - o, S.flat[2 * places + k, 0]
            u, v = q @ axes.x, q @ axes.y
            n, su, sv, sg = n + 1.0, su + u, sv + v, sg + g
            uu, uv, vv, ug, vg = uu + u * u, uv + u * v, vv + v * v, ug + u * g, vg + v * g
            up += q @ axes.z
            least = min(least, g)
    su, sv, sg = su / n, sv / n, sg / n
    # A little stiffness keeps the slope across a row of points at zero
    little = 1e-9 * (uu + vv) + 1e-12
    uu, uv, vv = uu - n * su * su + little, uv - n * su * sv, vv - n * sv * sv + little
    ug, vg = ug - n * su * sg, vg - n * sv * sg
    size = uu * vv - uv * uv
    a, b = (ug * vv - vg * uv) / size, (vg * uu - ug * uv) / size
    gap = Vec3(sg - a * su - b * sv, a, b)
    lowest, off = math.inf, 0.0
    for k in range(corners):
        lowest = min(lowest, at_corner(gap, S, 3 * places + k))
    for k in range(count):
        if S.member[k] == m:
            q = x + R @ vec3(S.flat, k) - o
            off = max(off, abs(gap.x + a * (q @ axes.x) + b * (q @ axes.y) - S.flat[2 * places + k, 0]))
    return Vec3(gap.x + least - lowest, a, b), least, off, up / n


@kernel
def hull_around(S, count, m, x, R, o, axes):
    """Convex hull of the points of bundle m, counter-clockwise, to the last of the four places of S.flat. Returns how many corners."""
    places = S.member.shape[0]
    at = 3 * places
    n = lay_members(S, count, m, x, R, o, axes)
    if n > 2 and straightened(S, at, n) == 2:  # on one line nobody is to the right
        return 2
    start = at
    for k in range(at + 1, at + n):
        if S.flat[k, 0] < S.flat[start, 0] or (S.flat[k, 0] == S.flat[start, 0] and S.flat[k, 1] < S.flat[start, 1]):
            start = k
    # Corners in their order go to the front, by exchange with what is there.
    corners, here = 0, start
    while corners < n:
        swap(S, here, at + corners)
        here = at + corners
        corners += 1
        ahead = at  # back to the first, unless another is farther to the right
        for k in range(at + corners, at + n):
            s = turn(S, here, ahead, k)
            if s < 0.0 or ahead == here or (s == 0.0 and distance2(S, here, k) > distance2(S, here, ahead)):
                ahead = k
        if ahead == at or distance2(S, ahead, at) == 0.0:
            break
        here = ahead
    return corners


@kernel
def swap(S, j, k):
    """Exchange two corners."""
    u, v, w = S.flat[j, 0], S.flat[j, 1], S.flat[j, 2]
    S.flat[j, 0], S.flat[j, 1], S.flat[j, 2] = S.flat[k, 0], S.flat[k, 1], S.flat[k, 2]
    S.flat[k, 0], S.flat[k, 1], S.flat[k, 2] = u, v, w
