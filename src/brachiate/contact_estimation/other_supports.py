"""Supports other than the ground (bars, steps, seats): stationary parts that explain a large root residual."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from brachiate import kinematics
from brachiate.contact_estimation.contact_confidence import estimate_forces_of_labels, residual_share
from brachiate.contact_estimation.floor import CONTACT_HEIGHT, STATIONARY_SPEED
from brachiate.contact_estimation.motion_dynamics import MotionDynamics
from brachiate.contact_estimation.parts import FOOT_WORDS, HAND_WORDS, SEAT_WORDS, part_motion, parts_matching
from brachiate.contact_estimation.pivot import fit_pivot
from brachiate.intervals import apply_hysteresis, sustained_intervals
from brachiate.model.data import Data
from brachiate.motion.contact_labels import ContactInterval, ContactLabels
from brachiate.motion.terrain import Terrain
from brachiate.validation import Array

STATIONARY_SPEED_OFF, LEANING_SPEED = (
    0.5,
    1.0,
)  # [m/s] speed above which a part is no longer stationary; below which it may lean on the ground
MAX_WANDER = 0.1  # [m] from the median position of a stationary part
MAX_PASSES = 4  # of the search: supports found in one reduce the residual of the next
MIN_SUPPORTED_WEIGHT = 0.5  # of the weight: a body that requires less is in flight
OVERHEAD_SHARE = 0.7  # of the height of the highest joint: hands above grip rather than lean
LEANING_HEIGHT = 0.25  # [m] above the ground: parts below may lean on it
MAX_RESIDUAL_SHARE = 0.2  # of the weight: residual above which another support is needed
MIN_RESIDUAL_DURATION = 0.25  # [s] for at least this long
MIN_CONTACT_DURATION = 0.15  # [s] of a stationary part
MAX_PIVOT_WANDER = 0.05  # [m] of the pivot of a swinging grip, before and after the span
MAX_SEAT_HEIGHT_CHANGE = 0.03  # [m] from the median height of a seated part
SITTING_COSINE = 0.77  # cosine of the thigh angle from vertical: below, the figure sits


class _StationaryPart(NamedTuple):
    """A part that is stationary for some frames."""

    part: int
    start: int
    end: int
    height: float  # [m] of its lowest point above the ground


def find_stationary_parts(dynamics: MotionDynamics, terrain: Terrain) -> list[_StationaryPart]:
    """All stationary parts, on the ground or not."""
    found = []
    seat = parts_matching(dynamics, SEAT_WORDS)
    speeds, centers = _speeds_and_centers(dynamics)
    for p in range(len(dynamics.contact_points.parts)):
        speed, center = speeds[p], centers[p]
        height, _, _ = part_motion(dynamics, terrain, p)
        # Hands that lean on the ground appear to slide, because skeletons have no palms
        still = apply_hysteresis(speed < STATIONARY_SPEED, speed < STATIONARY_SPEED_OFF) | (
            (height < LEANING_HEIGHT) & (speed < LEANING_SPEED)
        )
        for first, last in sustained_intervals(dynamics.times, still, MIN_CONTACT_DURATION):
            span = slice(first, last + 1)
            in_place = (
                np.linalg.norm(center[span] - np.median(center[span], axis=0), axis=1)
                < np.where(height[span] < LEANING_HEIGHT, 3.0, 1.0) * MAX_WANDER
            )
            if p in seat:  # a body that sits down is slow, too
                in_place &= np.abs(height[span] - np.median(height[span])) < MAX_SEAT_HEIGHT_CHANGE
            for start, end in sustained_intervals(dynamics.times[span], in_place, MIN_CONTACT_DURATION):
                level = float(np.median(height[first + start : first + end + 1]))
                found.append(_StationaryPart(p, first + start, first + end, level))
    return found


def _speeds_and_centers(dynamics: MotionDynamics) -> tuple[Array, Array]:
    """Speed of the slowest point (p, f) [m/s] and mean position of the points (p, f, 3) [m] of every part."""
    count = len(dynamics.contact_points.parts)
    speeds, centers = np.zeros((count, len(dynamics))), np.zeros((count, len(dynamics), 3))
    for block in dynamics.blocks():
        for p in range(count):
            points = np.flatnonzero(dynamics.contact_points.part == p)
            speeds[p, block.frames] = np.linalg.norm(block.point_velocity[:, points], axis=2).min(axis=1)
            centers[p, block.frames] = block.point_position[:, points].mean(axis=1)
    return speeds, centers


def find_other_supports(
    dynamics: MotionDynamics, terrain: Terrain, contacts: Sequence[ContactInterval], contact_height: float
) -> list[ContactInterval]:
    """Contacts with other supports while ground contacts alone leave a large root residual; ``contact_height``: of feet [m]."""
    found: list[ContactInterval] = []
    stationary: list[_StationaryPart] | None = None
    tried: set[tuple[int, int]] = set()
    for _ in range(MAX_PASSES):
        estimate_forces_of_labels(dynamics, ContactLabels((*contacts, *found), terrain), single_point_grips=True)
        residual = residual_share(dynamics)
        # In flight no support is required
        required = np.abs(dynamics.required_wrench[:, :3] @ terrain.normal) / dynamics.weight
        unsupported_spans = [
            span
            for span in sustained_intervals(
                dynamics.times, (residual > MAX_RESIDUAL_SHARE) & (required > MIN_SUPPORTED_WEIGHT), MIN_RESIDUAL_DURATION
            )
            if span not in tried
        ]
        if not unsupported_spans:
            break
        if stationary is None:
            feet = parts_matching(dynamics, FOOT_WORDS)
            stationary = [
                rest
                for rest in find_stationary_parts(dynamics, terrain)
                if rest.height > (contact_height if rest.part in feet else CONTACT_HEIGHT)
            ]
        before = len(found)
        for start, end in unsupported_spans:
            tried.add((start, end))
            span = slice(start, end + 1)
            candidates = [rest for rest in stationary if rest.start <= end and rest.end >= start]
            on_ground = any(_overlap_share(label, dynamics.times[start], dynamics.times[end]) > 0.5 for label in contacts)
            for choice in _candidate_supports(dynamics, terrain, candidates, span, hangs=not on_ground):
                labels = ContactLabels((*contacts, *found, *choice), terrain)
                estimate_forces_of_labels(dynamics, labels, span, single_point_grips=True)
                if np.median(residual_share(dynamics, span)) < min(MAX_RESIDUAL_SHARE, 0.5 * float(np.median(residual[span]))):
                    found += [remainder for label in choice for remainder in _without_overlaps(label, found)]
                    break
        if len(found) == before:
            break
    if stationary is not None:
        estimate_forces_of_labels(dynamics, ContactLabels((*contacts, *found), terrain))
    return found


def _overlap_share(label: ContactInterval, start: float, end: float) -> float:
    """Share of a time interval during which a part is in contact."""
    return (min(label.end, end) - max(label.start, start)) / max(end - start, 1e-9)


def _candidate_supports(
    dynamics: MotionDynamics, terrain: Terrain, stationary: Sequence[_StationaryPart], span: slice, *, hangs: bool
) -> Iterator[list[ContactInterval]]:
    """Candidate supports of a span of frames, likeliest first: stationary parts of one kind; swinging grips if the body ``hangs``."""
    floor = terrain.height or 0.0
    top = float(dynamics.body_positions(span)[:, :, 2].max()) - floor
    middle = float(np.median(terrain.clearance(dynamics.com[span])))  # parts above the CoM do not support it from below
    hands, feet, seat = (set(parts_matching(dynamics, words)) for words in (HAND_WORDS, FOOT_WORDS, SEAT_WORDS))
    others = set(range(len(dynamics.contact_points.parts))) - hands - feet - seat
    gripping, standing = (hands, "grip", -np.inf, np.inf), (feet, "support", -np.inf, np.inf)
    # A unilateral support is the stronger explanation: a seated body need not grip
    sitting = [[(seat, "support", -np.inf, np.inf)]] if _is_sitting(dynamics, sorted(seat), span) else []
    swinging = list(_swinging_grips(dynamics, terrain, sorted(hands), span, OVERHEAD_SHARE * top)) if hangs else []
    stationary_throughout = any(rest.part in hands and rest.start <= span.start and rest.end >= span.stop - 1 for rest in stationary)
    if swinging and not stationary_throughout and not any(rest.part in feet for rest in stationary):
        yield swinging
    for kinds in (
        [(hands, "grip", OVERHEAD_SHARE * top, np.inf)],
        *sitting,
        [standing],
        [gripping, standing],
        [(hands | others, "support", -np.inf, LEANING_HEIGHT)],
        [(hands, "support", -np.inf, np.inf)],
        [gripping],
        [(others, "support", -np.inf, middle)],
    ):
        chosen = [
            (rest, kind) for group, kind, low, high in kinds for rest in stationary if rest.part in group and low <= rest.height <= high
        ]
        if len({kind for _, kind in chosen}) == len({kind for _, kind, _, _ in kinds}):
            yield [
                ContactInterval(
                    dynamics.contact_points.parts[rest.part],
                    float(dynamics.times[rest.start]),
                    float(dynamics.times[rest.end]),
                    kind,
                    None if kind == "grip" else rest.height + floor,
                )
                for rest, kind in chosen
            ]
    if swinging:
        yield swinging


def _is_sitting(dynamics: MotionDynamics, seat: Sequence[int], span: slice) -> bool:
    """Whether all thighs are raised for most of a span of frames."""
    bodies = dict.fromkeys(int(dynamics.contact_points.body[dynamics.contact_points.part == part][0]) for part in seat)
    parent = dynamics.model.tree.parent
    thighs = [body for body in bodies if any(above in bodies for above in _ancestors(parent, body))]
    if not thighs:
        return False
    down, position = [], dynamics.body_positions(span)
    for body in thighs:
        for knee in np.flatnonzero(parent == body):
            thigh = position[:, knee] - position[:, body]
            down.append(-thigh[:, 2] / np.maximum(np.linalg.norm(thigh, axis=1), 1e-9))
    return bool(down) and bool(np.median(down, axis=1).max() < SITTING_COSINE)


def _ancestors(parent: Array, body: int) -> Iterator[int]:
    while (body := int(parent[body])) >= 0:
        yield body


def _swinging_grips(
    dynamics: MotionDynamics, terrain: Terrain, hands: Sequence[int], span: slice, lowest: float
) -> Iterator[ContactInterval]:
    """Swinging grips of hands above some height, for as long as their pivot stays in place."""
    for part in hands:
        points = np.flatnonzero(dynamics.contact_points.part == part)
        body, at = int(dynamics.contact_points.body[points[0]]), dynamics.contact_points.position[points].mean(axis=0)
        x, R = _body_poses(dynamics, body)
        pivot = fit_pivot(x[span], R[span], at)
        if pivot is None or pivot.distance.max() > MAX_WANDER or np.median(terrain.clearance(x[span] + R[span] @ at)) < lowest:
            continue
        stationary = np.linalg.norm(x + R @ pivot.point - pivot.position, axis=1) < MAX_PIVOT_WANDER
        stationary[span] = True
        start, end = next((a, b) for a, b in sustained_intervals(dynamics.times, stationary, 0.0) if a <= span.start <= b)
        yield ContactInterval(dynamics.contact_points.parts[part], float(dynamics.times[start]), float(dynamics.times[end]), "grip")


def _body_poses(dynamics: MotionDynamics, body: int) -> tuple[Array, Array]:
    """Positions (f, 3) and orientations (f, 3, 3) of a body."""
    if ("poses", body) not in dynamics.cache:
        data, placement = (
            Data(dynamics.model),
            next(placement for placement in dynamics.model.placements.values() if placement.body == body),
        )
        found = []
        for q in dynamics.states.q:
            data.assign(q=q)
            kinematics.update_poses(data)
            pose = kinematics.pose(data, placement)
            R = pose.rotation @ placement.rotation.T
            found.append((pose.position - R @ placement.position, R))
        dynamics.cache["poses", body] = tuple(np.array(each) for each in zip(*found, strict=True))
    return dynamics.cache["poses", body]


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
