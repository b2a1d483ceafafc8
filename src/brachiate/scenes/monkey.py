"""Monkey of [CKC] Fig. 8 on a swinging bar, which releases one hand, then the other."""

from __future__ import annotations

from brachiate import figures
from brachiate.figures.poses import axis_quaternion
from brachiate.model.joints import Spherical
from brachiate.scenes.placement import SIDES, place_at
from brachiate.scenes.props import trapeze
from brachiate.scenes.scene import Scene
from brachiate.show.draw import Camera, ViewSettings
from brachiate.simulate.simulation import Simulation
from brachiate.world.world import World

ABOUT = """\
Two ropes and a bar with ball joints at all ends, and hands connected to the bar by ball joints. [CKC] counts 34 joint variables and two
loops, with one hand as a joint of the tree; here the root of the monkey is free instead: 40 variables and three loops. Both have 22
degrees of freedom, then 25, then 28 in the air."""


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
    """A monkey on a swing releases one hand, then the other.

    Args:
        first: Time at which the right hand is released [s].
        second: Time at which the left hand is released [s].
        seconds: Duration [s]; shortly after it would reach the ground.
        pull: Initial angle of the swing [°].
        stiffness: Stiffness of the joints towards the hanging posture [N·m/rad].
        limits: Whether joints stop at their limits, which dissipates energy.
        dt: Step length [s].
        integrator: As in :class:`~brachiate.Simulation`.
    """
    world = World()
    world.add(trapeze(height=2.0, rope=0.7, width=0.55, mass=0.8), name="swing")
    world["swing/left_rope"] = axis_quaternion((0, 1, 0), pull)
    monkey = world.add(figures.monkey16().with_springs(stiffness, "hang"), name="monkey")
    monkey.set_pose("hang")
    place_at(world, monkey, ("left_grip", "right_grip"), world.position("swing/middle"), world.pose("swing/bar").rotation)
    simulation = Simulation(world, dt=dt, integrator=integrator, limits=limits)
    look = ViewSettings(Camera(azimuth=-55, elevation=8), times=(0, 0.4, 0.65, 0.95, 1.1, 1.25, 1.38, 1.45, 1.56, 1.68), columns=5)
    scene = Scene(
        "monkey-swing", "A monkey on a swing lets go, hand by hand", ABOUT, world, simulation, seconds, look, conservative=not limits
    )
    left, right = (scene.connect(f"monkey/{side}_grip", "swing/bar", Spherical(), name=f"{side} hand") for side in SIDES)
    simulation.at(first, lambda: scene.cut(right))
    simulation.at(second, lambda: scene.cut(left))
    return scene
