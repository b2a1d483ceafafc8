"""Contact estimation of incoming frames from known heights and speeds of the feet: modes, lag, floor, footholds, offsets of feet."""

from __future__ import annotations

import numpy as np
import pytest
from tests.filter.two_feet import ALL_CORNERS, DT, LEFT, RIGHT, TwoFeet

from brachiate.contact_estimation.contact_costs import kinematic_cost
from brachiate.contact_estimation.cost_constants import FREE_COST
from brachiate.contact_estimation.mode_sequence import cheapest_sequence
from brachiate.errors import ArgumentError
from brachiate.filter.online import reference_stream
from brachiate.filter.online.contact_estimator import FLOOR_TIME_CONSTANT, MAX_FLOOR_CHANGE
from brachiate.filter.online.contact_modes import (
    HEIGHT_SCALE,
    MAX_LEGS,
    advance_modes,
    decide_modes,
    end_cost,
    foot_mode,
    switch_cost,
)
from brachiate.filter.online.footholds import CLEARANCE_TIME, OFFSET_DECAY_TIME, SWING_CLEARANCE, correct_past_frames, raise_swing_feet
from brachiate.filter.online.reference_stream import ReferenceStream
from brachiate.filter.online.smoothing import MAX_JUMP, track_frame
from brachiate.filter.schedule.arrays import NEVER
from brachiate.filter.schedule.contact_schedule import ContactLink
from brachiate.filter.settings import FilterSettings

HIGH = 0.2  # [m] of a swing foot
SLOW, FAST = 0.2, 3.0  # [m/s] horizontal: possible in contact; too fast
LAG = 40  # [frames]
GRAVITY = 9.81  # [m/s²]


@pytest.fixture
def feet(monkeypatch) -> TwoFeet:
    made = TwoFeet(monkeypatch)
    made.est.first_valid_frame[0] = 0
    return made


def place(z=0.0, x=0.0):
    """Positions of both feet: the left one on the floor at x = 0, the right one at this height and x."""
    return (0.0, 0.1, 0.0), (x, -0.1, z)


def moving(vx=0.0, vz=0.0):
    """Velocities of both feet: the left one at rest."""
    return (0.0, 0.0, 0.0), (vx, 0.0, vz)


def frames(seconds):
    return round(seconds / DT)


def swing_and_stand(feet, swing, stand, lag=0):
    for k in range(swing + stand):
        feet.process(place(HIGH if k < swing else 0.0), moving(FAST if k < swing else 0.0), lag=lag)


# --- modes ----------------------------------------------------------------------------------------


def test_the_sequence_of_modes_is_the_cheapest_one(feet):
    """Peer: dynamic programming over whole motions. Fails if a switching cost is forgotten or the way back is another one."""
    est, n, rng = feet.est, 60, np.random.default_rng(1)
    cost = rng.normal(0.0, 2.0, (n, len(est.least)))
    for f in range(n):
        est.mode_cost[:] = cost[f]
        advance_modes(est, f)
    assert decide_modes(est, n - 1, 0) == 0
    combinations = range(len(est.least))
    switch = np.array(
        [[sum(switch_cost(foot_mode(a, leg), foot_mode(b, leg)) for leg in (LEFT, RIGHT)) for b in combinations] for a in combinations]
    )
    assert est.mode[:n].tolist() == cheapest_sequence(cost, switch).mode.tolist()


def test_costs_are_those_of_whole_motions():
    for height, speed, normal in ((0.0, 0.0, 0.0), (0.02, 0.3, -0.1), (0.1, 2.0, 0.0), (-0.03, 0.1, 0.2)):
        expected = kinematic_cost(np.array([height]), np.array([speed]), np.array([normal]), HEIGHT_SCALE)
        assert end_cost(height, speed, normal) == pytest.approx(float(expected[0]))
    assert end_cost(0.0, 0.0, 0.0) == -FREE_COST


@pytest.mark.parametrize(("lag", "late"), [(0, 12), (LAG, 1)])
def test_frames_that_wait_are_labelled_on_time(feet, lag, late):
    # Fails if the frames that wait keep what was decided when they arrived: they know of a touchdown only some frames later
    swing, stand = 60, LAG
    swing_and_stand(feet, swing, stand, lag)
    on = np.flatnonzero(feet.stance(RIGHT))
    assert swing <= on[0] <= swing + late
    assert on.tolist() == list(range(on[0], swing + stand))
    assert feet.stances(RIGHT)[-1] == (on[0], swing + stand)
    assert feet.stance(LEFT).all()
    assert feet.window.time_to_landing[: 2 * on[0]][RIGHT::2] == pytest.approx(DT * (on[0] - np.arange(on[0])))
    assert (feet.window.next_stance_index[: 2 * on[0]][RIGHT::2] == feet.window.stance_index[2 * on[0] + RIGHT]).all()


