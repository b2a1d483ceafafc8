"""Planning problems for the tests of the centroidal planner."""

from __future__ import annotations

import numpy as np

from brachiate.centroidal.planner import FLIGHT, GRIP, STANCE, CentroidalPlanner

G, MASS, HEIGHT = 9.81, 65.0, 0.9
INERTIA = np.array([[9.0, 0.3, -0.2], [0.3, 8.5, 0.1], [-0.2, 0.1, 1.4]])


def foot_points(x, y, size=1.0):
    return np.array([[x - 0.06, y - 0.045, 0], [x + 0.14, y - 0.045, 0], [x + 0.14, y + 0.045, 0], [x - 0.06, y + 0.045, 0]]) * size


def put_patch(problem, k, slot, points, foot=-1):
    problem.patch_points[k, slot, : len(points)] = points
    problem.patch_size[k, slot], problem.patch_foot[k, slot] = len(points), foot


def standing(intervals=26, **options):
    """Double support, the CoM above the centroid of both feet."""
    planner = CentroidalPlanner(MASS, intervals=intervals, **options)
    problem = planner.problem
    problem.inertia[:], problem.contact_mode[:] = INERTIA, STANCE
    problem.com[:], problem.offset_share[:, :2] = (0.04, 0.0, HEIGHT), 0.5
    for k in range(intervals):
        put_patch(problem, k, 0, foot_points(0.0, 0.1), 0)
        put_patch(problem, k, 1, foot_points(0.0, -0.1), 1)
    return planner


def pushed(v, by):
    return v + np.array(by)


class Walk:
    """Walk of a linear inverted pendulum, with the CoP at the centroid of the support."""

    PERIOD, BOTH, STRIDE, SIDE = 0.55, 0.1, 0.5, 0.09

    def __init__(self, steps=14):
        self.steps = [np.array([self.STRIDE * i, self.SIDE if i % 2 == 0 else -self.SIDE]) for i in range(steps)]
        self.omega = np.sqrt(G / HEIGHT)
        # 12 ms intervals; the capture point is integrated backward in time, the CoM forward
        self.h = 0.012
        n = round(steps * self.PERIOD / self.h)
        self.p = np.array([self.centroid((k + 0.5) * self.h) for k in range(n)])
        grow = np.exp(self.omega * self.h)
        bound, c = np.empty((n + 1, 2)), np.empty((n + 1, 2))
        bound[n] = self.p[-1]
        for k in range(n - 1, -1, -1):
            bound[k] = self.p[k] + (bound[k + 1] - self.p[k]) / grow
        c[0] = self.p[0]
        for k in range(n):  # exact for a CoP constant over the interval
            away = c[k] - self.p[k] - 0.5 * (bound[k] - self.p[k])
            c[k + 1] = self.p[k] + away / grow + 0.5 * (bound[k] - self.p[k]) * grow
        self.c, self.v = c, self.omega * (bound - c)

    def in_contact(self, t):
        """Footsteps in contact, the newer one first."""
        i = min(int(t / self.PERIOD + 1e-9), len(self.steps) - 1)
        return [i, i - 1] if i > 0 and t - i * self.PERIOD < self.BOTH - 1e-9 else [i]

    def centroid(self, t):
        return np.mean([foot_points(*self.steps[i])[:, :2].mean(axis=0) for i in self.in_contact(t)], axis=0)

    def state(self, t):
        k = round(t / self.h)
        return np.append(self.c[k], HEIGHT), np.append(self.v[k], 0.0)

    def fill(self, planner, t, targets, intervals):
        """Fill the problem from a time on; returns the footsteps of its landings."""
        problem = planner.problem
        node = np.concatenate(([0.0], np.cumsum(problem.dt[:intervals])))
        for k in range(intervals + 1):
            problem.com[k], problem.com_velocity[k] = self.state(t + node[k])
            footsteps = self.in_contact(t + node[k] + 1e-6)
            problem.offset_share[k] = 0.0
            for i in footsteps:
                problem.offset_share[k, i % 2] = 1.0 / len(footsteps)
        problem.patch_size[:], problem.contact_mode[:], problem.inertia[:], problem.landing_foot[:] = 0, STANCE, INERTIA, -1
        for k in range(intervals):
            middle = t + 0.5 * (node[k] + node[k + 1])
            problem.com_acceleration[k, :2] = self.omega**2 * (self.state(middle)[0][:2] - self.centroid(middle))
            for slot, i in enumerate(self.in_contact(middle)):
                put_patch(problem, k, slot, foot_points(*self.steps[i]), i % 2)
        ahead = [i for i in range(int(t / self.PERIOD + 1e-9) + 1, len(self.steps)) if i * self.PERIOD - t < node[-2]]
        for n, i in enumerate(ahead):
            left = i * self.PERIOD - t
            problem.landing_foot[n], problem.landing_time[n] = i % 2, left
            problem.landing_touchdown[n] = np.searchsorted(0.5 * (node[1:] + node[:-1]), left)
            problem.landing_start[n] = np.searchsorted(0.5 * (node[1:] + node[:-1]), max(left - 0.2, 0.0))
            problem.landing_target[n] = targets.get(i, (0.0, 0.0))
        return ahead


