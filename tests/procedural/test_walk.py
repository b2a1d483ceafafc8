"""Walking: requested speed and step length, symmetry, and agreement with textbook curves."""

from __future__ import annotations

import numpy as np
import pytest
from tests.procedural.feet import contacts, knee, slide

from brachiate import rotations
from brachiate.procedural import turn, walk
from brachiate.procedural.gait import KNEE_ANGLES, THIGH_ANGLES

MAX_SLIDE = 0.005  # [m]
CASES = [(1.3, 0.7, 1.75), (0.6, 0.45, 1.75), (2.0, 0.85, 1.75), (1.0, 0.5, 1.5), (0.3, 0.4, 1.9)]


@pytest.mark.parametrize(("speed", "step_length", "height"), CASES)
def test_requested_speed_and_step_length(speed, step_length, height):
    clip = walk(speed, step_length, seconds=4.0 * step_length / speed + 0.05, height=height, rate=240)
    cycle = 2.0 * step_length / speed
    root = [np.interp(t, clip.times, clip.translations[:, 0, 0]) for t in (0.0, 2.0 * cycle)]
    assert (root[1] - root[0]) / (2.0 * cycle) == pytest.approx(speed, rel=1e-3)
    ankles = [clip.positions[:, clip.skeleton.index(f"{side}Foot")] for side in ("Left", "Right")]
    # Flat in the middle of their stance: the left foot at a quarter of the cycle, the right one half a cycle later.
    left, right, again = (int((k + 0.25) * cycle * 240) for k in (0.0, 0.5, 1.0))
    assert ankles[1][right, 0] - ankles[0][left, 0] == pytest.approx(step_length, abs=1e-6)
    assert ankles[0][again, 0] - ankles[1][right, 0] == pytest.approx(step_length, abs=1e-6)


@pytest.mark.parametrize(("speed", "step_length", "height"), CASES)
def test_no_foot_skate_and_no_penetration(speed, step_length, height):
    points = contacts(walk(speed, step_length, seconds=3.0, height=height), height)
    assert slide(points) < MAX_SLIDE
    assert points[..., 2].min() > -1e-3
    assert points[..., 2].min(axis=1).max() < 1e-3


def test_left_and_right_are_mirror_images_half_a_cycle_apart():
    clip = walk(speed=1.4, step_length=0.7, seconds=2.0, rate=120)
    half = 60  # frames
    for left in [name for name in clip.skeleton.names if name.startswith("Left")]:
        one = clip.rotations[half:, clip.skeleton.index(left)]
        other = clip.rotations[:-half, clip.skeleton.index(left.replace("Left", "Right"))] * (1, -1, 1, -1)  # mirrored in y
        assert np.degrees(rotations.angle(rotations.product(rotations.inverse(one), other))).max() < 1e-4, left
    root = clip.translations[:, 0]
    assert np.abs((root[half:] - (0.7, 0, 0)) * (1, -1, 1) - root[:-half]).max() < 1e-9


def test_kinematics_resemble_natural_walking():
    clip = walk(speed=1.3, step_length=0.7, seconds=2.5, rate=240)
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
    heights = clip.translations[whole, 0, 2]
    assert 0.015 < np.ptp(heights) < 0.06
    speed = np.gradient(clip.translations[:, 0, 0], clip.times)
    assert 1.0 < speed.min() < speed.max() < 1.6
    hand, foot = (clip.positions[:, clip.skeleton.index(f"Left{part}"), 0] - clip.translations[:, 0, 0] for part in ("Hand", "Foot"))
    assert np.corrcoef(hand, foot)[0, 1] < -0.8  # arms against legs
    # Joint angles stay close to the tables.
    table = np.linspace(0.0, 1.0, 21)
    expected = np.interp(phase[whole] - 1.0, table, (*KNEE_ANGLES, KNEE_ANGLES[0]))
    assert np.sqrt(np.mean((bent - expected) ** 2)) < 7.0
    q = clip.orientations[whole, clip.skeleton.index("LeftUpLeg")]
    down = rotations.rotate(q, np.array((0.0, 0.0, -1.0)))
    expected = np.interp(phase[whole] - 1.0, table, (*THIGH_ANGLES, THIGH_ANGLES[0]))
    assert np.sqrt(np.mean((np.degrees(np.arctan2(down[:, 0], -down[:, 2])) - expected) ** 2)) < 4.0


@pytest.mark.parametrize("angle", [np.pi / 2, -np.pi / 3, 2.5])
def test_turn_ends_in_the_new_heading(angle):
    clip = turn(angle=angle, turn_duration=2.0, speed=1.2, step_length=0.6, seconds=6.0, rate=120)
    root = clip.translations[:, 0]
    # One cycle lasts a second: distance and direction of the root's motion.
    before, after = root[120] - root[0], root[-1] - root[-121]
    assert np.abs(before[:2] - (1.2, 0.0)).max() < 1e-6
    assert np.abs(after[:2] - 1.2 * np.array((np.cos(angle), np.sin(angle)))).max() < 1e-6
    ahead = rotations.rotate(clip.rotations[-1, 0], np.array((1.0, 0.0, 0.0)))
    assert np.arctan2(ahead[1], ahead[0]) == pytest.approx(angle, abs=np.radians(6.0))
    points = contacts(clip)
    assert slide(points) < MAX_SLIDE
    assert points[..., 2].min(axis=1).max() < 1e-3
    assert points[..., 2].min() > -1e-3
