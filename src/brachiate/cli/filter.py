"""A motion made physically consistent, from the command line: what was assumed, how it was before and is after, and files."""

from __future__ import annotations

import math
import os
import sys
import webbrowser
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape

from brachiate import procedural
from brachiate.cli.convert import figure_of
from brachiate.cli.describe import table_of, tell_guesses
from brachiate.errors import ArgumentError, StateError, UnknownName
from brachiate.evaluation.check import check
from brachiate.evaluation.metric_names import compared
from brachiate.evaluation.report import Report
from brachiate.filter.offline import filter_motion
from brachiate.filter.reference.payloads import keep_of, load_of
from brachiate.filter.reference.preprocess import clean
from brachiate.filter.results.equations_of_motion import equations
from brachiate.filter.results.result import Filtered
from brachiate.filter.settings import load_settings
from brachiate.filter.tracking.disturbances import load_pushes, shove_of
from brachiate.motion.motion import Motion, motion_of
from brachiate.motion.read import read_motion

FELL = 3  # exit code
FILES = {
    "motion.npz": "motion, contacts and forces",
    "motion.bvh": "for Blender and others",
    "torques.csv": "of joints",
    "forces.csv": "of the ground",
    "metrics.json": "all numbers",
    "plot.png": "centre of mass and force of the ground",
    "poses.png": "original above, filtered below",
    "report.html": "numbers and pictures on one page, for a browser",
}
REASONS = 6  # that are told
#: How to say otherwise what has no option of its own name.
ELSEWHERE = {"ground": "--made-on", "smooth": "clean(smooth=...)", "cutoff": "check(cutoff=...)"}


def run(
    name: str,
    reading: dict[str, Any],
    body: dict[str, Any],
    figure: str | None,
    given: dict[str, Any],
    filtering: dict[str, Any],
    out: Path | None,
    console: Console,
    *,
    show: bool = False,
) -> int:
    """Filter a motion, tell, and write; returns the exit code.

    ``given``: what ground it was made on, and contacts. ``show``: whether to open the page that was written.
    """
    out = Path(f"{Path(name).stem}-filtered") if show and out is None else out
    pushes, table, settings = [shove_of(text) for text in filtering.pop("push")], filtering.pop("pushes"), filtering["settings"]
    filtering |= {"strength": strength_of(filtering["strength"]), "load": load_of(filtering["load"]), "keep": keep_of(filtering["keep"])}
    filtering["settings"] = None if settings is None else load_settings(settings)
    motion = motion_called(name, reading, body, figure, console)
    pushes += [] if table is None else load_pushes(table, motion.figure.links)
    with console.status("cleaning up ..."):
        before = check(motion, **given)
        live = filtering["mode"] == "online"  # then nothing is known beforehand
        reference = motion if live else clean(motion, **given)
    if live and any(value is not None for value in given.values()):
        raise ArgumentError("--mode online knows nothing of the motion beforehand: leave out --made-on and --contacts.")
    filtered = filter_motion(reference, pushes=pushes, **filtering)
    tell_guesses(filtered.reference.guesses, console, ELSEWHERE)
    tell(before, filtered, console)
    if out is not None:
        with console.status("writing ..."):
            written = filtered.save(out, motion)
        for path in written:
            console.print(f"  {escape(str(path))}  [dim]{FILES[path.name]}[/]", highlight=False, soft_wrap=True)
        if show and not opened(out / "report.html"):
            console.print(f"Nothing is here to show it with: open {escape(str(out / 'report.html'))} in a browser.", soft_wrap=True)
    if filtered.blame is None:
        return 0
    console.print(
        f"[bold red]gave up[/]: {escape(str(filtered.blame))}. What came before that is kept: {filtered.motion.duration:.2f} s of "
        f"{filtered.reference.times[-1] - filtered.reference.times[0]:.2f} s.",
        highlight=False,
        soft_wrap=True,
    )
    return FELL


def opened(path: Path) -> bool:
    """Open a page in the browser, if there is a screen for one; a browser for terminals would be in the way."""
    windows = sys.platform in ("win32", "darwin") or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))
    try:
        return windows and webbrowser.open(path.resolve().as_uri())
    except webbrowser.Error:
        return False


