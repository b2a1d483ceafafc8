"""Motion files made wrong by chance, at length: ``python benchmarks/fuzz.py --count 1000000 --jobs 8``.

Each is made from a seed, read, settled and written, as in ``tests/io/test_mutations.py``. It must give finite numbers or be refused
with a message; any other exception is a crash, and its seed is printed so that the file can be made again:
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

from rich.console import Console
from rich.progress import track
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.io.mutations import FORMATS, mutated, outcome

BATCH = 1000
SHOWN = 20  # crashes of each format


@dataclass
class Tally:
    """What came of the files of one format."""

    outcomes: Counter[str] = field(default_factory=Counter)
    crashes: dict[int, str] = field(default_factory=dict)
    slowest: float = 0.0  # [s]
    slowest_seed: int = -1
    memory: float = 0.0  # [MB] the most a process had

    def add(self, other: Tally) -> None:
        """Take those of others in."""
        self.outcomes += other.outcomes
        self.crashes |= other.crashes
        self.memory = max(self.memory, other.memory)
        if other.slowest > self.slowest:
            self.slowest, self.slowest_seed = other.slowest, other.slowest_seed


def batch(form: str, seeds: range) -> tuple[str, Tally]:
    """Try some files."""
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
        took = time.process_time() - start
        if took > tally.slowest:
            tally.slowest, tally.slowest_seed = took, seed
    tally.memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return form, tally


def batches(count: int, first: int) -> Iterator[tuple[str, range]]:
    each = -(-count // len(FORMATS))
    for start in range(first, first + each, BATCH):
        for form in FORMATS:
            yield form, range(start, min(start + BATCH, first + each))


def main() -> int:
    parser = argparse.ArgumentParser(description="Read motion files made wrong by chance.")
    parser.add_argument("--count", type=int, default=100_000, help="files, of all formats together")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="seed to begin with")
    given = parser.parse_args()
    tallies = {form: Tally() for form in FORMATS}
    console = Console()
    with ProcessPoolExecutor(given.jobs) as pool:
        waiting = [pool.submit(batch, *work) for work in batches(given.count, given.first)]
        for done in track(as_completed(waiting), total=len(waiting), console=console, description="Files made wrong"):
            form, tally = done.result()
            tallies[form].add(tally)
    table = Table("format", "files", "read", "refused", "crashed", "slowest [s]", "its seed", "memory [MB]")
    for form, tally in tallies.items():
        counts = (tally.outcomes.total(), *(tally.outcomes[what] for what in ("read", "refused", "crashed")))
        table.add_row(form, *(f"{n:,}" for n in counts), f"{tally.slowest:.3f}", str(tally.slowest_seed), f"{tally.memory:.0f}")
    console.print(table)
    for form, tally in tallies.items():
        for seed, what in sorted(tally.crashes.items())[:SHOWN]:
            console.print(f"{form} seed {seed}: {what}", markup=False)
    return 1 if any(tally.crashes for tally in tallies.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
