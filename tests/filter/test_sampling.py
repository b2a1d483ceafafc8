"""Sampling mode of the filter: targets of windows, costs, the search, and results that keep equations and limits."""

from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

import brachiate as br
from brachiate.cli import app
from brachiate.cli.filter import FELL
from brachiate.errors import ArgumentError
from brachiate.filter.sampling.cost import WindowCost, root_deviation
from brachiate.filter.sampling.motor_gains import LAG, motor_gains
from brachiate.filter.sampling.run_sampling import run_sampling_filter
from brachiate.filter.sampling.search import smoothed, window_lengths
from brachiate.filter.sampling.window_targets import WindowTargets
from brachiate.filter.tracking.simulation_world import FIGURE, SimulationOptions, simulation_world
from brachiate.kinematics_batch import BatchKinematics

EFFORT = 0.02  # a dozen rollouts a window


@pytest.fixture(scope="module")
def squat() -> br.Reference:
    return br.make_reference(br.sample_motion("squat", seconds=1.5).trim(0.0, 0.5))


@pytest.fixture(scope="module")
def result(squat) -> br.FilterResult:
    return br.filter_motion(squat, mode="sampling", effort=EFFORT, seed=3)


def test_windows_cover_the_reference():
    for steps in (3, 49, 50, 74, 75, 250, 1013):
        lengths = window_lengths(steps)
        assert sum(lengths) == steps
        assert min(lengths) >= min(25, steps)
        assert max(lengths) < 75 or steps < 75


def test_offsets_change_smoothly_and_the_reference_is_led_by_its_velocity(squat):
    figure = squat.figure
    targets = WindowTargets(BatchKinematics(figure), squat.q, squat.v, squat.dt)
    before, offset = (np.where(np.arange(figure.nv) > 5, value, 0.0) for value in (0.2, -0.1))
    commands = targets.targets(100, 50, before[None], offset[None])[0]
    kinematics, frames = targets.kinematics, 100 + np.arange(2, 50, 5)
    delta = kinematics.difference(squat.q[frames], commands) - LAG * squat.v[frames]
    assert np.abs(delta[:, :6]).max() < 1e-12 + np.abs(LAG * squat.v[frames, :6]).max()
    turns = [k for k in range(figure.nv) if figure.tree.kind[np.searchsorted(figure.tree.v_at, k, "right") - 1] == 0]
    assert np.abs(delta[0, turns] - 0.2).max() < 0.02  # starts at the offset before
    assert np.allclose(delta[5:, turns], -0.1, rtol=0, atol=1e-9)  # and reaches the new one
    assert np.abs(np.diff(delta[:, turns], axis=0)).max() < 0.5 * 0.3


def test_cost_is_zero_for_the_reference_alone(squat):
    cost, k = WindowCost(squat.figure, squat.q, squat.dt), 150
    zero = cost.tracking(squat.q[[k - 5]], squat.q[[k]], k, 5)
    assert zero[0] < 1e-6  # the angle of the root is an arc cosine of round-off
    q, earlier = np.tile(squat.q[k], (3, 1)), np.tile(squat.q[k - 5], (3, 1))
    q[0, 0] += 0.1  # the root moved: CoM, and all bodies as fast as 0.1 m in 10 ms
    earlier[0, 0] += 0.1
    q[1, 2] += 0.1
    earlier[1, 2] += 0.1
    found, weights = cost.tracking(earlier, q, k, 5), cost.weights
    assert found[0] == pytest.approx(weights.com / cost.scale, rel=1e-6)  # moved along, support and posture are the same
    assert found[1] > weights.height / cost.scale
    position, angle = root_deviation(q, squat.q[k])
    assert np.allclose(position[:2], [[0.1, 0.0, 0.0], [0.0, 0.0, 0.1]], rtol=0, atol=1e-12)
    assert np.allclose(angle, 0.0, atol=1e-7)


