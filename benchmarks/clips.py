"""Success and tracking accuracy of the dynamics filter on clips: ``python benchmarks/clips.py [CLIP ...] [--mode MODE] [--json FILE]``.

CLIP is a motion file of any format, a sample motion (``walk``, ``squat``), or a clip of DeepMimic (``deepmimic:run``), if PyBullet's data
are installed; cyclic clips of DeepMimic are repeated. By default walk, turn, jump, kick, squat and all clips of DeepMimic. The settings
are the same for all clips.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from pathlib import Path

import numpy as np
from rich.markup import escape
from rich.table import Table

import brachiate as br
from brachiate.errors import BrachiateError, UnknownName
from brachiate.filter.offline import MODES, filter_motion
from brachiate.filter.reference.preprocess import make_reference
from brachiate.filter.results.result import FilterResult
from brachiate.kinematics_batch import BatchKinematics
from brachiate.motion.edit import loop
from brachiate.motion.motion import Motion
from results import make_console

CYCLES = {"walk": 20, "run": 6, "spinkick": 2, "jump": 2}  # repetitions of cyclic clips of DeepMimic
ENDS_IN_MOTION = ("walk", "turn")  # sample motions; all others end in a held pose
HOLD_DURATION = 0.6  # [s]
MIN_JERK = 1.0  # [m/s³] of the reference in the jerk ratio: that of a standing figure is zero
SAMPLE_MOTIONS = ("walk", "turn", "jump", "kick", "squat")
DEEPMIMIC = "deepmimic:"
NOT_INSTALLED = "the installed packages (pip install pybullet)"
COLUMNS = {
    "mpjpe_global_cm": "MPJPE [cm]",
    "mpjpe_root_aligned_cm": "root-aligned",
    "drift_max_cm": "drift [cm]",
    "foot_skate_p99_m_s": "skate [m/s]",
    "penetration_max_mm": "penetration [mm]",
    "jerk_ratio": "jerk ratio",
    "peak_torque_Nm": "torque [N·m]",
    "real_time_factor": "× real time",
    "processor_seconds_per_second": "processor s/s",
}


def load_clip(name: str, mass: float | None = None) -> tuple[Motion, float]:
    """Motion of a clip, for a body of some mass [kg], and the duration for which its last pose is held [s]."""
    if name.startswith(DEEPMIMIC):
        clip = name.removeprefix(DEEPMIMIC)
        available = br.procedural.deepmimic_clips()
        if clip not in available:
            raise UnknownName("clip of DeepMimic", clip, list(available), "PyBullet's data" if available else NOT_INSTALLED)
        motion = br.load_motion(available[clip], mass=mass)
        return (loop(motion, CYCLES[clip]), 0.0) if clip in CYCLES else (motion, HOLD_DURATION)
    if Path(name).exists():
        return br.load_motion(name, mass=mass), 0.0
    return br.procedural.sample_motion(name, mass=mass), 0.0 if name in ENDS_IN_MOTION else HOLD_DURATION


def filter_clip(
    name: str, mode: str, torque_scale: float, terrain: str | None, settings: br.FilterSettings | None = None, effort: float = 1.0
) -> dict[str, object]:
    """Filter one clip; returns outcome and metrics."""
    motion, hold = load_clip(name)
    reference = make_reference(motion, hold=hold)
    start, processor_start = time.perf_counter(), time.process_time()
    result = filter_motion(reference, terrain=terrain, mode=mode, torque_scale=torque_scale, settings=settings, effort=effort)
    elapsed, processor_time = time.perf_counter() - start, time.process_time() - processor_start
    return {
        "clip": Path(name).stem if Path(name).exists() else name,
        "duration_s": reference.times[-1],
        "outcome": "finished" if result.failure is None else str(result.failure),
        **result.tracking,
        "foot_skate_p99_m_s": foot_skate_p99(result),
        "penetration_max_mm": float(1000.0 * result.recording.contacts.penetration.max()),
        "jerk_ratio": jerk(result, result.motion.q) / max(jerk(result, result.reference.q[: len(result.motion)]), MIN_JERK),
        "peak_torque_Nm": max(result.peak_torques.values()),
        "real_time_factor": float(result.motion.times[-1]) / elapsed,
        "processor_seconds_per_second": processor_time / float(result.motion.times[-1]),
    }


def foot_skate_p99(result: FilterResult) -> float:
    """99th percentile of the slip speed of all links in contact with the floor [m/s]."""
    history = result.recording.contacts
    pairs = [history[pair] for pair in history.pairs if pair.startswith("man/") and " on floor/" in pair]
    slips = [pair.slip[pair.force[:, 2] > 0.0] for pair in pairs]
    return float(np.percentile(np.concatenate(slips), 99)) if slips else 0.0


def jerk(result: FilterResult, q: np.ndarray) -> float:
    """RMS jerk of all body origins [m/s³], by third differences over the steps."""
    positions = BatchKinematics(result.motion.figure).poses(q).x
    return float(np.sqrt(np.square(np.diff(positions, 3, axis=1)).sum(axis=2).mean()) / result.reference.dt**3)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clips", nargs="*", metavar="CLIP", help="motion file, sample motion, or deepmimic:NAME")
    parser.add_argument("--mode", choices=MODES, default="offline", help="mode of the filter")
    parser.add_argument("--torque-scale", type=float, default=math.inf, help="factor on the figure's torque limits; inf: unlimited")
    parser.add_argument("--terrain", help="terrain of the result, such as slope:-10")
    parser.add_argument("--settings", type=Path, help="settings file, as written by brachiate tune")
    parser.add_argument("--effort", type=float, default=1.0, help="factor of the number of rollouts of mode sampling")
    parser.add_argument("--json", type=Path, help="write the results to this file")
    options = parser.parse_args()
    settings = None if options.settings is None else br.load_settings(options.settings)
    clips = options.clips or [*SAMPLE_MOTIONS, *(DEEPMIMIC + name for name in br.procedural.deepmimic_clips())]
    console = make_console()
    table = Table("clip", escape("duration [s]"), "outcome", *map(escape, COLUMNS.values()), box=None)
    rows = []
    for clip in clips:
        try:
            row = filter_clip(clip, options.mode, options.torque_scale, options.terrain, settings, options.effort)
        except BrachiateError as problem:
            row = {"clip": clip, "outcome": f"rejected: {problem}"}
        rows.append(row)
        numbers = [f"{row[key]:.3g}" if key in row else "" for key in COLUMNS]
        outcome = str(row["outcome"]).partition(":")[0]
        table.add_row(str(row["clip"]).removeprefix(DEEPMIMIC), f"{row.get('duration_s', 0.0):.1f}", outcome, *numbers)
        console.print(f"{row['clip']}: {str(row['outcome'])[:100]}", highlight=False, emoji=False)
    console.print(table)
    if options.json is not None:
        options.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
