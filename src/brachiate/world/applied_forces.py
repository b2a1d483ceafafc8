"""External forces and moments on links."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from brachiate import validation
from brachiate.errors import ArgumentError
from brachiate.model.data import Data
from brachiate.validation import Array

if TYPE_CHECKING:
    from brachiate.world.world import World


@dataclass(frozen=True, eq=False)
class AppliedForce:
    """Constant external force and moment on a link, at a point fixed in the link; a handle for :meth:`World.remove`."""

    link: str
    force: Array  # (3,) [N]
    moment: Array  # (3,) [N·m]
    at: Array  # (3,) [m] in the link
    axes: str  # "world": the direction stays fixed in the world; "link": it turns with the link


def checked_forces(forces: Iterable[AppliedForce]) -> list[AppliedForce]:
    """Return applied forces as a list, or raise an error if something else is among them."""
    given: list[Any] = list(forces) if np.iterable(forces) else [forces]
    for force in given:
        if not isinstance(force, AppliedForce):
            raise ArgumentError(f"set_applied_forces expects forces that apply_force returned, got {validation.short_repr(force)}.")
    return given


def write_applied_forces(world: World) -> None:
    """Write the applied forces on moving links into the arrays that the kernels read; enlarges the arrays if needed."""
    rows = [(force, world.model.placements[force.link]) for force in world.applied_forces]
    rows = [(force, placement) for force, placement in rows if placement.body >= 0]
    reserve_applied_forces(world, len(rows))
    work = world.data.work
    work.push_count[0] = len(rows)
    for n, (force, placement) in enumerate(rows):
        R = placement.rotation if force.axes == "link" else np.eye(3)
        work.push_body[n] = placement.body
        work.push_point[n] = placement.position + placement.rotation @ force.at
        work.push_force[n] = [*(R @ force.force), *(R @ force.moment)]
        work.push_in_link[n] = force.axes == "link"


def reserve_applied_forces(world: World, count: int) -> None:
    """Make room for so many forces on moving links; the workspace of the world is replaced if there is not enough."""
    if count <= len(world.data.work.push_body):
        return
    old = world.data
    world.data = Data(world.model, world.gravity, pushes=2 * count)
    world.data.assign(q=old.q, v=old.v, a=old.a, tau=old.tau)
    for name in ("push_body", "push_point", "push_force", "push_in_link"):
        kept = getattr(old.work, name)
        getattr(world.data.work, name)[: len(kept)] = kept
    world.data.work.push_count[:] = old.work.push_count
    if hasattr(world, "constraint_set"):
        world.constraint_set.data = world.data
        if world.contact_settings.contact_state is not None:
            world.contact_settings.contact_state.data = world.data
