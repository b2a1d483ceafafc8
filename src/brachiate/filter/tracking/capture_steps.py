"""Catcher: what is known of the reference, with the steps that a body makes of its own."""

from __future__ import annotations

import math

import numpy as np

from brachiate.centroidal.settings import STATURE
from brachiate.compiled import Handle, fields_of
from brachiate.filter.footsteps.capture_step_kernels import NOBODY, Rescue, amend, carry, watch, write
from brachiate.filter.footsteps.recovery_step import Step, way_of
from brachiate.filter.schedule.arrays import CORNERS, Ahead
from brachiate.filter.settings import FilterSettings
from brachiate.filter.tracking.centroidal_mpc import Preview
from brachiate.filter.tracking.whole_body_controller import Body

CLEARANCE = 0.06  # [m] of a foot that steps, for a body of 1.7 m
# Times what plans hold to, while it steps: feet go farther, and hips bend less, as a body that bends does not get its foot there.
HURRY = {"reach": 1.6, "turn": 0.3, "spin": 0.3, "spin_change": 0.1}
WRITTEN = ("frames", "bears", "soon", "on", "stance", "coming", "until", "spans")  # what is other than in the reference


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
        length = {"span": 2, "bears": len(known.leg), "bound": 2}
        self.room = Rescue(**{name: np.zeros((length.get(name, 1), *kind.row), kind.dtype) for name, kind in fields_of(Rescue).items()})
        self.room.swing[0], self.room.clearance[0] = settings.rescue, CLEARANCE * height / STATURE
        self.room.sole[0] = min(self._lengths(known))
        self.room.leg[0] = NOBODY
        self._handle = Handle(self.room)
        self._horizon = math.ceil(settings.preview / dt) + 2
        self.steps: list[Step] = []  #: that were made
        self._usual = {name: float(getattr(preview.planner.weights, name)[0]) for name in HURRY}

    def _lengths(self, known: Ahead) -> list[float]:
        """Of soles that lead [m]."""
        corners = self.body.control.corner.reshape(-1, CORNERS, 3)
        each = [corners[n, : known.corners[n]] for n in range(len(known.leg)) if known.leads[n]]
        return [float(np.linalg.norm(points[:, None] - points[None], axis=2).max()) for points in each]

    @property
    def steps_now(self) -> bool:
        """Whether a step of its own is being made."""
        return bool(self.room.leg[0] != NOBODY)

    @property
    def stepping(self) -> str | None:
        """Whose foot makes a step of its own."""
        return self.body.soles[self._sole(int(self.room.leg[0]))] if self.steps_now else None

    def _sole(self, leg: int) -> int:
        """The sole that leads a leg."""
        known = self.source.rooms[0]
        assert isinstance(known, Ahead)
        return int(np.flatnonzero((known.leg == leg) & (known.leads == 1))[0])

    def ahead(self, k: int) -> Handle:
        """What is known from frame k on: the reference, with the step that is being made."""
        if not self.steps_now:
            return self.source
        steps = write(self.source.key, self.view.key, self.preview.feet.key, self._handle.key, k, self._horizon)
        return self.view if steps else self.source

    def lead(self, ahead: Handle, k: int) -> None:
        """Lead the foot that steps."""
        if self.steps_now:
            carry(self.body.key, ahead.key, self.preview.feet.key, self._handle.key, k)

    def amend(self, k: int) -> None:
        """Tell a plan what is other with steps of its own."""
        hurries = self.steps_now and k + 1 >= self.room.span[0]
        for name, value in self._usual.items():
            getattr(self.preview.planner.weights, name)[0] = value * (HURRY[name] if hurries else 1.0)
        if hurries:  # it lands where it has to, however long it will stand there
            self.preview.planner.outlook.landing_lasts[:] = 0.0
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
        self.steps.append(self._step(leg, k))
        R.leg[0], R.span[1] = NOBODY, k
        return True

    def _step(self, leg: int, k: int) -> Step:
        """The step that has just been made."""
        R, known, now = self.room, self.source.rooms[0], float(self.body.world.time)
        assert isinstance(known, Ahead)
        n = self._sole(leg)
        corners = known.places[CORNERS * (k * len(known.leg) + n) :][: known.corners[n]]
        heel, toes = corners[: len(corners) // 2].mean(axis=0), corners[len(corners) // 2 :].mean(axis=0)
        x, y, _ = (self.preview.feet.room.offset[leg] - R.left[0]).tolist()
        way = way_of((x, y), toes - heel)
        return Step(leg, self.body.soles[n], now - (k - int(R.span[0])) * self.dt, now, x, y, way, bool(R.catches[0]))

    def forget(self, frames: int) -> None:
        """Count frames from another one on."""
        self.room.span[:] -= frames
