"""Height of a figure."""

from __future__ import annotations

import numpy as np

from brachiate.anatomy.contact_points import find_contact_points
from brachiate.kinematics_batch import BatchKinematics
from brachiate.model.model import Model

MIN_HEIGHT = 0.1  # [m]


def figure_height(model: Model) -> float:
    """Height between the lowest and the highest point of the shapes in the pose ``stand``, or else in the neutral pose [m]."""
    points = find_contact_points(model)
    q = model.poses.get("stand", model.neutral)
    poses = BatchKinematics(model).poses(np.atleast_2d(q))
    if len(points) == 0:
        heights = poses.x[..., 2].ravel()
        return max(float(np.ptp(heights)), MIN_HEIGHT)
    z = np.array([poses.point(int(body), position)[0, 2] for body, position in zip(points.body, points.position, strict=True)])
    return max(float((z + points.radius).max() - (z - points.radius).min()), MIN_HEIGHT)
