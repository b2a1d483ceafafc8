"""Success of the online filter on captured walks, turns and runs: ``python benchmarks/online.py DIR [--count 50] [--latency T]``.

Draws BVH clips of DIR at random whose body moves on upright for most of the time, as its root tells, sends each frame by frame to the
online filter in a process of its own, and counts those that finish, fall, are refused with an error message, crash or take too long.
The draw depends on the seed and the files only. ``--subjects`` restricts it to folders of DIR.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from rich.progress import track

from library import OUTCOMES, START_TIME_LIMIT, Row, clip_duration, findings, print_comparison, print_summary, summarize

# Subjects of CMU's library who mostly walk, turn and run on level ground
SUBJECTS = (
    "002", "005", "006", "007", "008", "009", "010", "012", "015", "016", "017", "035", "037", "038", "039", "045", "046", "047", "049",
    "069", "091", "104", "105", "132", "136", "143",
)  # fmt: skip
PELVIS_HEIGHT = 0.95  # [m] of an upright person, which gives the unit of a file
WINDOW = 0.5  # [s] over which the speed of the root is measured
MIN_SPEED = 0.4  # [m/s] of it, median
UPRIGHT = 0.85, 1.12  # range of the height of the root, relative to its median, for 95 % of the time


def is_locomotion(path: Path) -> bool:
    """Whether the root moves on upright for most of the time."""
    _, _, motion = path.read_text(encoding="latin-1").partition("MOTION")
    lines = motion.strip().splitlines()
    step = float(lines[1].split()[-1])
    root = np.array([line.split(maxsplit=3)[:3] for line in lines[3:]], float)  # the first frame is a T-pose
    ahead = max(round(WINDOW / step), 1)
    if len(root) <= ahead:
        return False
    height = float(np.median(root[:, 1]))
    if height <= 0.0:
        return False
    speed = np.linalg.norm(root[ahead:, ::2] - root[:-ahead, ::2], axis=1) / (ahead * step) * PELVIS_HEIGHT / height
    low, high = np.percentile(root[:, 1] / height, (2.5, 97.5))
    return float(np.median(speed)) > MIN_SPEED and low > UPRIGHT[0] and high < UPRIGHT[1]


def draw_clips(folder: Path, subjects: Sequence[str], count: int, seed: int, shortest: float, longest: float) -> list[Path]:
    """Random clips of locomotion, of durations between two limits [s]."""
    paths = sorted(path for subject in subjects for path in (folder / subject).rglob("*.bvh"))
    random.Random(seed).shuffle(paths)
    chosen: list[Path] = []
    for path in paths:
        if len(chosen) == count:
            break
        if shortest <= clip_duration(path) <= longest and is_locomotion(path):
            chosen.append(path)
    return chosen


def filter_clip(path: Path, latency: float, strength: float) -> Row:
    """Send one clip to the online filter; returns outcome, reason, findings and metrics. Errors without a message are not caught."""
    import brachiate as br  # noqa: PLC0415  (the process that only counts does not need it)
    from brachiate.errors import BrachiateError  # noqa: PLC0415
    from clips import foot_skate_p99  # noqa: PLC0415

    start = time.process_time()
    try:
        motion = br.load_motion(path)
        result = br.filter_motion(motion, mode="online", latency=latency, torque_scale=strength, progress=False)
    except BrachiateError as problem:
        return {"outcome": "refused", "reason": f"{type(problem).__name__}: {problem}"}
    elapsed = time.process_time() - start
    row: Row = {
        "outcome": "finished" if result.failure is None else "fell",
        "assumptions": [str(assumption) for assumption in result.motion.assumptions],
        "findings": sorted(set(findings(result.motion.assumptions))),
        "recovery_steps": [str(step) for step in result.recovery_steps],
        "foot_skate_p99_m_s": foot_skate_p99(result),
        "seconds_per_second": elapsed / max(float(result.motion.duration), 1e-3),
        **result.tracking,
    }
    if result.failure is not None:
        row |= {"reason": result.failure.reason, "time": float(result.failure.time), "done": result.failure.time / motion.duration}
    return row


def run_alone(path: Path, latency: float, strength: float, time_limit: float) -> Row:
    """Filter a clip in a process of its own; a crash or an exceeded time limit is an outcome."""
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder) / "row.json"
        command = [sys.executable, str(Path(__file__).resolve()), str(path), "--latency", str(latency), "--strength", str(strength)]
        try:
            process = subprocess.run(
                [*command, "--one", str(answer)],
                timeout=START_TIME_LIMIT + time_limit * clip_duration(path),
                capture_output=True,
                text=True,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return {"outcome": "timed out", "reason": "time limit"}
        if process.returncode == 0 and answer.exists():
            return json.loads(answer.read_text())
        lines = process.stderr.strip().splitlines() or [f"exit code {process.returncode}"]
        return {"outcome": "crashed", "reason": lines[-1], "traceback": lines[-30:]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="DIR", help="folder with a folder of BVH files for every subject, as CMU's library")
    parser.add_argument("--subjects", nargs="*", default=SUBJECTS, help="folders of DIR to draw from")
    parser.add_argument("--count", type=int, default=50, help="number of clips")
    parser.add_argument("--seed", type=int, default=0, help="of the draw")
    parser.add_argument("--latency", type=float, default=0.3, help="[s] of the online filter")
    parser.add_argument("--strength", type=float, default=math.inf, help="factor on the figure's torque limits; inf: unlimited")
    parser.add_argument("--shortest", type=float, default=1.0, help="duration of a clip [s]")
    parser.add_argument("--longest", type=float, default=12.0, help="duration of a clip [s]")
    parser.add_argument("--time-limit", type=float, default=60.0, help="[s] per second of clip")
    parser.add_argument("--json", type=Path, help="write rows and summary to this file")
    parser.add_argument("--compare", type=Path, metavar="OLD.json", help="print the changes from another run")
    parser.add_argument("--one", type=Path, metavar="FILE", help="filter the clip DIR in this process, and write its row to this file")
    options = parser.parse_args()
    if options.one is not None:
        options.one.write_text(json.dumps(filter_clip(options.folder, options.latency, options.strength)))
        return
    paths = draw_clips(options.folder, options.subjects, options.count, options.seed, options.shortest, options.longest)
    if not paths:
        parser.error(f"{options.folder} has no walks, turns and runs of {options.shortest:g} to {options.longest:g} s")
    rows: list[Row] = []
    for path in track(paths, "filtering"):
        name = path.relative_to(options.folder).as_posix()
        rows.append(
            {"clip": name, "duration_s": clip_duration(path), **run_alone(path, options.latency, options.strength, options.time_limit)}
        )
        if options.json is not None:  # after every clip: a run takes long
            given = {name: getattr(options, name) for name in ("seed", "latency", "strength")}
            content = given | {"summary": summarize(rows), "rows": rows}
            options.json.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    assert all(row["outcome"] in OUTCOMES for row in rows)
    print_summary(summarize(rows), rows)
    if options.compare is not None:
        print_comparison(rows, json.loads(options.compare.read_text())["rows"])


if __name__ == "__main__":
    main()
