"""Poses of a figure in many frames at once: arrays over frames, a step in Python only for each body.

Small moves of a configuration are counted as the solver wants them: hinges and slides by their own number, balls by a turn along their
own axes, and a floating body by a shift along its parent's axes and a turn along its own; so places stay plain sums.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from brachiate import rotations
from brachiate.model.joints import FLOAT, SLIDE, TURN
from brachiate.model.model import Model
from brachiate.validation import Array


class Poses(NamedTuple):
    """Where bodies are in f frames, and how each freedom would move them."""

    R: Array  # (nb, f, 3, 3) orientation in the world
    x: Array  # (nb, f, 3) [m]
    axis: Array  # (nv, f, 3) direction of each freedom
    anchor: Array  # (nv, f, 3) [m] a point its axis goes through

    def point(self, body: int, at: Array) -> Array:
        """Where a point of a body is: (f, 3) [m]."""
        return self.x[body] + self.R[body] @ at


@dataclass(frozen=True)
class Points:
    """Points of bodies that are followed together.

    Args:
        body: Of each: (n,).
        at: Along the body's axes: (n, 3) [m].
    """

    body: Array
    at: Array


class Many:
    """A figure whose configurations are looked at many at a time."""

    def __init__(self, model: Model) -> None:
        self.model = model
        tree = model.tree
        self.slides = np.zeros(model.nv, bool)
        for e, kind in enumerate(tree.kind):
            k = int(tree.v_at[e])
            self.slides[k : k + 3 if kind == FLOAT else k + 1] = kind in (SLIDE, FLOAT)
        #: Whether a freedom moves a body: (nb, nv).
        self.moves = np.zeros((len(tree.parent), model.nv), bool)
        for b, parent in enumerate(tree.parent):
            if parent >= 0:
                self.moves[b] = self.moves[parent]
            self.moves[b, tree.dof[b] : tree.dof[b + 1]] = True

    def poses(self, q: Array) -> Poses:
        """Poses at configurations (f, nq)."""
        tree, f = self.model.tree, len(q)
        nb, nv = len(tree.parent), self.model.nv
        R, x = np.empty((nb, f, 3, 3)), np.empty((nb, f, 3))
        axis, anchor = np.zeros((nv, f, 3)), np.zeros((nv, f, 3))
        for b, parent in enumerate(tree.parent):
            if parent < 0:
                turned = np.broadcast_to(tree.R_parent_joint[b], (f, 3, 3))
                place = np.broadcast_to(tree.p_parent_joint[b], (f, 3))
            else:
                turned = R[parent] @ tree.R_parent_joint[b]
                place = x[parent] + R[parent] @ tree.p_parent_joint[b]
            for e in range(tree.element[b], tree.element[b + 1]):
                turned, place = self._move(e, q, turned, place, axis, anchor)
            R[b], x[b] = turned, place
        return Poses(R, x, axis, anchor)

    def _move(self, e: int, q: Array, R: Array, x: Array, axis: Array, anchor: Array) -> tuple[Array, Array]:
        """Carry frames by one elementary motion, and note its freedoms."""
        tree = self.model.tree
        kind, at, k = tree.kind[e], tree.q_at[e], tree.v_at[e]
        if kind == SLIDE:
            axis[k] = R @ tree.axis[e]
            return R, x + q[:, at, None] * axis[k]
        if kind == FLOAT:
            axis[k : k + 3] = np.moveaxis(R, -1, 0)
            x = x + np.einsum("fij,fj->fi", R, q[:, at : at + 3])
            at, k = at + 3, k + 3
        center = x + R @ tree.anchor[e]
        if kind == TURN:
            axis[k] = R @ tree.axis[e]  # turning about it leaves it where it is
            R = R @ _about(tree.axis[e], q[:, at])
            anchor[k] = center
        else:
            R = R @ _matrix(q[:, at : at + 4])
            axis[k : k + 3] = np.moveaxis(R, -1, 0)
            anchor[k : k + 3] = center
        return R, center - R @ tree.anchor[e]

    def follow(self, poses: Poses, spots: Points, freedoms: Array) -> tuple[Array, Array]:
        """Places (f, n, 3) of points, and how they move with some of the freedoms (f, n, 3, k)."""
        at = poses.x[spots.body] + np.einsum("nfij,nj->nfi", poses.R[spots.body], spots.at)
        J = np.zeros((len(freedoms), *at.shape))
        for column, k in enumerate(freedoms):
            moved = np.flatnonzero(self.moves[spots.body, k])
            J[column, moved] = poses.axis[k] if self.slides[k] else _cross(poses.axis[k], at[moved] - poses.anchor[k])
        return np.moveaxis(at, 0, 1), np.ascontiguousarray(J.transpose(2, 1, 3, 0))

    def centres(self, poses: Poses) -> Array:
        """Centres of mass: (f, 3) [m]."""
        inertia = self.model.tree.inertia
        share = inertia[:, 0] / inertia[:, 0].sum()
        return np.einsum("b,bfi->fi", share, poses.x + np.einsum("bfij,bj->bfi", poses.R, inertia[:, 1:4]))

    def moved(self, q: Array, by: Array) -> Array:
        """Configurations after small moves (f, nv)."""
        tree, out = self.model.tree, q.copy()
        for e, kind in enumerate(tree.kind):
            at, k = tree.q_at[e], tree.v_at[e]
            if kind in (SLIDE, TURN):
                out[:, at] += by[:, k]
                continue
            if kind == FLOAT:
                out[:, at : at + 3] += by[:, k : k + 3]
                at, k = at + 3, k + 3
            turned = rotations.product(q[:, at : at + 4], rotations.from_vector(by[:, k : k + 3]))
            out[:, at : at + 4] = turned / np.linalg.norm(turned, axis=1, keepdims=True)
        return out

    def between(self, first: Array, then: Array) -> Array:
        """Moves (f, nv) that lead from configurations to others."""
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
            out[:, k : k + 3] = rotations.to_vector(turn)  # the shorter way round
        return out


def _about(axis: Array, angle: Array) -> Array:
    """Rotations about one axis: (f, 3, 3)."""
    x, y, z = axis
    K = np.array(((0.0, -z, y), (z, 0.0, -x), (-y, x, 0.0)))
    return np.eye(3) + np.sin(angle)[:, None, None] * K + (1.0 - np.cos(angle))[:, None, None] * (K @ K)


def _matrix(q: Array) -> Array:
    """Rotations of unit quaternions (f, 4): (f, 3, 3)."""
    w, x, y, z = q.T
    rows = (
        1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y),
        2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
        2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y),
    )  # fmt: skip
    return np.stack(rows, axis=-1).reshape(-1, 3, 3)


def _cross(a: Array, b: Array) -> Array:
    """Cross products; NumPy's own is slow for so many."""
    ax, ay, az = a[..., 0], a[..., 1], a[..., 2]
    bx, by, bz = b[..., 0], b[..., 1], b[..., 2]
    return np.stack((ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx), axis=-1)
