"""Lying: what of a reference is on the ground without a place of its own, as backs, arms and thighs are; and what cannot be done of it."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from brachiate.anatomy.contact_points import Spots, spots_of
from brachiate.filter.reference.reference import Reference
from brachiate.filter.schedule.arrays import LYING
from brachiate.kinematics_batch import Many
from brachiate.validation import Array

KERB = 0.08  # [m] what is higher is not the ground
NEAR = 0.03  # [m] above the lowest point of a part what is lower bears, too
HOVERS = 0.3  # [s] of a flight that is worth a word
WAYS = np.array([(np.cos(t), np.sin(t), 0.0) for t in 2.0 * np.pi * np.arange(LYING) / LYING])


def wandering(reference: Reference) -> set[str]:
    """Links that have a place of their own for less than half of the time they are on the ground, and then by one point: they wander."""
    spots, found = spots_of(reference.figure), set()
    on = _on_ground(reference, spots)
    for link in dict.fromkeys(stance.link for stance in reference.stances if stance.how == "stands" and len(stance.corners) == 1):
        touches = on[:, [name == link for name in spots.links]].any(axis=1)
        if 2 * np.count_nonzero(touches & reference.on[link]) < np.count_nonzero(touches):
            found.add(link)
    return found


def _on_ground(reference: Reference, spots: Spots) -> Array:
    """Which parts are on the ground by the labels: (f, parts)."""
    times, floor = reference.times, reference.ground.height or 0.0
    on = np.zeros((len(reference), len(spots.parts)), bool)
    for label in reference.labels.contacts:
        if label.how == "stands" and (label.height is None or label.height - floor < KERB):
            on[:, spots.parts.index(label.part)] |= (times >= label.start - 1e-9) & (times <= label.end + 1e-9)
    return on


def lying(reference: Reference, soles: Collection[str]) -> tuple[Array, Array]:
    """Outermost points of parts that are on the ground and are no soles: (f, 8, 3) [m], and how many: (f,)."""
    spots, ground = spots_of(reference.figure), reference.ground
    on = _on_ground(reference, spots) & [link not in soles for link in spots.links]
    lies, count = np.zeros((len(reference), LYING, 3)), np.zeros(len(reference), np.int64)
    frames = np.flatnonzero(on.any(axis=1))
    if not len(frames):
        return lies, count
    poses = Many(reference.figure).poses(reference.q[frames])
    points = np.stack([poses.point(int(body), at) for body, at in zip(spots.body, spots.at, strict=True)], axis=1)
    points[..., 2] -= spots.radius
    for k, places in zip(frames, points, strict=True):
        bears = np.zeros(len(places), bool)
        for part in np.flatnonzero(on[k]):
            mine = spots.part == part
            bears |= mine & (places[:, 2] < places[mine, 2].min() + NEAR)
        outer = places[bears][np.unique((places[bears] @ WAYS.T).argmax(axis=0))]
        outer[:, 2] -= ground.above(outer)
        lies[k, : len(outer)], count[k] = outer, len(outer)
    return lies, count


def circumstances(reference: Reference, soles: Collection[str], k: int) -> list[str]:
    """What of frame k no filter could do, in words: sliding along, and hovering."""
    found, spots, first = [], spots_of(reference.figure), reference.times[0]
    on = _on_ground(reference, spots)[k]
    loose = dict.fromkeys(link for link, touches in zip(spots.links, on, strict=True) if touches and link not in soles)
    if loose:
        found.append(f"{', '.join(loose)} should be on the ground then without staying in one place")
    for start, end in reference.flights():
        if start <= reference.times[k] <= end and end - start > HOVERS:
            found.append(f"nothing should touch from {start - first:.2f} to {end - first:.2f} s, by the contacts")
    return found
