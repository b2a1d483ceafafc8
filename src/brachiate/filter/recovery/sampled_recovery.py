"""Sampling of windows around the falls of a tracked run: from a checkpoint before a fall on, until the tracking controller can go on.

After each sampled window that ends near the reference the controller is tried from there. It takes over for good if it finishes, or comes
well beyond the fall; otherwise sampling goes on, to the end of the motion if need be. All parts are one simulation, step by step.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from brachiate.errors import StateError
from brachiate.filter.footsteps.recovery_step import RecoveryStep
from brachiate.filter.offline_tracker import OfflineTracker
from brachiate.filter.recovery.budget import Budget
from brachiate.filter.recovery.segments import first_states, joined
from brachiate.filter.recovery.tracked_run import TrackedRun, mpjpe_cm
from brachiate.filter.recovery.window_simulations import WindowSimulations
from brachiate.filter.reference.frames_on_demand import MAX_KEPT_FRAMES
from brachiate.filter.reference.reference import Reference
from brachiate.filter.sampling.cost import WindowCost, root_deviation
from brachiate.filter.sampling.motor_gains import motor_gains
from brachiate.filter.sampling.run_sampling import record_path
from brachiate.filter.sampling.search import WINDOW, SamplingSearch, SearchResult, Window, trace
from brachiate.filter.sampling.window_targets import WindowTargets
from brachiate.filter.schedule.contact_schedule import ContactSchedule
from brachiate.filter.settings import FilterSettings
from brachiate.filter.tracking.checkpoints import Checkpoint
from brachiate.filter.tracking.fall_detection import Failure, nearness_of_a_fall
from brachiate.filter.tracking.simulation_world import SimulationOptions
from brachiate.kinematics_batch import BatchKinematics
from brachiate.progress import ProgressBar
from brachiate.rollout.states import RolloutStates
from brachiate.simulate.recording import Recording

STARTED = 0.2  # nearness of a fall, from 0 to 1, up to which it has not begun
GO_BACK = (0.15, 0.6, 1.5)  # [s] before that, where sampling begins, one after the other
NEAR_COST, NEAR_FALL = 20.0, 0.5  # of a state from which the controller is tried
MIN_GAIN = 1.0  # [s] that the controller has to last, and to come beyond the last fall
GOOD_ERROR = 6.0  # [cm] MPJPE of the controller after sampling, with which it takes over at once
PATIENCE = 5  # windows that are sampled on for a better one
ENOUGH, WORTHWHILE = 3.0, 0.05  # cost of a window, and share of its reduction by a round, below which no other round follows
TRIES_SHARE = 0.7  # of the work: tries of the controller, relative to rollouts
MIN_TRACKED = 0.2  # [s] left of the motion, below which sampling goes on to its end


class SampledRun(NamedTuple):
    """Run with sampled windows."""

    recording: Recording
    failure: Failure | None
    recovery_steps: tuple[RecoveryStep, ...]
    sampled: tuple[tuple[float, float], ...]  # [s] intervals


class HandBack(NamedTuple):
    """Windows after which the controller takes over, and its run."""

    windows: list[Window]
    run: TrackedRun
    error: float  # [cm] MPJPE of the run

    @property
    def rank(self) -> tuple[bool, float]:
        """Larger for better ones: those that finish, of these the most accurate; else those that come farthest."""
        failure = self.run.failure
        return (True, -self.error) if failure is None else (False, failure.time)


class SampledRecovery:
    """Recovery of a run that fell, by sampling.

    Args:
        run: The run.
        settings: Of the filter.
        options: Of the run: tracked links, effort, seed.
        budget: Of the work.
        threads: Number of threads; the result does not depend on it.
    """

    def __init__(
        self, run: TrackedRun, settings: FilterSettings | None, options: SimulationOptions, budget: Budget, threads: int | None = None
    ) -> None:
        self.settings, self.options, self.budget, self.threads = settings, options, budget, threads
        self.tracker, self.world = run.tracker, run.tracker.world
        self.reference: Reference = run.tracker.reference
        self.figure = run.tracker.figure
        q, v, dt = self.reference.q, self.reference.v, self.reference.dt
        self.gains = motor_gains(self.reference.figure)
        self.targets = WindowTargets(BatchKinematics(self.reference.figure), q, v, dt)
        self.cost = WindowCost(self.reference.figure, q, dt)
        self._schedule: ContactSchedule | None = None
        self._parts, self._frames = [run.recording], [0]  # recordings, and the frame of the first state of each
        self._run, self._steps, self._sampled = run, (), ()
        self._seed = options.seed

    def run(self) -> SampledRun:
        """Go on from falls until the motion is finished, no checkpoint leads on, or the budget is used up."""
        best = SampledRun(self._parts[0], self._run.failure, self._run.tracker.tracker.recovery_steps, ())
        with ProgressBar("recovering", self.options.progress) as self._bar:
            while (fall := self._run.failure) is not None:
                found = self._go_on_after(fall)
                if found is not None and (found.failure is None or len(found.recording) > len(best.recording)):
                    best = found
                if found is None or found.failure is None or self._run.failure is fall:
                    return best
        return SampledRun(joined(self._parts), None, (*self._steps, *self._run.tracker.tracker.recovery_steps), self._sampled)

    def _go_on_after(self, fall: Failure) -> SampledRun | None:
        """The run up to its end or to another fall, sampled from the first checkpoint that leads on; the farthest if none does."""
        best: SampledRun | None = None
        for checkpoint in self._checkpoints():
            if self.budget.left <= 0.0:
                break
            found = self._sample_from(checkpoint, fall)
            if self._run.failure is not fall or found.failure is None:
                return found
            if best is None or len(found.recording) > len(best.recording):
                best = found
        return best

    def _checkpoints(self) -> list[Checkpoint]:
        """Checkpoints from which to sample, some time before the fall has begun."""
        start, states = self._frames[-1], self._parts[-1].q
        begun = len(states) - 1
        while begun > 0 and self.deviation(states[begun], start + begun) > STARTED:
            begun -= 1
        known, chosen = self._run.tracker.checkpoints, []
        for seconds in GO_BACK:
            before = known.before(start + begun - round(seconds / self.reference.dt)) or known.before(start + len(states))[-1:]
            if before and (not chosen or before[0].frame < chosen[-1].frame):
                chosen.append(before[0])
        return chosen

    def deviation(self, q: np.ndarray, frame: int) -> float:
        """Nearness of a fall of a configuration."""
        position, angle = root_deviation(q[None, : self.reference.figure.nq], self.reference.q[min(frame, len(self.reference) - 1)])
        x, y, z = position[0].tolist()
        return nearness_of_a_fall(x, y, z, float(angle[0]))

    def _sample_from(self, checkpoint: Checkpoint, fall: Failure) -> SampledRun:
        """Sample from a checkpoint until the controller takes over or the motion ends; the run by then."""
        self.world.restore(checkpoint.state)
        simulations = WindowSimulations(self.world, self.figure, self.reference, self.reference.dt, self.threads)
        search = SamplingSearch(simulations, self.targets, self.cost, self.gains, self.options.effort, self._next_seed(), self._bar.show)
        search.enough, search.worthwhile = ENOUGH, WORTHWHILE
        batch, _ = simulations.at(checkpoint.frame, min(WINDOW, len(self.reference) - 1 - checkpoint.frame))
        first = search.first_window(batch.states([self.world.save()]), checkpoint.frame)
        watch = _Watch(self, search, fall)
        found = search.search(first, np.inf, watch)
        ended = found.path and found.path[-1].start + found.path[-1].steps == len(self.reference) - 1
        if watch.hand_back is not None:
            found = SearchResult(trace(watch.hand_back.windows), None, found.rollouts, found.backtracks)
        elif found.failure is None and ended:
            found = search.refine(first, found)
        watch.count_work()
        return self._record(checkpoint, simulations, first.states, found, watch)

    def _next_seed(self) -> int:
        """Another seed for every search."""
        self._seed += 1
        return self._seed - 1

    def _record(
        self, checkpoint: Checkpoint, simulations: WindowSimulations, state: RolloutStates, found: SearchResult, watch: _Watch
    ) -> SampledRun:  # fmt: skip
        """Record the sampled path, and append it and the run of the controller after it, if there is one, to the parts."""
        dt, start = self.reference.dt, self._frames[-1]
        kept = first_states(self._parts[-1], checkpoint.frame - start + 1)
        steps = tuple(each for each in self._run.tracker.tracker.recovery_steps if each.end <= checkpoint.frame * dt)
        if not found.path:
            failure = Failure(checkpoint.frame * dt, f"no rollout was finished: {watch.search.problem}")
            return SampledRun(joined([*self._parts[:-1], kept]), failure, (*self._steps, *steps), self._sampled)
        path, _ = record_path(self.world, simulations.at, self.targets, self.gains, state, found.path)
        end = found.path[-1].start + found.path[-1].steps
        parts, sampled = [*self._parts[:-1], kept, path], (*self._sampled, (checkpoint.frame * dt, end * dt))
        if watch.hand_back is not None:
            run = watch.hand_back.run
            self._parts, self._frames = [*parts, run.recording], [*self._frames[:-1], start, checkpoint.frame, end]
            self._run, self._steps, self._sampled = run, (*self._steps, *steps), sampled
            return SampledRun(joined(self._parts), run.failure, (*self._steps, *run.tracker.tracker.recovery_steps), sampled)
        failure = None
        if found.failure is not None or end < len(self.reference) - 1:
            frame, reason = found.failure or (end, "the work that recovery may take is done")
            failure = Failure(frame * dt, reason)
        return SampledRun(joined(parts), failure, (*self._steps, *steps), sampled)

    def track_from(self, window: Window) -> TrackedRun | None:
        """Run of the controller from the best state of a window; None if it cannot start there."""
        materials = self.world.contact_settings.pair_materials
        window.states.restore(self.world, 0)
        run = None
        try:
            tracker = OfflineTracker(
                self.world, self.figure, self.reference, self.settings, plan_whole_clip=False, start=window.end,
                tracked_links=self.options.tracked_links, schedule=self._schedule,
            )  # fmt: skip
            self._schedule = tracker.schedule if len(self.reference) <= MAX_KEPT_FRAMES else None  # which gives up frames as it goes
            run = TrackedRun(tracker, tracker.simulate())
            self.budget.add_tracking(run.last_frame - window.end)
        except StateError:  # the state is one that the controller cannot start from
            run = None
        self.world.contact_settings.set_pair_materials(materials)  # those that the simulations of windows know
        return run


class _Watch:
    """Decision after every window whether the search ends there: when the controller takes over, or the budget is used up.

    Args:
        recovery: What the search is for.
        search: It.
        fall: The last fall, which the controller has to come beyond.
    """

    def __init__(self, recovery: SampledRecovery, search: SamplingSearch, fall: Failure) -> None:
        self.recovery, self.search, self.fall = recovery, search, fall
        self.hand_back: HandBack | None = None  #: the best so far
        self._counted, self._windows = 0, 0
        self._sampled_work = self._tracked_work = 0.0

    def count_work(self) -> None:
        """Count the rollouts that were made since the last time."""
        budget, before = self.recovery.budget, self.recovery.budget.spent
        budget.add_rollouts(self.search.rollouts - self._counted, WINDOW)
        self._counted, self._sampled_work = self.search.rollouts, self._sampled_work + budget.spent - before

    def __call__(self, windows: list[Window]) -> bool:
        """Whether the search ends after the last window."""
        self.count_work()
        last, dt, budget = windows[-1], self.recovery.reference.dt, self.recovery.budget
        self._windows += self.hand_back is not None
        if budget.left <= 0.0 or self._windows > PATIENCE:
            return True
        left = (len(self.recovery.reference) - 1 - last.end) * dt
        if left < MIN_TRACKED or self._tracked_work > TRIES_SHARE * self._sampled_work or not self._is_near(last):
            return False
        before = budget.spent
        run = self.recovery.track_from(last)
        self._tracked_work += budget.spent - before
        failure = None if run is None else run.failure
        if run is None or (failure is not None and failure.time < max(self.fall.time, last.end * dt) + MIN_GAIN):
            return False
        found = HandBack(windows, run, mpjpe_cm(self.recovery.reference, run.recording, last.end))
        if self.hand_back is None or found.rank > self.hand_back.rank:
            self.hand_back = found
        return failure is None and found.error < GOOD_ERROR

    def _is_near(self, window: Window) -> bool:
        """Whether the best state of a window is one from which the controller can be expected to go on."""
        q = window.states.q[0]
        return window.cost[0] < NEAR_COST and self.recovery.deviation(q, window.end) < NEAR_FALL
