"""Dynamics filter of whole clips: a motion in, a physically consistent motion with joint torques and contact forces out.

In every step a centroidal MPC plans CoM, angular momentum and footholds, the tasks of the whole-body controller follow plan and
reference, a whole-body QP finds the physically feasible accelerations nearest to the tasks, and its torques drive the contact
simulation. The result is therefore as consistent as any simulation, whatever the reference was.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from os import PathLike

from brachiate import validation
from brachiate.compiled import prepare
from brachiate.deprecation import renamed_arguments
from brachiate.errors import ArgumentError, BrachiateError, StateError
from brachiate.evaluation.check import check
from brachiate.filter.online.dynamics_filter import LATENCY
from brachiate.filter.online.run_online import run_online_filter
from brachiate.filter.paper.run_clip import PAPER, run_paper_filter
from brachiate.filter.paper.settings import PaperSettings
from brachiate.filter.recovery.recover import OtherReferences, Recovery
from brachiate.filter.recovery.retiming import retimed
from brachiate.filter.recovery.tracked_run import TrackedRun, prepare_world, track
from brachiate.filter.reference.preprocess import make_reference
from brachiate.filter.reference.reference import Reference, SourceCheck, SourceMotion
from brachiate.filter.results.result import MAX_KEPT_FRAMES, FilterResult
from brachiate.filter.sampling.run_sampling import SAMPLING, check_search, run_sampling_filter
from brachiate.filter.settings import FilterSettings
from brachiate.filter.tasks.task import Task, named_tasks
from brachiate.filter.tracking.disturbances import Push
from brachiate.filter.tracking.simulation_world import FIGURE, SimulationOptions
from brachiate.filter.tracking.validation import check_partner, check_tasks
from brachiate.freed_memory import return_freed_memory
from brachiate.motion.contact_labels import ContactLabels
from brachiate.motion.motion import Motion
from brachiate.motion.terrain import Terrain
from brachiate.simulate.partner import Partner
from brachiate.world.world import World

OFFLINE, PREVIEW, ONLINE = "offline", "preview", "online"
TRACKED_OFFLINE = (OFFLINE, PREVIEW)  # modes of the tracking controller for whole clips
TRACKING_MODES = (*TRACKED_OFFLINE, ONLINE)  # modes of the tracking controller
MODES = (*TRACKING_MODES, SAMPLING, PAPER)
#: Terrain of the result, terrain of the motion, its contacts.
Given = tuple[Terrain | str | None, Terrain | str | None, ContactLabels | str | PathLike[str] | None]
MAX_RETRIES = 8  # after a fall: more than there are ways to try
BUDGET = 40.0  # [s] of one core for each second of the motion


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
    retries: int = MAX_RETRIES,
    budget: float = BUDGET,
    retime: float = 1.0,
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
        effort, seed: Factor of the number of rollouts, where joint targets are sampled, and seed of their random numbers.
        partner: Function that makes what the simulation is coupled with, such as a bag of particles in a hand, from its world: ``lambda
            world: br.particles.Coupling(world, bag)``. The figure is ``man``, in the first frame. The filter does not know of the forces.
        retries, budget: Largest number of attempts after a fall in mode ``"offline"``, and their work: seconds of a core for a second.
        retime: Factor of the duration, such as 1.3 for a motion that is slower.
        progress: Whether to show a progress bar.
    """
    validation.one_of(mode, MODES, "mode")
    check_partner(partner, mode, TRACKED_OFFLINE)
    options = SimulationOptions(
        friction, torque_scale, pushes, payloads, tracked_links, named_tasks(tasks), progress, effort, seed, partner, retries, budget
    )
    check_search(options)
    motion, contacts = retimed(motion, contacts, retime)
    return _filter(motion, (terrain, source_terrain, contacts), options, settings, mode, dt, latency)


def _filter(
    motion: Motion | Reference,
    given: Given,
    options: SimulationOptions,
    settings: FilterSettings | PaperSettings | None,
    mode: str,
    dt: float,
    latency: float,
) -> FilterResult:
    """Filter a motion; ``given``: terrain of the result, terrain of the motion, its contacts."""
    terrain, source_terrain, contacts = given
    check_tasks(options.tasks, motion)
    if mode == ONLINE:
        _check_online(terrain, source_terrain, contacts)
        return run_online_filter(motion, options, _filter_settings(settings, mode), dt, latency)
    prepare("filter")
    reference, source = _reference_of(motion, terrain, source_terrain, contacts, dt)
    return _filter_reference(reference, source, options, settings, mode, _other_references(motion, given, dt))


def _other_references(motion: Motion | Reference, given: Given, dt: float) -> OtherReferences:
    """What makes other references of a motion, for attempts after a fall."""
    if not isinstance(motion, Motion):
        return OtherReferences()
    terrain, source_terrain, contacts = given

    def with_timing(factor: float) -> Reference:
        slower, moved = retimed(motion, contacts, factor)
        assert isinstance(slower, Motion)
        return make_reference(slower, source_terrain=source_terrain, contacts=moved, terrain=terrain, dt=dt)

    inferred = motion.contacts is None and given == (None, None, None)
    return OtherReferences(partial(make_reference, motion, dt=dt, supports="ground") if inferred else None, with_timing)


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
        return reference, reference.source or SourceMotion(motion, contacts, source_terrain)
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
    return make_reference(
        reference.original, contacts=reference.contacts, terrain=terrain, dt=reference.dt, time_factor=1.0, **reference.options
    )  # fmt: skip


def _filter_settings(settings: FilterSettings | PaperSettings | None, mode: str) -> FilterSettings | None:
    if isinstance(settings, PaperSettings):
        raise ArgumentError(f"settings: PaperSettings are for mode={PAPER!r}; mode={mode!r} takes FilterSettings(...).")
    return settings


def _filter_reference(
    reference: Reference,
    source: SourceMotion,
    options: SimulationOptions,
    settings: FilterSettings | PaperSettings | None,
    mode: str,
    others: OtherReferences,
) -> FilterResult:
    """Track a reference in the modes that know it in advance; ``others``: references for attempts after a fall."""
    raw = reference
    world, reference = prepare_world(raw, options, surfaces=mode != SAMPLING)
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
    settings = _filter_settings(settings, mode)
    recovers = mode == OFFLINE and options.retries > 0
    try:
        run: TrackedRun | StateError = track(world, reference, options, settings, plan_whole_clip=mode == OFFLINE)
    except StateError as problem:  # the simulation diverged
        run = problem
    if isinstance(run, StateError) and not recovers:
        raise run
    if isinstance(run, StateError) or (recovers and run.failure is not None):
        best = Recovery(raw, options, settings, others).run(run)
        told = best.reference.source if best.retimed else source
        return FilterResult.from_recording(best.body, best.reference, best.recording, best.outcome, told)
    controller, recording, outcome = run.tracker.controller, run.recording, run.tracker.outcome(run.recording)
    del run  # its schedule is large
    if len(reference) > MAX_KEPT_FRAMES:
        return_freed_memory()
    return FilterResult.from_recording(controller, reference, recording, outcome, source)


def _check_source(source: SourceMotion) -> SourceMotion:
    """Source with results of its check, if it is long: before the simulation, as check and recording both need much memory."""
    if len(source.motion) <= MAX_KEPT_FRAMES or source.checked is not None:
        return source
    try:
        return source._replace(checked=SourceCheck.of(check(source.motion, terrain=source.terrain, contacts=source.contacts)))
    except BrachiateError:  # raised again when the check is asked for
        return source
