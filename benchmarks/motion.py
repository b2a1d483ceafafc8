"""Reading and checking motions, against real time: a walk of ten seconds at 120 frames a second.

The peer is time itself: a ratio of 100 means that a hundred seconds of motion are read, or checked, in one.
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
    grown = Motion.from_clip(clip)
    human = retarget(grown, figures.human28()).motion
    with tempfile.TemporaryDirectory() as folder:
        archive, bvh = Path(folder) / "walk.npz", Path(folder) / "walk.bvh"
        human.save(archive)
        write_bvh(clip, bvh)
        model = figures.human28()
        return [
            *_race("human28", human, lambda: load_motion(archive, model)),
            *_race(f"BVH, {grown.figure.nv} dof", grown, lambda: load_motion(bvh)),
        ]


def _race(model: str, motion: Motion, read: Callable[[], Motion]) -> list[Row]:
    seconds = motion.duration

    def judge(motion: Motion) -> None:
        _ = check(motion).summary

    def both() -> None:
        judge(read())

    tasks = {"read": read, "check": lambda: judge(motion), "read and check": both}
    best = race({name: repeated(task) for name, task in tasks.items()})
    return [row(name, model, best[name], "real time", seconds, goal=GOAL if name == "read and check" else None) for name in tasks]
