"""Dual solution of the whole-body QP for a given active set: Gram matrix, Schur complement, LU factor.

Force-free equalities are always active: they are eliminated once per QP (Schur complement), and every change of the active set factors a
matrix of the remaining rows only. For the notation see :mod:`.qp`.
"""

from __future__ import annotations

import numpy as np

from brachiate.compiled import index, kernel, outlined
from brachiate.filter.whole_body.qp import (
    EQUALITY,
    PADDING,
    RAYS,
    REGULARIZATION,
    REMAINING,
    REMAINING_START,
    ROWS,
    SOLVES,
    STRIDE,
    TINY,
    round_up_to_four,
)
from brachiate.linalg.lu import lu_eliminate_row, lu_factor, lu_factor_block, lu_solve_transposed
from brachiate.spatial import Four, four, put_four


@kernel
def assemble(qp):
    """Residuals and scales of all rows, and the Gram matrix G with the force-free equalities eliminated."""
    stride, padded = qp.counts[STRIDE], round_up_to_four(qp.counts[ROWS])
    for r in range(padded):
        qp.residual[index(r)], qp.row_scale[index(r)] = qp.rhs[index(r)], max(abs(qp.rhs[index(r)]), TINY)
    for k in range(qp.weights.shape[0]):
        target, at = qp.target[index(k)], k * stride
        qp.inv_sqrt_weights[index(k)] = 1.0 / np.sqrt(qp.weights[index(k)])
        for r in range(padded):
            qp.residual[index(r)] -= target * qp.C[index(at + r)]
            qp.row_scale[index(r)] = max(qp.row_scale[index(r)], abs(qp.C[index(at + r)]))
    for r in range(qp.counts[ROWS]):
        if qp.kind[r] == EQUALITY:
            qp.active_rows[r] = 1
        qp.initial_rows[r] = qp.active_rows[r]
    for j in range(qp.counts[RAYS]):
        qp.initial_rays[j] = qp.active_rays[j]
    assemble_gram_matrix(qp)
    eliminate_equalities(qp)


@kernel
def order_rows(qp):
    """Order of the rows in G: force-free equalities first. Returns the number of places, a multiple of four."""
    n = 0
    for r in range(qp.counts[ROWS]):
        if qp.kind[r] == EQUALITY and not qp.has_forces[r]:
            qp.order[n] = r
            n += 1
    qp.counts[REMAINING_START] = round_up_to_four(n)
    for i in range(n, round_up_to_four(n)):
        qp.order[i] = -1
    n = round_up_to_four(n)
    for r in range(qp.counts[ROWS]):
        if qp.kind[r] != EQUALITY or qp.has_forces[r]:
            qp.order[n] = r
            n += 1
    qp.counts[REMAINING] = n - qp.counts[REMAINING_START]
    for i in range(n, round_up_to_four(n)):
        qp.order[i] = -1
    return round_up_to_four(n)


@kernel
def assemble_gram_matrix(qp):
    """G ← C w⁻¹ Cᵀ + compliance of all rows in their order; the row behind the last ← d − C â."""
    stride = qp.counts[STRIDE]
    width, size = stride + PADDING, order_rows(qp)
    for k in range(qp.weights.shape[0]):
        for i in range(size):
            r = qp.order[index(i)]
            qp.X[index(k * width + i)] = qp.inv_sqrt_weights[index(k)] * qp.C[index(k * stride + r)] if r >= 0 else 0.0
    for i in range(size):
        row, stop, r = i * width, round_up_to_four(i + 1), qp.order[i]
        for j in range(stop):
            qp.G[index(row + j)] = 0.0
        for k in range(qp.weights.shape[0]):
            x = qp.X[index(k * width + i)]
            if x != 0.0:
                for j in range(stop):
                    qp.G[index(row + j)] += x * qp.X[index(k * width + j)]
        for j in range(i):
            qp.G[index(j * width + i)] = qp.G[index(row + j)]
        qp.G[index(size * width + i)] = 0.0
        if r < 0:
            qp.G[index(row + i)] = 1.0
        else:
            qp.G[index(size * width + i)] = qp.residual[r]
            qp.diagonal[r] = qp.G[index(row + i)] + qp.compliance[r]
            qp.G[index(row + i)] += qp.compliance[r] + REGULARIZATION * qp.G[index(row + i)] + TINY


