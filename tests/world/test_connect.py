"""Connecting, cutting, locking and prescribing while time runs, by example: what a user does, and what must come of it."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from tests import maximal
from tests.structures import apart, largest, met, motion

import brachiate as br
from brachiate.errors import ArgumentError, AssemblyError

BOX = {"mass": 2.0, "inertia": (0.1, 0.2, 0.25)}


def block(name: str = "block", **options) -> br.Model:
    builder = br.ModelBuilder(name)
    builder.link("block", joint=br.Free(), joint_name="root", **(BOX | options))
    return builder.build()


def arm(acting: float = 1.0) -> br.Model:
    """Three links on a free base: a ball, a hinge and a carriage; springs and dampers are multiplied by ``acting``."""
    builder = br.ModelBuilder("arm")
    builder.link("base", joint=br.Free(), joint_name="root", **BOX)
    part = {"mass": 1.0, "center": (0, 0.05, 0.3), "inertia": (0.05, 0.06, 0.02)}
    builder.link("upper", parent="base", joint=br.Spherical(damping=0.1 * acting), joint_name="shoulder", at=(0.1, 0, 0.2), **part)
    elbow = br.Revolute("y", stiffness=3.0 * acting, rest=0.2)
    builder.link("lower", parent="upper", joint=elbow, joint_name="elbow", at=(0, 0, 0.5), **part)
    builder.link("cart", parent="base", joint=br.Planar("z"), joint_name="cart", at=(-0.2, 0, 0.1), mass=0.7, inertia=(0.02, 0.02, 0.03))
    builder.site("tip", "lower", (0, 0, 0.4), rotation=(1, 0.2, 0, 0))
    return builder.build()


def arms(gravity: float = 9.81, acting: float = 1.0) -> br.World:
    """Two arms beside each other, bent and moving anyhow."""
    world = br.World(gravity)
    world.add(arm(acting), "a")
    world.add(arm(acting), "b", at=(1, 0, 0), rotation=(1, 0, 0, 0.7))
    rng = np.random.default_rng(4)
    world.q = world.integrated(0.4 * rng.normal(size=world.model.nv), 1.0)
    world.v = rng.normal(size=world.model.nv)
    return world


def run(world: br.World, seconds: float, dt: float = 0.002, integrator: str = "rk8") -> br.Recording:
    return br.Simulation(world, dt=dt, integrator=integrator).run(seconds, progress=False)


# --- connecting ---------------------------------------------------------------------------------------


def test_a_weld_holds_links_where_they_are():
    world = arms()
    was = motion(world)
    weld = world.connect("a/lower", "b/tip")
    now = motion(world)
    assert all((was[name][0] == now[name][0]).all() and (was[name][1] == now[name][1]).all() for name in was)  # nothing snaps
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


def test_a_gymnast_takes_the_bar_with_one_hand_and_the_other():
    """[SVC] fig. 13 and 14: 22 joint variables, then 23 and 24; 22 freedoms, then 17 and 12."""
    world = br.World()
    man = world.add(br.figures.human16(height=1.75, mass=70), name="man")
    world.add(br.figures.bar(height=2.6), name="bar")
    man.pose("hang")
    left = world.connect("man/left_grip", "bar/rod", br.Revolute("y"))
    right = world.connect("man/right_grip", "bar/rod", br.Revolute("y"))
    assert (left.report.variables, left.report.mobility) == ((22, 23), (22, 17))
    assert (right.report.variables, right.report.mobility) == ((23, 24), (17, 12))
    assert right.report.redundant == ()
    assert list(world.connections) == ["man/left_grip", "man/right_grip"]
    # Hanging at rest: both hands together carry what weight does not accelerate.
    acceleration = world.forward_dynamics()
    pull = sum(acceleration.connection[name].force for name in world.connections)
    momentum = world.centroidal_momentum_matrix() @ np.asarray(acceleration)
    assert largest(pull + np.array([0, 0, -70 * 9.81]) - momentum[:3]) < 1e-9
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
    assert (first.link, first.to) == ("a/lower", "b/lower")  # of sites, the links
    world.cut(first)
    assert repr(first) == "<Connection 'a/tip': a/lower to b/lower, spherical (cut)>"
    assert list(world.connections) == ["a/tip 2", "leash"]
    assert world.connect("a/tip", "b/tip", br.Spherical()).name == "a/tip"
    assert world.row_names()[-3:] == ["a/tip.x", "a/tip.y", "a/tip.z"]  # the oldest come first


def test_a_connection_and_a_joint_never_share_a_name():
    # The cart's joint is named as the cart: what is cut by that name is the joint, and nothing else.
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
    # The figure turns about the bar as one piece, so its hands do so already: what the impulses are not zero by is round-off.
    reports = [h.report for h in br.scenes.make("highbar", swing=2.6).happened]
    assert any(0 < report.impulse < 1e-12 for report in reports)
    for report in reports:
        assert "impulse" not in str(report)
        assert str(report).endswith("energy lost 0 J")
    world = arms(gravity=0.0)
    world.v = np.random.default_rng(1).normal(size=world.model.nv)
    assert " N·s, " in str(world.connect("a/tip", "b/tip", br.Spherical()).report)
    assert " N·m·s, " in str(world.lock("a/elbow")[0].report)


def test_a_world_can_be_copied_as_it_was():
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
        with pytest.raises(ArgumentError, match="copy expects nothing, or what save of this world returned"):
            world.copy(wrong)


def arms_with_weld() -> br.World:
    world = arms()
    world.connect("a/tip", "b/tip", br.Spherical())
    return world


def test_limits_that_are_pressed_against_take_no_freedom():
    world = br.World()
    builder = br.ModelBuilder("arm")
    builder.link("arm", joint=br.Revolute("y", limits=(-0.1, 2.0)), mass=1.0, center=(1, 0, 0), inertia=(0.1, 0.1, 0.1))
    builder.link("block", joint=br.Free(), joint_name="root", mass=1.0, inertia=(0.1, 0.1, 0.1), at=(5, 0, 0))
    world.add(builder.build(), "it")
    world.push("it/arm", force=(0, 0, 30.0), at=(1, 0, 0))  # up, against the lower limit
    run(world, 0.3)
    assert world.held.limits
    assert world["it/arm"] == pytest.approx(-0.1, abs=1e-9)
    report = world.connect("it/block", "world", br.Spherical()).report
    assert report.mobility == (7, 4)
    assert report.mobility[1] == world.mobility().dof


def test_the_joint_is_where_the_first_frame_is_along_axes_of_the_second():
    world = arms(gravity=0.0)
    at = (0.1, -0.2, 0.05)
    hinge = world.connect("a/tip", "b/tip", br.Revolute("x"), at=at)
    axis, point = world.pose("b/tip").rotation[:, 0], world.position("a/tip", at)
    where, turn = hinge.wrench.at, hinge.rate
    assert largest(where - point) < 1e-13
    relative = world.velocity("a/lower") - world.velocity("b/lower")
    assert largest(relative[3:] - turn * axis) < 1e-12
    assert hinge.value == pytest.approx(0.0, abs=1e-14)


def test_the_world_may_be_the_first_of_the_two():
    world, mirrored = arms(), arms()
    point = world.position("a/tip")
    one = world.connect("a/tip", "world", br.Spherical())
    other = mirrored.connect("world", "a/lower", br.Spherical(), at=point)
    assert largest(world.v - mirrored.v) < 1e-11
    assert largest(one.force + other.force) < 1e-9 * largest(one.force)  # what holds the link, and what holds the world
    assert largest(one.wrench.at - other.wrench.at) < 1e-12


def test_the_force_at_a_connection_carries_the_weight():
    world = br.World()
    world.add(block(), "a", at=(0, 0, 3))
    world.add(block(), "b", at=(0.3, 0, 2))
    lower = world.connect("b/block", "a/block")
    upper = world.connect("a/block", "world")
    assert upper.force == pytest.approx((0, 0, 4 * 9.81), abs=1e-10)
    assert lower.force == pytest.approx((0, 0, 2 * 9.81), abs=1e-10)
    assert upper.moment == pytest.approx((0, 2 * 9.81 * -0.3, 0), abs=1e-10)  # about the connection, by the weight beside it
    assert lower.moment == pytest.approx((0, 0, 0), abs=1e-10)
    assert upper.wrench.at == pytest.approx((0, 0, 3))
    push = world.push("b/block", (5, 0, 0))
    assert upper.force == pytest.approx((-5, 0, 4 * 9.81), abs=1e-10)
    world.remove(push)


def test_more_connections_than_there_was_room_for():
    world = br.World(gravity=0)
    for n in range(20):
        world.add(block(), f"b{n}", at=(n, 0, 0))
    world.v = np.random.default_rng(0).normal(size=world.model.nv)
    wanted, made = [], []
    for n in range(19):
        joint = (br.Revolute("z"), br.Spherical(), br.Universal(), br.Fixed())[n % 4]
        wanted.append(met(world, f"b{n + 1}/block", f"b{n}/block", joint, (-0.5, 0, 0)))
        made.append(world.connect(f"b{n + 1}/block", f"b{n}/block", joint, at=(-0.5, 0, 0)))
    for n in (3, 17, 0, 9, 18):  # in any order, the right ones
        assert not any(c.alive for c in made if c not in world.connections.values())
        world.cut(made[n])
    left = [c for n, c in enumerate(wanted) if n not in (3, 17, 0, 9, 18)]
    a, _ = maximal.accelerations(world.model, world.q, world.v, world.torque, np.zeros(3), left)
    assert largest(world.forward_dynamics() - a) < 1e-9 * largest(a)
    assert [c.alive for c in made] == [n not in (3, 17, 0, 9, 18) for n in range(19)]


@pytest.mark.parametrize(("link", "to", "joint"), [("a/lower", "a/upper", br.Revolute("y")), ("a/upper", "a/base", br.Spherical())])
def test_a_joint_on_top_of_one_of_the_tree_holds_nothing(link, to, joint):
    # Where it is the links cannot move apart anyway: rows of round-off, which must not be taken for directions.
    world = arms()
    before = np.array(world.forward_dynamics())
    twin = world.connect(link, to, joint, redundant=True)
    assert twin.report.mobility == (26, 26)
    assert len(twin.report.redundant) == 6 - joint.nv
    assert largest(world.forward_dynamics() - before) < 1e-10 * largest(before)
    assert largest(twin.force) < 1e-9


def test_a_weld_across_a_joint_of_the_tree_takes_what_a_lock_takes():
    world, locked = arms(), arms()
    weld = world.connect("a/lower", "a/upper")
    (lock,) = locked.lock("a/elbow")
    assert weld.report.mobility == lock.report.mobility == (26, 25)
    assert largest(world.v - locked.v) < 1e-11
    assert largest(world.forward_dynamics() - locked.forward_dynamics()) < 1e-9
    axis = world.pose("a/upper").rotation[:, 1]
    assert weld.moment @ axis == pytest.approx(lock.torque, rel=1e-9)
    assert largest(weld.force) < 1e-9 + 100 * abs(lock.torque)


# --- assembling ---------------------------------------------------------------------------------------


def test_a_hand_is_brought_to_the_bar_by_the_joints_allowed():
    world = br.World()
    man = world.add(br.figures.human16(), name="man")
    world.add(br.figures.bar(height=2.0), name="bar")
    man.pose("hang")
    world["man/left_elbow"] = 0.4
    start = world.q.copy()
    grip = world.connect("man/left_grip", "bar/rod", br.Spherical(), to_at=(0.1, 0.3, 0), allow="man/left_*")
    assert largest(world.position("man/left_grip") - (0.1, 0.3, 2.0)) < 1e-9
    moved = {name for name, place in world.model.joints.items() if largest(world.q[place.q] - start[place.q]) > 1e-12}
    assert moved == {"man/left_shoulder", "man/left_elbow"}  # hip and knee were allowed, and do not help
    assert grip.report.mobility == (22, 19)


def test_assembly_keeps_what_is_held():
    world = arms()
    hinge = met(world, "a/cart", "world", br.Revolute("y"))
    world.connect("a/cart", "world", br.Revolute("y"))
    world.lock("a/elbow")
    elbow = world.angle("a/elbow")
    world.connect("b/tip", "a/tip", br.Spherical(), allow=["a/*", "b/*"])
    assert largest(world.position("a/tip") - world.position("b/tip")) < 1e-9
    assert largest(maximal.residuals(world.model, world.q, [hinge])) < 1e-9
    assert world.angle("a/elbow") == pytest.approx(elbow, abs=1e-9)


def test_least_motion():
    """A sliding block brought to a place ahead goes straight there."""
    world = arms()
    start, target = world.position("a/base"), np.array([0.5, 0.2, 0.4])
    world.connect("a/base", "world", br.Spherical(), to_at=target, allow="a/root")
    assert largest(world.position("a/base") - target) < 1e-9
    assert largest(world.pose("a/base").rotation - arms().pose("a/base").rotation) < 1e-6
    assert largest(start - target) > 0.1


def test_what_cannot_be_reached_is_left_as_it_was():
    world = arms()
    state = world.save()
    with pytest.raises(AssemblyError, match=r"'a/tip' cannot be closed: [\d.]+ m or rad remain.*\(allowed: a/elbow, a/shoulder\)"):
        world.connect("a/tip", "world", br.Spherical(), to_at=(9, 9, 9), allow=["a/elbow", "a/shoulder"])
    assert (world.q == state.q).all()
    assert (world.v == state.v).all()
    assert not world.connections


# --- cutting ------------------------------------------------------------------------------------------


def test_a_cut_changes_no_velocity():
    world = arms()
    weld = world.connect("a/tip", "b/tip")
    run(world, 0.1)
    was = motion(world)
    report = world.cut(weld)
    assert apart(was, motion(world)) == 0.0
    assert report.mobility == (20, 26)
    assert (report.impulse, report.energy_lost) == (0.0, 0.0)
    with pytest.raises(ArgumentError, match="'a/tip' holds nothing any more: it was cut"):
        _ = weld.value
    assert largest(world.forward_dynamics() - arms_like(world).forward_dynamics()) < 1e-11


def arms_like(world: br.World) -> br.World:
    """The same state with nothing held."""
    other = arms()
    other.q, other.v = world.q, world.v
    return other


def test_a_cut_with_an_impulse_drives_both_apart():
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
    assert largest(change["b"] + change["c"] + impulse) < 1e-12  # b passes some of it on to c
    for one, other in zip(whole, maximal.momentum(world.model, world.q, world.v), strict=True):
        assert largest(one - other) < 1e-12
    spin = world.totals("a").angular_momentum - before["a"].angular_momentum
    assert largest(spin - np.cross(point - world.position("a/block"), impulse)) < 1e-12
    assert report.energy_lost < 0  # it was given


def test_a_joint_of_the_tree_can_be_cut():
    world = arms()
    world.torque = {"a/elbow": 2.0, "b/cart.x": 1.0}
    was, counted = motion(world), world.totals()
    report = world.cut("a/elbow")
    assert apart(was, motion(world)) < 1e-13
    assert report.mobility == (26, 31)
    assert report.variables == (26, 31)
    assert "a/elbow" not in world.model.joints
    assert world.torque[world.model.coordinate_index["b/cart.x"]] == 1.0
    assert world.totals().kinetic == pytest.approx(counted.kinetic, rel=1e-13)
    # Now they fall apart, both freely.
    fall = world.forward_dynamics()
    assert largest(world.acceleration("a/lower", fall, at=(0, 0.05, 0.3))[:3] - [0, 0, -9.81]) < 1e-10
    br.Simulation(world, integrator="rk4").run(0.05)


def test_a_lock_goes_with_its_joint():
    world = arms()
    (lock,) = world.lock("a/elbow")
    (other,) = world.lock("b/elbow")
    world.cut("a/elbow")
    assert list(world.locks) == ["b/elbow"]
    assert other.alive
    assert not lock.alive
    with pytest.raises(ArgumentError, match="holds nothing any more"):
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
def test_what_is_held_is_held_from_the_first_step_after_a_change(integrator):
    # Everything that makes rows anew without looking which of them hold: another figure, a joint cut, a state brought back.
    for change in (
        lambda w: w.add(block(), "more", at=(5, 5, 5)),
        lambda w: w.cut("b/elbow"),
        lambda w: w.restore(w.save()),
        lambda w: [w.cut(w.connect("b/cart", "world")), w.release("b/elbow")] if w.lock("b/elbow") else None,
    ):
        world = arms()
        wanted = met(world, "a/lower", "b/lower", br.Revolute("y"))
        world.connect("a/lower", "b/lower", br.Revolute("y"))
        change(world)
        one, other = world.copy(), world
        a, _ = maximal.accelerations(world.model, world.q, world.v, world.torque, world.gravity, [wanted])
        br.Simulation(other, dt=1e-5, integrator=integrator, tolerance=1e-12).run(1e-5)
        assert largest((other.v - one.v) / 1e-5 - a) < 1e-2 * largest(a)  # to first order: 1e-5 times the jerk, some 1e2 times a


# --- what acts in the joint of a connection -------------------------------------------------------------

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
    """The same, its body free and held by a connection where it is."""
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
    # Order 8 at 1 ms: 1e-13 or so. Fails if a spring, damper, friction or motor of a connection acts in another way than in a tree.
    nv = JOINTS[kind]().nv
    rng = np.random.default_rng(nv)
    parameters = {"stiffness": 20.0, "damping": 0.7}
    rates = rng.uniform(0.5, 1.5, nv)
    tree = as_tree(JOINTS[kind](**parameters), rates)
    held, connection = as_connection(JOINTS[kind](**parameters), tree)
    assert connection.report.energy_lost == pytest.approx(0.0, abs=1e-14)  # it was moving along already
    motors = rng.normal(size=nv)
    tree.torque[1:] = motors
    connection.torque = motors
    for _ in range(4):
        run(tree, 0.1, 0.001)
        run(held, 0.1, 0.001)
        assert apart(motion(tree), motion(held)) < 1e-9
        q, value = np.atleast_1d(tree["it/joint"]), np.atleast_1d(connection.value)
        assert largest(np.abs(q) - np.abs(value)) < 1e-9  # quaternions up to their sign
        assert largest(tree.v[1:] - connection.rate) < 1e-9
    assert largest(np.asarray(connection.rate) - rates) > 0.1


@pytest.mark.parametrize("kind", JOINTS)
def test_friction_in_a_connection_is_that_of_the_tree(kind):
    nv = JOINTS[kind]().nv
    rates = np.random.default_rng(nv).normal(size=nv)
    friction = {"friction": 0.5}
    tree = as_tree(JOINTS[kind](**friction), rates)
    held, _ = as_connection(JOINTS[kind](**friction), tree)
    accelerations = [w.acceleration("it/block", w.forward_dynamics()) for w in (tree, held)]
    assert largest(accelerations[0] - accelerations[1]) < 1e-10 * largest(accelerations[0])


@pytest.mark.parametrize("damping", [0.0, 1e-9], ids=["nothing acts in it", "something acts in it"])
def test_the_value_of_a_connection_counts_full_turns(damping):
    world = br.World(gravity=0)
    world.add(block(inertia=(0.1, 0.1, 0.1)), "wheel")
    world.v = {"wheel/root": [0, 0, 0, 0, 0, 5.0]}
    axle = world.connect("wheel/block", "world", br.Revolute("z", damping=damping))
    br.Simulation(world, dt=0.01).run(3.0)
    assert axle.rate == pytest.approx(5.0, rel=1e-6)
    assert axle.value == pytest.approx(15.0, rel=1e-6)


def test_motors_of_connections_are_kept():
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
    assert state.joints[hinge][1] == pytest.approx([5.0])


# --- locking and prescribing --------------------------------------------------------------------------


def test_what_a_lock_takes_is_what_inverse_dynamics_says():
    world = arms()
    free = world.forward_dynamics()["a/elbow"]
    (lock,) = world.lock("a/elbow")
    assert lock.report.mobility == (26, 25)
    assert world.rate("a/elbow") == pytest.approx(0.0, abs=1e-14)
    acceleration = world.forward_dynamics()
    assert acceleration["a/elbow"] == pytest.approx(0.0, abs=1e-11)
    needed = br.dynamics.inverse_dynamics(br.Data(world.model), world.q, world.v, np.asarray(acceleration))
    assert lock.torque == pytest.approx(needed[world.model.coordinate_index["a/elbow"]], rel=1e-11)
    angle = world.angle("a/elbow")
    run(world, 0.2)
    assert world.angle("a/elbow") == pytest.approx(angle, abs=1e-13)
    world.release("a/elbow")
    assert not lock.alive
    assert abs(free) > 0.1
    assert abs(world.forward_dynamics()["a/elbow"]) > 0.1


def test_a_whole_joint_is_locked_by_its_name():
    world = arms()
    balls, carts = world.lock("a/shoulder"), world.lock("b/cart")
    assert [lock.name for lock in balls + carts] == ["a/shoulder", "b/cart.x", "b/cart.y", "b/cart.angle"]
    assert list(world.locks) == [lock.name for lock in balls + carts]
    assert balls[0].report.mobility == (26, 23)
    shoulder, cart = world["a/shoulder"], world["b/cart"]
    acceleration = world.forward_dynamics()
    needed = br.dynamics.inverse_dynamics(br.Data(world.model), world.q, world.v, np.asarray(acceleration))
    assert largest(balls[0].torque - needed[world.model.joints["a/shoulder"].v]) < 1e-10
    run(world, 0.2)
    assert largest(world["a/shoulder"] - shoulder) < 1e-13
    assert largest(world["b/cart"] - cart) < 1e-13
    world.release("b/cart")
    assert list(world.locks) == ["a/shoulder"]
    world.release("a/shoulder")
    assert not world.locks
    assert world.row_names() == []


@pytest.mark.parametrize("integrator", ["euler", "rk4", "rk8", "dormand-prince", "bulirsch-stoer"])
def test_a_prescribed_coordinate_is_where_it_should_be(integrator):
    world = arms()
    begin = world.angle("a/elbow")
    course = np.array([begin, 0.5, -1.0, 4.0, -2.0])
    moved = world.prescribe("a/elbow", course)
    assert world.rate("a/elbow") == pytest.approx(0.5, abs=1e-14)
    recording = br.Simulation(world, dt=0.004, integrator=integrator).run(0.4)
    k = world.model.coordinate_index["a/elbow"]
    place = world.model.scalar_coordinates["a/elbow"]
    powers = recording.time[:, None] ** np.arange(5)
    slopes = np.arange(1, 5) * powers[:, :4]
    assert largest(recording.q[:, place] - powers @ course) < 1e-12
    assert largest(recording.v[:, k] - slopes @ course[1:]) < 1e-12
    acceleration = world.forward_dynamics()
    assert acceleration["a/elbow"] == pytest.approx(2 * -1.0 + 6 * 4.0 * 0.4 + 12 * -2.0 * 0.4**2, abs=1e-10)
    needed = br.dynamics.inverse_dynamics(br.Data(world.model), world.q, world.v, np.asarray(acceleration))
    assert moved.torque == pytest.approx(needed[k], rel=1e-10)


def test_a_prescribed_coordinate_stays_where_its_time_ends():
    world = arms()
    begin = world.angle("b/elbow")
    world.prescribe("b/elbow", [begin, 1.0], over=0.1)
    run(world, 0.05)
    assert world.angle("b/elbow") == pytest.approx(begin + 0.05, abs=1e-12)
    run(world, 0.1)
    assert world.angle("b/elbow") == pytest.approx(begin + 0.1, abs=1e-12)
    assert world.rate("b/elbow") == pytest.approx(0.0, abs=1e-12)


def test_time_is_counted_from_when_it_was_prescribed():
    world = arms()
    run(world, 0.1)
    begin = world.angle("a/elbow")
    world.prescribe("a/elbow", [begin, 0.0, 3.0])
    run(world, 0.1)
    assert world.angle("a/elbow") == pytest.approx(begin + 3.0 * 0.01, abs=1e-12)


def test_what_moves_by_the_clock_moves_by_the_present_one():
    # Fails if forces are asked for at the time of the last step, not at the world's.
    world = arms()
    moved = world.prescribe("a/elbow", [world.angle("a/elbow"), 0.0, 0.0, 5.0])
    weld = world.connect("b/cart", "world")
    state = world.save()
    torque, force = moved.torque, weld.force
    run(world, 0.5)
    assert moved.torque != pytest.approx(torque, rel=1e-3)
    world.restore(state)
    assert moved.torque == pytest.approx(torque, rel=1e-10)
    assert largest(weld.force - force) < 1e-10 * largest(force)


def test_a_course_begins_where_the_coordinate_is():
    # Nothing snaps: a course that begins elsewhere is refused.
    world = arms()
    with pytest.raises(ArgumentError, match="begin"):
        world.prescribe("a/elbow", [world.angle("a/elbow") + 0.5, 1.0])
    assert not world.locks


# --- a joint of the tree, cut and made again ------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "joint"), [("elbow", br.Revolute("y")), ("shoulder", br.Spherical()), ("cart", br.Planar("z"))], ids=lambda x: str(x)
)
def test_a_joint_cut_and_connected_again_moves_as_before(name, joint):
    # Without springs: those of the tree's joint know its angle, a connection counts from where it is made.
    world, whole = arms(acting=0.0), arms(acting=0.0)
    link = world.model.joints[f"a/{name}"].link
    parent = world.model.links[link].parent
    world.cut(f"a/{name}")
    again = world.connect(link, parent, joint)  # these joints turn at the link's origin
    assert again.report.energy_lost == pytest.approx(0.0, abs=1e-12)
    assert again.report.mobility[1] == whole.model.nv
    assert apart(motion(world), motion(whole)) < 1e-12
    for w in (world, whole):
        run(w, 0.5)
    assert apart(motion(world), motion(whole)) < 1e-8


# --- models with loops and couplings --------------------------------------------------------------------

GEOM = '<geom type="box" size="0.05 0.04 0.2" pos="0 0 -0.2" mass="1"/>'
PARALLEL = f"""<mujoco><worldbody>
<body name="left" pos="0 0 2"><joint name="left" axis="0 1 0"/>{GEOM}
  <body name="bar" pos="0 0 -0.4"><joint name="bar" axis="0 1 0"/><geom type="box" size="0.5 0.03 0.03" pos="0.5 0 0" mass="1"/></body>
