"""Control loop: plans are followed, closed-loop techniques agree, torques replay, reactions are those of connections."""

from __future__ import annotations

import numpy as np
import pytest
from tests.animation.worlds import planar_chain

import brachiate as br
from brachiate import animation as an
from brachiate import manifold
from brachiate.animation.integration import configuration_rate, runge_kutta_step

DT = 0.01


def sitting() -> an.AnimationSpace:
    """[EGC] 4.5: shank and thigh with the hip on a chair, and the trunk: the hip is held, the trunk bends."""
    world = planar_chain((1.9, -1.5, 1.2))
    world.gravity = (0, -9.81, 0)
    hip = an.position("arm/link2", (1, 0, 0))
    return an.AnimationSpace(world, {"x3": hip.x, "y3": hip.y, "phi3": an.joint("arm/phi3")})


def targets(space: an.AnimationSpace) -> dict:
    x, y, phi = space.value()
    return {"x3": x, "y3": y, "phi3": an.keys({0.0: phi, 1.0: 0.4, 2.0: 1.0})}


@pytest.fixture(scope="module")
def extended():
    space = sitting()
    return space.direct(targets(space), 2.0, dt=DT)


def test_hard_constraints_move_as_extended_coordinates(extended):
    space = sitting()
    hard = space.direct(targets(space), 2.0, dt=DT, closure="hard", held=("x3", "y3"))
    assert abs(hard.q - extended.q).max() < 1e-8
    # The chair carries what the motors of extended coordinates have to: reactions agree, torques do not.
    assert abs(hard.forces - extended.forces).max() < 1e-8
    assert abs(hard.torques[:, :2]).max() < 1e-9
    assert abs(extended.torques[:, :2]).max() > 1.0


def test_connection_moves_as_extended_coordinates(extended):
    space = sitting()
    world = space.world
    connection = world.connect("arm/link2", "world", br.Revolute("z"), at=(1, 0, 0))
    bend = an.AnimationSpace(world, {"phi3": an.joint("arm/phi3")})
    reactions = []

    def watch(_: float) -> None:
        world.forward_dynamics(run_torques())
        reactions.append(connection.read_wrench().force[:2].copy())

    def run_torques() -> np.ndarray:
        return extended_free(extended, world.time)

    connected = bend.direct({"phi3": targets(space)["phi3"]}, 2.0, dt=DT, progress=watch)
    assert abs(connected.q - extended.q).max() < 1e-8
    assert abs(np.array(reactions) - extended.forces[1:, :2]).max() < 1e-6 * abs(extended.forces).max()


def extended_free(run, t: float) -> np.ndarray:
    """Torque of the trunk alone: the share of the motors that is not the chair's."""
    n = round(t / DT)
    return np.array([0.0, 0.0, run.forces[n, 2]])


def test_soft_constraints_converge_to_hard_ones(extended):
    errors = []
    for stiffness in (1e4, 1e5):
        space = sitting()
        soft = space.direct(targets(space), 0.2, dt=DT / 16, closure="soft", held=("x3", "y3"), stiffness=stiffness)
        errors.append(abs(soft.q[::16] - extended.q[: len(soft.q[::16])]).max())
    assert np.isclose(errors[0] / errors[1], 10.0, rtol=0.1)  # first order in the compliance


def test_plan_is_followed_and_torques_replay_it():
    space = sitting()
    start = space.world.save()
    x, y, _ = space.value()
    dt = 0.004
    run = space.direct({"phi3": an.reach(0.5, by=0.5), "x3": x, "y3": an.keys({0: y, 0.6: 1.4})}, 0.6, dt=dt)
    assert abs(run.error).max() < 1e-4
    assert abs(run.u[-1] - [x, 1.4, 0.5]).max() < 1e-4
    world = space.world
    end = world.q.copy()
    world.restore(start)
    for _ in range(len(run.times) - 1):
        runge_kutta_step(world, lambda: np.asarray(world.forward_dynamics(run.torques_at(world.time))), dt)
    # Torques are joined by cubic splines: fourth order in the step, as the integration, and the arm is an inverted pendulum.
    assert abs(world.q - end).max() < 1e-4


def test_norm_held_at_zero_is_held_by_its_vector():
    world = br.World()
    world.add(br.figures.human28(), "man")
    world.connect("man/pelvis", "world")
    target = (0.6, 0.3, 0.4)
    space = an.AnimationSpace(world, {"gaze": an.angle(an.axis("man/head", "x"), an.direction("man/head", to=target))})
    assert space.value()[0] > 0.2
    run = space.direct({"gaze": 0.0}, 1.0, dt=0.01, rate=12.0, posture=2.0)
    assert run.names == ("gaze.x", "gaze.y", "gaze.z")
    assert space.value()[0] < np.radians(0.1)


