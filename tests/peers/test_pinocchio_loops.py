"""Accelerations and forces of closed chains against Pinocchio's constraintDynamics: point and frame constraints.

Only the model description is shared. Pinocchio factorizes the KKT matrix of rows and mass matrix with mu = 0, which is valid for
independent rows; mechanisms are drawn so that they are, with singular values down to 1e-4 of the largest. These enter squared,
so 1e-16 may grow to 1e-8 of the accelerations at worst, on either side; measured: 1e-10.
"""

from __future__ import annotations

import numpy as np
import pytest
from tests.constraint_checks import largest, make_constraint_set
from tests.maximal import Connection
from tests.random_mechanisms import Mechanism, random_mechanism

from brachiate import Model
from brachiate.constraints.constraint_set import ConstraintSet
from brachiate.validation import Array

pin = pytest.importorskip("pinocchio", reason="Pinocchio is not installed (pip install brachiate[peers])")

from tests.peers.pinocchio_model import GRAVITY, Peer  # noqa: E402

SEEDS = range(30)
TOLERANCE = 1e-9


def mechanism(seed: int, kinds: tuple[str, ...]) -> Mechanism:
    m = random_mechanism(seed, 4 + seed % 9, 1 + seed % 3, kinds=kinds, armature=False)
    return m if m.connections else mechanism(seed + 1000, kinds)


def constraint(peer: Peer, c: Connection) -> pin.RigidConstraintModel:
    """Connection as a constraint of Pinocchio between frames of two of its joints; joint 0 is the world."""
    point = c.joint.elements[0].anchor if c.joint.elements else np.zeros(3)
    ends = []
    for link, position, rotation in ((c.first, c.first_position, c.first_rotation), (c.second, c.second_position, c.second_rotation)):
        index = pin.SE3(np.array(rotation), position + rotation @ point)
        if link == "world":
            ends += [0, index]
        else:
            frame = peer.model.frames[peer.frames[link]]
            ends += [frame.parentJoint, frame.placement * index]
    kind = pin.ContactType.CONTACT_3D if c.joint.elements else pin.ContactType.CONTACT_6D
    return pin.RigidConstraintModel(kind, peer.model, *ends, pin.ReferenceFrame.LOCAL)


def theirs(m: Mechanism, tau: Array) -> tuple[Array, list[Array]]:
    """Pinocchio's accelerations, in our order, and the force (and moment) at every connection on its first link, in its frame there."""
    peer = Peer(m.model)
    models, data = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    for c in m.connections:
        models.append(constraint(peer, c))
        data.append(models[-1].createData())
    pin.initConstraintDynamics(peer.model, peer.data, models, data)
    settings = pin.ProximalSettings(0.0, 0.0, 1)  # mu = 0: rows are independent
    a = pin.constraintDynamics(peer.model, peer.data, peer.q(m.q), peer.v(m.v), peer.v(tau), models, data, settings)
    forces = [d.contact_force.vector.copy() for d in data]
    return np.array(a)[peer.v_at], forces


def ours(m: Mechanism, tau: Array) -> tuple[Array, ConstraintSet, list[int]]:
    constraint_set, indices = make_constraint_set(m, GRAVITY)
    constraint_set.data.tau[:] = tau
    return constraint_set.accelerations().copy(), constraint_set, indices


def first_pose(m: Mechanism, constraint_set: ConstraintSet, c: Connection) -> Array:
    """Rotation of a connection's first frame."""
    return _rotation(m.model, constraint_set, c.first) @ c.first_rotation


def _rotation(model: Model, constraint_set: ConstraintSet, link: str) -> Array:
    if link == "world" or model.placements[link].body < 0:
        return np.eye(3) if link == "world" else model.placements[link].rotation
    return constraint_set.data.work.R[model.placements[link].body] @ model.placements[link].rotation


@pytest.mark.parametrize("kinds", [("spherical",), ("fixed",), ("spherical", "fixed")], ids="+".join)
@pytest.mark.parametrize("seed", SEEDS)
def test_accelerations_agree_with_pinocchio(seed, kinds):
    m = mechanism(seed, kinds)
    tau = np.random.default_rng(seed).normal(size=m.model.nv)
    expected, _ = theirs(m, tau)
    found, _, _ = ours(m, tau)
    assert largest(found - expected) < TOLERANCE * largest(expected)


@pytest.mark.parametrize("seed", SEEDS)
def test_forces_agree_with_pinocchio(seed):
    m = mechanism(seed, ("spherical", "fixed"))
    tau = np.random.default_rng(seed).normal(size=m.model.nv)
    _, expected = theirs(m, tau)
    _, constraint_set, indices = ours(m, tau)
    size = max(largest(six) for six in expected)
    for index, c, six in zip(indices, m.connections, expected, strict=True):
        wrench, _ = constraint_set.wrench(index)
        R = first_pose(m, constraint_set, c)
        assert largest(-R.T @ wrench[3:] - six[:3]) < TOLERANCE * size  # Pinocchio's acts on the first link, ours on the second
        if not c.joint.elements:
            assert largest(-R.T @ wrench[:3] - six[3:]) < TOLERANCE * size
