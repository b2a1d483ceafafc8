"""How tall a figure is."""

from __future__ import annotations

import numpy as np

from brachiate.anatomy.contact_points import spots_of
from brachiate.kinematics_batch import Many
from brachiate.model.model import Model

SHORTEST = 0.1  # [m]


def stature(model: Model) -> float:
    """From the lowest to the highest point of its shapes, as it stands in its neutral posture, or in that named ``stand`` [m]."""
    spots = spots_of(model)
    q = model.poses.get("stand", model.neutral)
    poses = Many(model).poses(np.atleast_2d(q))
    if len(spots) == 0:
        heights = poses.x[..., 2].ravel()
        return max(float(np.ptp(heights)), SHORTEST)
    z = np.array([poses.point(int(body), at)[0, 2] for body, at in zip(spots.body, spots.at, strict=True)])
    return max(float((z + spots.radius).max() - (z - spots.radius).min()), SHORTEST)
