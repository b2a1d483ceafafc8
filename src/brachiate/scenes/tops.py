"""A top that spins on the ground."""

from __future__ import annotations

import numpy as np

from brachiate import figures
from brachiate.errors import ArgumentError
from brachiate.scenes.bodies import about_y
from brachiate.scenes.scene import Scene
from brachiate.scenes.solids import top
from brachiate.show.draw import Look, View
from brachiate.simulate.simulation import Simulation
from brachiate.world.world import World

ABOUT = """\
It stands on a point that friction holds in place, leans, and does not fall: its axis goes around slowly, by weight times lever
over spin, as long as it spins fast."""


def spinning_top(spin: float = 120.0, lean: float = 18.0, seconds: float = 5.0, friction: float = 0.8, dt: float = 0.002) -> Scene:
    """A top spins on its tip, and goes around.

    Args:
        spin: About its axis [rad/s].
        lean: Of the axis [°].
        seconds: How long it is worth watching [s].
        friction: Of tip and ground.
        dt: Length of a step [s].
    """
    world = World()
    world.add(figures.ground(), name="floor")
    thing = world.add(top(), name="top")
    turn = about_y(lean)
    thing.place((0, 0, 0), turn)
    rate = precession(world, spin, lean)
    across = np.sin(np.radians(lean)) * rate
    world.v = {"top/root": (0, 0, 0, -across, 0, spin)}
    world.touch(friction=friction)
    look = Look(View(around=-60, above=22), times=tuple(np.arange(8) * 2 * np.pi / rate / 8), columns=4, weight_length=0.15)
    return Scene("spinning-top", "A top spins and goes around", ABOUT, world, Simulation(world, dt=dt), seconds, look, passive=False)


def precession(world: World, spin: float, lean: float) -> float:
    """How fast the axis goes around while its lean stays as it is [rad/s]: the slower of two ways, for a top that is held at its tip.

    Of a fast top this is nearly its weight times its lever over its angular momentum.
    """
    link = world.model.links["top/top"]
    weight, lever = -link.mass * world.gravity[2], link.center[2]
    across = (link.inertia[0, 0] + link.mass * lever**2) * np.cos(np.radians(lean))
    momentum = link.inertia[2, 2] * spin
    rest = momentum**2 - 4 * across * weight * lever
    if rest < 0:
        least = 2 * (across * weight * lever) ** 0.5 / link.inertia[2, 2]
        raise ArgumentError(f"spin: this top falls if it spins at {spin:g} rad/s; it takes {least:.3g}.")
    return float(2 * weight * lever / (momentum + rest**0.5))
