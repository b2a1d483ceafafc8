"""Blocks: a row that falls, a slope that some slide down, one that rocks, and a stack with the heaviest on top."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from brachiate import figures, validation
from brachiate.figures.poses import about
from brachiate.model.material import Material
from brachiate.scenes.bodies import about_y
from brachiate.scenes.scene import Scene
from brachiate.scenes.solids import BLUE, RUST, SAND, STONE, block, mixed, ramp
from brachiate.show.draw import Look, View
from brachiate.simulate.simulation import Simulation
from brachiate.world.world import World

DOMINOES = """\
The first is pushed, every next one is pushed over by the one before, and at the end each leans on the next. Corners slide down faces:
contact of blocks with blocks, all of them moving."""
SLOPE = """\
Each lane is as rough as the block on it. Those with more friction than the tangent of the slope stay where they are, the others slide, and
the smoothest are fastest."""
ROCKING = """\
Housner's block: it turns about one lower edge, lands on its base, and goes on about the other edge. Every landing takes some energy,
and smaller rocks are quicker: the last ones are too quick to see."""
STACK = """\
Every block is heavier than the one below. Stacks like this one sag or fall in simulations that find contact forces by a few
sweeps; here nothing moves, and each contact carries the weight above it."""

DOMINO = (0.06, 0.20, 0.40)  # [m]
ROCKER = (0.2, 0.2, 0.8)  # [m]


def dominoes(
    count: int = 12, gap: float = 0.20, push: float = 1.2, seconds: float = 3.0, friction: float = 0.3, dt: float = 0.002
) -> Scene:
    """A row of dominoes falls.

    Args:
        count: How many.
        gap: From one to the next [m].
        push: How fast the first one turns about its lower edge at first [rad/s].
        seconds: How long it is worth watching [s].
        friction: Of everything.
        dt: Length of a step [s].
    """
    count = validation.whole(count, "number of dominoes", least=1)
    world = World()
    world.add(figures.ground(), name="floor")
    thick, _, height = DOMINO
    for k in range(count):
        domino = world.add(block(DOMINO, 2.0, mixed(RUST, BLUE, k / max(count - 1, 1))), name=f"domino{k + 1}")
        domino.place((k * gap, 0, height / 2))
    # About the edge in front: the middle is height / 2 above it, and thick / 2 behind.
    world.v = {"domino1/root": (push * height / 2, 0, push * thick / 2, 0, push, 0)}
    world.touch(friction=friction)
    look = Look(View(around=-70, above=14), times=(0, 0.4, 0.8, 1.2, 1.6, seconds), columns=2, weight_length=2.0)
    return Scene("dominoes", "Dominoes", DOMINOES, world, Simulation(world, dt=dt), seconds, look, passive=False)


def box_slope(
    degrees: float = 20.0, friction: Sequence[float] = (0.1, 0.2, 0.3, 0.4, 0.5), seconds: float = 1.6, dt: float = 0.002
) -> Scene:
    """Boxes on a slope: those that are smooth slide.

    Args:
        degrees: How steep it is [°].
        friction: Of each box and its lane.
        seconds: How long it is worth watching [s].
        dt: Length of a step [s].
    """
    length, width, edge = 3.0, 0.4, 0.26
    colors = [mixed(BLUE, RUST, k / max(len(friction) - 1, 1)) for k in range(len(friction))]
    lanes = [(f, mixed(color, STONE, 0.75)) for f, color in zip(friction, colors, strict=True)]
    turn = about_y(degrees)
    middle = np.array((0, 0, length / 2 * np.sin(np.radians(degrees)) + 0.08))
    world = World()
    world.add(figures.ground(), name="floor")
    world.add(ramp(length, lanes, width), name="ramp", at=middle, rotation=turn)
    for k, (color, (f, _)) in enumerate(zip(colors, lanes, strict=True)):
        box = world.add(block((edge, edge, edge), 5.0, color, Material(friction=f)), name=f"box{k + 1}")
        y = (k - (len(friction) - 1) / 2) * width
        box.place(middle + turn @ (0.3 - length / 2, y, edge / 2), turn)
    world.touch()
    look = Look(View(around=-40, above=24), times=(0, 0.6, 1.1, 1.6), columns=4, weight_length=2.0)
    return Scene("box-slope", "Boxes on a slope", SLOPE, world, Simulation(world, dt=dt), seconds, look, passive=False)


def rocking_block(tilt: float = 8.0, seconds: float = 4.0, friction: float = 1.0, dt: float = 0.002) -> Scene:
    """A tall block that is let go on its edge rocks to and fro.

    Args:
        tilt: How far it is tilted at first [°]: less than 14, or it falls.
        seconds: How long it is worth watching [s].
        friction: Of block and ground.
        dt: Length of a step [s].
    """
    wide, _, tall = ROCKER
    world = World()
    world.add(figures.ground(), name="floor")
    tower = world.add(block(ROCKER, 20.0, SAND), name="tower")
    turn, edge = about_y(tilt), np.array((wide / 2, 0, 0))
    tower.place(edge + turn @ (-wide / 2, 0, tall / 2), turn)
    world.touch(friction=friction)
    look = Look(View(around=-75, above=8), columns=8, times=(0, 0.35, 0.62, 0.88, 1.09, 1.30, 1.48, seconds), weight_length=0.4)
    return Scene("rocking-block", "A block rocks on its edges", ROCKING, world, Simulation(world, dt=dt), seconds, look, passive=False)


def stack(count: int = 12, ratio: float = 100.0, seconds: float = 2.0, friction: float = 0.6, dt: float = 0.002) -> Scene:
    """A stack of boxes stays put, the heaviest on top.

    Args:
        count: How many boxes.
        ratio: Mass of the uppermost over that of the lowest, which has 1 kg.
        seconds: How long it is worth watching [s].
        friction: Of everything.
        dt: Length of a step [s].
    """
    count = validation.whole(count, "number of boxes", least=1)
    size = np.array((0.30, 0.30, 0.15))
    world = World()
    world.add(figures.ground(), name="floor")
    for k in range(count):
        part = k / max(count - 1, 1)
        box = world.add(block(size, ratio**part, mixed(SAND, RUST, part)), name=f"box{k + 1}")
        box.place((0.012 * (-1) ** k, 0, (k + 0.5) * size[2]), about((0, 0, 1), 7.0 * k))
    world.touch(friction=friction)
    look = Look(View(around=-55, above=12), times=(0, seconds / 2, seconds), columns=3, tallest=4.0, weight_length=0.14)
    return Scene("stack", "The heaviest on top", STACK, world, Simulation(world, dt=dt), seconds, look, passive=False)
