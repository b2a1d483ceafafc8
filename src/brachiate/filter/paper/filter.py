"""Dynamics filter as published [DF] VII, step by step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from brachiate import validation
from brachiate.compiled import ArrayHandle
from brachiate.contact.arrays import ContactProblem
from brachiate.contact.published.trial import TrialArrays, new_trial
from brachiate.contact.solver.dense_problem import problem_from_dense
from brachiate.errors import ArgumentError, StateError
from brachiate.filter.paper.arrays import NUM_COLLISION_SOLVES, NUM_SOLVES, TILT_ABOUT_EDGES, PaperArrays, allocate
from brachiate.filter.paper.contact_pairs import IMPACT_SPEED
from brachiate.filter.paper.contacts import PairRecord, named_contacts
from brachiate.filter.paper.settings import NECK, PaperSettings
from brachiate.filter.paper.step import detect_and_collide, filter_step, reference_is_valid
from brachiate.model.data import Data
from brachiate.model.joints import Free
from brachiate.model.status import NOT_FINITE, OK, TOO_MANY_CONTACTS
from brachiate.validation import Array
from brachiate.world.contacts import Contact
from brachiate.world.figure import Figure
from brachiate.world.world import World

INITIAL_PAIRS = 8  # contact pairs that arrays are made for at first


class Point(NamedTuple):
    """Point P of the global feedback."""

    name: str  # of the link or site
    body: int
    position: Array  # (3,) [m] in that body


@dataclass(frozen=True, eq=False)
class PaperStep:
    """Result of one step: state after it; accelerations, torques and forces of it.

    Args:
        time: After the step [s].
        q: Configuration: (nq,).
        v: Velocity: (nv,).
        a: Acceleration: (nv,).
        torque: Motor torques: (nv,) [N·m or N]; zero for unactuated coordinates.
        residual: Largest residual of unactuated coordinates, relative to the largest term of their equations.
        pairs: Contact pairs as arrays: see :attr:`contacts`.
        solves: Solves of the trial and error over contact states.
        hits: Solves of the collision before the step; 0 without one.
        sinking: Largest speed of a contact corner into the ground after the step [m/s], which the paper does not check.
    """

    time: float
    q: Array
    v: Array
    a: Array
    torque: Array
    residual: float
    pairs: PairRecord = field(repr=False)
    solves: int
    hits: int
    sinking: float

    @cached_property
    def contacts(self) -> tuple[Contact, ...]:
        """Contacts with their states C0 to C7 and forces; the twist is that before the step."""
        return named_contacts(self.pairs)

    @property
    def states(self) -> dict[str, str]:
        """State of every contact, C0 to C7, by its two links."""
        return {f"{link} on {on}": f"C{n}" for (on, link), n in zip(self.pairs.links, self.pairs.state, strict=True)}

    @property
    def sinks(self) -> bool:
        """Whether a contact was left moving into the ground so fast that it collides in the next step."""
        return self.sinking > IMPACT_SPEED


class PaperFilter:
    """Published dynamics filter of one figure of a world.

    The figure must be all that moves in the world, without connections; contacts are those of ``world.enable_contact()``. Joint and torque
    limits are not considered.

    Args:
        world: World of the figure. Its state is that of the filter, so that it may be pushed or moved between steps.
        figure: Name of the figure.
        settings: Gains, weights and options.
    """

    def __init__(self, world: World, figure: str | Figure, settings: PaperSettings | None = None) -> None:
        settings = PaperSettings() if settings is None else settings
        if not isinstance(world, World) or not isinstance(settings, PaperSettings):
            raise ArgumentError("PaperFilter expects a world, the name of a figure in it, and PaperSettings(...).")
        name = figure.name if isinstance(figure, Figure) else figure
        self.figure = world.figure(name)
        self.world, self.settings = world, settings
        others = [c for c in world.model.coordinates if not c.startswith(name + "/")]
        if others or world.constraints:
            problem = f"{others[0]!r} moves as well" if others else "there are connections or locks"
            raise ArgumentError(f"The published filter moves one figure without connections among fixed objects; here {problem}.")
        self.point = self._find_point()
        unactuated = self._coordinates(settings.unactuated, "unactuated")
        self._model = world.model
        self._unactuated = self._default_unactuated() if unactuated is None else unactuated
        self._weights = self._values_by_name(settings.weights, "weights"), self._values_by_name(settings.mobility, "mobility")
        self._reference = Data(world.model)
        self._steps = 0
        self._allocate(INITIAL_PAIRS)

    # --- construction ------------------------------------------------------------------------------

    def _default_unactuated(self) -> Array:
        """Coordinates of a floating base, and those with an effort limit of zero."""
        found = []
        for place in self.figure.model.joints.values():
            link = self.figure.model.links[place.link]
            root = link.parent is None and isinstance(link.joint, Free)
            found += [k for k, effort in zip(range(place.v.start, place.v.stop), link.joint.effort, strict=True) if root or effort == 0.0]
        return np.array(found, np.int64)

    def _coordinates_by_name(self) -> dict[str, list[int]]:
        """Coordinates by the figure's names of joints and of coordinates."""
        model, skip = self.world.model, len(self.figure.name) + 1
        places = {joint[skip:]: list(range(place.v.start, place.v.stop)) for joint, place in model.joints.items()}
        return places | {name[skip:]: [k] for k, name in enumerate(model.coordinates)}

    def _coordinates(self, names: Iterable[str] | None, what: str) -> Array | None:
        if names is None:
            return None
        if isinstance(names, str):
            raise ArgumentError(f"{what}: expected several names, got {names!r}. Give ({names!r},) for one.")
        owner, places = f"figure {self.figure.name!r} ({what})", self._coordinates_by_name()
        found = [k for name in names for k in validation.lookup(places, name, "joint or coordinate", owner)]
        return np.unique(np.array(found, np.int64))

    def _values_by_name(self, values: Mapping[str, float], what: str) -> Array:
        out, places = np.ones(self.world.model.nv), self._coordinates_by_name()
        for name, value in values.items():
            out[validation.lookup(places, name, "joint or coordinate", f"figure {self.figure.name!r} ({what})")] = value
        return out

    def _find_point(self) -> Point | None:
        """Point problem, if there is one."""
        name, offset = self.settings.point, np.array(self.settings.point_offset)
        if name is None:
            return None
        model = self.figure.model
        if name == NECK and NECK not in {*model.links, *model.sites}:
            head = model.links.get("head")
            if head is None or head.parent is None:
                return None
            name, offset = head.parent, head.position + offset
        site = model.sites.get(name)
        if site is None:
            validation.lookup(dict.fromkeys((*model.links, *model.sites)), name, "link or site", f"figure {self.figure.name!r}")
        link, offset = (name, offset) if site is None else (site.link, site.position + site.rotation @ offset)
        frame = self.world.placement(f"{self.figure.name}/{link}")
        if frame.body < 0:
            raise ArgumentError(f"point: {name!r} does not move, so it cannot be the point of the feedback.")
        return Point(name, frame.body, frame.position + frame.rotation @ offset)

    def _allocate(self, pairs: int) -> None:
        """Allocate the arrays for a maximum number of contact pairs."""
        s = self.settings
        zero = np.zeros((6 * pairs, 6 * pairs))
        self.problem: ContactProblem = problem_from_dense([np.zeros((3, 2))] * pairs, zero, zero[0], 0.0)
        self.trial: TrialArrays = new_trial(pairs)
        self.arrays: PaperArrays = allocate(self._model.nv, self._unactuated, pairs)
        friction = -1.0 if s.friction is None else s.friction
        self.arrays.gain[:] = (
            s.stiffness, s.damping, s.point_stiffness, s.point_damping, s.sr_damping, *s.costs, s.step,
            s.stabilization_rate, friction, s.contact_compliance,
        )  # fmt: skip
        self.arrays.weight[:], self.arrays.mobility[:] = self._weights
        self.arrays.count[TILT_ABOUT_EDGES] = int(s.tilt_about_edges)
        if self.point is not None:
            self.arrays.point_body[0], self.arrays.point_offset[:] = self.point.body, self.point.position
        self._trial_handle, self._handle = ArrayHandle(self.problem, self.trial), ArrayHandle(self.arrays)

    @property
    def unactuated(self) -> tuple[str, ...]:
        """Names of the coordinates without a motor."""
        skip = len(self.figure.name) + 1
        return tuple(self._model.coordinates[k][skip:] for k in self._unactuated)

    # --- steps -------------------------------------------------------------------------------------

    def step(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> PaperStep:
        """Advance the figure by one step towards a reference.

        Args:
            q: Reference configuration at the start of the step: (nq,).
            v: Velocity: (nv,).
            a: Acceleration: (nv,).
        """
        world = self.world
        if world.model is not self._model or world.constraints:
            raise ArgumentError("Figures or connections of the world have changed since the filter was made. Make a new filter.")
        self._take(q, v, a)
        data, before = world.data, world.v.copy()
        status, has_contact = self._detect_contacts()
        if status == OK:
            status = filter_step(data.key, self._reference.key, self._trial_handle.key, self._handle.key, has_contact)
        if status != OK:
            data.v[:] = before  # a collision may have changed it
            data.raise_status(status)
        world.time += self.settings.step
        self._steps += 1
        s, m = self.arrays, int(self.problem.count[0])
        return PaperStep(
            time=world.time,
            q=data.q.copy(),
            v=data.v.copy(),
            a=data.a.copy(),
            torque=data.tau.copy(),
            residual=float(s.residual[0]),
            pairs=self._pairs(),
            solves=int(s.count[NUM_SOLVES]),
            hits=int(s.count[NUM_COLLISION_SOLVES]),
            sinking=float(s.sinking[:m].max(initial=0.0)),
        )

    def _take(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> None:
        """Check and store the reference."""
        r = self._reference
        q, v, a = r.checked("q", q), r.checked("v", v), r.checked("a", a)
        if not reference_is_valid(r.key, q, v, a):
            try:
                r.raise_status(NOT_FINITE, q=q, v=v, a=a)
            except StateError as problem:
                raise StateError(f"Reference of step {self._steps}: {problem}") from None
        r.assign(q=q, v=v, a=a)

    def _detect_contacts(self) -> tuple[int, bool]:
        """Detect contacts and resolve collisions. Returns the status, and whether contact is enabled."""
        contact_state = self.world.contact_settings.contact_state
        if contact_state is None:
            return OK, False
        contact_state.reset_memory()
        while True:
            keys = self.world.data.key, contact_state.key, self._trial_handle.key, self._handle.key
            status = detect_and_collide(*keys)
            if status != TOO_MANY_CONTACTS:
                return status, True
            if contact_state.patches.count[1] > contact_state.patches.count[0]:
                contact_state.enlarge()
            else:
                self._allocate(2 * len(self.arrays.body))

    def _pairs(self) -> PairRecord:
        s, problem, trial = self.arrays, self.problem, self.trial
        m = int(problem.count[0])
        rows = int(problem.row_start[m]) if m else 0
        contact_state = self.world.contact_settings.contact_state
        pairs = np.zeros(0, np.int64) if contact_state is None else contact_state.patches.pair[s.area[:m]]
        links = [self.world.contact_settings.link_pairs[n] for n in pairs]
        gaps = [s.gap[i, 0] + problem.V[i, : problem.corners[i]] @ s.gap[i, 1:] for i in range(m)]
        depth = max(0.0, -min((float(gap.min()) for gap in gaps), default=0.0))
        return PairRecord(
            links=links,
            state=trial.state[:m].copy(),
            corners=problem.corners[:m].copy(),
            row_start=problem.row_start[: m + 1].copy(),
            V=problem.V[:m].copy(),
            point=s.point[:m].copy(),
            axes=s.axes[:m].copy(),
            frame=trial.frame[:m].copy(),
            force=problem.w[:rows].copy(),
            impulse=s.impulse[:rows].copy(),
            velocity=s.relative_velocity[:rows].copy(),
            depth=depth,
        )
