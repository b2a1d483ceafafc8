"""Markers: points on a body that cameras have followed. They have gaps where no camera saw them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from brachiate import validation
from brachiate.assumptions import Guess
from brachiate.errors import ArgumentError, MotionError
from brachiate.validation import Array


class Gap(NamedTuple):
    """Frames without a marker: from ``first`` to just before ``end``, and the time from when it was seen last to when it is seen again.

    A gap at the beginning or the end of a recording lasts infinitely long.
    """

    name: str
    first: int
    end: int
    duration: float


@dataclass(frozen=True)
class Markers:
    """Where markers are, frame by frame; in metres, z up. A marker that was not seen is NaN: here, and nowhere else in this package.

    Args:
        names: One for each marker.
        times: Of each frame [s], growing: (f,).
        positions: (f, m, 3) [m].
        name: What was recorded.
        guesses: What was assumed when it was read.
    """

    names: tuple[str, ...]
    times: Array
    positions: Array
    name: str = "markers"
    guesses: tuple[Guess, ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        f, m = len(self.times), len(self.names)
        object.__setattr__(self, "names", tuple(self.names))
        if f < 1 or m < 1:
            raise MotionError(f"Markers have one frame and one marker at least; {f} frames of {m} markers were given.")
        twice = validation.unique(self.names)
        if twice:
            raise MotionError(f"Two markers are named {twice!r}. Names must differ.")
        object.__setattr__(self, "times", validation.frozen(validation.numbers(self.times, (f,), "times")))
        if f > 1 and not (np.diff(self.times) > 0).all():
            raise MotionError(f"Times must grow from frame to frame; frame {int(np.argmin(np.diff(self.times))) + 1} does not.")
        places = validation.reals(self.positions, "positions", f"an array of shape {(f, m, 3)}")
        if places.shape != (f, m, 3):
            raise ArgumentError(f"positions: expected an array of shape {(f, m, 3)}, got shape {places.shape}.")
        there = np.isfinite(places)
        wrong = np.isinf(places).any(axis=-1) | (there.any(axis=-1) != there.all(axis=-1))
        if wrong.any():
            frame, marker = np.argwhere(wrong)[0]
            raise MotionError(
                f"Marker {self.names[marker]!r} in frame {frame} is at {places[frame, marker]}: expected three finite numbers, "
                "or three NaN where it was not seen."
            )
        object.__setattr__(self, "positions", validation.frozen(places))

    def __len__(self) -> int:
        return len(self.times)

    def __getitem__(self, name: str) -> Array:
        """Where one marker is [m]: (f, 3)."""
        return self.positions[:, self.index(name)]

    @property
    def rate(self) -> float:
        """Frames a second, on the average; 0 for a single one."""
        return (len(self) - 1) / float(self.times[-1] - self.times[0]) if len(self) > 1 else 0.0

    @property
    def seen(self) -> Array:
        """Whether each marker is there in each frame: (f, m)."""
        return np.isfinite(self.positions[..., 0])

    def index(self, name: str) -> int:
        """Place of a marker."""
        validation.named(dict.fromkeys(self.names), name, "marker", "this recording")
        return self.names.index(name)

    def only(self, names: Iterable[str]) -> Markers:
        """Some of the markers, in the order given."""
        if isinstance(names, str):
            raise ArgumentError(f"names: expected several names, such as [{names!r}], got the text {names!r}.")
        chosen = tuple(names)
        return replace(self, names=chosen, positions=self.positions[:, [self.index(name) for name in chosen]])

    def frames(self, which: slice) -> Markers:
        """Some of the frames, at the times they have."""
        return replace(self, times=self.times[which], positions=self.positions[which])

    def gaps(self) -> list[Gap]:
        """Where markers are missing: marker by marker, early ones first."""
        found = []
        for m, name in enumerate(self.names):
            lost = np.concatenate(([False], ~self.seen[:, m], [False])).astype(int)
            for first, end in zip(np.flatnonzero(np.diff(lost) == 1), np.flatnonzero(np.diff(lost) == -1), strict=True):
                inside = first > 0 and end < len(self)
                duration = float(self.times[end] - self.times[first - 1]) if inside else np.inf
                found.append(Gap(name, int(first), int(end), duration))
        return found

    def filled(self, longest: float = 0.1) -> Markers:
        """The same with its short gaps filled, by the cubic through the two frames before and the two after each.

        Args:
            longest: How long a gap may last to be filled [s]. Gaps at the beginning and the end are left.
        """
        longest = validation.number(longest, "longest", least=0.0)
        places, count = self.positions.copy(), 0
        for gap in self.gaps():
            if gap.duration > longest:
                continue
            m = self.index(gap.name)
            seen = np.flatnonzero(self.seen[:, m])
            near = np.concatenate((seen[seen < gap.first][-2:], seen[seen >= gap.end][:2]))
            inside = slice(gap.first, gap.end)
            places[inside, m] = _through(self.times[near], self.positions[near, m], self.times[inside])
            count += 1
        if not count:
            return self
        told = Guess("gaps", f"{count} filled", f"none of them lasts longer than {longest:g} s", "longest")
        return replace(self, positions=places, guesses=(*self.guesses, told))


def _through(times: Array, points: Array, at: Array) -> Array:
    """The polynomial through points (k, 3) at times, at other times: (f, 3). Lagrange's form."""
    result = np.zeros((len(at), 3))
    for k, point in enumerate(points):
        others = np.delete(times, k)
        result += np.prod((at[:, None] - others) / (times[k] - others), axis=1)[:, None] * point
    return result
