"""Sequence of contact modes of least cost over a motion, by dynamic programming (Viterbi)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from brachiate.validation import Array


class ModeSequence(NamedTuple):
    """Mode in every frame (f,), and the cost of the sequence."""

    mode: Array
    cost: float


def cheapest_sequence(cost: Array, switch: Array) -> ModeSequence:
    """Modes that minimize the sum of the costs (f, m) of frames, and of the costs (m, m) of switching from one mode to another."""
    f, m = cost.shape
    least, previous, total, every = cost[0].copy(), np.zeros((f, m), np.int64), np.empty((m, m)), np.arange(m)
    to_from = np.ascontiguousarray(switch.T)  # a row for each mode that is switched to
    for k in range(1, f):
        np.add(to_from, least, out=total)
        total.argmin(axis=1, out=previous[k])
        np.add(total[every, previous[k]], cost[k], out=least)
    mode = np.zeros(f, np.int64)
    mode[-1] = least.argmin()
    for k in range(f - 1, 0, -1):
        mode[k - 1] = previous[k, mode[k]]
    return ModeSequence(mode, float(least.min()))
