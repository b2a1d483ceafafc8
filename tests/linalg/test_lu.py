"""LU factorization with pivoting, against NumPy, also with zeros on the diagonal."""

from __future__ import annotations

import numpy as np
import pytest

from brachiate.compiled import entry
from brachiate.linalg.lu import lu_factor_pivoted, lu_solve_pivoted


@entry
def solved(A, stride, size, order, x):
    sign = lu_factor_pivoted(A, stride, size, order)
    lu_solve_pivoted(A, stride, size, order, x)
    return sign


@pytest.mark.parametrize("size", [4, 8, 20])
@pytest.mark.parametrize("seed", range(4))
def test_solution_and_sign_of_determinant(size, seed):
    random = np.random.default_rng((size, seed))
    A = random.standard_normal((size, size))
    A[np.arange(0, size, 3), np.arange(0, size, 3)] = 0.0
    A[0, 1:3] = 0.0
    b = random.standard_normal(size)
    x = b.copy()
    padded = np.concatenate((A.ravel(), np.zeros(4)))
    sign = solved(padded, size, size, np.zeros(size, np.int64), x)
    assert sign == np.sign(np.linalg.det(A))
    # Round-off grows with the condition number of A
    assert A.T @ x == pytest.approx(b, abs=1e-12 * np.linalg.cond(A))


@entry
def sign_of(A, stride, size, order):
    return lu_factor_pivoted(A, stride, size, order)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7])
def test_sign_of_determinant_of_any_size(size):
    # Rows are padded to whole blocks of four; fails if negative pivots of even sizes cancel a wrong sign.
    random = np.random.default_rng(size)
    for _ in range(8):
        A = np.zeros((size, 8))
        A[:, :size] = random.standard_normal((size, size))
        expected = np.sign(np.linalg.det(A[:, :size]))
        assert sign_of(np.concatenate((A.ravel(), np.zeros(4))), 8, size, np.zeros(size, np.int64)) == expected
