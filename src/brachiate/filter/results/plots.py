"""Plots of original and filtered motion: CoM and ground reaction force over time."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from brachiate.filter.reference.reference import Reference, SourceCheck
from brachiate.filter.results.pose_strips import FILTERED, ORIGINAL
from brachiate.kinematics_batch import POSE_CHUNK, BatchKinematics
from brachiate.model.model import Model
from brachiate.motion.motion import Motion
from brachiate.show.plots import plot_panels
from brachiate.validation import Array


def plot_comparison(before: SourceCheck, reference: Reference, motion: Motion, path: str | PathLike[str] | None) -> Any:
    """CoM and ground reaction force over time.

    Args:
        before: Check of the source motion: its ground reaction force is the one that it would require.
        reference: Reference, with the original motion at its frames.
        motion: Filtered motion.
        path: File of the plot; None to return the Matplotlib figure.
    """
    return plot_panels(motion.times, comparison_panels(before, reference, motion), None if path is None else Path(path))


def comparison_panels(before: SourceCheck, reference: Reference, motion: Motion) -> dict[str, dict[str, Array]]:
    """CoM and ground reaction force of original and result at the frames of the result, by panel and line."""
    n, times, weight = len(motion), motion.times, before.weight
    required = [np.interp(times, before.times, before.required_force[:, k], left=np.nan, right=np.nan) for k in range(3)]
    force = sum((values[:, :3] for values in motion.forces.values()), np.zeros((n, 3)))
    com = _center_of_mass(reference.figure, n, reference.original_configurations)
    filtered_com = _center_of_mass(motion.figure, n, lambda frames: motion.q[frames])
    panels = {f"CoM {axis} [m]": {ORIGINAL: com[:, k], FILTERED: filtered_com[:, k]} for k, axis in enumerate("xyz")}
    for k, axis in ((2, "z"), (0, "x"), (1, "y")):
        panels[f"GRF {axis}\n[body weight]"] = {f"{ORIGINAL}, required": required[k] / weight, FILTERED: force[:, k] / weight}
    return panels


def _center_of_mass(figure: Model, count: int, configurations: Callable[[slice], Array]) -> Array:
    """CoM positions (f, 3) [m] of the first frames."""
    kinematics, com = BatchKinematics(figure), np.zeros((count, 3))
    for k in range(0, count, POSE_CHUNK):
        frames = slice(k, min(k + POSE_CHUNK, count))
        com[frames] = kinematics.center_of_mass(kinematics.poses(configurations(frames)))
    return com
