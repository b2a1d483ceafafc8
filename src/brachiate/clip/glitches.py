"""Glitches of captured joints: frames and flips in which a joint jumps faster than a body moves, found and repaired.

The jumps of a joint split its frames into segments. Kept is the chain of segments with the most frames whose ends a body can have moved
between; the frames left out are interpolated. A segment between two opposite jumps that is too long for that is a flip of the axes of the
joint, and is turned back. Everything else stays bit for bit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from brachiate import rotations
from brachiate.assumptions import Assumption
from brachiate.clip.clip import Clip
from brachiate.validation import Array

MAX_GAP, MAX_END = 0.25, 0.1  # [s] of frames that are left out between two segments; before the first one and after the last one
FLIP_TOLERANCE = 0.5  # [rad] between the turns of a joint at both ends of a flip
MIN_FLIP = 1.0  # [rad] of such a turn
MAX_ROTATION = 1.5  # [rad] between the segments before and after an interpolated gap
MAX_LISTED = 6  # joints, and intervals of each


class _Bounds(NamedTuple):
    """Bounds of human motion."""

    jump_speed: float  # [rad/s or m/s] faster steps from frame to frame are jumps
    gap_speed: float  # between the segments before and after a gap
    excursion: float  # [rad or m] smaller deviations from the interpolated path are left as they are


# The fastest joint rotations of people, those of a thrower's shoulder, build up over tens of milliseconds
ROTATION, TRANSLATION = _Bounds(40.0, 30.0, 0.35), _Bounds(20.0, 12.0, 0.1)


class Repair(NamedTuple):
    """Frames of a joint that were repaired."""

    joint: str
    first: int  # frame
    last: int
    size: float  # largest change
    unit: str  # "rad" or "m"
    is_flip: bool


def repair_glitches(clip: Clip, first: int = 0) -> Clip:
    """Return the clip without glitches of joints; the repaired frames are listed in its assumptions.

    Args:
        clip: The clip.
        first: First frame that may be repaired or relied upon.
    """
    if len(clip) - first < 4:
        return clip
    q, x, times = clip.rotations[first:].copy(), clip.translations[first:].copy(), clip.times[first:]
    found = []
    for j, name in enumerate(clip.skeleton.names):
        for values, tangent, bounds, unit in ((q[:, j], _Rotations, ROTATION, "rad"), (x[:, j], _Translations, TRANSLATION, "m")):
            found += [
                repair._replace(joint=name, first=repair.first + first, last=repair.last + first, unit=unit)
                for repair in _repair_joint(values, times, tangent, bounds)
            ]
    if not found:
        return clip
    rotations_, translations = clip.rotations.copy(), clip.translations.copy()
    rotations_[first:], translations[first:] = q, x
    return replace(clip, rotations=rotations_, translations=translations, assumptions=(*clip.assumptions, *_assumptions(found)))


def _assumptions(found: list[Repair]) -> Iterator[Assumption]:
    """Assumptions that name the repaired joints and frames."""
    for is_flip, quantity, why in (
        (False, "repaired frames", "it jumps there, faster than a body moves, and is interpolated"),
        (True, "flipped joints", "it jumps by this angle and later back, and is turned back between"),
    ):
        joints: dict[str, list[Repair]] = {}
        for repair in found:
            if repair.is_flip == is_flip:
                joints.setdefault(repair.joint, []).append(repair)
        names = list(joints)
        texts = [_describe(name, joints[name]) for name in names[:MAX_LISTED]]
        if texts:
            more = f", and of {len(names) - MAX_LISTED} more joints" if len(names) > MAX_LISTED else ""
            yield Assumption(quantity, "; ".join(texts) + more, why, "repair")


def _describe(name: str, repairs: list[Repair]) -> str:
    frames = [str(r.first) if r.first == r.last else f"{r.first}-{r.last}" for r in sorted(repairs, key=lambda r: r.first)]
    more = f" and {len(frames) - MAX_LISTED} more" if len(frames) > MAX_LISTED else ""
    largest = max(repairs, key=lambda r: r.size)
    return f"{name} {', '.join(frames[:MAX_LISTED])}{more} (by up to {largest.size:.2g} {largest.unit})"


class _Translations:
    """Positions as points of a vector space."""

    @staticmethod
    def difference(a: Array, b: Array) -> Array:
        """b ⊖ a: (..., 3)."""
        return b - a

    @staticmethod
    def add(a: Array, d: Array) -> Array:
        """a ⊕ d."""
        return a + d


class _Rotations:
    """Unit quaternions with rotation vectors as their differences."""

    @staticmethod
    def difference(a: Array, b: Array) -> Array:
        """b ⊖ a: rotation vectors (..., 3) [rad] in the axes of a."""
        return rotations.to_rotation_vector(rotations.product(rotations.inverse(a), b))

    @staticmethod
    def add(a: Array, d: Array) -> Array:
        """a ⊕ d."""
        return rotations.product(a, rotations.from_rotation_vector(d))


_Tangent = type[_Rotations] | type[_Translations]


def _repair_joint(values: Array, times: Array, tangent: _Tangent, bounds: _Bounds) -> Iterator[Repair]:
    """Repair the values (f, ...) of a joint in place."""
    steps = np.linalg.norm(tangent.difference(values[:-1], values[1:]), axis=-1)
    jumps = np.flatnonzero(steps > bounds.jump_speed * np.diff(times))
    if not len(jumps):
        return
    starts, ends = np.concatenate(([0], jumps + 1)), np.concatenate((jumps, [len(values) - 1]))
    chain = _longest_chain(values, times, starts, ends, tangent, bounds)
    kept = [(int(starts[i]), int(ends[i])) for i in chain]
    for before, after in zip([None, *kept], [*kept, None], strict=True):
        first, last = 0 if before is None else before[1] + 1, len(values) - 1 if after is None else after[0] - 1
        if first > last:
            continue
        path = _interpolate(values, times, before, after, slice(first, last + 1), tangent)
        size = float(np.linalg.norm(tangent.difference(path, values[first : last + 1]), axis=-1).max())
        if size > bounds.excursion:
            values[first : last + 1] = path
            yield Repair("", first, last, size, "", False)
    if tangent is _Rotations:
        yield from _turn_flips_back(values, times, bounds)


def _longest_chain(values: Array, times: Array, starts: Array, ends: Array, tangent: _Tangent, bounds: _Bounds) -> list[int]:
    """Segments that are kept: most frames, less those of MAX_GAP for each jump that remains between two of them."""
    penalty = MAX_GAP / float(np.median(np.diff(times)))
    score, previous = np.zeros(len(starts)), np.full(len(starts), -1)
    nearest = np.searchsorted(times[ends], times[starts] - MAX_GAP)  # first segments that are near enough
    for i, start in enumerate(starts):
        best = 0.0 if times[start] - times[0] <= MAX_END else -np.inf
        if i:
            before = slice(min(int(nearest[i]), i - 1), i)
            gaps = times[start] - times[ends[before]]
            distances = np.linalg.norm(tangent.difference(values[ends[before]], values[start]), axis=-1)
            possible = (distances <= bounds.gap_speed * gaps) & (distances < MAX_ROTATION)
            gains = score[before] - np.where(possible, 0.0, penalty)
            latest = len(gains) - 1 - int(gains[::-1].argmax())  # of equal ones
            if gains[latest] > best:
                best, previous[i] = float(gains[latest]), before.start + latest
        score[i] = best + ends[i] - start + 1
    last = [i for i in range(len(ends)) if times[-1] - times[ends[i]] <= MAX_END]
    chain = [max(last, key=lambda i: float(score[i]))]
    while previous[chain[-1]] >= 0:
        chain.append(int(previous[chain[-1]]))
    return chain[::-1]


def _interpolate(
    values: Array, times: Array, before: tuple[int, int] | None, after: tuple[int, int] | None, gap: slice, tangent: _Tangent
) -> Array:
    """Values in a gap: a cubic with the rates at the ends of the segments before and after, a line at an end of the motion."""
    n, t = gap.stop - gap.start, times[gap]
    if before is None or after is None:
        at = after[0] if after is not None else before[1]  # type: ignore[index]
        other = min(at + n, after[1]) if after is not None else max(at - n, before[0])  # type: ignore[index]
        rate = tangent.difference(values[at], values[other]) / (times[other] - times[at]) if other != at else np.zeros(3)
        return tangent.add(values[at], (t - times[at])[:, None] * rate)
    a, b = before[1], after[0]
    d = tangent.difference(values[a], values[b])
    rates = []
    for at, other in ((a, max(a - n, before[0])), (b, min(b + n, after[1]))):
        near = tangent.difference(values[a], values[other])
        mean = d / (times[b] - times[a])
        rates.append(mean if other == at else (near - (0.0 if at == a else d)) / (times[other] - times[at]))
    h = times[b] - times[a]
    s = ((t - times[a]) / h)[:, None]
    path = h * (s * (1 - s) ** 2 * rates[0] - s * s * (1 - s) * rates[1]) + s * s * (3 - 2 * s) * d
    return tangent.add(values[a], path)


def _turn_flips_back(q: Array, times: Array, bounds: _Bounds) -> Iterator[Repair]:
    """Turn back segments between two opposite jumps of a joint's axes; in place."""
    steps = np.linalg.norm(_Rotations.difference(q[:-1], q[1:]), axis=-1)
    jumps = np.flatnonzero((steps > bounds.jump_speed * np.diff(times)) & (steps > MIN_FLIP)).tolist()
    while len(jumps) >= 2:
        a, b = jumps[0] + 1, jumps[1]
        turns = [_Rotations.difference(q[b], q[b + 1]), _Rotations.difference(q[a], q[a - 1])]
        apart = float(np.linalg.norm(_Rotations.difference(*(rotations.from_rotation_vector(turn) for turn in turns))))
        if apart > FLIP_TOLERANCE or 2 * (b - a + 1) > len(q):
            jumps.pop(0)
            continue
        s = ((times[a : b + 1] - times[a]) / max(times[b] - times[a], 1e-9))[:, None]
        turn_a, turn_b = (rotations.from_rotation_vector(turn) for turn in reversed(turns))
        change = _Rotations.difference(turn_a, turn_b)
        q[a : b + 1] = rotations.product(q[a : b + 1], _Rotations.add(turn_a, s * change))
        yield Repair("", a, b, float(steps[a - 1]), "", True)
        jumps = jumps[2:]
