"""Published filter on whole clips: recording, statistics, falls, pushes, arguments."""

from __future__ import annotations

import numpy as np
import pytest

import brachiate as br
from brachiate import procedural
from brachiate.compiled import MODE
from brachiate.errors import ArgumentError, UnknownName
from brachiate.filter.offline import filter_motion
from brachiate.filter.paper import PaperSettings
from brachiate.filter.paper.run_clip import PaperFilterResult
from brachiate.filter.reference.preprocess import make_reference
from brachiate.filter.reference.reference import Reference


@pytest.fixture(scope="module")
def squat() -> Reference:
    return make_reference(procedural.sample_motion("squat", seconds=2.4))


@pytest.fixture(scope="module")
def kick() -> PaperFilterResult:
    result = filter_motion(procedural.sample_motion("kick"), mode="paper", progress=False)
    assert isinstance(result, PaperFilterResult)
    return result


def unexplained(result: PaperFilterResult) -> float:
    """Largest change of momentum that recorded forces and gravity do not explain [N·s]."""
    recording, dt = result.recording, result.reference.dt
    weight = result.motion.figure.mass * recording.gravity
    force = sum(values[:, :3] for values in result.motion.forces.values())
    explained = np.cumsum(dt * (force[1:] + weight), axis=0)
    return float(np.abs(recording["momentum"][1:] - recording["momentum"][0] - explained).max())


def test_a_feasible_motion_is_tracked(squat: Reference) -> None:
    result = filter_motion(squat, mode="paper", progress=False)
    assert result.success
    assert result.tracking["mpjpe_global_cm"] < 0.5
    assert result.check().summary["root_residual_force_peak_N"] < 10.0
    assert {label.part for label in result.motion.contacts.contacts} >= {"left_heel", "right_heel"}
    assert sum(values[50, 2] for values in result.motion.forces.values()) == pytest.approx(result.motion.figure.mass * 9.81, rel=0.2)
    assert unexplained(result) < 0.1  # of 1600 N·s by gravity; the integrator is of first order


def test_a_fall_ends_the_run_and_earlier_frames_are_kept(kick: PaperFilterResult) -> None:
    assert kick.failure is not None
    assert kick.failure.time == pytest.approx(kick.motion.times[-1])
    n = len(kick.motion) - 1
    assert 200 < n < len(kick.reference) - 1
    assert all(len(column) == n for column in kick.steps)
    assert all(len(values) == n + 1 for values in kick.joint_torques.values())
    assert "root" not in kick.joint_torques
    assert kick.steps.residual.max() < 1e-5
    assert kick.metrics()["steps"]["solves_max"] == kick.steps.solves.max()


def test_recorded_forces_explain_the_momentum_including_collisions(kick: PaperFilterResult) -> None:
    assert (kick.steps.hits > 0).any()
    # Error of the first-order integrator: 0.4 of 1060 N·s by gravity. Without impulses of collisions it is 13.
    assert unexplained(kick) < 2.0
    assert all((values[:, 2] > -1e-6).all() for values in kick.motion.forces.values())


def test_the_recording_is_saved_and_loaded(kick: PaperFilterResult, tmp_path) -> None:
    kick.recording.save(tmp_path / "run.npz")
    read = br.Recording.load(tmp_path / "run.npz", kick.recording.model)
    assert np.array_equal(read["man.reaction"], kick.recording["man.reaction"])
    assert set(read["man/left_foot.state"].tolist()) > {0.0}


def test_pushes_act_for_their_time(squat: Reference) -> None:
    """The filter knows pushes while they act, so that a small one hardly shows in the motion, but in the torques."""
    calm = filter_motion(squat, mode="paper", progress=False)
    pushed = filter_motion(squat, mode="paper", pushes=[br.Push("spine2", (40.0, 0.0, 0.0), start=0.5, duration=0.1)], progress=False)
    difference = np.abs(pushed.joint_torques["left_ankle"] - calm.joint_torques["left_ankle"]).max(axis=1)
    on = (squat.times > 0.5 + 1e-9) & (squat.times < 0.6 + 1e-9)  # of the step that led to the frame
    assert (difference[squat.times < 0.5 + 1e-9] == 0).all()
    assert difference[on].min() > 3.0
    assert difference[squat.times > 0.7].max() < 3.0
    assert pushed.success


def test_terrain_and_friction_are_those_given(squat: Reference) -> None:
    result = filter_motion(squat, mode="paper", terrain="slope:5", friction=0.6, progress=False)
    assert result.success
    assert result.motion.contacts.terrain.slope == 5.0
    assert result.motion.contacts.terrain.friction == 0.6


def test_settings_belong_to_their_mode(squat: Reference) -> None:
    with pytest.raises(ArgumentError, match=r"mode='paper' takes brachiate.filter.paper.PaperSettings"):
        filter_motion(squat, mode="paper", settings=br.FilterSettings(), progress=False)
    with pytest.raises(ArgumentError, match="are for mode='paper'"):
        filter_motion(squat, settings=PaperSettings(), progress=False)
    with pytest.raises(UnknownName, match="tail"):
        filter_motion(squat, mode="paper", pushes=[br.Push("tail", (1.0, 0.0, 0.0), start=0.1)], progress=False)
    stiff = filter_motion(squat, mode="paper", settings=PaperSettings(stiffness=900.0, damping=60.0, step=0.01), progress=False)
    assert len(stiff.motion) == len(squat)  # one step per frame, independent of the settings


@pytest.mark.skipif(MODE == "off", reason="many steps")
def test_nearly_contradictory_contacts_of_foot_and_toes_do_not_throw_the_body_up():
    # At 0.27 s foot and toes stick, and their rows nearly contradict each other. With a compliance of 1e-12 forces reach 20 kN.
    walk = make_reference(procedural.sample_motion("walk", speed=1.35, seconds=1.2))
    result = filter_motion(walk, mode="paper", progress=False)
    assert result.success, result.failure
    exact = filter_motion(walk, mode="paper", settings=PaperSettings(contact_compliance=1e-12), progress=False)
    contacts = (each.recording.contacts for each in (result, exact))
    peak = [sum(one[pair].force[100:200, 2] for pair in one.pairs).max() / (9.81 * walk.figure.mass) for one in contacts]
    assert peak[0] < 3.0
    assert peak[1] > 30.0
