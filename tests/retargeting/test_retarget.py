"""Retargeting: a motion of one figure as a motion of another."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from tests.anatomy.test_landmarks import robot
from tests.clip.people import stepping
from tests.retargeting.bipeds import biped

import brachiate as br
from brachiate import rotations
from brachiate.anatomy.landmarks import landmarks_of
from brachiate.errors import ArgumentError, MotionError
from brachiate.figures.poses import limb
from brachiate.intervals import runs
from brachiate.kinematics import beyond_limits
from brachiate.kinematics_batch import Many
from brachiate.model.model import Model
from brachiate.motion.edit import mirrored
from brachiate.motion.motion import Motion, motion_of
from brachiate.retargeting.ik_targets import STANCE, Transfer
from brachiate.retargeting.retarget import Retargeted, retarget, retargeted
from brachiate.retargeting.trajectory_ik import Fit

RATE = 30.0
G1 = "g1_description/urdf/g1_29dof_rev_1_0.urdf"


@cache
def steps() -> Motion:
    """Someone who walks on the spot, with the body that goes with it."""
    return motion_of(stepping(frames=60, rate=RATE))


@cache
def human() -> Model:
    return br.figures.human28()


@cache
def stepped() -> Retargeted:
    """The same done by a built-in human."""
    return retargeted(steps(), human(), progress=False)


@cache
def robot_stepped() -> Retargeted:
    return retargeted(steps(), biped("unitree"), progress=False)


def waving(model: Model, frames: int = 40) -> Motion:
    """A smooth motion in the air, every joint as fast as others."""
    t = np.arange(frames) / RATE
    q = np.tile(model.neutral, (frames, 1))
    for k, (name, place) in enumerate(model.joints.items()):
        wave = 0.3 * np.sin(2 * np.pi * t[:, None] * (0.7 + 0.05 * k) + np.arange(3) + k)
        if name == "root":
            q[:, :3] += np.stack((t, 0 * t, 0.4 + 0 * t), axis=1)
            q[:, 3:7] = rotations.from_vector(wave)
        elif place.q.stop - place.q.start == 4:
            q[:, place.q] = rotations.from_vector(wave)
        else:
            q[:, place.q] = 0.5 + wave[:, :1]
    return Motion(model, t, q)


def apart(one: Motion, other: Motion) -> float:
    """The largest distance between landmarks of two motions of one figure [m]."""
    marks, many = landmarks_of(one.figure), Many(one.figure)
    a, b = many.poses(one.q), many.poses(other.q)
    return max(float(np.linalg.norm(a.point(*point) - b.point(*point), axis=1).max()) for point in marks.points.values())


def outside(motion: Motion) -> dict[str, float]:
    data, found = br.Data(motion.figure), {}
    for q in motion.q:
        data.assign(q=q)
        found |= beyond_limits(data)
    return found


# --- kinematics of many frames ----------------------------------------------------------------


@pytest.mark.parametrize("make", [human, lambda: biped("unitree")])
def test_poses_of_many_frames_are_those_of_one(make):
    model = make()
    many, data = Many(model), br.Data(model)
    rng = np.random.default_rng(3)
    q = many.moved(np.tile(model.neutral, (4, 1)), 0.7 * rng.normal(size=(4, model.nv)))
    poses = many.poses(q)
    for k in range(4):
        data.assign(q=q[k])
        for name, pose in br.kinematics.link_poses(data).items():
            place = model.placements[name]
            assert np.allclose(poses.point(place.body, place.position)[k], pose.position, atol=1e-12)
            assert np.allclose(poses.R[place.body, k] @ place.rotation, pose.rotation, atol=1e-12)
    assert np.allclose(many.moved(q, many.between(q, q[::-1])), q[::-1], atol=1e-12) or np.allclose(
        np.abs(many.moved(q, many.between(q, q[::-1]))), np.abs(q[::-1]), atol=1e-12
    )


@pytest.mark.parametrize("make", [human, lambda: biped("unitree")])
def test_gradients_by_finite_differences(make):
    """Of everything that is wanted, cones included: the joints are far outside of them here."""
    model, motion = make(), steps().frames(slice(0, 12))
    transfer = Transfer(motion, landmarks_of(motion.figure), landmarks_of(model), None, None, None)
    fit = Fit(model, transfer.goals(), motion.times, transfer.target.stand)
    rng = np.random.default_rng(1)
    q = fit.moved(transfer.start(), 0.6 * rng.normal(size=(len(motion), len(fit.freedoms))))
    g = fit.normal(q).g
    for k, freedom in enumerate(fit.freedoms):
        step = np.zeros((len(motion), model.nv))
        step[:, freedom] = 1e-6
        slope = (fit.normal(fit.many.moved(q, step)).cost - fit.normal(fit.many.moved(q, -step)).cost) / 4e-6
        assert np.allclose(slope, g[:, k], atol=1e-4 * (1 + np.abs(slope).max())), model.coordinates[freedom]


# --- laws -------------------------------------------------------------------------------------


def test_to_itself_nothing_changes():
    """Goals can all be met, so accelerations, limits and posture must not move anything by as much as a micrometre."""
    for motion in (waving(human()), waving(br.figures.human40(), 20)):
        assert apart(motion, retarget(motion, motion.figure, contacts={}, ground=0.0, progress=False)) < 1e-6


def test_to_itself_with_fingers_toes_and_collar_bones():
    motion = steps()
    lifted = Motion(motion.figure, motion.times, motion.q + np.array((0, 0, 0.2) + (0,) * (motion.figure.nq - 3)))
    assert apart(lifted, retarget(lifted, motion.figure, contacts={}, ground=0.0, progress=False)) < 1e-6


def test_limits_hold_exactly():
    for done in (stepped(), robot_stepped()):
        assert outside(done.motion) == {}
    stiff = retarget(waving(human()), biped("unitree"), progress=False)  # arms and ankles go much farther than this robot's
    assert outside(stiff) == {}


@pytest.mark.parametrize("done", [stepped, robot_stepped])
def test_feet_stand_still_on_the_ground(done):
    """What holds a foot is STANCE² to the few units of the pose: a conflict of 5 cm moves it by 5 cm / STANCE² times some ten at most."""
    result = done()
    marks = landmarks_of(result.motion.figure)
    poses = Many(result.motion.figure).poses(result.motion.q)
    most = 0.05 * 10 / STANCE**2 * 25  # [m]
    stood = 0
    for side, sole in marks.soles.items():
        body = marks.bodies[f"{side}_foot"]
        corners = poses.x[body][:, None] + sole.corners @ poses.R[body].transpose(0, 2, 1)
        lowest = (poses.x[body][:, None] + sole.hull @ poses.R[body].transpose(0, 2, 1))[..., 2].min(axis=1)
        flat = result.contacts[f"{side}_heel"] & result.contacts[f"{side}_toe"]
        for a, b in runs(flat):
            stood += b - a
            assert np.ptp(corners[a:b, :, :2], axis=0).max() < most
            assert np.abs(lowest[a:b]).max() < most
            assert np.abs(corners[a:b, :, 2]).max() < most
        assert lowest.min() > -most  # nor does it sink while it swings
    assert stood > 30
    assert result.skate < 0.005
    assert result.penetration < 1000 * most


def test_smooth_in_smooth_out():
    assert stepped().jerk < 1.5
    assert robot_stepped().jerk < 1.5
    speeds = np.abs(np.diff(robot_stepped().motion.q[:, 7:], axis=0)).max() * RATE
    assert speeds < 12  # [rad/s]: no joint jumps from one solution to another


def test_it_does_not_matter_where_it_starts():
    """Away from the cut, and from the stance that it cuts, frames come out the same."""
    k, later = 20, 35
    transfer = Transfer(steps(), landmarks_of(steps().figure), landmarks_of(human()), None, None, None)
    contacts = {role: label[k:] for role, label in stepped().contacts.items()}
    rest = retarget(steps().frames(slice(k, None)), human(), contacts=contacts, ground=transfer.ground, progress=False)
    assert apart(stepped().motion.frames(slice(later, None)), rest.frames(slice(later - k, None))) < 1e-3


def test_pieces_of_a_long_motion_fit_together(monkeypatch):
    """Solved in two pieces that overlap, it is the same as solved at once."""
    monkeypatch.setattr("brachiate.retargeting.retarget.PIECE", 30)
    monkeypatch.setattr("brachiate.retargeting.retarget.OVERLAP", 0.5)
    assert apart(stepped().motion, retarget(steps(), human(), progress=False)) < 5e-4


def test_the_mirror_image_of_a_motion():
    small = br.figures.human28(height=1.5, mass=45.0)
    motion = stepped().motion.frames(slice(0, 25))
    one, other = (retarget(side, small, progress=False) for side in (motion, mirrored(motion)))
    assert apart(mirrored(one), other) < 1e-9


def test_poses_are_kept_and_paths_are_scaled():
    done = robot_stepped()
    legs = {"biped": 0.33 + 0.34 + 0.08}
    assert done.scale == pytest.approx(legs["biped"] / 0.93, abs=0.02)
    assert max(error for role, error in done.errors.items() if role.endswith(("elbow", "wrist"))) < 1.0  # [cm]
    assert max(done.errors.values()) < 4.0


def test_a_figure_without_ankles_arms_or_waist():
    done = retargeted(steps(), br.figures.human16(), progress=False)
    assert done.skate < 0.01
    assert {"waist", "neck"} <= {guess.what for guess in done.motion.guesses}
    legs = retargeted(steps(), biped("numbers"), progress=False)
    assert {"legs", "arms"} <= {guess.what for guess in legs.motion.guesses}
    assert legs.skate < 0.005


def test_back_from_a_robot():
    """What a robot does, a human does; there and back the arms are where they were."""
    back = retargeted(robot_stepped().motion.frames(slice(0, 25)), human(), progress=False)
    assert max(error for role, error in back.errors.items() if role.endswith(("elbow", "wrist"))) < 1.0


# --- contacts ---------------------------------------------------------------------------------


def test_labels_of_hands_hold_them():
    """A palm that is said to touch comes to the ground, and stays in one place."""
    t = np.arange(30) / RATE
    man = human()
    pose = {"right_knee": 1.9, "left_knee": 1.9}
    for side in ("left", "right"):
        pose |= {f"{side}_hip": limb(side, forward=100), f"{side}_shoulder": limb(side, forward=95)}
    q = np.tile(man.configuration(pose), (30, 1))
    q[:, 2] -= 0.3
    q[:, 3:7] = rotations.about(1, np.full(30, 1.3))  # on hands and feet
    q[:, 0] += 0.02 * np.sin(6 * t)
    on = np.zeros(30, bool)
    on[8:22] = True
    done = retargeted(Motion(man, t, q), man, contacts={"left_hand": on, "right_hand": on}, ground=0.0, progress=False)
    poses = Many(man).poses(done.motion.q)
    for side in ("left", "right"):
        palm = poses.point(*landmarks_of(man).points[f"{side}_hand"])[on]
        assert np.ptp(palm[:, :2], axis=0).max() < 2e-3
        assert np.abs(palm[:, 2]).max() < 0.08


def test_what_is_assumed_is_told():
    told = {guess.what: guess for guess in robot_stepped().motion.guesses}
    assert "left_knee left_knee_link" in told["landmarks of biped"].value
    assert told["on the ground"].flag == "contacts"
    assert float(told["scale of the path"].value) == pytest.approx(robot_stepped().scale, abs=1e-3)
    assert "head" in told["not in the target"].value
    seat = retarget(steps().frames(slice(0, 5)), human(), contacts={"seat": np.ones(5, bool)}, progress=False)
    assert any(guess.what == "contacts left out" for guess in seat.guesses)


def test_who_hangs_is_not_put_on_the_ground():
    done = retarget(waving(human(), 20), br.figures.human28(height=1.6), contacts={}, progress=False)
    told = {guess.what: guess.value for guess in done.guesses}
    assert told["ground of the source"] == "0 m"


def test_one_frame_is_a_motion_too():
    done = retarget(steps().frames(slice(0, 1)), human(), progress=False)
    assert len(done) == 1
    assert outside(done) == {}


# --- doors ------------------------------------------------------------------------------------


def test_doors():
    with pytest.raises(MotionError, match=r"no two legs.*left_foot"):
        retarget(steps(), br.figures.box())
    with pytest.raises(ArgumentError, match="expected a model"):
        retarget(steps(), "human28")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match=r"left_foot.*60"):
        retarget(steps(), human(), contacts={"left_foot": np.ones(3, bool)})
    with pytest.raises(ArgumentError, match="scale"):
        retarget(steps(), human(), scale=-1.0)


# --- robots -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [G1, "talos_data/robots/talos_reduced.urdf"])
def test_robots(name):
    done = retargeted(steps().frames(slice(0, 40)), robot(name), progress=False)
    assert outside(done.motion) == {}
    assert done.skate < 0.005
    assert done.penetration < 2.0
    assert done.floating < 3.0
    assert done.jerk < 2.0


@cache
def hanging() -> Motion:
    return motion_of(br.procedural.make("hang", seconds=2.0, rate=RATE))


@pytest.mark.parametrize("make", [human, lambda: robot(G1)], ids=["human28", "g1"])
def test_hands_stay_on_the_bar_they_hold(make):
    # Nobody says that there is a bar: nothing else could carry who hangs.
    done = retargeted(hanging(), make(), progress=False)
    assert done.contacts["left_grip"].all()
    assert done.contacts["right_grip"].all()
    (told,) = (guess for guess in done.motion.guesses if guess.what == "beside the ground")
    assert told.value == "left_hand 100%, right_hand 100%"
    assert done.grip < 2.0
    hands = landmarks_of(done.motion.figure)
    poses = Many(done.motion.figure).poses(done.motion.q)
    for side in ("left", "right"):
        assert np.ptp(poses.point(*hands.points[f"{side}_hand"]), axis=0).max() < 3e-3
    # The shoulders of human28 are at the end of their twist there. (Frames by themselves: 300 times for G1.)
    assert done.jerk < (3.0 if done.motion.figure.name.startswith("g1") else 15.0)


def test_who_stands_holds_nothing():
    assert not stepped().contacts["left_grip"].any()
    assert "beside the ground" not in {guess.what for guess in stepped().motion.guesses}


def test_labels_that_say_so_hold_hands():
    motion = hanging()
    labels = br.check(motion).labels
    assert {label.how for label in labels.contacts} == {"holds"}
    assert retargeted(motion, human(), contacts=labels, progress=False).grip < 2.0
    letting_go = replace(labels, contacts=tuple(replace(label, end=1.0) for label in labels.contacts))
    done = retargeted(motion, human(), contacts=letting_go, progress=False)
    assert (done.contacts["left_grip"] == (motion.times <= 1.0)).all()
    assert done.grip < 2.0
