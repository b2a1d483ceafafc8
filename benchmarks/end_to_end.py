"""A clip filtered end to end, relative to real time: file in, all files of the result out, with the time of every stage.

``python benchmarks/run.py end_to_end [--quick] [--json FILE]``

Processor time of one thread with compiled code at hand and modules imported, the least of some runs; the last row is that of the whole
command ``brachiate filter``, imports included. The clip is the sample walk of ten seconds, written as a BVH file; other clips:
``BRACHIATE_CLIPS=one.bvh:other.bvh``.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import brachiate as br
from brachiate import procedural
from brachiate.errors import StateError
from brachiate.filter import offline
from brachiate.filter.offline_tracker import OfflineTracker
from brachiate.filter.results.result import FilterResult
from brachiate.io.bvh import write_bvh
from results import Row, time_row
from timing import pin_to_one_core

SECONDS, RATE = 10.0, 120.0  # [s], [Hz]
RUNS, QUICK_RUNS = 5, 2
TARGET_RATIO = 10.0  # real time over the time of everything
TASK = "clip filtered end to end"
ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
#: Timed parts of ``filter_motion``: owner and name.
PARTS = {
    "reference": (offline, "make_reference"),
    "schedule and plan": (OfflineTracker, "__init__"),
    "control and simulation": (OfflineTracker, "simulate"),
    "contacts of the result": (FilterResult, "from_recording"),
}
Times = dict[str, float]


def rows(quick: bool = False) -> list[Row]:
    """Rows of every clip: stages, all of it, and the whole command."""
    pin_to_one_core()
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for clip in clips(Path(folder)):
            duration = br.load_motion(clip).duration
            filter_clip(clip, Path(folder) / "out")  # compiles
            runs = [filter_clip(clip, Path(folder) / "out") for _ in range(QUICK_RUNS if quick else RUNS)]
            best = min(runs, key=lambda run: run["all"])
            note = f"{clip.stem}: {duration:.1f} s"
            for stage, seconds in best.items():
                more = {"target_ratio": TARGET_RATIO} if stage == "all" else {}
                found.append(time_row(TASK, f"{clip.stem}, {stage}", seconds, "real time", duration, note=note, **more))
            found.append(time_row(TASK, f"{clip.stem}, command with imports", command(clip, Path(folder) / "out"), "real time", duration))
    return found


def clips(folder: Path) -> list[Path]:
    """Files of the clips."""
    if given := os.environ.get("BRACHIATE_CLIPS"):
        return [Path(path) for path in given.split(os.pathsep)]
    walk = folder / "walk.bvh"
    write_bvh(procedural.make_clip("walk", seconds=SECONDS, rate=RATE), walk)
    return [walk]


def filter_clip(path: Path, out: Path) -> Times:
    """Do what ``brachiate filter`` does with a clip; times of the stages [s], ``all`` last."""
    start, times = time.process_time(), Times()
    with timed_parts(times):
        motion = stage(times, "load", lambda: br.load_motion(path))
        begin = time.process_time()
        result = br.filter_motion(motion)
        rest = time.process_time() - begin - sum(times.get(name, 0.0) for name in PARTS)
    times["rest of the filter"] = rest
    stage(times, "check of source and result", lambda: result.summaries)
    stage(times, "tracking and deviations", lambda: (result.tracking, result.deviations))
    stage(times, "residual by replay", lambda: residual(result))
    stage(times, "files", lambda: result.save(out))
    times["all"] = time.process_time() - start
    return times


def residual(result: FilterResult) -> Any:
    """Root residual of the steps, as the command prints it."""
    try:
        return result.root_residual()
    except StateError:
        return None


def stage(times: Times, name: str, call: Callable[[], Any]) -> Any:
    """Call, and keep the time."""
    start = time.process_time()
    value = call()
    times[name] = time.process_time() - start
    return value


@contextmanager
def timed_parts(times: Times) -> Iterator[None]:
    """Time the parts of the filter from outside."""
    originals = [(owner, name, owner.__dict__[name]) for owner, name in PARTS.values()]

    def timed(label: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def run(*args: Any, **kwargs: Any) -> Any:
            start = time.process_time()
            try:
                return call(*args, **kwargs)
            finally:
                times[label] = times.get(label, 0.0) + time.process_time() - start

        return run

    try:
        for label, (owner, name) in PARTS.items():
            call = owner.__dict__[name]
            setattr(owner, name, classmethod(timed(label, call.__func__)) if isinstance(call, classmethod) else timed(label, call))
        yield
    finally:
        for owner, name, call in originals:
            setattr(owner, name, call)


def command(path: Path, out: Path) -> float:
    """Processor time of the command line [s]."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    arguments = [sys.executable, "-m", "brachiate", "filter", str(path), "--out", str(out)]
    subprocess.run(arguments, env={**os.environ, **ONE_THREAD}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
