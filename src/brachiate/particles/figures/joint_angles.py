"""Joint angles of bodies whose orientations are known: from relative rotations, joint by joint."""

from __future__ import annotations

import numpy as np

from brachiate import rotations
from brachiate.model.joints import BALL, FLOAT, TURN, Joint
from brachiate.validation import Array

JOINTS = ("fixed", "revolute", "universal", "spherical", "free")  # types whose coordinates can be found


def fit_poses(reference: Array, masses: Array, positions: Array) -> tuple[Array, Array]:
    """Poses of a body that fit its particles best: rotations (f, 3, 3) and positions (f, 3) of its frame.

    Least sum of squared deviations weighted by mass (Kabsch), so momentum of deviations is zero.

    Args:
        reference: Points of the particles in the body (k, 3).
        masses: Their masses (k,).
        positions: Their positions (f, k, 3).
    """
    weights = masses / masses.sum()
    a, b = weights @ reference, np.einsum("k,fkc->fc", weights, positions)
    H = np.einsum("k,fkc,kd->fcd", weights, positions - b[:, None], reference - a)
    U, _, Vt = np.linalg.svd(H)
    sign = np.sign(np.linalg.det(U @ Vt))
    U[:, :, 2] *= sign[:, None]
    R = U @ Vt
    return R, b - R @ a


def joint_coordinates(joint: Joint, R: Array, p: Array) -> Array:
    """Coordinates (f, nq) of a joint from the rotations (f, 3, 3) and positions (f, 3) of its child against its frame in the parent."""
    kinds = [element.kind for element in joint.elements]
    if not kinds:
        return np.zeros((len(R), 0))
    if kinds == [FLOAT]:
        return np.concatenate([p, rotations.from_matrix(R)], axis=1)
    if kinds == [BALL]:
        return rotations.from_matrix(R)
    a = joint.elements[0].axis
    if kinds == [TURN]:
        return np.unwrap(_turn(R, a))[:, None]
    b = joint.elements[1].axis
    # R = R(a, s) R(b, t): it turns b as R(a, s) alone does, and its inverse turns a as R(b, -t) alone does.
    return np.unwrap(np.stack([_angle(a, b, R @ b), -_angle(b, a, np.swapaxes(R, 1, 2) @ a)], axis=1), axis=0)


def _turn(R: Array, a: Array) -> Array:
    """Angle about an axis of the rotation about it that is nearest."""
    q = rotations.from_matrix(R)
    return 2.0 * np.arctan2(q[:, 1:] @ a, q[:, 0])


def _angle(axis: Array, before: Array, after: Array) -> Array:
    """Angle about an axis from one direction to others (f, 3)."""
    u = before - (before @ axis) * axis
    return np.arctan2(after @ np.cross(axis, u), after @ u)
