"""Diagnostics of a motion before filtering: discontinuities, misplaced contact labels, false flight phases."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import brachiate as br
from brachiate import procedural
from brachiate.errors import ArgumentError, UnknownName
from brachiate.filter.offline import filter_motion
from brachiate.filter.reference.diagnostics import diagnose, find_discontinuities
from brachiate.filter.reference.preprocess import make_reference
from brachiate.motion.contact_labels import ContactInterval, ContactLabels
from brachiate.motion.motion import Motion

FEET = ("left_heel", "left_toe", "right_heel", "right_toe")
GROUND = br.Terrain(0.0)


@pytest.fixture(scope="module")
def squat() -> Motion:
    return procedural.sample_motion("squat", seconds=1.2)


def standing(start: float, end: float, height: float | None = None) -> ContactLabels:
    return ContactLabels(tuple(ContactInterval(part, start, end, height=height) for part in FEET), GROUND)


def finding(motion: Motion, labels: ContactLabels | None, quantity: str) -> str:
    """Text of the finding about a quantity; empty without one."""
    return next((str(assumption) for assumption in diagnose(motion, labels) if assumption.quantity == quantity), "")


# --- discontinuities ------------------------------------------------------------------------------


def test_jump_of_the_root_position(squat):
    q, k = squat.q.copy(), len(squat) // 2
    q[k:, 0] += 3.0
    (jump,) = find_discontinuities(replace(squat, q=q))
    assert (jump.joint, jump.frame, jump.size) == ("root position", k, pytest.approx(3.0, abs=0.01))
    assert finding(replace(squat, q=q), None, "discontinuity").startswith(
        f"discontinuity: root position by 3 m at {squat.times[k]:.2f} s (frame {k}) "
    )


def test_jump_for_one_frame_is_found_twice(squat):
    q, k = squat.q.copy(), len(squat) // 2
    q[k, squat.figure.joints["left_knee"].q] += 1.0
    assert {(jump.joint, jump.frame) for jump in find_discontinuities(replace(squat, q=q))} == {("left_knee", k), ("left_knee", k + 1)}


@pytest.mark.parametrize("k", [1, -1])
def test_jumps_at_the_ends_of_a_motion(squat, k):
    q = squat.q.copy()
    q[: 1 if k > 0 else None][k if k < 0 else 0, squat.figure.joints["left_knee"].q] += 2.0
    assert [jump.frame for jump in find_discontinuities(replace(squat, q=q))] == [k % len(q)]


def test_jump_of_the_root_orientation_but_not_of_the_quaternion_sign(squat):
    q, k, turn = squat.q.copy(), 20, squat.figure.joints["root"].q
    q[k:, turn.start + 3 : turn.stop] *= -1.0
    assert find_discontinuities(replace(squat, q=q)) == []
    q[k:, turn.start + 3 : turn.stop] = (0.0, 0.0, 0.0, 1.0)
    assert [(jump.joint, jump.frame) for jump in find_discontinuities(replace(squat, q=q))] == [("root", k)]


def test_constant_fast_rotation_is_no_jump(squat):
    q = squat.q.copy()
    q[:, squat.figure.joints["left_knee"].q] = np.arange(len(q))[:, None]  # 120 rad/s
    assert find_discontinuities(replace(squat, q=q)) == []


@pytest.mark.parametrize("name", ["walk", "jump", "kick", "turn", "squat"])
@pytest.mark.parametrize("rate", [30.0, 120.0])
def test_sample_motions_have_no_jumps(name, rate):
    assert find_discontinuities(procedural.sample_motion(name, rate=rate)) == []


def test_captured_motions_have_no_jumps():
    clips = procedural.deepmimic_clips()
    if not clips:
        pytest.skip("DeepMimic's clips are not there")
    fast = {name: path for name, path in clips.items() if name in ("run", "spinkick", "kick", "punch", "backflip", "cartwheel")}
    for path in fast.values():
        assert find_discontinuities(br.load_motion(path)) == []


def test_reference_reports_jumps(squat):
    q = squat.q.copy()
    q[30, squat.figure.joints["left_elbow"].q] += 2.0
    (assumption,) = [assumption for assumption in make_reference(replace(squat, q=q)).assumptions if assumption.quantity == "discontinuity"]
    assert "left_elbow" in assumption.value
    assert "frame 30" in assumption.value


# --- contacts -------------------------------------------------------------------------------------


def test_unknown_parts_are_refused(squat):
    with pytest.raises(UnknownName, match=r"'left_hel' is not a part.*Did you mean 'left_heel'"):
        filter_motion(squat, contacts=ContactLabels((ContactInterval("left_hel", 0.0, 1.0),), GROUND))


def test_invalid_contact_intervals_are_refused():
    with pytest.raises(ArgumentError, match=r"'left_heel': it ends at 0.5 s, before it starts at 1 s"):
        ContactInterval("left_heel", 1.0, 0.5)
    with pytest.raises(ArgumentError, match=r"start of a contact"):
        ContactInterval("left_heel", np.nan, 0.5)


def test_contacts_outside_the_motion(squat):
    with pytest.raises(ArgumentError, match=r"none is within squat, which lasts from 0 to 1.2 s: left_heel \(5.00-6.00 s\)"):
        filter_motion(squat, contacts=standing(5.0, 6.0))
    some = replace(standing(0.0, 1.2), contacts=(*standing(0.0, 1.2).contacts, ContactInterval("left_hand", 5.0, 6.0)))
    assert "left_hand (5.00-6.00 s)" in finding(squat, some, "contacts outside the motion")
    assert finding(squat, standing(-1.0, 60.0), "contacts outside the motion") == ""  # longer than the motion


@pytest.mark.parametrize(("height", "words"), [(1.0, "1.00 m below"), (-1.0, "1.00 m above")])
def test_contacts_far_from_their_surface(squat, height, words):
    assumption = finding(squat, standing(0.0, 1.2, height), "contacts far from their surface")
    assert f"left_heel (0.00-1.20 s) {words}" in assumption
    assert "right_toe" in assumption


def test_body_far_above_its_ground(squat):
    q = squat.q.copy()
    q[:, 2] += 1.0
    assert "left_heel (0.00-1.20 s) 1.00 m above" in finding(replace(squat, q=q), standing(0.0, 1.2), "contacts far from their surface")
    assert finding(squat, standing(0.0, 1.2), "contacts far from their surface") == ""


def test_flight_without_falling(squat):
    assert "0.31-1.20 s, but the CoM falls with" in finding(squat, standing(0.0, 0.3), "flight")
    assert finding(squat, standing(0.0, 1.2), "flight") == ""


def test_flight_in_free_fall_is_plausible(squat):
    t, q = squat.times, squat.q.copy()
    q[t > 0.3, 2] -= 0.5 * 9.81 * (t[t > 0.3] - 0.3) ** 2
    assert finding(replace(squat, q=q), standing(0.0, 0.3), "flight") == ""
