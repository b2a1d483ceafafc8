"""Plots of original and filtered motion: CoM and ground reaction force over time."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from brachiate.evaluation.report import CheckReport
from brachiate.filter.results.pose_strips import FILTERED, ORIGINAL
from brachiate.kinematics_batch import BatchKinematics
from brachiate.motion.motion import Motion
from brachiate.show.plots import plot_panels
from brachiate.validation import Array


def plot_comparison(before: CheckReport, original: Motion, motion: Motion, path: str | PathLike[str] | None) -> Any:
    """CoM and ground reaction force over time.

    Args:
        before: Check report of the source motion: its ground reaction force is the one that it would require.
        original: Original motion at the frames of the reference.
        motion: Filtered motion.
        path: File of the plot; None to return the Matplotlib figure.
    """
    return plot_panels(motion.times, comparison_panels(before, original, motion), None if path is None else Path(path))


def comparison_panels(before: CheckReport, original: Motion, motion: Motion) -> dict[str, dict[str, Array]]:
    """CoM and ground reaction force of original and result at the frames of the result, by panel and line."""
    n, times = len(motion), motion.times
    weight, wrench = before.dynamics.weight, before.dynamics.required_wrench
    required = [np.interp(times, before.times, wrench[:, k], left=np.nan, right=np.nan) for k in range(3)]
    force = sum((values[:, :3] for values in motion.forces.values()), np.zeros((n, 3)))
    com, filtered_com = _center_of_mass(original)[:n], _center_of_mass(motion)
    panels = {f"CoM {axis} [m]": {ORIGINAL: com[:, k], FILTERED: filtered_com[:, k]} for k, axis in enumerate("xyz")}
    for k, axis in ((2, "z"), (0, "x"), (1, "y")):
        panels[f"GRF {axis}\n[body weight]"] = {f"{ORIGINAL}, required": required[k] / weight, FILTERED: force[:, k] / weight}
    return panels


def _center_of_mass(motion: Motion) -> Array:
    """CoM positions (f, 3) [m]."""
    kinematics = BatchKinematics(motion.figure)
    return kinematics.center_of_mass(kinematics.poses(motion.q))
