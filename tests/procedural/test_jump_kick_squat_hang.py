"""Jump, kick, squat and hang: they have the requested heights, distances and depths."""

from __future__ import annotations

import numpy as np
import pytest
from tests.procedural.feet import contacts, knee

from brachiate import rotations
from brachiate.procedural import Person, hang, jump, kick, squat
from brachiate.procedural.kick import PEAK


@pytest.mark.parametrize(("bar", "swing"), [(2.5, 0.45), (3.0, 1.0), (2.4, 0.0)])
def test_hands_stay_at_the_bar(bar, swing):
    clip = hang(bar_height=bar, swing=swing, rate=60)
    person = Person()
    for side, s in (("Left", 1), ("Right", -1)):
        j = clip.skeleton.index(f"{side}Hand")
        held = clip.positions[:, j] + rotations.rotate(clip.orientations[:, j], person.grip * (1, s, 1))
        assert np.abs(held[:, [0, 2]] - (0.0, bar)).max() < 1e-9
        assert np.ptp(held[:, 1]) < 1e-3
    hips = clip.positions[:, 0] - (0.0, 0.0, bar)
    assert np.abs(np.arctan2(hips[:, 0], -hips[:, 2])).max() == pytest.approx(swing, abs=0.1 * swing + 0.03)
    assert any(assumption.quantity == "bar" and f"{bar:g} m" in assumption.value for assumption in clip.assumptions)


@pytest.mark.parametrize(("height", "distance"), [(0.3, 0.5), (0.1, 0.0), (0.5, 1.1)])
def test_jump_has_the_requested_height_and_distance_but_is_not_ballistic(height, distance):
    clip = jump(jump_height=height, distance=distance, seconds=3.0, rate=240)
    points = contacts(clip)
    air = points[..., 2].min(axis=1) > 1e-3
    root = clip.translations[:, 0]
    assert root[air, 2].max() - root[np.argmax(air), 2] == pytest.approx(height, abs=0.02)
    assert np.abs(points[-1] - points[0] - (distance, 0, 0)).max() < 1e-9
    fall = np.gradient(np.gradient(root[:, 2], clip.times), clip.times)[air][4:-4]
    assert -9.81 not in (pytest.approx(fall.min(), rel=0.1), pytest.approx(fall.max(), rel=0.1))


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("height", [0.4, 0.9, 1.25])
def test_kick_has_the_requested_height_while_the_other_foot_stands(side, height):
    clip = kick(kick_height=height, side=side, rate=120)
    kicking, support = ("Left", "Right") if side == "left" else ("Right", "Left")
    ankle = clip.positions[:, clip.skeleton.index(f"{kicking}Foot")]
    top = int(PEAK * 2.4 * 120)
    assert ankle[top, 2] == pytest.approx(height, abs=0.01)
    assert ankle[top, 0] > 0.4
    assert knee(clip, kicking)[top] < 35
    foot = clip.positions[:, clip.skeleton.index(f"{support}Foot")]
    assert np.abs(foot - foot[0]).max() < 1e-6


@pytest.mark.parametrize("depth", [0.1, 0.45, 0.63])
def test_squat_has_the_requested_depth_on_flat_feet(depth):
    clip = squat(depth=depth, rate=60)
    height = clip.translations[:, 0, 2]
    assert height[0] - height.min() == pytest.approx(depth, abs=1e-3)
    assert height[-1] == pytest.approx(height[0], abs=1e-9)
    points = contacts(clip)
    assert np.abs(points - points[0]).max() < 1e-6
    assert np.abs(points[..., 2]).max() < 1e-6
