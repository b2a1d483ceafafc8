"""Summary of a plausibility check: metrics of a whole motion from those of its frames, which may be reduced piece by piece."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from brachiate.evaluation.metrics import FrameMetrics
from brachiate.validation import Array

SKATE_THRESHOLD = 0.05  # [m/s]
COP_ROUNDOFF = 1e-6  # [m]
LIMIT_ROUNDOFF = np.radians(0.1)  # [rad]


class ReducedMetrics(NamedTuple):
    """Metrics of frames as far as a summary needs them; of those that do not apply in every frame, the values where they do."""

    root_residual_force: Array  # (f,) [N]
    root_residual_moment: Array  # (f,) [N·m]
    foot_skate: Array  # [m/s]
    penetration: Array  # (f,) [m] of the deepest part
    foot_float: Array  # [m]
    friction_ratio: Array  # infinite if the required force must pull
    cop_outside: Array  # [m]
    in_contact: Array  # (f,) whether any point is in contact
    torque_share: Array  # largest
    limit_violation: Array  # (f,) [rad or m] largest
    in_flight: Array  # (f,)
    flight_acceleration: Array  # [m/s²]
    flight_moment: Array  # [N·m]
    jerk: Array  # (f,) [m/s³]

    @classmethod
    def joined(cls, parts: Sequence[ReducedMetrics]) -> ReducedMetrics:
        """Metrics of consecutive pieces of a motion."""
        return cls(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def reduce_metrics(frames: FrameMetrics, in_contact: Array) -> ReducedMetrics:
    """Reduce the metrics of frames, with or without contact (f,)."""
    m = frames
    return ReducedMetrics(
        m.root_residual_force,
        m.root_residual_moment,
        m.foot_skate[np.isfinite(m.foot_skate)],
        m.penetration.max(axis=1, initial=0.0),
        m.foot_float[np.isfinite(m.foot_float)],
        m.friction_ratio[~np.isnan(m.friction_ratio)],
        m.cop_outside[np.isfinite(m.cop_outside)],
        in_contact,
        np.array([largest(m.torque_share)]),
        np.nan_to_num(m.limit_violation).max(axis=1, initial=0.0),
        np.isfinite(m.flight_acceleration),
        m.flight_acceleration[np.isfinite(m.flight_acceleration)],
        m.flight_moment[np.isfinite(m.flight_moment)],
        m.jerk,
    )


def summarize(m: ReducedMetrics, unit: tuple[float, float], friction: float, unconverged_frames: int) -> dict[str, float]:
    """Metrics of the whole motion; keys with units as in :data:`brachiate.evaluation.metric_names.METRICS`.

    Args:
        m: Metrics of its frames.
        unit: Weight [N], and weight times CoM height [N·m].
        friction: Friction coefficient of the terrain.
        unconverged_frames: Number of frames in which the force estimation did not converge.
    """
    weight, weight_height = unit
    return {
        "root_residual_force_rms_N": rms(m.root_residual_force),
        "root_residual_force_peak_N": largest(m.root_residual_force),
        "root_residual_force_rms_percent_weight": 100.0 * rms(m.root_residual_force) / weight,
        "root_residual_force_peak_percent_weight": 100.0 * largest(m.root_residual_force) / weight,
        "root_residual_moment_rms_Nm": rms(m.root_residual_moment),
        "root_residual_moment_peak_Nm": largest(m.root_residual_moment),
        "root_residual_moment_rms_percent_weight_height": 100.0 * rms(m.root_residual_moment) / weight_height,
        "foot_skate_mean_m_s": mean(m.foot_skate),
        "foot_skate_share_above_0.05_m_s": mean(m.foot_skate > SKATE_THRESHOLD),
        "penetration_mean_mm": 1e3 * mean(m.penetration),
        "penetration_max_mm": 1e3 * largest(m.penetration),
        "foot_float_mean_mm": 1e3 * mean(m.foot_float),
        "foot_float_max_mm": 1e3 * largest(m.foot_float),
        "friction_cone_violation_share": mean(m.friction_ratio > friction * (1 + 1e-9)),
        "cop_outside_share": mean(m.cop_outside > COP_ROUNDOFF),
        "cop_outside_rms_mm": 1e3 * rms(m.cop_outside),
        "cop_outside_max_mm": 1e3 * largest(m.cop_outside),
        "contact_share": mean(m.in_contact),
        "torque_peak_share_of_limit": largest(m.torque_share),
        "joint_limit_violation_max_deg": float(np.degrees(largest(m.limit_violation))),
        "joint_limit_violation_share": mean(m.limit_violation > LIMIT_ROUNDOFF),
        "flight_share": mean(m.in_flight),
        "flight_acceleration_rms_m_s2": rms(m.flight_acceleration),
        "flight_moment_rms_Nm": rms(m.flight_moment),
        "flight_moment_rms_percent_weight_height": 100.0 * rms(m.flight_moment) / weight_height,
        "jerk_rms_m_s3": rms(m.jerk),
        "unconverged_frames": float(unconverged_frames),
    }


def metric_units(weight: float, com_height: Array) -> tuple[float, float]:
    """Weight [N], and weight times median CoM height above the ground [N·m], of the heights in all frames (f,) [m]."""
    return weight, weight * max(float(np.median(com_height)), 0.1)


def mean(x: Array) -> float:
    """Mean of the numbers; 0 without any."""
    return float(np.mean(x)) if np.size(x) else 0.0


def rms(x: Array) -> float:
    """Root mean square of the numbers; 0 without any."""
    return float(np.sqrt(np.mean(np.square(x)))) if np.size(x) else 0.0


def largest(x: Array) -> float:
    """Largest number that is not NaN; 0 without a finite one."""
    return float(np.nanmax(x)) if np.size(x) and np.isfinite(x).any() else 0.0
