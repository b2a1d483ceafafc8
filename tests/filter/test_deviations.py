"""Deviations of a filtered motion from the original and their causes; feasibility of a reference."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial import ConvexHull

import brachiate as br
from brachiate import procedural
from brachiate.filter.offline import filter_motion
from brachiate.filter.offline_tracker import OfflineTracker
from brachiate.filter.reference.preprocess import make_reference
from brachiate.filter.reference.reference import Reference
from brachiate.filter.results.deviations import (
    COP_AT_BOUNDARY,
    FOOTHOLD_MOVED,
    JOINT_LIMIT,
    SPEED_LIMIT,
    TORQUE_LIMIT,
    find_deviations,
    support_margins,
)
from brachiate.filter.results.result import FilterResult
from brachiate.filter.tracking.feasibility import INFEASIBLE_DEVIATION, Feasibility
from brachiate.filter.tracking.simulation_world import simulation_world
from brachiate.filter.whole_body.qp import ROWS
from brachiate.model.model import Model

DT = 0.002


def test_distance_from_the_boundary_of_a_support_polygon():
    """Against convex hulls by Qhull; fails if a line between corners that is no side counts, or corners that are not there."""
    rng = np.random.default_rng(3)
    for n in range(3, 12):
        corners, points = rng.random((5, n + 2, 2)), 1.5 * rng.random((5, 2))
        known = np.arange(n + 2) < n
        expected = []
        for some, point in zip(corners, points, strict=True):
            hull = ConvexHull(some[:n])
            expected.append(-(hull.equations[:, :2] @ point + hull.equations[:, 2]).max())
        margin = support_margins(points, corners, np.tile(known, (5, 1)))
        assert margin == pytest.approx(expected, abs=1e-12)


def test_points_and_lines_have_no_margin():
    line = np.array([[(0.0, 0.0), (1.0, 1.0), (2.0, 2.0)]])
    for count in range(4):
        assert support_margins(np.array([(1.0, 1.0)]), line, np.arange(3)[None] < count)[0] <= 1e-12


@pytest.fixture(scope="module")
def squat() -> Reference:
    return make_reference(procedural.sample_motion("squat", seconds=1.2), dt=DT)


@pytest.fixture(scope="module")
def weak(squat: Reference) -> FilterResult:
    return filter_motion(squat, torque_scale=0.12, retries=0, progress=False)


@pytest.fixture(scope="module")
def pushed() -> FilterResult:
    shove = br.Push("spine2", (0.0, 250.0, 0.0), start=0.8, duration=0.1)
    return filter_motion(procedural.sample_motion("walk", seconds=2.4), torque_scale=np.inf, pushes=[shove], progress=False)


def test_joints_at_their_torque_limit_are_named(weak):
    motors = [deviation for deviation in weak.deviations if deviation.cause == TORQUE_LIMIT]
    assert {"left_knee", "right_knee"} <= {deviation.part for deviation in motors}
    model = weak.motion.figure
    for deviation in motors:
        inside = (weak.motion.times >= deviation.start - 1e-9) & (weak.motion.times <= deviation.end + 1e-9)
        most = 0.12 * model.effort[model.joints[deviation.part].v]
        full = np.any(np.abs(weak.joint_torques[deviation.part][inside]) >= 0.999 * most, axis=1)
        assert full[0]
        assert full[-1]
        assert full.mean() > 0.3  # short gaps are merged
        assert deviation.unit == "deg"


@pytest.mark.parametrize("part", [0.7, 0.9])
def test_joint_speeds_are_within_their_limits(squat, part):
    # Fails if speeds are not bounded: the knees of the squat are faster.
    knees = [squat.figure.joints[f"{side}_knee"].v.start for side in ("left", "right")]
    most = part * float(np.abs(squat.v[:, knees]).max())
    links = []
    for link in squat.figure.links.values():
        joint = copy.copy(link.joint)
        if link.joint_name.endswith("_knee"):
            joint.speed = np.full(joint.nv, most)
        links.append(replace(link, joint=joint))
    figure = Model(squat.figure.name, links, *squat.figure._parts()[1:])
    done = filter_motion(
        replace(squat, figure=figure, original=replace(squat.original, figure=figure)), torque_scale=np.inf, progress=False
    )
    assert done.success
    there = [done.recording.model.joints[f"{done.figure_name}/{side}_knee"].v.start for side in ("left", "right")]
    speed = np.abs(done.recording.v[:, there]).max()
    # A strong motor brakes in time: the remaining excess is the difference between contacts of the simulation and of the QP
    assert 0.97 * most < speed < 1.01 * most
    assert {"left_knee", "right_knee"} <= {deviation.part for deviation in done.deviations if deviation.cause == SPEED_LIMIT}


def test_the_qp_has_rows_for_all_limits_at_once(squat):
    # All motors are slow, weak, and at their position limits: fails if rows are written beyond the arrays.
    links = []
    for link in squat.figure.links.values():
        joint = copy.copy(link.joint)
        if link.parent is not None:
            joint.speed = np.full(joint.nv, 0.1)
        links.append(replace(link, joint=joint))
    figure = Model(squat.figure.name, links, *squat.figure._parts()[1:])
    slow = replace(squat, figure=figure, original=replace(squat.original, figure=figure))
    tracker = OfflineTracker(simulation_world(slow, torque_scale=0.01), "man", slow, plan_whole_clip=False)
    tracker.control()
    P, n = tracker.controller.qp, figure.nv
    limited = 2 * (n - 6)  # rows of speed limits: both sides of every motor
    assert limited < P.counts[ROWS] <= len(P.kind)
    # Besides contacts there are rows for the root, the centroidal task, and six limits of each coordinate
    assert len(P.kind) // 2 >= 12 + 6 * n + 6 * len(tracker.controller.contact_links)


def test_no_limit_is_reached_with_unlimited_torques(squat):
    done = filter_motion(squat, torque_scale=np.inf, progress=False)
    assert not [deviation for deviation in done.deviations if deviation.cause in (TORQUE_LIMIT, JOINT_LIMIT, FOOTHOLD_MOVED)]


def test_footholds_displaced_by_a_push_are_named(pushed):
    steps = [deviation for deviation in pushed.deviations if deviation.cause == FOOTHOLD_MOVED]
    assert steps
    assert all(deviation.end > 0.8 for deviation in steps)
    assert max(deviation.error for deviation in steps) > 5.0
    assert [deviation for deviation in pushed.deviations if deviation.cause == COP_AT_BOUNDARY and deviation.end > 0.8]


def test_deviations_are_in_text_and_metrics(weak, tmp_path):
    line = str(next(deviation for deviation in weak.deviations if deviation.part == "left_knee"))
    assert line.startswith("left_knee: joint torque at its limit, ")
    assert line.endswith(" deg")
    assert weak.metrics()["deviations"] == [deviation._asdict() for deviation in find_deviations(weak)]


def test_feasibility_of_a_plan_on_the_reference_and_off_it():
    nothing = Feasibility(np.linspace(0.0, 1.0, 5), np.zeros((5, 3)), np.zeros((5, 3)))
    assert nothing.score == 0.0
    assert str(nothing).startswith("feasible: ")
    off = np.zeros((5, 3))
    off[3, 0] = 2.0 * INFEASIBLE_DEVIATION
    far = Feasibility(nothing.times, off, nothing.rotation)
    assert far.score == pytest.approx(2.0 / np.sqrt(5.0))
    assert far.worst_time == pytest.approx(0.75)
    assert far.summary["com_max_cm"] == pytest.approx(200.0 * INFEASIBLE_DEVIATION)


def test_feasibility_of_squat_jump_and_weak_squat(squat, weak):
    easy, jump = (filter_motion(each, torque_scale=np.inf, progress=False) for each in (squat, procedural.sample_motion("jump")))
    assert easy.feasibility is not None
    assert jump.feasibility is not None
    assert weak.feasibility is not None
    assert easy.feasibility.score < 0.25
    assert jump.feasibility.score > 2.0 * easy.feasibility.score
    assert weak.feasibility.score > 1.0  # an eighth of human torque limits does not suffice for a squat
    assert weak.feasibility.verdict == "infeasible"


def test_without_a_plan_of_the_whole_clip_there_is_no_feasibility(squat):
    assert filter_motion(squat, mode="preview", progress=False).feasibility is None
