"""Costs of contact modes (negative log-likelihoods): of height and speed of parts, and of the forces that contacts must provide."""

from __future__ import annotations

import numpy as np

from brachiate.contact_estimation.contact_confidence import residual_share
from brachiate.contact_estimation.foot_modes import FootModes
from brachiate.contact_estimation.ground_reaction import SUPPORT
from brachiate.contact_estimation.motion_dynamics import MotionDynamics
from brachiate.validation import Array

CORRELATION_TIME = 0.02  # [s] of the errors of captured motion: costs of frames count by their duration relative to it
SPEED_SCALE, NORMAL_SPEED_SCALE = 0.3, 0.25  # [m/s] of a part in contact, along and normal to the ground
FREE_COST = 4.0  # of a part that is free: free parts have any height and speed
MAX_KINEMATIC_COST = 16.0  # of a part in contact
RESIDUAL_SCALE, MAX_RESIDUAL_COST = 0.15, 8.0  # of the weight: error of the forces that captured motion requires


def frame_weights(times: Array) -> Array:
    """Weight of the costs of every frame: its duration relative to the correlation time (f,)."""
    return np.gradient(times) / CORRELATION_TIME if len(times) > 1 else np.ones(1)


def kinematic_cost(height: Array, tangential_speed: Array, normal_velocity: Array, height_scale: float) -> Array:
    """Cost of a part in contact, beyond that of a free one: (f,).

    Args:
        height: Of its lowest point above the ground [m]; below it is as good as on it, as the floor is uncertain.
        tangential_speed, normal_velocity: Of this point [m/s].
        height_scale: Uncertainty of its height in contact [m].
    """
    above = np.maximum(height, 0.0) / height_scale
    squares = above**2 + (tangential_speed / SPEED_SCALE) ** 2 + (normal_velocity / NORMAL_SPEED_SCALE) ** 2
    return np.minimum(0.5 * squares, MAX_KINEMATIC_COST) - FREE_COST


def residual_costs(dynamics: MotionDynamics, modes: FootModes, others: Array) -> Array:
    """Cost of the root residual of every combination of modes: (f, m).

    The force of a contact is within its friction cone: without contact the body must fall, with contact nothing may pull at it. It matters
    which feet are in contact, and hardly whether with heel, front or both, so feet in contact are taken as flat.

    Args:
        dynamics: Dynamics of the motion; its contact forces are those of the last combination afterwards.
        modes: Combinations of modes of the feet.
        others: Other parts in contact: (f, p).
    """
    stands = np.array([modes.in_contact(k) for k in range(len(modes.feet))], bool).reshape(len(modes.feet), -1).T
    part_of_point, cost = dynamics.contact_points.part, np.zeros((len(dynamics), len(modes.contact)))
    for feet in np.unique(stands, axis=0):
        active = others.copy()
        for foot in np.flatnonzero(feet):
            active[:, [part for parts in modes.feet[foot].ends for part in parts]] = True
        points = active[:, part_of_point]
        dynamics.estimate_forces(np.where(points, SUPPORT, 0).astype(np.int64), points.astype(float))
        residual = np.minimum(0.5 * (residual_share(dynamics) / RESIDUAL_SCALE) ** 2, MAX_RESIDUAL_COST)
        cost[:, (stands == feet).all(axis=1)] = residual[:, None]
    return cost
