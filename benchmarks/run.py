"""Benchmarks against peers, in one process: ``python benchmarks/run.py tree --json FILE``.

Each subcommand is a file beside this one with a function ``rows() -> list of rows`` (see rows.py) and a docstring.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import rows

#: Subcommand: what it measures. A later one is a line here and a file of that name.
BENCHMARKS = {
    "tree": "dynamics of trees: inverse, mass matrix, forward, free step; memory and compile time",
    "loops": "closed loops: time, gap and energy drift of steps; connecting and cutting; long chains",
    "contact": "contact: steps of a human figure that stands, and of one that lies",
    "motion": "motions: reading and checking them, against real time",
    "filter": "the dynamics filter: time of a step and of a plan in every mode; its optimization against placo's",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="benchmark", required=True)
    for name, what in BENCHMARKS.items():
        command = commands.add_parser(name, help=what)
        command.add_argument("--json", type=Path, help="write the rows to this file")
        command.add_argument("--quick", action="store_true", help="timings only: no memory, no compile times, no long chains")
    given = parser.parse_args()
    start = time.perf_counter()
    results = importlib.import_module(given.benchmark).rows(quick=given.quick)
    if given.json:
        rows.write(results, given.json)
    rows.show(results)
    print(f"{len(results)} rows in {time.perf_counter() - start:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
