"""A body that follows what is known of a reference: in every step a look, a plan if it is time, and torques."""

from __future__ import annotations

from collections.abc import Callable

from brachiate.compiled import Handle
from brachiate.doors import Array
from brachiate.errors import StateError
from brachiate.filter.body import Body
from brachiate.filter.fallen import why_fallen
from brachiate.filter.filtered import Blame
from brachiate.filter.preview import Preview, intervals_for
from brachiate.filter.settings import FilterSettings
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
        self._recall = recall
        self._planned, self._standing = -1, self._carrying
        self.blame: Blame | None = None  #: why it gave up
        self.solves = 0  #: of the optimizer in the last step

    def control(self, k: int) -> None:
        """Set the torques of the next step, so that the body is where frame k has it."""
        feet = self.preview.feet
        self.body.look_and_lead(self.ahead, feet, k)
        self._plan_at(k)
        try:
            self.solves = self.body.decide(self.ahead, feet, k)
        except StateError as problem:
            self.blame = self.blame or Blame(float(self.body.world.time), str(problem))
            return
        self._look_whether_fallen()

    def _plan_at(self, k: int) -> None:
        """Make a new plan if what stands has changed, or after a while."""
        since, standing = (k - self._planned) * self.dt, self._carrying
        first = self._planned < 0
        if first or since >= self.settings.replan - 1e-9 or standing != self._standing:
            if self._recall is not None:
                self._recall()
            self.preview.plan(k, -1.0 if first else since)
            self._planned, self._standing = k, standing

    def take_over(self, body: Body) -> None:
        """Go on with another room of the same body, in a world to which something has come."""
        body.control.stands[:] = self.body.control.stands
        self.body = self.preview.body = body

    @property
    def _carrying(self) -> tuple[int, ...]:
        """What stands, and what holds."""
        return (*self.preview.feet.standing, *self.body.control.grip.tolist())

    def forget(self, frames: int) -> None:
        """Count frames from another one on: so many before it are forgotten."""
        self._planned -= frames

    def _look_whether_fallen(self) -> None:
        why = why_fallen(*self.preview.feet.room.off.tolist())
        if why is not None and self.blame is None:
            self.blame = Blame(float(self.body.world.time), why)


def place(world: World, body: Body, q: Array, v: Array) -> None:
    """Put the body where a frame of the reference is, with its velocity."""
    all_q, all_v = world.q.copy(), world.v.copy()
    all_q[body.q_at], all_v[body.v_at] = q, v
    world.q, world.v = all_q, all_v
