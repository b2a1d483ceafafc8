"""Support polygon: edges of the convex hull of all contact points, each moving with the feet at its ends."""

from __future__ import annotations

import math

from brachiate.centroidal.problem import MAX_PATCHES
from brachiate.compiled import kernel

POINT_TOLERANCE = 1e-9  # [m] closer points coincide
SLOPE_REGULARIZATION = 4e-4  # [m²] of the plane fit: points closer than its square root do not determine a slope


@kernel
def collect_support_points(problem, sol, k, level_tolerance):
    """Collect the support points of an interval at the assumed offsets. Returns their number and the support height.

    That is the mean of their heights if these differ by less than ``level_tolerance`` [m]. Otherwise (a seat and feet) it is the height
    below the CoM of the plane fitted to all points, as the support nearer to below the body carries more.
    """
    count, mean, lowest, highest = 0, 0.0, math.inf, -math.inf
    for j in range(MAX_PATCHES):
        f = problem.patch_foot[k, j]
        for i in range(problem.patch_size[k, j]):
            x, y, z = problem.patch_points[k, j, i, 0], problem.patch_points[k, j, i, 1], problem.patch_points[k, j, i, 2]
            if f >= 0:
                x, y = x + sol.assumed_offset[f, 0], y + sol.assumed_offset[f, 1]
            sol.support_x[count], sol.support_y[count], sol.support_owner[count] = x, y, f
            mean, lowest, highest = mean + z, min(lowest, z), max(highest, z)
            count += 1
    mean /= count
    if highest - lowest < level_tolerance:
        return count, mean
    mx, my = centroid(sol, count)
    xx, xy, yy, xz, yz, n = count * SLOPE_REGULARIZATION, 0.0, count * SLOPE_REGULARIZATION, 0.0, 0.0, 0
    for j in range(MAX_PATCHES):
        for i in range(problem.patch_size[k, j]):
            x, y, z = sol.support_x[n] - mx, sol.support_y[n] - my, problem.patch_points[k, j, i, 2] - mean
            xx, xy, yy, xz, yz, n = xx + x * x, xy + x * y, yy + y * y, xz + x * z, yz + y * z, n + 1
    x, y = 0.5 * (problem.com[k, 0] + problem.com[k + 1, 0]) - mx, 0.5 * (problem.com[k, 1] + problem.com[k + 1, 1]) - my
    height = mean + ((yy * xz - xy * yz) * x + (xx * yz - xy * xz) * y) / (xx * yy - xy * xy)
    return count, min(max(height, lowest), highest)


@kernel
def centroid(sol, count):
    """Mean of all support points."""
    x, y = 0.0, 0.0
    for i in range(count):
        x, y = x + sol.support_x[i], y + sol.support_y[i]
    return x / count, y / count


@kernel
def radius_of_gyration(problem, sol, k, count):
    """Radius of gyration of the pressure distribution: every patch loaded by its number of points, evenly over its area."""
    mx, my = centroid(sol, count)
    total, at = 0.0, 0
    for j in range(MAX_PATCHES):
        n = problem.patch_size[k, j]
        if n > 0:
            cx, cy, spread = 0.0, 0.0, 0.0
            for i in range(at, at + n):
                cx, cy = cx + sol.support_x[i] / n, cy + sol.support_y[i] / n
            for i in range(at, at + n):
                spread += (sol.support_x[i] - cx) ** 2 + (sol.support_y[i] - cy) ** 2
            total += n * ((cx - mx) ** 2 + (cy - my) ** 2) + spread / 3.0  # a third: second moment of a rectangle from that of its corners
            at += n
    return math.sqrt(total / count)


@kernel
def put_edge(sol, edge, nx, ny, at, a, b):
    """Edge through the point ``at`` with outward normal n, moving with the owners of the points a and b."""
    sol.edge_normal[edge, 0], sol.edge_normal[edge, 1] = nx, ny
    sol.edge_offset[edge] = nx * sol.support_x[at] + ny * sol.support_y[at]
    sol.edge_owner[edge, 0], sol.edge_owner[edge, 1] = sol.support_owner[a], sol.support_owner[b]


@kernel
def next_hull_vertex(sol, count, a):
    """Next hull vertex from a, counterclockwise (gift wrapping); of collinear points the farthest. -1: all points coincide."""
    best, farthest = -1, 0.0
    for i in range(count):
        dx, dy = sol.support_x[i] - sol.support_x[a], sol.support_y[i] - sol.support_y[a]
        length = math.sqrt(dx * dx + dy * dy)
        if length <= POINT_TOLERANCE:
            continue
        if best < 0:
            best, farthest = i, length
            continue
        bx, by = sol.support_x[best] - sol.support_x[a], sol.support_y[best] - sol.support_y[a]
        turn = bx * dy - by * dx
        tolerance = POINT_TOLERANCE * max(farthest, length)
        if turn < -tolerance or (turn <= tolerance and length > farthest):
            best, farthest = i, length
    return best


@kernel
def hull_edges(sol, count):
    """Edges of the hull, counterclockwise. Returns their number, and whether they enclose an area. A line or a point gets four."""
    first = 0  # the lowest, of equally low ones the leftmost: a point between the ends of an edge is never reached again
    for i in range(1, count):
        higher = sol.support_y[i] - sol.support_y[first]
        if higher < -POINT_TOLERANCE or (higher <= POINT_TOLERANCE and sol.support_x[i] < sol.support_x[first]):
            first = i
    edge_count, a = 0, first
    while edge_count < count:
        b = next_hull_vertex(sol, count, a)
        if b < 0:
            break
        dx, dy = sol.support_x[b] - sol.support_x[a], sol.support_y[b] - sol.support_y[a]
        length = math.sqrt(dx * dx + dy * dy)
        put_edge(sol, edge_count, dy / length, -dx / length, a, a, b)
        edge_count += 1
        a = b
        if abs(sol.support_x[b] - sol.support_x[first]) + abs(sol.support_y[b] - sol.support_y[first]) <= POINT_TOLERANCE:
            break
    if edge_count > 2:
        return edge_count, True
    if edge_count == 2:  # a line: close its ends
        farthest = next_hull_vertex(sol, count, first)
        tx, ty = -sol.edge_normal[0, 1], sol.edge_normal[0, 0]
        put_edge(sol, 2, tx, ty, farthest, farthest, farthest)
        put_edge(sol, 3, -tx, -ty, first, first, first)
    else:
        put_edge(sol, 0, 1.0, 0.0, first, first, first)
        put_edge(sol, 1, -1.0, 0.0, first, first, first)
        put_edge(sol, 2, 0.0, 1.0, first, first, first)
        put_edge(sol, 3, 0.0, -1.0, first, first, first)
    return 4, False


@kernel
def edge_margin(sol, edge_count, count, margin):
    """Margin from the edges, at most 0.3 of the distance to the centroid."""
    mx, my = centroid(sol, count)
    for i in range(edge_count):
        margin = min(margin, 0.3 * (sol.edge_offset[i] - sol.edge_normal[i, 0] * mx - sol.edge_normal[i, 1] * my))
    return max(margin, 0.0)
