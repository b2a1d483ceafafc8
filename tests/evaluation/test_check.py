"""What is wrong with a motion: a jump of our simulator is clean, and each fault is found by its own metric, at its time."""

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
from brachiate.evaluation.check import check
from brachiate.evaluation.report import BOUNDS, PHYSICAL
from brachiate.motion.motion import Motion, motion_of
from brachiate.motion.terrain import Ground


@pytest.fixture(scope="module")
def clean():
    return check(jump(), ground=Ground(0.0, friction=1.0))


def faulty(q, figure=None):
    motion = jump()
    return check(Motion(figure or motion.figure, motion.times, q, "faulty"), ground=Ground(0.0, friction=1.0))


def root(q):
    return q[:, :3]


def test_a_jump_of_our_simulator_is_physical(clean):
    # Splines bend where the feet leave the ground, for a frame or two; everything else is to a part in a thousand.
    assert clean.verdict == PHYSICAL, str(clean)
    assert clean.faults == ()
    s = clean.summary
    assert s["residual_rms_percent_weight"] < 2.0
    assert s["flight_acceleration_rms_m_s2"] < 0.2
    assert s["skate_mean_m_s"] < 0.02
    assert s["penetration_max_mm"] < 2.0
    middle = (clean.times > 0.05) & (clean.times < 0.2)
    assert np.median(clean.frames.residual[middle]) < 1e-3 * clean.track.weight
    flying = (clean.times > TAKE_OFF + 0.05) & (clean.times < 0.8)
    assert clean.frames.flight[flying].max() < 0.05


def test_its_contacts_are_found(clean):
    for side in ("left", "right"):
        for part in ("heel", "toe"):
            (label,) = clean.labels.of(f"{side}_{part}")
            assert label.start < 0.03
            assert label.end == pytest.approx(TAKE_OFF, abs=0.05)
    assert clean.summary["flight_share"] == pytest.approx((END - TAKE_OFF) / (END - 0.02), abs=0.05)


def test_forces_carry_the_weight_and_more(clean):
    push = clean.track.force.sum(axis=1)[:, 2] / clean.track.weight
    assert push.max() > 2.0
    assert (push[clean.times > TAKE_OFF + 0.03] == 0).all()


def test_a_body_whose_phase_is_shifted_does_not_fall(clean):
    motion = jump()
    q = motion.q.copy()
    late = np.stack([np.interp(motion.times - 0.08, motion.times, x) for x in root(q).T], axis=1)
    q[:, :3] = late
    report = faulty(q)
    assert "flight" in report.faults
    assert report.scores["flight"] > 5 * max(clean.scores["flight"], 0.1)
    worst = next(m for m in report.worst if m.metric in ("flight", "residual", "moment"))
    assert worst.time > 0.09


def test_a_body_that_floats_is_found(clean):
    q = jump().q.copy()
    q[:, 2] += 0.08
    report = faulty(q)
    assert "float" in report.faults
    assert report.summary["float_max_mm"] == pytest.approx(80, abs=5)
    assert "skate" not in report.faults
    assert "depth" not in report.faults
    assert any(m.metric == "float" and m.time < TAKE_OFF and m.part.endswith(("heel", "toe")) for m in report.worst)
    assert clean.summary["float_max_mm"] < 15


def test_a_body_that_sinks_is_found():
    q = jump().q.copy()
    q[:, 2] -= 0.06
    report = faulty(q)
    assert "depth" in report.faults
    assert report.summary["penetration_max_mm"] == pytest.approx(60, abs=3)
    assert "float" not in report.faults


def test_feet_that_slide_are_found():
    motion = jump()
    q = motion.q.copy()
    slide = np.clip(motion.times - 0.06, 0.0, 0.1)
    q[:, 0] += 0.4 * slide
    report = faulty(q)
    assert "skate" in report.faults
    sliding = np.nan_to_num(report.frames.skate).max(axis=1)
    assert sliding[(report.times > 0.08) & (report.times < 0.14)] == pytest.approx(0.4, abs=0.1)
    assert sliding[report.times < 0.04].max() < 0.05


