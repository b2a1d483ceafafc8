"""Contact schedule: stance phases, footholds and load shares of the contact links over the frames of a reference."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, DTypeLike
from scipy.ndimage import gaussian_filter1d

from brachiate.centroidal.problem import MAX_MOTORS
from brachiate.compiled import ArrayHandle, array_fields
from brachiate.filter.reference.frames_on_demand import MAX_KEPT_FRAMES
from brachiate.filter.reference.reference import Reference, Stance
from brachiate.filter.reference.seat_contacts import is_seat_part
from brachiate.filter.reference.stair_footholds import tread_range
from brachiate.filter.schedule.arrays import MAX_CORNERS, MAX_UNANCHORED_POINTS, NEVER, ReferenceWindow
from brachiate.filter.schedule.centroidal_trajectory import CentroidalTrajectory, compute_centroidal_trajectory
from brachiate.filter.schedule.frame_array import FrameArray
from brachiate.filter.schedule.leg_force_limits import LegActuators, compute_leg_force_limits
from brachiate.filter.schedule.unanchored_contacts import find_unanchored_points, links_without_foothold
from brachiate.intervals import true_intervals
from brachiate.kinematics_batch import BatchKinematics, Poses
from brachiate.model.data import Data
from brachiate.model.model import Model
from brachiate.validation import Array

LOAD_TRANSFER_TIME = 0.04  # [s] in which the body weight moves from one leg to another
TREAD_EDGE_MARGIN = 0.005  # [m] smallest planned distance of a foot from the edge of its tread
MAX_WHOLE_FRAMES = MAX_KEPT_FRAMES  # of a reference whose frames are evaluated all at once
BLOCK = 4096  # frames of a longer one that are evaluated together
MARGIN = 16  # frames kept before the present one, and evaluated beyond those that are needed
START_FRAMES = 5  # a stance that begins within the first frames is there from the start


class ContactLink(NamedTuple):
    """Link with stances."""

    link: str
    leg: int  # index of its leg: a foot and its toes have the same
    corners: Array  # (k, 3) [m] link axes
    swings: bool  # whether it follows a swing-foot trajectory: the foot, not its toes


class GripInterval(NamedTuple):
    """Interval in which a point of a link holds on to a fixed position."""

    link: str
    point: Array  # (3,) [m] link axes
    position: Array  # (3,) [m] world axes
    start: int  # first frame
    end: int  # the frame after the last


class ContactSchedule:
    """Contact schedule of a reference. Sizes: f frames, m contact links, l legs.

    Args:
        reference: Made by :func:`brachiate.filter.reference.preprocess.make_reference`.
        lookahead: Time for which upcoming contacts of a link in contact are known [s].
        effort: Torque limits (nv,) [N·m or N]; by default there are none.
        horizon: Time ahead of the present frame that is used [s]. Of a long reference, q, v, a, centroidal trajectory, corner positions and
            force limits are evaluated block by block as :meth:`prepare` is called, which gives up all rows of tracked frames. Default: all
            are evaluated at once.

    Attributes:
        contact_links: The contact links.
        grips: Grip intervals.
        leg_count, leg: Number of legs, and leg of each contact link (m,).
        contact_mask: Corners in contact, as bits: (f, m).
        upcoming_mask: Corners of links in contact that are in contact within the lookahead, as bits: (f, m).
        in_contact: Stance phases of the legs: (f, l).
        gripping: Whether anything grips: (f,).
        unanchored_points, unanchored_count: Ground contacts of parts without a foothold: (f, 8, 3) [m], (f,).
        flight_boundaries: Frames of liftoff into flight and of touchdown from it.
        load_share: Share of the body weight on each leg: (f, l); the rest hangs or lies.
        stance_frames: First frame of every stance of each leg, and the frame after its last; (-1, 0) first if it starts in the air.
        stance_index, next_stance_index, time_to_landing: As in :class:`ReferenceWindow`: (f, l), the last one in [s].
        corner_positions: Positions of the corners of each contact link: (f, k, 3) [m].
        height_slack: Possible rise of the body until a stance leg is straight: (f,) [m]; infinite in flight.
        max_vertical_force, motor_point, motor_rows: Force limits of the legs: (f l,) [N], (f l, 2) [m], (f l 8, 6); empty without limits.
        window, handle: The schedule as arrays of the kernels, which share memory with these, and their handle.
    """

    def __init__(self, reference: Reference, lookahead: float, effort: Array | None = None, horizon: float = np.inf) -> None:
        self.reference, self.dt = reference, reference.dt
        excluded = links_without_foothold(reference)
        supports = tuple(stance for stance in reference.stances if stance.kind == "support" and stance.link not in excluded)
        self.contact_links = _find_contact_links(reference, supports)
        self.grips = tuple(
            GripInterval(stance.link, stance.corners[0], stance.corner_positions[0], stance.start, stance.end)
            for stance in reference.stances
            if stance.kind == "grip"
        )
        self.leg_count = 1 + max((link.leg for link in self.contact_links), default=-1)
        self.leg = np.array([link.leg for link in self.contact_links], np.int64)
        self._arrays: list[FrameArray] = []
        self._set_contacts(supports, lookahead)
        self.flight_boundaries = 1 + np.flatnonzero(np.diff(self._supported.astype(np.int8)))
        self._number_stances()
        self._set_load_shares()
        self.long_flight = self._zeros((), np.int64)
        self._bodies = self._contact_bodies()
        self._poses: tuple[slice, Poses] | None = None
        self._set_height_slack()
        self._effort = effort if effort is not None and has_torque_limits(effort) else None
        self._allocate_frames()
        self.window = self._make_window()
        self.handle = ArrayHandle(self.window)
        self._evaluated = self._next_frame = 0  # frames that were evaluated, and the one at which more are needed
        self._ahead = len(reference) if np.isinf(horizon) else int(np.ceil(horizon / self.dt))
        self.prepare(0)

    def _zeros(self, row: tuple[int, ...], dtype: DTypeLike = np.float64, count: int | None = None) -> Array:
        """Array of zeros with a row per frame, or none, whose rows are given up after the frames have been tracked."""
        self._arrays.append(FrameArray(len(self) if count is None else count, row, len(self) > MAX_WHOLE_FRAMES, dtype))
        return self._arrays[-1].array

    def _allocate_frames(self) -> None:
        """Allocate the arrays that are evaluated block by block."""
        m, legs = len(self.contact_links), self.leg_count
        self.com, self.com_velocity, self.com_acceleration = (self._zeros((3,)) for _ in range(3))
        self.angular_momentum, self.angular_momentum_rate = (self._zeros((3,)) for _ in range(2))
        self.locked_inertia, self._corner_positions = self._zeros((3, 3)), self._zeros((m, MAX_CORNERS, 3))
        self.corner_positions = [self._corner_positions[:, n, : len(link.corners)] for n, link in enumerate(self.contact_links)]
        limited = None if self._effort is not None else 0
        limits = (self._zeros(row, count=limited) for row in ((legs,), (legs, 2), (legs * MAX_MOTORS, 6)))
        self.max_vertical_force, self.motor_point, self.motor_rows = (each.reshape(-1, *each.shape[2:]) for each in limits)
        figure = self.reference.figure
        if len(self) > MAX_WHOLE_FRAMES:
            self._q, self._v, self._a = (self._zeros((n,)) for n in (figure.nq, figure.nv, figure.nv))
        else:
            self._q, self._v, self._a = self.reference.q, self.reference.v, self.reference.a
        self.orientation_offset = self._zeros((3,))
        self.foot_offset, self.foot_offset_rate = self._zeros((legs, 3)), self._zeros((legs, 3))

    def prepare(self, k: int) -> None:
        """Evaluate the frames that are used while frame k is tracked, and give up the memory of frames before it."""
        if k < self._next_frame:
            return
        f = len(self.reference)
        if f <= MAX_WHOLE_FRAMES:
            self._evaluate(0, f)
            self._next_frame = f
            return
        self._next_frame = k + BLOCK
        frames = np.arange(k, min(self._next_frame, f))
        swinging = np.where(self.time_to_landing[frames] < NEVER, self.time_to_landing[frames], 0.0)  # feet are placed as they will land
        landing = int((frames[:, None] + swinging / self.dt).max(initial=0.0)) if len(frames) else 0
        needed = min(max(self._next_frame + self._ahead, landing) + MARGIN, f)
        while self._evaluated < needed:
            self._evaluate(self._evaluated, min(self._evaluated + BLOCK, f))
        for each in self._arrays:
            each.release(k - MARGIN)

    def _evaluate(self, start: int, end: int) -> None:
        """Evaluate a block of frames."""
        if len(self) > MAX_WHOLE_FRAMES:
            states = self.reference.states(slice(start, end))
            self._q[start:end], self._v[start:end], self._a[start:end] = states.q, states.v, states.a
        self._place_corners(start, end)
        self._set_centroidal_trajectory(start, end)
        self._set_force_limits(start, end)
        self._evaluated = end

    def _set_contacts(self, supports: Iterable[Stance], lookahead: float) -> None:
        """Set contact masks, stance phases, grips and unanchored contacts."""
        f, m = len(self.reference), len(self.contact_links)
        index = {link.link: n for n, link in enumerate(self.contact_links)}
        self.contact_mask, self.upcoming_mask = self._zeros((m,), np.int64), self._zeros((m,), np.int64)
        for stance in supports:
            bits = stance.corner_contact @ (1 << np.arange(len(stance.corners)))
            self.contact_mask[stance.start : stance.end, index[stance.link]] = bits
        self.upcoming_mask[:] = self.contact_mask
        for ahead in range(1, max(int(lookahead / self.dt), 1)):
            later = self.contact_mask[np.minimum(np.arange(f) + ahead, f - 1)]
            self.upcoming_mask |= np.where(self.contact_mask > 0, later, 0)
        self.in_contact = self._zeros((self.leg_count,), bool)
        for n, link in enumerate(self.contact_links):
            self.in_contact[:, link.leg] |= self.contact_mask[:, n] > 0
        self.gripping = np.zeros(f, bool)
        for grip in self.grips:
            self.gripping[grip.start : grip.end] = True
        unanchored = self._zeros((MAX_UNANCHORED_POINTS, 3)), self._zeros((), np.int64)
        self.unanchored_points, self.unanchored_count = find_unanchored_points(self.reference, index.keys(), unanchored)

    def _set_load_shares(self) -> None:
        """Set the share of the body weight on each leg, which moves gradually from leg to leg."""
        other = (self.gripping | (self.unanchored_count > 0))[:, None]
        flags = np.concatenate((self.in_contact, other), axis=1).astype(float)
        weight = gaussian_filter1d(flags, LOAD_TRANSFER_TIME / self.dt, axis=0, mode="nearest")
        weight[:, :-1] += 1e-3
        self.load_share = self._zeros((self.leg_count,))
        self.load_share[:] = weight[:, :-1] / np.maximum(weight.sum(axis=1, keepdims=True), 1e-9)

    def _make_window(self) -> ReferenceWindow:
        """Arrays of the kernels, most of which share memory with the attributes."""
        r, f = self.reference, len(self.reference)
        count = max((len(frames) for frames in self.stance_frames), default=0)
        stances = self._zeros((self.leg_count,), np.int64)
        stances[:] = self.in_contact
        stance_frames = np.array([[*each, *[(-1, 0)] * (count - len(each))] for each in self.stance_frames], np.int64)
        arrays = {
            "frame_count": [f],
            "dt": [self.dt],
            "terrain_gradient": r.terrain.gradient,
            "stair_direction": [0.0, 0.0] if r.terrain.stairs is None else r.terrain.stairs.direction,
            "leg": self.leg,
            "swings": [int(link.swings) for link in self.contact_links],
            "corner_count": [len(link.corners) for link in self.contact_links],
            "in_contact": stances,
            "corner_positions": self._corner_positions,
            "stance_frames": stance_frames,
            "stance_count": [len(each) for each in self.stance_frames],
            "foothold_range": self._foothold_ranges(count),
            "q": self._q,
            "v": self._v,
            "a": self._a,
        }
        return make_window({name: arrays[name] if name in arrays else getattr(self, name) for name in ReferenceWindow._fields})

    @property
    def _supported(self) -> Array:
        """Whether anything is in contact or grips: (f,)."""
        return self.in_contact.any(axis=1) | self.gripping | (self.unanchored_count > 0)

    def _foothold_ranges(self, count: int) -> Array:
        """Range of the shift along stairs that keeps each stance on its tread: (l, count, 2) [m]."""
        ranges, stairs = np.tile((-np.inf, np.inf), (self.leg_count, count, 1)), self.reference.terrain.stairs
        if stairs is not None:
            legs = {link.link: link.leg for link in self.contact_links}
            for stance in self.reference.stances:
                if stance.link in legs:
                    leg = legs[stance.link]
                    shift = ranges[leg, self.stance_index[stance.start, leg]]
                    first, last = tread_range(stairs, stance.corner_positions)
                    shift[:] = max(shift[0], min(first + TREAD_EDGE_MARGIN, 0.0)), min(shift[1], max(last - TREAD_EDGE_MARGIN, 0.0))
        return ranges

    def _number_stances(self) -> None:
        """Set the stances of each leg, and their indices: the halves of a swing belong to the stances before and after."""
        f = len(self.reference)
        self.stance_index, self.next_stance_index = (self._zeros((self.leg_count,), np.int64) for _ in range(2))
        self.time_to_landing = self._zeros((self.leg_count,))
        self.time_to_landing[:] = NEVER
        self.stance_frames: list[list[tuple[int, int]]] = []
        for leg in range(self.leg_count):
            stances = true_intervals(self.in_contact[:, leg])
            if not stances or stances[0][0] > START_FRAMES:
                stances.insert(0, (-1, 0))
            self.stance_frames.append(stances)
            for n, (start, end) in enumerate(stances):
                last = n + 1 == len(stances)
                landing = f if last else stances[n + 1][0]
                start, middle = max(start, 0), f if last else (end + landing) // 2
                self.stance_index[start:middle, leg], self.stance_index[middle:landing, leg] = n, n + 1 - last
                self.next_stance_index[start:end, leg], self.next_stance_index[end:landing, leg] = n, n + 1 - last
                self.time_to_landing[start:end, leg] = 0.0
                if not last:
                    self.time_to_landing[end:landing, leg] = (landing - np.arange(end, landing)) * self.dt

    def _contact_bodies(self) -> set[int]:
        """Bodies of the contact links, and those between them and the root."""
        model, tree = self.reference.figure, self.reference.figure.tree
        bodies = {model.placements[link.link].body for link in self.contact_links}
        while above := {int(tree.parent[body]) for body in bodies if tree.parent[body] >= 0} - bodies:
            bodies |= above
        return bodies

    def _poses_of(self, start: int, end: int) -> Poses:
        """Poses of these bodies in a block of frames; those of the last block are kept."""
        frames = slice(start, end)
        if self._poses is None or self._poses[0] != frames:
            q = self.reference.states(frames).q
            self._poses = frames, BatchKinematics(self.reference.figure).poses_of_bodies(q, self._bodies)
        return self._poses[1]

    def _place_corners(self, start: int, end: int) -> None:
        """Set the positions of the corners of each contact link in a block of frames."""
        model, poses = self.reference.figure, self._poses_of(start, end)
        for positions, link in zip(self.corner_positions, self.contact_links, strict=True):
            placement = model.placements[link.link]
            points = placement.position + link.corners @ placement.rotation.T
            for k, point in enumerate(points):
                positions[start:end, k] = poses.point(placement.body, point)
        self._poses = None

    def _set_height_slack(self) -> None:
        """Set the possible rise of the body until a stance leg is straight."""
        f, swinging = len(self.reference), [link for link in self.contact_links if link.swings]
        chains = [self._chain(link) for link in swinging]
        # Lengths of the segments of each leg, horizontal and vertical distance of the hip from the foot
        segments = [[0.0 for _ in pairwise(chain[:-1])] for chain in chains]
        across, above = np.zeros((len(chains), f)), np.zeros((len(chains), f))
        for start, end in self._blocks():
            poses = self._poses_of(start, end)
            for n, chain in enumerate(chains):
                hip = chain[-2] if len(chain) > 1 else chain[-1]
                for i, (a, b) in enumerate(pairwise(chain[:-1])):
                    segments[n][i] = max(segments[n][i], float(np.linalg.norm(poses.x[a] - poses.x[b], axis=1).max()))
                leg = poses.x[hip] - poses.x[chain[0]]
                across[n, start:end], above[n, start:end] = np.hypot(leg[:, 0], leg[:, 1]), leg[:, 2]
        self.height_slack = self._zeros(())
        self.height_slack[:] = np.inf
        for link, lengths, horizontal, vertical in zip(swinging, segments, across, above, strict=True):
            slack = np.sqrt(np.maximum(sum(lengths) ** 2 - horizontal**2, 0.0)) - vertical
            stance = self.in_contact[:, link.leg]  # also by the toes: the ankle is as high as in the reference then
            self.height_slack[stance] = np.minimum(self.height_slack[stance], np.maximum(slack[stance], 0.0))

    def _chain(self, link: ContactLink) -> list[int]:
        """Bodies from a contact link up to the root."""
        tree, chain = self.reference.figure.tree, [self.reference.figure.placements[link.link].body]
        while tree.parent[chain[-1]] >= 0:
            chain.append(int(tree.parent[chain[-1]]))
        return chain

    def _blocks(self) -> Iterator[tuple[int, int]]:
        """First frame of every block, and the frame after its last."""
        f = len(self.reference)
        step = f if f <= MAX_WHOLE_FRAMES else BLOCK
        return ((start, min(start + step, f)) for start in range(0, f, step))

    def _set_centroidal_trajectory(self, start: int, end: int) -> None:
        """Set CoM, angular momentum and locked inertia, and their rates, in a block of frames."""
        model, data = self.reference.figure, Data(self.reference.figure)
        first, last = max(start - 1, 0), min(end + 1, len(self.reference))  # neighbors, for the rates
        states, f = self.reference.states(slice(first, last)), last - first
        trajectory = CentroidalTrajectory(
            np.ascontiguousarray(states.q).ravel(),
            np.ascontiguousarray(states.v).ravel(),
            np.ones(len(model.tree.parent), np.int64),
            np.zeros(1),
            np.zeros((f, 3)),
            np.zeros((f, 3)),
            np.zeros((f, 3)),
            np.zeros((f, 3, 3)),
        )
        handle = ArrayHandle(model.tree, data.work, trajectory)
        status = compute_centroidal_trajectory(handle.key)
        if status:
            data.raise_status(status)
        self.mass = float(trajectory.mass[0])
        block, inner = slice(start, end), slice(start - first, end - first)
        self.com[block], self.com_velocity[block] = trajectory.com[inner], trajectory.com_velocity[inner]
        self.angular_momentum[block], self.locked_inertia[block] = trajectory.angular_momentum[inner], trajectory.locked_inertia[inner]
        self.com_acceleration[block] = np.gradient(trajectory.com_velocity, self.dt, axis=0)[inner]
        self.angular_momentum_rate[block] = np.gradient(trajectory.angular_momentum, self.dt, axis=0)[inner]

    def _set_force_limits(self, start: int, end: int) -> None:
        """Set the force limits of the legs in a block of frames."""
        if self._effort is None:
            return
        f, legs = len(self.reference), self.leg_count
        rows = {"contact_mask": len(self.contact_links), "corner_positions": len(self.contact_links) * MAX_CORNERS, "in_contact": legs}
        rows |= {"q": self.reference.figure.nq, "max_vertical_force": legs, "motor_point": legs, "motor_rows": legs * MAX_MOTORS, "com": 1}
        block = {name: getattr(self.window, name)[start * count : end * count] for name, count in rows.items()}
        window = self.handle if (start, end) == (0, f) else ArrayHandle(self.window._replace(frame_count=np.array([end - start]), **block))
        actuators = ArrayHandle(make_leg_actuators(self.reference.figure, self.contact_links, self._effort))
        data = Data(self.reference.figure)
        status = compute_leg_force_limits(data.key, window.key, actuators.key)
        if status:
            data.raise_status(status)

    def mark_long_flights(self, duration: float) -> None:
        """Set long_flight in flight phases longer than a duration [s]."""
        for start, end in true_intervals(~self._supported):
            self.long_flight[start:end] = (end - start) * self.dt > duration

    def __len__(self) -> int:
        return len(self.reference)


def has_torque_limits(effort: Array) -> bool:
    """Whether any joint has a finite torque limit."""
    return bool(((effort > 0.0) & np.isfinite(effort)).any())


def make_leg_actuators(model: Model, links: Iterable[ContactLink], effort: Array) -> LegActuators:
    """Arrays of torque limits and contact corners for the force limits of legs."""
    links = tuple(links)
    body, corner = np.zeros(len(links), np.int64), np.zeros((MAX_CORNERS * len(links), 3))
    for n, link in enumerate(links):
        place = model.placements[link.link]
        body[n], corner[MAX_CORNERS * n :][: len(link.corners)] = place.body, place.position + link.corners @ place.rotation.T
    return LegActuators(np.array(effort, float), body, corner, np.zeros_like(corner), np.zeros(len(corner), np.int64))


def make_window(arrays: Mapping[str, ArrayLike]) -> ReferenceWindow:
    """Reference window of arrays by name, copied only where dtype or layout differ; arrays not given are empty."""
    shaped = {
        name: np.ascontiguousarray(arrays.get(name, ()), field.dtype).reshape(-1, *field.row)
        for name, field in array_fields(ReferenceWindow).items()
    }
    return ReferenceWindow(**shaped)


def _find_contact_links(reference: Reference, stances: tuple[Stance, ...]) -> tuple[ContactLink, ...]:
    """Contact links: feet, then single points, then seats, which together form one leg without a swing, as hips move with the body."""
    ordered = sorted(stances, key=lambda stance: (is_seat_part("", stance.link), -len(stance.corners)))
    corners = {stance.link: stance.corners for stance in ordered}
    parent = {link: str(reference.figure.links[link].parent) for link in corners}
    legs: dict[str, int] = {}
    seats = [link for link in corners if is_seat_part("", link)]
    for link in corners:
        # Toes belong to the leg of their foot, but a foot not to that of a kneeling shank, nor a shank to that of a thigh
        has_own_leg = link not in seats and (parent[link] in seats or len(corners.get(parent[link], ())) < 2)
        if link in seats[:1] or has_own_leg:
            legs[link] = len(legs)
    if seats:
        legs |= dict.fromkeys(seats, legs[seats[0]])
    return tuple(
        ContactLink(link, legs[link if link in legs else parent[link]], points, link in legs and link not in seats)
        for link, points in corners.items()
    )
