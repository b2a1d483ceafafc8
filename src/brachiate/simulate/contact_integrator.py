"""Integrator of worlds with contact: many steps in one compiled call, with a log of contacts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

import numpy as np

from brachiate.compiled import ArrayHandle
from brachiate.constraints.constraint_set import ConstraintSet
from brachiate.constraints.storage import RunMemory
from brachiate.contact.stepping.contact_log import NUM_STEPS, ContactLog, ContactSample
from brachiate.contact.stepping.contact_state import ContactMemory, ContactState
from brachiate.contact.stepping.run import run_contact_steps
from brachiate.contact.stepping.step_control import CONSTANT_TORQUES
from brachiate.errors import ArgumentError, StateError
from brachiate.model.data import Data
from brachiate.model.status import CANNOT_SEPARATE, LOG_FULL, LOOP_OPEN, NOT_FINITE, OK, TOO_MANY_CONTACTS
from brachiate.validation import Array

_LOG_SAMPLES, _LOG_LINES = 512, 4096


class ContactIntegrator:
    """Advances the state of one :class:`~brachiate.Data` with contact."""

    name = "contact"

    def __init__(
        self,
        data: Data,
        constraint_set: ConstraintSet,
        contact_state: ContactState,
        *,
        limits: bool = True,
        project: bool = True,
        link_pairs: Sequence[tuple[str, str]] = (),
    ) -> None:
        self.data, self.constraint_set, self.contact_state = data, constraint_set, contact_state
        self._limits, self._project, self._link_pairs = limits, project, link_pairs  # names of the links of every pair, for errors
        self._log = ContactLog(_LOG_SAMPLES, _LOG_LINES)
        #: Contacts at every state that was returned last.
        self.samples: list[ContactSample] = []
        self.steps_made = 0  #: of the last call, also if it failed

    def fits(self, data: Data, constraint_set: ConstraintSet, contact_state: ContactState | None) -> bool:
        """Whether it was made for this data, constraint set and contact state."""
        return self.data is data and self.constraint_set is constraint_set and self.contact_state is contact_state

    def advance(
        self,
        dt: float,
        steps: int = 1,
        every: int = 1,
        time: float = 0.0,
        control: ArrayHandle = CONSTANT_TORQUES,
        *,
        contacts: bool = True,
        out: tuple[Array, Array] | None = None,
    ) -> tuple[Array, Array]:
        """Advance by ``steps`` times ``dt`` under constant applied forces; return q and v after every ``every`` steps.

        Torques are constant, or set in each step by a control law (:mod:`brachiate.contact.stepping.step_control`). ``time`` [s] is the
        start, for prescribed motion. ``contacts``: whether ``samples`` are kept. ``out``: arrays for q and v. On failure the state is as it
        was before the call, and ``steps_made`` tells how far it came.
        """
        if not (0.0 < dt < np.inf and steps >= 0 and every >= 1):
            raise ArgumentError(f"advance: expected dt > 0, steps >= 0 and every >= 1, got {dt}, {steps} and {every}.")
        work, rows = self.data.work, steps // every
        Q, V = (np.empty((rows, len(work.q))), np.empty((rows, len(work.v)))) if out is None else out
        start = work.q.copy(), work.v.copy(), self.constraint_set.run_memory()
        samples: list[ContactSample] = []
        done, status, self.steps_made = 0, LOG_FULL, 0
        self.contact_state.enable_limits(self._limits)
        self.contact_state.begin_run(divided=self._project)  # otherwise every step must satisfy one equation of motion
        memory = self.contact_state.save_memory()
        while status == LOG_FULL:
            if len(self._log.arrays.pair) < 2 * len(self.contact_state.patches.pair):
                self._log = ContactLog(_LOG_SAMPLES, 16 * len(self.contact_state.patches.pair))
            status = self._run(control, time, dt, steps, every, done, Q, V)
            self.steps_made = done = max(done, int(self._log.arrays.count[NUM_STEPS]))
            if status == TOO_MANY_CONTACTS and self.contact_state.has_room:
                status = LOG_FULL
                if self.contact_state.interrupted:
                    self.contact_state.enlarge()
                    self._log = self._log.enlarged(2 * len(self.contact_state.patches.pair))
                    continue
                self._restore(start, memory)
                self.contact_state.enlarge()
                done, samples = 0, []
                self._log.arrays.count[:] = 0
                continue
            if contacts:
                samples += self._log.take_samples()
            else:
                self._log.arrays.count[:] = 0
        if status != OK:
            depth = float(self.contact_state.arrays.stuck_depth[0])
            self._restore(start, memory)
            self._refuse(status, steps * dt, depth)
        self.samples = samples
        return Q, V

    def _run(self, control: ArrayHandle, time: float, dt: float, steps: int, every: int, done: int, Q: Array, V: Array) -> int:
        contact = self.contact_state
        keys = self.data.key, self.constraint_set.key, contact.key, contact.problem_key, self._log.key, control.key
        return run_contact_steps(*keys, time, dt, steps, every, done, self._project, Q, V)

    def _restore(self, start: tuple[Array, Array, RunMemory], memory: ContactMemory) -> None:
        """Restore the start of the run."""
        self.data.work.q[:], self.data.work.v[:] = start[0], start[1]
        self.constraint_set.set_run_memory(start[2])
        self.contact_state.restore_memory(memory)

    def _refuse(self, status: int, seconds: float, depth: float) -> NoReturn:
        if status == CANNOT_SEPARATE and self._link_pairs:
            first, second = self._link_pairs[int(self.contact_state.arrays.stuck_pair[0])]
            raise StateError(
                f"{second!r} is {100 * depth:.1f} cm inside {first!r}, and joints, connections or other shapes keep it there. Move them "
                f"apart, or let them pass each other: world.ignore_contact({first!r}, {second!r})."
            )
        if status == LOOP_OPEN:
            raise StateError(f"Loop constraints opened within {seconds:g} s and could not be closed again. Use a shorter step.")
        if status == NOT_FINITE and all(np.isfinite(x).all() for x in (self.data.q, self.data.v, self.data.tau)):
            raise StateError(f"The state diverged to infinity within {seconds:g} s. Use a shorter step, or check the torques.")
        self.data.raise_status(status)

    def restart(self) -> None:
        """Continue after an event; contacts of the step before remain the best initial guess."""
