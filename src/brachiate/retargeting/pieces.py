"""Long trajectories in overlapping pieces: time and memory of inverse kinematics grow linearly with the duration of a motion.

Frames more than a second apart hardly influence each other, so every piece is solved with some time before and after it. Where two
pieces meet, one is blended into the other.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from brachiate.kinematics_batch import BatchKinematics
from brachiate.model.model import Model
from brachiate.validation import Array

PIECE = 1500  # frames of a piece
BLEND_TIME = 0.5  # [s] in which one piece is blended into the next


def solve_in_pieces(
    model: Model, times: Array, overlap: float, solve: Callable[[slice, Callable[[float], None]], Array], report: Callable[[float], None]
) -> Array:
    """Configurations of all frames (f, nq).

    Args:
        model: The figure.
        times: Of the frames (f,) [s].
        overlap: Time before and after a piece that is solved with it [s].
        solve: Returns the configurations of a slice of the frames; called with it and a function to report the share that is done.
        report: Called with the share of all frames that is done.
    """
    count = max(1, round(len(times) / PIECE))
    if count == 1:
        return solve(slice(0, len(times)), report)
    kinematics, q = BatchKinematics(model), np.zeros((len(times), model.nq))
    ends = np.linspace(0, len(times), count + 1).astype(int)
    for k, (a, b) in enumerate(pairwise(ends.tolist())):
        first, last = np.searchsorted(times, (times[a] - overlap, times[b - 1] + overlap + 1e-9))
        frames = slice(max(int(first), a - PIECE, 0), min(int(last), b + PIECE, len(times)))
        piece = solve(frames, lambda share, k=k: report((k + share) / count))
        low, high = _blended_frames(times, a, frames) if k else (frames.start, frames.start)
        before, after = q[low:high], piece[low - frames.start : high - frames.start]
        s = np.linspace(0.0, 1.0, high - low + 2)[1:-1, None]
        q[low:high] = kinematics.integrate(before, s * s * (3.0 - 2.0 * s) * kinematics.difference(before, after))
        q[high : frames.stop] = piece[high - frames.start :]
    return q


def _blended_frames(times: Array, boundary: int, frames: slice) -> tuple[int, int]:
    """First frame about a boundary at which two pieces are blended, and the frame after the last; both pieces contain them."""
    low, high = np.searchsorted(times, times[boundary] + 0.5 * BLEND_TIME * np.array((-1.0, 1.0)))
    reach = boundary - frames.start
    return max(int(low), boundary - reach), min(int(high), boundary + reach)
