"""Plans of a body as a whole: they keep to mechanics and to what bears, answer pushes, and hold a walk under noise."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from tests.centroidal.problems import HEIGHT, INERTIA, MASS, G, foot_points, put_patch, standing

from brachiate.centroidal.horizontal import USUAL
from brachiate.centroidal.planner import FLIGHT, HELD, STANDS, Planner, PlanSettings
from brachiate.compiled import MODE
from brachiate.errors import ArgumentError


def pushed(v, by):
    return v + np.array(by)


class Walk:
    """A pendulum of constant height that walks, its centre of pressure in the middle of what bears, as long as that bears."""

    PERIOD, BOTH, STRIDE, SIDE = 0.55, 0.1, 0.5, 0.09

    def __init__(self, steps=14):
        self.steps = [np.array([self.STRIDE * i, self.SIDE if i % 2 == 0 else -self.SIDE]) for i in range(steps)]
        self.omega = np.sqrt(G / HEIGHT)
        # every interval is 12 ms; where c is bound for is known from the end, where c is from the beginning
        self.h = 0.012
        n = round(steps * self.PERIOD / self.h)
        self.p = np.array([self.middle((k + 0.5) * self.h) for k in range(n)])
        grow = np.exp(self.omega * self.h)
        bound, c = np.empty((n + 1, 2)), np.empty((n + 1, 2))
        bound[n] = self.p[-1]
        for k in range(n - 1, -1, -1):
            bound[k] = self.p[k] + (bound[k + 1] - self.p[k]) / grow
        c[0] = self.p[0]
        for k in range(n):  # exactly, for p as it is over the interval
            away = c[k] - self.p[k] - 0.5 * (bound[k] - self.p[k])
            c[k + 1] = self.p[k] + away / grow + 0.5 * (bound[k] - self.p[k]) * grow
        self.c, self.v = c, self.omega * (bound - c)

    def bearing(self, t):
        """Steps that bear, the newer one first."""
        i = min(int(t / self.PERIOD + 1e-9), len(self.steps) - 1)
        return [i, i - 1] if i > 0 and t - i * self.PERIOD < self.BOTH - 1e-9 else [i]

    def middle(self, t):
        return np.mean([foot_points(*self.steps[i])[:, :2].mean(axis=0) for i in self.bearing(t)], axis=0)

    def state(self, t):
        k = round(t / self.h)
        return np.append(self.c[k], HEIGHT), np.append(self.v[k], 0.0)

    def fill(self, planner, t, headings, intervals):
        """The outlook from a time on; returns which steps its landings are."""
        O = planner.outlook
        node = np.concatenate(([0.0], np.cumsum(O.h[:intervals])))
        for k in range(intervals + 1):
            O.centre[k], O.velocity[k] = self.state(t + node[k])
            bear = self.bearing(t + node[k] + 1e-6)
            O.weight[k] = 0.0
            for i in bear:
                O.weight[k, i % 2] = 1.0 / len(bear)
        O.points[:], O.how[:], O.inertia[:], O.landing_foot[:] = 0, STANDS, INERTIA, -1
        for k in range(intervals):
            middle = t + 0.5 * (node[k] + node[k + 1])
            O.acceleration[k, :2] = self.omega**2 * (self.state(middle)[0][:2] - self.middle(middle))
            for slot, i in enumerate(self.bearing(middle)):
                put_patch(O, k, slot, foot_points(*self.steps[i]), i % 2)
        ahead = [i for i in range(int(t / self.PERIOD + 1e-9) + 1, len(self.steps)) if i * self.PERIOD - t < node[-2]]
        for n, i in enumerate(ahead):
            left = i * self.PERIOD - t
            O.landing_foot[n], O.landing_time[n] = i % 2, left
            O.landing_touch[n] = np.searchsorted(0.5 * (node[1:] + node[:-1]), left)
            O.landing_from[n] = np.searchsorted(0.5 * (node[1:] + node[:-1]), max(left - 0.2, 0.0))
            O.landing_heading[n] = headings.get(i, (0.0, 0.0))
        return ahead


class Walker:
    """A body that follows its plans for 12 ms at a time."""

    def __init__(self, walk, planner, t=0.252):
        self.walk, self.planner, self.t = walk, planner, t
        self.c, self.v = walk.state(t)
        self.turn, self.spin, self.offsets, self.headings, self.elapsed = np.zeros(3), np.zeros(3), np.zeros((2, 2)), {}, None

    def go(self):
        ahead = self.walk.fill(self.planner, self.t, self.headings, self.planner.intervals)
        plan = self.planner.solve(self.c, self.v, self.turn, self.spin, self.offsets, elapsed=self.elapsed)
        self.headings = {i: plan.landing[n] for n, i in enumerate(ahead)}
        for _ in range(6):
            h, a = 0.002, plan.acceleration_at(self.c)
            self.c, self.v = self.c + h * self.v + 0.5 * h * h * a, self.v + h * a
            self.turn, self.spin = self.turn + h * self.spin + 0.5 * h * h * plan.alpha[0], self.spin + h * plan.alpha[0]
        step = int(self.t / self.walk.PERIOD + 1e-9)
        self.t, self.elapsed = self.t + 0.012, 0.012
        if int(self.t / self.walk.PERIOD + 1e-9) > step:
            self.offsets[(step + 1) % 2] = self.headings[step + 1]
        return plan


def outside(points, p):
    """How far p is outside the hull of points, along the sides of the hull, by looking at all pairs."""
    worst = -np.inf
    for a in points:
        for b in points:
            d = b - a
            if np.hypot(*d) > 1e-9:
                n = np.array([d[1], -d[0]]) / np.hypot(*d)
                if ((points - a) @ n).max() < 1e-9:
                    worst = max(worst, (p - a) @ n)
    return worst


def farthest_outside(O, plan, offsets):
    """How far the worst centre of pressure is outside what bears, with feet where they are planned to be."""
    held, worst = np.array(offsets), -np.inf
    for k in range(len(plan.s)):
        for n in np.flatnonzero((O.landing_foot >= 0) & (O.landing_from == k)):
            held[O.landing_foot[n]] = plan.landing[n]
        if O.how[k] == STANDS:
            slots = np.flatnonzero(O.points[k])
            moved = [O.patch[k, j, : O.points[k, j], :2] + (held[O.foot[k, j]] if O.foot[k, j] >= 0 else 0.0) for j in slots]
            worst = max(worst, outside(np.concatenate(moved), plan.pressure[k, :2]))
    return worst


def mixed(seed, intervals=12):
    """A bit of everything: standing, flight, held, hanging under what bears, turning; far from the origin."""
    rng = np.random.default_rng(seed)
    planner = Planner(MASS, intervals=intervals)
    O = planner.outlook
    here = np.array([40.0, -7.0, 0.0])
    O.h[:] = rng.uniform(0.02, 0.08, intervals)
    O.centre[:] = here + (0.04, 0.0, HEIGHT) + 0.02 * rng.standard_normal((intervals + 1, 3))
    O.velocity[:] = 0.1 * rng.standard_normal((intervals + 1, 3))
    O.acceleration[:], O.turning[:] = rng.standard_normal((intervals, 3)), 5.0 * rng.standard_normal((intervals, 3))
    O.inertia[:], O.how[:] = INERTIA, rng.choice([FLIGHT, STANDS, HELD], intervals, p=(0.2, 0.6, 0.2))
    for k in range(intervals):
        raised = 2.0 if k % 5 == 4 else 0.0  # a support overhead
        put_patch(O, k, 0, here + foot_points(0.0, 0.1) + (0, 0, raised), 0)
        put_patch(O, k, 2, here + foot_points(0.0, -0.1) + (0, 0, raised), -1)
    O.landing_foot[0], O.landing_from[0], O.landing_touch[0] = 0, 3, 5
    now = [here + np.array((0.05, 0.01, HEIGHT)), (0.1, -0.05, 0.1), (0.05, -0.1, 0.02), (0.1, 0.2, -0.1), [(0.01, 0.02), (0.0, 0.0)]]
    return planner, now


def test_standing_still_stays_as_it_is():
    planner = standing()
    plan = planner.solve([0.04, 0, HEIGHT], [0, 0, 0])
    assert plan.found
    assert plan.centre == pytest.approx(planner.outlook.centre, abs=1e-9)
    assert plan.acceleration == pytest.approx(np.zeros((26, 3)), abs=1e-7)
    assert plan.off[0] < 1e-9
    assert plan.turned[0] < 1e-9


def test_a_walk_that_is_possible_is_planned_as_it_is():
    walk, planner = Walk(), Planner(MASS, intervals=50)
    planner.outlook.h[:] = walk.h
    t = 0.252
    walk.fill(planner, t, {}, 50)
    plan = planner.solve(*walk.state(t))
    assert plan.found
    assert plan.centre == pytest.approx(planner.outlook.centre, abs=1e-9)
    assert plan.pressure[:, :2] == pytest.approx(walk.p[21:71], abs=1e-7)
    assert plan.landing == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_a_body_under_the_planned_forces_goes_through_the_nodes(seed):
    planner, now = mixed(seed)
    plan = planner.solve(*now)
    O, y = planner.outlook, np.concatenate(now[:4])
    for k in range(planner.intervals):

        def rate(_, y, k=k):
            a = plan.acceleration[k].copy()
            if plan.s[k] != 0.0:
                a[:2] = plan.s[k] * (y[:2] - plan.cmp[k])
            alpha = np.linalg.solve(INERTIA, plan.turning[k] - O.turning[k])  # the reference turns by its own
            return np.concatenate((y[3:6], a, y[9:12], alpha))

        y = solve_ivp(rate, (0.0, O.h[k]), y, method="DOP853", rtol=1e-13, atol=1e-13).y[:, -1]
        assert y[:3] == pytest.approx(plan.centre[k + 1], abs=1e-9)
        assert y[3:6] == pytest.approx(plan.velocity[k + 1], abs=1e-9)
        assert y[6:9] == pytest.approx(plan.turn[k + 1], abs=1e-9)
        assert y[9:12] == pytest.approx(plan.spin[k + 1], abs=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_the_force_at_the_centre_of_pressure_turns_the_body_as_planned(seed):
    planner, now = mixed(seed)
    planner.outlook.centre[:, 2], planner.outlook.velocity[:, 2], planner.outlook.acceleration[:, 2] = HEIGHT, 0.0, 0.0
    planner.outlook.how[planner.outlook.how == FLIGHT] = HELD
    now[1] = (0.1, -0.05, 0.0)
    plan = planner.solve(*now)
    stands = np.flatnonzero(planner.outlook.how == STANDS)
    assert len(stands) > 2
    for k in stands:
        F = MASS * (plan.acceleration[k] + (0.0, 0.0, G))
        moment = np.cross(plan.pressure[k] - plan.centre[k], F)  # Newton and Euler
        assert moment[:2] == pytest.approx(plan.turning[k, :2], abs=1e-6)


def test_flight_is_ballistic_and_keeps_angular_momentum():
    planner = standing()
    O = planner.outlook
    O.how[4:16] = FLIGHT
    O.turning[:] = (3.0, -2.0, 1.0)
    plan = planner.solve([0.04, 0, HEIGHT], [0.3, 0.1, 1.0])
    assert plan.found
    assert plan.acceleration[4:16] == pytest.approx(np.tile((0, 0, -G), (12, 1)), abs=0)
    assert plan.turning[4:16] == pytest.approx(0.0, abs=0)
    assert plan.velocity[5:17, :2] == pytest.approx(np.tile(plan.velocity[4, :2], (12, 1)), abs=1e-12)
    # angular momentum stays, so the body loses what the reference gains
    assert INERTIA @ (plan.spin[16] - plan.spin[4]) == pytest.approx(-O.h[4:16].sum() * O.turning[0], abs=1e-9)


@pytest.mark.parametrize("direction", [(1, 0), (-1, 0), (0, 1), (0, -1)])
def test_a_push_is_answered_from_the_side_it_goes_to(direction):
    d = np.array(direction, float)
    plan = standing().solve([0.04, 0, HEIGHT], [*0.1 * d, 0])
    assert (plan.cmp[0] - (0.04, 0.0)) @ d > 0.02
    assert plan.acceleration[0, :2] @ d < 0
    assert plan.off[0] < 0.1


@pytest.mark.parametrize("seed", range(6))
def test_bounds_hold(seed):
    planner, now = mixed(seed)
    O = planner.outlook
    plan = planner.solve(*now)
    assert farthest_outside(O, plan, now[4]) < 1e-3
    for k in range(planner.intervals):
        if O.how[k] != FLIGHT:
            assert plan.acceleration[k, 2] <= O.most[k] + 0.1
        if O.how[k] == STANDS:
            assert plan.acceleration[k, 2] >= -0.95 * G - 0.1


def test_a_hard_push_uses_all_of_the_foot_and_of_friction():
    planner = standing()
    planner.outlook.friction[:] = 0.05
    plan = planner.solve([0.04, 0, HEIGHT], [0, 0.15, 0])
    assert plan.found
    f = plan.acceleration[:, 2] + G
    assert np.abs(plan.acceleration[:, 1]).max() == pytest.approx(0.7 * 0.05 * G, rel=0.15)
    assert (np.linalg.norm(plan.acceleration[:, :2], axis=1) <= 0.7 * 0.05 * f / np.cos(np.pi / 8) + 0.1).all()
    planner.outlook.friction[:] = 0.8
    plan = planner.solve([0.04, 0, HEIGHT], [0, 0.7, 0])
    assert plan.pressure[0, 1] == pytest.approx(0.145 - 0.008, abs=1e-3)


def test_moments_about_the_vertical_are_limited_by_friction():
    planner = standing()
    planner.outlook.turning[2:4] = (0.0, 0.0, 100.0)
    plan = planner.solve([0.04, 0, HEIGHT], [0, 0, 0])
    # both feet at 0.1 m from the middle, and a foot's own size: 0.9 · 0.8 · √(0.1² + (0.1² + 0.045²) / 3) · m g
    assert plan.turning[:, 2].max() == pytest.approx(0.72 * np.sqrt(0.01 + (0.01 + 0.045**2) / 3) * MASS * G, rel=0.02)


def test_a_leg_does_not_stretch_beyond_its_slack():
    # It may give a little, the less the harder the limit is: fails if that is not so, or if nothing limits it.
    slack, start = 0.005, ([0.04, 0, HEIGHT], [0, 0, 0.3])
    over = [standing().solve(*start).centre[:, 2].max() - HEIGHT - slack]
    for stretch in (1e-3, 3e-4, 1e-4):
        planner = standing(settings=PlanSettings(stretch=stretch))
        planner.outlook.slack[:] = slack
        over.append(planner.solve(*start).centre[:, 2].max() - HEIGHT - slack)
    assert over[0] > 2.0 * over[1] > 4.0 * over[2] > 8.0 * over[3]
    assert over[3] < 2e-5


@pytest.mark.parametrize(("push", "side"), [(0.3, 1), (-0.3, -1)])
def test_a_push_to_the_side_moves_the_next_steps_there(push, side):
    walk, planner = Walk(), Planner(MASS)
    t = 0.252
    walk.fill(planner, t, {}, 26)
    c, v = walk.state(t)
    plan = planner.solve(c, pushed(v, (0, push, 0)))
    assert plan.found
    assert max(side * plan.landing[:2, 1]) > 0.05
    assert min(side * plan.landing[:2, 1]) > -0.01


@pytest.mark.skipif(MODE == "off", reason="many sweeps")
def test_steps_stay_within_reach_and_late_ones_where_they_are():
    walk, planner = Walk(), Planner(MASS)
    t = 0.252
    walk.fill(planner, t, {1: (0.02, -0.03), 2: (0.0, 0.0)}, 26)
    c, v = walk.state(t)
    O = planner.outlook
    far = planner.solve(c, pushed(v, (0, -0.6, 0))).landing[0]
    O.reach_direction[0], O.reach_slack[0] = (0.0, -1.0), 0.02
    plan = planner.solve(c, pushed(v, (0, -0.6, 0)))
    k = O.landing_touch[0]
    stretched = -(plan.landing[0, 1] - (plan.centre[k, 1] - O.centre[k, 1]))
    assert stretched < 0.03
    assert plan.landing[0, 1] > far[1]
    O.landing_time[0] = 0.5 * planner.settings.freeze
    assert planner.solve(c, pushed(v, (0, -0.6, 0))).landing[0] == pytest.approx((0.02, -0.03), abs=2e-3)
    O.landing_time[0], O.reach_slack[0] = 0.3, np.inf
    O.landing_way[0], O.landing_least[0], O.landing_most[0] = (0.0, 1.0), -0.01, 0.02
    narrow = planner.solve(c, pushed(v, (0, -0.6, 0)))
    assert far[1] < -0.03
    assert narrow.landing[0, 1] == pytest.approx(-0.01, abs=2e-3)
    O.landing_least[0], O.landing_most[0] = -np.inf, np.inf
    huge = planner.solve(c, pushed(v, (0, -3.0, 0)))
    assert np.abs(huge.landing[:2]).max() < 0.35 / np.cos(np.pi / 8) + 1e-2


@pytest.mark.skipif(MODE == "off", reason="many sweeps")
def test_where_a_foot_stands_for_long_it_lands_nearer_to_its_place():
    # Fails if all landings matter alike: then nothing would change.
    walk, planner = Walk(), Planner(MASS)
    t = 0.252
    walk.fill(planner, t, {}, 26)
    c, v = walk.state(t)
    usual = np.abs(planner.solve(c, pushed(v, (0, -0.3, 0))).landing[:2, 1])
    last = int(np.argmax(usual))
    planner.outlook.landing_lasts[last] = 4.0 * USUAL
    longer = np.abs(planner.solve(c, pushed(v, (0, -0.3, 0))).landing[:2, 1])
    assert longer[last] < usual[last] - 0.01
    planner.outlook.landing_lasts[last] = np.nan
    with pytest.raises(ArgumentError, match=f"landing {last} needs"):
        planner.solve(c, v)


def test_where_hands_hold_any_acceleration_can_be_had():
    planner = Planner(MASS)
    O = planner.outlook
    O.how[:], O.inertia[:] = HELD, INERTIA
    t = np.concatenate(([0.0], np.cumsum(O.h)))
    O.centre[:, 0], O.velocity[:, 0], O.acceleration[:, 0] = 0.5 * 2.0 * t**2, 2.0 * t, 2.0
    O.centre[:, 2], O.velocity[:, 2], O.acceleration[:, 2] = 2.0 - 0.5 * 12.0 * t**2, -12.0 * t, -12.0  # pulled down faster than it falls
    plan = planner.solve([0, 0, 2], [0, 0, 0])
    assert plan.centre == pytest.approx(O.centre, abs=1e-9)
    assert (plan.s == 0).all()
    assert plan.acceleration_at([1, 1, 1]) == pytest.approx((2, 0, -12))


def test_a_line_or_a_point_bears_too():
    for points in ([(0.0, -0.1, 0), (0.0, 0.1, 0)], [(0.04, 0.0, 0)], [(0.0, 0.0, 0), (0.1, 0.0, 0), (0.05, 0.0, 0), (0.0, 0.0, 0)]):
        planner = standing()
        O = planner.outlook
        O.points[:, 1] = 0
        for k in range(26):
            put_patch(O, k, 0, np.array(points), -1)
        plan = planner.solve([0.02, 0.01, HEIGHT], [0, 0, 0])
        assert plan.found
        low, high = np.min(points, axis=0), np.max(points, axis=0)
        assert (plan.pressure >= low - 1e-3).all()
        assert (plan.pressure <= high + 1e-3).all()


@pytest.mark.parametrize("size", [0.5, 2.0])
def test_a_larger_body_does_the_same_more_slowly(size):
    """Lengths by the factor, times by its root, angles alike: gravity allows no other similarity."""
    time = np.sqrt(size)
    small, now = mixed(3)
    large = Planner(MASS * size**3, intervals=12, height=1.7 * size)
    for name in ("how", "points", "foot", "friction", "most", "weight", "landing_foot", "landing_from", "landing_touch", "acceleration"):
        getattr(large.outlook, name)[:] = getattr(small.outlook, name)
    for name, factor in (("h", time), ("centre", size), ("velocity", time), ("turning", size**4), ("inertia", size**5), ("patch", size)):
        getattr(large.outlook, name)[:] = getattr(small.outlook, name) * factor
    factors = (size, time, 1.0, 1.0 / time, size)
    one = small.solve(*now)
    two = large.solve(*(np.array(x) * f for x, f in zip(now, factors, strict=True)))
    assert two.turn == pytest.approx(one.turn, abs=1e-4)
    assert two.centre == pytest.approx(one.centre * size, abs=1e-4)


@pytest.mark.skipif(MODE == "off", reason="many sweeps")
def test_begun_with_the_last_plan_it_finds_the_same():
    walk, planner = Walk(), Planner(MASS)
    walk.fill(planner, 0.252, {}, 26)
    c, v = walk.state(0.252)
    now = c, pushed(v, (0.0, 0.4, 0.0))
    for _ in range(4):  # until what bears is laid out where feet will stand
        cold = planner.solve(*now)
        planner.outlook.landing_heading[:] = cold.landing
    warm = planner.solve(*now, elapsed=0.0)
    assert warm.centre == pytest.approx(cold.centre, abs=1e-5)
    assert warm.landing == pytest.approx(cold.landing, abs=1e-4)
    assert warm.sweeps[1] == 1 < cold.sweeps[1]
    cold = planner.solve(*now)
    again = planner.solve(*now)
    assert (again.centre == cold.centre).all()


@pytest.mark.parametrize("seed", range(2))
def test_a_walk_under_noise_stays_with_its_reference(seed):
    rng = np.random.default_rng(seed)
    walker = Walker(Walk(), Planner(MASS))
    sweeps = []
    for _ in range(300 if MODE != "off" else 12):
        plan = walker.go()
        assert plan.found
        sweeps.append(plan.sweeps[1])
        walker.c = walker.c + rng.normal(0, 5e-4, 3)
        walker.v = walker.v + rng.normal(0, 5e-3, 3)
        walker.spin = walker.spin + rng.normal(0, 0.01, 3)
        assert np.linalg.norm(walker.c - walker.walk.state(walker.t)[0]) < 0.06
        assert np.linalg.norm(walker.turn) < 0.1
        assert np.abs(walker.offsets).max() < 0.08
    assert np.mean(sweeps) < 4


@pytest.mark.skipif(MODE == "off", reason="many plans")
@pytest.mark.parametrize("push", [(0.0, 0.3), (0.0, -0.3), (0.3, 0.0), (-0.3, 0.0)])
def test_a_walk_recovers_from_a_push(push):
    walker = Walker(Walk(), Planner(MASS))
    for n in range(300):
        if n == 60:
            walker.v = pushed(walker.v, (*push, 0.0))
        before = walker.offsets.copy()
        plan = walker.go()
        if 58 < n < 90:
            assert farthest_outside(walker.planner.outlook, plan, before) < 1e-3
    assert np.linalg.norm(walker.c - walker.walk.state(walker.t)[0]) < 0.08
    assert np.linalg.norm(walker.turn) < 0.05


@pytest.mark.skipif(MODE == "off", reason="many intervals")
def test_a_whole_clip_is_one_plan():
    walk = Walk(24)
    planner = Planner(MASS, intervals=500)
    planner.outlook.h[:] = 0.024
    walk.fill(planner, 0.252, {}, 500)
    c, v = walk.state(0.252)
    plan = planner.solve(c, pushed(v, (0.0, 0.2, 0.0)))
    assert plan.found
    assert plan.off[0] < 0.3
    assert np.linalg.norm(plan.centre[-1] - planner.outlook.centre[500]) < 0.02


def test_four_feet_step_where_they_are_pushed():
    planner = Planner(40.0, feet=4)
    O = planner.outlook
    O.inertia[:], O.how[:], O.centre[:, 2], O.weight[:] = np.diag((1.0, 4.0, 4.0)), STANDS, 0.5, 0.25
    places = np.array([(0.4, 0.15, 0), (0.4, -0.15, 0), (-0.4, 0.15, 0), (-0.4, -0.15, 0)])
    for k in range(26):
        for f in (1, 2) if 4 <= k < 14 else (0, 3):  # two that are crosswise bear, the others swing
            put_patch(O, k, f, places[f : f + 1], f)
    O.landing_foot[:2], O.landing_from[:2], O.landing_touch[:2], O.landing_time[:2] = (0, 3), 9, 14, 0.3
    plan = planner.solve([0, 0, 0.5], [0, 0.4, 0], offsets=np.zeros((4, 2)))
    assert plan.found
    assert (plan.landing[:2, 1] > 0.02).all()
    assert farthest_outside(O, plan, np.zeros((4, 2))) < 1e-3


def test_refuses_outlooks_that_make_no_sense():
    def told(change, *now, **options):
        planner = standing(3)
        change(planner.outlook)
        with pytest.raises(ArgumentError) as caught:
            planner.solve(*(now or ([0, 0, 1], [0, 0, 0])), **options)
        return str(caught.value)

    def nothing(O):
        pass

    def put(name, where, value):
        def change(O):
            getattr(O, name)[where] = value

        return change

    assert "outlook.h: interval 1 must be longer than 0 s" in told(put("h", 1, 0.0))
    assert "finite, which they are not at node or interval 2" in told(put("centre", 2, np.nan))
    assert "finite, which they are not at node or interval 1" in told(put("turning", 1, np.inf))
    assert "inertia: that of interval 0 is not symmetric" in told(put("inertia", (0, 1, 1), -1.0))
    assert "interval 2 STANDS, but none of its patches has a point" in told(put("points", 2, 0))
    assert "of feet from -1 to 1; got how 1" in told(put("foot", (1, 0), 2))
    assert "interval 1 must be FLIGHT, STANDS or HELD" in told(put("how", 1, 7))
    assert "up to 8 finite points in a patch" in told(put("patch", (1, 0, 2), np.nan))
    assert "slack a number or inf" in told(put("slack", 0, np.nan))
    assert "most above -9.31" in told(put("most", 0, -20.0))
    assert "landing 0 needs a foot" in told(put("landing_foot", 0, 3))

    def twice(O):
        O.landing_foot[:2], O.landing_from[:2], O.landing_touch[:2] = 1, 1, 2

    assert "landing 1 takes over at the same interval as another of foot 1" in told(twice)
    assert "centre: every number must be finite" in told(nothing, [np.nan, 0, 0], [0, 0, 0])
    assert "velocity: expected 3 numbers" in told(nothing, [0, 0, 0], [0, 0])
    assert "offsets: expected an array of shape (2, 2)" in told(nothing, [0, 0, 0], [0, 0, 0], [0, 0, 0], [0, 0, 0], [1.0])
    assert "4 were asked for, there is room for 3" in told(nothing, intervals=4)
    assert "elapsed must be at least 0" in told(nothing, elapsed=-1.0)


def test_refuses_planners_that_make_no_sense():
    with pytest.raises(ArgumentError, match="mass must be more than 0"):
        Planner(0.0)
    with pytest.raises(ArgumentError, match="feet must be at most 4, got 5"):
        Planner(60.0, feet=5)
    with pytest.raises(ArgumentError, match="centre must be more than 0"):
        PlanSettings(centre=0.0)
    with pytest.raises(ArgumentError, match="friction_share must be at most 1"):
        PlanSettings(friction_share=1.5)


def test_what_carries_is_as_high_as_what_is_under_the_body():
    # A seat under the centre of mass, and feet far ahead on the ground. Fails if all heights count alike: 0.3 m.
    planner = standing()
    seat, O = foot_points(0.0, 0.0) + np.array((0.0, 0.0, 0.6)), planner.outlook
    for k in range(len(O.h)):
        put_patch(O, k, 0, seat)
        put_patch(O, k, 1, foot_points(0.6, 0.0))
    plan = planner.solve([0.04, 0.0, HEIGHT], [0.0, 0.0, 0.0])
    assert plan.pressure[:, 2] == pytest.approx(0.6, abs=0.05)
