"""Momentum, center of mass and energy of a set of bodies, and the centroidal momentum matrix [Orin 2013]."""

from __future__ import annotations

from brachiate.compiled import kernel
from brachiate.kinematics import ball_motion_columns, tree_origin
from brachiate.model.joints import BALL
from brachiate.spatial import (
    Force,
    Vec3,
    inertia,
    motion,
    moved_force,
    quaternion_difference,
)


@kernel
def center_of_mass(T, W, members):
    """Total mass and center of mass in the world, of the bodies whose member flag is set."""
    m, h = 0.0, Vec3(0.0, 0.0, 0.0)
    for i in range(T.parent.shape[0]):
        if members[i]:
            I = inertia(W.inertia, i)
            m += I.m
            h = h + I.h + I.m * tree_origin(T, W, i)
    return m, (1.0 / m) * h if m > 0.0 else h


@kernel
def momentum_about(T, W, members, point):
    """Momentum of the members about a point of the world."""
    total = Force(Vec3(0.0, 0.0, 0.0), Vec3(0.0, 0.0, 0.0))
    for i in range(T.parent.shape[0]):
        if members[i]:
            total = total + moved_force(inertia(W.inertia, i) @ motion(W.V, i), point - tree_origin(T, W, i))
    return total


@kernel
def kinetic_energy(T, W, members):
    """½ vᵀ A v of the members, rotors included."""
    e = 0.0
    for i in range(T.parent.shape[0]):
        if members[i]:
            V = motion(W.V, i)
            e += 0.5 * (V @ (inertia(W.inertia, i) @ V))
            for k in range(T.dof[i], T.dof[i + 1]):
                e += 0.5 * T.armature[k] * W.v[k] * W.v[k]
    return e


@kernel
def potential_energy(T, W, members):
    """Potential energy of the members in gravity, and of the springs in their joints."""
    g = Vec3(W.gravity[0], W.gravity[1], W.gravity[2])
    e = 0.0
    for i in range(T.parent.shape[0]):
        if members[i]:
            I = inertia(W.inertia, i)
            e -= g @ (I.h + I.m * tree_origin(T, W, i))
            for n in range(T.element[i], T.element[i + 1]):
                k, q = T.v_at[n], T.q_at[n]
                if T.kind[n] < BALL:
                    d = W.q[q] - T.rest[q]
                    e += 0.5 * T.stiffness[k] * d * d
                elif T.kind[n] == BALL:
                    w = quaternion_difference(T.rest, W.q, q)
                    e += 0.5 * (T.stiffness[k] * w.x * w.x + T.stiffness[k + 1] * w.y * w.y + T.stiffness[k + 2] * w.z * w.z)
    return e


@kernel
def centroidal_matrix(T, W, point, matrix):
    """Momentum about a point per unit of every velocity, from W.composite: (6, nv), linear rows first."""
    ball_motion_columns(T, W)
    for k in range(matrix.shape[1]):
        i = T.body[k]
        h = moved_force(inertia(W.composite, i) @ motion(W.S, k), point - tree_origin(T, W, i))
        matrix[0, k], matrix[1, k], matrix[2, k] = h.f
        matrix[3, k], matrix[4, k], matrix[5, k] = h.n
