"""Contact patch of two shapes with a known normal: the intersection of their support features."""

from __future__ import annotations

import math

from brachiate.compiled import kernel
from brachiate.contact.arrays import CYLINDER
from brachiate.contact.collision.box_box import GAP_TOLERANCE
from brachiate.contact.collision.patch import add_patch, add_point_patch, affine_at, contact_axes, non_constant
from brachiate.contact.collision.polygon_clipping import are_parallel, clip_polygon, is_inside, segment_overlap
from brachiate.contact.collision.support_feature import (
    affine_height,
    cylinder_cap,
    feature_normal,
    project_to_plane,
    reduce_to_edge,
    support_feature,
)
from brachiate.spatial import Vec3, norm, vec3, vec3_at

ALIGNED_COSINE = 1.0 - 5e-7  # cosine of a milliradian: the contact normal is that of a face
STEEP_COSINE = 0.5  # below which a face counts as an edge or corner; the support face of a box has at least 0.58


@kernel
def patch_from_features(geometry, patches, scratch, i, g1, g2, R1, x1, R2, x2, margin):
    """Patch of two shapes from scratch.closest: normal n, closest point p of the first, and gap. Returns 1 if it is found.

    If the normal is uncertain (the best of a few candidates) and the support features do not confirm the gap, returns 0 and stores nothing.
    """
    n, p = vec3_at(scratch.closest, 0), vec3_at(scratch.closest, 3)
    gap, uncertain = scratch.closest[6], scratch.closest[7] != 0.0
    capacity = scratch.cluster.shape[0]
    count, at = 0, 0
    k1, N1 = support_feature(geometry, scratch, non_constant(0), g1, R1, x1, n)
    k2, N2 = support_feature(geometry, scratch, capacity, g2, R2, x2, -n)
    f1 = N1 @ n if k1 > 2 else 0.0
    f2 = -(N2 @ n) if k2 > 2 else 0.0
    flat = f1 > ALIGNED_COSINE or f2 > ALIGNED_COSINE
    z = n
    if flat:
        z = N1 if f1 > ALIGNED_COSINE else -N2
        if f1 <= ALIGNED_COSINE or f2 <= ALIGNED_COSINE:  # one is tilted: put a corner of a cap's octagon at the closest point
            align_cap(geometry, scratch, g1, g2, R1, x1, R2, x2, z, p, f1 > ALIGNED_COSINE)
        if k1 > 2 and N1 @ z < STEEP_COSINE:
            k1 = reduce_to_edge(scratch, 0, k1, z)
        if k2 > 2 and N2 @ z > -STEEP_COSINE:
            k2 = reduce_to_edge(scratch, capacity, k2, -z)
    else:
        k1 = reduce_to_edge(scratch, 0, k1, n) if k1 > 2 else k1
        k2 = reduce_to_edge(scratch, capacity, k2, -n) if k2 > 2 else k2
    R = contact_axes(z, R1)
    height = affine_height(vec3(scratch.points, 0), feature_normal(scratch, 0, k1, N1, z), p, R)
    between = affine_height(vec3(scratch.points, capacity), feature_normal(scratch, capacity, k2, N2, z), p, R) - height
    project_to_plane(scratch, 0, k1, p, R)
    project_to_plane(scratch, capacity, k2, p, R)
    if flat:
        first = f1 > ALIGNED_COSINE  # the supporting face is that of the first shape
        at, by = (capacity, non_constant(0)) if first else (non_constant(0), capacity)
        at, count = clip_to_face(scratch, at, k2 if first else k1, by, k1 if first else k2, 1.0 if first else -1.0)
    elif k1 == 2 and k2 == 2 and are_parallel(scratch, 0, capacity):
        # Nearly parallel lines are closest at p: take the gap there.
        at, count, between = capacity, segment_overlap(scratch, capacity, 0), Vec3(gap, between.y, between.z)
    elif uncertain and (k1 != 2 or k2 != 2):
        return 0
    if count > 0 and misses_gap(scratch, at, count, between, gap):
        count = 0
    if uncertain and flat and count == 0:
        return 0
    if count > 0:
        add_patch(patches, scratch, i, non_constant(0), at, count, p, R, between, height, R2, margin)
    elif gap < margin:
        add_point_patch(patches, i, 0, p, contact_axes(n, R1), gap)
    return 1


@kernel
def misses_gap(scratch, at, count, between, gap):
    """Whether no corner confirms the gap: all of it if the shapes are separated, half of it if they penetrate."""
    smallest = math.inf
    for k in range(at, at + count):
        smallest = min(smallest, affine_at(between, scratch, k))
    return smallest > (gap + GAP_TOLERANCE if gap > 0.0 else 0.5 * gap + GAP_TOLERANCE)


@kernel
def align_cap(geometry, scratch, g1, g2, R1, x1, R2, x2, z, p, first):
    """Rotate the octagon that approximates the cap of the supporting cylinder, so that one of its corners is closest to p."""
    support, at = (g1, 0) if first else (g2, scratch.cluster.shape[0])
    if geometry.kind[support] == CYLINDER:
        R, x, N = (R1, x1, z) if first else (R2, x2, -z)
        cylinder_cap(scratch, at, R, x, geometry.size[support, 0], geometry.size[support, 1], tilted_normal(N, p - x))


@kernel
def tilted_normal(N, d):
    """A normal tilted slightly towards d."""
    return N + (0.1 / max(norm(d), 1e-9)) * d


@kernel
def clip_to_face(scratch, at, count, by, edges, sign):
    """Intersection of a feature with a face, seen along the normal. Returns where it is, and how many corners."""
    if count == 1:
        return at, 1 if is_inside(scratch, at, by, edges, sign) else 0
    return clip_polygon(scratch, at, count, by, edges, sign, scratch.cluster.shape[0])
