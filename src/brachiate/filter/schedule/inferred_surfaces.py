"""Ledges: what a reference stands or sits on above its ground, as rungs and stools are.

Nobody knows their shape, so nobody meets one but from above, when it is to stand there. What is stood on is a board. What is sat on is a
pad under each point that bears, which touches the shape there: level under a pelvis, and aslope under thighs that are, as shapes do not
give way like flesh.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from scipy.ndimage import maximum_filter1d

from brachiate.assumptions import Guess
from brachiate.filter.reference.reference import Reference, Stance
from brachiate.filter.reference.seat_contacts import REACH, is_seat
from brachiate.kinematics import Pose
from brachiate.kinematics_batch import Many
from brachiate.model.builder import ModelBuilder
from brachiate.model.model import Model
from brachiate.model.shapes import Box, Capsule
from brachiate.validation import Array
from brachiate.world.world import World

LEDGES = "ledges"  # the figure
KERB = 0.08  # [m] what is lower is the ground
MARGIN = 0.05  # [m] by which a ledge is wider than what stands on it
THICK = 0.02  # [m]
AROUND = 0.1  # [s] before and after it is to stand on it a link may meet a ledge
GRAZES = 0.002  # [m] below its surface what is lower comes from below
UP = np.array((0.0, 0.0, 1.0))
COLOR = (0.72, 0.53, 0.34, 1.0)


class Ledge(NamedTuple):
    """A level board, where some links stand at times."""

    low: Array  # (2,) [m] corner of it, seen from above
    high: Array  # (2,) [m] and the other one
    height: float  # [m]
    stances: tuple[Stance, ...]

    def joined(self, other: Ledge) -> Ledge:
        """Both as one."""
        low, high = np.minimum(self.low, other.low), np.maximum(self.high, other.high)
        return Ledge(low, high, max(self.height, other.height), (*self.stances, *other.stances))

    def meets(self, other: Ledge) -> bool:
        """Whether they are one board."""
        return bool(abs(self.height - other.height) < THICK and (self.low < other.high).all() and (other.low < self.high).all())


class Pad(NamedTuple):
    """A small board that touches a link where it sits."""

    at: Array  # (3,) [m] the middle of where it does, world axes
    R: Array  # (3, 3) along it, across, and up
    half: Array  # (2,) [m] half of its size, along and across
    centers: Array  # (k, 3) [m] of balls of the link that are there, link axes
    radius: float  # [m]
    stance: Stance

    def above(self, place: Array, rotation: Array) -> Array:
        """How far the link is above it [m], by places (..., 3) and rotations (..., 3, 3) of the link."""
        balls = place[..., None, :] + self.centers @ np.swapaxes(rotation, -1, -2)
        return ((balls - self.at) @ self.R[:, 2]).min(axis=-1) - self.radius


def pads_of(reference: Reference) -> list[Pad]:
    """What stances sit on that are above the ground."""
    return [
        _pad(reference, stance)
        for stance in reference.stances
        if _sits(stance) and float(np.min(reference.ground.above(stance.places))) >= KERB
    ]


def _sits(stance: Stance) -> bool:
    return stance.how == "stands" and is_seat("", stance.link)


def _pad(reference: Reference, stance: Stance) -> Pad:
    found = [inside(reference.figure, stance.link, corner) for corner in stance.corners]
    centers, (_, along, radius) = np.array([each[0] for each in found]), found[0]
    up = UP if radius == 0.0 else stance.rotation @ (centers[0] - stance.corners[0])
    up = up / np.linalg.norm(up)
    x = stance.rotation @ along
    x = x - (x @ up) * up
    x /= np.linalg.norm(x)
    R = np.stack((x, np.cross(up, x), up), axis=1)
    seen = stance.places @ R
    low, high = seen.min(axis=0), seen.max(axis=0)
    return Pad(R @ (0.5 * (low + high)), R, 0.5 * (high - low)[:2] + REACH, centers, radius, stance)


def inside(figure: Model, link: str, point: Array) -> tuple[Array, Array, float]:
    """Of a point on the side of a capsule: that on its axis, the axis, and the radius; of others: itself, and none. All in link axes."""
    for shape in figure.links[link].shapes:
        if isinstance(shape, Capsule) and shape.collides:
            axis = shape.rotation[:, 2]
            half = 0.5 * shape.length
            center = shape.position + float(np.clip((point - shape.position) @ axis, -half, half)) * axis
            if abs(np.linalg.norm(point - center) - shape.radius) < GRAZES:
                return center, axis, shape.radius
    return point, np.array((1.0, 0.0, 0.0)), 0.0


def ledges_of(reference: Reference) -> list[Ledge]:
    """What stances stand on that are above the ground; those that meet at one height stand on the same."""
    found: list[Ledge] = []
    for stance in reference.stances:
        places = stance.places
        if stance.how != "stands" or _sits(stance) or float(np.mean(reference.ground.above(places))) < KERB:
            continue
        ledge = Ledge(places[:, :2].min(axis=0) - MARGIN, places[:, :2].max(axis=0) + MARGIN, float(places[:, 2].mean()), (stance,))
        while (n := next((n for n, each in enumerate(found) if each.meets(ledge)), None)) is not None:
            ledge = ledge.joined(found.pop(n))
        found.append(ledge)
    return found


def put_ledges(world: World, figure: str, reference: Reference) -> None:
    """Put what a reference stands on above its ground into a world with its figure. Nothing meets it yet."""
    ledges, pads = ledges_of(reference), pads_of(reference)
    if not ledges and not pads:
        return
    b = ModelBuilder(LEDGES)
    for n, ledge in enumerate(ledges):
        middle = np.array((*(0.5 * (ledge.low + ledge.high)), ledge.height - 0.5 * THICK))
        b.link(_ledge(n), shapes=Box(size=np.array((*(ledge.high - ledge.low), THICK)), position=middle, color=COLOR))
    for n, pad in enumerate(pads):
        size, middle = np.array((*(2.0 * pad.half), THICK)), pad.at - 0.5 * THICK * pad.R[:, 2]
        b.link(_seat(n), shapes=Box(size=size, position=middle, rotation=pad.R, color=COLOR))
    world.add(b.build(), name=LEDGES)
    names = [*(_ledge(n) for n in range(len(ledges))), *(_seat(n) for n in range(len(pads)))]
    for link in reference.figure.links:
        world.pass_through(f"{figure}/{link}", [f"{LEDGES}/{name}" for name in names])


def _ledge(n: int) -> str:
    return f"ledge_{n + 1}"


def _seat(n: int) -> str:
    return f"seat_{n + 1}"


def told(reference: Reference) -> list[Guess]:
    """What was assumed about ledges."""
    heights = ", ".join(f"{height:.2f} m" for height in sorted(ledge.height for ledge in ledges_of(reference)))
    why = "the motion {} there, above its ground; nobody meets one but from above, when it is to {} there"
    found = [Guess("ledges", heights, why.format("stands", "stand"), "contacts")] if heights else []
    seats = sorted({f"{pad.stance.height:.2f} m" for pad in pads_of(reference)})
    return [*found, Guess("seats", ", ".join(seats), why.format("sits", "sit"), "contacts")] if seats else found


class _Meeting(NamedTuple):
    """A link and what it may meet, and when."""

    link: str
    ledge: str
    above: Callable[[Pose], float]  # how far the link is above it [m]
    frames: Array  # (f,) whether it may


class Ledges:
    """Lets links meet ledges while they are to stand or sit on them."""

    def __init__(self, world: World, figure: str, reference: Reference) -> None:
        self.world, self.figure = world, figure
        there = LEDGES in world.figures
        self._meetings = [*_boards(reference), *_seats(reference)] if there else []
        self._met: set[tuple[str, str]] = set()

    def at(self, k: int) -> None:
        """Let meet what may in frame k and is above, and let go of the rest."""
        may = {(each.link, each.ledge): each for each in self._meetings if k < len(each.frames) and each.frames[k]}
        for link, ledge in self._met - may.keys():
            self.world.pass_through(f"{self.figure}/{link}", ledge)
        self._met &= may.keys()
        for pair in may.keys() - self._met:
            if may[pair].above(self.world.pose(f"{self.figure}/{pair[0]}")) > -GRAZES:
                self.world.meet(f"{self.figure}/{pair[0]}", pair[1])
                self._met.add(pair)


def _boards(reference: Reference) -> Iterator[_Meeting]:
    for n, ledge in enumerate(ledges_of(reference)):
        for stance in ledge.stances:
            frames = np.zeros(len(reference), bool)
            frames[stance.start : stance.end] = True

            def above(pose: Pose, corners: Array = stance.corners, height: float = ledge.height) -> float:
                return float((pose.position + corners @ pose.rotation.T)[:, 2].min()) - height

            yield _Meeting(stance.link, f"{LEDGES}/{_ledge(n)}", above, _around(frames, reference.dt))


def _seats(reference: Reference) -> Iterator[_Meeting]:
    """A thigh that is to be lower than its pad, as that of somebody who stands up, has left it."""
    many = Many(reference.figure)
    for n, pad in enumerate(pads_of(reference)):
        stance, frames = pad.stance, np.zeros(len(reference), bool)
        frames[stance.start : stance.end] = stance.bears.any(axis=1)
        place = reference.figure.placements[stance.link]
        near = _around(frames, reference.dt)
        poses = many.poses(reference.q[near])
        R = poses.R[place.body] @ place.rotation
        near[near] = pad.above(poses.x[place.body] + poses.R[place.body] @ place.position, R) > -GRAZES

        def above(pose: Pose, pad: Pad = pad) -> float:
            return float(pad.above(pose.position, pose.rotation))

        yield _Meeting(stance.link, f"{LEDGES}/{_seat(n)}", above, frames | near)


def _around(frames: Array, dt: float) -> Array:
    """The same, and a little before and after."""
    return np.asarray(maximum_filter1d(frames, 2 * int(AROUND / dt) + 1))
