"""Self-collisions to ignore: links whose shapes overlap, or nearly, in the reference itself."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from brachiate import kinematics
from brachiate.anatomy.figure_height import figure_height
from brachiate.assumptions import Assumption
from brachiate.centroidal.settings import REFERENCE_HEIGHT
from brachiate.contact.collision.narrow_phase import find_contacts
from brachiate.validation import Array
from brachiate.world.world import World

SAMPLE_STEP = 0.01  # [s] in which swing feet move by about 3 cm
CLEARANCE = 0.01  # [m] for a height of 1.7 m: accuracy of the shapes
MAX_LISTED = 6


def ignore_self_collisions(world: World, figure: str, frames: Array, dt: float) -> list[Assumption]:
    """Ignore contact between links of a figure that overlap, or nearly, in any of the frames (f, nq); returns which as an assumption."""
    distance = CLEARANCE * figure_height(world.figure(figure).model) / REFERENCE_HEIGHT
    pairs = find_overlapping_links(world, figure, frames[:: max(round(SAMPLE_STEP / dt), 1)], distance)
    for one, other in pairs:
        world.ignore_contact(f"{figure}/{one}", f"{figure}/{other}")
    if not pairs:
        return []
    listed = ", ".join(f"{one} and {other}" for one, other in pairs[:MAX_LISTED])
    more = f" and {len(pairs) - MAX_LISTED} more" if len(pairs) > MAX_LISTED else ""
    reason = f"they overlap in the motion itself, or are within {1000 * distance:.0f} mm"
    return [Assumption("ignored self-collision", listed + more, reason)]


def find_overlapping_links(world: World, figure: str, frames: Iterable[Array], distance: float = 0.0) -> list[tuple[str, str]]:
    """Pairs of links of a figure that overlap in any of the frames (nq,), or are within a distance [m]; the world is left unchanged."""
    contact, model = world.contact_settings.contact_state, world.model
    if contact is None:
        return []
    joints = [model.joints[f"{figure}/{name}"] for name in world.figure(figure).model.joints]
    indices = np.concatenate([np.arange(joint.q.start, joint.q.stop) for joint in joints])
    before, prefix, found = world.q.copy(), f"{figure}/", set()
    try:
        for frame in frames:
            world.q[indices] = frame
            kinematics.update_poses(world.data)
            count = find_contacts(world.data, contact.handle, distance)
            while contact.patches.count[1] > count:  # the arrays are too small
                contact.enlarge()
                count = find_contacts(world.data, contact.handle, distance)
            for n in set(contact.patches.pair[:count].tolist()):
                one, other = world.contact_settings.link_pairs[n]
                if one.startswith(prefix) and other.startswith(prefix):
                    found.add(tuple(sorted((one.removeprefix(prefix), other.removeprefix(prefix)))))
    finally:
        world.q = before
    return sorted(found)
