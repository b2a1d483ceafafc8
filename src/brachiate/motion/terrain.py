"""Ground: the plane that a motion is on, or the steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from brachiate import rotations, validation
from brachiate.errors import ArgumentError
from brachiate.validation import Array

MOST = 100  # steps
WAY = 0.5  # [m] which a motion goes at least, for steps to be in its way


@dataclass(frozen=True)
class Steps:
    """Steps of level ground, as wide as the world: a kerb, or a flight of them.

    Args:
        rise: By how much each is higher than the one before [m]; negative for steps that go down.
        tread: How deep each is, along the way up or down [m]; the last one has no end.
        count: How many.
        start: Where the first edge is, from the world's origin along the heading [m]; None: half-way of the motion.
        heading: Which way they go, from x towards y [deg]; None: as the motion goes, or along x if it is said where they start.
    """

    rise: float
    tread: float = 0.4
    count: int = 1
    start: float | None = None
    heading: float | None = None

    def __post_init__(self) -> None:
        validation.number(self.rise, "rise of steps", least=-2.0, most=2.0)
        validation.number(self.tread, "tread of steps", above=0.0, most=100.0)
        object.__setattr__(
            self, "count", validation.whole(validation.number(self.count, "count of steps", most=MOST), "count of steps", least=1)
        )
        if self.start is not None:
            validation.number(self.start, "start of steps")
            object.__setattr__(self, "heading", self.heading or 0.0)
        if self.heading is not None:
            validation.number(self.heading, "heading of steps", least=-360.0, most=360.0)

    @classmethod
    def of(cls, numbers: Sequence[float]) -> Self:
        """By numbers in the order above, as words and files have them."""
        return cls(*numbers)  # type: ignore[arg-type]  (a count that is no whole number is refused)

    @property
    def way(self) -> Array:
        """Unit vector along which they go (2,)."""
        if self.start is None or self.heading is None:
            raise ArgumentError("Nobody said where the steps are: give them a start, and a heading if they do not go along x.")
        return np.array((np.cos(np.radians(self.heading)), np.sin(np.radians(self.heading))))

    @property
    def levels(self) -> Array:
        """Heights before the first edge, of every tread, and after the last edge: (count + 1,) [m]."""
        return self.rise * np.arange(self.count + 1)

    @property
    def bounds(self) -> Array:
        """From where to where along the way each of these is: (count + 1, 2) [m]."""
        edges = (self.start or 0.0) + self.tread * np.arange(self.count)
        return np.stack((np.concatenate(([-np.inf], edges)), np.concatenate((edges, [np.inf]))), axis=1)

    def along(self, points: Array) -> Array:
        """How far points (..., 2 or more) are along the way [m]."""
        return points[..., :2] @ self.way

    def level(self, points: Array) -> Array:
        """How high they are there above where they begin: (...) [m]."""
        return self.levels[np.searchsorted(self.bounds[1:, 0], self.along(points), side="right")]

    def highest(self, first: Array, last: Array) -> Array:
        """The highest of what is between places along the way [m]: (...) [m]."""
        ends = (self.levels[np.searchsorted(self.bounds[1:, 0], x, side="right")] for x in (first, last))
        return np.maximum(*ends)

    def crossed(self, first: Array, last: Array) -> Array:
        """Whether there is an edge between places along the way [m]."""
        return np.searchsorted(self.bounds[1:, 0], first) != np.searchsorted(self.bounds[1:, 0], last)

    def above(self, points: Array) -> Array:
        """How far points (..., 3) are above them [m]; what is inside is as deep as it is far from the nearest way out, up or back."""
        s, z = self.along(points)[..., None], points[..., 2, None]
        over = points[..., 2] - self.level(points)
        aside = np.maximum(np.maximum(self.bounds[:, 0] - s, s - self.bounds[:, 1]), 0.0)
        out = np.hypot(aside, np.maximum(self.levels - z, 0.0)).min(axis=-1)
        return np.where(over >= 0.0, over, -out)

    def in_the_way(self, places: Array) -> Steps:
        """The same, with what nobody said of where they are as a motion goes: along places (f, 2) [m]."""
        if self.start is not None:
            return self
        begin, way = places[0], places[-1] - places[0]
        if np.linalg.norm(way) < WAY:
            raise ArgumentError(
                f"The motion goes {np.linalg.norm(way):.2f} m in all, so no steps are in its way: say where they are, "
                "by start and heading of br.Steps, or in words such as steps:0.1:0.4:3:1.5:90."
            )
        heading = float(np.degrees(np.arctan2(way[1], way[0]))) if self.heading is None else self.heading
        across = replace(self, start=0.0, heading=heading)
        first, last = across.along(begin), across.along(places[-1])
        return replace(across, start=float(0.5 * (first + last - (self.count - 1) * self.tread)))


@dataclass(frozen=True)
class Ground:
    """A plane, level or rising; or level with steps.

    Args:
        height: Where it is above the world's origin [m], before any steps; None: where the motion stands on it.
        slope: By how much it rises [deg].
        heading: Which way it rises, from x towards y [deg].
        friction: Its coefficient of friction.
        belt: Velocity of a treadmill's belt along x and y [m/s].
        steps: If it has any.
    """

    height: float | None = None
    slope: float = 0.0
    heading: float = 0.0
    friction: float = 0.8
    belt: tuple[float, float] = (0.0, 0.0)
    steps: Steps | None = None

    def __post_init__(self) -> None:
        if self.height is not None:
            validation.number(self.height, "height of the ground")
        validation.number(self.slope, "slope of the ground", least=-80.0, most=80.0)
        validation.number(self.heading, "heading of the ground", least=-360.0, most=360.0)
        validation.number(self.friction, "friction of the ground", least=0.0, most=1e3)
        object.__setattr__(self, "belt", tuple(map(float, validation.numbers(self.belt, (2,), "belt of the ground"))))
        if self.steps is not None and not isinstance(self.steps, Steps):
            raise ArgumentError(f"steps of the ground: expected br.Steps(rise, tread, count), got {validation.shown(self.steps)}.")
        if self.steps is not None and (self.slope != 0.0 or any(self.belt)):
            raise ArgumentError("Steps are on level ground that is at rest: leave out the slope and the belt.")

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
        return rotations.from_vector(axis / max(size, 1e-12) * np.arctan2(size, self.normal[2]))

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
        if self.steps is not None:
            return self.steps.above(points - np.array((0.0, 0.0, self.height or 0.0)))
        n = self.normal
        return points @ n - (self.height or 0.0) * n[2]


def ground_of(text: str) -> Ground:
    """Ground by words.

    ``flat``, ``flat:HEIGHT`` [m], ``slope:ANGLE``, ``slope:ANGLE:HEADING`` [deg], or ``steps:RISE:TREAD:COUNT:START:HEADING`` [m, deg], of
    which all but the rise may be left out; ``,friction=MU`` may follow.
    """
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
        if kind == "steps" and 1 <= len(numbers) <= 5:
            return Ground(0.0, friction=friction, steps=Steps.of(numbers))
    raise ArgumentError(
        f"{text!r} is no ground. Say flat, flat:0.02 (height in m), slope:10 or slope:10:90 (degrees), steps:0.1 (a kerb) or "
        "steps:0.1:0.4:3 (rise, tread, how many; where they begin and a heading may follow), then ,friction=0.6."
    )
