"""Plots of original and filtered motion: CoM and ground reaction force over time."""

from __future__ import annotations

import os
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from brachiate.filter.reference.reference import SourceCheck
from brachiate.filter.results.pose_strips import FILTERED, ORIGINAL
from brachiate.motion.motion import Motion
from brachiate.show.panel_page import save_panels
from brachiate.show.plots import plot_panels
from brachiate.validation import Array


def plot_comparison(before: SourceCheck, motion: Motion, com: tuple[Array, Array], path: str | PathLike[str] | None) -> Any:
    """CoM and ground reaction force over time.

    Args:
        before: Check of the source motion: its ground reaction force is the one that it would require.
        motion: Filtered motion.
        com: CoM (f, 3) [m] of the original and of the filtered motion at its frames.
        path: File of the plot; None to return the Matplotlib figure.
    """
    panels = comparison_panels(before, motion, com)
    if path is None or Path(path).suffix.lower() not in ("", ".png"):
        return plot_panels(motion.times, panels, None if path is None else Path(path))
    save_panels(motion.times, panels, Path(path) if Path(path).suffix else Path(f"{os.fspath(path)}.png"))
    return path


def comparison_panels(before: SourceCheck, motion: Motion, com: tuple[Array, Array]) -> dict[str, dict[str, Array]]:
    """CoM and ground reaction force of original and result at the frames of the result, by panel and line."""
    n, times, weight = len(motion), motion.times, before.weight
    required = [np.interp(times, before.times, before.required_force[:, k], left=np.nan, right=np.nan) for k in range(3)]
    force = sum((values[:, :3] for values in motion.forces.values()), np.zeros((n, 3)))
    panels = {f"CoM {axis} [m]": {name: x[:, k] for name, x in zip((ORIGINAL, FILTERED), com, strict=True)} for k, axis in enumerate("xyz")}
    for k, axis in ((2, "z"), (0, "x"), (1, "y")):
        panels[f"GRF {axis}\n[body weight]"] = {f"{ORIGINAL}, required": required[k] / weight, FILTERED: force[:, k] / weight}
    return panels
