"""Shapes on height fields: points of the shape against the triangles under them, and grid points against a face above them.

What is found is sorted by its normal; every bundle of normals within ten degrees becomes one area. A capsule is looked at in
up to sixteen balls along its axis, a cylinder at eight points of each rim. Beyond the sides of a field there is nothing.
"""

from __future__ import annotations

import math

from brachiate.compiled import kernel, outlined
from brachiate.contact.arrays import CAPSULE, CYLINDER, ELLIPSOID, HULL
from brachiate.contact.collision.field_patch import affine_fit, hull_around
from brachiate.contact.collision.patch import plane_axes, put_area, variable
from brachiate.contact.collision.polygon_clipping import inside
from brachiate.contact.collision.support_feature import cap, ellipsoid_point, put_feature
from brachiate.spatial import Rotation, Vec3, cross, norm, put_vec3, unrotate, vec3

BUNDLE = math.cos(math.radians(10.0))  # normals within this cosine are one area
BAND = 0.02  # [m] what is higher than this, or than the margin, is not part of an area
BUNDLES = 4  # areas at most of a shape on a field
BALLS = 16  # at most so many stand for a capsule, two to a cell
UNEVEN = 2e-3  # [m] points whose gaps are farther than this from any plane are no face: only the deepest of them bear
WHOLE = 1e-9  # of a cell


@kernel
def grid_point(Gm, a, i, j):
    """Point (i, j) of the field's grid, in its frame."""
    nx, ny = Gm.field_cells[a, 0], Gm.field_cells[a, 1]
    x, y = (i - 0.5 * (nx - 1)) * Gm.size[a, 0], (j - 0.5 * (ny - 1)) * Gm.size[a, 1]
    return Vec3(x, y, Gm.height[Gm.field_at[a] + j * nx + i])


@kernel
def cell_of(Gm, a, axis, s):
    """Which cell along an axis the coordinate s is in, as a number with a fraction."""
    return s / Gm.size[a, axis] + 0.5 * (Gm.field_cells[a, axis] - 1)


@kernel
def triangle(Gm, a, i, j, upper):
    """Corners of one triangle of a cell, counter-clockwise seen from above."""
    p, q = grid_point(Gm, a, i, j), grid_point(Gm, a, i + 1, j + 1)
    if upper:
        return p, q, grid_point(Gm, a, i, j + 1)
    return p, grid_point(Gm, a, i + 1, j), q


@kernel
def upward(p, q, r):
    """Unit normal of a triangle."""
    n = cross(q - p, r - p)
    return (1.0 / norm(n)) * n


@kernel
def surface_under(Gm, a, c):
    """Whether a point is over the field; the normal there, and the distance from the triangle's plane."""
    u, v = cell_of(Gm, a, 0, c.x), cell_of(Gm, a, 1, c.y)
    nx, ny = Gm.field_cells[a, 0], Gm.field_cells[a, 1]
    if not (u >= -WHOLE and v >= -WHOLE and u <= nx - 1 + WHOLE and v <= ny - 1 + WHOLE):
        return False, Vec3(0.0, 0.0, 1.0), math.inf
    i, j = min(max(int(u), 0), nx - 2), min(max(int(v), 0), ny - 2)
    p, q, r = triangle(Gm, a, i, j, v - j > u - i)
    n = upward(p, q, r)
    return True, n, (c - p) @ n


@kernel
def nearest_on_edge(c, p, q):
    """Point of a segment nearest to c."""
    e = q - p
    return p + min(max((c - p) @ e / (e @ e), 0.0), 1.0) * e


@kernel
def nearest_on_triangle(c, p, q, r, n):
    """Whether c is over the inside of a triangle, and its point nearest to c."""
    foot = c - ((c - p) @ n) * n
    if cross(q - p, foot - p) @ n >= 0.0 and cross(r - q, foot - q) @ n >= 0.0 and cross(p - r, foot - r) @ n >= 0.0:
        return True, foot
    best = nearest_on_edge(c, p, q)
    for other in (nearest_on_edge(c, q, r), nearest_on_edge(c, r, p)):
        if (other - c) @ (other - c) < (best - c) @ (best - c):
            best = other
    return False, best


