"""Inferred contacts of feet against the truth: ``python benchmarks/contacts.py [--plates FOLDER] [--json FILE]``.

Truth are (1) the contacts of simulated motions: results of the filter, disturbed as captures are, by noise of joints and root, a constant
error of the ankles, and a floor that is off and tilted; and (2) force plates: ``*_grf.mot`` in FOLDER and its subfolders, with joint angles
in ``*_ik.mot`` and ``subject.json`` beside them; of plates that lie in a walkway only the time near a contact counts.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.table import Table
from scipy.ndimage import gaussian_filter1d

import brachiate as br
from brachiate import rotations
from brachiate.contact_estimation.infer_contacts import infer_contacts
from brachiate.contact_estimation.motion_dynamics import MotionDynamics
from brachiate.errors import MotionFileError
from brachiate.intervals import fill_short_gaps, true_intervals
from brachiate.io.opensim import Table as OpenSimTable
from brachiate.io.opensim import read_table
from brachiate.motion.motion import Motion
from brachiate.motion.spline import MotionSpline
from brachiate.motion.terrain import Terrain
from brachiate.validation import Array
from results import make_console

CUTOFF = 10.0  # [Hz] as for captured motion
LOADED = 30.0  # [N]
ON_TIME, MATCH = 0.03, 0.15  # [s] of an event: error that is allowed; of events that are the same
BEFORE = 0.1  # [s] before the first and after the last contact with a plate, in which a foot is known to be in the air
MIN_GAP = 0.03  # [s] of the true contact of a foot
SIDES, FOOT_WORDS = ("left", "right"), ("heel", "ball", "toe", "foot")
SIMULATED = ("walk", "turn", "jump", "kick", "squat")
JOINT_NOISE, ROOT_NOISE, NOISE_WIDTH = np.radians(1.0), 0.004, 0.03  # [rad], [m] RMS, and its correlation time [s]
ANKLE_ERROR, FLOOR_OFFSET, FLOOR_TILT = np.radians(4.0), 0.05, np.radians(1.0)  # largest
RATE = 100.0  # [frames/s]


class Score(NamedTuple):
    """Agreement of the contacts of a foot with the truth."""

    stance_right: int  # frames in contact that are so labeled
    stance: int
    swing_right: int
    swing: int
    event_errors: list[float]  # [s] of touchdowns and lift-offs
    missed: int  # events without a counterpart
    floor_error: float = 0.0  # [m]


def events(flags: Array, times: Array) -> list[tuple[float, bool]]:
    """Times of touchdowns (True) and lift-offs within the motion."""
    spans = true_intervals(flags)
    found = [(float(times[a]), True) for a, _ in spans if a > 0] + [(float(times[b - 1]), False) for _, b in spans if b < len(flags)]
    return sorted(found)


def score(found: Array, truth: Array, known: Array, times: Array) -> Score:
    """Compare contact flags (f,), where the truth is known."""
    truth = fill_short_gaps(truth, times, MIN_GAP)
    stance, swing = known & truth, known & ~truth
    errors, missed = [], 0
    # A contact that lasts from the first frame on, or to the last one, may have begun or ended there
    guessed = [*events(found, times), *((float(times[k]), k == 0) for k in (0, -1) if found[k])]
    for time, lands in events(truth, times):
        if not np.interp(time, times, known):
            continue
        near = [abs(other - time) for other, kind in guessed if kind == lands and abs(other - time) < MATCH]
        errors += [min(near)] if near else []
        missed += not near
    return Score(int((found & stance).sum()), int(stance.sum()), int((~found & swing).sum()), int(swing.sum()), errors, missed)


def inferred_feet(motion: Motion) -> tuple[dict[str, Array], float]:
    """Inferred contact flags (f,) of both feet, and the floor height [m]."""
    states = MotionSpline(motion.figure, motion.times, motion.q, CUTOFF).at(motion.times)
    labels, _ = infer_contacts(MotionDynamics(motion.figure, states, Terrain()))
    return {side: foot_flags(labels, side, motion.times) for side in SIDES}, float(labels.terrain.height or 0.0)


def foot_flags(labels: br.ContactLabels, side: str, times: Array) -> Array:
    """Whether any part of a foot is in contact: (f,)."""
    flags = np.zeros(len(times), bool)
    for part in {label.part for label in labels.contacts}:
        if part.startswith(side) and any(word in part for word in FOOT_WORDS):
            flags |= labels.active(part, times)
    return flags


def disturbed(motion: Motion, rng: np.random.Generator) -> tuple[Motion, float]:
    """Motion with the errors of a capture, and the height of its floor at the origin [m]."""
    figure, q, dt = motion.figure, motion.q.copy(), 1.0 / RATE
    for name, place in figure.joints.items():
        noise = gaussian_filter1d(rng.normal(size=(len(q), place.v.stop - place.v.start)), NOISE_WIDTH / dt, axis=0)
        noise *= (ROOT_NOISE if name == "root" else JOINT_NOISE) / max(float(noise.std()), 1e-12)
        if "ankle" in name:
            noise += rng.uniform(-ANKLE_ERROR, ANKLE_ERROR)
        if name == "root":
            q[:, :3] += noise[:, :3]
        elif place.q.stop - place.q.start == 4:
            q[:, place.q] = rotations.product(q[:, place.q], rotations.from_rotation_vector(noise[:, :3]))
        elif place.q.stop - place.q.start == place.v.stop - place.v.start:
            q[:, place.q] += noise
    offset, heading = rng.uniform(-FLOOR_OFFSET, FLOOR_OFFSET), rng.uniform(0.0, 2.0 * np.pi)
    tilt = rotations.from_rotation_vector(rng.uniform(0.0, FLOOR_TILT) * np.array((np.cos(heading), np.sin(heading), 0.0)))
    middle = q[:, :3].mean(axis=0) * (1.0, 1.0, 0.0)
    q[:, :3] = rotations.rotate(tilt, q[:, :3] - middle) + middle + (0.0, 0.0, offset)
    q[:, 3:7] = rotations.product(tilt, q[:, 3:7])
    return Motion(figure, motion.times, q, motion.name, captured=True), offset


def simulated_scores(seeds: int) -> Iterator[tuple[str, Score]]:
    """Scores of simulated motions, disturbed with several seeds."""
    for name in SIMULATED:
        result = br.filter_motion(br.sample_motion(name), torque_scale=None)
        truth = result.motion.contacts
        motion = result.motion.resample(RATE)
        assert truth is not None
        flags = {side: foot_flags(truth, side, motion.times) for side in SIDES}
        for seed in range(seeds):
            noisy, offset = disturbed(motion, np.random.default_rng(seed))
            found, floor = inferred_feet(noisy)
            for side in SIDES:
                known = np.ones(len(motion), bool)
                yield name, score(found[side], flags[side], known, motion.times)._replace(floor_error=abs(floor - offset))


def vertical_forces(table: OpenSimTable) -> dict[str, Array]:
    """Vertical forces of the plates of both feet [N]: the second plate is the left one, if names do not say it."""
    columns = [name for name in table.columns if name.endswith("force_vy")]
    sides = {"L": "left", "R": "right", "1": "left"}
    return {sides.get(name[0], "right"): np.asarray(table[name]) for name in columns}


def read_long_table(path: Path) -> OpenSimTable:
    """Table of a file whose header may announce more rows than it has."""
    try:
        return read_table(path)
    except MotionFileError as problem:
        return read_table(path, frames=slice(0, int(str(problem).rpartition(", ")[2].rstrip(").").split(")")[0])))


def plate_scores(folder: Path) -> Iterator[tuple[str, Score]]:
    """Scores of motions with force plates."""
    for path in sorted(folder.rglob("*_grf.mot")):
        angles, subject = path.with_name(path.name.replace("_grf", "_ik")), path.with_name("subject.json")
        person = json.loads(subject.read_text()) if subject.exists() else {"massKg": 72.6, "heightM": 1.80}
        motion = br.load_motion(angles, mass=person["massKg"], height=person["heightM"])
        found, _ = inferred_feet(motion)
        table = read_long_table(path)
        for side, force in vertical_forces(table).items():
            load = np.interp(motion.times, table.times, force, left=0.0, right=0.0)
            loaded = load > LOADED
            measured = (motion.times >= table.times[0]) & (motion.times <= table.times[-1])
            spans = motion.times[loaded]
            near = (motion.times >= spans[0] - BEFORE) & (motion.times <= spans[-1] + BEFORE) if len(spans) else measured & False
            yield f"{path.parent.name}/{path.stem.removesuffix('_grf')}", score(found[side], loaded, measured & near, motion.times)


def summarize(scores: list[Score]) -> dict[str, float]:
    errors = np.array([error for each in scores for error in each.event_errors])
    count = len(errors) + sum(each.missed for each in scores)
    return {
        "stance_percent": 100.0 * sum(each.stance_right for each in scores) / max(sum(each.stance for each in scores), 1),
        "swing_percent": 100.0 * sum(each.swing_right for each in scores) / max(sum(each.swing for each in scores), 1),
        "events": count,
        "events_on_time_percent": 100.0 * float((errors <= ON_TIME + 1e-9).sum()) / max(count, 1),
        "event_error_median_ms": 1000.0 * float(np.median(errors)) if len(errors) else float("nan"),
        "events_missed": sum(each.missed for each in scores),
        "floor_error_cm": 100.0 * float(np.mean([each.floor_error for each in scores])),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plates", type=Path, metavar="FOLDER", help="folder of motions with force plates")
    parser.add_argument("--seeds", type=int, default=4, help="disturbances of every simulated motion")
    parser.add_argument("--json", type=Path, help="write the results to this file")
    options = parser.parse_args()
    rows: dict[str, dict[str, Any]] = {}
    for kind, source in (
        ("simulated", simulated_scores(options.seeds)),
        ("plates", plate_scores(options.plates) if options.plates else ()),
    ):
        groups: dict[str, list[Score]] = {}
        for name, each in source:
            groups.setdefault(name, []).append(each)
        rows |= {f"{kind}: {name}": summarize(scores) for name, scores in groups.items()}
        if groups:
            rows[f"{kind}: all"] = summarize([each for scores in groups.values() for each in scores])
    table = Table("motion", "stance right %", "swing right %", "events", "within 30 ms %", "median ms", "missed", "floor cm", box=None)
    for name, row in rows.items():
        table.add_row(name, *(f"{value:.3g}" for value in row.values()))
    make_console().print(table)
    if options.json is not None:
        options.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
