"""Springs, dampers, friction and motors in the joints of connections, compared with the same joint in the tree."""

from __future__ import annotations

import numpy as np
import pytest
from tests.constraint_checks import largest, link_states, state_difference
from tests.world.arms import BOX, arms, block, run

import brachiate as br
from brachiate import rotations

JOINTS = {
    "revolute": lambda **p: br.Revolute((1, 2, 2), anchor=(0.1, 0.2, -0.3), **p),
    "prismatic": lambda **p: br.Prismatic((1, 2, 2), **p),
    "universal": lambda **p: br.Universal((1, 0, 0), (0, 1, 1), **p),
    "cylindrical": lambda **p: br.Cylindrical((1, 2, 2), **p),
    "planar": lambda **p: br.Planar((1, 2, 2), **p),
    "spherical": lambda **p: br.Spherical(anchor=(0.1, 0.2, -0.3), **p),
    "compound": lambda **p: br.Compound({"slide": br.Prismatic("x", **p), "turn": br.Revolute("y", anchor=(0, 0, 0.4), **p)}),
}


BEAM = {
    "joint": br.Revolute("x"),
    "joint_name": "swing",
    "at": (0, 0, 2),
    "mass": 1.0,
    "center": (0, 0.2, -0.3),
    "inertia": (0.1, 0.1, 0.05),
}


def as_tree(joint: br.Joint, rates: np.ndarray) -> br.World:
    """A body that hangs by the joint from a swinging one."""
    builder = br.ModelBuilder("hung")
    builder.link("beam", **BEAM)
    builder.link("block", parent="beam", joint=joint, joint_name="joint", at=(0.2, 0, -0.5), center=(0.1, 0.1, -0.2), **BOX)
    world = br.World()
    world.add(builder.build(), "it")
    world.v = {"it/swing": 1.5}
    world.v[1:] = rates
    return world


def as_connection(joint: br.Joint, tree: br.World) -> tuple[br.World, object]:
    """The same, with a free body and a connection at its present pose."""
    builder = br.ModelBuilder("held")
    builder.link("beam", **BEAM)
    builder.link("block", joint=br.Free(), joint_name="root", center=(0.1, 0.1, -0.2), **BOX)
    world = br.World()
    world.add(builder.build(), "it")
    pose, velocity = tree.pose("it/block"), tree.velocity("it/block")
    world["it/root"] = [*pose.position, *pose.quaternion]
    world.v = {"it/swing": 1.5, "it/root": [*(pose.rotation.T @ velocity[:3]), *(pose.rotation.T @ velocity[3:])]}
    return world, world.connect("it/block", "it/beam", joint)


@pytest.mark.parametrize("kind", JOINTS)
def test_a_connection_moves_as_the_same_joint_in_the_tree(kind):
    # Order 8 at 1 ms: 1e-13 or so. Fails if a spring, damper, friction or motor of a connection acts differently from one in the tree.
    nv = JOINTS[kind]().nv
    rng = np.random.default_rng(nv)
    parameters = {"stiffness": 20.0, "damping": 0.7}
    rates = rng.uniform(0.5, 1.5, nv)
    tree = as_tree(JOINTS[kind](**parameters), rates)
    held, connection = as_connection(JOINTS[kind](**parameters), tree)
    assert connection.report.energy_lost == pytest.approx(0.0, abs=1e-14)  # its velocity was already consistent
    motors = rng.normal(size=nv)
    tree.torque[1:] = motors
    connection.torque = motors
    for _ in range(4):
        run(tree, 0.1, 0.001)
        run(held, 0.1, 0.001)
        assert state_difference(link_states(tree), link_states(held)) < 1e-9
        q, value = np.atleast_1d(tree["it/joint"]), np.atleast_1d(connection.value)
        assert largest(np.abs(q) - np.abs(value)) < 1e-9  # quaternions up to their sign
        assert largest(tree.v[1:] - connection.rate) < 1e-9
    assert largest(np.asarray(connection.rate) - rates) > 0.1


@pytest.mark.parametrize("kind", JOINTS)
def test_energy_of_springs_in_a_connection_is_that_of_the_tree(kind):
    # Springs that are at rest elsewhere: half the stiffness times the squared distance or angle.
    nv = JOINTS[kind]().nv
    turned = rotations.from_rotation_vector(np.array((0.0, 0.4, 0.0)))
    parameters = {"stiffness": 20.0, "rest": {"spherical": turned, "compound": 0.4}.get(kind, np.full(nv, 0.4))}
    tree = as_tree(JOINTS[kind](**parameters), np.zeros(nv))
    held, _ = as_connection(JOINTS[kind](**parameters), tree)
    loose, _ = as_connection(JOINTS[kind](), tree)
    assert held.totals().energy == pytest.approx(tree.totals().energy, abs=1e-9)
    springs = 1 if kind == "spherical" else nv
    assert held.totals().potential - loose.totals().potential == pytest.approx(springs * 0.5 * 20.0 * 0.4**2, abs=1e-9)


@pytest.mark.parametrize("kind", JOINTS)
def test_friction_in_a_connection_is_that_of_the_tree(kind):
    nv = JOINTS[kind]().nv
    rates = np.random.default_rng(nv).normal(size=nv)
    friction = {"friction": 0.5}
    tree = as_tree(JOINTS[kind](**friction), rates)
    held, _ = as_connection(JOINTS[kind](**friction), tree)
    accelerations = [w.acceleration("it/block", w.forward_dynamics()) for w in (tree, held)]
    assert largest(accelerations[0] - accelerations[1]) < 1e-10 * largest(accelerations[0])


@pytest.mark.parametrize("damping", [0.0, 1e-9], ids=["without passive forces", "with damping"])
def test_the_value_of_a_connection_counts_full_turns(damping):
    world = br.World(gravity=0)
    world.add(block(inertia=(0.1, 0.1, 0.1)), "wheel")
    world.v = {"wheel/root": [0, 0, 0, 0, 0, 5.0]}
    axle = world.connect("wheel/block", "world", br.Revolute("z", damping=damping))
    br.Simulation(world, dt=0.01).run(3.0)
    assert axle.rate == pytest.approx(5.0, rel=1e-6)
    assert axle.value == pytest.approx(15.0, rel=1e-6)


def test_motor_torques_of_connections_are_kept():
    world = arms()
    hinge = world.connect("a/tip", "b/tip", br.Revolute("y"))
    idle = np.array(world.forward_dynamics())
    hinge.torque = 5.0
    driven = np.array(world.forward_dynamics())
    assert largest(driven - idle) > 1.0
    assert hinge.torque == pytest.approx([5.0])
    state, other = world.save(), world.copy()
    assert largest(other.forward_dynamics() - driven) < 1e-10 * largest(driven)
    world.add(block(), "more", at=(5, 5, 5))
    assert largest(world.forward_dynamics()[: len(driven)] - driven) < 1e-10 * largest(driven)
    other.connections["a/tip"].torque = 0.0
    assert largest(other.forward_dynamics() - idle) < 1e-10 * largest(idle)
    assert state.connection_states[hinge][1] == pytest.approx([5.0])
