"""The command line, as a user meets it."""

import sys

import numpy as np
import pytest
from typer.testing import CliRunner

import brachiate as br
from brachiate.cli import app, main
from brachiate.cli.demo import thrown_world

runner = CliRunner()


def test_demo_shows_what_is_conserved_and_leaves_files(tmp_path):
    result = runner.invoke(app, ["demo", "--out", str(tmp_path / "out"), "--seconds", "0.1"])
    assert result.exit_code == 0, result.output
    assert "angular momentum" in result.output
    assert "times as fast as it happens" in result.output
    assert {p.name for p in (tmp_path / "out").iterdir()} == {"flight.png", "flight-plot.png", "flight.npz"}
    run = br.Recording.load(tmp_path / "out" / "flight.npz", thrown_world().model)
    assert np.ptp(run["energy"]) < 1e-7


def test_the_demo_figure_stays_above_the_ground_and_within_its_joints():
    # Fails if the picture in the README would show a figure below the floor or folded the wrong way.
    world = thrown_world()
    run = br.Simulation(world, dt=0.002, integrator="rk4", every=20).run(0.92)
    for q in run.q:
        world.q = q
        assert min(pose.position[2] for pose in br.kinematics.link_poses(world.data).values()) > 0
        assert all(excess < np.deg2rad(20) for excess in world.beyond_limits().values()), world.beyond_limits()


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


def test_an_error_is_one_message(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["brachiate", "model", "nowhere.urdf"])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 1
    shown = capsys.readouterr().err
    assert "ModelFileError: nowhere.urdf: there is no such file" in shown
    assert "Traceback" not in shown


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["model", "human27"], "Did you mean 'human28'?"),
        (["model", "foo[b].urdf"], "foo[b].urdf: there is no such file"),
        (["model", "[/x]"], "[/x]"),
        (["model", "box", "--draw", "box.nothing"], "the picture cannot be written"),
        (["demo", "--out", "/proc/nothing"], "cannot be a folder for the results"),
    ],
)
def test_mistakes_are_answered_in_words(monkeypatch, capsys, arguments, words):
    monkeypatch.setattr(sys, "argv", ["brachiate", *arguments])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 1
    assert words in capsys.readouterr().err


def test_headings_say_their_units():
    assert "mass [kg]" in runner.invoke(app, ["figures"], env={"COLUMNS": "200"}).output.replace("\n", " ")
    assert br.__version__ in runner.invoke(app, ["--version"]).output
