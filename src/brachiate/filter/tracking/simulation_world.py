"""Simulation world of a filter run: terrain and surfaces of the reference, the figure with its torque limits, and contact."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from brachiate import figures, rotations, validation
from brachiate.filter.reference.reference import Reference
from brachiate.filter.reference.stair_footholds import make_stair_model
from brachiate.filter.schedule.inferred_surfaces import add_inferred_surfaces
from brachiate.filter.tasks.task import Task
from brachiate.filter.tracking.disturbances import Push
from brachiate.simulate.partner import Partner
from brachiate.world.world import World

FIGURE, FLOOR = "man", "floor"  # names in the world


@dataclass(frozen=True)
class SimulationOptions:
    """Options of a filter run that do not depend on its mode.

    Args:
        friction: Friction coefficient of the contacts; None for that of the terrain.
        torque_scale: Factor of the figure's torque limits; None or infinity for unlimited torques.
        pushes: External forces, unknown to the filter until they act.
        payloads: Masses carried by links, by name [kg].
        tracked_links: Links whose pose is tracked besides the joints, and its weight.
        tasks: Functions of the motion that follow targets, by name.
        progress: Whether to show a progress bar.
        effort: Factor of the number of rollouts, where joint targets are sampled.
        seed: Of the random numbers there.
        partner: Makes what is coupled with the simulation from its world; None for nothing.
        retries: Number of further attempts after a fall.
        budget: Work of all attempts together, in seconds of one core for each second of the motion.
    """

    friction: float | None = None
    torque_scale: float | None = 1.0
    pushes: Sequence[Push] = ()
    payloads: Mapping[str, float] | None = None
    tracked_links: Mapping[str, float] | None = None
    tasks: Mapping[str, Task] = field(default_factory=dict)
    progress: bool = False
    effort: float = 1.0
    seed: int = 0
    partner: Callable[[World], Partner] | None = None
    retries: int = 0
    budget: float = 0.0


def simulation_world(
    reference: Reference, friction: float | None = None, torque_scale: float | None = 1.0, *, surfaces: bool = True
) -> World:
    """World with the terrain of a reference, inferred surfaces above it, the figure, and contact between them.

    Args:
        reference: Reference that will be tracked.
        friction: Friction coefficient; None for that of the terrain.
        torque_scale: Factor of the figure's torque limits; None or infinity for unlimited torques.
        surfaces: Whether there are inferred surfaces.
    """
    scale = math.inf if torque_scale is None else validation.number(torque_scale, "torque_scale", above=0.0, maximum=math.inf)
    world, terrain = World(), reference.terrain
    if terrain.stairs is None:
        world.add(figures.ground(), name=FLOOR, at=(0.0, 0.0, terrain.height or 0.0), rotation=rotations.to_matrix(terrain.tilt))
    else:
        stairs, at, R = make_stair_model(terrain, reference.q[:, :2])
        world.add(stairs, name=FLOOR, at=at, rotation=R)
    world.add(reference.figure if scale == 1.0 else reference.figure.with_scaled_effort(scale), name=FIGURE)
    world.enable_contact(friction=terrain.friction if friction is None else validation.number(friction, "friction", above=0.0))
    if surfaces:
        add_inferred_surfaces(world, FIGURE, reference)
    return world