def test_torque_beyond_strength_is_found(clean):
    motion = jump()
    peak = clean.summary["torque_peak_share_of_limit"]
    weak = _with_strength(motion.figure, 0.2)
    report = faulty(motion.q, weak)
    assert "torque" in report.faults
    assert report.summary["torque_peak_share_of_limit"] == pytest.approx(5 * peak, rel=1e-6)
    assert any(m.metric == "torque" and ("knee" in m.part or "hip" in m.part or "ankle" in m.part) for m in report.worst)


def _with_strength(figure, share):
    import copy  # noqa: PLC0415

    links = []
    for link in figure.links.values():
        joint = copy.copy(link.joint)
        if joint.nv:
            joint.effort = joint.effort * share
        links.append(replace(link, joint=joint))
    return br.Model(figure.name, links, *figure._parts()[1:])


def test_a_knee_that_bends_backwards_is_found():
    motion = jump()
    q = motion.q.copy()
    knee = motion.figure.joints["left_knee"].q
    q[80:120, knee] -= np.radians(30)
    report = faulty(q)
    assert "limit" in report.faults
    k = report.limit_names.index("left_knee")
    beyond = report.frames.limit[:, k]
    assert 80 <= int(np.argmax(beyond)) < 120


def test_a_pressure_outside_the_feet_is_found():
    # Someone who leans as nobody can, and stays
    figure = br.figures.human28()
    q = np.tile(figure.neutral, (60, 1))
    q[:, 3:7] = rotations.from_vector(np.array((0.0, np.radians(20), 0.0)))
    times = np.arange(60) / 60
    report = check(Motion(figure, times, q), ground=Ground(0.0))
    assert report.summary["cop_share"] == pytest.approx(1.0)
    assert report.summary["cop_outside_max_mm"] > 50
    assert "cop" in report.faults
    upright = check(Motion(figure, times, np.tile(figure.neutral, (60, 1))), ground=Ground(0.0))
    assert upright.summary["cop_share"] == 0.0
    assert upright.verdict == PHYSICAL


def test_friction_that_is_not_there_is_found():
    figure = br.figures.human28()
    times = np.arange(30) / 60
    q = np.tile(figure.neutral, (30, 1))
    q[:, 0] = 0.5 * 1.5 * times**2  # as if pulled along, upright
    report = check(Motion(figure, times, q), ground=Ground(0.0, friction=0.1))
    assert report.frames.slope[5:25] == pytest.approx(1.5 / 9.81, rel=1e-3)
    assert report.summary["cone_share"] > 0.9


def test_metrics_do_not_depend_on_the_frame_rate(clean):
    motion = jump()
    half = check(Motion(motion.figure, motion.times[::2], motion.q[::2], "half"), ground=Ground(0.0, friction=1.0))
    for name in ("contact_share", "flight_share"):
        assert half.summary[name] == pytest.approx(clean.summary[name], abs=0.05)
    assert half.summary["torque_peak_share_of_limit"] == pytest.approx(clean.summary["torque_peak_share_of_limit"], rel=0.2)


def test_ends_of_motions_with_few_frames_a_second_are_as_good():
    # Splines that only go through the frames swing there: the worst moments were the first and the last, 84 % of the weight.
    fine, coarse = (check(motion_of(br.procedural.make("walk", seconds=3.0, rate=rate))) for rate in (120.0, 30.0))
    assert fine.summary["residual_rms_percent_weight"] < 3.0
    assert coarse.summary["residual_rms_percent_weight"] < 4.0
    assert coarse.frames.residual[[0, -1]].max() < 0.1 * coarse.track.weight


def test_a_slope_is_a_slope():
    # Standing upright on a slope: gravity is not along the normal
    figure = br.figures.human28()
    rise = 10.0
    q = np.tile(figure.neutral, (30, 1))
    q[:, 3:7] = rotations.from_vector(np.array((0.0, -np.radians(rise), 0.0)))
    report = check(Motion(figure, np.arange(30) / 60, q), ground=Ground(0.0, slope=rise))
    assert report.frames.slope[10] == pytest.approx(np.tan(np.radians(rise)), rel=1e-6)
    assert report.frames.depth.max() < 0.2


