"""Pivot of a swinging handhold (ring, strap, rope): the point fixed to the hand that stays in place.

The rope continues in a straight line from the hand to its suspension, so the suspension is approximately fixed in the hand frame.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from brachiate.validation import Array

MAX_DISTANCE = 1.0  # [m] from the hand to the pivot
DISTANCE_WEIGHT = 0.05  # regularization: RMS motion [m] that 1 m of distance from the hand must save


class Pivot(NamedTuple):
    """Point of a body that is fixed in the world."""

    point: Array  # (3,) [m] in body axes
    position: Array  # (3,) [m] in the world
    distance: Array  # (f,) [m] deviation from that position


def fit_pivot(x: Array, R: Array, near: Array) -> Pivot | None:
    """Point of a body with pose x (f, 3), R (f, 3, 3) that moves least in the mean square, regularized towards ``near`` (3,).

    None if it is farther than ``MAX_DISTANCE``.
    """
    f = len(x)
    rows = np.concatenate([R.reshape(-1, 3), np.tile(-np.eye(3), (f, 1))], axis=1) / np.sqrt(f)
    regularization = np.concatenate([DISTANCE_WEIGHT * np.eye(3), np.zeros((3, 3))], axis=1)
    rhs = np.concatenate([-(x + R @ near).ravel() / np.sqrt(f), np.zeros(3)])
    solution = np.linalg.lstsq(np.concatenate([rows, regularization]), rhs, rcond=None)[0]
    point, position = near + solution[:3], solution[3:]
    if np.linalg.norm(solution[:3]) > MAX_DISTANCE:
        return None
    return Pivot(point, position, np.linalg.norm(x + R @ point - position, axis=1))
