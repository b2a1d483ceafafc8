"""Which clips the dynamics filter carries through, and how closely: ``python benchmarks/clips.py [FILE ...] [--json FILE]``.

Files are motions of any format; words that are no files are embedded moves (``walk``, ``squat``) or, with ``deepmimic:`` before them,
DeepMimic's clips (``deepmimic:run``), if PyBullet's data are installed; cyclic ones are repeated. Without any, all moves and all of
DeepMimic's clips that are there. One set of settings for all.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

import brachiate as br
from brachiate.errors import BrachiateError, UnknownName
from brachiate.filter.offline import MODES, filter_motion
from brachiate.filter.reference.preprocess import make_reference
from brachiate.filter.results.result import FilterResult
from brachiate.kinematics_batch import BatchKinematics
from brachiate.motion.edit import loop
from brachiate.motion.motion import Motion

CYCLES = {"walk": 20, "run": 6, "spinkick": 2, "jump": 2}
MOVING_AT_THE_END = ("walk", "turn")  # the others are brought to a stop, and held
HOLD = 0.6  # [s]
STILL = 1.0  # [m/s³] who stands still has no jerk to compare with
STANDING = ("walk", "turn", "jump", "kick", "squat")
DEEPMIMIC = "deepmimic:"
NO_DATA = "what is installed here (pip install pybullet brings them)"


def named(name: str, mass: float | None = None) -> tuple[Motion, float]:
    """A motion of a body of that mass [kg], and for how long its last posture is to be held [s]."""
    if name.startswith(DEEPMIMIC):
        short = name.removeprefix(DEEPMIMIC)
        there = br.procedural.deepmimic_clips()
        if short not in there:
            raise UnknownName("clip of DeepMimic", short, list(there), "PyBullet's data" if there else NO_DATA)
        motion = br.load_motion(there[short], mass=mass)
        return (loop(motion, CYCLES[short]), 0.0) if short in CYCLES else (motion, HOLD)
    if Path(name).exists():
        return br.load_motion(name, mass=mass), 0.0
    return br.procedural.sample_motion(name, mass=mass), 0.0 if name in MOVING_AT_THE_END else HOLD


def tried(name: str, mode: str, torque_scale: float, terrain: str | None, settings: br.FilterSettings | None = None) -> dict[str, object]:
    """What becomes of one clip."""
    motion, hold = named(name)
    reference = make_reference(motion, hold=hold)
    began = time.perf_counter()
    result = filter_motion(reference, terrain=terrain, mode=mode, torque_scale=torque_scale, settings=settings, progress=False)
    took = time.perf_counter() - began
    return {
        "clip": Path(name).stem if Path(name).exists() else name,
        "seconds": reference.times[-1],
        "outcome": "finished" if result.failure is None else str(result.failure),
        **result.tracking,
        "skate_p99_m_s": skate(result),
        "depth_max_mm": float(1000.0 * result.recording.contacts.penetration.max()),
        "jerk_times_original": jerk(result, result.motion.q) / max(jerk(result, result.reference.q[: len(result.motion)]), STILL),
        "peak_torque_Nm": max(result.peak_torques.values()),
        "times_real_time": float(result.motion.times[-1]) / took,
    }


def skate(result: FilterResult) -> float:
    """Speed along the ground below which 99 of 100 frames of what touches it are [m/s]."""
    history = result.recording.contacts
    pairs = [history[pair] for pair in history.pairs if pair.startswith("man/") and " on floor/" in pair]
    slips = [pair.slip[pair.force[:, 2] > 0.0] for pair in pairs]
    return float(np.percentile(np.concatenate(slips), 99)) if slips else 0.0


def jerk(result: FilterResult, q: np.ndarray) -> float:
    """Root mean square jerk of all bodies [m/s³], by differences from step to step: it tells of every jump of an acceleration."""
    places = BatchKinematics(result.motion.figure).poses(q).x
    return float(np.sqrt(np.square(np.diff(places, 3, axis=1)).sum(axis=2).mean()) / result.reference.dt**3)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clips", nargs="*")
    parser.add_argument("--mode", choices=MODES, default="offline")
    parser.add_argument("--torque-scale", type=float, default=math.inf, help="factor of the figure's torque limits; inf: unlimited")
    parser.add_argument("--terrain", help="terrain of the result, such as slope:-10")
    parser.add_argument("--settings", type=Path, help="a file of settings, as brachiate tune writes it")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    settings = None if given.settings is None else br.load_settings(given.settings)
    clips = given.clips or [*STANDING, *(DEEPMIMIC + name for name in br.procedural.deepmimic_clips())]
    console = Console()
    heads = "MPJPE [cm]", "from root", "drift [cm]", "skate [m/s]", "depth [mm]", "jerk, times", "torque [N·m]", "x real time"
    table = Table("clip", "length [s]", "outcome", *heads, box=None)
    rows = []
    for clip in clips:
        try:
            row = tried(clip, given.mode, given.torque_scale, given.terrain, settings)
        except BrachiateError as problem:
            row = {"clip": clip, "outcome": f"refused: {problem}"}
        rows.append(row)
        numbers = ("mpjpe_global_cm", "mpjpe_root_aligned_cm", "drift_max_cm", "skate_p99_m_s", "depth_max_mm", "jerk_times_original")
        shown = [f"{row[n]:.4g}" if n in row else "" for n in (*numbers, "peak_torque_Nm", "times_real_time")]
        outcome = str(row["outcome"]).partition(":")[0]
        table.add_row(str(row["clip"]).removeprefix(DEEPMIMIC), f"{row.get('seconds', 0.0):.1f}", outcome, *shown)
        console.print(f"{row['clip']}: {str(row['outcome'])[:100]}", highlight=False, emoji=False)
    console.print(table)
    if given.json is not None:
        given.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
