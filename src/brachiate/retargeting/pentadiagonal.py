"""Block-pentadiagonal Cholesky solver of trajectory problems with acceleration costs."""

from __future__ import annotations

import numpy as np
from scipy.linalg import get_lapack_funcs

from brachiate.validation import Array


def solve_block_pentadiagonal(H: Array, coupling1: Array, coupling2: Array, b: Array) -> Array | None:
    """Solve for all frames: blocks H (f, n, n) on the diagonal, diagonal blocks to the next frame and the one after (f, n).

    Cholesky factorization by blocks of one frame; None if the matrix is not positive definite. Blocks are too small for BLAS threads,
    which would wait for each other on a busy machine.
    """
    f, n = b.shape
    potrf, trtri, trtrs = get_lapack_funcs(("potrf", "trtri", "trtrs"), (H,))
    D, x = H.copy(), b.copy()
    E = np.zeros((f + 2, n, n))
    E[:f, np.arange(n), np.arange(n)] = coupling1
    factors = []
    for t in range(f):
        L, status = potrf(D[t], lower=1, clean=1)
        if status:
            return None
        x[t] = trtrs(L, x[t], lower=1)[0]
        inverse, _ = trtri(L, lower=1)
        one, two = E[t] @ inverse.T, coupling2[t][:, None] * inverse.T
        factors.append((L, one, two))
        if t + 1 < f:
            D[t + 1] -= one @ one.T
            E[t + 1] -= two @ one.T
            x[t + 1] -= one @ x[t]
        if t + 2 < f:
            D[t + 2] -= two @ two.T
            x[t + 2] -= two @ x[t]
    for t in range(f - 1, -1, -1):
        L, one, two = factors[t]
        if t + 1 < f:
            x[t] -= one.T @ x[t + 1]
        if t + 2 < f:
            x[t] -= two.T @ x[t + 2]
        x[t] = trtrs(L, x[t], lower=1, trans=1)[0]
    return x
