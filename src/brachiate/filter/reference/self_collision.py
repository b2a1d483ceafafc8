"""Parts of a figure that are inside each other in a motion, or brush past each other: its shapes are not made for that, so they pass."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from brachiate import kinematics
from brachiate.anatomy.figure_height import stature
from brachiate.assumptions import Guess
from brachiate.centroidal.settings import STATURE
from brachiate.contact.collision.narrow_phase import find
from brachiate.validation import Array
from brachiate.world.world import World

EVERY = 0.01  # [s] looked at: feet that pass each other are 3 cm farther then
CLOSE = 0.01  # [m] of a body of 1.7 m: no shape is truer than that to what it is of
TOLD = 6


def let_pass(world: World, figure: str, frames: Array, dt: float) -> list[Guess]:
    """Let parts of a figure that overlap in any of the frames (f, nq), or nearly do, pass through each other; returns which."""
    close = CLOSE * stature(world.figure(figure).model) / STATURE
    names = overlapping(world, figure, frames[:: max(round(EVERY / dt), 1)], close)
    for one, other in names:
        world.pass_through(f"{figure}/{one}", f"{figure}/{other}")
    if not names:
        return []
    told = ", ".join(f"{one} and {other}" for one, other in names[:TOLD]) + (f" and {len(names) - TOLD} more" if len(names) > TOLD else "")
    return [Guess("pass through", told, f"they are inside each other in the motion itself, or within {1000 * close:.0f} mm")]


def overlapping(world: World, figure: str, frames: Iterable[Array], close: float = 0.0) -> list[tuple[str, str]]:
    """Links of a figure that are inside each other in any of the frames, or so close [m]; the world's state stays as it is."""
    touches, model = world.surfaces.touches, world.model
    if touches is None:
        return []
    joints = [model.joints[f"{figure}/{name}"] for name in world.figure(figure).model.joints]
    at = np.concatenate([np.arange(joint.q.start, joint.q.stop) for joint in joints])
    before, mine, found = world.q.copy(), f"{figure}/", set()
    try:
        for frame in frames:
            q = before.copy()
            q[at] = frame
            world.q = q
            kinematics.update_poses(world.data)
            count = find(world.data, touches.handle, close)
            while touches.areas.count[1] > count:  # there is more than room
                touches.enlarge()
                count = find(world.data, touches.handle, close)
            for n in set(touches.areas.pair[:count].tolist()):
                one, other = world.surfaces.pairs[n]
                if one.startswith(mine) and other.startswith(mine):
                    found.add(tuple(sorted((one.removeprefix(mine), other.removeprefix(mine)))))
    finally:
        world.q = before
    return sorted(found)
