"""Box-box collision by the separating axis test (SAT): of fifteen axes, face normals and cross products of edges, the one of largest gap.

Hysteresis prefers faces to edges, and the separating face of the step before to others, so that contacts do not flicker.
"""

from __future__ import annotations

import math

from brachiate.compiled import kernel
from brachiate.contact.arrays import NEAR, SEPARATED, UNDECIDED
from brachiate.contact.collision.sphere_capsule import closest_on_segments
from brachiate.spatial import Vec3, cross, unrotate, vec3

FACE_HYSTERESIS = 2e-4  # [m] gap advantage of the separating face of the step before
EDGE_MARGIN, EDGE_RELATIVE_MARGIN = 2e-5, 0.05  # [m, -] absolute and relative gap advantage of faces over edges
GAP_TOLERANCE = 1e-6  # [m] gaps that differ less are equal
MIN_EDGE_ANGLE = 1e-3  # [rad] edges closer to parallel give no axis that faces do not


@kernel
def better_face(best, code, s, k, last):
    """The better of the best face so far and face k, whose gap is s."""
    s = s + FACE_HYSTERESIS if k == last else s
    return (s, k) if s > best else (best, code)


@kernel
def better_edge(best, n, code, s, d, a, b, k):
    """The better of the best axis so far and a × b; s is minus the half widths of both boxes along a × b."""
    axis = cross(a, b)
    length = math.sqrt(axis @ axis)
    along = axis @ d
    if length < MIN_EDGE_ANGLE:
        return best, n, code
    s = (abs(along) + s) / length
    if s > best:
        return s, math.copysign(1.0 / length, along) * axis, k
    return best, n, code


@kernel
def support_corner(h, e):
    """Corner of a box, in its own axes, that is farthest along e."""
    return Vec3(math.copysign(h.x, e.x), math.copysign(h.y, e.y), math.copysign(h.z, e.z))


@kernel
def zero_component(v, k):
    """The vector with component k set to zero."""
    return Vec3(0.0 if k == 0 else v.x, 0.0 if k == 1 else v.y, 0.0 if k == 2 else v.z)


@kernel
def keep_component(v, k):
    """Component k of the vector."""
    return v - zero_component(v, k)


@kernel
def box_box(geometry, scratch, i, g1, g2, R1, x1, R2, x2, margin):
    """Result (SEPARATED, NEAR, or UNDECIDED: another method must decide), normal, closest point of the first box, and gap."""
    h, w, d = vec3(geometry.size, g1), vec3(geometry.size, g2), x2 - x1
    t, u = unrotate(R1, d), unrotate(R2, d)
    X, Y, Z = unrotate(R2, R1.x), unrotate(R2, R1.y), unrotate(R2, R1.z)  # rows: axes of the first box in those of the second
    aX, aY, aZ = Vec3(abs(X.x), abs(X.y), abs(X.z)), Vec3(abs(Y.x), abs(Y.y), abs(Y.z)), Vec3(abs(Z.x), abs(Z.y), abs(Z.z))
    s0, s1, s2 = abs(t.x) - h.x - aX @ w, abs(t.y) - h.y - aY @ w, abs(t.z) - h.z - aZ @ w
    r = h.x * aX + h.y * aY + h.z * aZ
    s3, s4, s5 = abs(u.x) - w.x - r.x, abs(u.y) - w.y - r.y, abs(u.z) - w.z - r.z
    largest = max(max(max(s0, s1), max(s2, s3)), max(s4, s5))
    if largest > margin:
        return SEPARATED, R1.z, x1, largest
    last = scratch.last_face[i]
    best, code = better_face(-math.inf, 0, s0, 0, last)
    best, code = better_face(best, code, s1, 1, last)
    best, code = better_face(best, code, s2, 2, last)
    best, code = better_face(best, code, s3, 3, last)
    best, code = better_face(best, code, s4, 4, last)
    best, code = better_face(best, code, s5, 5, last)
    scratch.last_face[i] = code
    gap = best - FACE_HYSTERESIS if code == last else best
    n = R1.x if code == 0 else R1.y if code == 1 else R1.z if code == 2 else R2.x if code == 3 else R2.y if code == 4 else R2.z
    n = n if n @ d >= 0.0 else -n

    required = best + EDGE_MARGIN + EDGE_RELATIVE_MARGIN * abs(best)
    e, m, k = required, n, -1
    e, m, k = better_edge(e, m, k, -(h.y * aZ.x + h.z * aY.x + w.y * aX.z + w.z * aX.y), d, R1.x, R2.x, 0)
    e, m, k = better_edge(e, m, k, -(h.y * aZ.y + h.z * aY.y + w.z * aX.x + w.x * aX.z), d, R1.x, R2.y, 1)
    e, m, k = better_edge(e, m, k, -(h.y * aZ.z + h.z * aY.z + w.x * aX.y + w.y * aX.x), d, R1.x, R2.z, 2)
    e, m, k = better_edge(e, m, k, -(h.z * aX.x + h.x * aZ.x + w.y * aY.z + w.z * aY.y), d, R1.y, R2.x, 3)
    e, m, k = better_edge(e, m, k, -(h.z * aX.y + h.x * aZ.y + w.z * aY.x + w.x * aY.z), d, R1.y, R2.y, 4)
    e, m, k = better_edge(e, m, k, -(h.z * aX.z + h.x * aZ.z + w.x * aY.y + w.y * aY.x), d, R1.y, R2.z, 5)
    e, m, k = better_edge(e, m, k, -(h.x * aY.x + h.y * aX.x + w.y * aZ.z + w.z * aZ.y), d, R1.z, R2.x, 6)
    e, m, k = better_edge(e, m, k, -(h.x * aY.y + h.y * aX.y + w.z * aZ.x + w.x * aZ.z), d, R1.z, R2.y, 7)
    e, m, k = better_edge(e, m, k, -(h.x * aY.z + h.y * aX.z + w.x * aZ.y + w.y * aZ.x), d, R1.z, R2.z, 8)
    c1 = support_corner(h, unrotate(R1, n))
    p = x1 + R1 @ c1
    if k >= 0:
        n, gap = m, e
        scratch.last_face[i] = -1
        c1, c2 = support_corner(h, unrotate(R1, n)), support_corner(w, unrotate(R2, -n))
        i1, i2 = k // 3, k % 3
        a, b = R1 @ keep_component(c1, i1), R2 @ keep_component(c2, i2)
        edge_center = x1 + R1 @ zero_component(c1, i1)
        d = x2 + R2 @ zero_component(c2, i2) - edge_center
        s, t = closest_on_segments(d, a, b)
        d = d + t * b - s * a
        p = edge_center + s * a
        if gap > 0.0 and d @ d > (gap + GAP_TOLERANCE) * (gap + GAP_TOLERANCE):  # closest points of the lines are beyond the edges
            return UNDECIDED, n, p, gap
    return (NEAR if gap < margin else SEPARATED), n, p, gap
