"""Ground: the plane that a motion is on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from brachiate import doors
from brachiate.clip import turns
from brachiate.doors import Array
from brachiate.errors import ArgumentError


@dataclass(frozen=True)
class Ground:
    """A plane, level or rising.

    Args:
        height: Where it is above the world's origin [m]; None: where the motion stands on it.
        slope: By how much it rises [deg].
        heading: Which way it rises, from x towards y [deg].
        friction: Its coefficient of friction.
        belt: Velocity of a treadmill's belt along x and y [m/s].
    """

    height: float | None = None
    slope: float = 0.0
    heading: float = 0.0
    friction: float = 0.8
    belt: tuple[float, float] = (0.0, 0.0)

    def __post_init__(self) -> None:
        if self.height is not None:
            doors.number(self.height, "height of the ground")
        doors.number(self.slope, "slope of the ground", least=-80.0, most=80.0)
        doors.number(self.heading, "heading of the ground", least=-360.0, most=360.0)
        doors.number(self.friction, "friction of the ground", least=0.0, most=1e3)
        object.__setattr__(self, "belt", tuple(map(float, doors.numbers(self.belt, (2,), "belt of the ground"))))

    @property
    def normal(self) -> Array:
        """Unit vector out of it (3,)."""
        rise, way = np.radians(self.slope), np.radians(self.heading)
        return np.array((-np.sin(rise) * np.cos(way), -np.sin(rise) * np.sin(way), np.cos(rise)))

    @property
    def tilt(self) -> Array:
        """The turn that brings level ground to this, the shortest: a quaternion (4,)."""
        axis = np.cross((0.0, 0.0, 1.0), self.normal)
        size = float(np.linalg.norm(axis))
        return turns.from_vector(axis / max(size, 1e-12) * np.arctan2(size, self.normal[2]))

    @property
    def gradient(self) -> Array:
        """By how much it rises along x and y: (2,)."""
        return -self.normal[:2] / self.normal[2]

    @property
    def velocity(self) -> Array:
        """Of what is stood on (3,) [m/s]."""
        n = self.normal
        return np.array((*self.belt, -(self.belt[0] * n[0] + self.belt[1] * n[1]) / n[2]))

    def above(self, points: Array) -> Array:
        """How far points (..., 3) are above it [m]."""
        n = self.normal
        return points @ n - (self.height or 0.0) * n[2]


def ground_of(text: str) -> Ground:
    """Ground by words: ``flat``, ``flat:HEIGHT`` [m], ``slope:ANGLE``, ``slope:ANGLE:HEADING`` [deg]; ``,friction=MU`` may follow."""
    words, _, rest = text.partition(",")
    kind, *values = words.strip().split(":")
    try:
        numbers = [float(value) for value in values]
        name, _, value = rest.partition("=")
        friction = float(value) if name.strip() == "friction" else 0.8
    except ValueError:
        kind, numbers, friction, name = "", [], 0.8, ""
    if name.strip() in ("", "friction"):
        if kind == "flat" and len(numbers) <= 1:
            return Ground(*(numbers or [0.0]), friction=friction)
        if kind == "slope" and 1 <= len(numbers) <= 2:
            return Ground(0.0, numbers[0], *numbers[1:], friction=friction)
    raise ArgumentError(f"{text!r} is no ground. Say flat, flat:0.02 (height in m), slope:10 or slope:10:90 (degrees), then ,friction=0.6.")
