"""A plan of the body as a whole: of its centre of mass, its angular momentum and its next steps, over what is known of the motion ahead.

First heights, then everything along the ground: with heights known, both are least squares in stages. The plan begins with the state that
the body is in, so it can be made anew as often as wanted; between two plans, let c̈ = s (c - cmp), not c̈, stay as it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from brachiate.centroidal.arrays import Stages, stages
from brachiate.centroidal.horizontal import (
    USUAL,
    lay_horizontal,
    read_horizontal,
    read_landings,
    sizes,
)
from brachiate.centroidal.pendulum import ALPHA, LANDS, P_
from brachiate.centroidal.problem import (
    FEET,
    FLIGHT,
    HELD,
    MOST,
    MOTORS,
    NO_FAULT,
    POINTS,
    STANDS,
    Course,
    Outlook,
    Weights,
    empty_course,
    empty_outlook,
    fault,
    weights,
)
from brachiate.centroidal.settings import PlanSettings
from brachiate.centroidal.staged_least_squares import FROM_CONTROLS, NOT_FINITE, RELAXED, STATUS, find_least
from brachiate.centroidal.vertical import CONTROLS, ROWS, STATES, U, lay_vertical, read_vertical
from brachiate.compiled import Handle, call_at, entry, kernel, opener
from brachiate.errors import ArgumentError, StateError
from brachiate.validation import Array, number, numbers, whole

__all__ = ["FLIGHT", "HELD", "STANDS", "Outlook", "Plan", "PlanSettings", "Planner"]

MOVED = 0.002  # [m] steps this far from where they were assumed: what bears is laid out anew
LAYOUTS = 3  # at most
DEFAULT_INTERVALS = (0.024,) * 12 + (0.06,) * 14  # [s]

open_plan = opener(Weights, Outlook, Course, Stages, Stages)


@kernel
def before(P, t):
    """The interval of the last plan at a time of it."""
    k = 0
    while k < P.count[0] - 1 and P.time[k + 1] < t:
        k += 1
    return k


@kernel
def remember(W, O, P, V, S, N, elapsed):
    """Begin with the controls of the last plan, where the same kind of thing happens at the same time."""
    t, wv, ws = elapsed, V.size[4], S.size[4]
    for k in range(N):
        old = before(P, t + 0.5 * O.h[k])
        t += O.h[k]
        same = P.how[old] == O.how[k]
        V.z[k * wv + U] = P.up[old] if same else O.acceleration[k, 2]
        for i in range(2):
            S.z[k * ws + P_ + i] = 0.0
            if same:
                S.z[k * ws + P_ + i] = P.pressure[old, i] - P.present[i] if O.how[k] == STANDS else P.along[old, i]
        for i in range(3):
            S.z[k * ws + ALPHA + i] = P.alpha[old, i] if same else 0.0
    for n in range(O.landing_foot.shape[0]):
        if O.landing_foot[n] >= 0 and O.landing_from[n] < N:
            at = O.landing_from[n] * ws + LANDS + 2 * O.landing_foot[n]
            S.z[at], S.z[at + 1] = O.landing_heading[n, 0], O.landing_heading[n, 1]


@kernel
def keep(O, P, N):
    """Times and kinds of intervals, for the next plan."""
    P.count[0], P.time[0] = N, 0.0
    for k in range(N):
        P.time[k + 1], P.how[k] = P.time[k] + O.h[k], O.how[k]


@entry
def plan_ahead(key, up, along, find, N, elapsed):
    """Plan N intervals. Returns a status.

    Keys of both problems and the address of what solves them come beside the plan's own. ``elapsed`` is the time [s] since the last plan,
    if it is to begin with what that found, else negative.
    """
    W, O, P, V, S = open_plan(key)
    P.fault[0] = fault(W, O, P, N)
    if P.fault[0] != NO_FAULT:
        return NOT_FINITE
    warm = elapsed >= 0.0 and P.count[0] > 0
    if warm:
        remember(W, O, P, V, S, N, elapsed)
    P.count[0] = 0
    lay_vertical(W, O, P, V, N)
    start = FROM_CONTROLS if warm else RELAXED
    status = call_at(find, up, up, 0.0, start)
    P.tries[0], P.tries[1], P.tries[2] = V.tries[0], 0, 0
    if status == NOT_FINITE:
        return status
    read_vertical(W, O, P, V, N)
    for n in range(O.landing_foot.shape[0]):
        P.landing[n, 0], P.landing[n, 1] = O.landing_heading[n, 0], O.landing_heading[n, 1]
    ground = status
    for _ in range(LAYOUTS):
        lay_horizontal(W, O, P, S, N)
        ground = call_at(find, along, along, 0.0, start)
        start = FROM_CONTROLS
        P.tries[1] += S.tries[0]
        P.tries[2] += 1
        if ground == NOT_FINITE:
            return ground
        if read_landings(W, O, P, S, N) < MOVED:
            break
    read_horizontal(W, O, P, S, N)
    keep(O, P, N)
    return max(status, ground)


@dataclass(frozen=True)
class Plan:
    """What is planned, for N intervals between N + 1 nodes; world axes, z up.

    Attributes:
        centre, velocity: (N + 1, 3) [m], [m/s] of the centre of mass at nodes
        turn, spin: (N + 1, 3) [rad], [rad/s] orientation from that of the reference, and its rate
        pressure: (N, 3) [m] centre of pressure of intervals; where there is none, the centre of mass
        cmp, s: (N, 2) [m], (N,) [1/s²] along the ground c̈ = s (c - cmp) in an interval; s is 0 in flight and where hands hold
        acceleration: (N, 3) [m/s²] of the centre of mass at the start of intervals
        alpha: (N, 3) [rad/s²] angular acceleration beyond that of the reference
        turning: (N, 3) [N·m] rate of angular momentum about the centre of mass
        landing: (L, 2) [m] offsets of the outlook's landings
        sweeps: of the vertical and of the horizontal plan
        status: one of the words in :data:`brachiate.centroidal.staged_least_squares.STATUS`
        off, turned: (greatest, root mean square) of |c - reference| [m] and |turn| [rad] over all nodes but the first: how far from
            possible the reference is

    """

    centre: Array
    velocity: Array
    turn: Array
    spin: Array
    pressure: Array
    cmp: Array
    s: Array
    acceleration: Array
    alpha: Array
    turning: Array
    landing: Array
    sweeps: tuple[int, int]
    status: str
    off: tuple[float, float]
    turned: tuple[float, float]

    @property
    def found(self) -> bool:
        """Whether it is the best plan to round-off."""
        return self.status == STATUS[0]

    def acceleration_at(self, centre: ArrayLike) -> Array:
        """Acceleration of the centre of mass [m/s²] in the first interval, when it is there."""
        result = self.acceleration[0].copy()
        if self.s[0] != 0.0:
            result[:2] = self.s[0] * (np.asarray(centre, float)[:2] - self.cmp[0])
        return result


class Planner:
    """Makes plans of a body, again and again, without taking new memory.

    Args:
        mass: [kg]
        height: [m] of the body; settings grow with it
        feet: how many feet can step elsewhere, up to 4
        intervals: at most, in a plan
        landings: at most, in a plan; by default four more than there are intervals
        gravity: [m/s²]
        settings: for a body of 1.7 m

    """

    def __init__(
        self,
        mass: float,
        *,
        height: float = 1.7,
        feet: int = 2,
        intervals: int = len(DEFAULT_INTERVALS),
        landings: int | None = None,
        gravity: float = 9.81,
        settings: PlanSettings | None = None,
    ) -> None:
        self.mass, self.gravity = number(mass, "mass", above=0.0), number(gravity, "gravity", above=0.0)
        self.feet, self.intervals = whole(feet, "feet", least=0), whole(intervals, "intervals", least=1)
        if self.feet > FEET:
            raise ArgumentError(f"feet must be at most {FEET}, got {self.feet}.")
        self.landings = self.intervals + 4 if landings is None else whole(landings, "landings", least=0)
        self.settings = (settings or PlanSettings()).scaled(height)
        #: What is known of the motion ahead: to be filled before each plan.
        self.outlook = empty_outlook(self.intervals, self.landings)
        #: What is planned: filled by each plan.
        self.course = empty_course(self.intervals, self.landings)
        nx, nu, rows = sizes(self.feet)
        up, along = stages(self.intervals, STATES, CONTROLS, ROWS), stages(self.intervals, nx, nu, rows)
        self._up, self._along = Handle(up), Handle(along)
        #: Settings and the body, as compiled code has them.
        self.weights = weights(self.settings, self.mass, self.gravity, self.feet)
        self._handle = Handle(self.weights, self.outlook, self.course, up, along)
        self.key = self._handle.key
        self.clear()

    def clear(self) -> None:
        """Bring the outlook to where it knows of nothing but the default lengths of intervals."""
        for name, array in self.outlook._asdict().items():
            array[...] = {"foot": -1, "friction": 0.8, "most": MOST * self.gravity, "slack": np.inf}.get(name, 0)
        O = self.outlook
        O.landing_foot[:], O.landing_time[:], O.landing_lasts[:], O.reach_slack[:] = -1, np.inf, USUAL, np.inf
        O.landing_least[:], O.landing_most[:] = -np.inf, np.inf
        O.h[:] = DEFAULT_INTERVALS[0]
        n = min(self.intervals, len(DEFAULT_INTERVALS))
        if self.intervals <= len(DEFAULT_INTERVALS):
            O.h[:n] = DEFAULT_INTERVALS[:n]
        O.inertia[:] = np.eye(3) * 0.06 * self.mass  # about that of a body curled up
        self.course.count[0] = 0

    def solve(
        self,
        centre: ArrayLike,
        velocity: ArrayLike,
        turn: ArrayLike = (0.0, 0.0, 0.0),
        spin: ArrayLike = (0.0, 0.0, 0.0),
        offsets: ArrayLike | None = None,
        *,
        intervals: int | None = None,
        elapsed: float | None = None,
    ) -> Plan:
        """Plan from the state that the body is in.

        Args:
            centre, velocity: (3,) [m], [m/s] of the centre of mass
            turn, spin: (3,) [rad], [rad/s] orientation from that of the reference, and its rate
            offsets: (feet, 2) [m] where feet stand, or last stood, from where they would in the reference
            intervals: of the outlook to be planned; by default all there is room for
            elapsed: [s] since the last plan, to begin with what it found; by default it is forgotten

        """
        P = self.course
        N = self.intervals if intervals is None else whole(intervals, "intervals", least=1)
        if self.intervals < N:
            raise ArgumentError(f"intervals: {N} were asked for, there is room for {self.intervals}.")
        since = -1.0 if elapsed is None else number(elapsed, "elapsed", least=0.0)
        state = [numbers(x, (3,), w) for x, w in ((centre, "centre"), (velocity, "velocity"), (turn, "turn"), (spin, "spin"))]
        moved = np.zeros((self.feet, 2)) if offsets is None else numbers(offsets, (self.feet, 2), "offsets")
        P.present[:12] = np.concatenate(state)
        P.present[12 : 12 + 2 * self.feet] = moved.reshape(-1)
        return self.told(N, self.find(N, since))

    def find(self, N: int, since: float) -> int:
        """Plan N intervals from the present state that the course has; ``since``: time [s] since the last plan, negative to forget it.

        Returns the status; the course has the plan.
        """
        P = self.course
        status = int(plan_ahead(self.key, self._up.key, self._along.key, find_least.address, N, since))
        if P.fault[0] != NO_FAULT:
            raise ArgumentError(self._fault_words(int(P.fault[0]), int(P.fault[1])))
        if status == NOT_FINITE:
            raise StateError("the plan is not finite: numbers of the outlook or of the state are too large.")
        return status

    def told(self, N: int, status: int) -> Plan:
        """What was planned last, as a plan of its own."""
        P, O = self.course, self.outlook
        off = np.sqrt(np.square(P.centre[1 : N + 1] - O.centre[1 : N + 1]).sum(axis=1))
        turned = np.sqrt(np.square(P.turn[1 : N + 1]).sum(axis=1))
        acceleration = np.empty((N, 3))
        acceleration[:, :2], acceleration[:, 2] = P.along[:N], P.up[:N]

        def score(x: Array) -> tuple[float, float]:
            return float(x.max()), float(np.sqrt(x @ x / N))

        return Plan(
            P.centre[: N + 1].copy(),
            P.velocity[: N + 1].copy(),
            P.turn[: N + 1].copy(),
            P.spin[: N + 1].copy(),
            P.pressure[:N].copy(),
            P.cmp[:N].copy(),
            P.s[:N].copy(),
            acceleration,
            P.alpha[:N].copy(),
            P.turning[:N].copy(),
            P.landing.copy(),
            (int(P.tries[0]), int(P.tries[1])),
            STATUS[status],
            score(off),
            score(turned),
        )

    def _fault_words(self, what: int, k: int) -> str:
        O, feet = self.outlook, f"-1 to {self.feet - 1}"
        words: tuple[Any, ...] = (
            "",
            lambda: f"outlook.h: interval {k} must be longer than 0 s and shorter than 1000 s, got {O.h[k]:g}.",
            lambda: f"outlook: centre, velocity, acceleration and turning must be finite, which they are not at node or interval {k}.",
            lambda: f"outlook.inertia: that of interval {k} is not symmetric and positive definite, as that of a body is.",
            lambda: (
                f"outlook: interval {k} must be FLIGHT, STANDS or HELD, with up to {POINTS} finite points in a patch, of feet from {feet}; "
                f"got how {O.how[k]}, points {O.points[k].tolist()}, foot {O.foot[k].tolist()}."
            ),
            lambda: f"outlook: interval {k} STANDS, but none of its patches has a point. Give it one, or say that it is FLIGHT or HELD.",
            lambda: (
                f"outlook: at {k}, weights must be finite, slack a number or inf, friction at least 0 and most above "
                f"{self.settings.least_push * self.gravity:g} m/s²."
            ),
            lambda: (
                f"outlook: landing {k} needs a foot from {feet}, finite heading and directions, times, room in order, and must take over "
                f"at an interval from 0 on and no later than it touches; got foot {O.landing_foot[k]}, "
                f"from {O.landing_from[k]}, touch {O.landing_touch[k]}."
            ),
            lambda: f"outlook: landing {k} takes over at the same interval as another of foot {O.landing_foot[k]}.",
            lambda: (
                f"outlook: interval {k} needs 0 to {MOTORS} motors of a foot from {feet}, with finite numbers and limits above 0; got "
                f"{O.motors[k]} of foot {O.motor_foot[k]}."
            ),
        )
        return words[what]()
