"""PaperFilter: makes a motion possible for a body, step by step, as [DF] VII does it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from brachiate import validation
from brachiate.compiled import Handle
from brachiate.contact.arrays import Problem
from brachiate.contact.published.trial import Trial, trial_for
from brachiate.contact.solver.dense_problem import packed_problem
from brachiate.contact.stepping.time_step import CROWDED
from brachiate.errors import ArgumentError, StateError
from brachiate.filter.paper.arrays import EDGES, HITS, SOLVES, Solution, solution_for
from brachiate.filter.paper.contact_pairs import HIT
from brachiate.filter.paper.contacts import Touched, contacts_of
from brachiate.filter.paper.settings import NECK, Settings
from brachiate.filter.paper.step import filter_step, reference_is_sound, touch_down
from brachiate.model.arrays import NOT_FINITE, OK
from brachiate.model.data import Data
from brachiate.model.joints import Free
from brachiate.validation import Array
from brachiate.world.contacts import Contact
from brachiate.world.figure import Figure
from brachiate.world.world import World

_PAIRS = 8


class Point(NamedTuple):
    """The point P of the global feedback."""

    name: str  # of the link or site
    body: int
    position: Array  # (3,) [m] in that body


@dataclass(frozen=True, eq=False)
class Step:
    """What one step has done. Accelerations, torques and forces are those of the step, the state is that after it.

    Args:
        time: After the step [s].
        q: Configuration: (nq,).
        v: Velocity: (nv,).
        a: Acceleration: (nv,).
        torque: Of motors: (nv,) [N·m or N]; zero where there is none.
        residual: What coordinates without motors would need: the largest, as part of the largest term of their equations.
        touched: What touched, as numbers: see :attr:`contacts`.
        solves: Of the trial and error over contact states.
        hits: Of that of the collision before, 0 if nothing hit.
        sinking: How fast a touching corner goes into the ground after the step, at most [m/s]: what the paper does not check.
    """

    time: float
    q: Array
    v: Array
    a: Array
    torque: Array
    residual: float
    touched: Touched = field(repr=False)
    solves: int
    hits: int
    sinking: float

    @cached_property
    def contacts(self) -> tuple[Contact, ...]:
        """What touched, with states C0 to C7 by name and forces. Their twist is that before the step."""
        return contacts_of(self.touched)

    @property
    def states(self) -> dict[str, str]:
        """State of every contact, C0 to C7, by its two links."""
        return {f"{link} on {on}": f"C{n}" for (on, link), n in zip(self.touched.links, self.touched.state, strict=True)}

    @property
    def sinks(self) -> bool:
        """Whether something that touches was left moving into the ground, so fast that it hits it in the next step."""
        return self.sinking > HIT


class PaperFilter:
    """Moves a figure of a world by steps that physics allows, as near to a reference as the paper's method comes.

    The figure must be all that moves in the world, and nothing may hold it; it touches what ``world.touch()`` lets it touch. Limits of
    joints and motors are not known to the paper.

    Args:
        world: Where it is. Its state is the filter's, so it may be pushed, or put elsewhere, between steps.
        figure: Name of the figure.
        settings: Gains, weights and what else there is to choose.
    """

    def __init__(self, world: World, figure: str | Figure, settings: Settings | None = None) -> None:
        settings = Settings() if settings is None else settings
        if not isinstance(world, World) or not isinstance(settings, Settings):
            raise ArgumentError("PaperFilter expects a world, the name of a figure in it, and Settings(...).")
        name = figure.name if isinstance(figure, Figure) else figure
        self.figure = world.figure(name)
        self.world, self.settings = world, settings
        others = [c for c in world.model.coordinates if not c.startswith(name + "/")]
        if others or world.bonds:
            what = f"{others[0]!r} moves as well" if others else "something holds it"
            raise ArgumentError(f"The paper's filter moves one figure over things that stand still; here {what}.")
        self.point = self._find_point()
        free = self._coordinates(settings.without_motor, "without_motor")
        self._model = world.model
        self._free = self._bare() if free is None else free
        self._weights = self._by_name(settings.weights, "weights"), self._by_name(settings.sharing, "sharing")
        self._reference = Data(world.model)
        self._steps = 0
        self._make(_PAIRS)

    # --- what it is made of -----------------------------------------------------------------------

    def _bare(self) -> Array:
        """Coordinates that nobody says have no motor: those without effort, and of a free root, which hangs on nothing."""
        found = []
        for place in self.figure.model.joints.values():
            link = self.figure.model.links[place.link]
            root = link.parent is None and isinstance(link.joint, Free)
            found += [k for k, effort in zip(range(place.v.start, place.v.stop), link.joint.effort, strict=True) if root or effort == 0.0]
        return np.array(found, np.int64)

    def _places(self) -> dict[str, list[int]]:
        """Coordinates by the names of joints and of coordinates, as the figure has them."""
        model, skip = self.world.model, len(self.figure.name) + 1
        places = {joint[skip:]: list(range(place.v.start, place.v.stop)) for joint, place in model.joints.items()}
        return places | {name[skip:]: [k] for k, name in enumerate(model.coordinates)}

    def _coordinates(self, names: Iterable[str] | None, what: str) -> Array | None:
        if names is None:
            return None
        if isinstance(names, str):
            raise ArgumentError(f"{what}: expected several names, got {names!r}. Give ({names!r},) for one.")
        owner, places = f"figure {self.figure.name!r} ({what})", self._places()
        found = [k for name in names for k in validation.named(places, name, "joint or coordinate", owner)]
        return np.unique(np.array(found, np.int64))

    def _by_name(self, values: Mapping[str, float], what: str) -> Array:
        out, places = np.ones(self.world.model.nv), self._places()
        for name, value in values.items():
            out[validation.named(places, name, "joint or coordinate", f"figure {self.figure.name!r} ({what})")] = value
        return out

    def _find_point(self) -> Point | None:
        """Where P is, if there is one."""
        asked, at = self.settings.point, np.array(self.settings.at)
        if asked is None:
            return None
        model = self.figure.model
        if asked == NECK and NECK not in {*model.links, *model.sites}:
            head = model.links.get("head")
            if head is None or head.parent is None:
                return None
            asked, at = head.parent, head.position + at
        site = model.sites.get(asked)
        if site is None:
            validation.named(dict.fromkeys((*model.links, *model.sites)), asked, "link or site", f"figure {self.figure.name!r}")
        link, at = (asked, at) if site is None else (site.link, site.position + site.rotation @ at)
        frame = self.world.placement(f"{self.figure.name}/{link}")
        if frame.body < 0:
            raise ArgumentError(f"point: {asked!r} does not move, so nothing can be fed back there.")
        return Point(asked, frame.body, frame.position + frame.rotation @ at)

    def _make(self, pairs: int) -> None:
        """Make the arrays, for so many contacts at a time."""
        s = self.settings
        none = np.zeros((6 * pairs, 6 * pairs))
        self.problem: Problem = packed_problem([np.zeros((3, 2))] * pairs, none, none[0], 0.0)
        self.trial: Trial = trial_for(pairs)
        self.solution: Solution = solution_for(self._model.nv, self._free, pairs)
        friction = -1.0 if s.friction is None else s.friction
        self.solution.gain[:] = (
            s.stiffness, s.damping, s.point_stiffness, s.point_damping, s.robust, *s.costs, s.step, s.pull, friction, s.give,
        )  # fmt: skip
        self.solution.weight[:], self.solution.share[:] = self._weights
        self.solution.count[EDGES] = int(s.edges)
        if self.point is not None:
            self.solution.place[0], self.solution.at[:] = self.point.body, self.point.position
        self._trial_handle, self._handle = Handle(self.problem, self.trial), Handle(self.solution)

    @property
    def without_motor(self) -> tuple[str, ...]:
        """Names of the coordinates that have no motor."""
        skip = len(self.figure.name) + 1
        return tuple(self._model.coordinates[k][skip:] for k in self._free)

    # --- what it does -----------------------------------------------------------------------------

    def step(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Step:
        """Advance the figure by one step towards a reference.

        Args:
            q: Configuration that it should have now: (nq,).
            v: Velocity: (nv,).
            a: Acceleration: (nv,).
        """
        world = self.world
        if world.model is not self._model or world.bonds:
            raise ArgumentError("The world is made of other things now than when the filter was made. Make a new one.")
        self._take(q, v, a)
        data, before = world.data, world.v.copy()
        status, touches = self._touch_down()
        if status == OK:
            status = filter_step(data.key, self._reference.key, self._trial_handle.key, self._handle.key, touches)
        if status != OK:
            data.v[:] = before  # which a collision may have changed
            data.refuse(status)
        world.time += self.settings.step
        self._steps += 1
        s, m = self.solution, int(self.problem.count[0])
        return Step(
            time=world.time,
            q=data.q.copy(),
            v=data.v.copy(),
            a=data.a.copy(),
            torque=data.tau.copy(),
            residual=float(s.residual[0]),
            touched=self._touched(),
            solves=int(s.count[SOLVES]),
            hits=int(s.count[HITS]),
            sinking=float(s.sinking[:m].max(initial=0.0)),
        )

    def _take(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> None:
        """Check the reference, and take it."""
        r = self._reference
        q, v, a = r.given("q", q), r.given("v", v), r.given("a", a)
        if not reference_is_sound(r.key, q, v, a):
            try:
                r.refuse(NOT_FINITE, q=q, v=v, a=a)
            except StateError as problem:
                raise StateError(f"Reference of step {self._steps}: {problem}") from None
        r.assign(q=q, v=v, a=a)

    def _touch_down(self) -> tuple[int, bool]:
        """Find what touches, and let it collide. Returns the status, and whether anything can touch at all."""
        touches = self.world.surfaces.touches
        if touches is None:
            return OK, False
        touches.forget()
        while True:
            keys = self.world.data.key, touches.key, self._trial_handle.key, self._handle.key
            status = touch_down(*keys)
            if status != CROWDED:
                return status, True
            if touches.areas.count[1] > touches.areas.count[0]:
                touches.enlarge()
            else:
                self._make(2 * len(self.solution.body))

    def _touched(self) -> Touched:
        s, P, X = self.solution, self.problem, self.trial
        m = int(P.count[0])
        rows = int(P.at[m]) if m else 0
        touches = self.world.surfaces.touches
        pairs = np.zeros(0, np.int64) if touches is None else touches.areas.pair[s.area[:m]]
        links = [self.world.surfaces.pairs[n] for n in pairs]
        gaps = [s.gap[i, 0] + P.V[i, : P.corners[i]] @ s.gap[i, 1:] for i in range(m)]
        depth = max(0.0, -min((float(gap.min()) for gap in gaps), default=0.0))
        return Touched(
            links, X.state[:m].copy(), P.corners[:m].copy(), P.at[: m + 1].copy(), P.V[:m].copy(), s.point[:m].copy(), s.axes[:m].copy(),
            X.frame[:m].copy(), P.w[:rows].copy(), s.impulse[:rows].copy(), s.speed[:rows].copy(), depth,
        )  # fmt: skip
