"""Plans of functions over time: key values, splines, "reach this by then", constant values; u, u̇ and ü of each [EGC] 5, step b."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from brachiate import validation
from brachiate.errors import ArgumentError
from brachiate.functions.motion_functions import Signal, piecewise_polynomial, spline_pieces
from brachiate.functions.polynomials import Polynomials
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


class Piecewise:
    """Piecewise polynomial of time, which compiled code evaluates.

    Attributes:
        knots: (p,) starts of the pieces [s]; the first one also holds before it.
        coefficients: (p, 6) by powers of the time since the knot.
    """

    def __init__(self, knots: Array, coefficients: Array) -> None:
        self.knots, self.coefficients = np.asarray(knots, float), np.asarray(coefficients, float)
        self._evaluate = piecewise_polynomial(self.knots, self.coefficients)

    def __call__(self, t: float) -> tuple[float, float, float]:
        """Value, rate and acceleration."""
        value, rate, acceleration = self._evaluate(t)
        return float(value), float(rate), float(acceleration)


def minimum_jerk(start: tuple[float, float, float], target: float, begin: float, duration: float) -> Piecewise:
    """Quintic polynomial from a value, rate and acceleration to a value at rest, which is held."""
    x0, v0, a0 = start[0], start[1] * duration, start[2] * duration**2
    d = target - x0
    c = np.array([x0, v0, 0.5 * a0, 10 * d - 6 * v0 - 1.5 * a0, -15 * d + 8 * v0 + 1.5 * a0, 6 * d - 3 * v0 - 0.5 * a0])
    return Piecewise(np.array([begin, begin + duration]), np.array([c / duration ** np.arange(6), [target, 0, 0, 0, 0, 0]]))


def constant(value: float) -> Piecewise:
    """A value that is held."""
    return Piecewise(np.zeros(1), np.array([[value, 0, 0, 0, 0, 0]]))


def polynomial_arrays(functions: Sequence[Trajectory | Signal]) -> Polynomials:
    """Arrays of functions of time for compiled code; those that are no polynomials have no pieces."""
    pieces = [f if isinstance(f, Piecewise) else None for f in functions]
    start = np.cumsum([0, *(0 if f is None else len(f.knots) for f in pieces)])
    found = [f for f in pieces if f is not None]
    knots = np.concatenate([np.zeros(0), *(f.knots for f in found)])
    coefficients = np.concatenate([np.zeros(0), *(f.coefficients.ravel() for f in found)])
    return Polynomials(start.astype(np.int64), knots, coefficients, np.zeros((len(functions), 3)))


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
        target: A constant, :func:`reach`, :func:`keys`, a :class:`~brachiate.functions.Signal`, a function of the time since the
            start, or a :class:`Piecewise` polynomial of the time of the world.
        start: Present values of the coordinates (k,).
        rate: Their present rates (k,).
        begin: Present time [s].
    """
    k = len(start)
    if isinstance(target, Reach):
        end = validation.broadcast(target.target, (k,), f"target of {name!r}", f"one number or {k}")
        return [minimum_jerk((start[n], rate[n], 0.0), float(end[n]), begin, target.by) for n in range(k)]
    if isinstance(target, Keys):
        values = {
            float(t) + begin: validation.broadcast(x, (k,), f"key value of {name!r}", f"one number or {k}")
            for t, x in target.values.items()
        }
        return [Piecewise(*spline_pieces({t: float(x[n]) for t, x in values.items()})) for n in range(k)]
    if isinstance(target, Piecewise) and k == 1:
        return [target]
    if isinstance(target, Signal) and k == 1:
        if target.pieces is not None:
            return [Piecewise(target.pieces[0] + begin, target.pieces[1])]
        return [lambda t: target(t - begin)]
    if callable(target):
        found = np.atleast_1d(np.asarray(target(0.0), float))
        if found.shape != (k,):
            raise ArgumentError(f"Target of {name!r}: a function of time must return {k} numbers, got shape {found.shape}.")
        return [_Component(target, n, begin) for n in range(k)]
    try:
        values = validation.broadcast(target, (k,), f"target of {name!r}", f"one number or {k}")
    except ArgumentError as error:
        raise ArgumentError(f"{error} A target is a number, an.reach(...), an.keys(...) or a function of time.") from None
    return [constant(float(x)) for x in values]
