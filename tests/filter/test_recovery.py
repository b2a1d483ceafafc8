"""Recovery from falls: runs that go on from a checkpoint are one simulation, within limits and budget, and the best attempt is kept."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from typer.testing import CliRunner

import brachiate as br
from brachiate.cli import app
from brachiate.cli.filter import FELL
from brachiate.errors import ArgumentError, MotionError
from brachiate.filter.recovery.budget import Budget
from brachiate.filter.recovery.found_contacts import SHORTEST, found_contacts
from brachiate.filter.recovery.recover import OtherReferences, Recovery, has_other_supports
from brachiate.filter.recovery.retiming import retimed
from brachiate.filter.recovery.sampled_recovery import SampledRecovery
from brachiate.filter.recovery.segments import first_states, joined
from brachiate.filter.recovery.tracked_run import prepare_world, track
from brachiate.filter.tracking.simulation_world import SimulationOptions

SOLES = ("left_heel", "left_toe", "right_heel", "right_toe")
EFFORT = 0.1  # sixty rollouts a window


def false_flight(start, end, seconds):
    """A squat, and labels by which it is in the air for some time, in which the controller falls."""
    spans = ((0.0, start), (end, seconds)) if end < seconds else ((0.0, start),)
    labels = tuple(br.ContactInterval(part, *span) for part in SOLES for span in spans)
    return br.sample_motion("squat", seconds=seconds), br.ContactLabels(labels, br.Terrain(0.0))


@pytest.fixture(scope="module")
def squat():
    return false_flight(0.2, 1.2, 1.2)


@pytest.fixture(scope="module")
def result(squat):
    motion, labels = squat
    return br.filter_motion(motion, contacts=labels, effort=EFFORT)


@pytest.fixture(scope="module")
def handed_back():
    """A squat that by its labels stands on a hand for a while, and on its feet then."""
    motion, labels = false_flight(0.3, 0.9, 1.7)
    hand = br.ContactInterval("left_hand", 0.3, 0.9)
    return br.filter_motion(motion, contacts=replace(labels, contacts=(*labels.contacts, hand)), effort=0.3)


def test_a_false_flight_is_finished_by_sampling(result):
    assert result.success
    assert [attempt.failure is None for attempt in result.attempts] == [False, False, True]
    assert [attempt.kept for attempt in result.attempts] == [False, False, True]
    assert all("in flight from 0.20" in attempt.failure.reason for attempt in result.attempts[:2])
    assert len(result.motion) == len(result.reference)
    assert result.tracking["mpjpe_global_cm"] == pytest.approx(result.attempts[-1].mpjpe_cm)
    assert [told.quantity for told in result.reference.assumptions].count("sampled") == 1


def test_every_step_of_a_recovered_run_satisfies_its_equation_of_motion(result, handed_back):
    # A step at a seam that began from another state, or without the memory of its contacts, would not be reproduced
    for run in (result, handed_back):
        force, moment = run.root_residual()
        assert force < 1e-6
        assert moment < 1e-6
        assert np.allclose(np.diff(run.recording.time), run.reference.dt, rtol=1e-9)
        assert max(run.peak_torque_shares.values()) <= 1.0 + 1e-9


def test_the_controller_takes_over_where_it_can_go_on(handed_back):
    assert handed_back.success
    kept = next(attempt for attempt in handed_back.attempts if attempt.kept)
    start, end = (float(x) for x in kept.remark.removeprefix("sampled ").removesuffix(" s").split("-"))
    assert 0.0 <= start < end < 1.5
    assert kept.mpjpe_cm < 8.0
    assert handed_back.metrics()["attempts"][-1]["success"]


def test_the_result_does_not_depend_on_the_number_of_threads(squat, result):
    motion, labels = squat
    options = SimulationOptions(effort=EFFORT)
    world, reference = prepare_world(br.make_reference(motion, contacts=labels), options)
    run = track(world, reference, options, None, plan_whole_clip=False)
    again = SampledRecovery(run, None, options, Budget(60.0), threads=1).run()
    assert again.failure is None
    assert np.array_equal(again.recording.q, result.recording.q)


def test_a_motion_that_finishes_at_once_is_not_touched(squat):
    motion, _ = squat
    runs = [br.filter_motion(motion, retries=n) for n in (0, 8)]
    assert np.array_equal(runs[0].recording.q, runs[1].recording.q)
    assert np.array_equal(runs[0].recording.torque, runs[1].recording.torque)
    assert runs[1].attempts == ()
    assert "attempts" not in runs[1].metrics()


def test_without_retries_the_first_fall_ends_the_run(squat, result):
    motion, labels = squat
    fallen = br.filter_motion(motion, contacts=labels, retries=0)
    assert fallen.failure == result.attempts[0].failure
    assert fallen.attempts == ()
    one = br.filter_motion(motion, contacts=labels, retries=1)
    assert len(one.attempts) == 2
    assert one.failure.time == max(attempt.failure.time for attempt in one.attempts)


def test_what_sampling_does_not_know_is_told(squat):
    motion, labels = squat
    pushed = br.filter_motion(motion, contacts=labels, pushes=[br.Push("pelvis", (5.0, 0.0, 0.0), start=0.1)])
    assert not pushed.success
    assert [attempt.failure.reason for attempt in pushed.attempts[2:]] == ["sampling knows no pushes"] * 2
    assert pushed.attempts[pushed.attempts.index(next(a for a in pushed.attempts if a.kept))].failure.time == pushed.failure.time


def test_an_impossible_motion_ends_within_its_budget(squat, tmp_path):
    # A body that rises like a balloon falls in every attempt; work is counted, so the budget is exceeded by a window and a try at most.
    motion, budget, seconds = balloon(squat[0]), 6.0, 0.8
    found = br.filter_motion(motion, budget=budget, effort=0.02)
    assert found.failure is not None
    assert all(attempt.failure is not None for attempt in found.attempts)
    own_timing = [attempt for attempt in found.attempts if attempt.method != "1.3 times the duration"]
    assert found.failure.time == max(attempt.failure.time for attempt in own_timing)
    assert found.attempts[-1].method in {"1.3 times the duration", "sampled windows", "sampled from the first frame on"}
    assert sum(attempt.work_s for attempt in found.attempts) < (budget + 2.0) * seconds
    motion.save(tmp_path / "balloon.bvh", rate=100.0)
    outcome = CliRunner().invoke(app, ["filter", str(tmp_path / "balloon.bvh"), "--budget", "1", "--effort", "0.02"])
    assert outcome.exit_code == FELL
    assert "fell at" in outcome.output
    assert "Attempts" in outcome.output


def test_another_timing_is_compared_with_the_retimed_original(squat):
    # Fails if the result is measured against the motion's own timing.
    motion = squat[0].trim(0.0, 0.3)
    reference, options = br.make_reference(motion), SimulationOptions(retries=1, budget=40.0)
    slower = OtherReferences(None, lambda factor: br.make_reference(retimed(motion, None, factor)[0]))
    recovery = Recovery(reference, options, None, slower)
    recovery._track_retimed()
    found = recovery.best
    assert found.retimed
    assert found.outcome.failure is None
    assert len(found.recording) == pytest.approx(1.3 * len(reference), abs=8)
    assert found.reference.source.motion.duration == pytest.approx(1.3 * motion.duration)
    assert recovery.attempts[0].mpjpe_cm < 2.0


def balloon(motion):
    motion = motion.trim(0.0, 0.8)
    q = np.array(motion.q)
    q[:, 2] += 20.0 * np.maximum(motion.times - 0.1, 0.0) ** 2
    return replace(motion, q=q, name="balloon", clip=None, links={})


def test_a_recording_that_is_cut_and_joined_is_the_same(handed_back):
    whole = handed_back.recording
    cut = len(whole) // 2
    part = first_states(whole, cut + 1)
    assert len(part) == len(part.contacts.records) == sum(map(len, part.forces.segments)) == cut + 1
    twice = joined([part, whole])  # the first state of a later part is that before it
    assert np.array_equal(twice.q, np.concatenate((whole.q[: cut + 1], whole.q[1:])))
    assert sum(map(len, twice.forces.segments)) == len(twice)


def test_found_contacts_have_no_short_intervals_and_gaps(result):
    labels = found_contacts(result.reference, result.recording, "man")
    assert {label.part for label in labels.contacts} <= set(SOLES) | {"left_toes", "right_toes"}
    for part in {label.part for label in labels.contacts}:
        own = [label for label in labels.contacts if label.part == part]
        assert all(label.end - label.start > SHORTEST for label in own)
        assert all(b.start - a.end >= SHORTEST for a, b in pairwise(own))


def test_supports_elsewhere_can_be_left_out():
    hang = br.sample_motion("hang", seconds=1.0)
    assert has_other_supports(br.make_reference(hang))
    with pytest.raises(MotionError, match="No contact was found"):
        br.make_reference(hang, supports="ground")


def test_a_retimed_motion_lasts_longer(squat):
    motion, labels = squat
    part = motion.trim(0.0, 0.25)
    slow = br.filter_motion(part, retime=1.5, retries=0)
    assert slow.reference.times[-1] == pytest.approx(1.5 * part.duration, abs=0.01)  # whole knots
    assert np.array_equal(slow.source.motion.q, part.q)
    assert any(told.quantity == "timing" for told in slow.motion.assumptions)
    from_labels = br.filter_motion(motion, contacts=labels, retime=1.2, retries=0)
    assert "in flight from 0.24" in from_labels.failure.reason  # 1.2 times 0.20


def test_bad_input(squat):
    motion, labels = squat
    for name, value in (("retries", -1), ("retries", 1.5), ("budget", -1.0), ("retime", 0.0), ("retime", np.nan)):
        with pytest.raises(ArgumentError, match=name):
            br.filter_motion(motion, **{name: value})
    with pytest.raises(ArgumentError, match="retime: a reference has its own timing"):
        br.filter_motion(br.make_reference(motion, contacts=labels), retime=1.3)
