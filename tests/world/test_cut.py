"""Cutting connections and joints of the tree at run time."""

from __future__ import annotations

import numpy as np
import pytest
from tests import maximal
from tests.constraint_checks import expected_connection, largest, link_states, state_difference
from tests.world.arms import arms, arms_like, block, run

import brachiate as br
from brachiate.errors import ArgumentError


def test_a_cut_changes_no_velocity():
    world = arms()
    weld = world.connect("a/tip", "b/tip")
    run(world, 0.1)
    before_states = link_states(world)
    report = world.cut(weld)
    assert state_difference(before_states, link_states(world)) == 0.0
    assert report.mobility == (20, 26)
    assert (report.impulse, report.energy_lost) == (0.0, 0.0)
    with pytest.raises(ArgumentError, match="'a/tip' is no longer active: it was cut"):
        _ = weld.value
    assert largest(world.forward_dynamics() - arms_like(world).forward_dynamics()) < 1e-11


def test_a_cut_with_an_impulse_separates_the_links():
    world = br.World(gravity=0)
    for name, at in (("a", 0), ("b", 1), ("c", 2)):
        world.add(block(), name, at=(at, 0, 0))
    world.v = np.random.default_rng(1).normal(size=18)
    joint = world.connect("a/block", "b/block", br.Revolute("z"), at=(0.5, 0, 0))
    world.connect("c/block", "b/block", br.Spherical(), at=(-0.5, 0, 0))
    point = joint.wrench.at
    impulse = np.array([-3.0, 1.0, 2.0])
    before = {name: world.totals(name) for name in "abc"}
    whole = maximal.momentum(world.model, world.q, world.v)
    report = world.cut(joint, impulse=impulse)
    change = {name: world.totals(name).momentum - before[name].momentum for name in "abc"}
    assert largest(change["a"] - impulse) < 1e-12
    assert largest(change["b"] + change["c"] + impulse) < 1e-12  # transmitted in part from b to c
    for one, other in zip(whole, maximal.momentum(world.model, world.q, world.v), strict=True):
        assert largest(one - other) < 1e-12
    spin = world.totals("a").angular_momentum - before["a"].angular_momentum
    assert largest(spin - np.cross(point - world.position("a/block"), impulse)) < 1e-12
    assert report.energy_lost < 0  # the impulse adds energy


def test_a_joint_of_the_tree_can_be_cut():
    world = arms()
    world.torque = {"a/elbow": 2.0, "b/cart.x": 1.0}
    before_states, counted = link_states(world), world.totals()
    report = world.cut("a/elbow")
    assert state_difference(before_states, link_states(world)) < 1e-13
    assert report.mobility == (26, 31)
    assert report.variables == (26, 31)
    assert "a/elbow" not in world.model.joints
    assert world.torque[world.model.coordinate_index["b/cart.x"]] == 1.0
    assert world.totals().kinetic == pytest.approx(counted.kinetic, rel=1e-13)
    # Now both parts fall freely.
    fall = world.forward_dynamics()
    assert largest(world.acceleration("a/lower", fall, at=(0, 0.05, 0.3))[:3] - [0, 0, -9.81]) < 1e-10
    br.Simulation(world, integrator="rk4").run(0.05)


def test_cutting_a_joint_removes_its_lock():
    world = arms()
    (lock,) = world.lock("a/elbow")
    (other,) = world.lock("b/elbow")
    world.cut("a/elbow")
    assert list(world.locks) == ["b/elbow"]
    assert other.alive
    assert not lock.alive
    with pytest.raises(ArgumentError, match="is no longer active"):
        _ = lock.torque


def test_a_joint_is_cut_while_a_simulation_runs():
    world = arms()
    simulation = br.Simulation(world, dt=0.01)
    weld = world.connect("a/cart", "b/cart")
    simulation.at(0.03, lambda: world.cut(weld))
    simulation.at(0.05, lambda: world.cut("a/elbow"))
    simulation.at(0.07, lambda: world.connect("a/lower", "a/upper", br.Spherical()))
    recording = simulation.run(0.1)
    assert recording.time[-1] == pytest.approx(0.1)
    assert recording.q.shape == (len(recording.time), world.model.nq)


@pytest.mark.parametrize("integrator", ["euler", "rk4", "rk8", "dormand-prince", "bulirsch-stoer"])
def test_constraints_hold_from_the_first_step_after_a_change(integrator):
    # Changes that rebuild rows without classifying them: another figure, a cut joint, a restored state.
    for change in (
        lambda w: w.add(block(), "more", at=(5, 5, 5)),
        lambda w: w.cut("b/elbow"),
        lambda w: w.restore(w.save()),
        lambda w: [w.cut(w.connect("b/cart", "world")), w.release("b/elbow")] if w.lock("b/elbow") else None,
    ):
        world = arms()
        expected = expected_connection(world, "a/lower", "b/lower", br.Revolute("y"))
        world.connect("a/lower", "b/lower", br.Revolute("y"))
        change(world)
        one, other = world.copy(), world
        a, _ = maximal.accelerations(world.model, world.q, world.v, world.torque, world.gravity, [expected])
        br.Simulation(other, dt=1e-5, integrator=integrator, tolerance=1e-12).run(1e-5)
        assert largest((other.v - one.v) / 1e-5 - a) < 1e-2 * largest(a)  # to first order: 1e-5 times the jerk, some 1e2 times a


@pytest.mark.parametrize(
    ("name", "joint"), [("elbow", br.Revolute("y")), ("shoulder", br.Spherical()), ("cart", br.Planar("z"))], ids=lambda x: str(x)
)
def test_a_joint_cut_and_reconnected_moves_as_before(name, joint):
    # Without springs: the coordinate of a connection starts at zero where it is made, that of the tree's joint does not.
    world, whole = arms(acting=0.0), arms(acting=0.0)
    link = world.model.joints[f"a/{name}"].link
    parent = world.model.links[link].parent
    world.cut(f"a/{name}")
    again = world.connect(link, parent, joint)  # these joints are at the link's origin
    assert again.report.energy_lost == pytest.approx(0.0, abs=1e-12)
    assert again.report.mobility[1] == whole.model.nv
    assert state_difference(link_states(world), link_states(whole)) < 1e-12
    for w in (world, whole):
        run(w, 0.5)
    assert state_difference(link_states(world), link_states(whole)) < 1e-8
