"""Centroidal trajectory of a motion: CoM, CoM velocity, angular momentum and locked inertia of every frame."""

from __future__ import annotations

from typing import NamedTuple

from brachiate.compiled import Floats, Ints, Key, Rows3, Rows33, entry, kernel, struct_opener
from brachiate.dynamics.momentum import center_of_mass, momentum_about
from brachiate.kinematics import body_inertias, body_velocities, finite, forward_kinematics, tree_origin, valid_state
from brachiate.model.arrays import Tree, Work
from brachiate.model.status import NOT_FINITE, OK
from brachiate.spatial import inertia, put_vec3


class CentroidalTrajectory(NamedTuple):
    """Motion and its centroidal quantities. Sizes: f frames, nb bodies."""

    q: Floats  # (f nq,)
    v: Floats  # (f nv,)
    members: Ints  # (nb,) whether a body counts
    mass: Floats  # (1,) [kg]
    com: Rows3  # (f, 3) [m]
    com_velocity: Rows3  # (f, 3) [m/s]
    angular_momentum: Rows3  # (f, 3) [N·m·s] about the CoM
    locked_inertia: Rows33  # (f, 3, 3) [kg·m²] about the CoM


open_trajectory = struct_opener(Tree, Work, CentroidalTrajectory)


@kernel
def put_locked_inertia(T, W, members, c, out, n):
    """Row n of out ← locked inertia of the members (as one rigid body) about the point c."""
    xx = yy = zz = xy = xz = yz = 0.0
    for i in range(T.parent.shape[0]):
        if members[i]:
            I = inertia(W.inertia, i)
            d = c - tree_origin(T, W, i)
            h, s, m = I.h, I.I, I.m
            hd, dd = h @ d, d @ d
            xx += s.xx - 2.0 * (hd - h.x * d.x) + m * (dd - d.x * d.x)
            yy += s.yy - 2.0 * (hd - h.y * d.y) + m * (dd - d.y * d.y)
            zz += s.zz - 2.0 * (hd - h.z * d.z) + m * (dd - d.z * d.z)
            xy += s.xy + h.x * d.y + h.y * d.x - m * d.x * d.y
            xz += s.xz + h.x * d.z + h.z * d.x - m * d.x * d.z
            yz += s.yz + h.y * d.z + h.z * d.y - m * d.y * d.z
    out[n, 0, 0], out[n, 1, 1], out[n, 2, 2] = xx, yy, zz
    out[n, 0, 1] = out[n, 1, 0] = xy
    out[n, 0, 2] = out[n, 2, 0] = xz
    out[n, 1, 2] = out[n, 2, 1] = yz


@entry
def compute_centroidal_trajectory(key: Key):
    """Centroidal quantities of all frames, from q and v."""
    T, W, trajectory = open_trajectory(key)
    nq, nv = W.q.shape[0], W.v.shape[0]
    for n in range(trajectory.com.shape[0]):
        for i in range(nq):
            W.q[i] = trajectory.q[n * nq + i]
        for i in range(nv):
            W.v[i] = trajectory.v[n * nv + i]
        if not (valid_state(T, W.q, W.v) and finite(W.v)):
            return NOT_FINITE
        forward_kinematics(T, W)
        body_inertias(T, W)
        body_velocities(T, W)
        m, c = center_of_mass(T, W, trajectory.members)
        h = momentum_about(T, W, trajectory.members, c)
        trajectory.mass[0] = m
        put_vec3(trajectory.com, n, c)
        put_vec3(trajectory.com_velocity, n, (1.0 / m) * h.f)
        put_vec3(trajectory.angular_momentum, n, h.n)
        put_locked_inertia(T, W, trajectory.members, c, trajectory.locked_inertia, n)
    return OK
