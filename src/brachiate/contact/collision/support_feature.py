"""Support feature of a shape in a direction: face, edge or point, and its tilt against the contact normal.

An upright cylinder touches with an octagon inscribed in its cap, one corner at the lowest point of the rim: it topples about the right
point, and its gap is exact there. If no point of the rim is the lowest, the first corner is along the shape's x axis.
"""

from __future__ import annotations

import math

from brachiate.compiled import kernel, outlined
from brachiate.contact.arrays import BOX, CAPSULE, CYLINDER, ELLIPSOID, HULL
from brachiate.spatial import Vec3, cross, norm, put_vec3, unrotate, vec3

UPRIGHT_ANGLE = 1e-4  # [rad] tilt below which a cylinder has no lowest point of the rim
LEVEL_ANGLE = 1e-3  # [rad] tilt below which an edge is level
DIAGONAL = math.sqrt(0.5)


@kernel
def put_quad(scratch, at, c, u, v):
    """Four corners about c, counter-clockwise about u × v."""
    put_vec3(scratch.points, at, c - u - v)
    put_vec3(scratch.points, at + 1, c + u - v)
    put_vec3(scratch.points, at + 2, c + u + v)
    put_vec3(scratch.points, at + 3, c - u + v)


@kernel
def box_face(scratch, at, R, x, h, d):
    """Corners of the face of a box that is most along d. Returns its normal."""
    a, b, c = R.x @ d, R.y @ d, R.z @ d
    k, u, v, s = R.z, h.x * R.x, h.y * R.y, c
    reach = h.z
    if abs(a) >= abs(b) and abs(a) >= abs(c):
        k, u, v, s, reach = R.x, h.y * R.y, h.z * R.z, a, h.x
    elif abs(b) >= abs(c):
        k, u, v, s, reach = R.y, h.z * R.z, h.x * R.x, b, h.y
    if s < 0.0:
        k, u, v = -k, v, u
    put_quad(scratch, at, x + reach * k, u, v)
    return k


@kernel
def put_segment(scratch, at, x, half, r):
    """Two ends of a segment, shifted by r."""
    put_vec3(scratch.points, at, x - half + r)
    put_vec3(scratch.points, at + 1, x + half + r)


@kernel
def cylinder_cap(scratch, at, R, x, radius, half, d):
    """Octagon in the cap of a cylinder that is most along d. Returns its normal."""
    N = R.z if R.z @ d >= 0.0 else -R.z
    c, e = x + half * N, d - (d @ N) * N
    s = norm(e)
    e = (radius / s) * e if s > UPRIGHT_ANGLE else radius * R.x
    f = cross(N, e)
    for j in range(4):
        put_vec3(scratch.points, at + 2 * j, c + e)
        put_vec3(scratch.points, at + 2 * j + 1, c + DIAGONAL * (e + f))
        e, f = f, -e
    return N


@kernel
def hull_face(geometry, scratch, at, g, R, x, d):
    """Corners of the face of a hull that is most along d among those at its support vertex. Returns how many, and the normal."""
    e = unrotate(R, d)
    first, farthest, top = geometry.vertex_start[g], -math.inf, 0
    for c in range(first, geometry.vertex_start[g + 1]):
        s = vec3(geometry.vertex, c) @ e
        if s > farthest:
            farthest, top = s, c - first
    best, face = -math.inf, geometry.face_start[g]
    for f in range(geometry.face_start[g], geometry.face_start[g + 1]):
        s = vec3(geometry.face_normal, f) @ e
        if s > best:
            for k in range(geometry.face_vertex_start[f], geometry.face_vertex_start[f + 1]):
                if geometry.face_vertex[k] == top:
                    best, face = s, f
    start, count = geometry.face_vertex_start[face], geometry.face_vertex_start[face + 1] - geometry.face_vertex_start[face]
    for k in range(count):
        put_vec3(scratch.points, at + k, x + R @ vec3(geometry.vertex, first + geometry.face_vertex[start + k]))
    return count, R @ vec3(geometry.face_normal, face)


@kernel
def ellipsoid_support(h, R, x, d):
    """Support point of an ellipsoid along d."""
    e = unrotate(R, d)
    s = Vec3(h.x * h.x * e.x, h.y * h.y * e.y, h.z * h.z * e.z)
    return x + (1.0 / math.sqrt(max(s @ e, 1e-300))) * (R @ s)


@outlined
def support_feature(geometry, scratch, at, g, R, x, d):
    """Support feature of shape g along the unit direction d, to scratch.points from ``at``. Returns the number of points, and the normal.

    A face has three corners or more, counter-clockwise about its outward normal; for an edge or a point the normal is d.
    """
    kind, h = geometry.kind[g], vec3(geometry.size, g)
    if kind == BOX:
        return 4, box_face(scratch, at, R, x, h, d)
    if kind == HULL:
        return hull_face(geometry, scratch, at, g, R, x, d)
    if kind == CYLINDER:
        along = R.z @ d
        if abs(along) > DIAGONAL:
            return 8, cylinder_cap(scratch, at, R, x, h.x, h.y, d)
        e = d - along * R.z
        put_segment(scratch, at, x, h.y * R.z, (h.x / norm(e)) * e)
        return 2, d
    if kind == CAPSULE:
        along = R.z @ d
        if abs(along) < 0.999:
            put_segment(scratch, at, x, h.y * R.z, h.x * d)
            return 2, d
        put_vec3(scratch.points, at, x + math.copysign(h.y, along) * R.z + h.x * d)
        return 1, d
    put_vec3(scratch.points, at, ellipsoid_support(h, R, x, d) if kind == ELLIPSOID else x + h.x * d)
    return 1, d


@kernel
def feature_normal(scratch, at, count, N, z):
    """Normal of the plane of a feature, scaled to component 1 along z: gaps along z are differences of these."""
    if count > 2:
        return (1.0 / (z @ N)) * N
    if count < 2:
        return z
    q = vec3(scratch.points, at + 1) - vec3(scratch.points, at)
    rise = q @ z
    t = q - rise * z
    length2 = t @ t
    return z - (rise / length2) * t if length2 > 1e-12 else z


@kernel
def project_to_plane(scratch, at, count, o, R):
    """Points of a feature in the contact plane: scratch.points to scratch.plane_points."""
    for k in range(at, at + count):
        q = vec3(scratch.points, k) - o
        scratch.plane_points[k, 0], scratch.plane_points[k, 1] = q @ R.x, q @ R.y


@kernel
def affine_height(a, m, o, R):
    """Height along R.z over o of the plane through a with normal m, as an affine function of u and v."""
    return Vec3((a - o) @ m, -(R.x @ m), -(R.y @ m))


@kernel
def reduce_to_edge(scratch, at, count, d):
    """Reduce a face to its edge farthest along d if that is level, else to its farthest corner. Returns how many points."""
    farthest, best = -math.inf, at
    for k in range(at, at + count):
        s = vec3(scratch.points, k) @ d
        if s > farthest:
            farthest, best = s, k
    p = vec3(scratch.points, best)
    after = vec3(scratch.points, at + (best - at + 1) % count)
    before = vec3(scratch.points, at + (best - at + count - 1) % count)
    drop, drop_before = farthest - after @ d, farthest - before @ d
    q = after
    if drop_before < drop:
        drop, q = drop_before, before
    put_vec3(scratch.points, at, p)
    put_vec3(scratch.points, at + 1, q)
    return 2 if drop < LEVEL_ANGLE * norm(q - p) else 1
