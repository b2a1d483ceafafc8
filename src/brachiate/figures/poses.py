"""Named postures of figures with two arms and two legs.

Angles are in degrees and by words: ``forward`` swings a hanging limb to the front or bends the trunk down to the front,
``out`` moves a limb away from the body.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from brachiate.validation import Array

SIDES: Mapping[str, float] = {"right": -1.0, "left": 1.0}  # the sign of y

Pose = dict[str, Any]


def about(axis: ArrayLike, degrees: float) -> Array:
    """Return the quaternion (w, x, y, z) of a turn about a unit axis."""
    half = np.radians(degrees) / 2
    return np.array([np.cos(half), *(np.sin(half) * np.asarray(axis, float))])


def limb(side: str, forward: float = 0.0, out: float = 0.0, turned: float = 0.0) -> Array:
    """Orientation of a hanging limb swung forward, then out, and turned about its length with the front outward [deg]."""
    s = SIDES[side]
    return product(product(about((s, 0, 0), out), about((0, -1, 0), forward)), about((0, 0, s), turned))


def bent(forward: float) -> Array:
    """Orientation of a piece of the trunk bent to the front [deg]."""
    return about((0, 1, 0), forward)


def product(a: Array, b: Array) -> Array:
    """Return the quaternion of b's turn followed by a's."""
    w, u, s, v = a[0], a[1:], b[0], b[1:]
    return np.array([w * s - u @ v, *(w * v + s * u + np.cross(u, v))])


def turned(quaternion: Array, vector: ArrayLike) -> Array:
    """Return a vector turned by a quaternion."""
    w, u, x = quaternion[0], quaternion[1:], np.asarray(vector, float)
    t = 2 * np.cross(u, x)
    return x + w * t + np.cross(u, t)


def both(**joints: Any) -> Pose:
    """Return a pose with the same on both sides; a limb's joint is given as the arguments of :func:`limb`."""
    return {
        f"{side}_{name}": limb(side, **value) if isinstance(value, dict) else np.radians(value)
        for side in SIDES
        for name, value in joints.items()
    }


def root(x: float = 0.0, z: float = 0.0, forward: float = 0.0) -> Pose:
    """Return a pose of the root alone: moved from where the figure stands [m], and pitched to the front [deg]."""
    return {"root": [x, 0.0, z, *bent(forward)]}
