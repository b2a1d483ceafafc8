"""Generalized coordinates of closed chains [CKC] 2: null space of the rows, published mobilities, retained sets, unit vector method.

Rows, mass matrices and expected accelerations come from maximal coordinates (tests/maximal), not from the package.
Round-off in H is that of a solve with a well-conditioned basis: 1e-14 here; 1e-10 is required.
"""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import maximal
from tests.constraints.closed_chain_equations import GRAVITY, eliminate_links, example, high_bar, loops_of
from tests.random_mechanisms import random_mechanism
from tests.random_models import moved

from brachiate import Data, dynamics, figures
from brachiate.constraints.coordinates import Coordinates, choose_coordinates, unit_vector_accelerations
from brachiate.errors import ArgumentError, StateError
from brachiate.validation import Array

SEEDS = range(18)
SIMPLE = ("revolute", "prismatic", "spherical")  # joints whose coordinates have a closed form
DUPLICATED = [seed for seed in SEEDS if seed % 3 == 0]


def largest(x: Array) -> float:
    return float(np.abs(x).max(initial=0.0))


def scaled_H(c: Coordinates) -> Array:
    """H in velocities scaled by √A_ii, whose largest entry decides whether a set is kept."""
    return c.H * c.measure[c.dependent, None] / c.measure[c.generalized]


def rows_of_rank(seed: int, m: int, n: int, rank: int) -> tuple[Array, Array]:
    """Random rows of the given rank and of different norms, and the diagonal of a mass matrix."""
    rng = np.random.default_rng(seed)
    J = rng.normal(size=(m, rank)) @ rng.normal(size=(rank, n))
    return J * 10.0 ** rng.uniform(-1, 1, (m, 1)), 10.0 ** rng.uniform(-2, 2, n)


sizes = st.tuples(st.integers(0, 2**32 - 1), st.integers(0, 8), st.integers(0, 10)).flatmap(
    lambda t: st.tuples(st.just(t[0]), st.just(t[1]), st.just(t[2]), st.integers(0, min(t[1], t[2])))
)


# --- laws ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
def test_w_spans_the_null_space_of_the_rows(seed):
    m, c = example(seed)
    chosen = choose_coordinates(c.J, np.diag(c.A))
    n, N_F = chosen.W.shape
    assert N_F == chosen.mobility == n - chosen.rank == maximal.mobility(m.model, m.q, m.connections)
    assert largest(c.J @ chosen.W) < 1e-10 * max(1.0, largest(c.J)) * largest(chosen.W)
    assert np.array_equal(chosen.W[chosen.generalized], np.eye(N_F))
    assert np.array_equal(chosen.W[chosen.dependent], chosen.H)
    assert np.array_equal(np.sort(np.concatenate([chosen.generalized, chosen.dependent])), np.arange(n))
    assert largest(scaled_H(chosen)) <= 5
    assert largest(chosen.W @ m.v[chosen.generalized] - m.v) < 1e-10 * largest(m.v)  # m.v satisfies the connections


@pytest.mark.parametrize("seed", SEEDS)
def test_drift_satisfies_the_rows_at_zero_generalized_acceleration(seed):
    _, c = example(seed)
    chosen = choose_coordinates(c.J, np.diag(c.A))
    w = chosen.drift(c.gamma)
    assert largest(w[chosen.generalized]) == 0
    assert largest(c.J @ w + c.gamma) < 1e-10 * (1 + largest(c.gamma))


@pytest.mark.parametrize("seed", SEEDS)
def test_generalized_inertia_gives_the_kinetic_energy(seed):
    m, c = example(seed)
    chosen = choose_coordinates(c.J, np.diag(c.A))
    v = m.v[chosen.generalized]
    kinetic, _ = maximal.energy(m.model, m.q, m.v, GRAVITY, m.connections)
    assert 0.5 * v @ chosen.inertia(c.A) @ v == pytest.approx(kinetic, rel=1e-10)


