"""Trapeze of scenes, and its bar alone."""

from __future__ import annotations

import numpy as np

from brachiate import validation
from brachiate.figures import ranges
from brachiate.figures.objects import ROPE, STEEL, WOOD
from brachiate.model.builder import ModelBuilder
from brachiate.model.joints import Free, Spherical
from brachiate.model.model import Model
from brachiate.model.shapes import Capsule, Cylinder, frame_along


def trapeze(height: float = 3.0, rope: float = 1.4, width: float = 0.8, mass: float = 2.0) -> Model:
    """Trapeze: a ``bar`` along y under a ``beam``, on two stiff ropes with ball joints at all four ends, as [CKC] Fig. 8.

    The tree is left_rope, bar, right_rope, each on the one before; the loop ``right_top`` connects the right rope to the beam.

    Args:
        height: Height of the beam [m].
        rope: Length of the ropes [m].
        width: Distance of the ropes [m].
        mass: Mass of the bar [kg]; the ropes have a quarter of it each.
    """
    height = ranges.length(height, "height of the beam")
    rope = validation.number(rope, "length of the ropes", above=0.0, maximum=height)
    half = ranges.length(width, "width of the trapeze") / 2
    mass = ranges.mass(mass, "mass of the bar")
    b = ModelBuilder("trapeze")
    beam = Cylinder(radius=0.03, length=2 * half + 0.3, rotation=frame_along("y"), color=WOOD)
    b.link("beam", at=(0, 0, height), shapes=beam)
    down, up = (Capsule.between((0, 0, 0), (0, 0, s * rope), 0.010, color=ROPE) for s in (-1, 1))
    rod = Cylinder(radius=0.014, length=2 * half + 0.06, position=np.array((0, -half, 0)), rotation=frame_along("y"), color=STEEL)
    across = mass / 4 * rope**2 / 12
    left, right = ({"mass": mass / 4, "center": (0, 0, s * rope / 2), "inertia": (across, across, across / 100)} for s in (-1, 1))
    b.link("left_rope", parent="beam", joint=Spherical(effort=0.0), at=(0, half, 0), shapes=down, **left)
    b.link("bar", parent="left_rope", joint=Spherical(effort=0.0), at=(0, 0, -rope), mass=mass, shapes=rod)
    b.link("right_rope", parent="bar", joint=Spherical(effort=0.0), at=(0, -2 * half, 0), shapes=up, **right)
    b.loop("right_top", Spherical(), "beam", "right_rope", first_at=(0, -half, 0), second_at=(0, 0, rope))
    b.site("middle", "bar", (0, -half, 0))
    return b.build()


def trapeze_bar(width: float = 0.8, mass: float = 2.0) -> Model:
    """Free bar along y with its center at the origin; sites ``left`` and ``right`` are where ropes are tied to it.

    Args:
        width: Distance of the ropes [m].
        mass: Mass [kg].
    """
    half = ranges.length(width, "width of the trapeze") / 2
    b = ModelBuilder("bar")
    rod = Cylinder(radius=0.014, length=2 * half + 0.06, rotation=frame_along("y"), color=STEEL)
    b.link("rod", joint=Free(effort=0.0), joint_name="root", mass=ranges.mass(mass, "mass of the bar"), shapes=rod)
    b.site("left", "rod", (0, half, 0))
    b.site("right", "rod", (0, -half, 0))
    return b.build()
