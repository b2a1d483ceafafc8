"""Contact labels of the source motion, inferred for the reference."""

from __future__ import annotations

from dataclasses import replace

from brachiate.anatomy.contact_points import find_contact_points
from brachiate.assumptions import Assumption
from brachiate.contact_estimation.infer_contacts import infer_contacts
from brachiate.contact_estimation.motion_dynamics import MotionDynamics
from brachiate.errors import MotionError
from brachiate.motion.contact_labels import ContactLabels
from brachiate.motion.motion import Motion
from brachiate.motion.spline import MotionStates
from brachiate.motion.terrain import Terrain

HEIGHT_TOLERANCE = 0.04  # [m] inferred surfaces closer in height are one
OTHER_SUPPORT_MIN_DURATION = 0.3  # [s] of inferred grips and surfaces above the ground


def infer_labels(motion: Motion, states: MotionStates, terrain: Terrain, supports: str) -> tuple[ContactLabels, list[Assumption]]:
    """Contact labels inferred from the states of a smoothed motion, and what was assumed."""
    labels, inferred = infer_contacts(MotionDynamics(motion.figure, states, terrain), supports)
    assumptions = list(inferred)
    brief = [
        label
        for label in labels.contacts
        if (label.kind == "grip" or label.height is not None) and label.end - label.start < OTHER_SUPPORT_MIN_DURATION
    ]
    if brief:
        parts = ", ".join(dict.fromkeys(label.part for label in brief))
        reason = "a grip, or a contact above the ground, of so short a time supports nothing"
        assumptions.append(Assumption("ignored contacts", parts, reason, "contacts"))
        labels = replace(labels, contacts=tuple(label for label in labels.contacts if label not in brief))
    labels = _merge_heights(labels)
    if not labels.contacts:
        parts = find_contact_points(motion.figure).parts
        raise MotionError(
            f"No contact was found in {motion.name}: no part of {motion.figure.name!r} comes to rest near a floor. Give the contacts, "
            f"contacts=br.ContactLabels((br.ContactInterval({parts[0] if parts else 'left_foot'!r}, 0.0, 0.5),), br.Terrain(0.0)), "
            "or the height of the floor, source_terrain='flat:0'."
        )
    return labels, assumptions


def _merge_heights(labels: ContactLabels) -> ContactLabels:
    """Labels with surfaces of similar height at the lowest of these heights: what seems higher is a raised heel."""
    levels: list[float] = []
    for height in sorted({label.height for label in labels.contacts if label.height is not None}):
        if not levels or height > levels[-1] + HEIGHT_TOLERANCE:
            levels.append(height)
    merged = (
        label if label.height is None else replace(label, height=max(level for level in levels if level <= label.height))
        for label in labels.contacts
    )
    return replace(labels, contacts=tuple(merged))
