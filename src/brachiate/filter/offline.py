"""Dynamics filter of whole clips: a motion in, a physically consistent motion with joint torques and contact forces out.

In every step a centroidal MPC plans CoM, angular momentum and footholds, the tasks of the whole-body controller follow plan and
reference, a whole-body QP finds the physically feasible accelerations nearest to the tasks, and its torques drive the contact
simulation. The result is therefore as consistent as any simulation, whatever the reference was.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from os import PathLike

import numpy as np

from brachiate import validation
from brachiate.anatomy.figure_height import figure_height
from brachiate.compiled import prepare
from brachiate.deprecation import renamed_arguments
from brachiate.errors import ArgumentError, BrachiateError
from brachiate.evaluation.check import check
from brachiate.filter.online.dynamics_filter import LATENCY
from brachiate.filter.online.run_online import run_online_filter
from brachiate.filter.paper.run_clip import PAPER, run_paper_filter
from brachiate.filter.paper.settings import PaperSettings
from brachiate.filter.reference.payloads import add_payload
from brachiate.filter.reference.preprocess import make_reference
from brachiate.filter.reference.reference import Reference, SourceCheck, SourceMotion
from brachiate.filter.reference.self_collision import ignore_self_collisions
from brachiate.filter.results.result import MAX_KEPT_FRAMES, FilterResult, RunOutcome
from brachiate.filter.sampling.run_sampling import SAMPLING, run_sampling_filter
from brachiate.filter.schedule.contact_schedule import ContactSchedule
from brachiate.filter.schedule.inferred_surfaces import InferredSurfaces, surface_assumptions
from brachiate.filter.schedule.unanchored_contacts import describe_infeasible_contacts
from brachiate.filter.settings import FilterSettings
from brachiate.filter.tasks.function_tasks import FunctionTasks
from brachiate.filter.tasks.task import Task, named_tasks
from brachiate.filter.tracking.centroidal_mpc import horizon_intervals, plan_clip_in_place
from brachiate.filter.tracking.disturbances import Push
from brachiate.filter.tracking.feasibility import Feasibility
from brachiate.filter.tracking.grip_constraints import GripConstraints
from brachiate.filter.tracking.simulation_world import FIGURE, SimulationOptions, simulation_world
from brachiate.filter.tracking.tracker import MotionTracker, set_figure_state
from brachiate.filter.tracking.validation import check_arguments, check_made_partner, check_partner, check_pushes, check_tasks
from brachiate.filter.tracking.whole_body_controller import WholeBodyController
from brachiate.freed_memory import return_freed_memory
from brachiate.motion.contact_labels import ContactLabels
from brachiate.motion.motion import Motion
from brachiate.motion.terrain import Terrain
from brachiate.simulate.partner import Partner
from brachiate.simulate.recording import Recording
from brachiate.simulate.simulation import Simulation
from brachiate.world.world import World

OFFLINE, PREVIEW, ONLINE = "offline", "preview", "online"
TRACKED_OFFLINE = (OFFLINE, PREVIEW)  # modes of the tracking controller for whole clips
TRACKING_MODES = (*TRACKED_OFFLINE, ONLINE)  # modes of the tracking controller
MODES = (*TRACKING_MODES, SAMPLING, PAPER)
STEP_LOOKAHEAD = 4.0  # durations of a recovery step, before whose end the reference is used


@renamed_arguments(ground="terrain", made_on="source_terrain", strength="torque_scale", load="payloads", keep="tracked_links")
def filter_motion(
    motion: Motion | Reference,
    *,
    terrain: Terrain | str | None = None,
    source_terrain: Terrain | str | None = None,
    contacts: ContactLabels | str | PathLike[str] | None = None,
    friction: float | None = None,
    torque_scale: float | None = 1.0,
    pushes: Sequence[Push] = (),
    payloads: Mapping[str, float] | None = None,
    tracked_links: Mapping[str, float] | None = None,
    tasks: Mapping[str, Task] | Sequence[Task] | None = None,
    mode: str = OFFLINE,
    settings: FilterSettings | PaperSettings | None = None,
    dt: float = 0.002,
    latency: float = LATENCY,
    effort: float = 1.0,
    seed: int = 0,
    partner: Callable[[World], Partner] | None = None,
    progress: bool = False,
) -> FilterResult:
    """Make a motion physically consistent: track it in a contact simulation.

    Args:
        motion: Motion, or a reference made from one by :func:`brachiate.make_reference`.
        terrain: Terrain of the result, a :class:`Terrain` or text such as ``"slope:10"``, ``"stairs:0.1:0.4:3"``. Default: the source's.
        source_terrain: Terrain of the given motion, see :func:`brachiate.check`. Default: level ground at the height of the stance feet.
        contacts: Contact labels of the given motion, or a file of them. Default: those of the motion, otherwise inferred.
        friction: Friction coefficient of the contacts. Default: that of the terrain.
        torque_scale: Factor of the figure's torque limits; None or infinity for unlimited torques.
        pushes: External forces, unknown to the filter until they act.
        payloads: Masses carried by links, by name [kg]: ``{"right_hand": 5.0}``.
        tracked_links: Links whose pose is tracked besides all joints, as the point P of [DF] eq. 40, and the weight of this task relative
            to 1 for a joint: ``{"right_hand": 100.0}``.
        tasks: Functions of the motion that follow targets, by name or in a list: ``{"cup": br.Task(an.position("right_hand"),
            an.reach((0.4, -0.2, 1.1), by=1.0))}``; :class:`brachiate.Task`. Times are counted from the start of the clip.
        mode: ``"offline"``: a centroidal plan of the whole clip precedes. ``"preview"``: plans know the reference over their horizon only.
            ``"online"``: frames arrive one by one, see :class:`DynamicsFilter`. ``"sampling"``: no contact schedule, joint targets are
            sampled in simulation. ``"paper"``: the filter as published [DF], without joint and torque limits.
        settings: Default: one set for all motions. Mode ``"paper"`` takes :class:`brachiate.filter.paper.PaperSettings`.
        dt: Length of a simulation step [s]; a reference has its own.
        latency: Delay of the body behind the frames in mode ``"online"`` [s]; 0 for none.
        effort: Factor of the number of rollouts of mode ``"sampling"``.
        seed: Of its random numbers; the result for a seed does not depend on the number of cores.
        partner: Function that makes what the simulation is coupled with, such as a bag of particles in a hand, from its world: ``lambda
            world: br.particles.Coupling(world, bag)``. The figure is ``man``, in the first frame. The filter does not know of the forces.
        progress: Whether to show a progress bar.
    """
    validation.one_of(mode, MODES, "mode")
    check_partner(partner, mode, TRACKED_OFFLINE)
    options = SimulationOptions(
        friction, torque_scale, pushes, payloads, tracked_links, named_tasks(tasks), progress, effort, seed, partner
    )  # fmt: skip
    check_tasks(options.tasks, motion)
    if mode == ONLINE:
        _check_online(terrain, source_terrain, contacts)
        return run_online_filter(motion, options, _filter_settings(settings, mode), dt, latency)
    prepare("filter")
    reference, source = _reference_of(motion, terrain, source_terrain, contacts, dt)
    return _filter_reference(reference, source, options, settings, mode)


def _reference_of(
    motion: Motion | Reference,
    terrain: Terrain | str | None,
    source_terrain: Terrain | str | None,
    contacts: ContactLabels | str | PathLike[str] | None,
    dt: float,
) -> tuple[Reference, SourceMotion]:
    """The reference on the terrain of the result, and the motion that it was made from."""
    if not isinstance(motion, Reference):
        reference = make_reference(motion, source_terrain=source_terrain, contacts=contacts, terrain=terrain, dt=dt)
        return reference, SourceMotion(motion, contacts, source_terrain)
    if source_terrain is not None or contacts is not None:
        raise ArgumentError("A reference has its source terrain and contacts: give them to make_reference(...) instead.")
    return _retarget_terrain(motion, terrain), motion.source or SourceMotion(motion.original, resampled=True)


def _check_online(*known: object) -> None:
    """Refuse what is known of a motion in advance."""
    if any(value is not None for value in known):
        raise ArgumentError(
            "mode='online' knows nothing of the motion in advance and filters on level ground: "
            "leave out terrain, source_terrain and contacts, or use mode='offline' or 'preview'."
        )


def _retarget_terrain(reference: Reference, terrain: Terrain | str | None) -> Reference:
    """The reference on another terrain, made with the same options from its original."""
    if terrain is None:
        return reference
    return make_reference(reference.original, contacts=reference.contacts, terrain=terrain, dt=reference.dt, **reference.options)


def _filter_settings(settings: FilterSettings | PaperSettings | None, mode: str) -> FilterSettings | None:
    if isinstance(settings, PaperSettings):
        raise ArgumentError(f"settings: PaperSettings are for mode={PAPER!r}; mode={mode!r} takes FilterSettings(...).")
    return settings


def _filter_reference(
    reference: Reference, source: SourceMotion, options: SimulationOptions, settings: FilterSettings | PaperSettings | None, mode: str
) -> FilterResult:  # fmt: skip
    """Track a reference in the modes that know it in advance."""
    if options.payloads:
        reference = add_payload(reference, options.payloads)
    check_pushes(options.pushes, reference)
    world = simulation_world(reference, options.friction, options.torque_scale, surfaces=mode != SAMPLING)
    check_arguments(world, FIGURE, reference, None)
    ignored = ignore_self_collisions(world, FIGURE, reference.q, reference.dt)
    reference = reference.changed(assumptions=(*reference.assumptions, *surface_assumptions(reference), *ignored))
    if mode == PAPER:
        if options.tracked_links:
            raise ArgumentError(f"tracked_links: mode={PAPER!r} tracks one point, which PaperSettings(point=...) names.")
        if options.tasks:
            raise ArgumentError(f"tasks: mode={PAPER!r} has no whole-body QP: use mode='offline', 'preview' or 'online'.")
        return run_paper_filter(world, FIGURE, reference, settings, options.pushes, source, options.progress)
    source = _check_source(source)
    if mode == SAMPLING:
        if settings is not None:
            raise ArgumentError(f"settings: mode={SAMPLING!r} has none; effort and seed are arguments of filter_motion.")
        return run_sampling_filter(world, FIGURE, reference, options, source)
    if len(reference) > MAX_KEPT_FRAMES:
        return_freed_memory()
    partner = None if options.partner is None else _make_partner(options.partner, world, reference)
    tracker = OfflineTracker(
        world, FIGURE, reference, _filter_settings(settings, mode), plan_whole_clip=mode == OFFLINE, tracked_links=options.tracked_links,
        tasks=options.tasks,
    )  # fmt: skip
    recording = tracker.simulate(options.pushes, options.progress, partner)
    controller, outcome = tracker.controller, tracker.outcome(recording)
    del tracker  # its schedule is large
    if len(reference) > MAX_KEPT_FRAMES:
        return_freed_memory()
    return FilterResult.from_recording(controller, reference, recording, outcome, source)


def _make_partner(make: Callable[[World], Partner], world: World, reference: Reference) -> Partner:
    """What the simulation is coupled with, made in the first frame."""
    first, model = reference.states(slice(0, 1)), world.model
    world.q, world.v = first.q[0], first.v[0]
    partner = make(world)
    check_made_partner(partner, world, model)
    return partner


def _check_source(source: SourceMotion) -> SourceMotion:
    """Source with results of its check, if it is long: before the simulation, as check and recording both need much memory."""
    if len(source.motion) <= MAX_KEPT_FRAMES or source.checked is not None:
        return source
    try:
        return source._replace(checked=SourceCheck.of(check(source.motion, terrain=source.terrain, contacts=source.contacts)))
    except BrachiateError:  # raised again when the check is asked for
        return source


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
    """

    def __init__(
        self, world: World, figure: str, reference: Reference, settings: FilterSettings | None = None, *, plan_whole_clip: bool,
        tracked_links: Mapping[str, float] | None = None, tasks: Mapping[str, Task] | Sequence[Task] | None = None,
    ) -> None:  # fmt: skip
        check_arguments(world, figure, reference, settings)
        if not reference.stances:
            raise ArgumentError("The reference has no stance and no grip, so no force could support it. Give contacts, or check its floor.")
        self.world, self.figure, self.reference = world, figure, reference
        height = figure_height(world.figure(figure).model)
        settings = (settings or FilterSettings()).scaled(height)
        steps = STEP_LOOKAHEAD * settings.recovery_step_duration
        horizon = np.inf if plan_whole_clip else max(float(horizon_intervals(settings.horizon).sum()), steps)
        self.schedule = ContactSchedule(reference, settings.stance_lookahead, world.figure(figure).model.effort, horizon)
        self.schedule.mark_long_flights(settings.long_flight_duration)
        given, duration = named_tasks(tasks), (len(reference) - 1) * reference.dt
        self.tasks = FunctionTasks(world, figure, given, duration) if given else None
        self.controller = WholeBodyController(
            world, figure, self.schedule.contact_links, settings, reference.dt, self.schedule.grips, tracked_links,
            0 if self.tasks is None else self.tasks.count,
        )  # fmt: skip
        self.grips = GripConstraints(self.controller, self.schedule.grips)
        first = reference.states(slice(0, 1))
        set_figure_state(world, self.controller, first.q[0], first.v[0])
        self.grips.update(0)
        self.surfaces = InferredSurfaces(world, figure, reference)
        self.surfaces.update(0)
        #: Feasibility of the reference by the plan of the whole clip, if there is one.
        self.feasibility: Feasibility | None = None
        if plan_whole_clip:
            self.feasibility = plan_clip_in_place(self.schedule, self.controller, settings, height)
        self.tracker = MotionTracker(self.controller, self.schedule.handle, settings, height, reference.dt, tasks=self.tasks)
        self.frame = 0  #: that is tracked next

    def control(self, _: World | None = None) -> None:
        """Set the torques of the next simulation step and advance to the next frame of the reference."""
        k = min(self.frame, len(self.reference) - 1)
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
        duration = (len(self.reference) - 1) * self.reference.dt
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
