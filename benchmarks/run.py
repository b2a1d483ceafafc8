"""Speed of brachiate against peers (Pinocchio, MuJoCo, placo) or real time: ``python benchmarks/run.py NAME [--quick] [--json FILE]``.

NAME is a key of ``BENCHMARKS`` and a module of this folder with a function ``rows(quick) -> list[Row]`` (see results.py).
"""

from __future__ import annotations

import argparse
import importlib
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import results

#: Modules of this folder, and what they measure.
BENCHMARKS = {
    "tree": "tree dynamics: inverse dynamics, mass matrix, forward dynamics, free step",
    "loops": "closed loops: time, loop gap and energy drift of steps; connecting and cutting; long chains",
    "contact": "contact: steps of a human figure, standing and lying",
    "many": "rollouts of many states: standing and falling figures in one thread and two, against MuJoCo's rollout",
    "motion": "motion: loading and checking, relative to real time",
    "start": "from nothing to a result: fresh clone, wheel, warm start, command line; memory",
    "levels": "code for levels of x86-64, which wheels carry, against code for this processor",
    "animation": "animation space: u, G and H of functions against JAX and CasADi; inverse dynamics of an inchworm; growth with links",
    "particles": "particle systems: time per particle and step, against MuJoCo, Newton and our rigid links",
    "end_to_end": "a clip filtered end to end, file to files: time of every stage, relative to real time",
    "filter": "dynamics filter: time of a control step and of a plan in every mode; whole-body QP against placo",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="benchmark", required=True, metavar="NAME")
    for name, description in BENCHMARKS.items():
        command = commands.add_parser(name, help=description, description=description)
        command.add_argument("--json", type=Path, help="write the rows to this file")
        command.add_argument("--quick", action="store_true", help="fewer repetitions; no compile times, memory, percentiles, long chains")
    options = parser.parse_args()
    start = time.perf_counter()
    rows = importlib.import_module(options.benchmark).rows(quick=options.quick)
    if options.json:
        results.write_json(rows, options.json)
    results.print_table(rows)
    print(f"{len(rows)} rows in {time.perf_counter() - start:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
