"""Schedule: what of a reference stands when, in the order of its frames, as the filter asks for it step by step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.ndimage import gaussian_filter1d

from brachiate.centroidal.problem import MOTORS
from brachiate.compiled import Handle, fields_of
from brachiate.filter.reference.reference import Reference, Stance
from brachiate.filter.reference.seat_contacts import is_seat
from brachiate.filter.reference.stair_footholds import room_on
from brachiate.filter.schedule.arrays import CORNERS, NEVER, Ahead
from brachiate.filter.schedule.centroidal_trajectory import Whole, survey
from brachiate.filter.schedule.leg_force_limits import Motors, gauge
from brachiate.filter.schedule.unanchored_contacts import lying, wandering
from brachiate.kinematics_batch import Many, Poses
from brachiate.model.data import Data
from brachiate.model.model import Model
from brachiate.validation import Array

SHIFT = 0.04  # [s] over which the body's weight shifts from one leg to the other
ASIDE = 0.005  # [m] from the edge of a step feet are planned to stand at least
START = 5  # frames: what stands within the first so many stood from the start


class Sole(NamedTuple):
    """A link that stands at times."""

    link: str
    leg: int  # of which leg: a foot and its toes are of one
    corners: Array  # (k, 3) [m] along the link's axes
    leads: bool  # whether it is the one that is led through the air: the foot, not its toes


class Grip(NamedTuple):
    """A point of a link that holds something for a while."""

    link: str
    point: Array  # (3,) [m] along the link's axes
    place: Array  # (3,) [m] where it holds, world axes
    start: int  # first frame
    end: int  # the one after the last


class Schedule:
    """What stands when. Sizes: f frames, m soles, l legs. Corners of a sole that bear are bits of a number.

    Args:
        reference: Made by :func:`brachiate.filter.reference.preprocess.clean`.
        look: [s] for which what will bear is known ahead.
        effort: (nv,) [N·m or N] of the figure's motors at most; by default there is no limit.
    """

    def __init__(self, reference: Reference, look: float, effort: Array | None = None) -> None:
        self.reference, self.dt = reference, reference.dt
        strays = wandering(reference)
        stands = tuple(s for s in reference.stances if s.how == "stands" and s.link not in strays)
        self.soles = _soles(reference, stands)
        self.grips = tuple(Grip(s.link, s.corners[0], s.places[0], s.start, s.end) for s in reference.stances if s.how == "holds")
        f, m = len(reference), len(self.soles)
        self.legs = 1 + max((sole.leg for sole in self.soles), default=-1)
        self.leg = np.array([sole.leg for sole in self.soles], np.int64)
        number = {sole.link: n for n, sole in enumerate(self.soles)}
        #: (f, m) which corners bear
        self.bears = np.zeros((f, m), np.int64)
        for stance in stands:
            self.bears[stance.start : stance.end, number[stance.link]] = stance.bears @ (1 << np.arange(len(stance.corners)))
        #: (f, m) which of a sole that stands will bear soon
        self.soon = self.bears.copy()
        for ahead in range(1, max(int(look / self.dt), 1)):
            later = self.bears[np.minimum(np.arange(f) + ahead, f - 1)]
            self.soon |= np.where(self.bears > 0, later, 0)
        #: (f, l) whether a leg stands
        self.on = np.zeros((f, self.legs), bool)
        for n, sole in enumerate(self.soles):
            self.on[:, sole.leg] |= self.bears[:, n] > 0
        #: (f,) whether something holds
        self.held = np.zeros(f, bool)
        for grip in self.grips:
            self.held[grip.start : grip.end] = True
        #: (f, 8, 3) [m], (f,) where parts without a place of their own are on the ground
        self.lies, self.lie_count = lying(reference, {sole.link for sole in self.soles})
        #: Frames in which the body takes off, or is carried again.
        self.changes = 1 + np.flatnonzero(np.diff(self._carried.astype(np.int8)))
        self._number_stances()
        on = np.concatenate((self.on, (self.held | (self.lie_count > 0))[:, None]), axis=1).astype(float)
        weight = gaussian_filter1d(on, SHIFT / self.dt, axis=0, mode="nearest")
        weight[:, :-1] += 1e-3
        #: (f, l) how much of the body each leg carries; the rest hangs or lies
        self.share = weight[:, :-1] / np.maximum(weight.sum(axis=1, keepdims=True), 1e-9)
        self.long_flight = np.zeros(f, np.int64)
        self._place_corners()
        self._survey()
        many = f * self.legs if effort is not None and limited(effort) else 0
        #: (f l,) [N], (f l, 2) [m], (f l 8, 6): what legs can bring; empty if there is no limit
        self.most, self.spot, self.motor = np.zeros(many), np.zeros((many, 2)), np.zeros((many * MOTORS, 6))
        self.room = self._room()
        self.handle = Handle(self.room)
        if many and effort is not None:
            self._gauge(effort)

    def _room(self) -> Ahead:
        """The same as compiled code has it: most arrays are these."""
        r, f, m = self.reference, len(self.reference), len(self.soles)
        places = np.zeros((f, m, CORNERS, 3))
        for n, corners in enumerate(self.places):
            places[:, n, : corners.shape[1]] = corners
        many = max((len(spans) for spans in self.spans), default=0)
        spans = np.array([[*each, *[(-1, 0)] * (many - len(each))] for each in self.spans], np.int64)
        arrays = {
            "frames": [f],
            "step": [self.dt],
            "gradient": r.ground.gradient,
            "way": [0.0, 0.0] if r.ground.steps is None else r.ground.steps.way,
            "leg": self.leg,
            "leads": [int(sole.leads) for sole in self.soles],
            "corners": [len(sole.corners) for sole in self.soles],
            "on": self.on,
            "places": places,
            "spans": spans,
            "span_count": [len(each) for each in self.spans],
            "room": self._rooms(many),
        } | {name: getattr(r, name) for name in ("q", "v", "a")}
        return ahead_of({name: arrays[name] if name in arrays else getattr(self, name) for name in Ahead._fields})

    @property
    def _carried(self) -> Array:
        """(f,) whether anything stands, holds or lies."""
        return self.on.any(axis=1) | self.held | (self.lie_count > 0)

    def _rooms(self, many: int) -> Array:
        """How far stances may be moved along the way of steps, from and to, so that each stays on its tread: (l, many, 2) [m]."""
        rooms, steps = np.tile((-np.inf, np.inf), (self.legs, many, 1)), self.reference.ground.steps
        if steps is not None:
            leg = {sole.link: sole.leg for sole in self.soles}
            for stance in self.reference.stances:
                if stance.link in leg:
                    room = rooms[leg[stance.link], self.stance[stance.start, leg[stance.link]]]
                    least, most = room_on(steps, stance.places)
                    room[:] = max(room[0], min(least + ASIDE, 0.0)), min(room[1], max(most - ASIDE, 0.0))
        return rooms

    def _number_stances(self) -> None:
        """Which stance a leg is in, or was or will be in next; the halves of a swing belong to those before and after."""
        f = len(self.reference)
        self.stance, self.coming = np.zeros((f, self.legs), np.int64), np.zeros((f, self.legs), np.int64)
        self.until = np.full((f, self.legs), NEVER)  # [s] until a leg that does not stand lands
        #: Of each leg: first frame and the one after the last of every stance; the first is (-1, 0) if it begins in the air.
        self.spans: list[list[tuple[int, int]]] = []
        for leg in range(self.legs):
            edges = np.flatnonzero(np.diff(np.concatenate(([0], self.on[:, leg].astype(np.int8), [0]))))
            spans = [(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True)]
            if not spans or spans[0][0] > START:
                spans.insert(0, (-1, 0))
            self.spans.append(spans)
            for n, (start, end) in enumerate(spans):
                last = n + 1 == len(spans)
                following = f if last else spans[n + 1][0]
                start, middle = max(start, 0), f if last else (end + following) // 2
                self.stance[start:middle, leg], self.stance[middle:following, leg] = n, n + 1 - last
                self.coming[start:end, leg], self.coming[end:following, leg] = n, n + 1 - last
                self.until[start:end, leg] = 0.0
                if not last:
                    self.until[end:following, leg] = (following - np.arange(end, following)) * self.dt

    def _place_corners(self) -> None:
        """(f, k, 3) [m] of each sole: where its corners are in the world."""
        model = self.reference.figure
        poses = Many(model).poses(self.reference.q)
        self._stretch(poses)
        self.places = []
        for sole in self.soles:
            placement = model.placements[sole.link]
            points = placement.position + sole.corners @ placement.rotation.T
            self.places.append(np.stack([poses.point(placement.body, point) for point in points], axis=1))

    def _stretch(self, poses: Poses) -> None:
        """(f,) [m] how much higher the body could be before a leg that stands is straight; infinite where none does."""
        tree, model = self.reference.figure.tree, self.reference.figure
        self.slack = np.full(len(self.reference), np.inf)
        for sole in self.soles:
            if not sole.leads:
                continue
            chain = [model.placements[sole.link].body]
            while tree.parent[chain[-1]] >= 0:
                chain.append(int(tree.parent[chain[-1]]))
            hip = chain[-2] if len(chain) > 1 else chain[-1]
            length = sum(float(np.linalg.norm(poses.x[a] - poses.x[b], axis=1).max()) for a, b in pairwise(chain[:-1]))
            down = poses.x[hip] - poses.x[chain[0]]
            across = np.hypot(down[:, 0], down[:, 1])
            left = np.sqrt(np.maximum(length**2 - across**2, 0.0)) - down[:, 2]
            on = self.on[:, sole.leg]  # by its toes, too: the ankle is as high as in the reference then
            self.slack[on] = np.minimum(self.slack[on], np.maximum(left[on], 0.0))

    def _survey(self) -> None:
        """Centre of mass, momentum and inertia of the body as a whole."""
        r, model = self.reference, self.reference.figure
        f, data = len(r), Data(model)
        rooms = Whole(
            np.ascontiguousarray(r.q).ravel(),
            np.ascontiguousarray(r.v).ravel(),
            np.ones(len(model.tree.parent), np.int64),
            np.zeros(1),
            np.zeros((f, 3)),
            np.zeros((f, 3)),
            np.zeros((f, 3)),
            np.zeros((f, 3, 3)),
        )
        handle = Handle(model.tree, data.work, rooms)
        status = survey(handle.key)
        if status:
            data.refuse(status)
        self.mass = float(rooms.mass[0])
        self.centre, self.speed, self.spin, self.inertia = rooms.centre, rooms.speed, rooms.spin, rooms.locked
        self.acceleration = np.gradient(self.speed, self.dt, axis=0)
        self.turning = np.gradient(self.spin, self.dt, axis=0)
        #: (f, 3) [rad] by which the body as a whole is to be turned from the reference
        self.turn = np.zeros((f, 3))
        #: (f, l, 3) [m], [m/s] by which feet are to be elsewhere than in the reference
        self.moved: Array = np.zeros((f, self.legs, 3))
        self.moved_rate: Array = np.zeros((f, self.legs, 3))

    def _gauge(self, effort: Array) -> None:
        """What legs can bring."""
        data, motors = Data(self.reference.figure), Handle(motors_of(self.reference.figure, self.soles, effort))
        status = gauge(data.key, self.handle.key, motors.key)
        if status:
            data.refuse(status)

    def mark_long_flights(self, longest: float) -> None:
        """Note flights that are longer than so many seconds."""
        edges = np.flatnonzero(np.diff(np.concatenate(([0], (~self._carried).astype(np.int8), [0]))))
        for start, end in zip(edges[::2], edges[1::2], strict=True):
            self.long_flight[start:end] = (end - start) * self.dt > longest

    def __len__(self) -> int:
        return len(self.reference)


def limited(effort: Array) -> bool:
    """Whether any motor has a limit."""
    return bool(((effort > 0.0) & np.isfinite(effort)).any())


def motors_of(model: Model, soles: Iterable[Sole], effort: Array) -> Motors:
    """What is to be known of a figure with such motors."""
    soles = tuple(soles)
    limb, corner = np.zeros(len(soles), np.int64), np.zeros((CORNERS * len(soles), 3))
    for n, sole in enumerate(soles):
        place = model.placements[sole.link]
        limb[n], corner[CORNERS * n :][: len(sole.corners)] = place.body, place.position + sole.corners @ place.rotation.T
    return Motors(np.array(effort, float), limb, corner, np.zeros_like(corner), np.zeros(len(corner), np.int64))


def ahead_of(arrays: Mapping[str, ArrayLike]) -> Ahead:
    """A room with these arrays, or such as are alike where they have to be of another kind; those that are not given are empty."""
    shaped = {
        name: np.ascontiguousarray(arrays.get(name, ()), kind.dtype).reshape(-1, *kind.row) for name, kind in fields_of(Ahead).items()
    }
    return Ahead(**shaped)


def _soles(reference: Reference, stances: tuple[Stance, ...]) -> tuple[Sole, ...]:
    """Feet first, then single points, and what sits last: all of that is one leg, which nobody leads, as hips are where the body is."""
    order = sorted(stances, key=lambda s: (is_seat("", s.link), -len(s.corners)))
    corners = {stance.link: stance.corners for stance in order}
    parent = {link: str(reference.figure.links[link].parent) for link in corners}
    legs: dict[str, int] = {}
    sits = [link for link in corners if is_seat("", link)]
    for link in corners:
        # Toes are of their foot, but a foot is not of the shank that kneels at times, nor that of the thigh
        if link in sits[:1] or (link not in sits and (parent[link] in sits or len(corners.get(parent[link], ())) < 2)):
            legs[link] = len(legs)
    if sits:
        legs |= dict.fromkeys(sits, legs[sits[0]])
    return tuple(
        Sole(link, legs[link if link in legs else parent[link]], points, link in legs and link not in sits)
        for link, points in corners.items()
    )
