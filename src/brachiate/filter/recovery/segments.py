"""Segments of one simulation: recordings of its parts, cut and joined.

Every part goes on from a state of the part before, with the memory of its contacts, so that the joined recording is one of a single run.
"""

from __future__ import annotations

import numpy as np

from brachiate.simulate.constraint_forces import ConstraintForces
from brachiate.simulate.recording import Recording
from brachiate.world.contact_history import ContactHistory

COLUMNS = ("time", "q", "v", "torque")


def first_states(recording: Recording, count: int) -> Recording:
    """The first states of a recording."""
    if count >= len(recording):
        return recording
    forces, kept = recording.forces, count
    assert isinstance(forces, ConstraintForces)
    segments = []
    for segment in forces.segments:
        if kept > 0:
            segments.append(segment.rows(0, kept))
        kept -= len(segment)
    columns = (getattr(recording, name)[:count] for name in COLUMNS)
    cut = ConstraintForces(forces.world, segments, forces.limits)
    return Recording(recording.model, recording.gravity, *columns, forces=cut, contacts=ContactHistory(recording.contacts.records[:count]))


def joined(parts: list[Recording]) -> Recording:
    """One recording of consecutive parts, each of which begins with the last state of the part before."""
    first = parts[0]
    if len(parts) == 1:
        return first
    columns = [np.concatenate([getattr(first, name), *(getattr(part, name)[1:] for part in parts[1:])]) for name in COLUMNS]
    forces = ConstraintForces.joined([part.forces for part in parts if isinstance(part.forces, ConstraintForces)])
    contacts = ContactHistory.joined([part.contacts for part in parts])
    return Recording(first.model, first.gravity, *columns, forces=forces, contacts=contacts)
