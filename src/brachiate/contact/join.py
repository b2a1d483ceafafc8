"""Where two shapes meet, once the direction between them is known: what each touches with, and what both have in common."""

from __future__ import annotations

import math

from brachiate.compiled import kernel, outlined
from brachiate.contact.area import at_corner, plane_axes, put_area, put_point
from brachiate.contact.boxes import SURE
from brachiate.contact.clip import clipped, inside, overlap, parallel
from brachiate.contact.feature import affine, cap, edge_of, lay, lowest, put_feature, tilt
from brachiate.contact.rooms import CYLINDER
from brachiate.spatial import Vec3, norm, vec3

FLAT = 1.0 - 5e-7  # cosine of a milliradian: the normal is that of a face
STEEP = 0.2  # cosine beyond which a face is only a corner seen along the normal


@outlined
def on_plane(Gm, A, S, i, g, R1, x1, R2, x2, margin):
    """Area of shape g on a plane, or none."""
    z = R1.z
    count, N = put_feature(Gm, S, 0, g, R2, x2, -z)
    if count > 2 and N @ z > -STEEP:
        count = lowest(S, 0, count, -z)
    o = vec3(S.point, 0)
    m = tilt(S, 0, count, N, z)
    lay(S, 0, count, o, R1)
    height = Vec3((x1 - o) @ z, 0.0, 0.0)
    return put_area(A, S, i, 0, 0, count, o, R1, affine(o, m, o, R1) - height, height, R2, margin)


@kernel
def least_gap(S, at, count, gap):
    """The smallest gap of an area's corners."""
    least = math.inf
    for k in range(at, at + count):
        least = min(least, at_corner(gap, S, k))
    return least


@outlined
def join(Gm, A, S, i, g1, g2, R1, x1, R2, x2, n, p, gap, margin, doubtful):
    """Area of two shapes whose normal n, nearest point p of the first and gap are known. Returns 1 if it is found.

    If the direction is ``doubtful`` (best of a few tried) and what the shapes touch with does not confirm the gap, nothing is
    done, and 0 is returned.
    """
    places = S.member.shape[0]
    k1, N1 = put_feature(Gm, S, 0, g1, R1, x1, n)
    k2, N2 = put_feature(Gm, S, places, g2, R2, x2, -n)
    f1 = N1 @ n if k1 > 2 else 0.0
    f2 = -(N2 @ n) if k2 > 2 else 0.0
    if f1 > FLAT or f2 > FLAT:
        z = N1 if f1 > FLAT else -N2
        if f1 <= FLAT or f2 <= FLAT:  # one is tilted: let a corner of an octagon that stands for a cap be where they are nearest
            if f1 > FLAT and Gm.kind[g1] == CYLINDER:
                cap(S, 0, R1, x1, Gm.size[g1, 0], Gm.size[g1, 1], towards(z, p - x1))
            elif f2 > FLAT and Gm.kind[g2] == CYLINDER:
                cap(S, places, R2, x2, Gm.size[g2, 0], Gm.size[g2, 1], towards(-z, p - x2))
        if k1 > 2 and N1 @ z < STEEP:
            k1 = lowest(S, 0, k1, z)
        if k2 > 2 and N2 @ z > -STEEP:
            k2 = lowest(S, places, k2, -z)
        R = plane_axes(z, R1)
        height = affine(vec3(S.point, 0), tilt(S, 0, k1, N1, z), p, R)
        between = affine(vec3(S.point, places), tilt(S, places, k2, N2, z), p, R) - height
        lay(S, 0, k1, p, R)
        lay(S, places, k2, p, R)
        if f1 > FLAT:
            at, count = common(S, places, k2, 0, k1, 1.0)
        else:
            at, count = common(S, 0, k1, places, k2, -1.0)
        if count > 0 and not (doubtful and gap > 0.0 and least_gap(S, at, count, between) > gap + SURE):
            put_area(A, S, i, 0, at, count, p, R, between, height, R2, margin)
            return 1
        if doubtful:
            return 0
    else:
        k1 = edge_of(S, 0, k1, n) if k1 > 2 else k1
        k2 = edge_of(S, places, k2, -n) if k2 > 2 else k2
        R = plane_axes(n, R1)
        lay(S, 0, k1, p, R)
        lay(S, places, k2, p, R)
        if k1 == 2 and k2 == 2 and parallel(S, 0, places) and overlap(S, places, 0):
            height = affine(vec3(S.point, 0), tilt(S, 0, 2, n, n), p, R)
            between = affine(vec3(S.point, places), tilt(S, places, 2, n, n), p, R) - height
            # Lines that are a little askew are nearest at p: let the gap there be the true one.
            between = Vec3(gap, between.y, between.z)
            put_area(A, S, i, 0, places, 2, p, R, between, height, R2, margin)
            return 1
        if doubtful and (k1 != 2 or k2 != 2):
            return 0
    if gap < margin:
        put_point(A, i, 0, p, plane_axes(n, R1), gap)
    return 1


@kernel
def towards(N, d):
    """A normal that leans a little to where d points."""
    return N + (0.1 / max(norm(d), 1e-9)) * d


@kernel
def common(S, at, count, by, edges, sign):
    """What a feature has in common with a face, seen along the normal. Returns where it is, and how many corners."""
    if count == 1:
        return at, 1 if inside(S, at, by, edges, sign) else 0
    return clipped(S, at, count, by, edges, sign, S.member.shape[0])