@pytest.mark.parametrize("seed", DUPLICATED)
def test_rows_of_a_duplicate_connection_depend_on_those_of_the_original(seed):
    m, c = example(seed)
    chosen = choose_coordinates(c.J, np.diag(c.A))
    last = len(m.connections) - 1
    assert chosen.redundant == tuple(np.flatnonzero(c.owner == last))
    for row, parts in chosen.depends.items():
        assert {int(c.owner[k]) for k in parts} == {last - 1}
        assert largest(c.J[row] - sum(factor * c.J[k] for k, factor in parts.items())) < 1e-5 * largest(c.J[row])


@given(sizes)
def test_random_rows_of_any_shape_and_rank(size):
    J, diagonal = rows_of_rank(*size)
    _, m, n, rank = size
    c = choose_coordinates(J, diagonal)
    assert (c.rank, c.mobility, len(c.redundant)) == (rank, n - rank, m - rank)
    assert c.W.shape == (n, n - rank)
    assert c.H.shape == (rank, n - rank)
    kept = [i for i in range(m) if i not in c.redundant]
    assert np.linalg.matrix_rank(J[kept]) == rank
    scaled = J / np.sqrt(diagonal)
    size_of = np.linalg.norm(scaled, 2) if rank else 1.0
    assert largest(scaled @ (np.sqrt(diagonal)[:, None] * c.W) / np.sqrt(diagonal)[c.generalized]) < 1e-10 * size_of
    for i in range(m):  # a row is redundant if and only if it depends on the rows before it
        before, with_it = (np.linalg.matrix_rank(scaled[:k], tol=1e-9 * size_of) for k in (i, i + 1))
        assert (i in c.redundant) == (before == with_it)


@given(sizes, st.integers(-20, 20))
def test_choice_is_independent_of_units(size, power):
    """Velocities in other units (powers of two, exact in floating point): the same choice, and H in those units."""
    J, diagonal = rows_of_rank(*size)
    unit = 2.0 ** np.random.default_rng(size[0]).integers(-10, 10, len(diagonal))
    c, other = choose_coordinates(J, diagonal), choose_coordinates(J * 2.0**power * unit, diagonal * unit**2)
    assert np.array_equal(c.dependent, other.dependent)
    assert np.allclose(c.W, other.W * unit[:, None] / unit[c.generalized], rtol=1e-12, atol=0)


@pytest.mark.parametrize(("m", "n"), [(0, 0), (0, 4), (3, 0), (3, 4)])
def test_no_rows_and_zero_rows_constrain_nothing(m, n):
    c = choose_coordinates(np.zeros((m, n)), np.ones(n))
    assert np.array_equal(c.W, np.eye(n))
    assert (c.rank, c.mobility, c.near_singular) == (0, n, ())
    assert c.redundant == tuple(range(m))
    assert all(parts == {} for parts in c.depends.values())
    assert np.array_equal(c.drift(np.zeros(m)), np.zeros(n))


def test_an_immobile_chain():
    c = choose_coordinates(np.array([[1.0, 1.0], [1.0, -1.0]]), [1.0, 2.0])
    assert (c.mobility, c.W.shape) == (0, (2, 0))
    assert np.allclose(c.drift([2.0, 0.0]), [-1.0, -1.0])
    assert np.allclose(unit_vector_accelerations(lambda a: a, c, [2.0, 0.0], [5.0, 5.0]), [-1.0, -1.0])


# --- published mechanisms -----------------------------------------------------------------------

PUBLISHED_MOBILITY = {"fourbar": 1, "andrews": 1, "bricard": 1, "fivebar": 2, "stewart": 6, "scissor_lift": 1}


@pytest.mark.parametrize("name", PUBLISHED_MOBILITY)
def test_published_mobilities(name):
    model = getattr(figures, name)()
    q = model.poses.get("reference", model.neutral)
    c = eliminate_links(model, q, np.zeros(model.nv), loops_of(model))
    chosen = choose_coordinates(c.J, np.diag(c.A))
    assert chosen.mobility == PUBLISHED_MOBILITY[name]
    assert largest(c.J @ chosen.W) < 1e-10 * largest(c.J)


