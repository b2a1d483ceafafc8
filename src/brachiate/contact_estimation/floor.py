"""The ground under a motion: a floor, or the belt of a treadmill."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from brachiate.contact_estimation.motion_dynamics import Track
from brachiate.contact_estimation.parts import FEET, parts_of
from brachiate.validation import Array

NEAR = 0.025  # [m] above the ground: what is lower touches it
STILL = 0.3  # [m/s] what stays
SLOWEST_BELT, STEADY = 0.3, 0.3  # [m/s] of a treadmill, and by which share of it feet and body may be off
ONE_FLOOR = 0.06  # [m] levels that are no farther apart are one
LEVEL = 0.01  # [m] how sharp the level of a floor is
ENOUGH = 0.4  # of the time that feet stay on the level they stay on most, to be the floor below it


def belt_of(track: Track) -> tuple[float, float]:
    """Velocity of a treadmill's belt [m/s], if the body stays where it is, and its lowest foot always moves alike; else none."""
    mine = np.flatnonzero(np.isin(track.spots.part, parts_of(track, FEET)))
    if not len(mine):
        return 0.0, 0.0
    low = mine[np.argmin(track.place[:, mine] @ track.ground.normal, axis=1)]
    velocity = track.speed[np.arange(len(track)), low, :2]
    middle = np.median(velocity, axis=0)
    speed = float(np.hypot(*middle))
    drift = np.linalg.norm(track.joint[-1, 0, :2] - track.joint[0, 0, :2]) / max(track.times[-1] - track.times[0], 1e-9)
    steady = np.median(np.linalg.norm(velocity - middle, axis=1)) < STEADY * speed
    return (float(middle[0]), float(middle[1])) if speed > SLOWEST_BELT and steady and drift < STEADY * speed else (0.0, 0.0)


class Floor(NamedTuple):
    """The level that feet stay on, and up to which height above it they touch it [m]."""

    height: float
    near: float
    why: str


def floor_of(track: Track) -> Floor:
    """The lowest level on which feet stay for about as long as on any.

    Captured feet are often centimetres apart on one floor: levels as close as that are one, and what touches it may be as far off.
    """
    heights = _where_feet_stay(track)
    if len(heights) < 3:
        return Floor(0.0, NEAR, "no foot ever stays, so it is taken at the world's origin")
    bins = np.arange(heights.min() - 3 * LEVEL, heights.max() + 4 * LEVEL, LEVEL / 4)
    count = np.convolve(np.histogram(heights, bins)[0], np.ones(12), "same")  # within 1.5 levels
    # Feet that swing in the air stay for a moment as well, but then others, or they themselves, are lower at another time
    bottom = float(np.percentile(_lowest(track), 25))
    good = (count >= ENOUGH * count.max()) & (bins[:-1] < bottom + ONE_FLOOR)
    if not good.any():
        return Floor(0.0, NEAR, "no foot stays as low as the body comes, so it is taken at the world's origin")
    lowest = bins[int(np.argmax(good))]
    mine = heights[(heights > lowest - 1.5 * LEVEL) & (heights < lowest + ONE_FLOOR)]
    level = float(np.median(mine))
    near = float(np.clip(np.percentile(mine, 95) - level + LEVEL, NEAR, ONE_FLOOR))
    return Floor(level, near, f"where feet stay {100 * len(mine) / len(heights):.0f} % of the time they do")


def _lowest(track: Track) -> Array:
    """Height of the lowest spot of all (f,), of the plane through it at the origin."""
    n = track.ground.normal
    return (track.place @ n / n[2]).min(axis=1)


def _where_feet_stay(track: Track) -> Array:
    """Heights of the lowest spots of feet while they stay."""
    parts = parts_of(track, FEET) or tuple(range(len(track.spots.parts)))
    n, rows = track.ground.normal, np.arange(len(track))
    found = [np.zeros(0)]
    for p in parts:
        mine = np.flatnonzero(track.spots.part == p)
        heights = track.place[:, mine] @ n / n[2]  # at the origin, of the plane through each
        low = np.argmin(heights, axis=1)
        found.append(heights[rows, low][np.linalg.norm(track.speed[:, mine][rows, low], axis=1) < STILL])
    return np.concatenate(found)
