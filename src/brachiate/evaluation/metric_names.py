"""What a report's numbers are called, for tables of all kinds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

#: By metric: what it is, and one or two numbers of a report's summary with their units.
ROWS: Mapping[str, tuple[str, str, str, str | None, str]] = {
    "residual": ("force nobody brings", "residual_rms_N", "N RMS", "residual_peak_N", "N peak"),
    "moment": ("moment nobody brings", "residual_moment_rms_Nm", "N·m RMS", "residual_moment_peak_Nm", "N·m peak"),
    "skate": ("sliding while in contact", "skate_mean_m_s", "m/s mean", "skate_share_above_0.05_m_s", "of it above 0.05"),
    "depth": ("in the ground", "penetration_mean_mm", "mm mean", "penetration_max_mm", "mm at most"),
    "float": ("above it, though it bears or must", "float_mean_mm", "mm mean", "float_max_mm", "mm at most"),
    "cone": ("force outside the cone of friction", "cone_share", "of the time", None, ""),
    "cop": ("pressure outside what touches", "cop_outside_rms_mm", "mm RMS", "cop_share", "of the time"),
    "torque": ("torque against its limit", "torque_peak_share_of_limit", "at most", None, ""),
    "limit": ("joints beyond their limits", "limit_max_deg", "deg at most", "limit_share", "of the time"),
    "flight": ("acceleration beside gravity in flight", "flight_acceleration_rms_m_s2", "m/s² RMS", "flight_share", "of the time"),
    "spin": ("moment about the centre of mass in flight", "flight_moment_rms_Nm", "N·m RMS", None, ""),
}
#: Metrics that tell a motion before something was done to it from one after.
TOLD = ("residual", "moment", "skate", "depth", "float", "flight")


def shown(value: float, unit: str) -> str:
    """A number as its unit has it."""
    if unit in ("of the time", "at most", "of it above 0.05"):
        return f"{100 * value:.0f} %"
    return f"{value:.3f}" if unit.startswith("m/s") else f"{value:.1f}"


def compared(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[tuple[str, str, str, str]]:
    """Rows of a table of two summaries: what, how it was, how it is, in which unit; a second number of the same has no words."""
    for what in TOLD:
        words, first, unit, second, other = ROWS[what]
        yield words, shown(before[first], unit), shown(after[first], unit), unit
        if second and second != "flight_share":
            yield "", shown(before[second], other), shown(after[second], other), other
