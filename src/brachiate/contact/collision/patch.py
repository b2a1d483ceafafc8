"""From corners in a plane to a contact area: cleaned, turned the right way round, with axes that do not jump."""

from __future__ import annotations

import math

from brachiate.compiled import kernel, outlined
from brachiate.contact.arrays import CORNERS
from brachiate.spatial import Rotation, Vec3, cross, norm, put_rotation, put_vec3

MERGE = 1e-4  # [m] corners closer than this are one, a polygon narrower than this is a segment
LINE = 1e-6  # [m] a corner nearer than this to the line of its neighbours is none


@kernel
def variable(n):
    """A whole number that is no constant: a function called with different constants would be compiled for each of them."""
    return n + 0


@kernel
def plane_axes(z, R):
    """Contact axes with the normal z: x is the x axis of a shape laid on the plane, or its y axis, where x stands on it."""
    a = R.x if abs(R.x @ z) < 0.9 else R.y
    a = a - (a @ z) * z
    a = (1.0 / norm(a)) * a
    return Rotation(a, cross(z, a), z)


@kernel
def at_corner(f, S, k):
    """An affine function f_0 + f_1 u + f_2 v at a corner in the plane."""
    return f.x + f.y * S.flat[k, 0] + f.z * S.flat[k, 1]


@kernel
def copy_corner(S, k, to):
    """Copy a corner in the plane to another place."""
    S.flat[to, 0], S.flat[to, 1], S.flat[to, 2] = S.flat[k, 0], S.flat[k, 1], S.flat[k, 2]


@kernel
def distance2(S, j, k):
    """Squared distance of two corners in the plane."""
    u, v = S.flat[j, 0] - S.flat[k, 0], S.flat[j, 1] - S.flat[k, 1]
    return u * u + v * v


@kernel
def turn(S, i, j, k):
    """Twice the area of the triangle of three corners, positive if counter-clockwise."""
    u, v = S.flat[j, 0] - S.flat[i, 0], S.flat[j, 1] - S.flat[i, 1]
    return u * (S.flat[k, 1] - S.flat[i, 1]) - v * (S.flat[k, 0] - S.flat[i, 0])


@kernel
def merged(S, at, count, gap):
    """Make one of corners that are in one place: that with the smaller gap. Returns how many there are then."""
    k = 1
    for j in range(at + 1, at + count):
        if distance2(S, j, at + k - 1) > MERGE * MERGE:
            copy_corner(S, j, at + k)
            k += 1
        elif at_corner(gap, S, j) < at_corner(gap, S, at + k - 1):
            copy_corner(S, j, at + k - 1)
    while k > 1 and distance2(S, at, at + k - 1) <= MERGE * MERGE:
        k -= 1
        if at_corner(gap, S, at + k) < at_corner(gap, S, at):
            copy_corner(S, at + k, at)
    return k


@kernel
def thinned(S, at, count):
    """Leave out the corners that stand out least until few enough are left: the outermost stay."""
    while count > CORNERS:
        least, chosen = math.inf, at
        for j in range(count):
            s = abs(turn(S, at + (j + count - 1) % count, at + j, at + (j + 1) % count))
            if s < least:
                least, chosen = s, at + j
        count -= 1
        for j in range(chosen, at + count):
            copy_corner(S, j + 1, j)
    return count


@kernel
def cornered(S, at, count):
    """Leave out corners that are on the line between their neighbours."""
    j = 0
    while j < count and count > 3:
        before, after = at + (j + count - 1) % count, at + (j + 1) % count
        s = turn(S, before, at + j, after)
        if s * s < LINE * LINE * distance2(S, before, after):
            count -= 1
            for k in range(at + j, at + count):
                copy_corner(S, k + 1, k)
        else:
            j += 1
    return count


@kernel
def straightened(S, at, count):
    """Make a segment of a polygon that is narrower than a hair. Returns how many corners there are now."""
    most, a, b = 0.0, at, at
    for j in range(at, at + count):
        for k in range(j + 1, at + count):
            s = distance2(S, j, k)
            if s > most:
                most, a, b = s, j, k
    low, high = 0.0, 0.0
    for j in range(at, at + count):
        s = turn(S, a, b, j)
        low, high = min(low, s), max(high, s)
    if high - low > MERGE * math.sqrt(most):
        return count
    copy_corner(S, a, at)
    copy_corner(S, b, at + 1)  # b comes after a, so it is still there
    return 2


