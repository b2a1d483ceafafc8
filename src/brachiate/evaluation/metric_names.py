"""Names of metrics: one table of key, label, statistic and unit for console tables, metrics.json and HTML reports."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple


class Metric(NamedTuple):
    """A number of a check's summary: quantity, statistic and unit; shares are shown in percent."""

    label: str
    statistic: str
    unit: str

    @property
    def heading(self) -> str:
        """Statistic and unit, such as ``RMS [N]``."""
        return f"{self.statistic} [{self.unit}]"


#: Metrics by key of :attr:`brachiate.evaluation.report.CheckReport.summary`.
METRICS: Mapping[str, Metric] = {
    "root_residual_force_rms_N": Metric("root residual force", "RMS", "N"),
    "root_residual_force_peak_N": Metric("root residual force", "peak", "N"),
    "root_residual_force_rms_percent_weight": Metric("root residual force", "RMS", "% of weight"),
    "root_residual_force_peak_percent_weight": Metric("root residual force", "peak", "% of weight"),
    "root_residual_moment_rms_Nm": Metric("root residual moment", "RMS", "N·m"),
    "root_residual_moment_peak_Nm": Metric("root residual moment", "peak", "N·m"),
    "root_residual_moment_rms_percent_weight_height": Metric("root residual moment", "RMS", "% of weight × CoM height"),
    "foot_skate_mean_m_s": Metric("foot skate", "mean", "m/s"),
    "foot_skate_share_above_0.05_m_s": Metric("foot skate", "above 0.05 m/s", "% of contact"),
    "penetration_mean_mm": Metric("penetration", "mean", "mm"),
    "penetration_max_mm": Metric("penetration", "max", "mm"),
    "foot_float_mean_mm": Metric("foot float", "mean", "mm"),
    "foot_float_max_mm": Metric("foot float", "max", "mm"),
    "friction_cone_violation_share": Metric("force outside friction cone", "share", "% of time"),
    "cop_outside_rms_mm": Metric("CoP outside contact area", "RMS", "mm"),
    "cop_outside_max_mm": Metric("CoP outside contact area", "max", "mm"),
    "cop_outside_share": Metric("CoP outside contact area", "share", "% of time"),
    "contact_share": Metric("contact", "share", "% of time"),
    "torque_peak_share_of_limit": Metric("joint torque", "peak", "% of limit"),
    "joint_limit_violation_max_deg": Metric("joint limit violation", "max", "deg"),
    "joint_limit_violation_share": Metric("joint limit violation", "share", "% of time"),
    "flight_acceleration_rms_m_s2": Metric("flight acceleration error", "RMS", "m/s²"),
    "flight_share": Metric("flight", "share", "% of time"),
    "flight_moment_rms_Nm": Metric("flight moment error", "RMS", "N·m"),
    "flight_moment_rms_percent_weight_height": Metric("flight moment error", "RMS", "% of weight × CoM height"),
    "jerk_rms_m_s3": Metric("jerk", "RMS", "m/s³"),
    "unconverged_frames": Metric("frames without force solution", "number", "1"),
}
#: Rows of tables: criterion of the verdict → keys of one or two numbers.
ROWS: Mapping[str, tuple[str, ...]] = {
    "root_residual_force": ("root_residual_force_rms_N", "root_residual_force_peak_N"),
    "root_residual_moment": ("root_residual_moment_rms_Nm", "root_residual_moment_peak_Nm"),
    "foot_skate": ("foot_skate_mean_m_s", "foot_skate_share_above_0.05_m_s"),
    "penetration": ("penetration_mean_mm", "penetration_max_mm"),
    "foot_float": ("foot_float_mean_mm", "foot_float_max_mm"),
    "friction_cone": ("friction_cone_violation_share",),
    "center_of_pressure": ("cop_outside_rms_mm", "cop_outside_share"),
    "joint_torque": ("torque_peak_share_of_limit",),
    "joint_limit": ("joint_limit_violation_max_deg", "joint_limit_violation_share"),
    "flight_acceleration": ("flight_acceleration_rms_m_s2", "flight_share"),
    "flight_moment": ("flight_moment_rms_Nm",),
}
#: Keys that tables of a motion before and after a correction compare.
COMPARED = (
    "root_residual_force_rms_N", "root_residual_force_peak_N", "root_residual_moment_rms_Nm", "root_residual_moment_peak_Nm",
    "foot_skate_mean_m_s", "foot_skate_share_above_0.05_m_s", "penetration_mean_mm", "penetration_max_mm", "foot_float_mean_mm",
    "foot_float_max_mm", "flight_acceleration_rms_m_s2",
)  # fmt: skip
PERCENT_OF_SHARE = ("% of time", "% of limit", "% of contact")  # units whose values are stored as shares of 1


def label_of(criterion: str) -> str:
    """Label of a criterion of the verdict."""
    return METRICS[ROWS[criterion][0]].label


def format_value(key: str, value: float) -> str:
    """A number of a summary in the digits of its unit."""
    unit = METRICS[key].unit
    if unit in PERCENT_OF_SHARE:
        return f"{100 * value:.0f}"
    return f"{value:.3f}" if unit.startswith("m/s") else f"{value:.1f}"


def compare(
    before: Mapping[str, Any], after: Mapping[str, Any], keys: Sequence[str] = COMPARED
) -> Iterator[tuple[str, str, str, str]]:  # fmt: skip
    """Rows of a table of two summaries: label, statistic with unit, before, after; a label is given once."""
    last = ""
    for key in keys:
        metric = METRICS[key]
        yield (metric.label if metric.label != last else ""), metric.heading, format_value(key, before[key]), format_value(key, after[key])
        last = metric.label
