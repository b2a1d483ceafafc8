"""Compiled control step against the same computed by NumPy from the world's own quantities, and its torques against [CKC] 3.1."""

from __future__ import annotations

import numpy as np
import pytest
from tests.animation.dense_levels import solve_dense

import brachiate as br
from brachiate import animation as an
from brachiate import manifold
from brachiate.animation.control_step import COST_WITHOUT_MOTOR, ERROR_DAMPING
from brachiate.animation.direct import Controller
from brachiate.animation.resolve import Level, VelocityMetric, null_space
from brachiate.world.coordinates import constraint_rows


def gymnast(loop: bool, seed: int = 0) -> br.World:
    """A man who hangs by his left hand, and with ``loop`` holds his right knee with the other, a spring between his feet."""
    rng = np.random.default_rng(seed)
    world = br.World()
    world.add(br.figures.human16(), "man")
    world.data.q[:] = manifold.integrate(world.data, world.q, 0.2 * rng.normal(size=world.model.nv), 1.0)
    world.connect("man/left_hand", "world", br.Spherical(damping=0.5))
    if loop:
        world.connect("man/right_hand", "man/right_thigh", br.Revolute("y", stiffness=20.0))
        world.connect("man/left_foot", "man/right_foot", br.Spherical(), compliance=br.SpringDamper(stiffness=300.0, damping=5.0))
    world.data.v[:] = rng.normal(size=world.model.nv)
    world.constraint_set.project_state()
    for _ in range(5):  # the joint of a loop follows from state to state
        world.forward_dynamics()
    return world


FUNCTIONS = {
    "foot": an.position("man/left_foot"),
    "com": an.center_of_mass("man").x,
    "knee": lambda s: (s.joint("man/left_knee") - 0.3) ** 2,
    "momentum": an.angular_momentum("man").y,
}


def expected_accelerations(space: an.AnimationSpace, wanted, preferred, error):
    """As the module space describes them, by dense matrices."""
    world = space.world
    rows, A, without = constraint_rows(world), world.mass_matrix(), np.flatnonzero(world.model.effort == 0.0)
    free = null_space(rows.J[:, without]) if len(rows.J) else np.eye(len(without))
    bias = np.asarray(world.bias()) - rows.loop_torques
    levels = [Level(rows.J, -rows.gamma), Level(free.T @ A[without], -free.T @ bias[without])]
    G, target = space.gradient(), wanted - space.bias()
    levels += [Level(G[at], target[at], ERROR_DAMPING * error[at] ** 2) for at in space.levels]
    cost = np.where(world.model.effort > 0.0, space.weights, COST_WITHOUT_MOTOR * space.weights)
    metric = VelocityMetric(1.0 / np.sqrt(cost), preferred)
    if space.minimize == "torque":
        metric = VelocityMetric(np.linalg.inv(A) / np.sqrt(space.weights), preferred)
    return solve_dense([level for level in levels if len(level.G)], metric)


@pytest.mark.parametrize("minimize", ["velocity", "torque"])
@pytest.mark.parametrize("loop", [False, True])
def test_accelerations_are_those_of_dense_matrices(loop, minimize):
    world, rng = gymnast(loop), np.random.default_rng(3)
    space = an.AnimationSpace(world, FUNCTIONS, priorities={"knee": 1, "momentum": 2}, weights={"man/right_elbow": 4.0}, minimize=minimize)
    wanted, preferred, error = rng.normal(size=6), rng.normal(size=world.model.nv), 0.1 * rng.normal(size=6)
    found = space.solve_acceleration(wanted, preferred=preferred, error=error)
    a = np.asarray(found.values)
    expected = expected_accelerations(space, wanted, preferred, error)
    assert np.allclose(a, expected, rtol=1e-7, atol=1e-7 * abs(expected).max())
    assert np.allclose(found.residual, space.acceleration(a) - wanted, atol=1e-9 * abs(a).max())


