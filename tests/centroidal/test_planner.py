"""Centroidal planner: plans satisfy the dynamics and the limits, respond to pushes, and stabilize a walk under noise."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from tests.centroidal.problems import (
    HEIGHT,
    INERTIA,
    MASS,
    G,
    Walk,
    Walker,
    farthest_outside,
    foot_points,
    mixed,
    pushed,
    put_patch,
    standing,
)  # fmt: skip

from brachiate.centroidal.horizontal import USUAL_STANCE_DURATION
from brachiate.centroidal.planner import FLIGHT, GRIP, STANCE, CentroidalPlanner, PlanSettings
from brachiate.compiled import MODE
from brachiate.errors import ArgumentError


def test_standing_still():
    planner = standing()
    plan = planner.solve([0.04, 0, HEIGHT], [0, 0, 0])
    assert plan.converged
    assert plan.com == pytest.approx(planner.problem.com, abs=1e-9)
    assert plan.com_acceleration == pytest.approx(np.zeros((26, 3)), abs=1e-7)
    assert plan.com_deviation[0] < 1e-9
    assert plan.orientation_deviation[0] < 1e-9


def test_feasible_walk_is_unchanged():
    walk, planner = Walk(), CentroidalPlanner(MASS, intervals=50)
    planner.problem.dt[:] = walk.h
    t = 0.252
    walk.fill(planner, t, {}, 50)
    plan = planner.solve(*walk.state(t))
    assert plan.converged
    assert plan.com == pytest.approx(planner.problem.com, abs=1e-9)
    assert plan.cop[:, :2] == pytest.approx(walk.p[21:71], abs=1e-7)
    assert plan.landing_offset == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_integration_of_planned_forces_passes_the_nodes(seed):
    planner, now = mixed(seed)
    plan = planner.solve(*now)
    problem, y = planner.problem, np.concatenate(now[:4])
    for k in range(planner.intervals):

        def rate(_, y, k=k):
            a = plan.com_acceleration[k].copy()
            if plan.omega_squared[k] != 0.0:
                a[:2] = plan.omega_squared[k] * (y[:2] - plan.cmp[k])
            alpha = np.linalg.solve(
                INERTIA, plan.angular_momentum_rate[k] - problem.angular_momentum_rate[k]
            )  # orientation is relative to the reference
            return np.concatenate((y[3:6], a, y[9:12], alpha))

        y = solve_ivp(rate, (0.0, problem.dt[k]), y, method="DOP853", rtol=1e-13, atol=1e-13).y[:, -1]
        assert y[:3] == pytest.approx(plan.com[k + 1], abs=1e-9)
        assert y[3:6] == pytest.approx(plan.com_velocity[k + 1], abs=1e-9)
        assert y[6:9] == pytest.approx(plan.orientation[k + 1], abs=1e-9)
        assert y[9:12] == pytest.approx(plan.angular_velocity[k + 1], abs=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_moment_of_the_force_at_the_cop(seed):
    planner, now = mixed(seed)
    planner.problem.com[:, 2], planner.problem.com_velocity[:, 2], planner.problem.com_acceleration[:, 2] = HEIGHT, 0.0, 0.0
    planner.problem.contact_mode[planner.problem.contact_mode == FLIGHT] = GRIP
    now[1] = (0.1, -0.05, 0.0)
    plan = planner.solve(*now)
    stance = np.flatnonzero(planner.problem.contact_mode == STANCE)
    assert len(stance) > 2
    for k in stance:
        F = MASS * (plan.com_acceleration[k] + (0.0, 0.0, G))
        moment = np.cross(plan.cop[k] - plan.com[k], F)  # Newton-Euler
        assert moment[:2] == pytest.approx(plan.angular_momentum_rate[k, :2], abs=1e-6)


def test_flight_is_ballistic_and_keeps_angular_momentum():
    planner = standing()
    problem = planner.problem
    problem.contact_mode[4:16] = FLIGHT
    problem.angular_momentum_rate[:] = (3.0, -2.0, 1.0)
    plan = planner.solve([0.04, 0, HEIGHT], [0.3, 0.1, 1.0])
    assert plan.converged
    assert plan.com_acceleration[4:16] == pytest.approx(np.tile((0, 0, -G), (12, 1)), abs=0)
    assert plan.angular_momentum_rate[4:16] == pytest.approx(0.0, abs=0)
    assert plan.com_velocity[5:17, :2] == pytest.approx(np.tile(plan.com_velocity[4, :2], (12, 1)), abs=1e-12)
    # angular momentum is constant, so relative to the reference it changes by minus that of the reference
    assert INERTIA @ (plan.angular_velocity[16] - plan.angular_velocity[4]) == pytest.approx(
        -problem.dt[4:16].sum() * problem.angular_momentum_rate[0], abs=1e-9
    )


@pytest.mark.parametrize("direction", [(1, 0), (-1, 0), (0, 1), (0, -1)])
def test_push_moves_the_cmp_in_its_direction(direction):
    d = np.array(direction, float)
    plan = standing().solve([0.04, 0, HEIGHT], [*0.1 * d, 0])
    assert (plan.cmp[0] - (0.04, 0.0)) @ d > 0.02
    assert plan.com_acceleration[0, :2] @ d < 0
    assert plan.com_deviation[0] < 0.1


@pytest.mark.parametrize("seed", range(6))
def test_bounds_hold(seed):
    planner, now = mixed(seed)
    problem = planner.problem
    plan = planner.solve(*now)
    assert farthest_outside(problem, plan, now[4]) < 1e-3
    for k in range(planner.intervals):
        if problem.contact_mode[k] != FLIGHT:
            assert plan.com_acceleration[k, 2] <= problem.max_vertical_acceleration[k] + 0.1
        if problem.contact_mode[k] == STANCE:
            assert plan.com_acceleration[k, 2] >= -0.95 * G - 0.1


def test_strong_push_reaches_support_and_friction_limits():
    planner = standing()
    planner.problem.friction[:] = 0.05
    plan = planner.solve([0.04, 0, HEIGHT], [0, 0.15, 0])
    assert plan.converged
    f = plan.com_acceleration[:, 2] + G
    assert np.abs(plan.com_acceleration[:, 1]).max() == pytest.approx(0.7 * 0.05 * G, rel=0.15)
    assert (np.linalg.norm(plan.com_acceleration[:, :2], axis=1) <= 0.7 * 0.05 * f / np.cos(np.pi / 8) + 0.1).all()
    planner.problem.friction[:] = 0.8
    plan = planner.solve([0.04, 0, HEIGHT], [0, 0.7, 0])
    assert plan.cop[0, 1] == pytest.approx(0.145 - 0.008, abs=1e-3)


def test_yaw_moment_is_limited_by_friction():
    planner = standing()
    planner.problem.angular_momentum_rate[2:4] = (0.0, 0.0, 100.0)
    plan = planner.solve([0.04, 0, HEIGHT], [0, 0, 0])
    # both feet 0.1 m from the centroid, and the size of a foot: 0.9 · 0.8 · √(0.1² + (0.1² + 0.045²) / 3) · m g
    assert plan.angular_momentum_rate[:, 2].max() == pytest.approx(0.72 * np.sqrt(0.01 + (0.01 + 0.045**2) / 3) * MASS * G, rel=0.02)


def test_leg_length_limit():
    # The violation of the soft limit decreases with its softness
    slack, start = 0.005, ([0.04, 0, HEIGHT], [0, 0, 0.3])
    over = [standing().solve(*start).com[:, 2].max() - HEIGHT - slack]
    for stretch in (1e-3, 3e-4, 1e-4):
        planner = standing(settings=PlanSettings(leg_length_softness=stretch))
        planner.problem.height_slack[:] = slack
        over.append(planner.solve(*start).com[:, 2].max() - HEIGHT - slack)
    assert over[0] > 2.0 * over[1] > 4.0 * over[2] > 8.0 * over[3]
    assert over[3] < 2e-5


@pytest.mark.parametrize(("push", "side"), [(0.3, 1), (-0.3, -1)])
def test_lateral_push_moves_footholds(push, side):
    walk, planner = Walk(), CentroidalPlanner(MASS)
    t = 0.252
    walk.fill(planner, t, {}, 26)
    c, v = walk.state(t)
    plan = planner.solve(c, pushed(v, (0, push, 0)))
    assert plan.converged
    assert max(side * plan.landing_offset[:2, 1]) > 0.05
    assert min(side * plan.landing_offset[:2, 1]) > -0.01


@pytest.mark.skipif(MODE == "off", reason="many sweeps")
def test_step_reach_and_landing_freeze_time():
    walk, planner = Walk(), CentroidalPlanner(MASS)
    t = 0.252
    walk.fill(planner, t, {1: (0.02, -0.03), 2: (0.0, 0.0)}, 26)
    c, v = walk.state(t)
    problem = planner.problem
    far = planner.solve(c, pushed(v, (0, -0.6, 0))).landing_offset[0]
    problem.reach_direction[0], problem.reach_slack[0] = (0.0, -1.0), 0.02
    plan = planner.solve(c, pushed(v, (0, -0.6, 0)))
    k = problem.landing_touchdown[0]
    stretched = -(plan.landing_offset[0, 1] - (plan.com[k, 1] - problem.com[k, 1]))
    assert stretched < 0.03
    assert plan.landing_offset[0, 1] > far[1]
    problem.landing_time[0] = 0.5 * planner.settings.landing_freeze_time
    assert planner.solve(c, pushed(v, (0, -0.6, 0))).landing_offset[0] == pytest.approx((0.02, -0.03), abs=2e-3)
    problem.landing_time[0], problem.reach_slack[0] = 0.3, np.inf
    problem.landing_direction[0], problem.landing_min[0], problem.landing_max[0] = (0.0, 1.0), -0.01, 0.02
    narrow = planner.solve(c, pushed(v, (0, -0.6, 0)))
    assert far[1] < -0.03
    assert narrow.landing_offset[0, 1] == pytest.approx(-0.01, abs=2e-3)
    problem.landing_min[0], problem.landing_max[0] = -np.inf, np.inf
    huge = planner.solve(c, pushed(v, (0, -3.0, 0)))
    assert np.abs(huge.landing_offset[:2]).max() < 0.35 / np.cos(np.pi / 8) + 1e-2


@pytest.mark.skipif(MODE == "off", reason="many sweeps")
def test_long_stances_land_nearer_to_the_reference():
    # Fails if the stance duration does not enter the weight
    walk, planner = Walk(), CentroidalPlanner(MASS)
    t = 0.252
    walk.fill(planner, t, {}, 26)
    c, v = walk.state(t)
    usual = np.abs(planner.solve(c, pushed(v, (0, -0.3, 0))).landing_offset[:2, 1])
    last = int(np.argmax(usual))
    planner.problem.landing_duration[last] = 4.0 * USUAL_STANCE_DURATION
    longer = np.abs(planner.solve(c, pushed(v, (0, -0.3, 0))).landing_offset[:2, 1])
    assert longer[last] < usual[last] - 0.01
    planner.problem.landing_duration[last] = np.nan
    with pytest.raises(ArgumentError, match=f"landing {last} needs"):
        planner.solve(c, v)


def test_grips_allow_any_acceleration():
    planner = CentroidalPlanner(MASS)
    problem = planner.problem
    problem.contact_mode[:], problem.inertia[:] = GRIP, INERTIA
    t = np.concatenate(([0.0], np.cumsum(problem.dt)))
    problem.com[:, 0], problem.com_velocity[:, 0], problem.com_acceleration[:, 0] = 0.5 * 2.0 * t**2, 2.0 * t, 2.0
    problem.com[:, 2], problem.com_velocity[:, 2], problem.com_acceleration[:, 2] = (
        2.0 - 0.5 * 12.0 * t**2,
        -12.0 * t,
        -12.0,
    )  # downward faster than gravity
    plan = planner.solve([0, 0, 2], [0, 0, 0])
    assert plan.com == pytest.approx(problem.com, abs=1e-9)
    assert (plan.omega_squared == 0).all()
    assert plan.acceleration_at([1, 1, 1]) == pytest.approx((2, 0, -12))


def test_degenerate_support_polygons():
    for points in ([(0.0, -0.1, 0), (0.0, 0.1, 0)], [(0.04, 0.0, 0)], [(0.0, 0.0, 0), (0.1, 0.0, 0), (0.05, 0.0, 0), (0.0, 0.0, 0)]):
        planner = standing()
        problem = planner.problem
        problem.patch_size[:, 1] = 0
        for k in range(26):
            put_patch(problem, k, 0, np.array(points), -1)
        plan = planner.solve([0.02, 0.01, HEIGHT], [0, 0, 0])
        assert plan.converged
        low, high = np.min(points, axis=0), np.max(points, axis=0)
        assert (plan.cop >= low - 1e-3).all()
        assert (plan.cop <= high + 1e-3).all()


@pytest.mark.parametrize("size", [0.5, 2.0])
def test_dynamic_similarity(size):
    """Lengths scale with the factor, times with its square root, angles are equal (constant gravity)."""
    time = np.sqrt(size)
    small, now = mixed(3)
    large = CentroidalPlanner(MASS * size**3, intervals=12, height=1.7 * size)
    for name in (
        "contact_mode",
        "patch_size",
        "patch_foot",
        "friction",
        "max_vertical_acceleration",
        "offset_share",
        "landing_foot",
        "landing_start",
        "landing_touchdown",
        "com_acceleration",
    ):
        getattr(large.problem, name)[:] = getattr(small.problem, name)
    for name, factor in (
        ("dt", time),
        ("com", size),
        ("com_velocity", time),
        ("angular_momentum_rate", size**4),
        ("inertia", size**5),
        ("patch_points", size),
    ):
        getattr(large.problem, name)[:] = getattr(small.problem, name) * factor
    factors = (size, time, 1.0, 1.0 / time, size)
    one = small.solve(*now)
    two = large.solve(*(np.array(x) * f for x, f in zip(now, factors, strict=True)))
    assert two.orientation == pytest.approx(one.orientation, abs=1e-4)
    assert two.com == pytest.approx(one.com * size, abs=1e-4)


@pytest.mark.skipif(MODE == "off", reason="many sweeps")
def test_warm_start_finds_the_same_plan():
    walk, planner = Walk(), CentroidalPlanner(MASS)
    walk.fill(planner, 0.252, {}, 26)
    c, v = walk.state(0.252)
    now = c, pushed(v, (0.0, 0.4, 0.0))
    for _ in range(4):  # until the support polygons are at the planned footholds
        cold = planner.solve(*now)
        planner.problem.landing_target[:] = cold.landing_offset
    warm = planner.solve(*now, elapsed=0.0)
    assert warm.com == pytest.approx(cold.com, abs=1e-5)
    assert warm.landing_offset == pytest.approx(cold.landing_offset, abs=1e-4)
    assert warm.iterations[1] == 1 < cold.iterations[1]
    cold = planner.solve(*now)
    again = planner.solve(*now)
    assert (again.com == cold.com).all()


@pytest.mark.parametrize("seed", range(2))
def test_walk_under_noise(seed):
    rng = np.random.default_rng(seed)
    walker = Walker(Walk(), CentroidalPlanner(MASS))
    sweeps = []
    for _ in range(300 if MODE != "off" else 12):
        plan = walker.go()
        assert plan.converged
        sweeps.append(plan.iterations[1])
        walker.c = walker.c + rng.normal(0, 5e-4, 3)
        walker.v = walker.v + rng.normal(0, 5e-3, 3)
        walker.spin = walker.spin + rng.normal(0, 0.01, 3)
        assert np.linalg.norm(walker.c - walker.walk.state(walker.t)[0]) < 0.06
        assert np.linalg.norm(walker.turn) < 0.1
        assert np.abs(walker.offsets).max() < 0.08
    assert np.mean(sweeps) < 4


@pytest.mark.skipif(MODE == "off", reason="many plans")
@pytest.mark.parametrize("push", [(0.0, 0.3), (0.0, -0.3), (0.3, 0.0), (-0.3, 0.0)])
def test_walk_recovers_from_push(push):
    walker = Walker(Walk(), CentroidalPlanner(MASS))
    for n in range(300):
        if n == 60:
            walker.v = pushed(walker.v, (*push, 0.0))
        before = walker.offsets.copy()
        plan = walker.go()
        if 58 < n < 90:
            assert farthest_outside(walker.planner.problem, plan, before) < 1e-3
    assert np.linalg.norm(walker.c - walker.walk.state(walker.t)[0]) < 0.08
    assert np.linalg.norm(walker.turn) < 0.05


@pytest.mark.skipif(MODE == "off", reason="many intervals")
def test_plan_of_500_intervals():
    walk = Walk(24)
    planner = CentroidalPlanner(MASS, intervals=500)
    planner.problem.dt[:] = 0.024
    walk.fill(planner, 0.252, {}, 500)
    c, v = walk.state(0.252)
    plan = planner.solve(c, pushed(v, (0.0, 0.2, 0.0)))
    assert plan.converged
    assert plan.com_deviation[0] < 0.3
    assert np.linalg.norm(plan.com[-1] - planner.problem.com[500]) < 0.02


def test_quadruped_steps_in_the_direction_of_a_push():
    planner = CentroidalPlanner(40.0, feet=4)
    problem = planner.problem
    problem.inertia[:], problem.contact_mode[:], problem.com[:, 2], problem.offset_share[:] = np.diag((1.0, 4.0, 4.0)), STANCE, 0.5, 0.25
    positions = np.array([(0.4, 0.15, 0), (0.4, -0.15, 0), (-0.4, 0.15, 0), (-0.4, -0.15, 0)])
    for k in range(26):
        for f in (1, 2) if 4 <= k < 14 else (0, 3):  # trot: diagonal pairs
            put_patch(problem, k, f, positions[f : f + 1], f)
    problem.landing_foot[:2], problem.landing_start[:2], problem.landing_touchdown[:2], problem.landing_time[:2] = (0, 3), 9, 14, 0.3
    plan = planner.solve([0, 0, 0.5], [0, 0.4, 0], offsets=np.zeros((4, 2)))
    assert plan.converged
    assert (plan.landing_offset[:2, 1] > 0.02).all()
    assert farthest_outside(problem, plan, np.zeros((4, 2))) < 1e-3


def test_refuses_invalid_problems():
    def error_of(change, *now, **options):
        planner = standing(3)
        change(planner.problem)
        with pytest.raises(ArgumentError) as caught:
            planner.solve(*(now or ([0, 0, 1], [0, 0, 0])), **options)
        return str(caught.value)

    def no_change(problem):
        pass

    def put(name, where, value):
        def change(problem):
            getattr(problem, name)[where] = value

        return change

    assert "problem.dt: interval 1 must be longer than 0 s" in error_of(put("dt", 1, 0.0))
    assert "finite, but are not at node or interval 2" in error_of(put("com", 2, np.nan))
    assert "finite, but are not at node or interval 1" in error_of(put("angular_momentum_rate", 1, np.inf))
    assert "inertia: interval 0 is not symmetric" in error_of(put("inertia", (0, 1, 1), -1.0))
    assert "interval 2 is STANCE, but none of its patches has a point" in error_of(put("patch_size", 2, 0))
    assert "of feet from -1 to 1; got contact_mode 1" in error_of(put("patch_foot", (1, 0), 2))
    assert "interval 1 must be FLIGHT, STANCE or GRIP" in error_of(put("contact_mode", 1, 7))
    assert "up to 8 finite points in a patch" in error_of(put("patch_points", (1, 0, 2), np.nan))
    assert "height_slack a number or inf" in error_of(put("height_slack", 0, np.nan))
    assert "max_vertical_acceleration above -9.31" in error_of(put("max_vertical_acceleration", 0, -20.0))
    assert "landing 0 needs a foot" in error_of(put("landing_foot", 0, 3))

    def twice(problem):
        problem.landing_foot[:2], problem.landing_start[:2], problem.landing_touchdown[:2] = 1, 1, 2

    assert "landing 1 takes effect at the same interval as another of foot 1" in error_of(twice)
    assert "com: every number must be finite" in error_of(no_change, [np.nan, 0, 0], [0, 0, 0])
    assert "com_velocity: expected 3 numbers" in error_of(no_change, [0, 0, 0], [0, 0])
    assert "offsets: expected an array of shape (2, 2)" in error_of(no_change, [0, 0, 0], [0, 0, 0], [0, 0, 0], [0, 0, 0], [1.0])
    assert "4 were given, at most 3 are possible" in error_of(no_change, intervals=4)
    assert "elapsed must be at least 0" in error_of(no_change, elapsed=-1.0)


def test_refuses_invalid_planners():
    with pytest.raises(ArgumentError, match="mass must be more than 0"):
        CentroidalPlanner(0.0)
    with pytest.raises(ArgumentError, match="feet must be at most 4, got 5"):
        CentroidalPlanner(60.0, feet=5)
    with pytest.raises(ArgumentError, match="com_position must be more than 0"):
        PlanSettings(com_position=0.0)
    with pytest.raises(ArgumentError, match="friction_share must be at most 1"):
        PlanSettings(friction_share=1.5)


def test_support_height_of_seat_and_feet():
    # A seat under the CoM, and feet far ahead on the ground; the mean of all heights would be 0.3 m
    planner = standing()
    seat, problem = foot_points(0.0, 0.0) + np.array((0.0, 0.0, 0.6)), planner.problem
    for k in range(len(problem.dt)):
        put_patch(problem, k, 0, seat)
        put_patch(problem, k, 1, foot_points(0.6, 0.0))
    plan = planner.solve([0.04, 0.0, HEIGHT], [0.0, 0.0, 0.0])
    assert plan.cop[:, 2] == pytest.approx(0.6, abs=0.05)
