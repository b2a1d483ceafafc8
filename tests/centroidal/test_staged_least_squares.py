"""Staged least squares: the gradient is zero, a dense QP solver agrees, and degenerate problems are solved."""

from __future__ import annotations

import daqp
import numpy as np
import pytest

from brachiate.centroidal.staged_least_squares import OPTIMAL, STATUS, StagedLeastSquares
from brachiate.errors import ArgumentError


class Problem:
    """A random problem, dense and staged."""

    def __init__(self, seed, N=8, nx=5, nu=3, rows=9, stiff=30.0, contradictory=False):
        rng = np.random.default_rng(seed)
        self.N, self.nx, self.nu = N, nx, nu
        self.stages = StagedLeastSquares(N, nx, nu, rows)
        self.start = rng.standard_normal(nx)
        self.steps, self.rows = [], []
        for k in range(N + 1):
            u = int(rng.integers(0, nu + 1)) if k < N else 0
            if k < N:
                F = np.eye(nx) + 0.2 * rng.standard_normal((nx, nx)) * (rng.random((nx, nx)) < 0.4)
                G, f = 0.4 * rng.standard_normal((nx, u)), 0.1 * rng.standard_normal(nx)
                self.steps.append((F, G, f))
                self.stages.set_step(k, F, G, f)
            n = int(rng.integers(u, rows + 1))
            E = rng.standard_normal((n, nx)) * (rng.random((n, nx)) < 0.5)
            D = rng.standard_normal((n, u)) * (rng.random((n, u)) < 0.5)
            e, one = rng.standard_normal(n), rng.random(n) < 0.6
            E[:u], D[:u], one[:u] = 0.0, 0.3 * np.eye(u), False  # makes the solution unique
            if contradictory and n >= u + 2:
                E[-1], D[-1], e[-1] = -E[-2], -D[-2], -e[-2] - 1.0  # r ≥ 1 and r ≤ 0
                one[-2:] = True
            size = np.where(one, stiff, 1.0)
            self.rows.append((E * size[:, None], D * size[:, None], e * size, one))
            self.stages.set_rows(k, *self.rows[-1])

    def all_rows(self):
        """Dense residuals r = J u + b over the stacked controls, and which rows are one-sided."""
        total = sum(G.shape[1] for _, G, _ in self.steps)
        X, c, at = np.zeros((self.nx, total)), self.start.copy(), 0
        J, b = [], []
        for k, (E, D, e, _) in enumerate(self.rows):
            part = E @ X
            part[:, at : at + D.shape[1]] += D
            J.append(part)
            b.append(E @ c - e)
            if k < self.N:
                F, G, f = self.steps[k]
                X, c = F @ X, F @ c + f
                X[:, at : at + G.shape[1]] += G
                at += G.shape[1]
        return np.vstack(J), np.concatenate(b), np.concatenate([one for *_, one in self.rows])

    def controls(self):
        return np.concatenate([u[: G.shape[1]] for u, (_, G, _) in zip(self.stages.u, self.steps, strict=True)])


def total(J, b, one, u):
    r = J @ u + b
    return 0.5 * np.sum(np.where(one, np.maximum(r, 0.0), r) ** 2)


def gradient(J, b, one, u):
    r = J @ u + b
    return J.T @ np.where(one, np.maximum(r, 0.0), r)


@pytest.mark.parametrize("seed", range(12))
def test_gradient_is_zero(seed):
    problem = Problem(seed)
    assert problem.stages.solve(problem.start) == OPTIMAL
    J, b, one = problem.all_rows()
    u = problem.controls()
    size = np.abs(J).T @ np.abs(J @ u + b)
    assert np.abs(gradient(J, b, one, u)) == pytest.approx(0.0, abs=1e-10 * size.max())
    here = total(J, b, one, u)
    assert problem.stages.arrays.cost[0] == pytest.approx(here, rel=1e-10)
    rng = np.random.default_rng(seed)
    for _ in range(5):  # by finite differences
        d = 1e-6 * rng.standard_normal(len(u))
        high, low = total(J, b, one, u + d), total(J, b, one, u - d)
        assert high >= here * (1 - 1e-13)
        assert abs(high - low) <= 1e-12 * here + 1e-3 * (high + low - 2 * here)


