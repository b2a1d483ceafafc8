"""What motion files do not say: units, the axis that is up, whether the first frame is a T-pose. Found from the figure and its motion."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from brachiate import rotations
from brachiate.assumptions import Guess
from brachiate.clip.clip import Clip, Origin
from brachiate.clip.joint_roles import SIDES, Anatomy, anatomy_of
from brachiate.clip.skeleton import End, Skeleton
from brachiate.errors import MotionError, MotionFileError
from brachiate.validation import Array

#: Lengths that files count in [m].
UNITS: Mapping[str, float] = {
    "m": 1.0,
    "cm": 0.01,
    "mm": 0.001,
    "in": 0.0254,
    "ft": 0.3048,
    "cmu": 0.0254 / 0.45,  # CMU's skeletons and their BVH: inches over 0.45
}
TALLEST, SMALLEST = 2.3, 1.1  # [m] of those who are recorded: no two of the units have statures in common
LEGS = 0.49  # hips above the ankles over stature, the mean of grown-ups
STANDING = 0.7  # cosine: upright on the average
JUMP, FARTHEST = 8.0, 2.5  # times the usual or the largest change later on: the first frame does not belong to the motion
#: Axes of a file as x forward, y left and z up of ours, where the figure looks along the axis after the one that is up.
AXES: Mapping[str, tuple[int, int, int]] = {"x": (1, 2, 0), "y": (2, 0, 1), "z": (0, 1, 2)}


def permuted(v: Array, up: str) -> Array:
    """Vectors of a file along our axes."""
    return v[..., AXES[up]]


def permuted_back(v: Array, up: str) -> Array:
    """Our vectors along the axes of a file."""
    return v[..., np.argsort(AXES[up])]


def permuted_turns(q: Array, up: str) -> Array:
    """Rotations of a file along our axes."""
    return np.concatenate((q[..., :1], permuted(q[..., 1:], up)), axis=-1)


def settle(
    clip: Clip,
    *,
    unit: str | float | None = None,
    up: str | None = None,
    rest_frame: bool | None = None,
    roles: Mapping[str, str] | None = None,
) -> Clip:
    """Bring a clip as it was read, in its file's axes and units, to metres with z up; say what was assumed.

    Args:
        clip: As read.
        unit: ``"m"``, ``"cm"``, ... or the length of a unit [m]; None finds it.
        up: ``"x"``, ``"y"`` or ``"z"``; None finds it.
        rest_frame: Whether the first frame is a T-pose to be dropped; None finds out.
        roles: Names of joints by role, where they do not say it.
    """
    names = _names(clip.skeleton, roles)
    guesses = list(clip.guesses)
    up = _up(clip, names, up, guesses)
    length = _unit(clip, names, up, unit, guesses)
    skeleton = Skeleton(
        clip.skeleton.names,
        clip.skeleton.parents,
        length * permuted(clip.skeleton.offsets, up),
        tuple(End(end.joint, length * permuted(end.offset, up)) for end in clip.skeleton.ends),
    )
    origin = replace(clip.origin or Origin("clip"), unit=length, up=up)
    first = 1 if _starts_at_rest(clip, rest_frame, guesses) else 0
    return Clip(
        skeleton,
        clip.times[first:] - clip.times[first],
        permuted_turns(clip.turns[first:], up),
        length * permuted(clip.places[first:], up),
        clip.name,
        tuple(guesses),
        origin,
    )


def _names(skeleton: Skeleton, roles: Mapping[str, str] | None) -> Anatomy | None:
    try:
        found = anatomy_of(skeleton, roles)
    except MotionError:
        return None
    return found if "head" in found and all(f"{side}_ankle" in found for side in SIDES) else None


def _up(clip: Clip, names: Anatomy | None, given: str | None, guesses: list[Guess]) -> str:
    if given is not None:
        if given not in AXES:
            raise MotionError(f"up={given!r} is none of 'x', 'y', 'z': the axis of the file that points upwards.")
        return given
    if names is None:
        raise MotionFileError(
            f"{clip.name}: which axis is up cannot be told, as head and feet are not known by the names of the joints "
            f"({', '.join(clip.skeleton.names[:8])}, ...). Say it: up='y' (most files) or up='z', "
            "or which joints they are: roles={'head': ...}."
        )
    feet = 0.5 * (clip.positions[:, names["left_ankle"]] + clip.positions[:, names["right_ankle"]])
    rise = clip.positions[:, names["head"]] - feet
    mean = (rise / np.maximum(np.linalg.norm(rise, axis=1, keepdims=True), 1e-12)).mean(axis=0)
    at_rest = clip.skeleton.rest[names["head"]] - clip.skeleton.rest[names["left_ankle"]]
    at_rest = at_rest / max(float(np.linalg.norm(at_rest)), 1e-12)
    k = int(np.argmax(mean))
    if mean[k] > STANDING:
        up, why = "xyz"[k], f"the head is above the feet along it, {mean[k]:.2f} of the way on the average"
    elif at_rest[int(np.argmax(at_rest))] > STANDING:
        up, why = "xyz"[int(np.argmax(at_rest))], "the head is above the feet along it while the skeleton rests"
    else:
        raise MotionFileError(
            f"{clip.name}: which axis is up cannot be told, as the figure does not stand: from feet to head it is {np.round(mean, 2)} "
            "on the average. Say it: up='y' (most files) or up='z', "
            "or which joints they are: roles={'head': ...}."
        )
    guesses.append(Guess("up axis", up, why, "up"))
    return up


def _unit(clip: Clip, names: Anatomy | None, up: str, given: str | float | None, guesses: list[Guess]) -> float:
    if isinstance(given, str):
        if given not in UNITS:
            raise MotionError(f"unit={given!r} is none of {', '.join(UNITS)}. Give one of these, or the length of a unit in metres.")
        return UNITS[given]
    if given is not None:
        if not 0.0 < float(given) < 1000.0:
            raise MotionError(f"unit={given!r} is no length of a unit in metres: a number from 0 to 1000 was expected.")
        return float(given)
    tall = stature(clip.skeleton, names, "xyz".index(up))
    fitting = {name: length for name, length in UNITS.items() if SMALLEST < length * tall < TALLEST}
    if len(fitting) != 1:
        near = ", ".join(f"unit={name!r} ({length * tall:.2f} m tall)" for name, length in UNITS.items() if 0.3 < length * tall < 6.0)
        raise MotionFileError(
            f"{clip.name}: the unit of lengths cannot be told. The skeleton is {tall:.4g} units tall, which is a person's stature "
            f"({SMALLEST}-{TALLEST} m) in none of the units known. Say it"
            + (f": {near}." if near else ", as the length of a unit in metres: unit=0.01.")
        )
    ((name, length),) = fitting.items()
    told = {"cmu": "CMU's, an inch over 0.45"}.get(name, name)
    guesses.append(Guess("unit", f"{length:.6g} m", f"{told}: the figure is then about {length * tall:.2f} m tall", "unit"))
    return length


def stature(skeleton: Skeleton, names: Anatomy | None, up: int) -> float:
    """How tall a skeleton is, in its own units: from its bones, so that it does not matter how it stands at rest."""
    if names is None or names.missing():
        points = np.concatenate((skeleton.rest, skeleton.tips))
        return float(np.ptp(points[:, up]))
    length = np.linalg.norm(skeleton.offsets, axis=1)

    def along(top: int, bottom: int) -> float:
        return float(sum(length[j] for j in skeleton.chain(bottom) if j not in skeleton.chain(top)))

    legs = np.mean([along(names[f"{side}_hip"], names[f"{side}_ankle"]) for side in SIDES])
    return float(legs) / LEGS


def _starts_at_rest(clip: Clip, given: bool | None, guesses: list[Guess]) -> bool:
    if given is not None:
        return given and len(clip) > 1
    if len(clip) < 4:
        return False
    still = np.median(rotations.angle(clip.turns[0])) < 1e-3
    change = rotations.angle(rotations.product(rotations.inverse(clip.turns[:-1]), clip.turns[1:])).max(axis=1)
    usual = min(JUMP * float(np.median(change[1:])), FARTHEST * float(change[1:].max()))
    if still and change[0] > max(usual, 1e-5):
        why = f"hardly a joint is turned in it, and the next frame is {np.degrees(change[0]):.0f} degrees away: a T-pose"
        guesses.append(Guess("first frame", "dropped", why, "rest_frame"))
        return True
    return False
