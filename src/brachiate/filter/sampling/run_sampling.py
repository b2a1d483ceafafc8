"""Filter by sampling: search for joint targets in the simulation, then the recording of the path that was found."""

from __future__ import annotations

import numpy as np

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
from brachiate.simulate.recorded_states import RecordedState, RecordedStates
from brachiate.simulate.recording import Recording
from brachiate.world.world import World

SAMPLING = "sampling"  #: name of the mode
MAX_EFFORT = 100.0


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
    effort = validation.number(options.effort, "effort", above=0.0, maximum=MAX_EFFORT)
    seed = validation.integer(options.seed, "seed", minimum=0)
    if options.pushes or options.tracked_links or options.tasks:
        raise ArgumentError(f"mode={SAMPLING!r} knows no pushes, no tracked_links and no tasks: leave them out, or use mode='offline'.")
    if any(stance.kind == "grip" for stance in reference.stances):
        reason = f"mode={SAMPLING!r} finds contacts by itself, and nothing is held; mode='offline' knows grips"
        reference = reference.changed(assumptions=(*reference.assumptions, Assumption("grips", "none", reason)))
    prepare("rollout")
    kinematics, gains = BatchKinematics(reference.figure), motor_gains(reference.figure)
    q, v = reference.q, reference.v
    world.q, world.v = q[0], v[0]
    simulation = BatchSimulation(world, reference.dt, threads=threads, project=False)
    targets = WindowTargets(kinematics, q, v, reference.dt)
    start = simulation.states([world.save()])
    start = RolloutStates(start.q, start.v, start.torque, start.time, (StepMemory(None, start.memory[0].constraints),))
    with ProgressBar("sampling", options.progress) as bar:
        search = SamplingSearch(simulation, targets, WindowCost(reference.figure, q, reference.dt), gains, effort, seed, bar.show)
        found = search.run(start)
    if not found.path:
        raise StateError(f"No rollout from the first frame of {reference.name} was finished: {search.problem}")
    recording = record_path(world, simulation, targets, gains, start, found.path)
    view = FigureView(world, world.figure(figure), slice(0, world.model.nq), slice(0, world.model.nv))
    return FilterResult.from_recording(view, reference, recording, RunOutcome(_failure(found, reference)), source)


def _failure(found: SearchResult, reference: Reference) -> Failure | None:
    if found.failure is None:
        return None
    frame, reason = found.failure
    tried = f"best of {found.rollouts} rollouts, {found.backtracks} times begun again some windows before"
    return Failure(frame * reference.dt, f"{reason} ({tried}); more effort or another seed may find a way")


def record_path(
    world: World, simulation: BatchSimulation, targets: WindowTargets, gains: MotorGains, state: RolloutStates, path: list[PathStep]
) -> Recording:
    """Recording of every step of a path, from its first state."""
    structure, model, dt = world.save(), world.model, simulation.dt
    pairs = world.contact_settings.link_pairs
    states, k = RecordedStates(), 0
    states.add([RecordedState(0.0, state.q[0], state.v[0], np.zeros(model.nv), model, structure, None)])
    for step in path:
        commands = targets.targets(step.start, step.steps, step.before[None], step.offset[None])
        controls = JointTargets(commands, gains.stiffness, gains.damping, constant=True)
        result = simulation.run(state, controls, step.steps, contacts=True)
        samples = result.samples(0)
        rows = zip(result.q[0], result.v[0], result.torque[0], samples, strict=True)
        states.add(
            [
                RecordedState((k + j + 1) * dt, q, v, torque, model, structure, (sample, pairs))
                for j, (q, v, torque, sample) in enumerate(rows)
            ]
        )
        k, state = k + step.steps, result.states
    return states.recording(world, limits=True)
