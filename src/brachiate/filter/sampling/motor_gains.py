"""Gains of motors and ranges of sampled joint offsets, by the strength of the joints."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from brachiate.anatomy.figure_height import figure_height
from brachiate.model.joints import FLOAT
from brachiate.model.model import Model
from brachiate.validation import Array

FULL_EFFORT_ERROR = 0.4  # [rad] error of a joint at which its motor gives its largest torque
LAG = 0.1  # [s] damping over stiffness
MAX_OFFSET = 0.25  # [rad] standard deviation of offsets of strong joints
MIN_OFFSET = 0.05  # [rad] and of weak ones, which move little mass
STRONG = 1.0 / 3.0  # torque limit, relative to the strongest joint, from which a joint is strong
STIFFNESS_WITHOUT_LIMITS = 0.5  # of weight times height, per rad, of joints without torque limits


class MotorGains(NamedTuple):
    """PD gains and standard deviations of offsets by coordinate; zero for the floating base and joints without motors."""

    stiffness: Array  # (nv,) [N·m/rad]
    damping: Array  # (nv,) [N·m·s/rad]
    deviation: Array  # (nv,) [rad]


def motor_gains(model: Model, gravity: float = 9.81) -> MotorGains:
    """Gains of a figure, by its own torque limits, whatever the factor on them is in the simulation."""
    effort = np.where(np.isfinite(model.effort), model.effort, np.nan)
    stiffness = effort / FULL_EFFORT_ERROR
    stiffness[np.isnan(stiffness)] = STIFFNESS_WITHOUT_LIMITS * model.mass * gravity * figure_height(model)
    for kind, k in zip(model.tree.kind.tolist(), model.tree.v_at.tolist(), strict=True):
        if kind == FLOAT:
            stiffness[k : k + 6] = 0.0
    share = np.clip(stiffness / max(stiffness.max(), 1e-9) / STRONG, 0.0, 1.0)
    deviation = np.where(stiffness > 0.0, np.maximum(MAX_OFFSET * share, MIN_OFFSET), 0.0)
    return MotorGains(stiffness, LAG * stiffness, deviation)
