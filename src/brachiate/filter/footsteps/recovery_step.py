"""Recovery steps: footsteps that are not in the reference, as they are reported."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from brachiate.deprecation import renamed_attribute

DIRECTIONS = ("forward", "forward and to the left", "to the left", "backward and to the left", "backward", "backward and to the right",
              "to the right", "forward and to the right")  # fmt: skip


class RecoveryStep(NamedTuple):
    """Footstep that is not in the reference."""

    leg: int
    link: str  # the foot
    start: float  # [s]
    end: float  # [s]
    x: float  # [m] displacement of the foot
    y: float  # [m]
    direction: str  # as seen from the foot
    is_capture: bool  # capture step that regains balance; else the foot returns to the reference

    way = renamed_attribute("way", "direction")
    catches = renamed_attribute("catches", "is_capture")
    far = renamed_attribute("far", "length")
    told = renamed_attribute("told", "description")

    @property
    def length(self) -> float:
        """Length of the step [m]."""
        return math.hypot(self.x, self.y)

    @property
    def description(self) -> str:
        """Length, direction and purpose."""
        return f"{100 * self.length:.0f} cm {self.direction}, {'to regain balance' if self.is_capture else 'to return to the reference'}"

    def __str__(self) -> str:
        """Return one line."""
        return f"{self.link}: stepped {self.description} ({self.start:.2f}-{self.end:.2f} s)"


def direction_name(step: ArrayLike, heading: ArrayLike) -> str:
    """Direction of a step in words, relative to the heading of the foot; both horizontal, x and y first."""
    (x, y), (heading_x, heading_y) = np.asarray(step, float)[:2], np.asarray(heading, float)[:2]
    angle = math.atan2(y, x) - math.atan2(heading_y, heading_x)
    return DIRECTIONS[round(angle / (math.pi / 4)) % len(DIRECTIONS)]
