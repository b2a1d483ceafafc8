"""Stepping a world in which things touch: many steps in one go of compiled code, with a log of what touched."""

from __future__ import annotations

from typing import NoReturn

import numpy as np

from brachiate.constraints.constrained_dynamics import NEEDS_CROSSING
from brachiate.constraints.constraint_set import Held
from brachiate.contact.stepping.contact_log import STEPS, ContactLog, Lines
from brachiate.contact.stepping.contact_state import Touches
from brachiate.contact.stepping.run import FULL, run_touching
from brachiate.contact.stepping.time_step import CROWDED
from brachiate.errors import ArgumentError, StateError
from brachiate.model.arrays import NOT_FINITE, OK
from brachiate.model.data import Data
from brachiate.validation import Array

_LOG_SAMPLES, _LOG_LINES = 512, 4096


class TouchingIntegrator:
    """Advances the state of one :class:`~brachiate.Data` in which things touch."""

    name = "contact"

    def __init__(self, data: Data, held: Held, touches: Touches, *, limits: bool = True, settle: bool = True) -> None:
        self.data, self.held, self.touches = data, held, touches
        self._limits, self._settle = limits, settle
        self._log = ContactLog(_LOG_SAMPLES, _LOG_LINES)
        #: What touched at every state that was returned last.
        self.lines: list[Lines] = []

    def fits(self, data: Data, held: Held, touches: Touches | None) -> bool:
        """Whether it is the one for these."""
        return self.data is data and self.held is held and self.touches is touches

    def advance(self, dt: float, steps: int = 1, every: int = 1, time: float = 0.0) -> tuple[Array, Array]:
        """Advance by ``steps`` times ``dt``, torques and pushes held; return q and v after every ``every`` steps.

        ``time`` [s] is when it starts, for what moves by the clock. On failure the state is as it was before the call.
        """
        if not (0.0 < dt < np.inf and steps >= 0 and every >= 1):
            raise ArgumentError(f"advance: expected dt > 0, steps >= 0 and every >= 1, got {dt}, {steps} and {every}.")
        if not self._settle:
            if steps != 1:
                raise ArgumentError(f"advance: steps that are not settled are made one by one, not {steps} in one go.")
            every = 2  # no state is returned, and none is settled
        work, rows = self.data.work, steps // every
        Q, V = np.empty((rows, len(work.q))), np.empty((rows, len(work.v)))
        start = work.q.copy(), work.v.copy(), self.held.room.state.copy()
        lines: list[Lines] = []
        done, status = 0, FULL
        self.touches.stop_joints(self._limits)
        self.touches.begin()
        while status == FULL:
            if len(self._log.room.pair) < 2 * len(self.touches.areas.pair):
                self._log = ContactLog(_LOG_SAMPLES, 16 * len(self.touches.areas.pair))
            status = self._run(time, dt, steps, every, done, Q, V)
            done = max(done, int(self._log.room.count[STEPS]))
            if status in (CROWDED, NEEDS_CROSSING):
                self._again(status, start)
                done, status, lines = 0, FULL, []
                self._log.room.count[:] = 0
                continue
            lines += self._log.taken()
        if status != OK:
            self.held.decided(start[2])
            work.q[:], work.v[:] = start[0], start[1]
            self.touches.forget()
            self._refuse(status, steps * dt)
        self.lines = lines
        return Q, V

    def _run(self, time: float, dt: float, steps: int, every: int, done: int, Q: Array, V: Array) -> int:
        touches = self.touches
        rooms = self.data.key, self.held.key, touches.key, touches.problem_key, self._log.key
        return run_touching(*rooms, time, dt, steps, every, done, Q, V)

    def _again(self, status: int, start: tuple[Array, Array, Array]) -> None:
        """Put the state back, with room for what was met on the way."""
        self.data.work.q[:], self.data.work.v[:] = start[0], start[1]
        if status == CROWDED:
            self.held.decided(start[2])
            self.touches.enlarge()
        else:
            self.held.prepare_crossing(start[2])
        self.touches.forget()

    def _refuse(self, status: int, seconds: float) -> NoReturn:
        if status == NOT_FINITE and all(np.isfinite(x).all() for x in (self.data.q, self.data.v, self.data.tau)):
            raise StateError(f"The state ran away to infinity within {seconds:g} s. Use a shorter step, or look at the torques.")
        self.data.refuse(status)

    def restart(self) -> None:
        """Go on after an event: whatever it changed, what touched before is the best guess of what will."""