@kernel
def note(S, count, p, n, gap, most):
    """Note a point p of the field where the gap along n is known; if there is no place left, in that of the largest gap."""
    places = S.member.shape[0]
    if not gap < most:
        return count
    k = count
    if count >= places:
        k, largest = -1, gap
        for j in range(places):
            if S.flat[2 * places + j, 0] > largest:
                k, largest = j, S.flat[2 * places + j, 0]
        if k < 0:
            return count
        count -= 1
    put_vec3(S.flat, k, p)
    put_vec3(S.flat, places + k, n)
    S.flat[2 * places + k, 0] = gap
    return count + 1


@outlined
def ball_on_field(Gm, S, a, c, radius, count, most):
    """Note where a ball is near: over the inside of triangles, and over the edge or corner that is nearest of all."""
    over, n, s = surface_under(Gm, a, c)
    if over and s < 0.0:  # its centre is below
        return note(S, count, c - s * n, n, s - radius, most)
    reach = radius + most
    nx, ny = Gm.field_cells[a, 0], Gm.field_cells[a, 1]
    i0, i1 = max(int(cell_of(Gm, a, 0, c.x - reach)), 0), min(int(cell_of(Gm, a, 0, c.x + reach)), nx - 2)
    j0, j1 = max(int(cell_of(Gm, a, 1, c.y - reach)), 0), min(int(cell_of(Gm, a, 1, c.y + reach)), ny - 2)
    best, nearest, edge = math.inf, c, False
    for j in range(j0, j1 + 1):
        for i in range(i0, i1 + 1):
            for upper in range(2):
                p, q, r = triangle(Gm, a, i, j, upper == 1)
                n = upward(p, q, r)
                within, foot = nearest_on_triangle(c, p, q, r, n)
                s = norm(c - foot)
                if within:
                    count = note(S, count, foot, n, (c - p) @ n - radius, most)
                if s < best - 1e-9:
                    best, nearest, edge = s, foot, not within
    if edge and best > 1e-9 and (c - nearest).z > 0.1 * best:  # from above: under the rim of a field there is nothing
        count = note(S, count, nearest, (1.0 / best) * (c - nearest), best - radius, most)
    return count


@kernel
def corners_on_field(Gm, S, a, b, R, x, count, most):
    """Note where corners of a box, a hull or a cylinder are near, whose frame is given in the field's."""
    h = vec3(Gm.size, b)
    first, corners = Gm.corner_at[b], 8
    if Gm.kind[b] == HULL:
        corners = Gm.corner_at[b + 1] - first
    elif Gm.kind[b] == CYLINDER:
        corners = 16
        cap(S, 0, R, x, h.x, h.y, -R.z)
        cap(S, 8, R, x, h.x, h.y, R.z)
    for k in range(corners):
        if Gm.kind[b] == HULL:
            c = x + R @ vec3(Gm.corner, first + k)
        elif Gm.kind[b] == CYLINDER:
            c = vec3(S.point, k)
        else:
            c = x + R @ Vec3(h.x if k & 1 else -h.x, h.y if k & 2 else -h.y, h.z if k & 4 else -h.z)
        over, n, s = surface_under(Gm, a, c)
        if over:
            count = note(S, count, c - s * n, n, s, most)
    return count


@kernel
def peak(Gm, a, i, j, z):
    """Whether no neighbour of a point of the grid is higher along z."""
    p = grid_point(Gm, a, i, j)
    nx, ny = Gm.field_cells[a, 0], Gm.field_cells[a, 1]
    higher = 0
    for k in range(6):
        # Along x, along y, and across the cells, as they are split
        u, v = i + (k < 2 or k > 3), j + (k > 1)
        if k % 2:
            u, v = 2 * i - u, 2 * j - v
        if 0 <= u < nx and 0 <= v < ny:
            higher += (grid_point(Gm, a, u, v) - p) @ z > WHOLE
    return higher == 0


