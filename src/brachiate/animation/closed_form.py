"""Dynamics in closed form [EGC] 4.4: inertia and Coriolis tensors in joint space and in animation space.

With v the joint velocities, τ = I* v̇ + vᵀP*v − loads (eq. 26); in the space of n independent functions, τ_u = I_uu ü + u̇ᵀP_uuu u̇ −
G_uᵀ loads (eq. 34-40). Cost and memory grow as n³ and more; :mod:`brachiate.dynamics` gives the same torques in O(n) and is used where
tensors are not needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from brachiate import dynamics
from brachiate.errors import StateError
from brachiate.functions.program import element_starts
from brachiate.validation import Array

if TYPE_CHECKING:
    from brachiate.animation.space import AnimationSpace
    from brachiate.world.world import World

_MAX_CONDITION = 1e12


@dataclass(frozen=True, eq=False)
class BodyTensors:
    """Gradient and Hessian of the center of mass and of the orientation of one body, over the velocities that move it [EGC] eq. 16-19."""

    chain: Array  # (d,) velocities
    G_center: Array  # (3, d)
    H_center: Array  # (3, d, d)
    G_turn: Array  # (3, d)
    H_turn: Array  # (3, d, d) symmetric part of eq. 19, which is all that vᵀHv sees


def body_tensors(world: World, body: int) -> BodyTensors:
    """Tensors of one body, from poses that are up to date."""
    tree, work = world.model.tree, world.data.work
    last = int(tree.dof[body + 1]) - 1
    chain = tree.above[tree.row[last] : tree.row[last] + tree.depth[last] + 1]
    center = work.x[body] + work.R[body] @ tree.inertia[body, 1:4]
    w = work.S[chain, :3]
    g = work.S[chain, 3:] + np.cross(w, center)
    before = np.cross(w[:, None], g[None, :])  # [m, n]: s_m × g_n, right where m is at or above n
    turned = np.cross(w[:, None], w[None, :])
    order = np.sign(np.arange(len(chain))[None, :] - np.arange(len(chain))[:, None])  # 1 if n is below m
    element = element_starts(tree, world.model.nv)[chain]
    order[element[:, None] == element[None, :]] = 0  # a ball or floating motion turns about all axes at once: the mean
    weight = 0.5 * (1 + order)[:, :, None]
    H_center = weight * before + (1 - weight) * before.transpose(1, 0, 2)
    H_turn = 0.5 * order[:, :, None] * turned  # s_m × s_n for m above n, its half at [m, n] and at [n, m]
    return BodyTensors(chain, g.T, H_center.transpose(2, 0, 1), w.T, H_turn.transpose(2, 0, 1))


@dataclass(frozen=True, eq=False)
class JointSpaceDynamics:
    """Terms of [EGC] eq. 26-30 at the present state; n joint velocities.

    Attributes:
        I: (n, n) inertia tensor I*φφ, eq. 27, with the rotors of joints.
        P: (n, n, n) Coriolis tensor P*φφφ, eq. 29: torque i is vᵀP[i]v; symmetric in the last two axes.
        gravity: (n,) generalized force of gravity.
        external: (n,) of the forces and moments applied to links.
        passive: (n,) of springs, dampers and friction in the joints.
        connections: (n,) of springs and dampers between points of links (compliant connections), and of springs, dampers, friction and
            motors in the joints of connections: through the gradients of both points.
    """

    I: Array
    P: Array
    gravity: Array
    external: Array
    passive: Array
    connections: Array

    @property
    def loads(self) -> Array:
        """All generalized forces that are not inertial and not those of motors (n,)."""
        return self.gravity + self.external + self.passive + self.connections

    def torques(self, v: Array, acceleration: Array) -> Array:
        """Inverse dynamics, eq. 26: motor torques (n,)."""
        return self.I @ acceleration + self.P @ v @ v - self.loads

    def accelerations(self, v: Array, torques: Array) -> Array:
        """Forward dynamics, eq. 30 (n,)."""
        return np.linalg.solve(self.I, torques - self.P @ v @ v + self.loads)


def joint_space_dynamics(world: World) -> JointSpaceDynamics:
    """Terms of the equations of motion at the present state; rigid constraints and contact, which are no given forces, disregarded."""
    data, tree, n = world.data, world.model.tree, world.model.nv
    bias = np.array(dynamics.bias(data, data.q, data.v))
    dynamics.mass_matrix(data, data.q)  # for the poses, and all columns of S
    I, P, gravity = np.diag(tree.armature.astype(float)), np.zeros((n, n, n)), np.zeros(n)
    for body in range(len(tree.parent)):
        mass, (xx, xy, xz, yy, yz, zz) = tree.inertia[body, 0], tree.inertia[body, 4:10]
        R = data.work.R[body]
        II = R @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ R.T  # eq. 28
        t = body_tensors(world, body)
        at = np.ix_(t.chain, t.chain)
        I[at] += mass * t.G_center.T @ t.G_center + t.G_turn.T @ II @ t.G_turn  # eq. 27
        gyroscopic = np.cross(t.G_turn.T[:, None], (II @ t.G_turn).T[None, :]).transpose(2, 0, 1)  # ω × II ω
        gyroscopic = 0.5 * (gyroscopic + gyroscopic.transpose(0, 2, 1))
        P[np.ix_(t.chain, t.chain, t.chain)] += np.einsum("ci,cmn->imn", mass * t.G_center, t.H_center) + np.einsum(
            "ci,cmn->imn", t.G_turn, np.einsum("cd,dmn->cmn", II, t.H_turn) + gyroscopic
        )  # eq. 29
        gravity[t.chain] += mass * t.G_center.T @ world.gravity
    external = np.zeros(n)
    for force in world.applied_forces:
        J = world.jacobian(force.link, force.at)
        R = world.pose(force.link).rotation if force.axes == "link" else np.eye(3)
        external += J[:3].T @ (R @ force.force) + J[3:].T @ (R @ force.moment)
    # What the bias has besides inertial terms, gravity and applied forces is that of springs, dampers and friction in the joints.
    passive = P @ data.v @ data.v - gravity - external - bias
    if not tree.passive[0]:
        passive = np.zeros(n)
    return JointSpaceDynamics(I, P, gravity, external, passive, _connection_forces(world))


def _connection_forces(world: World) -> Array:
    """Generalized force of springs and dampers in connections: their wrench acts on the second body, the opposite one on the first."""
    total, data = np.zeros(world.model.nv), world.data
    if not world.connections:
        return total
    constraints = world.constraint_set
    constraints.arrays.time[0] = world.time
    constraints.accelerations()
    cons = constraints.arrays
    for connection in world.connections.values():
        i = connection.index
        wrench = cons.compliant_wrench[i] * cons.compliant[i] + cons.joint_wrench[i] * cons.has_joint_forces[i]
        for body, sign, point in ((int(cons.second[i]), 1.0, cons.P_second[i]), (int(cons.first[i]), -1.0, cons.P_first[i])):
            if body >= 0:
                t = body_tensors(world, body)
                arm = point - data.work.x[body] - data.work.R[body] @ data.model.tree.inertia[body, 1:4]
                G_point = t.G_center + np.cross(t.G_turn.T, arm).T
                total[t.chain] += sign * (G_point.T @ wrench[3:] + t.G_turn.T @ wrench[:3])
    return total


@dataclass(frozen=True, eq=False)
class AnimationSpaceDynamics:
    """Equations of motion in n independent functions [EGC] eq. 34-40.

    Attributes:
        names: Of the functions.
        G_u: (n, n) gradient of the joint velocities by the functions, eq. 36.
        H_uu: (n, n, n) eq. 37: v̇ = G_u ü + u̇ᵀH_uu u̇.
        I_uu: (n, n) eq. 34.
        P_uuu: (n, n, n) eq. 38.
        loads: (n,) generalized forces of gravity, applied forces, springs and dampers: G_uᵀ τ_L.
    """

    names: tuple[str, ...]
    G_u: Array
    H_uu: Array
    I_uu: Array
    P_uuu: Array
    loads: Array

    def forces(self, rate: Array, acceleration: Array) -> Array:
        """Generalized forces τ_u (n,), eq. 35. That of a function held constant is the reaction there."""
        return self.I_uu @ acceleration + self.P_uuu @ rate @ rate - self.loads

    def accelerations(self, rate: Array, forces: Array) -> Array:
        """ü for generalized forces (n,)."""
        return np.linalg.solve(self.I_uu, forces - self.P_uuu @ rate @ rate + self.loads)


def animation_space_dynamics(space: AnimationSpace) -> AnimationSpaceDynamics:
    """Equations of motion in the functions of a space, as many as there are joint velocities."""
    G, H, world = space.gradient(), space.hessian(), space.world
    n = world.model.nv
    if len(G) != n:
        raise StateError(
            f"The equations of motion in animation space need as many functions as degrees of freedom: there are {len(G)} and {n}. "
            "Add functions (joint variables), or use space.solve_acceleration and world.inverse_dynamics."
        )
    if np.linalg.cond(G) > _MAX_CONDITION:
        raise StateError(f"The functions are dependent in this state ({space.controllability()}): their equations of motion are singular.")
    joint = joint_space_dynamics(world)
    G_u = np.linalg.inv(G)
    H_uu = -np.einsum("ia,abc,bj,ck->ijk", G_u, H, G_u, G_u, optimize=True)
    I_uu = G_u.T @ joint.I @ G_u
    P_uuu = np.einsum("ia,ibc,bj,ck->ajk", G_u, joint.P, G_u, G_u, optimize=True) + np.einsum(
        "ia,ib,bjk->ajk", G_u, joint.I, H_uu, optimize=True
    )
    return AnimationSpaceDynamics(space.names, G_u, H_uu, I_uu, P_uuu, G_u.T @ joint.loads)
