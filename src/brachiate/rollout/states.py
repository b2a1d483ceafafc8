"""States of rollouts: configurations and velocities of one world many times, each with its time and the memory of its contacts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from brachiate import validation
from brachiate.constraints.storage import RunMemory
from brachiate.contact.stepping.contact_state import ContactMemory
from brachiate.errors import ArgumentError
from brachiate.validation import Array
from brachiate.world.world import World


class StepMemory(NamedTuple):
    """What a step depends on besides configuration and velocity."""

    contact: ContactMemory | None  # None: nothing is known of a step before
    constraints: RunMemory


@dataclass(frozen=True, eq=False, repr=False)
class RolloutStates:
    """States of n rollouts of one world.

    ``states[i]``, ``states[2:5]`` and ``states[[4, 4, 0]]`` are some of them, in the order given; ``states.restore(world, i)`` puts a
    world into one.

    Args:
        q: Configurations (n, nq).
        v: Velocities (n, nv).
        torque: Torques (n, nv) [N·m or N]: those of a rollout without controls.
        time: (n,) [s].
        memory: Of the step before each.
    """

    q: Array
    v: Array
    torque: Array
    time: Array
    memory: tuple[StepMemory, ...]

    def __len__(self) -> int:
        """Return the number of states."""
        return len(self.q)

    def __repr__(self) -> str:
        """Return the number of states and of coordinates."""
        return f"<RolloutStates: {len(self)} states of {self.v.shape[1]} dof>"

    def __getitem__(self, index: Any) -> RolloutStates:
        """Return some of the states."""
        try:
            chosen = np.atleast_1d(np.arange(len(self))[index])
        except (IndexError, TypeError, ValueError):
            raise ArgumentError(f"states: expected indices of {len(self)} states, got {validation.short_repr(index)}.") from None
        return RolloutStates(
            self.q[chosen], self.v[chosen], self.torque[chosen], self.time[chosen], tuple(self.memory[i] for i in chosen.ravel())
        )

    @staticmethod
    def joined(parts: Iterable[RolloutStates]) -> RolloutStates:
        """States of several batches, one after the other."""
        parts = list(parts) if isinstance(parts, Iterable) else []
        if not parts or not all(isinstance(part, RolloutStates) for part in parts):
            raise ArgumentError("joined: expected a list of RolloutStates, at least one.")
        if len({(part.q.shape[1], part.v.shape[1]) for part in parts}) > 1:
            raise ArgumentError("joined: the states have different numbers of coordinates: they are of different worlds.")
        q, v, torque, time = (np.concatenate([getattr(part, name) for part in parts]) for name in ("q", "v", "torque", "time"))
        return RolloutStates(q, v, torque, time, tuple(memory for part in parts for memory in part.memory))

    def restore(self, world: World, i: int) -> None:
        """Put a world, of the structure that the states are of, into state i."""
        if not isinstance(world, World):
            raise ArgumentError(f"restore expects a World, got {validation.short_repr(world)}.")
        i = validation.integer(i, "i", minimum=0)
        if i >= len(self):
            raise ArgumentError(f"i: expected the index of one of {len(self)} states, got {i}.")
        contact = world.contact_settings.contact_state
        if self.q.shape[1] != world.model.nq or self.v.shape[1] != world.model.nv or contact is None:
            raise ArgumentError(
                f"restore: the states have {self.v.shape[1]} coordinates and contact, the world {world.model.nv} and "
                f"{'no contact' if contact is None else 'contact'}: they are of another world."
            )
        load_state(world, self, i)


def load_state(world: World, states: RolloutStates, i: int) -> None:
    """Put a world with the structure of the states into one of them."""
    data, contact = world.data, world.contact_settings.contact_state
    assert contact is not None
    data.q[:], data.v[:], data.tau[:], world.time = states.q[i], states.v[i], states.torque[i], float(states.time[i])
    contact.restore_memory(states.memory[i].contact)
    world.constraint_set.set_run_memory(states.memory[i].constraints)


def step_memory(world: World) -> StepMemory:
    """Copy of the memory that the next step of a world depends on."""
    contact = world.contact_settings.contact_state
    assert contact is not None
    return StepMemory(contact.save_memory(), world.constraint_set.run_memory())
