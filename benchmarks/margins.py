"""Robustness of the dynamics filter: ``python benchmarks/margins.py settings|bodies|pushes|standing [--mode MODE] [--json FILE]``.

``settings``: every gain, weight and tolerance halved and doubled, one at a time, and the settings with the largest effect. ``bodies``:
other masses, foot sizes, friction, time steps, slopes and smoothing styles. ``pushes``: a walk pushed in eight directions at four phases of
the gait cycle. ``standing``: human28 and DeepMimic's figure stand and are pushed in eight directions, with and without recovery steps, by
default in all modes. Clips are DeepMimic's, from PyBullet's data (``pip install pybullet``). Torques are unlimited except in ``standing``.
"""

from __future__ import annotations

import argparse
import json
import math
import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import fields, replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.progress import track
from rich.table import Table

import brachiate as br
from brachiate.errors import BrachiateError
from brachiate.filter.offline import MODES, TRACKING_MODES, filter_motion
from brachiate.filter.reference.preprocess import make_reference
from brachiate.filter.reference.reference import Reference
from brachiate.filter.settings import FilterSettings
from brachiate.filter.tracking.disturbances import Push
from brachiate.model.model import Model
from brachiate.model.shapes import Box
from brachiate.motion.motion import Motion
from clips import DEEPMIMIC, load_clip
from results import make_console

SETTINGS_CLIPS = ("walk", "run", "spinkick", "jump", "kick", "punch")
BODY_CLIPS = ("walk", "jump", "kick", "spinkick")
PUSHED_LINK, PUSH_DURATION = "spine1", 0.1  # [s]
GAIT_CYCLE, FIRST_PUSH = 1.25, 1.5  # [s] of the walk; start of the earliest push
UNCHANGED = "unchanged"  # case with default settings
MAX_PRINTED = 12  # settings with the largest effect
WALKING_PUSHES = (0.2, 0.4, 0.6)  # [m/s] impulse of a push, divided by the body mass
STANDING_PUSHES = (0.2, 0.4, 0.6, 0.8, 1.0)  # [m/s] likewise
STANDING_FIGURES = {"human28": "spine2", "DeepMimic's": PUSHED_LINK}  # figures, and the link that is pushed
STANDING_DURATION, STANDING_PUSH_START = 4.0, 1.0  # [s]
RECOVERY_STEPS = {"with": FilterSettings(), "without": FilterSettings(recovery_step_duration=0.0)}
FALL_ERROR = 100.0  # [cm] tracking error that a fall counts as


class Case(NamedTuple):
    """One clip under one variation."""

    variation: str
    clip: str
    settings: FilterSettings = FilterSettings()
    style: str = "default"
    mass: float = 1.0  # factor
    friction: float | None = None
    feet: float = 1.0  # factor on length and width
    slope: float = 0.0  # [deg]
    dt: float = 0.002  # [s]
    push: tuple[float, float, float] | None = None  # impulse / mass [m/s], direction [rad], start [s]
    mode: str = "offline"
    torque_scale: float = math.inf  # factor on torque limits


@cache
def standing_reference(figure: str) -> Reference:
    """Quiet standing."""
    first = br.procedural.sample_motion("squat") if figure == "human28" else load_clip(DEEPMIMIC + "walk")[0]
    pose = first.q[0] if figure == "human28" else first.figure.poses.get("stand", first.figure.neutral)
    times = np.arange(0.0, STANDING_DURATION, 0.01)
    return make_reference(Motion(first.figure, times, np.tile(pose, (len(times), 1)), "stand"))


@cache
def clip_reference(clip: str, style: str, mass: float, feet: float, dt: float) -> Reference:
    """Reference of a clip for a scaled body."""
    if clip in STANDING_FIGURES:
        return standing_reference(clip)
    motion, hold = load_clip(DEEPMIMIC + clip)
    if mass != 1.0:
        motion, hold = load_clip(DEEPMIMIC + clip, mass=mass * motion.figure.mass)
    return make_reference(replace(motion, figure=scale_feet(motion.figure, feet)), hold=hold, style=style, dt=dt)


