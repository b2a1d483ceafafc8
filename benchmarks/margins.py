"""How far the dynamics filter is from falling: ``python benchmarks/margins.py settings|bodies|pushes|standing [--json FILE]``.

``settings``: every gain, weight and tolerance halved and doubled, one at a time, and which of them matter most. ``bodies``: other masses,
grounds, steps and clean-ups. ``pushes``: a walk pushed in eight directions at four moments of a stride. ``standing``: human28 and
DeepMimic's figure stand still and are pushed in eight directions, as they catch themselves by steps of their own and as they do without,
in all modes if none is given. Clips are DeepMimic's, with PyBullet's data (``pip install pybullet``); one set of settings for all, and
motors without limits, but for those who stand, who are as strong as they are.
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
from clips import DEEPMIMIC, named

SIX = ("walk", "run", "spinkick", "jump", "kick", "punch")
FOUR = ("walk", "jump", "kick", "spinkick")
PUSHED, LASTING, STRIDE, FIRST = "spine1", 0.1, 1.25, 1.5  # link, [s], [s] of the walk, [s] of the first push
AS_IS, MATTER = "as it is", 12  # settings, and how many of them are told
SPEEDS = (0.2, 0.4)  # [m/s] that a push gives the whole body
HARDER = (0.2, 0.4, 0.6, 0.8, 1.0)  # [m/s] and one who stands
STANDS = {"human28": "spine2", "DeepMimic's": PUSHED}  # figures that stand still, and their chests
STILL, PUSHED_AT = 4.0, 1.0  # [s] for which they do, and when they are pushed
STEPPING = {"with": FilterSettings(), "without": FilterSettings(recovery_step_duration=0.0)}  # steps of their own


class Case(NamedTuple):
    """One clip under one change."""

    change: str
    clip: str
    settings: FilterSettings = FilterSettings()
    style: str = "default"
    mass: float = 1.0  # times its own
    friction: float | None = None
    feet: float = 1.0  # times as long and as wide
    slope: float = 0.0  # [deg]
    dt: float = 0.002
    push: tuple[float, float, float] | None = None  # speed [m/s], direction [rad], time [s]
    mode: str = "offline"
    torque_scale: float = math.inf  # times its own


@cache
def standing(figure: str) -> Reference:
    """Somebody who stands still."""
    first = br.procedural.sample_motion("squat") if figure == "human28" else named(DEEPMIMIC + "walk")[0]
    pose = first.q[0] if figure == "human28" else first.figure.poses.get("stand", first.figure.neutral)
    times = np.arange(0.0, STILL, 0.01)
    return make_reference(Motion(first.figure, times, np.tile(pose, (len(times), 1)), "stand"))


@cache
def reference(clip: str, style: str, mass: float, feet: float, dt: float) -> Reference:
    if clip in STANDS:
        return standing(clip)
    motion, hold = named(DEEPMIMIC + clip)
    if mass != 1.0:
        motion, hold = named(DEEPMIMIC + clip, mass=mass * motion.figure.mass)
    return make_reference(replace(motion, figure=with_feet(motion.figure, feet)), hold=hold, style=style, dt=dt)


def with_feet(model: Model, factor: float) -> Model:
    """The same figure with longer and wider feet: boxes, as DeepMimic's are."""
    if factor == 1.0:
        return model
    links = []
    for link in model.links.values():
        shapes = link.shapes
        if link.name.endswith("_foot"):
            shapes = tuple(replace(box, size=box.size * (factor, factor, 1.0)) for box in shapes if isinstance(box, Box))
            if len(shapes) != len(link.shapes):
                raise SystemExit(f"{link.name}: a foot that is no box cannot be made larger here.")
        links.append(replace(link, shapes=shapes))
    return Model(model.name, links, *model._parts()[1:])


def tried(case: Case) -> dict[str, Any]:
    """What becomes of it."""
    try:
        made = reference(case.clip, case.style, case.mass, case.feet, case.dt)
        pushes = []
        if case.push is not None:
            speed, way, at = case.push
            force = made.figure.mass * speed / LASTING
            pushes = [Push(STANDS.get(case.clip, PUSHED), (force * math.cos(way), force * math.sin(way), 0.0), at, LASTING)]
        ground = f"slope:{case.slope:g}" if case.slope else None
        done = filter_motion(
            made,
            terrain=ground,
            settings=case.settings,
            friction=case.friction,
            torque_scale=case.torque_scale,
            pushes=pushes,
            mode=case.mode,
            progress=False,
        )
        outcome = {"finished": done.success, "why": str(done.failure or ""), "own_steps": len(done.recovery_steps), **done.tracking}
    except BrachiateError as problem:
        outcome = {"finished": False, "why": str(problem), "mpjpe_global_cm": math.nan}
    return {"change": case.change, "clip": case.clip, "mode": case.mode, "push": case.push, **outcome}


def settings_cases(mode: str) -> Iterator[Case]:
    own = FilterSettings()
    yield from (Case(AS_IS, clip, own, mode=mode) for clip in SIX)
    for group, name in [("", f.name) for f in fields(own) if f.name != "plan"] + [("plan.", f.name) for f in fields(own.plan)]:
        for factor in (0.5, 2.0):
            place = own.plan if group else own
            value = factor * getattr(place, name)
            if name in ("friction_share", "least_push"):  # shares: nearer to all of it, and farther
                value = (1.0 - (1.0 - abs(getattr(place, name))) * factor) * math.copysign(1.0, getattr(place, name))
            changed = replace(place, **{name: value})
            settings = replace(own, plan=changed) if group else changed
            for clip in SIX:
                yield Case(f"{group}{name} x{factor:g}", clip, settings, mode=mode)  # type: ignore[arg-type]


