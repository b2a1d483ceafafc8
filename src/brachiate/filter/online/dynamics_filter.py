"""The dynamics filter, live: frames of a reference in, one by one, and a body that does what it can of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from numpy.typing import ArrayLike

from brachiate import validation
from brachiate.anatomy.figure_height import stature
from brachiate.errors import StateError
from brachiate.filter.online.reference_stream import Stream
from brachiate.filter.settings import FilterSettings
from brachiate.filter.tracking.fall_detection import Blame
from brachiate.filter.tracking.tracker import Follower, place
from brachiate.filter.tracking.validation import check_world, kept_of
from brachiate.filter.tracking.whole_body_controller import Body
from brachiate.simulate.simulation import Simulation
from brachiate.validation import Array
from brachiate.world.contact_history import Touched
from brachiate.world.contacts import Contacts
from brachiate.world.world import World


@dataclass(frozen=True, eq=False)
class Moment:
    """What has come of one step.

    Args:
        time: [s] of the world.
        q: Configuration of the figure.
        v: Its velocities.
        a: Its accelerations, as decided for the step that led here.
        torque: That brought it here (nv,) [N·m or N].
        off: Of the pelvis from where the reference has it [m], and by how much it is turned [rad]: (4,).
        standing: Links that stand, as the filter sees it.
        steps: Whose foot makes a step that the reference does not have, None if none does.
        solves: Of the optimizer.
        blame: Why it has fallen, if it has.
    """

    time: float
    q: Array
    v: Array
    a: Array
    torque: Array
    off: Array
    standing: tuple[str, ...]
    steps: str | None
    solves: int
    blame: Blame | None
    _joints: Mapping[str, slice] = field(repr=False)
    _touched: Touched | None = field(repr=False)

    @cached_property
    def torques(self) -> dict[str, Array]:
        """Torques by joint [N·m or N]."""
        return {name: self.torque[where] for name, where in self._joints.items()}

    @cached_property
    def contacts(self) -> Contacts:
        """What touched in the step, with forces, states and centres of pressure."""
        return Contacts(()) if self._touched is None else Contacts.of(*self._touched)


class DynamicsFilter:
    """Makes a body do what it can of a reference that comes in frame by frame.

    The first frames are only listened to. Then the body is put where the reference is, and each frame moves it on by one step. Between
    steps the world may change: pushes, friction, the height of the ground (``ground``), other figures that come in.

    Args:
        world: In which things touch, with the figure in it.
        figure: Its name there.
        settings: By default one set for all motions, scaled by the body's height.
        preview: [s] by which the body is behind the frames that come in: what is known ahead. It can be 0.
        dt: From one frame to the next, and length of a step [s].
        ground: Height of what it is to stand on [m]; the reference's floor is brought there.
        keep: Links whose place and orientation are kept, too, and how much that counts: see :func:`filter_motion`.
    """

    def __init__(
        self,
        world: World,
        figure: str,
        settings: FilterSettings | None = None,
        *,
        preview: float = 0.0,
        dt: float = 0.002,
        ground: float = 0.0,
        keep: Mapping[str, float] | None = None,
    ) -> None:
        model = world.figure(figure).model
        check_world(world, figure, settings)
        self.world, self.figure, self.keep = world, figure, kept_of(model, figure, keep)
        self.height = stature(model)
        self.settings = (settings or FilterSettings()).scaled(self.height)
        self.dt = validation.number(dt, "dt", least=1e-4, most=0.02)
        self.preview = validation.number(preview, "preview", least=0.0, most=60.0)
        self.stream = Stream(model, self.settings, self.dt, self.preview, validation.number(ground, "ground"))
        self.simulation = Simulation(world, self.dt)
        self.frame = max(round(self.settings.listen / self.dt), 1)  # that is followed next
        self._waits = round(self.preview / self.dt)
        self._joints = {name: joint.v for name, joint in model.joints.items()}
        self.follower: Follower | None = None
        self._model = world.model  # another one when a figure comes in

    @property
    def ground(self) -> float:
        """Height of what it is to stand on [m]; can be set."""
        return float(self.stream.senses.ground[0])

    @ground.setter
    def ground(self, height: float) -> None:
        self.stream.senses.ground[0] = validation.number(height, "ground")

    @property
    def blame(self) -> Blame | None:
        """Why it has fallen, if it has."""
        return None if self.follower is None else self.follower.blame

    def step(self, frame: ArrayLike) -> Moment | None:
        """Take in a frame (a configuration of the figure), and move the body on by a step; None while frames are only listened to."""
        if not self.take(frame):
            return None
        self.control()
        if self.blame is None:
            self.simulation.step()
        return self._moment()

    def take(self, frame: ArrayLike) -> bool:
        """Take in a frame only. Returns whether enough is known for a step; when it first is, the body is put where the reference is."""
        if self.blame is not None:
            raise StateError(f"The figure has fallen: {self.blame}. Begin anew with another filter.")
        if self.stream.full:
            self._forget()
        self.stream.take(frame)
        ready = len(self.stream) > self.frame + self._waits
        if ready and self.follower is None:
            self._begin()
        return ready

    def control(self) -> None:
        """Set the torques of the next step."""
        if self.follower is None:
            raise StateError("Nothing is known of the reference yet: take frames first.")
        if self.world.model is not self._model:
            self._model = self.world.model
            self.follower.take_over(self._body())
        self.follower.control(self.frame)
        self.frame += 1

    def _forget(self) -> None:
        dropped, follower = max(self.frame - self.stream.memory, 0), self.follower
        assert follower is not None
        self.stream.forget(dropped, follower.preview.feet.room)
        follower.forget(dropped)
        self.frame -= dropped

    def _begin(self) -> None:
        """Put the body where the reference is."""
        stream, k = self.stream, self.frame
        body = self._body()
        nq, nv = stream.model.nq, stream.model.nv
        place(self.world, body, stream.room.q[k * nq : (k + 1) * nq], stream.room.v[k * nv : (k + 1) * nv])
        self.follower = Follower(body, stream.handle, self.settings, self.height, self.dt, self.settings.blind, k, self.stream.recall)

    def _body(self) -> Body:
        return Body(self.world, self.figure, self.stream.soles, self.settings, self.dt, keep=self.keep)

    def _moment(self) -> Moment:
        follower, world = self.follower, self.world
        assert follower is not None
        body = follower.body
        standing = tuple(sole.link for sole, count in zip(self.stream.soles, body.control.stands, strict=True) if count)
        return Moment(
            float(world.time), world.q[body.q_at], world.v[body.v_at], body.control.a[body.v_at], world.torque[body.v_at],
            follower.preview.feet.room.off.copy(), standing, follower.stepping, follower.solves, follower.blame, self._joints,
            self.simulation.touched,
        )  # fmt: skip
