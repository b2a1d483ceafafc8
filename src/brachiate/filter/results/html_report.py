"""A page about a filtered motion, for browsers: how it was and is, pictures, torques, and what was assumed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from brachiate.evaluation.metric_names import compared
from brachiate.show.html import files, heading, picture, sheet, table, words

PICTURES = {
    "poses.png": "Postures of the original, and below them those of the filtered motion, at the same moments",
    "plot.png": "Centre of mass and force of the ground over time",
}
TRACKING = {
    "mpjpe_global_cm": ("joints from where they were, mean", "cm"),
    "mpjpe_root_aligned_cm": ("seen from the root", "cm"),
    "joint_rms_deg": ("angles of joints, RMS", "deg"),
    "drift_max_cm": ("root along the ground, at most", "cm"),
}


def page_of(metrics: Mapping[str, Any], folder: Path, names: Sequence[str]) -> str:
    """The page of a motion by all its figures of merit; pictures and other files are in the folder, by these names."""
    done, all_of_it = metrics["seconds"], metrics["seconds_of_reference"]
    outcome = words("Done from beginning to end.", "good")
    if not metrics["finished"]:
        outcome = words(f"Gave up: {metrics['why']}. What came before that is kept: {done:.2f} s of {all_of_it:.2f} s.", "bad")
    parts = [
        heading(f"{metrics['name']}, made physically consistent", 1),
        words(f"{done:.2f} s, by a body of {metrics['mass_kg']:.0f} kg.", "dim"),
        outcome,
        *([words(metrics["remark"])] if metrics["remark"] else []),
        picture(folder / "poses.png", PICTURES["poses.png"]),
        heading("Before and after"),
        table(("what", "original", "filtered", ""), compared(metrics["before"], metrics["after"]), (1, 2)),
        words("A smooth curve through the frames is looked at, which knows nothing of impacts: see br.check.", "dim"),
        picture(folder / "plot.png", PICTURES["plot.png"]),
        heading("How far from the original"),
        table(("what", "how far", ""), ((what, f"{metrics['tracking'][key]:.1f}", unit) for key, (what, unit) in TRACKING.items()), (1,)),
        heading("Largest torques"),
        table(("joint", "N·m", "of its own limit"), _torques(metrics), (1, 2)),
        heading("What was assumed"),
        table(("what", "as", "why"), ((guess["what"], guess["value"], guess["why"]) for guess in metrics["assumed"])),
        heading("Files"),
        files(names),
    ]
    return sheet(f"{metrics['name']}, filtered", parts)


def _torques(metrics: Mapping[str, Any]) -> Iterable[tuple[str, str, str]]:
    """The largest first, against what there is."""
    share = metrics["peak_torque_share_of_limit"]
    for name, torque in sorted(metrics["peak_torque_Nm"].items(), key=lambda item: (-share.get(item[0], 0.0), -item[1])):
        yield name.replace("_", " "), f"{torque:.0f}", f"{100 * share[name]:.0f} %" if name in share else "no limit"
