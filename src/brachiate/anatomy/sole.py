"""The sole of a foot: the flat of its underside, as four corners."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from brachiate.validation import Array

FLAT = np.cos(np.radians(8.0))  # faces that differ less are one
UNDER = 0.8  # cosine from straight down, as the figure stands: what a sole may face
BAND = 0.01  # [m] above the lowest point belongs to the sole
ROUND = 0.2  # of the footprint at least must be flat, else the foot is round below


@dataclass(frozen=True)
class Sole:
    """The underside of a foot, along the axes of its body.

    Args:
        axes: Forward, left and out of the foot upwards, as columns.
        corners: Heel right, heel left, toe right, toe left: (4, 3) [m].
        hull: Points of the foot that can touch something: (n, 3) [m].
    """

    axes: Array
    corners: Array
    hull: Array

    @property
    def heel(self) -> Array:
        """The middle of its rear edge [m]."""
        return self.corners[:2].mean(axis=0)

    @property
    def toe(self) -> Array:
        """The middle of its front edge [m]."""
        return self.corners[2:].mean(axis=0)


def sole_of(vertices: Array, forward: Array, up: Array, ankle: Array, leg: float, marked: float | None) -> tuple[Sole, str]:
    """Find a sole, and say what was assumed where there is nothing to see.

    Args:
        vertices: Surface points of the foot, along its axes [m].
        forward: Where its tip is, along its axes.
        up: What is up as the figure stands, along its axes.
        ankle: Along its axes [m].
        leg: Length of the leg [m]: feet without shapes are as large as those of people.
        marked: Height of a mark under the foot along ``up`` [m], if there is one.
    """
    if len(vertices) < 4 or np.ptp(vertices, axis=0).max() < 1e-3:
        low = marked if marked is not None else float(ankle @ up) - 0.08 * leg
        axes = _axes(forward, up)
        x, y = ankle @ axes[:, 0], ankle @ axes[:, 1]
        sides = [(x + a * leg, y + b * leg, low) for a in (-0.07, 0.2) for b in (-0.045, 0.045)]
        corners = np.array(sides) @ axes.T
        return Sole(axes, corners, corners), f"{low - float(ankle @ up):+.3f} m from the ankle" + (", a mark" if marked is not None else "")
    from scipy.spatial import ConvexHull, QhullError  # noqa: PLC0415  (slow to import)

    normal = up
    try:
        hull = ConvexHull(vertices)
        normal = _normal(vertices, hull, up)
        vertices = vertices[hull.vertices]
    except QhullError:
        pass  # flat or a line: then it is as it stands
    axes = _axes(forward, normal)
    seen = vertices @ axes
    low = float(seen[:, 2].min())
    touching = seen[seen[:, 2] < low + BAND]
    (x0, y0, _), (x1, y1, _) = touching.min(axis=0), touching.max(axis=0)
    corners = np.array([(x, y, low) for x in (x0, x1) for y in (y0, y1)]) @ axes.T
    return Sole(axes, corners, vertices), ""


def _axes(forward: Array, normal: Array) -> Array:
    x = forward - (forward @ normal) * normal
    x = x / np.linalg.norm(x)
    return np.stack((x, np.cross(normal, x), normal), axis=1)


def _normal(vertices: Array, hull: object, up: Array) -> Array:
    """Upwards across the largest flat face below, or as the foot stands if there is none."""
    normals = hull.equations[:, :3]  # type: ignore[attr-defined]
    a, b, c = (vertices[hull.simplices[:, i]] for i in range(3))  # type: ignore[attr-defined]
    areas = 0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1)
    below = normals @ -up > UNDER
    if not below.any():
        return up
    normals, areas = normals[below], areas[below]
    together = (normals @ normals.T > FLAT) @ areas
    best = int(np.argmax(together))
    if together[best] < ROUND * float((areas * (normals @ -up)).sum()):
        return up
    chosen = normals @ normals[best] > FLAT
    mean = -(areas[chosen, None] * normals[chosen]).sum(axis=0)
    mean = mean / np.linalg.norm(mean)
    return up if mean @ up > 1 - 1e-6 else mean
