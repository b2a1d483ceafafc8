"""Chain of human figures: one hangs from a bar, the others from the ankles of the one above."""

from __future__ import annotations

import numpy as np

from brachiate import figures, validation
from brachiate.figures.human_shapes import SHIRT
from brachiate.figures.poses import both_sides
from brachiate.model.joints import Revolute, Spherical
from brachiate.scenes.placement import GREEN, RED, SIDES, place_at, rigid_rotation_velocity, with_shirt
from brachiate.scenes.scene import Scene
from brachiate.show.draw import Camera, ViewSettings
from brachiate.simulate.simulation import Simulation
from brachiate.world.world import World

ABOUT = """\
The first is connected to the bar by hinges, the others to the ankles of the one above by ball joints: one loop per figure. The lowest
releases one hand, then the other; then the one above."""

LEGS = both_sides(hip={"out": 6})
FIRST = LEGS | both_sides(shoulder={"forward": 166, "out": -12})  # wide: parallel arms with hinges would be a singular posture
OTHERS = LEGS | both_sides(shoulder={"forward": 172, "out": -1.5})  # hands at the distance of the ankles
SHIRTS = (SHIRT, RED, GREEN)
REACH = 2.3  # [m] from hand to ankle, with a margin


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
    """Human figures hang from each other's ankles, and the lowest are released.

    Args:
        n: Number of figures.
        release: Time at which the lowest releases the first hand [s]; others follow every 0.2 s, until only one is left on the bar.
        seconds: Duration [s].
        swing: Initial angular velocity about the bar [rad/s].
        stiffness: Stiffness of the joints towards the stretched posture [N·m/rad].
        limits: Whether joints stop at their limits, which dissipates energy.
        dt: Step length [s].
        integrator: As in :class:`~brachiate.Simulation`.
    """
    n = validation.integer(validation.number(n, "number of people", minimum=2, maximum=50), "number of people", minimum=2)
    world = World()
    world.add(figures.bar(height=1.5 + REACH * n, length=1.6, radius=0.02), name="bar")
    above, rod = np.array(world.position("bar/rod")), world.position("bar/rod")
    for i in range(1, n + 1):
        posture = FIRST if i == 1 else OTHERS
        man = world.add(with_shirt(figures.human16().with_springs(stiffness, posture), SHIRTS[(i - 1) % 3]), name=f"man{i}")
        man.set_pose(posture)
        place_at(world, man, [f"{side}_grip" for side in SIDES], above, np.eye(3))
        above = np.mean([world.position(f"man{i}/{side}_foot") for side in SIDES], axis=0)
    world.v = {f"man{i}/root": rigid_rotation_velocity(world, f"man{i}/pelvis", rod, (0, -swing, 0)) for i in range(1, n + 1)}
    simulation = Simulation(world, dt=dt, integrator=integrator, limits=limits)
    look = ViewSettings(Camera(azimuth=-62, elevation=6), columns=4, times=(0, 0.5, 1.0, 1.4, 1.6, 1.8, 2.0, 2.2))
    scene = Scene("chain-of-people", "People hang from each other, and let go", ABOUT, world, simulation, seconds, look, not limits)
    hands = []
    for i in range(1, n + 1):
        for side in SIDES:
            to, joint = ("bar/rod", Revolute("y")) if i == 1 else (f"man{i - 1}/{side}_foot", Spherical())
            hands.append(scene.connect(f"man{i}/{side}_grip", to, joint, name=f"man{i}'s {side} hand"))
    for k, hand in enumerate(reversed(hands[2:])):
        simulation.at(release + 0.2 * k, lambda hand=hand: scene.cut(hand))
    return scene
