"""Attempts at a motion: what was tried when the first run fell, and how it went."""

from __future__ import annotations

from typing import Any, NamedTuple

from brachiate.filter.tracking.fall_detection import Failure


class Attempt(NamedTuple):
    """What was tried, and how it went."""

    method: str
    failure: Failure | None  # None if the motion was finished
    mpjpe_cm: float  # of the frames that were simulated; NaN if there are none
    work_s: float  # seconds of one core, counted by steps
    remark: str = ""
    kept: bool = False  # whether it is the result

    def __str__(self) -> str:
        """Return one line."""
        outcome = "finished" if self.failure is None else str(self.failure)
        return f"{self.method}: {outcome}" + (f" ({self.remark})" if self.remark else "")

    @property
    def summary(self) -> dict[str, Any]:
        """Plain values."""
        failure = self.failure
        return {
            "method": self.method,
            "success": failure is None,
            "time_s": None if failure is None else failure.time,
            "reason": "" if failure is None else failure.reason,
            "mpjpe_global_cm": None if self.mpjpe_cm != self.mpjpe_cm else self.mpjpe_cm,
            "work_s": self.work_s,
            "remark": self.remark,
            "kept": self.kept,
        }
