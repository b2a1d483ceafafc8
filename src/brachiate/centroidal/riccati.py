"""Riccati recursion (square-root form, Householder): cost-to-go and feedback gains from the last stage to the first.

V(x) = ½ |R (x, 1)|² is the cost-to-go. Householder reflections triangularize the rows of a stage together with R of the next one: the
first rows of the triangle give the controls u as a function of x, the others are R of this stage. Rows are never squared, which keeps
the accuracy for stiff rows, and the largest entry of a column is the pivot, so that soft rows are not lost among stiff ones
[Powell & Reid 1969].
"""

from __future__ import annotations

import math

from brachiate.compiled import index, kernel
from brachiate.linalg.simd import axpy, copy_row

RANK_TOLERANCE = 1e-14  # of a column's norm: a smaller remainder is round-off


@kernel
def assemble_stage(lsq, k):
    """M ← R of the next stage times the dynamics, then the active rows of this stage. Returns the number of rows."""
    N, nx, nu, m, w = lsq.size[0], lsq.size[1], lsq.size[2], lsq.size[3], lsq.size[4]
    count = 0
    if k < N:
        one = nu + nx
        for i in range(nx):
            target, ri = count * w, ((k + 1) * nx + i) * w
            for j in range(target, target + w):
                lsq.M[index(j)] = 0.0
            lsq.M[index(target + one)] = lsq.R[index(ri + one)]
            for l in range(i, nx):
                s = lsq.R[index(ri + nu + l)]
                if s != 0.0:
                    axpy(lsq.M, target, s, lsq.dynamics, (k * nx + l) * w, w)
            lsq.line_start[index(count)] = target
            count += 1
    for i in range(lsq.row_count[index(k)]):
        if lsq.one_sided[index(k * m + i)] == 0 or lsq.active[index(k * m + i)] == 1:
            copy_row(lsq.M, count * w, lsq.rows, (k * m + i) * w, w)
            lsq.line_start[index(count)] = count * w
            count += 1
    return count


@kernel
def reflect_columns4(lsq, nonzero_count, scale, k):
    """M -= scale v (vᵀ M) in four columns of the nonzero rows."""
    t0, t1, t2, t3 = 0.0, 0.0, 0.0, 0.0
    for n in range(nonzero_count):
        p, s = index(lsq.nonzero[index(n)] + k), lsq.householder[index(n)]
        t0 += s * lsq.M[p]
        t1 += s * lsq.M[p + index(1)]
        t2 += s * lsq.M[p + index(2)]
        t3 += s * lsq.M[p + index(3)]
    t0, t1, t2, t3 = t0 * scale, t1 * scale, t2 * scale, t3 * scale
    for n in range(nonzero_count):
        p, s = index(lsq.nonzero[index(n)] + k), lsq.householder[index(n)]
        x0, x1, x2, x3 = lsq.M[p] - s * t0, lsq.M[p + index(1)] - s * t1, lsq.M[p + index(2)] - s * t2, lsq.M[p + index(3)] - s * t3
        lsq.M[p], lsq.M[p + index(1)], lsq.M[p + index(2)], lsq.M[p + index(3)] = x0, x1, x2, x3


@kernel
def reflect_columns8(lsq, nonzero_count, scale, k):
    """The same in eight columns: two independent sums hide latency."""
    t0, t1, t2, t3, t4, t5, t6, t7 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for n in range(nonzero_count):
        p, s = index(lsq.nonzero[index(n)] + k), lsq.householder[index(n)]
        t0 += s * lsq.M[p]
        t1 += s * lsq.M[p + index(1)]
        t2 += s * lsq.M[p + index(2)]
        t3 += s * lsq.M[p + index(3)]
        t4 += s * lsq.M[p + index(4)]
        t5 += s * lsq.M[p + index(5)]
        t6 += s * lsq.M[p + index(6)]
        t7 += s * lsq.M[p + index(7)]
    t0, t1, t2, t3, t4, t5, t6, t7 = t0 * scale, t1 * scale, t2 * scale, t3 * scale, t4 * scale, t5 * scale, t6 * scale, t7 * scale
    for n in range(nonzero_count):
        p, s = index(lsq.nonzero[index(n)] + k), lsq.householder[index(n)]
        x0, x1, x2, x3 = lsq.M[p] - s * t0, lsq.M[p + index(1)] - s * t1, lsq.M[p + index(2)] - s * t2, lsq.M[p + index(3)] - s * t3
        q = p + index(4)
        x4, x5, x6, x7 = lsq.M[q] - s * t4, lsq.M[q + index(1)] - s * t5, lsq.M[q + index(2)] - s * t6, lsq.M[q + index(3)] - s * t7
        lsq.M[p], lsq.M[p + index(1)], lsq.M[p + index(2)], lsq.M[p + index(3)] = x0, x1, x2, x3
        lsq.M[q], lsq.M[q + index(1)], lsq.M[q + index(2)], lsq.M[q + index(3)] = x4, x5, x6, x7


