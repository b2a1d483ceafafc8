"""Whole clips through the paper's filter: what is recorded is what happened, it tells how it went, and it refuses what is not its own."""

from __future__ import annotations

import numpy as np
import pytest

import brachiate as br
from brachiate import procedural
from brachiate.compiled import MODE
from brachiate.errors import ArgumentError, UnknownName
from brachiate.filter.offline import filter_motion
from brachiate.filter.paper import Settings
from brachiate.filter.paper.run_clip import PaperFiltered
from brachiate.filter.reference.preprocess import clean
from brachiate.filter.reference.reference import Reference
from brachiate.motion.motion import motion_of


@pytest.fixture(scope="module")
def squat() -> Reference:
    return clean(motion_of(procedural.make("squat", seconds=2.4)))


@pytest.fixture(scope="module")
def kick() -> PaperFiltered:
    done = filter_motion(motion_of(procedural.make("kick")), mode="paper", progress=False)
    assert isinstance(done, PaperFiltered)
    return done


def unexplained(done: PaperFiltered) -> float:
    """Change of momentum that neither recorded forces nor gravity explain, at most [N·s]."""
    run, dt = done.run, done.reference.dt
    weight = done.motion.figure.mass * run.gravity
    force = sum(values[:, :3] for values in done.motion.forces.values())
    explained = np.cumsum(dt * (force[1:] + weight), axis=0)
    return float(np.abs(run["momentum"][1:] - run["momentum"][0] - explained).max())


def test_what_a_body_can_do_is_done(squat: Reference) -> None:
    done = filter_motion(squat, mode="paper", progress=False)
    assert done.finished
    assert done.tracking["mpjpe_global_cm"] < 0.5
    assert done.check().summary["residual_peak_N"] < 10.0
    assert {label.part for label in done.motion.contacts.contacts} >= {"left_heel", "right_heel"}
    assert sum(values[50, 2] for values in done.motion.forces.values()) == pytest.approx(done.motion.figure.mass * 9.81, rel=0.2)
    assert unexplained(done) < 0.1  # of 1600 N·s that gravity brings; the integrator is of first order


def test_a_fall_ends_it_and_all_before_it_is_kept(kick: PaperFiltered) -> None:
    assert kick.blame is not None
    assert kick.blame.time == pytest.approx(kick.motion.times[-1])
    n = len(kick.motion) - 1
    assert 200 < n < len(kick.reference) - 1
    assert all(len(column) == n for column in kick.steps)
    assert all(len(values) == n + 1 for values in kick.torques.values())
    assert "root" not in kick.torques
    assert kick.steps.residual.max() < 1e-5
    assert kick.metrics()["steps"]["solves_max"] == kick.steps.solves.max()


def test_forces_that_are_recorded_carry_the_body_through_collisions_too(kick: PaperFiltered) -> None:
    assert (kick.steps.hits > 0).any()
    # The integrator's error, of first order: 0.4 of the 1060 N·s that gravity brings. Without impulses of collisions it is 13.
    assert unexplained(kick) < 2.0
    assert all((values[:, 2] > -1e-6).all() for values in kick.motion.forces.values())


def test_its_recording_is_a_file_like_others(kick: PaperFiltered, tmp_path) -> None:
    kick.run.save(tmp_path / "run.npz")
    read = br.Recording.load(tmp_path / "run.npz", kick.run.model)
    assert np.array_equal(read["man.reaction"], kick.run["man.reaction"])
    assert set(read["man/left_foot.state"].tolist()) > {0.0}


def test_pushes_act_for_their_time(squat: Reference) -> None:
    """The filter knows them while they act, so little is seen of a gentle one: but torques tell."""
    calm = filter_motion(squat, mode="paper", progress=False)
    pushed = filter_motion(squat, mode="paper", pushes=[br.Shove("spine2", (40.0, 0.0, 0.0), at=0.5, lasting=0.1)], progress=False)
    off = np.abs(pushed.torques["left_ankle"] - calm.torques["left_ankle"]).max(axis=1)
    on = (squat.times > 0.5 + 1e-9) & (squat.times < 0.6 + 1e-9)  # of the step that led to the frame
    assert (off[squat.times < 0.5 + 1e-9] == 0).all()
    assert off[on].min() > 3.0
    assert off[squat.times > 0.7].max() < 3.0
    assert pushed.finished


def test_gravity_and_ground_are_those_of_the_reference(squat: Reference) -> None:
    done = filter_motion(squat, mode="paper", ground="slope:5", friction=0.6, progress=False)
    assert done.finished
    assert done.motion.contacts.ground.slope == 5.0
    assert done.motion.contacts.ground.friction == 0.6


def test_settings_go_with_their_mode(squat: Reference) -> None:
    with pytest.raises(ArgumentError, match=r"mode='paper' takes brachiate.filter.paper.Settings"):
        filter_motion(squat, mode="paper", settings=br.FilterSettings(), progress=False)
    with pytest.raises(ArgumentError, match="are for mode='paper'"):
        filter_motion(squat, settings=Settings(), progress=False)
    with pytest.raises(UnknownName, match="tail"):
        filter_motion(squat, mode="paper", pushes=[br.Shove("tail", (1.0, 0.0, 0.0), at=0.1)], progress=False)
    stiff = filter_motion(squat, mode="paper", settings=Settings(stiffness=900.0, damping=60.0, step=0.01), progress=False)
    assert len(stiff.motion) == len(squat)  # one step a frame, whatever the settings say


@pytest.mark.skipif(MODE == "off", reason="many steps")
def test_a_foot_that_comes_back_to_the_ground_beside_its_toes_does_not_throw_the_body_up():
    # At 0.27 s foot and toes stick, and their rows nearly contradict each other. Fails if these give by 1e-12 only: 20 kN, and it flies.
    walk = clean(motion_of(procedural.make("walk", speed=1.35, seconds=1.2)))
    done = filter_motion(walk, mode="paper", progress=False)
    assert done.finished, done.blame
    exact = filter_motion(walk, mode="paper", settings=Settings(give=1e-12), progress=False)
    contacts = (each.run.contacts for each in (done, exact))
    most = [sum(one[pair].force[100:200, 2] for pair in one.pairs).max() / (9.81 * walk.figure.mass) for one in contacts]
    assert most[0] < 3.0
    assert most[1] > 30.0
