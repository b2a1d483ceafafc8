"""What can be done with motions: other frames, other places, another order, the other side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from brachiate import rotations, validation
from brachiate.errors import MotionError
from brachiate.kinematics import link_poses, update_poses
from brachiate.model.data import Data
from brachiate.model.joints import Free, Revolute, Spherical
from brachiate.model.model import Model
from brachiate.motion.motion import Motion
from brachiate.motion.spline import Course
from brachiate.validation import Array

MOST_FRAMES = 10_000_000
ALIKE = 0.02  # [m] to which left and right of a figure must be mirror images
_MIRROR = np.array((1.0, -1.0, 1.0, -1.0))  # of a quaternion, from left to right


def resampled(motion: Motion, rate: float, cutoff: float | None = None) -> Motion:
    """The same with so many frames a second, along a smooth curve.

    Args:
        motion: Which.
        rate: Frames a second.
        cutoff: Frequency [Hz] above which it is taken for noise; None keeps it all.
    """
    rate = validation.number(rate, "rate", above=0.0)
    count = round(motion.duration * rate) + 1
    if count > MOST_FRAMES:
        raise MotionError(f"{count} frames are more than a motion may have ({MOST_FRAMES}). Choose a lower rate than {rate:g}.")
    times = motion.times[0] + np.arange(count) / rate
    times = times[times <= motion.times[-1] + 1e-9]
    return _new(motion, times, Course(motion.figure, motion.times, motion.q, cutoff).at(times).q)


def warped(motion: Motion, old: ArrayLike, new: ArrayLike) -> Motion:
    """The same at another pace: what happened at the old times happens at the new ones, smoothly between them.

    Args:
        motion: Which.
        old: Times in the motion [s], growing.
        new: Times they become [s], growing.
    """
    from scipy.interpolate import PchipInterpolator  # noqa: PLC0415

    old, new = (validation.reals(x, name, "times in seconds").ravel() for x, name in ((old, "old"), (new, "new")))
    if len(old) != len(new) or len(old) < 2 or (np.diff(old) <= 0).any() or (np.diff(new) <= 0).any():
        raise MotionError("Old and new times must be as many, two at least, and grow.")
    back = PchipInterpolator(new, old)
    rate = (len(motion) - 1) / motion.duration
    times = new[0] + np.arange(int((new[-1] - new[0]) * rate + 1e-6) + 1) / rate
    return _new(motion, times, Course(motion.figure, motion.times, motion.q).at(back(times)).q)


def root_of(model: Model) -> slice:
    """Where the place and orientation of a figure's root are in q."""
    for link in model.links.values():
        if isinstance(link.joint, Free):
            return model.joints[link.joint_name].q
    raise MotionError(f"Figure {model.name!r} has no free root, so it cannot be moved as a whole.")


def heading(q: Array) -> Array:
    """The direction [rad, from x to y] in which roots (..., 4) look that look along x at rest."""
    ahead = rotations.turned(q, np.array((1.0, 0.0, 0.0)))
    aside = rotations.turned(q, np.array((0.0, 1.0, 0.0)))
    # Who lies on the face or the back looks along x hardly at all: then the left side says it.
    upright = np.hypot(ahead[..., 0], ahead[..., 1]) > 0.5
    return np.where(upright, np.arctan2(ahead[..., 1], ahead[..., 0]), np.arctan2(-aside[..., 0], aside[..., 1]))


def moved(motion: Motion, by: ArrayLike = (0.0, 0.0), turned: float = 0.0, about: ArrayLike = (0.0, 0.0)) -> Motion:
    """The same elsewhere: turned about an upright line [rad], then moved along the ground [m]."""
    by, about = (validation.numbers(x, (2,), name) for x, name in ((by, "by"), (about, "about")))
    root = root_of(motion.figure)
    q = motion.q.copy()
    q[:, root] = _moved(q[:, root], by, validation.number(turned, "turned"), about)
    return _new(motion, motion.times, q)


def _moved(root: Array, by: Array, angle: float, about: Array) -> Array:
    spin = rotations.about(2, np.array(angle))
    out = root.copy()
    center = np.array((*about, 0.0))
    out[..., :3] = rotations.turned(spin, root[..., :3] - center) + center + np.array((*by, 0.0))
    out[..., 3:] = rotations.product(np.broadcast_to(spin, root[..., 3:].shape), root[..., 3:])
    return out


