"""Causal contact estimation from known foot heights and speeds: hysteresis, debouncing, floor, footholds, correction of past frames."""

from __future__ import annotations

import numpy as np
import pytest
from tests.filter.two_feet import ALL_CORNERS, DT, LEFT, RIGHT, TwoFeet

from brachiate.filter.online.contact_estimator import (
    CONTACT_SPEED_SLOPE,
    EARLY_LIFTOFF_DEBOUNCE,
    FLOOR_TIME_CONSTANT,
    FOOTHOLD_SETTLE_TIME,
    HEIGHT_OFF,
    HEIGHT_ON,
    LIFTOFF_DEBOUNCE,
    MAX_JUMP,
    OFFSET_DECAY_TIME,
    SPEED_OFF_FACTOR,
    SPEED_ON,
    TOUCHDOWN_DEBOUNCE,
    TOUCHDOWN_SPEED_FACTOR,
    correct_past_frames,
    track_frame,
)
from brachiate.filter.schedule.arrays import NEVER

HIGH = 0.2  # [m] of a swing foot
SLOW, FAST = 0.2, 3.0  # [m/s] horizontal: neither stationary nor too fast for contact; too fast


@pytest.fixture
def feet(monkeypatch) -> TwoFeet:
    return TwoFeet(monkeypatch)


def place(z=0.0, x=0.0):
    """Positions of both feet: the left one on the floor at x = 0, the right one at this height and x."""
    return (0.0, 0.1, 0.0), (x, -0.1, z)


def moving(vx=0.0, vz=0.0):
    """Velocities of both feet: the left one at rest."""
    return (0.0, 0.0, 0.0), (vx, 0.0, vz)


def frames(seconds):
    return round(seconds / DT)


def in_contact(feet, z, vx, vz=0.0, com_speed=0.0):
    """Whether the corners of the right foot are in contact in one more frame."""
    feet.process(place(z), moving(vx, vz), com_speed)
    mask = feet.est.raw_contact_mask[2 * (feet.frame - 1) + RIGHT]
    assert mask in (0, ALL_CORNERS)
    return mask == ALL_CORNERS


# --- detection ------------------------------------------------------------------------------------


def test_contact_begins_below_the_touchdown_height_and_ends_above_the_liftoff_height(feet):
    between = 0.5 * (HEIGHT_ON + HEIGHT_OFF)
    assert not in_contact(feet, HIGH, SLOW)
    assert not in_contact(feet, between, SLOW)
    assert in_contact(feet, HEIGHT_ON - 1e-6, SLOW)
    assert in_contact(feet, between, SLOW)  # hysteresis
    assert not in_contact(feet, HEIGHT_OFF + 1e-6, SLOW)
    assert not in_contact(feet, between, SLOW)


def test_contact_begins_below_a_speed_and_ends_above_a_larger_one(feet):
    z, limit = 0.5 * HEIGHT_ON, SPEED_ON
    between = 0.5 * (1.0 + SPEED_OFF_FACTOR) * limit
    assert not in_contact(feet, HIGH, 0.0)
    assert not in_contact(feet, z, between)
    assert in_contact(feet, z, limit - 1e-6)
    assert in_contact(feet, z, between)  # hysteresis
    assert not in_contact(feet, z, SPEED_OFF_FACTOR * limit + 1e-6)


def test_the_speed_limit_grows_with_the_speed_of_the_body(feet):
    z, com_speed = 0.5 * HEIGHT_ON, 2.0
    limit = SPEED_ON + CONTACT_SPEED_SLOPE * com_speed
    assert not in_contact(feet, HIGH, 0.0, com_speed=com_speed)
    assert not in_contact(feet, z, limit + 1e-6, com_speed=com_speed)
    assert in_contact(feet, z, limit - 1e-6, com_speed=com_speed)


def test_a_foot_may_land_on_the_floor_itself_at_a_higher_speed(feet):
    speed = 0.5 * (1.0 + TOUCHDOWN_SPEED_FACTOR) * SPEED_ON
    assert not in_contact(feet, HIGH, 0.0)
    assert not in_contact(feet, 0.5 * HEIGHT_ON, speed)
    assert in_contact(feet, 0.0, speed)


def test_a_rising_foot_makes_no_contact(feet):
    assert not in_contact(feet, HIGH, 0.0)
    assert not in_contact(feet, 0.0, 0.0, vz=0.3)
    assert in_contact(feet, 0.0, 0.0, vz=-0.3)


def test_a_descending_foot_is_announced(feet):
    for _ in range(frames(0.1)):
        feet.process(place(HIGH))
    feet.process(place(0.05), moving(vz=-0.5))
    assert feet.window.contact_mask[2 * (feet.frame - 1) + RIGHT] == 0
    assert feet.window.upcoming_mask[2 * (feet.frame - 1) + RIGHT] == ALL_CORNERS
    feet.process(place(0.05), moving(vz=0.5))
    assert feet.window.upcoming_mask[2 * (feet.frame - 1) + RIGHT] == 0


# --- debouncing -----------------------------------------------------------------------------------


