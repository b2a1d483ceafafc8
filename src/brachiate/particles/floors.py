"""Floor of a particle system [NSP] 4-5: restitution, spring, visco-elastic or plastic; level, sloping or a height field; friction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from brachiate import validation
from brachiate.errors import ArgumentError
from brachiate.figures import ranges
from brachiate.model.shapes import HeightField
from brachiate.motion.terrain import Terrain
from brachiate.particles.arrays import (
    BOUNCE,
    COMPLIANT,
    DAMPING,
    DRAG,
    FLOOR_NUMBERS,
    FRICTION,
    HARDENING,
    HEIGHT_ORIGIN,
    HEIGHT_SPACING,
    NORMAL,
    OFFSET,
    PLASTIC,
    RESTITUTION,
    SINK_ORIGIN,
    SINK_SPACING,
    STIFFNESS,
    YIELD,
    FloorArrays,
)
from brachiate.validation import Array

MAX_CELLS = 10_000_000


@dataclass(frozen=True, eq=False)
class ParticleFloor:
    """Floor under particles. Its kind follows from what is given.

    ``Floor()`` and ``Floor(restitution=0.8)`` reverse the velocity of a particle that meets it [NSP] eq. 30; with ``stiffness`` it is a
    spring, with ``damping`` visco-elastic, with ``yield_force`` plastic: where a particle pushes harder, it sinks in, and the ground stays
    deformed.

    Args:
        restitution: Share of the normal velocity after an impact, 0 to 1.
        friction: Coefficient of Coulomb friction.
        friction_drag: γ of [NSP] eq. 31: friction γ times velocity times normal force [s/m].
        stiffness: Of each contact [N/m].
        damping: Of each contact [N·s/m].
        yield_force: Force of a contact that the ground bears without plastic deformation [N].
        hardening: Force by which this grows with the sinkage [N/m].
        height: Height of the plane at the origin [m].
        slope: Inclination [deg].
        heading: Direction of ascent, from x towards y [deg].
        heights: Height field, centered on the origin at ``height``, instead of a plane; there is no floor beside it.
        cell: Size of the cells in which sinkage is kept [m].
        extent: Region in which it is kept: x from, to, y from, to [m]; beside it the floor is elastic.
    """

    restitution: float = 0.0
    friction: float = 0.0
    friction_drag: float = 0.0
    stiffness: float | None = None
    damping: float = 0.0
    yield_force: float | None = None
    hardening: float = 0.0
    height: float = 0.0
    slope: float = 0.0
    heading: float = 0.0
    heights: HeightField | None = None
    cell: float = 0.05
    extent: tuple[float, float, float, float] = (-5.0, 5.0, -1.0, 1.0)

    def __post_init__(self) -> None:
        number, stiff = validation.number, ranges.MAX_STIFFNESS
        number(self.restitution, "restitution of the floor", minimum=0.0, maximum=1.0)
        number(self.friction, "friction of the floor", minimum=0.0, maximum=1e6)
        number(self.friction_drag, "friction_drag of the floor", minimum=0.0, maximum=1e9)
        number(self.damping, "damping of the floor", minimum=0.0, maximum=stiff)
        number(self.hardening, "hardening of the floor", minimum=0.0, maximum=stiff)
        number(self.height, "height of the floor", minimum=-ranges.MAX_POSITION, maximum=ranges.MAX_POSITION)
        number(self.slope, "slope of the floor", minimum=-80.0, maximum=80.0)
        number(self.heading, "heading of the floor", minimum=-360.0, maximum=360.0)
        ranges.length(self.cell, "cell of the floor")
        if self.stiffness is not None:
            number(self.stiffness, "stiffness of the floor", above=0.0, maximum=stiff)
        if self.yield_force is not None:
            number(self.yield_force, "yield_force of the floor", minimum=0.0, maximum=ranges.MAX_FORCE)
        if self.stiffness is None and (self.damping or self.yield_force is not None):
            raise ArgumentError("A floor with damping or yield_force needs a stiffness [N/m]; without one it is a floor with restitution.")
        if self.stiffness is not None and self.restitution:
            raise ArgumentError(
                "A floor has either restitution or stiffness: leave out one of them. Damping makes a spring floor lose energy."
            )
        if self.heights is not None and not isinstance(self.heights, HeightField):
            raise ArgumentError(f"heights of the floor: expected br.HeightField, got {validation.short_repr(self.heights)}.")
        if self.heights is not None and self.slope:
            raise ArgumentError("A height field has no slope of its own: leave out slope, and put it into the heights.")
        if self.cells[0] * self.cells[1] > MAX_CELLS:
            raise ArgumentError(
                f"extent of the floor: more than {MAX_CELLS} cells of {self.cell:g} m. Use larger cells or a smaller extent."
            )

    @property
    def cells(self) -> tuple[int, int]:
        """Rows and columns of the grid of sinkage."""
        x0, x1, y0, y1 = validation.numbers(self.extent, (4,), "extent of the floor")
        if not (x0 < x1 and y0 < y1):
            raise ArgumentError(f"extent of the floor: expected x from, to, y from, to, each in ascending order, got {self.extent}.")
        return int(np.ceil((y1 - y0) / self.cell)), int(np.ceil((x1 - x0) / self.cell))

    @property
    def normal(self) -> Array:
        """Unit normal of the plane, upward (3,)."""
        rise, heading = np.radians(self.slope), np.radians(self.heading)
        return np.array((-np.sin(rise) * np.cos(heading), -np.sin(rise) * np.sin(heading), np.cos(rise)))

    @classmethod
    def on(cls, terrain: Terrain, **more: Any) -> ParticleFloor:
        """Floor with height, slope, heading and friction of a terrain; ``more``: what it is made of."""
        if not isinstance(terrain, Terrain):
            raise ArgumentError(f"terrain: expected br.Terrain, got {validation.short_repr(terrain)}.")
        if terrain.stairs is not None or any(terrain.belt):
            raise ArgumentError("Floors of particles have neither stairs nor belts: use a plane, or heights=br.HeightField(...).")
        plane: Any = {"height": terrain.height or 0.0, "slope": terrain.slope, "heading": terrain.heading}
        return cls(**{**plane, "friction": terrain.friction, **more})

    def to_arrays(self) -> FloorArrays:
        """Arrays for compiled code; every call returns an undeformed floor."""
        kind = RESTITUTION if self.stiffness is None else COMPLIANT if self.yield_force is None else PLASTIC
        values = np.zeros(FLOOR_NUMBERS)
        values[NORMAL : NORMAL + 3] = self.normal
        values[OFFSET] = self.height if self.heights is not None else self.height * self.normal[2]
        for place, value in (
            (BOUNCE, self.restitution), (STIFFNESS, self.stiffness or 0.0), (DAMPING, self.damping), (FRICTION, self.friction),
            (DRAG, self.friction_drag), (YIELD, self.yield_force or 0.0), (HARDENING, self.hardening),
        ):  # fmt: skip
            values[place] = value
        heights, columns = np.zeros(0), 0
        if self.heights is not None:
            rows, columns = self.heights.heights.shape
            heights = np.ascontiguousarray(self.heights.heights.reshape(-1))
            values[HEIGHT_SPACING : HEIGHT_SPACING + 2] = self.heights.spacing
            values[HEIGHT_ORIGIN : HEIGHT_ORIGIN + 2] = -0.5 * np.array((columns - 1, rows - 1)) * self.heights.spacing
        rows, sink_columns = self.cells if kind == PLASTIC else (0, 0)
        values[SINK_ORIGIN : SINK_ORIGIN + 2] = self.extent[0], self.extent[2]
        values[SINK_SPACING : SINK_SPACING + 2] = self.cell
        return FloorArrays(np.array([kind, columns, sink_columns]), values, heights, np.zeros(rows * sink_columns))

    def gaps(self, points: Any) -> Array:
        """Heights of points (..., 3) above a plane floor, along its normal [m]."""
        points = validation.reals(points, "points", "points of three coordinates [m]")
        return points @ self.normal - self.height * self.normal[2]
