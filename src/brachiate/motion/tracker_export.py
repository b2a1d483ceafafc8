"""Motion files for the training of whole-body tracking policies: joint and body states of a robot, frame by frame.

The arrays are those of whole_body_tracking (BeyondMimic) and mjlab, with the names of joints and bodies beside them: a file in another
order than the trainer's would spoil the training without any error message.
"""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path

import numpy as np

from brachiate import rotations, validation
from brachiate.errors import MotionError
from brachiate.figures import ranges
from brachiate.io.archive import write_archive
from brachiate.model.joints import SLIDE, TURN, Free
from brachiate.model.model import Model
from brachiate.motion.edit import MAX_FRAMES
from brachiate.motion.link_trajectories import connected_links, link_trajectories
from brachiate.motion.motion import Motion
from brachiate.motion.spline import UNIFORM_SPACING_TOLERANCE, MotionSpline
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

    Beside them are ``joint_names``, ``body_names``, ``order`` and ``units``. Velocities are those of the quintic spline through the frames,
    not finite differences.

    Args:
        motion: Motion of a robot: a floating base, revolute and prismatic joints.
        path: The file; ``.npz`` is appended if it is missing.
        order: ``"depth"``: depth-first, as in MuJoCo; ``"breadth"``: breadth-first, as in Isaac Sim.
        rate: Frame rate [Hz]; by default that of the motion.
        bodies: Names of the links that are bodies of the trainer's robot, which may lack links with fixed joints; by default all.

    Returns:
        The path of the file.
    """
    model = motion.figure
    names = link_order(model, order)
    chosen = _selected_links(model, names, bodies)
    joints = _joints(model, names)
    times, rate = _times(motion, rate)
    state = MotionSpline(model, motion.times, motion.q).at(times)
    links = link_trajectories(model, chosen, state.q, state.v)
    quaternions = rotations.unwrap(rotations.from_matrix(links.rotation))
    content = {
        "fps": np.array([rate]),
        "joint_pos": _float32(state.q[:, [model.scalar_coordinates[name] for name in joints]]),
        "joint_vel": _float32(state.v[:, [model.coordinate_index[name] for name in joints]]),
        "body_pos_w": _float32(links.position),
        "body_quat_w": _float32(quaternions),
        "body_lin_vel_w": _float32(links.linear),
        "body_ang_vel_w": _float32(links.angular),
        "joint_names": np.array(joints, dtype=str),
        "body_names": np.array(chosen, dtype=str),
        "order": np.array(order),
        "units": np.array(UNITS),
        "format": np.array(FORMAT),
        "name": np.array(motion.name),
        "robot": np.array(model.name),
    }
    return write_archive(path, content, "the motion")


def link_order(model: Model, order: str) -> list[str]:
    """Names of the links of a robot from its root on, depth-first (``"depth"``) or breadth-first (``"breadth"``)."""
    validation.one_of(order, ORDERS, "order")
    names = connected_links(model)
    children: dict[str, list[str]] = {name: [] for name in names}
    for name in names[1:]:
        children[model.links[name].parent or ""].append(name)
    visited, queue = [], [names[0]]
    while queue:
        name = queue.pop(0)
        visited.append(name)
        queue = [*children[name], *queue] if order == "depth" else [*queue, *children[name]]
    return visited


def _selected_links(model: Model, names: list[str], bodies: Sequence[str] | None) -> list[str]:
    if bodies is None:
        return names
    for name in bodies:
        validation.lookup(dict.fromkeys(names), name, "link", f"robot {model.name!r}")
    if names[0] not in bodies:
        raise MotionError(f"bodies: the root {names[0]!r} must be among them: it is body 0.")
    return [name for name in names if name in bodies]


def _joints(model: Model, names: list[str]) -> list[str]:
    """Coordinates of all joints but the root's, in the order of their child links; a compound joint of n hinges counts as n joints."""
    if not isinstance(model.links[names[0]].joint, Free):
        raise MotionError(f"Robot {model.name!r} has no floating base. Load it with floating_base=True.")
    found: list[str] = []
    for name in names[1:]:
        link = model.links[name]
        if any(element.kind not in (TURN, SLIDE) for element in link.joint.elements):
            raise MotionError(
                f"Joint {link.joint_name!r} ({link.joint.type}) is neither revolute nor prismatic, as tracker files need. "
                "Retarget the motion to a robot first, or write .npz, .bvh or .mot."
            )
        found += link.joint.coordinate_names(link.joint_name)
    return found


def _times(motion: Motion, rate: float | None) -> tuple[Array, float]:
    """Evenly spaced times, and the frame rate [Hz]."""
    if len(motion) < 2:
        raise MotionError("A tracker file needs velocities, and so a motion of at least two frames.")
    if rate is None:
        steps = np.diff(motion.times)
        if np.abs(steps - steps.mean()).max() > UNIFORM_SPACING_TOLERANCE * steps.mean():
            raise MotionError("The frames of this motion are not evenly spaced. Give the frame rate of the file: rate=50.")
        rate = round(1.0 / float(steps.mean()), 6)
    rate = ranges.rate(rate)
    count = int(motion.duration * rate + 1e-3) + 1
    if count > MAX_FRAMES:
        raise MotionError(f"{count} frames are more than a motion may have ({MAX_FRAMES}). Choose a lower rate than {rate:g}.")
    return np.minimum(motion.times[0] + np.arange(count) / rate, motion.times[-1]), rate


def _float32(values: Array) -> Array:
    return values.astype(np.float32)
