"""Point targets of inverse kinematics: Gauss-Newton normal equations, frame by frame, as compiled code.

A target is the position of a point of a body, or the vector between two points, and a residual for each of its coordinates; points on the
ground have one while they are below it. Tangent vectors as in :mod:`brachiate.kinematics_batch`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from brachiate.compiled import ArrayHandle, Floats, Ints, Key, Matrix, Rows3, entry, index, kernel, struct_opener
from brachiate.kinematics import ball_motion_columns, forward_kinematics, tree_origin
from brachiate.kinematics_batch import BatchKinematics, BodyPoints
from brachiate.linalg.simd import axpy
from brachiate.model.arrays import open_model
from brachiate.model.joints import FLOAT
from brachiate.spatial import Vec3, compose, motion, put_vec3, rotation, vec3, velocity_at
from brachiate.validation import Array


class PointTargets(NamedTuple):
    """Sizes: np points, m targets, k points on the ground, n columns of w numbers (a multiple of four), nb bodies."""

    body: Ints  # (np,) body of a point
    position: Rows3  # (np, 3) [m] in body axes
    first: Ints  # (m,) index of a point
    second: Ints  # (m,) index of the point from which a vector starts, or -1
    ground: Ints  # (k,) indices of points that must not be below z = 0
    ground_weight: Floats  # (k,) [1/m]
    dof: Ints  # (n,) velocity of a column
    translation: Ints  # (n,) 0, or 1 to 3: the coordinate of a floating base along its parent's axes
    moves: Ints  # (nb·n,) whether a column moves a body
    at: Rows3  # (np, 3) [m] positions in the present frame, from the tree's origin
    rows: Floats  # (3·w,)
    normal: Floats  # (n·w,)


open_targets = struct_opener(PointTargets)


def point_targets(
    kinematics: BatchKinematics, points: BodyPoints, first: Array, second: Array, ground: tuple[Array, Array], dofs: Array
) -> ArrayHandle:
    """Handle of the targets of a figure; ``ground``: indices of points, and their weights."""
    tree, n = kinematics.model.tree, len(dofs)
    translation = np.zeros(kinematics.model.nv, np.int64)
    for e in np.flatnonzero(tree.kind == FLOAT):
        translation[tree.v_at[e] : tree.v_at[e] + 3] = 1, 2, 3
    w = (n + 3) // 4 * 4

    def numbers(values: Array) -> Array:
        return np.array(values, np.int64)

    return ArrayHandle(
        PointTargets(
            body=numbers(points.body), position=np.array(points.position, float).reshape(-1, 3), first=numbers(first),
            second=numbers(second), ground=numbers(ground[0]), ground_weight=np.array(ground[1], float), dof=numbers(dofs),
            translation=translation[dofs], moves=numbers(kinematics.moves_body[:, dofs]).ravel(), at=np.zeros((len(points.body), 3)),
            rows=np.zeros(3 * w), normal=np.zeros(n * w),
        )
    )  # fmt: skip


@kernel
def point_velocity(T, W, targets, i, c):
    """Velocity of point i per unit of column c."""
    n, b, k = targets.dof.shape[0], targets.body[i], targets.dof[c]
    if targets.moves[b * n + c] == 0:
        return Vec3(0.0, 0.0, 0.0)
    axis = targets.translation[c]
    if axis > 0:
        base = T.body[k]
        R = rotation(T.R_parent_joint, base)
        if T.parent[base] >= 0:
            R = compose(rotation(W.R, T.parent[base]), R)
        return R.x if axis == 1 else R.y if axis == 2 else R.z
    return velocity_at(motion(W.S, k), vec3(targets.at, i))


@kernel
def add_row(targets, row, n, w):
    """Add the product of a row with itself to the Hessian of the frame."""
    for i in range(n):
        x = targets.rows[index(row + i)]
        if x != 0.0:
            axpy(targets.normal, i * w, x, targets.rows, row, w)


@kernel
def add_target(T, W, targets, m, target, weight, f, g):
    """Add the rows of a target to the normal equations. Returns its cost."""
    n, w = targets.dof.shape[0], targets.rows.shape[0] // 3
    a, b = targets.first[m], targets.second[m]
    d = vec3(targets.at, a) - vec3(targets.at, b) if b >= 0 else vec3(targets.at, a) + tree_origin(T, W, targets.body[a])
    wx, wy, wz = weight[f, 3 * m], weight[f, 3 * m + 1], weight[f, 3 * m + 2]
    if wx == 0.0 and wy == 0.0 and wz == 0.0:
        return 0.0
    r = Vec3(wx * (d.x - target[f, 3 * m]), wy * (d.y - target[f, 3 * m + 1]), wz * (d.z - target[f, 3 * m + 2]))
    for c in range(n):
        u = point_velocity(T, W, targets, a, c)
        if b >= 0:
            u = u - point_velocity(T, W, targets, b, c)
        x, y, z = wx * u.x, wy * u.y, wz * u.z
        targets.rows[index(c)], targets.rows[index(w + c)], targets.rows[index(2 * w + c)] = x, y, z
        g[f, c] += x * r.x + y * r.y + z * r.z
    for i in range(3):
        add_row(targets, i * w, n, w)
    return r @ r


@kernel
def add_ground_point(T, W, targets, k, f, g):
    """Add the row of a point while it is below the ground. Returns its cost."""
    n, w, i = targets.dof.shape[0], targets.rows.shape[0] // 3, targets.ground[k]
    depth = targets.at[i, 2] + tree_origin(T, W, targets.body[i]).z
    if not depth < 0.0:
        return 0.0
    weight = targets.ground_weight[k]
    for c in range(n):
        x = weight * point_velocity(T, W, targets, i, c).z
        targets.rows[index(c)] = x
        g[f, c] += x * weight * depth
    add_row(targets, 0, n, w)
    return (weight * depth) * (weight * depth)


@entry
def point_normal_equations(
    key: Key, targets_key: Key, q: Matrix, target: Matrix, weight: Matrix, cost: Floats, g: Matrix, H: Matrix
):  # fmt: skip
    """Cost (f,), gradient (f, n) and Hessian (f n, n) of targets (f, 3 m) with weights (f, 3 m) at configurations (f, nq)."""
    T, W = open_model(key)
    (targets,) = open_targets(targets_key)
    n, w = targets.dof.shape[0], targets.rows.shape[0] // 3
    for f in range(q.shape[0]):
        for i in range(W.q.shape[0]):
            W.q[i] = q[f, i]
        forward_kinematics(T, W)
        ball_motion_columns(T, W)
        for i in range(targets.body.shape[0]):
            b = targets.body[i]
            put_vec3(targets.at, i, vec3(W.x, b) + rotation(W.R, b) @ vec3(targets.position, i))
        for i in range(targets.normal.shape[0]):
            targets.normal[i] = 0.0
        cost[f] = 0.0
        for c in range(n):
            g[f, c] = 0.0
        for m in range(targets.first.shape[0]):
            cost[f] += add_target(T, W, targets, m, target, weight, f, g)
        for k in range(targets.ground.shape[0]):
            cost[f] += add_ground_point(T, W, targets, k, f, g)
        for i in range(n):
            for c in range(n):
                H[f * n + i, c] = targets.normal[index(i * w + c)]
    return 0
