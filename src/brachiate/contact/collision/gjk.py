"""Any two convex shapes: their distance by Gilbert, Johnson and Keerthi (GJK), whatever their farthest points say.

Spheres and capsules are a point and a segment with a radius, so they are apart as long as those are. Where shapes touch or
lie in each other the distance says nothing about a direction. Then the distance of the same shapes made a little smaller
does, or that of a face: of these directions the one counts in which the shapes are least deep in each other.
"""

from __future__ import annotations

import math

from brachiate.compiled import kernel, outlined
from brachiate.constraints.rows import across
from brachiate.contact.arrays import APART, BOX, CAPSULE, CYLINDER, ELLIPSOID, HULL, NEAR
from brachiate.contact.collision.patch import variable
from brachiate.contact.collision.sphere_capsule import nearest_places
from brachiate.contact.collision.support_feature import edge_of, ellipsoid_point, put_feature
from brachiate.spatial import Vec3, cross, norm, unrotate, vec3

ROUNDS = 64  # at most so many corners are tried; five are the rule, more for round shapes that are near each other
PRECISE = 1e-10  # of the squared distance
SEARCH = 16  # steps to a better direction where shapes lie in each other
INSETS = 6  # times that shapes are made smaller before the line between their middles must do
TOUCH = 1e-6  # [m] nearer than this a distance has no direction
ABOUT = -0.5  # cosine beyond which a face is on the wrong side
PREFER = 1e-5  # [m] by so much less deep a direction between faces must be


@kernel
def shrunk(h, inset):
    """Half edges or radii that are smaller by the inset, but not by more than nine tenths."""
    return Vec3(max(h.x - inset, 0.1 * h.x), max(h.y - inset, 0.1 * h.y), max(h.z - inset, 0.1 * h.z))


@outlined
def support(Gm, g, R, x, d, inset):
    """Farthest point along d of shape g without its radius, made smaller by the inset."""
    kind, h = Gm.kind[g], vec3(Gm.size, g)
    if kind == BOX:
        h = shrunk(h, inset)
        e = unrotate(R, d)
        return x + R @ Vec3(math.copysign(h.x, e.x), math.copysign(h.y, e.y), math.copysign(h.z, e.z))
    if kind == CAPSULE:
        return x + math.copysign(h.y, R.z @ d) * R.z
    if kind == CYLINDER:
        h = shrunk(Vec3(h.x, h.y, 0.0), inset)
        along = R.z @ d
        e = d - along * R.z
        s = norm(e)
        across = (h.x / s) * e if s > 1e-12 else h.x * R.x
        return x + math.copysign(h.y, along) * R.z + across
    if kind == ELLIPSOID:
        return ellipsoid_point(shrunk(h, inset), R, x, d)
    if kind == HULL:
        e = unrotate(R, d)
        most, best = -math.inf, Gm.corner_at[g]
        for c in range(Gm.corner_at[g], Gm.corner_at[g + 1]):
            s = vec3(Gm.corner, c) @ e
            if s > most:
                most, best = s, c
        return x + max(1.0 - inset / h.x, 0.1) * (R @ vec3(Gm.corner, best))
    return x


@kernel
def radius_of(Gm, g):
    """Radius that is not part of the core a shape is made of."""
    return Gm.size[g, 0] if Gm.kind[g] <= CAPSULE else 0.0


@kernel
def corner(S, k):
    """Corner k of the simplex."""
    return Vec3(S.simplex[k, 0], S.simplex[k, 1], S.simplex[k, 2])


@kernel
def put_corner(S, k, w, a):
    """Store a corner of the simplex, and the point of the first shape it is made of."""
    S.simplex[k, 0], S.simplex[k, 1], S.simplex[k, 2] = w
    S.simplex[k, 3], S.simplex[k, 4], S.simplex[k, 5] = a


@kernel
def corner_of_first(S, k):
    """The point of the first shape that corner k of the simplex is made of."""
    return Vec3(S.simplex[k, 3], S.simplex[k, 4], S.simplex[k, 5])


@kernel
def encloses(S):
    """Whether four corners have the origin between them."""
    d = corner(S, 3)
    a, b, c = corner(S, 0) - d, corner(S, 1) - d, corner(S, 2) - d
    bc, ca, ab = cross(b, c), cross(c, a), cross(a, b)
    volume = a @ bc
    if abs(volume) < 1e-15 * math.sqrt((a @ a) * (b @ b) * (c @ c)):
        return False
    s = -1.0 / volume
    p, q, r = s * (d @ bc), s * (d @ ca), s * (d @ ab)
    return p >= 0.0 and q >= 0.0 and r >= 0.0 and p + q + r <= 1.0