def scale_feet(model: Model, factor: float) -> Model:
    """The figure with longer and wider feet, which must be boxes, as those of DeepMimic's figure."""
    if factor == 1.0:
        return model
    links = []
    for link in model.links.values():
        shapes = link.shapes
        if link.name.endswith("_foot"):
            shapes = tuple(replace(box, size=box.size * (factor, factor, 1.0)) for box in shapes if isinstance(box, Box))
            if len(shapes) != len(link.shapes):
                raise SystemExit(f"{link.name}: only feet that are boxes can be scaled.")
        links.append(replace(link, shapes=shapes))
    return Model(model.name, links, *model._parts()[1:])


def run_case(case: Case) -> dict[str, Any]:
    """Filter a case; returns whether it finished, and tracking errors."""
    try:
        reference = clip_reference(case.clip, case.style, case.mass, case.feet, case.dt)
        pushes = []
        if case.push is not None:
            speed, direction, start = case.push
            force, link = reference.figure.mass * speed / PUSH_DURATION, STANDING_FIGURES.get(case.clip, PUSHED_LINK)
            pushes = [Push(link, (force * math.cos(direction), force * math.sin(direction), 0.0), start, PUSH_DURATION)]
        result = filter_motion(
            reference,
            terrain=f"slope:{case.slope:g}" if case.slope else None,
            settings=case.settings,
            friction=case.friction,
            torque_scale=case.torque_scale,
            pushes=pushes,
            mode=case.mode,
            retries=0,
            progress=False,
        )
        steps = len(result.recovery_steps)
        outcome = {"finished": result.success, "failure": str(result.failure or ""), "recovery_steps": steps, **result.tracking}
    except BrachiateError as problem:
        outcome = {"finished": False, "failure": str(problem), "mpjpe_global_cm": math.nan}
    push = None if case.push is None else dict(zip(("speed_m_s", "direction_rad", "start_s"), case.push))
    return {"variation": case.variation, "clip": case.clip, "mode": case.mode, "push": push, **outcome}


def settings_cases(mode: str) -> Iterator[Case]:
    default = FilterSettings()
    yield from (Case(UNCHANGED, clip, default, mode=mode) for clip in SETTINGS_CLIPS)
    names = [("", f.name) for f in fields(default) if f.name != "plan"] + [("plan.", f.name) for f in fields(default.plan)]
    for group, name in names:
        for factor in (0.5, 2.0):
            owner = default.plan if group else default
            value = factor * getattr(owner, name)
            if name in ("friction_share", "min_vertical_acceleration"):  # shares of one: their distance from one is halved and doubled
                value = (1.0 - (1.0 - abs(getattr(owner, name))) * factor) * math.copysign(1.0, getattr(owner, name))
            changed = replace(owner, **{name: value})
            settings = replace(default, plan=changed) if group else changed
            for clip in SETTINGS_CLIPS:
                yield Case(f"{group}{name} x{factor:g}", clip, settings, mode=mode)  # type: ignore[arg-type]


def body_cases(mode: str) -> Iterator[Case]:
    for clip in BODY_CLIPS:
        yield from (Case(f"mass x{m:g}", clip, mass=m, mode=mode) for m in (0.8, 1.2))
        yield from (Case(f"feet x{f:g}", clip, feet=f, mode=mode) for f in (0.85, 1.15))
        yield from (Case(f"friction {mu:g}", clip, friction=mu, mode=mode) for mu in (0.5, 0.65, 1.0))
        yield from (Case(f"time step {1000 * dt:g} ms", clip, dt=dt, mode=mode) for dt in (0.001, 0.003, 0.004))
        yield from (Case(f"slope {slope:g} deg", clip, slope=slope, mode=mode) for slope in (-5.0, 5.0))
        yield from (Case(f"style {style}", clip, style=style, mode=mode) for style in ("default", "light"))


def push_cases(mode: str) -> Iterator[Case]:
    for speed in WALKING_PUSHES:
        for phase in range(4):
            for direction in range(8):
                push = speed, math.radians(45 * direction), FIRST_PUSH + phase * GAIT_CYCLE / 4
                yield Case(f"push {speed:g} m/s", "walk", push=push, mode=mode)


