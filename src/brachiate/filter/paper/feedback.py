"""Controller of the published filter [DF] VII-C 1: desired accelerations by feedback at every joint and at a point P of the upper body.

Local feedback (eq. 39) is the PD law of the whole-body controller: :func:`brachiate.filter.whole_body.state.pd_accelerations`.
"""

from __future__ import annotations

from brachiate.compiled import kernel
from brachiate.filter.paper.arrays import POINT_DAMPING, POINT_STIFFNESS
from brachiate.filter.whole_body.state import bias_acceleration, point_bias_acceleration
from brachiate.kinematics import tree_origin
from brachiate.linalg.min_norm import min_norm_solve
from brachiate.spatial import (
    compose,
    cross,
    logarithm,
    motion,
    put_vec3_at,
    quaternion_of,
    rotation,
    transpose,
    vec3,
    vec3_at,
    velocity_at,
)


@kernel
def point_feedback(T, W, Wr, sol):
    """Add the global feedback at P to sol.desired [DF] eq. 40-42; body motions of the reference are up to date."""
    i = sol.point_body[0]
    if i < 0:
        return
    R, Rr, at = rotation(W.R, i), rotation(Wr.R, i), vec3_at(sol.point_offset, 0)
    r, rr = vec3(W.x, i) + R @ at, vec3(Wr.x, i) + Rr @ at
    V, Vr = motion(W.V, i), motion(Wr.V, i)
    kp, kd = sol.gain[POINT_STIFFNESS], sol.gain[POINT_DAMPING]
    position_error = tree_origin(T, Wr, i) + rr - tree_origin(T, W, i) - r
    rotation_error = R @ logarithm(quaternion_of(compose(transpose(R), Rr)))
    # [DF] eq. 40 without J̇_P θ̇, which eq. 42 subtracts again
    acceleration = velocity_at(motion(Wr.A, i), rr) + cross(Vr.w, velocity_at(Vr, rr))
    put_vec3_at(
        sol.point_error,
        0,
        acceleration + kd * (velocity_at(Vr, rr) - velocity_at(V, r)) + kp * position_error - point_bias_acceleration(W, i, r),
    )
    put_vec3_at(sol.point_error, 3, motion(Wr.A, i).w + kd * (Vr.w - V.w) + kp * rotation_error - bias_acceleration(W, i).w)
    store_jacobian(T, W, sol, i, r)
    distribute_to_joints(sol)


@kernel
def store_jacobian(T, W, sol, i, r):
    """sol.J ← velocity of the point at r of body i per unit of every velocity, linear rows first."""
    n = sol.desired.shape[0]
    for k in range(6 * n):
        sol.J[k] = 0.0
    while i >= 0:
        for k in range(T.dof[i], T.dof[i + 1]):
            S = motion(W.S, k)
            v = velocity_at(S, r)
            sol.J[k], sol.J[n + k], sol.J[2 * n + k] = v.x, v.y, v.z
            sol.J[3 * n + k], sol.J[4 * n + k], sol.J[5 * n + k] = S.w.x, S.w.y, S.w.z
        i = T.parent[i]


@kernel
def distribute_to_joints(sol):
    """Add J# (r̈ - J θ̈), J# = N Jᵀ (J N Jᵀ)⁺ with N the mobilities of joints [DF] eq. 41, 42."""
    n = sol.desired.shape[0]
    for c in range(6):
        for k in range(n):
            sol.point_error[c] -= sol.J[c * n + k] * sol.desired[k]
        for d in range(6):
            s = 0.0
            for k in range(n):
                s += sol.J[c * n + k] * sol.mobility[k] * sol.J[d * n + k]
            sol.point_matrix[6 * c + d] = s
    min_norm_solve(sol.point_matrix, sol.point_error, sol.point_order, sol.point_factor, 6)
    for k in range(n):
        s = 0.0
        for c in range(6):
            s += sol.J[c * n + k] * sol.point_error[c]
        sol.desired[k] += sol.mobility[k] * s
