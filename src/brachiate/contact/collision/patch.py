"""Contact patch from corners in a plane: merged, reduced, counter-clockwise, with axes that do not jump between steps."""

from __future__ import annotations

import math

from brachiate.compiled import kernel, outlined
from brachiate.contact.arrays import CORNERS
from brachiate.spatial import Rotation, Vec3, cross, norm, put_rotation, put_vec3

MERGE_DISTANCE = 1e-4  # [m] corners closer than this are merged, a polygon narrower than this is a segment
COLLINEAR_DISTANCE = 1e-6  # [m] a corner closer than this to the line of its neighbors is removed


@kernel
def non_constant(n):
    """An integer that is not a compile-time constant: a function called with different constants would be compiled for each."""
    return n + 0


@kernel
def contact_axes(z, R):
    """Contact axes with normal z: x is the projection of the x axis of a shape, or of its y axis where x is close to the normal."""
    a = R.x if abs(R.x @ z) < 0.9 else R.y
    a = a - (a @ z) * z
    a = (1.0 / norm(a)) * a
    return Rotation(a, cross(z, a), z)


@kernel
def affine_at(f, scratch, k):
    """Affine function f_0 + f_1 u + f_2 v at point k in the plane."""
    return f.x + f.y * scratch.plane_points[k, 0] + f.z * scratch.plane_points[k, 1]


@kernel
def copy_point(scratch, k, to):
    """Copy a point in the plane."""
    scratch.plane_points[to, 0], scratch.plane_points[to, 1], scratch.plane_points[to, 2] = (
        scratch.plane_points[k, 0],
        scratch.plane_points[k, 1],
        scratch.plane_points[k, 2],
    )


@kernel
def distance2(scratch, j, k):
    """Squared distance of two points in the plane."""
    u, v = scratch.plane_points[j, 0] - scratch.plane_points[k, 0], scratch.plane_points[j, 1] - scratch.plane_points[k, 1]
    return u * u + v * v


@kernel
def orient2d(scratch, i, j, k):
    """Twice the signed area of the triangle of three points, positive if counter-clockwise."""
    u, v = scratch.plane_points[j, 0] - scratch.plane_points[i, 0], scratch.plane_points[j, 1] - scratch.plane_points[i, 1]
    return u * (scratch.plane_points[k, 1] - scratch.plane_points[i, 1]) - v * (scratch.plane_points[k, 0] - scratch.plane_points[i, 0])


@kernel
def merge_corners(scratch, at, count, gap):
    """Merge coinciding corners, keeping the one with the smaller gap. Returns how many are left."""
    k = 1
    for j in range(at + 1, at + count):
        if distance2(scratch, j, at + k - 1) > MERGE_DISTANCE * MERGE_DISTANCE:
            copy_point(scratch, j, at + k)
            k += 1
        elif affine_at(gap, scratch, j) < affine_at(gap, scratch, at + k - 1):
            copy_point(scratch, j, at + k - 1)
    while k > 1 and distance2(scratch, at, at + k - 1) <= MERGE_DISTANCE * MERGE_DISTANCE:
        k -= 1
        if affine_at(gap, scratch, at + k) < affine_at(gap, scratch, at):
            copy_point(scratch, at + k, at)
    return k


@kernel
def reduce_corners(scratch, at, count):
    """Remove the corners of the smallest triangles until at most CORNERS are left."""
    while count > CORNERS:
        smallest, removed = math.inf, at
        for j in range(count):
            s = abs(orient2d(scratch, at + (j + count - 1) % count, at + j, at + (j + 1) % count))
            if s < smallest:
                smallest, removed = s, at + j
        count -= 1
        for j in range(removed, at + count):
            copy_point(scratch, j + 1, j)
    return count


@kernel
def remove_collinear(scratch, at, count):
    """Remove corners on the line between their neighbors."""
    j = 0
    while j < count and count > 3:
        before, after = at + (j + count - 1) % count, at + (j + 1) % count
        s = orient2d(scratch, before, at + j, after)
        if s * s < COLLINEAR_DISTANCE * COLLINEAR_DISTANCE * distance2(scratch, before, after):
            count -= 1
            for k in range(at + j, at + count):
                copy_point(scratch, k + 1, k)
        else:
            j += 1
    return count


@kernel
def collapse_to_segment(scratch, at, count):
    """Replace a very narrow polygon by a segment. Returns how many corners are left."""
    longest, a, b = 0.0, at, at
    for j in range(at, at + count):
        for k in range(j + 1, at + count):
            s = distance2(scratch, j, k)
            if s > longest:
                longest, a, b = s, j, k
    low, high = 0.0, 0.0
    for j in range(at, at + count):
        s = orient2d(scratch, a, b, j)
        low, high = min(low, s), max(high, s)
    if high - low > MERGE_DISTANCE * math.sqrt(longest):
        return count
    copy_point(scratch, a, at)
    copy_point(scratch, b, at + 1)  # b comes after a, so it is not overwritten
    return 2


