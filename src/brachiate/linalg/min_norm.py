"""Square systems that may say the same thing twice: A x = b as well as can be, and the smallest such x.

A figure that lies on the ground is held in more directions than it can move in; then many forces do the same, and of these the smallest
is taken. Householder reflections with the largest column first, and from the right if the rank is not full.
"""

from __future__ import annotations

import math

from brachiate.compiled import kernel, outlined

# What is left of a column, against the first, is round-off below this.
ROUND_OFF = 1e-11


@outlined
def smallest(A, b, order, factor, n):
    """b ← x of smallest norm that solves A x = b best; A (n, n) row by row is lost. Returns the rank."""
    rank = triangulate(A, b, order, factor, n)
    if rank < n:
        shorten(A, factor, n, rank)
    for i in range(rank - 1, -1, -1):
        x = b[i]
        for j in range(i + 1, rank):
            x -= A[i * n + j] * b[j]
        b[i] = x / A[i * n + i]
    for i in range(rank, n):
        b[i] = 0.0
    if rank < n:
        lengthen(A, b, factor, n, rank)
    put_in_order(b, order, factor, n)
    return rank


@kernel
def remainder(A, n, j, k):
    """Squared length of column k below row j."""
    s = 0.0
    for i in range(j, n):
        s += A[i * n + k] * A[i * n + k]
    return s


@kernel
def largest(A, n, j):
    """The column from j on that is longest below row j, and its squared length."""
    best, size = j, remainder(A, n, j, j)
    for k in range(j + 1, n):
        s = remainder(A, n, j, k)
        if s > size:
            best, size = k, s
    return best, size


@kernel
def triangulate(A, b, order, factor, n):
    """A ← the upper triangle R of its columns in another order, b likewise turned; returns the rank."""
    for k in range(n):
        order[k] = k
    first = 0.0
    for j in range(n):
        k, size = largest(A, n, j)
        length = math.sqrt(size)
        first = max(first, length)
        if not length > ROUND_OFF * first:
            return j
        order[j], order[k] = order[k], order[j]
        for i in range(n):
            A[i * n + j], A[i * n + k] = A[i * n + k], A[i * n + j]
        reflect_down(A, b, n, j, length)
    return n


@kernel
def reflect_down(A, b, n, j, length):
    """Turn column j, ``length`` long below row j, into the direction of row j; everything after it likewise."""
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
def shorten(A, factor, n, rank):
    """Turn the rows of R, the last first, into their first ``rank`` columns; what turned them stays beyond these."""
    for r in range(rank - 1, -1, -1):
        s = A[r * n + r] * A[r * n + r]
        for k in range(rank, n):
            s += A[r * n + k] * A[r * n + k]
        length, head = math.sqrt(s), A[r * n + r]
        end = -length if head > 0.0 else length
        # The reflection is 1 - scale h hᵀ; its vector h is made to have a 1 in column r, which is then not kept.
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
def lengthen(A, b, factor, n, rank):
    """Turn a solution in the first ``rank`` columns back into all columns."""
    for r in range(rank):
        s = b[r]
        for k in range(rank, n):
            s += A[r * n + k] * b[k]
        b[r] -= factor[r] * s
        for k in range(rank, n):
            b[k] -= factor[r] * s * A[r * n + k]


@kernel
def put_in_order(b, order, spare, n):
    """Undo the exchange of columns."""
    for k in range(n):
        spare[order[k]] = b[k]
    for k in range(n):
        b[k] = spare[k]
