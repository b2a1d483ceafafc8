"""Unanchored ground contacts: parts that lie, roll or slide on the ground without a fixed foothold, as backs, arms and thighs do."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import numpy as np

from brachiate.anatomy.contact_points import ContactPoints, find_contact_points
from brachiate.filter.reference.reference import Reference
from brachiate.filter.schedule.arrays import MAX_UNANCHORED_POINTS
from brachiate.kinematics_batch import POSE_CHUNK, BatchKinematics
from brachiate.validation import Array

GROUND_MAX_HEIGHT = 0.08  # [m] a higher surface is not the ground
CONTACT_BAND = 0.03  # [m] points of a part this close above its lowest point are in contact, too
LONG_FLIGHT = 0.3  # [s]
HULL_DIRECTIONS = np.array([(np.cos(t), np.sin(t), 0.0) for t in 2.0 * np.pi * np.arange(MAX_UNANCHORED_POINTS) / MAX_UNANCHORED_POINTS])


def links_without_foothold(reference: Reference) -> set[str]:
    """Links with one contact point that are in a stance for less than half of their time on the ground: they move along it."""
    points, links = find_contact_points(reference.figure), set()
    on_ground = _ground_contacts(reference, points)
    single = (stance.link for stance in reference.stances if stance.kind == "support" and len(stance.corners) == 1)
    for link in dict.fromkeys(single):
        in_contact = on_ground[:, [name == link for name in points.links]].any(axis=1)
        if 2 * np.count_nonzero(in_contact & reference.in_stance[link]) < np.count_nonzero(in_contact):
            links.add(link)
    return links


def _ground_contacts(reference: Reference, points: ContactPoints) -> Array:
    """Parts in contact with the ground, by the labels: (f, parts)."""
    times, ground = reference.times, reference.terrain.height or 0.0
    flags = np.zeros((len(reference), len(points.parts)), bool)
    for label in reference.contacts.contacts:
        if label.kind == "support" and (label.height is None or label.height - ground < GROUND_MAX_HEIGHT):
            flags[:, points.parts.index(label.part)] |= (times >= label.start - 1e-9) & (times <= label.end + 1e-9)
    return flags


def find_unanchored_points(
    reference: Reference, contact_links: Collection[str], out: tuple[Array, Array] | None = None
) -> tuple[Array, Array]:  # fmt: skip
    """Outermost ground contacts of parts that are not contact links: (f, 8, 3) [m], and their number: (f,).

    ``out``: arrays of zeros to write them to, by default new ones.
    """
    points, f = find_contact_points(reference.figure), len(reference)
    on_ground = _ground_contacts(reference, points) & [link not in contact_links for link in points.links]
    unanchored, count = out or (np.zeros((f, MAX_UNANCHORED_POINTS, 3)), np.zeros(f, np.int64))
    touching = np.asarray(on_ground.any(axis=1))
    for start in range(0, f, POSE_CHUNK):
        block = slice(start, start + POSE_CHUNK)
        frames = start + np.flatnonzero(touching[block])
        if len(frames):
            q = reference.states(block).q[touching[block]]
            for k, outermost in zip(frames, _outermost_points(reference, points, on_ground[frames], q), strict=True):
                unanchored[k, : len(outermost)], count[k] = outermost, len(outermost)
    return unanchored, count


def _outermost_points(reference: Reference, points: ContactPoints, on_ground: Array, q: Array) -> Iterator[Array]:
    """Outermost ground contacts of each of some frames: (n, 3) [m]; ``on_ground``: of the parts (f, parts)."""
    poses = BatchKinematics(reference.figure).poses(q)
    tracks = np.stack([poses.point(int(body), at) for body, at in zip(points.body, points.position, strict=True)], axis=1)
    tracks[..., 2] -= points.radius
    for flags, positions in zip(on_ground, tracks, strict=True):
        in_contact = np.zeros(len(positions), bool)
        for part in np.flatnonzero(flags):
            of_part = points.part == part
            in_contact |= of_part & (positions[:, 2] < positions[of_part, 2].min() + CONTACT_BAND)
        outermost = positions[in_contact][np.unique((positions[in_contact] @ HULL_DIRECTIONS.T).argmax(axis=0))]
        outermost[:, 2] -= reference.terrain.clearance(outermost)
        yield outermost


def describe_infeasible_contacts(reference: Reference, contact_links: Collection[str], frame: int) -> list[str]:
    """Contacts of the reference in a frame that no filter can track, as texts: sliding parts, and long flights."""
    found, points, first = [], find_contact_points(reference.figure), reference.times[0]
    on_ground = _ground_contacts(reference, points)[frame]
    sliding = dict.fromkeys(link for link, flag in zip(points.links, on_ground, strict=True) if flag and link not in contact_links)
    if sliding:
        found.append(f"{', '.join(sliding)} should be on the ground without a fixed foothold")
    for start, end in reference.flights():
        if start <= reference.times[frame] <= end and end - start > LONG_FLIGHT:
            found.append(f"by its contacts the reference is in flight from {start - first:.2f} to {end - first:.2f} s")
    return found
