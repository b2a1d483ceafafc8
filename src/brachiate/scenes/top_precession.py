"""Spinning top on the ground: precession."""

from __future__ import annotations

import numpy as np

from brachiate import figures
from brachiate.errors import ArgumentError
from brachiate.scenes.contact_objects import top
from brachiate.scenes.placement import rotation_about_y
from brachiate.scenes.scene import Scene
from brachiate.show.draw import Camera, ViewSettings
from brachiate.simulate.simulation import Simulation
from brachiate.world.world import World

ABOUT = """\
It stands on its tip, which friction keeps in place, and leans: its axis precesses at about weight times lever over angular momentum, as
long as it spins fast."""


def spinning_top(spin: float = 120.0, lean: float = 18.0, seconds: float = 5.0, friction: float = 0.8, dt: float = 0.002) -> Scene:
    """A top spins on its tip, and precesses.

    Args:
        spin: Angular velocity about its axis [rad/s].
        lean: Inclination of the axis [°].
        seconds: Duration [s].
        friction: Friction coefficient of tip and ground.
        dt: Step length [s].
    """
    world = World()
    world.add(figures.ground(), name="floor")
    spinning = world.add(top(), name="top")
    turn = rotation_about_y(lean)
    spinning.place((0, 0, 0), turn)
    rate = precession(world, spin, lean)
    across = np.sin(np.radians(lean)) * rate
    world.v = {"top/root": (0, 0, 0, -across, 0, spin)}
    world.enable_contact(friction=friction)
    look = ViewSettings(Camera(azimuth=-60, elevation=22), times=tuple(np.arange(8) * 2 * np.pi / rate / 8), columns=4, weight_length=0.15)
    return Scene("spinning-top", "A top spins and goes around", ABOUT, world, Simulation(world, dt=dt), seconds, look, conservative=False)


def precession(world: World, spin: float, lean: float) -> float:
    """Rate of steady precession [rad/s] of a top with a fixed tip: the slower of two solutions.

    For a fast top nearly weight times lever over angular momentum.
    """
    link = world.model.links["top/top"]
    weight, lever = -link.mass * world.gravity[2], link.center[2]
    across = (link.inertia[0, 0] + link.mass * lever**2) * np.cos(np.radians(lean))
    momentum = link.inertia[2, 2] * spin
    rest = momentum**2 - 4 * across * weight * lever
    if rest < 0:
        least = 2 * (across * weight * lever) ** 0.5 / link.inertia[2, 2]
        raise ArgumentError(f"spin: this top falls at {spin:g} rad/s; it needs at least {least:.3g} rad/s.")
    return float(2 * weight * lever / (momentum + rest**0.5))
