"""Where links go in a motion: poses and velocities of all of them, frame by frame."""

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


class Paths(NamedTuple):
    """Of n links over f frames, world axes, at the links' origins."""

    rotation: Array  # (f, n, 3, 3)
    position: Array  # (f, n, 3) [m]
    linear: Array  # (f, n, 3) [m/s]
    angular: Array  # (f, n, 3) [rad/s]


def paths_of(model: Model, names: Sequence[str], q: Array, v: Array | None = None) -> Paths:
    """Paths of some links through configurations (f, nq) and velocities (f, nv), which are zero if not given."""
    data = Data(model)
    work = data.work
    frames = [model.placements[name] for name in names]
    bodies = np.array([frame.body for frame in frames])
    trees = np.where(bodies >= 0, np.asarray(model.tree.root)[bodies], 0)
    turned, away = (np.array([getattr(frame, what) for frame in frames]) for what in ("rotation", "position"))
    f, n = len(q), len(names)
    out = Paths(np.empty((f, n, 3, 3)), np.empty((f, n, 3)), np.empty((f, n, 3)), np.empty((f, n, 3)))
    for k in range(f):
        data.assign(q=q[k], v=np.zeros(model.nv) if v is None else v[k])
        update_motion(data)
        R = work.R[bodies]
        local = work.x[bodies] + np.einsum("nij,nj->ni", R, away)
        out.rotation[k] = R @ turned
        out.position[k] = work.origin[trees] + local
        out.angular[k] = work.V[bodies, :3]
        out.linear[k] = work.V[bodies, 3:] + np.cross(work.V[bodies, :3], local)
    still = bodies < 0  # fixed to the world
    out.rotation[:, still], out.position[:, still] = turned[still], away[still]
    out.linear[:, still] = out.angular[:, still] = 0.0
    return out


def links_of(model: Model) -> list[str]:
    """The root that moves freely, and all links that hang on it; or all, of a figure without one that hangs together."""
    links = list(model.links.values())
    roots = [link.name for link in links if isinstance(link.joint, Free)]
    if not roots:
        roots = [link.name for link in links if link.parent is None]
    if len(roots) != 1:
        raise MotionError(f"Figure {model.name!r} is {len(roots)} figures that move apart: {', '.join(roots[:8])}. Write one at a time.")
    found = {roots[0]}
    for link in links:  # parents come first
        if link.parent in found:
            found.add(link.name)
    return [link.name for link in links if link.name in found]
