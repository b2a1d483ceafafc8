"""Which pairs of shapes are near each other: balls that hold them, and boxes where a ball says little."""

from __future__ import annotations

from brachiate.compiled import kernel
from brachiate.contact.arrays import BOX, CAPSULE, FIELD, PLANE
from brachiate.kinematics import origin_of
from brachiate.spatial import Vec3, compose, put_vec3, rotation, unrotate, vec3


@kernel
def put_place(T, W, Gm, S, g):
    """Place of a shape, along world axes from the world's origin, and its z axis."""
    b, p, z = Gm.body[g], vec3(Gm.p, g), Vec3(Gm.R[g, 0, 2], Gm.R[g, 1, 2], Gm.R[g, 2, 2])
    if b >= 0:
        R = rotation(W.R, b)
        p, z = origin_of(T, W, b) + (vec3(W.x, b) + R @ p), R @ z
    put_vec3(S.x, g, p)
    put_vec3(S.z, g, z)


@kernel
def turn_of(W, Gm, g):
    """Orientation of a shape in the world."""
    b, R = Gm.body[g], rotation(Gm.R, g)
    return R if b < 0 else compose(rotation(W.R, b), R)


@kernel
def near_pairs(T, W, Gm, S, margin):
    """Place all shapes, and list the pairs whose bounding balls are within the margin. Returns how many."""
    for g in range(Gm.kind.shape[0]):
        put_place(T, W, Gm, S, g)
    count = 0
    for i in range(Gm.pair.shape[0]):
        a, b = Gm.pair[i, 0], Gm.pair[i, 1]
        d = vec3(S.x, b) - vec3(S.x, a)
        if Gm.kind[a] == PLANE:
            near = vec3(S.z, a) @ d < Gm.reach[b] + margin + S.margin[i]
        else:
            reach = Gm.reach[a] + Gm.reach[b] + margin + S.margin[i]
            near = d @ d < reach * reach
        S.near[count] = i
        count += near and Gm.pair_on[i] != 0
    return count


@kernel
def beside_box(Gm, a, b, Ra, Rb, d, margin):
    """Whether shape b, at d from the box a, is beyond one of its faces: balls about long boxes hold much that is empty."""
    if Gm.kind[a] != BOX:
        return False
    c, h, r = unrotate(Ra, d), vec3(Gm.size, a), Gm.reach[b] + margin
    if Gm.kind[b] == CAPSULE:
        half = Gm.size[b, 1]
        e = unrotate(Ra, Rb.z)
        r = Gm.size[b, 0] + margin
        h = h + half * absolute(e)
    return abs(c.x) > h.x + r or abs(c.y) > h.y + r or abs(c.z) > h.z + r


@kernel
def absolute(v):
    """The vector of absolute values."""
    return Vec3(abs(v.x), abs(v.y), abs(v.z))


@kernel
def above_field(Gm, a, b, Ra, d, margin):
    """Whether shape b is beyond the sides of the field a, or above its highest point."""
    if Gm.kind[a] != FIELD:
        return False
    c, r = unrotate(Ra, d), Gm.reach[b] + margin
    x = 0.5 * (Gm.field_cells[a, 0] - 1) * Gm.size[a, 0]
    y = 0.5 * (Gm.field_cells[a, 1] - 1) * Gm.size[a, 1]
    return abs(c.x) > x + r or abs(c.y) > y + r or c.z > Gm.size[a, 2] + r
