"""A skeleton for any figure: every link a joint, so that motions that came from no skeleton can be shown where skeletons are."""

from __future__ import annotations

import copy
from collections.abc import Sequence

import numpy as np

from brachiate import rotations
from brachiate.clip.clip import Clip, Origin
from brachiate.clip.skeleton import End, Skeleton
from brachiate.model.shapes import HeightField, Plane, Shape
from brachiate.motion.link_trajectories import links_of, paths_of
from brachiate.motion.motion import Motion
from brachiate.validation import Array, frozen

STRETCH = 1e-9  # [m]: a joint that moves by more than this in its parent does not only turn
SHORTEST = 1e-3  # [m] of a bone that is seen


def clip_of_links(motion: Motion) -> Clip:
    """The motion of a figure's links as a clip; it rests in its neutral posture.

    All axes of a skeleton at rest are the world's, and those of links need not be: joints of the clip are turned by what links have
    turned since the neutral posture. Slides and hinges off a link's origin move it in its parent, and so does the joint.
    """
    model = motion.figure
    names = links_of(model)
    parents = [names.index(model.links[name].parent or "") if k else -1 for k, name in enumerate(names)]
    start = paths_of(model, names, model.neutral[None])
    path = paths_of(model, names, motion.q)
    R0, x0 = start.rotation[0], start.position[0]
    q = rotations.from_matrix(path.rotation @ np.swapaxes(R0, 1, 2))
    above = np.maximum(parents, 0)
    back = rotations.inverse(q[:, above])
    local, places = rotations.product(back, q), rotations.turned(back, path.position - path.position[:, above])
    local[:, 0], places[:, 0] = q[:, 0], path.position[:, 0]
    offsets = x0 - x0[above]
    lasts = [k for k in range(len(names)) if k not in parents]
    # Half-way along a limb is its centre of mass, more or less.
    tips = {k: 2.0 * R0[k] @ model.links[names[k]].center for k in lasts}
    ends = tuple(End(k, tip) for k, tip in tips.items() if np.linalg.norm(tip) > SHORTEST)
    slides = np.abs(places - offsets).max(axis=(0, 2)) > STRETCH
    channels = tuple("XYZzxy" if k == 0 or slides[k] else "zxy" for k in range(len(names)))
    skeleton = Skeleton(tuple(names), tuple(parents), offsets, ends)
    return Clip(skeleton, motion.times, rotations.steady(local), places, motion.name, motion.guesses, Origin("BVH", 0.01, "y", channels))


def shapes_of_links(motion: Motion) -> list[tuple[str, Shape]]:
    """Shapes of a figure's links and the joints of :func:`clip_of_links` they are on, along the axes of these."""
    model = motion.figure
    names = links_of(model)
    turned = paths_of(model, names, model.neutral[None]).rotation[0]
    return [(name, _turned(shape, R)) for name, R in zip(names, turned, strict=True) for shape in _seen(model.links[name].shapes)]


def shapes_of_joints(motion: Motion) -> list[tuple[str, Shape]]:
    """Shapes of a figure that was built for a skeleton, and the joints of its clip they are on."""
    assert motion.clip is not None
    names = motion.clip.skeleton.names
    return [(names[j], shape) for j, link in motion.links.items() for shape in _seen(motion.figure.links[link].shapes)]


def _seen(shapes: Sequence[Shape]) -> list[Shape]:
    """Shapes that have an end."""
    return [shape for shape in shapes if not isinstance(shape, Plane | HeightField)]


def _turned(shape: Shape, R: Array) -> Shape:
    """The same shape, rotated about the origin of its link."""
    other = copy.copy(shape)  # whatever made its numbers, such as a hull of points, need not be done again
    for name, value in (("position", R @ shape.position), ("rotation", R @ shape.rotation)):
        object.__setattr__(other, name, frozen(value))
    return other
