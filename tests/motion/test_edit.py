"""Edits of motions: resampling, time warping, placement, joining, looping, mirroring, trimming."""

from __future__ import annotations

import numpy as np
import pytest
from tests.clip.people import stepping

import brachiate as br
from brachiate import rotations
from brachiate.errors import ArgumentError, MotionError
from brachiate.motion import edit
from brachiate.motion.motion import Motion, motion_of
from brachiate.motion.spline import MotionSpline


@pytest.fixture(scope="module")
def motion():
    return Motion.from_clip(stepping(frames=121, rate=120.0))


def walking(figure: br.Model, cycles: float = 1.0) -> Motion:
    """Walk at 1 m/s along a circle: after a cycle of one second the root has a different position and heading."""
    t = np.arange(int(120 * cycles) + 1) / 120
    q = np.tile(figure.neutral, (len(t), 1))
    root = edit.root_coordinates(figure)
    q[:, root] = np.stack((np.sin(t), 1 - np.cos(t), 0.9 + 0 * t, np.cos(t / 2), 0 * t, 0 * t, np.sin(t / 2)), axis=1)
    q[:, figure.joints["left_knee"].q] = (0.3 + 0.3 * np.sin(2 * np.pi * t))[:, None]
    return Motion(figure, t, q, "circle")


def positions(motion: Motion) -> dict[str, np.ndarray]:
    data, found = br.Data(motion.figure), []
    for q in motion.q:
        data.assign(q=q)
        br.kinematics.update_poses(data)
        found.append({name: pose.position for name, pose in br.kinematics.link_poses(data).items()})
    return {name: np.array([poses[name] for poses in found]) for name in found[0]}


def test_resample_round_trip(motion):
    fine = edit.resample(motion, 300.0)
    assert len(fine) == 301
    back = edit.resample(fine, 120.0)
    assert back.q == pytest.approx(motion.q, abs=1e-5)  # the motion has corners at foot contact


def test_time_warp(motion):
    slow = edit.time_warp(motion, (0, 1), (5, 7))
    assert slow.times[0] == 5
    assert slow.times[-1] == pytest.approx(7)
    assert slow.q[-1] == pytest.approx(motion.q[-1], abs=1e-9)
    v = MotionSpline(motion.figure, motion.times, motion.q).at(0.3).v
    assert MotionSpline(slow.figure, slow.times, slow.q).at(5.6).v == pytest.approx(v / 2, abs=1e-3)


def test_move_is_a_rigid_motion(motion):
    there = edit.move(motion, (3, -2), angle=0.7, about=(1, 1))
    before, after = positions(motion), positions(there)
    yaw = rotations.about_axis(2, np.array(0.7))
    for name in before:
        expected = rotations.rotate(yaw, before[name] - (1, 1, 0)) + np.array((4, -1, 0))
        assert after[name] == pytest.approx(expected, abs=1e-12)


def test_place(motion):
    there = edit.place(edit.move(motion, (5, 5), 2.0), (1, 2), 0.5, frame=30)
    root = there.q[30, edit.root_coordinates(motion.figure)]
    assert root[:2] == pytest.approx((1, 2))
    assert edit.heading_angle(root[3:]) == pytest.approx(0.5)


@pytest.mark.parametrize("pitch", [-80.0, 80.0])
@pytest.mark.parametrize("heading", [-2.5, -0.4, 0.0, 1.2, 3.0])
def test_heading_of_a_lying_body_is_that_before_it_lay_down(heading, pitch):
    # Pitching does not change the heading, to prone or to supine.
    turned, lying = rotations.about_axis(2, np.array(heading)), rotations.about_axis(1, np.radians(pitch))
    assert edit.heading_angle(rotations.product(turned, lying)) == pytest.approx(heading)
    assert edit.heading_angle(turned) == pytest.approx(heading)


def test_loop_continues_where_the_cycle_ended():
    figure = br.figures.human28()
    loop, long = edit.loop(walking(figure), 3), walking(figure, cycles=3)
    assert loop.times == pytest.approx(long.times)
    assert loop.q == pytest.approx(long.q, abs=1e-9)  # on the same circle


def test_loop_closes_the_gap_at_the_end_of_a_cycle():
    figure = br.figures.human28()
    one = walking(figure)
    q = one.q.copy()
    q[:, figure.joints["right_knee"].q] = np.linspace(0, 0.1, len(q))[:, None]
    loop = edit.loop(Motion(figure, one.times, q), 2, blend=0.2)
    knee = loop.q[:, figure.joints["right_knee"].q][:, 0]
    assert knee[120] == pytest.approx(0)
    assert knee[:96] == pytest.approx(q[:96, figure.joints["right_knee"].q][:, 0])
    assert np.abs(np.diff(knee)).max() < 1.5 * 0.1 / 24 + 0.1 / 120 + 1e-9


