"""Worker of rollouts: a copy of the world that one thread steps through one rollout after the other."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from brachiate.contact.stepping.contact_log import ContactSample
from brachiate.contact.stepping.step_control import CONSTANT_TORQUES
from brachiate.errors import BrachiateError
from brachiate.rollout.controls import RolloutLaw
from brachiate.rollout.states import RolloutStates, StepMemory, load_state, step_memory
from brachiate.simulate.contact_integrator import ContactIntegrator
from brachiate.validation import Array
from brachiate.world.world import World


class RolloutFailure(NamedTuple):
    """A rollout that ended early."""

    index: int  # of its state
    time: float  # [s] start of the step that failed
    reason: str

    def __str__(self) -> str:
        """Return one line."""
        return f"rollout {self.index} failed at {self.time:.4g} s: {self.reason}"


class RolloutRows(NamedTuple):
    """RolloutRows of one rollout in the arrays of the result."""

    q: Array  # (r, nq)
    v: Array  # (r, nv)
    torque: Array  # (r, nv) mean motor torques since the row before; a control law writes them itself


class Rollout(NamedTuple):
    """One rollout that was finished."""

    end_q: Array  # (nq,) state after the last step
    end_v: Array  # (nv,)
    memory: StepMemory
    samples: list[ContactSample]  # contacts at every row


class Worker:
    """A copy of a world, for one thread at a time.

    Args:
        world: World to copy.
        limits: Whether joints stop at their limits.
        project: Whether states are projected onto the constraints, and steps with fast bodies are divided.
    """

    def __init__(self, world: World, *, limits: bool, project: bool) -> None:
        self.world = copy = world.copy()
        contact = copy.contact_settings.contact_state
        assert contact is not None
        self.integrator = ContactIntegrator(
            copy.data, copy.constraint_set, contact, limits=limits, project=project, link_pairs=copy.contact_settings.link_pairs
        )
        # Motors add their damping to that of the joints: in this copy of the model, which no one else has
        self._tree, self._passive = copy.model.tree, copy.model.tree.passive.copy()
        self._tree.damping.flags.writeable = self._tree.passive.flags.writeable = True
        self._damping = self._tree.damping.copy()
        #: Memory of the constraint set at the world's present state.
        self.initial_constraints = copy.constraint_set.run_memory()

    def run(
        self, states: RolloutStates, i: int, law: RolloutLaw | None, steps: int, every: int, dt: float, rows: RolloutRows, *, contacts: bool
    ) -> Rollout | RolloutFailure:
        """Make one rollout, and fill its rows of the result; ``contacts``: whether they are kept."""
        world, start = self.world, float(states.time[i])
        load_state(world, states, i)
        if law is None:
            effort = world.model.effort
            np.clip(world.data.tau, -effort, effort, out=world.data.tau)
        else:
            law.rollout[0] = i
            if law.damped:
                self._tree.passive[0] = 1
        try:
            control = CONSTANT_TORQUES if law is None else law.handle
            self.integrator.advance(dt, steps, every, start, control, contacts=contacts, out=(rows.q, rows.v))
        except BrachiateError as problem:
            for values in rows:
                values[:] = np.nan
            return RolloutFailure(i, start + self.integrator.steps_made * dt, str(problem))
        finally:
            self._tree.damping[:], self._tree.passive[:] = self._damping, self._passive
        if law is None:
            rows.torque[:] = world.data.tau
        data = world.data
        return Rollout(data.q.copy(), data.v.copy(), step_memory(world), self.integrator.samples)
