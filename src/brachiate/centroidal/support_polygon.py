"""The area that bears: sides of the convex hull of all points that do, each moving with the feet at its ends."""

from __future__ import annotations

import math

from brachiate.centroidal.problem import PATCHES
from brachiate.compiled import kernel

SAME = 1e-9  # [m] points this close are one
SHARP = 4e-4  # [m²] points that are no farther apart than the root of this say nothing of slopes


@kernel
def collect(O, P, k, alike):
    """List the points that bear in an interval, at the offsets assumed. Returns how many, and how high what carries the body is.

    That is the mean of their heights, if these are ``alike`` [m]. Of a seat that is high and feet that are low that carries more which is
    nearer to being under the body: it is then the height, under the centre of mass, of the plane that comes nearest to all of them.
    """
    count, mean, least, most = 0, 0.0, math.inf, -math.inf
    for j in range(PATCHES):
        f = O.foot[k, j]
        for i in range(O.points[k, j]):
            x, y, z = O.patch[k, j, i, 0], O.patch[k, j, i, 1], O.patch[k, j, i, 2]
            if f >= 0:
                x, y = x + P.held[f, 0], y + P.held[f, 1]
            P.x[count], P.y[count], P.owner[count] = x, y, f
            mean, least, most = mean + z, min(least, z), max(most, z)
            count += 1
    mean /= count
    if most - least < alike:
        return count, mean
    mx, my = middle(P, count)
    xx, xy, yy, xz, yz, n = count * SHARP, 0.0, count * SHARP, 0.0, 0.0, 0
    for j in range(PATCHES):
        for i in range(O.points[k, j]):
            x, y, z = P.x[n] - mx, P.y[n] - my, O.patch[k, j, i, 2] - mean
            xx, xy, yy, xz, yz, n = xx + x * x, xy + x * y, yy + y * y, xz + x * z, yz + y * z, n + 1
    x, y = 0.5 * (O.centre[k, 0] + O.centre[k + 1, 0]) - mx, 0.5 * (O.centre[k, 1] + O.centre[k + 1, 1]) - my
    height = mean + ((yy * xz - xy * yz) * x + (xx * yz - xy * xz) * y) / (xx * yy - xy * xy)
    return count, min(max(height, least), most)


@kernel
def middle(P, count):
    """The mean of all points."""
    x, y = 0.0, 0.0
    for i in range(count):
        x, y = x + P.x[i], y + P.y[i]
    return x / count, y / count


@kernel
def extent(O, P, k, count):
    """How far from the middle pressure is, if every patch carries as much as it has points, evenly over its area."""
    mx, my = middle(P, count)
    total, at = 0.0, 0
    for j in range(PATCHES):
        n = O.points[k, j]
        if n > 0:
            cx, cy, spread = 0.0, 0.0, 0.0
            for i in range(at, at + n):
                cx, cy = cx + P.x[i] / n, cy + P.y[i] / n
            for i in range(at, at + n):
                spread += (P.x[i] - cx) ** 2 + (P.y[i] - cy) ** 2
            total += n * ((cx - mx) ** 2 + (cy - my) ** 2) + spread / 3.0  # a third: of a rectangle, from its corners
            at += n
    return math.sqrt(total / count)


@kernel
def put_side(P, side, nx, ny, at, a, b):
    """A side through the point ``at``, outward along n, that moves with the owners of the points a and b."""
    P.normal[side, 0], P.normal[side, 1] = nx, ny
    P.side[side] = nx * P.x[at] + ny * P.y[at]
    P.ends[side, 0], P.ends[side, 1] = P.owner[a], P.owner[b]


@kernel
def next_corner(P, count, a):
    """The point such that all others are on the left of the way there from a; of several in line the farthest. -1: all are one point."""
    best, far = -1, 0.0
    for i in range(count):
        dx, dy = P.x[i] - P.x[a], P.y[i] - P.y[a]
        length = math.sqrt(dx * dx + dy * dy)
        if length <= SAME:
            continue
        if best < 0:
            best, far = i, length
            continue
        bx, by = P.x[best] - P.x[a], P.y[best] - P.y[a]
        left = bx * dy - by * dx
        slim = SAME * max(far, length)
        if left < -slim or (left <= slim and length > far):
            best, far = i, length
    return best


@kernel
def sides(P, count):
    """Sides of the hull, counterclockwise. Returns how many, and whether they enclose an area. A line gets four, as does a point."""
    first = 0
    for i in range(1, count):
        if P.y[i] < P.y[first] or (P.y[i] == P.y[first] and P.x[i] < P.x[first]):
            first = i
    found, a = 0, first
    while found < count:
        b = next_corner(P, count, a)
        if b < 0:
            break
        dx, dy = P.x[b] - P.x[a], P.y[b] - P.y[a]
        length = math.sqrt(dx * dx + dy * dy)
        put_side(P, found, dy / length, -dx / length, a, a, b)
        found += 1
        a = b
        if abs(P.x[b] - P.x[first]) + abs(P.y[b] - P.y[first]) <= SAME:
            break
    if found > 2:
        return found, True
    if found == 2:  # there and back: close the ends
        far = next_corner(P, count, first)
        tx, ty = -P.normal[0, 1], P.normal[0, 0]
        put_side(P, 2, tx, ty, far, far, far)
        put_side(P, 3, -tx, -ty, first, first, first)
    else:
        put_side(P, 0, 1.0, 0.0, first, first, first)
        put_side(P, 1, -1.0, 0.0, first, first, first)
        put_side(P, 2, 0.0, 1.0, first, first, first)
        put_side(P, 3, 0.0, -1.0, first, first, first)
    return 4, False


@kernel
def inset(P, found, count, margin):
    """How far to keep from the sides: the margin, but never more than 0.3 of the way to the middle."""
    mx, my = middle(P, count)
    for i in range(found):
        margin = min(margin, 0.3 * (P.side[i] - P.normal[i, 0] * mx - P.normal[i, 1] * my))
    return max(margin, 0.0)
