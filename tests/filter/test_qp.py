"""The optimizer: conditions of the least, against DAQP, on programs made up and met by the filter, and in odd cases."""

from __future__ import annotations

from typing import NamedTuple

import daqp
import numpy as np
import pytest

from brachiate import figures, procedural
from brachiate.compiled import MODE, Handle
from brachiate.filter.offline import filter_motion
from brachiate.filter.tracking import whole_body_controller
from brachiate.filter.whole_body.qp import (
    AT_LEAST,
    CLOSE,
    EQUAL,
    NOTHING,
    RAYS,
    ROWS,
    ROWS_BEFORE,
    SOLVES,
    STIFF,
    STRIDE,
    TRIES,
    program_for,
    solve_program,
)
from brachiate.model.arrays import OK
from brachiate.motion.motion import motion_of
from brachiate.retargeting.retarget import retarget

N, K = 20, 12  # accelerations, forces
ROUND_OFF = 1e-12  # of the sizes of all that is added up
fast_only = pytest.mark.skipif(MODE != "fast", reason="the filter is compiled for this")


class Problem(NamedTuple):
    """As the optimizer has it, without room to spare."""

    weight: np.ndarray
    wish: np.ndarray
    C: np.ndarray
    D: np.ndarray
    kind: np.ndarray
    give: np.ndarray
    want: np.ndarray
    light: float


