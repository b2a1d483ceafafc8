"""Where two shapes meet, once the direction between them is known: what each touches with, and what both have in common."""

from __future__ import annotations

import math

from brachiate.compiled import kernel
from brachiate.contact.arrays import CYLINDER
from brachiate.contact.collision.box_box import SURE
from brachiate.contact.collision.patch import at_corner, plane_axes, put_area, put_point, variable
from brachiate.contact.collision.polygon_clipping import clipped, inside, overlap, parallel
from brachiate.contact.collision.support_feature import affine, cap, edge_of, lay, put_feature, tilt
from brachiate.spatial import Vec3, norm, vec3, vec3_at

FLAT = 1.0 - 5e-7  # cosine of a milliradian: the normal is that of a face
STEEP = 0.5  # cosine beyond which a face is only an edge or a corner seen along the normal; that of a box has 0.58 at least


@kernel
def join(Gm, A, S, i, g1, g2, R1, x1, R2, x2, margin):
    """Area of two shapes whose S.meeting is known: normal n, nearest point p of the first and gap. Returns 1 if it is found.

    If the direction is doubtful (the best of a few tried) and what the shapes touch with does not confirm the gap, nothing is
    done, and 0 is returned.
    """
    n, p = vec3_at(S.meeting, 0), vec3_at(S.meeting, 3)
    gap, doubtful = S.meeting[6], S.meeting[7] != 0.0
    places = S.member.shape[0]
    count, at = 0, 0
    k1, N1 = put_feature(Gm, S, variable(0), g1, R1, x1, n)
    k2, N2 = put_feature(Gm, S, places, g2, R2, x2, -n)
    f1 = N1 @ n if k1 > 2 else 0.0
    f2 = -(N2 @ n) if k2 > 2 else 0.0
    flat = f1 > FLAT or f2 > FLAT
    z = n
    if flat:
        z = N1 if f1 > FLAT else -N2
        if f1 <= FLAT or f2 <= FLAT:  # one is tilted: let a corner of an octagon that stands for a cap be where they are nearest
            turn_caps(Gm, S, g1, g2, R1, x1, R2, x2, z, p, f1 > FLAT)
        if k1 > 2 and N1 @ z < STEEP:
            k1 = edge_of(S, 0, k1, z)
        if k2 > 2 and N2 @ z > -STEEP:
            k2 = edge_of(S, places, k2, -z)
    else:
        k1 = edge_of(S, 0, k1, n) if k1 > 2 else k1
        k2 = edge_of(S, places, k2, -n) if k2 > 2 else k2
    R = plane_axes(z, R1)
    height = affine(vec3(S.point, 0), tilt(S, 0, k1, N1, z), p, R)
    between = affine(vec3(S.point, places), tilt(S, places, k2, N2, z), p, R) - height
    lay(S, 0, k1, p, R)
    lay(S, places, k2, p, R)
    if flat:
        first = f1 > FLAT  # bears: what of the other is over it?
        at, by = (places, variable(0)) if first else (variable(0), places)
        at, count = common(S, at, k2 if first else k1, by, k1 if first else k2, 1.0 if first else -1.0)
    elif k1 == 2 and k2 == 2 and parallel(S, 0, places):
        # Lines that are a little askew are nearest at p: let the gap there be the true one.
        at, count, between = places, overlap(S, places, 0), Vec3(gap, between.y, between.z)
    elif doubtful and (k1 != 2 or k2 != 2):
        return 0
    if count > 0 and missed(S, at, count, between, gap):
        count = 0
    if doubtful and flat and count == 0:
        return 0
    if count > 0:
        put_area(A, S, i, variable(0), at, count, p, R, between, height, R2, margin)
    elif gap < margin:
        put_point(A, i, 0, p, plane_axes(n, R1), gap)
    return 1


@kernel
def missed(S, at, count, between, gap):
    """Whether corners do not have the gap they should: all of it if there is one, half of it if the shapes are in each other."""
    least = math.inf
    for k in range(at, at + count):
        least = min(least, at_corner(between, S, k))
    return least > (gap + SURE if gap > 0.0 else 0.5 * gap + SURE)


@kernel
def turn_caps(Gm, S, g1, g2, R1, x1, R2, x2, z, p, first):
    """Turn the octagon that stands for the cap of a cylinder which bears, so that one of its corners is nearest to p."""
    bears, at = (g1, 0) if first else (g2, S.member.shape[0])
    if Gm.kind[bears] == CYLINDER:
        R, x, N = (R1, x1, z) if first else (R2, x2, -z)
        cap(S, at, R, x, Gm.size[bears, 0], Gm.size[bears, 1], towards(N, p - x))


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
