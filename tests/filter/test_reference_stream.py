"""Reference frames that arrive one by one: smoothing, stance phases and footholds, prediction, buffer."""

from __future__ import annotations

import numpy as np
import pytest

from brachiate import procedural
from brachiate.centroidal.problem import MAX_MOTORS
from brachiate.errors import StateError
from brachiate.filter.footsteps.foot_state import FootStates
from brachiate.filter.online.reference_stream import ReferenceStream
from brachiate.filter.reference.preprocess import make_reference
from brachiate.filter.reference.reference import Reference
from brachiate.filter.schedule.contact_schedule import ContactSchedule
from brachiate.filter.settings import FilterSettings
from brachiate.motion.motion import Motion
from brachiate.motion.spline import MotionSpline

DT = 0.002


@pytest.fixture(scope="module")
def walk() -> Motion:
    return procedural.sample_motion("walk", seconds=3.0)


@pytest.fixture(scope="module")
def reference(walk: Motion) -> Reference:
    return make_reference(walk, dt=DT)


@pytest.fixture(scope="module")
def frames(walk: Motion, reference: Reference) -> np.ndarray:
    """One frame per step."""
    return MotionSpline(walk.figure, walk.times, walk.q).at(reference.times).q


@pytest.fixture(scope="module")
def received(walk: Motion, frames: np.ndarray) -> ReferenceStream:
    """Stream of all frames."""
    return stream_of(walk, frames)


def stream_of(walk: Motion, frames: np.ndarray) -> ReferenceStream:
    stream = ReferenceStream(walk.figure, FilterSettings(), DT, 0.0, 0.0)
    for frame in frames:
        stream.take(frame)
    return stream


def intervals(on: np.ndarray) -> list[tuple[float, float]]:
    edges = np.flatnonzero(np.diff(np.concatenate(([0], on.astype(int), [0]))))
    return [(DT * a, DT * b) for a, b in zip(edges[::2], edges[1::2], strict=True)]


def legs(stream: ReferenceStream) -> np.ndarray:
    return stream.window.in_contact[: 2 * len(stream)].reshape(-1, 2)


# --- estimation ------------------------------------------------------------------------------------


def test_stance_phases_agree_with_those_of_preprocessing(received, reference):
    schedule = ContactSchedule(reference, 0.1)
    order = [next(sole.leg for sole in schedule.contact_links if sole.link == mine.link) for mine in received.soles if mine.swings]
    for leg, other in enumerate(order):
        mine, theirs = intervals(legs(received)[:, leg]), intervals(schedule.in_contact[:, other])
        assert len(mine) == len(theirs)
        difference = np.array(mine) - np.array(theirs)
        assert np.abs(difference[:, 0]).max() < 0.03  # touchdown
        # Preprocessing ends a stance when the foot begins to roll over its toes, contact modes when these leave their foothold
        assert ((difference[:, 1] > -0.02) & (difference[:, 1] <= 0.1)).all()


def test_constant_acceleration_is_tracked_without_lag(walk):
    figure = walk.figure
    stream, q = ReferenceStream(figure, FilterSettings(), DT, 0.0, 0.0), walk.q[0].copy()
    joint = next(j for name, j in figure.joints.items() if name == "left_elbow")
    for k in range(600):
        t = DT * k
        q[joint.q.start] = 0.2 + 0.3 * t + 0.5 * 0.4 * t * t
        stream.take(q)
    assert stream.estimator.v[joint.v.start] == pytest.approx(0.3 + 0.4 * DT * 599, abs=1e-6)
    assert stream.estimator.a[joint.v.start] == pytest.approx(0.4, abs=1e-4)


def test_the_floor_height_is_estimated(walk, frames, received):
    raised = frames.copy()
    raised[:, 2] += 0.07
    higher = stream_of(walk, raised)
    assert higher.estimator.floor_height[0] == pytest.approx(received.estimator.floor_height[0] + 0.07, abs=1e-9)
    n = len(higher)
    assert higher.window.com[:n] == pytest.approx(received.window.com[:n], abs=1e-9)  # relative to the ground
    assert (legs(higher) == legs(received)).all()


