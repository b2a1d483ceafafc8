"""Seat contacts: sitting on a surface by several points of pelvis and thighs.

The points of a sitting body are nearly at rest in one posture. The shape of the seat is unknown, and flesh is compliant where the shapes of
a figure are rigid. So each point gets a pad of its own, tangent to the shape there: level under a pelvis, inclined under thighs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from brachiate.anatomy.contact_points import ContactPoints
from brachiate.anatomy.landmarks import BodyPoint
from brachiate.contact_estimation.parts import SEAT_WORDS
from brachiate.filter.reference.fixed_contacts import FIXED_CONTACT_MIN_DURATION, ContactSphere, FixedContact, SeatContact
from brachiate.filter.reference.posture_ik import PointTarget
from brachiate.foot_locking.contact_tracks import ContactTracks
from brachiate.foot_locking.foot_track import rest_weights
from brachiate.intervals import drop_short_intervals, fill_short_gaps, true_intervals
from brachiate.kinematics_batch import Poses
from brachiate.model.model import Model
from brachiate.model.shapes import Capsule
from brachiate.motion.contact_labels import ContactInterval
from brachiate.validation import Array

GROUND_MAX_HEIGHT = 0.08  # [m] a lower surface is the ground
SEAT_MAX_HEIGHT_ERROR = 0.03  # [m] of a point in contact, above or below its rest position
CONTACT_MAX_DISTANCE = 0.01  # [m] of a point in contact from its surface
SETTLED_VERTICAL_SPEED = 0.15  # [m/s] a faster point is sitting down or rising
SEAT_MAX_DEVIATION = 0.06  # [m] of a point in contact, horizontally from its rest position
SEAT_MARGIN = 0.1  # [m] by which a seat extends beyond the contacts: people slide along it as they sit down and rise
UPRIGHT_COSINE = 0.87  # of the angle from vertical below which a capsule is in contact by its end, not by its side
SAME_POINT = 1e-3  # [m]
UP = np.array((0.0, 0.0, 1.0))


def is_seat_part(part: str, link: str) -> bool:
    """Whether people sit on this part of the body."""
    return any(word in f"{part} {link}".lower() for word in SEAT_WORDS)


def group_overlapping(labels: Sequence[ContactInterval]) -> Iterator[list[ContactInterval]]:
    """Groups of labels that overlap in time: those of one seat."""
    group: list[ContactInterval] = []
    for label in sorted(labels, key=lambda label: label.start):
        if group and label.start > max(each.end for each in group):
            yield group
            group = []
        group.append(label)
    if group:
        yield group


def find_seat_contacts(model: Model, group: Sequence[ContactInterval], tracks: ContactTracks) -> list[FixedContact]:
    """Contacts of the parts of a sitting body with one seat.

    Hips are kept in place: the pelvis tilts about them, and the thighs swing.
    """
    points, poses, times = tracks.points, tracks.poses, tracks.times
    span = slice(*tracks.frames(min(label.start for label in group), max(label.end for label in group)))
    indices = {label.part: tracks.indices(label.part) for label in group}
    bodies = {part: int(points.body[each[0]]) for part, each in indices.items()}
    point_tracks = np.concatenate([_point_tracks(points, each, poses, span) for each in indices.values()])
    rest = span.start + _rest_frame(point_tracks, times[span])
    lowest = float((point_tracks[:, rest - span.start, 2] - points.radius[np.concatenate(list(indices.values()))]).min())
    height = min(tracks.surface_height(label) for label in group)
    lift, contacts, occupied = (height - lowest) * UP, [], np.zeros(len(times), bool)
    parents = {ancestor for body in bodies.values() for ancestor in _ancestors(model, body)}
    for label in group:
        first, last = tracks.frames(label.start, label.end)
        mine, body = indices[label.part], bodies[label.part]
        R, x = poses.R[body][rest], poses.x[body][rest] + lift
        spheres = find_contact_spheres(model, points, mine, R, height < GROUND_MAX_HEIGHT)
        hips = [sphere for sphere in spheres if _is_contact_point(points, mine, sphere)]
        if height < GROUND_MAX_HEIGHT:  # spheres above the ground have no support
            spheres = [sphere for sphere in spheres if (x + R @ sphere.center)[2] - sphere.radius < SEAT_MAX_HEIGHT_ERROR]
        elif any(ancestor in bodies.values() for ancestor in _ancestors(model, body)):  # its parent is in contact at the joint
            spheres = [sphere for sphere in spheres if not _is_contact_point(points, mine, sphere)] or spheres
        if not spheres:
            continue
        targets = []
        for hip in hips if body not in parents else []:
            track, position, active = poses.point(body, hip.center), x + R @ hip.center, np.zeros(len(times), bool)
            active[first:last] = _near_position(track[first:last], position, times[first:last])
            targets.append(PointTarget(BodyPoint(body, hip.center), active, position))
            occupied |= active
        corners = np.array([sphere.center - sphere.radius * R.T @ sphere.normal for sphere in spheres])
        in_contact = np.zeros((len(times), len(spheres)), bool)
        seat = SeatContact(rest, occupied, tuple(spheres), height < GROUND_MAX_HEIGHT)
        contacts.append(FixedContact(label, tracks.link(label.part), body, first, last, corners, in_contact, R, x, tuple(targets), seat))
    return contacts if occupied.any() else []


def refit_seat_contact(contact: FixedContact, seat: SeatContact, poses: Poses, times: Array) -> FixedContact:
    """Seat contact after the IK: the seat is where the body is at rest, and corners near it are in contact."""
    R, x = poses.R[contact.body][seat.rest_frame], poses.x[contact.body][seat.rest_frame]
    in_contact, span = np.zeros_like(contact.corner_contact), slice(contact.start, contact.end)
    for k, sphere in enumerate(seat.spheres):
        center = poses.point(contact.body, sphere.center)[span]
        offset = center - x - R @ sphere.center
        height = center[:, 2] - sphere.radius if seat.on_ground else offset @ sphere.normal
        near = (np.abs(height) < CONTACT_MAX_DISTANCE) & (np.linalg.norm(offset, axis=1) < SEAT_MARGIN)
        in_contact[span, k] = _sustained(near & seat.occupied[span], times[span])
    return contact._replace(R=R, x=x, corner_contact=in_contact)


def _near_position(track: Array, position: Array, times: Array) -> Array:
    """Frames in which a point (f, 3) is near a position, without moving frames at the ends: (f,)."""
    offset = track - position
    near = (np.abs(offset[:, 2]) < SEAT_MAX_HEIGHT_ERROR) & (np.linalg.norm(offset[:, :2], axis=1) < SEAT_MAX_DEVIATION)
    near = _sustained(near, times)
    moves = np.abs(np.gradient(track[:, 2], times)) > SETTLED_VERTICAL_SPEED if len(times) > 1 else np.zeros(len(times), bool)
    for start, end in true_intervals(near):
        settled = start + np.flatnonzero(~moves[start:end])
        near[start : settled[0] if len(settled) else end] = False
        near[settled[-1] + 1 if len(settled) else start : end] = False
    return near


def _sustained(flags: Array, times: Array) -> Array:
    """Flags without short gaps, and then without short intervals."""
    return drop_short_intervals(fill_short_gaps(flags, times, FIXED_CONTACT_MIN_DURATION), times, FIXED_CONTACT_MIN_DURATION)


def _ancestors(model: Model, body: int) -> Iterator[int]:
    """Ancestors of a body in the kinematic tree."""
    while (body := int(model.tree.parent[body])) >= 0:
        yield body


def _is_contact_point(points: ContactPoints, indices: Array, sphere: ContactSphere) -> bool:
    return bool((np.linalg.norm(points.position[indices] - sphere.center, axis=1) < SAME_POINT).any())


def _point_tracks(points: ContactPoints, indices: Array, poses: Poses, span: slice) -> Array:
    """Positions of contact points over time: (s, f, 3) [m]."""
    return np.stack([poses.x[points.body[k]][span] + poses.R[points.body[k]][span] @ points.position[k] for k in indices])


def _rest_frame(tracks: Array, times: Array) -> int:
    """Frame in which points (s, f, 3) are nearest to their mean positions at rest."""
    speed = np.linalg.norm(np.gradient(tracks, times, axis=1), axis=2).mean(axis=0)
    weight = rest_weights(speed)
    mean = np.einsum("f,sfi->si", weight / weight.sum(), tracks)
    return int(np.argmin(np.square(tracks - mean[:, None]).sum(axis=(0, 2))))


def find_contact_spheres(model: Model, points: ContactPoints, indices: Array, R: Array, level: bool) -> list[ContactSphere]:
    """Contact spheres of a part for an orientation R of its body; ``level``: on level ground, else on a surface tangent to the part.

    A capsule that is not upright is in contact along its side: at its ends, or at its middle where the next limb begins.
    """
    link = points.links[int(points.part[indices[0]])]
    place = model.placements[link]
    lowest = indices[int(np.argmin((points.position[indices] @ R.T)[:, 2] - points.radius[indices]))]
    for shape in model.links[link].shapes:
        if not isinstance(shape, Capsule) or not shape.collides:
            continue
        middle, half = (place.position + place.rotation @ shape.position), 0.5 * shape.length * (place.rotation @ shape.rotation[:, 2])
        ends = [middle - half, middle + half]
        axis = R @ half / np.linalg.norm(half)
        if min(np.linalg.norm(end - points.position[lowest]) for end in ends) > SAME_POINT or abs(axis[2]) > UPRIGHT_COSINE:
            continue
        is_own = [bool((np.linalg.norm(points.position[indices] - end, axis=1) < SAME_POINT).any()) for end in ends]
        centers = [end if own else middle for end, own in zip(ends, is_own, strict=True)]
        normal = UP if level else (UP - axis[2] * axis) / np.linalg.norm(UP - axis[2] * axis)
        return [ContactSphere(center, shape.radius, normal) for center in centers]
    heights = (points.position[indices] @ R.T)[:, 2] - points.radius[indices]
    low = indices[heights < heights.min() + SEAT_MAX_HEIGHT_ERROR][:4]
    return [ContactSphere(points.position[k], float(points.radius[k]), UP) for k in low]