def test_gains_follow_the_strength_of_the_joints(squat):
    gains = motor_gains(squat.figure)
    assert not gains.stiffness[:6].any()
    assert (gains.stiffness[6:] > 0.0).all()
    assert np.allclose(gains.damping, LAG * gains.stiffness)
    unlimited = motor_gains(squat.figure.with_scaled_effort(np.inf))
    assert np.isfinite(unlimited.stiffness).all()
    assert (unlimited.stiffness[6:] > 0.0).all()


def test_smoothed_keeps_constants():
    assert np.allclose(smoothed([np.ones(3)] * 4), 1.0)


def test_result_is_a_simulation_within_the_limits(result, squat):
    # Equations of motion hold in every step, torques are within the limits of the figure, and contacts were found without labels.
    assert result.success
    assert len(result.motion) == len(squat)
    force, moment = result.root_residual()
    assert force < 1e-6
    assert moment < 1e-6
    assert max(result.peak_torque_shares.values()) <= 1.0 + 1e-9
    assert {"left_foot", "right_foot"} <= {name.removesuffix("_toe") for name in result.contact_forces} | set(result.contact_forces)
    # Impulses of contacts and weight change the momentum, which is that of the ends of steps: to second order in the step
    momentum, seconds = result.recording["momentum"][:, 2], result.recording.time[-1]
    impulse = squat.dt * result.recording.contacts["man"].force[1:, 2].sum()
    assert impulse == pytest.approx(momentum[-1] - momentum[0] + 9.81 * squat.figure.mass * seconds, rel=1e-3)
    assert result.tracking["mpjpe_root_aligned_cm"] < 8.0


def test_a_seed_gives_one_result_whatever_the_number_of_threads(result, squat):
    for threads in (1, 2):
        world = simulation_world(squat, surfaces=False)
        same = run_sampling_filter(world, FIGURE, squat, SimulationOptions(effort=EFFORT, seed=3), threads=threads)
        assert np.array_equal(same.motion.q, result.motion.q)
    other = br.filter_motion(squat, mode="sampling", effort=EFFORT, seed=4)
    assert not np.array_equal(other.motion.q, result.motion.q)


def test_an_impossible_motion_ends_with_the_best_that_was_tried(squat, tmp_path):
    q = np.array(squat.original.q)
    q[:, 2] += 20.0 * np.maximum(squat.times - 0.1, 0.0) ** 2  # after a while it rises like a balloon
    motion = br.Motion(squat.figure, squat.times, q, "balloon")
    reference = replace_motion(squat, motion)
    found = br.filter_motion(reference, mode="sampling", effort=0.01)
    assert found.failure is not None
    assert "rollouts" in found.failure.reason
    assert 0.0 < found.failure.time <= found.motion.times[-1] + 0.15
    motion.save(tmp_path / "balloon.bvh", rate=100.0)
    outcome = CliRunner().invoke(app, ["filter", str(tmp_path / "balloon.bvh"), "--mode", "sampling", "--effort", "0.01", "--seed", "2"])
    assert outcome.exit_code == FELL
    assert "fell at" in outcome.output


def replace_motion(reference: br.Reference, motion: br.Motion) -> br.Reference:
    """A reference with the configurations of another motion."""
    v = np.gradient(motion.q[:, 2], motion.times)
    velocity = np.array(reference.v)
    velocity[:, 2] += v
    return reference.changed(q=motion.q, v=velocity, original=replace(reference.original, q=motion.q))


def test_bad_input(squat):
    filter_motion = br.filter_motion
    with pytest.raises(ArgumentError, match="effort"):
        filter_motion(squat, mode="sampling", effort=0.0)
    with pytest.raises(ArgumentError, match="seed"):
        filter_motion(squat, mode="sampling", seed=-1)
    with pytest.raises(ArgumentError, match="effort and seed are arguments"):
        filter_motion(squat, mode="sampling", settings=br.FilterSettings())
    with pytest.raises(ArgumentError, match="knows no pushes, no tracked_links and no tasks"):
        filter_motion(squat, mode="sampling", pushes=[br.Push("pelvis", (10.0, 0, 0), start=0.1, duration=0.1)])
