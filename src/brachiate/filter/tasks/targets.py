"""Targets of a task over time: its goal, and the smooth path from the present motion to it."""

from __future__ import annotations

import numpy as np

from brachiate.animation.plan import Keys, Reach, Trajectory, minimum_jerk, reach, trajectories
from brachiate.errors import ArgumentError
from brachiate.filter.tasks.task import Task
from brachiate.validation import Array

_CHECKS = 50  # times at which a target is evaluated in advance


class TargetPath:
    """Goal and path of the coordinates of one task, by the time of the clip.

    The path begins with value, rate and acceleration of the present motion. It is a quintic polynomial to the value of a ``reach``; to
    other targets a quintic correction of them, which vanishes within the blend.

    Args:
        name: Of the task, for messages.
        task: The task.
        begin: When it begins to act [s].
        start: Present values, rates and accelerations (k, 3).
    """

    def __init__(self, name: str, task: Task, begin: float, start: Array) -> None:
        self._base = _trajectories(name, task, begin, start[:, 0], start[:, 1])
        offset = start - np.array([path(begin) for path in self._base])
        duration = max(task.target.by - begin, task.blend) if isinstance(task.target, Reach) else task.blend
        self._correction = [minimum_jerk((x, v, a), 0.0, begin, duration) for x, v, a in offset.tolist()]
        self._end = None
        if isinstance(task.target, Reach):
            self._end = np.array([path(task.target.by + 1.0)[0] for path in self._base])

    def plan(self, t: float) -> Array:
        """Planned u, u̇ and ü (k, 3)."""
        return np.array([path(t) for path in self._base]) + np.array([path(t) for path in self._correction])

    def goal(self, t: float) -> Array:
        """Value that should be had (k,): the end of a ``reach``, otherwise the target at this time."""
        return np.array([path(t)[0] for path in self._base]) if self._end is None else self._end


def due_time(task: Task, begin: float) -> float:
    """When the goal should be had [s]."""
    return float(task.target.by) if isinstance(task.target, Reach) else begin + task.blend


def _trajectories(name: str, task: Task, begin: float, value: Array, rate: Array) -> list[Trajectory]:
    """Trajectories of the target by the time of the clip."""
    if isinstance(task.target, Reach):
        return trajectories(name, reach(task.target.target, task.target.by - begin), value, rate, begin)
    return trajectories(name, task.target, value, rate, 0.0)


def check_target(name: str, task: Task, size: int, duration: float) -> None:
    """Raise ArgumentError for a target of a wrong shape, one that is no number at some time, and one that would never act or be reached."""
    if task.start >= duration:
        raise ArgumentError(f"Task {name!r} starts at {task.start:g} s and would never act: the motion lasts {duration:g} s.")
    end = min(task.end, duration)
    if isinstance(task.target, Reach) and not task.start < task.target.by <= end:
        raise ArgumentError(
            f"Task {name!r} would reach its target by {task.target.by:g} s, but it acts from {task.start:g} s to {end:g} s. "
            "Times are counted from the start of the clip."
        )
    if isinstance(task.target, Keys):
        outside = [t for t in task.target.values if not 0.0 <= t <= duration]
        if outside:
            raise ArgumentError(f"Task {name!r} has a key value at {outside[0]:g} s, but the motion lasts from 0 to {duration:g} s.")
    try:
        paths = _trajectories(name, task, task.start, np.zeros(size), np.zeros(size))
    except ArgumentError as error:
        raise ArgumentError(f"Task {name!r}: {error}") from None
    for t in np.linspace(task.start, min(end, task.start + 60.0), _CHECKS):
        try:
            found = np.array([path(float(t)) for path in paths])
        except ArgumentError as error:
            raise ArgumentError(f"Task {name!r}: {error}") from None
        if not np.isfinite(found).all():
            raise ArgumentError(f"Task {name!r}: its target at {t:g} s is not a finite number.")
