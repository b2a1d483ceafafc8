"""Loading and checking of motions, relative to real time: a walk of ten seconds at 120 Hz.

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
from race import one_core, race, repeated
from rows import Row, row

SECONDS, RATE = 10.0, 120.0
GOAL = 100.0


def rows(quick: bool = False) -> list[Row]:
    one_core()
    clip = procedural.make_clip("walk", seconds=SECONDS, rate=RATE)
    built = Motion.from_clip(clip)
    human = retarget(built, figures.human28()).motion
    with tempfile.TemporaryDirectory() as folder:
        archive, bvh = Path(folder) / "walk.npz", Path(folder) / "walk.bvh"
        human.save(archive)
        write_bvh(clip, bvh)
        model = figures.human28()
        return [
            *_race("human28", human, lambda: load_motion(archive, model)),
            *_race(f"BVH, {built.figure.nv} dof", built, lambda: load_motion(bvh)),
        ]


def _race(model: str, motion: Motion, load: Callable[[], Motion]) -> list[Row]:
    seconds = motion.duration

    def evaluate(motion: Motion) -> None:
        _ = check(motion).summary

    def both() -> None:
        evaluate(load())

    tasks = {"load": load, "check": lambda: evaluate(motion), "load and check": both}
    best = race({name: repeated(task) for name, task in tasks.items()})
    return [row(name, model, best[name], "real time", seconds, goal=GOAL if name == "load and check" else None) for name in tasks]
