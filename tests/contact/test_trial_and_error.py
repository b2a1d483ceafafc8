"""Trial and error over contact states: blocks and rods whose forces are known, and what holds for any single contact."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.contact.problems import LINE, SOLE, SPOT, Solved, body_answer, corner_speeds, problem, solve

from brachiate.contact.arrays import Problem
from brachiate.contact.published.states import C0, C1, C2, C3, C4, C5, C6, C7
from brachiate.validation import Array

MASS, HEIGHT, GRAVITY, FRICTION = 2.0, 0.1, 9.81, 0.6
INERTIA = np.diag((0.02, 0.03, 0.04))
WEIGHT = MASS * GRAVITY
FORWARD = 0.15  # where the sole ends; P, under the centre, is not in its middle
SMALL = 1e-12  # round-off of numbers about 1 through systems that are conditioned like 1/INERTIA


def block(
    force: Array | tuple[float, ...] = (0, 0, 0), moment: tuple[float, ...] = (0, 0, 0), area: Array = SOLE, **more: float
) -> Problem:
    """A block that lies on an area, its centre above P, with a force and moment on its centre: accelerations."""
    H, G = body_answer(MASS, INERTIA, [np.array((0, 0, -HEIGHT))])
    free = np.array([*(np.array(force) / MASS - (0, 0, GRAVITY)), *np.linalg.solve(INERTIA, moment)])
    return problem([area], G, H @ free, **{"friction": FRICTION} | more)


def center(s: Solved) -> Array:
    """Centre of pressure of the first pair."""
    return np.array((-s.w[0, 4], s.w[0, 3])) / s.w[0, 2]


# --- known answers ------------------------------------------------------------------------------


@pytest.mark.parametrize("edges", [True, False])
@pytest.mark.parametrize(("area", "state"), [(SOLE, C0), (LINE, C1), (SPOT, C3)])
def test_what_stands_is_borne(area: Array, state: int, edges: bool) -> None:
    s = solve(block(area=area), edges=edges, collide=False)
    assert (s.X.state[0], s.solves, s.residual) == (state, 1, pytest.approx(0, abs=SMALL))
    assert s.w[0] == pytest.approx((0, 0, WEIGHT, 0, 0, 0), abs=1e-10)
    assert np.abs(s.u).max() < SMALL


@pytest.mark.parametrize(("area", "state"), [(SOLE, C4), (LINE, C5)])
def test_what_is_pushed_sideways_slips(area: Array, state: int) -> None:
    """Friction is μ m g against the push, and the centre of pressure moves forward by μ h, for friction acts below the centre of mass."""
    s = solve(block(force=(1.5 * FRICTION * WEIGHT, 0, 0), area=area), collide=False)
    assert s.X.state[0] == state
    assert s.w[0, :3] == pytest.approx((-FRICTION * WEIGHT, 0, WEIGHT))
    assert center(s) == pytest.approx((FRICTION * HEIGHT, 0))
    assert s.u[0] == pytest.approx((0.5 * FRICTION * GRAVITY, 0, 0, 0, 0, 0), abs=SMALL)


def test_friction_across_moves_the_moment_about_p_along() -> None:
    """Slipping sideways with the pressure ahead: friction acts there, so there is a moment about P and none about the pressure."""
    sliding = np.array([(0, 1.0, 0, 0, 0, 0)])
    s = solve(block(moment=(0, 0.08 * WEIGHT, 0), area=2 * SOLE), collide=False, motion=sliding)
    assert s.X.state[0] == C4
    c = center(s)
    assert c[0] == pytest.approx(0.08)
    assert s.w[0, 5] == pytest.approx(c[0] * s.w[0, 1] - c[1] * s.w[0, 0])


def test_what_sticks_better_than_it_slides() -> None:
    """A push between sliding and sticking friction is held; beyond, friction is that of sliding."""
    push = 0.7 * WEIGHT
    assert solve(block(force=(push, 0, 0), friction=0.6, grip=0.8), collide=False).X.state[0] == C0
    slides = solve(block(force=(push, 0, 0), friction=0.6, grip=0.65), collide=False)
    assert slides.X.state[0] == C4
    assert slides.w[0, 0] == pytest.approx(-0.6 * WEIGHT)


@pytest.mark.parametrize("edges", [True, False])
def test_what_is_tipped_turns_about_its_edge(edges: bool) -> None:
    """A moment beyond what the sole bears, straight over its front edge: α = (M - m g d) / (I + m (d² + h²)), as about a fixed axis."""
    moment = 2 * FORWARD * WEIGHT
    s = solve(block(moment=(0, moment, 0), friction=50.0), edges=edges, collide=False)
    arm = FORWARD**2 + HEIGHT**2
    assert s.X.state[0] == (C1 if edges else C2)
    assert s.u[0, 4] == pytest.approx((moment - FORWARD * WEIGHT) / (INERTIA[1, 1] + MASS * arm))
    assert center(s) == pytest.approx((FORWARD, 0))
    assert s.residual < SMALL
    assert np.abs(corner_speeds(s.P, s.u)[0][1:3]).max() < SMALL


def test_what_is_tipped_over_a_corner_turns_about_it() -> None:
    s = solve(block(moment=(-3 * 0.05 * WEIGHT, 3 * FORWARD * WEIGHT, 0), friction=50.0), collide=False)
    assert s.X.state[0] == C3
    assert center(s) == pytest.approx((FORWARD, -0.05) if s.w[0, 3] < 0 else (FORWARD, 0.05))
    assert s.residual < SMALL


def test_a_line_tips_over_its_end() -> None:
    s = solve(block(moment=(0, 0.3 * WEIGHT, 0), area=LINE, friction=50.0), collide=False)
    assert s.X.state[0] == C3
    assert center(s)[0] == pytest.approx(0.1)
    assert s.residual < SMALL


def test_the_spot_of_the_paper_turns_an_edge_into_the_ground() -> None:
    """Tipped obliquely, the pressure leaves over an edge. Held at the spot where it leaves, a corner of that edge goes down."""
    tipped = {"moment": (-0.03 * WEIGHT, 2 * FORWARD * WEIGHT, 0), "friction": 50.0}
    printed = solve(block(**tipped), edges=False, collide=False)
    ours = solve(block(**tipped), edges=True, collide=False)
    assert (printed.X.state[0], ours.X.state[0]) == (C2, C1)
    assert printed.residual > 0.1
    assert printed.residual == pytest.approx(-corner_speeds(printed.P, printed.u)[0].min())
    assert ours.residual < SMALL


@pytest.mark.parametrize("edges", [True, False])
def test_what_is_lifted_is_let_go(edges: bool) -> None:
    s = solve(block(force=(0, 0, 2 * WEIGHT)), edges=edges, collide=False)
    assert s.X.state[0] == C7
    assert not s.w.any()
    assert s.u[0, 2] == pytest.approx(GRAVITY)


def test_an_impact_is_stopped() -> None:
    """The same at velocity level: the impulse that stops a block is its momentum, whatever it did before."""
    H, G = body_answer(MASS, INERTIA, [np.array((0, 0, -HEIGHT))])
    s = solve(problem([SOLE], G, H @ (0.3, 0, -1, 0, 0, 0)), motion=np.array([(0.3, 0, -1, 0, 0, 0)]))
    assert s.X.state[0] == C0
    assert s.w[0, :3] == pytest.approx((-0.3 * MASS, 0, MASS))
    assert np.abs(s.u).max() < SMALL


# --- what slips and spins already -----------------------------------------------------------------


def test_what_slides_is_not_held_and_friction_is_against_it() -> None:
    s = solve(block(), collide=False, motion=np.array([(0.3, 0.4, 0, 0, 0, 0)]))
    assert (s.X.state[0], s.solves) == (C4, 1)
    assert s.w[0, :3] == pytest.approx((-0.6 * FRICTION * WEIGHT, -0.8 * FRICTION * WEIGHT, WEIGHT))


@pytest.mark.parametrize("spin", [2.0, -2.0])
def test_what_spins_about_its_pressure_has_all_its_friction_as_a_moment(spin: float) -> None:
    """p(0) = 1: the paper prints 0, and a block would spin for ever."""
    area = SOLE - SOLE.mean(axis=0)
    s = solve(block(area=area), collide=False, motion=np.array([(0, 0, 0, 0, 0, spin)]))
    assert s.X.state[0] == C4
    assert s.w[0, :2] == pytest.approx((0, 0), abs=SMALL)
    assert s.w[0, 5] == pytest.approx(-np.sign(spin) * FRICTION * WEIGHT * np.hypot(0.125, 0.05))


def test_what_slides_and_spins_shares_its_friction() -> None:
    area = SOLE - SOLE.mean(axis=0)
    long = np.hypot(0.125, 0.05)
    s = solve(block(area=area), collide=False, motion=np.array([(3.0 * long, 0, 0, 0, 0, 4.0)]))
    assert s.w[0, 0] == pytest.approx(-0.6 * FRICTION * WEIGHT)
    # The pressure is on the line of motion, so the moment about it is that about P.
    assert s.w[0, 5] == pytest.approx(-0.8 * FRICTION * WEIGHT * long)


def test_too_much_twist_breaks_free() -> None:
    """Twisted beyond μ l m g, at rest: it slips the way it is twisted, with all of its friction."""
    area = SOLE - SOLE.mean(axis=0)
    most = FRICTION * WEIGHT * np.hypot(0.125, 0.05)
    assert solve(block(moment=(0, 0, 0.99 * most), area=area), collide=False).X.state[0] == C0
    s = solve(block(moment=(0, 0, 1.5 * most), area=area), collide=False)
    assert s.X.state[0] == C4
    assert s.w[0, 5] == pytest.approx(-most)
    assert s.u[0, 5] == pytest.approx(0.5 * most / INERTIA[2, 2])


def test_twist_is_about_the_pressure_and_friction_leaves_little_for_it() -> None:
    """Pushed sideways with 98 % of friction, the pressure ahead of P: sticks if the push is above the pressure, else it turns."""
    push, ahead = 0.98 * FRICTION * WEIGHT, 0.08
    above_pressure = block(force=(0, push, 0), moment=(0, ahead * WEIGHT, ahead * push), area=2 * SOLE)
    above_p = block(force=(0, push, 0), moment=(0, ahead * WEIGHT, 0), area=2 * SOLE)
    assert solve(above_pressure, collide=False).X.state[0] == C0
    assert solve(above_p, collide=False).X.state[0] == C4


def test_what_spins_about_the_edge_it_rocks_on_has_no_friction_along() -> None:
    """Rocking about x onto its edge y = -0.05, and spinning about the middle of that edge: its friction is a moment, of half the edge."""
    spin, x, y = 2.0, 0.025, -0.05
    s = solve(block(), collide=False, motion=np.array([(spin * y, -spin * x, 0, 1.0, 0, spin)]))
    assert s.X.state[0] == C5
    assert center(s)[1] == pytest.approx(y)
    assert s.w[0, :2] == pytest.approx((0, 0), abs=SMALL)
    assert s.w[0, 5] == pytest.approx(-FRICTION * s.w[0, 2] * 0.125)


@pytest.mark.parametrize(("edges", "state"), [(True, C1), (False, C2)])
def test_what_rocks_is_not_held_against_it(edges: bool, state: int) -> None:
    """Turning about y with the front going down: by edges it is held on its front."""
    s = solve(block(), edges=edges, collide=False, motion=np.array([(0, 0, 0, 0, 1.0, 0)]))
    assert s.X.state[0] == state
    if edges:
        assert center(s)[0] == pytest.approx(FORWARD)


def test_a_point_slips() -> None:
    s = solve(block(force=(0, -2 * WEIGHT, 0), area=SPOT, friction=0.1), collide=False)
    assert s.X.state[0] == C6
    assert s.w[0, 1] == pytest.approx(0.1 * s.w[0, 2])
    assert s.u[0, 2] == pytest.approx(0, abs=SMALL)


# --- several pairs ------------------------------------------------------------------------------


def test_too_many_supports_share_the_weight() -> None:
    """Four soles are held in 24 directions of 6: forces are not unique, the smallest are taken, and they bear the weight."""
    places = [np.array((x, y, -HEIGHT)) for x in (-0.5, 0.5) for y in (-0.3, 0.3)]
    H, G = body_answer(MASS, INERTIA, places)
    s = solve(problem([SOLE] * 4, G, H @ (0, 0, -GRAVITY, 0, 0, 0)), collide=False)
    assert list(s.X.state) == [C0] * 4
    assert s.w[:, 2] == pytest.approx([WEIGHT / 4] * 4)
    assert H.T @ s.w.ravel() == pytest.approx((0, 0, WEIGHT, 0, 0, 0), abs=1e-9)


def test_start_from_states_that_are_given() -> None:
    """The states of the last solution are found again in one solve."""
    from brachiate.compiled import Handle  # noqa: PLC0415
    from brachiate.contact.published.trial_and_error import solve_by_trial  # noqa: PLC0415

    s = solve(block(moment=(-0.03 * WEIGHT, 2 * FORWARD * WEIGHT, 0), friction=50.0), collide=False)
    before = s.w.copy()
    assert s.solves > 1
    s.P.w[:] = 0.0
    handle = Handle(s.P, s.X)
    assert solve_by_trial(handle.key, False, False, True) == 1
    assert s.P.w == pytest.approx(before.ravel())


# --- any contact --------------------------------------------------------------------------------


def random_area(rng: np.random.Generator, corners: int) -> Array:
    if corners == 1:
        return SPOT
    if corners == 2:
        return np.array([(-rng.uniform(0, 0.3), 0), (rng.uniform(0.01, 0.3), 0)])
    angles = np.sort(rng.uniform(0, 2 * np.pi / corners, corners) + 2 * np.pi * np.arange(corners) / corners)
    return np.column_stack((0.2 * np.cos(angles), 0.1 * np.sin(angles))) + rng.normal(size=2) * 0.03


def random_problem(seed: int, pairs: int) -> Problem:
    """Pairs on one free body, anywhere and turned about the normal, with any velocity."""
    rng = np.random.default_rng(seed)
    places = [rng.normal(size=3) * (0.4, 0.4, 0) - (0, 0, rng.uniform(0.02, 0.5)) for _ in range(pairs)]
    angles = rng.uniform(0, 2 * np.pi, pairs)
    turns = [np.array([(np.cos(a), -np.sin(a), 0), (np.sin(a), np.cos(a), 0), (0, 0, 1)]) for a in angles]
    shape = rng.normal(size=(3, 3)) * 0.3
    H, G = body_answer(rng.uniform(1, 5), shape @ shape.T + 0.01 * np.eye(3), places, turns)
    areas = [random_area(rng, int(rng.integers(1, 9))) for _ in range(pairs)]
    velocity = rng.normal(size=6) * (1, 1, 1, 3, 3, 3) - (0, 0, 0.5, 0, 0, 0)
    return problem(areas, G, H @ velocity, friction=rng.uniform(0, 1.2, pairs))


def assert_possible(s: Solved) -> None:
    """Every pair pushes, within its cone and its area; what is let go has no force."""
    slack = 1e-8 * max(1.0, float(np.abs(s.w).max()))
    for i, (fx, fy, fz, nx, ny, nz) in enumerate(s.w):
        corners = s.P.V[i, : s.P.corners[i]]
        if s.X.state[i] == C7:
            assert not s.w[i].any()
            continue
        assert fz >= -slack
        assert np.hypot(fx, fy) <= s.P.grip[i] * fz + slack
        ahead = np.roll(corners, -1, axis=0) - corners
        if len(corners) > 2:
            sides = ahead[:, 0] * (nx - corners[:, 1] * fz) - ahead[:, 1] * (-ny - corners[:, 0] * fz)
            assert (sides >= -slack).all()
        elif len(corners) == 2:
            assert corners[0, 0] * fz - slack <= -ny <= corners[1, 0] * fz + slack
        if fz > slack:
            most = s.P.grip[i] * fz * np.linalg.norm(corners - corners.mean(axis=0), axis=1).mean()
            twist = nz - (-ny / fz) * fy + (nx / fz) * fx
            # A line on an edge, or what slips by an edge, may be longer than its area is wide: never than twice that.
            assert abs(twist) <= 2 * most + 10 * slack


def assert_full_friction(s: Solved) -> None:
    """What slips has all the friction there is, as a force at the centre of pressure and a moment about it, against its slip."""
    for i in np.flatnonzero((s.X.state >= C4) & (s.X.state < C7)):
        fx, fy, fz, nx, ny, nz = s.w[i]
        slip, long = s.X.slip[i], s.X.frame[i, 5]
        if fz > 1e-6 and np.abs(slip[: 3 if long else 2]).max() > 1e-9:
            twist = nz - (-ny / fz) * fy + (nx / fz) * fx
            direction = np.array((slip[0], slip[1], long * slip[2]))
            expected = -s.P.friction[i] * fz * direction / np.linalg.norm(direction)
            assert (fx, fy, twist) == pytest.approx((expected[0], expected[1], long * expected[2]), abs=1e-7 * max(1, fz))


@pytest.mark.parametrize("edges", [True, False])
@given(seed=st.integers(0, 2**32 - 1))
def test_a_single_contact_ends_with_a_possible_force(edges: bool, seed: int) -> None:
    """Whatever the state it ends in: bounded, finite, a possible force, and the motion that is reported."""
    s = solve(random_problem(seed, 1), edges=edges)
    assert 1 <= s.solves <= 7
    assert np.isfinite(s.w).all()
    assert np.isfinite(s.u).all()
    assert_possible(s)
    assert_full_friction(s)
    assert s.residual == pytest.approx(max(0.0, -corner_speeds(s.P, s.u)[0].min()), abs=1e-9)
    held = {C0: [2, 3, 4], C4: [2, 3, 4]}.get(int(s.X.state[0]))
    if held:
        assert np.abs(s.u[0, held]).max() < 1e-8


@pytest.mark.parametrize("edges", [True, False])
@given(seed=st.integers(0, 2**32 - 1), pairs=st.integers(2, 6))
def test_several_contacts_end_too(edges: bool, seed: int, pairs: int) -> None:
    s = solve(random_problem(seed, pairs), edges=edges)
    assert 1 <= s.solves <= 6 * pairs + 1
    assert np.isfinite(s.u).all()
    assert_possible(s)
    assert_full_friction(s)


def test_by_edges_fewer_single_contacts_go_into_the_ground() -> None:
    """The reason for the correction, counted."""
    wrong = {edges: sum(solve(random_problem(seed, 1), edges=edges).residual > 1e-6 for seed in range(100)) for edges in (True, False)}
    assert wrong[True] < 0.5 * wrong[False]
