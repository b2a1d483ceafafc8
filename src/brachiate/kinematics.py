"""Forward kinematics: poses, velocities and accelerations of bodies, Jacobians, limits.

Kernels come first, the Python interface after them. All spatial vectors of a tree are along world axes about the tree's origin
(see :mod:`brachiate.model.arrays`).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from brachiate import validation
from brachiate.compiled import Floats, Key, Matrix, entry, kernel, outlined
from brachiate.errors import ArgumentError
from brachiate.model.arrays import open_model
from brachiate.model.data import Data
from brachiate.model.flatten import Placement
from brachiate.model.joints import BALL, FLOAT, SLIDE, TURN
from brachiate.model.status import NOT_FINITE, OK
from brachiate.spatial import (
    MotionVector,
    Rotation,
    Sym3,
    Vec3,
    axis_rotation,
    compose,
    cross,
    inertia_about,
    motion,
    motion_cross,
    put6,
    put_inertia,
    put_rotation,
    put_vec3,
    quaternion_at,
    quaternion_of,
    rotated,
    rotation,
    rotation_of,
    vec3,
    vec3_at,
    velocity_at,
)
from brachiate.validation import Array


@kernel
def forward_kinematics(T, W):
    """Pose of every body, and its motion subspace S [SVC] 5; of ball joints see :func:`ball_motion_columns`."""
    for i in range(T.parent.shape[0]):
        p = T.parent[i]
        if p < 0:
            R = rotation(T.R_parent_joint, i)
            x = Vec3(0.0, 0.0, 0.0)
            origin = vec3(T.p_parent_joint, i)
            if T.kind[T.element[i]] == FLOAT:
                origin = origin + R @ vec3_at(W.q, T.q_at[T.element[i]])
            put_vec3(W.origin, i, origin)
        else:
            Rp = rotation(W.R, p)
            R = Rp
            if T.turned[i]:
                R = compose(Rp, rotation(T.R_parent_joint, i))
            x = vec3(W.x, p) + Rp @ vec3(T.p_parent_joint, i)
        for e in range(T.element[i], T.element[i + 1]):
            R, x = apply_element(T, W, i, e, R, x)
        put_rotation(W.R, i, R)
        put_vec3(W.x, i, x)


@kernel
def apply_element(T, W, i, e, R, x):
    """Move a frame by one elementary motion of body i, and store its columns of S."""
    kind, q, k = T.kind[e], T.q_at[e], T.v_at[e]
    if kind == SLIDE:
        u = R @ vec3(T.axis, e)
        put6(W.S, k, MotionVector(Vec3(0.0, 0.0, 0.0), u))
        return R, x + W.q[q] * u
    if T.anchored[e]:
        x = x + R @ vec3(T.anchor, e)
    if kind == TURN:
        u = vec3(T.axis, e)
        s, c, along = math.sin(W.q[q]), math.cos(W.q[q]), T.along[e]
        if along == 1:
            u = R.y
            R = Rotation(c * R.x - s * R.z, u, s * R.x + c * R.z)
        elif along == 0:
            u = R.x
            R = Rotation(u, c * R.y + s * R.z, c * R.z - s * R.y)
        elif along == 2:
            u = R.z
            R = Rotation(c * R.x + s * R.y, c * R.y - s * R.x, u)
        else:
            R = compose(R, axis_rotation(u, W.q[q]))
            u = R @ u
        put6(W.S, k, MotionVector(u, cross(x, u)))
    else:
        if kind == FLOAT:
            if T.parent[i] >= 0:
                x = x + R @ vec3_at(W.q, q)  # at a root the tree's origin is there already
            q += 3
        R = compose(R, rotation_of(quaternion_at(W.q, q)))
        if not simple_ball(T, i):
            put_ball_columns(W.S, k, kind, R, x)
    if T.anchored[e]:
        x = x - R @ vec3(T.anchor, e)
    return R, x


@kernel
def simple_ball(T, i):
    """Whether body i has a single ball joint, or is a floating root: its columns of S follow from R."""
    kind = joint_kind(T, i)
    return kind == BALL or (kind == FLOAT and T.parent[i] < 0)


@kernel
def put_ball_columns(S, k, kind, R, x):
    """Store the columns of S of a ball joint at x, or of a floating body."""
    if kind == FLOAT:
        zero = Vec3(0.0, 0.0, 0.0)
        put6(S, k, MotionVector(zero, R.x))
        put6(S, k + 1, MotionVector(zero, R.y))
        put6(S, k + 2, MotionVector(zero, R.z))
        k += 3
    put6(S, k, MotionVector(R.x, cross(x, R.x)))
    put6(S, k + 1, MotionVector(R.y, cross(x, R.y)))
    put6(S, k + 2, MotionVector(R.z, cross(x, R.z)))


@kernel
def ball_motion_columns(T, W):
    """Columns of S of ball joints and floating roots. Only algorithms that use S by columns need them; the others use R."""
    for i in range(T.parent.shape[0]):
        if simple_ball(T, i):
            put_ball_columns(W.S, T.dof[i], joint_kind(T, i), rotation(W.R, i), joint_center(T, W, i))


@kernel
def body_inertias(T, W):
    """Inertia of every body about its tree's origin, along world axes."""
    for i in range(T.parent.shape[0]):
        R = rotation(W.R, i)
        I = T.inertia
        c = vec3(W.x, i) + R @ Vec3(I[i, 1], I[i, 2], I[i, 3])
        about = rotated(R, Sym3(I[i, 4], I[i, 5], I[i, 6], I[i, 7], I[i, 8], I[i, 9]))
        put_inertia(W.inertia, i, inertia_about(I[i, 0], c, about))


