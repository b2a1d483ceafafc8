"""Clip: a skeleton that moves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from brachiate import rotations, validation
from brachiate.assumptions import Guess
from brachiate.clip.skeleton import Skeleton
from brachiate.errors import MotionError
from brachiate.validation import Array


def take_frames(owner: Any, shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Freeze copies of a frozen dataclass's arrays, which must have these shapes; its ``times`` must grow."""
    times = validation.numbers(owner.times, (len(owner.times),), "times")
    if len(times) < 1:
        raise MotionError(f"A {type(owner).__name__.lower()} has one frame at least.")
    steps = np.diff(times)
    if not (steps > 0).all():
        raise MotionError(f"Times must grow from frame to frame; frame {int(np.argmin(steps)) + 1} does not.")
    for name, shape in {"times": times.shape, **shapes}.items():
        object.__setattr__(owner, name, validation.frozen(validation.numbers(getattr(owner, name), shape, name).copy()))


@dataclass(frozen=True)
class Origin:
    """How a clip was written in its file, so that it can be written back in the same way.

    Args:
        format: Such as ``"BVH"``.
        unit: Length of one unit [m].
        up: ``"x"``, ``"y"`` or ``"z"``.
        channels: For each joint the letters of its channels, in order: capitals are positions.
    """

    format: str
    unit: float = 1.0
    up: str = "z"
    channels: tuple[str, ...] = ()


@dataclass(frozen=True)
class Clip:
    """How every joint of a skeleton is turned and placed in its parent, frame by frame; in metres, z up.

    Args:
        skeleton: Whose motion.
        times: Of each frame [s], growing: (f,).
        turns: Unit quaternions (w, x, y, z): (f, n, 4).
        places: Along the parent's axes, or the world's [m]: (f, n, 3).
        name: What it shows.
        guesses: What was assumed when it was read.
        origin: How its file had it.
    """

    skeleton: Skeleton
    times: Array
    turns: Array
    places: Array
    name: str = "motion"
    guesses: tuple[Guess, ...] = field(default=(), compare=False)
    origin: Origin | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        f, n = len(self.times), len(self.skeleton)
        take_frames(self, {"turns": (f, n, 4), "places": (f, n, 3)})

    def __len__(self) -> int:
        return len(self.times)

    @property
    def duration(self) -> float:
        """From the first frame to the last [s]."""
        return float(self.times[-1] - self.times[0])

    @property
    def rate(self) -> float:
        """Frames a second, on the average; 0 for a single one."""
        return (len(self) - 1) / self.duration if len(self) > 1 else 0.0

    @cached_property
    def _world(self) -> tuple[Array, Array]:
        q, x = np.empty(self.turns.shape), np.empty(self.places.shape)
        for j, p in enumerate(self.skeleton.parents):
            if p < 0:
                q[:, j], x[:, j] = self.turns[:, j], self.places[:, j]
            else:
                q[:, j] = rotations.product(q[:, p], self.turns[:, j])
                x[:, j] = x[:, p] + rotations.turned(q[:, p], self.places[:, j])
        return validation.frozen(q), validation.frozen(x)

    @property
    def orientations(self) -> Array:
        """Of all joints in the world: (f, n, 4)."""
        return self._world[0]

    @property
    def positions(self) -> Array:
        """Of all joints in the world [m]: (f, n, 3)."""
        return self._world[1]

    @cached_property
    def tips(self) -> Array:
        """Ends of limbs in the world [m]: (f, k, 3)."""
        q, x = self._world
        places = [x[:, end.joint] + rotations.turned(q[:, end.joint], end.offset) for end in self.skeleton.ends]
        return np.stack(places, axis=1) if places else np.zeros((len(self), 0, 3))

    def frames(self, which: slice) -> Clip:
        """Some of the frames, at the times they have."""
        return replace(self, times=self.times[which], turns=self.turns[which], places=self.places[which])
