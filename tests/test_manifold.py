"""Configuration manifold: integration and difference are inverse, screw motions, half turns, agreement with Pinocchio."""

import numpy as np
import pytest

import brachiate as br
from brachiate import manifold
from brachiate.errors import StateError

JOINTS = {
    "revolute": br.Revolute("y"), "prismatic": br.Prismatic((1, 2, 3)), "universal": br.Universal("x", "z"),
    "cylindrical": br.Cylindrical("y"), "planar": br.Planar("z"), "spherical": br.Spherical(), "free": br.Free(),
}  # fmt: skip


def one(joint: br.Joint) -> br.Data:
    builder = br.ModelBuilder("one")
    builder.link("link", joint=joint, mass=1.0, inertia=(1, 1, 1))
    return br.Data(builder.build())


@pytest.mark.parametrize("name", JOINTS)
def test_difference_inverts_integrate(name):
    data = one(JOINTS[name])
    rng = np.random.default_rng(1)
    for size in (1e-9, 1e-3, 0.5, 3.0):
        q = manifold.integrate(data, data.model.neutral, rng.normal(size=data.model.nv))
        v = rng.normal(size=data.model.nv)
        v *= size / np.linalg.norm(v)  # rotations below a half turn are the shortest
        back = manifold.difference(data, q, manifold.integrate(data, q, v))
        assert np.abs(back - v).max() < 1e-14 + 1e-13 * size


@pytest.mark.parametrize("name", JOINTS)
def test_two_half_steps_equal_one_step(name):
    data = one(JOINTS[name])
    v = np.random.default_rng(2).normal(size=data.model.nv)
    half = manifold.integrate(data, data.model.neutral, v, 0.5)
    whole = manifold.integrate(data, data.model.neutral, v, 1.0)
    assert np.abs(manifold.difference(data, whole, manifold.integrate(data, half, v, 0.5))).max() < 1e-14


def test_difference_of_half_turns():
    data = one(br.Spherical())
    v = manifold.difference(data, [1, 0, 0, 0], [0, 0, 1, 0])
    assert np.abs(np.abs(v) - [0, np.pi, 0]).max() < 1e-15


def test_free_joint_moves_along_a_screw():
    # Forward at 1 m/s while rotating left at π rad/s: after one second, on the opposite side of a circle of radius 1/π.
    data = one(br.Free())
    q = manifold.integrate(data, data.model.neutral, [1, 0, 0, 0, 0, np.pi])
    assert np.abs(q[:3] - [0, 2 / np.pi, 0]).max() < 1e-15


def test_equals_pinocchio():
    pin = pytest.importorskip("pinocchio", reason="Pinocchio is not installed: pip install 'brachiate[peers]'")
    model = pin.Model()
    joint = model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "free")
    model.addJoint(joint, pin.JointModelSpherical(), pin.SE3.Identity(), "ball")
    builder = br.ModelBuilder("two")
    builder.link("a", joint=br.Free(), mass=1.0, inertia=(1, 1, 1))
    builder.link("b", parent="a", joint=br.Spherical(), mass=1.0, inertia=(1, 1, 1))
    data = br.Data(builder.build())
    order = [0, 1, 2, 4, 5, 6, 3, 8, 9, 10, 7]  # w x y z to x y z w
    rng = np.random.default_rng(4)
    for _ in range(20):
        v, w = rng.normal(size=9), rng.normal(size=9)
        q = manifold.integrate(data, data.model.neutral, v)
        p = pin.integrate(model, pin.neutral(model), v)
        assert min(np.abs(q[order] - p).max(), np.abs(np.abs(q[order]) - np.abs(p)).max()) < 1e-14
        there, peer_there = manifold.integrate(data, q, w), pin.integrate(model, p, w)
        assert np.abs(manifold.difference(data, q, there) - pin.difference(model, p, peer_there)).max() < 1e-13


def test_results_that_are_not_finite_raise():
    data = one(br.Free())
    with pytest.raises(StateError, match="quaternion in q is zero"):
        manifold.integrate(data, np.zeros(7), np.zeros(6))
    with pytest.raises(StateError, match=r"v\[2\] is nan"):
        manifold.integrate(data, data.model.neutral, [0, 0, np.nan, 0, 0, 0])
    with pytest.raises(StateError, match="quaternion in q is zero"):
        manifold.difference(data, data.model.neutral, np.zeros(7))
