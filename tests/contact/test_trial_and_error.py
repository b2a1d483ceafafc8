"""Trial and error over contact states: closed-form forces of blocks and rods, and invariants of random contacts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.contact.problems import LINE, SOLE, SPOT, Solved, body_delassus, corner_speeds, problem, solve

from brachiate.contact.arrays import ContactProblem
from brachiate.contact.published.states import C0, C1, C2, C3, C4, C5, C6, C7
from brachiate.validation import Array

MASS, HEIGHT, GRAVITY, FRICTION = 2.0, 0.1, 9.81, 0.6
INERTIA = np.diag((0.02, 0.03, 0.04))
WEIGHT = MASS * GRAVITY
FORWARD = 0.15  # [m] from P to the front edge; P, below the center of mass, is off the center of the sole
ROUND_OFF = 1e-12  # round-off of systems with a condition number of about 1/INERTIA


def block(
    force: Array | tuple[float, ...] = (0, 0, 0), moment: tuple[float, ...] = (0, 0, 0), area: Array = SOLE, **more: float
) -> ContactProblem:
    """A block on a patch, its center above P, with a force and moment on its center: accelerations."""
    H, G = body_delassus(MASS, INERTIA, [np.array((0, 0, -HEIGHT))])
    free = np.array([*(np.array(force) / MASS - (0, 0, GRAVITY)), *np.linalg.solve(INERTIA, moment)])
    return problem([area], G, H @ free, **{"friction": FRICTION} | more)


def center(s: Solved) -> Array:
    """Center of pressure of the first contact."""
    return np.array((-s.w[0, 4], s.w[0, 3])) / s.w[0, 2]


# --- closed-form solutions ----------------------------------------------------------------------


@pytest.mark.parametrize("edges", [True, False])
@pytest.mark.parametrize(("area", "state"), [(SOLE, C0), (LINE, C1), (SPOT, C3)])
def test_standing_block_has_its_weight_as_force(area: Array, state: int, edges: bool) -> None:
    s = solve(block(area=area), edges=edges, collide=False)
    assert (s.trial.state[0], s.solves, s.residual) == (state, 1, pytest.approx(0, abs=ROUND_OFF))
    assert s.w[0] == pytest.approx((0, 0, WEIGHT, 0, 0, 0), abs=1e-10)
    assert np.abs(s.u).max() < ROUND_OFF


@pytest.mark.parametrize(("area", "state"), [(SOLE, C4), (LINE, C5)])
def test_block_pushed_sideways_slips(area: Array, state: int) -> None:
    """Friction is μ m g against the push, and the center of pressure moves forward by μ h, as friction acts below the center of mass."""
    s = solve(block(force=(1.5 * FRICTION * WEIGHT, 0, 0), area=area), collide=False)
    assert s.trial.state[0] == state
    assert s.w[0, :3] == pytest.approx((-FRICTION * WEIGHT, 0, WEIGHT))
    assert center(s) == pytest.approx((FRICTION * HEIGHT, 0))
    assert s.u[0] == pytest.approx((0.5 * FRICTION * GRAVITY, 0, 0, 0, 0, 0), abs=ROUND_OFF)


def test_friction_acts_at_center_of_pressure() -> None:
    """Slipping sideways with the center of pressure ahead: friction has a moment about P, and none about the center of pressure."""
    sliding = np.array([(0, 1.0, 0, 0, 0, 0)])
    s = solve(block(moment=(0, 0.08 * WEIGHT, 0), area=2 * SOLE), collide=False, motion=sliding)
    assert s.trial.state[0] == C4
    c = center(s)
    assert c[0] == pytest.approx(0.08)
    assert s.w[0, 5] == pytest.approx(c[0] * s.w[0, 1] - c[1] * s.w[0, 0])


def test_static_and_kinetic_friction() -> None:
    """A push between kinetic and static friction sticks; beyond, friction is kinetic."""
    push = 0.7 * WEIGHT
    assert solve(block(force=(push, 0, 0), friction=0.6, static_friction=0.8), collide=False).trial.state[0] == C0
    slides = solve(block(force=(push, 0, 0), friction=0.6, static_friction=0.65), collide=False)
    assert slides.trial.state[0] == C4
    assert slides.w[0, 0] == pytest.approx(-0.6 * WEIGHT)


@pytest.mark.parametrize("edges", [True, False])
def test_tipped_block_rotates_about_edge(edges: bool) -> None:
    """A moment beyond the limit of the sole, about its front edge: α = (M - m g d) / (I + m (d² + h²)), as about a fixed axis."""
    moment = 2 * FORWARD * WEIGHT
    s = solve(block(moment=(0, moment, 0), friction=50.0), edges=edges, collide=False)
    arm = FORWARD**2 + HEIGHT**2
    assert s.trial.state[0] == (C1 if edges else C2)
    assert s.u[0, 4] == pytest.approx((moment - FORWARD * WEIGHT) / (INERTIA[1, 1] + MASS * arm))
    assert center(s) == pytest.approx((FORWARD, 0))
    assert s.residual < ROUND_OFF
    assert np.abs(corner_speeds(s.problem, s.u)[0][1:3]).max() < ROUND_OFF


def test_block_tipped_over_corner_rotates_about_it() -> None:
    s = solve(block(moment=(-3 * 0.05 * WEIGHT, 3 * FORWARD * WEIGHT, 0), friction=50.0), collide=False)
    assert s.trial.state[0] == C3
    assert center(s) == pytest.approx((FORWARD, -0.05) if s.w[0, 3] < 0 else (FORWARD, 0.05))
    assert s.residual < ROUND_OFF


def test_line_tips_over_its_end() -> None:
    s = solve(block(moment=(0, 0.3 * WEIGHT, 0), area=LINE, friction=50.0), collide=False)
    assert s.trial.state[0] == C3
    assert center(s)[0] == pytest.approx(0.1)
    assert s.residual < ROUND_OFF


def test_spot_of_the_paper_rotates_an_edge_into_the_ground() -> None:
    """Tipped obliquely, the center of pressure leaves over an edge. Constrained at that spot only, a corner of the edge sinks."""
    tipped = {"moment": (-0.03 * WEIGHT, 2 * FORWARD * WEIGHT, 0), "friction": 50.0}
    printed = solve(block(**tipped), edges=False, collide=False)
    ours = solve(block(**tipped), edges=True, collide=False)
    assert (printed.trial.state[0], ours.trial.state[0]) == (C2, C1)
    assert printed.residual > 0.1
    assert printed.residual == pytest.approx(-corner_speeds(printed.problem, printed.u)[0].min())
    assert ours.residual < ROUND_OFF


@pytest.mark.parametrize("edges", [True, False])
def test_lifted_block_separates(edges: bool) -> None:
    s = solve(block(force=(0, 0, 2 * WEIGHT)), edges=edges, collide=False)
    assert s.trial.state[0] == C7
    assert not s.w.any()
    assert s.u[0, 2] == pytest.approx(GRAVITY)


def test_impact_is_stopped() -> None:
    """At velocity level: the impulse that stops a block is its momentum, for any initial velocity."""
    H, G = body_delassus(MASS, INERTIA, [np.array((0, 0, -HEIGHT))])
    s = solve(problem([SOLE], G, H @ (0.3, 0, -1, 0, 0, 0)), motion=np.array([(0.3, 0, -1, 0, 0, 0)]))
    assert s.trial.state[0] == C0
    assert s.w[0, :3] == pytest.approx((-0.3 * MASS, 0, MASS))
    assert np.abs(s.u).max() < ROUND_OFF


# --- initial slip and spin ----------------------------------------------------------------------


def test_sliding_block_has_friction_against_its_motion() -> None:
    s = solve(block(), collide=False, motion=np.array([(0.3, 0.4, 0, 0, 0, 0)]))
    assert (s.trial.state[0], s.solves) == (C4, 1)
    assert s.w[0, :3] == pytest.approx((-0.6 * FRICTION * WEIGHT, -0.8 * FRICTION * WEIGHT, WEIGHT))


@pytest.mark.parametrize("spin", [2.0, -2.0])
def test_block_spinning_about_center_of_pressure_has_full_torsional_friction(spin: float) -> None:
    """p(0) = 1: the paper prints 0, and a block would spin for ever."""
    area = SOLE - SOLE.mean(axis=0)
    s = solve(block(area=area), collide=False, motion=np.array([(0, 0, 0, 0, 0, spin)]))
    assert s.trial.state[0] == C4
    assert s.w[0, :2] == pytest.approx((0, 0), abs=ROUND_OFF)
    assert s.w[0, 5] == pytest.approx(-np.sign(spin) * FRICTION * WEIGHT * np.hypot(0.125, 0.05))


def test_sliding_and_spinning_block_shares_its_friction() -> None:
    area = SOLE - SOLE.mean(axis=0)
    long = np.hypot(0.125, 0.05)
    s = solve(block(area=area), collide=False, motion=np.array([(3.0 * long, 0, 0, 0, 0, 4.0)]))
    assert s.w[0, 0] == pytest.approx(-0.6 * FRICTION * WEIGHT)
    # The center of pressure is on the line of motion, so friction has no moment about P.
    assert s.w[0, 5] == pytest.approx(-0.8 * FRICTION * WEIGHT * long)


def test_too_large_torsional_moment_breaks_free() -> None:
    """Twisted beyond μ l m g, at rest: it slips in the direction of the moment, with full friction."""
    area = SOLE - SOLE.mean(axis=0)
    most = FRICTION * WEIGHT * np.hypot(0.125, 0.05)
    assert solve(block(moment=(0, 0, 0.99 * most), area=area), collide=False).trial.state[0] == C0
    s = solve(block(moment=(0, 0, 1.5 * most), area=area), collide=False)
    assert s.trial.state[0] == C4
    assert s.w[0, 5] == pytest.approx(-most)
    assert s.u[0, 5] == pytest.approx(0.5 * most / INERTIA[2, 2])


def test_torsion_is_about_center_of_pressure_and_limited_beside_friction() -> None:
    """Pushed sideways with 98 % of friction, the center of pressure ahead of P: sticks if the push is above it, else it rotates."""
    push, ahead = 0.98 * FRICTION * WEIGHT, 0.08
    above_pressure = block(force=(0, push, 0), moment=(0, ahead * WEIGHT, ahead * push), area=2 * SOLE)
    above_p = block(force=(0, push, 0), moment=(0, ahead * WEIGHT, 0), area=2 * SOLE)
    assert solve(above_pressure, collide=False).trial.state[0] == C0
    assert solve(above_p, collide=False).trial.state[0] == C4


def test_block_spinning_about_its_rocking_edge_has_no_tangential_force() -> None:
    """Rocking onto its edge y = -0.05, and spinning about the middle of that edge: friction is a moment, of half the edge length."""
    spin, x, y = 2.0, 0.025, -0.05
    s = solve(block(), collide=False, motion=np.array([(spin * y, -spin * x, 0, 1.0, 0, spin)]))
    assert s.trial.state[0] == C5
    assert center(s)[1] == pytest.approx(y)
    assert s.w[0, :2] == pytest.approx((0, 0), abs=ROUND_OFF)
    assert s.w[0, 5] == pytest.approx(-FRICTION * s.w[0, 2] * 0.125)


@pytest.mark.parametrize(("edges", "state"), [(True, C1), (False, C2)])
def test_rocking_block_is_not_constrained_against_rocking(edges: bool, state: int) -> None:
    """Rotating about y with the front moving down: with edges it is constrained at its front."""
    s = solve(block(), edges=edges, collide=False, motion=np.array([(0, 0, 0, 0, 1.0, 0)]))
    assert s.trial.state[0] == state
    if edges:
        assert center(s)[0] == pytest.approx(FORWARD)


def test_point_slips() -> None:
    s = solve(block(force=(0, -2 * WEIGHT, 0), area=SPOT, friction=0.1), collide=False)
    assert s.trial.state[0] == C6
    assert s.w[0, 1] == pytest.approx(0.1 * s.w[0, 2])
    assert s.u[0, 2] == pytest.approx(0, abs=ROUND_OFF)


# --- several contacts ---------------------------------------------------------------------------


def test_redundant_supports_share_the_weight() -> None:
    """Four soles constrain 24 directions of 6: forces are not unique, the smallest are taken, and they carry the weight."""
    positions = [np.array((x, y, -HEIGHT)) for x in (-0.5, 0.5) for y in (-0.3, 0.3)]
    H, G = body_delassus(MASS, INERTIA, positions)
    s = solve(problem([SOLE] * 4, G, H @ (0, 0, -GRAVITY, 0, 0, 0)), collide=False)
    assert list(s.trial.state) == [C0] * 4
    assert s.w[:, 2] == pytest.approx([WEIGHT / 4] * 4)
    assert H.T @ s.w.ravel() == pytest.approx((0, 0, WEIGHT, 0, 0, 0), abs=1e-9)


def test_start_from_given_states() -> None:
    """The states of the last solution are found again in one solve."""
    from brachiate.compiled import ArrayHandle  # noqa: PLC0415
    from brachiate.contact.published.trial_and_error import solve_by_trial  # noqa: PLC0415

    s = solve(block(moment=(-0.03 * WEIGHT, 2 * FORWARD * WEIGHT, 0), friction=50.0), collide=False)
    before = s.w.copy()
    assert s.solves > 1
    s.problem.w[:] = 0.0
    handle = ArrayHandle(s.problem, s.trial)
    assert solve_by_trial(handle.key, False, False, True) == 1
    assert s.problem.w == pytest.approx(before.ravel())


# --- random contacts ----------------------------------------------------------------------------


def random_patch(rng: np.random.Generator, corners: int) -> Array:
    if corners == 1:
        return SPOT
    if corners == 2:
        return np.array([(-rng.uniform(0, 0.3), 0), (rng.uniform(0.01, 0.3), 0)])
    angles = np.sort(rng.uniform(0, 2 * np.pi / corners, corners) + 2 * np.pi * np.arange(corners) / corners)
    return np.column_stack((0.2 * np.cos(angles), 0.1 * np.sin(angles))) + rng.normal(size=2) * 0.03


def random_problem(seed: int, pairs: int) -> ContactProblem:
    """Contacts on one free body, at random positions, rotated about the normal, with random velocity."""
    rng = np.random.default_rng(seed)
    positions = [rng.normal(size=3) * (0.4, 0.4, 0) - (0, 0, rng.uniform(0.02, 0.5)) for _ in range(pairs)]
    angles = rng.uniform(0, 2 * np.pi, pairs)
    quaternions = [np.array([(np.cos(a), -np.sin(a), 0), (np.sin(a), np.cos(a), 0), (0, 0, 1)]) for a in angles]
    shape = rng.normal(size=(3, 3)) * 0.3
    H, G = body_delassus(rng.uniform(1, 5), shape @ shape.T + 0.01 * np.eye(3), positions, quaternions)
    areas = [random_patch(rng, int(rng.integers(1, 9))) for _ in range(pairs)]
    velocity = rng.normal(size=6) * (1, 1, 1, 3, 3, 3) - (0, 0, 0.5, 0, 0, 0)
    return problem(areas, G, H @ velocity, friction=rng.uniform(0, 1.2, pairs))


def assert_admissible(s: Solved) -> None:
    """Every contact pushes, within its cone and its patch; separated contacts have no force."""
    slack = 1e-8 * max(1.0, float(np.abs(s.w).max()))
    for i, (fx, fy, fz, nx, ny, nz) in enumerate(s.w):
        corners = s.problem.V[i, : s.problem.corners[i]]
        if s.trial.state[i] == C7:
            assert not s.w[i].any()
            continue
        assert fz >= -slack
        assert np.hypot(fx, fy) <= s.problem.static_friction[i] * fz + slack
        ahead = np.roll(corners, -1, axis=0) - corners
        if len(corners) > 2:
            sides = ahead[:, 0] * (nx - corners[:, 1] * fz) - ahead[:, 1] * (-ny - corners[:, 0] * fz)
            assert (sides >= -slack).all()
        elif len(corners) == 2:
            assert corners[0, 0] * fz - slack <= -ny <= corners[1, 0] * fz + slack
        if fz > slack:
            most = s.problem.static_friction[i] * fz * np.linalg.norm(corners - corners.mean(axis=0), axis=1).mean()
            twist = nz - (-ny / fz) * fy + (nx / fz) * fx
            # A line on an edge may be longer than the patch is wide, but not longer than twice that.
            assert abs(twist) <= 2 * most + 10 * slack


def assert_full_friction(s: Solved) -> None:
    """A slipping contact has full friction, as a force at the center of pressure and a moment about it, against its slip."""
    for i in np.flatnonzero((s.trial.state >= C4) & (s.trial.state < C7)):
        fx, fy, fz, nx, ny, nz = s.w[i]
        slip, long = s.trial.slip_velocity[i], s.trial.frame[i, 5]
        if fz > 1e-6 and np.abs(slip[: 3 if long else 2]).max() > 1e-9:
            twist = nz - (-ny / fz) * fy + (nx / fz) * fx
            direction = np.array((slip[0], slip[1], long * slip[2]))
            expected = -s.problem.friction[i] * fz * direction / np.linalg.norm(direction)
            assert (fx, fy, twist) == pytest.approx((expected[0], expected[1], long * expected[2]), abs=1e-7 * max(1, fz))


@pytest.mark.parametrize("edges", [True, False])
@given(seed=st.integers(0, 2**32 - 1))
def test_single_contact_ends_with_possible_force(edges: bool, seed: int) -> None:
    """Few solves, and finite, admissible forces that are consistent with the returned motion, for any final state."""
    s = solve(random_problem(seed, 1), edges=edges)
    assert 1 <= s.solves <= 7
    assert np.isfinite(s.w).all()
    assert np.isfinite(s.u).all()
    assert_admissible(s)
    assert_full_friction(s)
    assert s.residual == pytest.approx(max(0.0, -corner_speeds(s.problem, s.u)[0].min()), abs=1e-9)
    held = {C0: [2, 3, 4], C4: [2, 3, 4]}.get(int(s.trial.state[0]))
    if held:
        assert np.abs(s.u[0, held]).max() < 1e-8


@pytest.mark.parametrize("edges", [True, False])
@given(seed=st.integers(0, 2**32 - 1), pairs=st.integers(2, 6))
def test_several_contacts_terminate(edges: bool, seed: int, pairs: int) -> None:
    s = solve(random_problem(seed, pairs), edges=edges)
    assert 1 <= s.solves <= 6 * pairs + 1
    assert np.isfinite(s.u).all()
    assert_admissible(s)
    assert_full_friction(s)


def test_with_edges_fewer_solutions_violate_the_contact_law() -> None:
    """At most half as many with edges as by the published table: the reason for this deviation from the paper."""
    wrong = {edges: sum(solve(random_problem(seed, 1), edges=edges).residual > 1e-6 for seed in range(100)) for edges in (True, False)}
    assert wrong[True] < 0.5 * wrong[False]
