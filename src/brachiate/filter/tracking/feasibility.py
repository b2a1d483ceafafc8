"""Feasibility of a clip: deviation of the centroidal plan of the whole clip from the reference, before anything is simulated."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from brachiate.deprecation import renamed_attribute
from brachiate.validation import Array

FEASIBLE_DEVIATION, INFEASIBLE_DEVIATION = 0.02, 0.08  # [m] RMS of the CoM: below the first nearly feasible, above the second not
ROTATION_LENGTH = 1.0  # [m/rad] weight of rotation against displacement: about the size of a body


@dataclass(frozen=True, eq=False)
class Feasibility:
    """Deviation of the centroidal plan of a whole clip from its reference.

    Args:
        times: [s] of the plan's nodes.
        com_deviation: (n, 3) [m] of the center of mass.
        rotation: (n, 3) [rad] of the body as a whole.
    """

    times: Array
    com_deviation: Array
    rotation: Array

    off = renamed_attribute("off", "com_deviation")
    turned = renamed_attribute("turned", "rotation")
    far = renamed_attribute("far", "deviation")
    worst = renamed_attribute("worst", "worst_time")

    @property
    def deviation(self) -> Array:
        """Combined deviation of CoM and rotation at every node (n,) [m]."""
        return np.hypot(np.linalg.norm(self.com_deviation, axis=1), ROTATION_LENGTH * np.linalg.norm(self.rotation, axis=1))

    @property
    def score(self) -> float:
        """RMS deviation relative to INFEASIBLE_DEVIATION: 0 if the motion is feasible as it is, 1 if it is hardly so."""
        return float(np.sqrt(np.square(self.deviation).mean())) / INFEASIBLE_DEVIATION

    @property
    def worst_time(self) -> float:
        """Time of the largest deviation [s]."""
        return float(self.times[int(np.argmax(self.deviation))])

    @property
    def summary(self) -> dict[str, float]:
        """Score and deviations as plain numbers; units are in the names."""
        com, angle = 100.0 * np.linalg.norm(self.com_deviation, axis=1), np.degrees(np.linalg.norm(self.rotation, axis=1))
        return {
            "score": self.score,
            "com_max_cm": float(com.max()),
            "com_rms_cm": float(np.sqrt(np.square(com).mean())),
            "rotation_max_deg": float(angle.max()),
            "rotation_rms_deg": float(np.sqrt(np.square(angle).mean())),
            "worst_s": self.worst_time,
        }

    @property
    def verdict(self) -> str:
        """Word for the score."""
        deviation = INFEASIBLE_DEVIATION * self.score
        if deviation < FEASIBLE_DEVIATION:
            return "feasible"
        return "feasible with changes" if deviation < INFEASIBLE_DEVIATION else "infeasible"

    def __str__(self) -> str:
        """Return one line."""
        s = self.summary
        return (
            f"{self.verdict}: the centroidal plan moves the CoM by {s['com_max_cm']:.1f} cm and rotates the body by "
            f"{s['rotation_max_deg']:.0f} deg at most (worst at {s['worst_s']:.2f} s)"
        )
