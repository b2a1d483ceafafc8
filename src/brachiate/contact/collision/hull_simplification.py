"""Simplification of a convex hull: the hull of some of its vertices, as large as a stated error allows.

Meshes of robots have hulls with a thousand vertices, and the time of collision detection grows with their number.
"""

from __future__ import annotations

import numpy as np

from brachiate.validation import Array

MAX_EXACT_VERTICES = 64  # hulls with no more are left as they are
RELATIVE_TOLERANCE = 5e-3  # largest distance of a vertex from the planes of the faces that it is outside of, by the size of the hull


def simplification_tolerance(vertices: Array) -> float:
    """Error that is allowed for a hull [m]."""
    return RELATIVE_TOLERANCE * float(np.ptp(vertices, axis=0).max())


def simplified_vertices(vertices: Array, tolerance: float) -> Array:
    """Vertices whose hull has no other vertex farther outside the plane of a face than the tolerance.

    Begins with the extreme vertices along the axes and the principal axes, and adds those farthest outside a face until none is too far.

    Args:
        vertices: Of a convex hull: (n, 3) [m].
        tolerance: [m].
    """
    from scipy.spatial import ConvexHull  # noqa: PLC0415  (slow to import, needed for meshes only)

    principal = np.linalg.svd(vertices - vertices.mean(axis=0), full_matrices=False)[2]
    heights = vertices @ np.vstack((np.eye(3), principal)).T
    start = np.unique(np.concatenate((heights.argmin(axis=0), heights.argmax(axis=0))))
    hull = ConvexHull(vertices[start], incremental=True)
    chosen = set(start.tolist())
    while True:
        outside = vertices @ hull.equations[:, :3].T + hull.equations[:, 3]  # of every vertex, above every face
        farthest = np.unique(outside.argmax(axis=0)[outside.max(axis=0) > tolerance])
        new = [k for k in farthest.tolist() if k not in chosen]
        if not new:
            break
        chosen.update(new)
        hull.add_points(vertices[new])
    return hull.points[np.sort(hull.vertices)]
