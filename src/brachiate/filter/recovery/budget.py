"""Budget of the work of all attempts at a motion, counted by steps, so that results do not depend on the machine."""

from __future__ import annotations

# [s] of one core
TRACKED_STEP = 0.5e-3  # of the whole-body controller
ROLLOUT_STEP = 30e-6  # of a rollout
PREPARATION = 0.5  # of a reference and its contact schedule, per second of motion


class Budget:
    """Work that attempts may take.

    Args:
        limit: Seconds of one core, counted by steps.
    """

    def __init__(self, limit: float) -> None:
        self.limit, self.spent = limit, 0.0

    @property
    def left(self) -> float:
        """Work that is left [s]."""
        return self.limit - self.spent

    def add_tracking(self, steps: int) -> None:
        """Count steps of the whole-body controller."""
        self.spent += TRACKED_STEP * steps

    def add_rollouts(self, count: int, steps: int) -> None:
        """Count rollouts of so many steps each."""
        self.spent += ROLLOUT_STEP * steps * count

    def add_preparation(self, seconds: float) -> None:
        """Count the preparation of a reference of so many seconds."""
        self.spent += PREPARATION * seconds
