"""Shapes on height fields: vertices of the shape against the triangles below, and grid points against the face of the shape above them.

The points found are clustered by normal; every cluster of normals within ten degrees becomes one patch. A capsule is sampled by up to
sixteen spheres along its axis, a cylinder by eight points of each rim. Beyond its sides a height field has no surface.
"""

from __future__ import annotations

import math

from brachiate.compiled import kernel, outlined
from brachiate.contact.arrays import CAPSULE, CYLINDER, ELLIPSOID, HULL
from brachiate.contact.collision.field_patch import cluster_hull, fit_affine_gap
from brachiate.contact.collision.patch import add_patch, contact_axes, non_constant
from brachiate.contact.collision.polygon_clipping import is_inside
from brachiate.contact.collision.support_feature import cylinder_cap, ellipsoid_support, support_feature
from brachiate.spatial import Rotation, Vec3, cross, norm, put_vec3, unrotate, vec3

CLUSTER_COSINE = math.cos(math.radians(10.0))  # normals within this cosine form one patch
DETECTION_BAND = 0.02  # [m] points with a larger gap, if above the margin, are not part of a patch
MAX_CLUSTERS = 4  # patches of a shape on a height field
MAX_CAPSULE_SPHERES = 16  # spheres that sample a capsule, two per cell
MAX_UNEVENNESS = 2e-3  # [m] largest deviation of gaps from a plane; beyond it only the deepest points form the patch
CELL_TOLERANCE = 1e-9  # of a cell


@kernel
def grid_point(geometry, a, i, j):
    """Point (i, j) of the grid, in the frame of the height field."""
    nx, ny = geometry.grid_size[a, 0], geometry.grid_size[a, 1]
    x, y = (i - 0.5 * (nx - 1)) * geometry.size[a, 0], (j - 0.5 * (ny - 1)) * geometry.size[a, 1]
    return Vec3(x, y, geometry.heights[geometry.height_start[a] + j * nx + i])


@kernel
def cell_of(geometry, a, axis, s):
    """Grid coordinate of s along an axis, as a real number."""
    return s / geometry.size[a, axis] + 0.5 * (geometry.grid_size[a, axis] - 1)


@kernel
def triangle(geometry, a, i, j, upper):
    """Vertices of one triangle of a cell, counter-clockwise seen from above."""
    p, q = grid_point(geometry, a, i, j), grid_point(geometry, a, i + 1, j + 1)
    if upper:
        return p, q, grid_point(geometry, a, i, j + 1)
    return p, grid_point(geometry, a, i + 1, j), q


@kernel
def triangle_normal(p, q, r):
    """Unit normal of a triangle."""
    n = cross(q - p, r - p)
    return (1.0 / norm(n)) * n


@kernel
def surface_under(geometry, a, c):
    """Whether a point is over the height field; the normal there, and the distance from the plane of the triangle."""
    u, v = cell_of(geometry, a, 0, c.x), cell_of(geometry, a, 1, c.y)
    nx, ny = geometry.grid_size[a, 0], geometry.grid_size[a, 1]
    if not (u >= -CELL_TOLERANCE and v >= -CELL_TOLERANCE and u <= nx - 1 + CELL_TOLERANCE and v <= ny - 1 + CELL_TOLERANCE):
        return False, Vec3(0.0, 0.0, 1.0), math.inf
    i, j = min(max(int(u), 0), nx - 2), min(max(int(v), 0), ny - 2)
    p, q, r = triangle(geometry, a, i, j, v - j > u - i)
    n = triangle_normal(p, q, r)
    return True, n, (c - p) @ n


@kernel
def nearest_on_edge(c, p, q):
    """Point of a segment closest to c."""
    e = q - p
    return p + min(max((c - p) @ e / (e @ e), 0.0), 1.0) * e


@kernel
def nearest_on_triangle(c, p, q, r, n):
    """Whether c projects into a triangle, and the point of the triangle closest to c."""
    foot = c - ((c - p) @ n) * n
    if cross(q - p, foot - p) @ n >= 0.0 and cross(r - q, foot - q) @ n >= 0.0 and cross(p - r, foot - r) @ n >= 0.0:
        return True, foot
    best = nearest_on_edge(c, p, q)
    for other in (nearest_on_edge(c, q, r), nearest_on_edge(c, r, p)):
        if (other - c) @ (other - c) < (best - c) @ (best - c):
            best = other
    return False, best


