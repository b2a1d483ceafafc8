"""Plots of a motion before and after the filter."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from brachiate.evaluation.report import Report
from brachiate.filter.results.pose_strips import ORIGINAL, RESULT
from brachiate.kinematics_batch import Many
from brachiate.motion.motion import Motion
from brachiate.show.plots import lines
from brachiate.validation import Array


def plot_both(before: Report, original: Motion, motion: Motion, path: str | PathLike[str] | None) -> Any:
    """Centre of mass and force of the ground over time; of the original it is the force it would need, on the ground it was made on."""
    n = len(motion)
    weight, needed = before.track.weight, before.track.needed[:n, :3]
    force = sum((values[:, :3] for values in motion.forces.values()), np.zeros((n, 3)))
    was, now = _centres(original)[:n], _centres(motion)
    panels = {f"centre of mass\n{axis} [m]": {ORIGINAL: was[:, k], RESULT: now[:, k]} for k, axis in enumerate("xyz")}
    for k, axis in ((2, "up"), (0, "x"), (1, "y")):
        panels[f"force of the ground\n{axis} [weight]"] = {f"{ORIGINAL}, needed": needed[:, k] / weight, RESULT: force[:, k] / weight}
    return lines(motion.times, panels, None if path is None else Path(path))


def _centres(motion: Motion) -> Array:
    """Centres of mass: (f, 3) [m]."""
    many = Many(motion.figure)
    return many.centres(many.poses(motion.q))