@outlined
def nearest_of_simplex(S, count):
    """Point of a simplex nearest to the origin: tried on every side that has the last corner, so that nothing is missed.

    Corners that it does not need are left out. Returns how many stay, the point, and the point of the first shape there.
    """
    l = count - 1
    c, pc = corner(S, l), corner_of_first(S, l)
    best, v, a = c @ c, c, pc
    keep, i1, i2 = 1, 0, 0
    for i in range(l):
        p = corner(S, i)
        e = p - c
        length2 = e @ e
        t = -(c @ e)
        if 0.0 < t < length2:
            w = c + (t / length2) * e
            if w @ w < best:
                best, v, keep, i1 = w @ w, w, 2, i
                a = pc + (t / length2) * (corner_of_first(S, i) - pc)
    for i in range(l):
        for j in range(i + 1, l):
            p, q = corner(S, i), corner(S, j)
            N = cross(p - c, q - c)
            size2 = N @ N
            if size2 <= 1e-24 * ((p - c) @ (p - c)) * ((q - c) @ (q - c)):
                continue
            s, t = N @ cross(q, c) / size2, N @ cross(c, p) / size2
            if s > 0.0 and t > 0.0 and s + t < 1.0:
                w = (N @ c / size2) * N
                if w @ w < best:
                    best, v, keep, i1, i2 = w @ w, w, 3, i, j
                    a = pc + s * (corner_of_first(S, i) - pc) + t * (corner_of_first(S, j) - pc)
    if keep > 1:
        put_corner(S, 0, corner(S, i1), corner_of_first(S, i1))
    if keep > 2:
        put_corner(S, 1, corner(S, i2), corner_of_first(S, i2))
    put_corner(S, keep - 1, c, pc)
    return keep, v, a


@outlined
def gjk(Gm, S, g1, g2, R1, R2, d, inset1, inset2, limit):
    """Distance of two cores, the second at d from the first; the direction from first to second; the nearest point of the first.

    The distance is 0 if they touch, and may be anything beyond the limit if it is larger than that.
    """
    zero = Vec3(0.0, 0.0, 0.0)
    v = -d if d @ d > 1e-18 else Vec3(0.0, 0.0, -1.0)
    a, count, least = zero, 0, math.inf
    for _ in range(ROUNDS):
        p = support(Gm, g1, R1, zero, -v, inset1)
        w = p - support(Gm, g2, R2, d, v, inset2)
        size2, along = v @ v, v @ w
        if along > 0.0 and along * along > limit * limit * size2:
            return math.sqrt(size2), v, a
        if count > 0 and size2 - along <= PRECISE * size2:
            break
        known = False
        for k in range(count):
            e = corner(S, k) - w
            known = known or e @ e < 1e-28
        if known:
            break
        put_corner(S, count, w, p)
        count += 1
        if count == 4 and encloses(S):
            return 0.0, v, a
        count, u, b = nearest_of_simplex(S, count)
        if not u @ u < least:  # no nearer: round-off is all that is left
            break
        v, a, least = u, b, u @ u
        if least < TOUCH * TOUCH:
            return 0.0, v, a
    length = math.sqrt(max(least, 1e-300))
    return length, (-1.0 / length) * v, a


@outlined
def separation(Gm, g1, g2, R1, R2, d, n):
    """How far apart two cores are along n; negative if they overlap."""
    zero = Vec3(0.0, 0.0, 0.0)
    return n @ support(Gm, g2, R2, d, -n, 0.0) - n @ support(Gm, g1, R1, zero, n, 0.0)


@kernel
def count_faces(Gm, g):
    """How many faces a shape has whose normals are worth trying."""
    kind = Gm.kind[g]
    return 6 if kind == BOX else 2 if kind == CYLINDER else Gm.face_at[g + 1] - Gm.face_at[g] if kind == HULL else 0


@kernel
def face_normal(Gm, g, R, k):
    """Outward normal of face k."""
    if Gm.kind[g] == HULL:
        return R @ vec3(Gm.face_normal, Gm.face_at[g] + k)
    axis = R.z if k < 2 else R.x if k < 4 else R.y
    return axis if k % 2 == 0 else -axis


@kernel
def least_deep_near(Gm, g1, g2, R1, R2, d, n):
    """A better direction near n, by trying a step to four sides and halving it where none of them is better."""
    best, step = separation(Gm, g1, g2, R1, R2, d, n), 0.2
    for _ in range(SEARCH):
        a, b = across(n)
        found = False
        for k in range(4):
            m = n + (step if k % 2 == 0 else -step) * (a if k < 2 else b)
            m = (1.0 / norm(m)) * m
            s = separation(Gm, g1, g2, R1, R2, d, m)
            if s > best:
                best, n, found = s, m, True
                break
        if not found:
            step *= 0.4
    return n


