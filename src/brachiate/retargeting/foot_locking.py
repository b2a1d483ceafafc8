"""Contact detection by height and speed with hysteresis, and foot locking.

A stance foot is locked at one foothold. The correction of its path decays smoothly after the stance and grows smoothly before it, so that
feet neither jump nor skate.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.ndimage import gaussian_filter1d, maximum_filter1d

from brachiate import rotations, validation
from brachiate.anatomy.landmarks import Landmarks
from brachiate.anatomy.sole import Sole
from brachiate.assumptions import Assumption
from brachiate.clip.joint_roles import SIDES
from brachiate.contact_estimation.contact_detector import ContactThresholds, detect_contact
from brachiate.errors import ArgumentError
from brachiate.intervals import drop_short_intervals, fill_short_gaps, true_intervals
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
RELEASE_TIME = 0.2  # [s] over which the correction of a foot decays
RAISE_TIME = 0.08  # [s] over which a penetrating swing foot is raised
FLATTENING_TIME = 0.1  # [s] over which the pitch of a sole goes to zero
MAX_FOOTHOLD_SHIFT, MAX_FOOTHOLD_ROTATION = 0.03, np.radians(10.0)  # [m], [rad]: smaller changes are the same foothold
MIN_STAIR_HEIGHT = 0.06  # [m] above the ground: higher footholds are on a stair


class FootPath(NamedTuple):
    """Trajectory of a foot body and its contact flags."""

    R: Array  # (f, 3, 3)
    x: Array  # (f, 3) [m]
    heel: Array  # (f,) contact of the heel
    toe: Array  # (f,) contact of the toe


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


def lock_foot(R: Array, x: Array, sole: Sole, heel: Array, toe: Array, level: Array, times: Array) -> FootPath:
    """Lock a foot at its footholds: trajectory without skate in stance and without penetration in swing.

    Args:
        R: Orientation in the pose: (f, 3, 3).
        x: Position in the pose: (f, 3) [m].
        sole: Of the foot.
        heel: Contact of the heel: (f,).
        toe: Contact of the toe.
        level: Height of the ground under it: (f,) [m].
        times: [s]
    """
    out_R, out_x = R.copy(), x.copy()
    on = heel | toe
    for a, b in true_intervals(on):
        _lock_stance(out_R, out_x, sole, heel, toe, level, times, a, b)
    center = sole.corners.mean(axis=0)
    turn = rotations.to_rotation_vector(rotations.from_matrix(out_R @ R.transpose(0, 2, 1)))
    shift = (out_x + out_R @ center) - (x + R @ center)
    turn, shift = (_release(values, on, times) for values in (turn, shift))
    new = rotations.to_matrix(rotations.from_rotation_vector(turn)) @ R
    out_R[~on] = new[~on]
    out_x[~on] = (x + R @ center + shift - new @ center)[~on]
    out_x[:, 2] += _clearance_correction(out_R, out_x, sole, on, times)
    return FootPath(out_R, out_x, heel, toe)


def _clearance_correction(R: Array, x: Array, sole: Sole, on: Array, times: Array) -> Array:
    """Height by which a swing foot is raised to avoid penetration: (f,) [m], smooth, 0 in stance."""
    lowest = (sole.hull @ R.transpose(0, 2, 1))[..., 2].min(axis=1) + x[:, 2]
    penetration = np.where(on, 0.0, np.maximum(-lowest, 0.0))
    if len(times) < 3 or not penetration.any():
        return penetration
    reach = RAISE_TIME / float(np.median(np.diff(times)))
    widened = maximum_filter1d(penetration, 2 * round(reach) + 1)
    return np.where(on, 0.0, np.maximum(penetration, gaussian_filter1d(widened, 0.5 * reach)))


def _lock_stance(R: Array, x: Array, sole: Sole, heel: Array, toe: Array, level: Array, times: Array, a: int, b: int) -> None:
    """Lock a foot in the stance from frame a to before b."""
    span = slice(a, b)
    axes = R[span] @ sole.axes
    yaw = np.unwrap(np.arctan2(axes[:, 1, 0], axes[:, 0, 0]))
    pitch = -np.arcsin(np.clip(axes[:, 2, 0], -1.0, 1.0))  # positive: toe down
    heels, toes = (x[span] + R[span] @ point for point in (sole.heel, sole.toe))
    length = float(np.linalg.norm(sole.toe - sole.heel))
    h, t = heel[span], toe[span]
    flat = h & t
    yaw, at = _footholds(yaw, heels, toes, length, flat, h, t, times[span])
    ahead = np.stack((np.cos(yaw), np.sin(yaw), np.zeros(b - a)), axis=1)
    pitch = np.where(flat, 0.0, np.where(t, np.maximum(pitch, 0.0), np.minimum(pitch, 0.0))) * _pitch_scale(flat, times[span])
    turned = rotations.to_matrix(rotations.product(rotations.about_axis(2, yaw), rotations.about_axis(1, pitch)))
    R[span] = turned @ sole.axes.T
    pivot = np.where(t[:, None], at, at - length * ahead)
    pivot[:, 2] = level[span]
    x[span] = pivot - np.where(t[:, None], R[span] @ sole.toe, R[span] @ sole.heel)
    lowest = (sole.hull @ R[span].transpose(0, 2, 1))[..., 2].min(axis=1) + x[span, 2]
    x[span, 2] += level[span] - lowest  # edges may be rounded


def _footholds(
    yaw: Array, heels: Array, toes: Array, length: float, flat: Array, heel: Array, toe: Array, times: Array
) -> tuple[Array, Array]:
    """Heading and toe position of a stance: constant while the sole is flat, interpolated between footholds."""
    spans = true_intervals(flat) or [(0, len(yaw))]
    anchors: list[tuple[int, int, float, Array]] = []
    for a, b in spans:
        direction = float(yaw[a:b].mean())
        ahead = np.array((np.cos(direction), np.sin(direction), 0.0))
        observed = [points[a:b][label[a:b]] + far for points, label, far in ((toes, toe, 0.0), (heels, heel, length * ahead))]
        place = np.concatenate(observed).mean(axis=0)
        if anchors:
            start, _, other, other_position = anchors[-1]
            if np.linalg.norm((place - other_position)[:2]) < MAX_FOOTHOLD_SHIFT and abs(direction - other) < MAX_FOOTHOLD_ROTATION:
                share = (b - a) / (b - start)
                anchors[-1] = (start, b, other + share * (direction - other), other_position + share * (place - other_position))
                continue
        anchors.append((a, b, direction, place))
    yaws, places = np.empty(len(yaw)), np.empty((len(yaw), 3))
    yaws[:], places[:] = anchors[0][2], anchors[0][3]
    for (_, end, y0, p0), (start, _, y1, p1) in pairwise(anchors):
        s = np.clip((times - times[end - 1]) / (times[start] - times[end - 1]), 0.0, 1.0)
        s = s * s * (3 - 2 * s)
        later = np.arange(len(yaw)) >= end
        yaws[later] = (y0 + s * (y1 - y0))[later]
        places[later] = (p0 + s[:, None] * (p1 - p0))[later]
    return yaws, places


def _pitch_scale(flat: Array, times: Array) -> Array:
    """Scale of the pitch: 0 where the sole is flat, 1 away from that: (f,)."""
    if not flat.any():
        return np.ones(len(flat))
    time_from_contact = np.abs(times[:, None] - times[flat]).min(axis=1)
    s = np.clip(time_from_contact / FLATTENING_TIME, 0.0, 1.0)
    return s * s * (3 - 2 * s)


def _release(values: Array, on: Array, times: Array) -> Array:
    """Corrections (f, 3) in stance, decaying to zero in between with continuous rate."""
    out = np.where(on[:, None], values, 0.0)
    for a, b in true_intervals(~on):
        before, after = a - 1, b
        gap = times[min(after, len(times) - 1)] - times[max(before, 0)]
        length = min(RELEASE_TIME, float(gap))
        if before >= 0:
            rate = _edge_rate(values, on, times, before, -1)
            out[a:b] += _hermite_decay((times[a:b] - times[before]) / length, values[before], rate * length)
        if after < len(times):
            rate = _edge_rate(values, on, times, after, 1)
            out[a:b] += _hermite_decay((times[after] - times[a:b]) / length, values[after], -rate * length)
    return out


def _edge_rate(values: Array, on: Array, times: Array, k: int, inward: int) -> Array:
    """Rate of the correction at the edge of a contact, from within."""
    other = k + inward
    if not 0 <= other < len(times) or not on[other]:
        return np.zeros(values.shape[1])
    return (values[k] - values[other]) / (times[k] - times[other])


def _hermite_decay(s: Array, value: Array, slope: Array) -> Array:
    """Cubic Hermite decay from a value and slope at s = 0 to zero at s ≥ 1: (f, 3)."""
    s = np.clip(s, 0.0, 1.0)[:, None]
    return value * (1 - s) ** 2 * (1 + 2 * s) + slope * s * (1 - s) ** 2


def contact_weights(on: Array, times: Array, contact: float, otherwise: float, over: float = 0.08) -> Array:
    """Target weights that blend smoothly (logarithmically) between contact and non-contact: (f,)."""
    if not on.any():
        return np.full(len(times), otherwise)
    time_from_contact = np.full(len(times), np.inf)
    for a, b in true_intervals(on):
        time_from_contact = np.minimum(time_from_contact, np.maximum(np.maximum(times[a] - times, times - times[b - 1]), 0.0))
    s = np.clip(time_from_contact / over, 0.0, 1.0)
    s = s * s * (3 - 2 * s)
    return np.exp(np.log(contact) * (1 - s) + np.log(otherwise) * s)
