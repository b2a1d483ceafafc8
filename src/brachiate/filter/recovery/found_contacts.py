"""Contacts that sampling found, as contact labels for the tracking controller: without short contacts and short gaps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from brachiate.filter.reference.reference import Reference
from brachiate.filter.results.contact_forces import contact_labels
from brachiate.motion.contact_labels import ContactInterval, ContactLabels
from brachiate.simulate.recording import Recording

SHORTEST = 0.12  # [s] of contacts and of gaps between them: shorter ones are of joint targets that were sampled, not of the motion


def found_contacts(reference: Reference, recording: Recording, figure: str) -> ContactLabels:
    """Contact labels of a recorded run on the terrain of its reference."""
    q = recording.q[:, : reference.figure.nq]
    labels = contact_labels(reference.figure, recording, figure, q, reference.times[0] + recording.time, reference.terrain, {})
    parts = dict.fromkeys(label.part for label in labels.contacts)
    kept = [label for part in parts for label in _without_short([each for each in labels.contacts if each.part == part])]
    return replace(labels, contacts=tuple(sorted(kept, key=lambda label: (label.start, label.part))))


def _without_short(labels: Sequence[ContactInterval]) -> Iterator[ContactInterval]:
    """Contacts of one part, merged over short gaps, without those that stay short."""
    merged: list[ContactInterval] = []
    for label in sorted(labels, key=lambda label: label.start):
        if merged and label.start - merged[-1].end < SHORTEST and label.height == merged[-1].height:
            merged[-1] = replace(merged[-1], end=max(merged[-1].end, label.end))
        else:
            merged.append(label)
    return (label for label in merged if label.end - label.start > SHORTEST)
