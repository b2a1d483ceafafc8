"""Touches: what can touch in one :class:`~brachiate.Data`, and what contact keeps from step to step. The world gives it names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, cast

import numpy as np

from brachiate.compiled import Handle, fields_of
from brachiate.constraints.constraint_set import Held
from brachiate.constraints.limits import limits_of
from brachiate.contact.arrays import Areas, Geometry, Scratch
from brachiate.contact.collision.collision_shapes import rooms
from brachiate.contact.collision.narrow_phase import seek
from brachiate.contact.solver.solve import new_problem
from brachiate.contact.stepping.contact_log import ContactLog, Lines
from brachiate.contact.stepping.contact_rows import Touch
from brachiate.contact.stepping.impulses import answer_impulses
from brachiate.contact.stepping.run import run_touching
from brachiate.contact.stepping.time_step import CROWDED
from brachiate.model.arrays import OK
from brachiate.model.data import Data
from brachiate.model.material import Material

MARGIN = 0.002  # [m] areas are looked for from this distance on, and farther for what is fast
FOUR_CORNERS = 1.0  # friction against spinning acts as if the load were at the corners
_AREAS = 16

_MEMORY = (
    "fresh",
    "ahead",
    "contact",
    "step",
    "old_count",
    "old_pair",
    "old_feature",
    "old_corners",
    "old_at",
    "old_area",
    "old_slip",
    "old_w",
)
_MOMENT = 1e-3  # [s] so short that nothing moves far, so long that gaps of round-off count for nothing beside a fall


class Moment(NamedTuple):
    """What a very short step finds."""

    lines: Lines  # what touches
    acceleration: np.ndarray  # (nv,)
    q: np.ndarray  # (nq,) the state after it
    v: np.ndarray  # (nv,)
    seconds: float  # how short it is


class Touches:
    """Owns the arrays of contact; ``touches.key`` is what compiled entries take."""

    def __init__(self, data: Data, held: Held, geometry: Geometry, materials: Sequence[Material]) -> None:
        self.data, self.held, self.geometry = data, held, geometry
        self._materials = list(materials)
        self._see_limits()
        self.stopped = True  # whether joints stop at their limits
        self._make(_AREAS)

    def _make(self, areas: int) -> None:
        """Make the arrays, for so many contact areas at a time, and for joints that are stopped."""
        pairs, stops, nv = len(self.geometry.pair), len(self.limits.kind), self.data.model.nv
        rows = 6 * areas + stops
        length = dict.fromkeys(("friction", "grip", "bounce", "stiffness", "damping", "spin"), pairs)
        length |= dict.fromkeys(("far", "margin", "fresh", "stopped", "step", "old_count", "depth", "deepest", "worst", "way", "noted"), 1)
        length |= dict.fromkeys(("ahead", "contact", "middle", "start", "half", "parted", "free"), nv) | {"old_w": rows, "speed": rows}
        found = rooms(self.geometry, areas)
        self.areas = cast(Areas, found.rooms[1])
        self._scratch = cast(Scratch, found.rooms[2])
        self.problem = new_problem(areas + stops)
        self.touch = Touch(**_arrays(Touch, areas + stops, length))
        S = self.touch
        S.far[0], S.margin[0], S.fresh[0], S.stopped[0], S.step[0] = seek.address, MARGIN, 1, int(self.stopped), 1.0
        S.spin[:] = FOUR_CORNERS
        for n, material in enumerate(self._materials):
            S.friction[n], S.grip[n], S.bounce[n] = material.friction, material.sticking, material.restitution
            S.stiffness[n], S.damping[n] = material.stiffness or 0.0, material.damping
        self.handle = Handle(*found.rooms, self.problem, self.touch, self.limits)
        self.key = self.handle.key
        self._problem_handle = Handle(self.problem)
        self.problem_key = self._problem_handle.key
        self.held.make_room(areas + stops)

    def _see_limits(self) -> None:
        """Note the limits there are: those of joints that close loops come and go."""
        self._limited = dict(self.held.limited)
        self.limits = limits_of(self.data.model, self.held)

    def enlarge(self) -> None:
        """Make room for more areas than there was room for; what was known of the step before is forgotten."""
        self._make(2 * max(len(self.areas.pair), int(self.areas.count[1])))

    def _known(self) -> list[np.ndarray]:
        """Everything that the next step depends on, beside the state."""
        return [*(getattr(self.touch, name) for name in _MEMORY), self._scratch.last]

    def memory(self) -> tuple[np.ndarray, ...]:
        """What is known of the step before."""
        return tuple(array.copy() for array in self._known())

    def recall(self, memory: tuple[np.ndarray, ...] | None) -> None:
        """Bring that back; what does not fit any more is forgotten."""
        known = self._known()
        if memory is None or [m.shape for m in memory] != [k.shape for k in known]:
            self.forget()
            return
        for mine, values in zip(known, memory, strict=True):
            mine[...] = values

    def begin(self) -> None:
        """Begin a run: without a factor of who knows when, it depends on nothing but the state and what is known of the step before."""
        if self.held.limited != self._limited:
            self._see_limits()
            self._make(len(self.areas.pair))
        self.problem.kept[0] = -1

    def at_this_moment(self, time: float) -> Moment:
        """What touches now, and accelerations, by a very short step; the state stays as it is. Forces of what holds are in ``held``."""
        self.begin()
        work, before = self.data.work, self.memory()
        q, v, a, rows = work.q.copy(), work.v.copy(), work.a.copy(), self.held.room.state.copy()
        log = ContactLog(1, len(self.areas.pair))
        self.forget()
        try:
            rooms = self.data.key, self.held.key, self.key, self.problem_key, log.key
            status = run_touching(*rooms, time, _MOMENT, 1, 2, 0, np.empty((0, len(q))), np.empty((0, len(v))))
            after = work.a.copy(), work.q.copy(), work.v.copy()
        finally:
            work.q[:], work.v[:], work.a[:] = q, v, a
            self.held.decided(rows)
            self.recall(before)
        if status == CROWDED:
            self.enlarge()
            return self.at_this_moment(time)
        if status != OK:
            self.data.refuse(status)
        return Moment(log.taken()[0], *after, _MOMENT)

    def take_hold(self) -> None:
        """Bring velocities onto all that holds, by impulses that what touches answers; those of what holds are left in ``held``."""
        self.begin()
        work, before = self.data.work, self.memory()
        v, status = work.v.copy(), CROWDED
        try:
            while status == CROWDED:
                work.v[:] = self.touch.start[:] = v
                self.held.take_hold()
                status = answer_impulses(self.data.key, self.held.key, self.key, self.problem_key, _MOMENT)
                if status == CROWDED:
                    self.enlarge()
        finally:
            self.recall(before)
        if status != OK:
            self.data.refuse(status)

    def stop_joints(self, stop: bool) -> None:
        """Let joints stop at their limits, or not."""
        self.stopped = stop
        self.touch.stopped[0] = int(stop)

    def forget(self) -> None:
        """Forget the step before: the state is another one now."""
        self.touch.fresh[0] = 1


def _arrays(room: type, touches: int, lengths: dict[str, int]) -> dict[str, np.ndarray]:
    """Arrays of a room, one row for each touch where no other length is given."""
    return {name: np.zeros((lengths.get(name, touches), *field.row), field.dtype) for name, field in fields_of(room).items()}
