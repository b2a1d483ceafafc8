"""Feet with a rectangular sole, for tests of foot locking."""

from __future__ import annotations

import numpy as np

from brachiate.anatomy.feet import Foot
from brachiate.anatomy.sole import Sole

CORNERS = np.array([(-0.05, -0.04, 0.0), (-0.05, 0.04, 0.0), (0.2, -0.04, 0.0), (0.2, 0.04, 0.0)])  # heel and toes, ankle at the origin


def foot(hull: np.ndarray = CORNERS) -> Foot:
    return Foot("left", "left_foot", 0, Sole(np.eye(3), CORNERS, hull), CORNERS)
