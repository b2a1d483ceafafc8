"""Rotations by the thousand: unit quaternions (w, x, y, z) in the last axis of arrays of any shape."""

from __future__ import annotations

import numpy as np

from brachiate.validation import Array

NONE = np.array((1.0, 0.0, 0.0, 0.0))
SMALL = 1e-12  # [rad]


def product(p: Array, q: Array) -> Array:
    """First q, then p: the rotation of both."""
    a, b, c, d = np.moveaxis(p, -1, 0)
    e, f, g, h = np.moveaxis(q, -1, 0)
    return np.stack(
        (
            a * e - b * f - c * g - d * h,
            a * f + b * e + c * h - d * g,
            a * g - b * h + c * e + d * f,
            a * h + b * g - c * f + d * e,
        ),
        axis=-1,
    )


def inverse(q: Array) -> Array:
    """The rotation back."""
    return q * np.array((1.0, -1.0, -1.0, -1.0))


def turned(q: Array, v: Array) -> Array:
    """Vectors, rotated."""
    w, u = q[..., :1], q[..., 1:]
    t = 2.0 * np.cross(u, v)
    return v + w * t + np.cross(u, t)


def about(axis: int, angle: Array) -> Array:
    """Rotations about a coordinate axis by angles [rad]."""
    q = np.zeros((*np.shape(angle), 4))
    q[..., 0] = np.cos(0.5 * angle)
    q[..., 1 + axis] = np.sin(0.5 * angle)
    return q


def from_vector(v: Array) -> Array:
    """Rotations about vectors by their lengths [rad]."""
    angle = np.linalg.norm(v, axis=-1, keepdims=True)
    # sin(a/2)/a = 1/2 - a²/48 where a is too small to divide by
    share = np.where(angle > 1e-4, np.sin(0.5 * angle) / np.where(angle > 1e-4, angle, 1.0), 0.5 - angle * angle / 48.0)
    return np.concatenate((np.cos(0.5 * angle), share * v), axis=-1)


def to_vector(q: Array) -> Array:
    """Vectors to rotate about, as long as the angle [rad], which is π at most."""
    q = np.where(q[..., :1] < 0.0, -q, q)
    s = np.linalg.norm(q[..., 1:], axis=-1, keepdims=True)
    angle = 2.0 * np.arctan2(s, q[..., :1])
    return np.where(s > SMALL, angle / np.where(s > SMALL, s, 1.0), 2.0) * q[..., 1:]


def angle(q: Array) -> Array:
    """How far each rotates [rad], from 0 to π."""
    return 2.0 * np.arctan2(np.linalg.norm(q[..., 1:], axis=-1), np.abs(q[..., 0]))


def matrix(q: Array) -> Array:
    """Rotation matrices, (..., 3, 3)."""
    return np.stack([turned(q, e) for e in np.eye(3)], axis=-1)


def from_matrix(R: Array) -> Array:
    """Unit quaternions of rotation matrices, by the largest of four ways to find them."""
    xx, yy, zz = R[..., 0, 0], R[..., 1, 1], R[..., 2, 2]
    x, y, z = R[..., 2, 1] - R[..., 1, 2], R[..., 0, 2] - R[..., 2, 0], R[..., 1, 0] - R[..., 0, 1]
    xy, yz, zx = R[..., 0, 1] + R[..., 1, 0], R[..., 1, 2] + R[..., 2, 1], R[..., 2, 0] + R[..., 0, 2]
    ways = np.stack(
        (
            np.stack((1 + xx + yy + zz, x, y, z), axis=-1),
            np.stack((x, 1 + xx - yy - zz, xy, zx), axis=-1),
            np.stack((y, xy, 1 - xx + yy - zz, yz), axis=-1),
            np.stack((z, zx, yz, 1 - xx - yy + zz), axis=-1),
        ),
        axis=-2,
    )
    best = np.argmax(np.diagonal(ways, axis1=-2, axis2=-1), axis=-1)
    q = np.take_along_axis(ways, best[..., None, None], axis=-2)[..., 0, :]
    return q / np.linalg.norm(q, axis=-1, keepdims=True)


def steady(q: Array) -> Array:
    """The same rotations with signs along the first axis such that neighbours are near each other."""
    flips = np.einsum("...i,...i", q[1:], q[:-1]) < 0.0
    signs = np.where(np.cumsum(flips, axis=0) % 2 == 1, -1.0, 1.0)
    return np.concatenate((q[:1], q[1:] * signs[..., None]))


def from_euler(order: str, angles: Array) -> Array:
    """Rotations about axes that turn along: ``order`` such as ``"zyx"``, one angle [rad] for each letter."""
    q = np.broadcast_to(NONE, (*np.shape(angles)[:-1], 4))
    for k, letter in enumerate(order):
        q = product(q, about("xyz".index(letter), angles[..., k]))
    return q


def to_euler(order: str, q: Array) -> Array:
    """Angles [rad] of :func:`from_euler` for three different axes; along the first axis they do not jump where they need not.

    At a right angle of the middle one only the sum of the others is known: the last is then 0.
    """
    i, j, k = ("xyz".index(letter) for letter in order)
    sign = 1.0 if (j - i) % 3 == 1 else -1.0  # cyclic
    R = matrix(q)
    s = np.clip(sign * R[..., i, k], -1.0, 1.0)
    locked = np.hypot(R[..., i, i], R[..., i, j]) < 1e-8
    first = np.where(locked, np.arctan2(sign * R[..., k, j], R[..., j, j]), np.arctan2(-sign * R[..., j, k], R[..., k, k]))
    last = np.where(locked, 0.0, np.arctan2(-sign * R[..., i, j], R[..., i, i]))
    middle = np.arctan2(s, np.hypot(R[..., i, i], R[..., i, j]))
    return _nearest(np.stack((first, middle, last), axis=-1))


def _nearest(angles: Array) -> Array:
    """Of the two triples that are the same rotation, and of all turns, those nearest to the frame before."""
    if angles.ndim == 1:
        return angles
    out = angles.copy()
    other = np.stack((angles[..., 0] + np.pi, np.pi - angles[..., 1], angles[..., 2] + np.pi), axis=-1)
    for f in range(1, len(out)):
        last = out[f - 1]
        one, two = (x + 2.0 * np.pi * np.round((last - x) / (2.0 * np.pi)) for x in (angles[f], other[f]))
        nearer = np.abs(two - last).sum(axis=-1, keepdims=True) < np.abs(one - last).sum(axis=-1, keepdims=True)
        out[f] = np.where(nearer, two, one)
    return out
