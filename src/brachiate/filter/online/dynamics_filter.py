"""Online dynamics filter: reference frames in one by one, one physically consistent simulation step out for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from numpy.typing import ArrayLike

from brachiate import figures, validation
from brachiate.anatomy.figure_height import figure_height
from brachiate.compiled import prepare
from brachiate.deprecation import renamed_arguments, renamed_attribute, warn_renamed
from brachiate.errors import ArgumentError, StateError
from brachiate.filter.online.reference_stream import ReferenceStream
from brachiate.filter.settings import FilterSettings
from brachiate.filter.tasks.function_tasks import FunctionTasks
from brachiate.filter.tasks.task import Task, named_tasks
from brachiate.filter.tracking.fall_detection import Failure
from brachiate.filter.tracking.tracker import MotionTracker, set_figure_state
from brachiate.filter.tracking.validation import check_world, tracking_weights
from brachiate.filter.tracking.whole_body_controller import WholeBodyController
from brachiate.model.model import Model
from brachiate.simulate.simulation import Simulation
from brachiate.validation import Array
from brachiate.world.contact_history import RecordedContacts
from brachiate.world.contacts import Contacts
from brachiate.world.world import World

FIGURE = "man"  # name of the figure in a world that the filter makes itself
LATENCY = 0.3  # [s] by default: about half a step, with which captured walks, turns and runs are tracked


@dataclass(frozen=True, eq=False)
class FilterStep:
    """Result of one step of the online filter.

    Args:
        time: Time of the world [s].
        q: Configuration of the figure (nq,).
        v: Velocity (nv,).
        a: Acceleration of the whole-body QP for the step that led here (nv,).
        torque: Torques of that step (nv,) [N·m or N].
        deviation: Position of the pelvis relative to the reference [m], and angle between their orientations [rad]: (4,).
        stance: Links in stance, as the controller sees it.
        recovery_step: Link of the foot that takes a step that the reference does not have; None if none does.
        solves: Linear solves of the whole-body QP.
        failure: Time and reason of a fall; None without one.
        task_errors: Errors of the tasks that act from their targets, at the start of the step, by name: (k,) in units of the functions.
    """

    time: float
    q: Array
    v: Array
    a: Array
    torque: Array
    deviation: Array
    stance: tuple[str, ...]
    recovery_step: str | None
    solves: int
    failure: Failure | None
    task_errors: Mapping[str, Array]
    _joints: Mapping[str, slice] = field(repr=False)
    _recorded: RecordedContacts | None = field(repr=False)

    @cached_property
    def torques(self) -> dict[str, Array]:
        """Torques by joint [N·m or N]."""
        return {name: self.torque[coordinates] for name, coordinates in self._joints.items()}

    @cached_property
    def contacts(self) -> Contacts:
        """Contacts of the step, with forces, contact states and centers of pressure."""
        return Contacts(()) if self._recorded is None else Contacts.from_sample(*self._recorded)

    off = renamed_attribute("off", "deviation")
    standing = renamed_attribute("standing", "stance")
    steps = renamed_attribute("steps", "recovery_step")
    blame = renamed_attribute("blame", "failure")


class DynamicsFilter:
    """Dynamics filter of a reference that arrives frame by frame.

    The first frames are only observed. Then the body is placed at the reference, and each frame advances it by one simulation step. The
    body is behind the incoming frames by the latency and one step, end to end; frames that wait are known to plans and to contact
    estimation. Between steps the world may change: applied forces, friction, ground height, figures that are added.

    Args:
        world: World with contact and the figure; or the model of the figure, for which a world with level ground and contact is made.
        figure: Name of the figure in the world.
        settings: Default: one set for all motions; scaled by the body's height.
        latency: Delay of the body behind the incoming frames [s], which is how far the reference is known ahead; 0 for none.
        dt: Interval of the frames, and length of a simulation step [s].
        ground_height: Height of the ground [m]; the floor of the reference is moved there.
        tracked_links: Links whose pose is tracked besides the joints, and its weight: see :func:`brachiate.filter_motion`.
        tasks: Functions of the motion that follow targets; times are counted from the first frame.
    """

    @renamed_arguments(preview="latency", ground="ground_height", keep="tracked_links")
    def __init__(
        self,
        world: World | Model,
        figure: str | None = None,
        settings: FilterSettings | None = None,
        *,
        latency: float = LATENCY,
        dt: float = 0.002,
        ground_height: float = 0.0,
        tracked_links: Mapping[str, float] | None = None,
        tasks: Mapping[str, Task] | Sequence[Task] | None = None,
    ) -> None:
        given = named_tasks(tasks)
        self.dt = validation.number(dt, "dt", minimum=1e-4, maximum=0.02)
        self.latency = validation.number(latency, "latency", minimum=0.0, maximum=60.0)
        ground_height = validation.number(ground_height, "ground_height")
        if isinstance(world, Model):
            figure = FIGURE if figure is None else figure
            world = _level_world(world, figure, ground_height)
        if not isinstance(figure, str):
            raise ArgumentError("figure: expected the name of a figure in the world, such as DynamicsFilter(world, 'man').")
        model = world.figure(figure).model
        check_world(world, figure, settings)
        self.tasks = FunctionTasks(world, figure, given) if given else None
        prepare("online")
        self.world, self.figure, self.tracked_links = world, figure, tracking_weights(model, figure, tracked_links)
        self.height = figure_height(model)
        self.settings = (settings or FilterSettings()).scaled(self.height)
        self.stream = ReferenceStream(model, self.settings, self.dt, self.latency, ground_height)
        self.simulation = Simulation(world, self.dt, project=False)  # every step satisfies one equation of motion, as offline
        self.frame = max(round(self.settings.startup_time / self.dt), 1)  #: that is tracked next
        self._delay = round(self.latency / self.dt)  # [frames]
        self._ended = False  # whether no more frames arrive
        self._joints = {name: joint.v for name, joint in model.joints.items()}
        self.tracker: MotionTracker | None = None
        self._model = world.model  # another one after a figure was added

    @property
    def ground_height(self) -> float:
        """Height of the ground [m]; may be set."""
        return float(self.stream.estimator.ground_height[0])

    @ground_height.setter
    def ground_height(self, height: float) -> None:
        self.stream.estimator.ground_height[0] = validation.number(height, "ground_height")

    @property
    def floor_height(self) -> float:
        """Estimated height of the floor in the incoming frames [m]."""
        return float(self.stream.estimator.floor_height[0])

    @property
    def failure(self) -> Failure | None:
        """Time and reason of a fall; None without one."""
        return None if self.tracker is None else self.tracker.failure

    def step(self, frame: ArrayLike | None) -> FilterStep | None:
        """Take in a frame (a configuration of the figure) and simulate one step; None while frames are only observed.

        A frame of None ends the stream: frames that still wait are tracked, then the result is None.
        """
        if not self.take(frame):
            return None
        self.control()
        if self.failure is None:
            self.simulation.step()
        return self._result()

    def take(self, frame: ArrayLike | None) -> bool:
        """Take in a frame; None if the stream has ended.

        Returns whether enough frames are known for a step; when they first are, the body is placed at the reference.
        """
        if self.failure is not None:
            raise StateError(f"The figure {self.failure}. Make a new filter to start again.")
        if frame is None:
            self._ended = True
        elif self._ended:
            raise StateError("The stream of frames has ended. Make a new filter to start again.")
        else:
            if self.stream.full:
                self._drop_old_frames()
            self.stream.take(frame, self.frame if self.tracker is not None else 0)
        ready = len(self.stream) > self.frame + (0 if self._ended else self._delay)
        if ready and self.tracker is None:
            self._start()
        return ready

    def control(self) -> None:
        """Set the torques of the next simulation step."""
        if self.tracker is None:
            raise StateError("Not enough frames of the reference are known yet: call take(frame) until it returns True.")
        if self.world.model is not self._model:
            self._model = self.world.model
            self.tracker.replace_controller(self._make_controller())
        self.tracker.control(self.frame)
        self.frame += 1

    def _drop_old_frames(self) -> None:
        dropped, tracker = max(self.frame - self.stream.memory, 0), self.tracker
        assert tracker is not None
        self.stream.drop_frames(dropped, tracker.mpc.feet.arrays)
        tracker.drop_frames(dropped)
        self.frame -= dropped

    def _start(self) -> None:
        """Place the body at the reference."""
        stream, k = self.stream, self.frame
        controller = self._make_controller()
        nq, nv = stream.model.nq, stream.model.nv
        set_figure_state(self.world, controller, stream.window.q[k * nq : (k + 1) * nq], stream.window.v[k * nv : (k + 1) * nv])
        self.tracker = MotionTracker(
            controller, stream.handle, self.settings, self.height, self.dt, self.settings.extrapolation_time, k, stream.predict, self.tasks
        )

    def _make_controller(self) -> WholeBodyController:
        rows = 0 if self.tasks is None else self.tasks.count
        return WholeBodyController(self.world, self.figure, self.stream.soles, self.settings, self.dt, (), self.tracked_links, rows)

    def _result(self) -> FilterStep:
        tracker, world = self.tracker, self.world
        assert tracker is not None
        controller = tracker.controller
        loaded = controller.control.supporting_corners
        return FilterStep(
            time=float(world.time),
            q=world.q[controller.q_at],
            v=world.v[controller.v_at],
            a=controller.control.a[controller.v_at],
            torque=world.torque[controller.v_at],
            deviation=tracker.mpc.feet.arrays.root_error.copy(),
            stance=tuple(sole.link for sole, corners in zip(self.stream.soles, loaded, strict=True) if corners),
            recovery_step=tracker.stepping_link,
            solves=tracker.solves,
            failure=tracker.failure,
            task_errors={} if self.tasks is None else self.tasks.errors(),
            _joints=self._joints,
            _recorded=self.simulation.last_contacts,
        )

    blame = renamed_attribute("blame", "failure")
    preview = renamed_attribute("preview", "latency")
    follower = renamed_attribute("follower", "tracker")

    @property
    def ground(self) -> float:
        """Value of :attr:`ground_height`; deprecated."""
        warn_renamed("DynamicsFilter.ground", "DynamicsFilter.ground_height")
        return self.ground_height

    @ground.setter
    def ground(self, height: float) -> None:
        warn_renamed("DynamicsFilter.ground", "DynamicsFilter.ground_height")
        self.ground_height = height


def _level_world(model: Model, figure: str, ground_height: float) -> World:
    """World of a figure on level ground, with contact."""
    world = World()
    world.add(figures.ground(), name="floor", at=(0.0, 0.0, ground_height))
    world.add(model, name=figure)
    world.enable_contact()
    return world
