"""Block-pentadiagonal solver: agreement with a dense solution, matrices that are not positive definite, memory."""

import tracemalloc

import numpy as np
import pytest

from brachiate.retargeting.pentadiagonal import pentadiagonal_rows, solve_block_pentadiagonal


def problem(frames, size, seed=0):
    """Blocks on the diagonal, couplings to the next two frames, right-hand side, and the dense matrix."""
    rng = np.random.default_rng(seed)
    J = rng.normal(size=(frames, size, size))
    H, first, second = J @ J.transpose(0, 2, 1) + 10.0 * size * np.eye(size), *rng.normal(size=(2, frames, size))
    dense = np.zeros((frames, size, frames, size))
    for t in range(frames):
        dense[t, :, t] = H[t]
        for ahead, coupling in ((1, first[t]), (2, second[t])):
            if t + ahead < frames:
                dense[t, :, t + ahead] = dense[t + ahead, :, t] = np.diag(coupling)
    return H, first, second, rng.normal(size=(frames, size)), dense.reshape(frames * size, -1)


def solve(H, first, second, b):
    """Solution of a problem."""
    rows = pentadiagonal_rows(*b.shape)
    rows[:, : b.shape[1], : b.shape[1]] = H
    return solve_block_pentadiagonal(rows, first, second, b)


@pytest.mark.parametrize(("frames", "size"), [(1, 4), (2, 3), (3, 1), (40, 7), (9, 16), (12, 18)])
def test_solution_is_that_of_the_dense_matrix(frames, size):
    H, first, second, b, dense = problem(frames, size)
    expected = np.linalg.solve(dense, b.ravel()).reshape(b.shape)
    assert solve(H, first, second, b) == pytest.approx(expected, rel=1e-10, abs=1e-12)


def test_matrices_that_are_not_positive_definite_have_no_solution():
    H, first, second, b, _ = problem(20, 4)
    H[11] -= 200.0 * np.eye(4)
    assert solve(H, first, second, b) is None


def test_memory_of_a_factor():
    """Three blocks a frame: the factor overwrites the rows; copies of all blocks took twice as much."""
    H, first, second, b, _ = problem(30, 20)
    H, first, second, b = (np.concatenate([x] * 10) for x in (H, first, second, b))
    solve(H, first, second, b)
    tracemalloc.start()
    try:
        solve(H, first, second, b)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 3.3 * H.nbytes