@kernel
def zero_motion():
    """Zero motion vector."""
    return MotionVector(Vec3(0.0, 0.0, 0.0), Vec3(0.0, 0.0, 0.0))


@kernel
def joint_kind(T, i):
    """Kind of a body's joint if it is one elementary motion, else -1."""
    e = T.element[i]
    return T.kind[e] if T.element[i + 1] - e == 1 else -1


@kernel
def joint_center(T, W, i):
    """A point on the axis of the body's (last) elementary motion, from the tree's origin."""
    x = vec3(W.x, i)
    e = T.element[i + 1] - 1
    return x + rotation(W.R, i) @ vec3(T.anchor, e) if T.anchored[e] else x


@kernel
def joint_motion(T, W, i, y):
    """S y of body i's joint."""
    k, kind = T.dof[i], joint_kind(T, i)
    if kind >= BALL:  # S from the columns of R: a third of the work
        R = rotation(W.R, i)
        w = R @ vec3_at(y, k + 3 if kind == FLOAT else k)
        v = cross(joint_center(T, W, i), w)
        return MotionVector(w, v + R @ vec3_at(y, k)) if kind == FLOAT else MotionVector(w, v)
    A = y[k] * motion(W.S, k)
    for m in range(k + 1, T.dof[i + 1]):
        A = A + y[m] * motion(W.S, m)
    return A


@kernel
def joint_velocity(T, W, i, V, v):
    """Velocity of body i from its parent's velocity V and the joint velocities v, and the velocity-product term Ṡ v."""
    if joint_kind(T, i) >= 0:
        VJ = joint_motion(T, W, i, v)
        return V + VJ, motion_cross(V, VJ)
    C = zero_motion()
    for e in range(T.element[i], T.element[i + 1]):
        k = T.v_at[e]
        VJ = v[k] * motion(W.S, k)
        if T.kind[e] == BALL:  # axes fixed in the child move with V + VJ, and (V + VJ) × VJ = V × VJ
            VJ = VJ + v[k + 1] * motion(W.S, k + 1) + v[k + 2] * motion(W.S, k + 2)
        C = C + motion_cross(V, VJ)
        V = V + VJ
    return V, C


@kernel
def body_velocities(T, W):
    """Velocity of every body, and C, the acceleration of its joint at zero joint acceleration."""
    for i in range(T.parent.shape[0]):
        p = T.parent[i]
        V, C = joint_velocity(T, W, i, motion(W.V, p) if p >= 0 else zero_motion(), W.v)
        put6(W.V, i, V)
        put6(W.C, i, C)


@kernel
def finite(x):
    """Whether every number of a flat array is finite."""
    bad = 0
    for i in range(x.shape[0]):
        bad += x[i] - x[i] != 0.0
    return bad == 0


@kernel
def copy_to(x, out):
    """out ← x."""
    for i in range(x.shape[0]):
        out[i] = x[i]


@kernel
def valid_state(T, q, v):
    """Whether q and v are finite and no quaternion is zero."""
    good = finite(q) and finite(v)
    for e in range(T.kind.shape[0]):
        if T.kind[e] >= BALL:
            x = quaternion_at(q, T.q_at[e] + (3 if T.kind[e] == FLOAT else 0))
            good = good and x.w * x.w + x.x * x.x + x.y * x.y + x.z * x.z > 1e-24
    return good


@kernel
def body_accelerations(T, W):
    """Acceleration of every body for the joint accelerations W.a, without gravity; velocities are up to date."""
    for i in range(T.parent.shape[0]):
        p = T.parent[i]
        A = motion(W.A, p) if p >= 0 else zero_motion()
        put6(W.A, i, A + motion(W.C, i) + joint_motion(T, W, i, W.a))


@kernel
def tree_origin(T, W, i):
    """Origin of the tree that body i belongs to."""
    return vec3(W.origin, T.root[i])


@entry
def update_body_poses(key: Key):
    """Poses of all bodies at W.q."""
    T, W = open_model(key)
    if not valid_state(T, W.q, W.v):
        return NOT_FINITE
    forward_kinematics(T, W)
    return OK


@outlined
def update_body_motion(key):
    """Poses, velocities and accelerations of all bodies at (W.q, W.v, W.a)."""
    T, W = open_model(key)
    if not (valid_state(T, W.q, W.v) and finite(W.a)):
        return NOT_FINITE
    forward_kinematics(T, W)
    body_velocities(T, W)
    body_accelerations(T, W)
    return OK


