"""Plans of functions over time: values, rates and accelerations agree, ends are met, compiled and interpreted alike."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given as for_all
from hypothesis import strategies as st
from scipy.interpolate import CubicSpline

import brachiate as br
from brachiate import animation as an
from brachiate.animation.plan import Piecewise, minimum_jerk, polynomial_arrays, trajectories
from brachiate.functions.polynomials import evaluate_polynomials

NUMBERS = st.floats(-3, 3)


@for_all(NUMBERS, NUMBERS, NUMBERS, NUMBERS, st.floats(0.1, 3))
def test_reach_starts_and_ends_as_given(x, v, a, target, duration):
    plan = minimum_jerk((x, v, a), target, 0.5, duration)
    size = 1.0 + (abs(x) + abs(target) + abs(v) + abs(a)) / duration**2
    assert np.allclose(plan(0.5), (x, v, a), atol=1e-9 * size)
    assert np.allclose(plan(0.5 + duration * (1 - 1e-12)), (target, 0, 0), atol=1e-8 * size)
    assert plan(0.5 + 2 * duration) == (target, 0.0, 0.0)


@pytest.mark.parametrize("plan", [minimum_jerk((1.0, -2.0, 3.0), 0.5, 0.0, 1.3), an.signal, an.keys])
def test_rates_and_accelerations_are_derivatives(plan):
    if not isinstance(plan, Piecewise):
        values = {0.0: 0.3, 0.5: -0.2, 1.3: 0.9}
        target = an.Signal(values) if plan is an.signal else an.keys(values)
        (plan,) = trajectories("x", target, np.zeros(1), np.zeros(1), 0.0)
    h = 1e-5
    for t in (0.21, 0.77, 1.1, 1.9):
        before, now, after = plan(t - h), plan(t), plan(t + h)
        assert np.isclose((after[0] - before[0]) / (2 * h), now[1], atol=1e-7)
        assert np.isclose((after[1] - before[1]) / (2 * h), now[2], atol=1e-6)


def test_keys_are_a_clamped_spline_of_time_since_the_start():
    times, values = [0.0, 0.4, 1.0], [1.0, 3.0, -1.0]
    (plan,) = trajectories("x", an.keys(dict(zip(times, values, strict=True))), np.zeros(1), np.zeros(1), 10.0)
    spline = CubicSpline(times, values, bc_type="clamped")
    for t in (0.0, 0.1, 0.4, 0.7, 1.0):
        assert np.allclose(plan(10.0 + t), [spline(t), spline(t, 1), spline(t, 2)], atol=1e-11)
    assert plan(9.0) == (1.0, 0.0, 0.0)
    assert plan(12.0) == (-1.0, 0.0, 0.0)


def test_several_plans_are_evaluated_together():
    plans = [minimum_jerk((0.0, 1.0, 0.0), 2.0, 0.0, 1.0), lambda t: (t, 1.0, 0.0), minimum_jerk((1.0, 0.0, 0.0), 0.0, 0.5, 1.0)]
    arrays = polynomial_arrays(plans)
    arrays.value[1] = 7.0
    evaluate_polynomials(arrays, 0.8)
    assert np.allclose(arrays.value[0], plans[0](0.8))
    assert np.allclose(arrays.value[2], plans[2](0.8))
    assert (arrays.value[1] == 7.0).all()  # a function of Python is left alone


@pytest.mark.parametrize(
    ("target", "words"),
    [(an.reach((1.0, 2.0), 1.0), "target of 'x'"), (lambda t: np.zeros(2), "must return 1 numbers"), ("up", "A target is a number")],
)
def test_bad_targets_are_refused(target, words):
    with pytest.raises(br.BrachiateError, match=words):
        trajectories("x", target, np.zeros(1), np.zeros(1), 0.0)


def test_bad_times_are_refused():
    with pytest.raises(br.BrachiateError, match="time to reach"):
        an.reach(1.0, by=0.0)
    with pytest.raises(br.BrachiateError, match="key values"):
        an.keys([0.0, 1.0])