def test_a_sliding_stance_foot_is_locked_where_it_is_stationary(walk, frames, received):
    n, m = len(received), len(received.soles)
    S = received.window
    positions = S.corner_positions[: n * m * 8].reshape(n, m, 8, 3)
    offset = S.foot_offset[: 2 * n].reshape(n, 2, 3)
    for start, end in intervals(legs(received)[:, 0])[1:]:
        a, b = round(start / DT), round(end / DT)
        still = positions[a + 100 : b - 150, 0, :4].mean(axis=(0, 1))
        flat = [k for k in range(a, b) if S.contact_mask[k * m] == 0b1111]
        locked = positions[flat, 0, :4].mean(axis=1) + offset[flat, 0]
        assert np.abs(locked - still)[:, :2].max() < 0.005


# --- prediction -------------------------------------------------------------------------------------


def test_a_cycle_is_predicted_from_the_one_before(walk, frames, received):
    stream, whole = stream_of(walk, frames[:1000]), received.window
    assert stream.predict(0)
    S, k = stream.window, 999
    end = min(int(S.frame_count[0]), len(received))
    assert end - k > 400  # the walk's cycle is 1.08 s
    assert S.com[k:end] == pytest.approx(whole.com[k:end], abs=0.005)
    assert S.com_velocity[k:end] == pytest.approx(whole.com_velocity[k:end], abs=0.05)
    assert (S.in_contact[2 * k : 2 * end] != whole.in_contact[2 * k : 2 * end]).sum() <= 10  # landings within a few steps


def test_a_prediction_is_transformed_to_the_present_position_and_heading(walk, frames):
    # The same walk elsewhere with another heading is predicted the same, transformed
    turn, n = np.radians(40.0), 1000
    c, s = np.cos(turn), np.sin(turn)
    q = frames[:n].copy()
    q[:, :2] = q[:, :2] @ np.array(((c, s), (-s, c))) + (1.0, -2.0)
    half = np.array((np.cos(turn / 2), 0.0, 0.0, np.sin(turn / 2)))
    w, x, y, z = q[:, 3:7].T
    q[:, 3:7] = np.stack(
        (half[0] * w - half[3] * z, half[0] * x - half[3] * y, half[0] * y + half[3] * x, half[0] * z + half[3] * w), axis=1
    )
    one, other = stream_of(walk, frames[:n]), stream_of(walk, q)
    assert one.predict(0)
    assert other.predict(0)
    k, end = n - 1, int(one.window.frame_count[0])
    assert int(other.window.frame_count[0]) == end
    locked = one.window.com[k:end].copy()
    locked[:, :2] = locked[:, :2] @ np.array(((c, s), (-s, c))) + (1.0, -2.0)
    assert other.window.com[k:end] == pytest.approx(locked, abs=1e-6)
    R = np.array(((c, -s, 0.0), (s, c, 0.0), (0.0, 0.0, 1.0)))
    assert other.window.locked_inertia[k:end] == pytest.approx(R @ one.window.locked_inertia[k:end] @ R.T, abs=1e-6)
    for leg in np.flatnonzero(np.isfinite(one.window.max_vertical_force[2 * k : 2 * end])) + 2 * k:  # limits by motor torques
        motors = slice(MAX_MOTORS * leg, MAX_MOTORS * leg + 7)  # with toes locked is one more, while only they are in contact
        assert other.window.max_vertical_force[leg] == pytest.approx(one.window.max_vertical_force[leg], rel=1e-6)
        assert other.window.motor_point[leg] == pytest.approx(R[:2, :2] @ one.window.motor_point[leg] + (1.0, -2.0), abs=1e-6)
        assert other.window.motor_rows[motors, :3] == pytest.approx(one.window.motor_rows[motors, :3] @ R.T, abs=1e-6)
        assert other.window.motor_rows[motors, 3:5] == pytest.approx(one.window.motor_rows[motors, 3:5] @ R[:2, :2].T, abs=1e-6)


