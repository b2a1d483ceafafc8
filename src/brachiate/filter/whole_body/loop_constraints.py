"""Rows and rays of closed loops in the whole-body QP: connections between links of the figure, such as two hands on one bar [CKC].

A connection has rows J a = −γ, which are hard, and constraint forces Jᵀλ of either sign: two rays for each row. These are internal forces;
CoM and angular momentum do not see them. Of all forces in a loop that joint torques could set up, the QP takes the smallest.
"""

from __future__ import annotations

from brachiate.compiled import index, kernel
from brachiate.filter.whole_body.contact_constraints import add_row
from brachiate.filter.whole_body.qp import EQUALITY, RAYS, ROWS, STRIDE
from brachiate.spatial import Vec3, put_vec3, vec3_at

INTERNAL = -2  # patch of a ray that is no contact and no grip


@kernel
def add_loops(ctl, qp):
    """Rows and rays of the closed loops. Rows that exist already do not depend on these forces."""
    n, stride, capacity = qp.weights.shape[0], qp.counts[STRIDE], qp.active_rays.shape[0]
    for r in range(ctl.loop_count[0]):
        first = qp.counts[RAYS]
        qp.counts[RAYS] = first + 2
        for side in range(2):
            j = first + side
            ctl.ray_patch[j] = INTERNAL
            put_vec3(ctl.ray_point, j, vec3_at(ctl.com, 0))
            put_vec3(ctl.ray_direction, j, Vec3(0.0, 0.0, 0.0))
            for k in range(n):
                ctl.ray_force[index(j * n + k)] = (1.0 - 2.0 * side) * ctl.loop_gradient[index(r * n + k)]
            for other in range(qp.counts[ROWS]):
                if qp.has_forces[other]:
                    qp.D[index(other * capacity + j)] = 0.0
        at = add_row(qp, EQUALITY, ctl.loop_rhs[r], 0.0, 0)
        for k in range(n):
            qp.C[index(at + k * stride)] = ctl.loop_gradient[index(r * n + k)]
