"""Block-pentadiagonal Cholesky solver of trajectory problems with acceleration costs."""

from __future__ import annotations

import numpy as np
from scipy.linalg import get_lapack_funcs

from brachiate.validation import Array


def solve_block_pentadiagonal(H: Array, coupling1: Array, coupling2: Array, b: Array) -> Array | None:
    """Solve for all frames: blocks H (f, n, n) on the diagonal, diagonal blocks to the next frame and the one after (f, n).

    Cholesky factorization by blocks of one frame, which overwrites H; None if the matrix is not positive definite. Blocks are too small for
    BLAS threads, which would wait for each other on a busy machine.
    """
    f = len(b)
    potrf, trtri, trtrs = get_lapack_funcs(("potrf", "trtri", "trtrs"), (H,))
    x, one, two = b.copy(), np.empty_like(H), np.empty_like(H)  # blocks of the factor to the next frame and the one after
    coupling = np.diag(coupling1[0])
    for t in range(f):
        L, status = potrf(H[t], lower=1, clean=1)
        if status:
            return None
        H[t] = L
        x[t] = trtrs(L, x[t], lower=1)[0]
        inverse, _ = trtri(L, lower=1)
        one[t], two[t] = coupling @ inverse.T, coupling2[t][:, None] * inverse.T
        if t + 1 < f:
            H[t + 1] -= one[t] @ one[t].T
            coupling = np.diag(coupling1[t + 1]) - two[t] @ one[t].T
            x[t + 1] -= one[t] @ x[t]
        if t + 2 < f:
            H[t + 2] -= two[t] @ two[t].T
            x[t + 2] -= two[t] @ x[t]
    for t in range(f - 1, -1, -1):
        if t + 1 < f:
            x[t] -= one[t].T @ x[t + 1]
        if t + 2 < f:
            x[t] -= two[t].T @ x[t + 2]
        x[t] = trtrs(H[t], x[t], lower=1, trans=1)[0]
    return x
