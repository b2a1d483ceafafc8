"""Skeleton of any figure, a joint per link: exports motions that were not made from a clip as skeletal animation."""

from __future__ import annotations

import copy
from collections.abc import Sequence

import numpy as np

from brachiate import rotations
from brachiate.clip.clip import Clip, Origin
from brachiate.clip.skeleton import End, Skeleton
from brachiate.model.shapes import HeightField, Plane, Shape
from brachiate.motion.link_trajectories import connected_links, link_trajectories
from brachiate.motion.motion import Motion
from brachiate.validation import Array, frozen

TRANSLATION_TOLERANCE = 1e-9  # [m] a joint that moves by more than this in its parent needs translation channels
MIN_BONE_LENGTH = 1e-3  # [m] of a visible bone


def link_clip(motion: Motion) -> Clip:
    """Return the motion of a figure's links as a clip whose rest pose is the figure's neutral posture.

    The joint axes of a skeleton at rest are the world's, and those of links need not be: the rotation of a joint is that of its link
    since the neutral posture. Prismatic joints, and hinges off the link origin, translate a link in its parent, and so the joint.
    """
    model = motion.figure
    names = connected_links(model)
    parents = [names.index(model.links[name].parent or "") if k else -1 for k, name in enumerate(names)]
    rest = link_trajectories(model, names, model.neutral[None])
    moving = link_trajectories(model, names, motion.q)
    R0, x0 = rest.rotation[0], rest.position[0]
    q = rotations.from_matrix(moving.rotation @ np.swapaxes(R0, 1, 2))
    above = np.maximum(parents, 0)
    back = rotations.inverse(q[:, above])
    local, places = rotations.product(back, q), rotations.rotate(back, moving.position - moving.position[:, above])
    local[:, 0], places[:, 0] = q[:, 0], moving.position[:, 0]
    offsets = x0 - x0[above]
    lasts = [k for k in range(len(names)) if k not in parents]
    # The center of mass of a segment is about halfway along it.
    tips = {k: 2.0 * R0[k] @ model.links[names[k]].center for k in lasts}
    ends = tuple(End(k, tip) for k, tip in tips.items() if np.linalg.norm(tip) > MIN_BONE_LENGTH)
    slides = np.abs(places - offsets).max(axis=(0, 2)) > TRANSLATION_TOLERANCE
    channels = tuple("XYZzxy" if k == 0 or slides[k] else "zxy" for k in range(len(names)))
    skeleton = Skeleton(tuple(names), tuple(parents), offsets, ends)
    return Clip(
        skeleton, motion.times, rotations.unwrap(local), places, motion.name, motion.assumptions, Origin("BVH", 0.01, "y", channels)
    )


def link_shapes(motion: Motion) -> list[tuple[str, Shape]]:
    """Shapes of a figure's links and the joints of :func:`clip_of_links` they are on, along the axes of these."""
    model = motion.figure
    names = connected_links(model)
    rotations_at_rest = link_trajectories(model, names, model.neutral[None]).rotation[0]
    return [
        (name, _rotated(shape, R)) for name, R in zip(names, rotations_at_rest, strict=True) for shape in _bounded(model.links[name].shapes)
    ]


def skeleton_shapes(motion: Motion) -> list[tuple[str, Shape]]:
    """Shapes of a figure that was built for a skeleton, with the joint of its clip: (joint, shape)."""
    assert motion.clip is not None
    names = motion.clip.skeleton.names
    return [(names[j], shape) for j, link in motion.links.items() for shape in _bounded(motion.figure.links[link].shapes)]


def _bounded(shapes: Sequence[Shape]) -> list[Shape]:
    """Shapes of finite size."""
    return [shape for shape in shapes if not isinstance(shape, Plane | HeightField)]


def _rotated(shape: Shape, R: Array) -> Shape:
    """Return a shape rotated about the origin of its link."""
    other = copy.copy(shape)  # avoids recomputing derived data, such as the hull of a mesh
    for name, value in (("position", R @ shape.position), ("rotation", R @ shape.rotation)):
        object.__setattr__(other, name, frozen(value))
    return other
