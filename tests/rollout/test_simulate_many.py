"""Rollouts: equal to simulations of each state alone, whatever the number of threads; control laws; errors of one world."""

from typing import Any

import numpy as np
import pytest

import brachiate as br
from brachiate.errors import ArgumentError, StateError
from brachiate.manifold import difference

DT, STEPS = 2.0**-9, 40  # times are exact: steps up to them are DT to the bit


@pytest.fixture(scope="module")
def standing() -> br.World:
    """A person with springs in the joints, on the ground."""
    world = br.World()
    world.add(br.figures.ground(), "floor")
    world.add(br.figures.human16().with_springs(300.0, "stand", 15.0), "man").set_pose("stand")
    world.enable_contact(friction=0.8)
    br.Simulation(world, dt=DT).run(0.1)
    return world


@pytest.fixture(scope="module")
def limp() -> br.World:
    """The same person without springs and dampers."""
    world = br.World()
    world.add(br.figures.ground(), "floor")
    world.add(br.figures.human16(), "man").set_pose("stand")
    world.enable_contact(friction=0.8)
    return world


def pushed(world: br.World, n: int) -> list:
    """Snapshots of a world, some steps after it was given random velocities."""
    start, found = world.save(), []
    for k in range(n):
        world.restore(start)
        world.v = world.v + 0.4 * np.random.default_rng(k).standard_normal(world.model.nv)
        br.Simulation(world, dt=DT).run(0.02 * (k + 1))
        found.append(world.save())
    world.restore(start)
    return found


def test_bits_are_those_of_a_simulation_of_each_state_alone(standing):
    # Fails if the memory of contact is lost, if threads share anything, or if a result depends on the rollout before.
    states, alone = pushed(standing, 5), []
    for state in states:
        standing.restore(state)
        alone.append(br.Simulation(standing, dt=DT, every=4).run(STEPS * DT))
    many = [br.simulate_many(standing, states, None, STEPS, DT, every=4, threads=n) for n in (1, 2, 3)]
    for result in many:
        assert not result.failures
        for i, run in enumerate(alone):
            assert np.array_equal(result.q[i], run.q[1:])
            assert np.array_equal(result.v[i], run.v[1:])
            assert np.allclose(result.time[i], run.time[1:], rtol=0, atol=1e-12)


def test_going_on_from_saved_states_equals_one_long_run(standing):
    states = pushed(standing, 3)
    whole = br.simulate_many(standing, states, np.zeros(standing.model.nv), 2 * STEPS, DT, threads=2)
    half = br.simulate_many(standing, states, np.zeros(standing.model.nv), STEPS, DT, threads=1)
    rest = br.simulate_many(standing, half.states[[2, 0, 1]], np.zeros(standing.model.nv), STEPS, DT, threads=2)
    assert np.array_equal(rest.q, whole.q[[2, 0, 1], STEPS:])
    assert np.array_equal(rest.states.v, whole.states.v[[2, 0, 1]])
    joined = br.RolloutStates.joined([half.states, rest.states])
    assert len(joined) == 6
    world = standing.copy()
    joined.restore(world, 3)  # the world goes on from there, too
    assert world.time == pytest.approx(whole.states.time[2], abs=1e-12)
    assert np.array_equal(world.q, whole.states.q[2])
    simulation = br.Simulation(world, dt=DT)
    simulation.control(lambda w: None)
    assert np.array_equal(
        simulation.run(DT * 5).q[1:], br.simulate_many(standing, whole.states[2], np.zeros(standing.model.nv), 5, DT).q[0]
    )


