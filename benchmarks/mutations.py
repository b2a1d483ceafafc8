"""Mutation study: one-line changes of the sources that tests must find, ``python benchmarks/mutations.py [--only N ...] [--jobs N]``.

Each mutation of ``mutations.toml`` names a line of ``src/brachiate``, what it is changed to, and the tests that must fail. Sources and
tests are copied to a folder for temporary files; the work tree is not touched. The tests must pass unchanged first (the control), then one
line at a time is changed and its tests run until the first failure: the mutation is killed, or survives. Exits with an error if a
line is not found exactly once, if the control fails, or if a mutation survives that is not listed as equivalent.

Compiled code would be compiled again after each change of a kernel, so files with kernels are tested uncompiled, as plain Python; all other
files with the compiled code of the unchanged sources, which is kept in the copy for the next run.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path
from queue import SimpleQueue

from rich.markup import escape
from rich.progress import track
from rich.table import Table

from brachiate.compiled.store import source_hash
from results import make_console

ROOT = Path(__file__).parent.parent
COPIED = ("src", "tests", "examples", "docs", "benchmarks", "pyproject.toml", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "Makefile")
DECORATORS = ("@kernel", "@outlined", "@inlined", "@entry", "@by_address", "@operators")
TIME_LIMIT = 300.0  # [s] of the tests of one mutation; the control may compile
CONTROL_TIME_LIMIT = 1800.0  # [s]


@dataclass(frozen=True)
class Mutation:
    """One-line change of the sources.

    Args:
        name: What is changed.
        file: File of ``src/brachiate``.
        line: Text that is in it once.
        changed: What it becomes.
        tests: Files of ``tests``, or single tests in them, that must fail.
        equivalent: Why no test can fail, of a change without effect.
    """

    name: str
    file: str
    line: str
    changed: str
    tests: list[str]
    equivalent: str = ""


@dataclass
class Outcome:
    """What the tests of a mutation, or of the control, did."""

    name: str
    result: str  # killed, survived or passed, failed
    seconds: float
    failed_test: str = ""


class WorkingCopy:
    """A copy of sources and tests in which lines are changed, with its own cache of compiled code."""

    def __init__(self, number: int) -> None:
        base = Path(tempfile.gettempdir()) / "brachiate_mutations" / f"{source_hash('show')}-{number}"
        self.cache, self.root = base / "cache", base / "tree"
        shutil.rmtree(self.root, ignore_errors=True)
        self.root.mkdir(parents=True)
        for name in COPIED:
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, self.root / name, ignore=shutil.ignore_patterns("__pycache__", "build"))
            elif source.exists():
                shutil.copy2(source, self.root / name)

    def run(self, mutation: Mutation, number: int) -> Outcome:
        """Run the tests of a mutation with its line changed; the line is restored afterwards."""
        path = self.root / "src/brachiate" / mutation.file
        self._replace(path, mutation.line, mutation.changed, changes=number)
        try:
            outcome = self.test(mutation.name, mode_of(mutation.file), mutation.tests, TIME_LIMIT)
        finally:
            shutil.copy2(ROOT / "src/brachiate" / mutation.file, path)
        outcome.result = "survived" if outcome.result == "passed" else "killed"
        return outcome

    def test(self, name: str, mode: str, tests: list[str], limit: float) -> Outcome:
        """Run tests until the first failure; a run over its time limit has failed."""
        environment = {
            **os.environ, "PYTHONPATH": str(self.root / "src"), "BRACHIATE_CACHE": str(self.cache), "BRACHIATE_COMPILED": mode,
            "BRACHIATE_QUIET": "1", "OMP_NUM_THREADS": "1",
        }  # fmt: skip
        options = ["-x", "-q", "-p", "no:cacheprovider", "--hypothesis-profile", mode, "--tb=no", "-rfE"]
        command = [sys.executable, "-m", "pytest", *options, *(f"tests/{test}" for test in tests)]
        start = time.perf_counter()
        try:
            done = subprocess.run(command, cwd=self.root, env=environment, timeout=limit, capture_output=True, text=True)
        except subprocess.TimeoutExpired:
            return Outcome(name, "failed", time.perf_counter() - start, f"not finished after {limit:.0f} s")
        lines = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
        failed = lines[0].split(" ")[1].removeprefix("tests/") if lines else done.stderr.strip()[-200:] if done.returncode else ""
        return Outcome(name, "failed" if done.returncode else "passed", time.perf_counter() - start, failed)

    @staticmethod
    def _replace(path: Path, line: str, changed: str, changes: int) -> None:
        """Change a line; the time of the file differs from change to change, as Python's cache of modules has whole seconds."""
        stamp = path.stat().st_mtime
        path.write_text(path.read_text().replace(line, changed))
        os.utime(path, (stamp + changes, stamp + changes))