def test_mobility_on_the_high_bar_is_12_and_17_with_one_hand():
    for hands, mobility in ((("right", "left"), 12), (("right",), 17)):
        c = eliminate_links(*high_bar(hands))
        assert choose_coordinates(c.J, np.diag(c.A)).mobility == mobility


# --- near singular postures ---------------------------------------------------------------------


def fourbar_at(angle: float) -> tuple[Coordinates, Array]:
    model = figures.fourbar()
    c = eliminate_links(model, np.array([angle, angle, -angle]), np.zeros(3), loops_of(model))
    return choose_coordinates(c.J, np.diag(c.A)), c.J


@pytest.mark.parametrize("angle", [1e-3, 1e-6, 1e-7])
def test_near_a_singular_posture_the_rank_is_full_and_it_is_reported(angle):
    c, J = fourbar_at(angle)
    in_line, J_there = fourbar_at(0.0)
    assert (c.mobility, len(c.near_singular)) == (1, 1)
    assert (in_line.mobility, in_line.near_singular) == (2, ())
    assert fourbar_at(1.0)[0].near_singular == ()
    sigma, direction = c.near_singular[0]
    assert 0.1 * angle < sigma < angle
    assert largest(J @ direction) < 10 * sigma  # weakly constrained here, and free where the bars are in line
    assert largest(J_there @ direction) < 10 * angle
    assert np.linalg.matrix_rank(np.column_stack([c.W, direction]), tol=1e-3) == 2
    assert np.sum((c.measure * direction) ** 2) == pytest.approx(1.0)


# --- retained sets ------------------------------------------------------------------------------


def test_the_set_is_kept_along_a_full_turn_of_a_four_bar():
    model = figures.fourbar(3)
    cranks = np.array([1.0] * 4 + [-1.0] * 3)
    previous = None
    sets = set()
    for angle in np.arange(0.05, 2 * np.pi, 0.1):
        c = eliminate_links(model, angle * cranks, np.zeros(7), loops_of(model))
        previous = choose_coordinates(c.J, np.diag(c.A), previous)
        sets.add(tuple(previous.generalized))
        assert largest(c.J @ previous.W) < 1e-10
        assert largest(scaled_H(previous)) <= 5
    assert len(sets) == 1  # two postures in line are passed; all rates are equal there as well


def rows_along_a_motion(steps: int) -> list[tuple[Array, Array]]:
    """Rows and mass diagonal along a large motion of a random mechanism, corrected for the drift of its loops."""
    m = random_mechanism(11, 6, 2, kinds=SIMPLE, tree_kinds=SIMPLE)
    n = m.model.nv
    waves = np.random.default_rng(5).normal(0.0, 2.0, (3, n))
    q, found = m.q, []
    for t in np.linspace(0.0, 2 * np.pi, steps):
        c = eliminate_links(m.model, q, np.zeros(n), m.connections)
        assert largest(c.gap) < 0.05
        found.append((c.J, np.diag(c.A)))
        v_desired = waves[0] * np.sin(t) + waves[1] * np.cos(2 * t) + waves[2] * np.sin(3 * t)
        J_inverse = np.linalg.pinv(c.J)
        q = moved(m.model, q, 2 * np.pi / steps * (v_desired - J_inverse @ (c.J @ v_desired)) - J_inverse @ c.gap)
    return found


def test_sets_are_kept_along_a_motion_while_well_conditioned():
    path = rows_along_a_motion(150)
    fresh = [choose_coordinates(J, diagonal) for J, diagonal in path]
    kept = [fresh[0]]
    for J, diagonal in path[1:]:
        kept.append(choose_coordinates(J, diagonal, kept[-1]))
        assert kept[-1].mobility == fresh[0].mobility
        assert largest(J @ kept[-1].W) < 1e-10 * largest(J) * largest(kept[-1].W)
        assert largest(scaled_H(kept[-1])) <= 5

    def changes(chosen: list[Coordinates]) -> int:
        return sum(not np.array_equal(a.generalized, b.generalized) for a, b in pairwise(chosen))

    assert 0 < 3 * changes(kept) < changes(fresh)  # measured: 6 and 34


