"""Contact solver for several coupled contacts: random problems, stacks, warm starts, continuation, convex relaxation, falls."""

from __future__ import annotations

import numpy as np
import pytest
from tests.contact.cases import (
    Body,
    Case,
    ContactPair,
    Solver,
    box,
    contact_case,
    energy_gain,
    penetration,
    random_contacts,
    random_patch,
    rectangle,
)
from tests.contact.checks import frictionless, worst
from tests.contact.falls import Fall, WarmStartedSolver

from brachiate.compiled import MODE, call_address, entry
from brachiate.contact.arrays import (
    CONTINUATION,
    CONVEX_RELAXATION,
    GAUSS_SEIDEL_SWEEPS,
    METHOD_CONTINUATION,
    METHOD_CONVEX,
    METHOD_FROZEN_CENTERS,
    METHOD_NEWTON,
    METHOD_WARM_START,
    UNSOLVED,
    open_problem,
)
from brachiate.contact.solver.contact_law import CORNER, EDGE, STICKING, residual, state_name
from brachiate.contact.solver.solve import solve_problem
from brachiate.validation import Array

FEW = {"fast": 60, "check": 12, "off": 3}[MODE]
G, DT = 9.81, 0.002
DOWN = np.array([0.0, 0.0, -G * DT, 0.0, 0.0, 0.0])


@entry
def dissipate(key):
    """Convex relaxation only."""
    (problem,) = open_problem(key)
    call_address(problem.functions[CONVEX_RELAXATION], key, key, 0.0, 0)
    return problem.residual[0]


@entry
def follow_path(key, share, most):
    """Continuation only."""
    (problem,) = open_problem(key)
    call_address(problem.functions[CONTINUATION], key, key, share, most)
    return problem.residual[0]


def stack(
    masses: list[float], half: tuple[float, float, float] = (0.2, 0.2, 0.1), velocity: Array = DOWN
) -> tuple[list[Body], list[ContactPair]]:
    """Stack of boxes on the ground."""
    bodies = [box(half, m, position=np.array([0.0, 0.0, (2 * k + 1) * half[2]]), velocity=velocity) for k, m in enumerate(masses)]
    face = rectangle(half[0], half[1])
    return bodies, [ContactPair(k - 1, k, np.array([0.0, 0.0, 2 * k * half[2]]), np.eye(3), face) for k in range(len(masses))]


def pile(rng: np.random.Generator, count: int) -> Case:
    """Free bodies in random contact with the ground and each other, with random velocities."""
    bodies = [
        Body(
            rng.uniform(0.5, 5.0),
            np.diag(rng.uniform(0.01, 0.1, 3)),
            rng.uniform(-0.3, 0.3, 3) + np.array([0, 0, 0.3]),
            rng.normal(size=6) - [0, 0, 1, 0, 0, 0],
        )
        for _ in range(count)
    ]
    contacts = []
    for k in range(count):
        below = int(rng.integers(-1, k)) if k else -1
        turn = np.linalg.qr(rng.normal(size=(3, 3)))[0] if below >= 0 else np.eye(3)
        turn = turn * np.sign(np.linalg.det(turn))
        contacts.append(
            ContactPair(below, k, bodies[k].position + rng.uniform(-0.1, 0.1, 3), turn, random_patch(rng, int(rng.integers(1, 7))))
        )
    return contact_case(bodies, contacts, rng.uniform(0.0, 1.0, count))


def good(s: Solver, c: Case, w: Array, u: Array, off: float) -> None:
    """The contact law holds, no corner approaches, and energy does not grow."""
    assert off <= 1e-6
    assert penetration(c, u) <= 1e-6
    assert energy_gain(c, w) <= 1e-9 * abs(w @ c.u0) + 1e-12
    if not s.problem.counters[[METHOD_FROZEN_CENTERS, METHOD_CONVEX]].any():
        error, what = worst(c, w, u)
        assert error < 1e-5, what
    s.problem.counters[:] = 0


@pytest.mark.parametrize("pairs", [2, 3, 5])
def test_random_contacts(pairs: int) -> None:
    rng, s = np.random.default_rng(pairs), Solver(pairs)
    for _ in range(FEW):
        c = random_contacts(rng, pairs)
        good(s, c, *s.solve(c))


