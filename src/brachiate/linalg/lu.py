"""LU factorization of a dense matrix in blocks of four, with or without pivoting, and solution with its transpose.

Rows are contiguous and padded to whole blocks of four, with ones on the diagonal there. The transpose suits vector registers: both
substitutions add multiples of rows.
"""

from __future__ import annotations

from brachiate.compiled import index, kernel
from brachiate.spatial import Four, four, put_four


@kernel
def lu_factor(A, stride, size):
    """A ← L U in place, L with ones on its diagonal; diagonals of U are kept inverted. ``size`` is a multiple of four."""
    for k in range(0, size, 4):
        a = k * stride
        b, c, d = a + stride, a + 2 * stride, a + 3 * stride
        lu_factor_block(A, a + k, b + k, c + k, d + k)
        b0, (c0, c1), (d0, d1, d2) = (
            A[index(b + k)],
            (A[index(c + k)], A[index(c + k + 1)]),
            (A[index(d + k)], A[index(d + k + 1)], A[index(d + k + 2)]),
        )
        for j in range(k + 4, size, 4):
            x = four(A, a + j)
            y = four(A, b + j) - b0 * x
            z = four(A, c + j) - c0 * x - c1 * y
            put_four(A, b + j, y)
            put_four(A, c + j, z)
            put_four(A, d + j, four(A, d + j) - d0 * x - d1 * y - d2 * z)
        for r in range(k + 4, size):
            lu_eliminate_row(A, k, a, b, c, d, r * stride, size)


@kernel
def lu_factor_block(A, a, b, c, d):
    """Factor a block of four by four that starts at these indices of its rows."""
    a, b, c, d = index(a), index(b), index(c), index(d)
    _1, _2, _3 = index(1), index(2), index(3)
    A[a] = 1.0 / A[a]
    l = A[b] * A[a]
    A[b], A[b + _1], A[b + _2], A[b + _3] = l, 1.0 / (A[b + _1] - l * A[a + _1]), A[b + _2] - l * A[a + _2], A[b + _3] - l * A[a + _3]
    l = A[c] * A[a]
    m = (A[c + _1] - l * A[a + _1]) * A[b + _1]
    A[c], A[c + _1] = l, m
    A[c + _2], A[c + _3] = 1.0 / (A[c + _2] - l * A[a + _2] - m * A[b + _2]), A[c + _3] - l * A[a + _3] - m * A[b + _3]
    l = A[d] * A[a]
    m = (A[d + _1] - l * A[a + _1]) * A[b + _1]
    n = (A[d + _2] - l * A[a + _2] - m * A[b + _2]) * A[c + _2]
    A[d], A[d + _1], A[d + _2], A[d + _3] = l, m, n, 1.0 / (A[d + _3] - l * A[a + _3] - m * A[b + _3] - n * A[c + _3])


@kernel
def lu_eliminate_row(A, k, a, b, c, d, row, size):
    """Eliminate the four pivot columns from k on from a row."""
    p, q, r, s = four(A, row + k)
    ua, ub, uc, ud = four(A, a + k), four(A, b + k), four(A, c + k), four(A, d + k)
    p = p * ua.a
    q = (q - p * ua.b) * ub.b
    r = (r - p * ua.c - q * ub.c) * uc.c
    s = (s - p * ua.d - q * ub.d - r * uc.d) * ud.d
    put_four(A, row + k, Four(p, q, r, s))
    for j in range(k + 4, size, 4):
        put_four(A, row + j, four(A, row + j) - p * four(A, a + j) - q * four(A, b + j) - r * four(A, c + j) - s * four(A, d + j))


@kernel
def lu_solve_transposed(A, stride, size, x):
    """x ← A⁻ᵀ x with the factor: Uᵀ first, then Lᵀ."""
    for k in range(0, size, 4):
        a = k * stride
        b, c, d = a + stride, a + 2 * stride, a + 3 * stride
        ua, ub, uc, ud = four(A, a + k), four(A, b + k), four(A, c + k), four(A, d + k)
        p, q, r, s = four(x, k)
        p = p * ua.a
        q = (q - p * ua.b) * ub.b
        r = (r - p * ua.c - q * ub.c) * uc.c
        s = (s - p * ua.d - q * ub.d - r * uc.d) * ud.d
        put_four(x, k, Four(p, q, r, s))
        for j in range(k + 4, size, 4):
            put_four(x, j, four(x, j) - p * four(A, a + j) - q * four(A, b + j) - r * four(A, c + j) - s * four(A, d + j))
    for k in range(size - 4, -1, -4):
        a = k * stride
        b, c, d = a + stride, a + 2 * stride, a + 3 * stride
        lb, lc, ld = four(A, b + k), four(A, c + k), four(A, d + k)
        p, q, r, s = four(x, k)
        r = r - ld.c * s
        q = q - lc.b * r - ld.b * s
        p = p - lb.a * q - lc.a * r - ld.a * s
        put_four(x, k, Four(p, q, r, s))
        for j in range(0, k, 4):
            put_four(x, j, four(x, j) - p * four(A, a + j) - q * four(A, b + j) - r * four(A, c + j) - s * four(A, d + j))


@kernel
def lu_factor_pivoted(A, stride, size, order):
    """A ← L U in place with partial pivoting; ``order`` has the row exchanges. Returns the sign of the determinant."""
    sign = 1.0
    for k in range(size):
        row, best = k, abs(A[k * stride + k])
        for r in range(k + 1, size):
            if abs(A[r * stride + k]) > best:
                row, best = r, abs(A[r * stride + k])
        order[k] = row
        a, b = k * stride, row * stride
        if row != k:
            sign = -sign
            for j in range(0, size, 4):
                x = four(A, a + j)
                put_four(A, a + j, four(A, b + j))
                put_four(A, b + j, x)
        if A[a + k] < 0.0:
            sign = -sign
        A[a + k] = 1.0 / A[a + k]
        whole = (k + 4) // 4 * 4
        for r in range(k + 1, size):
            b = r * stride
            l = A[b + k] * A[a + k]
            A[b + k] = l
            for j in range(k + 1, whole):
                A[b + j] -= l * A[a + j]
            for j in range(whole, size, 4):
                put_four(A, b + j, four(A, b + j) - l * four(A, a + j))
    return sign


@kernel
def lu_solve_pivoted(A, stride, size, order, x):
    """x ← A⁻ᵀ x with a pivoted factor."""
    lu_solve_transposed(A, stride, size, x)
    for k in range(size - 1, -1, -1):
        x[k], x[order[k]] = x[order[k]], x[k]
