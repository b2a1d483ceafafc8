"""Fall detection: deviation of the pelvis from the reference, and runaway joints."""

from __future__ import annotations

import math
from typing import NamedTuple

from brachiate.deprecation import renamed_attribute

# Deviation of the pelvis from the (shifted) reference beyond which the figure has fallen: [m] downward, [m] horizontal, [rad].
MAX_DROP, MAX_DRIFT, MAX_TILT = 0.3, 0.6, math.radians(60.0)
MAX_JOINT_SPEED = 150.0  # [rad/s] of any joint: three times that of humans


class Failure(NamedTuple):
    """Time and reason of a fall, after which the filter stops."""

    time: float  # [s]
    reason: str

    why = renamed_attribute("why", "reason")

    def __str__(self) -> str:
        """Return one line."""
        return f"fell at {self.time:.2f} s: {self.reason}"


def nearness_of_a_fall(x: float, y: float, z: float, angle: float) -> float:
    """Deviation of the pelvis from the reference as a share of what counts as a fall."""
    return max(-z / MAX_DROP, math.hypot(x, y) / MAX_DRIFT, angle / MAX_TILT)


def fall_reason(x: float, y: float, z: float, angle: float) -> str | None:
    """Reason why a deviation of the pelvis from the reference, (x, y, z) [m] and angle [rad], is a fall; None if it is not."""
    if nearness_of_a_fall(x, y, z, angle) < 1.0:
        return None
    drift = math.hypot(x, y)
    causes = (
        (-z / MAX_DROP, f"the pelvis is {-100 * z:.0f} cm too low"),
        (drift / MAX_DRIFT, f"the pelvis has drifted by {100 * drift:.0f} cm"),
        (angle / MAX_TILT, f"the pelvis is rotated by {math.degrees(angle):.0f} degrees from the reference"),
    )
    return max(causes)[1]
