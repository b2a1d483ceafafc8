"""Written BVH files: round trips in all channel orders, units and axes, continuous angles, rotations that channels cannot represent."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.io.bvh_files import ORDERS, bvh, origin, person, two_joints

from brachiate import rotations
from brachiate.clip.clip import Clip
from brachiate.clip.skeleton import End, Skeleton
from brachiate.clip.units_and_axes import UNITS, normalize_clip
from brachiate.errors import MotionError
from brachiate.io.bvh import format_bvh, parse_bvh, read_bvh, write_bvh

DATA = Path(__file__).parents[2].parent / "shared" / "data"
needs_data = pytest.mark.skipif(not (DATA / "cmu").is_dir(), reason=f"no recorded motions in {DATA / 'cmu'}")


def max_angle(a, b):
    """Largest angle between the joint rotations of two clips [deg]."""
    return float(np.degrees(rotations.angle(rotations.product(rotations.inverse(a.rotations), b.rotations))).max())


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("unit", "up"), [("cm", "y"), ("m", "z"), ("cmu", "y")])
def test_round_trip(order, unit, up):
    text = person(1 / UNITS[unit], up, swing=170.0)
    for axis, letter in zip("ZXY", order):
        text = text.replace(f"{axis}rotation", f"#{letter}")
    for letter in "xyz":
        text = text.replace(f"#{letter}", f"{letter.upper()}rotation")
    raw = parse_bvh(text, "x")
    clip = normalize_clip(raw, unit=unit, up=up)
    reread = parse_bvh(format_bvh(clip), "x")
    assert reread.skeleton.names == raw.skeleton.names
    assert reread.skeleton.parents == raw.skeleton.parents
    assert origin(reread).channels == origin(raw).channels
    assert reread.skeleton.offsets == pytest.approx(raw.skeleton.offsets, rel=1e-8, abs=1e-9)
    assert reread.skeleton.tips == pytest.approx(raw.skeleton.tips, rel=1e-8, abs=1e-9)
    assert reread.translations == pytest.approx(raw.translations, rel=1e-8, abs=1e-9)
    assert reread.times == pytest.approx(raw.times)
    assert max_angle(reread, raw) < 1e-6


def test_written_angles_are_continuous():
    # Two full turns, and through the singularity of the middle angle
    t = np.linspace(0, 1, 200)
    rows = np.zeros((200, 9))
    rows[:, 3], rows[:, 7] = 720 * t, 180 * t
    raw = parse_bvh(two_joints(rows), "x")
    text = format_bvh(normalize_clip(raw, unit="m", up="z"))
    reread = parse_bvh(text, "x")
    angles = np.array([line.split() for line in text.splitlines()[-200:]], float)
    assert angles[:, 3] == pytest.approx(rows[:, 3], abs=1e-5)
    assert max_angle(reread, raw) < 1e-5


def test_default_conventions_are_centimeters_and_y_up(tmp_path):
    skeleton = Skeleton(("a", "b c"), (-1, 0), np.array([(0, 0, 0), (0.1, 0.2, 0.3)]), (End(1, np.array((0.0, 0.0, 0.5))),))
    random = np.random.default_rng(3)
    q = random.normal(size=(6, 2, 4))
    q /= np.linalg.norm(q, axis=-1, keepdims=True)
    translations = np.tile(skeleton.offsets, (6, 1, 1))
    translations[:, 0] = random.normal(size=(6, 3))
    clip = Clip(skeleton, np.arange(6) / 50, q, translations)
    write_bvh(clip, tmp_path / "a.bvh")
    raw = read_bvh(tmp_path / "a.bvh")
    assert raw.skeleton.names == ("a", "b c")
    assert raw.skeleton.offsets[1] == pytest.approx([20, 30, 10])
    assert raw.rate == 50
    reread = normalize_clip(raw, unit="cm", up="y", rest_frame=False)
    assert reread.positions == pytest.approx(clip.positions, abs=1e-8)
    assert max_angle(reread, clip) < 1e-6


def test_rotations_beyond_the_channels_are_refused():
    joints = [("a", "", (0, 0, 0)), ("knee", "a", (0, 1, 0))]
    clip = normalize_clip(parse_bvh(bvh(joints, {"a": "XYZzxy", "knee": "x"}, [(0, 0, 0, 0, 0, 0, 50)] * 3), "x"), unit="m", up="z")
    assert max_angle(parse_bvh(format_bvh(clip), "x"), clip) < 1e-6
    q = clip.rotations.copy()
    q[:, 1] = rotations.about_axis(1, np.full(3, 0.1))
    with pytest.raises(MotionError, match=r"Joint 'knee' has only the channels 'x', but rotates by 5\.7 degrees about other axes"):
        format_bvh(Clip(clip.skeleton, clip.times, q, clip.translations, origin=clip.origin))


@needs_data
@pytest.mark.parametrize("name", ["07_01", "16_35", "49_06"])
def test_round_trip_of_recorded_motions(name):
    raw = read_bvh(DATA / "cmu" / f"{name}.bvh")
    clip = normalize_clip(raw)
    assert origin(clip).unit == pytest.approx(UNITS["cmu"])
    assert origin(clip).up == "y"
    assert len(clip) == len(raw) - 1  # without the T-pose
    assert clip.rate == pytest.approx(120)
    reread = parse_bvh(format_bvh(clip), "x")
    assert max_angle(reread, raw.frames(slice(1, None))) < 1e-6
