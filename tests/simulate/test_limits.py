"""Joint limits and compliant connections, compared with closed-form results.

A limit is a stop without rebound: the coordinate reaches its bound and does not pass it, energy is dissipated and never gained, momentum
is conserved, and the joint leaves the limit freely. A compliant connection is a spring and damper: it sags by weight / stiffness.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import brachiate as br
from brachiate.constraints.arrays import TWIST_LIMIT

G = 9.81
ROD = {"mass": 2.0, "center": (0, 0, -0.5), "inertia": (0.1, 0.1, 0.01)}


def pendulum(joint: br.Joint, **world: object) -> br.World:
    """A rod of 2 kg hanging from a joint of the world, its center 0.5 m below."""
    builder = br.ModelBuilder("rod")
    builder.link("rod", joint=joint, joint_name="pivot", **ROD)
    made = br.World(**world)  # type: ignore[arg-type]
    made.add(builder.build(), "it")
    return made


# --- stops ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("integrator", ["euler", "rk4", "dormand-prince"])
def test_a_pendulum_stops_at_its_limit(integrator):
    # It swings down from 1 rad, and stops on the other side at -0.3, from where it falls back.
    world = pendulum(br.Revolute("y", limits=(-0.3, 2.0)))
    world["it/pivot"] = 1.0
    run = br.Simulation(world, dt=1e-3, integrator=integrator).run(1.5)
    angle, energy = run["it/pivot"], run["energy"]
    assert angle.min() == pytest.approx(-0.3, abs=1e-5)  # reached within a step, and falling back for the rest of it
    stopped = int(np.argmin(angle))
    assert energy[stopped + 1] < energy[stopped - 1] - 1.0  # no rebound
    assert (np.diff(energy) < 1e-3).all()
    assert angle[stopped + 1 :].max() == pytest.approx(0.3, abs=2e-3)  # from rest, to the same angle on the other side


def test_without_limits_the_pendulum_passes():
    world = pendulum(br.Revolute("y", limits=(-0.3, 2.0)))
    world["it/pivot"] = 1.0
    run = br.Simulation(world, dt=1e-3, limits=False).run(1.5)
    assert run["it/pivot"].min() == pytest.approx(-1.0, abs=1e-4)
    assert np.ptp(run["energy"]) < 1e-9


def test_a_limit_carries_a_weight():
    # At rest on its limit at 0.7 rad; when it leaves, no energy has been stored.
    world = pendulum(br.Revolute("y", limits=(0.7, 2.0)))
    world["it/pivot"] = 0.7
    simulation = br.Simulation(world, dt=1e-3)
    simulation.run(0.5)
    assert world["it/pivot"] == pytest.approx(0.7, abs=1e-12)
    assert np.abs(world.v).max() < 1e-12
    world.torque = {"it/pivot": 2.0 * G * 0.5 * math.sin(0.7) + 1.0}  # 1 N·m more than its weight
    simulation.run(0.1)
    expected = 0.7 + 0.5 * 1.0 / (0.1 + 2.0 * 0.25) * 0.1**2  # to first order in the displacement
    assert world["it/pivot"] == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("integrator", ["euler", "rk4"])
def test_momentum_is_conserved_at_a_limit(integrator):
    # A free body: the impulse at the knee is internal. Integration errors decrease with the step, errors of the impulse would not.
    lost = []
    for dt in (2e-3, 1e-3):
        world = br.World(gravity=(0, 0, 0))
        world.add(br.figures.human16(), "man")
        rng = np.random.default_rng(5)
        world.v = 0.3 * rng.normal(size=world.model.nv)
        world.v = {"man/left_knee": -6.0, "man/right_elbow": -5.0}
        run = br.Simulation(world, dt=dt, integrator=integrator).run(0.4)
        assert run["man/left_knee"].min() == pytest.approx(-math.radians(5), abs=1e-3)  # it stopped
        lost.append([np.ptp(run[what], axis=0).max() for what in ("momentum", "angular momentum")])
    coarse, fine = np.array(lost)
    order = np.log2(coarse / fine)
    assert (coarse < (0.1 if integrator == "euler" else 1e-6)).all()
    assert (order > (0.8 if integrator == "euler" else 3.0)).all()


def test_limits_never_add_energy():
    # A passive figure falls from a bar and reaches many limits.
    world = br.World()
    man = world.add(br.figures.human16(), "man")
    world.add(br.figures.bar(height=2.6), "bar")
    man.set_pose("hang")
    world.connect("man/left_grip", "world", br.Spherical())
    world.v = {"man/left_knee": 4.0, "man/right_knee": 3.0, "man/right_elbow": 4.0}
    run = br.Simulation(world, dt=1e-3).run(2.0)
    energy = run["energy"]
    assert np.maximum.accumulate(energy[::-1])[::-1][0] <= energy[0] + 1e-3
    assert (np.diff(energy) < 1e-4).all()
    lower, upper = world.model.limits
    for name, number in world.model.scalar_coordinates.items():
        k = world.model.coordinate_index[name]
        assert (run.q[:, number] > lower[k] - 1e-2).all()
        assert (run.q[:, number] < upper[k] + 1e-2).all()


# --- cones ----------------------------------------------------------------------------------------


def swing_of(q: np.ndarray) -> np.ndarray:
    """Angle between z and the rod's z (n,)."""
    return np.arccos(np.clip(1.0 - 2.0 * (q[:, 1] ** 2 + q[:, 2] ** 2), -1.0, 1.0))


