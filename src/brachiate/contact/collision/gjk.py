"""Distance of two convex shapes by Gilbert, Johnson and Keerthi (GJK), from their support mappings.

Spheres and capsules are a point and a segment (the core) with a radius: they are separated as long as their cores are. Where cores
touch or penetrate, GJK gives no direction. Then the distance of slightly shrunk cores does, or a face normal, or a cross product of
edges: the direction of least penetration is taken.
"""

from __future__ import annotations

import math

from brachiate.compiled import kernel, outlined
from brachiate.contact.arrays import BOX, CAPSULE, CYLINDER, ELLIPSOID, HULL, NEAR, SEPARATED
from brachiate.contact.collision.patch import non_constant
from brachiate.contact.collision.sphere_capsule import closest_on_segments
from brachiate.contact.collision.support_feature import ellipsoid_support, reduce_to_edge, support_feature
from brachiate.spatial import Vec3, cross, norm, orthonormal_pair, unrotate, vec3

MAX_ITERATIONS = 64  # five are typical, more for round shapes near each other
RELATIVE_TOLERANCE = 1e-10  # of the squared distance
DIRECTION_SEARCH_STEPS = 16  # of the local search for the direction of least penetration
MAX_INSETS = 6  # attempts with smaller cores before the line between the centers is used
TOUCH_DISTANCE = 1e-6  # [m] below which the distance has no direction
FACE_MIN_COSINE = -0.5  # below which a face is on the wrong side
DIRECTION_PREFERENCE = 1e-5  # [m] advantage of face normals over other directions


@kernel
def inset_size(h, inset):
    """Half edges or radii reduced by the inset, by nine tenths at most."""
    return Vec3(max(h.x - inset, 0.1 * h.x), max(h.y - inset, 0.1 * h.y), max(h.z - inset, 0.1 * h.z))


@outlined
def support(geometry, g, R, x, d, inset):
    """Support mapping: farthest point along d of the core of shape g, shrunk by the inset."""
    kind, h = geometry.kind[g], vec3(geometry.size, g)
    if kind == BOX:
        h = inset_size(h, inset)
        e = unrotate(R, d)
        return x + R @ Vec3(math.copysign(h.x, e.x), math.copysign(h.y, e.y), math.copysign(h.z, e.z))
    if kind == CAPSULE:
        return x + math.copysign(h.y, R.z @ d) * R.z
    if kind == CYLINDER:
        h = inset_size(Vec3(h.x, h.y, 0.0), inset)
        along = R.z @ d
        e = d - along * R.z
        s = norm(e)
        radial = (h.x / s) * e if s > 1e-12 else h.x * R.x
        return x + math.copysign(h.y, along) * R.z + radial
    if kind == ELLIPSOID:
        return ellipsoid_support(inset_size(h, inset), R, x, d)
    if kind == HULL:
        e = unrotate(R, d)
        farthest, best = -math.inf, geometry.vertex_start[g]
        for c in range(geometry.vertex_start[g], geometry.vertex_start[g + 1]):
            s = vec3(geometry.vertex, c) @ e
            if s > farthest:
                farthest, best = s, c
        return x + max(1.0 - inset / h.x, 0.1) * (R @ vec3(geometry.vertex, best))
    return x


@kernel
def core_radius(geometry, g):
    """Radius around the core of a shape."""
    return geometry.size[g, 0] if geometry.kind[g] <= CAPSULE else 0.0


@kernel
def simplex_vertex(scratch, k):
    """Vertex k of the simplex."""
    return Vec3(scratch.simplex[k, 0], scratch.simplex[k, 1], scratch.simplex[k, 2])


@kernel
def put_simplex_vertex(scratch, k, w, a):
    """Store a vertex of the simplex, and its witness point on the first shape."""
    scratch.simplex[k, 0], scratch.simplex[k, 1], scratch.simplex[k, 2] = w
    scratch.simplex[k, 3], scratch.simplex[k, 4], scratch.simplex[k, 5] = a


@kernel
def simplex_witness(scratch, k):
    """Witness point on the first shape of simplex vertex k."""
    return Vec3(scratch.simplex[k, 3], scratch.simplex[k, 4], scratch.simplex[k, 5])


@kernel
def encloses_origin(scratch):
    """Whether the tetrahedron contains the origin."""
    d = simplex_vertex(scratch, 3)
    a, b, c = simplex_vertex(scratch, 0) - d, simplex_vertex(scratch, 1) - d, simplex_vertex(scratch, 2) - d
    bc, ca, ab = cross(b, c), cross(c, a), cross(a, b)
    volume = a @ bc
    if abs(volume) < 1e-15 * math.sqrt((a @ a) * (b @ b) * (c @ c)):
        return False
    s = -1.0 / volume
    p, q, r = s * (d @ bc), s * (d @ ca), s * (d @ ab)
    return p >= 0.0 and q >= 0.0 and r >= 0.0 and p + q + r <= 1.0


