"""Published benchmark mechanisms: four-bars, Bricard's mechanism, Andrews' squeezing mechanism."""

from __future__ import annotations

from brachiate import figures
from brachiate.scenes.scene import Scene
from brachiate.show.draw import Camera, ViewSettings
from brachiate.simulate.simulation import Simulation
from brachiate.world.world import World

FOURBAR = """\
The N-four-bar mechanism of the IFToMM benchmarks (A02), started upright at 1 rad/s. Whenever all rods are in line it has n + 1
degrees of freedom (a singular posture), and must continue on the branch it came from."""
BRICARD = """\
Six hinges in a ring of five rods and the ground, the IFToMM benchmark A04. Grübler's formula gives no mobility: one of the six
constraint rows is redundant, and is dropped."""
ANDREWS = """\
Seven bodies, a spring and a motor of 0.033 N·m that turns the crank K1, without gravity [HW]. In 0.03 s the crank makes two and a
half revolutions."""


def fourbar(n: int = 2, seconds: float = 3.0, dt: float = 0.001, integrator: str = "rk4") -> Scene:
    """A row of four-bars passes through singular postures (bifurcations).

    Args:
        n: Number of four-bars.
        seconds: Duration [s].
        dt: Step length [s].
        integrator: As in :class:`~brachiate.Simulation`.
    """
    world = World(gravity=(0, -9.81, 0))
    model = figures.fourbar(n)
    world.add(model, name="fourbar")
    cranks = {f"fourbar/crank{i}": -1.0 for i in range(n + 1)}
    world.v = cranks | {f"fourbar/coupler{i}": 1.0 for i in range(1, n + 1)}
    look = ViewSettings(Camera(azimuth=-90, elevation=70), times=(0, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0), columns=4, ground=False)
    simulation = Simulation(world, dt=dt, integrator=integrator)
    return Scene("fourbar", f"A row of {n} four-bars turns over", FOURBAR, world, simulation, seconds, look)


def bricard(seconds: float = 5.0, dt: float = 0.002, integrator: str = "rk4") -> Scene:
    """Bricard's overconstrained mechanism falls.

    Args:
        seconds: Duration [s].
        dt: Step length [s].
        integrator: As in :class:`~brachiate.Simulation`.
    """
    world = World(gravity=(0, -9.81, 0))
    world.add(figures.bricard(), name="bricard")
    look = ViewSettings(Camera(azimuth=-60, elevation=20), columns=6, up="y", ground=False, times=(0, 0.4, 0.8, 1.2, 1.6, 2.0))
    simulation = Simulation(world, dt=dt, integrator=integrator)
    return Scene("bricard", "Bricard's ring of five rods falls", BRICARD, world, simulation, seconds, look)


def andrews(torque: float = 0.033, seconds: float = 0.03, dt: float = 1e-5, integrator: str = "rk4") -> Scene:
    """Andrews' squeezing mechanism is driven by its motor.

    Args:
        torque: Torque of the motor [N·m].
        seconds: Duration [s].
        dt: Step length [s].
        integrator: As in :class:`~brachiate.Simulation`.
    """
    world = World(gravity=0.0)
    world.add(figures.andrews(), name="andrews")
    world.torque = {"andrews/beta": torque}
    look = ViewSettings(
        Camera(azimuth=-90, elevation=75), columns=4, ground=False, times=(0, 0.01, 0.015, 0.02, 0.0225, 0.025, 0.0275, 0.03)
    )
    simulation = Simulation(world, dt=dt, integrator=integrator)
    return Scene("andrews", "Andrews' squeezer is turned by its motor", ANDREWS, world, simulation, seconds, look, conservative=False)
