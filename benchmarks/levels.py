"""Speed of code for levels of x86-64, which wheels carry, relative to code for this processor: tree, closed loops, contact, filter.

One process for each level; they measure in turns, a few milliseconds each, so that other load hits all alike. What is not in the cache is
compiled first, all that a task needs for every level: minutes.

``python benchmarks/run.py levels [--quick] [--json FILE]``
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from brachiate import figures
from brachiate.compiled import marks, store
from brachiate.filter.offline import filter_motion
from brachiate.model.data import Data
from brachiate.procedural import sample_motion
from brachiate.simulate.integrators import Integrator
from brachiate.world.world import World
from results import Row, time_row
from timing import Runner, time_batch

HOST = "host"
ROUNDS, QUICK_ROUNDS = 25, 5
#: Steps of a measurement.
STEPS = {"free step, tree": 5000, "monkey swing, loops": 2000, "standing, contact": 1000, "lying, contact": 500, "filter": 1}
WALK_SECONDS, CONTROL_STEP = 1.0, 0.002  # [s]


def rows(quick: bool = False) -> list[Row]:
    """A row for each task and level; the time of the peer is that of code for the level."""
    levels = (HOST, *store.supported_levels())
    workers = {level: _start(level) for level in levels}
    try:
        best = {(task, level): float("inf") for task in STEPS for level in levels}
        for task in STEPS:
            for n in range(1 + (QUICK_ROUNDS if quick else ROUNDS)):  # the first compiles, and touches memory
                for level, worker in workers.items():
                    seconds = _ask(worker, task)
                    best[task, level] = min(best[task, level], seconds) if n else float("inf")
    finally:
        for worker in workers.values():
            worker.kill()
            worker.communicate()
    return [time_row(task, "machine code", best[task, HOST], level, best[task, level]) for task in STEPS for level in levels[1:]]


def _start(level: str) -> Any:
    environment = {**os.environ, "BRACHIATE_CPU": level, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen([sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True)


def _ask(worker: Any, task: str) -> float:
    """Time of one step [s]."""
    worker.stdin.write(json.dumps(task) + "\n")
    worker.stdin.flush()
    answer = worker.stdout.readline()
    if not answer:
        raise RuntimeError(f"{task}: the process has ended.")
    return json.loads(answer)


# --- in the process of a level ------------------------------------------------------------------


def measure_on_request() -> None:
    """Answer each line, the name of a task, with the time of one of its steps."""
    makers: dict[str, Callable[[], Runner]] = {
        "free step, tree": free_step,
        "monkey swing, loops": monkey_swing,
        "standing, contact": lambda: contact_step("standing"),
        "lying, contact": lambda: contact_step("lying"),
        "filter": lambda: filter_walk,
    }
    runners: dict[str, Runner] = {}
    for line in sys.stdin:
        task = json.loads(line)
        if task not in runners:
            runners[task] = makers[task]()
        print(json.dumps(runners[task](STEPS[task]) / STEPS[task]), flush=True)


def free_step() -> Runner:
    """Steps of a human figure in the air."""
    data = Data(figures.human28())
    data.v[:] = np.linspace(-1, 1, data.model.nv)
    q, v = data.q.copy(), data.v.copy()
    integrator = Integrator(data, "euler")

    def reset() -> None:
        data.q[:], data.v[:] = q, v

    return time_batch(lambda n: integrator.advance(1e-4, n, n), reset)


def monkey_swing() -> Runner:
    """Steps of a monkey on a swing."""
    from loop_adapters import consistent_start  # noqa: PLC0415
    from mechanisms import monkey_swing_model  # noqa: PLC0415

    model = monkey_swing_model()
    world, start = World(), consistent_start(model)
    world.add(model, "mechanism")
    integrator = Integrator(world.data, "euler", constraint_set=world.constraint_set)

    def reset() -> None:
        world.data.q[:], world.data.v[:] = start

    return time_batch(lambda n: integrator.advance(1e-3, n, n), reset)


def contact_step(posture: str) -> Runner:
    """Steps of a figure in contact with the ground."""
    from contact import Brachiate, settle  # noqa: PLC0415

    return Brachiate(settle(posture)).runner()


def filter_walk(count: int) -> float:
    """Time in compiled code of a control step of a filtered walk [s]."""
    motion, spent = sample_motion("walk", seconds=WALK_SECONDS), [0.0]
    load = marks.Entry.load

    def load_timed(entry: marks.Entry, signature: marks.Signature) -> Callable[..., Any]:
        function = load(entry, signature)

        def call(*arguments: Any) -> Any:
            began = time.perf_counter()
            try:
                return function(*arguments)
            finally:
                spent[0] += time.perf_counter() - began

        return call

    for entry in marks.ENTRIES.values():
        if isinstance(entry, marks.Entry):  # loaded anew, with the clock
            entry._call, entry._variants = entry._first_call, {}
    marks.Entry.load = load_timed
    try:
        for _ in range(count):
            filter_motion(motion)
    finally:
        marks.Entry.load = load
        for entry in marks.ENTRIES.values():
            if isinstance(entry, marks.Entry):
                entry._call, entry._variants = entry._first_call, {}
    return spent[0] * CONTROL_STEP / WALK_SECONDS


if __name__ == "__main__":
    measure_on_request()
