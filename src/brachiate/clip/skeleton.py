"""Skeleton: hierarchy of named joints, without masses and joint types, as in motion files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from brachiate import validation
from brachiate.errors import MotionError
from brachiate.validation import Array

MAX_JOINTS = 2000


@dataclass(frozen=True)
class End:
    """Limb tip beyond a joint: index of the joint, and offset in its axes [m]."""

    joint: int
    offset: Array


@dataclass(frozen=True)
class Skeleton:
    """Hierarchy of joints, parents before children. In the rest pose all joint axes are those of the world: z up.

    Args:
        names: Names of the joints.
        parents: Index of the parent of each joint, -1 for the root.
        offsets: Position of each joint in its parent [m]: (n, 3).
        ends: Limb tips.
    """

    names: tuple[str, ...]
    parents: tuple[int, ...]
    offsets: Array
    ends: tuple[End, ...] = field(default=())

    def __post_init__(self) -> None:
        n = len(self.names)
        if not 0 < n <= MAX_JOINTS:
            raise MotionError(f"A skeleton has 1 to {MAX_JOINTS} joints; got {n}.")
        twice = validation.first_duplicate(self.names)
        if twice:
            raise MotionError(f"Two joints are named {twice!r}. Names must differ.")
        if len(self.parents) != n or self.parents[0] != -1 or any(not 0 <= p < k for k, p in enumerate(self.parents) if k):
            raise MotionError("parents: the first joint must have the parent -1, and every other joint a parent that comes before it.")
        object.__setattr__(self, "offsets", validation.frozen(validation.numbers(self.offsets, (n, 3), "offsets").copy()))

    def __len__(self) -> int:
        return len(self.names)

    def index(self, name: str) -> int:
        """Index of a joint."""
        validation.lookup(dict.fromkeys(self.names), name, "joint", "this skeleton")
        return self.names.index(name)

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """Indices of the children of each joint."""
        return tuple(tuple(k for k, p in enumerate(self.parents) if p == j) for j in range(len(self)))

    @cached_property
    def rest(self) -> Array:
        """Positions of the joints in the rest pose, with the root at the origin [m]: (n, 3)."""
        positions = np.zeros((len(self), 3))
        for j, p in enumerate(self.parents):
            if p >= 0:
                positions[j] = positions[p] + self.offsets[j]
        return validation.frozen(positions)

    @cached_property
    def tips(self) -> Array:
        """Positions of the limb tips in the rest pose [m]: (k, 3)."""
        return np.array([self.rest[end.joint] + end.offset for end in self.ends]).reshape(-1, 3)

    def chain(self, joint: int) -> list[int]:
        """Indices of the joints from the root to this one."""
        found = [joint]
        while self.parents[found[-1]] >= 0:
            found.append(self.parents[found[-1]])
        return found[::-1]

    def scaled(self, factor: float) -> Skeleton:
        """Return the skeleton scaled by a factor."""
        return Skeleton(self.names, self.parents, factor * self.offsets, tuple(End(end.joint, factor * end.offset) for end in self.ends))

    @cached_property
    def depth_first(self) -> tuple[int, ...]:
        """Indices of all joints in depth-first order, as files nest them."""
        found, stack = [], [0]
        while stack:
            j = stack.pop()
            found.append(j)
            stack += reversed(self.children[j])
        return tuple(found)

    def below(self, joint: int) -> Sequence[int]:
        """Indices of a joint and all its descendants."""
        found = [joint]
        for k in range(joint + 1, len(self)):
            if self.parents[k] in found:
                found.append(k)
        return found
