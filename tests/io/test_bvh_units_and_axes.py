"""Units, up axis and T-pose of BVH files: inferred, given, or refused if ambiguous."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from tests.io.bvh_files import PERSON, bvh, origin, person, two_joints

from brachiate.clip.units_and_axes import MAX_STATURE, MIN_STATURE, UNITS, normalize_clip
from brachiate.errors import MotionError, MotionFileError
from brachiate.io.bvh import format_bvh, parse_bvh
from brachiate.procedural import make_clip


@pytest.mark.parametrize("unit", ["m", "cm", "cmu", "mm", "in", "ft"])
@pytest.mark.parametrize("up", ["y", "z", "x"])
def test_unit_and_up_axis_are_inferred(unit, up):
    clip = normalize_clip(parse_bvh(person(1.0 / UNITS[unit], up), "x"))
    assert origin(clip).up == up
    assert origin(clip).unit == pytest.approx(UNITS[unit])
    assert {g.argument for g in clip.assumptions} == {"", "unit", "up"}
    offsets = {name: clip.skeleton.offsets[clip.skeleton.index(name)] for name in ("LeftUpLeg", "LeftToeBase", "LeftArm")}
    assert offsets["LeftUpLeg"] == pytest.approx([0, 0.09, -0.03], abs=1e-6)  # x forward, y left, z up
    assert offsets["LeftToeBase"] == pytest.approx([0.13, 0, -0.06], abs=1e-6)
    assert clip.translations[0, 0] == pytest.approx([0, 0, 0.94], abs=1e-6)


def test_normalized_clips_are_rotated_copies():
    one = normalize_clip(parse_bvh(person(100.0, "y"), "x"))
    raw = parse_bvh(person(100.0, "y"), "x")
    assert one.positions == pytest.approx(0.01 * raw.positions[..., [2, 0, 1]], abs=1e-9)
    assert one.tips == pytest.approx(0.01 * raw.tips[..., [2, 0, 1]], abs=1e-9)


def test_given_values_are_not_inferred():
    raw = parse_bvh(person(100.0), "x")
    clip = normalize_clip(raw, unit=0.02, up="z", rest_frame=True)
    assert (origin(clip).unit, origin(clip).up, len(clip)) == (0.02, "z", len(raw) - 1)
    assert {g.argument for g in clip.assumptions} == {""}
    wrong: tuple[tuple[dict[str, Any], str], ...] = (
        ({"unit": "mile"}, "unit='mile' is not one of m, cm, mm"),
        ({"unit": -1.0}, "unit=-1.0 is not the length of a unit in meters"),
        ({"unit": float("nan")}, "unit=nan is not the length"),
        ({"up": "-y"}, "up='-y' is not one of 'x', 'y', 'z'"),
    )
    for more, message in wrong:
        with pytest.raises(MotionError, match=message):
            normalize_clip(raw, **more)


def test_statures_are_unique_to_a_unit():
    sizes = sorted(UNITS.values())
    assert all(MIN_STATURE / a > MAX_STATURE / b for a, b in pairwise(sizes))


@pytest.mark.parametrize("tall", [15.0, 0.5, 1e6])
def test_unknown_unit_is_refused(tall):
    raw = parse_bvh(person(tall * 0.49 / 0.85), "x")
    with pytest.raises(
        MotionFileError,
        match=rf"x: the unit of length cannot be inferred\. The skeleton is {re.escape(f'{tall:.4g}')} units tall, .* in any known unit",
    ):
        normalize_clip(raw)
    assert origin(normalize_clip(raw, unit="in")).unit == 0.0254


def test_unknown_up_axis_is_refused():
    raw = parse_bvh(two_joints(), "x")
    with pytest.raises(MotionFileError, match=r"x: the up axis cannot be inferred: head and feet are not identified .* \(a, b, \.\.\.\)"):
        normalize_clip(raw)
    tilt = Rotation.align_vectors([(1, 1, 1)], [(0, 1, 0)])[0]  # equal components along all axes
    joints = [(name, on, tilt.apply(place)) for name, on, place in PERSON]
    raw = parse_bvh(bvh(joints, {name: "zxy" for name, *_ in PERSON}, [(0,) * (3 * len(PERSON))]), "x")
    with pytest.raises(MotionFileError, match=r"the figure is not upright, .* Give it: up='y' \(most files\) or up='z'"):
        normalize_clip(raw)
    assert origin(normalize_clip(raw, up="y")).up == "y"


def test_up_axis_of_a_lying_figure_is_from_the_rest_pose():
    text = person(100.0, frames=5, swing=0.0).splitlines()
    text[-5:] = ["0 10 0 90 0 0 " + "0 " * (3 * len(PERSON) - 3)] * 5
    clip = normalize_clip(parse_bvh("\n".join(text), "x"))
    assert origin(clip).up == "y"
    assert any("in the rest pose" in assumption.reason for assumption in clip.assumptions)


def test_t_pose_is_dropped():
    raw = parse_bvh(person(100.0, frames=150, rest=True), "x")
    clip = normalize_clip(raw)
    assert len(clip) == len(raw) - 1
    assert clip.times[0] == 0
    assert clip.rotations[0] == pytest.approx(normalize_clip(raw, rest_frame=False).rotations[1])
    (assumption,) = [g for g in clip.assumptions if g.argument == "rest_frame"]
    assert assumption.value == "dropped"
    assert "a T-pose" in assumption.reason


def with_rest_frame(name, rate, start=()):
    """BVH text of a sample motion with frames added at its start: shares of the first posture, 0 for the T-pose of the skeleton."""
    head, frame_time, rows = re.split(r"(Frame Time: .*\n)", format_bvh(make_clip(name, rate=rate)))
    rows = np.array([row.split() for row in rows.splitlines()], float)
    more = np.array([np.concatenate((rows[0, :3], share * rows[0, 3:])) for share in start])
    rows = np.concatenate((more.reshape(len(start), rows.shape[1]), rows))
    head = re.sub(r"Frames: \d+", f"Frames: {len(rows)}", head)
    return head + frame_time + "\n".join(" ".join(f"{x:.9g}" for x in row) for row in rows) + "\n"


@pytest.mark.parametrize("rate", [15, 24, 30, 60, 120, 240])
@pytest.mark.parametrize("name", ["walk", "jump", "kick"])
def test_a_t_pose_is_dropped_at_every_frame_rate(name, rate):
    # The change to the next frame is the same angle at every rate, while those of the motion grow with the time between frames.
    raw = parse_bvh(with_rest_frame(name, rate, [0.0]), "x")
    assert len(normalize_clip(raw)) == len(raw) - 1
    assert len(normalize_clip(parse_bvh(with_rest_frame(name, rate), "x"))) == len(raw) - 1
    # From the rest pose to the first posture within 0.4 s: the first frame is part of the motion
    start = np.linspace(0.0, 1.0, int(0.4 * rate), endpoint=False)
    for shares in (start, start**2 * (3 - 2 * start), 1 - (1 - start) ** 2):
        raw = parse_bvh(with_rest_frame(name, rate, shares), "x")
        assert len(normalize_clip(raw)) == len(raw)


def test_frames_of_the_motion_are_kept():
    assert len(normalize_clip(parse_bvh(person(100.0), "x"))) == 30
    assert len(normalize_clip(parse_bvh(person(100.0, rest=True), "x"), rest_frame=False)) == 31
    # A gradual start from rest: the first frame is part of the motion
    lines = person(100.0, frames=40).splitlines()
    rows = np.array([line.split() for line in lines[-40:]], float)
    rows[:, 3:] *= np.linspace(0, 1, 40)[:, None] ** 2
    lines[-40:] = [" ".join(map(str, row)) for row in rows]
    assert len(normalize_clip(parse_bvh("\n".join(lines), "x"))) == 40
    assert len(normalize_clip(parse_bvh(person(100.0, frames=2, rest=True), "x"))) == 3  # too few frames to decide
    assert len(normalize_clip(parse_bvh(person(100.0, frames=1), "x"), rest_frame=True)) == 1  # the only frame is kept
