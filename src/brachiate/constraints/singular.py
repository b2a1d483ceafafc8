"""Crossing singular postures: where rows of J become dependent, the next derivative of the constraint determines the motion.

A weak row, orthogonalized to the independent rows, is uᵀJ ≈ 0. There uᵀ(J a + γ) = 0 does not determine a, but its time
derivative does: with uᵀJ ≈ 0 the unknown jerk drops out and

    uᵀ(J̇ + ∂γ/∂v) a = −uᵀ D_q γ[v].

γ is quadratic in v, so ∂γ/∂v by central differences is exact; derivatives along the motion use a four-point stencil.

In a posture that is singular from the start, the rows allow velocities that violate the constraint to second order: v must
satisfy uᵀγ(v) = 0 as well. It is corrected by Newton's method, with the smallest change in the mass metric. Where no such v
exists but zero (a *shaky* posture), each iteration halves the excess, down to zero. From rest, the acceleration is the direction
of motion and is corrected in the same way: the nearest admissible one (Gauss's principle of least constraint).
"""

from __future__ import annotations

import math

from brachiate.compiled import by_address, call_address, kernel
from brachiate.constraints.arrays import CORRECT_ACCELERATION, CORRECT_START_FROM_REST, RESIDUALS, ROWS, WEAK_ROWS, open_constraints
from brachiate.constraints.rows import fill_jacobian, update_gamma
from brachiate.constraints.solve import add_transposed_product, multiply_rows, solve_rows
from brachiate.dynamics.factor import backward_sweep, forward_sweep
from brachiate.kinematics import ball_motion_columns, forward_kinematics
from brachiate.manifold import integrate_configuration
from brachiate.model.arrays import open_model
from brachiate.model.status import OK

DIFFERENCE_LENGTH = 1e-3  # [rad or m] distance along the motion of the difference stencil; the error is of fourth order
STENCIL = (1.0, -1.0, 2.0, -2.0)
MAX_NEWTON_ITERATIONS = 40  # of the second-order condition
MIN_THIRD_ORDER_ROW = 1e-9  # a third-order row this small relative to the speed is zero: the constraint is redundant here


@kernel
def left_null_combination(T, W, cons, k, u):
    """u: row k minus its projection on the independent rows, so that uᵀJ is orthogonal to them in the mass metric."""
    for j in range(W.v.shape[0]):
        cons.z[j] = 0.0
    for r in range(cons.count[ROWS]):
        cons.rhs[r] = 1.0 if r == k else 0.0
    add_transposed_product(T, cons, cons.Y, cons.rhs, cons.z)
    forward_sweep(T, W, cons.z)
    multiply_rows(T, cons, cons.J, cons.z, cons.rhs)
    for r in range(cons.count[ROWS]):
        cons.rhs[r] = -cons.rhs[r]
    solve_rows(cons, cons.rhs)
    for r in range(cons.count[ROWS]):
        u[r] = cons.rhs[r]
    u[k] = 1.0


@kernel
def dot(x, y, n):
    """Dot product of the first n entries."""
    s = 0.0
    for i in range(n):
        s += x[i] * y[i]
    return s


@by_address
def cross_singularity(key, constraint_key, x, operation):
    """Correct W.a or W.v by the higher-order rows of the weak rows.

    CORRECT_ACCELERATION: W.a of the independent rows, so that it also satisfies the third-order rows of the weak ones.
    CORRECT_VELOCITY: W.v, so that uᵀγ = 0 of every weak row. CORRECT_START_FROM_REST: W.a in the same way, the direction of motion
    from rest.
    """
    T, W = open_model(key)
    (cons,) = open_constraints(constraint_key)
    rows, nv, nq, weak = cons.count[ROWS], W.v.shape[0], W.q.shape[0], cons.count[WEAK_ROWS]
    # Scratch: q, v and a of the state, combinations u, third-order rows t, their responses y, right-hand sides s, matrix M = tᵀy.
    at = 0
    q0, at = cons.singular_scratch[at : at + nq], at + nq
    v0, at = cons.singular_scratch[at : at + nv], at + nv
    a0, at = cons.singular_scratch[at : at + nv], at + nv
    U, at = cons.singular_scratch[at : at + weak * rows], at + weak * rows
    t, at = cons.singular_scratch[at : at + weak * nv], at + weak * nv
    y, at = cons.singular_scratch[at : at + weak * nv], at + weak * nv
    s, at = cons.singular_scratch[at : at + weak], at + weak
    M = cons.singular_scratch[at : at + weak * weak]
    if operation == CORRECT_START_FROM_REST:
        for j in range(nv):
            cons.v_before[j], W.v[j] = W.v[j], W.a[j]
    speed = 0.0
    for j in range(nv):
        v0[j], a0[j] = W.v[j], W.a[j]
        speed = max(speed, abs(W.v[j]))
    for j in range(nq):
        q0[j] = W.q[j]
    if speed == 0.0:
        return OK  # at rest there is no motion along which rows change
    for i in range(weak):
        left_null_combination(T, W, cons, cons.weak_rows[i], U[i * rows : (i + 1) * rows])
        s[i] = 0.0
        for j in range(nv):
            t[i * nv + j] = 0.0
    if operation != CORRECT_ACCELERATION:
        solve_second_order(T, W, cons, v0, speed, U, t, y, s, M, rows, weak)
        for j in range(nv if operation == CORRECT_START_FROM_REST else 0):
            W.a[j], W.v[j] = W.v[j], cons.v_before[j]
        return OK
    add_gamma_gradient(T, W, cons, v0, speed, U, t, rows, weak)
    add_derivatives_along_motion(key, constraint_key, T, W, cons, q0, v0, DIFFERENCE_LENGTH / speed, U, t, s, rows, weak)
    for j in range(nv):
        W.a[j] = a0[j]
    compute_response(T, W, cons, t, y, rows, weak)
    for i in range(weak):
        s[i] -= dot(t[i * nv : (i + 1) * nv], W.a, nv)
    apply_correction(W.a, t, y, s, M, weak, speed)
    return OK