@pytest.mark.parametrize("seed", range(8))
def test_states_satisfy_the_dynamics(seed):
    problem = Problem(seed)
    problem.stages.solve(problem.start)
    x, u = problem.stages.x, problem.stages.u
    assert x[0] == pytest.approx(problem.start, abs=0)
    for k, (F, G, f) in enumerate(problem.steps):
        assert x[k + 1] == pytest.approx(F @ x[k] + G @ u[k, : G.shape[1]] + f, abs=1e-12)


@pytest.mark.parametrize("seed", range(8))
def test_agrees_with_a_dense_solver(seed):
    problem = Problem(100 + seed)
    problem.stages.solve(problem.start)
    J, b, one = problem.all_rows()
    n, soft = J.shape[1], int(one.sum())
    # ½ |J₂ u + b₂|² + ½ |s|², J₁ u - s ≤ -b₁: a slack variable for every one-sided row
    H = np.zeros((n + soft, n + soft))
    H[:n, :n] = J[~one].T @ J[~one]
    H[n:, n:] = np.eye(soft)
    g = np.concatenate((J[~one].T @ b[~one], np.zeros(soft)))
    A = np.hstack((J[one], -np.eye(soft)))
    x, _, flag, _ = daqp.solve(H, g, A, -b[one], np.full(soft, -1e30), np.zeros(soft, np.int32))
    assert flag == 1
    assert problem.controls() == pytest.approx(x[:n], abs=1e-6 * np.abs(x[:n]).max())


@pytest.mark.parametrize("seed", range(6))
def test_warm_start_from_the_solution_takes_one_iteration(seed):
    problem = Problem(seed)
    problem.stages.solve(problem.start)
    found = problem.stages.u
    assert problem.stages.solve(problem.start, controls=found) == OPTIMAL
    assert problem.stages.arrays.iterations[0] == 1
    assert problem.stages.u == pytest.approx(found, abs=1e-12 * max(1.0, np.abs(found).max()))
    assert problem.stages.solve(problem.start, again=True) == OPTIMAL
    assert problem.stages.arrays.iterations[0] == 1


def test_deterministic():
    one, two = Problem(7), Problem(7)
    one.stages.solve(one.start)
    two.stages.solve(two.start)
    assert (one.stages.arrays.z == two.stages.arrays.z).all()
    one.stages.solve(one.start)
    assert (one.stages.arrays.z == two.stages.arrays.z).all()


@pytest.mark.parametrize("stiff", [1e4, 1e6, 1e8])
@pytest.mark.parametrize("seed", range(4))
def test_violation_of_stiff_rows(seed, stiff):
    problem = Problem(seed, stiff=stiff)
    assert problem.stages.solve(problem.start) == OPTIMAL
    J, b, one = problem.all_rows()
    # A row of stiffness k is violated by λ/k; λ does not grow with the stiffness.
    before = Problem(seed, stiff=stiff / 10)
    before.stages.solve(before.start)
    J0, b0, _ = before.all_rows()
    worst, worst_before = np.max((J @ problem.controls() + b)[one]) / stiff, np.max((J0 @ before.controls() + b0)[one]) * 10 / stiff
    assert worst <= max(worst_before * 1.01, 1e-15)


@pytest.mark.parametrize("seed", range(6))
def test_contradictory_rows(seed):
    problem = Problem(seed, contradictory=True, stiff=1e3)
    assert problem.stages.solve(problem.start) == OPTIMAL
    J, b, one = problem.all_rows()
    u = problem.controls()
    assert np.abs(gradient(J, b, one, u)) == pytest.approx(0.0, abs=1e-9 * (np.abs(J).T @ np.abs(J @ u + b)).max())


