"""Contacts of the source motion: heels, toes and hands, detected by height and speed with hysteresis or given by the user."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy.ndimage import gaussian_filter1d

from brachiate import validation
from brachiate.anatomy.landmarks import Landmarks
from brachiate.assumptions import Assumption
from brachiate.clip.joint_roles import SIDES
from brachiate.contact_estimation.contact_detector import ContactThresholds, detect_contact
from brachiate.errors import ArgumentError
from brachiate.intervals import drop_short_intervals, fill_short_gaps
from brachiate.kinematics_batch import Poses
from brachiate.validation import Array

#: Roles of contacts: ``foot`` is heel and toe both, ``grip`` a hand that grips something fixed.
CONTACT_ROLES = tuple(f"{side}_{part}" for side in SIDES for part in ("foot", "heel", "toe", "hand", "grip"))
REFERENCE_LEG_LENGTH = 0.85  # [m] to which the following thresholds refer; they scale with leg length
HEIGHT_ON, HEIGHT_OFF = 0.035, 0.055  # [m] height below which a contact begins, above which it ends (hysteresis)
SPEED_ON, SPEED_OFF = 0.2, 0.4  # [m/s] speed below which a contact begins, above which it ends
PALM_HEIGHT = 0.09  # [m] added to the height thresholds for the palm, which is inside the hand
HAND_SPEED_FACTOR = 3.0  # of the speed thresholds, as hand bones are inaccurate
MAX_TRUNK_COSINE = 0.5  # cosine of the trunk's angle from vertical: a more upright trunk is not supported by the hands
MIN_CONTACT_DURATION = 0.06  # [s] shorter contacts and gaps are removed


def estimate_ground_height(marks: Landmarks, poses: Poses, times: Array) -> float:
    """Ground height: 10th percentile of heights of slow sole points [m]."""
    points = [_sole_point(marks, poses, side, end) for side in SIDES for end in ("heel", "toe")]
    heights = np.concatenate([point[:, 2] for point in points])
    if len(times) < 5:
        return float(heights.min())
    slow = np.concatenate([_smoothed_speed(point, times) for point in points]) < SPEED_ON
    return float(np.percentile(heights[slow], 10)) if slow.sum() > 4 else float(heights.min())


def detect_contacts(marks: Landmarks, poses: Poses, times: Array, leg: float, ground: float) -> dict[str, Array]:
    """Detect ground contacts of heels, toes and hands by height and speed with hysteresis: flags (f,) by role."""
    scale = leg / REFERENCE_LEG_LENGTH
    found = {}
    for side in SIDES:
        for end in ("heel", "toe"):
            found[f"{side}_{end}"] = _detect_point_contact(_sole_point(marks, poses, side, end), times, scale, ground)
        if f"{side}_hand" in marks.points:
            palm = poses.point(*marks.points[f"{side}_hand"])
            found[f"{side}_hand"] = _detect_point_contact(palm, times, scale, ground, PALM_HEIGHT, HAND_SPEED_FACTOR) & _trunk_is_low(
                marks, poses, side
            )
    return found


def contact_flags(flags: Mapping[str, Array], frames: int) -> tuple[dict[str, Array], list[Assumption]]:
    """Validate contact flags of a user: flags (f,) of heels, toes, hands and grips; an assumption names those left out."""
    found: dict[str, Array] = {}
    left_out = []
    for role, label in flags.items():
        label = np.asarray(label)
        if label.shape != (frames,) or label.dtype != bool:
            raise ArgumentError(f"contacts[{role!r}]: expected {frames} of True or False, one a frame, got {validation.short_repr(label)}.")
        side, _, part = role.partition("_")
        if role not in CONTACT_ROLES:
            left_out.append(role)
        for one in ("heel", "toe") if part == "foot" else (part,):
            if role in CONTACT_ROLES:
                found[f"{side}_{one}"] = found.get(f"{side}_{one}", np.zeros(frames, bool)) | label
    assumptions = (
        [Assumption("contacts left out", ", ".join(left_out), f"only these are used: {', '.join(CONTACT_ROLES)}")] if left_out else []
    )
    return found, assumptions


def _sole_point(marks: Landmarks, poses: Poses, side: str, end: str) -> Array:
    sole = marks.soles[side]
    return poses.point(marks.bodies[f"{side}_foot"], sole.heel if end == "heel" else sole.toe)


def _smoothed_speed(x: Array, times: Array) -> Array:
    if len(times) < 2:
        return np.zeros(len(x))
    smooth = gaussian_filter1d(x, max(0.02 / float(np.median(np.diff(times))), 0.3), axis=0, mode="nearest")
    return np.linalg.norm(np.gradient(smooth, times, axis=0), axis=1)


def _trunk_is_low(marks: Landmarks, poses: Poses, side: str) -> Array:
    """Whether the trunk is inclined enough to be supported by the hands: (f,)."""
    trunk = poses.point(*marks.points[f"{side}_shoulder"]) - poses.point(*marks.points[f"{side}_hip"])
    return trunk[:, 2] < MAX_TRUNK_COSINE * np.linalg.norm(trunk, axis=1)


def _detect_point_contact(
    x: Array, times: Array, scale: float, ground: float, extra_height: float = 0.0, speed_factor: float = 1.0
) -> Array:
    """Contact of a point by height and speed with hysteresis, symmetric in time: (f,)."""
    thresholds = ContactThresholds(
        (HEIGHT_ON + extra_height) * scale,
        (HEIGHT_OFF + extra_height) * scale,
        speed_factor * SPEED_ON * scale,
        speed_factor * SPEED_OFF * scale,
    )
    contact = detect_contact(x[:, 2] - ground, _smoothed_speed(x, times), thresholds)
    contact = fill_short_gaps(contact, times, MIN_CONTACT_DURATION)
    return drop_short_intervals(contact, times, MIN_CONTACT_DURATION, at_ends=False)
