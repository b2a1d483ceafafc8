"""A figure thrown head over heels: nothing but gravity acts, so momentum and energy can be looked at."""

from __future__ import annotations

from brachiate import figures
from brachiate.scenes.scene import Scene
from brachiate.show.draw import Look
from brachiate.simulate.simulation import Simulation
from brachiate.world.world import World

ABOUT = """\
Springs hold its posture, no force but gravity acts from outside: its centre of mass follows a parabola, and its angular momentum and
its energy stay what they are."""
STIFFNESS = 60.0  # [N·m/rad]


def thrown(seconds: float = 0.92, dt: float = 0.002, integrator: str = "rk8") -> Scene:
    """A human figure is thrown head over heels.

    Args:
        seconds: How long it is worth watching [s]; it would touch the ground at 1 s.
        dt: Length of a step [s].
        integrator: As in :class:`~brachiate.Simulation`.
    """
    world = World()
    man = world.add(figures.human28(height=1.75, mass=70.0).sprung(STIFFNESS, "tumble"), name="man")
    man.place((0.0, 0.0, 1.5))
    man.pose("tumble")
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
    return Scene("thrown", "A figure thrown head over heels", ABOUT, world, simulation, seconds, Look(columns=3))
