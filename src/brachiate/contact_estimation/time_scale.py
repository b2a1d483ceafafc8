"""Time scale of a motion by free fall: whether a file plays whole times too fast.

Nothing pulls a body down, so that its center of mass never falls faster than freely. A motion that was recorded at 60 frames/s and is
written as of 120 falls with four times the acceleration of gravity in every flight.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.ndimage import gaussian_filter1d

from brachiate import validation
from brachiate.assumptions import Assumption
from brachiate.intervals import true_intervals
from brachiate.kinematics_batch import BatchKinematics
from brachiate.motion.motion import Motion
from brachiate.validation import Array

GRAVITY = 9.81  # [m/s²]
SMOOTHING = 0.012  # [s] standard deviation of the smoothing before differentiation
MIN_FALL = 1.4  # of gravity: a larger downward acceleration needs a cause
MIN_INTERVAL, MIN_TOTAL = 0.06, 0.2  # [s] of an interval of such a fall, and of all of them
MAX_FIT_ERROR = 0.01  # [m] RMS, from a parabola
AGREEMENT = 0.7  # share of this time in which the falls agree with one factor,
FACTOR_TOLERANCE = 0.25  # within this
CHUNK = 4096  # frames whose poses are evaluated together


def estimate_time_factor(times: Array, height: Array) -> int:
    """Factor by which a motion is too fast, a whole number, from times [s] and heights of its CoM [m]: (f,) each; 1 if it is not.

    The factor is the root of the accelerations of its falls, in units of gravity.
    """
    if len(times) < 12:
        return 1
    smooth = gaussian_filter1d(height, SMOOTHING / float(np.median(np.diff(times))), mode="nearest")
    fall = -np.gradient(np.gradient(smooth, times), times) / GRAVITY
    durations, factors = [], []
    for start, end in true_intervals(fall > MIN_FALL):
        t = times[start:end] - times[start]
        if start < 3 or end > len(times) - 3 or t[-1] < MIN_INTERVAL:
            continue
        parabola = np.polyfit(t, height[start:end], 2)
        if np.std(height[start:end] - np.polyval(parabola, t)) < MAX_FIT_ERROR:
            durations.append(float(t[-1]))
            factors.append(float(np.sqrt(max(-2.0 * parabola[0] / GRAVITY, 0.0))))
    if sum(durations) < MIN_TOTAL:
        return 1
    order = np.argsort(factors)
    share = np.cumsum(np.array(durations)[order]) / sum(durations)
    factor = round(factors[order[int(np.searchsorted(share, 0.5))]])
    agree = sum(d for d, each in zip(durations, factors, strict=True) if abs(each - factor) < FACTOR_TOLERANCE)
    return factor if factor > 1 and agree >= AGREEMENT * sum(durations) else 1


def at_real_speed(motion: Motion, factor: float | None = None) -> tuple[Motion, list[Assumption]]:
    """Motion with its times multiplied by a factor, by default that of its falls, and what was assumed."""
    told: list[Assumption] = []
    if factor is None:
        factor, told = find_time_factor(motion)
    factor = validation.number(factor, "time_factor", minimum=0.1, maximum=10.0)
    if factor == 1.0:
        return motion, []
    times = motion.times[0] + factor * (motion.times - motion.times[0])
    return replace(motion, times=times), told


def find_time_factor(motion: Motion) -> tuple[int, list[Assumption]]:
    """Factor by which a captured motion is too fast, and what is to be told of it."""
    if not motion.captured:
        return 1, []
    kinematics, chunks = BatchKinematics(motion.figure), [motion.q[k : k + CHUNK] for k in range(0, len(motion), CHUNK)]
    factor = estimate_time_factor(motion.times, np.concatenate([kinematics.center_of_mass(kinematics.poses(q))[:, 2] for q in chunks]))
    if factor == 1:
        return 1, []
    rate = 1.0 / float(np.median(np.diff(motion.times)))
    why = f"at {rate:.0f} Hz it falls with {factor**2} times the acceleration of gravity in flight: the file plays {factor} times too fast"
    return factor, [Assumption("frame rate", f"{rate / factor:.0f} Hz", why, "time_factor")]
