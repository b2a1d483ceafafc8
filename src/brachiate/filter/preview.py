"""Preview: what is known of the reference ahead, as the planner wants it; plans made from it, step by step or for a whole clip at once."""

from __future__ import annotations

import numpy as np
from scipy.interpolate import CubicHermiteSpline

from brachiate.doors import Array
from brachiate.filter.body import Body
from brachiate.filter.footwork import Footwork
from brachiate.filter.schedule import Schedule
from brachiate.filter.settings import FilterSettings
from brachiate.plan.centroidal import DEFAULT_INTERVALS, FLIGHT, STANDS, Plan, Planner
from brachiate.plan.outlook import FEET, PATCHES, POINTS

DOWN = 0.04  # [s] it takes a foot that stands to come down with the rest of its sole
FEWEST = 3  # intervals of a plan, at the end of a reference
SHORTEST = 0.004  # [s] of an interval
STEP = 0.024  # [s] intervals of a plan of the whole clip
MOST_LEAN = 1.0  # [rad] that a plan is told of


def intervals_for(preview: float) -> Array:
    """Lengths of intervals that look ahead so far: short ones first [s]."""
    ends = np.cumsum(DEFAULT_INTERVALS)
    return np.array(DEFAULT_INTERVALS[: max(FEWEST, int(np.searchsorted(ends, preview - 1e-9)) + 1)])


def snapped(nodes: Array, changes: Array) -> Array:
    """Nodes [s], the one nearest to each change moved there: the ground pushes until a foot leaves it, and no longer."""
    nodes = nodes.copy()
    free = np.ones(len(nodes), bool)
    free[0] = False
    for change in changes[(changes > 0.0) & (changes < nodes[-1])]:
        n = int(np.argmin(np.where(free, np.abs(nodes - change), np.inf)))
        below, above = nodes[n - 1], nodes[n + 1] if n + 1 < len(nodes) else np.inf
        if free[n] and below + SHORTEST <= change <= above - SHORTEST:
            nodes[n], free[n] = change, False
    return nodes


