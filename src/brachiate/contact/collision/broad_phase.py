"""Broad phase of collision detection: pairs of shapes whose bounding spheres, or boxes for long shapes, are near each other."""

from __future__ import annotations

from brachiate.compiled import kernel
from brachiate.contact.arrays import BOX, CAPSULE, HEIGHT_FIELD, PLANE
from brachiate.kinematics import tree_origin
from brachiate.spatial import Vec3, compose, put_vec3, rotation, unrotate, vec3


@kernel
def place_shape(T, W, geometry, scratch, g):
    """Position of a shape, along world axes from the world's origin, and its z axis."""
    b, p, z = geometry.body[g], vec3(geometry.p, g), Vec3(geometry.R[g, 0, 2], geometry.R[g, 1, 2], geometry.R[g, 2, 2])
    if b >= 0:
        R = rotation(W.R, b)
        p, z = tree_origin(T, W, b) + (vec3(W.x, b) + R @ p), R @ z
    put_vec3(scratch.position, g, p)
    put_vec3(scratch.z_axis, g, z)


@kernel
def shape_rotation(W, geometry, g):
    """Orientation of a shape in the world."""
    b, R = geometry.body[g], rotation(geometry.R, g)
    return R if b < 0 else compose(rotation(W.R, b), R)


@kernel
def find_near_pairs(T, W, geometry, scratch, margin):
    """Place all shapes, and list the enabled pairs whose bounding spheres are within the margin. Returns how many."""
    for g in range(geometry.kind.shape[0]):
        place_shape(T, W, geometry, scratch, g)
    count = 0
    for i in range(geometry.pair.shape[0]):
        a, b = geometry.pair[i, 0], geometry.pair[i, 1]
        d = vec3(scratch.position, b) - vec3(scratch.position, a)
        if geometry.kind[a] == PLANE:
            near = vec3(scratch.z_axis, a) @ d < geometry.bounding_radius[b] + margin + scratch.pair_margin[i]
        else:
            reach = geometry.bounding_radius[a] + geometry.bounding_radius[b] + margin + scratch.pair_margin[i]
            near = d @ d < reach * reach
        scratch.near_pair[count] = i
        count += near and geometry.pair_enabled[i] != 0
    return count


@kernel
def outside_box(geometry, a, b, Ra, Rb, d, margin):
    """Whether shape b, at d from box a, lies beyond one of its faces: bounding spheres of long boxes are mostly empty."""
    if geometry.kind[a] != BOX:
        return False
    c, h, r = unrotate(Ra, d), vec3(geometry.size, a), geometry.bounding_radius[b] + margin
    if geometry.kind[b] == CAPSULE:
        half = geometry.size[b, 1]
        e = unrotate(Ra, Rb.z)
        r = geometry.size[b, 0] + margin
        h = h + half * absolute(e)
    return abs(c.x) > h.x + r or abs(c.y) > h.y + r or abs(c.z) > h.z + r


@kernel
def absolute(v):
    """Vector of absolute values."""
    return Vec3(abs(v.x), abs(v.y), abs(v.z))


@kernel
def outside_field(geometry, a, b, Ra, d, margin):
    """Whether shape b lies beyond the sides of height field a, or above its highest point."""
    if geometry.kind[a] != HEIGHT_FIELD:
        return False
    c, r = unrotate(Ra, d), geometry.bounding_radius[b] + margin
    x = 0.5 * (geometry.grid_size[a, 0] - 1) * geometry.size[a, 0]
    y = 0.5 * (geometry.grid_size[a, 1] - 1) * geometry.size[a, 1]
    return abs(c.x) > x + r or abs(c.y) > y + r or c.z > geometry.size[a, 2] + r
