"""Foot trajectories: locked in stance, rolling over heel and toes, released in swing."""

from __future__ import annotations

import numpy as np
import pytest
from tests.foot_locking.feet import CORNERS, foot

from brachiate import rotations
from brachiate.foot_locking.foot_track import FLATTENING_TIME, FootTrack, rest_weights
from brachiate.foot_locking.foot_trajectories import make_foot_trajectory
from brachiate.foot_locking.stance_detection import fit_footholds

DT = 0.01
TIMES = DT * np.arange(201)
STANCES = (TIMES <= 0.5) | (TIMES >= 1.5)
DRIFT = 0.02  # [m/s] at which the captured foot skates in stance


def skating_step(pitch: np.ndarray | float = 0.0, hull: np.ndarray = CORNERS) -> FootTrack:
    """Track of a foot that skates in stance, steps by 0.4 m from 0.5 to 1.5 s, and is pitched (toes down) about its ankle [rad]."""
    s = np.clip(TIMES - 0.5, 0.0, 1.0)
    s = s**3 * (10 - 15 * s + 6 * s * s)
    x = np.stack((0.4 * s + DRIFT * TIMES, 0 * s, 0.4 * s * (1 - s)), axis=1)
    R = rotations.to_matrix(rotations.about_axis(1, np.broadcast_to(pitch, len(TIMES))))
    return FootTrack(foot(hull), R, x, TIMES)


def locked(track: FootTrack, heel: np.ndarray = STANCES, toe: np.ndarray = STANCES, release_time: float = np.inf):
    track.roll_by_contacts(heel, toe)
    footholds = fit_footholds(track, heel | toe, np.zeros(len(TIMES)))
    return make_foot_trajectory(track, footholds, None, np.zeros(len(TIMES)), release_time=release_time)


@pytest.mark.parametrize("release_time", [np.inf, 0.2])
def test_a_stance_foot_stays_at_its_foothold_and_returns_smoothly(release_time):
    """Fails if a correction is left out in stance, or jumps at its ends: DRIFT · 0.25 s is the largest correction."""
    track = skating_step()
    path = locked(track, release_time=release_time).foot
    for span in (TIMES <= 0.5, TIMES >= 1.5):
        assert np.ptp(path.x[span], axis=0).max() < 1e-12
    assert np.abs(path.x - track.x).max() < 1.01 * DRIFT * 0.25 + 1e-3
    # Steps of the correction from frame to frame: at most those of a quintic step within the release time, plus the drift
    steps = np.abs(np.diff(path.x - track.x, axis=0)).max()
    assert steps < (1.875 * 2 * DRIFT * 0.25 / min(1.0, release_time) + 2 * DRIFT) * DT


def test_a_released_foot_follows_its_own_track_in_mid_swing():
    """Interpolated: the mean of both corrections, which cancel here. Released: none, from 0.2 s after the stance on."""
    track = skating_step()
    middle = (TIMES > 0.71) & (TIMES < 1.29)
    assert np.abs(locked(track, release_time=0.2).foot.x - track.x)[middle].max() < 1e-12
    assert np.abs(locked(track).foot.x - track.x)[middle].max() > 1e-3


def square_acceleration(values: np.ndarray) -> float:
    """Integral of the squared second derivative of values over frames."""
    return float((np.diff(values, 2, axis=0) ** 2).sum() / DT**3)


def test_a_released_foot_returns_with_the_least_acceleration():
    """The root residual of a motion grows with accelerations. Least of all: the cubic from the correction and its rate to zero."""
    track, T = skating_step(), 0.2
    correction = (locked(track, release_time=T).foot.x - track.x)[(TIMES > 0.495) & (TIMES < 0.705), 0]
    value, rate = -DRIFT * 0.25, -DRIFT
    least = 12 * value**2 / T**3 + 12 * value * rate / T**2 + 4 * rate**2 / T
    assert square_acceleration(correction) < 1.02 * least


def test_foot_roll_sets_in_with_the_least_acceleration():
    track = skating_step(0.3)
    track.roll_by_contacts(TIMES <= 0.2, TIMES <= 0.5)
    assert square_acceleration(track.rocker_angle[(TIMES > 0.195) & (TIMES < 0.305)]) < 1.02 * 12 * 0.3**2 / FLATTENING_TIME**3


def test_roll_by_contacts():
    """Flat where heel and toe touch, about the heel (toes up) or toe (toes down) where only one does; never the other way."""
    track = skating_step(0.3)
    heel, toe = TIMES < 0.2, (TIMES > 0.1) & (TIMES <= 0.5)
    track.roll_by_contacts(heel, toe)
    assert (track.rocker_angle[heel] == 0.0).all()  # toes down contradicts a contact of the heel alone
    assert (track.rocker_angle[heel & toe] == 0.0).all()
    assert track.rocker_angle[toe][-1] == pytest.approx(0.3)  # away from the flat phase by more than FLATTENING_TIME
    assert TIMES[toe][-1] - TIMES[heel][-1] > FLATTENING_TIME
    pivot = locked(skating_step(0.3), heel, toe).foot
    front = pivot.x + pivot.R @ np.array((0.2, 0.0, 0.0))
    assert np.ptp(front[TIMES <= 0.5], axis=0).max() < 1e-12  # the toe stays in place while the heel rises


def test_rounded_edges_stay_on_the_ground():
    """The lowest point of a sole with rounded edges touches the ground at every pitch; the corners of the rectangle would float."""
    rounded = np.array([(x, y, 0.02 * max(0.0, x - 0.15) / 0.05) for x in np.linspace(-0.05, 0.2, 26) for y in (-0.04, 0.04)])
    toe = TIMES <= 0.5
    path = locked(skating_step(np.minimum(TIMES, 0.4), rounded), np.zeros_like(toe), toe).foot
    lowest = (rounded @ path.R.transpose(0, 2, 1))[..., 2].min(axis=1) + path.x[:, 2]
    assert np.abs(lowest[toe]).max() < 1e-9
    gap = (np.array((0.2, 0.0, 0.02)) @ path.R.transpose(0, 2, 1))[:, 2] + path.x[:, 2]
    assert gap[toe].min() > -1e-9


def test_frames_at_rest_decide_where_a_foot_stands():
    # A foot that rests for 0.3 s and then slides away at 0.2 m/s stands where it rests, to 0.3 mm.
    x = np.concatenate((np.zeros(36), 0.2 * np.arange(1, 31) / 120))
    weights = rest_weights(np.gradient(x, 1 / 120))
    assert 0.0 < weights @ x / weights.sum() < 3e-4
