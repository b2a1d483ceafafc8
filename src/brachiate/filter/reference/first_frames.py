"""First frames that a body cannot be in: left out, so that a motion starts in the first state from which something carries it.

A recording that starts with a body in the air at rest, deep in the floor, or at a speed from a bad frame gives a simulation a state that
does not lead into the motion. In such frames the root residual exceeds the weight: no contact can provide what the motion requires.
"""

from __future__ import annotations

import numpy as np

from brachiate.assumptions import Assumption
from brachiate.contact_estimation.contact_confidence import estimate_forces_of_labels, residual_share
from brachiate.contact_estimation.motion_dynamics import MotionDynamics
from brachiate.filter.reference.resampling import smooth_configurations
from brachiate.motion.contact_labels import ContactLabels
from brachiate.motion.motion import Motion
from brachiate.motion.spline import MotionSpline
from brachiate.validation import Array

MAX_RESIDUAL_SHARE = 1.0  # of the weight
CARRIED_SHARE, CARRIED_DURATION = 0.5, 0.1  # of the weight: median residual in the frames after them, which something carries; [s]
MAX_DEPTH = 0.06  # [m] of the lowest point below the floor
LOOKAHEAD, MAX_DURATION, MAX_SHARE = 1.0, 0.5, 0.25  # [s] that are examined; that may be left out, and as a share of the motion
MAX_GAP = 0.05  # [s] between frames that are left out
MIN_FRAMES = 12  # of a motion that is examined
SMOOTHING = 0.012  # [s] standard deviation of the smoothing before differentiation


def leave_out_first_frames(motion: Motion, labels: ContactLabels) -> tuple[Motion, list[Assumption]]:
    """Motion from the first frame on that a body can be in, and what was left out; the same motion if that is its first one."""
    times = motion.times - motion.times[0]
    count = int(np.searchsorted(times, LOOKAHEAD))
    if count < MIN_FRAMES or labels.terrain.height is None:
        return motion, []
    share, depth = _residual_and_depth(motion, labels, count)
    wrong = np.flatnonzero((share > MAX_RESIDUAL_SHARE) | (depth > MAX_DEPTH))
    end = -1
    for k in wrong.tolist():
        if times[k] - (times[end] if end >= 0 else 0.0) > MAX_GAP:
            break
        end = k
    start = end + 1
    if end < 0 or times[start] > min(MAX_DURATION, MAX_SHARE * times[-1]):
        return motion, []
    after = slice(start, int(np.searchsorted(times, times[start] + CARRIED_DURATION)))
    if np.median(share[after]) > CARRIED_SHARE:
        return motion, []
    reasons = [
        text
        for text, holds in (
            (f"nothing can provide {share[:start].max():.1f} times the weight", share[:start].max() > MAX_RESIDUAL_SHARE),
            (f"the body is {100 * depth[:start].max():.0f} cm in the floor", depth[:start].max() > MAX_DEPTH),
        )
        if holds
    ]
    value = f"left out up to {motion.times[start]:.3f} s ({start} frames)"
    return motion.frames(slice(start, None)), [Assumption("first frames", value, f"a body cannot be in them: {', '.join(reasons)}")]


def _residual_and_depth(motion: Motion, labels: ContactLabels, count: int) -> tuple[Array, Array]:
    """Root residual as a share of the weight, and depth of the lowest point below the floor [m], in the first frames: (count,) each."""
    times, q = motion.times[:count], motion.q[:count]
    smooth = smooth_configurations(motion.figure, q, SMOOTHING / float(np.median(np.diff(times))))
    dynamics = MotionDynamics(motion.figure, MotionSpline(motion.figure, times, smooth).at(times), labels.terrain)
    estimate_forces_of_labels(dynamics, labels)
    depth = np.concatenate([-labels.terrain.clearance(block.point_position).min(axis=1) for block in dynamics.blocks()])
    return residual_share(dynamics), depth
