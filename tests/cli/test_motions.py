"""Command ``brachiate motions``: list of sample motions and recorded clips, written files, invalid names and parameters."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from brachiate import procedural
from brachiate.cli import app
from brachiate.errors import ArgumentError, UnknownName
from brachiate.io.clips import read_clip


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["motions", *arguments])
    if result.exception is not None and result.exit_code != 0:
        raise result.exception
    return " ".join(result.output.split())


def test_all_motions_are_listed_with_their_parameters(monkeypatch):
    monkeypatch.setattr("brachiate.procedural.deepmimic.PACKAGE", "a_package_that_is_not_installed")
    text = run()
    for name in (*procedural.SAMPLE_MOTIONS, "seconds", "speed 1.3", "angle 90 deg", "side right", "swing 25 deg", "pip install pybullet"):
        assert name in text, text


def test_installed_recorded_clips_are_listed(monkeypatch, tmp_path):
    folder = tmp_path / "some_data" / "data" / "motions"
    folder.mkdir(parents=True)
    (tmp_path / "some_data" / "__init__.py").touch()
    (folder / "humanoid3d_spinkick.txt").write_text("{}")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr("brachiate.procedural.deepmimic.PACKAGE", "some_data")
    assert "spinkick" in run()


def test_a_motion_is_written_and_described(tmp_path):
    out = tmp_path / "around.bvh"
    text = run("turn", "--out", str(out), "--angle", "-60", "--rate", "60", "--seconds", "3")
    assert "181 frames, 60 frames/s, 3.00 s" in text
    assert "-60 degrees to the left" in text
    info = CliRunner().invoke(app, ["info", str(out)])
    assert info.exit_code == 0
    assert "181 frames" in info.output


def test_a_path_without_suffix_gets_bvh(tmp_path):
    run("squat", "--out", str(tmp_path / "down"), "--rate", "30")
    assert len(read_clip(tmp_path / "down.bvh")) == 91


def test_invalid_arguments_are_refused(tmp_path):
    with pytest.raises(UnknownName, match="Did you mean 'walk'"):
        run("wlak", "--out", str(tmp_path / "x.bvh"))
    with pytest.raises(UnknownName, match="'bar_height' is not a parameter of sample motion 'walk'"):
        run("walk", "--bar-height", "3", "--out", str(tmp_path / "x.bvh"))
    with pytest.raises(ArgumentError, match="cannot be written"):
        run("walk", "--out", str(tmp_path / "nowhere" / "x.bvh"))
    assert not (tmp_path / "x.bvh").exists()
