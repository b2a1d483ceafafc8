"""Supports other than the ground: those of the candidates that explain a motion better than the ground and steps can, at a cost.

A candidate is decided together with the feet: the modes of the feet are found anew with it, and it is taken if the cost of the whole motion
falls by more than its own. So a hand in the air is no support while the feet carry the body, and feet far from the ground carry nothing
where hands do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from brachiate.contact_estimation.contact_costs import residual_costs
from brachiate.contact_estimation.floor import CONTACT_HEIGHT
from brachiate.contact_estimation.ground_contacts import GroundContacts
from brachiate.contact_estimation.motion_dynamics import MotionDynamics
from brachiate.contact_estimation.parts import SEAT_WORDS, parts_matching
from brachiate.contact_estimation.support_candidates import (
    MIN_CONTACT_DURATION,
    StationaryPart,
    SupportCandidate,
    candidate_supports,
    find_stationary_parts,
)
from brachiate.intervals import sustained_intervals
from brachiate.motion.contact_labels import ContactInterval
from brachiate.validation import Array

INTERVAL_COST = 5.0  # of each interval of a part
MIN_UNEXPLAINED_COST, MIN_UNEXPLAINED_DURATION = 0.5, 0.25  # of ground contacts, and [s] for which it lasts: another support is tried
MIN_SUPPORTED_WEIGHT = 0.5  # of the weight: a body that requires less is in flight
MAX_PASSES = 4  # of the search: supports found in one change the costs of the next
STANDING_SHARE = 0.5  # of a time interval in which a foot is in contact: it stands


class Supports(NamedTuple):
    """Contacts of the feet and other parts with the ground, and other supports."""

    ground: GroundContacts
    others: tuple[ContactInterval, ...]


def find_other_supports(dynamics: MotionDynamics, ground: GroundContacts) -> Supports:
    """Other supports where ground contacts explain the motion badly, and the contacts of the feet with these."""
    found, tried = Supports(ground, ()), set[tuple[int, int]]()
    stationary: list[StationaryPart] | None = None
    for _ in range(MAX_PASSES):
        spans = [span for span in _unexplained_spans(dynamics, found.ground) if span not in tried]
        if not spans:
            break
        if stationary is None:
            feet = found.ground.costs.modes.parts
            stationary = [
                rest
                for rest in find_stationary_parts(dynamics, found.ground.terrain)
                if rest.part not in feet and rest.height > CONTACT_HEIGHT
            ]
        before = found
        for start, end in spans:
            tried.add((start, end))
            found = _with_best_candidate(dynamics, found, stationary, slice(start, end + 1))
        if found is before:
            break
    return found


def _unexplained_spans(dynamics: MotionDynamics, ground: GroundContacts) -> list[tuple[int, int]]:
    """Spans of frames in which something must carry the body, and contacts explain it badly: by force, or by height and speed."""
    at = np.arange(len(dynamics)), ground.found.mode
    residual = ground.costs.residual[at]
    kinematic = ground.costs.total()[at] - residual
    required = np.abs(dynamics.required_wrench[:, :3] @ ground.terrain.normal) / dynamics.weight
    unexplained = (residual + np.maximum(kinematic, 0.0) > MIN_UNEXPLAINED_COST) & (required > MIN_SUPPORTED_WEIGHT)
    return sustained_intervals(dynamics.times, unexplained, MIN_UNEXPLAINED_DURATION)


def _with_best_candidate(dynamics: MotionDynamics, found: Supports, stationary: Sequence[StationaryPart], span: slice) -> Supports:
    """Supports with the candidate that lowers the cost most in a span of frames; the same if none does."""
    ground, standing = found.ground, _standing_parts(dynamics, found.ground)
    feet = list(ground.costs.modes.parts)
    stands = bool(np.mean(standing[span][:, feet].any(axis=1)) > STANDING_SHARE)
    near = [rest for rest in stationary if rest.start < span.stop and rest.end >= span.start and not _stands_on(dynamics, rest, standing)]
    best, least = found, ground.found.cost
    held = any(label.start <= dynamics.times[span.stop - 1] and label.end >= dynamics.times[span.start] for label in found.others)
    for candidate in candidate_supports(dynamics, ground.terrain, near, span, stands=stands, held=held):
        contacts = tuple(part for label in candidate.contacts for part in _without_overlaps(label, found.others))
        if not contacts:
            continue
        tried, price = _with_supports(dynamics, found, candidate._replace(contacts=contacts), span)
        if tried.ground.found.cost + price < least:
            best, least = tried, tried.ground.found.cost + price
    return best


def _standing_parts(dynamics: MotionDynamics, ground: GroundContacts) -> Array:
    """Parts in contact with the ground or a step: (f, p)."""
    standing, modes = ground.others.copy(), ground.costs.modes
    for parts, on in zip(modes.ends, modes.contact[ground.found.mode].T, strict=True):
        standing[:, parts] |= on[:, None]
    return standing


def _stands_on(dynamics: MotionDynamics, rest: StationaryPart, standing: Array) -> bool:
    """Whether a part below this one in the same limb stands: then that carries, and this one need not."""
    if rest.part in parts_matching(dynamics, SEAT_WORDS):
        return False
    points, parent = dynamics.contact_points, dynamics.model.tree.parent
    mine = int(points.body[points.part == rest.part][0])
    for part in range(len(points.parts)):
        body = int(parent[points.body[points.part == part][0]])
        while body > mine:  # parents come first
            body = int(parent[body])
        if body == mine and standing[rest.start : rest.end + 1, part].mean() > STANDING_SHARE:
            return True
    return False


def _with_supports(dynamics: MotionDynamics, found: Supports, candidate: SupportCandidate, span: slice) -> tuple[Supports, float]:
    """Contacts with a candidate, and its cost."""
    times, names, ground = dynamics.times, dynamics.contact_points.parts, found.ground
    contacts = (*found.others, *candidate.contacts)
    frames = [slice(*np.searchsorted(times, (label.start - 1e-9, label.end + 1e-9)).tolist()) for label in contacts]
    new = frames[len(found.others) :]
    window = slice(min(span.start, *(each.start for each in new)), max(span.stop, *(each.stop for each in new)))
    active = ground.others[window].copy()
    for label, each in zip(contacts, frames, strict=True):
        rows = slice(max(each.start - window.start, 0), max(each.stop - window.start, 0))
        active[rows, names.index(label.part)] = True
    grips = [names.index(label.part) for label in contacts if label.kind == "grip"]
    residual = ground.costs.residual.copy()
    residual[window] = residual_costs(dynamics, ground.costs.modes, active, window, grips)
    occupied = np.zeros(len(times), bool)
    for each in new:
        occupied[each] = True
    price = INTERVAL_COST * len(new) + candidate.rate * float(ground.costs.weight[occupied].sum())
    return Supports(ground.with_residual(residual), contacts), price


def _without_overlaps(label: ContactInterval, found: Sequence[ContactInterval]) -> Iterator[ContactInterval]:
    """Remainder of a contact interval without those of the same part already found, with a transition time between them."""
    for other in found:
        if other.part == label.part and other.start < label.end and label.start < other.end:
            if other.start - label.start > 2.0 * MIN_CONTACT_DURATION:
                yield from _without_overlaps(replace(label, end=other.start - MIN_CONTACT_DURATION), found)
            if label.end - other.end > 2.0 * MIN_CONTACT_DURATION:
                yield from _without_overlaps(replace(label, start=other.end + MIN_CONTACT_DURATION), found)
            return
    yield label