def random_problem(seed: int, rows: int = 14, bounds: int = 8, forces: int = K) -> Problem:
    """Rows that do not give, rows that do, and bounds; some pull at forces."""
    rng = np.random.default_rng(seed)
    C, D = rng.standard_normal((rows + bounds, N)), np.zeros((rows + bounds, forces))
    D[:6] = 0.1 * rng.standard_normal((6, forces))
    D[rows : rows + bounds // 4] = 0.1 * rng.standard_normal((bounds // 4, forces))
    give = np.where(np.arange(rows + bounds) < rows // 2, 0.0, 1.0 / rng.uniform(1.0, 1000.0, rows + bounds))
    give[rows:] = 1e-6
    kind = np.where(np.arange(rows + bounds) < rows, EQUAL, AT_LEAST)
    want = rng.standard_normal(rows + bounds)
    return Problem(rng.uniform(0.5, 2.0, N), rng.standard_normal(N), C, D, kind, give, want, 1e-3)


def solved(problem: Problem, program=None, guess: int | None = None):
    """The program that has the solution, found from what it had before, from nothing, or from a guess at random."""
    rows, forces = problem.D.shape
    P = program or program_for(len(problem.weight), max(rows, 1), max(forces, 1))
    P.count[ROWS], P.count[RAYS], P.light[0] = rows, forces, problem.light
    P.weight[:], P.wish[:] = problem.weight, problem.wish
    P.kind[:rows], P.give[:rows], P.want[:rows], P.pulls[:rows] = problem.kind, problem.give, problem.want, problem.D.any(axis=1)
    P.C.reshape(len(P.weight), -1)[:, :rows] = problem.C.T
    P.D.reshape(-1, len(P.lives))[:rows, :forces] = problem.D
    if guess is not None:
        rng = np.random.default_rng(guess)
        P.acts[:rows], P.lives[:forces] = rng.integers(0, 2, rows), rng.integers(0, 2, forces)
        P.count[ROWS_BEFORE : ROWS_BEFORE + 2] = rows, forces
    handle = Handle(P)
    assert solve_program(handle.key) == OK
    return P


def given(problem: Problem) -> np.ndarray:
    """By how much rows give for a pull of one: those that do not do so by a part of their own size."""
    return problem.give + STIFF * np.einsum("rn,rn,n->r", problem.C, problem.C, 1.0 / problem.weight) + NOTHING


def check_least(problem: Problem, P) -> None:
    """The slope vanishes, rows are kept, and nothing is on the wrong side: to round-off, with what the rows give counted in."""
    weight, wish, C, D, kind, _, want, light = problem
    rows, forces = D.shape
    a, rho, y = P.a, P.rho[:forces], P.y[:rows]
    own = given(problem)
    left = C @ a + D @ rho + own * y - want
    slope = light * rho - D.T @ y
    strength = np.abs(y) @ (np.abs(C).max(axis=1) + np.abs(D).max(axis=1, initial=0.0)) + 1.0
    size = np.abs(C) @ (np.abs(wish) + np.abs(C).T @ np.abs(y) / weight) + np.abs(D) @ (np.abs(D).T @ np.abs(y) / light) + np.abs(want)
    assert np.abs(weight * (a - wish) - C.T @ y).max() < 1e-13 * (strength + np.abs(weight * wish).max())
    equal, bound = kind == EQUAL, kind == AT_LEAST
    assert (np.abs(left) <= ROUND_OFF * size)[equal].all()
    assert (left >= -CLOSE * (np.abs(want) + np.abs(C).max(axis=1, initial=0.0)) * max(np.abs(a).max(), 1.0))[bound].all()
    assert (y >= 0.0)[bound].all()
    assert (np.abs(left) <= ROUND_OFF * size)[bound & (y > 0.0)].all()
    assert (rho >= 0.0).all()
    assert (slope >= -CLOSE * light * max(rho.max(initial=0.0), 1.0)).all()
    assert np.abs(slope[rho > 0.0]).max(initial=0.0) < 1e-13 * strength


def by_daqp(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """Accelerations and forces by another solver; amounts by which rows give are variables, too, in units that make all weights 1."""
    weight, wish, C, D, kind, _, want, light = problem
    rows, forces = D.shape
    n, size = len(weight), len(weight) + forces + rows
    unit = np.concatenate((weight, np.full(forces, light), 1.0 / given(problem))) ** -0.5
    A = np.ascontiguousarray(np.hstack((C, D, np.eye(rows))) * unit)
    f = np.concatenate((-weight * wish, np.zeros(forces + rows))) * unit
    lower = np.concatenate((np.full(n, -1e30), np.zeros(forces), np.full(rows, -1e30), want))
    upper = np.concatenate((np.full(size, 1e30), np.where(kind == EQUAL, want, 1e30)))
    sense = np.concatenate((np.zeros(size), np.where(kind == EQUAL, 5, 0))).astype(np.int32)
    x, _, flag, _ = daqp.solve(np.eye(size), f, A, upper, lower, sense, primal_tol=1e-9)
    assert flag >= 1
    return x[:n] * unit[:n], x[n : n + forces] * unit[n : n + forces]


def check_daqp_agrees(problem: Problem, P) -> None:
    a, rho = by_daqp(problem)
    assert np.abs(P.a - a).max() < 1e-6 * max(np.abs(a).max(), 1.0)
    assert np.abs(P.rho[: len(rho)] - rho).max(initial=0.0) < 1e-5 * max(np.abs(rho).max(initial=0.0), 1.0)


def walk(seconds: float):
    """A walk of a figure with one sole a foot."""
    return retarget(motion_of(procedural.make("walk", speed=1.0, step=0.6, seconds=seconds)), figures.human28(), progress=False)


class Met(NamedTuple):
    """A program, the solves it took, how many feet stood, and by how much motors are asked for more than they have and bounds give."""

    problem: Problem
    solves: int
    feet: int
    beyond: float


def beyond(its) -> float:
    """Torque beyond a motor's limit, in accelerations of its own inertia, less what a bound gives for the strongest pull [rad/s²]."""
    P, K, n = its.program, its.control, len(its.program.weight)
    A, rays = K.A.reshape(n, n), int(P.count[RAYS])
    torque = A @ P.a + K.b - P.rho[:rays] @ K.F.reshape(-1, n)[:rays]
    return float(((np.abs(torque) - K.effort) / np.diagonal(A))[K.passive == 0].max() - 1.1e-6 * P.y[: P.count[ROWS]].max())


@pytest.fixture(scope="module")
def met():
    """Programs of a walk for which motors have to do what they can."""
    taken: list[Met] = []
    with pytest.MonkeyPatch.context() as patched:
        inner, outer = whole_body_controller.decide, whole_body_controller.Body.decide

        def noted(its, *given):
            def taking(*keys):
                status, P = inner(*keys), its.program
                assert status == OK
                rows, forces, n = int(P.count[ROWS]), int(P.count[RAYS]), len(P.weight)
                C = P.C.reshape(n, P.count[STRIDE])[:, :rows].T.copy()
                D = np.where(P.pulls[:rows, None] == 1, P.D.reshape(-1, len(P.lives))[:rows, :forces], 0.0)
                kind, give, want = (x[:rows].copy() for x in (P.kind, P.give, P.want))
                problem = Problem(P.weight.copy(), P.wish.copy(), C, D, kind, give, want, float(P.light[0]))
                taken.append(Met(problem, int(P.count[SOLVES]), int(np.count_nonzero(its.control.stands)), beyond(its)))
                return status

            patched.setattr(whole_body_controller, "decide", taking)
            return outer(its, *given)

        patched.setattr(whole_body_controller.Body, "decide", noted)
        filter_motion(walk(1.0), mode="preview", progress=False)
    return taken


@pytest.mark.parametrize("seed", range(20))
def test_conditions_of_the_least_hold(seed):
    # Fails if any force or bound is on the wrong side, or the slope does not vanish.
    problem = random_problem(seed)
    check_least(problem, solved(problem))


@pytest.mark.parametrize("seed", range(20))
def test_daqp_finds_the_same(seed):
    problem = random_problem(seed)
    check_daqp_agrees(problem, solved(problem))


@pytest.mark.parametrize("seed", [1, 4, 5])
def test_a_bad_guess_costs_solves_and_changes_nothing(seed):
    # Fails if pivoting goes in circles, ends with anything on the wrong side, or what is found depends on the way to it.
    problem = random_problem(seed, bounds=20, forces=20)
    first = solved(problem)
    taken = []
    for guess in range(3):
        P = solved(problem, guess=guess)
        check_least(problem, P)
        for name in ("a", "rho", "y", "acts", "lives"):
            assert np.array_equal(getattr(P, name), getattr(first, name)), name
        taken.append(int(P.count[SOLVES]))
    assert max(taken) > TRIES
    assert max(taken) < 200


def torque_bounds(problem: Problem) -> int:
    return int(((problem.kind == AT_LEAST) & problem.D.any(axis=1)).sum())


@fast_only
def test_conditions_hold_in_all_that_the_filter_meets(met):
    for problem, *_ in met:
        check_least(problem, solved(problem))


@fast_only
def test_what_the_filter_meets_takes_few_solves(met):
    # Exchanging all that are wrong goes round in circles while motors are at their limits with both feet on the ground: some did so here,
    # and one at a time is then hundreds of solves, without an end for some.
    hard = [problem for problem, solves, feet, _ in met if solves > TRIES and feet == 2]
    assert sum(bool(torque_bounds(problem)) for problem in hard) > 2
    for problem in hard:
        P = solved(problem)
        assert P.count[SOLVES] < 120  # from nothing
        check_daqp_agrees(problem, P)
    solves = np.array([each.solves for each in met])
    assert solves.max() < 120
    assert solves.mean() < 6


@fast_only
def test_bounds_of_torques_are_made_when_they_act(met):
    # Of 28 motors with two bounds each hardly any are at one: fails if bounds are made without need, or kept without, or left out.
    made = [torque_bounds(each.problem) for each in met]
    assert 0 < max(made) < 14
    assert np.mean(made) < 3
    assert max(each.beyond for each in met) < 1e-6


@fast_only
def test_torques_keep_to_their_limits_and_the_same_comes_out_again():
    motion = walk(0.4)
    first, second = (filter_motion(motion, strength=0.6, mode="preview", progress=False) for _ in range(2))
    assert max(first.effort_share.values()) == pytest.approx(0.6)  # of what the figure's own motors have
    assert np.array_equal(first.motion.q, second.motion.q)
    for name, torque in first.torques.items():
        assert np.array_equal(torque, second.torques[name]), name


def test_from_its_own_solution_it_takes_one_solve():
    problem = random_problem(3)
    P = solved(problem)
    a = P.a.copy()
    assert P.count[SOLVES] > 1
    P = solved(problem, program=P)
    assert P.count[SOLVES] == 1
    assert np.array_equal(P.a, a)


def test_without_rows_wishes_come_true():
    weight, wish, *_ = random_problem(0)
    none = np.zeros(0)
    P = solved(Problem(weight, wish, np.zeros((0, N)), np.zeros((0, K)), none.astype(int), none, none, 1.0))
    assert np.array_equal(P.a, wish)
    assert not P.rho.any()


def test_rows_that_say_the_same_share():
    # Two soles of one foot do: without room for it the matrix would be singular.
    problem = random_problem(5, rows=6, bounds=2)
    once = solved(problem).a.copy()
    twice = problem._replace(**{name: np.concatenate((x, x[:2])) for name in Problem._fields[2:7] for x in [getattr(problem, name)]})
    assert np.abs(solved(twice).a - once).max() < 1e-6 * np.abs(once).max()


def test_bounds_that_contradict_each_other_meet_in_the_middle():
    C = np.zeros((2, N))
    C[0, 0], C[1, 0] = 1.0, -1.0
    both = np.full(2, AT_LEAST), np.full(2, 1e-6), np.array((1.0, 1.0))  # a ≥ 1 and a ≤ −1
    P = solved(Problem(np.ones(N), np.zeros(N), C, np.zeros((2, K)), *both, 1.0))
    assert P.a[0] == pytest.approx(0.0, abs=1e-12)


def test_many_forces_that_could_all_do_it_share():
    row = np.array([EQUAL]), np.array([0.0]), np.array([6.0])
    P = solved(Problem(np.ones(N), np.zeros(N), np.zeros((1, N)), np.full((1, K), 0.5), *row, 1e-3))
    assert np.ptp(P.rho) < 1e-9
    assert P.rho.sum() * 0.5 == pytest.approx(6.0, rel=1e-9)