def test_one_stage_by_hand():
    stages = StagedLeastSquares(1, 1, 1, 2)
    stages.set_step(0, [[1.0]], [[1.0]], [0.0])
    stages.set_rows(0, [[0.0]], [[1.0]], [0.0], [False])
    stages.set_rows(1, [[-3.0]], np.zeros((1, 0)), [-6.0], [True])  # x ≥ 2 with three times the weight
    assert stages.solve([1.0]) == OPTIMAL
    # ½ u² + ½ 9 (1 - u)²
    assert stages.u[0, 0] == pytest.approx(0.9)
    assert stages.x[1, 0] == pytest.approx(1.9)
    assert stages.solve([5.0]) == OPTIMAL
    assert stages.u[0, 0] == 0.0


def test_inactive_rows_cost_nothing():
    stages = StagedLeastSquares(3, 2, 1, 2)
    for k in range(3):
        stages.set_step(k, np.eye(2), [[0.0], [1.0]], np.zeros(2))
        stages.set_rows(k, [[0.0, 0.0], [1.0, 0.0]], [[1.0], [0.0]], [0.0, 10.0], [False, True])
    assert stages.solve([1.0, 1.0]) == OPTIMAL
    assert stages.arrays.cost[0] == 0.0
    assert stages.arrays.iterations[0] == 1


def test_controls_without_influence_keep_their_values():
    stages = StagedLeastSquares(2, 1, 2, 2)
    for k in range(2):
        stages.set_step(k, np.eye(1), [[1.0, 0.0]], [0.0])
        stages.set_rows(k, [[0.0]], [[1.0, 0.0]], [1.0], [False])
    assert stages.solve([0.0], controls=np.full((2, 2), 0.25)) == OPTIMAL
    assert stages.u == pytest.approx(np.array([[1.0, 0.25], [1.0, 0.25]]))


def test_long_and_unstable():
    # open loop grows by e³⁰
    stages = StagedLeastSquares(300, 2, 1, 4)
    h = 0.1
    for k in range(300):
        stages.set_step(k, [[np.cosh(h), np.sinh(h)], [np.sinh(h), np.cosh(h)]], [[1 - np.cosh(h)], [-np.sinh(h)]], [0.0, 0.0])
        rows = [[1.0, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]]
        stages.set_rows(k, rows, [[0.0], [0.1], [1e4], [-1e4]], [np.sin(0.05 * k), 0.0, 1e4 * 1.05, 1e4 * 1.05], [False, False, True, True])
    stages.set_rows(300, [[100.0, 100.0]], np.zeros((1, 0)), [0.0], [False])
    assert stages.solve([0.3, 0.0]) == OPTIMAL
    assert np.abs(stages.u).max() <= 1.05 + 1e-3
    assert np.abs(stages.x[:, 0]).max() < 2.0


def test_not_finite():
    problem = Problem(1)
    problem.stages.arrays.rows[:] = np.nan
    assert STATUS[problem.stages.solve(problem.start)] == "not finite"


def test_refuses_invalid_sizes():
    stages = StagedLeastSquares(2, 2, 1, 2)
    with pytest.raises(ArgumentError, match="stage 0: 2 controls were given, at most 1 are possible"):
        stages.set_step(0, np.eye(2), np.zeros((2, 2)), np.zeros(2))
    with pytest.raises(ArgumentError, match="stage 1: 3 rows were given, at most 2 are possible"):
        stages.set_rows(1, np.zeros((3, 2)), np.zeros((3, 0)), np.zeros(3), False)
    with pytest.raises(ArgumentError, match="stage 3: there are stages 0 to 2"):
        stages.set_rows(3, np.zeros((1, 2)), np.zeros((1, 0)), np.zeros(1), False)
    with pytest.raises(ArgumentError, match="F: every number must be finite"):
        stages.set_step(0, np.full((2, 2), np.nan), np.zeros((2, 1)), np.zeros(2))
    with pytest.raises(ArgumentError, match="intervals must be at least 1"):
        StagedLeastSquares(0, 2, 1, 2)
    with pytest.raises(ArgumentError, match="start: expected 2 numbers"):
        stages.solve([1.0])
