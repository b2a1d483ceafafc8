"""What is wrong with a motion, as a table, a verdict and files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.markup import escape

from brachiate.cli.convert import figure_of
from brachiate.cli.describe import table_of, tell_guesses
from brachiate.evaluation.check import check
from brachiate.evaluation.metric_names import ROWS, shown
from brachiate.evaluation.report import BOUNDS, NEARLY, PHYSICAL, Report
from brachiate.motion.read import read_motion

COLORS = {PHYSICAL: "green", NEARLY: "yellow"}


def run(
    path: Path,
    reading: dict[str, Any],
    body: dict[str, Any],
    figure: str | None,
    judging: dict[str, Any],
    files: dict[str, Path | None],
    console: Console,
) -> None:
    """Check a motion and tell."""
    model = figure_of(figure, console) if figure is not None else None
    given = {key: value for key, value in reading.items() if value is not None}
    motion = read_motion(path, model, quiet=True, **body, **given)
    report = check(motion, **judging)
    tell_guesses(report.guesses, console)
    _tell(report, console)
    for what, write in (("json", report.save), ("plot", report.plot), ("save_contacts", report.labels.save)):
        out = files[what]
        if out is not None:
            write(out)
            console.print(f"  {escape(str(out))}", highlight=False)


def _tell(report: Report, console: Console) -> None:
    table = table_of(f"{report.motion.name}: {report.motion.duration:.2f} s, {len(report.times)} frames", {
        "what": "left", "how much": "left", "and": "left", "physical up to": "left",
    })  # fmt: skip
    s = report.summary
    for name, (what, first, unit, second, other) in ROWS.items():
        value = report.scores[name]
        bound = BOUNDS[name]
        color = "green" if value <= bound.physical else "yellow" if value <= bound.nearly else "red"
        more = f"{shown(s[second], other)} {other}" if second else ""
        much = f"[{color}]{shown(s[first], unit)} {unit}[/]"
        unknown = _unknown(report, name)
        table.add_row(what, *((unknown, "") if unknown else (much, more)), _bound(report, name))
    console.print(table)
    console.print(
        f"in contact {100 * s['contact_share']:.0f} % of the time; jerk {s['jerk_rms_m_s3']:.0f} m/s³ RMS"
        + (f"; forces of {s['frames_without_solution']:.0f} frames are not exact" if s["frames_without_solution"] else ""),
        highlight=False,
    )
    color = COLORS.get(report.verdict, "red")
    reasons = f": {', '.join(ROWS[name][0] for name in report.faults[:3])}" if report.faults else ""
    console.print(f"verdict: [bold {color}]{report.verdict}[/]{reasons}", highlight=False, soft_wrap=True)
    for moment in report.worst:
        console.print(
            f"  {moment.time:6.2f} s  {moment.part}: {moment.why} ({moment.times:.1f} times what is physical)",
            highlight=False,
            soft_wrap=True,
        )


def _unknown(report: Report, name: str) -> str:
    """Why nothing can be said about a metric, if that is so."""
    if name == "limit" and not report.limit_names:
        return "[dim]its joints have no limits[/]"
    if name == "torque" and not np.isfinite(report.frames.torque).any():
        return "[dim]its motors have no limits[/]"
    if name in ("flight", "spin") and not np.isfinite(report.frames.flight).any():
        return "[dim]it never flies[/]"
    return ""


def _bound(report: Report, name: str) -> str:
    """What a bound is in the unit of its row."""
    bound, weight, lever = BOUNDS[name].physical, *report.unit
    shown = {
        "residual": f"{bound * weight:.0f} N ({100 * bound:.0f} % of the weight)",
        "moment": f"{bound * lever:.1f} N·m",
        "spin": f"{bound * lever:.1f} N·m",
        "skate": f"{bound:g} m/s",
        "cone": f"{100 * bound:.0f} %",
        "torque": f"{100 * bound:.0f} %",
        "limit": f"{np.degrees(bound):.0f} deg",
        "flight": f"{bound:g} m/s²",
    }
    return shown.get(name, f"{1e3 * bound:.0f} mm")
