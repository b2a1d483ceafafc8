"""Command ``brachiate check``: table and verdict on the terminal, report files, invalid options."""

from __future__ import annotations

import json

import pytest
from tests.contact_estimation.jumps import jump
from typer.testing import CliRunner

import brachiate as br
from brachiate import procedural
from brachiate.cli import app, console
from brachiate.io.bvh import write_bvh
from brachiate.motion.archive import load_motion_archive, save_motion_archive


@pytest.fixture(scope="module")
def squat(tmp_path_factory):
    path = tmp_path_factory.mktemp("clips") / "squat.bvh"
    write_bvh(procedural.make_clip("squat", seconds=2.0), path)
    return path


@pytest.fixture(autouse=True)
def _console_width(monkeypatch):
    monkeypatch.setattr(console, "_width", 140)  # independent of the terminal that runs the tests


def run(*options):
    return CliRunner().invoke(app, ["check", *map(str, options)], catch_exceptions=False)


def test_metrics_and_verdict_are_printed(squat):
    result = run(squat)
    assert result.exit_code == 0
    for expected in ("floor", "root residual force", "verdict: physical", "set by"):
        assert expected in result.output


def test_json_plot_and_contact_files_are_written(squat, tmp_path):
    pytest.importorskip("matplotlib")
    files = {name: tmp_path / name for name in ("report.json", "report.png", "contacts.txt")}
    result = run(squat, "--json", files["report.json"], "--plot", files["report.png"], "--save-contacts", files["contacts.txt"])
    assert result.exit_code == 0
    content = json.loads(files["report.json"].read_text())
    assert content["format"] == "brachiate check 2"
    assert content["verdict"] == "physical"
    assert files["report.png"].stat().st_size > 10_000
    again = run(squat, "--contacts", files["contacts.txt"])
    assert "verdict: physical" in again.output


def test_level_soles_on_a_slope_are_not_physical(squat):
    # Level soles touch a slope at their edges only
    result = run(squat, "--terrain", "slope:15")
    assert "not physical" in result.output


def test_motion_archive_with_its_figure(tmp_path):
    path = tmp_path / "jump.npz"
    save_motion_archive(jump(), path)
    result = run(path, "--figure", "human28", "--terrain", "flat,friction=1")
    assert "verdict: physical" in result.output


def test_contacts_and_forces_are_saved_with_the_motion(tmp_path):
    from brachiate.evaluation.check import check  # noqa: PLC0415

    report = check(procedural.sample_motion("squat", seconds=1.0))
    annotated = report.annotated()
    total = sum(forces[:, 2] for forces in annotated.forces.values())
    assert total == pytest.approx(report.dynamics.contact_force[..., 2].sum(axis=1), abs=1e-9)
    path = tmp_path / "squat.npz"
    save_motion_archive(annotated, path)
    again = load_motion_archive(path, annotated.figure)
    assert again.contacts is not None
    assert {c.part for c in again.contacts.contacts} == {c.part for c in report.contacts.contacts}
    assert set(again.forces) == set(annotated.forces)
    for part, forces in annotated.forces.items():
        assert (again.forces[part] == forces).all()
    part = next(iter(annotated.forces))
    assert again.frames(slice(0, 10)).forces[part].shape == (10, 6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--terrain", "hill"), "not a terrain"),
        (("--contacts", "nowhere.txt"), "no such file"),
        (("--figure", "human28"), "contains a skeleton"),
        (("--cutoff", "-3"), "cutoff"),
        (("--terrain", "flat", "--contacts", "contacts.txt"), "not both"),
    ],
)
def test_bad_options_are_refused(squat, options, message):
    with pytest.raises(br.BrachiateError, match=message):
        run(squat, *options)


def test_joint_roles_are_read_from_a_file(squat, tmp_path):
    # A skeleton whose joint names do not reveal their roles
    text = squat.read_text()
    names = {"LeftLeg": "b7", "LeftUpLeg": "b6", "LeftFoot": "b8"}
    for name, other in names.items():
        text = text.replace(f"JOINT {name}\n", f"JOINT {other}\n")
    renamed = tmp_path / "renamed.bvh"
    renamed.write_text(text)
    with pytest.raises(br.BrachiateError, match="roles"):
        run(renamed)
    roles = tmp_path / "roles.json"
    roles.write_text(json.dumps({"left_hip": "b6", "left_knee": "b7", "left_ankle": "b8"}))
    assert "verdict: physical" in run(renamed, "--roles", roles).output
    roles.write_text("[]")
    with pytest.raises(br.BrachiateError, match="by role"):
        run(renamed, "--roles", roles)