def aligned(motion: Motion, place: ArrayLike = (0.0, 0.0), looking: float = 0.0, frame: int = 0) -> Motion:
    """The same such that at one frame the root is over a place of the ground and looks in a direction [rad, from x to y]."""
    place = validation.numbers(place, (2,), "place")
    root = motion.q[frame, root_of(motion.figure)]
    turn = validation.number(looking, "looking") - float(heading(root[3:]))
    return moved(motion, place - root[:2], turn, root[:2])


def joined(motions: Sequence[Motion], blend: float = 0.2, *, align: bool = True) -> Motion:
    """One motion after another, blended into each other.

    Args:
        motions: Of one figure.
        blend: How long both are seen [s]; 0 puts the first frame of the next one frame after the last.
        align: Move each to where the one before ends, and turn it to look where that one looks.
    """
    if not motions:
        raise MotionError("Nothing to join: give one motion at least.")
    blend = validation.number(blend, "blend", least=0.0)
    whole = motions[0]
    for nxt in motions[1:]:
        whole = _join(whole, nxt, blend, align)
    return whole


def _join(first: Motion, then: Motion, blend: float, align: bool) -> Motion:
    if first.figure is not then.figure and (first.figure.coordinates != then.figure.coordinates):
        raise MotionError(f"{first.name!r} and {then.name!r} are of different figures. Retarget one of them to the other's.")
    if min(first.duration, then.duration) < blend:
        raise MotionError(f"blend={blend:g} s is longer than {min(first.duration, then.duration):g} s, the shorter of both motions.")
    dt = first.duration / max(len(first) - 1, 1)
    start = first.times[-1] - blend if blend > 0 else first.times[-1] + dt
    if align:
        root = root_of(first.figure)
        at = Course(first.figure, first.times, first.q).at(min(start, first.times[-1])).q[0, root]
        then = aligned(then, at[:2], float(heading(at[3:])))
    shifted = then.times - then.times[0] + start
    times = np.concatenate((first.times[first.times < start - 1e-9], np.arange(int((shifted[-1] - start) / dt + 1e-6) + 1) * dt + start))
    later = Course(then.figure, shifted, then.q)
    q = np.empty((len(times), first.figure.nq))
    early, late = times < start - 1e-9, times > first.times[-1] + 1e-9
    q[early] = first.q[: early.sum()]
    q[late] = later.at(np.clip(times[late], shifted[0], shifted[-1])).q
    both = ~early & ~late
    if both.any():
        part = (times[both] - start) / blend if blend > 0 else np.ones(both.sum())
        one = Course(first.figure, first.times, first.q).at(np.clip(times[both], first.times[0], first.times[-1])).q
        q[both] = blended(first.figure, one, later.at(np.clip(times[both], shifted[0], shifted[-1])).q, 3 * part**2 - 2 * part**3)
    return Motion(first.figure, times, q, first.name)


def blended(model: Model, one: Array, other: Array, part: Array) -> Array:
    """Configurations (f, nq) between two: that part of the way, along great circles for rotations."""
    out = one + part[:, None] * (other - one)
    for place in _rotations(model):
        turn = rotations.to_vector(rotations.product(rotations.inverse(one[:, place]), other[:, place]))
        out[:, place] = rotations.product(one[:, place], rotations.from_vector(part[:, None] * turn))
    return out


