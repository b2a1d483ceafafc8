"""A chain of people: one hangs from a bar, the others from the ankles of the one above."""

from __future__ import annotations

import numpy as np

from brachiate import figures, validation
from brachiate.figures.looks import SHIRT
from brachiate.figures.poses import both
from brachiate.model.joints import Revolute, Spherical
from brachiate.scenes.bodies import GREEN, RED, SIDES, dressed, put, turning
from brachiate.scenes.scene import Scene
from brachiate.show.draw import Look, View
from brachiate.simulate.simulation import Simulation
from brachiate.world.world import World

ABOUT = """\
The first holds the bar by hinges, everybody else the ankles of the one above by ball joints: as many loops as people. The lowest
lets go with one hand, then with the other; then the one above."""

LEGS = both(hip={"out": 6})
FIRST = LEGS | both(shoulder={"forward": 166, "out": -12})  # wide, as hinges in parallel arms would be a singular posture
OTHERS = LEGS | both(shoulder={"forward": 172, "out": -1.5})  # as far apart as ankles
SHIRTS = (SHIRT, RED, GREEN)
REACH = 2.3  # from hand to ankle, with room to spare [m]


def chain_of_people(
    n: int = 3,
    release: float = 1.4,
    seconds: float = 2.2,
    swing: float = 0.9,
    stiffness: float = 60.0,
    limits: bool = False,
    dt: float = 0.002,
    integrator: str = "rk4",
) -> Scene:
    """People hang from each other's ankles, and the lowest let go.

    Args:
        n: How many people.
        release: When the lowest lets go with the first hand [s]; more follow every 0.2 s, until only one is left on the bar.
        seconds: How long it is worth watching [s].
        swing: How fast everything turns about the bar at first [rad/s].
        stiffness: Of the joints towards the stretched posture [N·m/rad].
        limits: Whether joints stop at their limits. Energy is then lost in every stop.
        dt: Length of a step [s].
        integrator: As in :class:`~brachiate.Simulation`.
    """
    n = validation.whole(validation.number(n, "number of people", least=2, most=50), "number of people", least=2)
    world = World()
    world.add(figures.bar(height=1.5 + REACH * n, length=1.6, radius=0.02), name="bar")
    above, rod = np.array(world.position("bar/rod")), world.position("bar/rod")
    for i in range(1, n + 1):
        posture = FIRST if i == 1 else OTHERS
        man = world.add(dressed(figures.human16().sprung(stiffness, posture), SHIRTS[(i - 1) % 3]), name=f"man{i}")
        man.pose(posture)
        put(world, man, [f"{side}_grip" for side in SIDES], above, np.eye(3))
        above = np.mean([world.position(f"man{i}/{side}_foot") for side in SIDES], axis=0)
    world.v = {f"man{i}/root": turning(world, f"man{i}/pelvis", rod, (0, -swing, 0)) for i in range(1, n + 1)}
    simulation = Simulation(world, dt=dt, integrator=integrator, limits=limits)
    look = Look(View(around=-62, above=6), columns=4, times=(0, 0.5, 1.0, 1.4, 1.6, 1.8, 2.0, 2.2))
    scene = Scene("chain-of-people", "People hang from each other, and let go", ABOUT, world, simulation, seconds, look, not limits)
    hands = []
    for i in range(1, n + 1):
        for side in SIDES:
            to, joint = ("bar/rod", Revolute("y")) if i == 1 else (f"man{i - 1}/{side}_foot", Spherical())
            hands.append(scene.connect(f"man{i}/{side}_grip", to, joint, name=f"man{i}'s {side} hand"))
    for k, hand in enumerate(reversed(hands[2:])):
        simulation.at(release + 0.2 * k, lambda hand=hand: scene.cut(hand))
    return scene
