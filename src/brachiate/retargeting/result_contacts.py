"""Contact labels of a retargeted motion: the contacts that were enforced, by the parts of the target figure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from brachiate.anatomy.contact_points import BALL, HEEL, TOE, find_contact_points
from brachiate.anatomy.landmarks import Landmarks
from brachiate.clip.joint_roles import SIDES
from brachiate.intervals import sustained_intervals
from brachiate.motion.contact_labels import ContactInterval, ContactLabels
from brachiate.motion.terrain import Terrain
from brachiate.retargeting.locked_feet import LockedFoot
from brachiate.validation import Array

MIN_STEP_HEIGHT = 0.02  # [m] of a foothold above the ground


def contact_labels(target: Landmarks, contacts: Mapping[str, Array], feet: Mapping[str, LockedFoot], times: Array) -> ContactLabels:
    """Contact labels over level ground at height 0.

    Args:
        target: Landmarks of the target figure.
        contacts: Contact flags of heels, toes, hands and grips, by role: (f,) each.
        feet: Locked feet, by side.
        times: (f,) [s].
    """
    points = find_contact_points(target.model)
    bodies = [int(points.body[points.part == k][0]) for k in range(len(points.parts))]
    labels: list[ContactInterval] = []
    for side in SIDES:
        heel, toe = (contacts[f"{side}_{end}"] for end in (HEEL, TOE))
        for part, body in zip(points.parts, bodies, strict=True):
            if body == target.bodies[f"{side}_foot"]:
                flags = heel if part.endswith(HEEL) else toe if part.endswith((TOE, BALL)) else heel | toe
            elif body == target.bodies.get(f"{side}_toe"):
                flags = toe
            else:
                continue
            labels += _by_height(part, flags, feet[side].ground, times)
        hand = target.points.get(f"{side}_hand")
        for part, body in zip(points.parts, bodies, strict=True):
            if hand is not None and body == hand.body:
                for role, kind in (("hand", "support"), ("grip", "grip")):
                    labels += _intervals(part, contacts[f"{side}_{role}"], times, kind, None)
    return ContactLabels(tuple(sorted(labels, key=lambda label: (label.start, label.part))), Terrain(0.0))


def _by_height(part: str, flags: Array, ground: Array, times: Array) -> Iterator[ContactInterval]:
    """Contact intervals of a part of a foot, split where the height of the ground under it (f,) [m] changes."""
    for level in np.unique(ground[flags]).tolist():
        yield from _intervals(part, flags & (ground == level), times, "support", level if level > MIN_STEP_HEIGHT else None)


def _intervals(part: str, flags: Array, times: Array, kind: str, height: float | None) -> Iterator[ContactInterval]:
    for start, end in sustained_intervals(times, flags):
        yield ContactInterval(part, float(times[start]), float(times[end]), kind, height)
