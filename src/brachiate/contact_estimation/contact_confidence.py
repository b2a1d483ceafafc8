"""Contact modes of points and the confidence that each carries load, from contact labels of body parts."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np

from brachiate import validation
from brachiate.contact_estimation.cost_constants import MOMENT_ARM
from brachiate.contact_estimation.ground_reaction import GRIP, NO_CONTACT, SUPPORT
from brachiate.contact_estimation.motion_dynamics import FrameBlock, MotionDynamics
from brachiate.contact_estimation.parts import FOOT_WORDS
from brachiate.motion.contact_labels import ContactInterval, ContactLabels
from brachiate.validation import Array

CONFIDENCE_HEIGHT, CONFIDENCE_SPEED = 0.01, 0.25  # [m] above the lowest point, [m/s] along the ground: scales of the confidence
MAX_POINT_HEIGHT = 0.03  # [m] above the lowest point: higher points carry no load
LOADING_TIME = 0.06  # [s] loading and unloading ramp of a contact
MIN_CONFIDENCE = 1e-3  # of a point in contact
SIDE_AFFIXES = {"left": ("left", "l_", "_l", "_left"), "right": ("right", "r_", "_r", "_right")}


def estimate_forces_of_labels(
    dynamics: MotionDynamics, labels: ContactLabels, span: slice = slice(None), *, single_point_grips: bool = False
) -> None:
    """Estimate contact forces, joint torques and root residual for contact labels in a span of frames."""
    dynamics.estimate_forces_in_parts(_confidence_by_blocks(dynamics, labels, span, single_point_grips))


def contact_confidence(
    dynamics: MotionDynamics, labels: ContactLabels, span: slice = slice(None), *, single_point_grips: bool = False
) -> tuple[Array, Array, slice]:
    """Contact mode and confidence of every point in a span of frames, (f, s) each; and the span.

    Points of a part in contact have high confidence if they are low and at rest, less at the beginning and the end of the contact. A grip
    acts at all points of its part, of which some may push while others pull; ``single_point_grips``: at one, about which it rotates.
    """
    modes, confidences, _ = zip(*_confidence_by_blocks(dynamics, labels, span, single_point_grips), strict=True)
    return np.concatenate(modes), np.concatenate(confidences), span


def _confidence_by_blocks(
    dynamics: MotionDynamics, labels: ContactLabels, span: slice, single_point_grips: bool
) -> Iterator[tuple[Array, Array, slice]]:
    """Contact mode and confidence of every point, (n, s) each, and the frames, block by block."""
    names = {part: k for k, part in enumerate(dynamics.contact_points.parts)}
    parts = [validation.lookup(names, label.part, "part", f"figure {dynamics.model.name!r}") for label in labels.contacts]
    start, end = (np.array([getattr(label, name) for label in labels.contacts]) for name in ("start", "end"))
    for block in dynamics.blocks(span):
        t = dynamics.times[block.frames]
        within = np.flatnonzero((start - 1e-9 <= t[-1]) & (end + 1e-9 > t[0]))
        chosen = [(labels.contacts[k], parts[k]) for k in within.tolist()]
        yield *_confidence(dynamics, block, labels.terrain.normal, chosen, single_point_grips), block.frames


def _confidence(
    dynamics: MotionDynamics, block: FrameBlock, n: Array, labels: list[tuple[ContactInterval, int]], single_point_grips: bool
) -> tuple[Array, Array]:
    """Contact mode and confidence of every point in a block of frames, for labels and the numbers of their parts."""
    t, position, point_velocity = dynamics.times[block.frames], block.point_position, block.point_velocity
    mode, confidence = np.zeros(position.shape[:2], np.int8), np.zeros(position.shape[:2])
    supports: list[tuple[ContactInterval, Array, Array, Array]] = []
    lowest: dict[str, Array] = {}
    for label, part in labels:
        rows = np.arange(*np.searchsorted(t, (label.start - 1e-9, label.end + 1e-9)))
        if not len(rows):
            continue
        points = np.flatnonzero(dynamics.contact_points.part == part)
        if label.kind == "grip":
            cells = np.ix_(rows, points[:1] if single_point_grips else points)
            mode[cells], confidence[cells] = GRIP, _loading_ramp(label, t[rows], dynamics.times)[:, None]
            continue
        height = position[np.ix_(rows, points)] @ n
        low = lowest.setdefault(foot_group(label.part), np.full(len(t), np.inf))
        low[rows] = np.minimum(low[rows], height.min(axis=1))
        supports.append((label, rows, points, height))
    for label, rows, points, height in supports:
        cells = np.ix_(rows, points)
        velocity = point_velocity[cells]
        tangential_speed = np.linalg.norm(velocity - (velocity @ n)[..., None] * n, axis=2)
        low = height - lowest[foot_group(label.part)][rows][:, None]
        weight = np.exp(-((low / CONFIDENCE_HEIGHT) ** 2)) / (1.0 + (tangential_speed / CONFIDENCE_SPEED) ** 2)
        mode[cells] = np.where(low < MAX_POINT_HEIGHT, SUPPORT, NO_CONTACT)
        confidence[cells] = np.maximum(weight * _loading_ramp(label, t[rows], dynamics.times)[:, None], MIN_CONFIDENCE)
    return mode, confidence


@cache
def foot_group(part: str) -> str:
    """Parts that share one lowest point: heel, ball and toes of a foot; else the part itself."""
    name = part.lower()
    if not any(word in name for word in FOOT_WORDS):
        return part
    side = next((side for side, words in SIDE_AFFIXES.items() if name.startswith(words) or name.endswith(words[1:])), "")
    return f"{side} foot" if side else part


def _loading_ramp(label: ContactInterval, t: Array, times: Array) -> Array:
    """Loading ramp: low just after touchdown and just before liftoff; contacts cut off by the ends of the motion are fully loaded."""
    since = np.inf if label.start <= times[0] + 1e-9 else t - label.start
    until = np.inf if label.end >= times[-1] - 1e-9 else label.end - t
    return np.clip(np.minimum(since, until) / LOADING_TIME, MIN_CONFIDENCE, 1.0) * np.ones(len(t))


def residual_share(dynamics: MotionDynamics, span: slice = slice(None)) -> Array:
    """Root residual, force and moment combined, as a share of the weight: (f,)."""
    return share_of_weight(dynamics, dynamics.root_residual[span])


def share_of_weight(dynamics: MotionDynamics, wrench: Array) -> Array:
    """Forces and moments (..., 6) combined, as a share of the weight."""
    return np.sqrt(np.sum(wrench[..., :3] ** 2, axis=-1) + np.sum((wrench[..., 3:] / MOMENT_ARM) ** 2, axis=-1)) / dynamics.weight
