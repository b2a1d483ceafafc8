"""``brachiate tune``: tables, a file that ``brachiate filter`` takes."""

from __future__ import annotations

import sys

import pytest
from typer.testing import CliRunner

import brachiate as br
from brachiate import procedural
from brachiate.cli import app
from brachiate.io.bvh import write_bvh

pytest.importorskip("optuna")


@pytest.fixture(scope="module")
def squat(tmp_path_factory):
    path = tmp_path_factory.mktemp("clips") / "low.bvh"
    write_bvh(procedural.make_clip("squat", seconds=0.6), path)
    return path


def run(*words):
    return CliRunner(env={"COLUMNS": "140"}).invoke(app, ["tune", *map(str, words)], catch_exceptions=False)


def test_it_tells_and_writes(squat, tmp_path):
    result = run(squat, "--trials", "10", "--torque-scale", "none", "--mode", "preview", "--out", tmp_path / "mine.json")
    assert result.exit_code == 0, result.output
    for words in ("low", "default", "tuned", "root-aligned", "joint_stiffness", " %", "mine.json", "--settings"):
        assert words in result.output
    settings = br.load_settings(tmp_path / "mine.json")
    assert ("the defaults are kept" in result.output) == (settings == br.FilterSettings())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--trials", "0"), "trials"),
        (("--torque-scale", "much"), "none for no torque limits"),
        (("--mode", "x"), "offline, preview, online"),
        (("wlak",), "walk"),
    ],
)
def test_bad_options_are_refused(squat, words, message):
    with pytest.raises(br.BrachiateError, match=message):
        run(squat, *words)


def test_optuna_is_an_extra(squat, monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(br.BrachiateError, match="pip install"):
        run(squat)
