"""Touches: what can touch in one :class:`~brachiate.Data`, and what contact keeps from step to step. The world gives it names."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from brachiate.compiled import Handle, fields_of
from brachiate.constraints.held import Held
from brachiate.contact.rooms import Areas, Geometry, Problem
from brachiate.contact.touch import Touch
from brachiate.model.data import Data
from brachiate.model.material import Material

MARGIN = 0.002  # [m] areas are looked for from this distance on, and farther for what is fast
FOUR_CORNERS = 1.0  # friction against spinning acts as if the load were at the corners
_AREAS = 16


class Touches:
    """Owns the arrays of contact; ``touches.key`` is what compiled entries take."""

    def __init__(self, data: Data, held: Held, geometry: Geometry, materials: Sequence[Material]) -> None:
        self.data, self.held, self.geometry = data, held, geometry
        self._materials = list(materials)
        self._make(_AREAS)

    def _make(self, areas: int) -> None:
        """Make the arrays, for so many contact areas at a time."""
        rows, pairs, nv = 6 * areas, len(self.geometry.pair), self.data.model.nv
        per_row = {"u0": rows, "u": rows, "w": rows, "old_w": rows, "old_u": rows, "G": rows * (rows + 4)}
        per_pair = dict.fromkeys(("friction", "grip", "bounce", "stiffness", "damping", "spin"), pairs)
        single = dict.fromkeys(("margin", "fresh", "step", "old_count", "depth", "worst", "residual"), 1)
        own = {"count": 2, "smooth": nv, "start": nv, "free": nv} | single
        self.areas = Areas(**_arrays(Areas, areas, own))
        self.problem = Problem(**_arrays(Problem, areas, per_row | {"count": 4, "at": areas + 1, "residual": 1, "path": 8}))
        self.touch = Touch(**_arrays(Touch, areas, own | per_row | per_pair))
        S = self.touch
        S.margin[0], S.fresh[0], S.step[0] = MARGIN, 1, 1.0
        S.spin[:] = FOUR_CORNERS
        for n, material in enumerate(self._materials):
            S.friction[n], S.grip[n], S.bounce[n] = material.friction, material.sticking, material.restitution
            S.stiffness[n], S.damping[n] = material.stiffness or 0.0, material.damping
        self.handle = Handle(self.geometry, self.areas, self.problem, self.touch)
        self.key = self.handle.key
        self.held.make_room(areas)

    def enlarge(self) -> None:
        """Make room for more areas than there was room for; what was known of the step before is forgotten."""
        self._make(2 * max(len(self.areas.pair), int(self.areas.count[1])))

    def forget(self) -> None:
        """Forget the step before: the state is another one now."""
        self.touch.fresh[0] = 1


def _arrays(room: type, areas: int, lengths: dict[str, int]) -> dict[str, np.ndarray]:
    """Arrays of a room, one row for each area where no other length is given."""
    return {name: np.zeros((lengths.get(name, areas), *field.row), field.dtype) for name, field in fields_of(room).items()}