def test_join_without_blending():
    figure = br.figures.human28()
    one = walking(figure)
    both = edit.join([one, one], blend=0.0)
    assert len(both) == 2 * len(one)
    assert both.times == pytest.approx(np.arange(242) / 120)


def test_mirror(motion):
    other = edit.mirror(motion)
    before, after = positions(motion), positions(other)
    for name in before:
        twin = name.replace("left", "#").replace("right", "left").replace("#", "right")
        assert after[twin] == pytest.approx(before[name] * (1, -1, 1), abs=1e-9)
    assert edit.mirror(other).q == pytest.approx(motion.q)


@pytest.mark.parametrize("make", [br.figures.human16, br.figures.human28, br.figures.human40])
def test_built_in_figures_are_symmetric(make):
    model = make()
    motion = Motion(model, np.zeros(1), model.poses["tumble"][None])
    before, after = positions(motion), positions(edit.mirror(motion))
    for name in before:
        twin = name.replace("left", "#").replace("right", "left").replace("#", "right")
        assert after[twin] == pytest.approx(before[name] * (1, -1, 1), abs=1e-9)


def test_invalid_arguments_are_refused(motion):
    figure = br.figures.human28()
    with pytest.raises(MotionError, match=r"blend=2 s is longer than 1 s"):
        edit.join([walking(figure), walking(figure)], blend=2.0)
    with pytest.raises(MotionError, match=r"different figures. Retarget"):
        edit.join([walking(figure), motion])
    with pytest.raises(MotionError, match=r"expected the same number of times, at least two, both increasing"):
        edit.time_warp(motion, (0, 1), (1, 0))
    with pytest.raises(ArgumentError, match=r"rate must be .* at most 100000, got 1e\+09"):
        edit.resample(motion, 1e9)
    with pytest.raises(MotionError, match=r"nothing to join"):
        edit.join([])
    arm = br.figures.arm2()
    b = br.ModelBuilder("one-armed")
    b.link("left_arm", joint=br.Revolute("y"), mass=1.0, inertia=(1, 1, 1))
    one_armed = b.build()
    with pytest.raises(MotionError, match=r"cannot be mirrored: it has a joint 'left_arm', but none named 'right_arm'"):
        edit.mirror(Motion(one_armed, np.zeros(1), one_armed.neutral[None]))
    with pytest.raises(MotionError, match=r"no floating base"):
        edit.move(Motion(arm, np.zeros(1), arm.neutral[None]), (1, 0))
    with pytest.raises(MotionError, match=r"Times must increase from frame to frame; frame 1 does not"):
        Motion(arm, np.zeros(2), np.tile(arm.neutral, (2, 1)))


def test_trim_keeps_the_frames_within_an_interval(motion):
    part = motion.trim(0.25, 0.5)
    assert part.times == pytest.approx(np.arange(30, 61) / 120)
    assert (part.q == motion.q[30:61]).all()
    assert part.clip is not None
    assert len(part.clip) == 31
    assert len(motion.trim()) == len(motion)
    assert motion.trim(end=0.5).times[0] == 0.0
    with pytest.raises(MotionError, match=r"no frame from 2 to 3 s: the motion has 121 frames from 0 to 1 s"):
        motion.trim(2.0, 3.0)
    with pytest.raises(br.BrachiateError, match="start: expected a number"):
        motion.trim("now")


def test_methods_return_the_same_as_the_functions(motion):
    assert (motion.resample(60.0, cutoff=6.0).q == edit.resample(motion, 60.0, 6.0).q).all()
    assert (motion.time_warp((0, 1), (0, 2)).q == edit.time_warp(motion, (0, 1), (0, 2)).q).all()
    assert (motion.move((1, 2), 0.3).q == edit.move(motion, (1, 2), 0.3).q).all()
    assert (motion.place((1, 2), 0.3, frame=5).q == edit.place(motion, (1, 2), 0.3, 5).q).all()
    assert (motion.join(motion, motion, blend=0.1).q == edit.join([motion] * 3, 0.1).q).all()
    assert (motion.loop(2).q == edit.loop(motion, 2).q).all()
    assert (motion.mirror().q == edit.mirror(motion).q).all()
    assert (motion.spline.at(0.5).v == MotionSpline(motion.figure, motion.times, motion.q).at(0.5).v).all()
    assert len(motion.resample(100).trim(0.2, 0.8).mirror()) == 61


def test_deprecated_names_warn_and_work(motion):
    with pytest.warns(DeprecationWarning, match="use resample"):
        resampled = edit.resampled
    assert resampled is edit.resample
    with pytest.warns(DeprecationWarning, match="'turned' of move is deprecated"):
        assert (edit.move(motion, turned=0.3).q == motion.move(angle=0.3).q).all()
    with pytest.warns(DeprecationWarning, match=r"use Motion\.from_clip"):
        assert (motion_of(motion.clip).q == motion.q).all()
    with pytest.raises(AttributeError, match="no attribute 'reversed_'"):
        edit.reversed_  # noqa: B018