@kernel
def least_deep(Gm, g1, g2, R1, R2, d, n):
    """Direction in which cores that touch are least deep in each other, as far as it is known, and how far they are apart along it.

    Tried are those of faces and those across two edges that are about along n, else those near n.
    """
    start = separation(Gm, g1, g2, R1, R2, d, n)
    best, known = start - PREFER, n
    for k in range(count_faces(Gm, g1) + count_faces(Gm, g2)):
        j = k - count_faces(Gm, g1)
        m = face_normal(Gm, g1, R1, k) if j < 0 else -face_normal(Gm, g2, R2, j)
        if m @ n > ABOUT:
            s = separation(Gm, g1, g2, R1, R2, d, m)
            if s > best:
                best, known = s, m
    for k in range(count_edges(Gm, g1)):
        for j in range(count_edges(Gm, g2)):
            m = cross(edge_direction(R1, k), edge_direction(R2, j))
            s = norm(m)
            if s > 1e-3:
                m = (math.copysign(1.0, m @ n) / s) * m
                s = separation(Gm, g1, g2, R1, R2, d, m) - PREFER
                if s > best:
                    best, known = s, m
    if best < start:
        known = least_deep_near(Gm, g1, g2, R1, R2, d, n)
    return known, separation(Gm, g1, g2, R1, R2, d, known)


@kernel
def count_edges(Gm, g):
    """How many directions the edges of a shape have that are worth trying: those of a box, the axis of a rod."""
    kind = Gm.kind[g]
    return 3 if kind == BOX else 1 if kind in (CAPSULE, CYLINDER) else 0


@kernel
def edge_direction(R, k):
    """Direction of edge k; the first is along z."""
    return R.z if k == 0 else R.x if k == 1 else R.y


@kernel
def smallest(Gm, g):
    """How much smaller a shape can be made before nothing is left of it."""
    kind, h = Gm.kind[g], vec3(Gm.size, g)
    if kind in (BOX, ELLIPSOID):
        return min(min(h.x, h.y), h.z)
    return min(h.x, h.y) if kind == CYLINDER else h.x if kind == HULL else 0.0


@kernel
def edge_or_corner(Gm, S, at, g, R, x, d):
    """What a shape that lies in another has farthest along d, to S.point from ``at``: one corner, or two of a line. Returns how many."""
    count, _ = put_feature(Gm, S, at, g, R, x, d)
    return edge_of(S, at, count, d) if count > 1 else count


@kernel
def deepest_point(Gm, S, g1, g2, R1, x1, R2, x2, n, gap):
    """Where shapes are deepest in each other, on the surface of the first.

    It is where corners are, if there are any. The farthest point of a line that lies across n is either of its ends, and would jump.
    """
    second = S.member.shape[0]
    k1 = edge_or_corner(Gm, S, variable(0), g1, R1, x1, n)
    k2 = edge_or_corner(Gm, S, second, g2, R2, x2, -n)
    a, b = vec3(S.point, 0), vec3(S.point, second) - gap * n
    if k1 == 2 and k2 == 2:
        u, v = 0.5 * (vec3(S.point, 1) - a), 0.5 * (vec3(S.point, second + 1) - vec3(S.point, second))
        s, _ = nearest_places(b + v - a - u, u, v)
        return a + (1.0 + s) * u
    return 0.5 * (a + b) if k1 == k2 else a if k1 == 1 else b


@kernel
def convex(Gm, S, g1, g2, R1, x1, R2, x2, margin):
    """Whether two convex shapes are NEAR or APART; normal, nearest point of the first, and gap."""
    d = x2 - x1
    r1, r2 = radius_of(Gm, g1), radius_of(Gm, g2)
    small1, small2 = smallest(Gm, g1), smallest(Gm, g2)
    zero = Vec3(0.0, 0.0, 0.0)
    limit, inset, length, n, a = margin + r1 + r2, 0.0, 0.0, d, zero
    for k in range(INSETS):
        length, n, a = gjk(Gm, S, g1, g2, R1, R2, d, inset * small1, inset * small2, limit)
        if length > 0.0:
            break
        limit, inset = math.inf, 0.001 if k == 0 else 5.0 * inset
    if inset == 0.0:
        return NEAR if length < limit else APART, n, x1 + a + r1 * n, length - r1 - r2
    if not length > 0.0:
        n = (1.0 / norm(d)) * d if d @ d > 1e-18 else Vec3(0.0, 0.0, 1.0)
    n, length = least_deep(Gm, g1, g2, R1, R2, d, n)
    gap = length - r1 - r2
    return NEAR, n, deepest_point(Gm, S, g1, g2, R1, x1, R2, x2, n, gap), gap