@kernel
def near_corners(S, at, count, gap, margin):
    """Leave out corners that are too far to touch: what is between one of them and one that touches does not, either."""
    near = 0
    for j in range(at, at + count):
        if at_corner(gap, S, j) < margin:
            copy_corner(S, j, at + near)
            near += 1
    return near


@kernel
def counter_clockwise(S, at, count):
    """Turn a polygon round if it is clockwise; its first corner stays the first."""
    area = 0.0
    for j in range(at + 1, at + count - 1):
        area += turn(S, at, j, j + 1)
    if area < 0.0:
        for j in range(1, (count + 1) // 2):
            a, b = at + j, at + count - j
            u, v, w = S.flat[a, 0], S.flat[a, 1], S.flat[a, 2]
            copy_corner(S, b, a)
            S.flat[b, 0], S.flat[b, 1], S.flat[b, 2] = u, v, w


@kernel
def same_way(d, R):
    """1 or -1: a sign for a unit direction that does not change while it turns a little together with a shape."""
    z, x, y = d @ R.z, d @ R.x, d @ R.y
    s = z if abs(z) > 0.3 else x if abs(x) > 0.5 else y
    return 1.0 if s >= 0.0 else -1.0


@kernel
def new_area(A, i, feature, corners):
    """Take a place for an area of pair i; -1 if all are taken."""
    A.count[1] += 1
    j = A.count[0]
    if j >= A.pair.shape[0]:
        return -1
    A.count[0] = j + 1
    A.pair[j], A.feature[j], A.corners[j] = i, feature, corners
    return j


@kernel
def put_point(A, i, feature, P, R, gap):
    """Store an area that is a point."""
    j = new_area(A, i, feature, 1)
    if j >= 0:
        put_vec3(A.P, j, P)
        put_rotation(A.R, j, R)
        put_vec3(A.gap, j, Vec3(gap, 0.0, 0.0))
        A.V[j, 0, 0], A.V[j, 0, 1] = 0.0, 0.0


@outlined
def put_area(A, S, i, feature, at, count, o, R, gap, height, R2, margin):
    """Store the area whose corners are in S.flat, if it is near enough anywhere. Returns 1 if it was.

    Args:
        A: Areas.
        S: Scratch.
        i: Pair.
        feature: Which of its areas.
        at: First of its corners in S.flat, in their order around.
        count: How many there are, one at least.
        o: Where u = v = 0 is in the world.
        R: Contact axes.
        gap: Affine function of u and v.
        height: Where the first shape's surface is above o, affine as well.
        R2: Orientation of the second shape: a segment's axis follows it.
        margin: Farther apart it is no contact.
    """
    count = merged(S, at, count, gap)
    if count > 3:
        count = cornered(S, at, count)
    if count > CORNERS:
        count = thinned(S, at, count)
    if count > 2:
        count = straightened(S, at, count)
    count = near_corners(S, at, count, gap, margin)
    if count == 0:
        return 0
    if count == 1:
        u, v, t = S.flat[at, 0], S.flat[at, 1], at_corner(height, S, at)
        put_point(A, i, feature, o + u * R.x + v * R.y + t * R.z, R, at_corner(gap, S, at))
        return 1
    u = v = 0.0
    for j in range(at, at + count):
        u += S.flat[j, 0] / count
        v += S.flat[j, 1] / count
    P = o + u * R.x + v * R.y + (height.x + height.y * u + height.z * v) * R.z
    g = gap.x + gap.y * u + gap.z * v
    j = new_area(A, i, feature, count)
    if j < 0:
        return 1
    put_vec3(A.P, j, P)
    if count == 2:
        du, dv = S.flat[at + 1, 0] - S.flat[at, 0], S.flat[at + 1, 1] - S.flat[at, 1]
        length = math.sqrt(du * du + dv * dv)
        u, v = du / length, dv / length
        s = same_way(u * R.x + v * R.y, R2)
        x = s * (u * R.x + v * R.y)
        put_rotation(A.R, j, Rotation(x, cross(R.z, x), R.z))
        put_vec3(A.gap, j, Vec3(g, s * (gap.y * u + gap.z * v), 0.0))
        A.V[j, 0, 0], A.V[j, 0, 1], A.V[j, 1, 0], A.V[j, 1, 1] = -0.5 * length, 0.0, 0.5 * length, 0.0
        return 1
    counter_clockwise(S, at, count)
    put_rotation(A.R, j, R)
    put_vec3(A.gap, j, Vec3(g, gap.y, gap.z))
    for k in range(count):
        A.V[j, k, 0], A.V[j, k, 1] = S.flat[at + k, 0] - u, S.flat[at + k, 1] - v
    return 1
