"""Command line: demo, lists of figures, drawings, units in tables and help, error messages."""

import json
import os
import subprocess
import sys

import pytest
from typer.testing import CliRunner

import brachiate as br
from brachiate.cli import app, main
from brachiate.cli.encoding import encode_as_words

runner = CliRunner()


def test_demo_fits_a_terminal_and_writes_its_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [".venv/bin/brachiate", "demo"])  # as make demo calls it
    result = runner.invoke(app, ["demo", "--out", "out"])
    assert result.exit_code == 0, result.output
    lines = result.output.splitlines()
    assert len(lines) <= 23  # two more come from make and the compilation
    assert max(map(len, lines)) <= 80
    assert any("original" in line and "filtered" in line for line in lines)
    assert any(".venv/bin/brachiate filter your.bvh --open" in line for line in lines)
    assert {p.name for p in (tmp_path / "out").iterdir()} >= {"motion.bvh", "motion.npz", "torques.csv", "plot.png", "poses.png"}
    metrics = json.loads((tmp_path / "out" / "metrics.json").read_text())
    assert metrics["success"]
    assert metrics["filtered"]["root_residual_force_rms_N"] < 0.25 * metrics["original"]["root_residual_force_rms_N"]


def test_slow_packages_are_not_imported_to_filter():
    script = "import sys, brachiate.cli.demo; print(*sys.modules)"
    modules = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout.split()
    assert not {"numba", "scipy.signal", "scipy.stats", "matplotlib", "mujoco"} & set(modules)


def test_figures_are_listed():
    result = runner.invoke(app, ["figures"])
    assert result.exit_code == 0, result.output
    for name in br.figures.FIGURES:
        assert name in result.output


def test_a_model_is_described_and_drawn(tmp_path):
    result = runner.invoke(app, ["model", "monkey16", "--draw", str(tmp_path / "monkey.png")])
    assert result.exit_code == 0, result.output
    assert "tail" in result.output
    assert (tmp_path / "monkey.png").stat().st_size > 5000


def test_an_error_is_one_message_without_a_traceback(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["brachiate", "model", "nowhere.urdf"])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 1
    shown = capsys.readouterr().err
    assert "ModelFileError: nowhere.urdf: there is no such file" in shown
    assert "Traceback" not in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["model", "human27"], "Did you mean 'human28'?"),
        (["model", "foo[b].urdf"], "foo[b].urdf: there is no such file"),
        (["model", "[/x]"], "[/x]"),
        (["model", "box", "--draw", "box.nothing"], "the picture cannot be written"),
        (["demo", "--out", "/proc/nothing"], "the results cannot be written"),
    ],
)
def test_errors_name_the_mistake(monkeypatch, capsys, arguments, message):
    monkeypatch.setattr(sys, "argv", ["brachiate", *arguments])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 1
    assert message in capsys.readouterr().err


def test_table_headings_have_units():
    assert "mass [kg]" in runner.invoke(app, ["figures"], env={"COLUMNS": "200"}).output.replace("\n", " ")
    assert br.__version__ in runner.invoke(app, ["--version"]).output


def test_help_of_options_has_units():
    # Fails if square brackets are taken for markup and removed
    assert "Duration [s]." in runner.invoke(app, ["play", "--help"], env={"COLUMNS": "200"}).output
    assert "link:mass [kg]" in runner.invoke(app, ["filter", "--help"], env={"COLUMNS": "200"}).output


@pytest.mark.parametrize("words", [["figures"], ["info", "no such file.bvh"], ["filter", "--help"], ["model", "human16"]])
def test_terminals_without_unicode_get_ascii(words):
    """Fails if a character that the encoding of the terminal does not have ends the command in a traceback."""
    code = "import sys; from brachiate.cli import main; sys.argv[0] = 'brachiate'; main()"
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0"}
    done = subprocess.run([sys.executable, "-c", code, *words], env=environment, capture_output=True, check=False, timeout=600)
    output = (done.stdout + done.stderr).decode("ascii")
    assert "Traceback" not in output
    assert len(output) > 20


def test_units_are_written_in_ascii_words():
    assert "N·m/s² at 5° ± ½ → é ≥ 漢".encode("ascii", _registered()) == b"N*m/s^2 at 5 deg +- 1/2 -> e >= ?"


def _registered():
    encode_as_words()
    return "brachiate-ascii"
