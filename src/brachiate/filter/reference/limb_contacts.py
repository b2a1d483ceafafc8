"""What stays in its place beside feet: hands that hold or lean, and knees, each by one point; and what sits, by an area.

A hand that wanders though it holds, as on a rope, does so by a point beyond it that stays: see :mod:`brachiate.contact_estimation.pivot`.
"""

from __future__ import annotations

import numpy as np

from brachiate.anatomy.contact_points import Spots
from brachiate.anatomy.landmarks import Point
from brachiate.assumptions import Guess
from brachiate.contact_estimation.parts import HANDS
from brachiate.contact_estimation.pivot import pivot_of
from brachiate.filter.reference.fixed_contacts import SHORTEST, STILL, Stay
from brachiate.filter.reference.posture_ik import Pin
from brachiate.filter.reference.seat_contacts import grouped, is_seat, seat_of
from brachiate.kinematics_batch import Poses
from brachiate.model.model import Model
from brachiate.motion.contact_labels import Label, Labels
from brachiate.validation import Array

LIMBS = (*HANDS, "forearm", "elbow", "shank", "shin", "knee")  # trunk and head lie rather than stand
STRAYS = {"stands": 0.06, "holds": 0.12}  # [m] what wanders farther from its place does not stay


def stays_of(model: Model, labels: Labels, spots: Spots, feet: set[int], poses: Poses, times: Array) -> tuple[list[Stay], list[Guess]]:
    """What of the labels stays in its place, beside the bodies of feet; and what does not. In poses their ground is at z = 0."""
    floor = labels.ground.height or 0.0
    stays, wander, sits = [], [], []
    for label in labels.contacts:
        part = spots.parts.index(label.part)
        mine = np.flatnonzero(spots.part == part)
        if int(spots.body[mine[0]]) in feet:
            continue
        if label.how == "stands" and is_seat(label.part, spots.links[part]):
            sits.append(label)
            continue
        limb = any(word in f"{label.part} {spots.links[part]}".lower() for word in LIMBS)
        start, end = (int(k) for k in np.searchsorted(times, (label.start - 1e-9, label.end + 1e-9)))
        stay = _stay(label, spots.links[part], spots, mine, poses, times, (start, end), floor) if limb and end - start > 2 else None
        if stay is None:
            wander.append(label)
        else:
            stays.append(stay)
    for group in grouped(sits):
        seat = seat_of(model, group, spots, poses, times, floor)
        stays += seat
        wander += [label for label in group if label not in [stay.label for stay in seat]]
    parts = dict.fromkeys(label.part for label in wander)
    why = "they touch for too short a time, or wander: kept as labels, with no place of their own"
    return stays, [Guess("no stance", ", ".join(parts), why, "contacts")] if parts else []


def _stay(
    label: Label, link: str, spots: Spots, mine: Array, poses: Poses, times: Array, span: tuple[int, int], floor: float
) -> Stay | None:
    start, end = span
    frames, body = slice(start, end), int(spots.body[mine[0]])
    mine = mine[spots.body[mine] == body]
    R = poses.R[body][frames]
    level = (label.height - floor) if label.height is not None else 0.0
    if label.how == "holds":
        at, up = spots.at[mine].mean(axis=0), 0.0
    else:
        heights = np.array([(poses.x[body][frames] + R @ spots.at[k])[:, 2].mean() - spots.radius[k] for k in mine])
        k = mine[int(np.argmin(heights))]
        at, up = spots.at[k], spots.radius[k]
    path = poses.x[body][frames] + R @ at
    weight = 1.0 / (STILL + np.linalg.norm(np.gradient(path, times[frames], axis=0), axis=1)) ** 2
    place = (weight[:, None] * path).sum(axis=0) / weight.sum()
    away = path - place
    if label.how == "stands":
        away = away[:, :2]
        place[2] = level + up
    strays = np.linalg.norm(away, axis=1).max() > STRAYS[label.how]
    if strays and label.how == "holds" and (pivot := pivot_of(poses.x[body][frames], R, at)) is not None:
        at, place, strays = pivot.at, pivot.place, pivot.away.max() > STRAYS["holds"]
    if times[end - 1] - times[start] < SHORTEST or strays:
        return None
    bears = np.zeros((len(times), 1), bool)
    bears[frames] = True
    middle = R[int(np.argmax(weight))]
    # A ball bears by its lowest point, which is another one as it rolls: the one of when it is most at rest stays
    corner, place = at - up * middle[2], place - (0.0, 0.0, up)
    pin = Pin(Point(body, corner), bears[:, 0], place)
    return Stay(label, link, body, start, end, corner[None], bears, middle, place - middle @ corner, (pin,))
