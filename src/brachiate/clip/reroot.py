"""A clip whose first joint is the pelvis, and whose other joints only turn: what a body can be built for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from brachiate.assumptions import Guess
from brachiate.clip.clip import Clip
from brachiate.clip.joint_roles import anatomy_of
from brachiate.clip.skeleton import End, Skeleton
from brachiate.errors import MotionError

STRETCH = 0.03  # [m] bones that change more than this are no bones
UNSEEN = 1e-4  # [m] less is not worth a word


def rooted(clip: Clip, roles: Mapping[str, str] | None = None) -> Clip:
    """The same motion from the pelvis down and up; what files put above it (``reference``, ``world``) is gone, its motion is not.

    Translations of joints that are not the root are left out and told, as bones have lengths; refused if they are no small thing.
    """
    anatomy = anatomy_of(clip.skeleton, roles)
    pelvis = anatomy["pelvis"]
    if pelvis > 0:
        clip = _from(clip, pelvis, [clip.skeleton.names[j] for j in anatomy.joints.values()])
    away = np.linalg.norm(clip.places - clip.skeleton.offsets, axis=2).max(axis=0)
    away[0] = 0.0
    worst = int(np.argmax(away))
    if away[worst] > STRETCH:
        raise MotionError(
            f"{clip.name}: joint {clip.skeleton.names[worst]!r} moves by up to {100 * away[worst]:.1f} cm in its parent, and a body's "
            f"joints only turn (at most {100 * STRETCH:g} cm are left out). If it is the pelvis, say so: "
            f"roles={{'pelvis': {clip.skeleton.names[worst]!r}}}."
        )
    if away[worst] > UNSEEN:
        told = Guess(
            "translations", "left out", f"joints only turn; {clip.skeleton.names[worst]!r} moves most, by {1000 * away[worst]:.1f} mm"
        )
        clip = replace(clip, guesses=(*clip.guesses, told))
    return clip


def _from(clip: Clip, pelvis: int, needed: list[str]) -> Clip:
    """What hangs on the pelvis, and the pelvis moving as it does in the world."""
    skeleton = clip.skeleton
    kept = list(skeleton.below(pelvis))
    lost = [name for name in needed if skeleton.index(name) not in kept]
    if lost:
        raise MotionError(
            f"{clip.name}: {', '.join(lost)} do not hang on the pelvis, {skeleton.names[pelvis]!r}. Name another one by roles=."
        )
    place = {j: k for k, j in enumerate(kept)}
    offsets = skeleton.offsets[kept].copy()
    offsets[0] = 0.0
    new = Skeleton(
        tuple(skeleton.names[j] for j in kept),
        (-1, *(place[skeleton.parents[j]] for j in kept[1:])),
        offsets,
        tuple(End(place[end.joint], end.offset) for end in skeleton.ends if end.joint in place),
    )
    q, x = clip.turns[:, kept].copy(), clip.places[:, kept].copy()
    q[:, 0], x[:, 0] = clip.orientations[:, pelvis], clip.positions[:, pelvis]
    above = Guess(
        "root",
        skeleton.names[pelvis],
        f"the joints above it carry nothing else: {', '.join(skeleton.names[j] for j in skeleton.chain(pelvis)[:-1])}",
    )
    was = clip.origin
    origin = replace(was, channels=("XYZzxy", *(was.channels[j] for j in kept[1:]))) if was is not None and was.channels else was
    return Clip(new, clip.times, q, x, clip.name, (*clip.guesses, above), origin)
