"""What a shape touches with, seen from a direction: a face, a line or a point, and how it is tilted against the normal.

A standing cylinder touches with an octagon inscribed in its cap, one corner at the lowest point of the rim: it topples about
the right point, and its gap is exact there. Upright, where no point is the lowest, the first corner is along the shape's x.
"""

from __future__ import annotations

import math

from brachiate.compiled import kernel, outlined
from brachiate.contact.arrays import BOX, CAPSULE, CYLINDER, ELLIPSOID, HULL
from brachiate.spatial import Vec3, cross, norm, put_vec3, unrotate, vec3

UPRIGHT = 1e-4  # [rad] below this tilt no point of a cylinder's rim is the lowest
LEVEL = 1e-3  # [rad] an edge tilted less than this lies flat
DIAGONAL = math.sqrt(0.5)


@kernel
def put_quad(S, at, c, u, v):
    """Four corners about c, counter-clockwise about u × v."""
    put_vec3(S.point, at, c - u - v)
    put_vec3(S.point, at + 1, c + u - v)
    put_vec3(S.point, at + 2, c + u + v)
    put_vec3(S.point, at + 3, c - u + v)


@kernel
def box_face(S, at, R, x, h, d):
    """Corners of the face of a box that is most along d, and its normal."""
    a, b, c = R.x @ d, R.y @ d, R.z @ d
    k, u, v, s = R.z, h.x * R.x, h.y * R.y, c
    reach = h.z
    if abs(a) >= abs(b) and abs(a) >= abs(c):
        k, u, v, s, reach = R.x, h.y * R.y, h.z * R.z, a, h.x
    elif abs(b) >= abs(c):
        k, u, v, s, reach = R.y, h.z * R.z, h.x * R.x, b, h.y
    if s < 0.0:
        k, u, v = -k, v, u
    put_quad(S, at, x + reach * k, u, v)
    return k


@kernel
def rod(S, at, x, half, r):
    """Two ends of a line that is moved by r."""
    put_vec3(S.point, at, x - half + r)
    put_vec3(S.point, at + 1, x + half + r)


@kernel
def cap(S, at, R, x, radius, half, d):
    """Octagon in the cap of a cylinder that is most along d, and its normal."""
    N = R.z if R.z @ d >= 0.0 else -R.z
    c, e = x + half * N, d - (d @ N) * N
    s = norm(e)
    e = (radius / s) * e if s > UPRIGHT else radius * R.x
    f = cross(N, e)
    for j in range(4):
        put_vec3(S.point, at + 2 * j, c + e)
        put_vec3(S.point, at + 2 * j + 1, c + DIAGONAL * (e + f))
        e, f = f, -e
    return N


@kernel
def hull_face(Gm, S, at, g, R, x, d):
    """Corners of the face of a hull that is most along d among those at its farthest corner; how many, and the normal."""
    e = unrotate(R, d)
    first, most, top = Gm.corner_at[g], -math.inf, 0
    for c in range(first, Gm.corner_at[g + 1]):
        s = vec3(Gm.corner, c) @ e
        if s > most:
            most, top = s, c - first
    best, chosen = -math.inf, Gm.face_at[g]
    for f in range(Gm.face_at[g], Gm.face_at[g + 1]):
        s = vec3(Gm.face_normal, f) @ e
        if s > best:
            for k in range(Gm.face_start[f], Gm.face_start[f + 1]):
                if Gm.face_corner[k] == top:
                    best, chosen = s, f
    start, count = Gm.face_start[chosen], Gm.face_start[chosen + 1] - Gm.face_start[chosen]
    for k in range(count):
        put_vec3(S.point, at + k, x + R @ vec3(Gm.corner, first + Gm.face_corner[start + k]))
    return count, R @ vec3(Gm.face_normal, chosen)


@kernel
def ellipsoid_point(h, R, x, d):
    """Farthest point of an ellipsoid along d."""
    e = unrotate(R, d)
    s = Vec3(h.x * h.x * e.x, h.y * h.y * e.y, h.z * h.z * e.z)
    return x + (1.0 / math.sqrt(max(s @ e, 1e-300))) * (R @ s)


@outlined
def put_feature(Gm, S, at, g, R, x, d):
    """Corners of what shape g touches with along the unit direction d, to S.point from ``at``. Returns how many, and the normal.

    A face has three corners or more, counter-clockwise about its outward normal; for a line or a point the normal is d.
    """
    kind, h = Gm.kind[g], vec3(Gm.size, g)
    if kind == BOX:
        return 4, box_face(S, at, R, x, h, d)
    if kind == HULL:
        return hull_face(Gm, S, at, g, R, x, d)
    if kind == CYLINDER:
        along = R.z @ d
        if abs(along) > DIAGONAL:
            return 8, cap(S, at, R, x, h.x, h.y, d)
        e = d - along * R.z
        rod(S, at, x, h.y * R.z, (h.x / norm(e)) * e)
        return 2, d
    if kind == CAPSULE:
        along = R.z @ d
        if abs(along) < 0.999:
            rod(S, at, x, h.y * R.z, h.x * d)
            return 2, d
        put_vec3(S.point, at, x + math.copysign(h.y, along) * R.z + h.x * d)
        return 1, d
    put_vec3(S.point, at, ellipsoid_point(h, R, x, d) if kind == ELLIPSOID else x + h.x * d)
    return 1, d


@kernel
def tilt(S, at, count, N, z):
    """Normal of the plane a feature lies in, as long as its part along z is 1: gaps along z are differences of these."""
    if count > 2:
        return (1.0 / (z @ N)) * N
    if count < 2:
        return z
    q = vec3(S.point, at + 1) - vec3(S.point, at)
    rise = q @ z
    t = q - rise * z
    length2 = t @ t
    return z - (rise / length2) * t if length2 > 1e-12 else z


@kernel
def lay(S, at, count, o, R):
    """Corners of a feature in the plane of contact: S.point to S.flat."""
    for k in range(at, at + count):
        q = vec3(S.point, k) - o
        S.flat[k, 0], S.flat[k, 1] = q @ R.x, q @ R.y


@kernel
def affine(a, m, o, R):
    """Height along R.z over o of the plane through a with the normal m, as a function of u and v."""
    return Vec3((a - o) @ m, -(R.x @ m), -(R.y @ m))


@kernel
def edge_of(S, at, count, d):
    """Keep of a face the edge that is farthest along d, if it is level, or else its farthest corner. Returns how many corners."""
    most, best = -math.inf, at
    for k in range(at, at + count):
        s = vec3(S.point, k) @ d
        if s > most:
            most, best = s, k
    p = vec3(S.point, best)
    after = vec3(S.point, at + (best - at + 1) % count)
    before = vec3(S.point, at + (best - at + count - 1) % count)
    fall, other = most - after @ d, most - before @ d
    q = after
    if other < fall:
        fall, q = other, before
    put_vec3(S.point, at, p)
    put_vec3(S.point, at + 1, q)
    return 2 if fall < LEVEL * norm(q - p) else 1
