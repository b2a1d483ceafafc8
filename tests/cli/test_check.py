"""``brachiate check``: a table, a verdict, and files."""

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
def _wide(monkeypatch):
    monkeypatch.setattr(console, "_width", 140)  # whoever starts the tests may have said how wide a line is, before the console was made


def run(*words):
    return CliRunner().invoke(app, ["check", *map(str, words)], catch_exceptions=False)


def test_it_tells_what_it_found(squat):
    result = run(squat)
    assert result.exit_code == 0
    for words in ("floor", "root residual force", "verdict: physical", "set by"):
        assert words in result.output


def test_it_writes_numbers_picture_and_contacts(squat, tmp_path):
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


def test_a_slope_matters(squat):
    # Soles that are level stand on their edges there
    result = run(squat, "--terrain", "slope:15")
    assert "not physical" in result.output


def test_motions_of_a_figure(tmp_path):
    path = tmp_path / "jump.npz"
    save_motion_archive(jump(), path)
    result = run(path, "--figure", "human28", "--terrain", "flat,friction=1")
    assert "verdict: physical" in result.output


def test_contacts_and_forces_are_kept_with_a_motion(tmp_path):
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
    ("words", "message"),
    [
        (("--terrain", "hill"), "not a terrain"),
        (("--contacts", "nowhere.txt"), "no such file"),
        (("--figure", "human28"), "contains a skeleton"),
        (("--cutoff", "-3"), "cutoff"),
        (("--terrain", "flat", "--contacts", "contacts.txt"), "not both"),
    ],
)
def test_bad_options_are_refused(squat, words, message):
    with pytest.raises(br.BrachiateError, match=message):
        run(squat, *words)


def test_a_map_of_roles_names_strange_joints(squat, tmp_path):
    # A skeleton whose names say nothing
    text = squat.read_text()
    names = {"LeftLeg": "b7", "LeftUpLeg": "b6", "LeftFoot": "b8"}
    for name, other in names.items():
        text = text.replace(f"JOINT {name}\n", f"JOINT {other}\n")
    strange = tmp_path / "strange.bvh"
    strange.write_text(text)
    with pytest.raises(br.BrachiateError, match="roles"):
        run(strange)
    roles = tmp_path / "roles.json"
    roles.write_text(json.dumps({"left_hip": "b6", "left_knee": "b7", "left_ankle": "b8"}))
    assert "verdict: physical" in run(strange, "--roles", roles).output
    roles.write_text("[]")
    with pytest.raises(br.BrachiateError, match="by role"):
        run(strange, "--roles", roles)
