"""Batched forward kinematics: link poses, point Jacobians and CoM of a figure over all frames (NumPy, one Python step per body).

Tangent vectors: revolute and prismatic joints by their coordinate, spherical joints by a rotation vector in child axes, the floating base
by a translation in parent axes and a rotation vector in child axes, so that positions are updated by addition.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from brachiate import rotations
from brachiate.model.joints import FLOAT, SLIDE, TURN
from brachiate.model.model import Model
from brachiate.validation import Array

POSE_CHUNK = 4096  # frames whose poses are evaluated together


class Poses(NamedTuple):
    """Body poses in f frames, and the axes of the degrees of freedom if they were asked for."""

    R: Array  # (nb, f, 3, 3) orientation in the world
    x: Array  # (nb, f, 3) [m]
    axis: Array  # (nv, f, 3) direction of each degree of freedom; empty without axes
    anchor: Array  # (nv, f, 3) [m] a point on its axis; empty without axes

    def point(self, body: int, at: Array) -> Array:
        """Position of a point of a body: (f, 3) [m]."""
        return self.x[body] + self.R[body] @ at


@dataclass(frozen=True)
class BodyPoints:
    """Points fixed in bodies.

    Args:
        body: Body of each point: (n,).
        position: In body axes: (n, 3) [m].
    """

    body: Array
    position: Array


class BatchKinematics:
    """Forward kinematics of a figure for many configurations at once."""

    def __init__(self, model: Model) -> None:
        self.model = model
        tree = model.tree
        self.is_translation = np.zeros(model.nv, bool)
        for e, kind in enumerate(tree.kind):
            k = int(tree.v_at[e])
            self.is_translation[k : k + 3 if kind == FLOAT else k + 1] = kind in (SLIDE, FLOAT)
        #: Whether a degree of freedom moves a body: (nb, nv).
        self.moves_body = np.zeros((len(tree.parent), model.nv), bool)
        for b, parent in enumerate(tree.parent):
            if parent >= 0:
                self.moves_body[b] = self.moves_body[parent]
            self.moves_body[b, tree.dof[b] : tree.dof[b + 1]] = True

    def poses(self, q: Array, *, axes: bool = False) -> Poses:
        """Body poses at configurations (f, nq); ``axes``: with the axes of the degrees of freedom, for Jacobians."""
        tree, f = self.model.tree, len(q)
        nb, nv = len(tree.parent), self.model.nv
        R, x = np.empty((nb, f, 3, 3)), np.empty((nb, f, 3))
        axis, anchor = (np.zeros((nv if axes else 0, f, 3)) for _ in range(2))
        for b, parent in enumerate(tree.parent):
            if parent < 0:
                turned = np.broadcast_to(tree.R_parent_joint[b], (f, 3, 3))
                position = np.broadcast_to(tree.p_parent_joint[b], (f, 3))
            else:
                turned = R[parent] @ tree.R_parent_joint[b]
                position = x[parent] + R[parent] @ tree.p_parent_joint[b]
            for e in range(tree.element[b], tree.element[b + 1]):
                turned, position = self._move(e, q, turned, position, axis, anchor)
            R[b], x[b] = turned, position
        return Poses(R, x, axis, anchor)

    def root_poses(self, body: int, q: Array) -> tuple[Array, Array]:
        """Orientations (f, 3, 3) and positions (f, 3) of a body without a parent."""
        tree, f = self.model.tree, len(q)
        R, x = np.broadcast_to(tree.R_parent_joint[body], (f, 3, 3)), np.broadcast_to(tree.p_parent_joint[body], (f, 3))
        for e in range(tree.element[body], tree.element[body + 1]):
            R, x = self._move(e, q, R, x, np.zeros((0, f, 3)), np.zeros((0, f, 3)))
        return R, x

    def poses_of_bodies(self, q: Array, bodies: Iterable[int]) -> Poses:
        """Poses of some bodies at many configurations (f, nq), without memory for the others, which are zero."""
        chosen, (nb, f) = sorted(set(bodies)), (len(self.model.tree.parent), len(q))
        R, x = np.zeros((nb, f, 3, 3)), np.zeros((nb, f, 3))  # the operating system provides memory that is written only
        for k in range(0, f, POSE_CHUNK):
            frames = slice(k, min(k + POSE_CHUNK, f))
            some = self.poses(q[frames])
            for b in chosen:
                R[b, frames], x[b, frames] = some.R[b], some.x[b]
        return Poses(R, x, np.zeros((0, f, 3)), np.zeros((0, f, 3)))

    def _move(self, e: int, q: Array, R: Array, x: Array, axis: Array, anchor: Array) -> tuple[Array, Array]:
        """Apply one elementary joint motion to frames, and store its axes, if they are wanted."""
        tree, stored = self.model.tree, len(axis) > 0
        kind, at, k = tree.kind[e], tree.q_at[e], tree.v_at[e]
        if kind == SLIDE:
            direction = R @ tree.axis[e]
            if stored:
                axis[k] = direction
            return R, x + q[:, at, None] * direction
        if kind == FLOAT:
            if stored:
                axis[k : k + 3] = np.moveaxis(R, -1, 0)
            x = x + np.einsum("fij,fj->fi", R, q[:, at : at + 3])
            at, k = at + 3, k + 3
        center = x + R @ tree.anchor[e]
        if kind == TURN:
            if stored:
                axis[k], anchor[k] = R @ tree.axis[e], center  # the axis is invariant under the rotation about it
            R = R @ _axis_angle_matrix(tree.axis[e], q[:, at])
        else:
            R = R @ _quaternion_matrix(q[:, at : at + 4])
            if stored:
                axis[k : k + 3], anchor[k : k + 3] = np.moveaxis(R, -1, 0), center
        return R, center - R @ tree.anchor[e]

    def point_positions(self, poses: Poses, points: BodyPoints) -> Array:
        """Positions of points: (f, n, 3) [m]."""
        return np.moveaxis(self._point_positions(poses, points), 0, 1)

    @staticmethod
    def _point_positions(poses: Poses, points: BodyPoints) -> Array:
        return poses.x[points.body] + np.einsum("nfij,nj->nfi", poses.R[points.body], points.position)

    def point_jacobians(self, poses: Poses, points: BodyPoints, dofs: Array) -> tuple[Array, Array]:
        """Positions (f, n, 3) of points, and their Jacobians with respect to some degrees of freedom (f, n, 3, k); needs axes."""
        at = self._point_positions(poses, points)
        J = np.zeros((len(dofs), *at.shape))
        for column, k in enumerate(dofs):
            moved = np.flatnonzero(self.moves_body[points.body, k])
            J[column, moved] = poses.axis[k] if self.is_translation[k] else rotations.cross(poses.axis[k], at[moved] - poses.anchor[k])
        return np.moveaxis(at, 0, 1), np.ascontiguousarray(J.transpose(2, 1, 3, 0))

    def center_of_mass(self, poses: Poses) -> Array:
        """Center of mass: (f, 3) [m]."""
        inertia = self.model.tree.inertia
        share = inertia[:, 0] / inertia[:, 0].sum()
        return np.einsum("b,bfi->fi", share, poses.x + np.einsum("bfij,bj->bfi", poses.R, inertia[:, 1:4]))

    def integrate(self, q: Array, step: Array) -> Array:
        """Configurations after tangent steps (f, nv)."""
        tree, out = self.model.tree, q.copy()
        for e, kind in enumerate(tree.kind):
            at, k = tree.q_at[e], tree.v_at[e]
            if kind in (SLIDE, TURN):
                out[:, at] += step[:, k]
                continue
            if kind == FLOAT:
                out[:, at : at + 3] += step[:, k : k + 3]
                at, k = at + 3, k + 3
            turned = rotations.product(q[:, at : at + 4], rotations.from_rotation_vector(step[:, k : k + 3]))
            out[:, at : at + 4] = turned / np.linalg.norm(turned, axis=1, keepdims=True)
        return out

    def difference(self, first: Array, then: Array) -> Array:
        """Tangent vectors (f, nv) from configurations to others; inverse of :meth:`integrate`."""
        tree, out = self.model.tree, np.zeros((len(first), self.model.nv))
        for e, kind in enumerate(tree.kind):
            at, k = tree.q_at[e], tree.v_at[e]
            if kind in (SLIDE, TURN):
                out[:, k] = then[:, at] - first[:, at]
                continue
            if kind == FLOAT:
                out[:, k : k + 3] = then[:, at : at + 3] - first[:, at : at + 3]
                at, k = at + 3, k + 3
            turn = rotations.product(rotations.inverse(first[:, at : at + 4]), then[:, at : at + 4])
            out[:, k : k + 3] = rotations.to_rotation_vector(turn)  # of the shorter rotation
        return out


def quaternion_slices(model: Model) -> list[slice]:
    """Slices of all quaternions in a configuration."""
    joints = [(joined, model.links[joined.link].joint) for joined in model.joints.values()]
    return [slice(joined.q.stop - 4, joined.q.stop) for joined, joint in joints if joint.nq > joint.nv]


def unwrap_quaternions(model: Model, q: Array) -> Array:
    """Make the signs of all quaternions of configurations (f, nq) continuous over frames; in place."""
    for place in quaternion_slices(model):
        q[:, place] = rotations.unwrap(q[:, place])
    return q


def _axis_angle_matrix(axis: Array, angle: Array) -> Array:
    """Rotation matrices about one axis (Rodrigues): (f, 3, 3)."""
    x, y, z = axis
    K = np.array(((0.0, -z, y), (z, 0.0, -x), (-y, x, 0.0)))
    return np.eye(3) + np.sin(angle)[:, None, None] * K + (1.0 - np.cos(angle))[:, None, None] * (K @ K)


def _quaternion_matrix(q: Array) -> Array:
    """Rotation matrices of unit quaternions (f, 4): (f, 3, 3); direct formula, faster than :func:`rotations.to_matrix`."""
    w, x, y, z = q.T
    R = np.empty((len(q), 3, 3))
    R[:, 0, 0], R[:, 0, 1], R[:, 0, 2] = 1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)
    R[:, 1, 0], R[:, 1, 1], R[:, 1, 2] = 2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)
    R[:, 2, 0], R[:, 2, 1], R[:, 2, 2] = 2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)
    return R
