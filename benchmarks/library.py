"""Success of the dynamics filter on a library of motions: ``python benchmarks/library.py DIR [--count 100] [--seed S] [--strength X]``.

Draws BVH clips of DIR at random, filters each with the default settings in a process of its own, and counts those that finish, fall, are
refused with an error message, crash (any other exception or signal) or exceed the time limit; with what was found about those that do not
finish. The draw depends on the seed, the file names and the durations only. ``--compare`` prints which clips another run has done better
or worse.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.markup import escape
from rich.progress import track
from rich.table import Table

from results import make_console

Row = dict[str, Any]
FIRST = "first attempt"
OUTCOMES = ("finished", "fell", "refused", "crashed", "timed out")
HEADER_SIZE = 200_000  # bytes of a BVH file in which its number of frames and frame time are found
START_TIME_LIMIT = 120.0  # [s] of a process, and per second of its clip: --time-limit
EARLY = 0.35  # [s]: a fall before it is owed to the first frame
ASSUMED = {  # class of a finding: quantity of the assumption, and what its value contains
    "flight in which nothing falls": ("flight", ""),
    "discontinuity": ("discontinuity", ""),
    "repaired frames": ("repaired frames", ""),
    "first frames left out": ("first frames", ""),
    "support above the ground": ("", "support at"),
    "grip": ("", "grip"),
    "hop, slide or step within a stance": ("foot", ""),
}
REASONS = {  # class of a fall: what its reason contains
    "joint runs away": "runs away",
    "pelvis too low": "too low",
    "pelvis drifted": "drifted",
    "pelvis rotated": "rotated",
}
NUMBERS = {
    "mpjpe_global_cm": "MPJPE [cm]",
    "mpjpe_root_aligned_cm": "root-aligned [cm]",
    "foot_skate_p99_m_s": "skate p99 [m/s]",
    "seconds_per_second": "time per second of clip [s]",
}


def clip_duration(path: Path) -> float:
    """Duration of a BVH file [s] by its header; 0 if it has none."""
    with path.open("rb") as file:
        text = file.read(HEADER_SIZE).decode("latin-1")
    frames, step = (re.search(pattern, text) for pattern in (r"Frames:\s*(\d+)", r"Frame Time:\s*([\d.eE+-]+)"))
    return (int(frames.group(1)) - 1) * float(step.group(1)) if frames and step else 0.0


def draw_clips(folder: Path, count: int, seed: int, shortest: float, longest: float) -> list[Path]:
    """Random clips of a folder and its subfolders, of durations between two limits [s]."""
    paths = sorted(folder.rglob("*.bvh"), key=lambda path: path.relative_to(folder).as_posix())
    random.Random(seed).shuffle(paths)
    chosen = []
    for path in paths:
        if len(chosen) == count:
            break
        if shortest <= clip_duration(path) <= longest:
            chosen.append(path)
    return chosen


def filter_clip(path: Path, strength: float, retries: int | None = None) -> Row:
    """Filter one clip; returns outcome, reason, findings and metrics. Errors other than those with a message are not caught."""
    import brachiate as br  # noqa: PLC0415  (the process that only counts does not need it)
    from brachiate.errors import BrachiateError  # noqa: PLC0415
    from clips import foot_skate_p99  # noqa: PLC0415

    start = time.process_time()
    try:
        motion = br.load_motion(path)
        options: Row = {} if retries is None else {"retries": retries}
        result = br.filter_motion(motion, torque_scale=strength, progress=False, **options)
    except BrachiateError as problem:
        return {"outcome": "refused", "reason": f"{type(problem).__name__}: {problem}"}
    elapsed = time.process_time() - start
    row: Row = {
        "outcome": "finished" if result.failure is None else "fell",
        "assumptions": [str(assumption) for assumption in result.motion.assumptions],
        "findings": sorted(set(findings(result.motion.assumptions))),
        "foot_skate_p99_m_s": foot_skate_p99(result),
        "seconds_per_second": elapsed / max(float(result.motion.duration), 1e-3),
        "seconds_per_clip_second": elapsed / max(float(motion.duration), 1e-3),
        "method": next((attempt.method for attempt in result.attempts if attempt.kept), FIRST),
        "attempts": [str(attempt) for attempt in result.attempts],
        **result.tracking,
    }
    if result.attempts:
        row |= {"work_s_per_second": sum(attempt.work_s for attempt in result.attempts) / motion.duration}
    if result.failure is not None:
        row |= {"reason": result.failure.reason, "time": float(result.failure.time), "done": result.failure.time / motion.duration}
    return row


def findings(assumptions: Sequence[Any]) -> Iterator[str]:
    """Classes of what was found about a motion."""
    for assumption in assumptions:
        for name, (quantity, value) in ASSUMED.items():
            if quantity in assumption.quantity and value in assumption.value:
                yield name


def run_alone(path: Path, strength: float, time_limit: float, retries: int | None = None) -> Row:
    """Filter a clip in a process of its own; a crash or an exceeded time limit is an outcome."""
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder) / "row.json"
        command = [sys.executable, str(Path(__file__).resolve()), str(path), "--strength", str(strength), "--one", str(answer)]
        command += [] if retries is None else ["--retries", str(retries)]
        try:
            process = subprocess.run(
                command, timeout=START_TIME_LIMIT + time_limit * clip_duration(path), capture_output=True, text=True, check=False
            )
        except subprocess.TimeoutExpired:
            return {"outcome": "timed out", "reason": "time limit"}
        if process.returncode == 0 and answer.exists():
            return json.loads(answer.read_text())
        lines = process.stderr.strip().splitlines() or [f"exit code {process.returncode}"]
        return {"outcome": "crashed", "reason": lines[-1], "traceback": lines[-30:]}


def reason_class(row: Row) -> str:
    """Class of the reason why a clip was not finished."""
    reason = str(row.get("reason", ""))
    if row["outcome"] != "fell":
        return f"{row['outcome']}: {reason.partition(':')[0]}"
    early = ", in the first frames" if row["time"] < EARLY else ""
    return next((name for name, words in REASONS.items() if words in reason), "no solution of the QP") + early


def summarize(rows: Sequence[Row]) -> Row:
    """Counts of outcomes, reasons and findings, and medians of the clips that finished."""
    finished = [row for row in rows if row["outcome"] == "finished"]
    others = [row for row in rows if row["outcome"] != "finished"]
    found = {name: [sum(name in row.get("findings", ()) for row in group) for group in (finished, others)] for name in ASSUMED}
    return {
        "outcomes": {outcome: sum(row["outcome"] == outcome for row in rows) for outcome in OUTCOMES},
        "methods": {
            method: [len(group), float(np.median([row["mpjpe_global_cm"] for row in group])), float(np.median(cpu_seconds(group)))]
            for method in dict.fromkeys(row.get("method", FIRST) for row in finished)
            if (group := [row for row in finished if row.get("method", FIRST) == method])
        },
        "reasons": dict(Counter(map(reason_class, others)).most_common()),
        "findings": {name: counts for name, counts in found.items() if any(counts)},
        "median": {name: float(np.median([row[name] for row in finished])) for name in NUMBERS} if finished else {},
    }


def cpu_seconds(rows: Sequence[Row]) -> list[float]:
    """CPU time per second of the clip of each [s]."""
    return [row.get("seconds_per_clip_second", row["seconds_per_second"]) for row in rows]


def print_summary(summary: Row, rows: Sequence[Row]) -> None:
    console = make_console()
    counts = ", ".join(f"{count} {outcome}" for outcome, count in summary["outcomes"].items() if count)
    console.print(f"{len(rows)} clips: {counts}")
    if summary["median"]:
        table = Table("median of finished clips", *map(escape, NUMBERS.values()), box=None)
        table.add_row("", *(f"{value:.3g}" for value in summary["median"].values()))
        console.print(table)
    table = Table("finished by", "clips", "MPJPE [cm]", escape("CPU time per second of clip [s]"), box=None)
    for method, (count, error, cpu) in summary["methods"].items():
        table.add_row(method, str(count), f"{error:.3g}", f"{cpu:.3g}")
    console.print(table)
    for title, values in (("not finished", summary["reasons"]), ("found: finished, others", summary["findings"])):
        table = Table(title, "clips", box=None)
        for name, count in values.items():
            table.add_row(name, " / ".join(map(str, count)) if isinstance(count, list) else str(count))
        if values:
            console.print(table)


def print_comparison(rows: Sequence[Row], old: Sequence[Row]) -> None:
    """Changes from an older run, of the clips in both."""
    before = {row["clip"]: row for row in old}
    pairs = [(before[row["clip"]], row) for row in rows if row["clip"] in before]
    console = make_console()
    for title, first, second in (("no longer finished", 0, 1), ("finished now", 1, 0)):
        lost = [pair for pair in pairs if pair[first]["outcome"] == "finished" != pair[second]["outcome"]]
        names = ", ".join(f"{pair[0]['clip']} ({reason_class(pair[second])})" for pair in lost)
        console.print(f"{title}: {len(lost)}" + (f": {names}" if names else ""))
    both = [pair for pair in pairs if all(row["outcome"] == "finished" for row in pair)]
    for name, label in NUMBERS.items():
        if both:
            medians = [float(np.median([pair[k][name] for pair in both])) for k in (0, 1)]
            console.print(f"{label}, median of {len(both)} that finish in both: {medians[0]:.3g} -> {medians[1]:.3g}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="DIR", help="folder of BVH files, with subfolders")
    parser.add_argument("--count", type=int, default=100, help="number of clips")
    parser.add_argument("--seed", type=int, default=0, help="of the draw")
    parser.add_argument("--strength", type=float, default=math.inf, help="factor on the figure's torque limits; inf: unlimited")
    parser.add_argument("--retries", type=int, help="further attempts after a fall; default: that of the filter; 0: none")
    parser.add_argument("--shortest", type=float, default=1.0, help="duration of a clip [s]")
    parser.add_argument("--longest", type=float, default=20.0, help="duration of a clip [s]")
    parser.add_argument("--time-limit", type=float, default=60.0, help="[s] per second of clip")
    parser.add_argument("--json", type=Path, help="write rows and summary to this file")
    parser.add_argument("--compare", type=Path, metavar="OLD.json", help="print the changes from another run")
    parser.add_argument("--one", type=Path, metavar="FILE", help="filter the clip DIR in this process, and write its row to this file")
    options = parser.parse_args()
    if options.one is not None:
        options.one.write_text(json.dumps(filter_clip(options.folder, options.strength, options.retries)))
        return
    paths = draw_clips(options.folder, options.count, options.seed, options.shortest, options.longest)
    if not paths:
        parser.error(f"{options.folder} has no BVH files of {options.shortest:g} to {options.longest:g} s")
    rows: list[Row] = []
    for path in track(paths, "filtering"):
        name = path.relative_to(options.folder).as_posix()
        rows.append(
            {"clip": name, "duration_s": clip_duration(path), **run_alone(path, options.strength, options.time_limit, options.retries)}
        )
        if options.json is not None:  # after every clip: a run takes long
            content = {"seed": options.seed, "strength": options.strength, "summary": summarize(rows), "rows": rows}
            options.json.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    print_summary(summarize(rows), rows)
    if options.compare is not None:
        print_comparison(rows, json.loads(options.compare.read_text())["rows"])


if __name__ == "__main__":
    main()
