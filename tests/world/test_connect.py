"""Connections at run time: forces, names, reports, redundancy, and assembly."""

from __future__ import annotations

import numpy as np
import pytest
from tests import maximal
from tests.constraint_checks import expected_connection, largest, link_states
from tests.world.arms import arms, arms_with_weld, block, run

import brachiate as br
from brachiate.errors import ArgumentError, AssemblyError


def test_a_weld_fixes_links_at_their_present_pose():
    world = arms()
    before_states = link_states(world)
    weld = world.connect("a/lower", "b/tip")
    after_states = link_states(world)
    assert all(
        (before_states[name][0] == after_states[name][0]).all() and (before_states[name][1] == after_states[name][1]).all()
        for name in before_states
    )  # poses are unchanged
    assert weld.report.mobility == (26, 20)
    assert weld.report.variables == (26, 26)
    assert weld.report.rows == 6
    assert weld.report.energy_lost > 0
    assert "'a/lower' connected: joint variables 26 → 26, mobility 26 → 20, impulse" in str(weld.report)
    assert largest(world.velocity("a/lower") - world.velocity("b/lower", at=_point_in(world, "b/lower", "a/lower"))) < 1e-12
    before = _relative(world, "b/lower", "a/lower")
    run(world, 0.3)
    assert largest(_relative(world, "b/lower", "a/lower") - before) < 1e-11


def _point_in(world: br.World, link: str, other: str) -> np.ndarray:
    pose = world.pose(link)
    return pose.rotation.T @ (world.position(other) - pose.position)


def _relative(world: br.World, one: str, other: str) -> np.ndarray:
    a, b = world.pose(one), world.pose(other)
    return np.column_stack([a.rotation.T @ b.rotation, a.rotation.T @ (b.position - a.position)])


def test_variables_and_mobility_on_the_high_bar():
    """[SVC] fig. 13 and 14: 22 joint variables, then 23 and 24; mobility 22, then 17 and 12."""
    world = br.World()
    man = world.add(br.figures.human16(height=1.75, mass=70), name="man")
    world.add(br.figures.bar(height=2.6), name="bar")
    man.set_pose("hang")
    remaining = world.connect("man/left_grip", "bar/rod", br.Revolute("y"))
    right = world.connect("man/right_grip", "bar/rod", br.Revolute("y"))
    assert (remaining.report.variables, remaining.report.mobility) == ((22, 23), (22, 17))
    assert (right.report.variables, right.report.mobility) == ((23, 24), (17, 12))
    assert right.report.redundant == ()
    assert list(world.connections) == ["man/left_grip", "man/right_grip"]
    # At rest: the forces of both hands balance weight minus rate of momentum.
    acceleration = world.forward_dynamics()
    hand_force = sum(acceleration.connection_wrenches[name].force for name in world.connections)
    momentum = world.centroidal_momentum_matrix() @ np.asarray(acceleration)
    assert largest(hand_force + np.array([0, 0, -70 * 9.81]) - momentum[:3]) < 1e-9
    report = world.cut(right)
    assert (report.variables, report.mobility) == ((24, 23), (12, 17))
    assert world.cut("man/left_grip").mobility == (17, 22)


def test_names_of_connections():
    world = arms()
    first = world.connect("a/tip", "b/tip", br.Spherical())
    second = world.connect("a/tip", "world", br.Planar("z"))
    third = world.connect("a/cart", "world", br.Compound({"slide": br.Prismatic("x"), "ball": br.Spherical()}), name="leash")
    assert [c.name for c in (first, second, third)] == ["a/tip", "a/tip 2", "leash"]
    assert repr(third) == "<Connection 'leash': a/cart to world, compound>"
    assert (first.link, first.to) == ("a/lower", "b/lower")  # the links of the sites
    world.cut(first)
    assert repr(first) == "<Connection 'a/tip': a/lower to b/lower, spherical (cut)>"
    assert list(world.connections) == ["a/tip 2", "leash"]
    assert world.connect("a/tip", "b/tip", br.Spherical()).name == "a/tip"
    assert world.row_names()[-3:] == ["a/tip.x", "a/tip.y", "a/tip.z"]  # the oldest come first


def test_a_connection_and_a_joint_never_share_a_name():
    # The joint of the cart has the name of the cart: cutting by that name cuts the joint.
    world = arms()
    held = [world.connect("a/cart", to, br.Spherical(), redundant=True) for to in ("b/tip", "b/tip")]
    assert [c.name for c in held] == ["a/cart to b/tip", "a/cart to b/tip 2"]
    assert "⇢ a/cart by spherical 3" in str(world)
    world.cut("a/cart to b/tip")
    assert [c.alive for c in held] == [False, True]
    variables = world.cut("a/cart").variables
    assert variables[1] - variables[0] == 6 - 3
    assert held[1].alive


