"""``brachiate retarget``."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest
from tests.clip.people import stepping
from typer.testing import CliRunner

import brachiate as br
from brachiate import procedural
from brachiate.cli import app, main
from brachiate.io.bvh import format_bvh, write_bvh
from brachiate.motion.archive import load_motion_archive


@pytest.fixture
def walk(tmp_path):
    path = tmp_path / "walk.bvh"
    path.write_text(format_bvh(stepping(frames=30, rate=30.0)))
    return path


def test_a_walk_of_a_built_in_figure(walk, tmp_path):
    out, draw = tmp_path / "walk.npz", tmp_path / "walk.png"
    result = CliRunner().invoke(app, ["retarget", str(walk), "--to", "human28", "--out", str(out), "--draw", str(draw)])
    assert result.exit_code == 0, result.output
    for what in ("foot skate", "penetration", "jerk", "at joint limits"):
        assert what in result.output
    motion = load_motion_archive(out, br.figures.human28())
    assert len(motion) == 30
    assert draw.stat().st_size > 1000


def test_other_rate_and_a_map(walk, tmp_path):
    roles, out = tmp_path / "roles.json", tmp_path / "walk.npz"
    roles.write_text(json.dumps({"left_foot": "left_foot"}))
    args = ["retarget", str(walk), "--to", "human16", "--to-rate", "15", "--map", str(roles), "--out", str(out)]
    assert CliRunner().invoke(app, args).exit_code == 0
    assert np.allclose(np.diff(load_motion_archive(out, br.figures.human16()).times), 1 / 15)


def test_doors(walk, tmp_path, monkeypatch, capsys):
    def told(*args: str) -> str:
        monkeypatch.setattr(sys, "argv", ["brachiate", "retarget", *args])
        with pytest.raises(SystemExit):
            main()
        return capsys.readouterr().err

    assert "human82" in told(str(walk), "--to", "human82")
    assert "no floating base" in told(str(walk), "--to", "arm2")
    broken = tmp_path / "roles.json"
    broken.write_text("left_knee: 3")
    assert "not valid JSON" in told(str(walk), "--to", "human28", "--map", str(broken))
    broken.write_text('{"left_knee": 3}')
    assert "by role" in told(str(walk), "--to", "human28", "--map", str(broken))
    assert "no such file" in told(str(walk), "--to", "human28", "--map", str(tmp_path / "none.json"))


def test_contacts_that_are_given_are_kept(tmp_path):
    write_bvh(procedural.make_clip("hang", seconds=1.0, rate=30.0), tmp_path / "hang.bvh")
    runner = CliRunner(env={"COLUMNS": "140"})
    contacts = tmp_path / "contacts.txt"
    assert runner.invoke(app, ["check", str(tmp_path / "hang.bvh"), "--save-contacts", str(contacts)]).exit_code == 0
    words = ["retarget", str(tmp_path / "hang.bvh"), "--to", "human28", "--contacts", str(contacts)]
    done = runner.invoke(app, words, catch_exceptions=False)
    assert "handhold error" in done.output
    contacts.write_text("\n".join(line for line in contacts.read_text().splitlines() if "hand" not in line or line.startswith("#")))
    assert "handhold error" not in runner.invoke(app, words, catch_exceptions=False).output
