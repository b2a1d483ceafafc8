"""First frames that a body cannot be in: left out, told, and nothing else is changed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.contact_estimation.jumps import TAKE_OFF, jump

import brachiate as br
from brachiate.filter.reference.first_frames import leave_out_first_frames
from brachiate.motion.motion import Motion

STEP = 1.0 / 60.0  # [s] between the frames of a squat


def squat() -> Motion:
    return replace(br.sample_motion("squat"), captured=True)


def labels_of(motion: Motion) -> br.ContactLabels:
    return br.check(motion).contacts


def lifted(height: float, duration: float) -> Motion:
    """Squat that comes from a height [m] within a duration [s], at rest at the end."""
    motion = squat()
    q, t = motion.q.copy(), motion.times - motion.times[0]
    q[:, 2] += height * np.clip(1.0 - t / duration, 0.0, 1.0) ** 2
    return replace(motion, q=q)


@pytest.mark.parametrize("name", ["walk", "jump", "kick", "turn", "squat"])
def test_motions_that_start_well_stay_as_they_are(name):
    motion = replace(br.sample_motion(name), captured=True)
    assert leave_out_first_frames(motion, labels_of(motion)) == (motion, [])


def test_a_motion_that_starts_in_flight_stays_as_it_is():
    motion = jump()
    flight = motion.frames(slice(int(np.searchsorted(motion.times, TAKE_OFF + 0.05)), None))
    labels = br.ContactLabels((), br.Terrain(0.0))
    assert leave_out_first_frames(flight, labels) == (flight, [])


@pytest.mark.parametrize(("height", "duration", "reason"), [(0.3, 0.2, "nothing can provide"), (-0.15, 0.2, "cm in the floor")])
def test_frames_in_the_air_or_in_the_floor_are_left_out(height, duration, reason):
    motion = lifted(height, duration)
    kept, told = leave_out_first_frames(motion, labels_of(motion))
    assert 0.0 < kept.times[0] - motion.times[0] < duration + 2 * STEP
    assert np.array_equal(kept.q, motion.q[-len(kept) :])
    (note,) = told
    assert note.quantity == "first frames"
    assert note.value == f"left out up to {kept.times[0]:.3f} s ({len(motion) - len(kept)} frames)"
    assert reason in note.reason


def test_a_bad_first_frame_is_left_out_and_the_rest_is_filtered():
    # Fails without it: the velocity of the spline through a frame 10 cm too low threw the figure to infinity in the first step.
    motion = squat()
    q = motion.q.copy()
    q[0, 2] -= 0.1
    result = br.filter_motion(replace(motion, q=q), torque_scale=None)
    assert result.success
    assert any(a.quantity == "first frames" for a in result.motion.assumptions)
    assert result.motion.times[-1] == pytest.approx(motion.times[-1], abs=STEP)
    assert result.tracking["mpjpe_global_cm"] < 1.0


def test_a_motion_that_is_wrong_for_long_is_not_cut():
    motion = squat()
    floating = br.ContactLabels((), br.Terrain(0.0))  # nothing carries any frame
    assert leave_out_first_frames(motion, floating) == (motion, [])
    few = motion.frames(slice(0, 8))
    assert leave_out_first_frames(few, labels_of(motion)) == (few, [])
