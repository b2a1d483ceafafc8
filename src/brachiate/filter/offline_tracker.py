"""Tracking of a whole reference in simulation, from its first frame or from a later one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from brachiate.anatomy.figure_height import figure_height
from brachiate.errors import ArgumentError
from brachiate.filter.reference.reference import Reference, SourceMotion
from brachiate.filter.results.result import FilterResult, RunOutcome
from brachiate.filter.schedule.contact_schedule import ContactSchedule
from brachiate.filter.schedule.inferred_surfaces import InferredSurfaces
from brachiate.filter.schedule.unanchored_contacts import describe_infeasible_contacts
from brachiate.filter.settings import FilterSettings
from brachiate.filter.tasks.function_tasks import FunctionTasks
from brachiate.filter.tasks.task import Task, named_tasks
from brachiate.filter.tracking.centroidal_mpc import horizon_intervals, plan_clip_in_place
from brachiate.filter.tracking.checkpoints import Checkpoints
from brachiate.filter.tracking.disturbances import Push
from brachiate.filter.tracking.feasibility import Feasibility
from brachiate.filter.tracking.grip_constraints import GripConstraints
from brachiate.filter.tracking.tracker import MotionTracker, set_figure_state
from brachiate.filter.tracking.validation import check_arguments
from brachiate.filter.tracking.whole_body_controller import WholeBodyController
from brachiate.simulate.partner import Partner
from brachiate.simulate.recording import Recording
from brachiate.simulate.simulation import Simulation
from brachiate.world.world import World

STEP_LOOKAHEAD = 4.0  # durations of a recovery step, before whose end the reference is used


class OfflineTracker:
    """Tracking of a whole reference by a figure of a world.

    Args:
        world: World with contact and the figure.
        figure: Name of the figure in the world.
        reference: Reference, made by :func:`brachiate.filter.reference.preprocess.make_reference`.
        settings: Default: one set for all motions; scaled by the body's height.
        plan_whole_clip: Whether a centroidal plan of the whole clip precedes, which replaces CoM, angular momentum and footholds of the
            reference.
        tracked_links: Links whose pose is tracked besides the joints, and its weight.
        tasks: Functions of the motion that follow targets.
        start: Frame at which the figure is; from frame 0 on it starts in the state of the reference, else in that of the world.
        schedule: Contact schedule of this reference that another tracker has made, without a plan.
    """

    def __init__(
        self, world: World, figure: str, reference: Reference, settings: FilterSettings | None = None, *, plan_whole_clip: bool,
        tracked_links: Mapping[str, float] | None = None, tasks: Mapping[str, Task] | Sequence[Task] | None = None,
        start: int = 0, schedule: ContactSchedule | None = None,
    ) -> None:  # fmt: skip
        check_arguments(world, figure, reference, settings)
        if not reference.stances:
            raise ArgumentError("The reference has no stance and no grip, so no force could support it. Give contacts, or check its floor.")
        self.world, self.figure, self.reference = world, figure, reference
        height = figure_height(world.figure(figure).model)
        settings = (settings or FilterSettings()).scaled(height)
        steps = STEP_LOOKAHEAD * settings.recovery_step_duration
        horizon = np.inf if plan_whole_clip else max(float(horizon_intervals(settings.horizon).sum()), steps)
        if schedule is None:
            schedule = ContactSchedule(reference, settings.stance_lookahead, world.figure(figure).model.effort, horizon)
            schedule.mark_long_flights(settings.long_flight_duration)
        self.schedule = schedule
        schedule.prepare(start)
        given, duration = named_tasks(tasks), (len(reference) - 1) * reference.dt
        self.tasks = FunctionTasks(world, figure, given, duration) if given else None
        self.controller = WholeBodyController(
            world, figure, self.schedule.contact_links, settings, reference.dt, self.schedule.grips, tracked_links,
            0 if self.tasks is None else self.tasks.count,
        )  # fmt: skip
        self.grips = GripConstraints(self.controller, self.schedule.grips)
        if start == 0:
            first = reference.states(slice(0, 1))
            set_figure_state(world, self.controller, first.q[0], first.v[0])
        self.grips.update(start)
        self.surfaces = InferredSurfaces(world, figure, reference)
        self.surfaces.update(start)
        #: Feasibility of the reference by the plan of the whole clip, if there is one.
        self.feasibility: Feasibility | None = None
        if plan_whole_clip:
            self.feasibility = plan_clip_in_place(self.schedule, self.controller, settings, height)
        self.tracker = MotionTracker(self.controller, self.schedule.handle, settings, height, reference.dt, k=start, tasks=self.tasks)
        self.frame = start  #: that is tracked next
        self.checkpoints = Checkpoints(reference.dt)  #: of the run

    def control(self, _: World | None = None) -> None:
        """Set the torques of the next simulation step and advance to the next frame of the reference."""
        k = min(self.frame, len(self.reference) - 1)
        self.checkpoints.observe(self.frame, self.world)
        self.schedule.prepare(k)
        self.grips.record_forces(self.frame)
        self.grips.update(k)
        self.surfaces.update(k)
        self.tracker.control(k)
        self.frame += 1
        if (failure := self.tracker.failure) is not None:
            links = {contact.link for contact in self.schedule.contact_links}
            details = (*self.grips.missed_grips(k), *describe_infeasible_contacts(self.reference, links, k))
            self.tracker.failure = failure._replace(reason="; ".join((failure.reason, *details)))

    def run(self, source: SourceMotion | None = None, pushes: Sequence[Push] = (), progress: bool = False) -> FilterResult:
        """Simulate to the end of the reference or to a fall; the result."""
        return self.result(self.simulate(pushes, progress), source)

    def simulate(self, pushes: Sequence[Push] = (), progress: bool = False, partner: Partner | None = None) -> Recording:
        """Simulate to the end of the reference or to a fall, coupled with a partner if there is one."""
        simulation = Simulation(self.world, dt=self.reference.dt, project=False)
        simulation.couple(partner)
        simulation.control(self.control)
        for push in pushes:
            push.schedule(simulation, self.figure)
        duration = (len(self.reference) - 1 - self.frame) * self.reference.dt
        recording = simulation.run(duration, progress, until=lambda _: self.tracker.failure is not None)
        self.grips.record_forces(self.frame)
        return recording

    def result(self, recording: Recording, source: SourceMotion | None = None) -> FilterResult:
        """Result of a recorded simulation that this tracker controlled."""
        return FilterResult.from_recording(self.controller, self.reference, recording, self.outcome(recording), source)

    def outcome(self, recording: Recording) -> RunOutcome:
        """How a recorded simulation that this tracker controlled went."""
        grip_forces = self.grips.forces(len(recording.time))
        tasks = {}
        if self.tasks is not None:
            self.tasks.finish(self.tracker.clip_time)
            tasks = self.tasks.records()
        return RunOutcome(self.tracker.failure, self.feasibility, grip_forces, self.tracker.recovery_steps, tasks)
