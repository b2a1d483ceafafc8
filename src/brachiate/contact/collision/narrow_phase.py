"""Narrow phase of collision detection: contact patches of all near pairs of shapes at the present poses.

Planes, spheres and capsules are handled here. The other functions are large; they are called by address and compiled once.
"""

from __future__ import annotations

from brachiate.compiled import ArrayHandle, Key, by_address, call_address, entry, kernel
from brachiate.contact.arrays import BOX, CAPSULE, HEIGHT_FIELD, NEAR, PLANE, SEPARATED, open_collision
from brachiate.contact.collision.box_box import box_box
from brachiate.contact.collision.broad_phase import find_near_pairs, outside_box, outside_field, shape_rotation
from brachiate.contact.collision.gjk import convex_distance
from brachiate.contact.collision.height_field import height_field_patches
from brachiate.contact.collision.patch_from_features import patch_from_features
from brachiate.contact.collision.plane import plane_patch
from brachiate.contact.collision.sphere_capsule import sphere_capsule
from brachiate.model.arrays import open_model
from brachiate.model.data import Data
from brachiate.model.status import OK
from brachiate.spatial import put_vec3_at, vec3


@kernel
def detect_patches(key, contact_key, margin):
    """Find the patches with gaps below the margin [m], at the poses of ``key`` (Tree, Work), in the arrays of ``contact_key``.

    Those are CollisionGeometry, ContactPatches and CollisionScratch; ContactPatches.count says how many are KEPT and how many were FOUND.
    """
    T, W = open_model(key)
    geometry, patches, scratch = open_collision(contact_key)
    patches.count[0] = patches.count[1] = 0
    for k in range(find_near_pairs(T, W, geometry, scratch, margin)):
        i = scratch.near_pair[k]
        a, b = geometry.pair[i, 0], geometry.pair[i, 1]
        pair_margin = margin + scratch.pair_margin[i]
        if geometry.kind[a] == PLANE:
            plane_patch(
                geometry,
                patches,
                scratch,
                i,
                b,
                shape_rotation(W, geometry, a),
                vec3(scratch.position, a),
                shape_rotation(W, geometry, b),
                vec3(scratch.position, b),
                pair_margin,
            )
        elif geometry.kind[a] <= CAPSULE and geometry.kind[b] <= CAPSULE:
            n, p, gap = sphere_capsule(geometry, scratch, a, b)
            if gap < pair_margin:
                put_closest(scratch, n, p, gap, 0.0)
                call_address(scratch.functions[BUILD_PATCH], key, contact_key, pair_margin, i)
        elif geometry.kind[a] == HEIGHT_FIELD:
            call_address(scratch.functions[COLLIDE_HEIGHT_FIELD], key, contact_key, pair_margin, i)
        else:
            call_address(scratch.functions[COLLIDE_CONVEX], key, contact_key, pair_margin, i)


@kernel
def put_closest(scratch, n, p, gap, doubtful):
    """Store normal, closest point and gap of the present pair."""
    put_vec3_at(scratch.closest, 0, n)
    put_vec3_at(scratch.closest, 3, p)
    scratch.closest[6], scratch.closest[7] = gap, doubtful


@kernel
def pair_poses(W, geometry, scratch, i):
    """Shapes of pair i with orientations and positions."""
    a, b = geometry.pair[i, 0], geometry.pair[i, 1]
    return a, b, shape_rotation(W, geometry, a), vec3(scratch.position, a), shape_rotation(W, geometry, b), vec3(scratch.position, b)


@by_address
def collide_convex(key, contact_key, margin, pair):
    """Patch of pair n, two convex shapes: box-box SAT where it decides, else GJK."""
    _, W = open_model(key)
    geometry, _, scratch = open_collision(contact_key)
    a, b, R1, x1, R2, x2 = pair_poses(W, geometry, scratch, pair)
    if outside_box(geometry, a, b, R1, R2, x2 - x1, margin) or outside_box(geometry, b, a, R2, R1, x1 - x2, margin):
        return OK
    if geometry.kind[a] == BOX and geometry.kind[b] == BOX:
        result, normal, p, gap = box_box(geometry, scratch, pair, a, b, R1, x1, R2, x2, margin)
        put_closest(scratch, normal, p, gap, 1.0)
        if result == SEPARATED or (result == NEAR and call_address(scratch.functions[BUILD_PATCH], key, contact_key, margin, pair) == 1):
            return OK
    call_address(scratch.functions[COLLIDE_GJK], key, contact_key, margin, pair)
    return OK


@by_address
def collide_gjk(key, contact_key, margin, pair):
    """Patch of pair n, two convex shapes, by GJK."""
    _, W = open_model(key)
    geometry, _, scratch = open_collision(contact_key)
    a, b, R1, x1, R2, x2 = pair_poses(W, geometry, scratch, pair)
    result, normal, p, gap = convex_distance(geometry, scratch, a, b, R1, x1, R2, x2, margin)
    if result == NEAR:
        put_closest(scratch, normal, p, gap, 0.0)
        call_address(scratch.functions[BUILD_PATCH], key, contact_key, margin, pair)
    return OK


@by_address
def build_patch(key, contact_key, margin, pair):
    """Patch of pair n from scratch.closest. Returns 1 if it was found, 0 if the normal turned out to be wrong."""
    _, W = open_model(key)
    geometry, patches, scratch = open_collision(contact_key)
    a, b, R1, x1, R2, x2 = pair_poses(W, geometry, scratch, pair)
    return patch_from_features(geometry, patches, scratch, pair, a, b, R1, x1, R2, x2, margin)


@by_address
def collide_height_field(key, contact_key, margin, pair):
    """Patches of pair n, a height field and a convex shape."""
    _, W = open_model(key)
    geometry, patches, scratch = open_collision(contact_key)
    a, b, R1, x1, R2, x2 = pair_poses(W, geometry, scratch, pair)
    if not outside_field(geometry, a, b, R1, x2 - x1, margin):
        height_field_patches(geometry, patches, scratch, pair, a, b, R1, x1, R2, x2, margin)
    return OK


#: Functions called by address, in the order of CollisionScratch.functions.
PAIR_FUNCTIONS = (build_patch, collide_convex, collide_gjk, collide_height_field)
BUILD_PATCH, COLLIDE_CONVEX, COLLIDE_GJK, COLLIDE_HEIGHT_FIELD = range(4)


@by_address
def detect(key, contact_key, margin, unused):
    """Collision detection with margin x [m]; see :func:`detect_patches`."""
    detect_patches(key, contact_key, margin)
    return OK


@entry
def _detect(address: int, key: Key, contact_key: Key, margin: float):
    return call_address(address, key, contact_key, margin, 0)


def find_contacts(data: Data, contact: ArrayHandle, margin: float) -> int:
    """Find the patches with gaps below the margin [m] at poses already computed. Returns how many are kept.

    ``contact`` holds CollisionGeometry, ContactPatches and CollisionScratch.
    """
    _detect(detect.address, data.key, contact.key, float(margin))
    return int(contact.structs[1][0][0])
