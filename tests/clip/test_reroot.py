"""From the pelvis down and up."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.clip.people import stepping

from brachiate import rotations
from brachiate.clip.clip import Clip
from brachiate.clip.reroot import rooted
from brachiate.clip.skeleton import End, Skeleton
from brachiate.errors import MotionError
from brachiate.motion.motion import motion_of


def below_a_reference() -> Clip:
    """Someone who walks on the spot under a joint that is elsewhere and turned, as MotionBuilder writes it."""
    clip = stepping()
    s = clip.skeleton
    skeleton = Skeleton(
        ("reference", *s.names), (-1, *(p + 1 for p in s.parents)), np.concatenate((np.zeros((1, 3)), s.offsets)),
        tuple(End(end.joint + 1, end.offset) for end in s.ends),
    )  # fmt: skip
    q = np.concatenate((np.tile(rotations.about(2, np.array(0.4)), (len(clip), 1, 1)), clip.turns), axis=1)
    x = np.concatenate((np.tile(np.array((1.0, 2.0, 0.0)), (len(clip), 1, 1)), clip.places), axis=1)
    return Clip(skeleton, clip.times, q, x, "below")


def test_what_is_above_the_pelvis_goes_and_its_motion_stays():
    clip = below_a_reference()
    found = rooted(clip)
    assert found.skeleton.names == clip.skeleton.names[1:]
    assert found.positions == pytest.approx(clip.positions[:, 1:], abs=1e-12)
    assert [str(g) for g in found.guesses] == ["root: Hips (the joints above it carry nothing else: reference)"]
    motion = motion_of(clip, mass=60.0)
    assert motion.figure.links["pelvis"].mass > 5.0  # not that of the joint above it
    assert motion.figure.nv == motion_of(stepping()).figure.nv


def test_bones_that_stretch():
    clip = stepping()
    places = clip.places.copy()
    knee = clip.skeleton.index("LeftLeg")
    places[5, knee, 2] += 0.004
    found = rooted(replace(clip, places=places))
    assert [str(g) for g in found.guesses] == ["translations: left out (joints only turn; 'LeftLeg' moves most, by 4.0 mm)"]
    places[5, knee, 2] += 0.05
    with pytest.raises(MotionError, match=r"joint 'LeftLeg' moves by up to 5.4 cm in its parent, and a body's joints only turn"):
        rooted(replace(clip, places=places))
    assert rooted(clip) is clip


def test_a_pelvis_that_carries_too_little():
    with pytest.raises(MotionError, match=r"do not hang on the pelvis, 'Spine'"):
        rooted(stepping(), {"pelvis": "Spine"})
