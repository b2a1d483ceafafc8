"""Resampling of clips along splines through their frames."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.interpolate import make_interp_spline

from brachiate import rotations, validation
from brachiate.clip.clip import Clip
from brachiate.errors import MotionError

MAX_FRAMES = 10_000_000


def resample_clip(clip: Clip, rate: float) -> Clip:
    """Return a clip at another frame rate [Hz], from its first frame on."""
    rate = validation.number(rate, "rate", minimum=1e-3, maximum=1e5)
    if len(clip) < 2:
        raise MotionError("A clip of one frame cannot be resampled.")
    count = int(clip.duration * rate + 1e-6) + 1
    if count > MAX_FRAMES:
        raise MotionError(f"{count} frames are more than a motion may have ({MAX_FRAMES}). Choose a lower rate than {rate:g}.")
    times = np.minimum(clip.times[0] + np.arange(count) / rate, clip.times[-1])
    degree = min(5, len(clip) - 1)
    degree -= 1 - degree % 2  # splines of even degree have no symmetric end conditions
    q = make_interp_spline(clip.times, rotations.unwrap(clip.rotations), k=degree)(times)
    translations = make_interp_spline(clip.times, clip.translations, k=degree)(times)
    return replace(clip, times=times, rotations=q / np.linalg.norm(q, axis=-1, keepdims=True), translations=translations)
