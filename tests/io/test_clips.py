"""Clip files of any format: detection by content, encodings, selected frames, given values, invalid input."""

from __future__ import annotations

import pytest
from tests.clip.people import stepping

from brachiate.errors import MotionFileError
from brachiate.io.bvh import format_bvh
from brachiate.io.clips import detect_format, read_clip


@pytest.fixture
def walk(tmp_path):
    path = tmp_path / "walk.bvh"
    path.write_text(format_bvh(stepping()))
    return path


def test_format_does_not_depend_on_the_name(walk, tmp_path):
    other = tmp_path / "walk.txt"
    other.write_bytes(walk.read_bytes())
    assert detect_format(other) == "BVH"
    clip, source = read_clip(other), stepping()
    order = [source.skeleton.index(name) for name in clip.skeleton.names]  # the order of joints may differ, as files nest them
    assert clip.positions == pytest.approx(source.positions[:, order], abs=1e-7)
    assert {assumption.quantity for assumption in clip.assumptions} >= {"frame rate", "up axis", "unit"}


def test_utf_16(walk, tmp_path):
    other = tmp_path / "wide.bvh"
    other.write_text(walk.read_text(), encoding="utf-16")
    assert (read_clip(other).positions == read_clip(walk).positions).all()


def test_selected_frames(walk):
    assert len(read_clip(walk, frames=slice(10, 20))) == 10


def test_given_values_are_not_inferred(walk):
    clip = read_clip(walk, unit=0.02, up="y", rest_frame=False)
    assert {assumption.quantity for assumption in clip.assumptions} == {"frame rate"}
    assert clip.skeleton.offsets == pytest.approx(2 * read_clip(walk).skeleton.offsets, abs=1e-7)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"is empty"),
        ("once upon a time", r"not a supported motion file: BVH, AMC .* begins with 'once upon a time'"),
        (":version 1.10\n:name x\n", r"is an ASF skeleton without motion. Give the AMC file"),
    ],
)
def test_invalid_input_is_refused(text, message, tmp_path):
    path = tmp_path / "x"
    path.write_text(text)
    with pytest.raises(MotionFileError, match=message):
        read_clip(path)
    with pytest.raises(MotionFileError, match=r"there is no such file"):
        read_clip(tmp_path / "none.bvh")


def test_arguments_that_do_not_apply(walk):
    with pytest.raises(MotionFileError, match=r"rate= does not apply to this format"):
        read_clip(walk, rate=60.0)
