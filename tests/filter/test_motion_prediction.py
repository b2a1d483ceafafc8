"""Prediction of a reference from its own history: a cycle is continued exactly, the nearest frame is found, or nothing is predicted."""

from __future__ import annotations

import numpy as np
import pytest
from tests.filter.two_feet import ALL_CORNERS, CORNERS, LEFT, LOOKAHEAD, RIGHT, TwoFeet

from brachiate.filter.online.contact_estimator import update_stances
from brachiate.filter.online.motion_prediction import (
    MAX_FEATURE_DISTANCE,
    MIN_MIRRORED_HISTORY,
    nearest_frame,
    predict_frame,
    predict_from_history,
)
from brachiate.filter.schedule.arrays import MAX_CORNERS, NEVER

DT = 0.01
PERIOD = 60  # [frames] of the gait cycle
SPEED = 0.8  # [m/s]
STANCE = 40  # [frames] of each foot in a cycle
KNOWN = 110  # [frames]: one frame in the past has the same phase as the last one
HORIZON = 50  # [frames]


class Gait:
    """Periodic gait along x: values of all frames, in closed form, with a heading [rad] and a start (x, y) [m]."""

    def __init__(self, heading=0.0, start=(0.0, 0.0)):
        self.heading, self.start = heading, np.array((*start, 0.0))
        c, s = np.cos(heading), np.sin(heading)
        self.R = np.array(((c, -s, 0.0), (s, c, 0.0), (0.0, 0.0, 1.0)))

    def along(self, k):
        """Position along the path [m]."""
        return SPEED * DT * k

    def com(self, k):
        phase = 2.0 * np.pi * k / PERIOD
        return self.start + self.R @ (self.along(k), 0.03 * np.sin(phase), 1.0 + 0.02 * np.cos(2.0 * phase))

    def com_velocity(self, k):
        phase = 2.0 * np.pi * k / PERIOD
        return self.R @ (SPEED, 0.2 * np.cos(phase), -0.4 * np.sin(2.0 * phase))

    def inertia(self, k):
        phase = 2.0 * np.pi * k / PERIOD
        off_axis = 0.1 * np.cos(phase)
        return self.R @ np.array(((9.0 + np.sin(phase), 0.5, 0.2), (0.5, 8.0, off_axis), (0.2, off_axis, 2.0))) @ self.R.T

    def stance(self, k, leg):
        return (k + leg * PERIOD // 2) % PERIOD < STANCE

    def corners(self, k, leg):
        cycle = (k + leg * PERIOD // 2) // PERIOD
        foot = np.array((SPEED * DT * PERIOD * (cycle - 0.5 * leg), 0.1 - 0.2 * leg, 0.0))
        return self.start + (foot + CORNERS) @ self.R.T

    def feature(self, k, n):
        return np.cos(2.0 * np.pi * k / PERIOD + np.arange(n))

    def write(self, feet, k):
        """Write frame k into the window and the features, as if it had been received."""
        window, est, n = feet.window, feet.est, int(feet.est.feature_size[0])
        root = self.start + self.R @ (self.along(k), 0.0, 0.9)
        window.q[14 * k : 14 * k + 7] = (*root, np.cos(self.heading / 2), 0.0, 0.0, np.sin(self.heading / 2))
        window.com[k], window.com_velocity[k], window.locked_inertia[k] = self.com(k), self.com_velocity(k), self.inertia(k)
        window.height_slack[k] = 0.05 + 0.01 * np.sin(2.0 * np.pi * k / PERIOD)
        for leg in (LEFT, RIGHT):
            on = self.stance(k, leg)
            window.in_contact[2 * k + leg] = on
            window.contact_mask[2 * k + leg] = window.upcoming_mask[2 * k + leg] = ALL_CORNERS if on else 0
            window.corner_positions[MAX_CORNERS * (2 * k + leg) :][:4] = self.corners(k, leg)
        est.feature[n * k : n * (k + 1)] = self.feature(k, n)
        update_stances(window, est, k, DT, LOOKAHEAD)
        window.frame_count[0] = est.known_frames[0] = k + 1
        est.known_stances[:] = window.stance_count


@pytest.fixture
def feet(monkeypatch) -> TwoFeet:
    made = TwoFeet(monkeypatch, DT)
    made.est.first_valid_frame[0] = 0
    return made


def received(feet, gait, count):
    for k in range(count):
        gait.write(feet, k)
    return feet


def predict(feet, frames=HORIZON):
    return predict_from_history(feet.stream.handle.key, feet.stream._estimator_handle.key, 0, frames, LOOKAHEAD)


# --- a cycle --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("heading", "start"), [(0.0, (0.0, 0.0)), (0.7, (1.0, -2.0))])
def test_a_periodic_motion_is_continued_exactly(feet, heading, start):
    gait = Gait(heading, start)
    window = received(feet, gait, KNOWN).window
    assert predict(feet) == KNOWN - 1 - PERIOD
    assert window.frame_count[0] == KNOWN + HORIZON
    for k in range(KNOWN, KNOWN + HORIZON):
        assert window.com[k] == pytest.approx(gait.com(k), abs=1e-12)
        assert window.com_velocity[k] == pytest.approx(gait.com_velocity(k), abs=1e-12)
        assert window.locked_inertia[k] == pytest.approx(gait.inertia(k), abs=1e-12)
        assert window.height_slack[k] == pytest.approx(window.height_slack[k - PERIOD])
        for leg in (LEFT, RIGHT):
            assert window.in_contact[2 * k + leg] == gait.stance(k, leg), k
            assert (window.contact_mask[2 * k + leg] == ALL_CORNERS) == gait.stance(k, leg)
            corners = window.corner_positions[MAX_CORNERS * (2 * k + leg) :][:4]
            assert corners == pytest.approx(gait.corners(k, leg), abs=1e-12)


def test_a_frame_of_the_history_is_turned_to_the_present_heading(feet):
    # The first cycles head along x, the present frame along y: the continuation of those frames is predicted along y
    before, now = Gait(), Gait(np.pi / 2, (3.0, 1.0))
    received(feet, before, KNOWN - 1)
    now.write(feet, KNOWN - 1)
    p = predict(feet)
    assert p == KNOWN - 1 - PERIOD
    for k in range(KNOWN, KNOWN + HORIZON):
        assert feet.window.com[k] == pytest.approx(now.com(k), abs=1e-12)
        assert feet.window.com_velocity[k] == pytest.approx(now.com_velocity(k), abs=1e-12)
        assert feet.window.locked_inertia[k] == pytest.approx(now.inertia(k), abs=1e-12)


def test_half_a_cycle_is_continued_by_what_the_other_leg_has_done(feet):
    # Fails without the search in a mirror, or if a velocity or a foot is not reflected: no earlier frame has the phase of the last one
    gait, known, half = Gait(0.4, (1.0, -2.0)), 55, PERIOD // 2
    window = received(feet, gait, known).window
    assert predict(feet) == known - 1 - half
    assert window.frame_count[0] == known + half
    for k in range(known, known + half):
        assert window.com[k] == pytest.approx(gait.com(k), abs=1e-12)
        assert window.com_velocity[k] == pytest.approx(gait.com_velocity(k), abs=1e-12)
        for leg in (LEFT, RIGHT):
            assert window.in_contact[2 * k + leg] == gait.stance(k, leg), k
            corners = window.corner_positions[MAX_CORNERS * (2 * k + leg) :][:4]
            assert corners.mean(axis=0) == pytest.approx(gait.corners(k, leg).mean(axis=0), abs=1e-12)


def test_inertia_is_reflected_too(feet):
    # Fails if an entry has the wrong sign: then the principal moments of inertia change
    window = received(feet, Gait(0.4, (1.0, -2.0)), 40).window
    predict_frame(window, feet.est, 10, 39, 1, -1.0)
    assert np.linalg.eigvalsh(window.locked_inertia[40]) == pytest.approx(np.linalg.eigvalsh(window.locked_inertia[11]), rel=1e-12)
    assert not np.allclose(window.locked_inertia[40], window.locked_inertia[11], atol=0.1)


def test_landings_are_known_from_the_prediction(feet):
    gait = Gait()
    window = received(feet, gait, KNOWN).window
    k = KNOWN - 1
    (swing,) = (leg for leg in (LEFT, RIGHT) if not gait.stance(k, leg))
    assert window.time_to_landing[2 * k + swing] == NEVER
    predict(feet)
    landing = next(i for i in range(k, k + PERIOD) if gait.stance(i, swing))
    assert window.time_to_landing[2 * k + swing] == pytest.approx((landing - k) * DT)
    capacity = len(window.stance_frames) // 2
    assert window.stance_frames[swing * capacity + window.stance_count[swing] - 1, 0] == landing


def test_a_prediction_does_not_change_the_estimator(feet):
    est = received(feet, Gait(), KNOWN).est
    before = [array.copy() for array in est]
    predict(feet)
    for name, array, old in zip(est._fields, est, before, strict=True):
        if name not in ("saved_phase", "phase_changed"):  # scratch
            known = 2 * KNOWN if name == "frame_load" else len(array)  # predicted frames are scratch, too
            assert np.array_equal(array[:known], old[:known]), name
    predict(feet)
    assert feet.window.frame_count[0] == KNOWN + HORIZON  # each prediction starts at the last received frame


def test_a_prediction_is_withdrawn_when_no_frame_is_near(feet):
    gait, window = Gait(), received(feet, Gait(), KNOWN).window
    (swing,) = (leg for leg in (LEFT, RIGHT) if not gait.stance(KNOWN - 1, leg))
    assert predict(feet) >= 0
    feet.est.feature[(KNOWN - 1) * int(feet.est.feature_size[0]) :] += 10.0
    window.com_velocity[KNOWN - 1] += 10.0  # nor is any in a mirror
    assert predict(feet) == -1
    assert window.frame_count[0] == KNOWN
    assert window.time_to_landing[2 * (KNOWN - 1) + swing] == NEVER


def test_a_prediction_ends_with_the_history_and_the_buffer(feet):
    received(feet, Gait(), KNOWN)
    assert predict(feet, 10 * PERIOD) == KNOWN - 1 - PERIOD
    assert feet.window.frame_count[0] == KNOWN + PERIOD  # frames from the nearest one up to the present one


# --- the nearest frame ----------------------------------------------------------------------------


def test_the_nearest_frame_is_found(feet):
    n, est = int(feet.est.feature_size[0]), feet.est
    features = np.random.default_rng(0).normal(size=(40, n))
    features[17] = features[39] + 0.5 * MAX_FEATURE_DISTANCE
    features[23] = features[39] - 0.3 * MAX_FEATURE_DISTANCE
    est.feature[: 40 * n] = features.ravel()
    assert nearest_frame(est, 39, 39) == 23
    assert nearest_frame(est, 39, 23) == 17  # only frames before the end
    assert nearest_frame(est, 39, 17) == -1
    est.first_valid_frame[0] = 24  # frames of the startup transient are not used
    assert nearest_frame(est, 39, 39) == -1


def test_a_frame_that_is_too_different_is_not_used(feet):
    n, est = int(feet.est.feature_size[0]), feet.est
    est.feature[:n] = 1.01 * MAX_FEATURE_DISTANCE
    assert nearest_frame(est, 1, 1) == -1
    est.feature[:n] = 0.99 * MAX_FEATURE_DISTANCE
    assert nearest_frame(est, 1, 1) == 0


@pytest.mark.parametrize("count", [1, round(MIN_MIRRORED_HISTORY / DT)])
def test_nothing_is_predicted_from_too_little_history(feet, count):
    received(feet, Gait(), count)
    assert predict(feet) == -1
    assert feet.window.frame_count[0] == count
