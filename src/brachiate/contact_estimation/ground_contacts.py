"""Ground contacts of a motion: the sequence of contact modes of the feet that explains heights, speeds and required forces best as a whole.

Every combination of modes of the feet (none, heel, front, flat) has a cost in every frame: of height and speed of what is in contact, and
of the root residual that remains with these contacts. So there is no flight in which nothing falls, and no stance that must pull.
Switching costs, too, and the sequence of least cost over the whole motion is taken. The height of the floor is that of the cheapest
sequence; the offsets of heels and fronts from it are estimated with it, as captured feet differ by centimeters on one floor.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from brachiate.contact_estimation.contact_costs import frame_weights, kinematic_cost, residual_costs
from brachiate.contact_estimation.floor import CONTACT_HEIGHT, STATIONARY_SPEED
from brachiate.contact_estimation.foot_modes import SUPPORT_SWITCH, FootModes, foot_modes
from brachiate.contact_estimation.mode_sequence import ModeSequence, cheapest_sequence
from brachiate.contact_estimation.motion_dynamics import MotionDynamics
from brachiate.contact_estimation.parts import part_motion
from brachiate.intervals import sustained_intervals
from brachiate.motion.contact_labels import ContactInterval
from brachiate.motion.terrain import Terrain
from brachiate.validation import Array

HEIGHTS_PER_SCALE = 2.5  # contact height, relative to the uncertainty of heights in contact
MIN_HEIGHT_SCALE = 0.01  # [m] of this uncertainty, and of that of other parts
MAX_OFFSET = 0.04  # [m] of a heel or front in contact from the floor
MIN_OFFSET_FRAMES = 5  # from which an offset is estimated
PENETRATION_SCALE, MAX_PENETRATION_COST = 0.02, 8.0  # [m] of feet below the floor; the floor is elsewhere
PASSES, HEIGHT_TOLERANCE = 2, 0.001  # of floor and offsets; [m] changes that make no difference
RAISED_HEIGHT = 0.03  # [m] of a part of the front above the lowest one: it has lifted off
UNCERTAIN_COST, UNCERTAIN_DURATION = 1.0, 0.1  # of a contact, more or less than without it, and [s] for which it is reported as uncertain


class GroundContacts(NamedTuple):
    """Ground contacts and the floor.

    Args:
        contacts: Contact intervals.
        height: Height of the floor [m].
        contact_height: Height of feet in contact above it, at most [m].
        uncertain: Feet and times at which another mode explains the motion about as well, as texts.
    """

    contacts: tuple[ContactInterval, ...]
    height: float
    contact_height: float
    uncertain: tuple[str, ...]


class _Ends(NamedTuple):
    """Motion of the heels and fronts of all feet, of the lowest part of each: (e, f)."""

    height: Array  # [m]
    tangential_speed: Array  # [m/s]
    normal_velocity: Array  # [m/s]


def find_ground_contacts(dynamics: MotionDynamics, terrain: Terrain, levels: Sequence[float], contact_height: float) -> GroundContacts:
    """Ground contacts of all parts.

    Args:
        dynamics: Dynamics of the motion; its contact forces are not those of the result.
        terrain: The ground, of known height.
        levels: Possible heights of the floor, of which the one that explains the motion best is taken; none if the terrain is given.
        contact_height: Height of feet above the floor in contact, at most [m].
    """
    modes, weight = foot_modes(dynamics), frame_weights(dynamics.times)
    ends = _end_motion(dynamics, terrain, modes)
    scale = max(contact_height / HEIGHTS_PER_SCALE, MIN_HEIGHT_SCALE)
    base, up = terrain.height or 0.0, terrain.normal[2]

    def costs(level: float, offsets: Array, residual: Array) -> Array:
        lifted = ends._replace(height=ends.height - (level - base) * up - offsets[:, None])
        return _kinematic_costs(lifted, modes, scale) + residual

    def sequence(level: float, offsets: Array, residual: Array) -> ModeSequence:
        return cheapest_sequence(weight[:, None] * costs(level, offsets, residual), modes.switch)

    others = _other_contacts(dynamics, terrain, modes, weight, base)
    residual, offsets, level = residual_costs(dynamics, modes, others), np.zeros(len(ends.height)), base
    if len(levels) > 1:
        totals = [sequence(each, offsets, residual).cost + _penetration(ends, weight, (each - base) * up) for each in levels]
        level = levels[int(np.argmin(totals))]
        if not np.array_equal(others, found := _other_contacts(dynamics, terrain, modes, weight, level)):
            others, residual = found, residual_costs(dynamics, modes, found)
    result = sequence(level, offsets, residual)
    for _ in range(PASSES if levels else 0):
        before = np.append(offsets, level)
        level, offsets = _fit_floor(ends, modes, result, level, base, up)
        if np.abs(np.append(offsets, level) - before).max() < HEIGHT_TOLERANCE:
            break
        result = sequence(level, offsets, residual)
    ground = replace(terrain, height=level)
    active = _active_parts(dynamics, ground, modes, result, others)
    names, times = dynamics.contact_points.parts, dynamics.times
    contacts = tuple(
        ContactInterval(names[p], float(times[start]), float(times[end]))
        for p in range(len(names))
        for start, end in sustained_intervals(times, active[:, p])
    )
    return GroundContacts(contacts, level, contact_height, tuple(_uncertain(modes, costs(level, offsets, residual), times)))


def _end_motion(dynamics: MotionDynamics, terrain: Terrain, modes: FootModes) -> _Ends:
    """Motion of the lowest part of every end of the feet."""
    motion = np.zeros((3, len(modes.foot), len(dynamics)))
    for e, parts in enumerate(modes.ends):
        of_parts = np.array([part_motion(dynamics, terrain, part) for part in parts])  # (p, 3, f)
        lowest = of_parts[:, 0].argmin(axis=0)
        motion[:, e] = of_parts[lowest, :, np.arange(len(dynamics))].T
    return _Ends(*motion)


def _kinematic_costs(ends: _Ends, modes: FootModes, scale: float) -> Array:
    """Cost of height and speed of every combination of modes: (f, m)."""
    if not len(modes.foot):
        return np.zeros((ends.height.shape[1], 1))
    cost = np.stack([kinematic_cost(h, t, n, scale) for h, t, n in zip(*ends, strict=True)])
    return cost.T @ modes.contact.T


def _penetration(ends: _Ends, weight: Array, level: float) -> float:
    """Cost of feet below a floor, which all modes have in common."""
    if not len(ends.height):
        return 0.0
    depth = np.maximum(level - CONTACT_HEIGHT - ends.height.min(axis=0), 0.0)
    return float((weight * np.minimum(0.5 * (depth / PENETRATION_SCALE) ** 2, MAX_PENETRATION_COST)).sum())


def _other_contacts(dynamics: MotionDynamics, terrain: Terrain, modes: FootModes, weight: Array, level: float) -> Array:
    """Ground contacts of parts that are not of feet, by height and speed: flags (f, p)."""
    switch, on = SUPPORT_SWITCH * (1.0 - np.eye(2)), np.zeros((len(dynamics), len(dynamics.contact_points.parts)), bool)
    lift = (level - (terrain.height or 0.0)) * terrain.normal[2]
    for p in set(range(on.shape[1])) - modes.parts:
        height, tangential_speed, normal_velocity = part_motion(dynamics, terrain, p)
        cost = weight * kinematic_cost(height - lift, tangential_speed, normal_velocity, MIN_HEIGHT_SCALE)
        if (cost < 0.0).any():
            on[:, p] = cheapest_sequence(np.stack((np.zeros_like(cost), cost), axis=1), switch).mode == 1
    return on


def _fit_floor(ends: _Ends, modes: FootModes, found: ModeSequence, level: float, base: float, up: float) -> tuple[float, Array]:
    """Height of the floor [m], and offset of every end from it: (e,) [m]; medians while in contact and at rest."""
    offsets, heights = np.zeros(len(modes.foot)), []
    at_rest = np.hypot(ends.tangential_speed, ends.normal_velocity) < STATIONARY_SPEED
    samples = [height[rest & on] for height, rest, on in zip(ends.height, at_rest, modes.contact[found.mode].T, strict=True)]
    heights = [sample for sample in samples if len(sample) >= MIN_OFFSET_FRAMES]
    if heights:
        near = base + np.concatenate(heights) / up
        level = float(np.clip(np.median(near), level - MAX_OFFSET, level + MAX_OFFSET))
    for e, sample in enumerate(samples):
        if len(sample) >= MIN_OFFSET_FRAMES:
            offsets[e] = np.clip(np.median(sample) - (level - base) * up, -MAX_OFFSET, MAX_OFFSET)
    return level, offsets


def _active_parts(dynamics: MotionDynamics, terrain: Terrain, modes: FootModes, found: ModeSequence, others: Array) -> Array:
    """Parts in contact (f, p): of an end with several parts those that are about as low as the lowest one."""
    active = others.copy()
    for parts, on in zip(modes.ends, modes.contact[found.mode].T, strict=True):
        height = np.stack([part_motion(dynamics, terrain, part)[0] for part in parts])
        low = height - height.min(axis=0) < RAISED_HEIGHT
        for part, is_low in zip(parts, low, strict=True):
            active[:, part] |= on & is_low
    return active


def _uncertain(modes: FootModes, cost: Array, times: Array) -> Iterator[str]:
    """Feet and times at which contact and no contact explain the motion about as well."""
    for k, foot in enumerate(modes.feet):
        stands = modes.in_contact(k)
        margin = np.abs(cost[:, stands].min(axis=1) - cost[:, ~stands].min(axis=1))
        spans = sustained_intervals(times, margin < UNCERTAIN_COST, UNCERTAIN_DURATION)
        if spans:
            yield f"{foot.name} " + ", ".join(f"{times[a]:.2f}-{times[b]:.2f}" for a, b in spans[:4]) + (", ..." if len(spans) > 4 else "")
