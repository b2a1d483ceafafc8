"""Root residual of a motion for several sets of contact points: what each set cannot provide of the required wrench.

Inverse dynamics of a frame is the same for all sets. Loads of redundant contacts are not distributed among them here, as for
:mod:`.ground_reaction`: the residual does not depend on it.
"""

from __future__ import annotations

from brachiate.compiled import Ints, Key, Matrix, entry, kernel
from brachiate.contact_estimation.ground_reaction import (
    GRADIENT_TOLERANCE,
    NO_CONTACT,
    contact_point,
    load_frame,
    minimize,
    open_arrays,
    required_forces,
    solve_frame,
)
from brachiate.kinematics import finite, valid_state
from brachiate.model.status import NOT_FINITE, OK
from brachiate.spatial import Vec3, norm, put_vec3

# Of contact points, as a multiple of the mass, and of the gradient: residuals of contact sets are compared, and need fewer digits
STIFFNESS, TOLERANCE = 1e3, 1e-4


@kernel
def find_points_of_set(grf, T, W, base, c, sets, j):
    """List the contact points of a set, and their arms from the CoM. Returns how many."""
    count = 0
    for s in range(grf.point_body.shape[0]):
        if grf.contact_mode[base + s] != NO_CONTACT and (sets[base + s] >> j) & 1:
            grf.active[count] = s
            put_vec3(grf.arm, s, contact_point(grf, T, W, s) - c)
            put_vec3(grf.bias_force, s, Vec3(0.0, 0.0, 0.0))
            count += 1
    return count


@entry
def residuals_of_contact_sets(key: Key, sets: Ints, start: Matrix, residual: Matrix):
    """Root residual of the frames in frame_range for k sets of contact points. Returns a status.

    Args:
        key: Of Tree, Work and GroundReactionArrays; contact_mode and confidence are those of points in any set.
        sets: Bit j of a point in a frame: whether it is in contact in set j (f s,).
        start: Residual acceleration of every set in the frame before (k, 6); here of the last frame afterwards.
        residual: Root residual, force [N] and moment about the CoM [N·m], of every set (f k, 6).
    """
    T, W, grf = open_arrays(key)
    points, count = grf.point_body.shape[0], start.shape[0]
    for n in range(max(grf.frame_range[0], 0), min(grf.frame_range[1], grf.com.shape[0])):
        load_frame(grf, W, n)
        if not (valid_state(T, W.q, W.v) and finite(W.a)):
            return NOT_FINITE
        mass, c = required_forces(grf, T, W, n)
        base = n * points
        for j in range(count):
            active_count = find_points_of_set(grf, T, W, base, c, sets, j)
            for r in range(6):
                grf.x[r] = start[j, r]
            wrench = grf.required_wrench[n]
            scale = mass + norm(Vec3(wrench[0], wrench[1], wrench[2]))
            if not minimize(grf, STIFFNESS * mass, base, active_count, wrench, scale * TOLERANCE / GRADIENT_TOLERANCE):
                solve_frame(grf, wrench, base, active_count, mass)
            for r in range(6):
                start[j, r] = grf.x[r]
                total = 0.0
                for k in range(6):
                    total += grf.M[6 * r + k] * grf.x[k]
                residual[n * count + j, r] = total
    return OK
