"""Frames on demand: those of a long reference are evaluated from splines in blocks when asked for, as all need kilobytes a step."""

from __future__ import annotations

import weakref
from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np

from brachiate.filter.reference.resampling import GroundFrame, TimeGrid
from brachiate.model.model import Model
from brachiate.motion.motion import Motion
from brachiate.motion.spline import CHUNK, MotionSpline
from brachiate.validation import Array

MAX_KEPT_FRAMES = 8192  # of a reference whose frames are kept
KEPT_BLOCKS = 2  # last blocks that are kept: a block and the frame after it are mostly asked for together


class OnDemand(ABC):
    """Value that is evaluated when it is asked for, and kept only while it is in use."""

    def __init__(self) -> None:
        self._found: weakref.ref[Any] | None = None

    def get(self) -> Any:
        """Evaluate the value, unless it is in use."""
        value = None if self._found is None else self._found()
        if value is None:
            value = self._evaluate()
            self._found = weakref.ref(value)
        return value

    @abstractmethod
    def _evaluate(self) -> Any:
        """Evaluate the value."""

    def __getstate__(self) -> dict[str, Any]:
        """Return the state to copy or pickle: without the value."""
        return self.__dict__ | {"_found": None}


class BlockFrames(ABC):
    """Arrays with one row per frame, evaluated in blocks that begin at multiples of the block length: numbers do not depend on the span.

    Args:
        count: Number of frames.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self._blocks: dict[int, tuple[Array, ...]] = {}

    @abstractmethod
    def _evaluate(self, frames: slice) -> tuple[Array, ...]:
        """Evaluate a block of frames."""

    def _block(self, start: int) -> tuple[Array, ...]:
        if start not in self._blocks:
            while len(self._blocks) >= KEPT_BLOCKS:
                del self._blocks[next(iter(self._blocks))]
            self._blocks[start] = self._evaluate(slice(start, min(start + CHUNK, self.count)))
        return self._blocks[start]

    def rows(self, column: int, frames: slice) -> Array:
        """Rows of one of the arrays for consecutive frames."""
        first, last, _ = frames.indices(self.count)
        if first >= last:
            return self._block(0)[column][:0].copy()
        starts = range(first // CHUNK * CHUNK, last, CHUNK)
        return np.concatenate([self._block(start)[column][max(first - start, 0) : last - start] for start in starts])

    def __getstate__(self) -> dict[str, Any]:
        """Return the state to copy or pickle: without blocks."""
        return self.__dict__ | {"_blocks": {}}


class Column(OnDemand):
    """One of the arrays of :class:`BlockFrames` over all frames.

    Args:
        frames: The arrays.
        index: Which of them.
    """

    def __init__(self, frames: BlockFrames, index: int) -> None:
        super().__init__()
        self.frames, self.index = frames, index

    def rows(self, frames: slice) -> Array:
        """Rows of consecutive frames."""
        return self.frames.rows(self.index, frames)

    def _evaluate(self) -> Array:
        count, first = self.frames.count, self.rows(slice(0, 1))
        values = np.zeros((count, *first.shape[1:]))
        for k in range(0, count, CHUNK):
            values[k : k + CHUNK] = self.rows(slice(k, k + CHUNK))
        return values


class SplineFrames(BlockFrames):
    """Configurations, velocities and accelerations along a spline.

    Args:
        spline: Smooth curve.
        times: Times of the frames [s]: (f,).
    """

    def __init__(self, spline: MotionSpline, times: Array) -> None:
        super().__init__(len(times))
        self.spline, self.times = spline, times

    def _evaluate(self, frames: slice) -> tuple[Array, ...]:
        states = self.spline.at(self.times[frames])
        return states.q, states.v, states.a


class OriginalFrames(BlockFrames):
    """Configurations of the source motion at the frames of the reference, moved onto its terrain.

    Args:
        spline: Through the frames of the source motion.
        grid: Time grid of the reference.
        frame: Ground frame.
    """

    def __init__(self, spline: MotionSpline, grid: TimeGrid, frame: GroundFrame) -> None:
        super().__init__(len(grid.times))
        self.spline, self.grid, self.frame = spline, grid, frame

    def _evaluate(self, frames: slice) -> tuple[Array, ...]:
        grid, frame, times = self.grid, self.frame, self.grid.times[frames]
        q = frame.from_source(self.spline.configurations(grid.source_times(times)), times, grid.first)
        return (frame.to_world(frame.to_terrain(q, times)),)


class MotionParts(NamedTuple):
    """What a motion has besides its frames."""

    figure: Model
    name: str
    assumptions: tuple[Any, ...]
    captured: bool


class MotionOnDemand(OnDemand):
    """Motion whose configurations are evaluated when it is asked for.

    Args:
        times: Times of its frames [s]: (f,).
        q: Configurations: (f, nq).
        parts: What else it has.
    """

    def __init__(self, times: Array, q: Column, parts: MotionParts) -> None:
        super().__init__()
        self.times, self.q, self.parts = times, q, parts

    def of_figure(self, figure: Model) -> MotionOnDemand:
        """The same motion of a figure with the same joints."""
        return MotionOnDemand(self.times, self.q, self.parts._replace(figure=figure))

    def _evaluate(self) -> Motion:
        figure, name, assumptions, captured = self.parts
        q = self.q.get()
        q.flags.writeable = False  # the motion has it to itself
        return Motion(figure, self.times, q, name, assumptions, captured=captured)
