"""``brachiate check``: metrics, verdict and violations of a motion, on the terminal and in files."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.markup import escape

from brachiate.cli.tables import print_assumptions, table_of
from brachiate.evaluation.bounds import BOUNDS, NEARLY_PHYSICAL, PHYSICAL
from brachiate.evaluation.check import check
from brachiate.evaluation.metric_names import METRICS, ROWS, format_value, label_of
from brachiate.evaluation.report import CheckReport
from brachiate.io.atomic import check_writable
from brachiate.motion.motion import Motion

COLORS = {PHYSICAL: "green", NEARLY_PHYSICAL: "yellow"}


class CheckFiles(NamedTuple):
    """Files to write, if any."""

    json: Path | None = None
    plot: Path | None = None
    contacts: Path | None = None


def run(motion: Motion, arguments: dict[str, Any], files: CheckFiles, console: Console) -> None:
    """Check a motion, print the report, and write files."""
    for name, path in files._asdict().items():
        if path is not None:
            check_writable(path, f"the {name}")
    report = check(motion, **arguments)
    print_assumptions(report.assumptions, console)
    print_report(report, console)
    for path, write in zip(files, (report.save, report.plot, report.contacts.save), strict=True):
        if path is not None:
            write(path)
            console.print(f"  {escape(str(path))}", highlight=False)


def print_report(report: CheckReport, console: Console) -> None:
    """Print the table of metrics, the verdict and the violations."""
    table = table_of(f"{report.motion.name}: {report.motion.duration:.2f} s, {len(report.times)} frames", {
        "metric": "left", "value": "left", "": "left", "physical up to": "left",
    })  # fmt: skip
    s = report.summary
    for name, keys in ROWS.items():
        value = report.scores[name]
        bound = BOUNDS[name]
        color = "green" if value <= bound.physical else "yellow" if value <= bound.nearly else "red"
        first, *others = (_value(key, s[key]) for key in keys)
        unknown = _unknown(report, name)
        values = (unknown, "") if unknown else (f"[{color}]{first}[/]", "".join(others))
        table.add_row(label_of(name), *values, _bound(report, name))
    console.print(table)
    console.print(
        f"contact {100 * s['contact_share']:.0f} % of time; jerk {s['jerk_rms_m_s3']:.0f} m/s³ RMS"
        + (f"; force estimation not converged in {s['unconverged_frames']:.0f} frames" if s["unconverged_frames"] else ""),
        highlight=False,
    )
    color = COLORS.get(report.verdict, "red")
    reasons = f": {', '.join(label_of(name) for name in report.failed_metrics[:3])}" if report.failed_metrics else ""
    console.print(f"verdict: [bold {color}]{report.verdict}[/]{reasons}", highlight=False, soft_wrap=True)
    for violation in report.violations:
        console.print(
            f"  {violation.time:6.2f} s  {violation.part}: {violation.description} ({violation.ratio:.1f} x bound)",
            highlight=False,
            soft_wrap=True,
        )


def _value(key: str, value: float) -> str:
    """Value of a metric with unit and statistic, such as ``62.7 N RMS``."""
    metric = METRICS[key]
    return f"{format_value(key, value)} {metric.unit}{'' if metric.statistic == 'share' else f' {metric.statistic}'}"


def _unknown(report: CheckReport, name: str) -> str:
    """Why a metric is not available; empty if it is."""
    if name == "joint_limit" and not report.limit_names:
        return "[dim]no joint limits[/]"
    if name == "joint_torque" and not np.isfinite(report.frames.torque_share).any():
        return "[dim]no torque limits[/]"
    if name in ("flight_acceleration", "flight_moment") and not np.isfinite(report.frames.flight_acceleration).any():
        return "[dim]no flight phase[/]"
    return ""


def _bound(report: CheckReport, name: str) -> str:
    """Bound of a criterion in the unit of its row."""
    bound, weight, weight_height = BOUNDS[name].physical, *report.unit
    shown = {
        "root_residual_force": f"{bound * weight:.0f} N ({100 * bound:.0f} % of weight)",
        "root_residual_moment": f"{bound * weight_height:.1f} N·m",
        "flight_moment": f"{bound * weight_height:.1f} N·m",
        "foot_skate": f"{bound:g} m/s",
        "friction_cone": f"{100 * bound:.0f} %",
        "joint_torque": f"{100 * bound:.0f} %",
        "joint_limit": f"{np.degrees(bound):.0f} deg",
        "flight_acceleration": f"{bound:g} m/s²",
    }
    return shown.get(name, f"{1e3 * bound:.0f} mm")
