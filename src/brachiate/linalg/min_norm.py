"""Minimum-norm least-squares solution of square systems that may be rank-deficient.

Contact forces of a body on many contacts are not unique; the smallest are taken. Householder QR with column pivoting, and reflections from
the right if the rank is not full (complete orthogonal decomposition).
"""

from __future__ import annotations

import math

from brachiate.compiled import kernel, outlined

# Norm of a remaining column, relative to the largest, below which the rank ends.
RANK_TOLERANCE = 1e-11


@outlined
def min_norm_solve(A, b, order, factor, n):
    """b ← least-squares solution x of A x = b of minimum norm; A (n, n), row by row, is overwritten. Returns the rank."""
    rank = qr_pivoted(A, b, order, factor, n)
    if rank < n:
        reduce_rows(A, factor, n, rank)
    for i in range(rank - 1, -1, -1):
        x = b[i]
        for j in range(i + 1, rank):
            x -= A[i * n + j] * b[j]
        b[i] = x / A[i * n + i]
    for i in range(rank, n):
        b[i] = 0.0
    if rank < n:
        expand_solution(A, b, factor, n, rank)
    undo_permutation(b, order, factor, n)
    return rank


@kernel
def column_norm2(A, n, j, k):
    """Squared norm of column k from row j on."""
    s = 0.0
    for i in range(j, n):
        s += A[i * n + k] * A[i * n + k]
    return s


@kernel
def longest_column(A, n, j):
    """Column from j on with the largest norm from row j on, and its squared norm."""
    best, size = j, column_norm2(A, n, j, j)
    for k in range(j + 1, n):
        s = column_norm2(A, n, j, k)
        if s > size:
            best, size = k, s
    return best, size


@kernel
def qr_pivoted(A, b, order, factor, n):
    """A ← R of its QR factorization with column pivoting, b ← Qᵀ b; returns the rank."""
    for k in range(n):
        order[k] = k
    first = 0.0
    for j in range(n):
        k, size = longest_column(A, n, j)
        length = math.sqrt(size)
        first = max(first, length)
        if not length > RANK_TOLERANCE * first:
            return j
        order[j], order[k] = order[k], order[j]
        for i in range(n):
            A[i * n + j], A[i * n + k] = A[i * n + k], A[i * n + j]
        reflect_column(A, b, n, j, length)
    return n


@kernel
def reflect_column(A, b, n, j, length):
    """Householder reflection of column j, of norm ``length`` from row j on, and of everything after it."""
    head = A[j * n + j]
    end = -length if head > 0.0 else length
    A[j * n + j] = head - end
    scale = 1.0 / (length * (length + abs(head)))
    for k in range(j + 1, n):
        s = 0.0
        for i in range(j, n):
            s += A[i * n + j] * A[i * n + k]
        for i in range(j, n):
            A[i * n + k] -= scale * s * A[i * n + j]
    s = 0.0
    for i in range(j, n):
        s += A[i * n + j] * b[i]
    for i in range(j, n):
        b[i] -= scale * s * A[i * n + j]
    A[j * n + j] = end


@kernel
def reduce_rows(A, factor, n, rank):
    """Reflect the rows of R, last first, into their first ``rank`` columns; the reflections are stored beyond these."""
    for r in range(rank - 1, -1, -1):
        s = A[r * n + r] * A[r * n + r]
        for k in range(rank, n):
            s += A[r * n + k] * A[r * n + k]
        length, head = math.sqrt(s), A[r * n + r]
        end = -length if head > 0.0 else length
        # The reflection is 1 - scale h hᵀ, with h scaled to 1 in column r, which is not stored.
        scale = (length + abs(head)) / length
        for k in range(rank, n):
            A[r * n + k] /= head - end
        A[r * n + r], factor[r] = end, scale
        for i in range(r):
            s = A[i * n + r]
            for k in range(rank, n):
                s += A[i * n + k] * A[r * n + k]
            A[i * n + r] -= scale * s
            for k in range(rank, n):
                A[i * n + k] -= scale * s * A[r * n + k]


@kernel
def expand_solution(A, b, factor, n, rank):
    """Transform a solution in the first ``rank`` columns back to all columns."""
    for r in range(rank):
        s = b[r]
        for k in range(rank, n):
            s += A[r * n + k] * b[k]
        b[r] -= factor[r] * s
        for k in range(rank, n):
            b[k] -= factor[r] * s * A[r * n + k]


@kernel
def undo_permutation(b, order, spare, n):
    """Undo the permutation of columns."""
    for k in range(n):
        spare[order[k]] = b[k]
    for k in range(n):
        b[k] = spare[k]