def test_half_a_cycle_is_predicted_by_the_other_leg_and_less_is_not(walk, frames):
    assert stream_of(walk, frames[:450]).predict(0)
    assert not stream_of(walk, frames[:200]).predict(0)


def test_trembling_feet_do_not_exceed_the_stance_list(walk, monkeypatch):
    # Fails if stances are written beyond the list.
    monkeypatch.setattr("brachiate.filter.online.reference_stream.MAX_STANCES", 16)
    stream, q = ReferenceStream(walk.figure, FilterSettings(stream_bandwidth=2000.0), DT, 0.0, 0.0), walk.q[0].copy()
    stand = q.copy()
    for k in range(stream.capacity):
        lifted = (k // 36) % 2  # stances shorter than 60 ms would be debounced
        q[:] = stand
        q[2] += 0.06 * lifted
        stream.take(q)
    assert stream.window.stance_count.max() == len(stream.window.stance_frames) // 2 == 16
    with pytest.raises(StateError, match="is full"):
        stream.take(stand)
    stream.predict(0)
    assert stream.window.stance_count.max() <= len(stream.window.stance_frames) // 2


def test_dropping_frames_changes_nothing_else(walk, frames, received):
    stream = stream_of(walk, frames[:1200])
    feet = FootStates(stream.window, FilterSettings(), 0.01, 4, 4)
    feet.arrays.stance_index[:] = [int(stream.window.stance_index[2 * 1199 + leg]) for leg in range(2)]
    last = feet.arrays.stance_index.copy()
    first = int(stream.estimator.first_valid_frame[0])
    assert first > 20
    stream.drop_frames(20, feet.arrays)
    assert stream.estimator.first_valid_frame[0] == first - 20  # the same frame
    stream.drop_frames(680, feet.arrays)
    assert stream.estimator.first_valid_frame[0] == max(first - 700, 0)
    assert len(stream) == 500
    for frame in frames[1200:]:
        stream.take(frame)
    n = len(stream)
    assert stream.window.com[:n] == pytest.approx(received.window.com[700 : 700 + n], abs=0.0)
    assert (legs(stream) == legs(received)[700:]).all()
    mine, theirs = (s.window.next_stance_index[: 2 * len(s)].reshape(-1, 2) for s in (stream, received))
    dropped = last - feet.arrays.stance_index
    assert (dropped > 0).all()
    assert (mine + dropped == theirs[700:]).all()


def test_dropping_frames_keeps_predicted_ones(walk, frames):
    # Fails if swing feet lose their landing times until the next prediction.
    stream = stream_of(walk, frames[:1200])
    feet = FootStates(stream.window, FilterSettings(), 0.01, 4, 4)
    assert stream.predict(0)
    S = stream.window
    frame_count, spans = int(S.frame_count[0]), S.stance_count.copy()
    assert frame_count > 1300
    feet.arrays.stance_index[:] = [int(S.stance_index[2 * 1199 + leg]) for leg in range(2)]
    last = feet.arrays.stance_index.copy()
    until, on, com = S.time_to_landing[: 2 * frame_count].copy(), S.in_contact[: 2 * frame_count].copy(), S.com[:frame_count].copy()
    stream.drop_frames(700, feet.arrays)
    assert (len(stream), int(S.frame_count[0])) == (500, frame_count - 700)
    assert (S.stance_count == spans - (last - feet.arrays.stance_index)).all()
    assert (S.time_to_landing[: 2 * (frame_count - 700)] == until[1400:]).all()
    assert (S.in_contact[: 2 * (frame_count - 700)] == on[1400:]).all()
    assert (S.com[: frame_count - 700] == com[700:]).all()
