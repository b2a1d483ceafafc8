"""Estimation of floor height and treadmill velocity from the motion of the feet."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from brachiate.contact_estimation.motion_dynamics import MotionDynamics
from brachiate.contact_estimation.parts import FOOT_WORDS, parts_matching
from brachiate.validation import Array

CONTACT_HEIGHT = 0.025  # [m] above the ground: lower points may be in contact
STATIONARY_SPEED = 0.3  # [m/s] slower points are stationary
MIN_BELT_SPEED, BELT_TOLERANCE = 0.3, 0.3  # [m/s] of a treadmill; relative tolerance of foot and body velocity
FLOOR_THICKNESS = 0.06  # [m] levels closer than this are one floor
LEVEL_RESOLUTION = 0.01  # [m] resolution of the histogram of heights
MAX_LEVELS, MIN_LEVEL_SHARE = 3, 0.15  # further levels that are tried; share of the most frequent level
MIN_FLOOR_SHARE = 0.4  # of the most frequent level: a lower level as frequent as this is the floor


def estimate_treadmill(dynamics: MotionDynamics) -> tuple[float, float]:
    """Velocity of a treadmill belt [m/s]: the lowest foot moves at constant velocity while the body stays in place; else zero."""
    indices = np.flatnonzero(np.isin(dynamics.contact_points.part, parts_matching(dynamics, FOOT_WORDS)))
    if not len(indices):
        return 0.0, 0.0
    velocity, n = np.zeros((len(dynamics), 2)), dynamics.terrain.normal
    for block in dynamics.blocks():
        low = indices[np.argmin(block.point_position[:, indices] @ n, axis=1)]
        velocity[block.frames] = block.point_velocity[np.arange(len(low)), low, :2]
    middle = np.median(velocity, axis=0)
    speed = float(np.hypot(*middle))
    first, last = (dynamics.body_positions(slice(k, k + 1))[0, 0, :2] for k in (0, len(dynamics) - 1))
    drift = np.linalg.norm(last - first) / max(dynamics.times[-1] - dynamics.times[0], 1e-9)
    steady = np.median(np.linalg.norm(velocity - middle, axis=1)) < BELT_TOLERANCE * speed
    return (float(middle[0]), float(middle[1])) if speed > MIN_BELT_SPEED and steady and drift < BELT_TOLERANCE * speed else (0.0, 0.0)


class Floor(NamedTuple):
    """Possible heights of the floor, likeliest first, contact height above it [m], and the reason."""

    levels: tuple[float, ...]
    contact_height: float
    reason: str


def estimate_floor(dynamics: MotionDynamics) -> Floor:
    """The lowest level at which feet are stationary about as often as at any other, and other levels at which they often are.

    Captured feet differ by centimeters on one floor: levels that close are merged, and the contact height is widened accordingly.
    """
    heights = _stationary_foot_heights(dynamics)
    if len(heights) < 3:
        return Floor((0.0,), CONTACT_HEIGHT, "no foot is ever stationary; taken at the world origin")
    bottom = float(np.percentile(_lowest_heights(dynamics), 25))
    bins = np.arange(heights.min() - 3 * LEVEL_RESOLUTION, heights.max() + 4 * LEVEL_RESOLUTION, LEVEL_RESOLUTION / 4)
    count = np.convolve(np.histogram(heights, bins)[0], np.ones(12), "same")  # window of 1.5 LEVEL_RESOLUTION
    # Swing feet are stationary for a moment, too, but then other feet, or they themselves at other times, are lower
    frequent = (count >= MIN_FLOOR_SHARE * count.max()) & (bins[:-1] < bottom + FLOOR_THICKNESS)
    if not frequent.any():
        return Floor((0.0,), CONTACT_HEIGHT, "no foot is stationary at the lowest height of the body; taken at the world origin")
    lowest = bins[int(np.argmax(frequent))]
    on_floor = heights[(heights > lowest - 1.5 * LEVEL_RESOLUTION) & (heights < lowest + FLOOR_THICKNESS)]
    level = float(np.median(on_floor))
    contact_height = float(np.clip(np.percentile(on_floor, 95) - level + LEVEL_RESOLUTION, CONTACT_HEIGHT, FLOOR_THICKNESS))
    reason = f"{100 * len(on_floor) / len(heights):.0f} % of stationary feet are near this height"
    return Floor((level, *_other_levels(bins, count, level, bottom)), contact_height, reason)


def _other_levels(bins: Array, count: Array, level: float, bottom: float) -> list[float]:
    """Other levels at which feet are stationary, most frequent first."""
    found: list[float] = []
    for k in np.argsort(-count, kind="stable"):
        height = float(bins[k])
        if len(found) == MAX_LEVELS or count[k] < MIN_LEVEL_SHARE * count.max():
            break
        if height < bottom + FLOOR_THICKNESS and all(abs(height - other) > 0.5 * FLOOR_THICKNESS for other in (level, *found)):
            found.append(height)
    return found


def _lowest_heights(dynamics: MotionDynamics) -> Array:
    """Height of the lowest contact point (f,): of the plane through it, at the origin."""
    n = dynamics.terrain.normal
    return np.concatenate([(block.point_position @ n / n[2]).min(axis=1) for block in dynamics.blocks()])


def _stationary_foot_heights(dynamics: MotionDynamics) -> Array:
    """Heights of the lowest points of feet while they are stationary."""
    parts = parts_matching(dynamics, FOOT_WORDS) or tuple(range(len(dynamics.contact_points.parts)))
    n = dynamics.terrain.normal
    found = [np.zeros(0)]
    for block in dynamics.blocks():
        rows = np.arange(len(block.point_position))
        for p in parts:
            indices = np.flatnonzero(dynamics.contact_points.part == p)
            heights = block.point_position[:, indices] @ n / n[2]  # of the plane through each point, at the origin
            low = np.argmin(heights, axis=1)
            found.append(heights[rows, low][np.linalg.norm(block.point_velocity[:, indices][rows, low], axis=1) < STATIONARY_SPEED])
    return np.concatenate(found)
