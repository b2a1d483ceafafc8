"""Link trajectories: poses and velocities of links over the frames of a motion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from brachiate.errors import MotionError
from brachiate.kinematics import update_motion
from brachiate.model.data import Data
from brachiate.model.joints import Free
from brachiate.model.model import Model
from brachiate.validation import Array


class LinkTrajectories(NamedTuple):
    """Poses and velocities of n links over f frames: world axes, at the link origins."""

    rotation: Array  # (f, n, 3, 3)
    position: Array  # (f, n, 3) [m]
    linear: Array  # (f, n, 3) [m/s]
    angular: Array  # (f, n, 3) [rad/s]


def link_trajectories(model: Model, names: Sequence[str], q: Array, v: Array | None = None) -> LinkTrajectories:
    """Poses and velocities of links at configurations (f, nq) and velocities (f, nv), by default zero."""
    data = Data(model)
    work = data.work
    frames = [model.placements[name] for name in names]
    bodies = np.array([frame.body for frame in frames])
    trees = np.where(bodies >= 0, np.asarray(model.tree.root)[bodies], 0)
    frame_rotation, frame_position = (np.array([getattr(frame, name) for frame in frames]) for name in ("rotation", "position"))
    f, n = len(q), len(names)
    out = LinkTrajectories(np.empty((f, n, 3, 3)), np.empty((f, n, 3)), np.empty((f, n, 3)), np.empty((f, n, 3)))
    for k in range(f):
        data.assign(q=q[k], v=np.zeros(model.nv) if v is None else v[k])
        update_motion(data)
        R = work.R[bodies]
        local = work.x[bodies] + np.einsum("nij,nj->ni", R, frame_position)
        out.rotation[k] = R @ frame_rotation
        out.position[k] = work.origin[trees] + local
        out.angular[k] = work.V[bodies, :3]
        out.linear[k] = work.V[bodies, 3:] + np.cross(work.V[bodies, :3], local)
    static = bodies < 0  # fixed to the world
    out.rotation[:, static], out.position[:, static] = frame_rotation[static], frame_position[static]
    out.linear[:, static] = out.angular[:, static] = 0.0
    return out


def connected_links(model: Model) -> list[str]:
    """Names of the floating base and all its descendants; of all links, if the figure has no floating base."""
    links = list(model.links.values())
    roots = [link.name for link in links if isinstance(link.joint, Free)]
    if not roots:
        roots = [link.name for link in links if link.parent is None]
    if len(roots) != 1:
        raise MotionError(f"Figure {model.name!r} consists of {len(roots)} separate trees: {', '.join(roots[:8])}. Write one at a time.")
    found = {roots[0]}
    for link in links:  # parents come first
        if link.parent in found:
            found.add(link.name)
    return [link.name for link in links if link.name in found]
