"""Closed mechanisms that others have published, as they publish them: four-bars, Bricard's rods, Andrews' squeezer."""

from __future__ import annotations

from brachiate import figures
from brachiate.scenes.scene import Scene
from brachiate.show.draw import Look, View
from brachiate.simulate.simulation import Simulation
from brachiate.world.world import World

FOURBAR = """\
The N-four-bar mechanism of the IFToMM benchmarks (A02), started upright at 1 rad/s. Whenever all rods are in line it has n + 1
freedoms for a moment, and must leave with the one it came with."""
BRICARD = """\
Six hinges in a ring of five rods and the ground, the IFToMM benchmark A04. By counting it could not move at all: one of its six
conditions follows from the others, and is left out."""
ANDREWS = """\
Seven bodies, a spring and a motor of 0.033 N·m that turns the crank K1, without gravity [HW]. In 0.03 s the crank makes two and a
half turns."""


def fourbar(n: int = 2, seconds: float = 3.0, dt: float = 0.001, integrator: str = "rk4") -> Scene:
    """A row of four-bars turns over, through postures in which they could go two ways.

    Args:
        n: How many four-bars.
        seconds: How long it is worth watching [s].
        dt: Length of a step [s].
        integrator: As in :class:`~brachiate.Simulation`.
    """
    world = World(gravity=(0, -9.81, 0))
    model = figures.fourbar(n)
    world.add(model, name="fourbar")
    cranks = {f"fourbar/crank{i}": -1.0 for i in range(n + 1)}
    world.v = cranks | {f"fourbar/coupler{i}": 1.0 for i in range(1, n + 1)}
    look = Look(View(around=-90, above=70), times=(0, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0), columns=4, ground=False)
    simulation = Simulation(world, dt=dt, integrator=integrator)
    return Scene("fourbar", f"A row of {n} four-bars turns over", FOURBAR, world, simulation, seconds, look)


def bricard(seconds: float = 5.0, dt: float = 0.002, integrator: str = "rk4") -> Scene:
    """Bricard's ring of five rods, which should not be able to move, falls.

    Args:
        seconds: How long it is worth watching [s].
        dt: Length of a step [s].
        integrator: As in :class:`~brachiate.Simulation`.
    """
    world = World(gravity=(0, -9.81, 0))
    world.add(figures.bricard(), name="bricard")
    look = Look(View(around=-60, above=20), columns=6, up="y", ground=False, times=(0, 0.4, 0.8, 1.2, 1.6, 2.0))
    simulation = Simulation(world, dt=dt, integrator=integrator)
    return Scene("bricard", "Bricard's ring of five rods falls", BRICARD, world, simulation, seconds, look)


def andrews(torque: float = 0.033, seconds: float = 0.03, dt: float = 1e-5, integrator: str = "rk4") -> Scene:
    """Andrews' squeezing mechanism is turned by its motor.

    Args:
        torque: Of the motor [N·m].
        seconds: How long it is worth watching [s].
        dt: Length of a step [s].
        integrator: As in :class:`~brachiate.Simulation`.
    """
    world = World(gravity=0.0)
    world.add(figures.andrews(), name="andrews")
    world.torque = {"andrews/beta": torque}
    look = Look(View(around=-90, above=75), columns=4, ground=False, times=(0, 0.01, 0.015, 0.02, 0.0225, 0.025, 0.0275, 0.03))
    simulation = Simulation(world, dt=dt, integrator=integrator)
    return Scene("andrews", "Andrews' squeezer is turned by its motor", ANDREWS, world, simulation, seconds, look, passive=False)
