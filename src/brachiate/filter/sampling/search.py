"""Search for joint targets by sampling (SAMCON) [Liu 2010]: windows, saved states, adapted distributions, backtracking, refinement.

From the states saved at the start of a window, many rollouts are made with sampled offsets of the joint targets; those of least cost are
kept, with the memory of their contacts. The path of least accumulated cost through the kept states is the result.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from brachiate.filter.sampling.cost import WindowCost, root_deviation
from brachiate.filter.sampling.motor_gains import MotorGains
from brachiate.filter.sampling.window_targets import INTERVAL, WindowTargets
from brachiate.filter.tracking.fall_detection import fall_reason
from brachiate.rollout.controls import JointTargets
from brachiate.rollout.simulate_many import BatchSimulation
from brachiate.rollout.states import RolloutStates
from brachiate.validation import Array

WINDOW = 50  # steps
ROUNDS, SHRINK = 3, 0.6  # of a window, and factor of the deviations from round to round
ROLLOUTS, KEPT = 600, 40  # in a window, with effort 1
ELITES = 12  # around which the next round samples
MEMORY = 0.3  # weight of the cost so far in the choice of states to keep
HABIT = 0.5  # share of the last offset from which the next window starts
BACKTRACK, RETRIES = 4, 4  # windows to go back when all states have fallen, and how often
MAX_WORK = 2.5  # rollouts of the first pass, relative to those without going back
REFINE_ROLLOUTS, REFINE_DEVIATION, REFINE_SMOOTHNESS = 0.4, 0.3, 4.0  # of the second pass: shares of rollouts, deviation; factor of weight
MIN_DEVIATION, MAX_DEVIATION = 0.4, 1.6  # of the adapted deviations, relative to the first ones


@dataclass
class Window:
    """States kept at the end of a window.

    Args:
        start: First frame.
        steps: Number of steps.
        states: Kept states (s).
        offset: Offsets that led to them (s, nv).
        parent: Which state at the end of the window before each came from (s,).
        cost: Cost of this window (s,).
        total: Accumulated cost, older windows counting less (s,).
        deviation: Standard deviations of offsets, adapted (nv,).
        fallen: Reason why each state is a fall, or None.
    """

    start: int
    steps: int
    states: RolloutStates
    offset: Array
    parent: Array
    cost: Array
    total: Array
    deviation: Array
    fallen: list[str | None]

    @property
    def end(self) -> int:
        """Frame at its end."""
        return self.start + self.steps


class PathStep(NamedTuple):
    """Window of a path."""

    start: int
    steps: int
    before: Array  # (nv,) offset of the window before
    offset: Array  # (nv,)
    cost: float


@dataclass
class SearchResult:
    """Path that was found, and what was tried."""

    path: list[PathStep]
    failure: tuple[int, str] | None  # frame and reason of a fall
    rollouts: int
    backtracks: int
    mean_cost: float = field(init=False)

    def __post_init__(self) -> None:
        self.mean_cost = float(np.mean([step.cost for step in self.path])) if self.path else np.inf


#: Simulation of a window, after the window before it and of so many steps: what may touch may change from window to window.
Simulations = Callable[[Window, int], BatchSimulation]


class SamplingSearch:
    """Search for offsets of joint targets.

    Args:
        simulations: Of the windows, undivided steps.
        targets: Joint targets of windows.
        cost: Of the states at their ends.
        gains: Of the motors.
        effort: Factor of the number of rollouts.
        seed: Of the random numbers.
        show: Called with the share of the work that is done.
    """

    def __init__(
        self, simulations: Simulations, targets: WindowTargets, cost: WindowCost, gains: MotorGains, effort: float, seed: int, show: Any
    ) -> None:
        self.simulations, self.targets, self.cost, self.gains, self.show = simulations, targets, cost, gains, show
        self.rng = np.random.default_rng(seed)
        self.rollouts_per_window = max(round(ROLLOUTS * effort), 2 * ROUNDS)
        self.kept = max(round(KEPT * min(effort, 2.0)), 2)
        #: Cost below which no other round follows; and share of the least cost by which a round has to reduce it. 0: all are made.
        self.enough, self.worthwhile = 0.0, 0.0
        self.rollouts, self.problem = 0, ""

    def run(self, start: RolloutStates, max_rollouts: float | None = None) -> SearchResult:
        """Find a path from a state at frame 0 to the end of the reference, refine it, or return the best that was found.

        ``max_rollouts``: of the first pass, after which it does not go back any more.
        """
        lengths = window_lengths(len(self.cost.q) - 1)
        first = self.first_window(start, 0)
        allowed = MAX_WORK * len(lengths) * (self.rollouts_per_window + self.kept) if max_rollouts is None else max_rollouts
        found = self.search(first, allowed)
        return self.refine(first, found) if found.failure is None else found

    def first_window(self, start: RolloutStates, frame: int) -> Window:
        """Window of no length that ends in a state at a frame."""
        nv = len(self.gains.stiffness)
        zero = np.zeros(1)
        return Window(frame, 0, start, np.zeros((1, nv)), np.zeros(1, int), zero, zero, self.gains.deviation.copy(), [None])

    def search(self, first: Window, max_rollouts: float, stop: Callable[[list[Window]], bool] | None = None) -> SearchResult:
        """Find a path from a window on to the end of the reference, or until ``stop`` returns true for the windows so far."""
        lengths = window_lengths(len(self.cost.q) - 1 - first.end)
        windows, failure, backtracks = self._first_pass([first], lengths, self.rollouts + max_rollouts, stop or _go_on)
        return SearchResult(trace(windows), failure, self.rollouts, backtracks)

    def refine(self, first: Window, found: SearchResult) -> SearchResult:
        """Second pass around a path that was found; the better of both."""
        refined = self._refine(first, found.path)
        if refined[-1].fallen[0] is None:
            better = SearchResult(trace(refined), None, self.rollouts, found.backtracks)
            if len(better.path) == len(found.path) and better.mean_cost < found.mean_cost:
                return better
        return SearchResult(found.path, None, self.rollouts, found.backtracks)

    def _first_pass(
        self, windows: list[Window], lengths: list[int], max_rollouts: float, stop: Callable[[list[Window]], bool]
    ) -> tuple[list[Window], tuple[int, str] | None, int]:
        """Windows from first to last; when all states of one have fallen, from some windows before again, with more variety."""
        best, failure, backtracks, retries = windows, None, 0, 0
        while len(windows) <= len(lengths):
            w = len(windows) - 1
            wider = 1.0 + 0.5 * retries
            window = self._sample_window(windows[-1], lengths[w], wider)
            self.show(0.75 * w / len(lengths))
            if window is None or window.fallen[0] is not None:
                reason = f"every rollout failed: {self.problem}" if window is None else window.fallen[0]
                if len(windows) > len(best) or failure is None:
                    best, failure = (windows if window is None else [*windows, window]), (windows[-1].end + lengths[w], str(reason))
                if retries == RETRIES or self.rollouts > max_rollouts:
                    return best, failure, backtracks
                retries, backtracks = retries + 1, backtracks + 1
                windows = windows[: max(len(windows) - BACKTRACK * retries, 1)]
                continue
            windows = [*windows, window]
            if len(windows) > len(best) + BACKTRACK:
                retries = 0
            if stop(windows):
                break
        return windows, None, backtracks

    def _sample_window(self, before: Window, steps: int, wider: float) -> Window | None:
        """States after a window; None if every rollout failed."""
        n = self.rollouts_per_window // ROUNDS
        candidates: list[Candidate] = []
        deviation = wider * before.deviation
        for r in range(ROUNDS):
            parent, center = self._centers(before, candidates, n)
            noise = self.rng.standard_normal((n, len(deviation))) * deviation * SHRINK**r
            if r == 0:
                noise[: min(len(before.states), 2)] = 0.0
            least = candidates[0].total if candidates else np.inf
            candidates += self._evaluate(before, steps, parent, center + noise)
            candidates.sort(key=lambda candidate: candidate.total)
            if candidates and (candidates[0].cost < self.enough or candidates[0].total > (1.0 - self.worthwhile) * least):
                break
        return self._keep(before, steps, candidates) if candidates else None

    def _centers(self, before: Window, candidates: list[Candidate], n: int) -> tuple[Array, Array]:
        """States to start from and centers of the offsets of a round: (n,), (n, nv)."""
        s = len(before.states)
        parent = np.minimum((s * self.rng.random(n) ** 1.5).astype(int), s - 1)
        if not candidates:
            parent[: min(n, s)] = np.arange(min(n, s))
            return parent, np.where(self.rng.random(n)[:, None] < 0.5, HABIT * before.offset[parent], 0.0)
        elites = candidates[:ELITES]
        chosen = self.rng.integers(len(elites), size=n)
        same = self.rng.random(n) < 0.7
        parent = np.where(same, [elites[e].parent for e in chosen], parent)
        return parent, np.array([elites[e].offset for e in chosen])

    def _evaluate(
        self, before: Window, steps: int, parent: Array, offset: Array, *, constant: bool = False, smoothness: float = 1.0
    ) -> list[Candidate]:
        """Rollouts of a window from some states with some offsets, those that did not fail."""
        targets = self.targets.targets(before.end, steps, before.offset[parent], offset)
        every = INTERVAL if steps % INTERVAL == 0 and steps >= 2 * INTERVAL else 1
        controls = JointTargets(targets, self.gains.stiffness, self.gains.damping, constant=constant)
        result = self.simulations(before, steps).run(before.states[parent], controls, steps, every=every)
        self.rollouts += len(parent)
        for failure in result.failures.values():
            self.problem = failure.reason
        good = np.array([i for i in range(len(parent)) if i not in result.failures], int)
        if not len(good):
            return []
        q = result.q[good]
        cost = self.cost.tracking(q[:, -2], q[:, -1], before.end + steps, every) + self.cost.effort(result.torque[good])
        change = offset[good] - before.offset[parent[good]]
        cost += smoothness * self.cost.smoothness(change, self.gains.deviation)
        cost = np.where(np.isfinite(cost), cost, np.inf)
        total = cost + MEMORY * before.total[parent[good]]
        return [
            Candidate(float(total[j]), float(cost[j]), int(parent[i]), offset[i], result.states, int(i), q[j, -1])
            for j, i in enumerate(good)
            if np.isfinite(cost[j])
        ]

    def _keep(
        self, before: Window, steps: int, candidates: list[Candidate], *, smoothness: float = 1.0, kept: int | None = None
    ) -> Window | None:
        """The best candidates, made again with constant torques in every step, as they will be recorded."""
        best = candidates[: self.kept if kept is None else kept]
        again = self._evaluate(
            before, steps, np.array([c.parent for c in best]), np.array([c.offset for c in best]), constant=True, smoothness=smoothness
        )
        again.sort(key=lambda candidate: candidate.total)
        if not again:
            return None
        end = before.end + steps
        position, angle = root_deviation(np.array([c.q for c in again]), self.cost.q[end])
        fallen = [fall_reason(float(x), float(y), float(z), float(turn)) for (x, y, z), turn in zip(position, angle, strict=True)]
        order = sorted(range(len(again)), key=lambda j: fallen[j] is not None)  # stable: those that have not fallen first
        if fallen[order[0]] is None:
            order = [j for j in order if fallen[j] is None]
        again, fallen = [again[j] for j in order], [fallen[j] for j in order]
        states = again[0].states[[c.row for c in again]]
        offset = np.array([c.offset for c in again])
        return Window(
            before.end, steps, states, offset, np.array([c.parent for c in again]), np.array([c.cost for c in again]),
            np.array([c.total for c in again]), self._adapt(before.deviation, offset), fallen,
        )  # fmt: skip

    def _adapt(self, deviation: Array, offset: Array) -> Array:
        """Standard deviations for the next window: nearer to the spread of the offsets that were kept [Liu 2015]."""
        if len(offset) < 8:
            return deviation
        spread = np.sqrt(np.square(offset).mean(axis=0))
        first = self.gains.deviation
        return np.clip(0.7 * deviation + 0.3 * spread, MIN_DEVIATION * first, MAX_DEVIATION * first)

    def _refine(self, first: Window, path: list[PathStep]) -> list[Window]:
        """Second pass around a path: less deviation, and smoother offsets."""
        windows, kept = [first], max(self.kept // 4, 2)
        n = max(round(REFINE_ROLLOUTS * self.rollouts_per_window), 4)
        deviation = REFINE_DEVIATION * self.gains.deviation
        smooth = smoothed([step.offset for step in path])
        for w, step in enumerate(path):
            before, candidates = windows[-1], []
            for r in range(2):
                parent, center = self._centers(before, candidates, n // 2)
                if r == 0:
                    half = self.rng.random((n // 2, 1)) < 0.5
                    center = np.where(half, step.offset, smooth[w])
                noise = self.rng.standard_normal((n // 2, len(deviation))) * deviation * SHRINK**r
                if r == 0:
                    parent[0], center[0], noise[0], noise[1] = 0, step.offset, 0.0, 0.0
                candidates += self._evaluate(before, step.steps, parent, center + noise, smoothness=REFINE_SMOOTHNESS)
                candidates.sort(key=lambda candidate: candidate.total)
            window = self._keep(before, step.steps, candidates, kept=kept) if candidates else None
            self.show(0.75 + 0.25 * w / len(path))
            if window is None:
                break
            windows.append(window)
            if window.fallen[0] is not None:
                break
        return windows


class Candidate(NamedTuple):
    """Rollout of a window."""

    total: float
    cost: float
    parent: int
    offset: Array  # (nv,)
    states: RolloutStates  # of its batch
    row: int  # in it
    q: Array  # (nq,) at its end


def _go_on(_: list[Window]) -> bool:
    return False


def window_lengths(steps: int) -> list[int]:
    """Steps of every window: WINDOW, but for the last, which has what is left, half a window at least."""
    count = max(round(steps / WINDOW), 1)
    return [WINDOW] * (count - 1) + [steps - WINDOW * (count - 1)]


def trace(windows: list[Window]) -> list[PathStep]:
    """Path of least accumulated cost to the best state of the last window."""
    path: list[PathStep] = []
    row = 0
    for w in range(len(windows) - 1, 0, -1):
        window, parent = windows[w], int(windows[w].parent[row])
        path.append(PathStep(window.start, window.steps, windows[w - 1].offset[parent], window.offset[row], float(window.cost[row])))
        row = parent
    return path[::-1]


def smoothed(offsets: list[Array]) -> Array:
    """Offsets of a path, each the weighted mean of its own and its neighbors'."""
    x = np.array(offsets)
    padded = np.concatenate((x[:1], x, x[-1:]))
    return 0.25 * padded[:-2] + 0.5 * x + 0.25 * padded[2:]
