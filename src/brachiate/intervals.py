"""Intervals of frames in which a flag holds: run-length operations on boolean arrays."""

from __future__ import annotations

import numpy as np

from brachiate.validation import Array

MIN_DURATION, MAX_GAP = 0.05, 0.05  # [s] shorter contacts are removed, shorter gaps between contacts are closed


def true_intervals(flags: Array) -> list[tuple[int, int]]:
    """Runs of True in flags (f,): first frame of each, and the frame after its last."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0], np.asarray(flags, int), [0]))))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))


def fill_short_gaps(flags: Array, times: Array, duration: float) -> Array:
    """Flags (f,) with True in all gaps between two runs of True whose frames span less than a duration [s]."""
    filled = flags.copy()
    for start, end in true_intervals(~flags):
        if start > 0 and end < len(flags) and times[end - 1] - times[start] < duration:
            filled[start:end] = True
    return filled


def drop_short_intervals(flags: Array, times: Array, duration: float, at_ends: bool = True) -> Array:
    """Flags (f,) without runs of True whose frames span less than a duration [s].

    ``at_ends``: drop also runs at the first or last frame, which may be cut off there.
    """
    kept = flags.copy()
    for start, end in true_intervals(flags):
        if (at_ends or (start > 0 and end < len(flags))) and times[end - 1] - times[start] < duration:
            kept[start:end] = False
    return kept


def apply_hysteresis(on: Array, stays: Array) -> Array:
    """Flags with hysteresis (f,): runs of ``stays`` (above the OFF threshold) in which ``on`` (above the ON threshold) is ever set."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0], stays.astype(np.int8), [0]))))
    out = np.zeros(len(on), bool)
    for start, end in zip(edges[::2], edges[1::2], strict=True):
        out[start:end] = on[start:end].any()
    return out


def sustained_intervals(times: Array, on: Array, min_duration: float = MIN_DURATION) -> list[tuple[int, int]]:
    """Closed intervals (first frame, last frame) of True, after closing gaps below MAX_GAP and removing those below ``min_duration`` [s].

    An interval that covers all frames is kept.
    """
    edges = np.flatnonzero(np.diff(np.concatenate(([0], on.astype(np.int8), [0]))))
    found: list[tuple[int, int]] = []
    for start, end in zip(edges[::2], edges[1::2] - 1, strict=True):
        if found and times[start] - times[found[-1][1]] < MAX_GAP:
            found[-1] = (found[-1][0], int(end))
        else:
            found.append((int(start), int(end)))
    return [(start, end) for start, end in found if times[end] - times[start] >= min_duration or (start == 0 and end == len(times) - 1)]
