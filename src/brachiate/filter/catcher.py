"""Catcher: what is known of the reference, with the steps that a body makes of its own."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from brachiate.compiled import Handle, fields_of
from brachiate.filter.body import Body
from brachiate.filter.book import CORNERS, Ahead
from brachiate.filter.preview import Preview
from brachiate.filter.rescue import NOBODY, Rescue, amend, carry, watch, write
from brachiate.filter.settings import FilterSettings
from brachiate.plan.settings import STATURE

CLEARANCE = 0.06  # [m] of a foot that steps, for a body of 1.7 m
WRITTEN = ("frames", "bears", "soon", "on", "stance", "coming", "until", "spans")  # what is other than in the reference


class Step(NamedTuple):
    """A step that the reference does not have."""

    leg: int
    start: float  # [s]
    end: float  # [s]
    x: float  # [m] from where the foot stood
    y: float  # [m]
    caught: bool  # whether it was to catch the body; else it brings a foot back that had


class Catcher:
    """Lets a body make steps of its own.

    Args:
        ahead: What is known of the reference; by handle.
        preview: That plans with it.
        body: That it is for.
        settings: For this body.
        height: Of it [m].
        dt: Length of a step [s].
    """

    def __init__(self, ahead: Handle, preview: Preview, body: Body, settings: FilterSettings, height: float, dt: float) -> None:
        known = ahead.rooms[0]
        assert isinstance(known, Ahead)
        self.source, self.preview, self.body, self.dt = ahead, preview, body, dt
        self.view = Handle(known._replace(**{name: getattr(known, name).copy() for name in WRITTEN}))
        length = {"span": 2, "bears": len(known.leg), "path": 3, "bound": 2}
        self.room = Rescue(**{name: np.zeros((length.get(name, 1), *kind.row), kind.dtype) for name, kind in fields_of(Rescue).items()})
        self.room.swing[0], self.room.clearance[0] = settings.rescue, CLEARANCE * height / STATURE
        self.room.sole[0] = min(self._lengths(known))
        self.room.leg[0] = NOBODY
        self._handle = Handle(self.room)
        self._horizon = math.ceil(settings.preview / dt) + 2
        self.steps: list[Step] = []  #: that were made
        self._from = (0.0, 0.0, 0.0, False)

    def _lengths(self, known: Ahead) -> list[float]:
        """Of soles that lead [m]."""
        corners = self.body.control.corner.reshape(-1, CORNERS, 3)
        each = [corners[n, : known.corners[n]] for n in range(len(known.leg)) if known.leads[n]]
        return [float(np.linalg.norm(points[:, None] - points[None], axis=2).max()) for points in each]

    @property
    def steps_now(self) -> bool:
        """Whether a step of its own is being made."""
        return bool(self.room.leg[0] != NOBODY)

    def ahead(self, k: int) -> Handle:
        """What is known from frame k on: the reference, with the step that is being made."""
        R = self.room
        if R.leg[0] == NOBODY:
            return self.source
        return self.view if write(self.source.key, self.view.key, self.preview.feet.key, self._handle.key, k, self._horizon) else self.source

    def lead(self, ahead: Handle, k: int) -> None:
        """Lead the foot that steps."""
        if self.steps_now:
            carry(self.body.key, ahead.key, self.preview.feet.key, self._handle.key, k)

    def amend(self, k: int) -> None:
        """Tell a plan what is other with steps of its own."""
        if self.room.astray[0]:
            amend(self.preview.feet.key, self.preview.planner.key, self._handle.key, self.dt, k)

    def watch(self, k: int) -> bool:
        """See whether what is planned catches the body. Returns whether a step has to be made: what is known has changed then."""
        feet, plan = self.preview.feet, self.preview.planner
        return bool(watch(self.body.world.data.key, self.body.key, self.source.key, feet.key, plan.key, self._handle.key, k))

    def land(self, k: int) -> bool:
        """Go back to the reference when the foot has come down. Returns whether it has."""
        R, G = self.room, self.preview.feet.room
        leg = int(R.leg[0])
        if leg == NOBODY or not R.lifted[0] or not G.stands[leg]:
            return False
        now = float(self.body.world.time)
        x, y, _ = G.offset[leg]
        self.steps.append(Step(leg, now - (k - int(R.span[0])) * self.dt, now, float(x), float(y), True))
        R.leg[0] = NOBODY
        return True

    def forget(self, frames: int) -> None:
        """Count frames from another one on."""
        self.room.span[:] -= frames