def standing_cases(mode: str | None) -> Iterator[Case]:
    for figure in STANDING_FIGURES:
        for each in (mode,) if mode else TRACKING_MODES:
            for name, settings in RECOVERY_STEPS.items():
                for speed in STANDING_PUSHES:
                    pushes = [(speed, math.radians(45 * direction), STANDING_PUSH_START) for direction in range(8)]
                    yield from (Case(name, figure, settings, push=push, mode=each, torque_scale=1.0) for push in pushes)


STUDIES = {"settings": settings_cases, "bodies": body_cases, "pushes": push_cases, "standing": standing_cases}


def tracking_error(row: dict[str, Any]) -> float:
    """Mean of global and root-aligned MPJPE [cm]; FALL_ERROR for a fall."""
    return 0.5 * (row["mpjpe_global_cm"] + row["mpjpe_root_aligned_cm"]) if row["finished"] else FALL_ERROR


def print_variations(rows: list[dict[str, Any]], console: Console) -> None:
    """Print the outcome of each variation (of many only those with falls), and how many have no falls."""
    table = Table("variation", "finished", escape("MPJPE [cm]"), "falls", box=None)
    variations = [name for name in dict.fromkeys(row["variation"] for row in rows) if name != UNCHANGED]
    without_falls = 0
    for variation in variations:
        cases = [row for row in rows if row["variation"] == variation]
        falls = [row["clip"] for row in cases if not row["finished"]]
        without_falls += not falls
        if falls or len(variations) < 40:
            error = np.mean([row["mpjpe_global_cm"] for row in cases if row["finished"]] or [math.nan])
            table.add_row(variation, f"{len(cases) - len(falls)} of {len(cases)}", f"{error:.1f}", ", ".join(dict.fromkeys(falls)))
    console.print(table)
    print_largest_effects(rows, console)
    share = 100 * without_falls / len(variations)
    console.print(f"No falls in {without_falls} of {len(variations)} variations ({share:.0f} %).", highlight=False)


def print_largest_effects(rows: list[dict[str, Any]], console: Console) -> None:
    """Print the settings that change the tracking error most when halved and doubled."""
    default = {row["clip"]: tracking_error(row) for row in rows if row["variation"] == UNCHANGED}
    if not default:
        return
    effects: dict[str, float] = {}
    for row in rows:
        if row["variation"] != UNCHANGED:
            name, change = row["variation"].partition(" ")[0], tracking_error(row) / default[row["clip"]] - 1.0
            effects[name] = effects.get(name, 0.0) + abs(change) / (2 * len(default))
    largest = sorted(effects, key=lambda name: -effects[name])[:MAX_PRINTED]
    text = ", ".join(f"{name} {100 * effects[name]:.0f} %" for name in largest)
    console.print(f"Largest mean change of the tracking error when halved or doubled: {text}.", highlight=False)


def print_standing(rows: list[dict[str, Any]], console: Console) -> None:
    """Print how many of the eight pushes of each speed were survived."""
    table = Table("figure", "mode", "recovery steps", *(f"{speed:g} m/s" for speed in STANDING_PUSHES), box=None)
    for group in dict.fromkeys((row["clip"], row["mode"], row["variation"]) for row in rows):
        cases = [row for row in rows if (row["clip"], row["mode"], row["variation"]) == group]
        survived = [sum(row["finished"] for row in cases if row["push"]["speed_m_s"] == speed) for speed in STANDING_PUSHES]
        table.add_row(*group, *map(str, survived))
    console.print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("study", choices=STUDIES, help="what is varied")
    parser.add_argument("--mode", choices=MODES, help="mode of the filter")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--json", type=Path, help="write the results to this file")
    options = parser.parse_args()
    if not br.procedural.deepmimic_clips():
        raise SystemExit("DeepMimic's clips are not installed: pip install pybullet.")
    standing = options.study == "standing"
    found = standing_cases(options.mode) if standing else STUDIES[options.study](options.mode or "offline")
    cases = sorted(found, key=lambda case: (case.clip, case.style, case.mass, case.dt))
    console = make_console()
    with ProcessPoolExecutor(options.jobs) as pool:
        rows = list(track(pool.map(run_case, cases, chunksize=8), "filtering", len(cases), console=console))
    (print_standing if standing else print_variations)(rows, console)
    if options.json is not None:
        options.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