@outlined
def closest_on_simplex(scratch, count):
    """Point of the simplex closest to the origin, over all sub-simplices that contain the last vertex.

    Vertices that it does not need are removed. Returns how many are left, the point, and its witness on the first shape.
    """
    l = count - 1
    c, pc = simplex_vertex(scratch, l), simplex_witness(scratch, l)
    best, v, a = c @ c, c, pc
    keep, i1, i2 = 1, 0, 0
    for i in range(l):
        p = simplex_vertex(scratch, i)
        e = p - c
        length2 = e @ e
        t = -(c @ e)
        if 0.0 < t < length2:
            w = c + (t / length2) * e
            if w @ w < best:
                best, v, keep, i1 = w @ w, w, 2, i
                a = pc + (t / length2) * (simplex_witness(scratch, i) - pc)
    for i in range(l):
        for j in range(i + 1, l):
            p, q = simplex_vertex(scratch, i), simplex_vertex(scratch, j)
            N = cross(p - c, q - c)
            size2 = N @ N
            if size2 <= 1e-24 * ((p - c) @ (p - c)) * ((q - c) @ (q - c)):
                continue
            s, t = N @ cross(q, c) / size2, N @ cross(c, p) / size2
            if s > 0.0 and t > 0.0 and s + t < 1.0:
                w = (N @ c / size2) * N
                if w @ w < best:
                    best, v, keep, i1, i2 = w @ w, w, 3, i, j
                    a = pc + s * (simplex_witness(scratch, i) - pc) + t * (simplex_witness(scratch, j) - pc)
    if keep > 1:
        put_simplex_vertex(scratch, 0, simplex_vertex(scratch, i1), simplex_witness(scratch, i1))
    if keep > 2:
        put_simplex_vertex(scratch, 1, simplex_vertex(scratch, i2), simplex_witness(scratch, i2))
    put_simplex_vertex(scratch, keep - 1, c, pc)
    return keep, v, a


@outlined
def gjk_distance(geometry, scratch, g1, g2, R1, R2, d, inset1, inset2, limit):
    """Distance of two cores, the second at d from the first; direction from first to second; closest point of the first.

    The distance is 0 if they touch, and any value beyond the limit if it is larger than that.
    """
    zero = Vec3(0.0, 0.0, 0.0)
    v = -d if d @ d > 1e-18 else Vec3(0.0, 0.0, -1.0)
    a, count, smallest = zero, 0, math.inf
    for _ in range(MAX_ITERATIONS):
        p = support(geometry, g1, R1, zero, -v, inset1)
        w = p - support(geometry, g2, R2, d, v, inset2)
        size2, along = v @ v, v @ w
        if along > 0.0 and along * along > limit * limit * size2:
            return math.sqrt(size2), v, a
        if count > 0 and size2 - along <= RELATIVE_TOLERANCE * size2:
            break
        known = False
        for k in range(count):
            e = simplex_vertex(scratch, k) - w
            known = known or e @ e < 1e-28
        if known:
            break
        put_simplex_vertex(scratch, count, w, p)
        count += 1
        if count == 4 and encloses_origin(scratch):
            return 0.0, v, a
        count, u, b = closest_on_simplex(scratch, count)
        if not u @ u < smallest:  # no progress beyond round-off
            break
        v, a, smallest = u, b, u @ u
        if smallest < TOUCH_DISTANCE * TOUCH_DISTANCE:
            return 0.0, v, a
    length = math.sqrt(max(smallest, 1e-300))
    return length, (-1.0 / length) * v, a


@outlined
def separation(geometry, g1, g2, R1, R2, d, n):
    """Separation of two cores along n; negative if they overlap."""
    zero = Vec3(0.0, 0.0, 0.0)
    return n @ support(geometry, g2, R2, d, -n, 0.0) - n @ support(geometry, g1, R1, zero, n, 0.0)


@kernel
def count_faces(geometry, g):
    """Number of face normals of a shape to test."""
    kind = geometry.kind[g]
    return 6 if kind == BOX else 2 if kind == CYLINDER else geometry.face_start[g + 1] - geometry.face_start[g] if kind == HULL else 0


@kernel
def face_normal(geometry, g, R, k):
    """Outward normal of face k."""
    if geometry.kind[g] == HULL:
        return R @ vec3(geometry.face_normal, geometry.face_start[g] + k)
    axis = R.z if k < 2 else R.x if k < 4 else R.y
    return axis if k % 2 == 0 else -axis


@kernel
def refine_direction(geometry, g1, g2, R1, R2, d, n):
    """Local search for a direction of less penetration near n: steps to four sides, reduced where none is better."""
    best, step = separation(geometry, g1, g2, R1, R2, d, n), 0.2
    for _ in range(DIRECTION_SEARCH_STEPS):
        a, b = orthonormal_pair(n)
        found = False
        for k in range(4):
            m = n + (step if k % 2 == 0 else -step) * (a if k < 2 else b)
            m = (1.0 / norm(m)) * m
            s = separation(geometry, g1, g2, R1, R2, d, m)
            if s > best:
                best, n, found = s, m, True
                break
        if not found:
            step *= 0.4
    return n


