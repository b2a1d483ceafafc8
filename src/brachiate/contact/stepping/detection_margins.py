"""Detection margins: how far shapes can approach each other within a step, and patches that cannot close in it."""

from __future__ import annotations

from brachiate.compiled import kernel, outlined
from brachiate.contact.arrays import KEPT, PLANE
from brachiate.kinematics import tree_origin, zero_motion
from brachiate.spatial import motion, norm, put_rotation, put_vec3, rotation, vec3, velocity_at

COMMON_REACH = 0.05  # [m] up to this reach all pairs have the same margin; beyond, each pair has its own
TOUCH_GAP = 1e-4  # [m] at which fast shapes touch: as much as PENETRATION_SLACK, so that either side of the surface is contact
MAX_ROTATION = 2.0  # [rad] a point turns about the center of its shape by at most its diameter, however fast


@kernel
def max_point_speed(T, W, geometry):
    """Upper bound of the speed of any point of any collision shape [m/s]."""
    fastest = 0.0
    for g in range(geometry.kind.shape[0]):
        i = geometry.body[g]
        if i >= 0 and geometry.kind[g] < PLANE:
            V = motion(W.V, i)
            fastest = max(
                fastest,
                norm(velocity_at(V, vec3(W.x, i) + rotation(W.R, i) @ vec3(geometry.p, g))) + norm(V.w) * geometry.bounding_radius[g],
            )
    return fastest


@kernel
def body_velocity(T, W, body, point):
    """Velocity of the point of a body at a position in the world, and its angular velocity; zero for fixed shapes."""
    if body < 0:
        V = zero_motion()
        return V.v, V.w
    V = motion(W.V, body)
    return velocity_at(V, point - tree_origin(T, W, body)), V.w


@outlined
def set_pair_margins(T, W, geometry, scratch, time):
    """scratch.pair_margin ← how far the shapes of each pair can approach within a time [m].

    The relative motion of a pair counts: parts that move together have no margin, however fast they are.
    """
    for i in range(geometry.pair.shape[0]):
        a, b = geometry.pair[i, 0], geometry.pair[i, 1]
        first, second = geometry.body[a], geometry.body[b]
        center = vec3(geometry.p, b)
        if second >= 0:
            center = tree_origin(T, W, second) + (vec3(W.x, second) + rotation(W.R, second) @ center)
        v1, w1 = body_velocity(T, W, first, center)
        v2, w2 = body_velocity(T, W, second, center)
        turn = min(0.5 * time * norm(w2 - w1), MAX_ROTATION)
        scratch.pair_margin[i] = 2.0 * (0.5 * time * norm(v2 - v1) + turn * geometry.bounding_radius[b])


@kernel
def clear_pair_margins(scratch):
    """Reset the margins of all pairs: other users of collision detection have one margin for all."""
    for i in range(scratch.pair_margin.shape[0]):
        scratch.pair_margin[i] = 0.0


@kernel
def copy_patch(patches, a, to):
    """Copy patch a to another place."""
    patches.pair[to], patches.feature[to], patches.corners[to] = patches.pair[a], patches.feature[a], patches.corners[a]
    put_vec3(patches.P, to, vec3(patches.P, a))
    put_rotation(patches.R, to, rotation(patches.R, a))
    put_vec3(patches.gap, to, vec3(patches.gap, a))
    for j in range(patches.corners[a]):
        patches.V[to, j, 0], patches.V[to, j, 1] = patches.V[a, j, 0], patches.V[a, j, 1]


@kernel
def can_close(T, W, geometry, patches, a, margin, time, swept_time, fast_speed):
    """Whether some corner of a patch can close its gap within a time, by the present motion of its bodies.

    Impacts of fast pairs later than ``swept_time`` will be found when their time has come.
    """
    first, second = geometry.body[geometry.pair[patches.pair[a], 0]], geometry.body[geometry.pair[patches.pair[a], 1]]
    P, R = vec3(patches.P, a), rotation(patches.R, a)
    v1, w1 = body_velocity(T, W, first, P)
    v2, w2 = body_velocity(T, W, second, P)
    v, w = v2 - v1, w2 - w1
    speed, roll, pitch = v @ R.z, w @ R.x, w @ R.y
    fast = norm(v) > fast_speed
    found = False
    for j in range(patches.corners[a]):
        x, y = patches.V[a, j, 0], patches.V[a, j, 1]
        gap = patches.gap[a, 0] + patches.gap[a, 1] * x + patches.gap[a, 2] * y
        rate = min(speed + roll * y - pitch * x, 0.0)
        found = found or (gap < 2.0 * TOUCH_GAP or gap + swept_time * rate < 0.0 if fast else gap + time * rate < margin)
    return found


@outlined
def drop_receding_patches(T, W, geometry, patches, margin, time, swept_time, fast_speed):
    """Remove patches that stay open within a time: their bodies separate, or pass each other."""
    kept = 0
    for a in range(patches.count[KEPT]):
        if can_close(T, W, geometry, patches, a, margin, time, swept_time, fast_speed):
            if kept < a:
                copy_patch(patches, a, kept)
            kept += 1
    patches.count[KEPT] = kept