def test_frames_that_have_been_tracked_keep_their_contacts(feet):
    # Fails if all frames are decided anew: the touchdown at frame 60 is noticed some frames later
    swing_and_stand(feet, 60, 30)
    first = int(np.flatnonzero(feet.stance(RIGHT))[0])
    assert 62 < first < 75
    feet.process(place(0.0), lag=90 - first)
    assert not feet.stance(RIGHT)[:first].any()
    feet.process(place(0.0), lag=91 - 60)
    assert int(np.flatnonzero(feet.stance(RIGHT))[0]) < first


def test_a_foot_that_grazes_the_floor_is_no_stance(feet):
    for k in range(100):
        low = 60 <= k < 64
        feet.process(place(0.0 if low else HIGH), moving(SLOW if low else FAST), lag=LAG)
    assert not feet.stance(RIGHT).any()
    assert feet.stances(LEFT) == [(0, feet.frame)]
    assert (feet.window.time_to_landing[: 2 * feet.frame][RIGHT::2] == NEVER).all()


@pytest.mark.parametrize(("acceleration", "stands"), [(0.0, True), (-GRAVITY, False)])
def test_there_is_no_flight_in_which_nothing_falls(feet, acceleration, stands):
    # Both feet 4 cm above the floor, as captured ones may be. Fails without the root residual: then both swing in either case.
    for k in range(80):
        z = 0.0 if k < 20 else 0.04
        feet.process(
            ((0.0, 0.1, z), (0.0, -0.1, HIGH)), ((0.5 if k >= 20 else 0.0, 0.0, 0.0), (FAST, 0.0, 0.0)), acceleration if k >= 20 else 0.0
        )
    assert bool(feet.stance(LEFT)[-1]) == stands
    assert not feet.stance(RIGHT).any()


def test_a_descending_foot_is_announced(feet):
    for _ in range(frames(0.1)):
        feet.process(place(HIGH), moving(FAST))
    feet.process(place(0.05), moving(FAST, vz=-0.5))
    assert feet.window.contact_mask[2 * (feet.frame - 1) + RIGHT] == 0
    assert feet.window.upcoming_mask[2 * (feet.frame - 1) + RIGHT] == ALL_CORNERS
    feet.process(place(0.05), moving(FAST, vz=0.5))
    assert feet.window.upcoming_mask[2 * (feet.frame - 1) + RIGHT] == 0


def test_more_feet_than_have_modes_are_refused(feet, monkeypatch):
    soles = tuple(ContactLink("left", leg, np.zeros((4, 3)), True) for leg in range(MAX_LEGS + 1))
    monkeypatch.setattr(reference_stream, "foot_soles", lambda _: soles)
    with pytest.raises(ArgumentError, match="contacts of at most 4 feet are estimated; 'feet' has 5"):
        ReferenceStream(feet.data.model, FilterSettings(), DT, 0.0, 0.0)


def test_load_shifts_to_the_stance_leg(feet):
    for _ in range(100):
        feet.process(place(HIGH))
    share = feet.window.load_share[: 2 * feet.frame].reshape(-1, 2)
    assert share.sum(axis=1) == pytest.approx(1.0)
    assert share[-1, LEFT] > 0.99


# --- floor ----------------------------------------------------------------------------------------


def test_the_floor_follows_resting_feet_with_its_time_constant(feet):
    feet.process(((0.0, 0.1, 0.3), (0.0, -0.1, 0.5)))
    assert feet.est.floor_height[0] == pytest.approx(0.3)
    settled, n = round(FLOOR_TIME_CONSTANT / DT), 150
    for _ in range(settled):  # at first the mean
        feet.process(((0.0, 0.1, 0.3), (0.0, -0.1, 0.5)))
    for _ in range(n):
        feet.process(((0.0, 0.1, 0.31), (0.0, -0.1, 0.5)))
    assert feet.est.floor_height[0] == pytest.approx(0.31 - 0.01 * (1.0 - DT / FLOOR_TIME_CONSTANT) ** n)


def test_the_floor_of_the_first_frame_is_given_up_for_that_of_resting_feet(feet):
    feet.process(((0.0, 0.1, 0.3), (0.0, -0.1, 0.5)), ((FAST, 0.0, 0.0), (FAST, 0.0, 0.0)))
    feet.process(((0.0, 0.1, 0.35), (0.0, -0.1, 0.5)))
    assert feet.est.floor_height[0] == pytest.approx(0.35)


@pytest.mark.parametrize(("z", "speed"), [(0.29, FAST), (0.3 - MAX_FLOOR_CHANGE - 1e-6, 0.0)])
def test_the_floor_ignores_moving_feet_and_outliers(feet, z, speed):
    feet.process(((0.0, 0.1, 0.3), (0.0, -0.1, 0.5)))
    feet.process(((0.0, 0.1, z), (0.0, -0.1, 0.5)), ((speed, 0.0, 0.0), (0.0, 0.0, 0.0)))
    assert feet.est.floor_height[0] == 0.3


def test_corner_positions_are_on_the_ground_of_the_simulation(feet):
    feet.est.ground_height[0] = 1.5
    feet.process(place(0.01, x=0.4))
    corners = feet.window.corner_positions[:16].reshape(2, 8, 3)[RIGHT, :4]
    assert (corners[:, 2] == 1.5).all()
    assert corners[:, 0] == pytest.approx([0.3, 0.3, 0.55, 0.55])


