"""Markers of motion capture: positions over time, with gaps where a marker was not visible."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from brachiate import validation
from brachiate.assumptions import Assumption
from brachiate.errors import ArgumentError, MotionError
from brachiate.validation import Array


class Gap(NamedTuple):
    """Gap of a marker: frames from ``first`` to just before ``end``, and the time between the visible frames around it [s].

    A gap at the beginning or the end of a recording has an infinite duration.
    """

    name: str
    first: int
    end: int
    duration: float


@dataclass(frozen=True)
class Markers:
    """Positions of markers, frame by frame; in meters, z up. A marker that was not visible is NaN.

    Args:
        names: Names of the markers.
        times: Times of the frames, increasing [s]: (f,).
        positions: Positions (f, m, 3) [m].
        name: Name of the recording.
        assumptions: Assumptions made when it was read.
    """

    names: tuple[str, ...]
    times: Array
    positions: Array
    name: str = "markers"
    assumptions: tuple[Assumption, ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        f, m = len(self.times), len(self.names)
        object.__setattr__(self, "names", tuple(self.names))
        if f < 1 or m < 1:
            raise MotionError(f"At least one frame and one marker are needed; got {f} frames of {m} markers.")
        twice = validation.first_duplicate(self.names)
        if twice:
            raise MotionError(f"Two markers are named {twice!r}. Names must differ.")
        object.__setattr__(self, "times", validation.frozen(validation.numbers(self.times, (f,), "times")))
        if f > 1 and not (np.diff(self.times) > 0).all():
            raise MotionError(f"Times must increase from frame to frame; frame {int(np.argmin(np.diff(self.times))) + 1} does not.")
        positions = validation.reals(self.positions, "positions", f"an array of shape {(f, m, 3)}")
        if positions.shape != (f, m, 3):
            raise ArgumentError(f"positions: expected an array of shape {(f, m, 3)}, got shape {positions.shape}.")
        finite = np.isfinite(positions)
        wrong = np.isinf(positions).any(axis=-1) | (finite.any(axis=-1) != finite.all(axis=-1))
        if wrong.any():
            frame, marker = np.argwhere(wrong)[0]
            raise MotionError(
                f"Marker {self.names[marker]!r} in frame {frame} is at {positions[frame, marker]}: expected three finite numbers, "
                "or three NaN where it was not visible."
            )
        object.__setattr__(self, "positions", validation.frozen(positions))

    def __len__(self) -> int:
        return len(self.times)

    def __getitem__(self, name: str) -> Array:
        """Positions of one marker [m]: (f, 3)."""
        return self.positions[:, self.index(name)]

    @property
    def rate(self) -> float:
        """Mean frame rate [Hz]; 0 for a single frame."""
        return (len(self) - 1) / float(self.times[-1] - self.times[0]) if len(self) > 1 else 0.0

    @property
    def visible(self) -> Array:
        """Whether each marker is visible in each frame: (f, m)."""
        return np.isfinite(self.positions[..., 0])

    def index(self, name: str) -> int:
        """Index of a marker."""
        validation.lookup(dict.fromkeys(self.names), name, "marker", "this recording")
        return self.names.index(name)

    def select(self, names: Iterable[str]) -> Markers:
        """Return some of the markers, in the given order."""
        if isinstance(names, str):
            raise ArgumentError(f"names: expected several names, such as [{names!r}], got the text {names!r}.")
        chosen = tuple(names)
        return replace(self, names=chosen, positions=self.positions[:, [self.index(name) for name in chosen]])

    def frames(self, which: slice) -> Markers:
        """Return some of the frames, at their times."""
        return replace(self, times=self.times[which], positions=self.positions[which])

    def gaps(self) -> list[Gap]:
        """Gaps by marker, in order of time."""
        found = []
        for m, name in enumerate(self.names):
            lost = np.concatenate(([False], ~self.visible[:, m], [False])).astype(int)
            for first, end in zip(np.flatnonzero(np.diff(lost) == 1), np.flatnonzero(np.diff(lost) == -1), strict=True):
                inside = first > 0 and end < len(self)
                duration = float(self.times[end] - self.times[first - 1]) if inside else np.inf
                found.append(Gap(name, int(first), int(end), duration))
        return found

    def fill_gaps(self, max_duration: float = 0.1) -> Markers:
        """Return the markers with short gaps filled, by the cubic through the two frames before and the two after each.

        Args:
            max_duration: Longest gap to fill [s]. Gaps at the beginning and the end are never filled.
        """
        max_duration = validation.number(max_duration, "max_duration", minimum=0.0)
        positions, count = self.positions.copy(), 0
        for gap in self.gaps():
            if gap.duration > max_duration:
                continue
            m = self.index(gap.name)
            visible = np.flatnonzero(self.visible[:, m])
            near = np.concatenate((visible[visible < gap.first][-2:], visible[visible >= gap.end][:2]))
            inside = slice(gap.first, gap.end)
            positions[inside, m] = _lagrange(self.times[near], self.positions[near, m], self.times[inside])
            count += 1
        if not count:
            return self
        assumption = Assumption("gaps", f"{count} filled", f"none lasts longer than {max_duration:g} s", "max_duration")
        return replace(self, positions=positions, assumptions=(*self.assumptions, assumption))


def _lagrange(times: Array, points: Array, at: Array) -> Array:
    """Lagrange polynomial through points (k, 3) at some times, evaluated at other times: (f, 3)."""
    result = np.zeros((len(at), 3))
    for k, point in enumerate(points):
        others = np.delete(times, k)
        result += np.prod((at[:, None] - others) / (times[k] - others), axis=1)[:, None] * point
    return result
