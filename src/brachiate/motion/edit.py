"""Edits of a motion: resampling, time warping, placement, joining, looping, mirroring. Methods of :class:`Motion` call them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from brachiate import rotations, validation
from brachiate.deprecation import module_getattr, renamed_arguments
from brachiate.errors import ArgumentError, MotionError
from brachiate.figures import ranges
from brachiate.kinematics import link_poses, update_poses
from brachiate.model.data import Data
from brachiate.model.joints import Free, Revolute, Spherical
from brachiate.model.model import Model
from brachiate.motion.contact_labels import ContactLabels
from brachiate.motion.motion import Motion
from brachiate.motion.spline import MotionSpline
from brachiate.validation import Array

MAX_FRAMES = 10_000_000
MAX_ANGLE = 1e6  # [rad]
SYMMETRY_TOLERANCE = 0.02  # [m] between a link and the mirror image of its counterpart on the other side
_MIRROR = np.array((1.0, -1.0, 1.0, -1.0))  # mirrors a quaternion at the sagittal plane


def trim(motion: Motion, start: float | None = None, end: float | None = None) -> Motion:
    """Return the frames of a motion within a time interval; their times stay as they are.

    Args:
        motion: The motion.
        start: First time [s]; None: from the first frame.
        end: Last time [s]; None: to the last frame.
    """
    first = motion.times[0] if start is None else validation.number(start, "start")
    last = motion.times[-1] if end is None else validation.number(end, "end")
    inside = np.flatnonzero((motion.times >= first - 1e-9) & (motion.times <= last + 1e-9))
    if not len(inside):
        raise MotionError(
            f"There is no frame from {first:g} to {last:g} s: the motion has {len(motion)} frames from {motion.times[0]:g} to "
            f"{motion.times[-1]:g} s."
        )
    return motion.frames(slice(int(inside[0]), int(inside[-1]) + 1))


def resample(motion: Motion, rate: float, cutoff: float | None = None) -> Motion:
    """Return a motion at another frame rate, along its quintic spline.

    Args:
        motion: The motion.
        rate: Frame rate [Hz].
        cutoff: Cutoff frequency of a zero-lag low-pass filter [Hz]; None: no filter.
    """
    rate = ranges.rate(rate)
    count = round(motion.duration * rate) + 1
    if count > MAX_FRAMES:
        raise MotionError(f"{count} frames are more than a motion may have ({MAX_FRAMES}). Choose a lower rate than {rate:g}.")
    times = motion.times[0] + np.arange(count) / rate
    times = times[times <= motion.times[-1] + 1e-9]
    return _with_frames(motion, times, MotionSpline(motion.figure, motion.times, motion.q, cutoff).at(times).q)


def time_warp(motion: Motion, old: ArrayLike, new: ArrayLike) -> Motion:
    """Return a motion with another timing: monotone cubic interpolation maps the old times to the new ones.

    Args:
        motion: The motion.
        old: Times in the motion, increasing [s].
        new: Times they are moved to, increasing [s].
    """
    from scipy.interpolate import PchipInterpolator  # noqa: PLC0415

    old, new = (validation.reals(x, name, "times in seconds").ravel() for x, name in ((old, "old"), (new, "new")))
    if len(old) != len(new) or len(old) < 2 or (np.diff(old) <= 0).any() or (np.diff(new) <= 0).any():
        raise MotionError("old and new: expected the same number of times, at least two, both increasing.")
    old_time = PchipInterpolator(new, old)
    if not (np.isfinite(old).all() and np.isfinite(new).all()) or old[0] < motion.times[0] - 1e-9 or old[-1] > motion.times[-1] + 1e-9:
        raise MotionError(
            f"old and new: expected finite times, the old ones within the motion, from {motion.times[0]:g} to {motion.times[-1]:g} s."
        )
    rate = (len(motion) - 1) / motion.duration
    if (new[-1] - new[0]) * rate > MAX_FRAMES:
        raise MotionError(f"new: {(new[-1] - new[0]) * rate:g} frames are more than a motion may have ({MAX_FRAMES}).")
    times = new[0] + np.arange(int((new[-1] - new[0]) * rate + 1e-6) + 1) / rate
    return _with_frames(motion, times, MotionSpline(motion.figure, motion.times, motion.q).at(old_time(times)).q)


def root_coordinates(model: Model) -> slice:
    """Position of the floating base in q: three coordinates of its position, then a quaternion."""
    for link in model.links.values():
        if isinstance(link.joint, Free):
            return model.joints[link.joint_name].q
    raise MotionError(f"Figure {model.name!r} has no floating base, so it cannot be moved as a whole.")


def heading_angle(q: Array) -> Array:
    """Heading of root orientations (..., 4), for roots that face x at rest [rad, from x to y]."""
    forward = rotations.rotate(q, np.array((1.0, 0.0, 0.0)))
    left = rotations.rotate(q, np.array((0.0, 1.0, 0.0)))
    # The forward axis of a prone or supine body is nearly vertical: there the left axis gives the heading.
    upright = np.hypot(forward[..., 0], forward[..., 1]) > 0.5
    return np.where(upright, np.arctan2(forward[..., 1], forward[..., 0]), np.arctan2(-left[..., 0], left[..., 1]))


@renamed_arguments(by="offset", turned="angle")
def move(motion: Motion, offset: ArrayLike = (0.0, 0.0), angle: float = 0.0, about: ArrayLike = (0.0, 0.0)) -> Motion:
    """Return a motion rotated about a vertical axis, then translated along the ground.

    Args:
        motion: The motion.
        offset: Translation along x and y [m].
        angle: Rotation [rad].
        about: Point of the ground through which the axis goes (2,) [m].
    """
    offset, about = (_ground_point(x, name) for x, name in ((offset, "offset"), (about, "about")))
    root = root_coordinates(motion.figure)
    q = motion.q.copy()
    q[:, root] = _transformed(q[:, root], offset, validation.number(angle, "angle", minimum=-MAX_ANGLE, maximum=MAX_ANGLE), about)
    return _with_frames(motion, motion.times, q)


def _ground_point(value: ArrayLike, what: str) -> Array:
    return ranges.within(validation.numbers(value, (2,), what), ranges.MAX_POSITION, what)


def _transformed(root: Array, offset: Array, angle: float, about: Array) -> Array:
    yaw = rotations.about_axis(2, np.array(angle))
    out = root.copy()
    center = np.array((*about, 0.0))
    out[..., :3] = rotations.rotate(yaw, root[..., :3] - center) + center + np.array((*offset, 0.0))
    out[..., 3:] = rotations.product(np.broadcast_to(yaw, root[..., 3:].shape), root[..., 3:])
    return out


@renamed_arguments(place="position", looking="heading")
def place(motion: Motion, position: ArrayLike = (0.0, 0.0), heading: float = 0.0, frame: int = 0) -> Motion:
    """Return a motion moved such that in one frame the root is above a point of the ground and has a given heading.

    Args:
        motion: The motion.
        position: Point of the ground (2,) [m].
        heading: Heading [rad, from x to y].
        frame: Index of the frame.
    """
    position = _ground_point(position, "position")
    count = len(motion)
    frame = int(validation.number(frame, "frame", minimum=-count, maximum=count - 1))
    root = motion.q[frame, root_coordinates(motion.figure)]
    angle = validation.number(heading, "heading", minimum=-MAX_ANGLE, maximum=MAX_ANGLE) - float(heading_angle(root[3:]))
    return move(motion, position - root[:2], angle, root[:2])


def join(motions: Sequence[Motion], blend: float = 0.2, *, align: bool = True) -> Motion:
    """Return motions in sequence, each blended into the next.

    Args:
        motions: Motions of one figure.
        blend: Duration of the overlap [s]; 0 puts the first frame of the next motion one frame after the last.
        align: Move each motion to the position and heading at which the one before it ends.
    """
    if not motions:
        raise MotionError("There is nothing to join: give at least one motion.")
    for motion in motions:
        if not isinstance(motion, Motion):
            raise ArgumentError(f"join: expected motions, got {validation.short_repr(motion)}.")
    blend = validation.number(blend, "blend", minimum=0.0, maximum=ranges.MAX_TIME)
    joined = motions[0]
    for following in motions[1:]:
        joined = _join(joined, following, blend, align)
    return joined


def _join(first: Motion, second: Motion, blend: float, align: bool) -> Motion:
    if first.figure is not second.figure and (first.figure.coordinates != second.figure.coordinates):
        raise MotionError(f"{first.name!r} and {second.name!r} are motions of different figures. Retarget one of them to the other's.")
    if min(first.duration, second.duration) < blend:
        raise MotionError(f"blend={blend:g} s is longer than {min(first.duration, second.duration):g} s, the shorter of both motions.")
    dt = first.duration / max(len(first) - 1, 1)
    start = first.times[-1] - blend if blend > 0 else first.times[-1] + dt
    if align:
        root = root_coordinates(first.figure)
        at = MotionSpline(first.figure, first.times, first.q).at(min(start, first.times[-1])).q[0, root]
        second = place(second, at[:2], float(heading_angle(at[3:])))
    shifted = second.times - second.times[0] + start
    times = np.concatenate((first.times[first.times < start - 1e-9], np.arange(int((shifted[-1] - start) / dt + 1e-6) + 1) * dt + start))
    later = MotionSpline(second.figure, shifted, second.q)
    q = np.empty((len(times), first.figure.nq))
    before, after = times < start - 1e-9, times > first.times[-1] + 1e-9
    q[before] = first.q[: before.sum()]
    q[after] = later.at(np.clip(times[after], shifted[0], shifted[-1])).q
    both = ~before & ~after
    if both.any():
        part = (times[both] - start) / blend if blend > 0 else np.ones(both.sum())
        one = MotionSpline(first.figure, first.times, first.q).at(np.clip(times[both], first.times[0], first.times[-1])).q
        q[both] = interpolate(first.figure, one, later.at(np.clip(times[both], shifted[0], shifted[-1])).q, 3 * part**2 - 2 * part**3)
    return Motion(first.figure, times, q, first.name)


def interpolate(model: Model, one: Array, other: Array, part: Array) -> Array:
    """Interpolate configurations (f, nq) by fractions (f,): linearly, and along great circles (slerp) for rotations."""
    out = one + part[:, None] * (other - one)
    for columns in _quaternions(model):
        difference = rotations.to_rotation_vector(rotations.product(rotations.inverse(one[:, columns]), other[:, columns]))
        out[:, columns] = rotations.product(one[:, columns], rotations.from_rotation_vector(part[:, None] * difference))
    return out


@renamed_arguments(times="count")
def loop(motion: Motion, count: int, blend: float = 0.1) -> Motion:
    """Return a cyclic motion repeated, each cycle where the one before it ended: its last frame is the first of the next.

    Args:
        motion: One cycle.
        count: Number of cycles.
        blend: The difference between the last and the first posture is distributed over this time before the end [s].
    """
    count = validation.integer(count, "count", minimum=1)
    blend = validation.number(blend, "blend", above=0.0, maximum=ranges.MAX_TIME)
    model, root = motion.figure, root_coordinates(motion.figure)
    if len(motion) < 2 or count * len(motion) > MAX_FRAMES:
        raise MotionError(f"A cycle needs at least two frames, and all cycles together at most {MAX_FRAMES}.")
    first, last = motion.q[0, root], motion.q[-1, root]
    turn = float(heading_angle(last[3:]) - heading_angle(first[3:]))
    goal = motion.q[:1].copy()
    goal[:, root] = _transformed(goal[:, root], last[:2] - first[:2], turn, first[:2])
    s = np.clip((motion.times - motion.times[-1]) / blend + 1.0, 0.0, 1.0)
    cycle = _corrected(model, motion.q, goal[0], 3 * s**2 - 2 * s**3)
    pieces, q = [], cycle
    for k in range(count):
        pieces.append(q if k + 1 == count else q[:-1])
        if k + 1 < count:
            q, end = cycle.copy(), q[-1, root]
            angle = float(heading_angle(end[3:]) - heading_angle(first[3:]))
            q[:, root] = _transformed(cycle[:, root], end[:2] - first[:2], angle, first[:2])
    t = motion.times - motion.times[0]
    times = [k * motion.duration + (t if k + 1 == count else t[:-1]) for k in range(count)]
    return _with_frames(motion, motion.times[0] + np.concatenate(times), np.concatenate(pieces))


def _corrected(model: Model, q: Array, goal: Array, part: Array) -> Array:
    """Add to configurations (f, nq) fractions (f,) of the difference between the last one and the goal."""
    out = q + part[:, None] * (goal - q[-1])
    for columns in _quaternions(model):
        missing = rotations.to_rotation_vector(rotations.product(rotations.inverse(q[-1, columns]), goal[columns]))
        out[:, columns] = rotations.product(q[:, columns], rotations.from_rotation_vector(part[:, None] * missing))
    return out


def _quaternions(model: Model) -> list[slice]:
    """Positions in q of the quaternions of ball joints and floating bases."""
    columns = [model.joints[link.joint_name].q for link in model.links.values() if isinstance(link.joint, (Free, Spherical))]
    return [slice(place.stop - 4, place.stop) for place in columns]


def mirror(motion: Motion) -> Motion:
    """Return a motion with left and right exchanged.

    The joints of the figure must come in pairs (``left_knee``, ``right_knee``) that are mirror images of each other.
    """
    model = motion.figure
    _check_symmetry(model)
    q = np.empty_like(motion.q)
    for link in model.links.values():
        joint = link.joint
        if joint.nv == 0:
            continue
        name = link.joint_name
        columns, source = model.joints[name].q, motion.q[:, model.joints[_counterpart(name)].q]
        if isinstance(joint, Free):
            q[:, columns] = np.concatenate((source[:, :3] * (1, -1, 1), source[:, 3:] * _MIRROR), axis=1)
        elif isinstance(joint, Spherical):
            q[:, columns] = source * _MIRROR
        elif isinstance(joint, Revolute):
            axis = model.links[model.joints[_counterpart(name)].link].joint.elements[0].axis * (-1, 1, -1)
            q[:, columns] = source * np.sign(axis @ joint.elements[0].axis)
        else:
            raise MotionError(f"Joint {name!r} is of a type that cannot be mirrored ({type(joint).__name__}).")
    return replace(_with_frames(motion, motion.times, q), contacts=_mirrored_contacts(motion.contacts))


def _mirrored_contacts(contacts: ContactLabels | None) -> ContactLabels | None:
    """Contact labels of the other side; None on ground that is not level."""
    if contacts is None or contacts.terrain.slope or contacts.terrain.stairs is not None:
        return None
    terrain = replace(contacts.terrain, belt=(contacts.terrain.belt[0], -contacts.terrain.belt[1]))
    labels = (replace(label, part=_counterpart(label.part)) for label in contacts.contacts)
    return ContactLabels(tuple(sorted(labels, key=lambda label: (label.start, label.part))), terrain)


def _counterpart(name: str) -> str:
    """Name of the same joint on the other side."""
    if "left" in name:
        return name.replace("left", "right")
    return name.replace("right", "left")


def _check_symmetry(model: Model) -> None:
    """Refuse a figure whose sides are not mirror images."""
    for name in model.joints:
        if _counterpart(name) not in model.joints:
            raise MotionError(f"{model.name!r} cannot be mirrored: it has a joint {name!r}, but none named {_counterpart(name)!r}.")
    data = Data(model)
    data.assign(q=model.neutral)
    update_poses(data)
    poses = link_poses(data)
    for name, joint in model.joints.items():
        counterpart = model.joints[_counterpart(name)]
        one, other = poses[joint.link], poses[counterpart.link]
        distance = float(np.abs(one.position * (1, -1, 1) - other.position).max())
        if distance > SYMMETRY_TOLERANCE:
            raise MotionError(
                f"{model.name!r} cannot be mirrored: in its neutral posture {joint.link!r} is {100 * distance:.1f} cm from the mirror "
                f"image of {counterpart.link!r}."
            )


def _with_frames(motion: Motion, times: Array, q: Array) -> Motion:
    """Return other frames of the same figure, without clip, contacts and forces, which belong to the old frames."""
    return replace(motion, times=times, q=q, clip=None, links={}, contacts=None, forces={})


__getattr__ = module_getattr(
    __name__,
    {
        "resampled": ("resample", lambda: resample),
        "warped": ("time_warp", lambda: time_warp),
        "moved": ("move", lambda: move),
        "aligned": ("place", lambda: place),
        "joined": ("join", lambda: join),
        "looped": ("loop", lambda: loop),
        "mirrored": ("mirror", lambda: mirror),
        "blended": ("interpolate", lambda: interpolate),
        "root_of": ("root_coordinates", lambda: root_coordinates),
        "heading": ("heading_angle", lambda: heading_angle),
    },
)
