"""Fixed contacts of hands, forearms and knees, each by one point, and of seats: see :mod:`brachiate.filter.reference.seat_contacts`.

A gripping hand that moves, as on a rope, is held by a fixed pivot point beyond the hand: see :mod:`brachiate.contact_estimation.pivot`.
"""

from __future__ import annotations

import numpy as np

from brachiate.anatomy.landmarks import BodyPoint
from brachiate.assumptions import Assumption
from brachiate.contact_estimation.parts import HAND_WORDS
from brachiate.contact_estimation.pivot import fit_pivot
from brachiate.filter.reference.fixed_contacts import FIXED_CONTACT_MIN_DURATION, FixedContact
from brachiate.filter.reference.posture_ik import PointTarget
from brachiate.filter.reference.seat_contacts import find_seat_contacts, group_overlapping, is_seat_part
from brachiate.foot_locking.contact_tracks import ContactTracks
from brachiate.foot_locking.foot_track import rest_weights
from brachiate.model.model import Model
from brachiate.motion.contact_labels import ContactInterval, ContactLabels

LIMB_WORDS = (*HAND_WORDS, "forearm", "elbow", "shank", "shin", "knee")  # in names; trunk and head have no fixed contact
MAX_DEVIATION = {"support": 0.06, "grip": 0.12}  # [m] from its mean position; a point that moves farther is not fixed


def find_fixed_contacts(
    model: Model, labels: ContactLabels, foot_bodies: set[int], tracks: ContactTracks
) -> tuple[list[FixedContact], list[Assumption]]:
    """Labeled contacts at fixed positions, except those of feet; and an assumption about the labels that are not fixed."""
    points = tracks.points
    fixed, moving, seated = [], [], []
    for label in labels.contacts:
        link, indices = tracks.link(label.part), tracks.indices(label.part)
        if int(points.body[indices[0]]) in foot_bodies:
            continue
        if label.kind == "support" and is_seat_part(label.part, link):
            seated.append(label)
            continue
        is_limb = any(word in f"{label.part} {link}".lower() for word in LIMB_WORDS)
        contact = _fit_fixed_contact(label, tracks) if is_limb else None
        if contact is None:
            moving.append(label)
        else:
            fixed.append(contact)
    for group in group_overlapping(seated):
        seats = find_seat_contacts(model, group, tracks)
        fixed += seats
        moving += [label for label in group if label not in [seat.label for seat in seats]]
    parts = dict.fromkeys(label.part for label in moving)
    reason = "contacts too short or not at a fixed position: kept as contact labels only"
    return fixed, [Assumption("no stance", ", ".join(parts), reason, "contacts")] if parts else []


def _fit_fixed_contact(label: ContactInterval, tracks: ContactTracks) -> FixedContact | None:
    """Fixed position of the contact point of a part, at its weighted mean; None if it moves or is too short."""
    points, poses, times, indices = tracks.points, tracks.poses, tracks.times, tracks.indices(label.part)
    start, end = tracks.frames(label.start, label.end)
    if end - start <= 2:
        return None
    frames, body = slice(start, end), int(points.body[indices[0]])
    indices = indices[points.body[indices] == body]
    R = poses.R[body][frames]
    if label.kind == "grip":
        point, radius = points.position[indices].mean(axis=0), 0.0
    else:
        heights = np.array([(poses.x[body][frames] + R @ points.position[k])[:, 2].mean() - points.radius[k] for k in indices])
        lowest = indices[int(np.argmin(heights))]
        point, radius = points.position[lowest], points.radius[lowest]
    track = poses.x[body][frames] + R @ point
    weight = rest_weights(np.linalg.norm(np.gradient(track, times[frames], axis=0), axis=1))
    position = (weight[:, None] * track).sum(axis=0) / weight.sum()
    deviation = track - position
    if label.kind == "support":
        deviation = deviation[:, :2]
        position[2] = tracks.surface_height(label) + radius
    moves = np.linalg.norm(deviation, axis=1).max() > MAX_DEVIATION[label.kind]
    if moves and label.kind == "grip" and (pivot := fit_pivot(poses.x[body][frames], R, point)) is not None:
        point, position, moves = pivot.point, pivot.position, pivot.distance.max() > MAX_DEVIATION["grip"]
    if times[end - 1] - times[start] < FIXED_CONTACT_MIN_DURATION or moves:
        return None
    in_contact = np.zeros((len(times), 1), bool)
    in_contact[frames] = True
    R_rest = R[int(np.argmax(weight))]
    # The lowest point of a sphere changes as it rolls: the one of the frame closest to rest is fixed
    corner, position = point - radius * R_rest[2], position - (0.0, 0.0, radius)
    target = PointTarget(BodyPoint(body, corner), in_contact[:, 0], position)
    link = tracks.link(label.part)
    return FixedContact(label, link, body, start, end, corner[None], in_contact, R_rest, position - R_rest @ corner, (target,))