def test_a_ball_joint_stops_at_its_cone():
    world = pendulum(br.Spherical(cone=br.cone_limit("z", swing=0.6)), gravity=(0, 0, 0))
    world.v = [1.0, 0.5, 0.0]
    run = br.Simulation(world, dt=1e-3).run(2.0)
    swing = swing_of(run["it/pivot"])
    assert swing.max() == pytest.approx(0.6, abs=1e-6)
    assert (np.diff(run["energy"]) < 1e-9).all()


def test_a_ball_joint_stops_at_its_twist_limit():
    world = pendulum(br.Spherical(cone=br.cone_limit("z", swing=1.5, twist=(-0.5, 0.8))), gravity=(0, 0, 0))
    world.v = [0.0, 0.0, 2.0]
    run = br.Simulation(world, dt=1e-3).run(1.0)
    twist = 2.0 * np.arctan2(run["it/pivot"][:, 3], run["it/pivot"][:, 0])
    assert twist.max() == pytest.approx(0.8, abs=1e-6)
    assert abs(world.v[2]) < 1e-9


@pytest.mark.parametrize(("swing", "stopped"), [(20.0, True), (150.0, True), (165.0, False), (179.0, False)])
def test_twist_is_not_limited_near_the_opposite_posture(swing, stopped):
    # A twist of 1 rad is far beyond its limit of 0.4, and grows. Near the posture opposite to neutral it is undefined: an inactive
    # limit row must not become active there.
    world = pendulum(br.Spherical(cone=br.cone_limit("z", swing=math.pi, twist=(-0.4, 0.4))), gravity=(0, 0, 0))
    held, half = world.constraint_set, math.radians(swing) / 2
    place = held.add_limit(TWIST_LIMIT, 0, 0, 0.4, -1, np.array([0.0, 0.0, 1.0]))
    held.arrays.inactive[place] = 1
    held.update_structure()
    world["it/pivot"] = np.outer([math.cos(half), math.sin(half)], [math.cos(0.5), math.sin(0.5)]).ravel()[[0, 2, 3, 1]] * [1, 1, -1, 1]
    world.v = v = np.array([0.0, 0.0, 1.0])
    held.project_state()
    assert np.allclose(world.v, v, atol=1e-12) != stopped


# --- limits of joints that close loops ------------------------------------------------------------


def twins(joint: br.Joint) -> tuple[br.World, br.World, br.Connection]:
    """A rod on a tree joint, and the same rod, free, connected to the world by that joint: both must move equally."""
    tree = pendulum(joint)
    builder = br.ModelBuilder("rod")
    builder.link("rod", joint=br.Free(), joint_name="root", **ROD)
    loop = br.World()
    loop.add(builder.build(), "it")
    return tree, loop, loop.connect("it/rod", "world", joint, name="pivot")


