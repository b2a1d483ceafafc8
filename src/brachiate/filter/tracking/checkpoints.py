"""Checkpoints of a run: snapshots of the world at equal intervals, the latest of which are kept, from which a run can go on otherwise."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from brachiate.world.world import World
from brachiate.world.world_state import WorldState

INTERVAL = 0.1  # [s]
KEPT = 40


class Checkpoint(NamedTuple):
    """State of the world before a step, with the memory of its contacts."""

    frame: int  # of the reference
    state: WorldState


class Checkpoints:
    """The latest checkpoints of a run.

    Args:
        dt: Time step [s].
    """

    def __init__(self, dt: float) -> None:
        self._every = max(round(INTERVAL / dt), 1)
        self._kept: deque[Checkpoint] = deque(maxlen=KEPT)

    def observe(self, frame: int, world: World) -> None:
        """Keep the state of the world if a checkpoint is due at this frame."""
        if frame % self._every == 0:
            self._kept.append(Checkpoint(frame, world.save()))

    def before(self, frame: int) -> list[Checkpoint]:
        """Checkpoints at or before a frame, the latest first."""
        return [each for each in reversed(self._kept) if each.frame <= frame]
