"""Jump, kick, squat and hanging."""

from __future__ import annotations

import numpy as np
import pytest
from tests.procedural.feet import contacts, knee

from brachiate import rotations
from brachiate.procedural import Person, hang, jump, kick, squat
from brachiate.procedural.kick import FAR


@pytest.mark.parametrize(("bar", "swing"), [(2.5, 0.45), (3.0, 1.0), (2.4, 0.0)])
def test_both_hands_stay_at_the_bar(bar, swing):
    clip = hang(bar=bar, swing=swing, rate=60)
    person = Person()
    for side, s in (("Left", 1), ("Right", -1)):
        j = clip.skeleton.index(f"{side}Hand")
        held = clip.positions[:, j] + rotations.turned(clip.orientations[:, j], person.grip * (1, s, 1))
        assert np.abs(held[:, [0, 2]] - (0.0, bar)).max() < 1e-9
        assert np.ptp(held[:, 1]) < 1e-3
    hips = clip.positions[:, 0] - (0.0, 0.0, bar)
    assert np.abs(np.arctan2(hips[:, 0], -hips[:, 2])).max() == pytest.approx(swing, abs=0.1 * swing + 0.03)
    assert any(guess.what == "bar" and f"{bar:g} m" in guess.value for guess in clip.guesses)


@pytest.mark.parametrize(("high", "far"), [(0.3, 0.5), (0.1, 0.0), (0.5, 1.1)])
def test_a_jump_goes_as_high_and_as_far_as_asked_but_not_as_gravity_would(high, far):
    clip = jump(high=high, far=far, seconds=3.0, rate=240)
    points = contacts(clip)
    air = points[..., 2].min(axis=1) > 1e-3
    root = clip.places[:, 0]
    assert root[air, 2].max() - root[np.argmax(air), 2] == pytest.approx(high, abs=0.02)
    assert np.abs(points[-1] - points[0] - (far, 0, 0)).max() < 1e-9
    fall = np.gradient(np.gradient(root[:, 2], clip.times), clip.times)[air][4:-4]
    assert -9.81 not in (pytest.approx(fall.min(), rel=0.1), pytest.approx(fall.max(), rel=0.1))


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("high", [0.4, 0.9, 1.25])
def test_a_kick_goes_as_high_as_asked_while_the_other_foot_stands(side, high):
    clip = kick(high=high, side=side, rate=120)
    mine, other = ("Left", "Right") if side == "left" else ("Right", "Left")
    ankle = clip.positions[:, clip.skeleton.index(f"{mine}Foot")]
    top = int(FAR * 2.4 * 120)
    assert ankle[top, 2] == pytest.approx(high, abs=0.01)
    assert ankle[top, 0] > 0.4
    assert knee(clip, mine)[top] < 35
    foot = clip.positions[:, clip.skeleton.index(f"{other}Foot")]
    assert np.abs(foot - foot[0]).max() < 1e-6


@pytest.mark.parametrize("depth", [0.1, 0.45, 0.63])
def test_a_squat_goes_as_deep_as_asked_on_flat_feet(depth):
    clip = squat(depth=depth, rate=60)
    height = clip.places[:, 0, 2]
    assert height[0] - height.min() == pytest.approx(depth, abs=1e-3)
    assert height[-1] == pytest.approx(height[0], abs=1e-9)
    points = contacts(clip)
    assert np.abs(points - points[0]).max() < 1e-6
    assert np.abs(points[..., 2]).max() < 1e-6