def test_free_figure_moves_only_as_its_motors_can():
    """In the air the CoM falls and angular momentum stays, whatever is asked for."""
    world = br.World()
    world.add(br.figures.human28(), "man")
    before = world.totals("man")
    space = an.AnimationSpace(world, {"hand": an.position("man/left_hand", frame="man/pelvis")})
    run = space.direct({"hand": an.reach((0.3, 0.3, 0.2), by=0.3)}, 0.3, dt=0.005, posture=3.0)
    after = world.totals("man")
    assert abs(run.torques[:, :6]).max() < 1e-8
    assert np.allclose(after.center - before.center, [0, 0, -0.5 * 9.81 * 0.09], atol=1e-6)
    assert np.allclose(after.angular_momentum, 0, atol=1e-5)
    assert np.allclose(run.u[-1], [0.3, 0.3, 0.2], atol=1e-3)


def test_target_that_only_giving_up_another_reaches():
    """[EGC] 5.1: a chain of ten joints whose first is fixed by f = φ², u̇ = ü = 0, and gives way only if it must."""
    world = br.World(gravity=(0, 0, 0))
    builder = br.ModelBuilder("chain")
    for n in range(10):
        builder.link(f"l{n}", parent=f"l{n - 1}" if n else None, joint=br.Revolute("z"), joint_name=f"j{n}", at=(0.1 if n else 0.0, 0, 0),
                     mass=0.1, center=(0.05, 0, 0), inertia=(1e-4, 1e-4, 1e-4))  # fmt: skip
    world.add(builder.build(), "c")
    for n in range(10):
        world[f"c/j{n}"] = 0.25
    tip = an.position("c/l9", (0.1, 0, 0))
    space = an.AnimationSpace(world, {"x": tip.x, "y": tip.y, "fixed": lambda s: s.joint("c/j0") ** 2}, priorities={"fixed": 1})
    fixed = 0.25**2
    near = space.direct({"x": an.reach(0.5, 0.6), "y": an.reach(0.3, 0.6), "fixed": fixed}, 0.6, dt=0.01)
    assert abs(near.u[-1, :2] - [0.5, 0.3]).max() < 1e-3
    assert abs(near.u[:, 2] - fixed).max() < 1e-6
    # The rest of the chain, of length 0.9, cannot reach 0.93 from the end of the first segment.
    end = world.position("c/l1")
    target = end[:2] + 0.93 * np.array([-0.2, 0.98]) / np.hypot(0.2, 0.98)
    assert np.linalg.norm(target) < 0.99
    far = space.direct({"x": an.reach(target[0], 2.0), "y": an.reach(target[1], 2.0), "fixed": fixed}, 3.0, dt=0.01)
    assert abs(far.u[-1, :2] - target).max() < 2e-3
    assert far.u[-1, 2] > 2.0 * fixed


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda s: s.direct({"nose": 0.0}, 1.0), "'nose' is not a function"),
        (lambda s: s.direct({"phi3": "high"}, 1.0), "target of 'phi3'.*an.reach"),
        (lambda s: s.direct({"phi3": (1.0, 2.0)}, 1.0), "target of 'phi3'"),
        (lambda s: s.direct({"phi3": 1.0}, -1.0), "seconds"),
        (lambda s: s.direct({"phi3": 1.0}, 1.0, closure="glue"), "closure"),
        (lambda s: s.direct({"phi3": 1.0}, 1.0, closure="hard"), "needs held"),
        (lambda s: s.direct({"phi3": an.keys({0.0: 1.0})}, 1.0), "at least two"),
        (lambda s: s.direct({"phi3": lambda t: float("nan")}, 1.0), "signal at"),
    ],
)
def test_bad_directions_change_nothing(call, words):
    space = sitting()
    q = space.world.q.copy()
    with pytest.raises(br.BrachiateError, match=words):
        call(space)
    assert np.array_equal(space.world.q, q)
    assert space.world.time == 0.0


def test_replayed_torques_converge_with_the_step():
    """Stored torques, interpolated, reproduce the motion: the difference falls with the fourth power of the step."""
    errors = []
    for dt in (0.02, 0.01):
        space = sitting()
        start = space.world.save()
        x, y, _ = space.value()
        plan = {"phi3": an.reach(0.5, by=0.4), "x3": x, "y3": an.reach(y + 0.05, by=0.4)}
        run = space.direct(plan, 0.4, dt=dt)
        space.world.restore(start)
        replay = space.direct(plan, 0.4, dt=dt, torques=run.torques_at)
        errors.append(abs(replay.q[-1] - run.q[-1]).max())
        assert np.allclose(replay.torques, run.torques, atol=1e-12)
    assert errors[1] < errors[0] / 12.0
    assert errors[1] < 1e-4


def test_configuration_rate_is_that_of_the_exponential():
    """q̇ of every kind of joint against the difference of small motions along v."""
    world = br.World()
    world.add(br.figures.chain(3, joint="ball"), "chain")
    world.add(br.figures.human16(), "man")
    rng = np.random.default_rng(0)
    world.data.q[:] = manifold.integrate(world.data, world.q, 0.5 * rng.normal(size=world.model.nv), 1.0)
    world.v = rng.normal(size=world.model.nv)
    h, q = 1e-5, world.q.copy()
    ahead, behind = manifold.integrate(world.data, q, world.v, h), manifold.integrate(world.data, q, world.v, -h)
    world.data.q[:] = q
    assert np.allclose(configuration_rate(world), (ahead - behind) / (2 * h), atol=1e-8)