</body>
<body name="right" pos="1 0 2"><joint name="right" axis="0 1 0"/>{GEOM}</body>
</worldbody><equality>{{}}</equality></mujoco>"""


def mjcf(tmp_path, equality: str) -> br.Model:
    path = tmp_path / "model.xml"
    path.write_text(PARALLEL.format(equality))
    return br.read_model(path)


def test_a_connect_of_a_file_is_closed_and_stays_so(tmp_path):
    world = br.World()
    world.add(mjcf(tmp_path, '<connect name="pin" body1="bar" body2="right" anchor="1 0 0"/>'), "it")
    pin = world.connections["it/pin"]
    assert pin.report.mobility == (3, 1)
    assert pin.report.redundant == ("it/pin.y",)
    world.v = {"it/left": 2.0, "it/bar": -2.0, "it/right": 2.0}
    run(world, 1.0)
    assert abs(world.angle("it/left")) > 0.1
    assert world.angle("it/right") == pytest.approx(world.angle("it/left"), abs=1e-10)
    assert largest(world.position("it/bar", (1, 0, 0)) - world.position("it/right", (0, 0, -0.4))) < 1e-12


def test_a_weld_of_a_file_is_closed_and_stays_so(tmp_path):
    world = br.World()
    world.add(mjcf(tmp_path, '<weld name="glue" body1="left" body2="bar"/>'), "it")
    assert world.connections["it/glue"].report.mobility == (3, 2)
    world.v = {"it/left": 2.0}
    run(world, 1.0)
    assert world.angle("it/bar") == pytest.approx(0.0, abs=1e-12)
    assert abs(world.angle("it/left")) > 0.1


def test_a_joint_equality_of_a_file_is_kept(tmp_path):
    world = br.World()
    world.add(mjcf(tmp_path, '<joint name="gear" joint1="right" joint2="left" polycoef="0.1 -2 0.5 0 0"/>'), "it")
    assert world.row_names() == ["it/gear"]
    assert world.angle("it/right") == pytest.approx(0.1 - 2 * world.angle("it/left") + 0.5 * world.angle("it/left") ** 2, abs=1e-10)
    world.v = {"it/left": 1.0, "it/right": -2.0 + world.angle("it/left")}
    before = world.totals().energy
    run(world, 1.0)
    x, rate = world.angle("it/left"), world.rate("it/left")
    assert abs(x) > 0.1
    assert world.angle("it/right") == pytest.approx(0.1 - 2 * x + 0.5 * x * x, abs=1e-12)
    assert world.rate("it/right") == pytest.approx((-2 + x) * rate, abs=1e-12)
    assert world.totals().energy == pytest.approx(before, abs=1e-8)  # a gear does no work


def test_a_coupling_can_be_cut(tmp_path):
    world = br.World()
    world.add(mjcf(tmp_path, '<joint name="gear" joint1="right" joint2="left" polycoef="0 -2 0 0 0"/>'), "it")
    assert list(world.couplings) == ["it/gear"]
    gear = world.couplings["it/gear"]
    assert repr(gear) == "<Follow 'it/gear': it/right of it/left>"
    report = world.cut("it/gear")
    assert report.mobility == (2, 3)
    assert not world.couplings
    assert not gear.alive
    assert repr(gear) == "<Follow 'it/gear': it/right of it/left (cut)>"
    world["it/left"] = 0.5
    run(world, 0.2)
    assert abs(world["it/right"] + 2 * world["it/left"]) > 0.1  # each for itself
    world.add(mjcf(tmp_path, '<joint name="gear" joint1="right" joint2="left"/>'), "other")
    with pytest.raises(ArgumentError, match="no connection: only those can be cut with an impulse"):
        world.cut("other/gear", impulse=(1, 0, 0))


def test_a_mimic_of_a_file_is_kept(tmp_path):
    def link(name: str) -> str:
        inertia = '<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/>'
        return f'<link name="{name}"><inertial><origin xyz="0 0 -0.3"/><mass value="1"/>{inertia}</inertial></link>'

    def joint(name: str, parent: str, child: str, inside: str = "") -> str:
        ends = f'<parent link="{parent}"/><child link="{child}"/><axis xyz="0 1 0"/><origin xyz="0 0 -0.5"/>'
        return f'<joint name="{name}" type="continuous">{ends}{inside}</joint>'

    path = tmp_path / "model.urdf"
    mimic = '<mimic joint="hip" multiplier="-2" offset="0.1"/>'
    path.write_text(
        f'<robot name="r">{link("base")}{link("thigh")}{link("shank")}{joint("hip", "base", "thigh")}'
        f"{joint('knee', 'thigh', 'shank', mimic)}</robot>"
    )
    world = br.World()
    world.add(br.read_model(path), "it")
    assert len(world.row_names()) == 1
    assert world.angle("it/knee") == pytest.approx(0.1 - 2 * world.angle("it/hip"), abs=1e-10)
    world["it/hip"], world["it/knee"] = 0.5, -0.9
    run(world, 0.5)
    assert world.angle("it/knee") == pytest.approx(0.1 - 2 * world.angle("it/hip"), abs=1e-12)
    assert abs(world.angle("it/hip") - 0.5) > 0.1


def test_loops_that_are_open_are_closed_by_moving_joints():
    world = br.World()
    world.add(_offset_swing(), "swing")
    assert world.held.gap() < 1e-9
    assert list(world.connections) == ["swing/seat"]


def _offset_swing() -> br.Model:
    """A four-bar whose loop does not meet at zero angles."""
    builder = br.ModelBuilder("swing")
    part = {"mass": 1.0, "center": (0, 0, -0.5), "inertia": (0.1, 0.1, 0.02)}
    builder.link("left", joint=br.Revolute("y"), **part)
    builder.link("plate", parent="left", joint=br.Revolute("y"), at=(0, 0, -1), mass=2.0, center=(0.4, 0, 0), inertia=(0.02, 0.1, 0.1))
    builder.link("right", joint=br.Revolute("y"), at=(1, 0, 0), **part)
    builder.loop("seat", br.Revolute("y"), "plate", "right", first_at=(0.9, 0, 0), second_at=(0, 0, -1))
    return builder.build()


def test_loops_that_cannot_be_closed_add_nothing():
    builder = br.ModelBuilder("far")
    builder.link("left", joint=br.Revolute("y"), **BOX)
    builder.link("right", joint=br.Revolute("y"), at=(9, 0, 0), **BOX)
    builder.loop("gap", br.Spherical(), "left", "right", first_at=(0, 0, 1), second_at=(0, 0, 1))
    world = arms()
    weld = world.connect("a/cart", "b/cart")
    state = world.save()
    with pytest.raises(AssemblyError, match="'far/gap' cannot be closed"):
        world.add(builder.build(), "far")
    assert list(world.figures) == ["a", "b"]
    assert weld.alive
    assert list(world.connections.values()) == [weld]
    assert (world.q == state.q).all()
    assert (world.v == state.v).all()
    world.forward_dynamics()


# --- states and copies ----------------------------------------------------------------------------------


def test_a_state_brings_connections_back():
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


def test_states_of_different_structures_are_told_apart():
    # Fails if a structure is known by a number that another one has after going back.
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
def test_copies_by_python_are_independent_as_well(copied):
    # Fails (or crashes) if a copy's compiled code still looks at the original's arrays.
    world = arms()
    weld = world.connect("a/tip", "b/tip", br.Revolute("y", damping=0.3))
    acceleration = np.array(world.forward_dynamics())
    other = copied(world)
    forces = world.held.room.force.copy()
    other.v[:] = 0.0
    other.forward_dynamics()
    assert (world.held.room.force == forces).all()
    other.restore(other.save())
    other.v[:] = world.v
    assert largest(other.forward_dynamics() - acceleration) < 1e-11 * largest(acceleration)
    world.cut(weld)
    assert largest(other.forward_dynamics() - acceleration) < 1e-11 * largest(acceleration)
    other.cut("a/tip")
    assert not other.connections


def test_handles_stay_true_when_figures_are_added_and_joints_cut():
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
