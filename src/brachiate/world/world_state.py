"""Snapshots of a world: state, structure, applied forces and contact memory, saved and restored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from brachiate import validation
from brachiate.constraints.constraint_memory import ConstraintMemory, restore_constraints, save_constraints
from brachiate.contact.stepping.contact_state import ContactMemory
from brachiate.errors import ArgumentError
from brachiate.validation import Array
from brachiate.world.applied_forces import AppliedForce
from brachiate.world.connections import Connection

if TYPE_CHECKING:
    from brachiate.world.world import World


@dataclass(frozen=True, eq=False)
class WorldState:
    """Snapshot that :meth:`World.save` returns and :meth:`World.restore` brings back."""

    coordinates: tuple[str, ...]  # names of the coordinates
    time: float  # [s]
    q: Array  # (nq,)
    v: Array  # (nv,)
    torque: Array  # (nv,)
    applied_forces: tuple[AppliedForce, ...]
    version: int  # of the structure: another one after every change
    parts: dict[str, Any]  # model, base position and base rotation of every figure
    constraints: tuple[Any, ...]
    connection_states: dict[Any, tuple[Array, Array]]  # joint coordinates and motor torques of connections
    pair_materials: Mapping[frozenset[str], Any]  # contact material of pairs of links; None: contact ignored
    contact_memory: ContactMemory | None  # warm start of the contact solver from the step before
    constraint_indices: tuple[int, ...]  # of the constraints in the constraint set
    constraint_memory: ConstraintMemory

    def for_copy(self, other: World) -> WorldState:
        """The same state for a copy of the world, whose constraints correspond to those of this state one by one."""
        pairs = zip(self.constraints, other.constraints, strict=True)
        states = {theirs: self.connection_states[mine] for mine, theirs in pairs if mine in self.connection_states}
        return replace(self, version=other.structure_version, constraints=tuple(other.constraints), connection_states=states)


def save_state(world: World) -> WorldState:
    """See :meth:`World.save`."""
    data = world.data
    connection_states = {c: c.joint_state() for c in world.constraints if isinstance(c, Connection)}
    return WorldState(
        world.model.coordinates, world.time, data.q.copy(), data.v.copy(), data.tau.copy(), world.applied_forces,
        world.structure_version, dict(world.parts), tuple(world.constraints), connection_states, world.contact_settings.pair_materials,
        world.contact_settings.save_memory(), tuple(constraint.index for constraint in world.constraints),
        save_constraints(world.constraint_set),
    )  # fmt: skip


def restore_state(world: World, state: WorldState) -> None:
    """See :meth:`World.restore`."""
    if not isinstance(state, WorldState):
        raise ArgumentError(f"restore expects a state that world.save() returned, got {state!r}.")
    if state.parts.keys() != world.parts.keys() or any(constraint.world is not world for constraint in state.constraints):
        raise ArgumentError(
            f"This state has {len(state.coordinates)} coordinates, the world {world.model.nv}, or their names differ: "
            "it was saved from another world, or before a figure was added."
        )
    if state.version != world.structure_version:
        for constraint in world.constraints:
            constraint.index = -1
        world.parts, world.constraints = dict(state.parts), list(state.constraints)
        for figure, (model, _, _) in world.parts.items():
            world.figures[figure].model = model
        world.rebuild()
        world.structure_version = state.version
    restore_constraints(world.constraint_set, state.constraint_memory)
    for constraint, index in zip(state.constraints, state.constraint_indices, strict=True):
        constraint.index = index
    world.data.q[:], world.data.v[:], world.data.tau[:] = state.q, state.v, state.torque
    for connection, (q, tau) in state.connection_states.items():
        connection.set_joint_state(q, tau)
    world.time = state.time
    world.set_applied_forces(state.applied_forces)
    world.contact_settings.set_pair_materials(state.pair_materials)
    world.contact_settings.restore_memory(state.contact_memory)


def same_structure(world: World, since: WorldState) -> bool:
    """See :meth:`World.same_structure`."""
    if not isinstance(since, WorldState):
        raise ArgumentError(f"same_structure expects a state that save() returned, got {validation.short_repr(since)}.")
    if (
        since.version != world.structure_version
        or since.applied_forces != world.applied_forces
        or since.pair_materials is not world.contact_settings.pair_materials
    ):
        return False
    return all(np.array_equal(c.joint_state()[1], since.connection_states[c][1]) for c in world.connections.values())
