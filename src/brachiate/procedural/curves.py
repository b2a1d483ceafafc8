"""Curves over time of which sample motions are composed."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from brachiate.validation import Array

#: Values at any times: (f,) in, (f, ...) out.
Curve = Callable[[Array], Array]
DERIVATIVE_STEP = 1e-4  # [s] of central differences
LANDING_SPEED_SHARE = 0.3  # share of the speed of the second curve with which it is met: heels strike the floor
FADE_SHARE = 0.3  # share of the interval over which a connecting curve decays to zero at each end


def smoothstep(u: Array) -> Array:
    """Quintic smoothstep: from 0 to 1 while u does, constant beyond, with zero velocity and acceleration at both ends."""
    u = np.clip(u, 0.0, 1.0)
    return u * u * u * (10.0 - 15.0 * u + 6.0 * u * u)


def keyframe_curve(keys: Mapping[float, float]) -> Curve:
    """Monotone cubic interpolation (PCHIP) of values at key times, without overshoot; constant before the first and after the last."""
    from scipy.interpolate import PchipInterpolator  # noqa: PLC0415  (slow to import)

    times = np.array(sorted(keys))
    curve = PchipInterpolator(times, [keys[t] for t in times])
    return lambda t: curve(np.clip(t, times[0], times[-1]))


def connecting_curve(before: Curve, begin: float, after: Curve, end: float) -> Curve:
    """Cubic Hermite spline that leaves one curve at ``begin``, meets another at ``end`` [s], and is zero in between.

    It leaves with the velocity of the first curve, and meets the second with a share of its velocity.
    """
    from scipy.interpolate import CubicHermiteSpline  # noqa: PLC0415  (slow to import)

    (first, first_rate), (last, last_rate) = _value_and_rate(before, begin), _value_and_rate(after, end)
    zero, fade = np.zeros_like(first), FADE_SHARE * (end - begin)
    knots = (begin, begin + fade, end - fade, end)
    return CubicHermiteSpline(knots, [first, zero, zero, last], [first_rate, zero, zero, LANDING_SPEED_SHARE * last_rate])


def _value_and_rate(curve: Curve, t: float) -> tuple[Array, Array]:
    """Value of a curve at one time, and its derivative."""
    before, now, after = curve(np.array([t - DERIVATIVE_STEP, t, t + DERIVATIVE_STEP]))
    return now, (after - before) / (2.0 * DERIVATIVE_STEP)


def fourier_curve(values: Array, harmonics: int) -> Curve:
    """Fourier series of a function of period 1, sampled evenly over it, truncated after some harmonics."""
    waves = np.fft.rfft(values) / len(values)
    waves[1:] *= 2.0
    waves = waves[: harmonics + 1]

    def curve(u: Array) -> Array:
        return np.real(np.exp(2j * np.pi * np.multiply.outer(u, np.arange(len(waves)))) @ waves)

    return curve
