"""Clip: motion of a skeleton, as rotations and translations of its joints over time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from brachiate import rotations, validation
from brachiate.assumptions import Assumption
from brachiate.clip.skeleton import Skeleton
from brachiate.errors import ArgumentError, MotionError
from brachiate.validation import Array


def freeze_frames(owner: Any, shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Replace the arrays of a frozen dataclass by read-only ones of the given shapes; its ``times`` must increase."""
    times = validation.reals(owner.times, "times", "increasing numbers [s]")
    if times.ndim != 1 or not np.isfinite(times).all():
        raise ArgumentError(f"times: expected finite, increasing numbers [s], got {validation.short_repr(owner.times)}.")
    if len(times) < 1:
        raise MotionError(f"A {type(owner).__name__.lower()} has at least one frame.")
    steps = np.diff(times)
    if not (steps > 0).all():
        raise MotionError(f"Times must increase from frame to frame; frame {int(np.argmin(steps)) + 1} does not.")
    for name, shape in {"times": times.shape, **shapes}.items():
        object.__setattr__(owner, name, validation.frozen_numbers(getattr(owner, name), shape, name))


def check_slice(which: slice) -> int:
    """Return the step of a selection of frames, or raise an error if it is not a slice of whole numbers with a step of 1 or more."""
    if not isinstance(which, slice) or not all(x is None or isinstance(x, int | np.integer) for x in (which.start, which.stop, which.step)):
        raise ArgumentError(f"frames: expected a slice of whole numbers, such as slice(0, 100), got {validation.short_repr(which)}.")
    step = 1 if which.step is None else int(which.step)
    if step < 1:
        raise MotionError(f"frames={which} must have a step of 1 or more.")
    return step


def check_selection(which: slice, count: int, name: str) -> None:
    """Raise an error if a selection of frames is not a slice, or selects none of the ``count`` frames of a motion."""
    check_slice(which)
    if not range(count)[which]:
        raise MotionError(f"{name} has {count} frames, numbered 0 to {count - 1}: none of them is in frames={which}. Select others.")


@dataclass(frozen=True)
class Origin:
    """File conventions of a clip, so that it can be written back in the same way.

    Args:
        format: Format, such as ``"BVH"``.
        unit: Length of one unit [m].
        up: Up axis: ``"x"``, ``"y"`` or ``"z"``.
        channels: Letters of the channels of each joint, in order: capitals are positions.
    """

    format: str
    unit: float = 1.0
    up: str = "z"
    channels: tuple[str, ...] = ()


@dataclass(frozen=True)
class Clip:
    """Rotation and translation of every joint of a skeleton in its parent, frame by frame; in meters, z up.

    Args:
        skeleton: The skeleton.
        times: Times of the frames, increasing [s]: (f,).
        rotations: Rotations in the parent, or of the root in the world, unit quaternions (w, x, y, z): (f, n, 4).
        translations: Positions in the parent, or of the root in the world [m]: (f, n, 3).
        name: Name of the clip.
        assumptions: Assumptions made when it was read.
        origin: Conventions of its file.
    """

    skeleton: Skeleton
    times: Array
    rotations: Array
    translations: Array
    name: str = "motion"
    assumptions: tuple[Assumption, ...] = field(default=(), compare=False)
    origin: Origin | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.skeleton, Skeleton):
            raise ArgumentError(f"skeleton: expected a Skeleton, got {validation.short_repr(self.skeleton)}.")
        f, n = np.size(self.times), len(self.skeleton)
        freeze_frames(self, {"rotations": (f, n, 4), "translations": (f, n, 3)})

    def __len__(self) -> int:
        return len(self.times)

    @property
    def duration(self) -> float:
        """Time from the first frame to the last [s]."""
        return float(self.times[-1] - self.times[0])

    @property
    def rate(self) -> float:
        """Mean frame rate [Hz]; 0 for a single frame."""
        return (len(self) - 1) / self.duration if len(self) > 1 else 0.0

    @cached_property
    def _world(self) -> tuple[Array, Array]:
        q, x = np.empty(self.rotations.shape), np.empty(self.translations.shape)
        for j, p in enumerate(self.skeleton.parents):
            if p < 0:
                q[:, j], x[:, j] = self.rotations[:, j], self.translations[:, j]
            else:
                q[:, j] = rotations.product(q[:, p], self.rotations[:, j])
                x[:, j] = x[:, p] + rotations.rotate(q[:, p], self.translations[:, j])
        return validation.frozen(q), validation.frozen(x)

    @property
    def orientations(self) -> Array:
        """Orientations of all joints in the world: (f, n, 4)."""
        return self._world[0]

    @property
    def positions(self) -> Array:
        """Positions of all joints in the world [m]: (f, n, 3)."""
        return self._world[1]

    @cached_property
    def tips(self) -> Array:
        """Limb tips in the world [m]: (f, k, 3)."""
        q, x = self._world
        positions = [x[:, end.joint] + rotations.rotate(q[:, end.joint], end.offset) for end in self.skeleton.ends]
        return np.stack(positions, axis=1) if positions else np.zeros((len(self), 0, 3))

    def frames(self, which: slice) -> Clip:
        """Return the clip with some of its frames, at their times."""
        check_selection(which, len(self), self.name)
        return replace(self, times=self.times[which], rotations=self.rotations[which], translations=self.translations[which])
