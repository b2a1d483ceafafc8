"""Candidates for supports other than the ground (bars, seats, hands on tables): parts at rest, and swinging grips, in a span of frames."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from brachiate import kinematics
from brachiate.contact_estimation.contact_costs import residual_cost
from brachiate.contact_estimation.floor import STATIONARY_SPEED
from brachiate.contact_estimation.motion_dynamics import MotionDynamics
from brachiate.contact_estimation.parts import FOOT_WORDS, HAND_WORDS, SEAT_WORDS, part_motion, parts_matching
from brachiate.contact_estimation.pivot import fit_pivot
from brachiate.intervals import apply_hysteresis, sustained_intervals
from brachiate.model.data import Data
from brachiate.motion.contact_labels import ContactInterval
from brachiate.motion.terrain import Terrain
from brachiate.validation import Array

STATIONARY_SPEED_OFF = 0.5  # [m/s] speed above which a part is no longer stationary
LEANING_SPEED = 1.0  # [m/s] below which it may lean on the ground
MAX_WANDER = 0.1  # [m] from the median position of a stationary part
OVERHEAD_SHARE = 0.7  # of the height of the highest joint: hands above grip rather than lean
LEANING_HEIGHT = 0.25  # [m] above the ground: parts below may lean on it
MIN_CONTACT_DURATION = 0.15  # [s] of a stationary part
MAX_PIVOT_WANDER = 0.05  # [m] of the pivot of a swinging grip, before and after the span
MAX_SEAT_HEIGHT_CHANGE = 0.03  # [m] from the median height of a seated part
SITTING_COSINE = 0.77  # cosine of the thigh angle from vertical: below, the figure sits
SUPPORT_COST = float(residual_cost(np.array(0.2)))  # of a support in a frame: it must explain a residual of 0.2 of the weight,
BESIDE_FOOT_COST = float(residual_cost(np.array(0.4)))  # one in the air while a foot stands: of 0.4 of the weight;
GRIP_COST = 0.4  # in addition, of grips, which can explain any force,
TRUNK_COST = float(residual_cost(np.array(0.5)))  # and of trunk and limbs in the air: people lie and hang on them rarely


class StationaryPart(NamedTuple):
    """A part that is stationary for some frames."""

    part: int
    start: int
    end: int
    height: float  # [m] of its lowest point above the ground


class SupportCandidate(NamedTuple):
    """Contacts that may support the body, and what they cost in every frame."""

    contacts: tuple[ContactInterval, ...]
    rate: float


def find_stationary_parts(dynamics: MotionDynamics, terrain: Terrain) -> list[StationaryPart]:
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
                found.append(StationaryPart(p, first + start, first + end, level))
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


def candidate_supports(
    dynamics: MotionDynamics, terrain: Terrain, stationary: Sequence[StationaryPart], span: slice, *, stands: bool, held: bool
) -> Iterator[SupportCandidate]:
    """Candidates for the support of a span of frames: stationary parts of one kind; swinging grips, if no foot ``stands``.

    Trunk and limbs in the air are candidates only if neither a foot stands nor the body is ``held`` by a support found before.
    """
    floor = terrain.height or 0.0
    top = float(dynamics.body_positions(span)[:, :, 2].max()) - floor
    middle = float(np.median(terrain.clearance(dynamics.com[span])))  # parts above the CoM do not support it from below
    hands, feet, seat = (set(parts_matching(dynamics, words)) for words in (HAND_WORDS, FOOT_WORDS, SEAT_WORDS))
    others = set(range(len(dynamics.contact_points.parts))) - hands - feet - seat
    if not stands:
        swinging = tuple(_swinging_grips(dynamics, terrain, sorted(hands), span, OVERHEAD_SHARE * top))
        if swinging:
            yield SupportCandidate(swinging, SUPPORT_COST)
    beside = BESIDE_FOOT_COST if stands else SUPPORT_COST
    for group, kind, low, high, rate in (
        (hands, "grip", OVERHEAD_SHARE * top, np.inf, SUPPORT_COST),
        (seat if _is_sitting(dynamics, sorted(seat), span) else (), "support", -np.inf, np.inf, SUPPORT_COST),
        (hands | others, "support", -np.inf, LEANING_HEIGHT, SUPPORT_COST),
        (hands, "support", LEANING_HEIGHT, OVERHEAD_SHARE * top, beside),
        (hands, "grip", -np.inf, OVERHEAD_SHARE * top, GRIP_COST + beside),  # a unilateral support is the stronger explanation
        (() if stands or held else others, "support", LEANING_HEIGHT, middle, TRUNK_COST),
    ):
        chosen = tuple(
            ContactInterval(
                dynamics.contact_points.parts[rest.part],
                float(dynamics.times[rest.start]),
                float(dynamics.times[rest.end]),
                kind,
                None if kind == "grip" else rest.height + floor,
            )
            for rest in stationary
            if rest.part in group and low <= rest.height <= high
        )
        if chosen:
            yield SupportCandidate(chosen, rate)


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