def test_report_is_a_file_of_plain_values(clean, tmp_path):
    path = tmp_path / "report.json"
    clean.save(path)
    content = json.loads(path.read_text())
    assert content["verdict"] == PHYSICAL
    assert set(content["bounds"]) == set(BOUNDS)
    assert content["contacts"]
    assert content["legacy"]["gmd.skating_ratio"] < 0.1


def test_report_is_a_picture(clean, tmp_path):
    pytest.importorskip("matplotlib")
    path = tmp_path / "report.png"
    clean.plot(path)
    assert path.stat().st_size > 10_000


def test_captured_motion_says_what_was_assumed():
    report = check(motion_of(stepping(frames=240, rate=120.0)))
    told = {guess.what for guess in report.guesses}
    assert {"smoothing", "floor"} <= told
    assert report.cutoff == 10.0


def test_given_contacts_are_taken(clean, tmp_path):
    path = tmp_path / "contacts.txt"
    clean.labels.save(path)
    again = check(jump(), contacts=path)
    assert again.summary["residual_rms_N"] == pytest.approx(clean.summary["residual_rms_N"], rel=0.05)
    path.write_text(path.read_text().replace("left_toe", "left_tow"))
    with pytest.raises(BrachiateError, match="left_toe"):
        check(jump(), contacts=path)


@pytest.mark.parametrize(
    ("given", "words"),
    [({"ground": "steep"}, "no ground"), ({"cutoff": "none"}, "auto"), ({"cutoff": -1.0}, "cutoff"), ({"ground": "slope:95"}, "slope")],
)
def test_bad_input_is_refused(given, words):
    with pytest.raises(BrachiateError, match=words):
        check(jump(), **given)


def test_too_few_frames_are_refused():
    with pytest.raises(MotionError, match="three"):
        check(jump().frames(slice(0, 2)))


def test_a_body_that_spins_up_in_the_air_is_found(clean):
    motion = jump()
    q = motion.q.copy()
    late = np.clip((motion.times - 0.45) / 0.1, 0.0, 1.0)
    angle = 0.5 * late**2 * (3 - 2 * late)  # about its own centre, more or less: it falls as before
    q[:, 3:7] = rotations.product(rotations.from_vector(angle[:, None] * np.array((0.0, 0.0, 1.0))), q[:, 3:7])
    report = faulty(q)
    assert "spin" in report.faults
    assert report.scores["spin"] > 5 * clean.scores["spin"]
    assert 0.4 < report.times[np.nanargmax(report.frames.spin)] < 0.6
    assert "spin" not in clean.faults


def test_the_file_has_every_frame(clean, tmp_path):
    path = tmp_path / "report.json"
    clean.save(path)
    content = json.loads(path.read_text())
    frames = content["by_frame"]
    assert len(frames["time_s"]) == content["frames"] == len(clean.times)
    assert max(content["effort"].values()) == pytest.approx(content["summary"]["torque_peak_share_of_limit"])
    assert content["effort"]["left_knee"] == pytest.approx(max(frames["torque_share_of_limit"]["left_knee"]), rel=1e-5)
    assert frames["residual_N"] == pytest.approx(clean.frames.residual.tolist(), rel=1e-5, abs=1e-9)
    assert frames["flight_acceleration_m_s2"][0] is None  # it stands then
    (toe,) = (values for part, values in frames["skate_m_s"].items() if part == "left_toe")
    assert [x is None for x in toe] == np.isnan(clean.frames.skate[:, clean.track.spots.parts.index("left_toe")]).tolist()


def test_files_that_cannot_be_written_are_refused(clean, tmp_path):
    with pytest.raises(BrachiateError, match=r"the report cannot be written \(No such file or directory\)"):
        clean.save(tmp_path / "nowhere" / "report.json")
    with pytest.raises(BrachiateError, match="the contacts cannot be written"):
        clean.labels.save(tmp_path)
