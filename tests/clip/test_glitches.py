"""Glitches of captured joints: found and repaired to the known truth; clean and fast motions stay as they are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.clip.people import stepping

from brachiate import procedural, rotations
from brachiate.clip.clip import Clip
from brachiate.clip.glitches import repair_glitches
from brachiate.errors import ArgumentError
from brachiate.io.clips import read_clip

# Of the joints of stepping(): cubics through a gap, with rates from as many frames beside it, deviate by 0.15 times acceleration and
# duration squared at most, as a rate is wrong by half the acceleration times the duration, and s (1 - s)² and s² (1 - s) add up to 0.3
MAX_ACCELERATION = 2 * 0.4 * (2 * np.pi) ** 2  # [rad/s²] of the knees
MAX_SPEED = 2 * 0.4 * 2 * np.pi  # [rad/s]


def turned(clip: Clip, joint: str, frames: slice, vector) -> Clip:
    """Clip with a joint turned by a rotation vector [rad] in some frames."""
    q, j = clip.rotations.copy(), clip.skeleton.index(joint)
    q[frames, j] = rotations.product(q[frames, j], rotations.from_rotation_vector(np.array(vector, float)))
    return replace(clip, rotations=q)


def errors(clip: Clip, truth: Clip) -> np.ndarray:
    """Angles between the joints of two clips: (f, n) [rad]."""
    return rotations.angle(rotations.product(rotations.inverse(clip.rotations), truth.rotations))


def note(clip: Clip) -> str:
    return "; ".join(str(assumption) for assumption in clip.assumptions)


@pytest.mark.parametrize("rate", [24, 60, 120, 480])
@pytest.mark.parametrize("name", ["walk", "jump", "kick", "turn", "squat"])
def test_clean_motions_stay_as_they_are(name, rate):
    clip = procedural.make_clip(name, rate=rate)
    assert repair_glitches(clip) is clip


@pytest.mark.parametrize(("first", "count"), [(40, 1), (40, 3), (17, 12), (0, 1), (0, 5), (119, 1), (116, 4)])
@pytest.mark.parametrize("vector", [(2.5, 0.0, 0.0), (0.4, -2.0, 0.8)])
def test_frames_of_a_glitch_are_repaired(first, count, vector):
    truth = stepping(frames=120, rate=120.0)
    frames = slice(first, first + count)
    found = repair_glitches(turned(truth, "LeftFoot", frames, vector))
    at_end = first == 0 or first + count == 120
    duration = (count + 1) / 120
    # At an end a line continues the motion: half the acceleration from the rate, half from the line
    tolerance = (1.0 if at_end else 0.15) * MAX_ACCELERATION * duration**2
    assert errors(found, truth).max() < tolerance
    span = f"{first}" if count == 1 else f"{first}-{first + count - 1}"
    assert f"repaired frames: LeftFoot {span} (by up to 2." in note(found)
    outside = np.ones(found.rotations.shape[:2], bool)
    outside[frames, truth.skeleton.index("LeftFoot")] = False
    assert np.array_equal(found.rotations[outside], truth.rotations[outside])
    assert np.array_equal(found.translations, truth.translations)


def test_a_glitch_that_comes_and_goes_over_a_few_frames():
    truth = stepping(frames=120, rate=120.0)
    clip = truth
    for k, share in enumerate((0.3, 0.7, 1.0, 1.0, 0.6, 0.25)):
        clip = turned(clip, "RightHand", slice(50 + k, 51 + k), (0.0, 2.8 * share, 0.0))
    found = repair_glitches(clip)
    assert errors(found, truth).max() < 0.15 * MAX_ACCELERATION * (7 / 120) ** 2
    assert "RightHand 50-55" in note(found)


def test_glitches_of_several_joints_are_found_one_by_one():
    truth = stepping(frames=240, rate=120.0)
    clip = turned(turned(truth, "LeftFoot", slice(30, 32), (2.0, 0, 0)), "LeftFoot", slice(33, 34), (0, 2.0, 0))
    clip = turned(clip, "RightHand", slice(100, 101), (0, 0, 3.0))
    found = repair_glitches(clip)
    assert errors(found, truth).max() < 0.15 * MAX_ACCELERATION * (5 / 120) ** 2
    assert "LeftFoot 30-3" in note(found)
    assert "RightHand 100 (" in note(found)


@pytest.mark.parametrize("vector", [(np.pi, 0.0, 0.0), (0.0, 1.6, 0.3)])
def test_a_flip_of_the_axes_is_turned_back(vector):
    truth = stepping(frames=360, rate=120.0)
    found = repair_glitches(turned(truth, "LeftFoot", slice(100, 220), vector))
    # Its turn is known up to the motion between two frames, at either end
    assert errors(found, truth).max() < 2 * MAX_SPEED / 120
    assert "flipped joints: LeftFoot 100-219" in note(found)
    assert np.array_equal(np.delete(found.rotations, slice(100, 220), axis=0), np.delete(truth.rotations, slice(100, 220), axis=0))


def test_a_cut_and_a_fast_motion_stay_as_they_are():
    truth = stepping(frames=240, rate=120.0)
    cut = turned(truth, "LeftFoot", slice(100, None), (2.5, 0.0, 0.0))  # does not come back: what is right is not known
    assert repair_glitches(cut) is cut
    # A throw: the shoulder turns by 3.5 rad at up to 60 rad/s, with accelerations of 3000 rad/s²
    t = np.arange(240) / 120
    angle = 1.75 * (1 + np.tanh(34.0 * (t - 1.0)))
    q, j = truth.rotations.copy(), truth.skeleton.index("RightArm")
    q[:, j] = rotations.product(q[:, j], rotations.from_rotation_vector(angle[:, None] * np.array((1.0, 0, 0))))
    throw = replace(truth, rotations=q)
    assert repair_glitches(throw) is throw


def test_a_spike_of_the_root_position():
    truth = stepping(frames=120, rate=120.0)
    x = truth.translations.copy()
    x[60:62, 0] += (0.0, 0.6, 0.3)
    found = repair_glitches(replace(truth, translations=x))
    assert np.abs(found.translations - truth.translations).max() < 0.15 * 0.02 * (3 / 120) ** 2 + 1e-12  # it sways with 0.02 m/s²
    assert "repaired frames: Hips 60-61 (by up to 0.67 m)" in note(found)


def test_noise_of_a_high_frame_rate_is_no_glitch():
    clip, rng = stepping(frames=600, rate=2000.0), np.random.default_rng(0)
    noisy = replace(clip, rotations=rotations.product(clip.rotations, rotations.from_rotation_vector(rng.normal(0, 0.02, (600, 23, 3)))))
    assert repair_glitches(noisy) is noisy


def test_reading_repairs_unless_it_is_told_not_to(tmp_path):
    clip = turned(procedural.make_clip("walk", rate=120.0), "LeftFoot", slice(50, 51), (2.5, 0.0, 0.0))
    from brachiate.io.bvh import write_bvh  # noqa: PLC0415

    write_bvh(clip, tmp_path / "walk.bvh")
    assert "repaired frames: LeftFoot 50 (by up to 2.5 rad)" in note(read_clip(tmp_path / "walk.bvh"))
    assert "repaired" not in note(read_clip(tmp_path / "walk.bvh", repair=False))
    with pytest.raises(ArgumentError, match=r"repair: expected True or False, got 'no'\."):
        read_clip(tmp_path / "walk.bvh", repair="no")  # type: ignore[arg-type]
