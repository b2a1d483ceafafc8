"""Filter by sampling: search for joint targets in the simulation, then the recording of the path that was found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from brachiate import validation
from brachiate.assumptions import Assumption
from brachiate.compiled import prepare
from brachiate.errors import ArgumentError, StateError
from brachiate.filter.reference.reference import Reference, SourceMotion
from brachiate.filter.results.result import FigureView, FilterResult, RunOutcome
from brachiate.filter.sampling.cost import WindowCost
from brachiate.filter.sampling.motor_gains import MotorGains, motor_gains
from brachiate.filter.sampling.search import PathStep, SamplingSearch, SearchResult
from brachiate.filter.sampling.window_targets import WindowTargets
from brachiate.filter.tracking.fall_detection import Failure
from brachiate.filter.tracking.simulation_world import SimulationOptions
from brachiate.kinematics_batch import BatchKinematics
from brachiate.progress import ProgressBar
from brachiate.rollout.controls import JointTargets
from brachiate.rollout.simulate_many import BatchSimulation
from brachiate.rollout.states import RolloutStates, StepMemory
from brachiate.simulate.constraint_forces import ConstraintForces
from brachiate.simulate.recorded_states import RecordedState, RecordedStates
from brachiate.simulate.recording import Recording
from brachiate.world.world import World
from brachiate.world.world_state import WorldState

SAMPLING = "sampling"  #: name of the mode
MAX_EFFORT = 100.0
#: Simulation of the window of so many steps at a frame, and the structure of the world in it.
WindowOf = Callable[[int, int], tuple[BatchSimulation, WorldState]]


def check_search(options: SimulationOptions) -> None:
    """Raise ArgumentError for an invalid effort, seed, number of retries or budget."""
    validation.integer(options.retries, "retries", minimum=0)
    validation.number(options.budget, "budget", minimum=0.0)
    validation.number(options.effort, "effort", above=0.0, maximum=MAX_EFFORT)
    validation.integer(options.seed, "seed", minimum=0)


def run_sampling_filter(
    world: World,
    figure: str,
    reference: Reference,
    options: SimulationOptions,
    source: SourceMotion | None = None,
    threads: int | None = None,
) -> FilterResult:
    """Filter a reference by sampling joint targets.

    Args:
        world: World with the figure and what does not move, with contact.
        figure: Name of the figure.
        reference: Reference with one frame per step.
        options: Of the run; pushes, tracked links and tasks are not known to this mode.
        source: Motion that the reference was made from.
        threads: Number of threads; the result does not depend on it.
    """
    check_search(options)
    if options.pushes or options.tracked_links or options.tasks:
        raise ArgumentError(f"mode={SAMPLING!r} knows no pushes, no tracked_links and no tasks: leave them out, or use mode='offline'.")
    if any(stance.kind == "grip" for stance in reference.stances):
        reason = f"mode={SAMPLING!r} finds contacts by itself, and nothing is held; mode='offline' knows grips"
        reference = reference.changed(assumptions=(*reference.assumptions, Assumption("grips", "none", reason)))
    found = sample_reference(world, figure, reference, options, threads=threads)
    view = FigureView(world, world.figure(figure), slice(0, world.model.nq), slice(0, world.model.nv))
    return FilterResult.from_recording(view, reference, found.recording, RunOutcome(found.failure), source)


class SampledMotion(NamedTuple):
    """Result of sampling a whole reference."""

    recording: Recording
    failure: Failure | None
    rollouts: int


def sample_reference(
    world: World, figure: str, reference: Reference, options: SimulationOptions, *, threads: int | None = None,
    max_rollouts: float | None = None,
) -> SampledMotion:  # fmt: skip
    """Sample joint targets from the first frame on; ``max_rollouts``: of the first pass, by default a factor of those needed."""
    prepare("rollout")
    kinematics, gains = BatchKinematics(reference.figure), motor_gains(reference.figure)
    q, v = reference.q, reference.v
    world.q, world.v = q[0], v[0]
    simulation = BatchSimulation(world, reference.dt, threads=threads, project=False)
    targets, cost = WindowTargets(kinematics, q, v, reference.dt), WindowCost(reference.figure, q, reference.dt)
    start = simulation.states([world.save()])
    start = RolloutStates(start.q, start.v, start.torque, start.time, (StepMemory(None, start.memory[0].constraints),))
    with ProgressBar("sampling", options.progress) as bar:
        search = SamplingSearch(lambda *_: simulation, targets, cost, gains, options.effort, options.seed, bar.show)
        found = search.run(start, max_rollouts)
    if not found.path:
        raise StateError(f"No rollout from the first frame of {reference.name} was finished: {search.problem}")
    structure = world.save()
    recording, _ = record_path(world, lambda *_: (simulation, structure), targets, gains, start, found.path)
    return SampledMotion(recording, _failure(found, reference), found.rollouts)


def _failure(found: SearchResult, reference: Reference) -> Failure | None:
    if found.failure is None:
        return None
    frame, reason = found.failure
    tried = f"best of {found.rollouts} rollouts, {found.backtracks} times begun again some windows before"
    return Failure(frame * reference.dt, f"{reason} ({tried}); more effort or another seed may find a way")


def record_path(
    world: World, windows: WindowOf, targets: WindowTargets, gains: MotorGains, state: RolloutStates, path: Sequence[PathStep]
) -> tuple[Recording, RolloutStates]:
    """Recording of every step of a path, from its first state, and the last one; ``windows``: simulation and structure of a window."""
    model, pairs = world.model, world.contact_settings.link_pairs
    states, dt = RecordedStates(), windows(path[0].start, path[0].steps)[0].dt
    first, structure = path[0].start, windows(path[0].start, path[0].steps)[1]
    states.add([RecordedState(first * dt, state.q[0], state.v[0], state.torque[0], model, structure, None)])
    for step in path:
        commands = targets.targets(step.start, step.steps, step.before[None], step.offset[None])
        controls = JointTargets(commands, gains.stiffness, gains.damping, constant=True)
        simulation, structure = windows(step.start, step.steps)
        result = simulation.run(state, controls, step.steps, contacts=True)
        if result.failures:  # made before, from the same state and memory
            raise StateError(f"A window at {step.start * dt:.2f} s is not reproduced: {result.failures[0].reason} Please report this.")
        rows = zip(result.q[0], result.v[0], result.torque[0], result.samples(0), strict=True)
        states.add(
            [
                RecordedState((step.start + j + 1) * dt, q, v, torque, model, structure, (sample, pairs))
                for j, (q, v, torque, sample) in enumerate(rows)
            ]
        )
        state = result.states
    recording = states.recording(world, limits=True)
    assert isinstance(recording.forces, ConstraintForces)
    for segment in recording.forces.segments:
        segment.dt = dt
    return recording, state
