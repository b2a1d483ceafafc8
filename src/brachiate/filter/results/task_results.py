"""Results of tasks: error over time, when a target was reached, and why one was not met."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from brachiate.filter.results.deviations import JOINT_LIMIT_DISTANCE, TORQUE_LIMIT_SHARE
from brachiate.filter.tasks.function_tasks import Snapshot, TaskRecord
from brachiate.model.model import Model
from brachiate.validation import Array

if TYPE_CHECKING:
    from brachiate.filter.results.result import FilterResult

LIMIT_SHARE = 0.2  # of the time in which a task is not met, from which a joint at its limit counts as a reason
CONTACT_SHARE = 0.1  # of this time, from which contact of the figure with itself counts as one
CONFLICT_SHARE = 0.9  # of the joint motion that a task calls for which lies in the gradients of another one, from which they conflict
MIN_GRADIENT = 1e-6  # length of a gradient relative to 1, below which a function is not directed by any joint


@dataclass(frozen=True, eq=False)
class TaskResult:
    """What became of a task. Values are NaN while it does not act.

    Attributes:
        name: Of the task.
        names: Of its coordinates: the task's, or of a vector ``name.x``, ``name.y``, ``name.z``.
        times: (f,) [s].
        value: (f, k) of the function.
        target: (f, k); of a ``reach`` its end, also before it is reached.
        planned: (f, k) of the path to the target.
        due: (f,) whether the target should be had.
        tolerance: Error below which the task is met.
        reason: Why it was not met; empty if it was.
    """

    name: str
    names: tuple[str, ...]
    times: Array
    value: Array
    target: Array
    planned: Array
    due: Array
    tolerance: float
    reason: str = ""

    @property
    def error(self) -> Array:
        """Error from the target (f, k)."""
        return self.value - self.target

    @cached_property
    def size(self) -> Array:
        """Length of the error (f,)."""
        return np.linalg.norm(self.error, axis=1)

    @property
    def missed(self) -> Array:
        """Whether the target should be had and is not (f,)."""
        return self.due & ~(self.size <= self.tolerance)

    @property
    def met(self) -> bool:
        """Whether the error was within the tolerance all the time in which the target should be had."""
        return bool(self.due.any()) and not self.missed.any()

    @property
    def reached(self) -> float | None:
        """Time from which the error stays within the tolerance until the task ends [s]; None if it does not at the end."""
        acting = np.flatnonzero(np.isfinite(self.size))
        due = np.flatnonzero(self.due)
        if not len(due):
            return None
        outside = acting[(self.size[acting] > self.tolerance) & (acting <= due[-1])]
        first = int(acting[0]) if not len(outside) else int(outside[-1]) + 1
        return float(self.times[first]) if first <= due[-1] else None

    @property
    def max_error(self) -> float:
        """Largest error while the target should be had; NaN if that was never."""
        return float(self.size[self.due].max()) if self.due.any() else float("nan")

    @property
    def summary(self) -> dict[str, Any]:
        """Plain values, for files."""
        error = self.max_error
        return {
            "name": self.name, "met": self.met, "reached_s": self.reached, "max_error": error if np.isfinite(error) else None,
            "tolerance": self.tolerance, "reason": self.reason,
        }  # fmt: skip

    def __str__(self) -> str:
        """Return one line."""
        if not self.due.any():
            return f"{self.name}: ended before its target should be had"
        when = "not reached" if self.reached is None else f"reached at {self.reached:.2f} s"
        worst = f"largest error {self.max_error:.2g}, tolerance {self.tolerance:.2g}"
        return f"{self.name}: {when}, {worst}" + (f" ({self.reason})" if self.reason else "")


def task_results(result: FilterResult) -> dict[str, TaskResult]:
    """Results of all tasks of a filtered motion, by name."""
    return {name: _with_reason(result, name, record) for name, record in result.task_records.items()}


def _with_reason(result: FilterResult, name: str, record: TaskRecord) -> TaskResult:
    n = min(len(record.times), len(result.motion))
    times = result.motion.times[:n]
    columns = (record.value[:n], record.target[:n], record.planned[:n], record.due[:n])
    found = TaskResult(name, record.names, times, *columns, record.task.tolerance)
    reason = "" if record.missed is None else _reason(result, found, record)
    return TaskResult(name, record.names, times, *columns, record.task.tolerance, reason)


def _reason(result: FilterResult, task: TaskResult, record: TaskRecord) -> str:
    """Why a task was not met: a vanishing gradient, conflicts, limits of its joints, reach, or contact of the figure with itself."""
    missed = record.missed
    assert missed is not None
    if np.linalg.norm(missed.gradient) < MIN_GRADIENT * max(1.0, float(np.abs(missed.gradient).max(initial=0.0))):
        return "its gradient vanishes: no joint directs it there"
    others = [other for other in missed.others if _in_conflict(missed, other)]
    limits = list(_limits(result, task.missed, missed.gradient))
    reasons = [*(f"conflict with {other}" for other in others), *limits]
    if not reasons and missed.pull > 0.5:
        reasons = ["out of reach, or only with loss of balance"]
    if not reasons:
        reasons = list(_contacts(result, task.missed, missed.gradient)) or ["disturbed, or its plan is faster than the body"]
    return ", ".join(reasons[:3])


def _in_conflict(missed: Snapshot, other: str) -> bool:
    """Whether the joint motion that would reduce the error is nearly one that the functions of another task see."""
    wanted = missed.gradient.T @ missed.error
    size = float(np.linalg.norm(wanted))
    seen = np.linalg.lstsq(missed.others[other].T, wanted, rcond=None)[0] @ missed.others[other]
    return size > 0.0 and float(np.linalg.norm(seen)) > CONFLICT_SHARE * size


def _limits(result: FilterResult, missed: Array, gradient: Array) -> Iterator[str]:
    """Joints that the task depends on which are at a limit of torque or position for much of the time in which it is not met."""
    model: Model = result.recording.model
    figure, at = result.motion.figure, np.flatnonzero(missed)
    lower, upper = figure.limits
    for name, joint in figure.joints.items():
        there = model.joints[f"{result.figure_name}/{name}"].v
        if np.abs(gradient[:, there]).max(initial=0.0) < MIN_GRADIENT:
            continue
        limit = result.torque_limits[joint.v]
        torque = np.abs(result.joint_torques.get(name, np.zeros((len(result.motion), len(limit)))))[at]
        limited = np.where(np.isfinite(limit) & (limit > 0.0), limit, np.inf)
        if (torque >= TORQUE_LIMIT_SHARE * limited).any(axis=1).mean() > LIMIT_SHARE:
            yield f"torque limit of {name}"
        if joint.q.stop - joint.q.start == 1 and joint.v.stop - joint.v.start == 1:
            x = result.motion.q[at, joint.q.start]
            outside = (x < lower[joint.v.start] + JOINT_LIMIT_DISTANCE) | (x > upper[joint.v.start] - JOINT_LIMIT_DISTANCE)
            if outside.mean() > LIMIT_SHARE:
                yield f"position limit of {name}"


def _contacts(result: FilterResult, missed: Array, gradient: Array) -> Iterator[str]:
    """Contacts of links that the task moves with other links of the figure, of which the QP does not know; the longest first."""
    model, history, prefix = result.recording.model, result.recording.contacts, f"{result.figure_name}/"

    def moves(link: str) -> bool:
        body = model.placements[link].body
        own = slice(model.tree.dof[body], model.tree.dof[body + 1])
        return model.tree.parent[body] >= 0 and float(np.abs(gradient[:, own]).max(initial=0.0)) > MIN_GRADIENT

    shares: dict[str, float] = {}
    for on, link in sorted(history.link_pairs):
        if on.startswith(prefix) and link.startswith(prefix) and (moves(on) or moves(link)):
            touching = np.any(history[f"{link} on {on}"].force[: len(missed)], axis=1)
            shares[f"{link.removeprefix(prefix)} touches {on.removeprefix(prefix)}"] = float(touching[missed].mean())
    yield from (pair for pair in sorted(shares, key=lambda pair: -shares[pair]) if shares[pair] > CONTACT_SHARE)
