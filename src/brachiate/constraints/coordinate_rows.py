"""Constraint rows on coordinates of the tree: locked and prescribed coordinates, locked ball joints, couplings, joint limits."""

from __future__ import annotations

from brachiate.compiled import kernel
from brachiate.constraints.arrays import JOINT_LIMIT, LOCKED_BALL, PRESCRIBED, SWING_LIMIT
from brachiate.constraints.limit_rows import cone_row
from brachiate.constraints.sparsity import LANES, put_row_entry
from brachiate.spatial import Quaternion, conjugate, logarithm, normalized, quaternion_at


@kernel
def evaluate_polynomial(cons, i, x):
    """Value, first and second derivative of a constraint's polynomial at x."""
    y, d, dd = 0.0, 0.0, 0.0
    for n in range(5, -1, -1):
        dd = dd * x + 2.0 * d
        d = d * x + y
        y = y * x + cons.polynomial[i, n]
    return y, d, dd


@kernel
def coordinate_row(T, W, cons, i):
    """Residual c, velocity J v, velocity target and bias γ of a constraint on coordinates of the tree."""
    r, k = cons.row[i], cons.v_index[i]
    cons.velocity[r] = W.v[k]
    if cons.kind[i] == LOCKED_BALL:
        goal = Quaternion(cons.target[i, 0], cons.target[i, 1], cons.target[i, 2], cons.target[i, 3])
        cons.c[r], cons.c[r + 1], cons.c[r + 2] = logarithm(conjugate(goal) @ normalized(quaternion_at(W.q, cons.q_index[i])))
        for m in range(r, r + 3):
            cons.velocity_target[m], cons.gamma[m], cons.velocity[m] = 0.0, 0.0, W.v[k + m - r]
    elif cons.kind[i] == JOINT_LIMIT:
        cons.c[r], cons.velocity_target[r], cons.gamma[r] = W.q[cons.q_index[i]] - cons.polynomial[i, 0], 0.0, 0.0
    elif cons.kind[i] >= SWING_LIMIT:
        cone_row(W, cons, i, r)
    elif cons.kind[i] == PRESCRIBED:
        y, d, dd = evaluate_polynomial(cons, i, min(cons.time[0], cons.end_time[i]) - cons.start_time[i])
        if cons.time[0] > cons.end_time[i]:
            d, dd = 0.0, 0.0
        cons.c[r], cons.velocity_target[r], cons.gamma[r] = W.q[cons.q_index[i]] - y, d, -dd
    else:
        y, d, dd = cons.polynomial[i, 0], 0.0, 0.0
        rate = 0.0
        if cons.driver_v_index[i] >= 0:
            y, d, dd = evaluate_polynomial(cons, i, W.q[cons.driver_q_index[i]])
            rate = W.v[cons.driver_v_index[i]]
        cons.c[r], cons.velocity_target[r], cons.gamma[r] = W.q[cons.q_index[i]] - y, 0.0, -dd * rate * rate
        cons.velocity[r] -= d * rate


@kernel
def fill_coordinate_rows(T, W, cons, i):
    """Jacobian rows of a constraint on coordinates of the tree."""
    at, stride = cons.y_at[i], cons.y_stride[i]
    k = cons.v_index[i]
    if cons.kind[i] >= SWING_LIMIT:
        for m in range(3):
            put_row_entry(cons, at, 0, stride, T.depth[k + m], cons.T[cons.row[i], m])
        return
    for m in range(cons.rows[i]):
        put_row_entry(cons, at, m, stride, T.depth[k + m], 1.0)
    other = cons.driver_v_index[i]
    if other >= 0:
        _, d, _ = evaluate_polynomial(cons, i, W.q[cons.driver_q_index[i]])
        depth = T.depth[other]
        place = LANES * depth + (0 if depth < cons.common[i] else cons.y_second[i])
        cons.J[at + place] = -d
