"""Whether somebody has fallen: by how far the pelvis is from where it should be."""

from __future__ import annotations

import math
from typing import NamedTuple

LOW, ASTRAY, TURNED = 0.3, 0.6, math.radians(60.0)  # [m], [m], [rad] of the pelvis from where it should be: beyond, it has fallen
RUNAWAY = 150.0  # [rad/s] of a joint: three times what people's do


class Blame(NamedTuple):
    """When and why the filter gave up."""

    time: float  # [s]
    why: str

    def __str__(self) -> str:
        """Return one line."""
        return f"it fell at {self.time:.2f} s: {self.why}"


def why_fallen(x: float, y: float, z: float, turned: float) -> str | None:
    """Say why this is a fall, or return None: by how far the pelvis is off [m], and turned [rad]."""
    away = math.hypot(x, y)
    if -z < LOW and away < ASTRAY and turned < TURNED:
        return None
    causes = (
        (-z / LOW, f"the pelvis is {-100 * z:.0f} cm too low"),
        (away / ASTRAY, f"the pelvis is {100 * away:.0f} cm astray"),
        (turned / TURNED, f"the pelvis is turned by {math.degrees(turned):.0f} degrees from the reference"),
    )
    return max(causes)[1]
