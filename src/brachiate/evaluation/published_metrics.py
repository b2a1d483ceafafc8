"""Metrics as defined in publications, for comparison with published numbers.

They depend on the frame rate; feet are first resampled at 20 Hz, as in HumanML3D.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.ndimage import convolve1d

from brachiate.contact_estimation.motion_dynamics import MotionDynamics
from brachiate.contact_estimation.parts import FOOT_WORDS, part_motion, parts_matching
from brachiate.motion.contact_labels import ContactLabels
from brachiate.validation import Array

RATE = 20.0  # [frames/s]
SKID_HEIGHT, SKID_SPEED, SKID_FRAMES = 0.05, 0.5, 5  # [m], [m/s]: Karunratanakul et al. 2023
TOLERANCE = 0.005  # [m] Yuan et al. 2023
PENETRATION_DEPTH, SLIDING_SPEED = 0.01, 0.05  # [m], [m/s] our choice: the paper states only the quantities


def published_metrics(dynamics: MotionDynamics, labels: ContactLabels) -> dict[str, float]:
    """Metrics by name: ``gmd``: Karunratanakul et al. 2023, ``physdiff``: Yuan et al. 2023, ``omniretarget``: Yang et al. 2025."""
    feet = parts_matching(dynamics, FOOT_WORDS)
    if not feet or len(dynamics) < 2:
        return {}
    terrain, n = labels.terrain, labels.terrain.normal
    t = np.arange(dynamics.times[0], dynamics.times[-1] + 1e-9, 1.0 / RATE)
    motions = [part_motion(dynamics, terrain, p) for p in feet]
    mine = [np.flatnonzero(dynamics.contact_points.part == p) for p in feet]
    lowest, means = np.zeros(len(dynamics)), [np.zeros((len(dynamics), 3)) for _ in feet]
    for block in dynamics.blocks():
        lowest[block.frames] = terrain.clearance(block.point_position).min(axis=1)
        for mean, points in zip(means, mine, strict=True):
            mean[block.frames] = block.point_position[:, points].mean(axis=1)
    position = [_interpolate(t, dynamics.times, mean) for mean in means]
    position = [x - np.outer(x @ n, n) for x in position]
    height = np.stack([_interpolate(t, dynamics.times, h[:, None])[:, 0] for h, _, _ in motions], axis=1)
    displacement = np.stack([np.linalg.norm(np.diff(x, axis=0), axis=1) for x in position], axis=1)
    low = (height[1:] < SKID_HEIGHT) & (height[:-1] < SKID_HEIGHT)
    speed = displacement * RATE
    average = convolve1d(speed, np.full(SKID_FRAMES, 1.0 / SKID_FRAMES), axis=0, mode="constant") if len(speed) else speed
    skidding = (low & (speed > SKID_SPEED) & (average > SKID_SPEED)).any(axis=1)
    touching = (height[1:] < TOLERANCE) & (height[:-1] < TOLERANCE)
    stance = np.stack([labels.active(dynamics.contact_points.parts[p], dynamics.times) for p in feet], axis=1)
    sliding = np.stack([along for _, along, _ in motions], axis=1) * stance
    return {
        "gmd.skating_ratio": _mean(skidding),
        "physdiff.penetrate_mm": 1e3 * _mean(np.maximum(-lowest - TOLERANCE, 0.0)),
        "physdiff.float_mm": 1e3 * _mean(np.maximum(lowest - TOLERANCE, 0.0)),
        "physdiff.skate_mm": 1e3 * _mean(displacement[touching]),
        "omniretarget.penetration_time": _mean(lowest < -PENETRATION_DEPTH),
        "omniretarget.penetration_depth_cm": 100.0 * float(max(-lowest.min(), 0.0)),
        "omniretarget.skating_time": _mean((sliding > SLIDING_SPEED).any(axis=1)),
        "omniretarget.skating_speed_cm_s": 100.0 * float(sliding.max(initial=0.0)),
    }


def _mean(x: Any) -> float:
    return float(np.mean(x)) if np.size(x) else 0.0


def _interpolate(t: Array, times: Array, values: Array) -> Array:
    """Linear interpolation of columns."""
    return np.stack([np.interp(t, times, column) for column in values.T], axis=1)
