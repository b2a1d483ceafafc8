"""Steps that the reference does not have, as they are told."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

WAYS = ("forward", "forward and to the left", "to the left", "backward and to the left", "backward", "backward and to the right",
        "to the right", "forward and to the right")  # fmt: skip


class Step(NamedTuple):
    """A step that the reference does not have."""

    leg: int
    link: str  # the foot
    start: float  # [s]
    end: float  # [s]
    x: float  # [m] from where the foot was
    y: float  # [m]
    way: str  # in words, seen from the foot
    catches: bool  # whether it was to catch the body; else it brings a foot back that did

    @property
    def far(self) -> float:
        """How long it was [m]."""
        return math.hypot(self.x, self.y)

    @property
    def told(self) -> str:
        """How far, which way, and why."""
        return f"{100 * self.far:.0f} cm {self.way}, {'to catch the body' if self.catches else 'to come back'}"

    def __str__(self) -> str:
        """Return one line."""
        return f"{self.link}: stepped {self.told} ({self.start:.2f}-{self.end:.2f} s)"


def way_of(step: ArrayLike, forward: ArrayLike) -> str:
    """Which way a step goes, in words, for a foot that points forward that way; both along the ground, x and y first."""
    (x, y), (ahead, aside) = np.asarray(step, float)[:2], np.asarray(forward, float)[:2]
    turn = math.atan2(y, x) - math.atan2(aside, ahead)
    return WAYS[round(turn / (math.pi / 4)) % len(WAYS)]
