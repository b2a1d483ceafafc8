"""HTML report of a filter result: metrics before and after, pictures, torques, deviations, assumptions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from brachiate.evaluation.metric_names import compare
from brachiate.show.html import files, heading, page, paragraph, table

PICTURES = {
    "poses.png": "Poses of the original (above) and the filtered motion (below) at the same times",
    "plot.png": "Center of mass (CoM) and ground reaction force (GRF) over time",
}
TRACKING = {
    "mpjpe_global_cm": ("MPJPE, global", "cm"),
    "mpjpe_root_aligned_cm": ("MPJPE, root-aligned", "cm"),
    "joint_rms_deg": ("joint angle error, RMS", "deg"),
    "drift_max_cm": ("root drift, max", "cm"),
}


def html_report(metrics: Mapping[str, Any], pictures: Mapping[str, str], names: Sequence[str]) -> str:
    """HTML page of a filter result.

    Args:
        metrics: As :meth:`FilterResult.metrics` returns them.
        pictures: HTML elements by the names of :data:`PICTURES`; those that are missing are left out.
        names: Names of the files that the page links to.
    """
    duration = metrics["duration_s"]
    outcome = paragraph("Finished.", "good")
    if not metrics["success"]:
        kept = f"{duration:.2f} s of {metrics['reference_duration_s']:.2f} s are kept"
        outcome = paragraph(f"Not finished: {metrics['failure']}. {kept}.", "bad")
    assumptions = ((entry["quantity"], entry["value"], entry["reason"]) for entry in metrics["assumptions"])
    parts = [
        heading(f"{metrics['name']}, filtered", 1),
        paragraph(f"{duration:.2f} s, body mass {metrics['mass_kg']:.0f} kg.", "dim"),
        outcome,
        *([paragraph(metrics["remark"])] if metrics["remark"] else []),
        pictures.get("poses.png", ""),
        *_attempts(metrics),
        heading("Physical consistency"),
        table(("metric", "", "original", "filtered"), compare(metrics["original"], metrics["filtered"]), (2, 3)),
        paragraph("The table evaluates a smooth spline through the frames, which does not resolve impacts: see br.check.", "dim"),
        pictures.get("plot.png", ""),
        heading("Tracking error"),
        table(
            ("metric", "value", "unit"), ((label, f"{metrics['tracking'][key]:.1f}", unit) for key, (label, unit) in TRACKING.items()), (1,)
        ),
        heading("Peak joint torques"),
        table(("joint", "N·m", "of limit"), _torques(metrics), (1, 2)),
        heading("Deviations"),
        table(("part", "cause", "from [s]", "to [s]", "error"), _deviations(metrics), (2, 3, 4)),
        heading("Assumptions"),
        table(("quantity", "value", "reason"), assumptions),
        heading("Files"),
        files(names),
    ]
    return page(f"{metrics['name']}, filtered", parts)


def _attempts(metrics: Mapping[str, Any]) -> Iterable[str]:
    """What was tried, if there was more than one attempt."""
    if metrics.get("attempts"):
        rows = (
            (a["method"], "finished" if a["success"] else a["reason"], a["remark"], "kept" if a["kept"] else "")
            for a in metrics["attempts"]
        )
        yield heading("Attempts")
        yield table(("attempt", "outcome", "", ""), rows)


def _torques(metrics: Mapping[str, Any]) -> Iterable[tuple[str, str, str]]:
    """Peak torque of each joint and its share of the limit, largest share first."""
    share = metrics["peak_torque_share_of_limit"]
    for name, torque in sorted(metrics["peak_torque_Nm"].items(), key=lambda item: (-share.get(item[0], 0.0), -item[1])):
        yield name.replace("_", " "), f"{torque:.0f}", f"{100 * share[name]:.0f} %" if name in share else "no limit"


def _deviations(metrics: Mapping[str, Any]) -> Iterable[tuple[str, str, str, str, str]]:
    """Deviations from the original in the order of their start times."""
    for entry in metrics["deviations"]:
        part, error = entry["part"].replace("_", " "), f"{entry['error']:.1f} {entry['unit']}"
        yield part, entry["cause"], f"{entry['start']:.2f}", f"{entry['end']:.2f}", error
