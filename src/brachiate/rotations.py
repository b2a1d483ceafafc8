"""Batched rotations: unit quaternions (w, x, y, z) in the last axis of arrays of any shape."""

from __future__ import annotations

import numpy as np

from brachiate.validation import Array

IDENTITY = np.array((1.0, 0.0, 0.0, 0.0))
MIN_ANGLE = 1e-12  # [rad]


def product(p: Array, q: Array) -> Array:
    """Quaternion product: first q, then p."""
    a, b, c, d = p[..., 0], p[..., 1], p[..., 2], p[..., 3]
    e, f, g, h = q[..., 0], q[..., 1], q[..., 2], q[..., 3]
    out = np.empty((*np.broadcast_shapes(a.shape, e.shape), 4))
    out[..., 0] = a * e - b * f - c * g - d * h
    out[..., 1] = a * f + b * e + c * h - d * g
    out[..., 2] = a * g - b * h + c * e + d * f
    out[..., 3] = a * h + b * g - c * f + d * e
    return out


def inverse(q: Array) -> Array:
    """Inverse rotation (conjugate)."""
    return q * np.array((1.0, -1.0, -1.0, -1.0))


def rotate(q: Array, v: Array) -> Array:
    """Rotated vectors."""
    v = np.asarray(v)
    w, u = q[..., :1], q[..., 1:]
    t = 2.0 * cross(u, v)
    return v + w * t + cross(u, t)


def cross(a: Array, b: Array) -> Array:
    """Cross products of arrays, faster than ``np.cross``."""
    ax, ay, az = a[..., 0], a[..., 1], a[..., 2]
    bx, by, bz = b[..., 0], b[..., 1], b[..., 2]
    out = np.empty((*np.broadcast_shapes(ax.shape, bx.shape), 3))
    out[..., 0] = ay * bz - az * by
    out[..., 1] = az * bx - ax * bz
    out[..., 2] = ax * by - ay * bx
    return out


def about_axis(axis: int, angle: Array) -> Array:
    """Rotations about a coordinate axis by angles [rad]."""
    q = np.zeros((*np.shape(angle), 4))
    q[..., 0] = np.cos(0.5 * angle)
    q[..., 1 + axis] = np.sin(0.5 * angle)
    return q


def from_rotation_vector(v: Array) -> Array:
    """Quaternions of rotation vectors [rad] (exponential map)."""
    angle = np.linalg.norm(v, axis=-1, keepdims=True)
    # sin(a/2)/a = 1/2 - a²/48 where a is too small to divide by
    share = np.where(angle > 1e-4, np.sin(0.5 * angle) / np.where(angle > 1e-4, angle, 1.0), 0.5 - angle * angle / 48.0)
    return np.concatenate((np.cos(0.5 * angle), share * v), axis=-1)


def to_rotation_vector(q: Array) -> Array:
    """Rotation vectors [rad], of length π at most (logarithm)."""
    q = np.where(q[..., :1] < 0.0, -q, q)
    s = np.linalg.norm(q[..., 1:], axis=-1, keepdims=True)
    angle = 2.0 * np.arctan2(s, q[..., :1])
    return np.where(s > MIN_ANGLE, angle / np.where(s > MIN_ANGLE, s, 1.0), 2.0) * q[..., 1:]


def angle(q: Array) -> Array:
    """Rotation angles [rad], from 0 to π."""
    return 2.0 * np.arctan2(np.linalg.norm(q[..., 1:], axis=-1), np.abs(q[..., 0]))


def to_matrix(q: Array) -> Array:
    """Rotation matrices, (..., 3, 3)."""
    return np.ascontiguousarray(np.swapaxes(rotate(q[..., None, :], np.eye(3)), -1, -2))


def from_matrix(R: Array) -> Array:
    """Unit quaternions of rotation matrices, by the best conditioned of four formulas."""
    xx, yy, zz = R[..., 0, 0], R[..., 1, 1], R[..., 2, 2]
    x, y, z = R[..., 2, 1] - R[..., 1, 2], R[..., 0, 2] - R[..., 2, 0], R[..., 1, 0] - R[..., 0, 1]
    xy, yz, zx = R[..., 0, 1] + R[..., 1, 0], R[..., 1, 2] + R[..., 2, 1], R[..., 2, 0] + R[..., 0, 2]
    candidates = np.stack(
        (
            np.stack((1 + xx + yy + zz, x, y, z), axis=-1),
            np.stack((x, 1 + xx - yy - zz, xy, zx), axis=-1),
            np.stack((y, xy, 1 - xx + yy - zz, yz), axis=-1),
            np.stack((z, zx, yz, 1 - xx - yy + zz), axis=-1),
        ),
        axis=-2,
    )
    best = np.argmax(np.diagonal(candidates, axis1=-2, axis2=-1), axis=-1)
    q = np.take_along_axis(candidates, best[..., None, None], axis=-2)[..., 0, :]
    return q / np.linalg.norm(q, axis=-1, keepdims=True)


def unwrap(q: Array) -> Array:
    """Quaternions with signs that are continuous along the first axis."""
    flips = np.einsum("...i,...i", q[1:], q[:-1]) < 0.0
    signs = np.where(np.cumsum(flips, axis=0) % 2 == 1, -1.0, 1.0)
    return np.concatenate((q[:1], q[1:] * signs[..., None]))


def from_euler(order: str, angles: Array) -> Array:
    """Quaternions of intrinsic Euler angles [rad]: ``order`` such as ``"zyx"``, one angle a letter."""
    q = np.broadcast_to(IDENTITY, (*np.shape(angles)[:-1], 4))
    for k, letter in enumerate(order):
        q = product(q, about_axis("xyz".index(letter), angles[..., k]))
    return q


def to_euler(order: str, q: Array) -> Array:
    """Intrinsic Euler angles [rad] about three different axes (inverse of :func:`from_euler`), continuous along the first array axis.

    In gimbal lock (middle angle ±π/2) the last angle is 0.
    """
    i, j, k = ("xyz".index(letter) for letter in order)
    sign = 1.0 if (j - i) % 3 == 1 else -1.0  # cyclic
    R = to_matrix(q)
    s = np.clip(sign * R[..., i, k], -1.0, 1.0)
    locked = np.hypot(R[..., i, i], R[..., i, j]) < 1e-8
    first = np.where(locked, np.arctan2(sign * R[..., k, j], R[..., j, j]), np.arctan2(-sign * R[..., j, k], R[..., k, k]))
    last = np.where(locked, 0.0, np.arctan2(-sign * R[..., i, j], R[..., i, i]))
    middle = np.arctan2(s, np.hypot(R[..., i, i], R[..., i, j]))
    return _nearest(np.stack((first, middle, last), axis=-1))


def _nearest(angles: Array) -> Array:
    """Of the equivalent triples of angles those nearest to the previous frame."""
    if angles.ndim == 1:
        return angles
    out = angles.copy()
    flipped = np.stack((angles[..., 0] + np.pi, np.pi - angles[..., 1], angles[..., 2] + np.pi), axis=-1)
    for f in range(1, len(out)):
        last = out[f - 1]
        one, two = (x + 2.0 * np.pi * np.round((last - x) / (2.0 * np.pi)) for x in (angles[f], flipped[f]))
        flip = np.abs(two - last).sum(axis=-1, keepdims=True) < np.abs(one - last).sum(axis=-1, keepdims=True)
        out[f] = np.where(flip, two, one)
    return out
