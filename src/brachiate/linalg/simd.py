"""Row operations four numbers at a time (SIMD). Widths are multiples of four, so there is no remainder."""

from __future__ import annotations

from brachiate.compiled import index, kernel


@kernel
def dot(a, i, b, j, w):
    """Σ a b over a width w, from indices i and j on."""
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    for k in range(0, w, 4):
        p, q = index(i + k), index(j + k)
        s0 += a[p] * b[q]
        s1 += a[p + index(1)] * b[q + index(1)]
        s2 += a[p + index(2)] * b[q + index(2)]
        s3 += a[p + index(3)] * b[q + index(3)]
    return (s0 + s2) + (s1 + s3)


@kernel
def abs_dot(a, i, b, j, w):
    """Σ |a b|, to which the round-off of Σ a b is proportional."""
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    for k in range(0, w, 4):
        p, q = index(i + k), index(j + k)
        s0 += abs(a[p] * b[q])
        s1 += abs(a[p + index(1)] * b[q + index(1)])
        s2 += abs(a[p + index(2)] * b[q + index(2)])
        s3 += abs(a[p + index(3)] * b[q + index(3)])
    return (s0 + s2) + (s1 + s3)


@kernel
def axpy(a, i, s, b, j, w):
    """a += s b over a width. All values are read before any is written: the compiler cannot know that a is not b."""
    for k in range(0, w, 4):
        p, q = index(i + k), index(j + k)
        x0, x1, x2, x3 = b[q], b[q + index(1)], b[q + index(2)], b[q + index(3)]
        y0, y1, y2, y3 = a[p], a[p + index(1)], a[p + index(2)], a[p + index(3)]
        a[p], a[p + index(1)], a[p + index(2)], a[p + index(3)] = y0 + s * x0, y1 + s * x1, y2 + s * x2, y3 + s * x3


@kernel
def copy_row(a, i, b, j, w):
    """a = b over a width."""
    for k in range(0, w, 4):
        p, q = index(i + k), index(j + k)
        x0, x1, x2, x3 = b[q], b[q + index(1)], b[q + index(2)], b[q + index(3)]
        a[p], a[p + index(1)], a[p + index(2)], a[p + index(3)] = x0, x1, x2, x3