@kernel
def grid_under_face(Gm, S, a, b, R, x, count, most):
    """Note which points of the grid are near the face that a shape turns to the field."""
    _, up, _ = surface_under(Gm, a, x)
    k, N = put_feature(Gm, S, variable(0), b, R, x, -up)
    if k < 3:
        return count
    places = S.member.shape[0]
    at = 3 * places
    axes = plane_axes(-N, R)
    o = vec3(S.point, 0)
    low, high = o, o
    for j in range(k):
        p = vec3(S.point, j)
        low = Vec3(min(low.x, p.x), min(low.y, p.y), min(low.z, p.z))
        high = Vec3(max(high.x, p.x), max(high.y, p.y), max(high.z, p.z))
        q = p - o
        S.flat[at + j, 0], S.flat[at + j, 1] = q @ axes.x, q @ axes.y
    i0, i1 = max(math.ceil(cell_of(Gm, a, 0, low.x)), 0), min(math.floor(cell_of(Gm, a, 0, high.x)), Gm.field_cells[a, 0] - 1)
    j0, j1 = max(math.ceil(cell_of(Gm, a, 1, low.y)), 0), min(math.floor(cell_of(Gm, a, 1, high.y)), Gm.field_cells[a, 1] - 1)
    for j in range(int(j0), int(j1) + 1):
        for i in range(int(i0), int(i1) + 1):
            p = grid_point(Gm, a, i, j)
            q = p - o
            S.flat[at + k, 0], S.flat[at + k, 1] = q @ axes.x, q @ axes.y
            if inside(S, at + k, at, k, -1.0) and peak(Gm, a, i, j, -N):
                count = note(S, count, p, -N, q @ N, most)
    return count


@kernel
def points_on_field(Gm, S, a, b, R, x, most):
    """Note all points of the field where shape b, whose frame is given in the field's, is near. Returns how many."""
    kind, h, count = Gm.kind[b], vec3(Gm.size, b), variable(0)
    if kind <= CAPSULE:
        balls = min(max(int(4.0 * h.y / min(Gm.size[a, 0], Gm.size[a, 1])) + 2, 2), BALLS) if kind == CAPSULE else 1
        for k in range(balls):
            c = x + (2.0 * k / max(balls - 1, 1) - 1.0) * h.y * R.z  # a sphere has no half length h.y
            count = ball_on_field(Gm, S, a, c, h.x, count, most)
        return count
    if kind == ELLIPSOID:
        over, n, s = surface_under(Gm, a, x)
        c = x
        for _ in range(3):
            c = ellipsoid_point(h, R, x, -n)
            over, n, s = surface_under(Gm, a, c)
        return note(S, 0, c - s * n, n, s, most) if over else 0
    count = corners_on_field(Gm, S, a, b, R, x, 0, most)
    return grid_under_face(Gm, S, a, b, R, x, count, most)


@kernel
def bundled(S, count):
    """Sort what was noted by normals; each bundle begins with the first point that is in none. Returns how many bundles."""
    places, bundles = S.member.shape[0], 0
    for k in range(count):
        S.member[k] = -1
    for k in range(count):
        if S.member[k] < 0 and bundles < BUNDLES:
            n = vec3(S.flat, places + k)
            for j in range(k, count):
                if S.member[j] < 0 and vec3(S.flat, places + j) @ n > BUNDLE:
                    S.member[j] = bundles
            bundles += 1
    return bundles


@kernel
def on_field(Gm, A, S, i, a, b, R1, x1, R2, x2, margin):
    """Areas of shape b on the field a."""
    R = turned(R1, R2)
    count = points_on_field(Gm, S, a, b, R, unrotate(R1, x2 - x1), max(margin, BAND))
    places = S.member.shape[0]
    bundles = bundled(S, count)
    for m in range(bundles):
        n, o, first = Vec3(0.0, 0.0, 0.0), Vec3(0.0, 0.0, 0.0), True
        for k in range(count):
            if S.member[k] == m:
                n = n + vec3(S.flat, places + k)
                o = vec3(S.flat, k) if first else o
                first = False
        z = R1 @ ((1.0 / norm(n)) * n)
        o = x1 + R1 @ o
        axes = plane_axes(z, R1)
        corners, gap, up = 0, Vec3(0.0, 0.0, 0.0), 0.0
        for _ in range(2):
            corners = hull_around(S, count, m, x1, R1, o, axes)
            gap, least, off, up = affine_fit(S, count, m, x1, R1, o, axes, corners)
            if off < UNEVEN:
                break
            for k in range(count):
                if S.member[k] == m and S.flat[2 * places + k, 0] > least + UNEVEN:
                    S.member[k] = -1
        put_area(A, S, i, m, 3 * places, corners, o, axes, gap, Vec3(up, 0.0, 0.0), R2, margin)
    return bundles


@kernel
def turned(A, B):
    """Orientation B seen from the frame A."""
    return Rotation(unrotate(A, B.x), unrotate(A, B.y), unrotate(A, B.z))
