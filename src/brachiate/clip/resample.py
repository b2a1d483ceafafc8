"""Clips with other frames: along smooth curves through those they have."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.interpolate import make_interp_spline

from brachiate import rotations, validation
from brachiate.clip.clip import Clip
from brachiate.errors import MotionError

MOST_FRAMES = 10_000_000


def resampled_clip(clip: Clip, rate: float) -> Clip:
    """The same with so many frames a second, from the first on."""
    rate = validation.number(rate, "rate", above=0.0)
    if len(clip) < 2:
        raise MotionError("One frame cannot be resampled: it says nothing about any other time.")
    count = int(clip.duration * rate + 1e-6) + 1
    if count > MOST_FRAMES:
        raise MotionError(f"{count} frames are more than a motion may have ({MOST_FRAMES}). Choose a lower rate than {rate:g}.")
    times = np.minimum(clip.times[0] + np.arange(count) / rate, clip.times[-1])
    degree = min(5, len(clip) - 1)
    degree -= 1 - degree % 2  # even degrees have no good ends
    q = make_interp_spline(clip.times, rotations.steady(clip.turns), k=degree)(times)
    places = make_interp_spline(clip.times, clip.places, k=degree)(times)
    return replace(clip, times=times, turns=q / np.linalg.norm(q, axis=-1, keepdims=True), places=places)
