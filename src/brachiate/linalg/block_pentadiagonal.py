"""Cholesky factorization of a symmetric block-pentadiagonal matrix, and solution with it, in rows padded to blocks of four.

A row has its diagonal block, the blocks of the next frame and of the one after, each of width w, and its right-hand side in a block of
four. Elimination goes from frame to frame, four rows at a time; rows of the factor are its transpose, so that all sums are over rows.
"""

from __future__ import annotations

import math

from brachiate.compiled import Floats, entry, index, kernel
from brachiate.linalg.simd import axpy, dot
from brachiate.spatial import four, put_four


@kernel
def scale_row(A, row, s, width):
    """Multiply a row by a number."""
    for j in range(0, width, 4):
        put_four(A, row + j, s * four(A, row + j))


@kernel
def factor_rows(A, row, stride, width):
    """Factor four rows that begin with their block of the diagonal. Returns whether all pivots are positive."""
    for p in range(4):
        own = row + p * stride
        pivot = A[index(own + p)]
        if not pivot > 0.0:
            return False
        scale_row(A, own, 1.0 / math.sqrt(pivot), width)
        for r in range(p + 1, 4):
            axpy(A, row + r * stride, -A[index(own + r)], A, own, width)
    return True


@kernel
def eliminate_rows(A, source, stride, at, target, start, width):
    """Subtract from one row multiples of four rows: their entries at ``at``; from ``start`` on, over a width."""
    a = source
    b, c, d = a + stride, a + 2 * stride, a + 3 * stride
    p, q, r, s = A[index(a + at)], A[index(b + at)], A[index(c + at)], A[index(d + at)]
    for j in range(0, width, 4):
        i = start + j
        change = p * four(A, a + i) + q * four(A, b + i) + r * four(A, c + i) + s * four(A, d + i)
        put_four(A, target + j, four(A, target + j) - change)


@kernel
def eliminate_frame(A, t, frames, w):
    """Factor the rows of a frame, and eliminate them from the rows of the next two. Returns whether all pivots are positive."""
    stride = 3 * w + 4
    frame = t * w * stride
    for k in range(0, w, 4):
        row = frame + k * stride
        if not factor_rows(A, row + k, stride, stride - k):
            return False
        for i in range(k + 4, w):
            j = i // 4 * 4
            eliminate_rows(A, row, stride, i, frame + i * stride + j, j, stride - j)
        for i in range(w if t + 1 < frames else 0):
            j, target = i // 4 * 4, frame + (w + i) * stride
            eliminate_rows(A, row, stride, w + i, target + j, w + j, 2 * w - j)
            eliminate_rows(A, row, stride, w + i, target + 3 * w, 3 * w, 4)
        for i in range(k + 4 if t + 2 < frames else 0):  # the factor is zero beyond, as the block is diagonal
            j, target = i // 4 * 4, frame + (2 * w + i) * stride
            eliminate_rows(A, row, stride, 2 * w + i, target + j, 2 * w + j, w - j)
            eliminate_rows(A, row, stride, 2 * w + i, target + 3 * w, 3 * w, 4)
    return True


@entry
def solve_padded_pentadiagonal(A: Floats, x: Floats, frames: int, w: int):
    """x ← solution, for rows A (frames, w, 3 w + 4), which are overwritten; x (frames + 2, w) is zero before.

    Returns 1 if the matrix is positive definite, else 0.
    """
    stride = 3 * w + 4
    for t in range(frames):
        if not eliminate_frame(A, t, frames, w):
            return 0
    for t in range(frames - 1, -1, -1):
        for k in range(w - 1, -1, -1):
            row, at, low = (t * w + k) * stride, t * w, k // 4 * 4  # of the block of four, numbers before k are zero in x
            rest = A[index(row + 3 * w)] - dot(A, row + low, x, at + low, 3 * w - low)
            x[index(at + k)] = rest / A[index(row + k)]
    return 1