@kernel
def eliminate_equalities(qp):
    """Eliminate the force-free equalities from the other rows and from the right-hand side: G ← L U in their columns (Schur complement)."""
    width, first = qp.counts[STRIDE] + PADDING, qp.counts[REMAINING_START]
    size = first + round_up_to_four(qp.counts[REMAINING])
    for k in range(0, first, 4):
        a = k * width
        b, c, d = a + width, a + 2 * width, a + 3 * width
        lu_factor_block(qp.G, a + k, b + k, c + k, d + k)
        lb, lc, ld = four(qp.G, b + k), four(qp.G, c + k), four(qp.G, d + k)
        for j in range(k + 4, size, 4):
            x = four(qp.G, a + j)
            y = four(qp.G, b + j) - lb.a * x
            z = four(qp.G, c + j) - lc.a * x - lc.b * y
            put_four(qp.G, b + j, y)
            put_four(qp.G, c + j, z)
            put_four(qp.G, d + j, four(qp.G, d + j) - ld.a * x - ld.b * y - ld.c * z)
        for r in range(k + 4, size + 1):
            lu_eliminate_row(qp.G, k, a, b, c, d, r * width, size)


@kernel
def assemble_active_matrix(qp):
    """M ← Schur complement of the remaining rows that are active, plus D ε⁻¹ Dᵀ of the active rays. Returns the number of rows."""
    stride, ray_capacity, first = qp.counts[STRIDE], qp.active_rays.shape[0], qp.counts[REMAINING_START]
    width, end = stride + PADDING, first + qp.counts[REMAINING]
    n = 0
    for i in range(first, end):
        if qp.active_rows[qp.order[i]] and qp.has_forces[qp.order[i]]:
            qp.selected[n] = i
            n += 1
    with_forces = n
    for i in range(first, end):
        if qp.active_rows[qp.order[i]] and not qp.has_forces[qp.order[i]]:
            qp.selected[n] = i
            n += 1
    for i in range(n):
        at = qp.selected[i] * width
        for j in range(n):
            qp.M[index(i * stride + j)] = qp.G[index(at + qp.selected[index(j)])]
    padded, padded_with_forces = round_up_to_four(n), round_up_to_four(with_forces)
    for i in range(n, padded):
        for j in range(padded):
            qp.M[index(i * stride + j)] = 0.0
            qp.M[index(j * stride + i)] = 0.0
        qp.M[index(i * stride + i)] = 1.0
    for i in range(with_forces, padded_with_forces):
        qp.column[i] = 0.0
    for k in range(qp.counts[RAYS]):
        if qp.active_rays[k]:
            for i in range(with_forces):
                qp.column[index(i)] = qp.D[index(qp.order[index(qp.selected[index(i)])] * ray_capacity + k)]
            for i in range(with_forces):
                s = qp.column[index(i)] / qp.force_weight[0]
                for j in range(padded_with_forces):
                    qp.M[index(i * stride + j)] += s * qp.column[index(j)]
    return n


@outlined
def solve_active_set(qp):
    """Multipliers of the active rows, and the accelerations and forces that follow. Returns how many remaining rows are active."""
    n = assemble_active_matrix(qp)
    width, rhs_row = qp.counts[STRIDE] + PADDING, qp.counts[REMAINING_START] + round_up_to_four(qp.counts[REMAINING])
    lu_factor(qp.M, qp.counts[STRIDE], round_up_to_four(n))
    qp.counts[SOLVES] += 1
    for i in range(n):
        qp.x[i] = qp.G[index(rhs_row * width + qp.selected[i])]
    solve_and_evaluate(qp, n, 1.0, -1, qp.rho, qp.multipliers, qp.slack)
    recover_eliminated_multipliers(qp, n)
    recover_accelerations(qp)
    return n


@kernel
def solve_sensitivity(qp, n, i):
    """Derivative of that solution with respect to the slack of row or ray i, which is active."""
    j = i - qp.counts[ROWS]
    for m in range(n):
        r = qp.order[qp.selected[m]]
        qp.x[m] = 1.0 if r == i else 0.0
        if j >= 0 and qp.has_forces[r]:
            qp.x[m] = -qp.D[r * qp.active_rays.shape[0] + j] / qp.force_weight[0]
    solve_and_evaluate(qp, n, 0.0, j, qp.rho_rate, qp.multiplier_rate, qp.slack_rate)


