"""Terrain under a motion: a level or sloping plane with friction, a treadmill belt, or stairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from brachiate import rotations, validation
from brachiate.deprecation import renamed_attribute
from brachiate.errors import ArgumentError
from brachiate.figures.ranges import within
from brachiate.validation import Array

MAX_STEPS = 100  # of a flight of stairs
MAX_SLOPE = 60.0  # [deg]: steeper ground is climbed with the hands
MAX_FRICTION, MAX_BELT_SPEED, MAX_HEIGHT = 10.0, 50.0, 1e4  # [1, m/s, m]
MIN_TRAVEL = 0.5  # [m] net travel of a motion from which the position and heading of stairs can be derived


@dataclass(frozen=True)
class Stairs:
    """Flight of stairs on level ground, unbounded sideways; one step is a curb.

    Args:
        rise: Height difference per step [m]; negative for stairs that go down.
        tread: Depth of each step along the heading [m]; the last one is unbounded.
        count: Number of steps.
        start: Distance of the first edge from the world origin, along the heading [m]; None: halfway along the motion.
        heading: Direction in which the steps follow each other, from x towards y [deg]; None: the direction of travel of the motion, or
            along x if ``start`` is given.
    """

    rise: float
    tread: float = 0.4
    count: int = 1
    start: float | None = None
    heading: float | None = None

    def __post_init__(self) -> None:
        validation.number(self.rise, "rise of stairs", minimum=-2.0, maximum=2.0)
        validation.number(self.tread, "tread of stairs", above=0.0, maximum=100.0)
        count = validation.number(self.count, "count of stairs", maximum=MAX_STEPS)
        object.__setattr__(self, "count", validation.integer(count, "count of stairs", minimum=1))
        if self.start is not None:
            validation.number(self.start, "start of stairs", minimum=-MAX_HEIGHT, maximum=MAX_HEIGHT)
            object.__setattr__(self, "heading", self.heading or 0.0)
        if self.heading is not None:
            validation.number(self.heading, "heading of stairs", minimum=-360.0, maximum=360.0)

    @classmethod
    def from_numbers(cls, numbers: Sequence[float]) -> Self:
        """Return stairs from numbers in the order of the fields, as texts and files have them."""
        if not 1 <= len(numbers) <= 5:
            raise ArgumentError(f"stairs: expected rise and optionally tread, count, start and heading, got {len(numbers)} numbers.")
        return cls(*numbers)  # type: ignore[arg-type]  (a count that is not an integer is refused)

    @property
    def direction(self) -> Array:
        """Unit vector of the heading (2,)."""
        if self.start is None or self.heading is None:
            raise ArgumentError("The position of the stairs is not set: give start, and heading if they do not go along x.")
        return np.array((np.cos(np.radians(self.heading)), np.sin(np.radians(self.heading))))

    @property
    def heights(self) -> Array:
        """Heights of the ground before the first edge, of every tread, and of the ground after the last edge: (count + 1,) [m]."""
        return self.rise * np.arange(self.count + 1)

    @property
    def extents(self) -> Array:
        """First and last distance along the heading of each of these levels: (count + 1, 2) [m]."""
        edges = (self.start or 0.0) + self.tread * np.arange(self.count)
        return np.stack((np.concatenate(([-np.inf], edges)), np.concatenate((edges, [np.inf]))), axis=1)

    def distance_along(self, points: Array) -> Array:
        """Distances of points (..., 2 or more) along the heading [m]."""
        return points[..., :2] @ self.direction

    def height_at(self, points: Array) -> Array:
        """Heights of the stairs at points (..., 2 or more), above the ground before the first edge: (...) [m]."""
        return self.heights[np.searchsorted(self.extents[1:, 0], self.distance_along(points), side="right")]

    def max_height(self, first: Array, last: Array) -> Array:
        """Largest height of the stairs between two distances along the heading [m]: (...) [m]."""
        ends = (self.heights[np.searchsorted(self.extents[1:, 0], x, side="right")] for x in (first, last))
        return np.maximum(*ends)

    def crosses_edge(self, first: Array, last: Array) -> Array:
        """Whether an edge lies between two distances along the heading [m]."""
        return np.searchsorted(self.extents[1:, 0], first) != np.searchsorted(self.extents[1:, 0], last)

    def clearance(self, points: Array) -> Array:
        """Height of points (..., 3) above the stairs [m]; inside, minus the distance to the nearest surface, tread or riser."""
        s, z = self.distance_along(points)[..., None], points[..., 2, None]
        above = points[..., 2] - self.height_at(points)
        aside = np.maximum(np.maximum(self.extents[:, 0] - s, s - self.extents[:, 1]), 0.0)
        depth = np.hypot(aside, np.maximum(self.heights - z, 0.0)).min(axis=-1)
        return np.where(above >= 0.0, above, -depth)

    def placed_along(self, path: Array) -> Stairs:
        """Return these stairs with start and heading derived from the path (f, 2) [m] of a motion, where they are not set."""
        if self.start is not None:
            return self
        begin, travel = path[0], path[-1] - path[0]
        if np.linalg.norm(travel) < MIN_TRAVEL:
            raise ArgumentError(
                f"The motion travels {np.linalg.norm(travel):.2f} m in total, too little to place stairs in its path: give their position "
                "with start and heading of br.Stairs, or in a text such as stairs:0.1:0.4:3:1.5:90."
            )
        heading = float(np.degrees(np.arctan2(travel[1], travel[0]))) if self.heading is None else self.heading
        turned = replace(self, start=0.0, heading=heading)
        first, last = turned.distance_along(begin), turned.distance_along(path[-1])
        return replace(turned, start=float(0.5 * (first + last - (self.count - 1) * self.tread)))


@dataclass(frozen=True)
class Terrain:
    """Ground plane, level or sloping, at rest or a moving belt; or level ground with stairs.

    Args:
        height: Height above the world origin [m], before any stairs, up to 10 km; None: the height at which the motion stands.
        slope: Inclination [deg], -60 to 60.
        heading: Direction of ascent, from x towards y [deg].
        friction: Coefficient of friction, 0 to 10.
        belt: Velocity of a treadmill belt along x and y [m/s], each up to 50.
        stairs: Stairs on it, if any.
    """

    height: float | None = None
    slope: float = 0.0
    heading: float = 0.0
    friction: float = 0.8
    belt: tuple[float, float] = (0.0, 0.0)
    stairs: Stairs | None = None

    def __post_init__(self) -> None:
        if self.height is not None:
            validation.number(self.height, "height of the terrain", minimum=-MAX_HEIGHT, maximum=MAX_HEIGHT)
        validation.number(self.slope, "slope of the terrain", minimum=-MAX_SLOPE, maximum=MAX_SLOPE)
        validation.number(self.heading, "heading of the terrain", minimum=-360.0, maximum=360.0)
        validation.number(self.friction, "friction of the terrain", minimum=0.0, maximum=MAX_FRICTION)
        belt = within(validation.numbers(self.belt, (2,), "belt of the terrain"), MAX_BELT_SPEED, "belt of the terrain")
        object.__setattr__(self, "belt", tuple(map(float, belt)))
        if self.stairs is not None and not isinstance(self.stairs, Stairs):
            raise ArgumentError(f"stairs of the terrain: expected br.Stairs(rise, tread, count), got {validation.short_repr(self.stairs)}.")
        if self.stairs is not None and (self.slope != 0.0 or any(self.belt)):
            raise ArgumentError("Stairs are only possible on level ground at rest: leave out the slope and the belt.")

    @property
    def normal(self) -> Array:
        """Unit normal, upward (3,)."""
        rise, heading = np.radians(self.slope), np.radians(self.heading)
        return np.array((-np.sin(rise) * np.cos(heading), -np.sin(rise) * np.sin(heading), np.cos(rise)))

    @property
    def tilt(self) -> Array:
        """Shortest rotation from level ground to this plane: a quaternion (4,)."""
        axis = np.cross((0.0, 0.0, 1.0), self.normal)
        size = float(np.linalg.norm(axis))
        return rotations.from_rotation_vector(axis / max(size, 1e-12) * np.arctan2(size, self.normal[2]))

    @property
    def gradient(self) -> Array:
        """Derivative of the height along x and y: (2,)."""
        return -self.normal[:2] / self.normal[2]

    @property
    def velocity(self) -> Array:
        """Velocity of the surface (3,) [m/s]."""
        n = self.normal
        return np.array((*self.belt, -(self.belt[0] * n[0] + self.belt[1] * n[1]) / n[2]))

    def clearance(self, points: Array) -> Array:
        """Signed distance of points (..., 3) from the surface [m]: positive above, negative in penetration."""
        points = validation.reals(points, "points", "points of three coordinates [m]")
        if not points.ndim or points.shape[-1] != 3:
            raise ArgumentError(f"points: expected points of three coordinates [m], got shape {points.shape}.")
        if self.stairs is not None:
            return self.stairs.clearance(points - np.array((0.0, 0.0, self.height or 0.0)))
        n = self.normal
        return points @ n - (self.height or 0.0) * n[2]

    steps = renamed_attribute("steps", "stairs")


def parse_terrain(text: str) -> Terrain:
    """Return the terrain that a text describes.

    ``flat``, ``flat:HEIGHT`` [m], ``slope:ANGLE``, ``slope:ANGLE:HEADING`` [deg], or ``stairs:RISE:TREAD:COUNT:START:HEADING`` [m, deg], of
    which all but the rise are optional (``steps:`` means the same); ``,friction=MU`` may follow.
    """
    if not isinstance(text, str):
        raise ArgumentError(f"terrain: expected a Terrain or a text such as 'slope:10', got {validation.short_repr(text)}.")
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
            return Terrain(*(numbers or [0.0]), friction=friction)
        if kind == "slope" and 1 <= len(numbers) <= 2:
            return Terrain(0.0, numbers[0], *numbers[1:], friction=friction)
        if kind in ("stairs", "steps") and 1 <= len(numbers) <= 5:
            return Terrain(0.0, friction=friction, stairs=Stairs.from_numbers(numbers))
    raise ArgumentError(
        f"{text!r} is not a terrain. Valid: flat, flat:0.02 (height in m), slope:10 or slope:10:90 (degrees, heading), stairs:0.1 (a curb) "
        "or stairs:0.1:0.4:3 (rise, tread, count; start and heading may follow), then ,friction=0.6."
    )
