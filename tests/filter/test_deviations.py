"""Why a filtered motion is not the original, and how far from possible it is beforehand."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import pytest

import brachiate as br
from brachiate import procedural
from brachiate.filter.offline import Clip, filter_motion, world_of
from brachiate.filter.reference.preprocess import clean
from brachiate.filter.reference.reference import Reference
from brachiate.filter.results.deviations import AT_EDGE, FASTEST, LIMIT, MOTOR, STEPPED, reasons_of
from brachiate.filter.results.result import Filtered
from brachiate.filter.tracking.feasibility import HARD, Forecast
from brachiate.filter.whole_body.qp import ROWS
from brachiate.model.model import Model
from brachiate.motion.motion import motion_of

DT = 0.002


@pytest.fixture(scope="module")
def squat() -> Reference:
    return clean(motion_of(procedural.make("squat", seconds=1.2)), dt=DT)


@pytest.fixture(scope="module")
def weak(squat: Reference) -> Filtered:
    return filter_motion(squat, strength=0.12, progress=False)


@pytest.fixture(scope="module")
def pushed() -> Filtered:
    shove = br.Shove("spine2", (0.0, 250.0, 0.0), at=0.8, lasting=0.1)
    return filter_motion(motion_of(procedural.make("walk", seconds=2.4)), strength=np.inf, pushes=[shove], progress=False)


def test_motors_that_are_at_their_limit_are_named(weak):
    motors = [reason for reason in weak.reasons if reason.what == MOTOR]
    assert {"left_knee", "right_knee"} <= {reason.which for reason in motors}
    model = weak.motion.figure
    for reason in motors:
        inside = (weak.motion.times >= reason.start - 1e-9) & (weak.motion.times <= reason.end + 1e-9)
        most = 0.12 * model.effort[model.joints[reason.which].v]
        full = np.any(np.abs(weak.torques[reason.which][inside]) >= 0.999 * most, axis=1)
        assert full[0]
        assert full[-1]
        assert full.mean() > 0.3  # short gaps are bridged
        assert reason.unit == "deg"


@pytest.mark.parametrize("part", [0.7, 0.9])
def test_motors_turn_no_faster_than_they_can(squat, part):
    # Fails if speeds are not bounded: the squat has knees that are faster.
    knees = [squat.figure.joints[f"{side}_knee"].v.start for side in ("left", "right")]
    most = part * float(np.abs(squat.v[:, knees]).max())
    links = []
    for link in squat.figure.links.values():
        joint = copy.copy(link.joint)
        if link.joint_name.endswith("_knee"):
            joint.speed = np.full(joint.nv, most)
        links.append(replace(link, joint=joint))
    figure = Model(squat.figure.name, links, *squat.figure._parts()[1:])
    done = filter_motion(replace(squat, figure=figure, original=replace(squat.original, figure=figure)), strength=np.inf, progress=False)
    assert done.finished
    there = [done.run.model.joints[f"{done.whose}/{side}_knee"].v.start for side in ("left", "right")]
    speed = np.abs(done.run.v[:, there]).max()
    # A motor that is strong enough brakes in time: what is left is what the contacts of a step do otherwise than was decided
    assert 0.97 * most < speed < 1.01 * most
    assert {"left_knee", "right_knee"} <= {reason.which for reason in done.reasons if reason.what == FASTEST}


def test_there_is_room_for_all_limits_at_once(squat):
    # All motors are slow, weak, and at the ends of their ways: fails if rows are written that nobody has room for.
    links = []
    for link in squat.figure.links.values():
        joint = copy.copy(link.joint)
        if link.parent is not None:
            joint.speed = np.full(joint.nv, 0.1)
        links.append(replace(link, joint=joint))
    figure = Model(squat.figure.name, links, *squat.figure._parts()[1:])
    slow = replace(squat, figure=figure, original=replace(squat.original, figure=figure))
    clip = Clip(world_of(slow, strength=0.01), "man", slow, whole=False)
    clip.control()
    P, n = clip.body.program, figure.nv
    limited = 2 * (n - 6)  # rows of speeds: both sides of every motor
    assert limited < P.count[ROWS] <= len(P.kind)
    # Beside what touches there is room for all of them together: the root, the body as a whole, and six limits of each coordinate
    assert len(P.kind) // 2 >= 12 + 6 * n + 6 * len(clip.body.soles)


def test_those_that_are_strong_enough_are_not(squat):
    done = filter_motion(squat, strength=np.inf, progress=False)
    assert not [reason for reason in done.reasons if reason.what in (MOTOR, LIMIT, STEPPED)]


def test_steps_that_a_push_makes_go_elsewhere(pushed):
    steps = [reason for reason in pushed.reasons if reason.what == STEPPED]
    assert steps
    assert all(reason.end > 0.8 for reason in steps)
    assert max(reason.off for reason in steps) > 5.0
    assert [reason for reason in pushed.reasons if reason.what == AT_EDGE and reason.end > 0.8]


def test_they_are_told_in_words_and_written(weak, tmp_path):
    line = str(next(reason for reason in weak.reasons if reason.which == "left_knee"))
    assert line.startswith("left_knee: its motor was at its limit (")
    assert "deg off" in line
    assert weak.metrics()["reasons"] == [reason._asdict() for reason in reasons_of(weak)]


def test_a_forecast_of_what_is_possible_is_nothing():
    nothing = Forecast(np.linspace(0.0, 1.0, 5), np.zeros((5, 3)), np.zeros((5, 3)))
    assert nothing.score == 0.0
    assert "nearly as it is" in str(nothing)
    off = np.zeros((5, 3))
    off[3, 0] = 2.0 * HARD
    far = Forecast(nothing.times, off, nothing.turned)
    assert far.score == pytest.approx(2.0 / np.sqrt(5.0))
    assert far.worst == pytest.approx(0.75)
    assert far.summary["centre_max_cm"] == pytest.approx(200.0 * HARD)


def test_a_squat_is_easier_than_a_jump_but_not_for_the_weak(squat, weak):
    easy, jump = (filter_motion(each, strength=np.inf, progress=False) for each in (squat, motion_of(procedural.make("jump"))))
    assert easy.forecast is not None
    assert jump.forecast is not None
    assert weak.forecast is not None
    assert easy.forecast.score < 0.25
    assert jump.forecast.score > 2.0 * easy.forecast.score
    assert weak.forecast.score > 1.0  # an eighth of a person's strength does not lift one out of a squat
    assert "far from possible" in str(weak.forecast)


def test_without_a_plan_of_the_whole_there_is_no_forecast(squat):
    assert filter_motion(squat, mode="preview", progress=False).forecast is None
