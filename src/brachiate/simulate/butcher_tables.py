"""Butcher tables of explicit Runge-Kutta methods: stages and weights; nodes are the row sums of the stages."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from brachiate.validation import Array


class ButcherTable(NamedTuple):
    """Butcher table of an explicit Runge-Kutta method [HNW] II.1."""

    name: str
    order: int
    stages: Array  # (s, s) lower triangular
    weights: Array  # (s,)


def _table(name: str, order: int, rows: list[list[float]], weights: list[float]) -> ButcherTable:
    stages = np.zeros((len(weights), len(weights)))
    for i, row in enumerate(rows):
        stages[i, : len(row)] = row
    return ButcherTable(name, order, stages, np.array(weights))


RK4 = _table("rk4", 4, [[], [1 / 2], [0, 1 / 2], [0, 0, 1]], [1 / 6, 1 / 3, 1 / 3, 1 / 6])

_s = np.sqrt(21.0)
#: Eleven stages, order 8, by Cooper and Verner [CV72].
RK8 = _table(
    "rk8",
    8,
    [
        [],
        [1 / 2],
        [1 / 4, 1 / 4],
        [1 / 7, (-7 - 3 * _s) / 98, (21 + 5 * _s) / 49],
        [(11 + _s) / 84, 0, (18 + 4 * _s) / 63, (21 - _s) / 252],
        [(5 + _s) / 48, 0, (9 + _s) / 36, (-231 + 14 * _s) / 360, (63 - 7 * _s) / 80],
        [(10 - _s) / 42, 0, (-432 + 92 * _s) / 315, (633 - 145 * _s) / 90, (-504 + 115 * _s) / 70, (63 - 13 * _s) / 35],
        [1 / 14, 0, 0, 0, (14 - 3 * _s) / 126, (13 - 3 * _s) / 63, 1 / 9],
        [1 / 32, 0, 0, 0, (91 - 21 * _s) / 576, 11 / 72, (-385 - 75 * _s) / 1152, (63 + 13 * _s) / 128],
        [1 / 14, 0, 0, 0, 1 / 9, (-733 - 147 * _s) / 2205, (515 + 111 * _s) / 504, (-51 - 11 * _s) / 56, (132 + 28 * _s) / 245],
        [
            0, 0, 0, 0, (-42 + 7 * _s) / 18, (-18 + 28 * _s) / 45, (-273 - 53 * _s) / 72, (301 + 53 * _s) / 72,
            (28 - 28 * _s) / 45, (49 - 7 * _s) / 18,
        ],
    ],
    [1 / 20, 0, 0, 0, 0, 0, 0, 49 / 180, 16 / 45, 49 / 180, 1 / 20],
)  # fmt: skip

#: Order 5 with an embedded order 4, by Dormand and Prince [DP80]; the last stage is the first of the next step.
DORMAND_PRINCE = _table(
    "dormand-prince",
    5,
    [
        [],
        [1 / 5],
        [3 / 40, 9 / 40],
        [44 / 45, -56 / 15, 32 / 9],
        [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729],
        [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656],
        [35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84],
    ],
    [35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84, 0],
)
#: Difference of the weights of order 5 and 4: weights of the error estimate.
DORMAND_PRINCE_ERROR = np.array([71 / 57600, 0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40])
#: Weights of the dense output's fourth-order term [HNW] II.6.
DORMAND_PRINCE_DENSE = np.array([
    -12715105075 / 11282082432, 0, 87487479700 / 32700410799, -10690763975 / 1880347072, 701980252875 / 199316789632,
    -1453857185 / 822651844, 69997945 / 29380423,
])  # fmt: skip
