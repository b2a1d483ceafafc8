"""Behaviour fingerprint: numbers that must not change under refactoring, of loading, checking, retargeting and simulating.

``python benchmarks/regression.py --json NEW.json [--compare OLD.json] [--tolerance T] [FILE ...]``

For every sample motion and every motion FILE: the loaded configurations, the metrics of ``br.check``, and the result of ``br.retarget`` to
human28; for every scene: the state after 0.2 s. ``--compare`` prints how many entries are bit-identical to those of an earlier run, and
the relative differences of the others; the exit code is 1 if one is above the tolerance, by default zero. Hashes of array bytes are
compared only at zero tolerance. Run it once before, to fill the cache: a process that compiles may differ in the last bits from one that
loads compiled code.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import brachiate as br
from results import make_console

SCENE_SECONDS = 0.2  # [s] simulated of every scene
MAX_PRINTED = 40  # rows of the table of differences
HASH, ERROR = "sha256", "error"

Entry = dict[str, Any]  # quantity: number, or text (hash, verdict, error)
Fingerprint = dict[str, Entry]


def array_numbers(name: str, x: np.ndarray) -> Entry:
    """Hash and statistics of an array."""
    x = np.ascontiguousarray(x, float)
    statistics = {"mean": x.mean(), "rms": np.sqrt(np.mean(x**2)), "min": x.min(), "max": x.max()}
    numbers = {f"{name}_{statistic}": float(value) for statistic, value in statistics.items()}
    return {f"{name}_{HASH}": hashlib.sha256(x.tobytes()).hexdigest(), f"{name}_size": x.size, **numbers}


def loaded(motion: br.Motion) -> Entry:
    """The motion itself, and the mass of its figure."""
    return {**array_numbers("q", motion.q), "duration_s": motion.duration, "mass_kg": motion.figure.mass, "dof": motion.figure.nv}


def checked(motion: br.Motion) -> Entry:
    """Summary metrics and verdict of the plausibility check."""
    report = br.check(motion)
    return {**{name: float(value) for name, value in report.summary.items()}, "verdict": report.verdict}


def retargeted(motion: br.Motion) -> Entry:
    """Configurations and quality of the motion retargeted to human28."""
    result = br.retarget(motion, br.figures.human28())
    return {
        **array_numbers("q", result.motion.q),
        **{f"landmark_error_{role}_cm": float(error) for role, error in result.landmark_errors.items()},
        "foot_skate_m_s": float(result.foot_skate),
        "penetration_mm": float(result.penetration),
        "foot_float_mm": float(result.foot_float),
        "jerk_ratio": float(result.jerk_ratio),
    }


def simulated(scene: str) -> Entry:
    """Final state and energy of a short run of a scene."""
    made = br.scenes.make(scene)
    run = made.run(SCENE_SECONDS)
    if isinstance(made, br.scenes.ParticleScene):
        return {**array_numbers("x", run.positions[-1]), **array_numbers("v", run.velocities[-1]), "energy_J": float(run["energy"][-1])}
    return {**array_numbers("q", made.world.q), **array_numbers("v", made.world.v), "energy_J": float(made.world.totals().energy)}


def tasks(files: list[Path]) -> Iterator[tuple[str, Callable[[], Entry]]]:
    """Name and function of every entry of the fingerprint."""
    motions: dict[str, Callable[[], br.Motion]] = {name: lambda name=name: br.sample_motion(name) for name in br.procedural.SAMPLE_MOTIONS}
    motions |= {path.name: lambda path=path: br.load_motion(path) for path in files}
    for name, load in motions.items():
        for evaluate in (loaded, checked, retargeted):
            yield f"{name}: {evaluate.__name__}", lambda load=load, evaluate=evaluate: evaluate(load())
    for scene in br.scenes.SCENES:
        yield f"scene {scene}", lambda scene=scene: simulated(scene)


def compute_fingerprint(files: list[Path], console: Console) -> Fingerprint:
    """All entries; an exception is recorded as one."""
    fingerprint: Fingerprint = {}
    for name, compute in tasks(files):
        with console.status(name):
            try:
                fingerprint[name] = compute()
            except Exception as problem:
                fingerprint[name] = {ERROR: f"{type(problem).__name__}: {problem}"}
                console.print(f"{name}: {fingerprint[name][ERROR]}", style="red", markup=False)
    return fingerprint


def relative_difference(old: Any, new: Any) -> float:
    """Difference of two numbers relative to the larger one; infinite for different texts, missing values, and NaN against a number."""
    if old == new or (isinstance(old, float) and isinstance(new, float) and math.isnan(old) and math.isnan(new)):
        return 0.0
    if not (isinstance(old, (int, float)) and isinstance(new, (int, float)) and math.isfinite(old) and math.isfinite(new)):
        return math.inf
    return abs(new - old) / max(abs(old), abs(new))


def differences(old: Fingerprint, new: Fingerprint) -> list[tuple[float, str, str, Any, Any]]:
    """Relative difference, entry, quantity and both values of all that differs but hashes, the largest first."""
    found = []
    for name in old:
        entry = new.get(name, {ERROR: "missing"})
        failed = ERROR in entry or ERROR in old[name]
        for quantity in (ERROR,) if failed else dict.fromkeys((*old[name], *entry)):
            a, b = old[name].get(quantity), entry.get(quantity)
            if not quantity.endswith(HASH) and (difference := relative_difference(a, b)):
                found.append((difference, name, quantity, a, b))
    return sorted(found, key=lambda row: -row[0])


def print_comparison(old: Fingerprint, new: Fingerprint, tolerance: float, console: Console) -> bool:
    """Print identical entries and all differences. Returns whether none is above the tolerance."""
    changed = [name for name in old if json.dumps(old[name]) != json.dumps(new.get(name))]
    console.print(f"{len(old) - len(changed)} of {len(old)} entries are bit-identical", highlight=False)
    if added := [name for name in new if name not in old]:
        console.print(f"{len(added)} entries are new: {', '.join(added)}", highlight=False, markup=False)
    found = differences(old, new)
    if only_bits := [name for name in changed if name not in {row[1] for row in found}]:
        console.print(f"Only hashes differ in: {', '.join(only_bits)}", highlight=False, markup=False)
    if found:
        table = Table("entry", "quantity", "old", "new", "relative difference", box=None)
        for difference, name, quantity, a, b in found[:MAX_PRINTED]:
            table.add_row(name, quantity, value_text(a), value_text(b), f"{difference:.1e}")
        console.print(table)
        if len(found) > MAX_PRINTED:
            console.print(f"... and {len(found) - MAX_PRINTED} smaller differences", highlight=False)
    return not changed if tolerance == 0.0 else not found or found[0][0] <= tolerance


def value_text(value: Any) -> str:
    return f"{value:.9g}" if isinstance(value, (int, float)) else "-" if value is None else str(value)[:40]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE", help="motion files, in addition to the sample motions")
    parser.add_argument("--json", type=Path, required=True, help="write the fingerprint to this file")
    parser.add_argument("--compare", type=Path, help="fingerprint of an earlier run")
    parser.add_argument("--tolerance", type=float, default=0.0, help="largest allowed relative difference")
    options = parser.parse_args()
    old = None if options.compare is None else json.loads(options.compare.read_text())  # before a long run: it may not exist
    console = make_console()
    new = compute_fingerprint(options.files, console)
    options.json.write_text(json.dumps(new, indent=1) + "\n")
    console.print(f"{len(new)} entries written to {options.json}", highlight=False)
    return 0 if old is None or print_comparison(old, new, options.tolerance, console) else 1


if __name__ == "__main__":
    sys.exit(main())
