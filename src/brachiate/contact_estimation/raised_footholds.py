"""Footholds above the ground: intervals in which a foot is at rest higher than the floor, on steps, boxes and rungs if it carries there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from brachiate.intervals import apply_hysteresis, sustained_intervals
from brachiate.validation import Array

MIN_RAISED_HEIGHT = 0.08  # [m] above the floor: lower ones are on the floor, which is as uncertain
REST_SPEED, REST_SPEED_OFF = 0.3, 0.5  # [m/s] of a foot at rest
MAX_HEIGHT_CHANGE = 0.03  # [m] of an end that stays in place
MIN_REST_DURATION = 0.15  # [s]
SAME_LEVEL = 0.04  # [m]


class RaisedFoothold(NamedTuple):
    """Interval in which a foot is at rest above the floor."""

    foot: int
    start: int
    end: int  # the frame after the last
    level: float  # [m] height of its lowest end
    ends: tuple[float, ...]  # [m] of all its ends
    known: bool = False  # whether another foothold at this level carries


def find_raised_footholds(height: Array, speed: Array, foot: int, floor: float, times: Array) -> Iterator[RaisedFoothold]:
    """Raised footholds of a foot: where an end of it stays in place, as a heel may hang and move beyond the edge of a step.

    Args:
        height: Of its ends (e, f) [m].
        speed: Of its ends (e, f) [m/s].
        foot: Number of the foot.
        floor: Height of the floor [m].
        times: (f,) [s].
    """
    still = np.array([apply_hysteresis(each < REST_SPEED, each < REST_SPEED_OFF) for each in speed]).any(axis=0)
    for first, last in sustained_intervals(times, still & (height.min(axis=0) > floor + MIN_RAISED_HEIGHT), MIN_REST_DURATION):
        span = slice(first, last + 1)
        slowest = speed[:, span].min(axis=0)
        rest = np.median(height[:, span][:, slowest <= np.median(slowest)], axis=1)
        near = np.abs(height[:, span] - rest[:, None]).min(axis=0) < MAX_HEIGHT_CHANGE
        for a, b in sustained_intervals(times[span], near, MIN_REST_DURATION):
            yield RaisedFoothold(foot, first + a, first + b + 1, float(rest.min()), tuple(rest.tolist()))


def with_known_levels(footholds: Sequence[RaisedFoothold], carries: Sequence[bool]) -> tuple[RaisedFoothold, ...]:
    """Footholds, of which those near the level of one that carries are known surfaces."""
    levels = [foothold.level for foothold, on in zip(footholds, carries, strict=True) if on]
    return tuple(foothold._replace(known=any(abs(foothold.level - level) < SAME_LEVEL for level in levels)) for foothold in footholds)
