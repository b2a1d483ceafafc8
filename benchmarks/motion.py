"""Loading and checking of motions, relative to real time: a walk of ten seconds at 120 Hz.

``python benchmarks/run.py motion [--json FILE]``

A ratio of 100 means that one hundred seconds of motion are loaded, or checked, in one second.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from brachiate import figures, procedural
from brachiate.evaluation.check import check
from brachiate.io.bvh import write_bvh
from brachiate.motion.motion import Motion
from brachiate.motion.read import load_motion
from brachiate.retargeting.retarget import retarget
from results import Row, time_row
from timing import best_times, pin_to_one_core, time_calls

SECONDS, RATE = 10.0, 120.0  # [s], [Hz]
TARGET_RATIO = 100.0  # real time over the time to load and check


def rows(quick: bool = False) -> list[Row]:
    pin_to_one_core()
    clip = procedural.make_clip("walk", seconds=SECONDS, rate=RATE)
    built = Motion.from_clip(clip)
    human = retarget(built, figures.human28()).motion
    with tempfile.TemporaryDirectory() as folder:
        archive, bvh = Path(folder) / "walk.npz", Path(folder) / "walk.bvh"
        human.save(archive)
        write_bvh(clip, bvh)
        model = figures.human28()
        return [
            *_task_rows("human28", human, lambda: load_motion(archive, model)),
            *_task_rows(f"BVH, {built.figure.nv} dof", built, lambda: load_motion(bvh)),
        ]


def _task_rows(model: str, motion: Motion, load: Callable[[], Motion]) -> list[Row]:
    seconds = motion.duration

    def evaluate(motion: Motion) -> None:
        _ = check(motion).summary

    def both() -> None:
        evaluate(load())

    tasks = {"load": load, "check": lambda: evaluate(motion), "load and check": both}
    times = best_times({name: time_calls(task) for name, task in tasks.items()})
    targets = {"load and check": TARGET_RATIO}
    return [time_row(name, model, times[name], "real time", seconds, target_ratio=targets.get(name)) for name in tasks]
