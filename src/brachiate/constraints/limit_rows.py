"""Constraint rows of limits: swing and twist of ball joints (cone limits), and limits of loop-closing joints."""

from __future__ import annotations

import math

from brachiate.compiled import kernel
from brachiate.constraints.arrays import INACTIVE, JOINT_LIMIT, SWING_LIMIT
from brachiate.spatial import Force, Vec3, cross, force, norm, normalized, put6, put_vec3, quaternion_at, rotation_of, vec3, vec3_at

MIN_TWIST_COS2 = 0.03  # cos² of half the swing below which (beyond 160 degrees) the twist is ill-defined and not limited


@kernel
def swing_or_twist(cons, i, q, w):
    """Swing angle of a ball joint's axis or twist about it [rad], its gradient, and its bias γ at the angular velocity w."""
    r, u = cons.row[i], vec3(cons.target, i)
    q = normalized(q)
    v = Vec3(q.x, q.y, q.z)
    if cons.kind[i] == SWING_LIMIT:
        # θ between u and its neutral direction p, both along the child's axes: θ̇ = −ω·n/s with n = u × p, ṗ = −ω × p.
        R = rotation_of(q)
        p = Vec3(R.x @ u, R.y @ u, R.z @ u)
        n, dn = cross(u, p), -cross(u, cross(w, p))
        s = max(norm(n), 1e-12)
        angle, slope = math.atan2(s, u @ p), (-1.0 / s) * n
        gamma = -(w @ dn) / s + (w @ n) * (n @ dn) / (s * s * s)
    else:
        # τ = 2 atan(b/a) with a = q.w, b = u·v: τ̇ = ω·N/D, N = a (a u + u × v) + b v, D = a² + b².
        a, b = q.w, u @ v
        da, dv = -0.5 * (v @ w), 0.5 * (a * w + cross(v, w))
        db = u @ dv
        m = a * u + cross(u, v)
        N, D = a * m + b * v, max(a * a + b * b, 1e-24)
        dN = da * m + a * (da * u + cross(u, dv)) + db * v + b * dv
        angle, slope = 2.0 * math.atan2(b, a), (1.0 / D) * N
        angle -= 2.0 * math.pi * math.floor((angle + math.pi) / (2.0 * math.pi))
        if D < MIN_TWIST_COS2:  # ill-defined: the limit is inactive, far from activation
            cons.state[r], cons.inactive[i], cons.polynomial[i, 0] = INACTIVE, 1, cons.bound[i]
            angle = cons.bound[i] + cons.side[i]
        gamma = (w @ dN) / D - (w @ N) * 2.0 * (a * da + b * db) / (D * D)
    return angle, slope, gamma


@kernel
def cone_row(W, cons, i, r):
    """Residual, velocity and bias of a cone limit of the tree; its gradient goes to cons.T."""
    w = vec3_at(W.v, cons.v_index[i])
    angle, slope, gamma = swing_or_twist(cons, i, quaternion_at(W.q, cons.q_index[i]), w)
    cons.c[r], cons.velocity_target[r], cons.gamma[r], cons.velocity[r] = angle - cons.polynomial[i, 0], 0.0, gamma, slope @ w
    put6(cons.T, r, Force(slope, Vec3(0.0, 0.0, 0.0)))


@kernel
def loop_limit_row(cons, i):
    """Residual and direction of a limit of a connection's joint, whose coordinates are up to date."""
    r, j, k = cons.row[i], cons.owner[i], cons.v_index[i]
    put_vec3(cons.P_first, i, vec3(cons.P_first, j))
    put_vec3(cons.P_second, i, vec3(cons.P_second, j))
    cons.velocity_target[r] = 0.0
    if cons.kind[i] == JOINT_LIMIT:
        cons.c[r] = cons.q[cons.q_index[i]] - cons.polynomial[i, 0]
        put6(cons.T, r, force(cons.N, k))
    else:
        angle, s, _ = swing_or_twist(cons, i, quaternion_at(cons.q, cons.q_index[i]), Vec3(0.0, 0.0, 0.0))
        cons.c[r] = angle - cons.polynomial[i, 0]
        put6(cons.T, r, s.x * force(cons.N, k) + s.y * force(cons.N, k + 1) + s.z * force(cons.N, k + 2))
