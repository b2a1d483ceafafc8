"""Inference of what motion files do not state: unit of length, up axis, and whether the first frame is a T-pose."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from brachiate import rotations, validation
from brachiate.assumptions import Assumption
from brachiate.clip.clip import Clip, Origin
from brachiate.clip.joint_roles import SIDES, JointRoles, find_joint_roles
from brachiate.clip.skeleton import End, Skeleton
from brachiate.errors import ArgumentError, MotionError, MotionFileError
from brachiate.validation import Array

#: Units of length in files [m].
UNITS: Mapping[str, float] = {
    "m": 1.0,
    "cm": 0.01,
    "mm": 0.001,
    "in": 0.0254,
    "ft": 0.3048,
    "cmu": 0.0254 / 0.45,  # CMU skeletons and their BVH files: inches over 0.45
}
MAX_STATURE, MIN_STATURE = 2.3, 1.1  # [m] of recorded persons: the ranges of different units do not overlap
LEG_LENGTH_SHARE = 0.49  # height of the hips above the ankles, as a share of the stature, mean of adults
UPRIGHT_COSINE = 0.7  # of the mean angle to vertical
# The first frame is a T-pose if the change of a joint to the next one is large, is this many times the median or the largest change of the
# joint in CHANGE_INTERVAL, and the largest one between frames in the NEXT_INTERVAL after it, which excludes motions that start from the
# rest pose.
MEDIAN_CHANGE_RATIO, MAX_CHANGE_RATIO, NEXT_CHANGE_RATIO = 8.0, 2.5, 2.0
MIN_T_POSE_CHANGE = 0.2  # [rad]
CHANGE_INTERVAL, NEXT_INTERVAL = 1.0 / 120.0, 0.1  # [s]
#: Axes of a file for x forward, y left and z up; the figure faces the axis after the up axis.
AXES: Mapping[str, tuple[int, int, int]] = {"x": (1, 2, 0), "y": (2, 0, 1), "z": (0, 1, 2)}


def to_z_up(v: Array, up: str) -> Array:
    """Convert vectors from the axes of a file to z up."""
    return v[..., AXES[up]]


def from_z_up(v: Array, up: str) -> Array:
    """Convert vectors from z up to the axes of a file."""
    return v[..., np.argsort(AXES[up])]


def rotations_to_z_up(q: Array, up: str) -> Array:
    """Convert quaternions from the axes of a file to z up."""
    return np.concatenate((q[..., :1], to_z_up(q[..., 1:], up)), axis=-1)


def normalize_clip(
    clip: Clip,
    *,
    unit: str | float | None = None,
    up: str | None = None,
    rest_frame: bool | None = None,
    roles: Mapping[str, str] | None = None,
) -> Clip:
    """Convert a clip from the axes and units of its file to meters with z up; what is inferred is listed in its assumptions.

    Args:
        clip: Clip in the axes and units of its file.
        unit: ``"m"``, ``"cm"``, ... or the length of a unit [m]; None: inferred.
        up: ``"x"``, ``"y"`` or ``"z"``; None: inferred.
        rest_frame: Whether the first frame is a T-pose to be dropped; None: inferred.
        roles: Names of joints by role, where the joint names do not say it.
    """
    joints = _known_roles(clip.skeleton, roles)
    assumptions = list(clip.assumptions)
    up = _up(clip, joints, up, assumptions)
    length = _unit(clip, joints, up, unit, assumptions)
    skeleton = Skeleton(
        clip.skeleton.names,
        clip.skeleton.parents,
        length * to_z_up(clip.skeleton.offsets, up),
        tuple(End(end.joint, length * to_z_up(end.offset, up)) for end in clip.skeleton.ends),
    )
    origin = replace(clip.origin or Origin("clip"), unit=length, up=up)
    first = 1 if _first_frame_is_t_pose(clip, rest_frame, assumptions) else 0
    return Clip(
        skeleton,
        clip.times[first:] - clip.times[first],
        rotations_to_z_up(clip.rotations[first:], up),
        length * to_z_up(clip.translations[first:], up),
        clip.name,
        tuple(assumptions),
        origin,
    )


def _known_roles(skeleton: Skeleton, roles: Mapping[str, str] | None) -> JointRoles | None:
    try:
        found = find_joint_roles(skeleton, roles)
    except MotionError:
        return None
    return found if "head" in found and all(f"{side}_ankle" in found for side in SIDES) else None


def _up(clip: Clip, joints: JointRoles | None, given: str | None, assumptions: list[Assumption]) -> str:
    if given is not None:
        if given not in AXES:
            raise MotionError(f"up={given!r} is not one of 'x', 'y', 'z': the axis of the file that points up.")
        return given
    if joints is None:
        raise MotionFileError(
            f"{clip.name}: the up axis cannot be inferred: head and feet are not identified by the names of the joints "
            f"({', '.join(clip.skeleton.names[:8])}, ...). Give it: up='y' (most files) or up='z', "
            "or give the joints: roles={'head': ...}."
        )
    feet = 0.5 * (clip.positions[:, joints["left_ankle"]] + clip.positions[:, joints["right_ankle"]])
    rise = clip.positions[:, joints["head"]] - feet
    mean = (rise / np.maximum(np.linalg.norm(rise, axis=1, keepdims=True), 1e-12)).mean(axis=0)
    at_rest = clip.skeleton.rest[joints["head"]] - clip.skeleton.rest[joints["left_ankle"]]
    at_rest = at_rest / max(float(np.linalg.norm(at_rest)), 1e-12)
    k = int(np.argmax(mean))
    if mean[k] > UPRIGHT_COSINE:
        up, why = "xyz"[k], f"the head is above the feet along it, {mean[k]:.2f} of the way on average"
    elif at_rest[int(np.argmax(at_rest))] > UPRIGHT_COSINE:
        up, why = "xyz"[int(np.argmax(at_rest))], "the head is above the feet along it in the rest pose"
    else:
        raise MotionFileError(
            f"{clip.name}: the up axis cannot be inferred: the figure is not upright, its mean direction from feet to head is "
            f"{np.round(mean, 2)}. Give it: up='y' (most files) or up='z', "
            "or give the joints: roles={'head': ...}."
        )
    assumptions.append(Assumption("up axis", up, why, "up"))
    return up


def _unit(clip: Clip, joints: JointRoles | None, up: str, given: str | float | None, assumptions: list[Assumption]) -> float:
    if isinstance(given, str):
        if given not in UNITS:
            raise MotionError(f"unit={given!r} is not one of {', '.join(UNITS)}. Give one of these, or the length of a unit in meters.")
        return UNITS[given]
    if given is not None:
        try:
            return validation.number(given, "unit", minimum=1e-6, maximum=1e3)
        except ArgumentError:
            raise MotionError(
                f"unit={validation.short_repr(given)} is not the length of a unit in meters: a number from 1e-6 to 1000 was expected."
            ) from None
    tall = skeleton_stature(clip.skeleton, joints, "xyz".index(up))
    fitting = {name: length for name, length in UNITS.items() if MIN_STATURE < length * tall < MAX_STATURE}
    if len(fitting) != 1:
        near = ", ".join(f"unit={name!r} ({length * tall:.2f} m tall)" for name, length in UNITS.items() if 0.3 < length * tall < 6.0)
        raise MotionFileError(
            f"{clip.name}: the unit of length cannot be inferred. The skeleton is {tall:.4g} units tall, which is not the stature of a "
            f"person ({MIN_STATURE}-{MAX_STATURE} m) in any known unit. Give it"
            + (f": {near}." if near else ", as the length of a unit in meters: unit=0.01.")
        )
    ((name, length),) = fitting.items()
    label = {"cmu": "CMU's, an inch over 0.45"}.get(name, name)
    assumptions.append(Assumption("unit", f"{length:.6g} m", f"{label}: the figure is then about {length * tall:.2f} m tall", "unit"))
    return length


def skeleton_stature(skeleton: Skeleton, joints: JointRoles | None, up: int) -> float:
    """Stature of a skeleton in its own units, from its leg length, so that it does not depend on the rest pose."""
    if joints is None or joints.missing():
        points = np.concatenate((skeleton.rest, skeleton.tips))
        return float(np.ptp(points[:, up]))
    length = np.linalg.norm(skeleton.offsets, axis=1)

    def along(top: int, bottom: int) -> float:
        return float(sum(length[j] for j in skeleton.chain(bottom) if j not in skeleton.chain(top)))

    legs = np.mean([along(joints[f"{side}_hip"], joints[f"{side}_ankle"]) for side in SIDES])
    return float(legs) / LEG_LENGTH_SHARE


def _first_frame_is_t_pose(clip: Clip, given: bool | None, assumptions: list[Assumption]) -> bool:
    if given is not None:
        return given and len(clip) > 1
    if len(clip) < 4:
        return False
    still = np.median(rotations.angle(clip.rotations[0])) < 1e-3
    change = rotations.angle(rotations.product(rotations.inverse(clip.rotations[:-1]), clip.rotations[1:]))
    later = change[1:] * (clip.rate * CHANGE_INTERVAL)  # so that the result does not depend on the frame rate
    usual = np.minimum(MEDIAN_CHANGE_RATIO * np.median(later, axis=0), MAX_CHANGE_RATIO * later.max(axis=0))
    following = change[1 : 2 + int(NEXT_INTERVAL * clip.rate)].max(axis=0)
    if still and (change[0] > np.maximum(np.maximum(usual, NEXT_CHANGE_RATIO * following), MIN_T_POSE_CHANGE)).any():
        why = f"its rotations are nearly zero, and the next frame is {np.degrees(change[0].max()):.0f} degrees away: a T-pose"
        assumptions.append(Assumption("first frame", "dropped", why, "rest_frame"))
        return True
    return False
