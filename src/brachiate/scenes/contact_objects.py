"""Objects of contact scenes: blocks, a ramp, stairs, a spinning top."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from brachiate import validation
from brachiate.figures.objects import WOOD
from brachiate.model.builder import ModelBuilder
from brachiate.model.joints import Free
from brachiate.model.material import Material
from brachiate.model.model import Model
from brachiate.model.shapes import Box, Capsule, Hull, Shape
from brachiate.validation import Array

Color = tuple[float, float, float, float]

STONE: Color = (0.72, 0.71, 0.68, 1.0)
BLUE: Color = (0.20, 0.47, 0.66, 1.0)
RUST: Color = (0.78, 0.36, 0.24, 1.0)
SAND: Color = (0.90, 0.82, 0.66, 1.0)


def blend_color(one: Color, other: Color, part: float) -> Color:
    """Color between two: 0 is the first, 1 the second."""
    a, b = np.array(one), np.array(other)
    r, g, blue, alpha = ((1 - part) * a + part * b).tolist()
    return r, g, blue, alpha


def block(size: ArrayLike, mass: float, color: Color, material: Material | None = None) -> Model:
    """Free block with its link ``block`` at its center: edge lengths [m] and mass [kg]."""
    b = ModelBuilder("block")
    shape = Box(size=validation.vector(size, "size of the block"), color=color, material=material)
    b.link("block", joint=Free(effort=0.0), joint_name="root", mass=mass, shapes=shape)
    return b.build()


def ramp(length: float, lanes: Sequence[tuple[float, Color]], width: float = 0.4) -> Model:
    """Fixed link ``ramp``: lanes side by side along x, each with its own friction and color; the surface is at z = 0."""
    shapes = []
    for k, (friction, color) in enumerate(lanes):
        y = (k - (len(lanes) - 1) / 2) * width
        size, place = np.array((length, 0.96 * width, 0.06)), np.array((0, y, -0.03))
        shapes.append(Box(size=size, position=place, color=color, material=Material(friction=friction)))
    b = ModelBuilder("ramp")
    b.link("ramp", shapes=shapes)
    return b.build()


def stairs(count: int, rise: float, tread: float, width: float, landing: float) -> Model:
    """Fixed link ``stairs``: steps down along x from a landing that ends at x = 0, to a ground at z = 0."""
    shapes: list[Shape] = []
    for k in range(count):
        height, length = (count - k) * rise, landing if k == 0 else tread
        start = -landing if k == 0 else (k - 1) * tread
        size, place = np.array((length, width, height)), np.array((start + length / 2, 0, height / 2))
        shapes.append(Box(size=size, position=place, color=blend_color(STONE, WOOD, 0.35 * (k % 2))))
    b = ModelBuilder("stairs")
    b.link("stairs", shapes=shapes)
    return b.build()


def top(radius: float = 0.12, mass: float = 0.8) -> Model:
    """Free top of two cones and a stem: the link ``top``, its origin at the tip on which it stands, its axis along z.

    The collision shape is the convex hull of the cones. Marks show its rotation.

    Args:
        radius: Largest radius [m].
        mass: Mass [kg].
    """
    widest, height = 0.7 * radius, 1.15 * radius
    around = np.linspace(0, 2 * np.pi, 24, endpoint=False)
    ring = np.stack([np.cos(around), np.sin(around)], axis=1)
    points = np.concatenate([[(0, 0, 0)], np.c_[radius * ring, np.full(24, widest)], np.c_[0.2 * radius * ring, np.full(24, height)]])
    body = Hull(vertices=points, color=RUST)
    _, center, inertia = body.mass_properties(mass / body.volume())
    stem = Capsule.between((0, 0, height), (0, 0, 1.9 * radius), 0.07 * radius, color=WOOD, collides=False)
    marks = [Capsule.between(*_along(a, radius, widest, height), 0.05 * radius, color=SAND, collides=False) for a in (0, 120, 240)]
    b = ModelBuilder("top")
    joint = Free(effort=0.0)
    b.link("top", joint=joint, joint_name="root", mass=mass, center=center, inertia=inertia, shapes=[body, stem, *marks])
    b.site("knob", "top", (0, 0, 1.9 * radius))
    return b.build()


def _along(degrees: float, radius: float, low: float, high: float) -> tuple[Array, Array]:
    """Two points on the upper cone, one above the other."""
    a = np.radians(degrees)
    across = np.array((np.cos(a), np.sin(a), 0.0))
    up = np.array((0.0, 0.0, 1.0))
    return 0.97 * radius * across + (low + 0.01 * radius) * up, 0.35 * radius * across + (low + 0.83 * (high - low)) * up