@kernel
def jacobian_columns(T, W, i, r, J):
    """Velocity of a point at r (from the tree's origin) of body i per unit of every velocity; linear rows first."""
    for k in range(J.shape[1]):
        for c in range(6):
            J[c, k] = 0.0
    while i >= 0:
        for k in range(T.dof[i], T.dof[i + 1]):
            S = motion(W.S, k)
            J[0, k], J[1, k], J[2, k] = velocity_at(S, r)
            J[3, k], J[4, k], J[5, k] = S.w
        i = T.parent[i]


# --- Python interface ---------------------------------------------------------------------------------


@entry
def _motion(key: Key):
    return update_body_motion(key)


class Pose(NamedTuple):
    """Pose of a frame in the world."""

    rotation: Array  # (3, 3)
    position: Array  # (3,) [m]

    @property
    def quaternion(self) -> Array:
        """Orientation as (w, x, y, z), w ≥ 0."""
        return np.array(quaternion_of(Rotation(*(Vec3(*column) for column in self.rotation.T))))


def update_poses(data: Data) -> None:
    """Compute the pose of every body at ``data.q``."""
    status = update_body_poses(data.key)
    if status:
        data.raise_status(status)


def update_motion(data: Data) -> None:
    """Compute poses, velocities and accelerations of every body at ``data.q``, ``data.v`` and ``data.a``."""
    status = _motion(data.key)
    if status:
        data.raise_status(status)


def pose(data: Data, frame: Placement) -> Pose:
    """Pose of a frame fixed in a body (a link's or a site's placement), from poses already computed."""
    if frame.body < 0:
        return Pose(frame.rotation, frame.position)
    work, root = data.work, data.model.tree.root[frame.body]
    R = work.R[frame.body]
    return Pose(R @ frame.rotation, work.origin[root] + work.x[frame.body] + R @ frame.position)


def link_poses(data: Data) -> dict[str, Pose]:
    """Pose of every link at ``data.q``, by name."""
    update_poses(data)
    return {name: pose(data, placement) for name, placement in data.model.placements.items()}


@entry
def _jacobian(key: Key, body: int, point: Floats, J: Matrix):
    T, W = open_model(key)
    if not valid_state(T, W.q, W.v):
        return NOT_FINITE
    forward_kinematics(T, W)
    ball_motion_columns(T, W)
    r = vec3(W.x, body) + rotation(W.R, body) @ vec3_at(point, 0)
    jacobian_columns(T, W, body, r, J)
    return OK


def jacobian(data: Data, frame: Placement) -> Array:
    """Velocity of a frame per unit of every velocity, at ``data.q``: (6, nv), linear rows first."""
    J = np.zeros((6, data.model.nv))
    if not -1 <= frame.body < len(data.model.tree.parent):
        raise ArgumentError(f"frame: this model has no body {frame.body}. Take a placement from model.placements.")
    if frame.body >= 0:
        status = _jacobian(data.key, frame.body, validation.vector(frame.position, "position of the frame"), J)
        if status:
            data.raise_status(status)
    return J


def frame_motion(data: Data, frame: Placement) -> tuple[Array, Array]:
    """Velocity and acceleration of a frame at ``data``'s q, v and a, linear parts first, world axes: two (6,)."""
    update_motion(data)
    if frame.body < 0:
        return np.zeros(6), np.zeros(6)
    work = data.work
    r = work.x[frame.body] + work.R[frame.body] @ frame.position
    w, v = work.V[frame.body, :3], work.V[frame.body, 3:] + np.cross(work.V[frame.body, :3], r)
    alpha = work.A[frame.body, :3]
    a = work.A[frame.body, 3:] + np.cross(alpha, r) + np.cross(w, v)
    return np.concatenate([v, w]), np.concatenate([a, alpha])


def beyond_limits(data: Data) -> dict[str, float]:
    """Coordinates outside their limits, and by how much [rad or m]; of cone limits as ``joint.swing``, ``joint.twist``."""
    model, found = data.model, {}
    if not np.isfinite(data.q).all():
        data.raise_status(NOT_FINITE)
    lower, upper = model.limits
    for name, place in model.scalar_coordinates.items():
        k = model.coordinate_index[name]
        excess = max(lower[k] - data.q[place], data.q[place] - upper[k])
        if excess > 0:
            found[name] = float(excess)
    for name, joined in model.joints.items():
        limit = model.links[joined.link].joint.cone
        if limit is not None:
            swing, twist = swing_and_twist(data.q[joined.q], limit.axis)
            for part, excess in (("swing", swing - limit.swing), ("twist", max(limit.twist[0] - twist, twist - limit.twist[1]))):
                if excess > 0:
                    found[f"{name}.{part}"] = float(excess)
    return found


def swing_and_twist(quaternion: Array, axis: Array) -> tuple[float, float]:
    """Swing of an axis of the child from its neutral direction, and twist about it [rad]."""
    w, along = float(quaternion[0]), float(quaternion[1:] @ axis)
    across = float(np.linalg.norm(quaternion[1:] - along * axis))
    swing = 2.0 * np.arctan2(across, np.hypot(w, along))
    twist = 2.0 * np.arctan2(along, w)
    return swing, float((twist + np.pi) % (2.0 * np.pi) - np.pi)