# --- footholds ------------------------------------------------------------------------------------


def landed(feet, swing=40, sliding=30, standing=60):
    """Swing, touchdown at x = 0.5, slide to x = 0.56, stand there. Returns the x of all frames."""
    x = [*np.full(swing, 0.5), *np.linspace(0.5, 0.56, sliding), *np.full(standing, 0.56)]
    for k, each in enumerate(x):
        slides = swing <= k < swing + sliding
        feet.process(place(HIGH if k < swing else 0.0, x=each), moving(FAST if k < swing else 0.3 if slides else 0.0), lag=LAG)
    return np.array(x)


def test_the_foothold_is_where_the_foot_is_stationary(feet):
    landed(feet)
    footholds = feet.est.foothold.reshape(2, 8, 3)[RIGHT, :4]
    assert footholds[:, 0].mean() == pytest.approx(0.56 + 0.025)  # center of the sole
    assert feet.est.foothold_time.reshape(2, 8)[RIGHT, :4] == pytest.approx(60 * DT)
    assert feet.offsets(RIGHT)[-1] == pytest.approx(0.0, abs=1e-12)


def test_the_offset_decays_after_liftoff(feet):
    landed(feet)
    for _ in range(30):
        feet.process(place(HIGH, x=0.56), moving(FAST))
    assert not feet.stance(RIGHT)[-1]
    first = np.array((0.03, -0.01, 0.0))
    feet.window.foot_offset[2 * (feet.frame - 1) + RIGHT] = first
    for n in range(1, 11):
        feet.process(place(HIGH, x=0.56), moving(FAST))
        assert feet.offsets(RIGHT)[-1] == pytest.approx((1.0 - DT / OFFSET_DECAY_TIME) ** n * first)
        assert feet.window.foot_offset_rate[2 * (feet.frame - 1) + RIGHT] == pytest.approx(-feet.offsets(RIGHT)[-2] / OFFSET_DECAY_TIME)


def test_past_frames_are_corrected_to_the_foothold(feet):
    swing = 40
    x = landed(feet, swing)
    correct_past_frames(feet.window, feet.est, feet.frame - 1, RIGHT, DT)
    offsets = feet.offsets(RIGHT)
    assert offsets[swing:, 0] == pytest.approx(0.56 - x[swing:], abs=1e-9)  # every stance frame is moved to the foothold
    assert (np.diff(offsets[1:swing, 0]) > 0.0).all()  # the swing before it goes there smoothly
    assert offsets[1, 0] == pytest.approx(0.0, abs=1e-4)
    assert offsets[swing - 1, 0] == pytest.approx(0.06, abs=1e-4)
    rate = feet.window.foot_offset_rate[: 2 * swing][RIGHT::2, 0]
    assert rate[2 : swing - 1] == pytest.approx(np.gradient(offsets[: swing + 1, 0], DT)[2 : swing - 1], rel=0.05, abs=0.02)
    assert (feet.offsets(LEFT) == 0.0).all()


def test_feet_that_rest_at_different_heights_are_lowered_to_one_floor(feet):
    # The right foot rests 2 cm above the left one. Fails if its offset does not make up for it.
    for _ in range(frames(2.0)):
        feet.process(place(0.02))
    offsets = [feet.offsets(leg)[-1, 2] for leg in (LEFT, RIGHT)]
    assert offsets[LEFT] - offsets[RIGHT] == pytest.approx(0.02, abs=1e-3)
    assert sum(offsets) == pytest.approx(0.0, abs=1e-9)  # the mean is that of the whole reference


def test_swing_feet_clear_the_ground_until_shortly_before_they_land(feet):
    swing, stand, low = 100, 20, 0.005
    for k in range(20 + swing + stand):
        stands = not 20 <= k < 20 + swing
        feet.process(place(0.0 if stands else low), moving(0.0 if stands else FAST), lag=200)
    start, end = feet.stances(RIGHT)[0][1], feet.stances(RIGHT)[1][0]
    heights = []
    for k in range(start, end):
        raise_swing_feet(feet.window, feet.est, k, DT)
        heights.append(low + feet.offsets(RIGHT)[k, 2])
    assert max(heights) == pytest.approx(SWING_CLEARANCE)
    assert min(heights[frames(CLEARANCE_TIME) : -frames(CLEARANCE_TIME)]) == pytest.approx(SWING_CLEARANCE)
    assert heights[-1] == pytest.approx(low)
    assert (np.diff(heights[-frames(CLEARANCE_TIME) :]) <= 1e-12).all()


# --- smoothing ------------------------------------------------------------------------------------


def test_a_jump_is_named_and_rejected(feet):
    T, est = feet.data.model.tree, feet.est
    est.frame[:] = feet.data.model.neutral
    assert track_frame(T, est, DT, True) == -1
    est.frame[9] += MAX_JUMP + 0.01
    q = est.q.copy()
    assert track_frame(T, est, DT, False) == 8  # z of the second foot
    assert np.array_equal(est.q, q)
    est.frame[9] -= 0.02
    assert track_frame(T, est, DT, False) == -1
