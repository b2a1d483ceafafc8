"""Timing of several ways to do one thing, by turns, so that what else the machine does hits all of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

Runner = Callable[[int], float]  # run so many times, return the seconds it took

SLICE = 3e-3  # [s] of one turn: long against the clock, short against the scheduler's slices
ROUNDS = 25
SLOW_ROUNDS = 5  # where one run takes longer than a slice


def race(runners: Mapping[str, Runner]) -> dict[str, float]:
    """Seconds of one run of each, the best of several turns."""
    counts = {name: _count(run) for name, run in runners.items()}
    rounds = SLOW_ROUNDS if min(counts.values()) == 1 else ROUNDS
    best = dict.fromkeys(runners, float("inf"))
    for _ in range(rounds):
        for name, run in runners.items():
            best[name] = min(best[name], run(counts[name]) / counts[name])
    return best


def _count(run: Runner) -> int:
    run(1)  # compile, touch memory
    n = 1
    while (seconds := run(n)) < SLICE / 2:
        n *= 2 if seconds > SLICE / 100 else 10
    return max(1, round(n * SLICE / seconds))


def repeated(call: Callable[[], object]) -> Runner:
    """Time a call from Python."""

    def run(n: int) -> float:
        turns = range(n)
        start = time.perf_counter()
        for _ in turns:
            call()
        return time.perf_counter() - start

    return run
