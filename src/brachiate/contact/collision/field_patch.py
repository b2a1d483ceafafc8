"""Patch on a height field: convex hull of a cluster of points, with an affine gap fitted to theirs."""

from __future__ import annotations

import math

from brachiate.compiled import kernel
from brachiate.contact.collision.patch import affine_at, collapse_to_segment, distance2, orient2d
from brachiate.spatial import Vec3, vec3


@kernel
def project_cluster(scratch, count, m, x, R, o, axes):
    """Points of cluster m in the contact plane, to the last of the four blocks of scratch.plane_points. Returns how many."""
    capacity, n = scratch.cluster.shape[0], 0
    for k in range(count):
        if scratch.cluster[k] == m:
            q = x + R @ vec3(scratch.plane_points, k) - o
            at = 3 * capacity + n
            scratch.plane_points[at, 0], scratch.plane_points[at, 1], scratch.plane_points[at, 2] = (
                q @ axes.x,
                q @ axes.y,
                scratch.plane_points[2 * capacity + k, 0],
            )
            n += 1
    return n


@kernel
def fit_affine_gap(scratch, count, m, x, R, o, axes, corners):
    """Least-squares affine gap of the points of cluster m, shifted so that its minimum over the corners is the true one.

    Returns the gap, the smallest gap, the largest deviation from an affine one, and the mean height of the points above o.
    """
    capacity = scratch.cluster.shape[0]
    n = up = su = sv = sg = uu = uv = vv = ug = vg = 0.0
    smallest = math.inf
    for k in range(count):
        if scratch.cluster[k] == m:
            q, g = x + R @ vec3(scratch.plane_points, k) - o, scratch.plane_points[2 * capacity + k, 0]
            u, v = q @ axes.x, q @ axes.y
            n, su, sv, sg = n + 1.0, su + u, sv + v, sg + g
            uu, uv, vv, ug, vg = uu + u * u, uv + u * v, vv + v * v, ug + u * g, vg + v * g
            up += q @ axes.z
            smallest = min(smallest, g)
    su, sv, sg = su / n, sv / n, sg / n
    # Regularization keeps the slope across a single row of points at zero
    regularization = 1e-9 * (uu + vv) + 1e-12
    uu, uv, vv = uu - n * su * su + regularization, uv - n * su * sv, vv - n * sv * sv + regularization
    ug, vg = ug - n * su * sg, vg - n * sv * sg
    determinant = uu * vv - uv * uv
    a, b = (ug * vv - vg * uv) / determinant, (vg * uu - ug * uv) / determinant
    gap = Vec3(sg - a * su - b * sv, a, b)
    fitted_min, deviation = math.inf, 0.0
    for k in range(corners):
        fitted_min = min(fitted_min, affine_at(gap, scratch, 3 * capacity + k))
    for k in range(count):
        if scratch.cluster[k] == m:
            q = x + R @ vec3(scratch.plane_points, k) - o
            deviation = max(deviation, abs(gap.x + a * (q @ axes.x) + b * (q @ axes.y) - scratch.plane_points[2 * capacity + k, 0]))
    return Vec3(gap.x + smallest - fitted_min, a, b), smallest, deviation, up / n


@kernel
def cluster_hull(scratch, count, m, x, R, o, axes):
    """Convex hull of cluster m, counter-clockwise, in the last of the four blocks of scratch.plane_points. Returns the corners' number."""
    capacity = scratch.cluster.shape[0]
    at = 3 * capacity
    n = project_cluster(scratch, count, m, x, R, o, axes)
    if n > 2 and collapse_to_segment(scratch, at, n) == 2:  # collinear points have no hull
        return 2
    start = at
    for k in range(at + 1, at + n):
        if scratch.plane_points[k, 0] < scratch.plane_points[start, 0] or (
            scratch.plane_points[k, 0] == scratch.plane_points[start, 0] and scratch.plane_points[k, 1] < scratch.plane_points[start, 1]
        ):
            start = k
    # Gift wrapping in place: corners are swapped to the front in their order.
    corners, current = 0, start
    while corners < n:
        swap_points(scratch, current, at + corners)
        current = at + corners
        corners += 1
        next_corner = at  # back to the first, unless another point is farther to the right
        for k in range(at + corners, at + n):
            s = orient2d(scratch, current, next_corner, k)
            if (
                s < 0.0
                or next_corner == current
                or (s == 0.0 and distance2(scratch, current, k) > distance2(scratch, current, next_corner))
            ):
                next_corner = k
        if next_corner == at or distance2(scratch, next_corner, at) == 0.0:
            break
        current = next_corner
    return corners


@kernel
def swap_points(scratch, j, k):
    """Exchange two points in the plane."""
    u, v, w = scratch.plane_points[j, 0], scratch.plane_points[j, 1], scratch.plane_points[j, 2]
    scratch.plane_points[j, 0], scratch.plane_points[j, 1], scratch.plane_points[j, 2] = (
        scratch.plane_points[k, 0],
        scratch.plane_points[k, 1],
        scratch.plane_points[k, 2],
    )
    scratch.plane_points[k, 0], scratch.plane_points[k, 1], scratch.plane_points[k, 2] = u, v, w
