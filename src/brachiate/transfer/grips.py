"""Hands that hold something: found where nothing that touches the ground carries a motion."""

from __future__ import annotations

import numpy as np

from brachiate.doors import Array
from brachiate.errors import MotionError
from brachiate.motion.course import EVEN, Course
from brachiate.motion.ground import Ground
from brachiate.motion.labels import Labels
from brachiate.motion.motion import Motion
from brachiate.support.infer import infer
from brachiate.support.parts import HANDS, spells
from brachiate.support.track import Track

CUTOFF = 10.0  # [Hz] of captured motion: what is faster is noise
ROLES = {"ball": "toe", "toes": "toe"}  # of parts that touch
LASTING = 0.25  # [s] without anything that touches: who flies for less holds nothing


def held(motion: Motion, touches: Array) -> dict[str, Array]:
    """When hands hold something, by role (``left_grip``), while nothing touches the ground for a while; ``touches``: when something does.

    What is held says the motion itself: without it, nothing would carry the body (:mod:`brachiate.support.infer`).
    """
    if len(motion) < 3 or not spells(motion.times, ~touches, LASTING):
        return {}
    steps = np.diff(motion.times)
    cutoff = CUTOFF if motion.captured and np.ptp(steps) < EVEN * steps.mean() else None
    moments = Course(motion.figure, motion.times, motion.q, cutoff).at(motion.times)
    try:
        track = Track(motion.figure, moments, Ground(None if motion.captured else 0.0))
    except MotionError:  # a figure that does not move freely is carried by what it is fixed to
        return {}
    labels, _ = infer(track, True)
    return {role: on for role, on in by_role(labels, motion.times).items() if role.endswith("_grip")}


def by_role(labels: Labels, times: Array) -> dict[str, Array]:
    """Labels of heels, toes, hands, and of hands that hold, frame by frame."""
    found: dict[str, Array] = {}
    for label in labels.contacts:
        side, _, part = label.part.partition("_")
        part = "grip" if label.how == "holds" and part in HANDS else ROLES.get(part, part)
        on = (times >= label.start - 1e-9) & (times <= label.end + 1e-9)
        found[f"{side}_{part}"] = found.get(f"{side}_{part}", np.zeros(len(times), bool)) | on
    return found
