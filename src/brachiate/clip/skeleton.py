"""Skeleton: named joints under one another, as motion files have them. It has no masses and no joint types."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from brachiate import validation
from brachiate.errors import MotionError
from brachiate.validation import Array

MOST_JOINTS = 2000


@dataclass(frozen=True)
class End:
    """A tip beyond the last joint of a limb: of which joint, and where along its axes [m]."""

    joint: int
    offset: Array


@dataclass(frozen=True)
class Skeleton:
    """Joints, parents before children. At rest the axes of all of them are those of the world: z up.

    Args:
        names: One for each joint.
        parents: Place of each joint's parent, -1 for the first one.
        offsets: Where each joint is along its parent's axes [m]: (n, 3).
        ends: Tips of limbs.
    """

    names: tuple[str, ...]
    parents: tuple[int, ...]
    offsets: Array
    ends: tuple[End, ...] = field(default=())

    def __post_init__(self) -> None:
        n = len(self.names)
        if not 0 < n <= MOST_JOINTS:
            raise MotionError(f"A skeleton has 1 to {MOST_JOINTS} joints; {n} were given.")
        twice = validation.unique(self.names)
        if twice:
            raise MotionError(f"Two joints are named {twice!r}. Names must differ.")
        if len(self.parents) != n or self.parents[0] != -1 or any(not 0 <= p < k for k, p in enumerate(self.parents) if k):
            raise MotionError("The first joint of a skeleton has the parent -1, and all others one that comes before them.")
        object.__setattr__(self, "offsets", validation.frozen(validation.numbers(self.offsets, (n, 3), "offsets").copy()))

    def __len__(self) -> int:
        return len(self.names)

    def index(self, name: str) -> int:
        """Place of a joint."""
        validation.named(dict.fromkeys(self.names), name, "joint", "this skeleton")
        return self.names.index(name)

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """Places of the children of each joint."""
        return tuple(tuple(k for k, p in enumerate(self.parents) if p == j) for j in range(len(self)))

    @cached_property
    def rest(self) -> Array:
        """Where joints are if none is turned and the first is in the origin [m]: (n, 3)."""
        places = np.zeros((len(self), 3))
        for j, p in enumerate(self.parents):
            if p >= 0:
                places[j] = places[p] + self.offsets[j]
        return validation.frozen(places)

    @cached_property
    def tips(self) -> Array:
        """Where ends of limbs are then [m]: (k, 3)."""
        return np.array([self.rest[end.joint] + end.offset for end in self.ends]).reshape(-1, 3)

    def chain(self, joint: int) -> list[int]:
        """The joints from the first to this one."""
        found = [joint]
        while self.parents[found[-1]] >= 0:
            found.append(self.parents[found[-1]])
        return found[::-1]

    def scaled(self, factor: float) -> Skeleton:
        """The same, larger or smaller."""
        return Skeleton(self.names, self.parents, factor * self.offsets, tuple(End(end.joint, factor * end.offset) for end in self.ends))

    @cached_property
    def depth_first(self) -> tuple[int, ...]:
        """All joints in the order in which files nest them: each before its children, and those before its brothers."""
        found, ahead = [], [0]
        while ahead:
            j = ahead.pop()
            found.append(j)
            ahead += reversed(self.children[j])
        return tuple(found)

    def below(self, joint: int) -> Sequence[int]:
        """A joint and all that hang on it."""
        found = [joint]
        for k in range(joint + 1, len(self)):
            if self.parents[k] in found:
                found.append(k)
        return found
