"""Early landings: the longest swing, the way of the foot, and the contact schedule until the reference has landed, too."""

from __future__ import annotations

import numpy as np
import pytest
from tests.filter.synthetic_window import ALL_CORNERS, DT, LEFT, RIGHT, feet_of, foot_corners, two_foot_window

from brachiate.compiled import array_fields
from brachiate.filter.footsteps.capture_step import LANDING, NO_LEG, CaptureStep
from brachiate.filter.footsteps.capture_step_kernels import overlay_frame, overlay_stances
from brachiate.filter.footsteps.early_landing import (
    FOREVER,
    advance_blend,
    foot_in_the_air,
    has_landed,
    longest_swing,
    next_landing,
    release_feet,
    shortened_swing,
    start_landing,
)
from brachiate.filter.schedule.arrays import MAX_CORNERS, STEP_REACH, ReferenceWindow

LIFT_OFF, LANDING_FRAME, NOW, EARLY = 20, 60, 30, 12  # frames of the swing of the left foot; present frame; frames to the early landing
WALK = ([(0, LIFT_OFF, 0.0), (LANDING_FRAME, 98, 0.4)], [(0, 98, 0.2)])
KICK = ([(0, LIFT_OFF, 0.0)], [(0, 98, 0.2)])  # the left foot never lands
GRAVITY = 9.81


def make_step() -> CaptureStep:
    step = CaptureStep(**{name: np.zeros((2 * MAX_CORNERS, *kind.row), kind.dtype) for name, kind in array_fields(CaptureStep).items()})
    step.swing_leg[0], step.swing_duration[0] = NO_LEG, 0.25
    return step


def copy(window: ReferenceWindow) -> ReferenceWindow:
    return ReferenceWindow(*(array.copy() for array in window))


def swinging(stances):
    """Window, feet and step at the present frame, in which the left foot swings."""
    window = two_foot_window(stances)
    feet, step = feet_of(window).arrays, make_step()
    feet.in_contact[:], feet.stance_index[:] = (0, 1), (0, 0)
    return window, feet, step


def test_the_longest_swing_solves_the_pendulum():
    """Law: e' = ω (e − a) brings the error from e to the limit in this time. Fails if the CoP is left out or has the wrong sign."""
    error, limit, authority, omega = 0.15, 0.4, 0.04, 3.1
    time = longest_swing(error, limit, authority, omega)
    steps = 20_000
    for _ in range(steps):
        error += time / steps * omega * (error - authority)
    assert error == pytest.approx(limit, rel=1e-3)
    assert longest_swing(0.03, limit, authority, omega) == np.inf
    assert longest_swing(0.5, limit, authority, omega) == 0.0


def test_only_a_swing_that_is_lost_is_shortened():
    window, feet, step = swinging(WALK)
    landing, number = next_landing(window, NOW, LEFT)
    assert (landing, number) == (LANDING_FRAME, 1)
    assert shortened_swing(window, feet, step, NOW, LEFT, landing, 0.08, GRAVITY) == np.inf
    lost = shortened_swing(window, feet, step, NOW, LEFT, landing, 0.2, GRAVITY)
    assert 0.0 < lost < (LANDING_FRAME - NOW) * DT
    assert shortened_swing(window, feet, step, NOW, LEFT, landing, 2.0 * feet.gain[STEP_REACH], GRAVITY) > 0.1  # a foot needs its time


def test_the_foot_in_the_air_is_the_one_that_lands():
    window, feet, _ = swinging(WALK)
    assert foot_in_the_air(window, feet, NOW) == LEFT
    feet.in_contact[RIGHT] = 0  # in flight nothing can be done
    assert foot_in_the_air(window, feet, NOW) == NO_LEG
    feet.in_contact[:] = 1
    assert foot_in_the_air(window, feet, NOW) == NO_LEG


def test_the_blend_comes_to_rest_at_the_landing():
    step, n, dt = make_step(), 150, 0.001
    shares = []
    for k in range(n):
        advance_blend(step, LEFT, 1.0, (n - k) * dt, dt)
        shares.append(step.blend[LEFT, 0])
    assert shares[-1] == pytest.approx(1.0, abs=2e-3)
    assert (np.diff(shares) >= -1e-12).all()
    assert abs(step.blend[LEFT, 1]) * dt < 2e-3


@pytest.mark.parametrize(("stances", "until", "foothold"), [(WALK, LANDING_FRAME, 0.4), (KICK, FOREVER, 0.0)])
def test_the_foot_stands_from_its_early_landing_until_the_reference_has_landed(stances, until, foothold):
    # In a kick the reference never lands: the foot comes down where it stood. Fails if other corners or another number are taken.
    window, feet, step = swinging(stances)
    landing, number = next_landing(window, NOW, LEFT)
    start_landing(window, feet, step, LEFT, NOW, landing, number, EARLY)
    assert step.hold_until[LEFT] == until
    view = copy(window)
    for i in range(NOW, 90):
        overlay_frame(window, view, feet, step, i)
    overlay_stances(window, view, feet, step, NOW, 60)
    contact = view.in_contact.reshape(-1, 2)
    assert not contact[NOW : NOW + EARLY, LEFT].any()
    assert contact[NOW + EARLY : 90, LEFT].all()
    assert contact[NOW:90, RIGHT].all()
    k = NOW + EARLY
    assert view.time_to_landing[2 * NOW + LEFT] == pytest.approx(EARLY * DT)
    assert view.contact_mask[2 * k + LEFT] == ALL_CORNERS
    assert view.stance_index[2 * k + LEFT] == view.next_stance_index[2 * k + LEFT] == number
    assert view.corner_positions[MAX_CORNERS * (2 * k + LEFT) :][:4] == pytest.approx(foot_corners(LEFT, foothold))
    capacity = len(window.stance_frames) // 2
    assert view.stance_frames[LEFT * capacity + number, 0] == k
    assert view.stance_count[LEFT] > number


def test_a_foot_that_stands_is_released_when_the_body_is_calm_or_the_reference_has_landed():
    window, feet, step = swinging(WALK)
    step.kind[0], step.held[LEFT], step.hold_until[LEFT] = LANDING, 1, LANDING_FRAME
    feet.in_contact[LEFT], feet.stance_index[LEFT] = 1, 1
    release_feet(window, feet, step, LANDING_FRAME - 1, True)
    assert step.held[LEFT]
    assert has_landed(window, LEFT, LANDING_FRAME, 1)
    release_feet(window, feet, step, LANDING_FRAME, False)
    assert not step.held[LEFT]
    window, feet, step = swinging(KICK)
    step.held[LEFT], step.hold_until[LEFT] = 1, FOREVER
    release_feet(window, feet, step, NOW, False)
    assert step.held[LEFT]
    release_feet(window, feet, step, NOW, True)
    assert not step.held[LEFT]
    assert feet.stance_index[LEFT] == -1  # its next landing has the same number