@pytest.mark.parametrize("integrator", ["euler", "rk4"])
@pytest.mark.parametrize(
    ("joint", "v"),
    [
        (br.Revolute("y", limits=(-0.3, 0.5)), [-2.0]),
        (br.Prismatic("z", limits=(-0.2, 0.3)), [1.0]),
        (br.Universal("x", "y", limits=((-0.3, 0.4), (-0.2, 0.6))), [1.5, -1.0]),
        (br.Spherical(cone=br.cone_limit("z", swing=0.4, twist=(-0.2, 0.3))), [1.0, 0.7, 1.5]),
        (br.Compound({"lift": br.Prismatic("z", limits=(-0.1, 0.1)), "ball": br.Spherical()}), [1.0, 0.5, 0.3, 0.2]),
    ],
    ids=lambda x: getattr(x, "type", None),
)
def test_limits_of_loop_joints_equal_those_of_tree_joints(joint, v, integrator):
    tree, loop, pivot = twins(joint)
    tree.v = v
    relative = np.asarray(tree.velocity("it/rod"))
    R = loop.pose("it/rod").rotation
    loop.v = [*(R.T @ relative[:3]), *(R.T @ relative[3:])]
    before = tree.totals().energy
    for _ in range(6):
        for world in (tree, loop):
            br.Simulation(world, dt=1e-3, integrator=integrator).run(0.1)
        assert np.abs(tree.pose("it/rod").rotation - loop.pose("it/rod").rotation).max() < (5e-3 if integrator == "euler" else 1e-6)
        assert np.abs(tree.position("it/rod") - loop.position("it/rod")).max() < (5e-3 if integrator == "euler" else 1e-6)
    if joint.nq == joint.nv:
        values = np.atleast_1d(pivot.value)
        assert (values > joint.lower - 1e-6).all()
        assert (values < joint.upper + 1e-6).all()
    assert tree.totals().energy < before - 0.01  # it stopped


def test_cutting_a_connection_removes_its_limits():
    _, world, pivot = twins(br.Revolute("y", limits=(0.0, 0.5)))
    simulation = br.Simulation(world, dt=1e-3)
    world.apply_force("it/rod", force=(20.0, 0, 0), at=(0, 0, -0.5))
    simulation.run(0.2)
    assert world.constraint_set.active_limits
    world.cut(pivot)
    assert not world.constraint_set.active_limits
    simulation.run(0.1)
    again = world.connect("it/rod", "world", br.Revolute("y", limits=(-0.1, 0.1)))
    simulation.run(0.5)
    assert abs(again.value) < 0.1 + 1e-6


# --- compliant connections ------------------------------------------------------------------------


def test_a_compliant_connection_sags_by_weight_over_stiffness():
    world = br.World()
    world.add(br.figures.box(mass=3.0), "box")
    critical = br.SpringDamper(stiffness=600.0, damping=2.0 * math.sqrt(600.0 * 3.0))
    grip = world.connect("box/box", "world", br.Spherical(), compliance=critical)
    height = world.position("box/box")[2]
    br.Simulation(world, dt=1e-3).run(3.0)
    assert world.position("box/box")[2] - height == pytest.approx(-3.0 * G / 600.0, abs=1e-9)
    assert grip.wrench.force == pytest.approx([0, 0, 3.0 * G], abs=1e-6)


def test_a_compliant_connection_without_damping_conserves_energy():
    world = br.World()
    world.add(br.figures.box(mass=3.0), "box")
    world.connect("box/box", "world", br.Spherical(), compliance=br.SpringDamper(stiffness=600.0, damping=0.0))
    height = world.position("box/box")[2]
    simulation = br.Simulation(world, dt=1e-3)
    stored = []
    for _ in range(50):
        simulation.run(0.02)
        stored.append(world.totals().energy)
        sag = height - world.position("box/box")[2]
        assert -1e-9 < sag < 2 * 3.0 * G / 600.0 + 1e-9  # between the start and twice the static sag
    assert np.ptp(stored) < 1e-7
