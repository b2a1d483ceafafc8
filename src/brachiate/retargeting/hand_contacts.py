"""Handholds and steps of the source motion: contacts other than the ground, inferred from the required forces."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from brachiate.clip.joint_roles import SIDES
from brachiate.contact_estimation.infer_contacts import infer_contacts
from brachiate.contact_estimation.motion_dynamics import MotionDynamics
from brachiate.contact_estimation.parts import HAND_WORDS
from brachiate.errors import MotionError
from brachiate.intervals import sustained_intervals
from brachiate.motion.contact_labels import ContactLabels
from brachiate.motion.motion import Motion
from brachiate.motion.spline import UNIFORM_SPACING_TOLERANCE, MotionSpline
from brachiate.motion.terrain import Terrain
from brachiate.validation import Array

CUTOFF = 10.0  # [Hz] low-pass filter of captured motion
PART_ROLES = {"ball": "toe", "toes": "toe"}  # role of a part
INFERRED_ROLES = tuple(f"{side}_{part}" for side in SIDES for part in ("heel", "toe", "grip"))
MIN_UNSUPPORTED_DURATION = 0.25  # [s] without ground contact: shorter phases are flight


def find_grips_and_steps(motion: Motion, ground_contact: Array) -> dict[str, Array]:
    """Flags (f,) of grips and of feet on steps, by role (``left_grip``, ``left_toe``); ``ground_contact``: frames with ground contact.

    Searched for only if there is no ground contact for a while, by :mod:`brachiate.contact_estimation.infer_contacts`.
    """
    if len(motion) < 3 or not sustained_intervals(motion.times, ~ground_contact, MIN_UNSUPPORTED_DURATION):
        return {}
    steps = np.diff(motion.times)
    cutoff = CUTOFF if motion.captured and np.ptp(steps) < UNIFORM_SPACING_TOLERANCE * steps.mean() else None
    states = MotionSpline(motion.figure, motion.times, motion.q, cutoff).at(motion.times)
    try:
        dynamics = MotionDynamics(motion.figure, states, Terrain(None if motion.captured else 0.0))
    except MotionError:  # without a floating base
        return {}
    labels, _ = infer_contacts(dynamics, "find")
    others = tuple(label for label in labels.contacts if label.kind == "grip" or label.height is not None)
    found = contacts_by_role(replace(labels, contacts=others), motion.times)
    return {role: on for role, on in found.items() if role in INFERRED_ROLES and on.any()}


def contacts_by_role(labels: ContactLabels, times: Array) -> dict[str, Array]:
    """Contact flags (f,) of heels, toes, hands and grips, by role."""
    found: dict[str, Array] = {}
    for label in labels.contacts:
        side, _, part = label.part.partition("_")
        is_grip = part in HAND_WORDS and (label.kind == "grip" or label.height is not None)  # fixed in place
        part = "grip" if is_grip else PART_ROLES.get(part, part)
        flags = found.setdefault(f"{side}_{part}", np.zeros(len(times), bool))
        flags[slice(*np.searchsorted(times, (label.start - 1e-9, label.end + 1e-9)))] = True
    return found
