"""Sole of a foot: the flat underside, as a rectangle of four corners."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from brachiate.validation import Array

SAME_FACE_COSINE = np.cos(np.radians(8.0))  # of the angle below which two hull faces are one
DOWNWARD_COSINE = 0.8  # of the angle between a sole and straight down, in the standing pose
CONTACT_BAND = 0.01  # [m] vertices within this height above the lowest belong to the sole
MIN_FLAT_SHARE = 0.2  # of the footprint: with less flat area the underside is round


@dataclass(frozen=True)
class Sole:
    """Underside of a foot, body axes.

    Args:
        axes: Forward, left and upward normal, as columns.
        corners: Heel right, heel left, toe right, toe left: (4, 3) [m].
        hull: Convex hull of the foot: (n, 3) [m].
    """

    axes: Array
    corners: Array
    hull: Array

    @property
    def heel(self) -> Array:
        """Middle of the rear edge: (3,) [m]."""
        return self.corners[:2].mean(axis=0)

    @property
    def toe(self) -> Array:
        """Middle of the front edge: (3,) [m]."""
        return self.corners[2:].mean(axis=0)


def fit_sole(vertices: Array, forward: Array, up: Array, ankle: Array, leg_length: float, mark_height: float | None) -> tuple[Sole, str]:
    """Fit a sole to the vertices of a foot; returns it, and what was assumed for a foot without a shape.

    Args:
        vertices: Surface points of the foot: (n, 3) [m], body axes.
        forward: Direction to the tip of the foot, body axes.
        up: Upward direction in the standing pose, body axes.
        ankle: Position of the ankle: (3,) [m], body axes.
        leg_length: Length of the leg [m]: the size of a foot without a shape follows from it, as for people.
        mark_height: Height of a sole frame along ``up`` [m], if there is one.
    """
    if len(vertices) < 4 or np.ptp(vertices, axis=0).max() < 1e-3:
        return _default_sole(forward, up, ankle, leg_length, mark_height)
    from scipy.spatial import ConvexHull, QhullError  # noqa: PLC0415  (slow to import)

    normal = up
    try:
        hull = ConvexHull(vertices)
        normal = _sole_normal(vertices, hull, up)
        vertices = vertices[hull.vertices]
    except QhullError:
        pass  # a flat foot or a line: normal of the standing pose
    axes = _sole_axes(forward, normal)
    points = vertices @ axes
    low = float(points[:, 2].min())
    lowest = points[points[:, 2] < low + CONTACT_BAND]
    (x0, y0, _), (x1, y1, _) = lowest.min(axis=0), lowest.max(axis=0)
    corners = np.array([(x, y, low) for x in (x0, x1) for y in (y0, y1)]) @ axes.T
    return Sole(axes, corners, vertices), ""


def _default_sole(forward: Array, up: Array, ankle: Array, leg_length: float, mark_height: float | None) -> tuple[Sole, str]:
    """Sole of human proportions under the ankle."""
    low = mark_height if mark_height is not None else float(ankle @ up) - 0.08 * leg_length
    axes = _sole_axes(forward, up)
    x, y = ankle @ axes[:, 0], ankle @ axes[:, 1]
    points = [(x + a * leg_length, y + b * leg_length, low) for a in (-0.07, 0.2) for b in (-0.045, 0.045)]
    corners = np.array(points) @ axes.T
    source = ", by the sole frame" if mark_height is not None else ""
    return Sole(axes, corners, corners), f"{low - float(ankle @ up):+.3f} m from the ankle{source}"


def _sole_axes(forward: Array, normal: Array) -> Array:
    x = forward - (forward @ normal) * normal
    x = x / np.linalg.norm(x)
    return np.stack((x, np.cross(normal, x), normal), axis=1)


def _sole_normal(vertices: Array, hull: object, up: Array) -> Array:
    """Upward normal of the largest flat face of the underside, or the upward direction if there is none."""
    normals = hull.equations[:, :3]  # type: ignore[attr-defined]
    a, b, c = (vertices[hull.simplices[:, i]] for i in range(3))  # type: ignore[attr-defined]
    areas = 0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1)
    downward = normals @ -up > DOWNWARD_COSINE
    if not downward.any():
        return up
    normals, areas = normals[downward], areas[downward]
    face_areas = (normals @ normals.T > SAME_FACE_COSINE) @ areas
    best = int(np.argmax(face_areas))
    if face_areas[best] < MIN_FLAT_SHARE * float((areas * (normals @ -up)).sum()):
        return up
    chosen = normals @ normals[best] > SAME_FACE_COSINE
    mean = -(areas[chosen, None] * normals[chosen]).sum(axis=0)
    mean = mean / np.linalg.norm(mean)
    return up if mean @ up > 1 - 1e-6 else mean
