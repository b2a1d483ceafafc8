"""Walking: as fast and with steps as long as asked, left and right alike, and near what books say."""

from __future__ import annotations

import numpy as np
import pytest
from tests.procedural.feet import contacts, knee, slide

from brachiate import rotations
from brachiate.procedural import turn, walk
from brachiate.procedural.gait import KNEE, THIGH

SLIDE = 0.005  # [m]
CASES = [(1.3, 0.7, 1.75), (0.6, 0.45, 1.75), (2.0, 0.85, 1.75), (1.0, 0.5, 1.5), (0.3, 0.4, 1.9)]


@pytest.mark.parametrize(("speed", "step", "height"), CASES)
def test_speed_and_step_are_as_asked(speed, step, height):
    clip = walk(speed, step, seconds=4.0 * step / speed + 0.05, height=height, rate=240)
    cycle = 2.0 * step / speed
    root = [np.interp(t, clip.times, clip.places[:, 0, 0]) for t in (0.0, 2.0 * cycle)]
    assert (root[1] - root[0]) / (2.0 * cycle) == pytest.approx(speed, rel=1e-3)
    ankles = [clip.positions[:, clip.skeleton.index(f"{side}Foot")] for side in ("Left", "Right")]
    # Flat in the middle of their stance: the left foot at a quarter of the cycle, the right one half a cycle later.
    left, right, again = (int((k + 0.25) * cycle * 240) for k in (0.0, 0.5, 1.0))
    assert ankles[1][right, 0] - ankles[0][left, 0] == pytest.approx(step, abs=1e-6)
    assert ankles[0][again, 0] - ankles[1][right, 0] == pytest.approx(step, abs=1e-6)


@pytest.mark.parametrize(("speed", "step", "height"), CASES)
def test_no_skating_and_nothing_below_the_floor(speed, step, height):
    points = contacts(walk(speed, step, seconds=3.0, height=height), height)
    assert slide(points) < SLIDE
    assert points[..., 2].min() > -1e-3
    assert points[..., 2].min(axis=1).max() < 1e-3


def test_left_and_right_do_the_same_half_a_cycle_apart():
    clip = walk(speed=1.4, step=0.7, seconds=2.0, rate=120)
    half = 60  # frames
    for left in [name for name in clip.skeleton.names if name.startswith("Left")]:
        one = clip.turns[half:, clip.skeleton.index(left)]
        other = clip.turns[:-half, clip.skeleton.index(left.replace("Left", "Right"))] * (1, -1, 1, -1)  # mirrored in y
        assert np.degrees(rotations.angle(rotations.product(rotations.inverse(one), other))).max() < 1e-4, left
    root = clip.places[:, 0]
    assert np.abs((root[half:] - (0.7, 0, 0)) * (1, -1, 1) - root[:-half]).max() < 1e-9


def test_it_looks_like_walking():
    clip = walk(speed=1.3, step=0.7, seconds=2.5, rate=240)
    cycle = 1.4 / 1.3
    phase = clip.times / cycle
    whole = (phase >= 1.0) & (phase < 2.0)
    bent = knee(clip, "Left")[whole]
    assert 58 < bent.max() < 72
    assert 0.65 < phase[whole][bent.argmax()] - 1.0 < 0.8  # in the air
    assert bent[0] < 10  # nearly straight as the heel comes down
    points = contacts(clip)[whole]
    assert points[0, 0, 2] < 1e-3  # on the heel,
    assert points[0, 1, 2] > 0.04  # with toes up
    heights = clip.places[whole, 0, 2]
    assert 0.015 < np.ptp(heights) < 0.06
    speed = np.gradient(clip.places[:, 0, 0], clip.times)
    assert 1.0 < speed.min() < speed.max() < 1.6
    hand, foot = (clip.positions[:, clip.skeleton.index(f"Left{part}"), 0] - clip.places[:, 0, 0] for part in ("Hand", "Foot"))
    assert np.corrcoef(hand, foot)[0, 1] < -0.8  # arms against legs
    # Joint angles stay near the tables that they come from.
    table = np.linspace(0.0, 1.0, 21)
    taught = np.interp(phase[whole] - 1.0, table, (*KNEE, KNEE[0]))
    assert np.sqrt(np.mean((bent - taught) ** 2)) < 7.0
    q = clip.orientations[whole, clip.skeleton.index("LeftUpLeg")]
    down = rotations.turned(q, np.array((0.0, 0.0, -1.0)))
    taught = np.interp(phase[whole] - 1.0, table, (*THIGH, THIGH[0]))
    assert np.sqrt(np.mean((np.degrees(np.arctan2(down[:, 0], -down[:, 2])) - taught) ** 2)) < 4.0


@pytest.mark.parametrize("angle", [np.pi / 2, -np.pi / 3, 2.5])
def test_a_turn_ends_in_the_new_direction(angle):
    clip = turn(angle=angle, blend=2.0, speed=1.2, step=0.6, seconds=6.0, rate=120)
    root = clip.places[:, 0]
    # One cycle lasts a second: the root goes as far as it should, and where it should.
    before, after = root[120] - root[0], root[-1] - root[-121]
    assert np.abs(before[:2] - (1.2, 0.0)).max() < 1e-6
    assert np.abs(after[:2] - 1.2 * np.array((np.cos(angle), np.sin(angle)))).max() < 1e-6
    ahead = rotations.turned(clip.turns[-1, 0], np.array((1.0, 0.0, 0.0)))
    assert np.arctan2(ahead[1], ahead[0]) == pytest.approx(angle, abs=np.radians(6.0))
    points = contacts(clip)
    assert slide(points) < SLIDE
    assert points[..., 2].min(axis=1).max() < 1e-3
    assert points[..., 2].min() > -1e-3
