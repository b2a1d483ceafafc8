"""Command ``brachiate tune``: table of results, settings file for ``brachiate filter``, invalid options."""

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


def run(*options):
    return CliRunner(env={"COLUMNS": "140"}).invoke(app, ["tune", *map(str, options)], catch_exceptions=False)


def test_results_are_printed_and_settings_written(squat, tmp_path):
    result = run(squat, "--trials", "10", "--torque-scale", "none", "--mode", "preview", "--out", tmp_path / "mine.json")
    assert result.exit_code == 0, result.output
    for expected in ("low", "default", "tuned", "root-aligned", "joint_stiffness", " %", "mine.json", "--settings"):
        assert expected in result.output
    settings = br.load_settings(tmp_path / "mine.json")
    assert ("the defaults are kept" in result.output) == (settings == br.FilterSettings())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--trials", "0"), "trials"),
        (("--torque-scale", "much"), "none for no torque limits"),
        (("--mode", "x"), "offline, preview, online"),
        (("wlak",), "walk"),
    ],
)
def test_bad_options_are_refused(squat, options, message):
    with pytest.raises(br.BrachiateError, match=message):
        run(squat, *options)


def test_missing_optuna_is_reported(squat, monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(br.BrachiateError, match="pip install"):
        run(squat)
