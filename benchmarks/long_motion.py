"""Long motions: time and peak memory of check, retargeting and preprocessing for walks of 1 to 10 minutes.

    python benchmarks/long_motion.py [MINUTES ...] [--stage check,retarget,reference]

Every stage runs in a process of its own, as the peak memory of a process never falls. Both should grow linearly, and stay below 1 GB.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time

import brachiate as br

STAGES = {
    "check": br.check,
    "retarget": lambda motion: br.retarget(motion, br.figures.human28()),
    "reference": br.make_reference,
}
CYCLE = 4.0  # [s] of the walk that is repeated


def peak_memory() -> float:
    """Largest memory of this process so far [MB]."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0


def measure(stage: str, minutes: float) -> None:
    """Run one stage and print time and memory."""
    walk = br.sample_motion("walk", seconds=CYCLE)
    STAGES[stage](walk)  # compiles
    motion, before = walk.loop(max(1, round(60.0 * minutes / CYCLE))), peak_memory()
    start = time.perf_counter()
    STAGES[stage](motion)
    took = time.perf_counter() - start
    print(f"{stage:10} {minutes:7g} {len(motion):8} {took:9.1f} {took / minutes:9.1f} {before:9.0f} {peak_memory():9.0f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("minutes", nargs="*", type=float, default=[1.0, 2.0, 5.0, 10.0])
    parser.add_argument("--stage", default=",".join(STAGES), help="stages, separated by commas")
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