@pytest.mark.parametrize("loop", [False, True])
def test_torques_are_those_of_inverse_dynamics_of_closed_chains(loop):
    world = gymnast(loop, seed=1)
    space = an.AnimationSpace(world, FUNCTIONS)
    controller = Controller(space, {"foot": an.reach((0.2, 0.1, 1.0), by=1.0), "knee": 0.01, "com": an.keys({0.0: 0.0, 1.0: 0.1})})
    torque = controller.torques_now()
    assert controller._control is not None
    a = controller._control.arrays.acceleration.copy()
    expected = world.inverse_dynamics(a)  # torque distribution by singular values [CKC] 3.1
    assert expected.sharing.realized
    assert np.allclose(torque, expected, atol=1e-8 * abs(torque).max())
    assert np.allclose(world.forward_dynamics(torque), a, atol=1e-8 * abs(a).max())
    assert np.allclose(controller.accelerations(), a, atol=1e-8 * abs(a).max())


@pytest.mark.parametrize("closure", ["hard", "soft"])
def test_what_the_surroundings_hold(closure):
    """Springs and dampers act through the gradient; a constraint lets the function have no acceleration, by forces through its gradient."""
    world = gymnast(False, seed=2)
    space = an.AnimationSpace(world, {"foot": FUNCTIONS["foot"], "knee": FUNCTIONS["knee"]})
    plan = {"foot": space.value()[:3] + 0.01, "knee": 0.02}
    controller = Controller(space, plan, closure=closure, held=("foot",), stiffness=900.0, damping=40.0)
    torque, a = controller.torques_now(), controller.accelerations().copy()
    G, rate = space.gradient()[:3], space.rate()[:3]
    if closure == "soft":
        force = 900.0 * (plan["foot"] - space.value()[:3]) - 40.0 * rate
        assert np.allclose(a, world.forward_dynamics(torque + G.T @ force), atol=1e-9 * abs(a).max())
    else:
        assert np.allclose(space.acceleration(a)[:3], 0.0, atol=1e-9 * abs(a).max())
        rows = constraint_rows(world)
        left = world.mass_matrix() @ a + world.bias() - rows.loop_torques - torque
        forces = np.vstack([G, rows.J]).T
        missing = left - forces @ np.linalg.lstsq(forces, left, rcond=None)[0]
        assert abs(missing).max() < 1e-9 * abs(left).max()
        assert abs(rows.J @ a + rows.gamma).max() < 1e-9 * abs(a).max()  # and the hand still holds


def test_state_and_torques_of_the_world_are_untouched():
    world = gymnast(True)
    world.torque = np.random.default_rng(0).normal(size=world.model.nv)
    before = world.q.copy(), world.v.copy(), world.torque.copy(), world.time
    space = an.AnimationSpace(world, FUNCTIONS)
    controller = Controller(space, {"foot": an.reach((0.2, 0.1, 1.0), by=1.0)})
    controller.record()
    controller.accelerations()
    an.AnimationSpace(world, {"foot": FUNCTIONS["foot"]}).solve_velocity(np.zeros(3))
    after = world.q, world.v, world.torque, world.time
    assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))


def test_structure_may_change_between_steps():
    """Connecting and cutting between two evaluations: arrays of the control law follow the constraints."""
    world = gymnast(False)
    space = an.AnimationSpace(world, {"foot": an.position("man/left_foot")})
    first = np.asarray(space.solve_acceleration(np.zeros(3)).values)
    connections = [world.connect(f"man/{link}", "world") for link in ("head", "right_foot", "right_hand")]
    held = np.asarray(space.solve_acceleration(np.zeros(3)).values)
    assert abs(world.jacobian("man/head") @ held).max() < 10.0
    assert not np.allclose(first, held)
    for connection in connections:
        world.cut(connection)
    world.data.v[:] = 0.0
    assert np.isfinite(space.solve_acceleration(np.zeros(3)).values).all()


