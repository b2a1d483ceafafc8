"""Cross products, velocity transforms, and rotations as matrices, quaternions and rotation vectors."""

from __future__ import annotations

import numpy as np

from brachiate.validation import Array


def cross(a: Array, b: Array) -> Array:
    """a × b, ten times as fast as np.cross for a single pair."""
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def cross_matrix(r: Array) -> Array:
    return np.array([[0, -r[2], r[1]], [r[2], 0, -r[0]], [-r[1], r[0], 0]])


def velocity_transform(r: Array) -> Array:
    """X (6, 6): velocity (linear, angular) of a rigid body at a point r from that at its origin."""
    X = np.eye(6)
    X[:3, 3:] = -cross_matrix(r)
    return X


def axis_rotation(axis: Array, angle: float) -> Array:
    """Rotation about a unit axis by an angle [rad], by Rodrigues' formula."""
    K = cross_matrix(axis)
    return np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K


def rotation_of(quaternion: Array) -> Array:
    w, *xyz = quaternion / np.linalg.norm(quaternion)
    K = cross_matrix(np.array(xyz))
    return np.eye(3) + 2 * w * K + 2 * K @ K


def quaternion_of(R: Array) -> Array:
    """Quaternion of a rotation, from the largest of 4w², 4x², 4y², 4z² for accuracy."""
    x, y, z = R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]
    columns = np.array([
        [1 + R[0, 0] + R[1, 1] + R[2, 2], x, y, z],
        [x, 1 + R[0, 0] - R[1, 1] - R[2, 2], R[0, 1] + R[1, 0], R[0, 2] + R[2, 0]],
        [y, R[0, 1] + R[1, 0], 1 - R[0, 0] + R[1, 1] - R[2, 2], R[1, 2] + R[2, 1]],
        [z, R[0, 2] + R[2, 0], R[1, 2] + R[2, 1], 1 - R[0, 0] - R[1, 1] + R[2, 2]],
    ])  # fmt: skip
    best = columns[int(np.argmax(np.diag(columns)))]  # the quaternion times four times its largest component
    return best / np.linalg.norm(best)


def rotation_vector(R: Array) -> Array:
    """Axis times angle of a rotation, at most π."""
    w, *xyz = quaternion_of(R)
    sine, sign = float(np.linalg.norm(xyz)), 1.0 if w >= 0 else -1.0
    angle = 2 * np.arctan2(sine, sign * w)
    return sign * np.array(xyz) * (angle / sine if sine > 0 else 2.0)


def rotation_vector_jacobian(w: Array) -> Array:
    """Derivative of the rotation vector w with a small rotation in child axes: (3, 3)."""
    K, t = cross_matrix(w), float(np.linalg.norm(w))
    c = 1 / t**2 - 1 / (2 * t * np.tan(t / 2)) if t > 0.01 else 1 / 12 + t**2 / 720 + t**4 / 30240
    return np.eye(3) + K / 2 + c * K @ K
