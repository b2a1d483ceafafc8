"""Least squares by levels of priority: compiled kernels against singular value decompositions, and their laws."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given as for_all
from hypothesis import strategies as st
from tests.animation.dense_levels import solve_dense

from brachiate.animation.resolve import Level, VelocityMetric, null_space, solve


def random_problem(seed: int, dense: bool):
    """Levels of any rank: rows that repeat each other, and that depend on those of levels above."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 9))
    T = rng.normal(size=(n, n)) + 3.0 * np.eye(n) if dense else rng.uniform(0.3, 3.0, n)
    levels, above = [], np.zeros((0, n))
    for number in range(int(rng.integers(1, 5))):
        G = rng.normal(size=(int(rng.integers(1, 5)), n))
        if rng.random() < 0.4:
            G[0] = rng.normal(size=len(above)) @ above if len(above) else G[-1]
        exact = number == 0 or rng.random() < 0.3
        levels.append(Level(G, rng.normal(size=len(G)), None if exact else rng.uniform(0, 0.1, len(G))))
        above = np.vstack([above, G])
    return levels, VelocityMetric(T, rng.normal(size=n))


@for_all(st.integers(0, 10**6), st.booleans())
def test_levels_are_those_of_singular_value_decompositions(seed, dense):
    levels, metric = random_problem(seed, dense)
    x, held = solve(levels, metric)
    expected = solve_dense(levels, metric)
    assert np.allclose(x, expected, rtol=1e-7, atol=1e-7 * max(1.0, abs(expected).max()))
    assert not held.any()


def test_lower_levels_leave_higher_ones_alone():
    rng = np.random.default_rng(1)
    first, second = Level(rng.normal(size=(3, 7)), rng.normal(size=3)), Level(rng.normal(size=(3, 7)), rng.normal(size=3), np.zeros(3))
    x, _ = solve([first, second], VelocityMetric(np.ones(7), np.zeros(7)))
    assert np.allclose(first.G @ x, first.y, atol=1e-12)
    assert np.allclose(second.G @ x, second.y, atol=1e-9)
    third = Level(rng.normal(size=(4, 7)), rng.normal(size=4), np.zeros(4))  # more than is left free
    y, _ = solve([first, second, third], VelocityMetric(np.ones(7), np.zeros(7)))
    assert np.allclose(second.G @ y, second.y, atol=1e-9)
    assert np.linalg.norm(third.G @ y - third.y) < np.linalg.norm(third.G @ x - third.y)


def test_truncated_levels_leave_out_small_singular_values():
    G = np.array([[1.0, 0.0, 0.0], [1.0, 1e-3, 0.0]])  # nearly dependent: 0.0007 apart
    y = np.array([1.0, 2.0])
    bounded, _ = solve([Level(G, y, np.zeros(2), truncated=True)], VelocityMetric(np.ones(3), np.zeros(3)))
    assert np.allclose(bounded, [1.5, 0, 0], atol=1e-2)
    exact, _ = solve([Level(G, y)], VelocityMetric(np.ones(3), np.zeros(3)))
    assert np.allclose(exact, [1.0, 1e3, 0.0])
    none, _ = solve([Level(1e-4 * G[:1], y[:1], np.zeros(1), truncated=True)], VelocityMetric(np.ones(3), np.zeros(3)))
    assert not none.any()  # shorter than VANISHING


@for_all(st.integers(0, 10**6))
def test_bounds_are_kept_and_exact_levels_before_them(seed):
    rng = np.random.default_rng(seed)
    n = 6
    exact = Level(rng.normal(size=(2, n)), rng.normal(size=2))
    wanted = Level(rng.normal(size=(2, n)), 3.0 * rng.normal(size=2), np.zeros(2))
    inside = exact.G.T @ np.linalg.solve(exact.G @ exact.G.T, exact.y)
    bounds = inside - rng.uniform(0.2, 1.0, n), inside + rng.uniform(0.2, 1.0, n)
    metric = VelocityMetric(np.ones(n), inside)
    x, held = solve([exact, wanted], metric, bounds)
    assert np.allclose(exact.G @ x, exact.y, atol=1e-9)
    assert held.sum() <= n
    # Coordinates that are held are at a bound, as far as the exact level lets them; one more bound than it leaves free may be missed.
    if held.sum() <= n - 2:
        assert (x >= bounds[0] - 1e-6).all()
        assert (x <= bounds[1] + 1e-6).all()
        at = np.minimum(abs(x - bounds[0]), abs(x - bounds[1]))
        assert (at[held] < 1e-9).all()
    if not held.any():
        assert np.allclose(x, solve([exact, wanted], metric)[0])


def test_null_space_is_orthonormal_and_complete():
    B = np.array([[1.0, 2.0, 0.0, 0.0], [2.0, 4.0, 0.0, 0.0]])
    N = null_space(B)
    assert N.shape == (4, 3)
    assert np.allclose(N.T @ N, np.eye(3))
    assert np.allclose(B @ N, 0)


@pytest.mark.parametrize("dense", [False, True])
def test_torque_and_velocity_metrics_take_the_nearest(dense):
    rng = np.random.default_rng(2)
    T = rng.normal(size=(5, 5)) + 2 * np.eye(5) if dense else rng.uniform(0.5, 2, 5)
    preferred, level = rng.normal(size=5), Level(rng.normal(size=(2, 5)), rng.normal(size=2))
    x, _ = solve([level], VelocityMetric(T, preferred))
    M = np.linalg.inv(T @ T.T) if dense else np.diag(T**-2.0)
    for direction in null_space(level.G).T:  # stationary: M (x - x₀) is orthogonal to what the level leaves free
        assert abs(direction @ M @ (x - preferred)) < 1e-9 * np.linalg.norm(M @ (x - preferred))


def test_coordinates_are_held_at_the_bound_that_they_would_pass():
    wanted = Level(np.eye(3), np.array([5.0, -5.0, 0.5]), np.zeros(3))
    x, held = solve([wanted], VelocityMetric(np.ones(3), np.zeros(3)), (np.array([-1.0, -2.0, -1.0]), np.array([1.0, 2.0, 1.0])))
    assert np.allclose(x, [1.0, -2.0, 0.5], atol=1e-5)
    assert held.tolist() == [True, True, False]
    # What one coordinate may not do, the others do: a sum is reached within the bounds.
    total = Level(np.ones((1, 3)), np.array([3.0]), np.zeros(1))
    x, _ = solve([total], VelocityMetric(np.ones(3), np.zeros(3)), (np.full(3, -9.0), np.array([0.2, 9.0, 9.0])))
    assert np.allclose(x, [0.2, 1.4, 1.4], atol=1e-5)
