"""Cost of the state at the end of a window: posture, root, CoM, momentum and support against the reference; effort and smoothness.

Velocities are differences over the last interval of a window, of the rollouts and of the reference alike.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from brachiate import rotations
from brachiate.anatomy.figure_height import figure_height
from brachiate.kinematics_batch import BatchKinematics, Poses
from brachiate.model.model import Model
from brachiate.validation import Array

REFERENCE_HEIGHT = 1.7  # [m] to which lengths below refer
GRAVITY = 9.81  # [m/s²]
SUPPORT_HEIGHT = 0.1  # [m] of a leaf of the tree above the lowest one, at which its weight as a support is 1/e


class CostWeights(NamedTuple):
    """Weights of the terms, each at the deviation named."""

    posture: float = 5.0  # at 0.1 m, mean over the bodies, relative to the root
    orientation: float = 3.0  # at 0.3 rad of the root
    height: float = 4.0  # at 0.1 m of the root
    com: float = 3.0  # at 0.1 m, horizontally
    com_velocity: float = 3.0  # at 0.5 m/s
    angular_momentum: float = 1.0  # at that of the body turning at 1 rad/s about an axis 0.4 m away
    support: float = 2.0  # at 0.1 m of the capture point relative to the bodies near the ground
    motion: float = 0.5  # at 1 m/s, mean over the bodies
    effort: float = 0.5  # at the torque limits, mean square
    smoothness: float = 0.3  # at one standard deviation of the offsets, mean square of their change


class _Features(NamedTuple):
    """Quantities of f states that costs compare."""

    x: Array  # (nb, f, 3) [m] positions of the bodies
    root: Array  # (f, 4) orientation of the root
    velocity: Array  # (nb, f, 3) [m/s]
    com: Array  # (f, 3) [m]
    com_velocity: Array  # (f, 3) [m/s]
    angular_momentum: Array  # (f, 3) [N·m·s] of the bodies as points, about the CoM


class WindowCost:
    """Costs of states at the ends of windows.

    Args:
        model: Of the figure, with a floating base first.
        q: Configurations of the reference, frame by frame (f, nq).
        dt: Frame interval [s].
        weights: Of the terms.
    """

    def __init__(self, model: Model, q: Array, dt: float, weights: CostWeights | None = None) -> None:
        self.model, self.q, self.dt, self.weights = model, q, dt, weights or CostWeights()
        self.kinematics = BatchKinematics(model)
        self.scale = figure_height(model) / REFERENCE_HEIGHT
        self.mass = model.tree.inertia[:, 0]
        self.leaves = np.setdiff1d(np.arange(len(model.tree.parent)), model.tree.parent)
        limit = np.where(np.isfinite(model.effort) & (model.effort > 0.0), model.effort, np.inf)
        self.inverse_limit = 1.0 / limit

    def tracking(self, before: Array, q: Array, k: int, interval: int) -> Array:
        """Cost of states (n, nq) at frame k, which were at ``before`` so many frames earlier: (n,)."""
        w, s, own = self.weights, self.scale, self._features(before, q, interval * self.dt)
        ref = self._features(self.q[[k - interval]], self.q[[k]], interval * self.dt)
        relative = (own.x - own.x[:1]) - (ref.x - ref.x[:1])
        cost = w.posture * np.linalg.norm(relative, axis=-1).mean(axis=0) / (0.1 * s)
        dot = np.abs((own.root * ref.root).sum(axis=1)).clip(max=1.0)
        cost += w.orientation * 2.0 * np.arccos(dot) / 0.3
        cost += w.height * np.abs(own.x[0, :, 2] - ref.x[0, :, 2]) / (0.1 * s)
        cost += w.com * np.linalg.norm((own.com - ref.com)[:, :2], axis=1) / (0.1 * s)
        cost += w.com_velocity * np.linalg.norm(own.com_velocity - ref.com_velocity, axis=1) / 0.5
        unit = self.mass.sum() * (0.4 * s) ** 2
        cost += w.angular_momentum * np.linalg.norm(own.angular_momentum - ref.angular_momentum, axis=1) / unit
        cost += w.support * self._support_error(own, ref) / (0.1 * s)
        return cost + w.motion * np.linalg.norm(own.velocity - ref.velocity, axis=-1).mean(axis=0)

    def effort(self, torque: Array) -> Array:
        """Cost of torques (n, r, nv): (n,)."""
        used = self.inverse_limit > 0.0
        return (
            self.weights.effort * np.square(torque[..., used] * self.inverse_limit[used]).mean(axis=(1, 2))
            if used.any()
            else np.zeros(len(torque))
        )

    def smoothness(self, change: Array, deviation: Array) -> Array:
        """Cost of changes of offsets (n, nv) from window to window: (n,)."""
        used = deviation > 0.0
        return self.weights.smoothness * np.square(change[:, used] / deviation[used]).mean(axis=1)

    def _features(self, before: Array, q: Array, seconds: float) -> _Features:
        n, both = len(q), self.kinematics.poses(np.concatenate((before, q)))  # at once: most of the time goes by body, not by state
        x, centers = both.x, self._centers(both)
        r0, r1 = centers[:, :n], centers[:, n:]
        share = self.mass / self.mass.sum()
        com, velocity = np.einsum("b,bfi->fi", share, r1), (r1 - r0) / seconds
        com_velocity = np.einsum("b,bfi->fi", share, velocity)
        momentum = np.einsum("b,bfi->fi", self.mass, rotations.cross(r1 - com, velocity - com_velocity))
        return _Features(x[:, n:], q[:, 3:7], (x[:, n:] - x[:, :n]) / seconds, com, com_velocity, momentum)

    def _centers(self, poses: Poses) -> Array:
        """Centers of mass of the bodies (nb, f, 3)."""
        return poses.x + np.einsum("bfij,bj->bfi", poses.R, self.model.tree.inertia[:, 1:4])

    def _support_error(self, own: _Features, ref: _Features) -> Array:
        """Distance of the capture point from the leaves of the tree, against that of the reference; leaves near the ground count most."""
        errors = []
        z = ref.x[self.leaves, 0, 2]
        weight = np.exp(-(z - z.min()) / (SUPPORT_HEIGHT * self.scale))
        for features in (own, ref):
            height = np.maximum(features.com[:, 2] - features.x[self.leaves, :, 2].min(axis=0), 0.1 * self.scale)
            capture = features.com + features.com_velocity * np.sqrt(height / GRAVITY)[:, None]
            errors.append((capture - features.x[self.leaves])[..., :2])
        distance = np.linalg.norm(errors[0] - errors[1], axis=-1)
        return weight @ distance / weight.sum()


def root_deviation(q: Array, reference: Array) -> tuple[Array, Array]:
    """Position (n, 3) [m] and angle (n,) [rad] of the root against a reference configuration."""
    turn = rotations.product(rotations.inverse(np.broadcast_to(reference[3:7], (len(q), 4))), q[:, 3:7])
    return q[:, :3] - reference[:3], np.linalg.norm(rotations.to_rotation_vector(turn), axis=1)
