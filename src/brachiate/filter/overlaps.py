"""Parts of a figure that are inside each other in a motion: its shapes are not made for that, so they pass through each other."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from brachiate import kinematics
from brachiate.clip.clip import Guess
from brachiate.contact.detect import find
from brachiate.doors import Array
from brachiate.world.world import World

EVERY = 0.05  # [s] looked at
TOLD = 6


def let_pass(world: World, figure: str, frames: Array, dt: float) -> list[Guess]:
    """Let parts of a figure that overlap in any of the frames (f, nq) pass through each other; returns which."""
    names = overlapping(world, figure, frames[:: max(round(EVERY / dt), 1)])
    for one, other in names:
        world.pass_through(f"{figure}/{one}", f"{figure}/{other}")
    if not names:
        return []
    told = ", ".join(f"{one} and {other}" for one, other in names[:TOLD]) + (f" and {len(names) - TOLD} more" if len(names) > TOLD else "")
    return [Guess("pass through", told, "they are inside each other in the motion itself")]


def overlapping(world: World, figure: str, frames: Iterable[Array]) -> list[tuple[str, str]]:
    """Links of a figure that are inside each other in any of the frames; the world's state stays as it is."""
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
            count = find(world.data, touches.handle, 0.0)
            while touches.areas.count[1] > count:  # there is more than room
                touches.enlarge()
                count = find(world.data, touches.handle, 0.0)
            for n in set(touches.areas.pair[:count].tolist()):
                one, other = world.surfaces.pairs[n]
                if one.startswith(mine) and other.startswith(mine):
                    found.add(tuple(sorted((one.removeprefix(mine), other.removeprefix(mine)))))
    finally:
        world.q = before
    return sorted(found)
