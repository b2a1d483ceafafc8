"""Timing of several ways to do one thing, by turns, so that what else the machine does hits all of them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from typing import Any

Runner = Callable[[int], float]  # run so many times, return the seconds it took

SLICE = 3e-3  # [s] of one turn: long against the clock, short against the scheduler's slices
ROUNDS = 25
SLOW_ROUNDS = 5  # of what takes longer than a slice to run once


def race(runners: Mapping[Any, Runner], count: int | None = None) -> dict[Any, float]:
    """Seconds of one run of each, the best of several turns; ``count``: that many runs in every turn, the same for all."""
    counts = {name: count or _count(run) for name, run in runners.items()}
    best = dict.fromkeys(runners, float("inf"))
    for turn in range(ROUNDS):
        for name, run in runners.items():
            if turn < SLOW_ROUNDS or counts[name] > 1:
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


def timed(run: Callable[[int], object], reset: Callable[[], None]) -> Runner:
    """Time what runs so many times by itself, from a state that is put back first."""

    def whole(n: int) -> float:
        reset()
        start = time.perf_counter()
        run(n)
        return time.perf_counter() - start

    return whole


def fresh(run: Runner, reset: Callable[[], None]) -> Runner:
    """The same runner, from a state that is put back first."""

    def whole(n: int) -> float:
        reset()
        return run(n)

    return whole


def one_core() -> None:
    """Stay on one core: what is timed does not wander."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
