"""T-pose frames: dropped before the motion, kept as part of it, at high and low frame rates."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.clip.people import stepping

from brachiate import procedural, rotations
from brachiate.clip.units_and_axes import normalize_clip


@pytest.mark.parametrize("frames", [10, 30, 240])
def test_t_pose_frame_is_dropped(frames):
    clip = stepping(frames=frames, rate=frames)
    q, translations = clip.rotations.copy(), clip.translations.copy()
    q[0] = rotations.IDENTITY
    clip = replace(clip, rotations=q, translations=translations)
    settled = normalize_clip(clip, unit="m", up="z")
    assert len(settled) == frames - 1
    assert settled.times[0] == 0
    assert [g.quantity for g in settled.assumptions] == ["first frame"]
    assert len(normalize_clip(clip, unit="m", up="z", rest_frame=False)) == frames


@pytest.mark.parametrize("frames", [10, 30, 240])
def test_regular_first_frame_is_kept(frames):
    clip = stepping(frames=frames, rate=frames)
    assert len(normalize_clip(clip, unit="m", up="z")) == frames
    # a motion that starts continuously from a T-pose
    ramp = np.linspace(0, 1, frames)[:, None, None]
    q = rotations.from_rotation_vector(ramp * rotations.to_rotation_vector(clip.rotations))
    assert len(normalize_clip(replace(clip, rotations=q), unit="m", up="z")) == frames


def test_first_frame_of_a_motion_that_is_as_fast_later_is_kept():
    # One joint moves by steps; the first one is the largest, but no larger than some later ones.
    clip = stepping(frames=100, rate=120.0)
    steps = np.concatenate(([0.1], np.full(20, 0.04), np.tile((0.1, 0.06, 0.001), 26)))
    vectors = np.zeros((*clip.rotations.shape[:2], 3))
    vectors[1:, clip.skeleton.index("LeftLeg"), 1] = np.cumsum(steps)
    moving = replace(clip, rotations=rotations.from_rotation_vector(vectors))
    assert len(normalize_clip(moving, unit="m", up="z")) == 100
    steps[0] = 1.0
    vectors[1:, clip.skeleton.index("LeftLeg"), 1] = np.cumsum(steps)
    assert len(normalize_clip(replace(clip, rotations=rotations.from_rotation_vector(vectors)), unit="m", up="z")) == 99


@pytest.mark.parametrize("rate", [12.0, 24.0, 30.0, 60.0, 120.0, 240.0])
@pytest.mark.parametrize("name", ["walk", "kick", "jump"])
def test_t_pose_before_a_fast_motion_is_dropped_at_any_frame_rate(name, rate):
    clip = procedural.make_clip(name, rate=rate)
    q = clip.rotations.copy()
    q[0] = rotations.IDENTITY
    settled = normalize_clip(replace(clip, rotations=q), unit="m", up="z")
    assert len(settled) == len(clip) - 1
    assert len(normalize_clip(clip, unit="m", up="z")) == len(clip)  # without one
