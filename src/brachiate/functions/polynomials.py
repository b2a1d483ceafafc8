"""Piecewise polynomials of time, degree five at most, with two derivatives: plans and signals in compiled code."""

from __future__ import annotations

from typing import NamedTuple

from brachiate.compiled import Floats, Ints, Rows3, kernel

COEFFICIENTS = 6


class Polynomials(NamedTuple):
    """Functions of time as piecewise polynomials: p pieces in all."""

    start: Ints  # (functions+1,) first piece of each; none for those that Python evaluates
    knot: Floats  # (p,) [s] start of a piece; the first one of a function also holds before it
    coefficient: Floats  # (6 p,) by powers of the time since the knot
    value: Rows3  # (functions, 3) value and two derivatives


@kernel
def evaluate_polynomials(plan, t):
    """plan.value at a time [s]; functions without pieces are left as they are."""
    for f in range(plan.value.shape[0]):
        first, last = plan.start[f], plan.start[f + 1] - 1
        if last < first:
            continue
        piece = first
        while piece < last and t >= plan.knot[piece + 1]:
            piece += 1
        s, at = t - plan.knot[piece], COEFFICIENTS * piece
        value = rate = half = 0.0
        for c in range(COEFFICIENTS - 1, -1, -1):
            half = half * s + rate
            rate = rate * s + value
            value = value * s + plan.coefficient[at + c]
        plan.value[f, 0], plan.value[f, 1], plan.value[f, 2] = value, rate, 2.0 * half
