"""De Leva's segments laid along the bones of any skeleton, and cut where it has more joints than the tables have.

What lies along a line between two points is cut into slices; each goes to the link of the last joint below it. Slices are as heavy as makes
the segment's centre come out, and as broad as its radii of gyration say.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from brachiate.figures.body import MassProperties
from brachiate.model.anthropometry import Segment
from brachiate.model.shapes import frame_along
from brachiate.validation import Array

SLICES = 12
SLOPE = 1.9  # of the density along a segment, at most: beyond 2 an end would weigh less than nothing


def along(segment: Segment, start: Array, end: Array) -> MassProperties:
    """A segment from one point to another: lengthened or shortened, its mass as it is."""
    bone = end - start
    length = float(np.linalg.norm(bone))
    share = float(np.linalg.norm(segment.center)) / segment.length
    R = frame_along(-bone if segment.center[2] < 0 else bone)
    scale = (length / segment.length) ** 2
    return MassProperties(segment.mass, start + share * bone, R @ np.diag(scale * segment.inertia) @ R.T)


def slices(segment: Segment, start: Array, end: Array) -> list[MassProperties]:
    """The same in slices from one end to the other."""
    bone = end - start
    length = float(np.linalg.norm(bone))
    R = frame_along(bone)
    share = float(np.linalg.norm(segment.center)) / segment.length
    slope = float(np.clip(12.0 * (share - 0.5), -SLOPE, SLOPE))
    middles = (np.arange(SLICES) + 0.5) / SLICES
    weights = (1.0 + slope * (middles - 0.5)) / SLICES
    spread = weights @ (middles - weights @ middles) ** 2 * length**2
    broad = (length / segment.length) ** 2 * segment.inertia / segment.mass
    thin = np.array((max(broad[0] - spread, 0.2 * broad[0]), max(broad[1] - spread, 0.2 * broad[1]), broad[2]))
    # A solid's moments must not exceed the sum of the others.
    thin[2] = min(thin[2], 0.999 * (thin[0] + thin[1]))
    return [
        MassProperties(segment.mass * w, start + m * bone, R @ np.diag(segment.mass * w * thin) @ R.T)
        for w, m in zip(weights, middles, strict=True)
    ]


def together(parts: Iterable[MassProperties]) -> MassProperties | None:
    """All as one rigid piece; None if there is nothing."""
    whole = None
    for part in parts:
        whole = part if whole is None else whole.plus(part)
    return whole
