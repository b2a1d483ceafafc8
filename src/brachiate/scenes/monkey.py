"""The monkey of [CKC] Fig. 8: it swings on a bar, and lets go with one hand, then with the other."""

from __future__ import annotations

from brachiate import figures
from brachiate.figures.poses import about
from brachiate.model.joints import Spherical
from brachiate.scenes.bodies import SIDES, put
from brachiate.scenes.props import trapeze
from brachiate.scenes.scene import Scene
from brachiate.show.draw import Look, View
from brachiate.simulate.simulation import Simulation
from brachiate.world.world import World

ABOUT = """\
Two ropes and a bar with ball joints at all ends, and hands held to the bar by ball joints. [CKC] counts 34 joint variables and two
loops, the monkey hanging in the tree by one hand; our tree has its free root instead: 40 variables and three loops. There are 22
freedoms either way, then 25, then 28 in the air."""


def monkey_swing(
    first: float = 0.95,
    second: float = 1.45,
    seconds: float = 1.68,
    pull: float = 50.0,
    stiffness: float = 0.0,
    limits: bool = True,
    dt: float = 0.002,
    integrator: str = "rk4",
) -> Scene:
    """A monkey on a swing lets go with one hand, then with the other.

    Args:
        first: When the right hand lets go [s].
        second: When the left hand lets go [s].
        seconds: How long it is worth watching [s]: a little later it would be on the ground.
        pull: How far the swing is pulled back at first [°].
        stiffness: Of the joints towards the hanging posture [N·m/rad].
        limits: Whether joints stop at their limits. Energy is then lost in every stop.
        dt: Length of a step [s].
        integrator: As in :class:`~brachiate.Simulation`.
    """
    world = World()
    world.add(trapeze(height=2.0, rope=0.7, width=0.55, mass=0.8), name="swing")
    world["swing/left_rope"] = about((0, 1, 0), pull)
    monkey = world.add(figures.monkey16().sprung(stiffness, "hang"), name="monkey")
    monkey.pose("hang")
    put(world, monkey, ("left_grip", "right_grip"), world.position("swing/middle"), world.pose("swing/bar").rotation)
    simulation = Simulation(world, dt=dt, integrator=integrator, limits=limits)
    look = Look(View(around=-55, above=8), times=(0, 0.4, 0.65, 0.95, 1.1, 1.25, 1.38, 1.45, 1.56, 1.68), columns=5)
    scene = Scene("monkey-swing", "A monkey on a swing lets go, hand by hand", ABOUT, world, simulation, seconds, look, passive=not limits)
    left, right = (scene.connect(f"monkey/{side}_grip", "swing/bar", Spherical(), name=f"{side} hand") for side in SIDES)
    simulation.at(first, lambda: scene.cut(right))
    simulation.at(second, lambda: scene.cut(left))
    return scene