def test_torques_by_interval_are_those_of_a_controller(standing):
    # Fails if a torque acts a step early or late, in another rollout, or beyond the torque limits.
    states, nv = pushed(standing, 3), standing.model.nv
    torques = 40.0 * np.random.default_rng(1).standard_normal((3, 4, nv))
    torques[1, 2, 8] = 1e5  # clamped
    torques[:, :, :6] = 0.0
    result = br.simulate_many(standing, states, torques, STEPS, DT, threads=2)
    for i, state in enumerate(states):
        standing.restore(state)
        simulation, step = br.Simulation(standing, dt=DT), iter(np.repeat(torques[i], STEPS // 4, axis=0))

        def control(world, step=step):
            world.torque = next(step)

        simulation.control(control)
        run = simulation.run(STEPS * DT)
        assert np.array_equal(result.q[i], run.q[1:])
        assert np.allclose(result.torque[i], run.torque[1:], rtol=0, atol=1e-12)
    standing.restore(states[0])


def test_joint_targets_are_springs_with_a_moving_rest_position(limp):
    # Fails if gains act on the wrong coordinates, or if damping is not that of joints: equal to the bit but for the torques.
    spring = br.World()
    spring.add(br.figures.ground(), "floor")
    spring.add(br.figures.human16().with_springs(0.0, "stand", 9.0), "man").set_pose("stand")
    spring.enable_contact(friction=0.8)
    target = br.manifold.integrate(limp.data, limp.q, 0.2 * np.cos(np.arange(limp.model.nv)))
    simulation = br.Simulation(spring, dt=DT)

    def control(world):
        torque = 150.0 * difference(world.data, world.q, target)
        torque[:6] = 0.0
        world.torque = torque

    simulation.control(control)
    run = simulation.run(STEPS * DT)
    limits = limp.model.effort
    result = br.simulate_many(limp, [limp.save()], br.JointTargets(target[None], 150.0, 9.0), STEPS, DT)
    assert np.abs(result.torque[0, :, 6:]).max() < limits[6:].min()  # no limit is reached
    assert np.allclose(result.q[0], run.q[1:], rtol=0, atol=1e-12)
    damping = 9.0 * result.v[0]
    assert np.allclose(result.torque[0, :, 6:], (run.torque[1:] - damping)[:, 6:], rtol=0, atol=1e-9)


def test_torques_keep_their_limits_and_reproduce_the_motion(limp):
    # A law: torques that are reported, given back step by step, lead to the same motion. Fails if they are not what acted.
    model = limp.model
    rng = np.random.default_rng(2)
    targets = [br.manifold.integrate(limp.data, limp.q, 0.4 * rng.standard_normal(model.nv)) for _ in range(4)]
    weak = br.World()
    weak.add(br.figures.ground(), "floor")
    weak.add(br.figures.human16().with_scaled_effort(0.3), "man").set_pose("stand")
    weak.enable_contact(friction=0.8)
    states = [weak.save()]
    result = br.simulate_many(weak, states, br.JointTargets(targets, 400.0, 20.0), 20, DT)
    limit = weak.model.effort
    share = np.abs(result.torque[0, :, 6:]) / limit[6:]
    assert share.max() > 0.99  # limits were reached
    assert share.max() <= 1.0 + 1e-9
    batch = br.BatchSimulation(weak, DT, project=False)
    result = batch.run(states, br.JointTargets(targets, 400.0, 20.0, constant=True), 20)
    assert np.abs(result.torque[0, :, 6:] / limit[6:]).max() <= 1.0 + 1e-9
    again = batch.run(states, result.torque, 20)
    assert np.array_equal(again.q, result.q)
    assert np.array_equal(again.v, result.v)


def test_motors_beyond_their_speed_do_not_push_on():
    builder = br.ModelBuilder("wheel")
    builder.link("rim", joint=br.Revolute("z", speed=2.0), joint_name="axle", mass=1.0, inertia=(0.1, 0.1, 0.1))
    world = br.World()
    world.add(builder.build(), "wheel")
    world.enable_contact()
    result = br.simulate_many(world, [world.save()], br.JointTargets([[50.0]], 1.0), 400, DT)
    assert result.v[0, -1, 0] == pytest.approx(2.0, abs=50.0 / 0.1 * DT)  # one step's motion beyond it at most
    assert result.v[0].max() <= 2.0 + 50.0 / 0.1 * DT


def test_contacts_are_those_of_the_recording(standing):
    state = pushed(standing, 1)[0]
    result = br.simulate_many(standing, [state, state], None, STEPS, DT, every=10, contacts=True, threads=2)
    standing.restore(state)
    run = br.Simulation(standing, dt=DT, every=10).run(STEPS * DT)
    expected = run.contacts.at(-1).reaction("man").force
    assert np.array_equal(result.contacts(1).at(-1).reaction("man").force, expected)
    assert expected[2] > 100.0
    with pytest.raises(ArgumentError, match="contacts=True"):
        br.simulate_many(standing, [state], None, 2, DT).contacts(0)


def test_a_world_that_fails_is_told_by_index_and_time_and_disturbs_no_other(standing):
    states = br.BatchSimulation(standing, DT).states(pushed(standing, 3))
    states.v[1, 8] = 1e8  # diverges
    good = br.simulate_many(standing, states[[0, 2]], None, STEPS, DT, threads=1)
    result = br.simulate_many(standing, states, None, STEPS, DT, threads=2)
    assert list(result.failures) == [1]
    failure = result.failures[1]
    assert failure.index == 1
    assert states.time[1] <= failure.time < states.time[1] + STEPS * DT
    assert "diverged" in failure.reason or "finite" in failure.reason
    assert np.isnan(result.q[1]).all()
    assert np.array_equal(result.states.q[1], states.q[1])
    assert np.array_equal(result.q[[0, 2]], good.q)
    with pytest.raises(StateError, match="rollout 1 failed at"):
        br.simulate_many(standing, states, None, STEPS, DT, contacts=True).contacts(1)


def test_worlds_with_connections_and_prescribed_motion():
    # Constraint memory and time are part of a state: fails if rollouts of a closed chain differ from the simulation.
    world = br.World()
    world.add(br.figures.bar(height=2.6), "bar")
    man = world.add(br.figures.human16(), "man")
    man.set_pose("hang", root=True)
    world.enable_contact()
    world.connect("man/left_grip", "bar/rod", br.Revolute("y"))
    world.connect("man/right_grip", "bar/rod", br.Revolute("y"), redundant=True)
    snapshots = []
    for _ in range(3):
        br.Simulation(world, dt=DT).run(0.05)
        snapshots.append(world.save())
    result = br.simulate_many(world, snapshots, None, 30, DT, threads=2)
    for i, state in enumerate(snapshots):
        world.restore(state)
        assert np.array_equal(br.Simulation(world, dt=DT).run(30 * DT).q[1:], result.q[i])


def test_bad_input(standing):
    nq, nv = standing.model.nq, standing.model.nv
    state, q, v = standing.save(), standing.q[None], standing.v[None]
    many: Any = br.simulate_many
    with pytest.raises(ArgumentError, match="expects a World"):
        many("world", [state], None, 1)
    with pytest.raises(StateError, match=r"enable_contact\(\)"):
        many(br.World(), [state], None, 1)
    for wrong in (None, [], "states", [state, 3], 7):
        with pytest.raises(ArgumentError, match=r"states: expected RolloutStates, a list of states that world.save\(\) returned"):
            many(standing, wrong, None, 1)
    with pytest.raises(ArgumentError, match=r"states\[1\] was saved from another world"):
        many(standing, [state, br.World().save()], None, 1)
    with pytest.raises(ArgumentError, match="velocities v"):
        many(standing, (q, v[:, 1:]), None, 1)
    sunk = q.copy()
    sunk[0, 2] -= 0.3
    assert not many(standing, (q, v), None, 1).failures
    torque = np.zeros((2, 3, nv))
    with pytest.raises(ArgumentError, match=r"torques: expected shape \(1, k, "):
        many(standing, [state], torque, 3)
    with pytest.raises(ArgumentError, match="4 steps cannot be divided into 3 equal intervals"):
        many(standing, [state], torque[:1], 4)
    torque[0, 1, 2] = np.nan
    with pytest.raises(ArgumentError, match=r"torques: every number must be finite, got nan at \[0, 1, 2\]"):
        many(standing, [state, state], torque, 3)
    with pytest.raises(ArgumentError, match="joint targets q: expected shape"):
        many(standing, [state], br.JointTargets(np.zeros((1, 1, nq + 1)), 1.0), 3)
    with pytest.raises(ArgumentError, match="which is not a rotation"):
        many(standing, [state], br.JointTargets(np.zeros((1, nq)), 1.0), 3)
    with pytest.raises(ArgumentError, match="stiffness"):
        many(standing, [state], br.JointTargets(standing.q, -1.0), 3)
    with pytest.raises(ArgumentError, match="steps"):
        many(standing, [state], None, 0)
    with pytest.raises(ArgumentError, match="threads"):
        many(standing, [state], None, 1, threads=0)
    states = br.BatchSimulation(standing).states([state])
    with pytest.raises(ArgumentError, match="indices of 1 states"):
        states[[3]]
    with pytest.raises(ArgumentError, match="they are of another world"):
        states.restore(br.World(), 0)
    with pytest.raises(ArgumentError, match="joined: expected a list of RolloutStates"):
        br.RolloutStates.joined([])
    with pytest.raises(ArgumentError, match="restore expects a World"):
        states.restore("world", 0)  # type: ignore[arg-type]