def test_reports_do_not_print_round_off():
    # The figure rotates rigidly about the bar, so its hands already satisfy the constraint: the impulses are round-off.
    reports = [h.report for h in br.scenes.make("highbar", swing=2.6).changes]
    assert any(0 < report.impulse < 1e-12 for report in reports)
    for report in reports:
        assert "impulse" not in str(report)
        assert str(report).endswith("energy lost 0 J")
    world = arms(gravity=0.0)
    world.v = np.random.default_rng(1).normal(size=world.model.nv)
    assert " N·s, " in str(world.connect("a/tip", "b/tip", br.Spherical()).report)
    assert " N·m·s, " in str(world.lock("a/elbow")[0].report)


def test_a_copy_has_the_connections_of_the_world():
    world = arms()
    weld = world.connect("a/tip", "b/tip", br.Spherical(), name="weld")
    before, force = world.save(), weld.force
    run(world, 0.1)
    world.cut(weld)
    then = world.copy(before)
    assert list(then.connections) == ["weld"]
    assert largest(then.connections["weld"].force - force) < 1e-12 * largest(force)
    assert not world.connections
    for wrong in (3, arms_with_weld().save()):
        with pytest.raises(ArgumentError, match="copy expects no argument, or a state that save"):
            world.copy(wrong)


def test_active_limits_do_not_reduce_mobility():
    world = br.World()
    builder = br.ModelBuilder("arm")
    builder.link("arm", joint=br.Revolute("y", limits=(-0.1, 2.0)), mass=1.0, center=(1, 0, 0), inertia=(0.1, 0.1, 0.1))
    builder.link("block", joint=br.Free(), joint_name="root", mass=1.0, inertia=(0.1, 0.1, 0.1), at=(5, 0, 0))
    world.add(builder.build(), "it")
    world.apply_force("it/arm", force=(0, 0, 30.0), at=(1, 0, 0))  # up, against the lower limit
    run(world, 0.3)
    assert world.constraint_set.active_limits
    assert world["it/arm"] == pytest.approx(-0.1, abs=1e-9)
    report = world.connect("it/block", "world", br.Spherical()).report
    assert report.mobility == (7, 4)
    assert report.mobility[1] == world.mobility().dof


def test_joint_is_at_the_first_frame_with_axes_of_the_second():
    world = arms(gravity=0.0)
    at = (0.1, -0.2, 0.05)
    hinge = world.connect("a/tip", "b/tip", br.Revolute("x"), at=at)
    axis, point = world.pose("b/tip").rotation[:, 0], world.position("a/tip", at)
    where, turn = hinge.wrench.at, hinge.rate
    assert largest(where - point) < 1e-13
    relative = world.velocity("a/lower") - world.velocity("b/lower")
    assert largest(relative[3:] - turn * axis) < 1e-12
    assert hinge.value == pytest.approx(0.0, abs=1e-14)


def test_connecting_the_world_to_a_link():
    world, mirrored = arms(), arms()
    point = world.position("a/tip")
    one = world.connect("a/tip", "world", br.Spherical())
    other = mirrored.connect("world", "a/lower", br.Spherical(), at=point)
    assert largest(world.v - mirrored.v) < 1e-11
    assert largest(one.force + other.force) < 1e-9 * largest(one.force)  # forces on the link and on the world are opposite
    assert largest(one.wrench.at - other.wrench.at) < 1e-12


def test_connection_force_balances_the_weight():
    world = br.World()
    world.add(block(), "a", at=(0, 0, 3))
    world.add(block(), "b", at=(0.3, 0, 2))
    lower = world.connect("b/block", "a/block")
    upper = world.connect("a/block", "world")
    assert upper.force == pytest.approx((0, 0, 4 * 9.81), abs=1e-10)
    assert lower.force == pytest.approx((0, 0, 2 * 9.81), abs=1e-10)
    assert upper.moment == pytest.approx((0, 2 * 9.81 * -0.3, 0), abs=1e-10)  # moment of the weight about the connection
    assert lower.moment == pytest.approx((0, 0, 0), abs=1e-10)
    assert upper.wrench.at == pytest.approx((0, 0, 3))
    push = world.apply_force("b/block", (5, 0, 0))
    assert upper.force == pytest.approx((-5, 0, 4 * 9.81), abs=1e-10)
    world.remove(push)