def looped(motion: Motion, times: int, blend: float = 0.1) -> Motion:
    """A cyclic motion so many times in a row, each where the one before ended: its last frame is the first of the next.

    Args:
        motion: One cycle.
        times: How often.
        blend: What is left between the last posture and the first one is made up for over this time before the end [s].
    """
    times = validation.whole(times, "times", least=1)
    blend = validation.number(blend, "blend", above=0.0)
    model, root = motion.figure, root_of(motion.figure)
    if len(motion) < 2 or times * len(motion) > MOST_FRAMES:
        raise MotionError(f"A cycle needs two frames at least, and all together {MOST_FRAMES} at most.")
    first, last = motion.q[0, root], motion.q[-1, root]
    turn = float(heading(last[3:]) - heading(first[3:]))
    ahead = motion.q[:1].copy()
    ahead[:, root] = _moved(ahead[:, root], last[:2] - first[:2], turn, first[:2])
    s = np.clip((motion.times - motion.times[-1]) / blend + 1.0, 0.0, 1.0)
    cycle = _corrected(model, motion.q, ahead[0], 3 * s**2 - 2 * s**3)
    pieces, q = [], cycle
    for k in range(times):
        pieces.append(q if k + 1 == times else q[:-1])
        if k + 1 < times:
            q, end = cycle.copy(), q[-1, root]
            q[:, root] = _moved(cycle[:, root], end[:2] - first[:2], float(heading(end[3:]) - heading(first[3:])), first[:2])
    t = motion.times - motion.times[0]
    moments = [k * motion.duration + (t if k + 1 == times else t[:-1]) for k in range(times)]
    return _new(motion, motion.times[0] + np.concatenate(moments), np.concatenate(pieces))


def _corrected(model: Model, q: Array, goal: Array, part: Array) -> Array:
    """Configurations (f, nq) with that part of what is missing from the last one to the goal."""
    out = q + part[:, None] * (goal - q[-1])
    for place in _rotations(model):
        missing = rotations.to_vector(rotations.product(rotations.inverse(q[-1, place]), goal[place]))
        out[:, place] = rotations.product(q[:, place], rotations.from_vector(part[:, None] * missing))
    return out


def _rotations(model: Model) -> list[slice]:
    """Where quaternions of balls and floating roots are in q."""
    places = [model.joints[link.joint_name].q for link in model.links.values() if isinstance(link.joint, (Free, Spherical))]
    return [slice(place.stop - 4, place.stop) for place in places]


def mirrored(motion: Motion) -> Motion:
    """Left for right. The figure must have joints in pairs (``left_knee``, ``right_knee``), as mirror images of each other."""
    model = motion.figure
    _check_sides(model)
    q = np.empty_like(motion.q)
    for link in model.links.values():
        joint = link.joint
        if joint.nv == 0:
            continue
        name = link.joint_name
        place, source = model.joints[name].q, motion.q[:, model.joints[_other(name)].q]
        if isinstance(joint, Free):
            q[:, place] = np.concatenate((source[:, :3] * (1, -1, 1), source[:, 3:] * _MIRROR), axis=1)
        elif isinstance(joint, Spherical):
            q[:, place] = source * _MIRROR
        elif isinstance(joint, Revolute):
            axis = model.links[model.joints[_other(name)].link].joint.elements[0].axis * (-1, 1, -1)
            q[:, place] = source * np.sign(axis @ joint.elements[0].axis)
        else:
            raise MotionError(f"Joint {name!r} is of a kind that cannot be mirrored ({type(joint).__name__}).")
    return _new(motion, motion.times, q)


def _other(name: str) -> str:
    """The name of the same on the other side."""
    if "left" in name:
        return name.replace("left", "right")
    return name.replace("right", "left")


def _check_sides(model: Model) -> None:
    """Refuse a figure whose sides are not mirror images."""
    for name in model.joints:
        if _other(name) not in model.joints:
            raise MotionError(f"{model.name!r} has a joint {name!r} and none named {_other(name)!r}, so it cannot be mirrored.")
    data = Data(model)
    data.assign(q=model.neutral)
    update_poses(data)
    poses = link_poses(data)
    for name, joined_at in model.joints.items():
        mine, theirs = poses[joined_at.link], poses[model.joints[_other(name)].link]
        away = float(np.abs(mine.position * (1, -1, 1) - theirs.position).max())
        if away > ALIKE:
            raise MotionError(
                f"{model.name!r} cannot be mirrored: {joined_at.link!r} at rest is {100 * away:.1f} cm from where the mirror image of "
                f"{model.joints[_other(name)].link!r} is."
            )


def _new(motion: Motion, times: Array, q: Array) -> Motion:
    """Other frames of the same figure. What the skeleton had beyond it, contacts and forces do not go along."""
    return replace(motion, times=times, q=q, clip=None, links={}, contacts=None, forces={})
