"""Preview: plans made from what is known of the reference ahead, step by step or for a whole clip at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.interpolate import CubicHermiteSpline

from brachiate.centroidal.planner import DEFAULT_INTERVALS, Plan, Planner
from brachiate.centroidal.problem import FEET
from brachiate.compiled import Handle
from brachiate.filter.footsteps.foot_state import Footwork
from brachiate.filter.footsteps.mpc_problem import FEWEST
from brachiate.filter.schedule.arrays import Ahead
from brachiate.filter.schedule.contact_schedule import Schedule
from brachiate.filter.settings import FilterSettings
from brachiate.filter.tracking.control_step import foresee, heed, start
from brachiate.filter.tracking.feasibility import Forecast
from brachiate.filter.tracking.whole_body_controller import Body
from brachiate.validation import Array

STEP = 0.024  # [s] intervals of a plan of the whole clip


def intervals_for(preview: float) -> Array:
    """Lengths of intervals that look ahead so far: short ones first [s]."""
    ends = np.cumsum(DEFAULT_INTERVALS)
    return np.array(DEFAULT_INTERVALS[: max(FEWEST, int(np.searchsorted(ends, preview - 1e-9)) + 1)])


class Preview:
    """Makes plans from what is known ahead, and where the body and its feet are.

    Args:
        ahead: What is known; by handle.
        body: That it is for.
        settings: For this body.
        height: Of it [m].
        lengths: Of intervals [s].
        blind: [s] for which plans go on beyond what is known; 0 if nothing comes after that.
        k: Frame with which it begins.
    """

    def __init__(
        self,
        ahead: Handle,
        body: Body,
        settings: FilterSettings,
        height: float,
        lengths: Array,
        blind: float = 0.0,
        k: int = 0,
    ) -> None:
        self.ahead, self.body, self.lengths = ahead, body, lengths
        room = ahead.rooms[0]
        assert isinstance(room, Ahead)
        gravity, mass = -float(body.world.gravity[2]), body.figure.model.mass
        self.legs = len(np.unique(room.leg[room.leads == 1]))  #: that are led: all others land where they do
        self.planner = Planner(
            mass,
            height=height,
            feet=min(self.legs, FEET),
            intervals=len(lengths),
            gravity=gravity,
            settings=settings.plan,
        )
        self.feet = Footwork(room, settings, self.planner.settings.freeze, len(lengths), self.planner.landings, blind)
        self.status = 0
        status = start(body.world.data.key, body.reference.key, body.key, ahead.key, self.feet.key, k)
        if status:
            body.world.data.refuse(status)

    def plan(self, k: int, elapsed: float, amend: Callable[[], None] | None = None) -> None:
        """Plan from frame k on, and let the body and its feet go that way.

        Args:
            k: Frame.
            elapsed: Since the last plan [s], negative to forget it.
            amend: Called when all that is known is laid out, to change it.
        """
        body, feet, planner = self.body, self.feet, self.planner
        planner.outlook.friction[:] = body.world.surfaces.material.friction
        N = foresee(body.world.data.key, body.key, self.ahead.key, feet.key, planner.key, k, self.lengths, planner.feet)
        if amend is not None:
            amend()
        self.status = planner.find(N, elapsed)
        heed(body.key, self.ahead.key, feet.key, planner.key, k)

    @property
    def told(self) -> Plan:
        """The plan made last."""
        return self.planner.told(int(self.feet.room.planned[0]), self.status)


def plan_whole(schedule: Schedule, body: Body, settings: FilterSettings, height: float) -> Forecast:
    """Plan all of a reference at once, and let the schedule have the body and its feet go as planned.

    Returns how far that is from the reference.
    """
    count = max(int((len(schedule) - 1) * schedule.dt / STEP), FEWEST)
    preview = Preview(schedule.handle, body, settings, height, np.full(count, STEP))
    preview.plan(0, -1.0)
    plan = preview.told
    nodes = preview.feet.room.nodes[: len(plan.centre)].copy()
    there = schedule.centre[np.minimum(np.rint(nodes / schedule.dt).astype(int), len(schedule) - 1)]
    forecast = Forecast(schedule.reference.times[0] + nodes, plan.centre - there, plan.turn)
    _take_on(schedule, plan, nodes, preview.feet)
    return forecast


def _take_on(S: Schedule, plan: Plan, nodes: Array, feet: Footwork) -> None:
    G = feet.room
    times = np.minimum(S.dt * np.arange(len(S)), nodes[-1])
    path = CubicHermiteSpline(nodes, plan.centre, plan.velocity)
    S.centre[:], S.speed[:] = path(times), path(times, 1)
    now = np.clip(np.searchsorted(nodes, times + 1e-9, side="right") - 1, 0, len(plan.cmp) - 1)
    s = plan.s[now][:, None]
    S.acceleration[:] = plan.acceleration[now]
    S.acceleration[:, :2] = np.where(s != 0.0, s * (S.centre[:, :2] - plan.cmp[now]), S.acceleration[:, :2])
    S.turn[:] = np.stack([np.interp(times, nodes, x) for x in plan.turn.T], axis=1)
    # Between nodes angular momentum goes straight on, as in flight it has to: that of the reference swings
    at = np.minimum(np.rint(nodes / S.dt).astype(int), len(S) - 1)
    spin = S.spin[at] + np.einsum("nij,nj->ni", S.inertia[at], plan.spin)
    S.spin[:] = np.stack([np.interp(times, nodes, x) for x in spin.T], axis=1)
    S.turning[:] = (np.diff(spin, axis=0) / np.diff(nodes)[:, None])[now]
    for leg, spans in enumerate(S.spans):
        before, end = np.zeros(2), 0
        for n, (begin, stop) in enumerate(spans):
            at, first = leg * (len(G.aimed) // S.legs) + n, max(begin, 0)
            goal = G.aims[at, :2] if G.aimed[at] else before
            x = (np.arange(end, first) - end) / max(first - end, 1)
            part = (x**3 * (10.0 - 15.0 * x + 6.0 * x * x))[:, None]
            S.moved[end:first, leg, :2] = (1.0 - part) * before + part * goal
            S.moved[first:stop, leg, :2] = goal
            before, end = goal, stop
        S.moved[end:, leg, :2] = before
    S.moved_rate[:] = np.gradient(S.moved, S.dt, axis=0)
