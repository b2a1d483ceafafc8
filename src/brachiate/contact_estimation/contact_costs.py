"""Costs of contact modes (negative log-likelihoods): of height and speed of parts, and of the forces that contacts must provide."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from brachiate.contact_estimation.contact_confidence import share_of_weight
from brachiate.contact_estimation.cost_constants import (
    CORRELATION_TIME,
    FREE_COST,
    MAX_RESIDUAL_SHARE,
    NORMAL_SPEED_SCALE,
    RESIDUAL_SCALE,
    SPEED_SCALE,
    TAIL_COST,
    UNCARRIED_COST,
    UNCARRIED_SHARE,
)
from brachiate.contact_estimation.foot_modes import FootModes
from brachiate.contact_estimation.motion_dynamics import MotionDynamics
from brachiate.kinematics_batch import BatchKinematics
from brachiate.validation import Array

MAX_SOLE_HEIGHT = 0.03  # [m] of points of the sole above the lowest one of their part, in the neutral posture
SETS_AT_ONCE = 32  # of contact points, for which residuals are evaluated together


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
    return heavy_tailed(squares) - FREE_COST


def heavy_tailed(squares: Array) -> Array:
    """Half of the squares of normalized errors, and beyond TAIL_COST its logarithm: errors of captures are not normally distributed.

    It has no upper bound, so that of several parts far from the ground the nearest one is the cheapest.
    """
    half = 0.5 * squares
    return np.where(half < TAIL_COST, half, TAIL_COST * (1.0 + np.log(np.maximum(half, TAIL_COST) / TAIL_COST)))


def residual_cost(share: Array) -> Array:
    """Cost of a root residual, as a share of the weight: that of an error, and more where the body is not carried and does not fall."""
    share = np.minimum(share, MAX_RESIDUAL_SHARE)
    return 0.5 * (share / RESIDUAL_SCALE) ** 2 + UNCARRIED_COST * np.maximum(share - UNCARRIED_SHARE, 0.0) / (1.0 - UNCARRIED_SHARE)


def residual_costs(
    dynamics: MotionDynamics, modes: FootModes, others: Array, span: slice = slice(None), grips: Sequence[int] = ()
) -> Array:
    """Cost of the root residual of every combination of modes in a span of frames: (n, m).

    The force of a contact is within its friction cone: without contact the body must fall, with contact nothing may pull at it. It matters
    which feet are in contact, and hardly whether with heel, front or both, so feet in contact are taken as flat.

    Args:
        dynamics: Dynamics of the motion.
        modes: Combinations of modes of the feet.
        others: Other parts in contact: (n, p).
        span: Frames.
        grips: Other parts that grip.
    """
    stands = np.array([modes.in_contact(k) for k in range(len(modes.feet))], bool).reshape(len(modes.feet), -1).T
    combinations, points = np.unique(stands, axis=0), _sole_points(dynamics, modes)
    cost = np.zeros((len(others), len(modes.contact)))
    for first in range(0, len(combinations), SETS_AT_ONCE):
        some = combinations[first : first + SETS_AT_ONCE]
        sets = np.where(others, (1 << len(some)) - 1, 0)
        for j, feet in enumerate(some):
            for foot in np.flatnonzero(feet):
                sets[:, [part for parts in modes.feet[foot].ends for part in parts]] |= 1 << j
        share = share_of_weight(dynamics, dynamics.residuals_of_sets(sets, len(some), points, grips, span))
        residual = residual_cost(share)
        for j, feet in enumerate(some):
            cost[:, (stands == feet).all(axis=1)] = residual[:, j, None]
    return cost


def _sole_points(dynamics: MotionDynamics, modes: FootModes) -> Array:
    """Contact points that may be in contact: of feet those of the sole, all of other parts (s,)."""
    points, poses = dynamics.contact_points, BatchKinematics(dynamics.model).poses(dynamics.model.neutral[None])
    height = (poses.x[points.body, 0] + np.einsum("sij,sj->si", poses.R[points.body, 0], points.position))[:, 2] - points.radius
    chosen = np.ones(len(points), bool)
    for part in modes.parts:
        of_part = points.part == part
        chosen[of_part] = height[of_part] < height[of_part].min() + MAX_SOLE_HEIGHT
    return chosen
