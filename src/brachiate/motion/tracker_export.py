"""Motions as trainers of whole-body trackers read them: joints and bodies of a robot with their velocities, frame by frame.

The arrays are those of whole_body_tracking (BeyondMimic) and mjlab, with the names of joints and bodies beside them: a file in
another order than the trainer's ruins what is learned from it, and nothing else would tell.
"""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path

import numpy as np

from brachiate import rotations, validation
from brachiate.errors import MotionError
from brachiate.io.archive import with_suffix
from brachiate.model.joints import SLIDE, TURN, Free
from brachiate.model.model import Model
from brachiate.motion.edit import MOST_FRAMES
from brachiate.motion.link_trajectories import links_of, paths_of
from brachiate.motion.motion import Motion
from brachiate.motion.spline import EVEN, Course
from brachiate.validation import Array

ORDERS = ("depth", "breadth")
FORMAT = "brachiate tracker 1"
UNITS = "s, m, rad; world axes, z up; quaternions w x y z; bodies and their velocities at the origins of their links; body 0 is the root"


def write_tracker(
    motion: Motion,
    path: str | PathLike[str],
    order: str = "depth",
    rate: float | None = None,
    bodies: Sequence[str] | None = None,
) -> Path:
    """Write ``fps``, ``joint_pos``, ``joint_vel``, ``body_pos_w``, ``body_quat_w``, ``body_lin_vel_w`` and ``body_ang_vel_w``.

    Beside them are ``joint_names``, ``body_names``, ``order`` and ``units``. Velocities are those of a smooth curve through the frames,
    not differences of them.

    Args:
        motion: Of a robot: a free root, and hinges and slides.
        path: The file; ``.npz`` is put behind it if it is not there.
        order: ``"depth"``: every branch to its end before the next, as MuJoCo has it; ``"breadth"``: all that is as far from the root
            before what is farther, as Isaac Sim has it.
        rate: Frames a second; by default as many as the motion has.
        bodies: Names of the links that are bodies of the trainer's robot, for one that leaves out those that are fixed; by default all.

    Returns:
        The path of the file.
    """
    model = motion.figure
    names = in_order(model, order)
    chosen = _chosen(model, names, bodies)
    joints = _joints(model, names)
    times, rate = _times(motion, rate)
    state = Course(model, motion.times, motion.q).at(times)
    path_of = paths_of(model, chosen, state.q, state.v)
    quaternions = rotations.steady(rotations.from_matrix(path_of.rotation))
    file = with_suffix(path)
    np.savez_compressed(
        file,
        fps=np.array([rate]),
        joint_pos=_single(state.q[:, [model.scalar_coordinates[name] for name in joints]]),
        joint_vel=_single(state.v[:, [model.coordinate_index[name] for name in joints]]),
        body_pos_w=_single(path_of.position),
        body_quat_w=_single(quaternions),
        body_lin_vel_w=_single(path_of.linear),
        body_ang_vel_w=_single(path_of.angular),
        joint_names=np.array(joints, dtype=str),
        body_names=np.array(chosen, dtype=str),
        order=np.array(order),
        units=np.array(UNITS),
        format=np.array(FORMAT),
        name=np.array(motion.name),
        robot=np.array(model.name),
    )
    return file


def in_order(model: Model, order: str) -> list[str]:
    """Links of a robot, from its root on: branch by branch (``"depth"``), or by how far they are from it (``"breadth"``)."""
    validation.one_of(order, ORDERS, "order")
    names = links_of(model)
    children: dict[str, list[str]] = {name: [] for name in names}
    for name in names[1:]:
        children[model.links[name].parent or ""].append(name)
    found, ahead = [], [names[0]]
    while ahead:
        name = ahead.pop(0)
        found.append(name)
        ahead = [*children[name], *ahead] if order == "depth" else [*ahead, *children[name]]
    return found


def _chosen(model: Model, names: list[str], bodies: Sequence[str] | None) -> list[str]:
    if bodies is None:
        return names
    for name in bodies:
        validation.named(dict.fromkeys(names), name, "link", f"robot {model.name!r}")
    if names[0] not in bodies:
        raise MotionError(f"bodies: the root {names[0]!r} must be among them, as it is body 0.")
    return [name for name in names if name in bodies]


def _joints(model: Model, names: list[str]) -> list[str]:
    """Coordinates of all joints but the root's, in the order of the links they carry; several hinges in a row are as many joints."""
    if not isinstance(model.links[names[0]].joint, Free):
        raise MotionError(f"Robot {model.name!r} has no free root. Read it with floating=True to move it as a whole.")
    found: list[str] = []
    for name in names[1:]:
        link = model.links[name]
        if any(element.kind not in (TURN, SLIDE) for element in link.joint.elements):
            raise MotionError(
                f"Joint {link.joint_name!r} ({link.joint.type}) is no hinge or slide, and trackers know no others: this is a body's "
                "motion, not a robot's. Retarget it to a robot first, or write .npz, .bvh or .mot."
            )
        found += link.joint.coordinate_names(link.joint_name)
    return found


def _times(motion: Motion, rate: float | None) -> tuple[Array, float]:
    """Times evenly apart, and how many of them there are a second."""
    if len(motion) < 2:
        raise MotionError("A motion of one frame has no velocities: a tracker needs two at least.")
    if rate is None:
        steps = np.diff(motion.times)
        if np.abs(steps - steps.mean()).max() > EVEN * steps.mean():
            raise MotionError("Frames of this motion are not evenly apart. Say how many a second the file shall have: rate=50.")
        rate = round(1.0 / float(steps.mean()), 6)
    rate = validation.number(rate, "rate", above=0.0)
    count = int(motion.duration * rate + 1e-3) + 1
    if count > MOST_FRAMES:
        raise MotionError(f"{count} frames are more than a motion may have ({MOST_FRAMES}). Choose a lower rate than {rate:g}.")
    return np.minimum(motion.times[0] + np.arange(count) / rate, motion.times[-1]), rate


def _single(values: Array) -> Array:
    return values.astype(np.float32)
