"""Torque distribution in closed chains [CKC] 3.1: round trips, minimum norm, effort limits, underactuation.

Accelerations come from maximal coordinates (tests/maximal). Optima are verified by the Karush-Kuhn-Tucker conditions: the
problems are convex, so the conditions are sufficient.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.optimize import lsq_linear
from tests import maximal
from tests.constraints.closed_chain_equations import GRAVITY, MOTORS_16, eliminate_links, example, high_bar, loops_of

from brachiate import figures
from brachiate.constraints.coordinates import Coordinates, choose_coordinates
from brachiate.constraints.torque_distribution import TorqueDistribution, distribute_torques
from brachiate.errors import ArgumentError
from brachiate.validation import Array

SEEDS = range(12)


def largest(x: Array) -> float:
    return float(np.abs(x).max(initial=0.0))


class Case:
    """A random closed chain, its motors with weights, and the torques of the open tree for a motion."""

    def __init__(self, seed: int, n: int, rank: int, motors: int) -> None:
        rng = np.random.default_rng(seed)
        self.coordinates = choose_coordinates(rng.normal(size=(rank, n)), 10.0 ** rng.uniform(-1, 1, n))
        self.motors = np.sort(rng.choice(n, motors, replace=False))
        self.tau_O = rng.normal(0.0, 10.0, n)
        self.weights = 10.0 ** rng.uniform(-1, 1, motors)
        self.S = self.coordinates.S(self.motors)
        self.tau_G = self.coordinates.W.T @ self.tau_O
        self.rng = rng

    def distribute(self, effort: Array | float | None = None) -> TorqueDistribution:
        return distribute_torques(self.coordinates, self.tau_O, self.motors, effort=effort, weights=self.weights)


cases = st.tuples(st.integers(0, 2**32 - 1), st.integers(1, 9)).flatmap(
    lambda t: st.builds(Case, st.just(t[0]), st.just(t[1]), st.integers(0, t[1]), st.integers(0, t[1]))
)


def metric(c: Coordinates) -> Array:
    """Size of motions ΣA_ii v_i², in generalized velocities."""
    return (c.W.T * c.measure**2) @ c.W


# --- round trips --------------------------------------------------------------------------------


@pytest.mark.parametrize("count", ["few", "mobility", "all"])
@pytest.mark.parametrize("seed", SEEDS)
def test_distribution_inverts_forward_dynamics(seed, count):
    m, c = example(seed)
    chosen = choose_coordinates(c.J, np.diag(c.A))
    rng = np.random.default_rng(seed)
    motors = {"few": max(1, chosen.mobility // 2), "mobility": chosen.mobility, "all": m.model.nv}[count]
    actuated = rng.permutation(m.model.nv)[:motors]
    tau = np.zeros(m.model.nv)
    tau[actuated] = rng.normal(size=motors)
    a, _ = maximal.accelerations(*m[:3], tau, GRAVITY, m.connections)
    tau_O = c.inverse_dynamics(a)
    result = distribute_torques(chosen, tau_O, actuated)
    cosines = np.linalg.svd(np.linalg.qr(chosen.measure[:, None] * chosen.W)[0][actuated], compute_uv=False)
    tolerance = 1e-10 * largest(tau_O) / max(cosines[: result.rank].min(), 1e-3)  # nearly ineffective motors amplify round-off
    assert result.realized
    assert largest(chosen.W.T @ (result.torque - tau)) < 1e-10 * max(largest(tau_O), largest(result.torque))
    assert result.unique == (result.rank == motors)
    if result.unique:
        assert largest(result.torque - tau) < tolerance
    else:
        assert np.linalg.norm(result.torque) <= np.linalg.norm(tau) + tolerance
    reproduced, _ = maximal.accelerations(*m[:3], result.torque, GRAVITY, m.connections)
    assert largest(reproduced - a) < 1e-8 * largest(a)


def test_leg_forces_of_a_stewart_platform_are_unique():
    model = figures.stewart()
    q, v, gravity = model.poses["reference"], np.zeros(model.nv), np.array([0, 0, -9.81])
    c = eliminate_links(model, q, v, loops_of(model), gravity)
    legs = [model.coordinate_index[f"length{i}"] for i in range(1, 7)]
    result = distribute_torques(choose_coordinates(c.J, np.diag(c.A)), c.inverse_dynamics(v), legs)
    assert (result.rank, result.unique, result.realized, result.passive.shape) == (6, True, True, (model.nv, 0))
    a, _ = maximal.accelerations(model, q, v, result.torque, gravity, loops_of(model))
    assert largest(a) < 1e-9  # static equilibrium under these forces


# --- minimum norm -------------------------------------------------------------------------------


@given(cases)
def test_redundant_torques_have_minimum_weighted_norm(case):
    N_F, N_A = case.coordinates.mobility, len(case.motors)
    result = case.distribute()
    assume(0 < N_F == result.rank and np.linalg.cond(case.S) < 1e4)
    # KKT: w τ = S μ, and Sᵀτ = τ_G
    KKT = np.block([[np.diag(case.weights), -case.S], [case.S.T, np.zeros((N_F, N_F))]])
    expected = np.linalg.solve(KKT, np.concatenate([np.zeros(N_A), case.tau_G]))[:N_A]
    assert result.realized
    assert result.unique == (N_A == N_F)
    assert largest(result.torque[case.motors] - expected) < 1e-9 * (1 + largest(expected))
    assert largest(np.delete(result.torque, case.motors)) == 0
    assert largest(result.residual) < 1e-10 * (1 + largest(case.tau_G))


@given(cases)
def test_torques_and_residual_sum_to_the_generalized_force_and_passive_motions_are_unactuated(case):
    c, result = case.coordinates, case.distribute()
    realized = case.S.T @ result.torque[case.motors]
    assert largest(realized + result.residual - case.tau_G) < 1e-10 * (1 + largest(case.tau_G) + largest(realized))
    assert np.array_equal(result.generalized_force, case.tau_G)
    assert result.passive.shape == (len(c.W), c.mobility - result.rank)
    assert largest(result.passive[case.motors]) < 1e-9 * (1 + largest(result.passive))
    assert np.allclose(result.passive, c.W @ result.passive[c.generalized], atol=1e-9 * (1 + largest(result.passive)))
    assert np.allclose((result.passive.T * c.measure**2) @ result.passive, np.eye(c.mobility - result.rank), atol=1e-9)
    # the residual is minimal: no torque reduces it
    gradient = case.S @ np.linalg.solve(metric(c), result.residual)
    assert largest(gradient) < 1e-8 * (1 + largest(np.linalg.solve(metric(c), case.tau_G)))
    assert result.realized == (largest(result.residual) < 1e-8 * (1 + largest(case.tau_G)))


@given(cases)
def test_result_is_independent_of_the_choice_of_coordinates(case):
    """The same rows with another set: torques and passive motions are the same."""
    c = case.coordinates
    assume(0 < c.mobility < len(c.W))
    i, j = np.unravel_index(int(np.argmax(np.abs(c.H))), c.H.shape)  # best-conditioned exchange
    assume(abs(c.H[i, j]) > 1e-2)
    generalized, dependent = c.generalized.copy(), c.dependent.copy()
    generalized[j], dependent[i] = dependent[i], generalized[j]
    W = c.W @ np.linalg.inv(c.W[generalized])
    other = Coordinates(generalized, dependent, W[dependent], W, c.J_S_inverse, c.measure, (), {}, ())
    for effort in (None, 3.0):
        one, two = (distribute_torques(k, case.tau_O, case.motors, effort=effort, weights=case.weights) for k in (c, other))
        assert (one.rank, one.realized, one.saturated) == (two.rank, two.realized, two.saturated)
        assert largest(one.torque - two.torque) < 1e-6 * (1 + largest(one.torque))


# --- limits -------------------------------------------------------------------------------------


def residual_gradient(case: Case, result: TorqueDistribution) -> Array:
    """Negative gradient of the (halved, squared) residual with each torque, relative to that of τ_G."""
    inverse = np.linalg.inv(metric(case.coordinates))
    return case.S @ inverse @ result.residual / (largest(case.S @ inverse @ case.tau_G) or 1.0)


def check_minimum_norm(case: Case, result: TorqueDistribution, effort: Array) -> None:
    """KKT conditions for minimum Σ w τ²: w τ = S μ - ν with ν ≥ 0 in the torque's direction, and ν = 0 off the limits.

    Motors that would reduce the residual beyond their limits are saturated whatever their weight, and are excluded.
    """
    tau = result.torque[case.motors]
    at_limit = np.abs(tau) >= effort * (1 - 1e-9)
    included = np.abs(residual_gradient(case, result)) < 1e-7
    root = np.sqrt(case.weights[included])
    at_limit_columns = np.diag(np.sign(tau[included]))[:, at_limit[included]]
    columns = np.hstack([case.S[included], -at_limit_columns]) / root[:, None]
    lower = np.concatenate([np.full(case.S.shape[1], -np.inf), np.zeros(at_limit_columns.shape[1])])
    if columns.size:
        found = lsq_linear(columns, root * tau[included], (lower, np.inf), tol=1e-14, max_iter=500).x
        assert largest(columns @ found - root * tau[included]) < 1e-9 * (1 + largest(root * tau[included]))
    else:
        assert largest(tau[included]) < 1e-9


@given(cases, st.floats(0.3, 1.2))
def test_limits_hold_and_the_remaining_torque_is_redistributed(case, part):
    free = case.distribute()
    assume(free.realized and largest(free.torque) > 0)
    effort = np.full(len(case.motors), part * largest(free.torque))
    effort[case.rng.random(len(effort)) < 0.2] = np.inf
    result = case.distribute(effort)
    assert (np.abs(result.torque[case.motors]) <= effort).all()
    assert result.realized or result.saturated
    assert result.realized == (largest(result.residual) < 1e-8 * (1 + largest(case.tau_G)))
    check_minimum_norm(case, result, effort)


@given(cases, st.floats(0.01, 20.0))
def test_beyond_the_limits_the_residual_is_minimal(case, part):
    effort = part * case.rng.uniform(0.5, 3.0, len(case.motors))
    result = case.distribute(effort)
    tau = result.torque[case.motors]
    assert (np.abs(tau) <= effort).all()
    # KKT: no torque that can be increased or decreased reduces the residual
    gradient = residual_gradient(case, result)
    assert (gradient[tau < effort * (1 - 1e-9)] < 1e-9).all()
    assert (gradient[tau > -effort * (1 - 1e-9)] > -1e-9).all()
    assert set(result.saturated) == set(case.motors[np.abs(tau) >= effort * (1 - 1e-9)])
    check_minimum_norm(case, result, effort)


def test_motors_that_cannot_reduce_the_residual_have_minimum_norm():
    """Velocities 0 and 1 are geared, 2 is independent: the residual at 2 cannot be reduced by the motors of 0 and 1."""
    c = choose_coordinates([[1.0, -1.0, 0.0]], np.ones(3))
    result = distribute_torques(c, [2.0, 2.0, 5.0], [0, 1, 2], effort=3.0, weights=[1.0, 3.0, 1.0])
    assert np.allclose(result.torque, [3.0, 1.0, 3.0])
    assert (result.realized, result.unique, result.saturated) == (False, False, (0, 2))
    assert np.allclose(np.sort(result.residual), [0.0, 2.0])
    weaker = distribute_torques(c, [2.0, 2.0, 5.0], [0, 1, 2], effort=[2.5, 3.0, np.inf], weights=[1.0, 3.0, 1.0])
    assert np.allclose(weaker.torque, [2.5, 1.5, 5.0])
    assert (weaker.realized, weaker.saturated) == (True, (0,))


def test_limits_agree_with_enumeration():
    """Six motors, mobility two: each motor free, at its upper or at its lower limit; the best feasible one of 3⁶ combinations."""
    for seed in range(5):
        case = Case(seed, 6, 4, 6)
        effort = 0.7 * np.abs(case.distribute().torque).max() * np.ones(6)
        result = case.distribute(effort)
        best, least = None, np.inf
        for signs in product((-1, 0, 1), repeat=6):
            s = np.array(signs)
            tau, free = s * effort, s == 0
            rest = case.tau_G - case.S.T @ tau
            root = np.sqrt(case.weights[free])
            tau[free] = np.linalg.lstsq((case.S[free] / root[:, None]).T, rest, rcond=None)[0] / root
            cost = case.weights @ tau**2
            if largest(case.S.T @ tau - case.tau_G) < 1e-9 and (np.abs(tau) <= effort * (1 + 1e-12)).all() and cost < least:
                best, least = tau, cost
        assert result.realized == (best is not None)
        if best is not None:
            assert largest(result.torque - best) < 1e-9 * largest(best)


def test_inactive_limits_change_nothing():
    case = Case(3, 8, 3, 7)
    free = case.distribute()
    assert free.realized
    assert free.saturated == ()
    for effort in (np.inf, 1e6, np.full(7, 2 * largest(free.torque))):
        assert np.array_equal(case.distribute(effort).torque, free.torque)


def test_zero_effort_leaves_the_whole_residual():
    case = Case(3, 8, 3, 7)
    result = case.distribute(0.0)
    assert largest(result.torque) == 0
    assert np.allclose(result.residual, case.tau_G)
    assert not result.realized
    assert result.saturated == tuple(case.motors)


# --- underactuation -----------------------------------------------------------------------------


def test_rotation_about_the_high_bar_is_passive():
    """Sixteen motors, mobility twelve, rank eleven: no motor balances the moment of gravity about the bar."""
    m = high_bar()
    gravity = np.array([0.0, 0.0, -9.81])
    c = eliminate_links(*m, gravity)
    chosen = choose_coordinates(c.J, np.diag(c.A))
    result = distribute_torques(chosen, c.inverse_dynamics(np.zeros(22)), MOTORS_16)
    assert (len(MOTORS_16), chosen.mobility, result.rank) == (16, 12, 11)
    assert not result.realized
    assert not result.unique
    passive = result.passive[:, 0]
    assert result.passive.shape == (22, 1)
    assert largest(passive[MOTORS_16]) < 1e-9 * largest(passive)
    # the passive motion is a rigid rotation about the bar
    _, velocities = maximal.bodies(m.model, m.q, passive)
    poses, _ = maximal.bodies(m.model, m.q, np.zeros(22))
    bar, at = m.connections[0].first_rotation[:, 1], m.connections[0].first_position
    rate = velocities["pelvis"][3:] @ bar
    for name in m.model.links:
        expected = np.concatenate([np.cross(rate * bar, poses[name].position - at), rate * bar])
        assert largest(velocities[name] - expected) < 1e-9 * abs(rate)
    # the residual is the moment of the weight about the bar
    linear = sum(l.mass * (poses[n].position + poses[n].rotation @ l.center - at) for n, l in m.model.links.items())
    moment = -bar @ np.cross(linear, gravity)
    assert result.residual @ passive[chosen.generalized] == pytest.approx(moment * rate, rel=1e-9)


def test_accelerations_of_forward_dynamics_are_realizable_on_the_high_bar():
    m = high_bar()
    c = eliminate_links(*m)
    tau = np.zeros(22)
    tau[MOTORS_16] = np.random.default_rng(0).normal(0.0, 20.0, 16)
    a, _ = maximal.accelerations(*m[:3], tau, GRAVITY, m.connections)
    chosen = choose_coordinates(c.J, np.diag(c.A))
    result = distribute_torques(chosen, c.inverse_dynamics(a), MOTORS_16)
    assert result.realized
    assert np.linalg.norm(result.torque) < np.linalg.norm(tau)  # sixteen motors, rank eleven
    reproduced, _ = maximal.accelerations(*m[:3], result.torque, GRAVITY, m.connections)
    assert largest(reproduced - a) < 1e-9 * largest(a)


@pytest.mark.parametrize(("rank", "motors"), [(0, 0), (2, 0), (3, 0), (3, 2), (0, 3)])
def test_zero_motors_and_zero_mobility(rank, motors):
    case = Case(0, 3, rank, motors)
    result = case.distribute()
    assert result.rank == min(motors, 3 - rank)
    assert result.realized == (3 - rank <= motors)
    assert result.unique == (motors <= 3 - rank)
    assert result.passive.shape == (3, 3 - rank - result.rank)
    if rank == 3:  # immobile: no torque is needed
        assert largest(result.torque) == 0


# --- invalid arguments --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"tau_O": np.zeros(2)}, r"tau_O: expected 3 numbers, got shape \(2,\)"),
        ({"tau_O": [0.0, np.nan, 0.0]}, "tau_O: every number must be finite"),
        ({"actuated": [0, 7]}, "actuated: there is no velocity 7; there are 3"),
        ({"weights": [1.0, 0.0]}, r"weights must be more than 0 and finite, got \[1. 0.\]"),
        ({"weights": [1.0, np.nan]}, "weights must be more than 0 and finite"),
        ({"weights": np.inf}, "weights must be more than 0 and finite"),
        ({"weights": [1.0, 1.0, 1.0]}, "weights: expected one number, or 2: one for each motor, got"),
        ({"effort": [1.0, -1.0]}, r"effort must be at least 0, got \[ 1. -1.\]"),
        ({"effort": np.nan}, "effort must be at least 0"),
        ({"effort": np.ones((2, 2))}, "effort: expected one number, or 2: one for each motor"),
        ({"effort": "strong"}, "effort: expected one number, or 2: one for each motor, got 'strong'"),
    ],
)
def test_bad_input_raises_an_error(arguments, message):
    c = choose_coordinates([[1.0, 2.0, 3.0]], np.ones(3))
    with pytest.raises(ArgumentError, match=message):
        distribute_torques(**{"coordinates": c, "tau_O": np.ones(3), "actuated": [0, 1], **arguments})


def test_results_are_read_only():
    result = Case(0, 3, 1, 2).distribute()
    with pytest.raises(ValueError, match="read-only"):
        result.torque[0] = 1.0
