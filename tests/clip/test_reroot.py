"""Re-rooting of clips at the pelvis: joints above it are removed, translations of joints, refused skeletons."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.clip.people import stepping

from brachiate import rotations
from brachiate.clip.clip import Clip
from brachiate.clip.reroot import reroot_at_pelvis
from brachiate.clip.skeleton import End, Skeleton
from brachiate.errors import MotionError
from brachiate.motion.motion import Motion


def below_a_reference() -> Clip:
    """Walking on the spot below a displaced and rotated reference joint, as MotionBuilder writes it."""
    clip = stepping()
    s = clip.skeleton
    skeleton = Skeleton(
        ("reference", *s.names), (-1, *(p + 1 for p in s.parents)), np.concatenate((np.zeros((1, 3)), s.offsets)),
        tuple(End(end.joint + 1, end.offset) for end in s.ends),
    )  # fmt: skip
    q = np.concatenate((np.tile(rotations.about_axis(2, np.array(0.4)), (len(clip), 1, 1)), clip.rotations), axis=1)
    x = np.concatenate((np.tile(np.array((1.0, 2.0, 0.0)), (len(clip), 1, 1)), clip.translations), axis=1)
    return Clip(skeleton, clip.times, q, x, "below")


def test_joints_above_the_pelvis_are_removed_and_their_motion_kept():
    clip = below_a_reference()
    found = reroot_at_pelvis(clip)
    assert found.skeleton.names == clip.skeleton.names[1:]
    assert found.positions == pytest.approx(clip.positions[:, 1:], abs=1e-12)
    assert [str(g) for g in found.assumptions] == ["root: Hips (the joints above it have no other descendants: reference)"]
    motion = Motion.from_clip(clip, mass=60.0)
    assert motion.figure.links["pelvis"].mass > 5.0  # not that of the joint above it
    assert motion.figure.nv == Motion.from_clip(stepping()).figure.nv


def test_translations_of_joints():
    clip = stepping()
    translations = clip.translations.copy()
    knee = clip.skeleton.index("LeftLeg")
    translations[5, knee, 2] += 0.004
    found = reroot_at_pelvis(replace(clip, translations=translations))
    assert [str(g) for g in found.assumptions] == ["translations: left out (joints only rotate; 'LeftLeg' moves most, by 4.0 mm)"]
    translations[5, knee, 2] += 0.05
    with pytest.raises(MotionError, match=r"joint 'LeftLeg' moves by up to 5.4 cm in its parent, and joints of a body only rotate"):
        reroot_at_pelvis(replace(clip, translations=translations))
    assert reroot_at_pelvis(clip) is clip


def test_pelvis_without_the_limbs_is_refused():
    with pytest.raises(MotionError, match=r"are not descendants of the pelvis, 'Spine'"):
        reroot_at_pelvis(stepping(), {"pelvis": "Spine"})
