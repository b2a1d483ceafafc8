"""Constraint sets and worlds compared with maximal coordinates: conversion of mechanisms, and Newton-Euler residual of every link."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from tests import maximal
from tests.maximal import Connection, System
from tests.random_mechanisms import Mechanism

from brachiate import Data, Model, World
from brachiate.constraints.arrays import INDEPENDENT, REDUNDANT, ROWS
from brachiate.constraints.constraint_set import ConstraintSet
from brachiate.model.flatten import Placement
from brachiate.model.joints import Joint
from brachiate.validation import Array

GRAVITY = np.array([0.4, 0.9, -9.3])  # oblique, so that a residual component shows


def largest(x: Array) -> float:
    return float(np.abs(x).max(initial=0.0))


# --- constraint sets ------------------------------------------------------------------------------


def placement_of(model: Model, link: str, rotation: Array, position: Array) -> Placement:
    """A frame of a link (or of the world) as a frame of the link's body."""
    if link == "world":
        return Placement(-1, np.array(rotation, float), np.array(position, float))
    at = model.placements[link]
    return Placement(at.body, at.rotation @ rotation, at.position + at.rotation @ position)


def make_constraint_set(m: Mechanism, gravity: Array = GRAVITY) -> tuple[ConstraintSet, list[int]]:
    """The package's constraint set of a mechanism in its state, and the indices of its connections."""
    data = Data(m.model, gravity)
    data.assign(q=m.q, v=m.v)
    constraint_set, indices = ConstraintSet(data), []
    for c in m.connections:
        first = placement_of(m.model, c.first, c.first_rotation, c.first_position)
        second = placement_of(m.model, c.second, c.second_rotation, c.second_position)
        indices.append(constraint_set.connect(first, second, c.joint))
        if c.start is not None:
            at = int(constraint_set.arrays.q_at[indices[-1]])
            constraint_set.arrays.q[at : at + c.joint.nq] = c.start
    constraint_set.update_structure()
    return constraint_set, indices


def wrenches(constraint_set: ConstraintSet, indices: Sequence[int]) -> Array:
    """Force, then moment, of every connection on its second link, at the second frame: the order of maximal.accelerations."""
    spatial_forces = [constraint_set.wrench(index)[0] for index in indices]
    return np.array([[*f[3:], *f[:3]] for f in spatial_forces]).reshape(-1, 6)


def mobility(constraint_set: ConstraintSet) -> int:
    """Number of velocities minus number of independent rows."""
    return constraint_set.data.model.nv - int((constraint_set.arrays.state[: constraint_set.arrays.count[ROWS]] == INDEPENDENT).sum())


def redundant_rows(constraint_set: ConstraintSet) -> Array:
    return np.flatnonzero(constraint_set.arrays.state[: constraint_set.arrays.count[ROWS]] == REDUNDANT)


# --- Newton-Euler residual ------------------------------------------------------------------------


def newton_euler_residual(m: Mechanism, a: Array, tau: Array, forces: Array, gravity: Array = GRAVITY) -> float:
    """Residual of the Newton-Euler equations relative to the largest force. Only accelerations and connection wrenches are the package's.

    Every link's rate of momentum minus its weight is the sum of joint and connection wrenches. Those of the tree follow from the
    links by elimination; along its motions every joint must then exert exactly its torque, spring, damper and friction, minus the
    inertia of its rotor, and so must every connection.
    """
    system = System(m.model, m.q, m.v, m.connections)
    tree, links = slice(0, 6 * len(system.tree)), slice(0, system.at)
    J, bias = system.rows(), np.concatenate([*(-j.bias for j in system.joints), np.zeros(0)])
    x = np.zeros(system.size)
    x[system.tree_rates] = a
    x[links] = np.linalg.solve(J[tree, links], bias[tree] - J[tree, system.tree_rates] @ a)
    B = system.root_inertia()
    needed = B.T @ (B @ x) - system.forces(tau, gravity)  # includes rotors and joint torques
    multipliers = np.zeros(len(J))
    multipliers[6 * len(system.tree) :] = forces.ravel()
    rest = needed[links] - J[tree.stop :, links].T @ multipliers[tree.stop :]
    multipliers[tree] = np.linalg.solve(J[tree, links].T, rest)
    residual = needed - J.T @ multipliers
    return largest(residual) / max(largest(multipliers), largest(needed), 1e-300)


# --- worlds ---------------------------------------------------------------------------------------


def expected_connection(world: World, link: str, to: str, joint: Joint, at: Array | Sequence[float] = (0.0, 0.0, 0.0)) -> Connection:
    """Connection that world.connect makes of two links, or ``world``: a joint at the first link, its axes along those of the second."""
    poses, _ = maximal.bodies(world.model, world.q, world.v)
    poses["world"] = maximal.Pose(np.eye(3), np.zeros(3))
    (R, p), (R_to, p_to) = poses[link], poses[to]
    point = p + R @ np.asarray(at, float)
    return Connection(to, link, joint, R_to.T @ (point - p_to), np.eye(3), np.asarray(at, float), R.T @ R_to, joint.neutral)


def link_states(world: World) -> dict[str, tuple[Array, Array, Array]]:
    """Rotation, position and velocity of every link, by maximal coordinates."""
    poses, velocities = maximal.bodies(world.model, world.q, world.v)
    return {name: (*poses[name], velocities[name]) for name in poses}


def state_difference(one: dict[str, tuple[Array, Array, Array]], other: dict[str, tuple[Array, Array, Array]]) -> float:
    """Largest difference of poses and velocities of links."""
    assert one.keys() == other.keys()
    return max(largest(a - b) for name in one for a, b in zip(one[name], other[name], strict=True))
