"""Contact inference: contacts of a motion from its kinematics and dynamics.

First possible heights of the floor are estimated from stationary feet. The sequence of contacts of the feet, with the ground and with
steps, that explains the motion best as a whole decides between them (:mod:`.ground_contacts`). Where it explains the motion badly, other
stationary parts are tried together with the feet: hands at a bar overhead, the seat, hands (:mod:`.other_supports`).
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
from brachiate.contact_estimation.other_supports import Supports, find_other_supports
from brachiate.motion.contact_labels import ContactInterval, ContactLabels


def infer_contacts(dynamics: MotionDynamics, supports: str = "auto") -> tuple[ContactLabels, tuple[Assumption, ...]]:
    """Infer contact labels and the assumptions made; estimates the contact forces of ``dynamics`` for them.

    ``supports``: ``"find"`` supports other than the ground, too (steps, seats, bars), ``"ground"``: only contacts with the ground;
    ``"auto"``: find them if the height of the ground is unknown.
    """
    find = supports == "find" or (supports == "auto" and dynamics.terrain.height is None)
    assumptions: list[Assumption] = []
    if dynamics.terrain.height is None:
        belt = estimate_treadmill(dynamics)
        if belt != (0.0, 0.0):
            dynamics.set_terrain(replace(dynamics.terrain, belt=belt))
            why = "the lowest foot moves at this velocity while the body stays in place"
            assumptions.append(Assumption("treadmill", f"{np.hypot(*belt):.2f} m/s", why, "terrain"))
        floor = estimate_floor(dynamics)
        ground = find_ground_contacts(dynamics, replace(dynamics.terrain, height=floor.levels[0]), floor.levels, floor.contact_height, find)
        dynamics.set_terrain(ground.terrain)
        assumptions.append(Assumption("floor", f"{ground.terrain.height or 0.0:+.3f} m", floor.reason, "terrain"))
    else:
        ground = find_ground_contacts(dynamics, dynamics.terrain, (), CONTACT_HEIGHT, find)
    found = find_other_supports(dynamics, ground) if find else Supports(ground, ())
    contacts = found.ground.intervals(dynamics)
    uncertain = tuple(found.ground.uncertain(dynamics.times))
    if uncertain:
        why = "with and without this contact the motion is explained about as well"
        assumptions.append(Assumption("uncertain contacts", f"{'; '.join(uncertain)} s", why, "contacts"))
    labels = ContactLabels(tuple(sorted((*contacts, *found.others), key=lambda c: (c.start, c.part))), ground.terrain)
    estimate_forces_of_labels(dynamics, labels)
    assumptions += _assumptions(dynamics, [label for label in labels.contacts if label.kind == "grip" or label.height is not None])
    return labels, tuple(assumptions)


def _assumptions(dynamics: MotionDynamics, found: Sequence[ContactInterval]) -> Iterator[Assumption]:
    """Assumptions about other supports, one a part."""
    for part, kind in dict.fromkeys((label.part, label.kind) for label in found):
        intervals = sorted((label for label in found if (label.part, label.kind) == (part, kind)), key=lambda label: label.start)
        levels = sorted({f"{label.height:.2f} m" for label in intervals if label.height is not None})
        times = ", ".join(f"{label.start:.2f}-{label.end:.2f}" for label in intervals[:4]) + (", ..." if len(intervals) > 4 else "")
        share = f"{_share_of_weight(dynamics, intervals):.0%} of the weight"
        why = f"the ground cannot carry the motion; this part is stationary, and carries {share}"
        yield Assumption(part, f"{kind}{' at ' if levels else ''}{', '.join(levels[:3])} ({times} s)", why, "contacts")


def _share_of_weight(dynamics: MotionDynamics, intervals: Sequence[ContactInterval]) -> float:
    """Mean contact force of a part in some intervals, as a share of the weight."""
    points = np.flatnonzero(dynamics.contact_points.part == dynamics.contact_points.parts.index(intervals[0].part))
    spans = [slice(*np.searchsorted(dynamics.times, (label.start - 1e-9, label.end + 1e-9)).tolist()) for label in intervals]
    forces = np.concatenate([dynamics.contacts(span)[2][:, points].sum(axis=1) for span in spans])
    return float(np.linalg.norm(forces, axis=1).mean()) / dynamics.weight
