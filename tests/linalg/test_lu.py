"""The factor with rows exchanged, against NumPy: also where a diagonal is nothing."""

from __future__ import annotations

import numpy as np
import pytest

from brachiate.compiled import entry
from brachiate.linalg.lu import factor_pivoted, solve_pivoted


@entry
def solved(A, stride, size, order, x):
    sign = factor_pivoted(A, stride, size, order)
    solve_pivoted(A, stride, size, order, x)
    return sign


@pytest.mark.parametrize("size", [4, 8, 20])
@pytest.mark.parametrize("seed", range(4))
def test_solutions_and_the_sign_of_the_determinant(size, seed):
    random = np.random.default_rng((size, seed))
    A = random.standard_normal((size, size))
    A[np.arange(0, size, 3), np.arange(0, size, 3)] = 0.0
    A[0, 1:3] = 0.0
    b = random.standard_normal(size)
    x = b.copy()
    room = np.concatenate((A.ravel(), np.zeros(4)))
    sign = solved(room, size, size, np.zeros(size, np.int64), x)
    assert sign == np.sign(np.linalg.det(A))
    # Round-off grows with the condition of A
    assert A.T @ x == pytest.approx(b, abs=1e-12 * np.linalg.cond(A))