class Walker:
    """A body that follows its plans for 12 ms each (receding horizon)."""

    def __init__(self, walk, planner, t=0.252):
        self.walk, self.planner, self.t = walk, planner, t
        self.c, self.v = walk.state(t)
        self.turn, self.spin, self.offsets, self.targets, self.elapsed = np.zeros(3), np.zeros(3), np.zeros((2, 2)), {}, None

    def go(self):
        ahead = self.walk.fill(self.planner, self.t, self.targets, self.planner.intervals)
        plan = self.planner.solve(self.c, self.v, self.turn, self.spin, self.offsets, elapsed=self.elapsed)
        self.targets = {i: plan.landing_offset[n] for n, i in enumerate(ahead)}
        for _ in range(6):
            h, a = 0.002, plan.acceleration_at(self.c)
            self.c, self.v = self.c + h * self.v + 0.5 * h * h * a, self.v + h * a
            self.turn, self.spin = (
                self.turn + h * self.spin + 0.5 * h * h * plan.angular_acceleration[0],
                self.spin + h * plan.angular_acceleration[0],
            )
        step = int(self.t / self.walk.PERIOD + 1e-9)
        self.t, self.elapsed = self.t + 0.012, 0.012
        if int(self.t / self.walk.PERIOD + 1e-9) > step:
            self.offsets[(step + 1) % 2] = self.targets[step + 1]
        return plan


def outside(points, p):
    """Distance of p outside the hull of points, by brute force over all pairs."""
    worst = -np.inf
    for a in points:
        for b in points:
            d = b - a
            if np.hypot(*d) > 1e-9:
                n = np.array([d[1], -d[0]]) / np.hypot(*d)
                if ((points - a) @ n).max() < 1e-9:
                    worst = max(worst, (p - a) @ n)
    return worst


def farthest_outside(problem, plan, offsets):
    """Largest distance of a CoP outside the support polygon, with feet at their planned footholds."""
    foot_offsets, worst = np.array(offsets), -np.inf
    for k in range(len(plan.omega_squared)):
        for n in np.flatnonzero((problem.landing_foot >= 0) & (problem.landing_start == k)):
            foot_offsets[problem.landing_foot[n]] = plan.landing_offset[n]
        if problem.contact_mode[k] == STANCE:
            slots = np.flatnonzero(problem.patch_size[k])
            moved = [
                problem.patch_points[k, j, : problem.patch_size[k, j], :2]
                + (foot_offsets[problem.patch_foot[k, j]] if problem.patch_foot[k, j] >= 0 else 0.0)
                for j in slots
            ]
            worst = max(worst, outside(np.concatenate(moved), plan.cop[k, :2]))
    return worst


def mixed(seed, intervals=12):
    """Mixed contact modes: stance, flight, grips, a support overhead, rotation; far from the origin."""
    rng = np.random.default_rng(seed)
    planner = CentroidalPlanner(MASS, intervals=intervals)
    problem = planner.problem
    here = np.array([40.0, -7.0, 0.0])
    problem.dt[:] = rng.uniform(0.02, 0.08, intervals)
    problem.com[:] = here + (0.04, 0.0, HEIGHT) + 0.02 * rng.standard_normal((intervals + 1, 3))
    problem.com_velocity[:] = 0.1 * rng.standard_normal((intervals + 1, 3))
    problem.com_acceleration[:], problem.angular_momentum_rate[:] = (
        rng.standard_normal((intervals, 3)),
        5.0 * rng.standard_normal((intervals, 3)),
    )
    problem.inertia[:], problem.contact_mode[:] = INERTIA, rng.choice([FLIGHT, STANCE, GRIP], intervals, p=(0.2, 0.6, 0.2))
    for k in range(intervals):
        raised = 2.0 if k % 5 == 4 else 0.0  # a support overhead
        put_patch(problem, k, 0, here + foot_points(0.0, 0.1) + (0, 0, raised), 0)
        put_patch(problem, k, 2, here + foot_points(0.0, -0.1) + (0, 0, raised), -1)
    problem.landing_foot[0], problem.landing_start[0], problem.landing_touchdown[0] = 0, 3, 5
    now = [here + np.array((0.05, 0.01, HEIGHT)), (0.1, -0.05, 0.1), (0.05, -0.1, 0.02), (0.1, 0.2, -0.1), [(0.01, 0.02), (0.0, 0.0)]]
    return planner, now
