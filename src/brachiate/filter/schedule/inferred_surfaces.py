"""Inferred support surfaces: platforms and seat pads where a reference stands or sits above its terrain, as on rungs and stools.

Their shape is unknown, so a link has contact with one only from above, and only while it is scheduled to. A platform is a level board. A
seat has a pad under each part in contact, tangent to its shape: level under a pelvis, inclined under thighs, since shapes are rigid.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from scipy.ndimage import maximum_filter1d

from brachiate.assumptions import Assumption
from brachiate.filter.reference.reference import Reference, Stance
from brachiate.filter.reference.seat_contacts import SEAT_MARGIN, is_seat_part
from brachiate.kinematics import Pose
from brachiate.kinematics_batch import BatchKinematics
from brachiate.model.builder import ModelBuilder
from brachiate.model.model import Model
from brachiate.model.shapes import Box, Capsule, with_all_bits
from brachiate.validation import Array
from brachiate.world.world import World

SURFACES = "inferred_surfaces"  # name of the figure
GROUND_MAX_HEIGHT = 0.08  # [m] a lower surface is the ground
PLATFORM_MARGIN = 0.05  # [m] by which a platform extends beyond the stances on it
THICKNESS = 0.02  # [m]
CONTACT_WINDOW = 0.1  # [s] before and after a stance, in which contact is allowed
CONTACT_DEPTH = 0.002  # [m] a link deeper below the surface comes from below
UP = np.array((0.0, 0.0, 1.0))
COLOR = (0.72, 0.53, 0.34, 1.0)


class Platform(NamedTuple):
    """Level board under some stances."""

    low: Array  # (2,) [m] smallest x and y
    high: Array  # (2,) [m] largest x and y
    height: float  # [m]
    stances: tuple[Stance, ...]

    def merge(self, other: Platform) -> Platform:
        """Platform that covers both."""
        low, high = np.minimum(self.low, other.low), np.maximum(self.high, other.high)
        return Platform(low, high, max(self.height, other.height), (*self.stances, *other.stances))

    def overlaps(self, other: Platform) -> bool:
        """Whether both overlap at the same height."""
        return bool(abs(self.height - other.height) < THICKNESS and (self.low < other.high).all() and (other.low < self.high).all())


class SeatPad(NamedTuple):
    """Small board tangent to a sitting link."""

    position: Array  # (3,) [m] center of the contact surface, world axes
    R: Array  # (3, 3) axes along the link, across, and normal, as columns
    half_size: Array  # (2,) [m] along and across
    centers: Array  # (k, 3) [m] of the contact spheres of the link, link axes
    radius: float  # [m] of these
    stance: Stance

    def clearance(self, position: Array, rotation: Array) -> Array:
        """Height of the link above the pad [m], at positions (..., 3) [m] and orientations (..., 3, 3) of the link."""
        centers = position[..., None, :] + self.centers @ np.swapaxes(rotation, -1, -2)
        return ((centers - self.position) @ self.R[:, 2]).min(axis=-1) - self.radius


def find_seat_pads(reference: Reference) -> list[SeatPad]:
    """Seat pads of sitting stances above the ground."""
    return [
        _make_seat_pad(reference, stance)
        for stance in reference.stances
        if _is_seat_stance(stance) and float(np.min(reference.terrain.clearance(stance.corner_positions))) >= GROUND_MAX_HEIGHT
    ]


def _is_seat_stance(stance: Stance) -> bool:
    return stance.kind == "support" and is_seat_part("", stance.link)


def _make_seat_pad(reference: Reference, stance: Stance) -> SeatPad:
    axis_points = [capsule_axis_point(reference.figure, stance.link, corner) for corner in stance.corners]
    centers, (_, axis, radius) = np.array([each[0] for each in axis_points]), axis_points[0]
    up = UP if radius == 0.0 else stance.rotation @ (centers[0] - stance.corners[0])
    up = up / np.linalg.norm(up)
    x = stance.rotation @ axis
    x = x - (x @ up) * up
    x /= np.linalg.norm(x)
    R = np.stack((x, np.cross(up, x), up), axis=1)
    corners = stance.corner_positions @ R
    low, high = corners.min(axis=0), corners.max(axis=0)
    return SeatPad(R @ (0.5 * (low + high)), R, 0.5 * (high - low)[:2] + SEAT_MARGIN, centers, radius, stance)


def capsule_axis_point(figure: Model, link: str, point: Array) -> tuple[Array, Array, float]:
    """Nearest point on the axis of the capsule whose surface a point of a link is on, the axis, and the radius [m]; link axes.

    Of a point on another shape: the point itself, the x axis, and 0.
    """
    for shape in figure.links[link].shapes:
        if isinstance(shape, Capsule) and shape.collides:
            axis = shape.rotation[:, 2]
            half = 0.5 * shape.length
            center = shape.position + float(np.clip((point - shape.position) @ axis, -half, half)) * axis
            if abs(np.linalg.norm(point - center) - shape.radius) < CONTACT_DEPTH:
                return center, axis, shape.radius
    return point, np.array((1.0, 0.0, 0.0)), 0.0


def find_platforms(reference: Reference) -> list[Platform]:
    """Platforms under standing stances above the terrain; overlapping ones of the same height are merged."""
    platforms: list[Platform] = []
    for stance in reference.stances:
        corners = stance.corner_positions
        if stance.kind != "support" or _is_seat_stance(stance) or float(np.mean(reference.terrain.clearance(corners))) < GROUND_MAX_HEIGHT:
            continue
        low, high = corners[:, :2].min(axis=0) - PLATFORM_MARGIN, corners[:, :2].max(axis=0) + PLATFORM_MARGIN
        platform = Platform(low, high, float(corners[:, 2].mean()), (stance,))
        while (n := next((n for n, each in enumerate(platforms) if each.overlaps(platform)), None)) is not None:
            platform = platform.merge(platforms.pop(n))
        platforms.append(platform)
    return platforms


def add_inferred_surfaces(world: World, figure: str, reference: Reference) -> None:
    """Add the inferred surfaces of a reference to a world with its figure, without contact."""
    platforms, pads = find_platforms(reference), find_seat_pads(reference)
    if not platforms and not pads:
        return
    builder = ModelBuilder(SURFACES)
    for n, platform in enumerate(platforms):
        size = np.array((*(platform.high - platform.low), THICKNESS))
        middle = np.array((*(0.5 * (platform.low + platform.high)), platform.height - 0.5 * THICKNESS))
        builder.link(_platform_name(n), shapes=with_all_bits(Box(size=size, position=middle, color=COLOR)))
    for n, pad in enumerate(pads):
        size, middle = np.array((*(2.0 * pad.half_size), THICKNESS)), pad.position - 0.5 * THICKNESS * pad.R[:, 2]
        builder.link(_pad_name(n), shapes=with_all_bits(Box(size=size, position=middle, rotation=pad.R, color=COLOR)))
    world.add(builder.build(), name=SURFACES)
    names = [*(_platform_name(n) for n in range(len(platforms))), *(_pad_name(n) for n in range(len(pads)))]
    for link in reference.figure.links:
        world.ignore_contact(f"{figure}/{link}", [f"{SURFACES}/{name}" for name in names])


def _platform_name(n: int) -> str:
    return f"platform_{n + 1}"


def _pad_name(n: int) -> str:
    return f"seat_{n + 1}"


def surface_assumptions(reference: Reference) -> list[Assumption]:
    """Assumptions about the heights of inferred surfaces."""
    heights = ", ".join(f"{height:.2f} m" for height in sorted(platform.height for platform in find_platforms(reference)))
    reason = "the motion {} there above its terrain; only {} links have contact with it, from above"
    assumptions = [Assumption("platforms", heights, reason.format("stands", "standing"), "contacts")] if heights else []
    seats = sorted({f"{pad.stance.height:.2f} m" for pad in find_seat_pads(reference)})
    if seats:
        assumptions.append(Assumption("seats", ", ".join(seats), reason.format("sits", "sitting"), "contacts"))
    return assumptions


class _TimedContact(NamedTuple):
    """Link and surface that may have contact in some frames."""

    link: str
    surface: str
    clearance: Callable[[Pose], float]  # height of the link above the surface [m]
    frames: Array  # (f,) whether contact is allowed


class InferredSurfaces:
    """Contact of links with inferred surfaces, allowed during their stances.

    Args:
        world: World with the figure, and the inferred surfaces if there are any.
        figure: Name of the figure.
        reference: Reference of the figure.
    """

    def __init__(self, world: World, figure: str, reference: Reference) -> None:
        self.world, self.figure = world, figure
        exist = SURFACES in world.figures
        self._contacts = [*_platform_contacts(reference), *_pad_contacts(reference)] if exist else []
        ignored = {pair for pair, material in world.contact_settings.pair_materials.items() if material is None}
        # None at first; some where a run goes on from a state of an earlier one
        self._allowed = {(c.link, c.surface) for c in self._contacts if frozenset((f"{figure}/{c.link}", c.surface)) not in ignored}

    def update(self, frame: int) -> None:
        """Allow contacts scheduled in a frame whose link is above the surface, and ignore those that are not scheduled."""
        if not self._contacts:
            return
        scheduled = {(each.link, each.surface): each for each in self._contacts if frame < len(each.frames) and each.frames[frame]}
        for link, surface in self._allowed - scheduled.keys():
            self.world.ignore_contact(f"{self.figure}/{link}", surface)
        self._allowed &= scheduled.keys()
        for pair in scheduled.keys() - self._allowed:
            if scheduled[pair].clearance(self.world.pose(f"{self.figure}/{pair[0]}")) > -CONTACT_DEPTH:
                self.world.allow_contact(f"{self.figure}/{pair[0]}", pair[1])
                self._allowed.add(pair)


def _platform_contacts(reference: Reference) -> Iterator[_TimedContact]:
    for n, platform in enumerate(find_platforms(reference)):
        for stance in platform.stances:
            frames = np.zeros(len(reference), bool)
            frames[stance.start : stance.end] = True

            def clearance(pose: Pose, corners: Array = stance.corners, height: float = platform.height) -> float:
                return float((pose.position + corners @ pose.rotation.T)[:, 2].min()) - height

            yield _TimedContact(stance.link, f"{SURFACES}/{_platform_name(n)}", clearance, _dilate(frames, reference.dt))


def _pad_contacts(reference: Reference) -> Iterator[_TimedContact]:
    """Contacts with seat pads; not while the reference is below the pad, as a thigh is after standing up."""
    kinematics = BatchKinematics(reference.figure)
    for n, pad in enumerate(find_seat_pads(reference)):
        stance, frames = pad.stance, np.zeros(len(reference), bool)
        frames[stance.start : stance.end] = stance.corner_contact.any(axis=1)
        place = reference.figure.placements[stance.link]
        near = _dilate(frames, reference.dt)
        poses = kinematics.poses(reference.q[near])
        R = poses.R[place.body] @ place.rotation
        near[near] = pad.clearance(poses.x[place.body] + poses.R[place.body] @ place.position, R) > -CONTACT_DEPTH

        def clearance(pose: Pose, pad: SeatPad = pad) -> float:
            return float(pad.clearance(pose.position, pose.rotation))

        yield _TimedContact(stance.link, f"{SURFACES}/{_pad_name(n)}", clearance, frames | near)


def _dilate(frames: Array, dt: float) -> Array:
    """Flags extended by the contact window before and after."""
    return np.asarray(maximum_filter1d(frames, 2 * int(CONTACT_WINDOW / dt) + 1))
