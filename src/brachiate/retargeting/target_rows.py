"""IK targets of a motion, row by row: assembled for some frames at a time, as those of a long motion need much memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from brachiate.anatomy.landmarks import BodyPoint
from brachiate.kinematics_batch import BodyPoints
from brachiate.retargeting.trajectory_ik import IkTargets
from brachiate.validation import Array


class TargetRow(NamedTuple):
    """Target of the vector from ``second`` to ``first``, or of the position of ``first``."""

    first: BodyPoint
    second: BodyPoint | None
    target: Array  # (f, 3)
    weight: Array  # (f, 3)


class TargetRows:
    """Targets of all frames.

    Args:
        rows: Targets of points and vectors.
        ground_points: Points that must not penetrate the ground, and their weights.
    """

    def __init__(self, rows: Sequence[TargetRow], ground_points: Sequence[tuple[BodyPoint, float]]) -> None:
        self._rows = rows
        self._index: dict[tuple[int, bytes], int] = {}
        self._body_points: list[BodyPoint] = []
        self._first = np.array([self._index_of(row.first) for row in rows])
        self._second = np.array([self._index_of(row.second) for row in rows])
        self._ground_points = np.array([self._index_of(point) for point, _ in ground_points], int)
        self._ground_weight = np.array([weight for _, weight in ground_points])

    def _index_of(self, point: BodyPoint | None) -> int:
        if point is None:
            return -1
        key = (point.body, point.position.tobytes())
        if key not in self._index:
            self._index[key] = len(self._body_points)
            self._body_points.append(point)
        return self._index[key]

    def frames(self, which: slice) -> IkTargets:
        """Targets of some of the frames."""
        body, position = (np.array(values) for values in zip(*self._body_points, strict=True))
        target, weight = (np.stack([getattr(row, what)[which] for row in self._rows], axis=1) for what in ("target", "weight"))
        return IkTargets(BodyPoints(body, position), self._first, self._second, target, weight, self._ground_points, self._ground_weight)
