"""Snapshots and copies of worlds whose structure changes."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from tests.constraint_checks import largest
from tests.world.arms import arms, block, run

import brachiate as br


def test_restoring_a_state_restores_connections():
    world = arms()
    weld = world.connect("a/tip", "b/tip")
    (lock,) = world.lock("a/cart.x")
    state, acceleration = world.save(), np.array(world.forward_dynamics())
    world.cut(weld)
    world.release("a/cart.x")
    world.cut("a/elbow")
    hinge = world.connect("a/lower", "world", br.Revolute("x"))
    run(world, 0.05)
    assert (weld.alive, lock.alive, hinge.alive) == (False, False, True)
    world.restore(state)
    assert (weld.alive, lock.alive, hinge.alive) == (True, True, False)
    assert list(world.connections.values()) == [weld]
    assert "a/elbow" in world.model.joints
    assert (world.q == state.q).all()
    assert largest(world.forward_dynamics() - acceleration) < 1e-10 * largest(acceleration)
    assert world.connections["a/tip"] is weld


def test_structure_versions_are_unique():
    # Fails if two structures have the same version number after restoring.
    world = arms()
    bare = world.save()
    first = world.connect("a/tip", "b/tip", br.Revolute("y"), name="first")
    with_first = world.save()
    world.restore(bare)
    second = world.connect("a/cart", "b/cart", br.Spherical(), name="second")
    with_second = world.save()
    world.restore(with_first)
    assert list(world.connections.values()) == [first]
    assert (first.alive, second.alive) == (True, False)
    world.restore(with_second)
    assert list(world.connections.values()) == [second]
    world.restore(bare)
    assert not world.connections
    assert not first.alive
    assert not second.alive


def test_copies_are_independent():
    world = arms()
    weld = world.connect("a/tip", "b/tip")
    world.lock("a/cart.y")
    state, acceleration = world.save(), np.array(world.forward_dynamics())
    other = world.copy()
    assert list(other.connections) == ["a/tip"]
    assert other.connections["a/tip"] is not weld
    assert other.connections["a/tip"].world is other
    assert largest(other.forward_dynamics() - acceleration) < 1e-11 * largest(acceleration)
    other.cut("a/tip")
    other.cut("a/elbow")
    other.release("a/cart.y")
    run(other, 0.05)
    assert weld.alive
    assert (world.q == state.q).all()
    assert largest(world.forward_dynamics() - acceleration) < 1e-11 * largest(acceleration)
    assert other.figure("a").model is not world.figure("a").model
    assert "elbow" in world.figure("a").model.joints


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda world: pickle.loads(pickle.dumps(world))], ids=["deepcopy", "pickle"])
def test_deepcopies_and_pickles_are_independent(copied):
    # Fails (or crashes) if a copy's compiled code still uses the arrays of the original.
    world = arms()
    weld = world.connect("a/tip", "b/tip", br.Revolute("y", damping=0.3))
    acceleration = np.array(world.forward_dynamics())
    other = copied(world)
    forces = world.constraint_set.arrays.force.copy()
    other.v[:] = 0.0
    other.forward_dynamics()
    assert (world.constraint_set.arrays.force == forces).all()
    other.restore(other.save())
    other.v[:] = world.v
    assert largest(other.forward_dynamics() - acceleration) < 1e-11 * largest(acceleration)
    world.cut(weld)
    assert largest(other.forward_dynamics() - acceleration) < 1e-11 * largest(acceleration)
    other.cut("a/tip")
    assert not other.connections


def test_handles_stay_valid_when_figures_are_added_and_joints_cut():
    world = arms()
    first = world.connect("a/tip", "b/tip", br.Revolute("y", stiffness=2.0))
    second = world.connect("a/cart", "world", br.Spherical())
    run(world, 0.1)
    value, rate, force = first.value, first.rate, second.force
    world.add(block(), "more", at=(5, 5, 5))
    assert first.value == pytest.approx(value, abs=1e-12)
    assert largest(second.force - force) < 1e-9 * largest(force)
    extra = world.connect("more/block", "world")
    world.cut("b/elbow")
    assert (first.alive, second.alive, extra.alive) == (True, True, True)
    assert first.value == pytest.approx(value, abs=1e-12)
    assert first.rate == pytest.approx(rate, abs=1e-11)
    world.cut(first)
    assert list(world.connections.values()) == [second, extra]
    assert extra.force == pytest.approx((0, 0, 2 * 9.81), abs=1e-9)
