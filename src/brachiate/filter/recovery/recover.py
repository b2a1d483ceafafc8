"""Recovery from falls: what is tried after a run fell, in the order of its cost, until one attempt finishes the motion.

First the controller with plans over its horizon only, then with contacts on the ground only, then sampling of windows around the falls,
then sampling of the whole motion, last another timing. The best attempt is kept: the one that finishes, else the one that comes farthest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from brachiate.assumptions import Assumption
from brachiate.errors import BrachiateError, StateError
from brachiate.filter.recovery.budget import ROLLOUT_STEP, Budget
from brachiate.filter.recovery.found_contacts import found_contacts
from brachiate.filter.recovery.sampled_recovery import SampledRecovery, SampledRun
from brachiate.filter.recovery.tracked_run import TrackedRun, mpjpe_cm, prepare_world, track
from brachiate.filter.reference.preprocess import make_reference
from brachiate.filter.reference.reference import Reference
from brachiate.filter.results.attempts import Attempt
from brachiate.filter.results.result import FigureView, RunOutcome
from brachiate.filter.sampling.run_sampling import sample_reference
from brachiate.filter.sampling.search import WINDOW
from brachiate.filter.settings import FilterSettings
from brachiate.filter.tracking.fall_detection import Failure
from brachiate.filter.tracking.simulation_world import FIGURE, SimulationOptions
from brachiate.filter.tracking.whole_body_controller import WholeBodyController
from brachiate.simulate.recording import Recording
from brachiate.world.world import World

WHOLE_PLAN, PREVIEW_PLAN, ON_GROUND, SAMPLED, ALL_SAMPLED, FOUND, RETIMED = (
    "plan of the whole clip",
    "plans over the horizon",
    "contacts on the ground only",
    "sampled windows",
    "sampled from the first frame on",
    "contacts that sampling found",
    "1.3 times the duration",
)
SAMPLED_WORK = 10.0  # [s] of one core for a second of sampled motion: with less left of the budget the whole is not sampled
SLOWER = 1.3  # times the duration, of the last attempt


class OtherReferences(NamedTuple):
    """What makes other references of the motion; None where it cannot be."""

    #: With contacts on the ground only: not if contacts or terrain were given.
    on_ground: Callable[[], Reference] | None = None
    #: With its duration multiplied by a factor: not of a reference.
    retimed: Callable[[float], Reference] | None = None


class SimulatedAttempt(NamedTuple):
    """An attempt that was simulated."""

    body: WholeBodyController | FigureView
    reference: Reference
    recording: Recording
    outcome: RunOutcome
    retimed: bool = False  # whether it is compared with another source motion, that of its reference

    @property
    def rank(self) -> tuple[bool, float]:
        """Larger for better ones: those that finish, of these the most accurate; else those that come farthest."""
        failure = self.outcome.failure
        return (True, -mpjpe_cm(self.reference, self.recording)) if failure is None else (False, len(self.recording) / len(self.reference))


class Recovery:
    """Attempts at a motion after a first run has fallen.

    Args:
        reference: Reference of the first run, as it was before its world was made.
        options: Of the run, with the number of retries and the budget.
        settings: Of the filter.
        others: What makes other references of the motion.
    """

    def __init__(self, reference: Reference, options: SimulationOptions, settings: FilterSettings | None, others: OtherReferences) -> None:
        self.reference, self.options, self.settings = reference, options, settings
        self._on_ground, self._retimed = others
        self.attempts: list[Attempt] = []
        self.best: SimulatedAttempt | None = None
        self._duration = (len(reference) - 1) * reference.dt
        self._budget = Budget(options.budget * self._duration)
        self._base: TrackedRun | None = None  # the farthest run in which windows can be sampled
        self._counted, self._kept = 0.0, 0  # work that attempts have; index of the best attempt

    def run(self, first: TrackedRun | StateError) -> SimulatedAttempt:
        """The best of all attempts, of which the first is given, or the problem that ended it.

        Raises:
            StateError: No attempt could be simulated: that of the first.
        """
        if isinstance(first, StateError):
            self._add(WHOLE_PLAN, Failure(0.0, str(first)))
        else:
            self._budget.add_tracking(first.last_frame)
            self._add_tracked(WHOLE_PLAN, first)
        for n, attempt in enumerate(self._retries()):
            if self._finished or n == self.options.retries or self._budget.left <= 0.0:
                break
            attempt()
        if self.best is None:
            raise first if isinstance(first, StateError) else StateError("No attempt could be simulated.")
        attempts = tuple(attempt._replace(kept=k == self._kept) for k, attempt in enumerate(self.attempts))
        return self.best._replace(outcome=self.best.outcome._replace(attempts=attempts))

    @property
    def _finished(self) -> bool:
        return self.best is not None and self.best.outcome.failure is None

    def _retries(self) -> Iterator[Callable[[], None]]:
        """What is tried, in this order."""
        yield lambda: self._track(PREVIEW_PLAN, self.reference, plan_whole_clip=False)
        if self._on_ground is not None and has_other_supports(self.reference):
            yield self._track_on_ground
        yield self._sample_windows
        yield self._sample_all
        if self._retimed is not None and not (self.options.pushes or self.options.tasks):  # which have times
            yield self._track_retimed

    def _track(self, method: str, reference: Reference, *, plan_whole_clip: bool) -> None:
        """Track a reference from its first frame on."""
        try:
            world, reference = prepare_world(reference, self.options)
            run = track(world, reference, self.options, self.settings, plan_whole_clip=plan_whole_clip)
        except BrachiateError as problem:
            self._add(method, Failure(0.0, str(problem)))
            return
        self._budget.add_tracking(run.last_frame)
        self._add_tracked(method, run)

    def _track_on_ground(self) -> None:
        """Track the motion with contacts on the ground only."""
        assert self._on_ground is not None
        self._budget.add_preparation(self._duration)
        try:
            reference = self._on_ground()
        except BrachiateError as problem:
            self._add(ON_GROUND, Failure(0.0, str(problem)))
            return
        self._track(ON_GROUND, reference, plan_whole_clip=True)

    def _track_retimed(self) -> None:
        """Track the motion with another timing, where torque or friction do not allow its own."""
        assert self._retimed is not None
        self._budget.add_preparation(SLOWER * self._duration)
        try:
            reference = self._retimed(SLOWER)
        except BrachiateError as problem:
            self._add(RETIMED, Failure(0.0, str(problem)))
            return
        self._track(RETIMED, reference, plan_whole_clip=True)
        if self._kept == len(self.attempts) - 1 and self.best is not None:
            self.best = self.best._replace(retimed=True)

    def _sample_windows(self) -> None:
        """Sample windows around the falls of the run that came farthest."""
        if self._base is None or (problem := self._why_not_sampled(self._base)):
            reason = "no run without grips, which sampling does not know, is there to go on from" if self._base is None else problem
            self._add(SAMPLED, Failure(0.0, reason))
            return
        run, base = SampledRecovery(self._base, self.settings, self.options, self._budget).run(), self._base
        self._add_sampled(SAMPLED, run, base.tracker.world, base.tracker.reference)

    def _sample_all(self) -> None:
        """Sample the whole motion, on its terrain without other surfaces."""
        problem = self._why_not_sampled(None)
        if not problem and self._budget.left < SAMPLED_WORK * self._duration:
            problem = "too little of the budget is left"
        if problem:
            self._add(ALL_SAMPLED, Failure(0.0, problem))
            return
        world, reference = prepare_world(self.reference, self.options, surfaces=False)
        rollouts = self._budget.left / (ROLLOUT_STEP * WINDOW)
        try:
            found = sample_reference(world, FIGURE, reference, self.options, max_rollouts=rollouts)
        except BrachiateError as problem:
            self._add(ALL_SAMPLED, Failure(0.0, str(problem)))
            return
        self._budget.add_rollouts(found.rollouts, WINDOW)
        run = SampledRun(found.recording, found.failure, (), ((0.0, float(found.recording.time[-1])),))
        self._add_sampled(ALL_SAMPLED, run, world, reference)

    def _why_not_sampled(self, base: TrackedRun | None) -> str:
        """Reason why sampling cannot be used; empty if it can."""
        options = self.options
        if options.tasks or options.partner is not None:
            return "sampling knows no tasks and no partner"
        if options.pushes:
            return "sampling knows no pushes"
        if base is None and any(stance.kind == "grip" for stance in self.reference.stances):
            return "sampling knows no grips"
        return ""

    def _work(self) -> float:
        """Work since the last attempt [s]."""
        before, self._counted = self._counted, self._budget.spent
        return self._budget.spent - before

    def _add(self, method: str, failure: Failure | None, mpjpe: float = np.nan, remark: str = "") -> None:
        self.attempts.append(Attempt(method, failure, mpjpe, self._work(), remark))

    def _add_tracked(self, method: str, run: TrackedRun) -> None:
        """Add a run of the controller."""
        tracker, failure = run.tracker, run.failure
        self._add(method, failure, mpjpe_cm(tracker.reference, run.recording))
        self._compare(SimulatedAttempt(tracker.controller, tracker.reference, run.recording, tracker.outcome(run.recording)))
        if failure is None or any(stance.kind == "grip" for stance in tracker.reference.stances):
            return
        before = None if self._base is None else self._base.failure
        if before is None or failure.time > before.time:
            self._base = run

    def _add_sampled(self, method: str, run: SampledRun, world: World, reference: Reference) -> None:
        """Add a run with sampled windows."""
        self._add(method, run.failure, mpjpe_cm(reference, run.recording), f"sampled {intervals_text(run.sampled)}" if run.sampled else "")
        view = FigureView(world, world.figure(FIGURE), slice(0, world.model.nq), slice(0, world.model.nv))
        reference = reference.changed(assumptions=(*reference.assumptions, sampled_assumption(run.sampled)))
        self._compare(SimulatedAttempt(view, reference, run.recording, RunOutcome(run.failure, recovery_steps=run.recovery_steps)))
        if run.failure is None and self._on_ground is not None and len(self.attempts) <= self.options.retries and self._budget.left > 0.0:
            self._track_found(reference, run.recording)

    def _track_found(self, reference: Reference, recording: Recording) -> None:
        """Track the motion with the contacts that sampling found: more accurate, if the controller can."""
        self._budget.add_preparation(self._duration)
        try:
            labels = found_contacts(reference, recording, FIGURE)
            again = make_reference(self.reference.original, contacts=labels, dt=self.reference.dt)
        except BrachiateError as problem:
            self._add(FOUND, Failure(0.0, str(problem)))
            return
        told = Assumption("contacts", f"{len(labels.contacts)} intervals", "those that sampling found, as with others the controller falls")
        self._track(FOUND, again.changed(assumptions=(*self.reference.assumptions, told)), plan_whole_clip=True)

    def _compare(self, candidate: SimulatedAttempt) -> None:
        """Keep the better one."""
        if self.best is None or candidate.rank > self.best.rank:
            self.best, self._kept = candidate, len(self.attempts) - 1


def has_other_supports(reference: Reference) -> bool:
    """Whether a reference has grips, or supports above its terrain."""
    return any(contact.kind == "grip" or contact.height is not None for contact in reference.contacts.contacts)


def sampled_assumption(intervals: Sequence[tuple[float, float]]) -> Assumption:
    """Assumption about the intervals that were sampled."""
    reason = "the controller falls there, and joint targets are sampled in simulation instead"
    return Assumption("sampled", intervals_text(intervals), reason, "retries")


def intervals_text(intervals: Sequence[tuple[float, float]]) -> str:
    """Intervals of time as text."""
    return ", ".join(f"{start:.2f}-{end:.2f} s" for start, end in intervals)
