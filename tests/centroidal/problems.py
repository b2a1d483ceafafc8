"""Outlooks that plans are tested with."""

from __future__ import annotations

import numpy as np

from brachiate.centroidal.planner import STANDS, Planner

G, MASS, HEIGHT = 9.81, 65.0, 0.9
INERTIA = np.array([[9.0, 0.3, -0.2], [0.3, 8.5, 0.1], [-0.2, 0.1, 1.4]])


def foot_points(x, y, size=1.0):
    return np.array([[x - 0.06, y - 0.045, 0], [x + 0.14, y - 0.045, 0], [x + 0.14, y + 0.045, 0], [x - 0.06, y + 0.045, 0]]) * size


def put_patch(outlook, k, slot, points, foot=-1):
    outlook.patch[k, slot, : len(points)] = points
    outlook.points[k, slot], outlook.foot[k, slot] = len(points), foot


def standing(intervals=26, **options):
    """On two feet, the centre of mass over the middle of both."""
    planner = Planner(MASS, intervals=intervals, **options)
    O = planner.outlook
    O.inertia[:], O.how[:] = INERTIA, STANDS
    O.centre[:], O.weight[:, :2] = (0.04, 0.0, HEIGHT), 0.5
    for k in range(intervals):
        put_patch(O, k, 0, foot_points(0.0, 0.1), 0)
        put_patch(O, k, 1, foot_points(0.0, -0.1), 1)
    return planner