@kernel
def eliminate_column(lsq, top, count, j):
    """Eliminate column j of the rows below ``top`` by a Householder reflection. Returns whether the column was nonzero."""
    w, nonzero_count, pivot, pivot_value, square = lsq.size[4], 0, top, 0.0, 0.0
    for i in range(top, count):
        a = lsq.M[index(lsq.line_start[index(i)] + j)]
        if a != 0.0:
            lsq.nonzero[index(nonzero_count)], lsq.householder[index(nonzero_count)] = i, a
            nonzero_count += 1
            square += a * a
            if abs(a) > abs(pivot_value):
                pivot, pivot_value = i, a
    if nonzero_count == 0:
        return False
    length = math.sqrt(square)
    if not length > RANK_TOLERANCE * lsq.gradient[index(j)]:
        for n in range(nonzero_count):
            lsq.M[index(lsq.line_start[index(lsq.nonzero[index(n)])] + j)] = 0.0
        return False
    lsq.line_start[index(top)], lsq.line_start[index(pivot)] = lsq.line_start[index(pivot)], lsq.line_start[index(top)]
    if nonzero_count == 1:
        return True
    end = -length if pivot_value > 0.0 else length
    for n in range(nonzero_count):  # nonzero rows by their starts; the pivot row and the top row have been exchanged
        i = lsq.nonzero[index(n)]
        if i == pivot:
            lsq.householder[index(n)] = pivot_value - end
            lsq.nonzero[index(n)] = lsq.line_start[index(top)]
        else:
            lsq.nonzero[index(n)] = lsq.line_start[index(pivot)] if i == top else lsq.line_start[index(i)]
    scale, k = 1.0 / (length * (length + abs(pivot_value))), j - j % 4
    if (w - k) % 8 != 0:
        reflect_columns4(lsq, nonzero_count, scale, k)
        k += 4
    for i in range(k, w, 8):
        reflect_columns8(lsq, nonzero_count, scale, i)
    for n in range(nonzero_count):
        lsq.M[index(lsq.nonzero[index(n)] + j)] = 0.0
    lsq.M[index(lsq.line_start[index(top)] + j)] = end
    return True


@kernel
def column_norms(lsq, count):
    """Norms of the columns of M."""
    for k in range(0, lsq.size[4], 4):
        t0, t1, t2, t3 = 0.0, 0.0, 0.0, 0.0
        for n in range(count):
            p = index(lsq.line_start[index(n)] + k)
            x0, x1, x2, x3 = lsq.M[p], lsq.M[p + index(1)], lsq.M[p + index(2)], lsq.M[p + index(3)]
            t0, t1, t2, t3 = t0 + x0 * x0, t1 + x1 * x1, t2 + x2 * x2, t3 + x3 * x3
        q = index(k)
        lsq.gradient[q], lsq.gradient[q + index(1)] = math.sqrt(t0), math.sqrt(t1)
        lsq.gradient[q + index(2)], lsq.gradient[q + index(3)] = math.sqrt(t2), math.sqrt(t3)


@kernel
def riccati_recursion(lsq, last):
    """Riccati recursion from stage ``last`` to the first for the active rows; later stages are unchanged."""
    N, nx, nu, w = lsq.size[0], lsq.size[1], lsq.size[2], lsq.size[4]
    for k in range(last, -1, -1):
        count = assemble_stage(lsq, k)
        column_norms(lsq, count)
        top = 0
        if k < N:
            for j in range(lsq.control_count[index(k)]):
                target = (k * nu + j) * w
                if eliminate_column(lsq, top, count, j):
                    copy_row(lsq.gain, target, lsq.M, lsq.line_start[index(top)], w)
                    top += 1
                else:  # the cost does not depend on this control
                    for i in range(w):
                        lsq.gain[index(target + i)] = 0.0
        for l in range(nx):
            target = (k * nx + l) * w
            for i in range(w):
                lsq.R[index(target + i)] = 0.0
        if k > 0:  # the cost-to-go of the first stage is not needed
            line = 0
            for l in range(nx):
                if eliminate_column(lsq, top + line, count, nu + l):
                    copy_row(lsq.R, (k * nx + line) * w, lsq.M, lsq.line_start[index(top + line)], w)
                    line += 1
