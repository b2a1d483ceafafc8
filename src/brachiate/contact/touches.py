"""Touches: what can touch in one :class:`~brachiate.Data`, and what contact keeps from step to step. The world gives it names."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from brachiate.compiled import Handle, entry, fields_of
from brachiate.constraints.held import Held
from brachiate.constraints.limits import limits_of
from brachiate.contact.log import ContactLog, Lines, log_sample, open_log
from brachiate.contact.rooms import Areas, Geometry, Problem
from brachiate.contact.step import CROWDED, touching_step
from brachiate.contact.touch import Touch, open_touch
from brachiate.kinematics import finite, sound
from brachiate.model.data import Data
from brachiate.model.material import Material
from brachiate.model.rooms import NOT_FINITE, OK, open_rooms

MARGIN = 0.002  # [m] areas are looked for from this distance on, and farther for what is fast
FOUR_CORNERS = 1.0  # friction against spinning acts as if the load were at the corners
_AREAS = 16

_MEMORY = ("fresh", "smooth", "step", "old_count", "old_pair", "old_feature", "old_corners", "old_at", "old_area", "old_slip", "old_w")
_MOMENT = 1e-4  # [s] so short that nothing moves far, so long that gaps of round-off are closed gently


@entry
def _moment(key, held, touch, log):
    T, W = open_rooms(key)
    _, A, P, S, _ = open_touch(touch)
    (L,) = open_log(log)
    if not (sound(T, W.q, W.v) and finite(W.tau)):
        return NOT_FINITE
    status = touching_step(key, held, touch, _MOMENT)
    if status == OK:
        log_sample(A, P, S, L)
    return status


class Touches:
    """Owns the arrays of contact; ``touches.key`` is what compiled entries take."""

    def __init__(self, data: Data, held: Held, geometry: Geometry, materials: Sequence[Material]) -> None:
        self.data, self.held, self.geometry = data, held, geometry
        self._materials = list(materials)
        self.limits = limits_of(data.model)
        self._make(_AREAS)

    def _make(self, areas: int) -> None:
        """Make the arrays, for so many contact areas at a time, and for joints that are stopped."""
        pairs, nv = len(self.geometry.pair), self.data.model.nv
        touches = areas + len(self.limits.kind)
        rows = 6 * areas + len(self.limits.kind)
        per_row = {"u0": rows, "u": rows, "w": rows, "old_w": rows, "old_u": rows, "G": rows * (rows + 4)}
        per_pair = dict.fromkeys(("friction", "grip", "bounce", "stiffness", "damping", "spin"), pairs)
        single = dict.fromkeys(("margin", "fresh", "step", "old_count", "depth", "worst", "residual"), 1)
        own = {"count": 2, "smooth": nv, "start": nv, "free": nv} | single
        self.areas = Areas(**_arrays(Areas, areas, own))
        self.problem = new_problem(touches, rows)
        self.touch = Touch(**_arrays(Touch, touches, own | per_row | per_pair))
        S = self.touch
        S.margin[0], S.fresh[0], S.step[0] = MARGIN, 1, 1.0
        S.spin[:] = FOUR_CORNERS
        for n, material in enumerate(self._materials):
            S.friction[n], S.grip[n], S.bounce[n] = material.friction, material.sticking, material.restitution
            S.stiffness[n], S.damping[n] = material.stiffness or 0.0, material.damping
        self.handle = Handle(self.geometry, self.areas, self.problem, self.touch, self.limits)
        self.key = self.handle.key
        self.held.make_room(touches)

    def enlarge(self) -> None:
        """Make room for more areas than there was room for; what was known of the step before is forgotten."""
        self._make(2 * max(len(self.areas.pair), int(self.areas.count[1])))

    def memory(self) -> tuple[np.ndarray, ...]:
        """What is known of the step before."""
        return tuple(getattr(self.touch, name).copy() for name in _MEMORY)

    def recall(self, memory: tuple[np.ndarray, ...] | None) -> None:
        """Bring that back; what does not fit any more is forgotten."""
        if memory is None or any(getattr(self.touch, n).shape != m.shape for n, m in zip(_MEMORY, memory, strict=True)):
            self.forget()
            return
        for name, values in zip(_MEMORY, memory, strict=True):
            getattr(self.touch, name)[...] = values

    def at_this_moment(self, time: float) -> Lines:
        """What touches now, with the forces of a very short step; the state stays as it is."""
        work, before = self.data.work, self.memory()
        q, v, a, rows = work.q.copy(), work.v.copy(), work.a.copy(), self.held.room.state.copy()
        log = ContactLog(1, len(self.areas.pair))
        self.held.room.clock[0] = time
        self.forget()
        try:
            status = _moment(self.data.key, self.held.key, self.key, log.key)
        finally:
            work.q[:], work.v[:], work.a[:] = q, v, a
            self.held.decided(rows)
            self.recall(before)
        if status == CROWDED:
            self.enlarge()
            return self.at_this_moment(time)
        if status != OK:
            self.data.refuse(status)
        return log.taken()[0]

    def forget(self) -> None:
        """Forget the step before: the state is another one now."""
        self.touch.fresh[0] = 1


def _arrays(room: type, areas: int, lengths: dict[str, int]) -> dict[str, np.ndarray]:
    """Arrays of a room, one row for each area where no other length is given."""
    return {name: np.zeros((lengths.get(name, areas), *field.row), field.dtype) for name, field in fields_of(room).items()}
