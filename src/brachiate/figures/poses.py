"""Joint values of named poses of figures with two arms and two legs.

Angles are in degrees: ``forward`` flexes a hanging limb to the front or bends the trunk to the front, ``out`` abducts a limb, and
``turned`` rotates it about its length.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from brachiate.validation import Array

SIDES: Mapping[str, float] = {"right": -1.0, "left": 1.0}  # the sign of y

JointValues = dict[str, Any]  # configuration by joint


def axis_quaternion(axis: ArrayLike, degrees: float) -> Array:
    """Quaternion (w, x, y, z) of a rotation about a unit axis by an angle [deg]."""
    half = np.radians(degrees) / 2
    return np.array([np.cos(half), *(np.sin(half) * np.asarray(axis, float))])


def limb_orientation(side: str, forward: float = 0.0, out: float = 0.0, turned: float = 0.0) -> Array:
    """Orientation of a hanging limb after axial rotation (front outward), flexion forward, then abduction [deg]."""
    s = SIDES[side]
    abduction, flexion, twist = axis_quaternion((s, 0, 0), out), axis_quaternion((0, -1, 0), forward), axis_quaternion((0, 0, s), turned)
    return quaternion_product(quaternion_product(abduction, flexion), twist)


def trunk_orientation(forward: float) -> Array:
    """Orientation of a link of the trunk bent to the front [deg]."""
    return axis_quaternion((0, 1, 0), forward)


def quaternion_product(a: Array, b: Array) -> Array:
    """Quaternion product: rotation b followed by a."""
    w, u, s, v = a[0], a[1:], b[0], b[1:]
    return np.array([w * s - u @ v, *(w * v + s * u + np.cross(u, v))])


def both_sides(**joints: Any) -> JointValues:
    """Values of joints on both sides, symmetric; ball joints are given as arguments of :func:`limb_orientation`."""
    return {
        f"{side}_{name}": limb_orientation(side, **value) if isinstance(value, dict) else np.radians(value)
        for side in SIDES
        for name, value in joints.items()
    }


def root_pose(x: float = 0.0, z: float = 0.0, forward: float = 0.0) -> JointValues:
    """Value of the root joint: displacement from the standing position [m], and pitch to the front [deg]."""
    return {"root": [x, 0.0, z, *trunk_orientation(forward)]}
