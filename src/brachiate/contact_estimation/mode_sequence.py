"""Sequence of contact modes of least cost over a motion, by dynamic programming (Viterbi)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from brachiate.compiled import Ints, Matrix, entry
from brachiate.validation import Array


class ModeSequence(NamedTuple):
    """Mode in every frame (f,), and the cost of the sequence."""

    mode: Array
    cost: float


def cheapest_sequence(cost: Array, switch: Array) -> ModeSequence:
    """Modes that minimize the sum of the costs (f, m) of frames, and of the costs (m, m) of switching from one mode to another."""
    f, m = cost.shape
    least, previous, mode = np.zeros((2, m)), np.zeros(f * m, np.int64), np.zeros(f, np.int64)
    find_sequence(np.ascontiguousarray(cost, float), np.ascontiguousarray(switch, float), least, previous, mode)
    return ModeSequence(mode, float(least[(f - 1) % 2].min()))


@entry
def find_sequence(cost: Matrix, switch: Matrix, least: Matrix, previous: Ints, mode: Ints):
    """Modes (f,) of the cheapest sequence; least (2, m): cost of the cheapest sequences up to the last two frames, by their last mode.

    previous (f m,): the mode before each.
    """
    f, m = cost.shape
    for j in range(m):
        least[0, j] = cost[0, j]
    for k in range(1, f):
        last, now = (k - 1) % 2, k % 2
        for j in range(m):
            best, at = least[last, 0] + switch[0, j], 0
            for i in range(1, m):
                total = least[last, i] + switch[i, j]
                if total < best:
                    best, at = total, i
            least[now, j] = best + cost[k, j]
            previous[k * m + j] = at
    end, final = (f - 1) % 2, 0
    for j in range(1, m):
        if least[end, j] < least[end, final]:
            final = j
    mode[f - 1] = final
    for k in range(f - 1, 0, -1):
        mode[k - 1] = previous[k * m + mode[k]]
