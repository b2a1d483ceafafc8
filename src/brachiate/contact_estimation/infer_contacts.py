"""Contact inference: contacts of a motion from its kinematics and dynamics.

First possible heights of the floor are estimated from stationary feet. The sequence of ground contacts that explains the motion best as a
whole decides between them (:mod:`.ground_contacts`). Where these cannot provide the required ground reaction force (large root residual),
other supports are searched among stationary parts: hands at a bar overhead, feet on a step, the seat, hands.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from brachiate.assumptions import Assumption
from brachiate.contact_estimation.contact_confidence import estimate_forces_of_labels
from brachiate.contact_estimation.floor import CONTACT_HEIGHT, estimate_floor, estimate_treadmill
from brachiate.contact_estimation.ground_contacts import find_ground_contacts
from brachiate.contact_estimation.motion_dynamics import MotionDynamics
from brachiate.contact_estimation.other_supports import find_other_supports
from brachiate.motion.contact_labels import ContactInterval, ContactLabels


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
        ground = find_ground_contacts(dynamics, replace(dynamics.terrain, height=floor.levels[0]), floor.levels, floor.contact_height)
        terrain, contact_height = replace(dynamics.terrain, height=ground.height), floor.contact_height
        dynamics.set_terrain(terrain)
        assumptions.append(Assumption("floor", f"{ground.height:+.3f} m", floor.reason, "terrain"))
    else:
        ground = find_ground_contacts(dynamics, terrain, (), contact_height)
    contacts = list(ground.contacts)
    if ground.uncertain:
        why = "with and without this contact the motion is explained about as well"
        assumptions.append(Assumption("uncertain contacts", f"{'; '.join(ground.uncertain)} s", why, "contacts"))
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
