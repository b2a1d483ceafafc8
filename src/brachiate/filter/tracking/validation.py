"""Validation of the filter's arguments: reference, world, settings, disturbances."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from brachiate import figures, validation
from brachiate.errors import ArgumentError
from brachiate.filter.reference.reference import Reference
from brachiate.filter.settings import FilterSettings
from brachiate.filter.tasks.function_tasks import FunctionTasks
from brachiate.filter.tasks.task import Task
from brachiate.filter.tracking.disturbances import Push
from brachiate.filter.tracking.simulation_world import FIGURE, FLOOR
from brachiate.model.model import Model
from brachiate.motion.motion import Motion
from brachiate.motion.spline import CHUNK
from brachiate.simulate.partner import Partner
from brachiate.world.world import World


def check_arguments(world: World, figure: str, reference: Reference, settings: FilterSettings | None) -> None:
    """Raise ArgumentError if reference, world or settings cannot be used together."""
    if not isinstance(reference, Reference):
        raise ArgumentError(f"reference: expected a Reference, as br.make_reference(motion) gives, got {validation.short_repr(reference)}.")
    _check_finite(reference)
    _check_figure(world.figure(figure).model, reference.figure, figure)
    check_world(world, figure, settings)


def check_world(world: World, figure: str, settings: FilterSettings | None) -> None:
    """Raise ArgumentError for a world without ground, contact or friction, and for invalid settings."""
    if settings is not None and not isinstance(settings, FilterSettings):
        raise ArgumentError(
            f"settings: expected FilterSettings, or what br.load_settings(path) gives, got {validation.short_repr(settings)}."
        )
    contact = world.contact_settings
    if contact.contact_state is None:
        raise ArgumentError("The filter needs a world with contact: call world.enable_contact() first.")
    prefix = f"{figure}/"
    if not any(first.startswith(prefix) != second.startswith(prefix) for first, second in contact.link_pairs):
        raise ArgumentError(f"There is no ground for {figure!r} to stand on: world.add(br.figures.ground(), name='floor').")
    if not contact.material.friction > 0.0:
        raise ArgumentError(f"friction must be more than 0, got {contact.material.friction:g}: no figure can walk without friction.")


def tracking_weights(model: Model, figure: str, tracked_links: Mapping[str, float] | None) -> dict[str, float]:
    """Return the weights of the links whose pose is tracked as well, checked."""
    given = validation.mapping({} if tracked_links is None else tracked_links, "tracked_links", "weights by the names of links")
    for link in given:
        validation.lookup(model.links, link, "link", repr(figure))
    return {link: validation.number(weight, f"tracked_links: weight of {link!r}", above=0.0, maximum=1e6) for link, weight in given.items()}


def _check_figure(in_world: Model, in_reference: Model, figure: str) -> None:
    """Require the same joints at the same positions; masses and actuators may differ."""
    pair = in_reference.joints, in_world.joints
    unmatched = next((name for joints in pair for name in joints if (name in pair[0]) != (name in pair[1])), None)
    moved = [
        name
        for name, link in in_reference.links.items()
        if name in in_world.links and not np.allclose(link.position, in_world.links[name].position)
    ]
    if unmatched is not None or list(in_reference.joints) != list(in_world.joints) or moved:
        difference = "the joints are in another order"
        if unmatched:
            difference = f"only one of them has the joint {unmatched!r}"
        elif moved:
            difference = f"{moved[0]!r} is at another position"
        raise ArgumentError(
            f"Figure {figure!r} of the world, {in_world.name!r}, does not match the figure of the reference, {in_reference.name!r}: "
            f"{difference}. Add reference.figure to the world, or retarget the motion."
        )


def _check_finite(reference: Reference) -> None:
    """Raise ArgumentError that names the first frame and joint with a value that is not finite."""
    for first in range(0, len(reference), CHUNK):
        states = reference.states(slice(first, first + CHUNK))
        for what, table, side in (("position", states.q, "q"), ("velocity", states.v, "v"), ("acceleration", states.a, "v")):
            if not np.isfinite(table).all():
                frame, k = (int(i) for i in np.argwhere(~np.isfinite(table))[0])
                places = {name: getattr(joined, side) for name, joined in reference.figure.joints.items()}
                joint = next(name for name, at in places.items() if at.start <= k < at.stop)
                raise ArgumentError(
                    f"reference: every number must be finite: the {what} of joint {joint!r} is {table[frame, k]:g} in frame "
                    f"{first + frame} ({states.times[frame]:.3f} s)."
                )


def check_pushes(pushes: Sequence[Push], reference: Reference) -> None:
    """Raise ArgumentError for pushes on unknown links or after the end of the motion."""
    if not isinstance(pushes, Sequence) or not all(isinstance(push, Push) for push in pushes):
        raise ArgumentError(f"pushes: expected a list of br.Push, or what br.load_pushes(path) gives, got {validation.short_repr(pushes)}.")
    duration = float(reference.times[-1] - reference.times[0])
    for push in pushes:
        validation.lookup(reference.figure.links, push.link, "link", f"figure {reference.figure.name!r}, which is pushed")
        if push.start >= duration:
            raise ArgumentError(
                f"The push on {push.link!r} at {push.start:g} s would never act: the motion lasts {duration:g} s. Choose an earlier start."
            )


def check_partner(make: Any, mode: str, modes: Sequence[str]) -> None:
    """Raise ArgumentError if a partner is not given by a function, or for a mode without one."""
    if make is None:
        return
    if not callable(make) or isinstance(make, Partner):
        raise ArgumentError(
            "partner: expected a function that makes it from the world of the filter, such as "
            f"lambda world: br.particles.Coupling(world, bag), got {validation.short_repr(make)}."
        )
    if mode not in modes:
        raise ArgumentError(f"partner: mode={mode!r} cannot be coupled with anything: use mode={' or '.join(map(repr, modes))}.")


def check_made_partner(partner: Any, world: World, model: Model) -> None:
    """Raise ArgumentError if what a function made is no partner of this world, or if it changed the model of the world."""
    if not isinstance(partner, Partner):
        raise ArgumentError(
            "partner: the function has to return a coupling of the world, such as br.particles.Coupling(world, bag), "
            f"not {validation.short_repr(partner)}."
        )
    if partner.world is not world:
        raise ArgumentError("partner: this coupling is with another world: make it with the world that the function gets.")
    if world.model is not model:
        raise ArgumentError("partner: the function must not add or remove figures of the world: use particles instead.")


def check_tasks(tasks: Mapping[str, Task], motion: Motion | Reference) -> None:
    """Raise ArgumentError for tasks that cannot be evaluated at the start of the motion, or would never act."""
    source = motion.original if isinstance(motion, Reference) else motion
    if not tasks or not isinstance(source, Motion):
        return
    world = World()
    world.add(figures.ground(), name=FLOOR)
    world.add(source.figure, name=FIGURE)
    world.q = source.q[0]
    FunctionTasks(world, FIGURE, tasks, source.duration)