@kernel
def note_point(scratch, count, p, n, gap, max_gap):
    """Store a surface point p with normal n and gap; if there is no capacity left, in place of the one with the largest gap."""
    capacity = scratch.cluster.shape[0]
    if not gap < max_gap:
        return count
    k = count
    if count >= capacity:
        k, largest = -1, gap
        for j in range(capacity):
            if scratch.plane_points[2 * capacity + j, 0] > largest:
                k, largest = j, scratch.plane_points[2 * capacity + j, 0]
        if k < 0:
            return count
        count -= 1
    put_vec3(scratch.plane_points, k, p)
    put_vec3(scratch.plane_points, capacity + k, n)
    scratch.plane_points[2 * capacity + k, 0] = gap
    return count + 1


@outlined
def sphere_on_field(geometry, scratch, a, c, radius, count, max_gap):
    """Store points near a sphere: the projections into triangles, and the closest edge or corner."""
    over, n, s = surface_under(geometry, a, c)
    if over and s < 0.0:  # its center is below the surface
        return note_point(scratch, count, c - s * n, n, s - radius, max_gap)
    reach = radius + max_gap
    nx, ny = geometry.grid_size[a, 0], geometry.grid_size[a, 1]
    i0, i1 = max(int(cell_of(geometry, a, 0, c.x - reach)), 0), min(int(cell_of(geometry, a, 0, c.x + reach)), nx - 2)
    j0, j1 = max(int(cell_of(geometry, a, 1, c.y - reach)), 0), min(int(cell_of(geometry, a, 1, c.y + reach)), ny - 2)
    best, nearest, edge = math.inf, c, False
    for j in range(j0, j1 + 1):
        for i in range(i0, i1 + 1):
            for upper in range(2):
                p, q, r = triangle(geometry, a, i, j, upper == 1)
                n = triangle_normal(p, q, r)
                within, foot = nearest_on_triangle(c, p, q, r, n)
                s = norm(c - foot)
                if within:
                    count = note_point(scratch, count, foot, n, (c - p) @ n - radius, max_gap)
                if s < best - 1e-9:
                    best, nearest, edge = s, foot, not within
    if edge and best > 1e-9 and (c - nearest).z > 0.1 * best:  # from above: there is no surface under the rim
        count = note_point(scratch, count, nearest, (1.0 / best) * (c - nearest), best - radius, max_gap)
    return count


@kernel
def vertices_on_field(geometry, scratch, a, b, R, x, count, max_gap):
    """Store points near vertices of a box, hull or cylinder, whose frame is given in that of the height field."""
    h = vec3(geometry.size, b)
    first, corners = geometry.vertex_start[b], 8
    if geometry.kind[b] == HULL:
        corners = geometry.vertex_start[b + 1] - first
    elif geometry.kind[b] == CYLINDER:
        corners = 16
        cylinder_cap(scratch, 0, R, x, h.x, h.y, -R.z)
        cylinder_cap(scratch, 8, R, x, h.x, h.y, R.z)
    for k in range(corners):
        if geometry.kind[b] == HULL:
            c = x + R @ vec3(geometry.vertex, first + k)
        elif geometry.kind[b] == CYLINDER:
            c = vec3(scratch.points, k)
        else:
            c = x + R @ Vec3(h.x if k & 1 else -h.x, h.y if k & 2 else -h.y, h.z if k & 4 else -h.z)
        over, n, s = surface_under(geometry, a, c)
        if over:
            count = note_point(scratch, count, c - s * n, n, s, max_gap)
    return count


@kernel
def is_peak(geometry, a, i, j, z):
    """Whether no neighbor of a grid point is higher along z."""
    p = grid_point(geometry, a, i, j)
    nx, ny = geometry.grid_size[a, 0], geometry.grid_size[a, 1]
    higher = 0
    for k in range(6):
        # Along x, along y, and along the diagonals of the cells
        u, v = i + (k < 2 or k > 3), j + (k > 1)
        if k % 2:
            u, v = 2 * i - u, 2 * j - v
        if 0 <= u < nx and 0 <= v < ny:
            higher += (grid_point(geometry, a, u, v) - p) @ z > CELL_TOLERANCE
    return higher == 0


