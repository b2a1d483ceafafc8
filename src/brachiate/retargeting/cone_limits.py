"""Swing-twist cone limits of spherical joints: penalty with gradient, and projection."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from brachiate import rotations
from brachiate.model.model import Model
from brachiate.validation import Array

CONE_MARGIN = 2e-3  # [rad] before the cone at which the penalty begins


@dataclass(frozen=True)
class ConeLimits:
    """Cone limits of the spherical joints among the solved degrees of freedom.

    Args:
        at: Start of the quaternion in q: (c,).
        column: First of its three degrees of freedom: (c,).
        axis: Twist axis: (c, 3).
        swing: Largest swing angle: (c,) [rad].
        twist: Lower and upper limit of twist: (c, 2) [rad].
    """

    at: Array
    column: Array
    axis: Array
    swing: Array
    twist: Array


def find_cones(model: Model, dofs: Array) -> ConeLimits:
    """Cone limits of the spherical joints among these degrees of freedom."""
    rows = []
    for name, joined in model.joints.items():
        cone = model.links[model.joints[name].link].joint.cone
        if cone is not None and joined.v.start in dofs:
            rows.append((joined.q.start, int(np.searchsorted(dofs, joined.v.start)), cone.axis, cone.swing, cone.twist))
    at, column, axis, swing, twist = zip(*rows, strict=True) if rows else ((),) * 5
    ints = np.array(at, int), np.array(column, int)
    return ConeLimits(*ints, np.array(axis).reshape(-1, 3), np.array(swing, float), np.array(twist, float).reshape(-1, 2))


def cone_excess(q: Array, axis: Array, max_swing: float, twist: Array) -> list[tuple[Array, Array]]:
    """Excess of swing and twist beyond a cone limit (f,) [rad], each with its gradient with respect to a body rotation (f, 3).

    Twist is undefined at a swing of π; its excess is weighted by the distance from that.
    """
    w, v = q[:, 0], q[:, 1:]
    axial = v @ axis
    axis_in_body = rotations.rotate(rotations.inverse(q), axis)
    cosine = np.clip(axis_in_body @ axis, -1.0, 1.0)
    sine = np.maximum(np.sqrt(1.0 - cosine**2), 1e-6)
    swing = np.arccos(cosine)
    swing_gradient = -np.cross(axis, axis_in_body) / sine[:, None]
    swing_excess = np.where(swing > max_swing - CONE_MARGIN, swing - (max_swing - CONE_MARGIN), 0.0)
    size2 = np.maximum(w * w + axial * axial, 1e-9)
    angle = (2.0 * np.arctan2(axial, w) + np.pi) % (2.0 * np.pi) - np.pi
    d_axial = 0.5 * (w[:, None] * axis + np.cross(axis, v))
    twist_gradient = 2.0 * (w[:, None] * d_axial + 0.5 * axial[:, None] * v) / size2[:, None]
    twist_excess = np.where(
        angle > twist[1] - CONE_MARGIN,
        angle - (twist[1] - CONE_MARGIN),
        np.where(angle < twist[0] + CONE_MARGIN, angle - (twist[0] + CONE_MARGIN), 0),
    )
    twist_weight = np.sqrt(size2)
    d_twist_weight = (axial[:, None] * d_axial - 0.5 * w[:, None] * v) / twist_weight[:, None]
    return [
        (swing_excess, swing_gradient),
        (twist_weight * twist_excess, twist_weight[:, None] * twist_gradient + twist_excess[:, None] * d_twist_weight),
    ]


def project_into_cone(q: Array, axis: Array, max_swing: float, twist: Array) -> Array:
    """Rotations with swing and twist clamped to a cone limit."""
    margin = 1e-9
    axial = q[:, 1:] @ axis
    size = np.hypot(q[:, 0], axial)
    twist_rotation = np.where((size > 1e-9)[:, None], np.concatenate((q[:, :1], axial[:, None] * axis), axis=1), rotations.IDENTITY)
    twist_rotation = twist_rotation / np.linalg.norm(twist_rotation, axis=1, keepdims=True)
    swing = rotations.to_rotation_vector(rotations.product(q, rotations.inverse(twist_rotation)))
    angle = (2.0 * np.arctan2(twist_rotation[:, 1:] @ axis, twist_rotation[:, 0]) + np.pi) % (2.0 * np.pi) - np.pi
    swing_angle = np.linalg.norm(swing, axis=1)
    outside = (swing_angle > max_swing) | (angle > twist[1]) | (angle < twist[0])
    swing = swing * np.minimum(1.0, (max_swing - margin) / np.maximum(swing_angle, 1e-12))[:, None]
    twist_rotation = rotations.from_rotation_vector(np.clip(angle, twist[0] + margin, twist[1] - margin)[:, None] * axis)
    return np.where(outside[:, None], rotations.product(rotations.from_rotation_vector(swing), twist_rotation), q)
