"""Re-rooting of clips at the pelvis, with rotational joints only: what a body can be built for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from brachiate.assumptions import Assumption
from brachiate.clip.clip import Clip
from brachiate.clip.joint_roles import find_joint_roles
from brachiate.clip.skeleton import End, Skeleton
from brachiate.errors import MotionError

MAX_TRANSLATION = 0.03  # [m] of a joint in its parent, above which it is not a rotational joint
REPORTED_TRANSLATION = 1e-4  # [m] above which dropped translations are reported


def reroot_at_pelvis(clip: Clip, roles: Mapping[str, str] | None = None) -> Clip:
    """Return the same motion with the pelvis as the root; joints above it (``reference``, ``world``) are removed, their motion is kept.

    Small translations of other joints are dropped and listed in the assumptions, as bones have constant lengths; large ones are refused.
    """
    roles_found = find_joint_roles(clip.skeleton, roles)
    pelvis = roles_found["pelvis"]
    if pelvis > 0:
        clip = _descendants_of(clip, pelvis, [clip.skeleton.names[j] for j in roles_found.joints.values()])
    distance = np.linalg.norm(clip.translations - clip.skeleton.offsets, axis=2).max(axis=0)
    distance[0] = 0.0
    worst = int(np.argmax(distance))
    if distance[worst] > MAX_TRANSLATION:
        raise MotionError(
            f"{clip.name}: joint {clip.skeleton.names[worst]!r} moves by up to {100 * distance[worst]:.1f} cm in its parent, and joints "
            f"of a body only rotate (up to {100 * MAX_TRANSLATION:g} cm are dropped). If it is the pelvis, say so: "
            f"roles={{'pelvis': {clip.skeleton.names[worst]!r}}}."
        )
    if distance[worst] > REPORTED_TRANSLATION:
        assumption = Assumption(
            "translations", "left out", f"joints only rotate; {clip.skeleton.names[worst]!r} moves most, by {1000 * distance[worst]:.1f} mm"
        )
        clip = replace(clip, assumptions=(*clip.assumptions, assumption))
    return clip


def _descendants_of(clip: Clip, pelvis: int, needed: list[str]) -> Clip:
    """Return the pelvis, moving as it does in the world, and its descendants."""
    skeleton = clip.skeleton
    kept = list(skeleton.below(pelvis))
    lost = [name for name in needed if skeleton.index(name) not in kept]
    if lost:
        raise MotionError(
            f"{clip.name}: {', '.join(lost)} are not descendants of the pelvis, {skeleton.names[pelvis]!r}. Give another one with roles=."
        )
    index = {j: k for k, j in enumerate(kept)}
    offsets = skeleton.offsets[kept].copy()
    offsets[0] = 0.0
    new = Skeleton(
        tuple(skeleton.names[j] for j in kept),
        (-1, *(index[skeleton.parents[j]] for j in kept[1:])),
        offsets,
        tuple(End(index[end.joint], end.offset) for end in skeleton.ends if end.joint in index),
    )
    q, x = clip.rotations[:, kept].copy(), clip.translations[:, kept].copy()
    q[:, 0], x[:, 0] = clip.orientations[:, pelvis], clip.positions[:, pelvis]
    above = Assumption(
        "root",
        skeleton.names[pelvis],
        f"the joints above it have no other descendants: {', '.join(skeleton.names[j] for j in skeleton.chain(pelvis)[:-1])}",
    )
    origin = clip.origin
    if origin is not None and origin.channels:
        origin = replace(origin, channels=("XYZzxy", *(origin.channels[j] for j in kept[1:])))
    return Clip(new, clip.times, q, x, clip.name, (*clip.assumptions, above), origin)