def mode_of(file: str) -> str:
    """How tests of a file of ``src/brachiate`` run: compiled, or uncompiled if it has kernels."""
    return "off" if any(word in (ROOT / "src/brachiate" / file).read_text() for word in DECORATORS) else "fast"


def check_table(mutations: dict[int, Mutation]) -> None:
    """Raise an error if a line is not there exactly once, or a file of tests not at all."""
    for number, mutation in mutations.items():
        count = (ROOT / "src/brachiate" / mutation.file).read_text().count(mutation.line)
        if count != 1:
            sys.exit(
                f"mutation {number} ({mutation.name}): its line is {count} times in {mutation.file}, once is expected: {mutation.line}"
            )
        missing = [test for test in mutation.tests if not (ROOT / "tests" / test.split("::")[0]).exists()]
        if missing or mutation.line == mutation.changed:
            sys.exit(f"mutation {number} ({mutation.name}): " + (f"there is no tests/{missing[0]}." if missing else "nothing is changed."))


def run_control(copy: WorkingCopy, mutations: dict[int, Mutation]) -> list[Outcome]:
    """Run all tests of these mutations with unchanged sources."""
    tests: dict[str, dict[str, None]] = {"fast": {}, "off": {}}
    for mutation in mutations.values():
        tests[mode_of(mutation.file)].update(dict.fromkeys(mutation.tests))
    return [copy.test(f"control, {mode}", mode, list(files), CONTROL_TIME_LIMIT) for mode, files in tests.items() if files]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", type=int, nargs="+", metavar="N", help="numbers of mutations, from 1")
    parser.add_argument("--jobs", type=int, default=1, help="processes, each with its own copy and compiled code")
    parser.add_argument("--json", type=Path, help="write the results to this file")
    parser.add_argument("--no-control", action="store_true", help="do not run the unchanged tests first")
    options = parser.parse_args()
    table = tomllib.loads((Path(__file__).parent / "mutations.toml").read_text())["mutation"]
    numbered = {n: Mutation(**fields) for n, fields in enumerate(table, 1)}
    check_table(numbered)
    unknown = set(options.only or ()) - set(numbered)
    if unknown:
        parser.error(f"there are mutations 1 to {len(numbered)}, not {min(unknown)}")
    mutations = {n: numbered[n] for n in options.only or numbered}
    console = make_console()
    copies: SimpleQueue[WorkingCopy] = SimpleQueue()
    for k in range(options.jobs):
        copies.put(WorkingCopy(k))

    def run(number: int) -> tuple[int, Outcome]:
        copy = copies.get()
        try:
            return number, copy.run(mutations[number], number)
        finally:
            copies.put(copy)

    if not options.no_control:
        copy = copies.get()
        for outcome in run_control(copy, mutations):
            console.print(f"{outcome.name}: {outcome.result} in {outcome.seconds:.0f} s {outcome.failed_test}", markup=False)
            if outcome.result == "failed":
                return 1
        copies.put(copy)
    outcomes: dict[int, Outcome] = {}
    with ThreadPoolExecutor(options.jobs) as pool:
        futures = [pool.submit(run, number) for number in mutations]
        for future in track(as_completed(futures), total=len(futures), console=console, description="mutations"):
            number, outcomes[number] = future.result()
            if outcomes[number].result == "survived":
                console.print(f"{number} survived: {outcomes[number].name}", markup=False)
    return report(mutations, dict(sorted(outcomes.items())), options.json)


def report(mutations: dict[int, Mutation], outcomes: dict[int, Outcome], path: Path | None) -> int:
    """Print and write the outcomes; returns 1 if a mutation survived that is not equivalent."""
    console, table = make_console(), Table("number", "file", "change", "result", escape("time [s]"), "failed test")
    for number, outcome in outcomes.items():
        mutation = mutations[number]
        result = outcome.result + (" (equivalent)" if mutation.equivalent and outcome.result == "survived" else "")
        table.add_row(str(number), mutation.file, mutation.name, result, f"{outcome.seconds:.0f}", escape(outcome.failed_test))
    console.print(table)
    survivors = [n for n, outcome in outcomes.items() if outcome.result == "survived"]
    console.print(f"{len(outcomes) - len(survivors)} of {len(outcomes)} killed; survived: {survivors or 'none'}", markup=False)
    for n in survivors:
        if mutations[n].equivalent:
            console.print(f"{n}: {mutations[n].equivalent}", markup=False)
    if path:
        rows = [{"number": n, **asdict(outcome), "file": mutations[n].file} for n, outcome in outcomes.items()]
        path.write_text(json.dumps(rows, indent=1) + "\n")
    return int(any(not mutations[n].equivalent for n in survivors))


if __name__ == "__main__":
    sys.exit(main())
