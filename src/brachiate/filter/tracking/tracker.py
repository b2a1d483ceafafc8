"""A body that follows what is known of a reference: in every step a look, a plan if it is time, and torques."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from brachiate.compiled import Handle
from brachiate.errors import StateError
from brachiate.filter.footsteps.recovery_step import Step
from brachiate.filter.settings import FilterSettings
from brachiate.filter.tracking.capture_steps import Catcher
from brachiate.filter.tracking.centroidal_mpc import Preview, intervals_for
from brachiate.filter.tracking.fall_detection import RUNAWAY, Blame, why_fallen
from brachiate.filter.tracking.whole_body_controller import Body
from brachiate.validation import Array
from brachiate.world.world import World


class Follower:
    """Follows what is known, frame by frame.

    Args:
        body: Which; it is where the reference is.
        ahead: What is known of the reference.
        settings: For this body.
        height: Of it [m].
        dt: Length of a step [s].
        blind: [s] for which plans go on beyond what is known; 0 if nothing comes after that.
        k: Frame with which it begins.
        recall: Called before every plan, to know more of what comes.
    """

    def __init__(
        self, body: Body, ahead: Handle, settings: FilterSettings, height: float, dt: float, blind: float = 0.0, k: int = 0,
        recall: Callable[[], bool] | None = None,
    ) -> None:  # fmt: skip
        self.body, self.ahead, self.settings, self.dt = body, ahead, settings, dt
        self.preview = Preview(ahead, body, settings, height, intervals_for(settings.preview), blind, k)
        legs = len(self.preview.feet.room.stands)
        steps = legs > 1 and legs == self.preview.legs  # who sits at times does not step elsewhere with that
        self.catcher = Catcher(ahead, self.preview, body, settings, height, dt) if settings.rescue > 0.0 and steps else None
        self._recall = recall
        self._planned, self._standing = -1, self._carrying
        self.blame: Blame | None = None  #: why it gave up
        self.solves = 0  #: of the optimizer in the last step

    @property
    def own_steps(self) -> tuple[Step, ...]:
        """Steps that the reference does not have, so far."""
        return () if self.catcher is None else tuple(self.catcher.steps)

    @property
    def stepping(self) -> str | None:
        """Whose foot makes such a step now."""
        return None if self.catcher is None else self.catcher.stepping

    def control(self, k: int) -> None:
        """Set the torques of the next step, so that the body is where frame k has it."""
        feet, catcher = self.preview.feet, self.catcher
        ahead = self.ahead if catcher is None else catcher.ahead(k)
        self.body.look_and_lead(ahead, feet, k)
        if catcher is not None:
            catcher.lead(ahead, k)
        ahead = self._plan_at(k, ahead)
        try:
            self.solves = self.body.decide(ahead, feet, k)
        except StateError as problem:
            self.blame = self.blame or Blame(float(self.body.world.time), str(problem))
            return
        if catcher is not None:
            catcher.land(k)
        self._look_whether_fallen()

    def _plan_at(self, k: int, ahead: Handle) -> Handle:
        """Make a new plan if what stands has changed, or after a while. Returns what is known by then."""
        since, standing = (k - self._planned) * self.dt, self._carrying
        first = self._planned < 0
        if first or since >= self.settings.replan - 1e-9 or standing != self._standing:
            if self._recall is not None:
                self._recall()
            self._planned, self._standing = k, standing
            ahead = self._make_plan(k, -1.0 if first else since)
        return ahead

    def _make_plan(self, k: int, since: float) -> Handle:
        """Make a plan, and another one if a step has to be made that the reference does not have."""
        catcher = self.catcher
        if catcher is None:
            self.preview.plan(k, since)
            return self.ahead
        for again in (False, True):
            self.preview.ahead = ahead = catcher.ahead(k)
            self.preview.plan(k, 0.0 if again else since, lambda: catcher.amend(k))
            if again or not catcher.watch(k):
                break
        return ahead

    def take_over(self, body: Body) -> None:
        """Go on with another room of the same body, in a world to which something has come."""
        body.control.stands[:] = self.body.control.stands
        self.body = self.preview.body = body
        if self.catcher is not None:
            self.catcher.body = body

    @property
    def _carrying(self) -> tuple[int, ...]:
        """What stands, and what holds."""
        return (*self.preview.feet.standing, *self.body.control.grip.tolist())

    def forget(self, frames: int) -> None:
        """Count frames from another one on: so many before it are forgotten."""
        self._planned -= frames
        if self.catcher is not None:
            self.catcher.forget(frames)

    def _look_whether_fallen(self) -> None:
        why = why_fallen(*self.preview.feet.room.off.tolist())
        speed = np.abs(self.body.world.v[self.body.v_at])
        speed[:6] = 0.0
        if speed.max() > RUNAWAY:  # motors without limits do that; contacts of limbs that are thrown about would take minutes to find
            k = int(speed.argmax())
            why = f"{self.body.figure.model.coordinates[k]} has run away: it moves at {speed[k]:.0f} rad/s"
        if why is not None and self.blame is None:
            self.blame = Blame(float(self.body.world.time), why)


def place(world: World, body: Body, q: Array, v: Array) -> None:
    """Put the body where a frame of the reference is, with its velocity."""
    all_q, all_v = world.q.copy(), world.v.copy()
    all_q[body.q_at], all_v[body.v_at] = q, v
    world.q, world.v = all_q, all_v
