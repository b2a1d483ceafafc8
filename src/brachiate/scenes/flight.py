"""Free flight of a tumbling figure under gravity alone: conservation of momentum and energy."""

from __future__ import annotations

from brachiate import figures
from brachiate.scenes.scene import Scene
from brachiate.show.draw import ViewSettings
from brachiate.simulate.simulation import Simulation
from brachiate.world.world import World

ABOUT = """\
Springs keep its posture, and gravity is the only external force: its center of mass follows a parabola, and angular momentum and energy
are conserved."""
STIFFNESS = 60.0  # [N·m/rad]


def thrown(seconds: float = 0.92, dt: float = 0.002, integrator: str = "rk8") -> Scene:
    """A human figure tumbles in free flight.

    Args:
        seconds: Duration [s]; it would reach the ground at 1 s.
        dt: Step length [s].
        integrator: As in :class:`~brachiate.Simulation`.
    """
    world = World()
    man = world.add(figures.human28(height=1.75, mass=70.0).with_springs(STIFFNESS, "tumble"), name="man")
    man.place((0.0, 0.0, 1.5))
    man.set_pose("tumble")
    world.v = {
        "man/root": [2.6, 0.0, 5.2, 0.0, 8.5, 0.0],
        "man/chest": [0.3, 0.8, 0.5],
        "man/left_shoulder": [1.0, -2.6, 0.0],
        "man/right_shoulder": [-1.0, 2.5, 0.0],
        "man/left_hip": [0.0, 2.5, 0.0],
        "man/right_hip": [0.0, -2.4, 0.0],
        "man/left_knee": 2.4,
        "man/right_knee": -2.3,
    }
    simulation = Simulation(world, dt=dt, integrator=integrator, limits=False)  # a joint that stops would take energy
    return Scene("thrown", "A figure thrown head over heels", ABOUT, world, simulation, seconds, ViewSettings(columns=3))
