"""The controller [DF] VII-C 1: desired accelerations by feedback at every joint, and of a point P of the upper body.

Local feedback (eq. 39) is that of the other filter: :func:`brachiate.filter.whole_body.tasks.follow`.
"""

from __future__ import annotations

from brachiate.compiled import kernel
from brachiate.filter.paper.arrays import POINT_DAMPING, POINT_STIFFNESS
from brachiate.filter.whole_body.state import at_zero, point_acceleration
from brachiate.kinematics import origin_of
from brachiate.linalg.min_norm import smallest
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
def lead_point(T, W, Wr, F):
    """Change F.wanted so that P goes as it should [DF] eq. 40-42; motions of the reference are known."""
    i = F.place[0]
    if i < 0:
        return
    R, Rr, at = rotation(W.R, i), rotation(Wr.R, i), vec3_at(F.at, 0)
    r, rr = vec3(W.x, i) + R @ at, vec3(Wr.x, i) + Rr @ at
    V, Vr = motion(W.V, i), motion(Wr.V, i)
    kp, kd = F.gain[POINT_STIFFNESS], F.gain[POINT_DAMPING]
    off = origin_of(T, Wr, i) + rr - origin_of(T, W, i) - r
    turn = R @ logarithm(quaternion_of(compose(transpose(R), Rr)))
    # [DF] eq. 40, less J̇_P θ̇, which eq. 42 takes off again
    jolt = velocity_at(motion(Wr.A, i), rr) + cross(Vr.w, velocity_at(Vr, rr))
    put_vec3_at(F.open, 0, jolt + kd * (velocity_at(Vr, rr) - velocity_at(V, r)) + kp * off - point_acceleration(W, i, r))
    put_vec3_at(F.open, 3, motion(Wr.A, i).w + kd * (Vr.w - V.w) + kp * turn - at_zero(W, i).w)
    put_jacobian(T, W, F, i, r)
    spread_over_joints(F)


@kernel
def put_jacobian(T, W, F, i, r):
    """F.J ← velocity of the point at r of body i per unit of every velocity, linear rows first."""
    n = F.wanted.shape[0]
    for k in range(6 * n):
        F.J[k] = 0.0
    while i >= 0:
        for k in range(T.dof[i], T.dof[i + 1]):
            S = motion(W.S, k)
            v = velocity_at(S, r)
            F.J[k], F.J[n + k], F.J[2 * n + k] = v.x, v.y, v.z
            F.J[3 * n + k], F.J[4 * n + k], F.J[5 * n + k] = S.w.x, S.w.y, S.w.z
        i = T.parent[i]


@kernel
def spread_over_joints(F):
    """Add J# (r̈ - J θ̈), J# = N Jᵀ (J N Jᵀ)⁺ with N how readily joints move [DF] eq. 41, 42."""
    n = F.wanted.shape[0]
    for c in range(6):
        for k in range(n):
            F.open[c] -= F.J[c * n + k] * F.wanted[k]
        for d in range(6):
            s = 0.0
            for k in range(n):
                s += F.J[c * n + k] * F.share[k] * F.J[d * n + k]
            F.hand[6 * c + d] = s
    smallest(F.hand, F.open, F.hand_order, F.hand_factor, 6)
    for k in range(n):
        s = 0.0
        for c in range(6):
            s += F.J[c * n + k] * F.open[c]
        F.wanted[k] += F.share[k] * s