@kernel
def keep_near_corners(scratch, at, count, gap, margin):
    """Remove corners with gaps beyond the margin."""
    near = 0
    for j in range(at, at + count):
        if affine_at(gap, scratch, j) < margin:
            copy_point(scratch, j, at + near)
            near += 1
    return near


@kernel
def make_counter_clockwise(scratch, at, count):
    """Reverse a clockwise polygon; its first corner stays the first."""
    area = 0.0
    for j in range(at + 1, at + count - 1):
        area += orient2d(scratch, at, j, j + 1)
    if area < 0.0:
        for j in range(1, (count + 1) // 2):
            a, b = at + j, at + count - j
            u, v, w = scratch.plane_points[a, 0], scratch.plane_points[a, 1], scratch.plane_points[a, 2]
            copy_point(scratch, b, a)
            scratch.plane_points[b, 0], scratch.plane_points[b, 1], scratch.plane_points[b, 2] = u, v, w


@kernel
def axis_sign(d, R):
    """1 or -1: a sign for a unit direction that stays the same while it rotates slightly together with a shape."""
    z, x, y = d @ R.z, d @ R.x, d @ R.y
    s = z if abs(z) > 0.3 else x if abs(x) > 0.5 else y
    return 1.0 if s >= 0.0 else -1.0


@kernel
def new_patch(patches, i, feature, corners):
    """Allocate a patch of pair i; -1 if all are in use."""
    patches.count[1] += 1
    j = patches.count[0]
    if j >= patches.pair.shape[0]:
        return -1
    patches.count[0] = j + 1
    patches.pair[j], patches.feature[j], patches.corners[j] = i, feature, corners
    return j


@kernel
def add_point_patch(patches, i, feature, P, R, gap):
    """Store a patch that is a point."""
    j = new_patch(patches, i, feature, 1)
    if j >= 0:
        put_vec3(patches.P, j, P)
        put_rotation(patches.R, j, R)
        put_vec3(patches.gap, j, Vec3(gap, 0.0, 0.0))
        patches.V[j, 0, 0], patches.V[j, 0, 1] = 0.0, 0.0


@outlined
def add_patch(patches, scratch, i, feature, at, count, o, R, gap, height, R2, margin):
    """Store the patch whose corners are in scratch.plane_points, if any of its gaps is below the margin. Returns 1 if it was.

    Args:
        patches: ContactPatches.
        scratch: CollisionScratch.
        i: Pair.
        feature: Which patch of the pair.
        at: Its first corner in scratch.plane_points, in order around it.
        count: Number of corners, at least one.
        o: World point of u = v = 0.
        R: Contact axes.
        gap: Affine function of u and v.
        height: Height of the first shape's surface above o, affine as well.
        R2: Orientation of the second shape, which defines the sign of a segment's axis.
        margin: Largest gap of a contact [m].
    """
    count = merge_corners(scratch, at, count, gap)
    if count > 3:
        count = remove_collinear(scratch, at, count)
    if count > CORNERS:
        count = reduce_corners(scratch, at, count)
    if count > 2:
        count = collapse_to_segment(scratch, at, count)
    count = keep_near_corners(scratch, at, count, gap, margin)
    if count == 0:
        return 0
    if count == 1:
        u, v, t = scratch.plane_points[at, 0], scratch.plane_points[at, 1], affine_at(height, scratch, at)
        add_point_patch(patches, i, feature, o + u * R.x + v * R.y + t * R.z, R, affine_at(gap, scratch, at))
        return 1
    u = v = 0.0
    for j in range(at, at + count):
        u += scratch.plane_points[j, 0] / count
        v += scratch.plane_points[j, 1] / count
    P = o + u * R.x + v * R.y + (height.x + height.y * u + height.z * v) * R.z
    g = gap.x + gap.y * u + gap.z * v
    j = new_patch(patches, i, feature, count)
    if j < 0:
        return 1
    put_vec3(patches.P, j, P)
    if count == 2:
        du, dv = (
            scratch.plane_points[at + 1, 0] - scratch.plane_points[at, 0],
            scratch.plane_points[at + 1, 1] - scratch.plane_points[at, 1],
        )
        length = math.sqrt(du * du + dv * dv)
        u, v = du / length, dv / length
        s = axis_sign(u * R.x + v * R.y, R2)
        x = s * (u * R.x + v * R.y)
        put_rotation(patches.R, j, Rotation(x, cross(R.z, x), R.z))
        put_vec3(patches.gap, j, Vec3(g, s * (gap.y * u + gap.z * v), 0.0))
        patches.V[j, 0, 0], patches.V[j, 0, 1], patches.V[j, 1, 0], patches.V[j, 1, 1] = -0.5 * length, 0.0, 0.5 * length, 0.0
        return 1
    make_counter_clockwise(scratch, at, count)
    put_rotation(patches.R, j, R)
    put_vec3(patches.gap, j, Vec3(g, gap.y, gap.z))
    for k in range(count):
        patches.V[j, k, 0], patches.V[j, k, 1] = scratch.plane_points[at + k, 0] - u, scratch.plane_points[at + k, 1] - v
    return 1
