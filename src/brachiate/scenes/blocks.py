"""Block scenes: dominoes, boxes on a slope, a rocking block, and a stack with the heaviest block on top."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from brachiate import figures, validation
from brachiate.figures.poses import axis_quaternion
from brachiate.model.material import Material
from brachiate.scenes.contact_objects import BLUE, RUST, SAND, STONE, blend_color, block, ramp
from brachiate.scenes.placement import rotation_about_y
from brachiate.scenes.scene import Scene
from brachiate.show.draw import Camera, ViewSettings
from brachiate.simulate.simulation import Simulation
from brachiate.world.world import World

DOMINOES = """\
The first domino is pushed, each knocks over the next, and at the end each leans on the next. Edges slide along faces: contacts between
moving blocks."""
SLOPE = """\
Lanes with different friction coefficients. Blocks with friction above the tangent of the slope angle stick, the others slide, faster with
less friction."""
ROCKING = """\
Housner's block: it rotates about one lower edge, lands on its base, and continues about the other edge. Every impact dissipates energy,
and smaller oscillations have shorter periods."""
STACK = """\
Every block is heavier than the one below, a hard case for iterative contact solvers. Here nothing moves, and each contact carries the
weight above it."""

DOMINO = (0.06, 0.20, 0.40)  # [m]
ROCKER = (0.2, 0.2, 0.8)  # [m]


def dominoes(
    count: int = 12, gap: float = 0.20, push: float = 1.2, seconds: float = 3.0, friction: float = 0.3, dt: float = 0.002
) -> Scene:
    """A row of dominoes falls.

    Args:
        count: Number of dominoes.
        gap: Distance between neighbors [m].
        push: Initial angular velocity of the first one about its lower edge [rad/s].
        seconds: Duration [s].
        friction: Friction coefficient of all contacts.
        dt: Step length [s].
    """
    count = validation.integer(count, "number of dominoes", minimum=1)
    world = World()
    world.add(figures.ground(), name="floor")
    thick, _, height = DOMINO
    for k in range(count):
        domino = world.add(block(DOMINO, 2.0, blend_color(RUST, BLUE, k / max(count - 1, 1))), name=f"domino{k + 1}")
        domino.place((k * gap, 0, height / 2))
    # About the front edge: the center is height / 2 above it, and thick / 2 behind.
    world.v = {"domino1/root": (push * height / 2, 0, push * thick / 2, 0, push, 0)}
    world.enable_contact(friction=friction)
    look = ViewSettings(Camera(azimuth=-70, elevation=14), times=(0, 0.4, 0.8, 1.2, 1.6, seconds), columns=2, weight_length=2.0)
    return Scene("dominoes", "Dominoes", DOMINOES, world, Simulation(world, dt=dt), seconds, look, conservative=False)


def box_slope(
    degrees: float = 20.0, friction: Sequence[float] = (0.1, 0.2, 0.3, 0.4, 0.5), seconds: float = 1.6, dt: float = 0.002
) -> Scene:
    """Boxes on a slope: those with little friction slide.

    Args:
        degrees: Inclination of the slope [°].
        friction: Friction coefficient of each box and its lane.
        seconds: Duration [s].
        dt: Step length [s].
    """
    length, width, edge = 3.0, 0.4, 0.26
    colors = [blend_color(BLUE, RUST, k / max(len(friction) - 1, 1)) for k in range(len(friction))]
    lanes = [(f, blend_color(color, STONE, 0.75)) for f, color in zip(friction, colors, strict=True)]
    turn = rotation_about_y(degrees)
    middle = np.array((0, 0, length / 2 * np.sin(np.radians(degrees)) + 0.08))
    world = World()
    world.add(figures.ground(), name="floor")
    world.add(ramp(length, lanes, width), name="ramp", at=middle, rotation=turn)
    for k, (color, (f, _)) in enumerate(zip(colors, lanes, strict=True)):
        box = world.add(block((edge, edge, edge), 5.0, color, Material(friction=f)), name=f"box{k + 1}")
        y = (k - (len(friction) - 1) / 2) * width
        box.place(middle + turn @ (0.3 - length / 2, y, edge / 2), turn)
    world.enable_contact()
    look = ViewSettings(Camera(azimuth=-40, elevation=24), times=(0, 0.6, 1.1, 1.6), columns=4, weight_length=2.0)
    return Scene("box-slope", "Boxes on a slope", SLOPE, world, Simulation(world, dt=dt), seconds, look, conservative=False)


def rocking_block(tilt: float = 8.0, seconds: float = 4.0, friction: float = 1.0, dt: float = 0.002) -> Scene:
    """A tall block released on its edge rocks.

    Args:
        tilt: Initial tilt [°]: less than 14, or it falls.
        seconds: Duration [s].
        friction: Friction coefficient of block and ground.
        dt: Step length [s].
    """
    wide, _, tall = ROCKER
    world = World()
    world.add(figures.ground(), name="floor")
    tower = world.add(block(ROCKER, 20.0, SAND), name="tower")
    turn, edge = rotation_about_y(tilt), np.array((wide / 2, 0, 0))
    tower.place(edge + turn @ (-wide / 2, 0, tall / 2), turn)
    world.enable_contact(friction=friction)
    look = ViewSettings(
        Camera(azimuth=-75, elevation=8), columns=8, times=(0, 0.35, 0.62, 0.88, 1.09, 1.30, 1.48, seconds), weight_length=0.4
    )
    return Scene("rocking-block", "A block rocks on its edges", ROCKING, world, Simulation(world, dt=dt), seconds, look, conservative=False)


def stack(count: int = 12, ratio: float = 100.0, seconds: float = 2.0, friction: float = 0.6, dt: float = 0.002) -> Scene:
    """A stack of boxes stays at rest, the heaviest on top.

    Args:
        count: Number of boxes.
        ratio: Mass of the uppermost over that of the lowest, which has 1 kg.
        seconds: Duration [s].
        friction: Friction coefficient of all contacts.
        dt: Step length [s].
    """
    count = validation.integer(count, "number of boxes", minimum=1)
    size = np.array((0.30, 0.30, 0.15))
    world = World()
    world.add(figures.ground(), name="floor")
    for k in range(count):
        part = k / max(count - 1, 1)
        box = world.add(block(size, ratio**part, blend_color(SAND, RUST, part)), name=f"box{k + 1}")
        box.place((0.012 * (-1) ** k, 0, (k + 0.5) * size[2]), axis_quaternion((0, 0, 1), 7.0 * k))
    world.enable_contact(friction=friction)
    look = ViewSettings(Camera(azimuth=-55, elevation=12), times=(0, seconds / 2, seconds), columns=3, max_height=4.0, weight_length=0.14)
    return Scene("stack", "The heaviest on top", STACK, world, Simulation(world, dt=dt), seconds, look, conservative=False)
