"""What every spot does while parts of the body touch, and how surely it bears."""

from __future__ import annotations

from functools import cache

import numpy as np

from brachiate import validation
from brachiate.contact_estimation.ground_reaction import HOLDS, NOTHING, STANDS
from brachiate.contact_estimation.motion_dynamics import Track
from brachiate.contact_estimation.parts import FEET
from brachiate.motion.contact_labels import Label, Labels
from brachiate.validation import Array

ARM = 0.5  # [m] by which moments count as forces
SURE_HEIGHT, SURE_SPEED = 0.01, 0.25  # [m], [m/s] above the part's lowest spot, along the ground: what hardly bears
THICK = 0.03  # [m] what is higher than that above the lowest spot does not bear at all
EASE = 0.06  # [s] in which a part comes to bear, and ceases to
LEAST = 1e-3  # how surely what touches bears at least
SIDES = {"left": ("left", "l_", "_l", "_left"), "right": ("right", "r_", "_r", "_right")}


def bearing(track: Track, labels: Labels, span: slice = slice(None), *, loosely: bool = False) -> tuple[Array, Array, slice]:
    """What every spot does in a span of frames, and how surely: (f, s) each; and the span.

    Of a foot, or another part that touches, the spots bear that are low and at rest, and less so at the beginning and the end. What holds
    does so by all its spots, of which some may push while others pull; ``loosely``: by one, about which it turns.
    """
    t, place, speed, n = track.times[span], track.place[span], track.speed[span], labels.ground.normal
    how, sure = np.zeros(place.shape[:2], np.int64), np.zeros(place.shape[:2])
    part_of = {part: k for k, part in enumerate(track.spots.parts)}
    standing: list[tuple[Label, Array, Array, Array]] = []
    lowest: dict[str, Array] = {}
    for label in labels.contacts:
        part = validation.named(part_of, label.part, "part", f"figure {track.model.name!r}")
        rows = np.arange(*np.searchsorted(t, (label.start - 1e-9, label.end + 1e-9)))
        if not len(rows):
            continue
        mine = np.flatnonzero(track.spots.part == part)
        if label.how == "holds":
            here = np.ix_(rows, mine[:1] if loosely else mine)
            how[here], sure[here] = HOLDS, _ease(label, t[rows], track.times)[:, None]
            continue
        height = place[np.ix_(rows, mine)] @ n
        low = lowest.setdefault(_foot_of(label.part), np.full(len(t), np.inf))
        low[rows] = np.minimum(low[rows], height.min(axis=1))
        standing.append((label, rows, mine, height))
    for label, rows, mine, height in standing:
        here = np.ix_(rows, mine)
        velocity = speed[here]
        along = np.linalg.norm(velocity - (velocity @ n)[..., None] * n, axis=2)
        low = height - lowest[_foot_of(label.part)][rows][:, None]
        bears = np.exp(-((low / SURE_HEIGHT) ** 2)) / (1.0 + (along / SURE_SPEED) ** 2)
        how[here] = np.where(low < THICK, STANDS, NOTHING)
        sure[here] = np.maximum(bears * _ease(label, t[rows], track.times)[:, None], LEAST)
    return how, sure, span


@cache
def _foot_of(part: str) -> str:
    """What a part is low together with: heel, ball and toes of one foot; itself."""
    name = part.lower()
    if not any(word in name for word in FEET):
        return part
    side = next((side for side, words in SIDES.items() if name.startswith(words) or name.endswith(words[1:])), "")
    return f"{side} foot" if side else part


def _ease(label: Label, t: Array, times: Array) -> Array:
    """How far a part has come to bear: little when it has just touched, or is about to part; what the motion cuts off goes on."""
    since = np.inf if label.start <= times[0] + 1e-9 else t - label.start
    until = np.inf if label.end >= times[-1] - 1e-9 else label.end - t
    return np.clip(np.minimum(since, until) / EASE, LEAST, 1.0) * np.ones(len(t))


def lacking(track: Track, span: slice = slice(None)) -> Array:
    """What is left to the root, force and moment together, as a share of the weight: (f,)."""
    left = track.left[span]
    return np.sqrt(np.sum(left[:, :3] ** 2, axis=1) + np.sum((left[:, 3:] / ARM) ** 2, axis=1)) / track.weight
