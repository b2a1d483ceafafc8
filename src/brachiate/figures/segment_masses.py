"""Segment masses of de Leva [DL] laid along the bones of any skeleton, sliced where it has more joints than the tables have segments.

A segment between two points is cut into slices, each of which goes to the link of the last joint below it. The density varies linearly
along the segment so that its center of mass is right; the slices have the segment's radii of gyration.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from brachiate.figures.human_proportions import MassProperties
from brachiate.model.anthropometry import Segment
from brachiate.model.shapes import frame_along
from brachiate.validation import Array

SLICES = 12
MAX_DENSITY_SLOPE = 1.9  # along a segment, relative to the mean density: beyond 2 one end would have negative mass


def along(segment: Segment, start: Array, end: Array) -> MassProperties:
    """Mass properties of a segment from one point to another: scaled in length, not in mass."""
    bone = end - start
    length = float(np.linalg.norm(bone))
    share = float(np.linalg.norm(segment.center)) / segment.length
    R = frame_along(-bone if segment.center[2] < 0 else bone)
    scale = (length / segment.length) ** 2
    return MassProperties(segment.mass, start + share * bone, R @ np.diag(scale * segment.inertia) @ R.T)


def slices(segment: Segment, start: Array, end: Array) -> list[MassProperties]:
    """Mass properties of the slices of a segment from one point to another."""
    bone = end - start
    length = float(np.linalg.norm(bone))
    R = frame_along(bone)
    share = float(np.linalg.norm(segment.center)) / segment.length
    slope = float(np.clip(12.0 * (share - 0.5), -MAX_DENSITY_SLOPE, MAX_DENSITY_SLOPE))
    middles = (np.arange(SLICES) + 0.5) / SLICES
    weights = (1.0 + slope * (middles - 0.5)) / SLICES
    spread = weights @ (middles - weights @ middles) ** 2 * length**2
    broad = (length / segment.length) ** 2 * segment.inertia / segment.mass
    thin = np.array((max(broad[0] - spread, 0.2 * broad[0]), max(broad[1] - spread, 0.2 * broad[1]), broad[2]))
    # Triangle inequality of principal moments.
    thin[2] = min(thin[2], 0.999 * (thin[0] + thin[1]))
    return [
        MassProperties(segment.mass * w, start + m * bone, R @ np.diag(segment.mass * w * thin) @ R.T)
        for w, m in zip(weights, middles, strict=True)
    ]


def combine(parts: Iterable[MassProperties]) -> MassProperties | None:
    """Mass properties of all parts as one rigid body; None if there are none."""
    whole = None
    for part in parts:
        whole = part if whole is None else whole.plus(part)
    return whole
