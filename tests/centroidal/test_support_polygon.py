"""Support polygon: edges of the convex hull, against SciPy, and with points that nearly lie on an edge."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial import ConvexHull

from brachiate.centroidal.support_polygon import hull_edges


def edges(points: np.ndarray) -> tuple[np.ndarray, np.ndarray, bool]:
    """Normals and offsets of the edges, and whether they enclose an area."""
    n = len(points)
    sol = SimpleNamespace(
        support_x=points[:, 0].copy(), support_y=points[:, 1].copy(), support_owner=np.zeros(n, np.int64),
        edge_normal=np.zeros((n + 4, 2)), edge_offset=np.zeros(n + 4), edge_owner=np.zeros((n + 4, 2), np.int64),
    )  # fmt: skip
    count, encloses = hull_edges(sol, n)
    return sol.edge_normal[:count], sol.edge_offset[:count], encloses


@pytest.mark.parametrize("seed", range(5))
def test_edges_are_those_of_the_convex_hull(seed):
    points = np.random.default_rng(seed).normal(size=(12, 2))
    normals, offsets, encloses = edges(points)
    assert encloses
    assert len(normals) == len(ConvexHull(points).vertices)
    assert np.linalg.norm(normals, axis=1) == pytest.approx(np.ones(len(normals)))
    outside = points @ normals.T - offsets
    assert outside.max() < 1e-12
    assert (np.isclose(outside, 0.0, atol=1e-12).sum(axis=0) == 2).all()  # two points on each edge


@pytest.mark.parametrize("off", [0.0, 3e-10, -3e-10])
def test_points_on_an_edge_are_no_corners(off):
    # Points of two soles along one line, up to less than a nanometer; near a corner, and far from it.
    corners = np.array([(0.0, 0.0), (0.3, 0.0), (0.3, 0.2), (0.0, 0.2)])
    between = [(0.01, -off), (0.2, -off), (0.3 + off, 0.01), (0.3 + off, 0.1), (0.29, 0.2 + off), (0.15, 0.2 + off), (-off, 0.19)]
    normals, _, encloses = edges(np.concatenate((corners, between)))
    assert encloses
    assert len(normals) == 4
