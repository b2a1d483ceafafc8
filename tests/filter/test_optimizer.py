"""The optimizer: conditions of the least, against DAQP, and in odd cases."""

from __future__ import annotations

import daqp
import numpy as np
import pytest

from brachiate.compiled import Handle
from brachiate.filter.optimizer import AT_LEAST, EQUAL, RAYS, ROWS, SOLVES, program_for, solve_program
from brachiate.filter.resort import find_by_steps
from brachiate.model.rooms import OK

N, K = 20, 12  # accelerations, forces


def random_problem(seed: int, rows: int = 14, bounds: int = 8):
    """Rows that do not give, rows that do, and bounds; some pull at forces."""
    rng = np.random.default_rng(seed)
    C, D = rng.standard_normal((rows + bounds, N)), np.zeros((rows + bounds, K))
    D[:6] = 0.1 * rng.standard_normal((6, K))
    D[rows : rows + 2] = 0.1 * rng.standard_normal((2, K))
    give = np.where(np.arange(rows + bounds) < rows // 2, 0.0, 1.0 / rng.uniform(1.0, 1000.0, rows + bounds))
    give[rows:] = 1e-6
    kind = np.where(np.arange(rows + bounds) < rows, EQUAL, AT_LEAST)
    want = rng.standard_normal(rows + bounds)
    return rng.uniform(0.5, 2.0, N), rng.standard_normal(N), C, D, kind, give, want, 1e-3


def solved(weight, wish, C, D, kind, give, want, light, program=None):
    """Solution of such a problem, and the program that has it."""
    P = program or program_for(N, 30, K)
    rows = len(want)
    P.count[ROWS], P.count[RAYS], P.light[0] = rows, K, light
    P.weight[:], P.wish[:] = weight, wish
    P.kind[:rows], P.give[:rows], P.want[:rows], P.pulls[:rows] = kind, give, want, np.abs(D).any(axis=1)
    P.C.reshape(N, -1)[:, :rows] = C.T
    P.D.reshape(-1, K)[:rows] = D
    handle = Handle(P)
    assert solve_program(handle.key) == OK
    return P


@pytest.mark.parametrize("seed", range(20))
def test_conditions_of_the_least_hold(seed):
    # Fails if any force or bound is on the wrong side, or the slope does not vanish.
    weight, wish, C, D, kind, give, want, light = problem = random_problem(seed)
    P = solved(*problem)
    a, rho, y = P.a, P.rho, P.y[: len(want)]
    size = np.abs(y).max() * np.abs(C).max() * len(want)
    assert np.abs(weight * (a - wish) - C.T @ y).max() < 1e-12 * size
    left = C @ a + D @ rho + give * y - want
    slope = light * rho - D.T @ y
    close = 1e-7 * max(np.abs(y).max(), 1.0)
    assert np.abs(left[kind == EQUAL]).max() < close
    bounds = kind == AT_LEAST
    assert left[bounds].min() > -close
    assert y[bounds].min() >= 0.0
    assert np.abs(left[bounds] * y[bounds]).max() < close * max(np.abs(y).max(), 1.0)
    assert rho.min() >= 0.0
    assert slope.min() > -close
    assert np.abs(slope * rho).max() < close * max(rho.max(), 1.0)


@pytest.mark.parametrize("seed", range(20))
def test_daqp_finds_the_same(seed):
    weight, wish, C, D, kind, give, want, light = problem = random_problem(seed)
    P = solved(*problem)
    # With the amounts by which rows give as variables of their own, all rows are rows of DAQP
    rows = len(want)
    H = np.diag(np.concatenate((weight, np.full(K, light), np.where(give > 0, 1.0 / np.maximum(give, 1e-12), 1.0))))
    f = np.concatenate((-weight * wish, np.zeros(K + rows)))
    A = np.hstack((C, D, np.diag((give > 0).astype(float))))
    lower = np.concatenate((np.full(N, -1e30), np.zeros(K), np.full(rows, -1e30), want))
    upper = np.concatenate((np.full(N + K + rows, 1e30), np.where(kind == EQUAL, want, 1e30)))
    sense = np.zeros(len(upper), np.int32)
    sense[N + K + rows :][kind == EQUAL] = 5
    x, _, flag, _ = daqp.solve(H, f, A, upper, lower, sense)
    assert flag == 1
    assert np.abs(P.a - x[:N]).max() < 1e-6 * max(np.abs(x[:N]).max(), 1.0)
    assert np.abs(P.rho - x[N : N + K]).max() < 1e-5 * max(np.abs(x[N : N + K]).max(), 1.0)


@pytest.mark.parametrize("seed", range(20))
def test_the_resort_finds_the_same_and_what_acts(seed):
    # Fails if the resort solves another problem, or leaves a wrong beginning for the next one.
    P = solved(*random_problem(seed))
    a, rho = P.a.copy(), P.rho.copy()
    P.a[:], P.rho[:], P.acts[:], P.lives[:] = 0.0, 0.0, 0, 0
    find_by_steps(P)
    assert np.abs(P.a - a).max() < 1e-6 * max(np.abs(a).max(), 1.0)
    assert np.abs(P.rho - rho).max() < 1e-5 * max(rho.max(), 1.0)
    assert solve_program(Handle(P).key) == OK
    assert P.count[SOLVES] == 1


def test_from_its_own_solution_it_takes_one_solve():
    problem = random_problem(3)
    P = solved(*problem)
    a = P.a.copy()
    assert P.count[SOLVES] > 1
    P = solved(*problem, program=P)
    assert P.count[SOLVES] == 1
    assert np.array_equal(P.a, a)


def test_without_rows_wishes_come_true():
    weight, wish, *_ = random_problem(0)
    P = solved(weight, wish, np.zeros((0, N)), np.zeros((0, K)), np.zeros(0, int), np.zeros(0), np.zeros(0), 1.0)
    assert np.array_equal(P.a, wish)
    assert not P.rho.any()


def test_rows_that_say_the_same_share():
    # Two soles of one foot do: without room for it the matrix would be singular.
    weight, wish, C, D, kind, give, want, light = random_problem(5, rows=6, bounds=2)
    once = solved(weight, wish, C, D, kind, give, want, light).a.copy()
    twice = [np.concatenate((x, x[:2])) for x in (C, D, kind, give, want)]
    again = solved(weight, wish, twice[0], twice[1], twice[2], twice[3], twice[4], light).a
    assert np.abs(again - once).max() < 1e-6 * np.abs(once).max()


def test_bounds_that_contradict_each_other_meet_in_the_middle():
    C = np.zeros((2, N))
    C[0, 0], C[1, 0] = 1.0, -1.0
    give = np.full(2, 1e-6)
    P = solved(np.ones(N), np.zeros(N), C, np.zeros((2, K)), np.full(2, AT_LEAST), give, np.array((1.0, 1.0)), 1.0)  # a ≥ 1 and a ≤ −1
    assert P.a[0] == pytest.approx(0.0, abs=1e-12)


def test_many_forces_that_could_all_do_it_share():
    D = np.full((1, K), 0.5)
    P = solved(np.ones(N), np.zeros(N), np.zeros((1, N)), D, np.array([EQUAL]), np.array([0.0]), np.array([6.0]), 1e-3)
    assert np.ptp(P.rho) < 1e-9
    assert P.rho.sum() * 0.5 == pytest.approx(6.0, rel=1e-9)
