"""What hands hold and feet stand on beside the ground: found where what touches the ground cannot carry a motion."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from brachiate.clip.joint_roles import SIDES
from brachiate.contact_estimation.infer_contacts import infer
from brachiate.contact_estimation.motion_dynamics import Track
from brachiate.contact_estimation.parts import HANDS, spells
from brachiate.errors import MotionError
from brachiate.motion.contact_labels import Labels
from brachiate.motion.motion import Motion
from brachiate.motion.spline import EVEN, Course
from brachiate.motion.terrain import Ground
from brachiate.validation import Array

CUTOFF = 10.0  # [Hz] of captured motion: what is faster is noise
ROLES = {"ball": "toe", "toes": "toe"}  # of parts that touch
KEPT = tuple(f"{side}_{part}" for side in SIDES for part in ("heel", "toe", "grip"))
LASTING = 0.25  # [s] without anything that touches: who flies for less holds nothing


def beside_ground(motion: Motion, touches: Array) -> dict[str, Array]:
    """When hands hold something and feet stand on it, by role (``left_grip``, ``left_toe``); ``touches``: when something is on the ground.

    It is looked for if that is nothing for a while. What is there says the motion itself: without it, nothing would carry the body
    (:mod:`brachiate.contact_estimation.infer_contacts`).
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
    others = tuple(label for label in labels.contacts if label.how == "holds" or label.height is not None)
    found = by_role(replace(labels, contacts=others), motion.times)
    return {role: on for role, on in found.items() if role in KEPT and on.any()}


def by_role(labels: Labels, times: Array) -> dict[str, Array]:
    """Labels of heels, toes, hands, and of hands that hold, frame by frame."""
    found: dict[str, Array] = {}
    for label in labels.contacts:
        side, _, part = label.part.partition("_")
        held = part in HANDS and (label.how == "holds" or label.height is not None)  # where it is, it stays
        part = "grip" if held else ROLES.get(part, part)
        on = (times >= label.start - 1e-9) & (times <= label.end + 1e-9)
        found[f"{side}_{part}"] = found.get(f"{side}_{part}", np.zeros(len(times), bool)) | on
    return found
