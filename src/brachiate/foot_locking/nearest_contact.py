"""Time to the nearest contact: distances in time from every frame to frames and intervals of contact, in linear time."""

from __future__ import annotations

import numpy as np

from brachiate.validation import Array


def time_to_nearest(times: Array, on: Array) -> Array:
    """Time from every frame to the nearest frame in which a flag holds: (f,) [s]; infinite if there is none.

    Args:
        times: Increasing times (f,) [s].
        on: Flags (f,).
    """
    marked = times[on]
    if not len(marked):
        return np.full(len(times), np.inf)
    after = np.searchsorted(marked, times)
    before, after = np.maximum(after - 1, 0), np.minimum(after, len(marked) - 1)
    return np.minimum(np.abs(times - marked[before]), np.abs(marked[after] - times))


def nearest_interval(times: Array, starts: Array, ends: Array) -> tuple[Array, Array]:
    """Time from every frame to the nearest of some intervals (f,) [s], and the index of that interval (f,); the earlier one of two.

    Args:
        times: Times (f,) [s].
        starts, ends: First and last times of the intervals, which do not overlap, in order (n,) [s]; at least one.
    """
    before = np.maximum(np.searchsorted(starts, times, side="right") - 1, 0)
    after = np.minimum(before + 1, len(starts) - 1)
    away, later = (np.maximum(np.maximum(starts[k] - times, times - ends[k]), 0.0) for k in (before, after))
    return np.minimum(away, later), np.where(later < away, after, before)
