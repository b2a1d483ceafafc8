"""The clean-up of a reference: laws of what comes out, defects that are repaired, doors."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import brachiate as br
from brachiate import procedural, rotations
from brachiate.anatomy.feet import feet_of
from brachiate.anatomy.landmarks import landmarks_of
from brachiate.errors import ArgumentError, MotionError, UnknownName
from brachiate.filter.offline import filter_motion
from brachiate.filter.reference.posture_ik import knees_of
from brachiate.filter.reference.preprocess import clean
from brachiate.filter.reference.reference import Reference
from brachiate.kinematics_batch import Many
from brachiate.motion.motion import Motion, motion_of


@pytest.fixture(scope="module")
def walking() -> Motion:
    return motion_of(procedural.make("walk", speed=1.2, step=0.65, seconds=2.6))


@pytest.fixture(scope="module")
def walked(walking: Motion) -> Reference:
    return clean(walking)


@pytest.fixture(scope="module")
def jumped() -> Reference:
    return clean(motion_of(procedural.make("jump")))


def corners(reference: Reference, stance) -> np.ndarray:
    """Where corners of a stance are in its frames: (frames, k, 3)."""
    place = reference.figure.placements[stance.link]
    poses = Many(reference.figure).poses(reference.q[stance.start : stance.end])
    at = place.position + stance.corners @ place.rotation.T
    return poses.x[place.body][:, None] + at @ poses.R[place.body].transpose(0, 2, 1)


def apart(reference: Reference) -> float:
    """How far what bears is from where it stays, at most [m]."""
    away = [np.linalg.norm(corners(reference, stance) - stance.places, axis=2)[stance.bears] for stance in reference.stances]
    return float(np.concatenate(away).max())


def lowest(reference: Reference) -> float:
    """Height of the lowest point of any sole at any time [m]."""
    poses = Many(reference.figure).poses(reference.q)
    found = []
    for foot in feet_of(landmarks_of(reference.figure)):
        parts = [(foot.body, foot.sole.hull)] + ([(foot.toes.body, foot.toes.corners)] if foot.toes is not None else [])
        found += [float((poses.x[body][:, None] + at @ poses.R[body].transpose(0, 2, 1))[..., 2].min()) for body, at in parts]
    return min(found)


def with_root(motion: Motion, **changes) -> Motion:
    """A motion whose root is moved: x, y or z by so much [m], in every frame or in each."""
    q = motion.q.copy()
    for name, by in changes.items():
        q[:, "xyz".index(name)] += by
    return replace(motion, q=q, clip=None, links={})


# --- laws -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("which", ["walked", "jumped"])
def test_what_bears_stays_and_nothing_sinks(which, request):
    reference = request.getfixturevalue(which)
    assert apart(reference) < 1e-3
    assert lowest(reference) > -1e-3
    for stance in reference.stances:
        assert stance.bears.any(axis=1).all()
        assert np.abs(stance.places[:, 2]).max() < 1e-9
        assert np.allclose(stance.rotation @ stance.rotation.T, np.eye(3))


def test_velocities_and_accelerations_are_those_of_the_curve(walked):
    data = br.Data(walked.figure)
    k, dt = np.arange(200, 400, 20), walked.dt
    for i in k:  # Simpson's rule: the velocities between two configurations lead from one to the other
        v = br.manifold.subtracted(data, walked.q[i + 1], walked.q[i - 1]) / (2 * dt)
        assert np.abs(v - (walked.v[i - 1] + 4 * walked.v[i] + walked.v[i + 1]) / 6).max() < 2e-4 * (1 + np.abs(walked.v[i]).max())
        a = (walked.v[i + 1] - walked.v[i - 1]) / (2 * dt)
        assert np.abs(a - (walked.a[i - 1] + 4 * walked.a[i] + walked.a[i + 1]) / 6).max() < 2e-3 * np.abs(walked.a).max()


def test_walking_always_stands_and_jumping_flies(walked, jumped):
    assert walked.flights() == []
    (flight,) = jumped.flights()
    assert 0.3 < flight[1] - flight[0] < 0.7
    assert jumped.on["left_foot"][0]
    assert not jumped.on["left_foot"][round(0.5 * sum(flight) / jumped.dt)]


def test_knees_are_never_straight(walked, jumped):
    for reference in (walked, jumped):
        for knee in knees_of(landmarks_of(reference.figure), reference.q):
            assert (knee.sign * (reference.q[:, knee.place] - knee.straight)).min() > 0.03


def test_feet_in_the_air_are_clear_of_the_ground(walked):
    poses = Many(walked.figure).poses(walked.q)
    for foot in feet_of(landmarks_of(walked.figure)):
        on = walked.on[foot.link] | walked.on[foot.toes.link]
        wide = np.convolve(on, np.ones(2 * round(0.05 / walked.dt) + 1), "same") > 0
        heights = (poses.x[foot.body][:, None] + foot.sole.hull @ poses.R[foot.body].transpose(0, 2, 1))[..., 2].min(axis=1)
        assert heights[~wide].min() > 0.008


def test_a_foot_rolls_from_the_heel_to_the_toes(walked):
    stance = next(stance for stance in walked.stances if stance.link == "left_foot" and stance.start > 0)
    assert stance.bears[0].tolist() == [True, True, False, False]
    assert stance.bears[-1].all()
    toes = next(s for s in walked.stances if s.link == "left_toes" and s.start >= stance.start)
    assert stance.start < toes.start < stance.end < toes.end


def test_little_is_moved_and_said(walked):
    assert walked.moved.mean < 2.0
    assert walked.moved.link in walked.figure.links
    assert {"floor", "smoothing"} <= {guess.what for guess in walked.guesses}
    assert "cm on the average" in str(walked.moved)


def test_what_is_clean_stays_as_it_is():
    reference = clean(motion_of(procedural.make("squat", seconds=2.0)), smooth=0.0)
    assert reference.moved.max < 0.1
    assert all(stance.bears.all() for stance in reference.stances)


def test_a_reference_cleaned_again_is_the_same(walked):
    again = clean(walked.motion, smooth=0.0)
    assert again.moved.mean < 0.5  # [cm] what rolls a little is taken for flat once more
    assert apart(again) < 1e-3


def test_the_check_agrees(walked):
    report = br.check(walked.motion)
    assert report.summary["skate_mean_m_s"] < 0.005
    assert report.summary["penetration_max_mm"] < 1.0


# --- defects --------------------------------------------------------------------------------------


def test_a_floor_that_is_off_is_found(walking, walked):
    reference = clean(with_root(walking, z=0.07))
    assert reference.ground.height == 0.0
    assert apart(reference) < 1e-3
    assert np.abs(reference.q[:, :3] - walked.q[:, :3]).max() < 0.01
    assert np.abs(reference.original.q[:, 2] - walked.original.q[:, 2]).max() < 0.01


def test_a_skating_walk_stands(walking):
    t = walking.times
    reference = clean(with_root(walking, x=0.03 * np.sin(6.0 * t), y=0.02 * np.sin(5.0 * t)), ground="flat")
    assert apart(reference) < 1e-3
    assert reference.flights() == []


def test_a_tilted_foot_lies_flat():
    motion = motion_of(procedural.make("squat", seconds=2.0))
    q = motion.q.copy()
    place = motion.figure.joints["left_ankle"].q
    q[:, place] = rotations.product(q[:, place], rotations.from_vector(np.array((0.1, 0.0, 0.0))))
    reference = clean(replace(motion, q=q, clip=None, links={}))
    assert apart(reference) < 1e-3
    assert next(stance for stance in reference.stances if stance.link == "left_foot").bears.all()


def test_legs_that_cannot_reach_bring_the_pelvis_down():
    motion = motion_of(procedural.make("squat", seconds=2.0))
    labels = br.Labels(tuple(br.Label(part, 0.0, 2.0) for part in ("left_heel", "left_toe", "right_heel", "right_toe")), br.Ground(-0.05))
    reference = clean(motion, contacts=labels)
    assert apart(reference) < 1e-3
    assert reference.ground.height == -0.05
    lower = reference.original.q[:, 2] - reference.q[:, 2]
    assert 0.02 < lower[0] < 0.06  # legs that are straight already
    assert lower.min() > -0.01


def test_a_slope_and_a_treadmill(walking):
    belt = clean(with_root(walking, x=-1.2 * walking.times))
    assert belt.ground.belt == (0.0, 0.0)
    assert any(guess.what == "treadmill" for guess in belt.guesses)
    assert belt.original.q[-1, 0] > 2.0
    assert apart(belt) < 1e-3


def test_hands_that_hold_stay():
    reference = clean(motion_of(procedural.make("hang", seconds=2.0)))
    assert {stance.link for stance in reference.stances if stance.how == "holds"} == {"left_hand", "right_hand"}
    assert apart(reference) < 1e-3


def test_other_figures(walking):
    for figure in (br.figures.human28(), br.figures.human16()):
        reference = clean(br.retarget(walking.frames(slice(0, 150)), figure, progress=False))
        assert apart(reference) < 2e-3, figure.name


# --- options --------------------------------------------------------------------------------------


def test_a_hold_ends_at_rest(walking, walked):
    reference = clean(walking, hold=0.4)
    assert reference.times[-1] - walked.times[-1] == pytest.approx(0.65, abs=0.01)
    last = slice(-round(0.2 / reference.dt), None)
    assert np.abs(reference.v[last]).max() < 0.05
    assert apart(reference) < 1e-3


def test_what_comes_down_as_a_hold_begins_stands(walking):
    # The walk ends with a foot just above the ground: held there, the body would have one foot to stand on, and fall.
    reference = clean(walking.frames(slice(0, 252)), hold=0.6)
    assert {stance.link for stance in reference.stances if stance.end == len(reference)} >= {"left_foot", "right_foot"}


def test_every_stance_has_its_own_tilt(walking):
    # Fails if one tilt is taken off all stances: half of them would then be on their heels throughout.
    q, place = walking.q.copy(), walking.figure.joints["left_ankle"].q
    tilt = 0.05 * np.tanh(8.0 * (walking.times - walking.times.mean()))
    q[:, place] = rotations.product(q[:, place], rotations.from_vector(tilt[:, None] * np.array((0.0, 1.0, 0.0))))
    reference = clean(replace(walking, q=q, clip=None, links={}))
    stances = [s for s in reference.stances if s.link == "left_foot" and (s.end - s.start) * reference.dt > 0.3]
    assert len(stances) >= 2
    for stance in stances:
        assert stance.bears.all(axis=1).mean() > 0.2


@pytest.mark.parametrize(("tilt", "flat"), [(-0.17, True), (-0.35, False)])
def test_nobody_stands_still_on_his_heels(tilt, flat):
    # Later stances of the left foot have their toes raised: by more than the foot usually has, or by more than ankles are recorded off.
    walking = motion_of(procedural.make("walk", seconds=4.0))
    q, place = walking.q.copy(), walking.figure.joints["left_ankle"].q
    more = 0.5 * tilt * (1.0 + np.tanh(12.0 * (walking.times - 2.6)))
    q[:, place] = rotations.product(q[:, place], rotations.from_vector(more[:, None] * np.array((0.0, 1.0, 0.0))))
    reference = clean(replace(walking, q=q, clip=None, links={}))
    stances = [s for s in reference.stances if s.link == "left_foot" and (s.end - s.start) * reference.dt > 0.2]
    assert (stances[-1].bears.all(axis=1).mean() > 0.2) == flat


def test_another_style_is_another_reference(walking, walked):
    light = clean(walking, style="light")
    assert apart(light) < 1e-3
    assert 1e-3 < np.abs(light.q - walked.q).max() < 0.5


def test_frames_as_often_as_wanted(walking):
    reference = clean(walking, dt=0.005)
    assert reference.dt == pytest.approx(0.005)
    assert apart(reference) < 1e-3


# --- doors ----------------------------------------------------------------------------------------


def test_frames_without_numbers_are_named(walking):
    q = walking.q.copy()
    q[7, walking.figure.joints["left_knee"].q] = np.nan
    with pytest.raises(ArgumentError, match=r"joint 'left_knee' is nan in frame 7"):
        replace(walking, q=q)


def test_unknown_parts_are_refused(walking):
    labels = br.Labels((br.Label("left_fin", 0.0, 1.0),), br.Ground(0.0))
    with pytest.raises(UnknownName, match=r"'left_fin' is not a part of figure"):
        clean(walking, contacts=labels)
    with pytest.raises(ArgumentError, match="contacts: expected Labels"):
        clean(walking, contacts={"left_foot": [True]})  # type: ignore[arg-type]


def test_what_makes_no_sense_is_refused(walking):
    with pytest.raises(MotionError, match=r"has 3 frames over"):
        clean(walking.frames(slice(0, 3)))
    with pytest.raises(ArgumentError, match="style: 'heavy' is not one of: default, light"):
        clean(walking, style="heavy")
    with pytest.raises(ArgumentError, match="expected a Motion"):
        clean("walk.bvh")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="dt must be"):
        clean(walking, dt=0.0)
    with pytest.raises(ArgumentError, match="not both"):
        clean(walking, ground="flat", contacts=br.Labels((), br.Ground(0.0)))


def test_a_figure_without_feet_is_refused():
    chain, worm = br.figures.chain(3), br.figures.inchworm()
    for figure, what in ((chain, "has no free root"), (worm, "no two legs")):
        with pytest.raises(MotionError, match=what):
            clean(Motion(figure, np.arange(50) / 60, np.tile(figure.neutral, (50, 1))))


def test_what_never_touches_is_refused(walking):
    t = walking.times - walking.times[0]
    with pytest.raises(MotionError, match=r"Nothing of .* ever touches"):
        clean(with_root(walking, z=30.0 * t + 3.0 * np.sin(40.0 * t)))


def test_on_another_ground_it_is_cleaned_as_it_was(walking):
    # Fails if what was said of style and smoothing is forgotten there.
    done = filter_motion(clean(walking, style="light", smooth=0.03), ground="slope:2", strength=np.inf, progress=False)
    assert done.reference.made == {"smooth": 0.03, "style": "light", "roles": None}