class Preview:
    """Makes plans from a schedule and where the body and its feet are."""

    def __init__(self, schedule: Schedule, body: Body, settings: FilterSettings, height: float, friction: float, lengths: Array) -> None:
        self.schedule, self.body, self.lengths, self.friction = schedule, body, lengths, friction
        self.freeze = settings.plan.scaled(height).freeze
        gravity = -float(body.world.gravity[2])
        self.planner = Planner(
            schedule.mass,
            height=height,
            feet=min(schedule.legs, FEET),
            intervals=len(lengths),
            gravity=gravity,
            settings=settings.plan,
        )

    def plan(self, k: int, feet: Footwork, elapsed: float | None) -> Plan:
        """Plan from frame k on; what is planned of steps is in the footwork's aims then."""
        S, K, O = self.schedule, self.body.control, self.planner.outlook
        last, dt = len(S) - 1, S.dt
        ends = np.cumsum(self.lengths)
        N = min(max(FEWEST, int(np.searchsorted(ends, (last - k) * dt))), len(self.lengths))
        nodes = snapped(np.concatenate(([0.0], ends[:N])), (S.changes - k) * dt)
        h, self.nodes = np.diff(nodes), nodes
        at = np.minimum(k + np.round(nodes / dt).astype(int), last)
        middle = np.minimum(k + np.round((nodes[1:] - h / 2) / dt).astype(int), last)
        O.h[:N], O.centre[: N + 1], O.velocity[: N + 1] = h, S.centre[at], S.speed[at]
        O.centre[: N + 1, 2] += feet.on_ground(feet.shift)[2]
        O.acceleration[:N], O.turning[:N], O.inertia[:N] = S.acceleration[middle], S.turning[middle], S.inertia[middle]
        O.weight[: N + 1, : self.planner.feet], O.friction[:] = S.share[at][:, : self.planner.feet], self.friction
        O.slack[: N + 1] = S.slack[at]
        self._lay_out(k, middle, feet)
        keys = self._landings(k, nodes, feet)
        off = np.clip(K.lean, -MOST_LEAN, MOST_LEAN) - S.turn[k]
        rate = np.linalg.solve(S.inertia[k], K.momentum - S.spin[k])
        plan = self.planner.solve(K.com[:3], K.com[3:], off, rate, feet.offset[: self.planner.feet, :2], intervals=N, elapsed=elapsed)
        for n, key in enumerate(keys):
            feet.aims[key] = plan.landing[n].copy()
        return plan

    def _lay_out(self, k: int, middle: Array, feet: Footwork) -> None:
        """What bears in every interval: first what does now, then what the schedule says."""
        S, K, O = self.schedule, self.body.control, self.planner.outlook
        O.points[:], O.foot[:] = 0, -1
        for j, i in enumerate(middle):
            patch = 0
            for n, sole in enumerate(S.soles):
                leg, bears = sole.leg, S.bears[i, n]
                stays = feet.stands[leg] and not S.on[k, leg] and i < k + S.until[k, leg] / S.dt and S.until[k, leg] < S.reference.times[-1]
                coming = feet.stands[leg] and S.on[k, leg] and (i - k) * S.dt < DOWN and K.stands[n] < int(bears).bit_count()
                if j == 0 or (bears == 0 and stays) or coming:
                    points = feet.bearing[n] - feet.offset[leg] if K.stands[n] else None
                elif bears == 0:
                    points = None
                else:
                    chosen = (int(bears) >> np.arange(self.body.corners[n])) & 1 == 1
                    here = S.stance[i, leg] <= feet.stance[leg] and feet.stands[leg]
                    points = self.body.places(n)[chosen] - feet.offset[leg] if here else S.places[n][i][chosen] + S.moved[i, leg]
                if points is not None and len(points) and patch < PATCHES:
                    count = min(len(points), POINTS)
                    O.patch[j, patch, :count], O.points[j, patch], O.foot[j, patch] = (
                        points[:count],
                        count,
                        leg if leg < self.planner.feet else -1,
                    )
                    patch += 1
            O.how[j] = STANDS if patch else FLIGHT

    def _landings(self, k: int, nodes: Array, feet: Footwork) -> list[tuple[int, int]]:
        """Landings within the preview; a foot's new offset takes over in the middle of its swing."""
        S, O = self.schedule, self.planner.outlook
        O.landing_foot[:] = -1
        keys: list[tuple[int, int]] = []
        for leg in range(self.planner.feet):
            for n, (start, end) in enumerate(S.spans[leg]):
                ahead = (start - k) * S.dt
                if n <= feet.stance[leg] or start < 0 or end <= k or ahead > nodes[-1]:
                    continue
                lift = max(S.spans[leg][n - 1][1], 0) if n else 0
                swing = ((lift + start) // 2 - k) * S.dt
                first = int(np.searchsorted(nodes, swing)) if swing > 0 else 0
                touch = int(np.searchsorted(nodes, ahead - 1e-9)) if ahead > 0 else 0
                if first >= len(nodes) - 1:
                    continue
                row = len(keys)
                O.landing_foot[row], O.landing_from[row], O.landing_touch[row] = leg, first, max(touch, first)
                O.landing_time[row] = max(ahead, 0.0)
                frozen = O.landing_time[row] < self.freeze
                O.landing_heading[row] = feet.path[leg, :2] if frozen else feet.aims.get((leg, n), feet.offset[leg, :2])
                keys.append((leg, n))
        return keys


def plan_whole(schedule: Schedule, body: Body, settings: FilterSettings, height: float, friction: float) -> Plan:
    """Plan all of a reference at once, and let the schedule have the body and its feet go as planned."""
    count = max(int((len(schedule) - 1) * schedule.dt / STEP), FEWEST)
    feet = Footwork(schedule, body, settings)
    preview = Preview(schedule, body, settings, height, friction, np.full(count, STEP))
    plan = preview.plan(0, feet, None)
    _take_on(schedule, plan, preview.nodes, feet)
    return plan


def _take_on(S: Schedule, plan: Plan, nodes: Array, feet: Footwork) -> None:
    times = np.minimum(S.dt * np.arange(len(S)), nodes[-1])
    path = CubicHermiteSpline(nodes, plan.centre, plan.velocity)
    S.centre, S.speed = path(times), path(times, 1)
    now = np.clip(np.searchsorted(nodes, times, side="right") - 1, 0, len(plan.cmp) - 1)
    s = plan.s[now][:, None]
    S.acceleration = plan.acceleration[now]
    S.acceleration[:, :2] = np.where(s != 0.0, s * (S.centre[:, :2] - plan.cmp[now]), S.acceleration[:, :2])
    S.turn = np.stack([np.interp(times, nodes, x) for x in plan.turn.T], axis=1)
    S.turn_rate = np.stack([np.interp(times, nodes, x) for x in plan.spin.T], axis=1)
    S.spin = S.spin + np.einsum("fij,fj->fi", S.inertia, S.turn_rate)
    S.turning = plan.turning[now]
    for leg, spans in enumerate(S.spans):
        before, end = np.zeros(2), 0
        for n, (start, stop) in enumerate(spans):
            goal, first = feet.aims.get((leg, n), before), max(start, 0)
            x = (np.arange(end, first) - end) / max(first - end, 1)
            part = (x**3 * (10.0 - 15.0 * x + 6.0 * x * x))[:, None]
            S.moved[end:first, leg, :2] = (1.0 - part) * before + part * goal
            S.moved[first:stop, leg, :2] = goal
            before, end = goal, stop
        S.moved[end:, leg, :2] = before
    S.moved_rate = np.asarray(np.gradient(S.moved, S.dt, axis=0))