@kernel
def grid_under_face(geometry, scratch, a, b, R, x, count, max_gap):
    """Store the grid points near the face of a shape that is turned to the height field."""
    _, up, _ = surface_under(geometry, a, x)
    k, N = support_feature(geometry, scratch, non_constant(0), b, R, x, -up)
    if k < 3:
        return count
    capacity = scratch.cluster.shape[0]
    at = 3 * capacity
    axes = contact_axes(-N, R)
    o = vec3(scratch.points, 0)
    low, high = o, o
    for j in range(k):
        p = vec3(scratch.points, j)
        low = Vec3(min(low.x, p.x), min(low.y, p.y), min(low.z, p.z))
        high = Vec3(max(high.x, p.x), max(high.y, p.y), max(high.z, p.z))
        q = p - o
        scratch.plane_points[at + j, 0], scratch.plane_points[at + j, 1] = q @ axes.x, q @ axes.y
    i0, i1 = (
        max(math.ceil(cell_of(geometry, a, 0, low.x)), 0),
        min(math.floor(cell_of(geometry, a, 0, high.x)), geometry.grid_size[a, 0] - 1),
    )
    j0, j1 = (
        max(math.ceil(cell_of(geometry, a, 1, low.y)), 0),
        min(math.floor(cell_of(geometry, a, 1, high.y)), geometry.grid_size[a, 1] - 1),
    )
    for j in range(int(j0), int(j1) + 1):
        for i in range(int(i0), int(i1) + 1):
            p = grid_point(geometry, a, i, j)
            q = p - o
            scratch.plane_points[at + k, 0], scratch.plane_points[at + k, 1] = q @ axes.x, q @ axes.y
            if is_inside(scratch, at + k, at, k, -1.0) and is_peak(geometry, a, i, j, -N):
                count = note_point(scratch, count, p, -N, q @ N, max_gap)
    return count


@kernel
def points_on_field(geometry, scratch, a, b, R, x, max_gap):
    """Store all surface points near shape b, whose frame is given in that of the height field. Returns how many."""
    kind, h, count = geometry.kind[b], vec3(geometry.size, b), non_constant(0)
    if kind <= CAPSULE:
        spheres = (
            min(max(int(4.0 * h.y / min(geometry.size[a, 0], geometry.size[a, 1])) + 2, 2), MAX_CAPSULE_SPHERES) if kind == CAPSULE else 1
        )
        for k in range(spheres):
            c = x + (2.0 * k / max(spheres - 1, 1) - 1.0) * h.y * R.z  # a sphere has no half length h.y
            count = sphere_on_field(geometry, scratch, a, c, h.x, count, max_gap)
        return count
    if kind == ELLIPSOID:
        over, n, s = surface_under(geometry, a, x)
        c = x
        for _ in range(3):
            c = ellipsoid_support(h, R, x, -n)
            over, n, s = surface_under(geometry, a, c)
        return note_point(scratch, 0, c - s * n, n, s, max_gap) if over else 0
    count = vertices_on_field(geometry, scratch, a, b, R, x, 0, max_gap)
    return grid_under_face(geometry, scratch, a, b, R, x, count, max_gap)


@kernel
def cluster_by_normal(scratch, count):
    """Cluster the stored points by normal; each cluster starts from the first point that is in none. Returns how many."""
    capacity, clusters = scratch.cluster.shape[0], 0
    for k in range(count):
        scratch.cluster[k] = -1
    for k in range(count):
        if scratch.cluster[k] < 0 and clusters < MAX_CLUSTERS:
            n = vec3(scratch.plane_points, capacity + k)
            for j in range(k, count):
                if scratch.cluster[j] < 0 and vec3(scratch.plane_points, capacity + j) @ n > CLUSTER_COSINE:
                    scratch.cluster[j] = clusters
            clusters += 1
    return clusters


@kernel
def height_field_patches(geometry, patches, scratch, i, a, b, R1, x1, R2, x2, margin):
    """Patches of shape b on height field a."""
    R = relative_rotation(R1, R2)
    count = points_on_field(geometry, scratch, a, b, R, unrotate(R1, x2 - x1), max(margin, DETECTION_BAND))
    capacity = scratch.cluster.shape[0]
    clusters = cluster_by_normal(scratch, count)
    for m in range(clusters):
        n, o, first = Vec3(0.0, 0.0, 0.0), Vec3(0.0, 0.0, 0.0), True
        for k in range(count):
            if scratch.cluster[k] == m:
                n = n + vec3(scratch.plane_points, capacity + k)
                o = vec3(scratch.plane_points, k) if first else o
                first = False
        z = R1 @ ((1.0 / norm(n)) * n)
        o = x1 + R1 @ o
        axes = contact_axes(z, R1)
        corners, gap, up = 0, Vec3(0.0, 0.0, 0.0), 0.0
        for _ in range(2):
            corners = cluster_hull(scratch, count, m, x1, R1, o, axes)
            gap, smallest, deviation, up = fit_affine_gap(scratch, count, m, x1, R1, o, axes, corners)
            if deviation < MAX_UNEVENNESS:
                break
            for k in range(count):
                if scratch.cluster[k] == m and scratch.plane_points[2 * capacity + k, 0] > smallest + MAX_UNEVENNESS:
                    scratch.cluster[k] = -1
        add_patch(patches, scratch, i, m, 3 * capacity, corners, o, axes, gap, Vec3(up, 0.0, 0.0), R2, margin)
    return clusters


@kernel
def relative_rotation(frame, orientation):
    """Orientation B relative to frame A."""
    return Rotation(unrotate(frame, orientation.x), unrotate(frame, orientation.y), unrotate(frame, orientation.z))