def strength_of(text: str) -> float:
    """A factor, or none for motors without limits."""
    if text.strip().lower() == "none":
        return math.inf
    try:
        factor = float(text)
    except ValueError:
        factor = math.nan
    if not factor > 0.0:
        raise ArgumentError(f"--strength: expected a number above 0, or none for motors without limits, got {text!r}.")
    return factor


def motion_called(name: str, reading: dict[str, Any], body: dict[str, Any], figure: str | None, console: Console) -> Motion:
    """A motion from a file, or a ready-made one by its name."""
    if name in procedural.MOVES and not Path(name).exists():
        if figure is not None:
            raise ArgumentError(f"{name!r} is a ready-made motion, of a person of its own: --figure is for files without a skeleton.")
        size = {} if body["height"] is None else {"height": body["height"]}
        return motion_of(procedural.make(name, **size), **{**body, "height": None})
    path = procedural.deepmimic_clips().get(name, Path(name))
    if not path.exists() and "." not in name and "/" not in name:
        raise UnknownName("file or ready-made motion", name, procedural.MOVES, "this folder or package")
    model = figure_of(figure, console) if figure is not None else None
    given = {key: value for key, value in reading.items() if value is not None}
    return read_motion(path, model, quiet=True, **body, **given)


def tell(before: Report, filtered: Filtered, console: Console) -> None:
    """Print the table of before and after, how closely the original is followed, and what that takes."""
    after, motion = filtered.check(), filtered.motion
    title = f"{motion.name}: {motion.duration:.2f} s, {len(motion)} steps"
    table = table_of(title, {"what": "left", "original": "right", "filtered": "right", "": "left"})
    for row in compared(before.summary, after.summary):
        table.add_row(*row)
    console.print(table)
    console.print(
        f"A smooth curve through the frames is looked at above, which knows nothing of impacts. {exactness(filtered)}",
        highlight=False,
        soft_wrap=True,
    )
    t = filtered.tracking
    console.print(
        f"joints are {t['mpjpe_global_cm']:.1f} cm from where they were on the average, {t['mpjpe_root_aligned_cm']:.1f} cm seen from the "
        f"root; their angles {t['joint_rms_deg']:.1f} deg RMS; the root is {t['drift_max_cm']:.1f} cm astray at most",
        highlight=False,
        soft_wrap=True,
    )
    if filtered.forecast is not None:
        console.print(f"by a plan of the whole: {filtered.forecast}", highlight=False, soft_wrap=True)
    most = sorted(filtered.effort_share.items(), key=lambda item: -item[1])[:4]
    torques = ", ".join(f"{name} {filtered.effort[name]:.0f} N·m ({100 * share:.0f} %)" for name, share in most)
    console.print(f"largest torques, of the body's own limits: {escape(torques) or 'no limit is known'}", highlight=False, soft_wrap=True)
    tell_reasons(filtered, console)


def tell_reasons(filtered: Filtered, console: Console) -> None:
    """Print what kept it from being the original, as far as it took longest."""
    longest = sorted(filtered.reasons, key=lambda reason: reason.start - reason.end)[:REASONS]
    for reason in sorted(longest, key=lambda reason: reason.start):
        console.print(f"  [dim]{escape(str(reason))}[/]", highlight=False, soft_wrap=True)
    if len(filtered.reasons) > len(longest):
        rest = len(filtered.reasons) - len(longest)
        console.print(f"  [dim]and {rest} shorter ones: see metrics.json[/]", highlight=False, soft_wrap=True)


def exactness(filtered: Filtered) -> str:
    """What is left of the equations of its own steps, in words."""
    if filtered.remark:
        return filtered.remark
    try:
        force, moment = equations(filtered).nobody_brings()
    except StateError as problem:
        return f"The equations of its own steps could not be looked at: {problem}"
    return f"In the steps of the simulation themselves nobody would have to bring more than {force:.0e} N and {moment:.0e} N·m."
