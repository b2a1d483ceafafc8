"""A whole clip through the paper's filter, until it falls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from brachiate.errors import ArgumentError, StateError
from brachiate.filter.paper.contacts import lines_of
from brachiate.filter.paper.filter import PaperFilter, Step
from brachiate.filter.paper.settings import Settings
from brachiate.filter.reference.reference import Reference
from brachiate.filter.results.result import Filtered, Whose
from brachiate.filter.tracking.disturbances import Shove
from brachiate.filter.tracking.fall_detection import Blame, why_fallen
from brachiate.motion.motion import Motion
from brachiate.progress import Bar
from brachiate.simulate.recording import Recording
from brachiate.validation import Array
from brachiate.world.contact_history import ContactHistory
from brachiate.world.pushes import Push
from brachiate.world.world import World

PAPER = "paper"  #: the mode


class Steps(NamedTuple):
    """How the steps of a clip went: n of them."""

    residual: Array  # (n,) what the root would need, as part of the largest term of its equations
    solves: Array  # (n,) of the trial and error over contact states
    hits: Array  # (n,) of that of a collision, 0 if nothing hit
    sinks: Array  # (n,) whether something that touches was left moving into the ground

    def __str__(self) -> str:
        """Return a few lines."""
        tried = f"Contact states were tried {self.solves.mean():.1f} times a step, {self.solves.max()} times at most"
        return (
            f"In its steps the root would need no more than {self.residual.max():.0e} of the largest term of its equations. {tried}; in "
            f"{self.sinks.sum()} of {len(self.sinks)} steps something was left moving into the ground, which the paper does not check. "
            f"Limits of joints and motors are not known to it."
        )

    def summary(self) -> dict[str, float]:
        """The same as plain values."""
        return {
            "residual_max": float(self.residual.max()),
            "solves_mean": float(self.solves.mean()),
            "solves_max": int(self.solves.max()),
            "collisions": int((self.hits > 0).sum()),
            "sinking_share": float(self.sinks.mean()),
        }


@dataclass(frozen=True, eq=False)
class PaperFiltered(Filtered):
    """What the paper's filter has made of a motion.

    Args:
        steps: How its steps went.
    """

    steps: Steps | None = None

    @property
    def remark(self) -> str:
        """How the steps went, in words."""
        return f"Made by the filter as its paper has it. {self.steps}"

    def metrics(self) -> dict[str, Any]:
        """All figures of merit, and how the steps went."""
        return super().metrics() | {"mode": PAPER, "steps": {} if self.steps is None else self.steps.summary()}


def filter_clip(
    world: World,
    figure: str,
    reference: Reference,
    settings: Any = None,
    pushes: Sequence[Shove] = (),
    source: Motion | None = None,
    progress: bool = True,
) -> PaperFiltered:
    """Follow a reference as the paper does, to its end or until it falls.

    Args:
        world: With the figure and the ground, and nothing else that moves.
        figure: Its name there.
        reference: One frame a step.
        settings: Of the paper's filter; its steps are the reference's.
        pushes: Forces from outside. The paper knows of them while they act: they are in its equations (f_ext of eq. 12).
        source: The original on the ground it was made on, if that was another one.
        progress: Whether to show a bar where it takes long.
    """
    settings = Settings() if settings is None else settings
    if not isinstance(settings, Settings):
        raise ArgumentError(f"mode={PAPER!r} takes brachiate.filter.paper.Settings(...) as settings, got {type(settings).__name__}.")
    for shove in pushes:
        shove.check(world, figure)
    world.q, world.v = reference.q[0], reference.v[0]
    one = PaperFilter(world, figure, replace(settings, step=reference.dt))
    steps: list[Step] = []
    blame: Blame | None = None
    acting: dict[Shove, Push] = {}
    with Bar("filtering", progress) as bar:
        for k in range(len(reference) - 1):
            _push(world, figure, pushes, acting)
            try:
                steps.append(one.step(reference.q[k], reference.v[k], reference.a[k]))
                why = _why_fallen(world.q[:7], reference.q[k + 1, :7])
            except StateError as problem:
                if not steps:
                    raise
                why = str(problem)
            if why is not None:
                blame = Blame(float(world.time), why)
                break
            bar.show((k + 1) / len(reference))
    for push in acting.values():
        world.remove(push)
    whose = Whose(world, world.figure(figure), slice(0, world.model.nq), slice(0, world.model.nv))
    filtered = PaperFiltered.of(whose, reference, recording_of(world, reference, steps), blame, None, source)
    return replace(filtered, steps=_told(steps))


def _push(world: World, figure: str, pushes: Sequence[Shove], acting: dict[Shove, Push]) -> None:
    """Let those pushes act that do so now, for whole steps."""
    for shove in pushes:
        now = shove.at - 1e-9 <= world.time < shove.at + shove.lasting - 1e-9
        if now and shove not in acting:
            acting[shove] = shove.begin(world, figure)
        elif not now and shove in acting:
            world.remove(acting.pop(shove))


def recording_of(world: World, reference: Reference, steps: Sequence[Step]) -> Recording:
    """States between steps, and of each the step that led there: torques, and what touched."""
    dt, none = reference.dt, np.zeros(world.model.nv)
    columns = (
        dt * np.arange(len(steps) + 1),
        np.array([reference.q[0], *(step.q for step in steps)]),
        np.array([reference.v[0], *(step.v for step in steps)]),
        np.array([none, *(step.torque for step in steps)]),
    )
    touched = [None, *((lines_of(step.touched, dt, step.sinking), step.touched.links) for step in steps)]
    return Recording(world.model, world.gravity, *columns, contacts=ContactHistory(touched))


def _told(steps: Sequence[Step]) -> Steps:
    return Steps(*(np.array([getattr(step, what) for step in steps]) for what in ("residual", "solves", "hits", "sinks")))


def _why_fallen(root: Array, wanted: Array) -> str | None:
    x, y, z = (root[:3] - wanted[:3]).tolist()
    return why_fallen(x, y, z, 2.0 * float(np.arccos(min(abs(float(root[3:7] @ wanted[3:7])), 1.0))))