@kernel
def solve_second_order(T, W, cons, v0, speed, U, t, y, s, M, rows, weak):
    """v ← nearest velocity with uᵀγ(v) = 0, by Newton's method."""
    nv = v0.shape[0]
    for _ in range(MAX_NEWTON_ITERATIONS):
        for j in range(nv):
            v0[j] = W.v[j]
        update_gamma(T, W, cons)
        largest = 0.0
        for i in range(weak):
            s[i] = -dot(U[i * rows : (i + 1) * rows], cons.gamma, rows)
            largest = max(largest, abs(s[i]))
            for j in range(nv):
                t[i * nv + j] = 0.0
        if not largest > 1e-13 * speed * speed:
            return
        add_gamma_gradient(T, W, cons, v0, speed, U, t, rows, weak)
        compute_response(T, W, cons, t, y, rows, weak)
        apply_correction(W.v, t, y, s, M, weak, speed)


@kernel
def add_gamma_gradient(T, W, cons, v0, speed, U, t, rows, weak):
    """t += uᵀ ∂γ/∂v, by central differences."""
    for j in range(v0.shape[0]):
        for side in range(2):
            sign = 1.0 - 2.0 * side
            W.v[j] = v0[j] + sign * speed
            update_gamma(T, W, cons)
            for i in range(weak):
                t[i * v0.shape[0] + j] += sign * dot(U[i * rows : (i + 1) * rows], cons.gamma, rows) / (2.0 * speed)
        W.v[j] = v0[j]


@kernel
def add_derivatives_along_motion(key, constraint_key, T, W, cons, q0, v0, e, U, t, s, rows, weak):
    """t += uᵀJ̇ and s −= uᵀ D_q γ[v], by a four-point difference along the motion; restores the state."""
    nv = v0.shape[0]
    for n in range(5):
        offset = STENCIL[n] if n < 4 else 0.0
        for j in range(q0.shape[0]):
            W.q[j] = q0[j]
        integrate_configuration(T, W.q, v0, offset * e, W.q)
        forward_kinematics(T, W)
        ball_motion_columns(T, W)
        call_address(cons.functions[RESIDUALS], key, constraint_key, 0.0, 0)
        update_gamma(T, W, cons)
        fill_jacobian(T, W, cons)
        if n == 4:
            return
        weight = (8.0 if n < 2 else -0.5) * offset / (12.0 * e)
        for i in range(weak):
            u = U[i * rows : (i + 1) * rows]
            s[i] -= weight * dot(u, cons.gamma, rows)
            for j in range(nv):
                cons.z[j] = 0.0
            add_transposed_product(T, cons, cons.J, u, cons.z)
            for j in range(nv):
                t[i * nv + j] += weight * cons.z[j]


@kernel
def compute_response(T, W, cons, t, y, rows, weak):
    """y = A⁻¹ tᵀ, projected so that the independent rows are not violated."""
    nv = W.v.shape[0]
    for i in range(weak):
        v = y[i * nv : (i + 1) * nv]
        for j in range(nv):
            v[j] = t[i * nv + j]
        backward_sweep(T, W, v)
        multiply_rows(T, cons, cons.Z, v, cons.rhs)
        for r in range(rows):
            cons.rhs[r] = -cons.rhs[r]
        solve_rows(cons, cons.rhs)
        add_transposed_product(T, cons, cons.Y, cons.rhs, v)
        forward_sweep(T, W, v)


@kernel
def apply_correction(a, t, y, s, M, weak, speed):
    """a += y μ with (tᵀy) μ = s: symmetric elimination, without rows that are zero."""
    nv = a.shape[0]
    for i in range(weak):
        for j in range(i + 1):
            M[i * weak + j] = M[j * weak + i] = dot(t[i * nv : (i + 1) * nv], y[j * nv : (j + 1) * nv], nv)
    for i in range(weak):
        size = dot(t[i * nv : (i + 1) * nv], t[i * nv : (i + 1) * nv], nv)
        pivot = M[i * weak + i]
        small = not math.sqrt(size) > MIN_THIRD_ORDER_ROW * speed or not pivot > 1e-12 * dot(
            y[i * nv : (i + 1) * nv], t[i * nv : (i + 1) * nv], nv
        )
        inverse = 0.0 if small else 1.0 / pivot
        for j in range(i + 1, weak):
            f = M[j * weak + i] * inverse
            if f != 0.0:
                for k in range(i, weak):
                    M[j * weak + k] -= f * M[i * weak + k]
                s[j] -= f * s[i]
        M[i * weak + i] = inverse  # stored as its inverse
    for i in range(weak - 1, -1, -1):
        for k in range(i + 1, weak):
            s[i] -= M[i * weak + k] * s[k]
        s[i] *= M[i * weak + i]
        for j in range(nv):
            a[j] += s[i] * y[i * nv + j]