@kernel
def min_penetration_direction(geometry, g1, g2, R1, R2, d, n):
    """Approximate direction of least penetration of touching cores, and the separation along it.

    Candidates are face normals and cross products of edges that are roughly along n, else directions near n.
    """
    start = separation(geometry, g1, g2, R1, R2, d, n)
    best, direction = start - DIRECTION_PREFERENCE, n
    for k in range(count_faces(geometry, g1) + count_faces(geometry, g2)):
        j = k - count_faces(geometry, g1)
        m = face_normal(geometry, g1, R1, k) if j < 0 else -face_normal(geometry, g2, R2, j)
        if m @ n > FACE_MIN_COSINE:
            s = separation(geometry, g1, g2, R1, R2, d, m)
            if s > best:
                best, direction = s, m
    for k in range(count_edges(geometry, g1)):
        for j in range(count_edges(geometry, g2)):
            m = cross(edge_direction(R1, k), edge_direction(R2, j))
            s = norm(m)
            if s > 1e-3:
                m = (math.copysign(1.0, m @ n) / s) * m
                s = separation(geometry, g1, g2, R1, R2, d, m) - DIRECTION_PREFERENCE
                if s > best:
                    best, direction = s, m
    if best < start:
        direction = refine_direction(geometry, g1, g2, R1, R2, d, n)
    return direction, separation(geometry, g1, g2, R1, R2, d, direction)


@kernel
def count_edges(geometry, g):
    """Number of edge directions of a shape to test: three of a box, the axis of a capsule or cylinder."""
    kind = geometry.kind[g]
    return 3 if kind == BOX else 1 if kind in (CAPSULE, CYLINDER) else 0


@kernel
def edge_direction(R, k):
    """Direction of edge k; the first is z."""
    return R.z if k == 0 else R.x if k == 1 else R.y


@kernel
def inradius(geometry, g):
    """Largest inset of a shape: its inradius."""
    kind, h = geometry.kind[g], vec3(geometry.size, g)
    if kind in (BOX, ELLIPSOID):
        return min(min(h.x, h.y), h.z)
    return min(h.x, h.y) if kind == CYLINDER else h.x if kind == HULL else 0.0


@kernel
def support_edge_or_corner(geometry, scratch, at, g, R, x, d):
    """Edge or corner of a shape farthest along d, to scratch.points from ``at``. Returns how many points."""
    count, _ = support_feature(geometry, scratch, at, g, R, x, d)
    return reduce_to_edge(scratch, at, count, d) if count > 1 else count


@kernel
def deepest_point(geometry, scratch, g1, g2, R1, x1, R2, x2, n, gap):
    """Deepest point of penetrating shapes, on the surface of the first: at a corner if there is one.

    For two edges it is where they are closest: the support point of an edge perpendicular to n would jump between its ends.
    """
    second = scratch.cluster.shape[0]
    k1 = support_edge_or_corner(geometry, scratch, non_constant(0), g1, R1, x1, n)
    k2 = support_edge_or_corner(geometry, scratch, second, g2, R2, x2, -n)
    a, b = vec3(scratch.points, 0), vec3(scratch.points, second) - gap * n
    if k1 == 2 and k2 == 2:
        u, v = 0.5 * (vec3(scratch.points, 1) - a), 0.5 * (vec3(scratch.points, second + 1) - vec3(scratch.points, second))
        s, _ = closest_on_segments(b + v - a - u, u, v)
        return a + (1.0 + s) * u
    return 0.5 * (a + b) if k1 == k2 else a if k1 == 1 else b


@kernel
def convex_distance(geometry, scratch, g1, g2, R1, x1, R2, x2, margin):
    """SEPARATED or NEAR, normal, closest point of the first shape, and gap of two convex shapes."""
    d = x2 - x1
    r1, r2 = core_radius(geometry, g1), core_radius(geometry, g2)
    inradius1, inradius2 = inradius(geometry, g1), inradius(geometry, g2)
    zero = Vec3(0.0, 0.0, 0.0)
    limit, inset, length, n, a = margin + r1 + r2, 0.0, 0.0, d, zero
    for k in range(MAX_INSETS):
        length, n, a = gjk_distance(geometry, scratch, g1, g2, R1, R2, d, inset * inradius1, inset * inradius2, limit)
        if length > 0.0:
            break
        limit, inset = math.inf, 0.001 if k == 0 else 5.0 * inset
    if inset == 0.0:
        return NEAR if length < limit else SEPARATED, n, x1 + a + r1 * n, length - r1 - r2
    if not length > 0.0:
        n = (1.0 / norm(d)) * d if d @ d > 1e-18 else Vec3(0.0, 0.0, 1.0)
    n, length = min_penetration_direction(geometry, g1, g2, R1, R2, d, n)
    gap = length - r1 - r2
    return NEAR, n, deepest_point(geometry, scratch, g1, g2, R1, x1, R2, x2, n, gap), gap
