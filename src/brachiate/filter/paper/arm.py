"""Two-joint arm of [DF] VII-D: its root joint has no motor, so that a reference that moves both joints freely is infeasible.

The filter tracks the reference at the actuated joint, and lets the root joint move as the dynamics require.
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import NamedTuple

import numpy as np

from brachiate import validation
from brachiate.figures.chains import arm2
from brachiate.filter.paper.filter import PaperFilter
from brachiate.filter.paper.settings import PaperSettings
from brachiate.show import plots
from brachiate.validation import Array
from brachiate.world.world import World

JOINTS = ("shoulder", "elbow")
SWING = np.radians((30.0, 60.0))  # [rad] amplitude of the reference
PERIOD = np.array((4.0, 2.0))  # [s] period of the reference


class ArmResult(NamedTuple):
    """Joint angles of reference and output over time: f samples."""

    times: Array  # (f,) [s]
    reference: Array  # (f, 2) [rad] shoulder, elbow
    output: Array  # (f, 2) [rad]
    torque: Array  # (f, 2) [N·m] of the step that starts then; the shoulder has no motor


def reference_at(t: float) -> tuple[Array, Array, Array]:
    """Angles, velocities and accelerations of the reference: both joints oscillate independently of each other."""
    rate = 2.0 * np.pi / PERIOD
    angle = 0.5 * SWING * (1.0 - np.cos(rate * t))
    return angle, 0.5 * SWING * rate * np.sin(rate * t), 0.5 * SWING * rate**2 * np.cos(rate * t)


def arm_example(seconds: float = 4.0, settings: PaperSettings | None = None) -> ArmResult:
    """Filter the reference for an arm of two rods that hangs from its shoulder.

    Args:
        seconds: Duration [s].
        settings: Settings of the filter. Default: the joint without a motor has weight 0.
    """
    seconds = validation.number(seconds, "seconds", above=0.0)
    settings = PaperSettings(weights={"shoulder": 0.0}) if settings is None else settings
    world = World()
    world.add(arm2(), "arm")
    paper_filter = PaperFilter(world, "arm", settings)
    times = settings.step * np.arange(max(1, round(seconds / settings.step)) + 1)
    targets, angles, torques = np.zeros((3, len(times), 2))
    world.v = reference_at(0.0)[1]
    for n, t in enumerate(times):
        reference = reference_at(float(t))
        targets[n], angles[n] = reference[0], world.q
        torques[n] = paper_filter.step(*reference).torque
    return ArmResult(times, targets, angles, torques)


def draw_arm(result: ArmResult, folder: str | PathLike[str]) -> tuple[Path, Path]:
    """Plot reference and output, [DF] fig. 5 and 6, as two pictures in a folder."""
    paths = Path(folder) / "arm_reference.png", Path(folder) / "arm_output.png"
    for path, angles in zip(paths, (result.reference, result.output), strict=True):
        joints = {joint: np.degrees(angles[:, n]) for n, joint in enumerate(JOINTS)}
        plots.plot_panels(result.times, {"angle [°]": joints}, path)
    return paths
