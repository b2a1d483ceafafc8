"""Plans of functions over time: key values, splines, "reach this by then", constant values; u, u̇ and ü of each [EGC] 5, step b."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from brachiate import validation
from brachiate.errors import ArgumentError
from brachiate.functions.motion_functions import Signal
from brachiate.validation import Array


class Trajectory(Protocol):
    """Values of one coordinate over time."""

    def __call__(self, t: float) -> tuple[float, float, float]:
        """Value, rate and acceleration at a time [s]."""
        ...


@dataclass(frozen=True)
class Reach:
    """Target to be reached from the present value and rate by a time, then held: see :func:`reach`."""

    target: Any
    by: float


def reach(target: ArrayLike, by: float) -> Reach:
    """Reach a value by a time after the start [s], at rest, with least jerk (a quintic polynomial); then hold it."""
    return Reach(target, validation.number(by, "time to reach a target", above=0.0))


@dataclass(frozen=True)
class Keys:
    """Key values by time after the start [s], joined by a cubic spline: see :func:`keys`."""

    values: Mapping[float, Any]


def keys(values: Mapping[float, Any]) -> Keys:
    """Pass through values at times after the start [s], along a cubic spline at rest at both ends."""
    validation.mapping(values, "key values", "values by time, such as {0.0: 0.1, 1.0: 0.3}")
    return Keys(dict(values))


class MinimumJerk:
    """Quintic polynomial from a value, rate and acceleration to a value at rest."""

    def __init__(self, start: tuple[float, float, float], target: float, begin: float, duration: float) -> None:
        x0, v0, a0 = start[0], start[1] * duration, start[2] * duration**2
        d = target - x0
        self._c = np.array([x0, v0, 0.5 * a0, 10 * d - 6 * v0 - 1.5 * a0, -15 * d + 8 * v0 + 1.5 * a0, 6 * d - 3 * v0 - 0.5 * a0])
        self._begin, self._duration, self._target = begin, duration, target

    def __call__(self, t: float) -> tuple[float, float, float]:
        """Value, rate and acceleration."""
        s = (t - self._begin) / self._duration
        if s >= 1.0:
            return self._target, 0.0, 0.0
        p = max(s, 0.0) ** np.arange(6)
        first = self._c[1:] * np.arange(1, 6)
        second = first[1:] * np.arange(1, 5)
        return float(self._c @ p), float(first @ p[:5]) / self._duration, float(second @ p[:4]) / self._duration**2


class _Constant:
    def __init__(self, value: float) -> None:
        self._value = value

    def __call__(self, t: float) -> tuple[float, float, float]:
        return self._value, 0.0, 0.0


class _Component:
    """One component of a vector-valued function of time."""

    def __init__(self, function: Any, component: int, begin: float) -> None:
        self._signal = Signal(lambda t: np.atleast_1d(np.asarray(function(t - begin), float))[component])

    def __call__(self, t: float) -> tuple[float, float, float]:
        return self._signal(t)


def trajectories(name: str, target: Any, start: Array, rate: Array, begin: float) -> list[Trajectory]:
    """Trajectory of each coordinate of a function from what a user gives.

    Args:
        name: Of the function, for messages.
        target: A constant, :func:`reach`, :func:`keys`, a :class:`~brachiate.functions.Signal`, or a function of the time since
            the start.
        start: Present values of the coordinates (k,).
        rate: Their present rates (k,).
        begin: Present time [s].
    """
    k = len(start)
    if isinstance(target, Reach):
        end = validation.broadcast(target.target, (k,), f"target of {name!r}", f"one number or {k}")
        return [MinimumJerk((start[n], rate[n], 0.0), float(end[n]), begin, target.by) for n in range(k)]
    if isinstance(target, Keys):
        values = {
            float(t) + begin: validation.broadcast(x, (k,), f"key value of {name!r}", f"one number or {k}")
            for t, x in target.values.items()
        }
        return [Signal({t: float(x[n]) for t, x in values.items()}) for n in range(k)]
    if isinstance(target, Signal) and k == 1:
        return [lambda t: target(t - begin)]
    if callable(target):
        found = np.atleast_1d(np.asarray(target(0.0), float))
        if found.shape != (k,):
            raise ArgumentError(f"Target of {name!r}: a function of time must return {k} numbers, got shape {found.shape}.")
        return [_Component(target, n, begin) for n in range(k)]
    try:
        constant = validation.broadcast(target, (k,), f"target of {name!r}", f"one number or {k}")
    except ArgumentError as error:
        raise ArgumentError(f"{error} A target is a number, an.reach(...), an.keys(...) or a function of time.") from None
    return [_Constant(float(x)) for x in constant]
