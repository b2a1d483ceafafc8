"""Joint targets within a window: the reference, ahead by the lag of PD control, plus an offset that changes smoothly to a new value."""

from __future__ import annotations

import numpy as np

from brachiate.filter.sampling.motor_gains import LAG
from brachiate.kinematics_batch import BatchKinematics
from brachiate.validation import Array

INTERVAL = 5  # steps for which a target holds
BLEND = 0.04  # [s] in which the offset changes to its new value


class WindowTargets:
    """Joint targets of the windows of a reference.

    Args:
        kinematics: Of the figure.
        q: Configurations of the reference (f, nq).
        v: Velocities (f, nv).
        dt: Frame interval [s].
    """

    def __init__(self, kinematics: BatchKinematics, q: Array, v: Array, dt: float) -> None:
        self.kinematics, self.q, self.v, self.dt = kinematics, q, v, dt

    def targets(self, start: int, steps: int, before: Array, offset: Array) -> Array:
        """Targets (n, k, nq) of the steps after frame ``start``, for offsets (n, nv) that follow those before."""
        n, hold = len(offset), INTERVAL if steps % INTERVAL == 0 else 1
        k = steps // hold
        at = hold * (np.arange(k) + 0.5)
        frames = np.minimum(start + at.astype(int), len(self.q) - 1)
        x = np.clip(at * self.dt / BLEND, 0.0, 1.0)
        share = (x * x * (3.0 - 2.0 * x))[None, :, None]
        delta = LAG * self.v[frames] + (1.0 - share) * before[:, None] + share * offset[:, None]
        delta[..., :6] = 0.0
        base = np.broadcast_to(self.q[frames], (n, k, self.q.shape[1])).reshape(n * k, -1)
        return self.kinematics.integrate(np.ascontiguousarray(base), delta.reshape(n * k, -1)).reshape(n, k, -1)
