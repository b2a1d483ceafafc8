"""Minimum-norm solution of rank-deficient systems, against NumPy's least squares."""

from __future__ import annotations

import numpy as np
import pytest

from brachiate.linalg.min_norm import min_norm_solve


@pytest.mark.parametrize(("size", "rank"), [(1, 1), (1, 0), (6, 6), (6, 3), (20, 11), (40, 39)])
@pytest.mark.parametrize("solvable", [True, False])
def test_solution_equals_that_of_lstsq(size: int, rank: int, solvable: bool) -> None:
    rng = np.random.default_rng(100 * size + rank)
    A = rng.normal(size=(size, rank)) @ rng.normal(size=(rank, size))
    b = A @ rng.normal(size=size) if solvable else rng.normal(size=size)
    x = b.copy()
    found = min_norm_solve(A.ravel().copy(), x, np.zeros(size, np.int64), np.zeros(size), size)
    assert found == rank
    expected = np.linalg.lstsq(A, b, rcond=1e-11)[0]
    condition = np.linalg.cond(A) if rank == size else np.divide(*np.linalg.svd(A)[1][[0, max(rank - 1, 0)]]) if rank else 1.0
    assert np.abs(x - expected).max() <= 1e-14 * size * condition**2 * (1 + np.abs(expected).max())


def test_rank_is_independent_of_units() -> None:
    """The rank of a matrix does not depend on its scale."""
    rng = np.random.default_rng(3)
    A = 1e-9 * rng.normal(size=(5, 5))
    x = np.arange(5.0)
    b = A @ x
    assert min_norm_solve(A.ravel().copy(), b, np.zeros(5, np.int64), np.zeros(5), 5) == 5
    assert np.allclose(b, x, atol=1e-11)


@pytest.mark.parametrize("columns", [(0, 0, 1, 2), (0, 1, 1, 1, 2), (0, -1, 1, -1, 2), (-1, -1, 0)])
def test_repeated_and_empty_columns(columns: tuple[int, ...]) -> None:
    """Contacts at the same place have equal columns, those of fixed bodies none (-1): the rank is that of the others."""
    size = len(columns)
    rng = np.random.default_rng(size)
    distinct = np.concatenate((rng.normal(size=(size, 3)), np.zeros((size, 1))), axis=1)
    A = distinct[:, columns]
    b = A @ rng.normal(size=size)
    x = b.copy()
    assert min_norm_solve(A.ravel().copy(), x, np.zeros(size, np.int64), np.zeros(size), size) == len({k for k in columns if k >= 0})
    assert np.allclose(x, np.linalg.pinv(A) @ b, atol=1e-12)
