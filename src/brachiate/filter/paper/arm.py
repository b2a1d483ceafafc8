"""The two-joint arm of [DF] VII-D: its root joint has no motor, so a reference that moves both joints as they please is impossible.

The filter keeps to the reference where there is a motor, and lets the root joint go as it must.
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import NamedTuple

import numpy as np

from brachiate import validation
from brachiate.figures.chains import arm2
from brachiate.filter.paper.filter import PaperFilter
from brachiate.filter.paper.settings import Settings
from brachiate.show import plots
from brachiate.validation import Array
from brachiate.world.world import World

JOINTS = ("shoulder", "elbow")
SWING = np.radians((30.0, 60.0))  # how far the joints of the reference go
PERIOD = np.array((4.0, 2.0))  # [s] and how long that takes them, there and back


class Filtered(NamedTuple):
    """Two joints over time, as wished and as they are: f times."""

    times: Array  # (f,) [s]
    reference: Array  # (f, 2) [rad] shoulder, elbow
    output: Array  # (f, 2) [rad]
    torque: Array  # (f, 2) [N·m] of the step that begins then; the shoulder has no motor


def reference_at(t: float) -> tuple[Array, Array, Array]:
    """Angles, velocities and accelerations of a motion that knows nothing of physics: each joint goes out and back, again and again."""
    rate = 2.0 * np.pi / PERIOD
    angle = 0.5 * SWING * (1.0 - np.cos(rate * t))
    return angle, 0.5 * SWING * rate * np.sin(rate * t), 0.5 * SWING * rate**2 * np.cos(rate * t)


def arm_example(seconds: float = 4.0, settings: Settings | None = None) -> Filtered:
    """Filter that motion for an arm of two rods that hangs from its shoulder.

    Args:
        seconds: How long.
        settings: Of the filter; by default the error of the joint without a motor counts for nothing.
    """
    seconds = validation.number(seconds, "seconds", above=0.0)
    settings = Settings(weights={"shoulder": 0.0}) if settings is None else settings
    world = World()
    world.add(arm2(), "arm")
    one = PaperFilter(world, "arm", settings)
    times = settings.step * np.arange(max(1, round(seconds / settings.step)) + 1)
    wished, angles, torques = np.zeros((3, len(times), 2))
    world.v = reference_at(0.0)[1]
    for n, t in enumerate(times):
        reference = reference_at(float(t))
        wished[n], angles[n] = reference[0], world.q
        torques[n] = one.step(*reference).torque
    return Filtered(times, wished, angles, torques)


def draw_arm(filtered: Filtered, folder: str | PathLike[str]) -> tuple[Path, Path]:
    """Draw the reference and the output, [DF] fig. 5 and 6, as two pictures in a folder."""
    paths = Path(folder) / "arm_reference.png", Path(folder) / "arm_output.png"
    for path, angles in zip(paths, (filtered.reference, filtered.output), strict=True):
        joints = {joint: np.degrees(angles[:, n]) for n, joint in enumerate(JOINTS)}
        plots.lines(filtered.times, {"angle [°]": joints}, path)
    return paths
