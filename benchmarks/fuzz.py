"""Fuzz test of the motion readers with randomly mutated files: ``python benchmarks/fuzz.py --count 1000000 --jobs 8``.

Each file is generated from a seed, read, normalized and written, as in ``tests/io/test_mutations.py``. It must yield finite numbers or be
rejected with an error message; any other exception is a crash, and its seed is printed to reproduce the file:
``tests.io.mutations.mutated("BVH", seed)``.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path

from rich.markup import escape
from rich.progress import track
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.io.mutations import FORMATS, mutated, outcome

from results import make_console

BATCH = 1000  # files per job
MAX_PRINTED = 20  # crashes of each format


@dataclass
class Tally:
    """Counts of outcomes, and extremes of time and memory, of the files of one format."""

    outcomes: Counter[str] = field(default_factory=Counter)
    crashes: dict[int, str] = field(default_factory=dict)
    slowest: float = 0.0  # [s]
    slowest_seed: int = -1
    memory: float = 0.0  # [MB] peak of a process

    def add(self, other: Tally) -> None:
        """Add the counts of another batch."""
        self.outcomes += other.outcomes
        self.crashes |= other.crashes
        self.memory = max(self.memory, other.memory)
        if other.slowest > self.slowest:
            self.slowest, self.slowest_seed = other.slowest, other.slowest_seed


def run_batch(form: str, seeds: range) -> tuple[str, Tally]:
    """Read the files of some seeds."""
    warnings.simplefilter("error")
    tally = Tally()
    for seed in seeds:
        data = mutated(form, seed)
        start = time.process_time()
        try:
            tally.outcomes[outcome(form, data)] += 1
        except Exception as error:
            tally.outcomes["crashed"] += 1
            tally.crashes[seed] = f"{type(error).__name__}: {str(error)[:100]}"
        seconds = time.process_time() - start
        if seconds > tally.slowest:
            tally.slowest, tally.slowest_seed = seconds, seed
    tally.memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return form, tally


def batches(count: int, first: int) -> Iterator[tuple[str, range]]:
    """Format and seeds of every job."""
    each = -(-count // len(FORMATS))
    for start in range(first, first + each, BATCH):
        for form in FORMATS:
            yield form, range(start, min(start + BATCH, first + each))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100_000, help="number of files, all formats together")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--first", type=int, default=0, help="first seed")
    options = parser.parse_args()
    tallies = {form: Tally() for form in FORMATS}
    console = make_console()
    with ProcessPoolExecutor(options.jobs) as pool:
        futures = [pool.submit(run_batch, *work) for work in batches(options.count, options.first)]
        for done in track(as_completed(futures), total=len(futures), console=console, description="mutated files"):
            form, tally = done.result()
            tallies[form].add(tally)
    table = Table("format", "files", "read", "rejected", "crashed", escape("slowest [s]"), "slowest seed", "memory [MB]")
    for form, tally in tallies.items():
        counts = (tally.outcomes.total(), *(tally.outcomes[what] for what in ("read", "refused", "crashed")))
        table.add_row(form, *(f"{n:,}" for n in counts), f"{tally.slowest:.3f}", str(tally.slowest_seed), f"{tally.memory:.0f}")
    console.print(table)
    for form, tally in tallies.items():
        for seed, what in sorted(tally.crashes.items())[:MAX_PRINTED]:
            console.print(f"{form} seed {seed}: {what}", markup=False)
    return 1 if any(tally.crashes for tally in tallies.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