@given(sizes, st.sampled_from([0.01, 0.3, 3.0]))
def test_a_set_is_kept_up_to_entries_of_5_and_else_reduced_to_entries_of_1(size, change):
    J, diagonal = rows_of_rank(*size)
    rank = size[3]
    before = choose_coordinates(J, diagonal)
    rng = np.random.default_rng(size[0])
    J = J @ (np.eye(len(diagonal)) + change * rng.normal(size=(len(diagonal), len(diagonal))))
    after = choose_coordinates(J, diagonal, before)
    assert after.rank == rank
    assert largest(J @ after.W) < 1e-9 * (1 + largest(J)) * (1 + largest(after.W))
    V = np.linalg.svd(J / np.sqrt(diagonal))[2][:rank]
    H = np.linalg.solve(V[:, before.dependent], V[:, before.generalized])
    if largest(H) <= 4.999:
        assert np.array_equal(after.dependent, before.dependent)
    elif largest(H) > 5.001:
        assert largest(scaled_H(after)) <= 1 + 1e-6


def test_an_entry_above_5_exchanges_all_pairs_with_entries_above_1():
    before = choose_coordinates([[1.0, 0.1, 0.0, 0.0], [0.0, 0.0, 1.0, 0.1]], np.ones(4))
    kept = choose_coordinates([[1.0, 4.9, 0.0, 0.0], [0.0, 0.0, 1.0, 3.0]], np.ones(4), before)
    exchanged = choose_coordinates([[1.0, 5.1, 0.0, 0.0], [0.0, 0.0, 1.0, 3.0]], np.ones(4), before)
    assert [list(c.dependent) for c in (before, kept, exchanged)] == [[0, 2], [0, 2], [1, 3]]
    assert (largest(kept.H), largest(exchanged.H)) == pytest.approx((4.9, 1 / 3))


def test_a_change_of_structure_or_rank_gives_a_new_choice():
    J, diagonal = rows_of_rank(1, 4, 7, 3)
    new = choose_coordinates(J, diagonal)
    others = [
        choose_coordinates(*rows_of_rank(2, 4, 8, 3)),
        choose_coordinates(*rows_of_rank(2, 5, 7, 3)),
        choose_coordinates(*rows_of_rank(2, 4, 7, 2)),
    ]
    for other in others:
        assert np.array_equal(choose_coordinates(J, diagonal, other).dependent, new.dependent)


def test_a_singular_set_is_replaced():
    before = choose_coordinates([[1.0, 0.1, 0.0]], np.ones(3))
    after = choose_coordinates([[0.0, 0.1, 1.0]], np.ones(3), before)
    assert (list(before.dependent), list(after.dependent)) == ([0], [2])


# --- accelerations ------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
def test_unit_vectors_give_the_accelerations_of_maximal_coordinates(seed):
    m, c = example(seed)
    tau = np.random.default_rng(seed).normal(size=m.model.nv)
    expected, _ = maximal.accelerations(*m[:3], tau, GRAVITY, m.connections)
    a = unit_vector_accelerations(c.inverse_dynamics, choose_coordinates(c.J, np.diag(c.A)), c.gamma, tau)
    assert largest(a - expected) < 1e-9 * largest(expected)


@pytest.mark.parametrize("seed", [2, 4, 8])
def test_unit_vectors_with_inverse_dynamics_of_the_package(seed):
    m, c = example(seed)  # no passive forces in these loops
    data = Data(m.model, GRAVITY)
    tau = np.random.default_rng(seed).normal(size=m.model.nv)
    expected, _ = maximal.accelerations(*m[:3], tau, GRAVITY, m.connections)
    chosen = choose_coordinates(c.J, np.diag(dynamics.mass_matrix(data, m.q)))
    a = unit_vector_accelerations(lambda a: dynamics.inverse_dynamics(data, m.q, m.v, a), chosen, c.gamma, tau)
    assert largest(a - expected) < 1e-9 * largest(expected)


