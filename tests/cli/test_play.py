"""Commands ``brachiate scenes`` and ``brachiate play``: list, structure changes, files and error messages."""

import sys

import pytest
from typer.testing import CliRunner

import brachiate as br
from brachiate import scenes
from brachiate.cli import app, main

runner = CliRunner()


def test_scenes_are_listed():
    result = runner.invoke(app, ["scenes"])
    assert result.exit_code == 0, result.output
    for name in scenes.SCENES:
        assert name in result.output


def test_structure_changes_and_energies_are_printed_and_files_written(tmp_path):
    files = ["--out", str(tmp_path / "bar"), "--picture", str(tmp_path / "bar.png")]
    result = runner.invoke(app, ["play", "highbar", "--seconds", "1.3", *files], env={"COLUMNS": "160"})
    assert result.exit_code == 0, result.output
    assert "A figure on the high bar lets go with one hand" in result.output
    assert "0.000 s  'right hand' connected: joint variables 23 → 24, mobility 17 → 12" in result.output
    assert "1.200 s  'right hand' cut: joint variables 24 → 23, mobility " in result.output
    assert "energy gain [J]" in result.output
    values = next(line.split() for line in result.output.splitlines() if line.strip().startswith("1.3 "))
    assert values[1:3] == ["23", "17"]
    assert float(values[5]) < 1e-10
    assert (tmp_path / "bar.png").stat().st_size > 10_000
    run = br.Recording.load(tmp_path / "bar.npz", scenes.make("highbar").world.model)
    assert abs(run.time[-1] - 1.3) < 1e-9


def test_step_length_and_integrator_are_options():
    result = runner.invoke(app, ["play", "fourbar", "--seconds", "0.1", "--dt", "0.01", "--integrator", "rk4"])
    assert result.exit_code == 0, result.output
    assert "four-bars" in result.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["play", "high-bar"], "Did you mean 'highbar'?"),
        (["play", "highbar", "--seconds", "-1"], "seconds must be more than 0"),
        (["play", "highbar", "--dt", "0"], "dt must be more than 0"),
        (["play", "highbar", "--integrator", "rk5"], "integrator: 'rk5' is not one of"),
        (["play", "bricard", "--seconds", "0.01", "--out", "/proc/nothing/x.npz"], "the recording cannot be written"),
        (["play", "bricard", "--seconds", "0.01", "--picture", "x.nothing"], "the picture cannot be written"),
    ],
)
def test_errors_name_the_mistake(monkeypatch, capsys, arguments, message):
    monkeypatch.setattr(sys, "argv", ["brachiate", *arguments])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 1
    assert message in capsys.readouterr().err
