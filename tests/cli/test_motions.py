"""``brachiate motions``."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from brachiate import procedural
from brachiate.cli import app
from brachiate.errors import ArgumentError, UnknownName
from brachiate.io.clips import read_clip


def told(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["motions", *arguments])
    if result.exception is not None and result.exit_code != 0:
        raise result.exception
    return " ".join(result.output.split())


def test_all_are_listed_with_options_and_how_to_get_more(monkeypatch):
    monkeypatch.setattr("brachiate.procedural.deepmimic.PACKAGE", "a_package_that_nobody_has")
    text = told()
    for name in (*procedural.SAMPLE_MOTIONS, "seconds", "speed 1.3", "angle 90 deg", "side right", "swing 25 deg", "pip install pybullet"):
        assert name in text, text


def test_recorded_clips_are_listed_where_there_are_some(monkeypatch, tmp_path):
    folder = tmp_path / "some_data" / "data" / "motions"
    folder.mkdir(parents=True)
    (tmp_path / "some_data" / "__init__.py").touch()
    (folder / "humanoid3d_spinkick.txt").write_text("{}")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr("brachiate.procedural.deepmimic.PACKAGE", "some_data")
    assert "spinkick" in told()


def test_one_is_written_and_told_about(tmp_path):
    out = tmp_path / "around.bvh"
    text = told("turn", "--out", str(out), "--angle", "-60", "--rate", "60", "--seconds", "3")
    assert "181 frames, 60 frames/s, 3.00 s" in text
    assert "-60 degrees to the left" in text
    told_too = CliRunner().invoke(app, ["info", str(out)])
    assert told_too.exit_code == 0
    assert "181 frames" in told_too.output


def test_a_name_without_an_ending_gets_one(tmp_path):
    told("squat", "--out", str(tmp_path / "down"), "--rate", "30")
    assert len(read_clip(tmp_path / "down.bvh")) == 91


def test_what_cannot_be_is_refused(tmp_path):
    with pytest.raises(UnknownName, match="Did you mean 'walk'"):
        told("wlak", "--out", str(tmp_path / "x.bvh"))
    with pytest.raises(UnknownName, match="'bar_height' is not a parameter of sample motion 'walk'"):
        told("walk", "--bar-height", "3", "--out", str(tmp_path / "x.bvh"))
    with pytest.raises(ArgumentError, match="cannot be written"):
        told("walk", "--out", str(tmp_path / "nowhere" / "x.bvh"))
    assert not (tmp_path / "x.bvh").exists()
