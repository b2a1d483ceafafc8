"""Published filter [DF] applied to a whole clip, until its end or a fall."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from brachiate.errors import ArgumentError, StateError
from brachiate.filter.paper.contacts import contact_log_lines
from brachiate.filter.paper.filter import PaperFilter, PaperStep
from brachiate.filter.paper.settings import PaperSettings
from brachiate.filter.reference.reference import Reference, SourceMotion
from brachiate.filter.results.result import FigureView, FilterResult, RunOutcome
from brachiate.filter.tracking.disturbances import Push
from brachiate.filter.tracking.fall_detection import Failure, fall_reason
from brachiate.progress import ProgressBar
from brachiate.simulate.recording import Recording
from brachiate.validation import Array
from brachiate.world.applied_forces import AppliedForce
from brachiate.world.contact_history import ContactHistory
from brachiate.world.world import World

PAPER = "paper"  #: name of the mode


class StepStatistics(NamedTuple):
    """Statistics of the n steps of a clip."""

    residual: Array  # (n,) residual of the floating base, relative to the largest term of its equations
    solves: Array  # (n,) solves of the trial and error over contact states
    hits: Array  # (n,) likewise of the collision before the step; 0 without one
    sinks: Array  # (n,) whether a contact was left moving into the ground

    def __str__(self) -> str:
        """Return a few lines."""
        return (
            f"root residual at most {self.residual.max():.0e} of the largest term of the equations of motion; contact states tried "
            f"{self.solves.mean():.1f} times per step ({self.solves.max()} at most); contacts left moving into the ground in "
            f"{self.sinks.sum()} of {len(self.sinks)} steps, which the paper does not check; joint and torque limits are not considered"
        )

    def summary(self) -> dict[str, float]:
        """Statistics as plain values."""
        return {
            "residual_max": float(self.residual.max()),
            "solves_mean": float(self.solves.mean()),
            "solves_max": int(self.solves.max()),
            "collisions": int((self.hits > 0).sum()),
            "sinking_share": float(self.sinks.mean()),
        }


@dataclass(frozen=True, eq=False)
class PaperFilterResult(FilterResult):
    """Result of the published filter.

    Args:
        steps: Statistics of its steps.
    """

    steps: StepStatistics | None = None

    @property
    def remark(self) -> str:
        """Statistics of the steps, in words."""
        return f"published filter [DF]: {self.steps}"

    def metrics(self) -> dict[str, Any]:
        """All metrics, and statistics of the steps."""
        return super().metrics() | {"mode": PAPER, "steps": {} if self.steps is None else self.steps.summary()}


def run_paper_filter(
    world: World,
    figure: str,
    reference: Reference,
    settings: Any = None,
    pushes: Sequence[Push] = (),
    source: SourceMotion | None = None,
    progress: bool = False,
) -> PaperFilterResult:
    """Track a reference by the published filter, until its end or a fall.

    Args:
        world: World with the figure and the ground, and nothing else that moves.
        figure: Name of the figure in the world.
        reference: Reference with one frame per step.
        settings: :class:`PaperSettings`; the step is that of the reference.
        pushes: External forces. The published filter knows them while they act: they are in its equations (f_ext of eq. 12).
        source: Motion that the reference was made from.
        progress: Whether to show a progress bar.
    """
    settings = PaperSettings() if settings is None else settings
    if not isinstance(settings, PaperSettings):
        raise ArgumentError(f"settings: mode={PAPER!r} takes brachiate.filter.paper.PaperSettings(...), got {type(settings).__name__}.")
    for push in pushes:
        push.check(world, figure)
    world.q, world.v = reference.q[0], reference.v[0]
    paper_filter = PaperFilter(world, figure, replace(settings, step=reference.dt))
    steps, failure = _track(paper_filter, figure, reference, pushes, progress)
    view = FigureView(world, world.figure(figure), slice(0, world.model.nq), slice(0, world.model.nv))
    recording = make_recording(world, reference, steps)
    result = PaperFilterResult.from_recording(view, reference, recording, RunOutcome(failure), source)
    return replace(result, steps=_statistics(steps))


def _track(
    paper_filter: PaperFilter, figure: str, reference: Reference, pushes: Sequence[Push], progress: bool
) -> tuple[list[PaperStep], Failure | None]:
    """Steps until the end of the reference or a fall."""
    world = paper_filter.world
    steps: list[PaperStep] = []
    failure: Failure | None = None
    acting: dict[Push, AppliedForce] = {}
    q, v, a = reference.q, reference.v, reference.a
    with ProgressBar("filtering", progress) as bar:
        for k in range(len(reference) - 1):
            _update_pushes(world, figure, pushes, acting)
            try:
                steps.append(paper_filter.step(q[k], v[k], a[k]))
                reason = _fall_reason(world.q[:7], q[k + 1, :7])
            except StateError as problem:
                if not steps:
                    raise
                reason = str(problem)
            if reason is not None:
                failure = Failure(float(world.time), reason)
                break
            bar.show((k + 1) / len(reference))
    for force in acting.values():
        world.remove(force)
    return steps, failure


def _update_pushes(world: World, figure: str, pushes: Sequence[Push], acting: dict[Push, AppliedForce]) -> None:
    """Apply the pushes that act in the next step, and remove those that have ended."""
    for push in pushes:
        active = push.start - 1e-9 <= world.time < push.start + push.duration - 1e-9
        if active and push not in acting:
            acting[push] = push.apply(world, figure)
        elif not active and push in acting:
            world.remove(acting.pop(push))


def make_recording(world: World, reference: Reference, steps: Sequence[PaperStep]) -> Recording:
    """Recording of the states between steps, each with torques and contacts of the step that led to it."""
    dt, zero = reference.dt, np.zeros(world.model.nv)
    columns = (
        dt * np.arange(len(steps) + 1),
        np.array([reference.q[0], *(step.q for step in steps)]),
        np.array([reference.v[0], *(step.v for step in steps)]),
        np.array([zero, *(step.torque for step in steps)]),
    )
    contacts = [None, *((contact_log_lines(step.pairs, dt, step.sinking), step.pairs.links) for step in steps)]
    return Recording(world.model, world.gravity, *columns, contacts=ContactHistory(contacts))


def _statistics(steps: Sequence[PaperStep]) -> StepStatistics:
    return StepStatistics(*(np.array([getattr(step, name) for step in steps]) for name in StepStatistics._fields))


def _fall_reason(root: Array, target: Array) -> str | None:
    x, y, z = (root[:3] - target[:3]).tolist()
    return fall_reason(x, y, z, 2.0 * float(np.arccos(min(abs(float(root[3:7] @ target[3:7])), 1.0))))
