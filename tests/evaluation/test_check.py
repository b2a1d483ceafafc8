"""Plausibility check: a simulated jump is physical, and each implausibility is found by its own metric, at its time."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from tests.clip.people import stepping
from tests.contact_estimation.jumps import END, TAKE_OFF, jump

import brachiate as br
from brachiate import rotations
from brachiate.errors import BrachiateError, MotionError
from brachiate.evaluation.bounds import BOUNDS, PHYSICAL
from brachiate.evaluation.check import check
from brachiate.evaluation.metric_names import METRICS, ROWS
from brachiate.motion.motion import Motion
from brachiate.motion.terrain import Terrain


@pytest.fixture(scope="module")
def clean():
    return check(jump(), terrain=Terrain(0.0, friction=1.0))


def check_modified(q, figure=None):
    motion = jump()
    return check(Motion(figure or motion.figure, motion.times, q, "modified"), terrain=Terrain(0.0, friction=1.0))


def root(q):
    return q[:, :3]


def test_simulated_jump_is_physical(clean):
    # The spline smooths the takeoff over a frame or two; everything else agrees to a part in a thousand.
    assert clean.verdict == PHYSICAL, str(clean)
    assert clean.failed_metrics == ()
    s = clean.summary
    assert s["root_residual_force_rms_percent_weight"] < 2.0
    assert s["flight_acceleration_rms_m_s2"] < 0.2
    assert s["foot_skate_mean_m_s"] < 0.02
    assert s["penetration_max_mm"] < 2.0
    middle = (clean.times > 0.05) & (clean.times < 0.2)
    assert np.median(clean.frames.root_residual_force[middle]) < 1e-3 * clean.dynamics.weight
    flying = (clean.times > TAKE_OFF + 0.05) & (clean.times < 0.8)
    assert clean.frames.flight_acceleration[flying].max() < 0.05


def test_contacts_of_jump(clean):
    for side in ("left", "right"):
        for part in ("heel", "toe"):
            (label,) = clean.contacts.of(f"{side}_{part}")
            assert label.start < 0.03
            assert label.end == pytest.approx(TAKE_OFF, abs=0.05)
    assert clean.summary["flight_share"] == pytest.approx((END - TAKE_OFF) / (END - 0.02), abs=0.05)


def test_ground_reaction_force_of_jump(clean):
    push = clean.dynamics.contact_force.sum(axis=1)[:, 2] / clean.dynamics.weight
    assert push.max() > 2.0
    assert (push[clean.times > TAKE_OFF + 0.03] == 0).all()


def test_delayed_root_violates_flight_acceleration(clean):
    motion = jump()
    q = motion.q.copy()
    late = np.stack([np.interp(motion.times - 0.08, motion.times, x) for x in root(q).T], axis=1)
    q[:, :3] = late
    report = check_modified(q)
    assert "flight_acceleration" in report.failed_metrics
    assert report.scores["flight_acceleration"] > 5 * max(clean.scores["flight_acceleration"], 0.1)
    worst = next(m for m in report.violations if m.metric in ("flight_acceleration", "root_residual_force", "root_residual_moment"))
    assert worst.time > 0.09


def test_raised_body_floats(clean):
    q = jump().q.copy()
    q[:, 2] += 0.08
    report = check_modified(q)
    assert "foot_float" in report.failed_metrics
    assert report.summary["foot_float_max_mm"] == pytest.approx(80, abs=5)
    assert "foot_skate" not in report.failed_metrics
    assert "penetration" not in report.failed_metrics
    assert any(m.metric == "foot_float" and m.time < TAKE_OFF and m.part.endswith(("heel", "toe")) for m in report.violations)
    assert clean.summary["foot_float_max_mm"] < 15


def test_lowered_body_penetrates():
    q = jump().q.copy()
    q[:, 2] -= 0.06
    report = check_modified(q)
    assert "penetration" in report.failed_metrics
    assert report.summary["penetration_max_mm"] == pytest.approx(60, abs=3)
    assert "foot_float" not in report.failed_metrics


@pytest.mark.parametrize(("height", "share"), [(0.02, 0.0), (0.0, 0.0), (-0.008, 0.0), (-0.03, 1.0)])
def test_published_metrics_of_standing_above_and_below_the_ground(height, share):
    # Yuan et al. 2023 count what is beyond 5 mm; the share of time is of depths beyond 1 cm.
    figure = br.figures.human28()
    q = np.tile(figure.neutral, (30, 1))
    q[:, 2] += height
    found = check(Motion(figure, np.arange(30) / 30, q), terrain=Terrain(0.0)).published_metrics
    assert found["physdiff.float_mm"] == pytest.approx(1e3 * max(height - 0.005, 0.0), abs=1e-6)
    assert found["physdiff.penetrate_mm"] == pytest.approx(1e3 * max(-height - 0.005, 0.0), abs=1e-6)
    assert found["omniretarget.penetration_depth_cm"] == pytest.approx(100 * max(-height, 0.0), abs=1e-6)
    assert found["omniretarget.penetration_time"] == share
    assert found["physdiff.skate_mm"] == pytest.approx(0.0, abs=1e-9)


def test_sliding_feet_skate():
    motion = jump()
    q = motion.q.copy()
    slide = np.clip(motion.times - 0.06, 0.0, 0.1)
    q[:, 0] += 0.4 * slide
    report = check_modified(q)
    assert "foot_skate" in report.failed_metrics
    sliding = np.nan_to_num(report.frames.foot_skate).max(axis=1)
    assert sliding[(report.times > 0.08) & (report.times < 0.14)] == pytest.approx(0.4, abs=0.1)
    assert sliding[report.times < 0.04].max() < 0.05


def test_torque_limits(clean):
    motion = jump()
    peak = clean.summary["torque_peak_share_of_limit"]
    weak = _with_torque_scale(motion.figure, 0.2)
    report = check_modified(motion.q, weak)
    assert "joint_torque" in report.failed_metrics
    assert report.summary["torque_peak_share_of_limit"] == pytest.approx(5 * peak, rel=1e-6)
    assert any(m.metric == "joint_torque" and ("knee" in m.part or "hip" in m.part or "ankle" in m.part) for m in report.violations)


def _with_torque_scale(figure, share):
    import copy  # noqa: PLC0415

    links = []
    for link in figure.links.values():
        joint = copy.copy(link.joint)
        if joint.nv:
            joint.effort = joint.effort * share
        links.append(replace(link, joint=joint))
    return br.Model(figure.name, links, *figure._parts()[1:])


def test_hyperextended_knee_violates_joint_limit():
    motion = jump()
    q = motion.q.copy()
    knee = motion.figure.joints["left_knee"].q
    q[80:120, knee] -= np.radians(30)
    report = check_modified(q)
    assert "joint_limit" in report.failed_metrics
    k = report.limit_names.index("left_knee")
    beyond = report.frames.limit_violation[:, k]
    assert 80 <= int(np.argmax(beyond)) < 120


def test_center_of_pressure_outside_feet():
    # A static lean beyond the support
    figure = br.figures.human28()
    q = np.tile(figure.neutral, (60, 1))
    q[:, 3:7] = rotations.from_rotation_vector(np.array((0.0, np.radians(20), 0.0)))
    times = np.arange(60) / 60
    report = check(Motion(figure, times, q), terrain=Terrain(0.0))
    assert report.summary["cop_outside_share"] == pytest.approx(1.0)
    assert report.summary["cop_outside_max_mm"] > 50
    assert "center_of_pressure" in report.failed_metrics
    upright = check(Motion(figure, times, np.tile(figure.neutral, (60, 1))), terrain=Terrain(0.0))
    assert upright.summary["cop_outside_share"] == 0.0
    assert upright.verdict == PHYSICAL


def test_required_force_outside_friction_cone():
    figure = br.figures.human28()
    times = np.arange(30) / 60
    q = np.tile(figure.neutral, (30, 1))
    q[:, 0] = 0.5 * 1.5 * times**2  # upright body accelerated horizontally
    report = check(Motion(figure, times, q), terrain=Terrain(0.0, friction=0.1))
    assert report.frames.friction_ratio[5:25] == pytest.approx(1.5 / 9.81, rel=1e-3)
    assert report.summary["friction_cone_violation_share"] > 0.9


@pytest.mark.parametrize(("fall", "share"), [(0.5, 0.0), (1.5, 1.0)])
def test_feet_that_must_pull_violate_the_friction_cone(fall, share):
    # Feet in contact of a body that falls faster than by gravity must pull: no coefficient of friction is large enough.
    figure = br.figures.human28()
    times = np.arange(20) / 240
    q = np.tile(figure.neutral, (20, 1))
    q[:, 2] -= 0.5 * fall * 9.81 * times**2
    parts = [f"{side}_{part}" for side in ("left", "right") for part in ("heel", "toe")]
    contacts = br.ContactLabels(tuple(br.ContactInterval(part, 0.0, times[-1]) for part in parts), Terrain(0.0))
    report = check(Motion(figure, times, q), contacts=contacts, cutoff=None)
    assert np.isinf(report.frames.friction_ratio[2:-2]).mean() == share
    assert report.summary["friction_cone_violation_share"] == pytest.approx(share, abs=0.2)
    assert ("friction_cone" in report.failed_metrics) == bool(share)


def test_rms_and_jerk_of_a_vibration_in_free_fall():
    # x = A sin ωt over whole periods: residual force m A ω² and jerk A ω³ at the peak, and RMS 1/√2 of them; the fall needs no force.
    figure, A, w = br.figures.human28(), 0.02, 2 * np.pi * 4.0
    times = np.arange(481) / 480
    q = np.tile(figure.neutral, (len(times), 1))
    q[:, 0] = A * np.sin(w * times)
    q[:, 2] += 10.0 - 0.5 * 9.81 * times**2
    report = check(Motion(figure, times, q), terrain=Terrain(0.0), cutoff=None)
    s, force = report.summary, figure.mass * A * w**2
    assert s["root_residual_force_peak_N"] == pytest.approx(force, rel=0.01)
    assert s["root_residual_force_rms_N"] == pytest.approx(force / np.sqrt(2), rel=0.01)
    assert s["flight_acceleration_rms_m_s2"] == pytest.approx(A * w**2 / np.sqrt(2), rel=0.01)
    assert s["jerk_rms_m_s3"] == pytest.approx(A * w**3 / np.sqrt(2), rel=0.02)  # the spline's ends have no jerk


def test_metrics_independent_of_frame_rate(clean):
    motion = jump()
    half = check(Motion(motion.figure, motion.times[::2], motion.q[::2], "half"), terrain=Terrain(0.0, friction=1.0))
    for name in ("contact_share", "flight_share"):
        assert half.summary[name] == pytest.approx(clean.summary[name], abs=0.05)
    assert half.summary["torque_peak_share_of_limit"] == pytest.approx(clean.summary["torque_peak_share_of_limit"], rel=0.2)


def test_ends_of_motions_at_low_frame_rate():
    # Regression: splines oscillated at the ends; the residual of the first and last frame was 84 % of the weight.
    fine, coarse = (check(br.procedural.sample_motion("walk", seconds=3.0, rate=rate)) for rate in (120.0, 30.0))
    assert fine.summary["root_residual_force_rms_percent_weight"] < 3.0
    assert coarse.summary["root_residual_force_rms_percent_weight"] < 4.0
    assert coarse.frames.root_residual_force[[0, -1]].max() < 0.1 * coarse.dynamics.weight


def test_friction_ratio_on_slope():
    # Standing upright on a slope: gravity is not along the normal
    figure = br.figures.human28()
    rise = 10.0
    q = np.tile(figure.neutral, (30, 1))
    q[:, 3:7] = rotations.from_rotation_vector(np.array((0.0, -np.radians(rise), 0.0)))
    report = check(Motion(figure, np.arange(30) / 60, q), terrain=Terrain(0.0, slope=rise))
    assert report.frames.friction_ratio[10] == pytest.approx(np.tan(np.radians(rise)), rel=1e-6)
    assert report.frames.penetration.max() < 0.2


def test_report_as_json(clean, tmp_path):
    path = tmp_path / "report.json"
    clean.save(path)
    content = json.loads(path.read_text())
    assert content["verdict"] == PHYSICAL
    assert set(content["bounds"]) == set(BOUNDS)
    assert content["contacts"]
    assert content["published_metrics"]["gmd.skating_ratio"] < 0.1
    assert set(content["summary"]) == set(METRICS)
    assert set(ROWS) == set(BOUNDS) == set(clean.scores)


def test_report_plot(clean, tmp_path):
    pytest.importorskip("matplotlib")
    path = tmp_path / "report.png"
    clean.plot(path)
    assert path.stat().st_size > 10_000


def test_assumptions_of_captured_motion():
    report = check(Motion.from_clip(stepping(frames=240, rate=120.0)))
    quantities = {assumption.quantity for assumption in report.assumptions}
    assert {"low-pass filter", "floor"} <= quantities
    assert report.cutoff == 10.0


def test_given_contacts_are_used(clean, tmp_path):
    path = tmp_path / "contacts.txt"
    clean.contacts.save(path)
    again = check(jump(), contacts=path)
    assert again.summary["root_residual_force_rms_N"] == pytest.approx(clean.summary["root_residual_force_rms_N"], rel=0.05)
    path.write_text(path.read_text().replace("left_toe", "left_tow"))
    with pytest.raises(BrachiateError, match="left_toe"):
        check(jump(), contacts=path)


@pytest.mark.parametrize(
    ("given", "words"),
    [({"terrain": "steep"}, "terrain"), ({"cutoff": "none"}, "auto"), ({"cutoff": -1.0}, "cutoff"), ({"terrain": "slope:95"}, "slope")],
)
def test_bad_input_is_refused(given, words):
    with pytest.raises(BrachiateError, match=words):
        check(jump(), **given)


def test_too_few_frames_are_refused():
    with pytest.raises(MotionError, match="three"):
        check(jump().frames(slice(0, 2)))


def test_angular_momentum_changes_in_flight(clean):
    motion = jump()
    q = motion.q.copy()
    late = np.clip((motion.times - 0.45) / 0.1, 0.0, 1.0)
    angle = 0.5 * late**2 * (3 - 2 * late)  # about the CoM, approximately: the CoM trajectory is unchanged
    q[:, 3:7] = rotations.product(rotations.from_rotation_vector(angle[:, None] * np.array((0.0, 0.0, 1.0))), q[:, 3:7])
    report = check_modified(q)
    assert "flight_moment" in report.failed_metrics
    assert report.scores["flight_moment"] > 5 * clean.scores["flight_moment"]
    assert 0.4 < report.times[np.nanargmax(report.frames.flight_moment)] < 0.6
    assert "flight_moment" not in clean.failed_metrics


def test_json_has_every_frame(clean, tmp_path):
    path = tmp_path / "report.json"
    clean.save(path)
    content = json.loads(path.read_text())
    frames = content["by_frame"]
    assert len(frames["time_s"]) == content["frames"] == len(clean.times)
    assert max(content["peak_torque_share_of_limit"].values()) == pytest.approx(content["summary"]["torque_peak_share_of_limit"])
    assert content["peak_torque_share_of_limit"]["left_knee"] == pytest.approx(max(frames["torque_share_of_limit"]["left_knee"]), rel=1e-5)
    assert frames["root_residual_force_N"] == pytest.approx(clean.frames.root_residual_force.tolist(), rel=1e-5, abs=1e-9)
    assert frames["flight_acceleration_m_s2"][0] is None  # in stance
    (toe,) = (values for part, values in frames["foot_skate_m_s"].items() if part == "left_toe")
    assert [x is None for x in toe] == np.isnan(clean.frames.foot_skate[:, clean.dynamics.contact_points.parts.index("left_toe")]).tolist()


def test_unwritable_files_are_refused(clean, tmp_path):
    with pytest.raises(BrachiateError, match=r"the report cannot be written \(No such file or directory\)"):
        clean.save(tmp_path / "nowhere" / "report.json")
    with pytest.raises(BrachiateError, match="the contacts cannot be written"):
        clean.contacts.save(tmp_path)


def test_deprecated_names():
    with pytest.warns(DeprecationWarning, match="'ground' of check.*use 'terrain'"):
        report = check(br.sample_motion("jump"), ground=Terrain(0.0))
    old_names = {"residual": "root_residual", "worst": "violations", "faults": "failed_metrics", "labels": "contacts", "track": "dynamics"}
    for old, new in old_names.items():
        with pytest.warns(DeprecationWarning, match=rf"CheckReport\.{new}"):
            value = getattr(report, old)
        assert np.all(value == getattr(report, new))
    with pytest.warns(DeprecationWarning, match=r"Violation\.description"):
        assert report.violations[0].why == report.violations[0].description


def test_contact_labels_of_unknown_parts_are_refused():
    motion = br.sample_motion("squat", seconds=1.0)
    wrong = br.ContactLabels((br.ContactInterval("left_tail", 0.0, 0.5),), br.Terrain(0.0))
    with pytest.raises(br.UnknownName, match="'left_tail' is not a part"):
        check(motion, contacts=wrong)
    with pytest.raises(br.ArgumentError, match="terrain: expected a Terrain or a text"):
        check(motion, terrain=3)
    with pytest.raises(br.ArgumentError, match="give contacts or terrain, not both"):
        check(motion, terrain="flat", contacts=wrong)
