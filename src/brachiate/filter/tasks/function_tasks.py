"""Functions of the motion as rows of the whole-body QP: G a = ü* − bias, with feedback to a plan [DF] VII-C 1, [EGC] 5 step b.

ü* = ü_plan + 2k(u̇_plan − u̇) + k²(u_plan − u) − d; of functions of velocities u̇* = u̇_plan + k(u_plan − u) − d. The disturbance d is the
low-pass filtered difference of the second rate from that of the QP's solution, which does not know of pushes, of contact between links of
the figure and of limits of ball joints (disturbance observer [Ohnishi 1996]). A row with a large weight is met by
those accelerations that leave the posture nearest to the reference. How hard a row may pull is bounded, and the less the nearer a fall is,
so that a target out of reach does not tip the body over: its weight is reduced as long as its multiplier is beyond the bound.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from brachiate.errors import ArgumentError, StateError
from brachiate.filter.tasks.figure_names import in_world
from brachiate.filter.tasks.targets import TargetPath, check_target, due_time
from brachiate.filter.tasks.task import Task
from brachiate.functions import Expression, FunctionSet
from brachiate.validation import Array
from brachiate.world.world import World

GRADIENTS = 1  # order of evaluation: u, u̇, bias and G
REFERENCE_TOLERANCE = 1e-3  # [unit of the function] for which the next two are
ROW_WEIGHT = 1e4  # of a row, relative to 1 for a joint acceleration
MAX_PULL = 3000.0  # multiplier of a row from which it yields
YIELDING = (0.55, 0.8)  # nearness of a fall at which this begins to shrink, and at which it is least
LEAST_PULL = 0.03  # share of it that is left
MAX_ERROR = 100.0  # [tolerances] error that feedback sees at most
RELEASE = 1e-7  # share of the weight that is left at the end of the release
DISTURBANCE_TIME = 0.004  # [s] time constant of the estimated disturbance: two steps, as it is known one step late
RECOVERY_TIME = 0.05  # [s] in which a reduced weight grows by a factor of e
MIN_GRADIENT = 1e-9  # length of a gradient, below which a function is not directed


class Snapshot(NamedTuple):
    """A task at a time at which it should be met and is not."""

    time: float  # [s]
    error: Array  # (k,)
    gradient: Array  # (k, nv of the world)
    pull: float  # largest multiplier of its rows, relative to the bound
    others: Mapping[str, Array]  # gradients of the other tasks that act then


class Rows(NamedTuple):
    """Rows G a = rhs of the QP, a: accelerations of the world."""

    G: Array  # (m, nv)
    rhs: Array  # (m,)
    weights: Array  # (m,) 0: no row


class Evaluation(NamedTuple):
    """A task at one time."""

    G: Array  # (k, nv)
    rhs: Array  # (k,)
    planned: Array  # (k,)
    goal: Array  # (k,)


class TaskRecord(NamedTuple):
    """Values of a task over the steps; NaN while it does not act."""

    names: tuple[str, ...]  # of its coordinates
    task: Task
    times: Array  # (f,) [s] of the clip
    value: Array  # (f, k)
    planned: Array  # (f, k)
    target: Array  # (f, k)
    due: Array  # (f,) whether the target should be had
    missed: Snapshot | None  # where the error was largest while it should have been met


class ActiveTask:
    """A task with its function in a world, its path once it acts, and what happened so far."""

    def __init__(self, name: str, task: Task, functions: FunctionSet) -> None:
        self.name, self.task, self.functions = name, task, functions
        self.path: TargetPath | None = None
        self.share = np.ones(len(functions))  #: of the weights of its rows that are left
        self.rows = slice(0, 0)  #: of the QP's function rows in the present step
        self.missed: Snapshot | None = None
        self.samples: list[tuple[Array, Array, Array, bool]] = []
        self.pull = 0.0  #: largest multiplier of its rows in the last step, relative to the bound
        self.disturbance = np.zeros(len(functions))  #: estimated, of the second rates (k,)
        self._previous: tuple[Array, Array, Array] | None = None  # rates, gradient and bias of the last step
        self._blank = np.full(len(functions), np.nan)

    def acts(self, t: float) -> bool:
        """Whether it acts at a time of the clip, its release included."""
        return self.task.start - 1e-9 <= t < self.task.end + self.task.blend

    def weights(self, t: float) -> Array:
        """Weights of its rows (k,)."""
        scale = (REFERENCE_TOLERANCE / self.task.tolerance) ** 2
        release = max(t - self.task.end, 0.0) / self.task.blend
        return ROW_WEIGHT * scale * self.task.weight * RELEASE**release * self.share

    def limit_pull(self, multipliers: Array, dt: float, nearness_of_a_fall: float) -> None:
        """Reduce the weights of rows that pulled too hard in the last step; let the others grow again."""
        begin, end = YIELDING
        strength = min(max((end - nearness_of_a_fall) / (end - begin), LEAST_PULL), 1.0)
        bound = MAX_PULL * strength * self.task.weight * REFERENCE_TOLERANCE / self.task.tolerance
        pull = np.abs(multipliers) / bound
        self.share = np.where(pull > 1.0, self.share / np.maximum(pull, 1.0), np.minimum(self.share * math.exp(dt / RECOVERY_TIME), 1.0))
        self.pull = float(pull.max(initial=0.0))

    def evaluate(self, t: float, a: Array) -> Evaluation:
        """Value, plan and desired second rate at time t of the clip; a: accelerations of the last step (nv,)."""
        f, task = self.functions, self.task
        try:
            f.update(GRADIENTS)
            if self.path is None:
                u2 = f.G @ a + f.biases
                start = np.where(f.of_velocity, (f.u, u2, 0.0 * u2), (f.u, f.rates, u2)).T
                self.path = TargetPath(self.name, task, t, start)
            plan, goal = self.path.plan(t), self.path.goal(t)
        except (ArgumentError, StateError) as error:
            error.args = (f"Task {self.name!r} at {t:.3f} s: {error}",)
            raise
        k, bound = task.rate, MAX_ERROR * task.tolerance
        error = np.clip(plan[:, 0] - f.u, -bound, bound)
        second_rate = plan[:, 2] + 2.0 * k * (plan[:, 1] - f.rates) + k * k * error
        wanted = np.where(f.of_velocity, plan[:, 1] + k * error, second_rate)
        return Evaluation(f.G, wanted - f.biases, plan[:, 0], goal)

    def estimate_disturbance(self, a: Array, dt: float) -> None:
        """Update the disturbance by the rates that the accelerations of the last step (nv,) led to; the function has been evaluated."""
        f = self.functions
        rates = np.where(f.of_velocity, f.u, f.rates)
        if self._previous is not None:
            before, G, bias = self._previous
            found = (rates - before) / dt - G @ a - bias
            self.disturbance += min(dt / DISTURBANCE_TIME, 1.0) * (found - self.disturbance)
            bound = MAX_ERROR * self.task.tolerance * self.task.rate ** (2 - f.of_velocity)
            self.disturbance = np.clip(self.disturbance, -bound, bound)
        self._previous = rates, f.G.copy(), f.biases.copy()

    def keep(self, t: float, found: Evaluation, others: Mapping[str, Array]) -> None:
        """Record a step; others: gradients of all tasks that act, by name."""
        f, task = self.functions, self.task
        due = due_time(task, task.start) - 1e-9 <= t <= task.end + 1e-9
        self.samples.append((f.u.copy(), found.planned, found.goal, due))
        error = f.u - found.goal
        size = float(np.linalg.norm(error))
        if due and size > task.tolerance and (self.missed is None or size > float(np.linalg.norm(self.missed.error))):
            gradients = {name: G.copy() for name, G in others.items() if name != self.name}
            self.missed = Snapshot(t, error, f.G.copy(), self.pull, gradients)

    def skip(self) -> None:
        """Record a step in which it does not act."""
        self._previous = None
        self.samples.append((self._blank, self._blank, self._blank, False))

    def record(self, times: Array) -> TaskRecord:
        """What happened at the times of the steps."""
        value, planned, target, due = zip(*self.samples, strict=True) if self.samples else ((), (), (), ())
        k = len(self.functions)
        u, plan, goal = (np.array(x, float).reshape(-1, k) for x in (value, planned, target))
        return TaskRecord(self.functions.names, self.task, times, u, plan, goal, np.array(due, bool), self.missed)


class FunctionTasks:
    """Tasks of a figure in a world.

    Args:
        world: The world.
        figure: Name of the figure.
        tasks: By name, see :func:`brachiate.filter.tasks.task.named_tasks`.
        duration: Of the clip [s]; infinity if it is not known.
    """

    def __init__(self, world: World, figure: str, tasks: Mapping[str, Task], duration: float = math.inf) -> None:
        joints = [world.model.joints[f"{figure}/{joint}"].v for joint in world.figure(figure).model.joints]
        own = {k for at in joints for k in range(at.start, at.stop)}
        self.tasks = [ActiveTask(name, task, _function_set(name, task, world, figure)) for name, task in tasks.items()]
        for each in self.tasks:
            for name, velocities in zip(each.functions.names, each.functions.supports, strict=True):
                if not own & set(velocities.tolist()):
                    raise ArgumentError(f"Task {each.name!r}: {name!r} depends on no joint of {figure!r}.")
            check_target(each.name, each.task, len(each.functions), duration)
        self.count = sum(len(each.functions) for each in self.tasks)  #: of rows of the QP, at most
        self.times: list[float] = []  #: of the steps, of the clip [s]

    def update(self, t: float, a: Array, multipliers: Array, dt: float, nearness_of_a_fall: float = 0.0) -> Rows:
        """Rows of the next QP, at time t of the clip.

        Called before the controller evaluates its state, as both use the arrays of the kinematics. If a function cannot be evaluated, an
        error is raised and nothing is changed.

        Args:
            t: Time of the clip [s].
            a: Accelerations of the last step (nv,).
            multipliers: Of the rows of the last step.
            dt: Duration of a step [s].
            nearness_of_a_fall: Deviation of the body as a share of what counts as a fall.
        """
        found = {each.name: each.evaluate(t, a) for each in self.tasks if each.acts(t)}
        at, gradients = 0, {name: each.G for name, each in found.items()}
        rows = [Rows(np.zeros((0, len(a))), np.zeros(0), np.zeros(0))]
        for each in self.tasks:
            if each.name not in found:
                each.rows = slice(at, at)
                each.skip()
                continue
            evaluation, n = found[each.name], len(each.functions)
            if each.rows.stop - each.rows.start == n and each.rows.stop <= len(multipliers):
                each.limit_pull(multipliers[each.rows], dt, nearness_of_a_fall)
            each.estimate_disturbance(a, dt)
            each.keep(t, evaluation, gradients)
            each.rows, at = slice(at, at + n), at + n
            weights = np.where(np.linalg.norm(evaluation.G, axis=1) > MIN_GRADIENT, each.weights(t), 0.0)
            rows.append(Rows(evaluation.G, evaluation.rhs - each.disturbance, weights))
        self.times.append(t)
        return Rows(*(np.concatenate(part) for part in zip(*rows, strict=True)))

    def finish(self, t: float) -> None:
        """Record the last state, which no step follows."""
        if not self.tasks or (self.times and t <= self.times[-1] + 1e-9):
            return
        for each in self.tasks:
            if each.acts(t) and each.path is not None:
                each.keep(t, each.evaluate(t, np.zeros(0)), {})
            else:
                each.skip()
        self.times.append(t)

    def records(self) -> dict[str, TaskRecord]:
        """What happened to every task, by name."""
        return {each.name: each.record(np.array(self.times)) for each in self.tasks}

    def errors(self) -> dict[str, Array]:
        """Present errors from the targets, by name of the tasks that act: (k,)."""
        found = {each.name: each.samples[-1] for each in self.tasks if each.samples}
        return {name: value - goal for name, (value, _, goal, _) in found.items() if np.isfinite(value).all()}


def _function_set(name: str, task: Task, world: World, figure: str) -> FunctionSet:
    """Function of a task in a world; a norm held at zero, where it has no derivative, is replaced by its vector.

    Raises:
        ArgumentError: A name is unknown, or the function is constant.
        StateError: The function is not finite or has no derivative at the present state.
    """
    function = in_world(name, task.function, world, figure)
    zero = isinstance(task.target, (int, float)) and task.target == 0
    if zero and isinstance(function, Expression) and function.vector is not None:
        function = function.vector
    functions = FunctionSet(world, {name: function})
    functions.update(GRADIENTS)
    return functions
