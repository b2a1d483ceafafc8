"""Constraint rows, inertia and forces of a tree with connections at one state."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from tests.maximal.joints import RANK, WORLD, MovingFrame, chain_end, coordinates_between, gap_between, passive_forces
from tests.maximal.rotations import cross, velocity_transform

from brachiate import Model
from brachiate.model.joints import Joint
from brachiate.validation import Array


class Connection(NamedTuple):
    """A joint between frames of two links, as :class:`~brachiate.model.link.Loop`; ``"world"`` counts as a link."""

    first: str
    second: str
    joint: Joint
    first_position: Array
    first_rotation: Array
    second_position: Array
    second_rotation: Array
    start: Array | None = None  # (nq,) initial guess of the joint's coordinates; default: neutral


class InconsistentRows(ValueError):
    """No finite accelerations satisfy all rows."""


class JointState(NamedTuple):
    """A joint of the tree or a connection in its present state."""

    joint: Joint
    q: Array
    rates: Array
    first: int  # indices of the links, -1: the world
    second: int
    X_first: Array  # (6, 6) from the link's velocity to that at the end of the chain
    X_second: Array
    S: Array  # (6, nv)
    gap: Array  # (6,) between the end of the chain and the second frame
    drift: Array  # (6,) its rate
    bias: Array  # (6,) its second derivative at zero accelerations of links and rates


class System:
    """Rows, inertias and forces at one state. Columns: velocities of links, rates of tree joints, rates of connections."""

    def __init__(self, model: Model, q: Array, v: Array, connections: Iterable[Connection] = ()) -> None:
        self.model, self.nv = model, model.nv
        self.names = {"world": -1} | {name: i for i, name in enumerate(model.links)}
        self.frames = link_frames(model, np.asarray(q, float), np.asarray(v, float))
        self.tree = [self._joint_state(c, x, rates) for c, x, rates in _tree_joints(model, q, v)]
        self.connections = [self._joint_state(c) for c in connections]
        self.joints = self.tree + self.connections
        self.at = 6 * len(model.links)  # index of the first joint rate
        self.tree_rates = slice(self.at, self.at + self.nv)
        self.size = self.at + sum(len(j.rates) for j in self.joints)
        rates = [j.rates for j in self.joints]
        self.u: Array = np.concatenate([*(self.frames[name].twist for name in model.links), *rates, np.zeros(0)])

    def _joint_state(self, c: Connection, q: Array | None = None, rates: Array | None = None) -> JointState:
        first, second = (self.frames[name]._replace(a=np.zeros(3), alpha=np.zeros(3)) for name in (c.first, c.second))
        start, goal = first.fixed_frame(c.first_position, c.first_rotation), second.fixed_frame(c.second_position, c.second_rotation)
        if q is None:
            q = coordinates_between(c.joint, start, goal, c.start)
        if rates is None:
            transported, S = chain_end(c.joint, q, np.zeros(c.joint.nv), start)
            rates = np.linalg.lstsq(S, goal.twist - transported.twist, rcond=RANK)[0]
        end, S = chain_end(c.joint, q, rates, start)
        X_first, X_second = velocity_transform(end.p - first.p), velocity_transform(goal.p - second.p)
        return JointState(
            c.joint, q, rates, self.names[c.first], self.names[c.second], X_first, X_second, S,
            gap_between(end, goal), goal.twist - end.twist, goal.acceleration - end.acceleration,
        )  # fmt: skip

    def rows(self, prescribed: Iterable[str] = ()) -> Array:
        """J: six rows for every joint, then one for every prescribed coordinate."""
        prescribed = list(prescribed)
        J = np.zeros((6 * len(self.joints) + len(prescribed), self.size))
        k = self.at
        for n, j in enumerate(self.joints):
            six = slice(6 * n, 6 * n + 6)
            for link, X in ((j.first, -j.X_first), (j.second, j.X_second)):
                if link >= 0:
                    J[six, 6 * link : 6 * link + 6] += X
            J[six, k : k + len(j.rates)] = -j.S
            k += len(j.rates)
        for n, name in enumerate(prescribed):
            J[6 * len(self.joints) + n, self.at + self.model.coordinate_index[name]] = 1.0
        return J

    def root_inertia(self) -> Array:
        """B with BᵀB = M, the inertia matrix of links and rotors."""
        B = np.zeros((self.size, self.size))
        for i, (name, link) in enumerate(self.model.links.items()):
            R = self.frames[name].R
            moments, axes = np.linalg.eigh(R @ link.inertia @ R.T)
            root = np.zeros((6, 6))
            root[:3, :3] = np.sqrt(link.mass) * np.eye(3)
            root[3:, 3:] = np.sqrt(np.maximum(moments, 0.0))[:, None] * axes.T
            B[6 * i : 6 * i + 6, 6 * i : 6 * i + 6] = root @ velocity_transform(R @ link.center)
        rotors = np.concatenate([j.joint.armature for j in self.joints] + [np.zeros(0)])
        B[self.at :, self.at :] = np.diag(np.sqrt(rotors))
        return B

    def forces(self, tau: Array, gravity: Array) -> Array:
        """f: weights and gyroscopic forces of links, joint torques."""
        f = np.zeros(self.size)
        for i, (name, link) in enumerate(self.model.links.items()):
            R, w = self.frames[name].R, self.frames[name].w
            c, I = R @ link.center, R @ link.inertia @ R.T
            force = link.mass * (gravity - cross(w, cross(w, c)))
            f[6 * i : 6 * i + 3] = force
            f[6 * i + 3 : 6 * i + 6] = cross(c, force) - cross(w, I @ w)
        f[self.at :] = np.concatenate([passive_forces(j.joint, j.q, j.rates) for j in self.joints] + [np.zeros(0)])
        f[self.tree_rates] += tau
        return f


def _tree_joints(model: Model, q: Array, v: Array) -> list[tuple[Connection, Array, Array]]:
    """Joint of every link with its coordinates and rates."""
    joints = []
    i = k = 0
    for name, link in model.links.items():
        joint = link.joint
        c = Connection(link.parent or "world", name, joint, link.position, link.rotation, np.zeros(3), np.eye(3))
        joints.append((c, np.asarray(q, float)[i : i + joint.nq], np.asarray(v, float)[k : k + joint.nv]))
        i, k = i + joint.nq, k + joint.nv
    return joints


def link_frames(model: Model, q: Array, v: Array) -> dict[str, MovingFrame]:
    """Frame of every link and of the world, with accelerations at constant rates."""
    frames = {"world": WORLD}
    for c, x, rates in _tree_joints(model, q, v):
        frames[c.second], _ = chain_end(c.joint, x, rates, frames[c.first].fixed_frame(c.first_position, c.first_rotation))
    return frames


class RowDecomposition:
    """Singular value decomposition of J x = γ: particular solution, null space, minimum-norm multipliers."""

    def __init__(self, J: Array) -> None:
        self.J = J
        self.U, s, self.Vt = np.linalg.svd(J)
        self.rank = int((s > RANK * s.max(initial=0.0)).sum())
        self.s = s[: self.rank]

    @property
    def null_space(self) -> Array:
        """Basis of the null space of J, as columns."""
        return self.Vt[self.rank :].T

    @property
    def redundant_multipliers(self) -> Array:
        """Basis of the null space of Jᵀ, as columns."""
        return self.U[:, self.rank :]

    def solution(self, gamma: Array, tolerance: float) -> Array:
        x = self.Vt[: self.rank].T @ (self.U[:, : self.rank].T @ gamma / self.s)
        if np.linalg.norm(self.J @ x - gamma) > tolerance * (1 + np.linalg.norm(gamma)):
            raise InconsistentRows("No accelerations satisfy all rows: open or singular loops, or prescribed coordinates contradict them.")
        return x

    def multipliers(self, force: Array) -> Array:
        """Minimum-norm λ with Jᵀλ = force."""
        return self.U[:, : self.rank] @ (self.Vt[: self.rank] @ force / self.s)
