"""Block-pentadiagonal Cholesky solver of trajectory problems with acceleration costs."""

from __future__ import annotations

import numpy as np

from brachiate.linalg.block_pentadiagonal import solve_padded_pentadiagonal
from brachiate.validation import Array


def pentadiagonal_rows(frames: int, size: int) -> Array:
    """Rows (frames, w, 3 w + 4) of a matrix, all zero; blocks of its diagonal are to be put into ``rows[:, :size, :size]``."""
    w = (size + 3) // 4 * 4
    return np.zeros((frames, w, 3 * w + 4))


def solve_block_pentadiagonal(rows: Array, coupling1: Array, coupling2: Array, b: Array) -> Array | None:
    """Solve for all frames: (f, n).

    Args:
        rows: With the blocks on the diagonal; overwritten by the factor.
        coupling1: Diagonals of the blocks to the next frame (f, n).
        coupling2: Diagonals of the blocks to the one after (f, n).
        b: Right-hand side (f, n).

    Returns:
        The solution; None if the matrix is not positive definite.
    """
    (f, n), w = b.shape, rows.shape[1]
    k, padding, x = np.arange(n), np.arange(n, w), np.zeros((f + 2, w))
    rows[:, padding, padding] = 1.0
    rows[:, k, w + k], rows[:, k, 2 * w + k], rows[:, :n, 3 * w] = coupling1, coupling2, b
    return x[:f, :n] if solve_padded_pentadiagonal(rows.reshape(-1), x.reshape(-1), f, w) else None