@outlined
def solve_and_evaluate(qp, n, rhs_factor, ray, rho, y, slack):
    """Solve M x = rhs, and evaluate forces, multipliers and slacks.

    rhs_factor 1 includes the right-hand sides of the inactive rows, 0 leaves them out; ray is the number of a ray with unit slack, or -1.
    """
    stride, ray_capacity, rays, first = qp.counts[STRIDE], qp.active_rays.shape[0], qp.counts[RAYS], qp.counts[REMAINING_START]
    width, rhs_row = stride + PADDING, first + round_up_to_four(qp.counts[REMAINING])
    for i in range(n, round_up_to_four(n)):
        qp.x[i] = 0.0
    lu_solve_transposed(qp.M, stride, round_up_to_four(n), qp.x)
    for j in range(rays):
        rho[j] = 1.0 if j == ray else 0.0
    for i in range(n):
        r, x = qp.order[qp.selected[i]], qp.x[i]
        y[r] = x
        if qp.has_forces[r]:
            for j in range(rays):
                rho[index(j)] += qp.D[index(r * ray_capacity + j)] * x
    for j in range(rays):
        rho[index(j)] /= qp.force_weight[0]  # for inactive rays: the force they would have, negative if they are feasible
    for i in range(first, first + qp.counts[REMAINING]):
        r = qp.order[i]
        if not qp.active_rows[r]:
            s = -rhs_factor * qp.G[index(rhs_row * width + i)]
            for j in range(n):
                s += qp.G[index(i * width + qp.selected[index(j)])] * qp.x[index(j)]
            if qp.has_forces[r]:
                for j in range(rays):
                    s += qp.D[index(r * ray_capacity + j)] * rho[index(j)] * qp.active_rays[index(j)]
            y[r], slack[r] = 0.0, s


@kernel
def recover_eliminated_multipliers(qp, n):
    """Multipliers of all rows in their order; back substitution gives those of the eliminated equalities."""
    width, first = qp.counts[STRIDE] + PADDING, qp.counts[REMAINING_START]
    rhs_row = first + round_up_to_four(qp.counts[REMAINING])
    for j in range(first):
        qp.ordered_multipliers[index(j)] = qp.G[index(rhs_row * width + j)]
    for j in range(first, rhs_row):
        qp.ordered_multipliers[index(j)] = 0.0
    for i in range(n):
        at, x = qp.selected[i] * width, qp.x[i]
        qp.ordered_multipliers[qp.selected[i]] = x
        for j in range(first):
            qp.ordered_multipliers[index(j)] -= qp.G[index(at + j)] * x
    for k in range(first - 4, -1, -4):
        a = k * width
        b, c, d = a + width, a + 2 * width, a + 3 * width
        lb, lc, ld = four(qp.G, b + k), four(qp.G, c + k), four(qp.G, d + k)
        p, q, r, s = four(qp.ordered_multipliers, k)
        r = r - ld.c * s
        q = q - lc.b * r - ld.b * s
        p = p - lb.a * q - lc.a * r - ld.a * s
        put_four(qp.ordered_multipliers, k, Four(p, q, r, s))
        for j in range(0, k, 4):
            x = (
                four(qp.ordered_multipliers, j)
                - p * four(qp.G, a + j)
                - q * four(qp.G, b + j)
                - r * four(qp.G, c + j)
                - s * four(qp.G, d + j)
            )
            put_four(qp.ordered_multipliers, j, x)
    for i in range(first):
        if qp.order[i] >= 0:
            qp.multipliers[qp.order[i]] = qp.ordered_multipliers[i]


@kernel
def recover_accelerations(qp):
    """a ← â + w⁻¹ Cᵀ y."""
    width, size = qp.counts[STRIDE] + PADDING, qp.counts[REMAINING_START] + round_up_to_four(qp.counts[REMAINING])
    for k in range(qp.weights.shape[0]):
        p = q = r = s = 0.0
        for i in range(k * width, k * width + size, 4):
            x, y = four(qp.X, i), four(qp.ordered_multipliers, i - k * width)
            p, q, r, s = p + x.a * y.a, q + x.b * y.b, r + x.c * y.c, s + x.d * y.d
        qp.a[index(k)] = qp.target[index(k)] + qp.inv_sqrt_weights[index(k)] * ((p + q) + (r + s))