def body_cases(mode: str) -> Iterator[Case]:
    for clip in FOUR:
        yield from (Case(f"mass x{m:g}", clip, mass=m, mode=mode) for m in (0.8, 1.2))
        yield from (Case(f"feet x{f:g}", clip, feet=f, mode=mode) for f in (0.85, 1.15))
        yield from (Case(f"friction {mu:g}", clip, friction=mu, mode=mode) for mu in (0.5, 0.65, 1.0))
        yield from (Case(f"step {1000 * dt:g} ms", clip, dt=dt, mode=mode) for dt in (0.001, 0.003, 0.004))
        yield from (Case(f"slope of {slope:g} degrees", clip, slope=slope, mode=mode) for slope in (-5.0, 5.0))
        yield from (Case(f"clean-up {style}", clip, style=style, mode=mode) for style in ("default", "light"))


def push_cases(mode: str) -> Iterator[Case]:
    for speed in SPEEDS:
        for phase in range(4):
            for way in range(8):
                push = speed, math.radians(45 * way), FIRST + phase * STRIDE / 4
                yield Case(f"{speed:g} m/s", "walk", push=push, mode=mode)


def standing_cases(mode: str | None) -> Iterator[Case]:
    for figure in STANDS:
        for each in (mode,) if mode else TRACKING_MODES:
            for name, settings in STEPPING.items():
                for speed in HARDER:
                    pushes = [(speed, math.radians(45 * way), PUSHED_AT) for way in range(8)]
                    yield from (Case(name, figure, settings, push=push, mode=each, torque_scale=1.0) for push in pushes)


STUDIES = {"settings": settings_cases, "bodies": body_cases, "pushes": push_cases, "standing": standing_cases}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("study", choices=STUDIES)
    parser.add_argument("--mode", choices=MODES)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    if not br.procedural.deepmimic_clips():
        raise SystemExit("DeepMimic's clips are not there: pip install pybullet.")
    stand = given.study == "standing"
    made = standing_cases(given.mode) if stand else STUDIES[given.study](given.mode or "offline")
    cases = sorted(made, key=lambda case: (case.clip, case.style, case.mass, case.dt))
    console = Console()
    with ProcessPoolExecutor(given.jobs) as pool:
        rows = list(track(pool.map(tried, cases, chunksize=8), "running", len(cases), console=console))
    (show_standing if stand else show)(rows, console)
    if given.json is not None:
        given.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


def off(row: dict[str, Any]) -> float:
    """How far joints are off, from where they were and from the root [cm]; who fell is far off."""
    return 0.5 * (row["mpjpe_global_cm"] + row["mpjpe_root_aligned_cm"]) if row["finished"] else 100.0


def show(rows: list[dict[str, Any]], console: Console) -> None:
    """Print what each change did, if anything fell, and how many changes all clips survived."""
    table = Table("change", "finished", "MPJPE [cm]", "fell", box=None)
    changes = [change for change in dict.fromkeys(row["change"] for row in rows) if change != AS_IS]
    kept = 0
    for change in changes:
        mine = [row for row in rows if row["change"] == change]
        fell = [row["clip"] for row in mine if not row["finished"]]
        kept += not fell
        if fell or len(changes) < 40:
            error = np.mean([row["mpjpe_global_cm"] for row in mine if row["finished"]] or [math.nan])
            table.add_row(change, f"{len(mine) - len(fell)} of {len(mine)}", f"{error:.1f}", ", ".join(dict.fromkeys(fell)))
    console.print(table)
    usual = {row["clip"]: off(row) for row in rows if row["change"] == AS_IS}
    if usual:
        by_name: dict[str, float] = {}
        for row in rows:
            name, change = row["change"].partition(" ")[0], off(row) / usual[row["clip"]] - 1.0
            by_name[name] = by_name.get(name, 0.0) + abs(change) / (2 * len(usual))
        most = sorted(by_name, key=lambda name: -by_name[name])[:MATTER]
        told = ", ".join(f"{name} {100 * by_name[name]:.0f} %" for name in most)
        console.print(f"Halved and doubled these change how near joints are most: {told}.", highlight=False)
    console.print(f"{kept} of {len(changes)} changes ({100 * kept / len(changes):.0f} %) keep all clips.", highlight=False)


def show_standing(rows: list[dict[str, Any]], console: Console) -> None:
    """Print how many pushes of eight were survived, by how fast they made the body."""
    table = Table("figure", "mode", "steps of its own", *(f"{speed:g} m/s" for speed in HARDER), box=None)
    for figure, mode, steps in dict.fromkeys((row["clip"], row["mode"], row["change"]) for row in rows):
        mine = [row for row in rows if (row["clip"], row["mode"], row["change"]) == (figure, mode, steps)]
        kept = [sum(row["finished"] for row in mine if row["push"][0] == speed) for speed in HARDER]
        table.add_row(figure, mode, steps, *map(str, kept))
    console.print(table)


if __name__ == "__main__":
    main()
