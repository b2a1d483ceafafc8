"""Objects: high bar, swing, boxes, plates, and grounds (flat, sloped, stairs, height field)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from brachiate import validation
from brachiate.errors import ArgumentError
from brachiate.figures import ranges
from brachiate.model.builder import ModelBuilder
from brachiate.model.joints import Free, Revolute, Spherical
from brachiate.model.model import Model
from brachiate.model.shapes import Box, Capsule, Cylinder, HeightField, Plane, Shape, frame_along, with_all_bits
from brachiate.validation import Array

MAX_STEPS = 100  # of stairs
BAR_HEIGHT = 2.6  # [m], the official 2.8 m less a mat of 0.2 m

STEEL = (0.62, 0.65, 0.69, 1.0)
PAINT = (0.36, 0.41, 0.47, 1.0)
PALE = (0.86, 0.87, 0.88, 1.0)
WOOD = (0.72, 0.53, 0.34, 1.0)
ROPE = (0.83, 0.77, 0.62, 1.0)
CARDBOARD = (0.76, 0.62, 0.44, 1.0)
FLOOR = (0.90, 0.91, 0.92, 1.0)


def bar(height: float = BAR_HEIGHT, length: float = 2.4, radius: float = 0.014) -> Model:
    """High bar: the fixed link ``rod`` lies along y above the origin, on two posts.

    Args:
        height: Of the rod above the ground [m].
        length: Of the rod [m].
        radius: Of the rod [m].
    """
    height = ranges.length(height, "height of the bar")
    half = ranges.length(length, "length of the bar") / 2
    radius = ranges.length(radius, "radius of the bar")
    b = ModelBuilder("bar")
    b.link("rod", at=(0, 0, height), shapes=Cylinder(radius=radius, length=2 * half, rotation=frame_along("y"), color=STEEL))
    posts = [Cylinder(radius=2 * radius, length=height, position=np.array((0, s * half, height / 2)), color=PAINT) for s in (-1, 1)]
    b.link("posts", shapes=posts)
    b.site("middle", "rod")
    return b.build()


def swing(height: float = 2.3, rope: float = 1.8, width: float = 0.56, mass: float = 3.0) -> Model:
    """Swing whose two ropes are stiff rods, as [SVC] Fig. 15: links beam (fixed), left_rope, plate, right_rope.

    The ropes turn about y at the beam, and the plate about y at the end of the left rope; the loop ``seat`` connects the other end of
    the plate to the right rope. It has two degrees of freedom, the swing and the pitch of the plate, and no motors.

    Args:
        height: Of the beam above the ground [m].
        rope: Length of the ropes [m].
        width: Between the ropes [m].
        mass: Of the plate [kg]; the ropes have a tenth of it each.
    """
    height = ranges.length(height, "height of the beam")
    rope = ranges.length(rope, "length of the ropes")
    half = ranges.length(width, "width of the swing") / 2
    mass = ranges.mass(mass, "mass of the plate")
    if rope >= height:
        raise ArgumentError(f"The ropes ({rope:g} m) reach the ground under a beam at {height:g} m. Shorten rope=, or raise height=.")
    b = ModelBuilder("swing")
    beam = [
        Cylinder(radius=0.04, length=2 * half + 1.0, rotation=frame_along("y"), color=WOOD),
        *(
            Capsule.between((dx, s * (half + 0.5), 0.03 - height), (0, s * (half + 0.5), 0), 0.03, color=WOOD)
            for s in (-1, 1)
            for dx in (-0.6, 0.6)
        ),
    ]
    b.link("beam", at=(0, 0, height), shapes=beam)
    tie = Capsule.between((0, 0, 0), (0, 0, -rope), 0.012, color=ROPE)
    seat = Box(size=np.array((0.20, 2 * half + 0.06, 0.03)), position=np.array((0, -half, -0.015)), color=WOOD)
    turns = {"mass": mass / 10, "shapes": tie}
    b.link("left_rope", parent="beam", joint=Revolute("y", effort=0.0), at=(0, half, 0), **turns)
    b.link("plate", parent="left_rope", joint=Revolute("y", effort=0.0), at=(0, 0, -rope), mass=mass, shapes=seat)
    b.link("right_rope", parent="beam", joint=Revolute("y", effort=0.0), at=(0, -half, 0), **turns)
    b.loop("seat", Spherical(), "plate", "right_rope", first_at=(0, -2 * half, 0), second_at=(0, 0, -rope))
    b.site("seat", "plate", (0, -half, 0))
    for side in ("left", "right"):
        # Hand holds of a sitting figure.
        b.site(f"{side}_hold", f"{side}_rope", (0, 0, -rope + min(0.5, rope / 2)))
    return b.build()


def box(size: ArrayLike = (0.4, 0.4, 0.4), mass: float = 10.0) -> Model:
    """Free box on the ground: edge lengths [m] along x, y, z, and mass [kg]."""
    return _block("box", size, mass, CARDBOARD)


def plate(size: ArrayLike = (1.0, 1.0, 0.04), mass: float = 10.0) -> Model:
    """Free plate on the ground: edge lengths [m] along x, y, z, and mass [kg]."""
    return _block("plate", size, mass, WOOD)


def ground(size: float = 6.0) -> Model:
    """Infinite flat ground at z = 0: the fixed link ``ground``, drawn as a square of this size [m]."""
    b = ModelBuilder("ground")
    b.link("ground", shapes=with_all_bits(Plane(size=size, color=FLOOR)))
    return b.build()


def slope(degrees: float = 15.0, size: float = 6.0) -> Model:
    """Infinite slope that rises along x from the origin: the fixed link ``slope``, drawn from there as a square of this size.

    Args:
        degrees: Inclination, less than 90.
        size: Edge of the square that is drawn [m].
    """
    angle = np.radians(validation.number(degrees, "degrees of the slope", minimum=0.0, maximum=89.9))
    size = ranges.length(size, "size of the slope")
    c, s = float(np.cos(angle)), float(np.sin(angle))
    up = np.array([(c, 0, -s), (0, 1, 0), (s, 0, c)])
    b = ModelBuilder("slope")
    b.link("slope", shapes=with_all_bits(Plane(size=size, position=size / 2 * up[:, 0], rotation=up, color=FLOOR)))
    return b.build()


def stairs(count: int = 5, rise: float = 0.17, tread: float = 0.29, width: float = 1.2) -> Model:
    """Stairs that rise along x from the origin: the fixed link ``stairs``, a solid box for every step.

    Args:
        count: Number of steps.
        rise: Height of a step [m].
        tread: Depth of a step [m].
        width: Width of the stairs, along y [m].
    """
    count = ranges.count(count, "count of the steps", MAX_STEPS)
    rise = ranges.length(rise, "rise of the steps")
    tread = ranges.length(tread, "tread of the steps")
    width = ranges.length(width, "width of the steps")
    heights = rise * np.arange(1, count + 1)
    boxes = [
        Box(size=np.array((tread, width, h)), position=np.array(((k + 0.5) * tread, 0, h / 2)), color=PALE) for k, h in enumerate(heights)
    ]
    b = ModelBuilder("stairs")
    b.link("stairs", shapes=[with_all_bits(step) for step in boxes])
    b.site("top", "stairs", ((count - 0.5) * tread, 0, heights[-1]))
    return b.build()


def ground_with_stairs(rise: float = 0.1, tread: float = 0.4, count: int = 3, size: float = 20.0) -> Model:
    """Level ground at z = 0 up to x = 0, from where stairs go up or down along x: the fixed link ``ground``.

    The lower level is infinite; steps and the upper level are solid boxes.

    Args:
        rise: Height of a step [m]; negative for stairs that go down.
        tread: Depth of a step [m].
        count: Number of steps.
        size: Extent of the upper level beyond the stairs, and to both sides [m].
    """
    rise = validation.number(rise, "rise of the steps", minimum=-2.0, maximum=2.0)
    tread, size = ranges.length(tread, "tread of the steps"), ranges.length(size, "size of the ground")
    count = ranges.count(count, "count of the steps", MAX_STEPS)
    low = min(count * rise, 0.0)
    shapes: list[Shape] = [Plane(size=2.0 * size, position=np.array((0.0, 0.0, low)), color=FLOOR)]
    for k in range(count if rise else 0):
        # Each box extends below the higher ones, so that there is no seam between them
        first, last, top = (k * tread, (count - 1) * tread + size, (k + 1) * rise) if rise > 0.0 else (-size, k * tread, k * rise)
        middle = np.array((0.5 * (first + last), 0.0, 0.5 * (low + top)))
        shapes.append(Box(size=np.array((last - first, 2.0 * size, top - low)), position=middle, color=PALE))
    b = ModelBuilder("ground")
    b.link("ground", shapes=[with_all_bits(shape) for shape in shapes])
    return b.build()


def terrain(heights: ArrayLike | None = None, spacing: float | ArrayLike = 0.1) -> Model:
    """Uneven ground around the origin (height field): the fixed link ``terrain``.

    Args:
        heights: Heights of a grid [m], ``heights[j, i]`` with i along x and j along y; by default 5 x 5 m of gentle bumps.
        spacing: Grid spacing [m]: one number, or two along x and y.
    """
    if heights is None:
        x = np.linspace(-2.5, 2.5, 51)
        heights = 0.03 * (1 - np.cos(2.5 * x)) * (1 - np.cos(2.1 * x))[:, None]
    b = ModelBuilder("terrain")
    b.link("terrain", shapes=with_all_bits(HeightField(heights=heights, spacing=spacing, color=FLOOR)))
    return b.build()


def _block(name: str, size: ArrayLike, mass: float, color: tuple[float, float, float, float]) -> Model:
    edges: Array = ranges.vector(size, f"size of the {name}", ranges.LENGTHS[1])
    mass = ranges.mass(mass, f"mass of the {name}")
    if (edges <= 0).any():
        raise ArgumentError(f"size of the {name}: every edge must be longer than 0 m, got {edges}.")
    b = ModelBuilder(name)
    b.link(name, joint=Free(effort=0.0), joint_name="root", at=(0, 0, edges[2] / 2), mass=mass, shapes=Box(size=edges, color=color))
    b.site("top", name, (0, 0, edges[2] / 2))
    return b.build()