def test_truncated_singular_values_bound_joint_velocities():
    """Beside a stretched arm, where the inverse is large, motion along it is left out."""
    world = br.World(gravity=(0, 0, 0))
    builder = br.ModelBuilder("arm")
    for n in range(2):
        builder.link(f"l{n}", parent="l0" if n else None, joint=br.Revolute("z"), joint_name=f"j{n}", at=(float(n), 0, 0), mass=1.0,
                     center=(0.5, 0, 0), inertia=(0.1, 0.1, 0.1))  # fmt: skip
    world.add(builder.build(), "arm")
    world["arm/j0"], world["arm/j1"] = 0.7, 1e-3
    tip = an.position("arm/l1", (1, 0, 0))
    across = np.array([-np.sin(0.7), np.cos(0.7)])
    for damping in ("svd", "error"):
        space = an.AnimationSpace(world, {"x": tip.x, "y": tip.y}, damping=damping)
        v = np.asarray(space.solve_velocity({"x": 0.1, "y": 0.2}, error=(0.0, 0.0)).values)
        assert abs(np.linalg.solve(space.gradient(), [0.1, 0.2])).max() > 100.0
        assert abs(v).max() < 2.0
        assert 0.5 < (across @ space.gradient() @ v) / (across @ [0.1, 0.2]) < 1.0  # and the hand still moves across the arm


def test_functions_held_in_different_ways_at_once():
    """One hip held by its chair exactly, another by springs, a third by motors: as each alone."""
    from brachiate import scenes  # noqa: PLC0415

    together = scenes.make("sitting", seconds=0.3)
    run = together.run()
    for name in an.CLOSURES:
        alone = scenes.make("sitting", technique=name, seconds=0.3).run()
        for joint in ("ankle", "knee", "hip"):
            assert np.allclose(run[f"{name}/{joint}"], alone[f"{name}/{joint}"], atol=1e-9)
        assert np.allclose(run[f"{name}/hip.force"], alone[f"{name}/hip.force"], atol=1e-6)
    assert np.allclose(run["extended/hip.force"], run["hard/hip.force"], atol=1e-6)
    weight = 64.0 * 9.81  # of a slow motion the chair carries a part
    assert 0.2 * weight < scenes.make("sitting", technique="hard", seconds=8.0).run(0.05)["hard/hip.force"][0, 2] < weight


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"held": {"x": "glue"}}, "closure of 'x'"),
        ({"held": {"nose": "hard"}}, "'nose' is not a directed function"),
        ({"limits": 0.0}, "limits"),
        ({"posture": -1.0}, "posture"),
        ({"torques": lambda t: np.zeros(1)}, "torques"),
    ],
)
def test_bad_settings_change_nothing(settings, words):
    world = br.World()
    world.add(br.figures.chain(3), "c")
    space = an.AnimationSpace(world, {"x": an.position("c/link3").x})
    q = world.q.copy()
    with pytest.raises(br.BrachiateError, match=words):
        space.direct({"x": 0.1}, 0.1, **settings)
    assert np.array_equal(world.q, q)


def test_surroundings_that_hold_are_refused_with_contact():
    world = br.World()
    world.add(br.figures.ground(), "ground")
    world.add(br.figures.box(), "box", at=(0, 0, 0.5))
    world.enable_contact()
    space = an.AnimationSpace(world, {"x": an.position("box/box").x})
    with pytest.raises(br.BrachiateError, match="not possible with contact"):
        space.direct({"x": 0.0}, 0.1, closure="hard", held=("x",))


def test_center_of_pressure_is_directed():
    """Accelerations bring the center of pressure to its target exactly, though it is a quotient, beside a function of configurations."""
    world = br.World()
    world.add(br.figures.human28(), "man")
    world.connect("man/left_foot", "world")
    world.v = 0.2 * np.random.default_rng(3).normal(size=world.model.nv)
    space = an.AnimationSpace(world, {"cop": an.center_of_pressure("man"), "head": an.position("man/head").z}, damping="svd")
    found = space.solve_acceleration({"cop.x": 0.05, "cop.y": 0.02, "head": -0.3}, error=np.zeros(len(space)))  # undamped
    assert not found.conflicts(1e-9)
    assert np.allclose(space.value(found.values)[:2], (0.05, 0.02), atol=1e-10)
    with pytest.raises(br.ArgumentError, match=r"'cop\.x' depends on accelerations"):
        space.solve_velocity({"head": 0.1})
