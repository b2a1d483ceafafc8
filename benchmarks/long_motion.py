"""Long motions: time and peak memory of check, retargeting to a robot, preprocessing and filter for walks of 1 to 10 minutes.

    python benchmarks/long_motion.py [MINUTES ...] [--stage check,retarget,reference,filter,files,offline]

Every stage runs in a process of its own, as the peak memory of a process never falls. Time is that of the process, which depends little on
other work of the machine. Both should grow linearly, and memory stay below 1 GB. The robot is Unitree's G1 if example-robot-data is
installed, else the figure human28. ``filter`` is mode preview with metrics, ``files`` also writes the results, and ``offline`` is the mode
that plans the whole clip at once, whose memory is not bounded; these two run only if they are named.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import sysconfig
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import brachiate as br
from brachiate.io import ModelFileWarning

ROBOT = Path(sysconfig.get_path("purelib")) / "cmeel.prefix/share/example-robot-data/robots/g1_description/urdf/g1_29dof_rev_1_0.urdf"
CYCLE = 4.0  # [s] of the walk that is repeated


def robot() -> br.Model:
    """Unitree's G1, or a human figure."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelFileWarning)
        return br.load_model(ROBOT, floating_base=True) if ROBOT.exists() else br.figures.human28()


def filtered(motion: br.Motion, mode: str = "preview") -> br.FilterResult:
    """Filter a motion and evaluate the result."""
    result = br.filter_motion(motion, mode=mode)
    assert result.success, result.failure
    result.metrics()
    return result


def saved(motion: br.Motion) -> None:
    """Filter a motion and write the results."""
    with tempfile.TemporaryDirectory() as folder:
        filtered(motion).save(folder)


STAGES: dict[str, Callable[[br.Motion], Any]] = {
    "check": br.check,
    "retarget": lambda motion: br.retarget(motion, robot()),
    "reference": br.make_reference,
    "filter": filtered,
    "files": saved,
    "offline": lambda motion: filtered(motion, "offline"),
}
DEFAULT_STAGES = ("check", "retarget", "reference", "filter")


def peak_memory() -> float:
    """Largest memory of this process so far [MB]."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0


def measure(stage: str, minutes: float) -> None:
    """Run one stage and print time and memory."""
    walk = br.sample_motion("walk", speed=1.4, step_length=0.7, seconds=CYCLE)  # two steps a second: it can be repeated
    STAGES[stage](walk)  # compiles
    motion, before = walk.loop(max(1, round(60.0 * minutes / CYCLE))), peak_memory()
    start = time.process_time()
    STAGES[stage](motion)
    took = time.process_time() - start
    print(f"{stage:10} {minutes:7g} {len(motion):8} {took:9.1f} {took / minutes:9.1f} {before:9.0f} {peak_memory():9.0f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("minutes", nargs="*", type=float, default=[1.0, 2.5, 5.0, 10.0])
    parser.add_argument("--stage", default=",".join(DEFAULT_STAGES), help="stages, separated by commas")
    parser.add_argument("--here", action="store_true", help="in this process")
    arguments = parser.parse_args()
    if not arguments.here:
        print(f"{'stage':10} {'minutes':>7} {'frames':>8} {'time [s]':>9} {'[s/min]':>9} {'before':>9} {'peak [MB]':>9}", flush=True)
    for stage in arguments.stage.split(","):
        for minutes in arguments.minutes:
            if arguments.here:
                measure(stage, minutes)
            else:
                subprocess.run([sys.executable, __file__, str(minutes), "--stage", stage, "--here"], check=True)


if __name__ == "__main__":
    main()
