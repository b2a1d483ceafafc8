"""Contact inference: contacts of a motion from its kinematics and dynamics.

First the floor is estimated from stationary feet. Then ground contacts of all parts are detected by height and speed with hysteresis.
Where these cannot provide the required ground reaction force (large root residual), other supports are searched among stationary parts:
hands at a bar overhead, feet on a step, the seat, hands, other parts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from brachiate.assumptions import Assumption
from brachiate.contact_estimation.contact_confidence import estimate_forces_of_labels
from brachiate.contact_estimation.contact_detector import ContactThresholds, detect_contact
from brachiate.contact_estimation.floor import CONTACT_HEIGHT, estimate_floor, estimate_treadmill
from brachiate.contact_estimation.motion_dynamics import MotionDynamics
from brachiate.contact_estimation.other_supports import find_other_supports
from brachiate.contact_estimation.parts import FOOT_WORDS, part_motion, parts_matching
from brachiate.intervals import sustained_intervals
from brachiate.motion.contact_labels import ContactInterval, ContactLabels
from brachiate.motion.terrain import Terrain

HEIGHT_HYSTERESIS = 0.025  # [m] contact ends above height threshold + this
SPEED_ON, SPEED_OFF = 0.6, 1.0  # [m/s] tangential speed below which a contact begins, above which it ends
MAX_NORMAL_SPEED = 0.5  # [m/s] normal speed above which there is no contact


def infer_contacts(dynamics: MotionDynamics, supports: bool | None = None) -> tuple[ContactLabels, tuple[Assumption, ...]]:
    """Infer contact labels and the assumptions made; estimates the contact forces of ``dynamics`` for them.

    ``supports``: whether to search for supports other than the ground (steps, seats, bars). Default: if the ground height is unknown.
    """
    if supports is None:
        supports = dynamics.terrain.height is None
    assumptions: list[Assumption] = []
    terrain, contact_height = dynamics.terrain, CONTACT_HEIGHT
    if terrain.height is None:
        belt = estimate_treadmill(dynamics)
        if belt != (0.0, 0.0):
            dynamics.set_terrain(replace(terrain, belt=belt))
            why = "the lowest foot moves at this velocity while the body stays in place"
            assumptions.append(Assumption("treadmill", f"{np.hypot(*belt):.2f} m/s", why, "terrain"))
        floor = estimate_floor(dynamics)
        terrain, contact_height = replace(dynamics.terrain, height=floor.height), floor.contact_height
        dynamics.set_terrain(terrain)
        assumptions.append(Assumption("floor", f"{floor.height:+.3f} m", floor.reason, "terrain"))
    contacts = list(detect_ground_contacts(dynamics, terrain, contact_height))
    others = find_other_supports(dynamics, terrain, contacts, contact_height) if supports else []
    if not supports:
        estimate_forces_of_labels(dynamics, ContactLabels(tuple(contacts), terrain))
    assumptions += _assumptions(others)
    return ContactLabels(tuple(sorted((*contacts, *others), key=lambda c: (c.start, c.part))), terrain), tuple(assumptions)


def _assumptions(found: Sequence[ContactInterval]) -> Iterator[Assumption]:
    """Assumptions about other supports, one a part."""
    for part, kind in dict.fromkeys((label.part, label.kind) for label in found):
        intervals = sorted((label for label in found if (label.part, label.kind) == (part, kind)), key=lambda label: label.start)
        levels = sorted({f"{label.height:.2f} m" for label in intervals if label.height is not None})
        times = ", ".join(f"{label.start:.2f}-{label.end:.2f}" for label in intervals[:4]) + (", ..." if len(intervals) > 4 else "")
        why = "ground contacts cannot provide the required force, and this part is stationary"
        yield Assumption(part, f"{kind}{' at ' if levels else ''}{', '.join(levels[:3])} ({times} s)", why, "contacts")


def detect_ground_contacts(dynamics: MotionDynamics, terrain: Terrain, contact_height: float = CONTACT_HEIGHT) -> Iterator[ContactInterval]:
    """Ground contacts of all parts by height and speed with hysteresis; ``contact_height``: height threshold of feet [m]."""
    feet = parts_matching(dynamics, FOOT_WORDS)
    for p, name in enumerate(dynamics.contact_points.parts):
        height, tangential_speed, normal_speed = part_motion(dynamics, terrain, p)
        height_on = contact_height if p in feet else CONTACT_HEIGHT  # shanks are near the ground wherever feet are
        thresholds = ContactThresholds(height_on, height_on + HEIGHT_HYSTERESIS, SPEED_ON, SPEED_OFF, MAX_NORMAL_SPEED)
        contact = detect_contact(height, tangential_speed, thresholds, normal_speed)
        for start, end in sustained_intervals(dynamics.times, contact):
            yield ContactInterval(name, float(dynamics.times[start]), float(dynamics.times[end]))
