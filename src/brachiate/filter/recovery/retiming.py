"""Retiming of a motion: the same postures slower or faster, for motions whose own timing torque or friction do not allow."""

from __future__ import annotations

from dataclasses import replace
from os import PathLike

from brachiate import validation
from brachiate.anatomy.contact_points import find_contact_points
from brachiate.assumptions import Assumption
from brachiate.errors import ArgumentError
from brachiate.filter.reference.reference import Reference
from brachiate.motion.contact_labels import ContactLabels, load_contact_labels
from brachiate.motion.motion import Motion

MIN_FACTOR, MAX_FACTOR = 0.2, 5.0
GivenContacts = ContactLabels | str | PathLike[str] | None


def retimed(motion: Motion | Reference, contacts: GivenContacts, factor: float) -> tuple[Motion | Reference, GivenContacts]:
    """Motion and its given contacts with their durations multiplied by a factor, from the first frame on."""
    factor = validation.number(factor, "retime", minimum=MIN_FACTOR, maximum=MAX_FACTOR)
    if factor == 1.0:
        return motion, contacts
    if not isinstance(motion, Motion):
        raise ArgumentError("retime: a reference has its own timing. Give the motion, or make the reference of motion.time_warp(...).")
    if isinstance(contacts, (str, PathLike)):
        contacts = load_contact_labels(contacts, find_contact_points(motion.figure).parts)
    start = float(motion.times[0])
    times = start + factor * (motion.times - start)
    told = Assumption("timing", f"{factor:g} times the duration", "as given: the motion is compared with the retimed original", "retime")
    clip = None if motion.clip is None else replace(motion.clip, times=times)
    changed = replace(
        motion, times=times, clip=clip, contacts=_retimed_labels(motion.contacts, start, factor), forces={},
        assumptions=(*motion.assumptions, told),
    )  # fmt: skip
    return changed, _retimed_labels(contacts, start, factor) if isinstance(contacts, ContactLabels) else contacts


def _retimed_labels(labels: ContactLabels | None, start: float, factor: float) -> ContactLabels | None:
    """Labels with other times."""
    if labels is None:
        return None
    moved = (
        replace(label, start=start + factor * (label.start - start), end=start + factor * (label.end - start)) for label in labels.contacts
    )
    return replace(labels, contacts=tuple(moved))
