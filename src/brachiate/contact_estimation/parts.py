"""Parts of a body by name, how each moves, and when something is so for a while."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from brachiate.anatomy.contact_points import BALL, HEEL, TOE
from brachiate.contact_estimation.motion_dynamics import Track
from brachiate.motion.terrain import Ground
from brachiate.validation import Array

SHORTEST, GAP = 0.05, 0.05  # [s] contacts and pauses that are too short to be any
FEET = (HEEL, TOE, BALL, "foot", "toes", "ankle", "sole")
SEAT = ("pelvis", "thigh", "hip", "buttock")
HANDS = ("hand", "wrist", "palm", "finger")


def parts_of(track: Track, words: Sequence[str]) -> tuple[int, ...]:
    """Parts whose name, or link, has one of these words in it."""
    names = zip(track.spots.parts, track.spots.links, strict=True)
    return tuple(k for k, (part, link) in enumerate(names) if any(word in part.lower() or word in link.lower() for word in words))


def motion_of_part(track: Track, ground: Ground, part: int) -> tuple[Array, Array, Array]:
    """Of a part's lowest spot: its height above the ground [m], its speed along it, and away from it [m/s]: each (f,)."""
    known = track.known.get((ground, part))
    if known is None:
        known = track.known[ground, part] = _motion_of_part(track, ground, part)
    return known


def _motion_of_part(track: Track, ground: Ground, part: int) -> tuple[Array, Array, Array]:
    mine = np.flatnonzero(track.spots.part == part)
    height = ground.above(track.place[:, mine])
    low, rows = np.argmin(height, axis=1), np.arange(len(track))
    velocity = track.speed[:, mine][rows, low]
    away = velocity @ ground.normal
    return height[rows, low], np.linalg.norm(velocity - away[:, None] * ground.normal, axis=1), away


def with_hysteresis(on: Array, stays: Array) -> Array:
    """On where it is switched on, and from there both ways for as long as it stays."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0], stays.astype(np.int8), [0]))))
    out = np.zeros(len(on), bool)
    for start, end in zip(edges[::2], edges[1::2], strict=True):
        out[start:end] = on[start:end].any()
    return out


def spells(times: Array, on: Array, shortest: float = SHORTEST) -> list[tuple[int, int]]:
    """First and last frames of each time it is on: short pauses are overlooked, and then what is short."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0], on.astype(np.int8), [0]))))
    found: list[tuple[int, int]] = []
    for start, end in zip(edges[::2], edges[1::2] - 1, strict=True):
        if found and times[start] - times[found[-1][1]] < GAP:
            found[-1] = (found[-1][0], int(end))
        else:
            found.append((int(start), int(end)))
    return [(start, end) for start, end in found if times[end] - times[start] >= shortest or (start == 0 and end == len(times) - 1)]
