"""Curves over time that moves are drawn with."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from brachiate.validation import Array

#: Values at any times: (f,) in, (f, ...) out.
Curve = Callable[[Array], Array]
BRIEF = 1e-4  # [s] over which slopes are taken
LANDED = 0.3  # of the speed of what is met: heels strike the floor
FADE = 0.3  # of a bridge: how long it takes to become nothing


def smooth(u: Array) -> Array:
    """From 0 to 1 while u does, at rest at both ends, and level beyond them."""
    u = np.clip(u, 0.0, 1.0)
    return u * u * u * (10.0 - 15.0 * u + 6.0 * u * u)


def keyed(keys: Mapping[float, float]) -> Curve:
    """A curve through values at given times that goes no further than they do, and is level before the first and after the last."""
    from scipy.interpolate import PchipInterpolator  # noqa: PLC0415  (slow to import)

    times = np.array(sorted(keys))
    curve = PchipInterpolator(times, [keys[t] for t in times])
    return lambda t: curve(np.clip(t, times[0], times[-1]))


def bridged(before: Curve, begin: float, after: Curve, end: float) -> Curve:
    """A curve that leaves one at a time and meets another at a later one, and is nothing in between.

    It leaves as fast as the first one is, and meets the second faster than that is.
    """
    from scipy.interpolate import CubicHermiteSpline  # noqa: PLC0415  (slow to import)

    (first, leaving), (last, meeting) = _course(before, begin), _course(after, end)
    still, fade = np.zeros_like(first), FADE * (end - begin)
    knots = (begin, begin + fade, end - fade, end)
    return CubicHermiteSpline(knots, [first, still, still, last], [leaving, still, still, LANDED * meeting])


def _course(curve: Curve, t: float) -> tuple[Array, Array]:
    """What a curve is at one time, and how fast it changes."""
    before, now, after = curve(np.array([t - BRIEF, t, t + BRIEF]))
    return now, (after - before) / (2.0 * BRIEF)


def repeated(values: Array, harmonics: int) -> Curve:
    """What is periodic with period 1, given at even places over it, without what is faster than so many waves a period."""
    waves = np.fft.rfft(values) / len(values)
    waves[1:] *= 2.0
    waves = waves[: harmonics + 1]

    def curve(u: Array) -> Array:
        return np.real(np.exp(2j * np.pi * np.multiply.outer(u, np.arange(len(waves)))) @ waves)

    return curve