def test_accelerations_are_independent_of_the_set():
    m, c = example(7)
    diagonal = np.diag(c.A)
    one = choose_coordinates(c.J, diagonal)
    other = choose_coordinates(c.J, diagonal * 10.0 ** np.random.default_rng(0).uniform(-3, 3, len(diagonal)))
    assert not np.array_equal(one.dependent, other.dependent)
    a, b = (unit_vector_accelerations(c.inverse_dynamics, chosen, c.gamma, np.zeros(m.model.nv)) for chosen in (one, other))
    assert largest(a - b) < 1e-9 * largest(a)


# --- invalid arguments --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("J", "diagonal", "message"),
    [
        (np.zeros((1, 3)), np.ones((2, 2)), "mass_diagonal: expected a flat array of finite numbers"),
        (np.zeros((1, 3)), [1.0, np.nan, 1.0], "mass_diagonal: expected a flat array of finite numbers"),
        (np.zeros((1, 3)), "heavy", "mass_diagonal: expected the diagonal of the mass matrix, got 'heavy'"),
        (np.zeros((1, 3)), [1.0, 0.0, 1.0], r"mass_diagonal\[1\] must be more than 0, got 0: give its links mass, or"),
        (np.zeros(3), np.ones(3), r"J: expected rows of 3 numbers, as mass_diagonal has, got shape \(3,\)"),
        (np.zeros((1, 2)), np.ones(3), r"J: expected rows of 3 numbers, as mass_diagonal has, got shape \(1, 2\)"),
        ([], np.ones(3), r"Without rows it is np.zeros\(\(0, 3\)\)"),
        ([[1.0, np.inf, 0.0]], np.ones(3), "J: every number must be finite"),
    ],
)
def test_bad_rows_and_masses_raise_errors(J, diagonal, message):
    with pytest.raises(ArgumentError, match=message):
        choose_coordinates(J, diagonal)


@pytest.mark.parametrize(
    ("actuated", "message"),
    [
        ([0, 3], "actuated: there is no velocity 3; there are 3, counted from 0"),
        ([-1], "actuated: there is no velocity -1"),
        ([1, 1], r"actuated: an index occurs twice in \[1, 1\]"),
        ([0.5], r"actuated: expected a flat array of velocity indices, got \[0.5\]"),
        (np.array([True, False, True]), r"From a mask, use np.flatnonzero\(mask\)"),
        (1, "actuated: expected a flat array of velocity indices, got 1"),
    ],
)
def test_invalid_actuated_indices_raise_errors(actuated, message):
    with pytest.raises(ArgumentError, match=message):
        choose_coordinates([[1.0, 2.0, 3.0]], np.ones(3)).S(actuated)


def test_rows_of_s_have_the_order_of_the_actuated_indices():
    c = choose_coordinates([[1.0, 2.0, 4.0]], np.ones(3))
    assert np.array_equal(c.S([2, 0]), c.W[[2, 0]])
    assert c.S([]).shape == (0, 2)


def test_wrong_sizes_raise_errors_and_results_are_read_only():
    c = choose_coordinates([[1.0, 2.0, 4.0]], np.ones(3))
    with pytest.raises(ArgumentError, match="gamma: expected 1 numbers"):
        c.drift([1.0, 2.0])
    with pytest.raises(ArgumentError, match=r"mass matrix: expected an array of shape \(3, 3\)"):
        c.inertia(np.eye(2))
    with pytest.raises(ArgumentError, match="tau_O: expected 3 numbers"):
        unit_vector_accelerations(lambda a: a, c, [0.0], [0.0])
    with pytest.raises(ArgumentError, match=r"inverse_dynamics\(a\): expected 3 numbers"):
        unit_vector_accelerations(lambda a: a[:2], c, [0.0], np.zeros(3))
    with pytest.raises(StateError, match="has no inertia"):
        unit_vector_accelerations(lambda a: 0 * a, c, [0.0], np.zeros(3))
    with pytest.raises(ValueError, match="read-only"):
        c.W[0, 0] = 2.0
    with pytest.raises(FrozenInstanceError):
        c.H = c.W  # type: ignore[misc]
