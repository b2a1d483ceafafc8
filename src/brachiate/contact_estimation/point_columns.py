"""Contact modes, confidences and forces of contact points over all frames, without memory for points that are never in contact."""

from __future__ import annotations

import numpy as np

from brachiate.contact_estimation.ground_reaction import NO_CONTACT
from brachiate.validation import Array


class PointColumns:
    """Contact mode, confidence and contact force of every point in every frame; no contact until stored.

    Args:
        frames: Number of frames f.
        points: Number of points s.
    """

    def __init__(self, frames: int, points: int) -> None:
        self._frames, self._points = frames, points
        self._mode: dict[int, Array] = {}  # (f,) by point
        self._confidence: dict[int, Array] = {}  # (f,)
        self._force: dict[int, Array] = {}  # (f, 3) [N]

    def store(self, frames: slice, mode: Array, confidence: Array, force: Array) -> None:
        """Set modes (n, s), confidences (n, s) and forces (n, s, 3) of some frames."""
        used = ((mode != NO_CONTACT) | (confidence != 0.0)).any(axis=0)
        for point in np.flatnonzero(used).tolist():
            if point not in self._mode:
                self._mode[point], self._confidence[point] = np.zeros(self._frames, np.int8), np.zeros(self._frames)
                self._force[point] = np.zeros((self._frames, 3))
        for point in self._mode:
            self._mode[point][frames] = mode[:, point]
            self._confidence[point][frames], self._force[point][frames] = confidence[:, point], force[:, point]

    def _dense(self, columns: dict[int, Array], frames: slice, row: tuple[int, ...], kind: type) -> Array:
        count = len(range(*frames.indices(self._frames)))
        out = np.zeros((count, self._points, *row), kind)
        for point, column in columns.items():
            out[:, point] = column[frames]
        return out

    def mode(self, frames: slice) -> Array:
        """Contact modes (n, s) of some frames."""
        return self._dense(self._mode, frames, (), np.int64)

    def confidence(self, frames: slice) -> Array:
        """Confidences (n, s) of some frames."""
        return self._dense(self._confidence, frames, (), np.float64)

    def force(self, frames: slice) -> Array:
        """Contact forces (n, s, 3) [N] of some frames."""
        return self._dense(self._force, frames, (3,), np.float64)

    def in_contact(self) -> Array:
        """Whether any point is in contact: (f,)."""
        found = np.zeros(self._frames, bool)
        for column in self._mode.values():
            found |= column != NO_CONTACT
        return found

    def points_with(self, mode: int) -> Array:
        """Points that ever have a contact mode, in increasing order."""
        return np.array(sorted(point for point, column in self._mode.items() if (column == mode).any()), np.int64)
