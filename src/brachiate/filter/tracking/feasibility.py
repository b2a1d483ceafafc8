"""Forecast: how far a motion is from what the body as a whole can do, before anything is simulated."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from brachiate.validation import Array

EASY, HARD = 0.02, 0.08  # [m] of the centre of mass: what is less is nearly possible, what is more is not
TURN = 1.0  # [m/rad] by which turning counts as moving: a body is about so large


@dataclass(frozen=True, eq=False)
class Forecast:
    """A plan of the whole clip against the reference.

    Args:
        times: [s] of the plan's nodes.
        off: (n, 3) [m] of the centre of mass from the reference.
        turned: (n, 3) [rad] of the body as a whole.
    """

    times: Array
    off: Array
    turned: Array

    @property
    def far(self) -> Array:
        """How far it is at every node: the centre of mass and the turn together (n,) [m]."""
        return np.hypot(np.linalg.norm(self.off, axis=1), TURN * np.linalg.norm(self.turned, axis=1))

    @property
    def score(self) -> float:
        """0 for a motion that is possible as it is, 1 for one that is hardly so: root mean square of how far, by what is hard [m]."""
        return float(np.sqrt(np.square(self.far).mean())) / HARD

    @property
    def worst(self) -> float:
        """When it is farthest from possible [s]."""
        return float(self.times[int(np.argmax(self.far))])

    @property
    def summary(self) -> dict[str, float]:
        """As plain numbers; units are in the names."""
        off, turned = 100.0 * np.linalg.norm(self.off, axis=1), np.degrees(np.linalg.norm(self.turned, axis=1))
        return {
            "score": self.score,
            "centre_max_cm": float(off.max()),
            "centre_rms_cm": float(np.sqrt(np.square(off).mean())),
            "turn_max_deg": float(turned.max()),
            "turn_rms_deg": float(np.sqrt(np.square(turned).mean())),
            "worst_s": self.worst,
        }

    def __str__(self) -> str:
        """Return one line."""
        s, far = self.summary, HARD * self.score
        word = "possible nearly as it is" if far < EASY else "possible with changes" if far < HARD else "far from possible"
        return (
            f"{word}: the centre of mass has to be {s['centre_max_cm']:.1f} cm elsewhere at most, the body turned by "
            f"{s['turn_max_deg']:.0f} deg (worst at {s['worst_s']:.2f} s)"
        )