def test_a_foot_that_grazes_the_floor_is_no_stance(feet):
    feet.process(place(HIGH))
    for _ in range(frames(TOUCHDOWN_DEBOUNCE)):  # as long as the debounce time, not longer
        feet.process(place(0.0), moving(SLOW))
    feet.process(place(HIGH))
    assert not feet.stance(RIGHT).any()
    assert feet.stance(LEFT).all()
    assert feet.stances(LEFT) == [(0, feet.frame)]


def test_a_touchdown_is_backdated_to_its_first_frame(feet):
    start, contact = 40, frames(TOUCHDOWN_DEBOUNCE) + 1
    for _ in range(start):
        feet.process(place(HIGH))
    assert feet.window.time_to_landing[2 * (start - 1) + RIGHT] == NEVER
    for k in range(contact):
        assert not feet.stance(RIGHT).any(), k
        feet.process(place(0.0), moving(SLOW))
    assert np.flatnonzero(feet.stance(RIGHT)).tolist() == list(range(start, start + contact))
    assert feet.stances(RIGHT)[-1] == (start, start + contact)
    # The swing before it knows when it lands
    assert feet.window.time_to_landing[: 2 * start][RIGHT::2] == pytest.approx(DT * (start - np.arange(start)))
    assert (feet.window.next_stance_index[: 2 * start][RIGHT::2] == feet.window.stance_index[2 * start + RIGHT]).all()


@pytest.mark.parametrize(("age", "debounce"), [(FOOTHOLD_SETTLE_TIME + 0.05, LIFTOFF_DEBOUNCE), (0.06, EARLY_LIFTOFF_DEBOUNCE)])
def test_a_liftoff_counts_after_its_debounce_time(feet, age, debounce):
    # Shortly after touchdown feet bounce: they must be off the floor for longer
    swing, contact = 40, frames(age)
    for _ in range(swing):
        feet.process(place(HIGH))
    for _ in range(contact):
        feet.process(place(0.0), moving(SLOW))
    for _ in range(frames(debounce)):
        feet.process(place(HIGH))
        assert feet.stance(RIGHT)[-1]
    feet.process(place(HIGH))
    assert not feet.stance(RIGHT)[-1]
    assert feet.stances(RIGHT)[-1] == (swing, swing + contact)


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
    n = 150
    for _ in range(n):
        feet.process(((0.0, 0.1, 0.31), (0.0, -0.1, 0.5)))
    assert feet.est.floor_height[0] == pytest.approx(0.31 - 0.01 * (1.0 - DT / FLOOR_TIME_CONSTANT) ** n)


@pytest.mark.parametrize(("z", "speed"), [(0.29, FAST), (0.3 - HEIGHT_OFF - 1e-6, 0.0)])
def test_the_floor_ignores_moving_feet_and_outliers(feet, z, speed):
    feet.process(((0.0, 0.1, 0.3), (0.0, -0.1, 0.5)))
    feet.process(((0.0, 0.1, z), (0.0, -0.1, 0.5)), ((speed, 0.0, 0.0), (0.0, 0.0, 0.0)))
    assert feet.est.floor_height[0] == 0.3


def test_corner_positions_are_on_the_ground_of_the_simulation(feet):
    feet.est.ground_height[0] = 1.5
    feet.process(place(HIGH, x=0.4))
    corners = feet.window.corner_positions[:16].reshape(2, 8, 3)[RIGHT, :4]
    assert (corners[:, 2] == 1.5).all()
    assert corners[:, 0] == pytest.approx([0.3, 0.3, 0.55, 0.55])


# --- footholds ------------------------------------------------------------------------------------


def landed(feet, swing=40, sliding=30, standing=60):
    """Swing, touchdown at x = 0.5, slide to x = 0.56, stand there. Returns the x of all frames."""
    x = [*np.full(swing, 0.5), *np.linspace(0.5, 0.56, sliding), *np.full(standing, 0.56)]
    for k, each in enumerate(x):
        slides = swing <= k < swing + sliding
        feet.process(place(HIGH if k < swing else 0.0, x=each), moving(0.3 if slides else 0.0))
    return np.array(x)


def test_the_foothold_is_where_the_foot_is_stationary(feet):
    landed(feet)
    footholds = feet.est.foothold.reshape(2, 8, 3)[RIGHT, :4]
    assert footholds[:, 0].mean() == pytest.approx(0.56 + 0.025)  # center of the sole
    assert feet.est.foothold_time.reshape(2, 8)[RIGHT, :4] == pytest.approx(60 * DT)
    assert feet.offsets(RIGHT)[-1] == pytest.approx(0.0, abs=1e-12)


def test_the_offset_decays_after_liftoff(feet):
    landed(feet)
    for _ in range(frames(LIFTOFF_DEBOUNCE) + 1):
        feet.process(place(HIGH, x=0.56))
    assert not feet.stance(RIGHT)[-1]
    first = np.array((0.03, -0.01, 0.0))
    feet.window.foot_offset[2 * (feet.frame - 1) + RIGHT] = first
    for n in range(1, 11):
        feet.process(place(HIGH, x=0.56))
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
