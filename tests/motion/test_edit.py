"""Other frames, other places, another order, the other side."""

from __future__ import annotations

import numpy as np
import pytest
from tests.clip.people import stepping

import brachiate as br
from brachiate import rotations
from brachiate.errors import MotionError
from brachiate.motion import edit
from brachiate.motion.motion import Motion, motion_of
from brachiate.motion.spline import Course


@pytest.fixture(scope="module")
def motion():
    return motion_of(stepping(frames=121, rate=120.0))


def walking(figure: br.Model, cycles: float = 1.0) -> Motion:
    """Someone who goes 1 m/s along a circle: after a cycle of a second the root is elsewhere and looks elsewhere."""
    t = np.arange(int(120 * cycles) + 1) / 120
    q = np.tile(figure.neutral, (len(t), 1))
    root = edit.root_of(figure)
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


def test_there_and_back_to_another_rate(motion):
    fine = edit.resampled(motion, 300.0)
    assert len(fine) == 301
    back = edit.resampled(fine, 120.0)
    assert back.q == pytest.approx(motion.q, abs=1e-5)  # the motion has corners, where legs are put down


def test_another_pace(motion):
    slow = edit.warped(motion, (0, 1), (5, 7))
    assert slow.times[0] == 5
    assert slow.times[-1] == pytest.approx(7)
    assert slow.q[-1] == pytest.approx(motion.q[-1], abs=1e-9)
    v = Course(motion.figure, motion.times, motion.q).at(0.3).v
    assert Course(slow.figure, slow.times, slow.q).at(5.6).v == pytest.approx(v / 2, abs=1e-3)


def test_elsewhere_nothing_changes_but_the_place(motion):
    there = edit.moved(motion, (3, -2), turned=0.7, about=(1, 1))
    before, after = positions(motion), positions(there)
    spin = rotations.about(2, np.array(0.7))
    for name in before:
        expected = rotations.turned(spin, before[name] - (1, 1, 0)) + np.array((4, -1, 0))
        assert after[name] == pytest.approx(expected, abs=1e-12)


def test_aligned(motion):
    there = edit.aligned(edit.moved(motion, (5, 5), 2.0), (1, 2), 0.5, frame=30)
    root = there.q[30, edit.root_of(motion.figure)]
    assert root[:2] == pytest.approx((1, 2))
    assert edit.heading(root[3:]) == pytest.approx(0.5)


def test_cycles_go_on_where_the_one_before_ended():
    figure = br.figures.human28()
    loop, long = edit.looped(walking(figure), 3), walking(figure, cycles=3)
    assert loop.times == pytest.approx(long.times)
    assert loop.q == pytest.approx(long.q, abs=1e-9)  # on the same circle all the way


def test_what_is_missing_at_the_end_of_a_cycle_is_made_up_for():
    figure = br.figures.human28()
    one = walking(figure)
    q = one.q.copy()
    q[:, figure.joints["right_knee"].q] = np.linspace(0, 0.1, len(q))[:, None]
    loop = edit.looped(Motion(figure, one.times, q), 2, blend=0.2)
    knee = loop.q[:, figure.joints["right_knee"].q][:, 0]
    assert knee[120] == pytest.approx(0)
    assert knee[:96] == pytest.approx(q[:96, figure.joints["right_knee"].q][:, 0])
    assert np.abs(np.diff(knee)).max() < 1.5 * 0.1 / 24 + 0.1 / 120 + 1e-9


def test_joined_without_blending():
    figure = br.figures.human28()
    one = walking(figure)
    both = edit.joined([one, one], blend=0.0)
    assert len(both) == 2 * len(one)
    assert both.times == pytest.approx(np.arange(242) / 120)


def test_mirrored(motion):
    other = edit.mirrored(motion)
    before, after = positions(motion), positions(other)
    for name in before:
        twin = name.replace("left", "#").replace("right", "left").replace("#", "right")
        assert after[twin] == pytest.approx(before[name] * (1, -1, 1), abs=1e-9)
    assert edit.mirrored(other).q == pytest.approx(motion.q)


@pytest.mark.parametrize("make", [br.figures.human16, br.figures.human28, br.figures.human40])
def test_built_in_figures_have_two_sides(make):
    model = make()
    motion = Motion(model, np.zeros(1), model.poses["tumble"][None])
    before, after = positions(motion), positions(edit.mirrored(motion))
    for name in before:
        twin = name.replace("left", "#").replace("right", "left").replace("#", "right")
        assert after[twin] == pytest.approx(before[name] * (1, -1, 1), abs=1e-9)


def test_doors(motion):
    figure = br.figures.human28()
    with pytest.raises(MotionError, match=r"blend=2 s is longer than 1 s"):
        edit.joined([walking(figure), walking(figure)], blend=2.0)
    with pytest.raises(MotionError, match=r"different figures. Retarget"):
        edit.joined([walking(figure), motion])
    with pytest.raises(MotionError, match=r"must be as many, two at least, and grow"):
        edit.warped(motion, (0, 1), (1, 0))
    with pytest.raises(MotionError, match=r"more than a motion may have"):
        edit.resampled(motion, 1e9)
    with pytest.raises(MotionError, match=r"Nothing to join"):
        edit.joined([])
    arm = br.figures.arm2()
    b = br.ModelBuilder("one-armed")
    b.link("left_arm", joint=br.Revolute("y"), mass=1.0, inertia=(1, 1, 1))
    one_armed = b.build()
    with pytest.raises(MotionError, match=r"a joint 'left_arm' and none named 'right_arm', so it cannot be mirrored"):
        edit.mirrored(Motion(one_armed, np.zeros(1), one_armed.neutral[None]))
    with pytest.raises(MotionError, match=r"no free root"):
        edit.moved(Motion(arm, np.zeros(1), arm.neutral[None]), (1, 0))
    with pytest.raises(MotionError, match=r"Times must grow from frame to frame; frame 1 does not"):
        Motion(arm, np.zeros(2), np.tile(arm.neutral, (2, 1)))
