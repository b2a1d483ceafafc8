"""Interleaved timing of alternative implementations: every round times each of them once, so that other load hits all alike."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from typing import Any

Runner = Callable[[int], float]  # executes n repetitions and returns the elapsed time [s]

SLICE = 3e-3  # [s] of one measurement: long against the clock's resolution, short against the scheduler's time slices
ROUNDS = 25
SLOW_ROUNDS = 5  # if a single repetition takes longer than a slice


def best_times(runners: Mapping[Any, Runner], repetitions: int | None = None) -> dict[Any, float]:
    """Time of one repetition of each runner [s], the minimum over all rounds. ``repetitions`` per round: by default fill a slice."""
    counts = {name: repetitions or _repetitions_per_slice(run) for name, run in runners.items()}
    best = dict.fromkeys(runners, float("inf"))
    for n in range(ROUNDS):
        for name, run in runners.items():
            if n < SLOW_ROUNDS or counts[name] > 1:
                best[name] = min(best[name], run(counts[name]) / counts[name])
    return best


def _repetitions_per_slice(run: Runner) -> int:
    run(1)  # compiles, and touches memory
    n = 1
    while (seconds := run(n)) < SLICE / 2:
        n *= 2 if seconds > SLICE / 100 else 10
    return max(1, round(n * SLICE / seconds))


def time_calls(call: Callable[[], object]) -> Runner:
    """Runner of n calls from Python."""

    def run(n: int) -> float:
        repetitions = range(n)
        start = time.perf_counter()
        for _ in repetitions:
            call()
        return time.perf_counter() - start

    return run


def time_batch(batch: Callable[[int], object], reset: Callable[[], None]) -> Runner:
    """Runner of a function that itself executes n repetitions; ``reset`` restores the initial state before, untimed."""

    def run(n: int) -> float:
        reset()
        start = time.perf_counter()
        batch(n)
        return time.perf_counter() - start

    return run


def with_reset(run: Runner, reset: Callable[[], None]) -> Runner:
    """The same runner, with the initial state restored before, untimed."""

    def run_from_start(n: int) -> float:
        reset()
        return run(n)

    return run_from_start


def pin_to_one_core() -> None:
    """Restrict this process to one core: no migration between cores while timing."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