def test_many_connections_enlarge_the_arrays():
    world = br.World(gravity=0)
    for n in range(20):
        world.add(block(), f"b{n}", at=(n, 0, 0))
    world.v = np.random.default_rng(0).normal(size=world.model.nv)
    expected, handles = [], []
    for n in range(19):
        joint = (br.Revolute("z"), br.Spherical(), br.Universal(), br.Fixed())[n % 4]
        expected.append(expected_connection(world, f"b{n + 1}/block", f"b{n}/block", joint, (-0.5, 0, 0)))
        handles.append(world.connect(f"b{n + 1}/block", f"b{n}/block", joint, at=(-0.5, 0, 0)))
    for n in (3, 17, 0, 9, 18):  # in any order
        assert not any(c.alive for c in handles if c not in world.connections.values())
        world.cut(handles[n])
    remaining = [c for n, c in enumerate(expected) if n not in (3, 17, 0, 9, 18)]
    a, _ = maximal.accelerations(world.model, world.q, world.v, world.torque, np.zeros(3), remaining)
    assert largest(world.forward_dynamics() - a) < 1e-9 * largest(a)
    assert [c.alive for c in handles] == [n not in (3, 17, 0, 9, 18) for n in range(19)]


@pytest.mark.parametrize(("link", "to", "joint"), [("a/lower", "a/upper", br.Revolute("y")), ("a/upper", "a/base", br.Spherical())])
def test_a_joint_parallel_to_one_of_the_tree_is_redundant(link, to, joint):
    # The links cannot separate there: rows of round-off must not be taken for independent directions.
    world = arms()
    before = np.array(world.forward_dynamics())
    twin = world.connect(link, to, joint, redundant=True)
    assert twin.report.mobility == (26, 26)
    assert len(twin.report.redundant) == 6 - joint.nv
    assert largest(world.forward_dynamics() - before) < 1e-10 * largest(before)
    assert largest(twin.force) < 1e-9


def test_a_weld_across_a_joint_has_the_torque_of_a_lock():
    world, locked = arms(), arms()
    weld = world.connect("a/lower", "a/upper")
    (lock,) = locked.lock("a/elbow")
    assert weld.report.mobility == lock.report.mobility == (26, 25)
    assert largest(world.v - locked.v) < 1e-11
    assert largest(world.forward_dynamics() - locked.forward_dynamics()) < 1e-9
    axis = world.pose("a/upper").rotation[:, 1]
    assert weld.moment @ axis == pytest.approx(lock.torque, rel=1e-9)
    assert largest(weld.force) < 1e-9 + 100 * abs(lock.torque)


def test_assembly_moves_only_allowed_joints():
    world = br.World()
    man = world.add(br.figures.human16(), name="man")
    world.add(br.figures.bar(height=2.0), name="bar")
    man.set_pose("hang")
    world["man/left_elbow"] = 0.4
    start = world.q.copy()
    grip = world.connect("man/left_grip", "bar/rod", br.Spherical(), to_at=(0.1, 0.3, 0), allow="man/left_*")
    assert largest(world.position("man/left_grip") - (0.1, 0.3, 2.0)) < 1e-9
    moved = {name for name, place in world.model.joints.items() if largest(world.q[place.q] - start[place.q]) > 1e-12}
    assert moved == {"man/left_shoulder", "man/left_elbow"}  # hip and knee were allowed, but do not help
    assert grip.report.mobility == (22, 19)


def test_assembly_keeps_other_constraints_closed():
    world = arms()
    hinge = expected_connection(world, "a/cart", "world", br.Revolute("y"))
    world.connect("a/cart", "world", br.Revolute("y"))
    world.lock("a/elbow")
    elbow = world.angle("a/elbow")
    world.connect("b/tip", "a/tip", br.Spherical(), allow=["a/*", "b/*"])
    assert largest(world.position("a/tip") - world.position("b/tip")) < 1e-9
    assert largest(maximal.residuals(world.model, world.q, [hinge])) < 1e-9
    assert world.angle("a/elbow") == pytest.approx(elbow, abs=1e-9)


def test_assembly_finds_the_least_motion():
    """A sliding block moves straight to a target ahead."""
    world = arms()
    start, target = world.position("a/base"), np.array([0.5, 0.2, 0.4])
    world.connect("a/base", "world", br.Spherical(), to_at=target, allow="a/root")
    assert largest(world.position("a/base") - target) < 1e-9
    assert largest(world.pose("a/base").rotation - arms().pose("a/base").rotation) < 1e-6
    assert largest(start - target) > 0.1


def test_failed_assembly_changes_nothing():
    world = arms()
    state = world.save()
    with pytest.raises(AssemblyError, match=r"'a/tip' cannot be closed: a gap of [\d.]+ m or rad remains.*\(a/elbow, a/shoulder\)"):
        world.connect("a/tip", "world", br.Spherical(), to_at=(9, 9, 9), allow=["a/elbow", "a/shoulder"])
    assert (world.q == state.q).all()
    assert (world.v == state.v).all()
    assert not world.connections
