"""T-poses, in fine and coarse clips."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.clip.people import stepping

from brachiate import rotations
from brachiate.clip.units_and_axes import settle


@pytest.mark.parametrize("frames", [10, 30, 240])
def test_a_first_frame_that_does_not_belong_is_dropped(frames):
    clip = stepping(frames=frames, rate=frames)
    q, places = clip.turns.copy(), clip.places.copy()
    q[0] = rotations.NONE
    clip = replace(clip, turns=q, places=places)
    settled = settle(clip, unit="m", up="z")
    assert len(settled) == frames - 1
    assert settled.times[0] == 0
    assert [g.what for g in settled.guesses] == ["first frame"]
    assert len(settle(clip, unit="m", up="z", rest_frame=False)) == frames


@pytest.mark.parametrize("frames", [10, 30, 240])
def test_one_that_does_is_kept(frames):
    clip = stepping(frames=frames, rate=frames)
    assert len(settle(clip, unit="m", up="z")) == frames
    # someone who begins in a T-pose and moves on from it
    ramp = np.linspace(0, 1, frames)[:, None, None]
    q = rotations.from_vector(ramp * rotations.to_vector(clip.turns))
    assert len(settle(replace(clip, turns=q), unit="m", up="z")) == frames
