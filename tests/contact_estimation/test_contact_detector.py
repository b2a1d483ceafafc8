"""Contact detector: hysteresis offline and causal."""

import numpy as np
import pytest

from brachiate.contact_estimation.contact_detector import ContactThresholds, detect_contact, update_contact

LIMITS = ContactThresholds(0.02, 0.04, 0.2, 0.5, 0.3)


def causal(height, speed, normal_speed):
    contact, found = 0, []
    for h, s, n in zip(height, speed, normal_speed, strict=True):
        contact = update_contact(
            contact, h, s, n, LIMITS.height_on, LIMITS.height_off, LIMITS.speed_on, LIMITS.speed_off, LIMITS.normal_speed
        )
        found.append(bool(contact))
    return np.array(found)


def test_a_contact_begins_below_on_and_lasts_below_off():
    height = np.array([0.05, 0.03, 0.01, 0.03, 0.05, 0.03, 0.05])
    still = np.zeros(len(height))
    # 0.03 m is between the thresholds: in contact next to 0.01 m, not where the height never falls below 0.02 m
    assert detect_contact(height, still, LIMITS).tolist() == [False, True, True, True, False, False, False]
    assert causal(height, still, still).tolist() == [False, False, True, True, False, False, False]


def test_speed_has_thresholds_of_its_own():
    low, speed = np.zeros(5), np.array([0.6, 0.3, 0.1, 0.3, 0.6])
    assert detect_contact(low, speed, LIMITS).tolist() == [False, True, True, True, False]
    assert causal(low, speed, np.zeros(5)).tolist() == [False, False, True, True, False]


def test_a_point_that_leaves_is_not_in_contact():
    low, still, leaving = np.zeros(3), np.zeros(3), np.full(3, 0.4)
    assert not detect_contact(low, still, LIMITS, leaving).any()
    assert not causal(low, still, leaving).any()
    assert not detect_contact(low, still, LIMITS, -leaving).any()  # still lands
    assert causal(low, still, -leaving).all()  # causally a landing is taken at once
    assert detect_contact(low, still, LIMITS).all()


@pytest.mark.parametrize("seed", range(20))
def test_offline_is_the_same_backward_in_time_and_contains_the_causal_contacts(seed):
    rng = np.random.default_rng(seed)
    height, speed = rng.uniform(0.0, 0.06, 200), rng.uniform(0.0, 0.8, 200)
    contact = detect_contact(height, speed, LIMITS)
    assert (detect_contact(height[::-1], speed[::-1], LIMITS)[::-1] == contact).all()
    forward, backward = (causal(h, s, np.zeros(200)) for h, s in ((height, speed), (height[::-1], speed[::-1])))
    assert (contact == (forward | backward[::-1])).all()
    assert 0 < contact.sum() < 200
