"""Whole-body QP: KKT conditions, comparison with DAQP, on random problems and on those of a filtered walk; degenerate cases."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from tests.filter.qp_problems import Problem, check_daqp_agrees, check_kkt, fast_only, solved

from brachiate import figures, procedural
from brachiate.filter.offline import filter_motion
from brachiate.filter.tracking import whole_body_controller
from brachiate.filter.whole_body.principal_pivoting import MAX_BLOCK_PIVOTS
from brachiate.filter.whole_body.qp import EQUALITY, INEQUALITY, RAYS, ROWS, SOLVES, STRIDE
from brachiate.model.status import OK
from brachiate.retargeting.retarget import retarget

N, K = 20, 12  # accelerations, forces


def random_problem(seed: int, rows: int = 14, bounds: int = 8, forces: int = K) -> Problem:
    """Hard and soft equalities, and inequalities; some have forces."""
    rng = np.random.default_rng(seed)
    C, D = rng.standard_normal((rows + bounds, N)), np.zeros((rows + bounds, forces))
    D[:6] = 0.1 * rng.standard_normal((6, forces))
    D[rows : rows + bounds // 4] = 0.1 * rng.standard_normal((bounds // 4, forces))
    compliance = np.where(np.arange(rows + bounds) < rows // 2, 0.0, 1.0 / rng.uniform(1.0, 1000.0, rows + bounds))
    compliance[rows:] = 1e-6
    kind = np.where(np.arange(rows + bounds) < rows, EQUALITY, INEQUALITY)
    rhs = rng.standard_normal(rows + bounds)
    return Problem(rng.uniform(0.5, 2.0, N), rng.standard_normal(N), C, D, kind, compliance, rhs, 1e-3)


def walk(seconds: float):
    """Walk of a figure with one contact link per foot."""
    return retarget(procedural.sample_motion("walk", speed=1.0, step_length=0.6, seconds=seconds), figures.human28()).motion


class Record(NamedTuple):
    """QP of a control step, its number of solves, feet in contact, and excess torque beyond the limits and the compliance of bounds."""

    problem: Problem
    solves: int
    feet: int
    excess: float


def excess_torque(controller) -> float:
    """Torque beyond its limit over the diagonal of the mass matrix, less the compliance of the largest multiplier [rad/s²]."""
    P, K, n = controller.qp, controller.control, len(controller.qp.weights)
    A, rays = K.M.reshape(n, n), int(P.counts[RAYS])
    torque = A @ P.a + K.bias - P.rho[:rays] @ K.ray_force.reshape(-1, n)[:rays]
    return float(((np.abs(torque) - K.effort) / np.diagonal(A))[K.unactuated == 0].max() - 1.1e-6 * P.multipliers[: P.counts[ROWS]].max())


@pytest.fixture(scope="module")
def records():
    """QPs of a walk that needs the full joint torques, in part at the limits of the motors."""
    found: list[Record] = []
    with pytest.MonkeyPatch.context() as patched:
        inner, outer = whole_body_controller.solve_qp, whole_body_controller.WholeBodyController.solve

        def solve_and_record(controller, *arguments):
            def recording(*keys):
                status, P = inner(*keys), controller.qp
                assert status == OK
                rows, forces, n = int(P.counts[ROWS]), int(P.counts[RAYS]), len(P.weights)
                C = P.C.reshape(n, P.counts[STRIDE])[:, :rows].T.copy()
                D = np.where(P.has_forces[:rows, None] == 1, P.D.reshape(-1, len(P.active_rays))[:rows, :forces], 0.0)
                kind, compliance, rhs = (x[:rows].copy() for x in (P.kind, P.compliance, P.rhs))
                problem = Problem(P.weights.copy(), P.target.copy(), C, D, kind, compliance, rhs, float(P.force_weight[0]))
                feet = int(np.count_nonzero(controller.control.supporting_corners))
                found.append(Record(problem, int(P.counts[SOLVES]), feet, excess_torque(controller)))
                return status

            patched.setattr(whole_body_controller, "solve_qp", recording)
            return outer(controller, *arguments)

        patched.setattr(whole_body_controller.WholeBodyController, "solve", solve_and_record)
        filter_motion(walk(2.0), mode="preview", torque_scale=0.6, progress=False)
    return found


@pytest.mark.parametrize("seed", range(20))
def test_kkt_conditions_hold(seed):
    # Fails if any force or multiplier has the wrong sign, or the gradient does not vanish.
    problem = random_problem(seed)
    check_kkt(problem, solved(problem))


@pytest.mark.parametrize("seed", range(20))
def test_solution_agrees_with_daqp(seed):
    problem = random_problem(seed)
    check_daqp_agrees(problem, solved(problem))


@pytest.mark.parametrize("seed", [1, 4, 5])
def test_the_solution_does_not_depend_on_the_initial_active_set(seed):
    # Fails if pivoting cycles, ends with a wrong sign, or the solution depends on the pivots.
    problem = random_problem(seed, bounds=20, forces=20)
    first = solved(problem)
    found = []
    for guess in range(3):
        P = solved(problem, guess=guess)
        check_kkt(problem, P)
        for name in ("a", "rho", "multipliers", "active_rows", "active_rays"):
            assert np.array_equal(getattr(P, name), getattr(first, name)), name
        found.append(int(P.counts[SOLVES]))
    assert max(found) > MAX_BLOCK_PIVOTS
    assert max(found) < 200


def torque_bounds(problem: Problem) -> int:
    return int(((problem.kind == INEQUALITY) & problem.D.any(axis=1)).sum())


@fast_only
def test_kkt_conditions_hold_in_all_control_steps(records):
    for problem, *_ in records:
        check_kkt(problem, solved(problem))


@fast_only
def test_control_steps_take_few_solves(records):
    # Block pivoting alone cycles while torques are at their limits in double support: some steps did so here, and pivoting one index at
    # a time took hundreds of solves, without convergence for some.
    hard = [problem for problem, solves, feet, _ in records if solves > MAX_BLOCK_PIVOTS and feet == 2]
    assert sum(bool(torque_bounds(problem)) for problem in hard) > 2
    for problem in hard:
        P = solved(problem)
        assert P.counts[SOLVES] < 120  # cold start
        check_daqp_agrees(problem, P)
    solves = np.array([each.solves for each in records])
    assert solves.max() < 120
    assert solves.mean() < 6


@fast_only
def test_torque_bounds_are_added_only_when_violated(records):
    # Of 28 joints with two bounds each few are at a limit: fails if bounds are added without need, kept when inactive, or left out.
    made = [torque_bounds(each.problem) for each in records]
    assert 0 < max(made) < 14
    assert np.mean(made) < 3
    assert max(each.excess for each in records) < 1e-6


@fast_only
def test_torques_stay_within_limits_and_results_are_reproducible():
    motion = walk(0.4)
    first, second = (filter_motion(motion, torque_scale=0.6, mode="preview", progress=False) for _ in range(2))
    assert max(first.peak_torque_shares.values()) == pytest.approx(0.6)  # of the figure's own torque limits
    assert np.array_equal(first.motion.q, second.motion.q)
    for name, torque in first.joint_torques.items():
        assert np.array_equal(torque, second.joint_torques[name]), name


def test_a_warm_start_from_the_solution_takes_one_solve():
    problem = random_problem(3)
    P = solved(problem)
    a = P.a.copy()
    assert P.counts[SOLVES] > 1
    P = solved(problem, qp=P)
    assert P.counts[SOLVES] == 1
    assert np.array_equal(P.a, a)


def test_without_rows_the_target_is_the_solution():
    weights, target, *_ = random_problem(0)
    none = np.zeros(0)
    P = solved(Problem(weights, target, np.zeros((0, N)), np.zeros((0, K)), none.astype(int), none, none, 1.0))
    assert np.array_equal(P.a, target)
    assert not P.rho.any()


def test_redundant_rows_share_their_multiplier():
    # As of two contact links of one foot: without regularization the matrix would be singular.
    problem = random_problem(5, rows=6, bounds=2)
    once = solved(problem).a.copy()
    twice = problem._replace(**{name: np.concatenate((x, x[:2])) for name in Problem._fields[2:7] for x in [getattr(problem, name)]})
    assert np.abs(solved(twice).a - once).max() < 1e-6 * np.abs(once).max()


def test_contradicting_bounds_are_violated_equally():
    C = np.zeros((2, N))
    C[0, 0], C[1, 0] = 1.0, -1.0
    both = np.full(2, INEQUALITY), np.full(2, 1e-6), np.array((1.0, 1.0))  # a ≥ 1 and a ≤ −1
    P = solved(Problem(np.ones(N), np.zeros(N), C, np.zeros((2, K)), *both, 1.0))
    assert P.a[0] == pytest.approx(0.0, abs=1e-12)


def test_equivalent_rays_share_the_force():
    row = np.array([EQUALITY]), np.array([0.0]), np.array([6.0])
    P = solved(Problem(np.ones(N), np.zeros(N), np.zeros((1, N)), np.full((1, K), 0.5), *row, 1e-3))
    assert np.ptp(P.rho) < 1e-9
    assert P.rho.sum() * 0.5 == pytest.approx(6.0, rel=1e-9)
