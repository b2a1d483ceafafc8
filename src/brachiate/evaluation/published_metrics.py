"""Metrics as others have defined them, under their own names, so that numbers can be compared with published ones.

They depend on the frame rate, so feet are first looked at 20 times a second, as HumanML3D has it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from brachiate.contact_estimation.motion_dynamics import Track
from brachiate.contact_estimation.parts import FEET, motion_of_part, parts_of
from brachiate.motion.contact_labels import Labels
from brachiate.validation import Array

RATE = 20.0  # [frames/s]
SKID_HEIGHT, SKID_SPEED, SKID_FRAMES = 0.05, 0.5, 5  # [m], [m/s]: Karunratanakul et al. 2023
TOLERANCE = 0.005  # [m] Yuan et al. 2023
DEEP, SLIDES = 0.01, 0.05  # [m], [m/s] of ours: the paper states the quantities


def legacy_metrics(track: Track, labels: Labels) -> dict[str, float]:
    """Metrics by name: ``gmd``: Karunratanakul et al. 2023, ``physdiff``: Yuan et al. 2023, ``omniretarget``: Yang et al. 2025."""
    feet = parts_of(track, FEET)
    if not feet or len(track) < 2:
        return {}
    ground, n = labels.ground, labels.ground.normal
    t = np.arange(track.times[0], track.times[-1] + 1e-9, 1.0 / RATE)
    moves = [motion_of_part(track, ground, p) for p in feet]
    mine = [np.flatnonzero(track.spots.part == p) for p in feet]
    place = [_at(t, track.times, track.place[:, spots].mean(axis=1)) for spots in mine]
    place = [x - np.outer(x @ n, n) for x in place]
    height = np.stack([_at(t, track.times, h[:, None])[:, 0] for h, _, _ in moves], axis=1)
    step = np.stack([np.linalg.norm(np.diff(x, axis=0), axis=1) for x in place], axis=1)
    on = (height[1:] < SKID_HEIGHT) & (height[:-1] < SKID_HEIGHT)
    speed = step * RATE
    average = np.apply_along_axis(lambda x: np.convolve(x, np.ones(SKID_FRAMES) / SKID_FRAMES, "same"), 0, speed) if len(speed) else speed
    skids = (on & (speed > SKID_SPEED) & (average > SKID_SPEED)).any(axis=1)
    touch = (height[1:] < TOLERANCE) & (height[:-1] < TOLERANCE)
    lowest = ground.above(track.place).min(axis=1)
    stance = np.stack([labels.active(track.spots.parts[p], track.times) for p in feet], axis=1)
    slides = np.stack([along for _, along, _ in moves], axis=1) * stance
    return {
        "gmd.skating_ratio": _mean(skids),
        "physdiff.penetrate_mm": 1e3 * _mean(np.maximum(-lowest - TOLERANCE, 0.0)),
        "physdiff.float_mm": 1e3 * _mean(np.maximum(lowest - TOLERANCE, 0.0)),
        "physdiff.skate_mm": 1e3 * _mean(step[touch]),
        "omniretarget.penetration_time": _mean(lowest < -DEEP),
        "omniretarget.penetration_depth_cm": 100.0 * float(max(-lowest.min(), 0.0)),
        "omniretarget.skating_time": _mean((slides > SLIDES).any(axis=1)),
        "omniretarget.skating_speed_cm_s": 100.0 * float(slides.max(initial=0.0)),
    }


def _mean(x: Any) -> float:
    return float(np.mean(x)) if np.size(x) else 0.0


def _at(t: Array, times: Array, values: Array) -> Array:
    """Columns between frames."""
    return np.stack([np.interp(t, times, column) for column in values.T], axis=1)
