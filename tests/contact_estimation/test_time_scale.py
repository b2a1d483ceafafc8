"""Time scale by free fall: files that play whole times too fast are found by their falls, others stay as they are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.contact_estimation.jumps import jump

import brachiate as br
from brachiate.contact_estimation.time_scale import at_real_speed, estimate_time_factor, find_time_factor
from brachiate.errors import ArgumentError

G = 9.81  # [m/s²]


def hops(factor: float, noise: float = 0.0, rate: float = 120.0) -> tuple[np.ndarray, np.ndarray]:
    """Times and CoM heights of three flights of 0.4 s with times on the ground between, in a file ``factor`` times too fast."""
    times = np.arange(round(3.0 * rate / factor) + 1) * factor / rate
    phase = np.minimum(np.abs((times % 1.0) - 0.5), 0.2)
    height = 1.0 + 0.5 * G * (0.2**2 - phase**2)
    return times / factor, height + noise * np.random.default_rng(0).normal(size=len(times))


@pytest.mark.parametrize("factor", [1, 2, 3])
def test_falls_tell_the_factor(factor):
    # Fails if the factor is taken for the acceleration: it is its root.
    assert estimate_time_factor(*hops(factor)) == factor
    assert estimate_time_factor(*hops(factor, noise=0.0005)) == factor


def test_factors_that_are_not_whole_are_left_alone():
    assert estimate_time_factor(*hops(1.5)) == 1
    assert estimate_time_factor(np.arange(5) / 120.0, np.zeros(5)) == 1


def test_a_simulated_jump_that_plays_too_fast():
    motion = replace(jump(), captured=True)
    fast = replace(motion, times=0.5 * motion.times)
    assert find_time_factor(motion) == (1, [])
    factor, (told,) = find_time_factor(fast)
    assert factor == 2
    assert told.quantity == "frame rate"
    assert "2 times too fast" in told.reason
    slowed, _ = at_real_speed(fast)
    assert np.diff(slowed.times) == pytest.approx(np.diff(motion.times))
    assert find_time_factor(replace(fast, captured=False)) == (1, [])
    assert at_real_speed(fast, 1.0) == (fast, [])


def test_invalid_factors_are_refused():
    with pytest.raises(ArgumentError, match="time_factor"):
        br.make_reference(br.sample_motion("squat", seconds=1.0), time_factor=0.0)