@pytest.mark.parametrize("count", [2, 3, 6])
def test_random_piles(count: int) -> None:
    rng, s = np.random.default_rng(count), Solver(count)
    for _ in range(FEW):
        c = pile(rng, count)
        good(s, c, *s.solve(c))


@pytest.mark.parametrize("count", [2, 4])
@pytest.mark.parametrize("share", [0.1, 0.3, 1.0])
def test_continuation_solves_the_coupled_problem(count: int, share: float) -> None:
    rng, s = np.random.default_rng(count), Solver(count)
    for _ in range(FEW // 3):
        c = pile(rng, count)
        s.solve(c)
        s.problem.w[:] = 0.0
        off, n = follow_path(s.handle.key, share, 300), len(c.u0)
        good(s, c, s.problem.w[:n].copy(), s.problem.u[:n].copy(), off)


def test_continuation_starts_with_decoupled_contacts() -> None:
    """At the start every contact has the forces of the problem without coupling."""
    rng, s, one = np.random.default_rng(1), Solver(3), Solver(1)
    for _ in range(FEW // 3):
        c = pile(rng, 3)
        G = c.G.copy()  # also without the coupling of friction and normal force
        for r in c.rows:
            along = np.isin(np.arange(r.stop - r.start), [0, 1, r.stop - r.start - 1] if r.stop - r.start > 3 else [0, 1])
            G[r, r] *= along[:, None] == along
        s.solve(c)
        follow_path(s.handle.key, 1.0, 0)
        for p, r in enumerate(c.rows):
            alone = Case([c.patches[p]], G[r, r], c.u0[r], c.friction[[p]], c.static_friction[[p]], c.torsion_scale[[p]])
            assert s.problem.w[r] == pytest.approx(one.solve(alone)[0], rel=1e-5, abs=1e-5)


@pytest.mark.parametrize(("pairs", "seed"), [(2, 7174), (2, 15615), (3, 19660), (4, 774), (6, 149)])
def test_continuation_follows_paths_that_turn_back(pairs: int, seed: int) -> None:
    """High friction, and problems that neither Gauss-Seidel nor splitting nor monotone continuation solve: residuals of 0.1 to 220 m/s."""
    rng, s = np.random.default_rng(seed), Solver(pairs)
    c, friction = random_contacts(rng, pairs), rng.uniform(0.8, 1.6, pairs)
    c = c._replace(friction=friction, static_friction=friction)
    found = s.solve(c)
    assert not s.problem.counters[[METHOD_FROZEN_CENTERS, METHOD_CONVEX, UNSOLVED]].any()
    good(s, c, *found)


@pytest.mark.parametrize("count", [1, 2, 4])
def test_frictionless_problem_is_a_quadratic_program(count: int) -> None:
    rng, s = np.random.default_rng(count), Solver(count)
    for _ in range(FEW):
        c = pile(rng, count)._replace(friction=np.zeros(count), static_friction=np.zeros(count))
        _, u, off = s.solve(c)
        assert off <= 1e-6
        assert np.allclose(u, frictionless(c), rtol=0, atol=5e-4)  # corners may be as near as a centimeter to each other


@pytest.mark.parametrize("factor", [1e-3, 7.0])
def test_scaling_of_mass_and_velocity(factor: float) -> None:
    """Heavier bodies need larger forces, faster ones larger forces and velocities; nothing else changes."""
    rng, s = np.random.default_rng(3), Solver(3)
    for _ in range(FEW // 3):
        c = pile(rng, 3)
        w, u, _ = s.solve(c)
        heavy, still, _ = s.solve(c._replace(G=c.G / factor))
        assert np.allclose(heavy, factor * w, rtol=0, atol=1e-4 * factor * abs(w).max() + 1e-9)
        assert np.allclose(still, u, rtol=0, atol=1e-4)
        fast, more, _ = s.solve(c._replace(u0=10.0 * c.u0))
        assert np.allclose(fast, 10.0 * w, rtol=0, atol=1e-4 * 10.0 * abs(w).max() + 1e-9)
        assert np.allclose(more, 10.0 * u, rtol=0, atol=1e-3)


def test_result_is_independent_of_contact_order() -> None:
    bodies, contacts = stack([1.0, 2.0, 0.5, 3.0], velocity=np.array([0.4, 0.1, -0.2, 0.0, 0.0, 0.3]))
    s, found = Solver(4), []
    for order in ([0, 1, 2, 3], [3, 1, 0, 2], [2, 3, 1, 0]):
        c = contact_case(bodies, [contacts[k] for k in order], 0.4)
        _, u, off = s.solve(c)
        assert off <= 1e-6
        found.append(np.concatenate([u[c.rows[order.index(k)]] for k in range(4)]))
    assert np.allclose(found[0], found[1], rtol=0, atol=1e-5)
    assert np.allclose(found[0], found[2], rtol=0, atol=1e-5)


def test_forces_in_a_stack_of_two() -> None:
    bodies, contacts = stack([1.0, 3.0])
    s = Solver(2)
    w, u, _ = s.solve(contact_case(bodies, contacts, 0.5))
    assert w[[2, 8]] / DT == pytest.approx([4.0 * G, 3.0 * G], rel=1e-5)
    bodies, contacts = stack([1.0, 3.0], velocity=1e6 * DOWN)  # so that the speed tolerance is negligible
    w, u, _ = s.solve(contact_case(bodies, contacts, 0.5))
    assert w[[2, 8]] / DT / 1e6 == pytest.approx([4.0 * G, 3.0 * G], rel=1e-9)
    assert abs(u).max() < 1e-5


def test_stack_of_twelve_with_the_heaviest_on_top() -> None:
    masses = [1.0] * 11 + [100.0]
    s = Solver(12)
    c = contact_case(*stack(masses), 0.5)
    w, u, off = s.solve(c)
    good(s, c, w, u, off)
    carried_mass = np.cumsum(masses[::-1])[::-1]
    assert w[2::6] / DT == pytest.approx(carried_mass * G, rel=1e-3)
    assert all(state_name(a, b) == "C0" for a, b in zip(s.problem.normal_mode, s.problem.tangential_mode, strict=True))


def test_upper_block_is_dragged_along() -> None:
    """The lower of two blocks is hit: the upper one slips on it, both are braked."""
    bodies, contacts = stack([2.0, 1.0], half=(0.5, 0.5, 0.01))
    c = contact_case([bodies[0]._replace(velocity=DOWN + np.eye(6)[0]), bodies[1]], contacts, 0.3)
    _, u, _ = Solver(2).solve(c)
    assert u[6] + u[0] == pytest.approx(0.3 * G * DT, abs=2e-6)  # the upper one, by friction alone
    assert u[0] == pytest.approx(1.0 - 0.3 * G * DT * (3.0 + 1.0) / 2.0, abs=2e-6)


def test_box_on_four_points_shares_its_weight() -> None:
    corners = [[x, y, -0.1] for x in (-0.2, 0.2) for y in (-0.1, 0.1)]
    contacts = [ContactPair(-1, 0, np.array(p), np.eye(3), np.zeros((1, 2))) for p in corners]
    s = Solver(4)
    c = contact_case([box([0.2, 0.1, 0.1], 2.0, velocity=DOWN)], contacts, 0.5)
    w, u, off = s.solve(c)
    good(s, c, w, u, off)
    assert w[2::3].sum() == pytest.approx(2.0 * G * DT, rel=1e-5)
    assert w[2::3] == pytest.approx(0.5 * G * DT, rel=1e-3)  # symmetric, so equal


def test_two_feet_of_one_body() -> None:
    foot = rectangle(0.12, 0.05)
    contacts = [ContactPair(-1, 0, np.array([0.0, y, -1.0]), np.eye(3), foot) for y in (-0.15, 0.15)]
    s = Solver(2)
    for velocity, states in ((DOWN, {"C0"}), (DOWN + 0.5 * np.eye(6)[0], {"C4", "C5", "C6", "C7"})):
        c = contact_case([box([0.1, 0.2, 0.9], 70.0, velocity=velocity)], contacts, 0.8)
        w, u, off = s.solve(c)
        good(s, c, w, u, off)
        assert {state_name(a, b) for a, b in zip(s.problem.normal_mode, s.problem.tangential_mode, strict=True)} <= states


@pytest.mark.parametrize("directions", [[2], [0, 2], [0, 2, 4]])
def test_bodies_with_reduced_mobility(directions: list[int]) -> None:
    """On rails, or in a plane: immobile rows have no force, and mobile ones satisfy the law."""
    rng, s = np.random.default_rng(11), Solver(2)
    for _ in range(FEW):
        body = box([0.1, 0.1, 0.1], 2.0, velocity=np.isin(range(6), directions) * (rng.normal(size=6) - [0, 0, 1, 0, 0, 0]))
        areas = rectangle(0.05, 0.1), np.array([[-0.02, 0.0], [0.02, 0.0]])
        contacts = [ContactPair(-1, 0, np.array([x, 0.0, -0.1]), np.eye(3), a) for x, a in zip((-0.05, 0.08), areas, strict=True)]
        c = contact_case([body], contacts, 0.5, free=directions)
        w, u, off = s.solve(c)
        assert np.isfinite(w).all()
        good(s, c, w, u, off)


def test_not_finite_values_are_detected() -> None:
    s = Solver(2)
    c = contact_case(*stack([1.0, 3.0]), 0.5)
    s.load(c)
    s.problem.normal_mode[:2], s.problem.w[:12] = 1, 0.0
    s.problem.w[2] = np.nan
    assert residual(s.problem) == np.inf
    _, _, off = s.solve(c, fresh=False)  # a warm start that is not finite is ignored
    assert off <= 1e-6
    assert s.solve(c._replace(u0=np.nan * c.u0))[2] == np.inf


def test_warm_start_solves_unchanged_problem() -> None:
    bodies, contacts = stack([1.0, 3.0, 2.0])
    s = Solver(3)
    c = contact_case(bodies, contacts, 0.5)
    w, _, _ = s.solve(c)
    assert s.problem.counters[METHOD_NEWTON] == 1
    again, _, _ = s.solve(c, fresh=False)
    assert s.problem.counters[METHOD_WARM_START] == 1
    assert np.array_equal(again, w)
    nearly, _, off = s.solve(c._replace(u0=1.01 * c.u0), fresh=False)
    assert s.problem.counters[METHOD_WARM_START] == 2
    assert s.problem.counters[GAUSS_SEIDEL_SWEEPS] == 0
    assert nearly == pytest.approx(1.01 * w, rel=1e-3, abs=1e-6)
    assert off <= 1e-6


def test_factor_is_not_reused_with_another_stride() -> None:
    """Fails if a problem of fewer rows takes the factor of the one before: its rows were elsewhere."""
    bodies, contacts = stack([1.0])
    below = contact_case(bodies, contacts, 0.5)
    n, rising = len(below.u0), np.array([0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
    both = below._replace(
        patches=[*below.patches, *below.patches], G=np.kron(np.eye(2), below.G), u0=np.concatenate((below.u0, rising)),
        friction=0.5, static_friction=0.5, torsion_scale=1.0,
    )  # fmt: skip
    results = []
    for forget in (False, True):
        s = Solver(2)
        s.solve(both)
        s.solve(both._replace(u0=1.05 * both.u0), fresh=False)  # its factor is kept
        s.problem.factor_key[0] = -1 if forget else s.problem.factor_key[0]
        w, _, _ = s.solve(below._replace(u0=1.1 * below.u0), fresh=False)
        results.append((w.tobytes(), s.problem.counters.tolist()))
    assert n == 6
    assert results[0] == results[1]


def test_newton_solves_a_stack_that_tips_about_an_edge() -> None:
    # The lowest box is on an edge, all stick: a linear system once the modes are right. Fails if other methods have to help.
    bodies, contacts = stack([1.0, 3.0, 2.0], velocity=np.array([0.01, 0.02, -G * DT, 0.0, 0.0, 0.05]))
    s = Solver(3)
    c = contact_case(bodies, contacts, 5.0)
    w, u, off = s.solve(c)
    assert EDGE <= s.problem.normal_mode[0] < CORNER
    assert s.problem.tangential_mode[:3].tolist() == [STICKING] * 3
    assert s.problem.counters[METHOD_NEWTON] == 1
    assert s.problem.counters[GAUSS_SEIDEL_SWEEPS] == 0
    assert off <= 1e-12
    good(s, c, w, u, off)


@pytest.mark.parametrize(("pairs", "seed"), [(2, 7174), (4, 774), (6, 149)])
def test_wedged_contacts_are_warm_started_after_one_continuation(pairs: int, seed: int) -> None:
    """Undamped Newton steps diverge from such solutions: every step of a figure creeping down a slope took a thousand times as long."""
    rng, s = np.random.default_rng(seed), Solver(pairs)
    c, friction = random_contacts(rng, pairs), rng.uniform(0.8, 1.6, pairs)
    c = c._replace(friction=friction, static_friction=friction)
    w, _, _ = s.solve(c)
    assert s.problem.counters[METHOD_CONTINUATION] == 1
    nearly, _, off = s.solve(c._replace(u0=1.0001 * c.u0), fresh=False)
    assert s.problem.counters[METHOD_WARM_START] == 1
    assert nearly == pytest.approx(1.0001 * w, rel=1e-6)
    assert off <= 1e-6


def test_new_contact_beside_warm_started_ones() -> None:
    bodies, contacts = stack([1.0, 3.0])
    s = Solver(2)
    s.solve(contact_case(bodies[:1], contacts[:1], 0.5))
    previous = s.problem.w[:6].copy(), s.problem.normal_mode[0]
    c = contact_case(bodies, contacts, 0.5)
    s.load(c)
    s.problem.w[:6], s.problem.normal_mode[0] = previous
    w, u, off = s.solve(c, fresh=False)
    good(s, c, w, u, off)
    assert w[2] == pytest.approx(4.0 * G * DT, rel=1e-4)


def test_static_friction_keeps_solutions_valid() -> None:
    rng, s = np.random.default_rng(9), Solver(4)
    for _ in range(FEW):
        c = pile(rng, 4)
        c = c._replace(static_friction=1.3 * c.friction)
        s.solve(c)
        s.problem.tangential_mode[:4] = rng.integers(0, 2, 4)
        s.problem.normal_mode[:4] = np.maximum(s.problem.normal_mode[:4], 0)
        _, u, off = s.solve(c, fresh=False)
        assert off <= 1e-6
        assert penetration(c, u) <= 1e-6


def test_convex_relaxation_always_converges() -> None:
    rng, s = np.random.default_rng(10), Solver(6)
    for n in range(FEW):
        c = pile(rng, 4) if n % 2 else random_contacts(rng, 3)
        s.load(c)
        off = dissipate(s.handle.key)
        w, u = s.problem.w[: len(c.u0)], s.problem.u[: len(c.u0)]
        assert off <= 1e-5
        assert penetration(c, u) <= 1e-4
        assert energy_gain(c, w) <= 0.0
        assert np.allclose(u, c.u0 + c.G @ w, rtol=0, atol=1e-9)


def test_separating_contact_has_no_force() -> None:
    s = Solver(2)
    c = contact_case(
        [box([0.1, 0.1, 0.1], velocity=-DOWN)], [ContactPair(-1, 0, np.array([0.0, 0.0, -0.1]), np.eye(3), rectangle(0.1, 0.1))], 0.5
    )
    w, u, off = s.solve(c)
    assert not w.any()
    assert off == 0.0
    assert np.array_equal(u, c.u0)
    assert state_name(s.problem.normal_mode[0], s.problem.tangential_mode[0]) == "C7"


@pytest.mark.skipif(MODE == "off", reason="a thousand steps")
@pytest.mark.parametrize("seed", [5, 17] if MODE == "fast" else [5])
def test_falling_human(seed: int) -> None:
    """Every step of a fall is solved, most of them from the warm start, and impulses never add energy."""
    fall, solver = Fall(seed), WarmStartedSolver()
    problem, most = solver.solver.problem, 0
    for _ in range(450 if MODE == "fast" else 150):
        names, c, v, answer = fall.problem()
        if c is not None:
            solver.load(names, c)
            assert solve_problem(solver.solver.handle.key) <= 1e-6
            w = problem.w[: len(c.u0)]
            assert penetration(c, problem.u[: len(c.u0)]) <= 1e-6
            v = v + answer @ w
            most = max(most, len(names))
        fall.advance(v)
    assert most >= 8 or MODE == "check"
    assert problem.counters[UNSOLVED] + problem.counters[METHOD_CONVEX] == 0
    assert problem.counters[METHOD_WARM_START] > 0.6 * problem.counters[:UNSOLVED].sum()


def test_contacts_do_not_pull() -> None:
    """A heavy body that rested, and separates more slowly than the tolerance: forces that stop it have a small residual, but they pull."""
    s, up = Solver(1), np.array([0.0, 0.0, 1e-7, 0.0, 0.0, 0.0])
    s.solve(contact_case(*stack([5e4]), 0.5))
    c = contact_case(*stack([5e4], velocity=up), 0.5)
    w, u, _ = s.solve(c, fresh=False)
    assert w.tolist() == [0.0] * 6
    assert u.tolist() == c.u0.tolist()
