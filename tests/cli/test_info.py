"""``brachiate info``."""

from __future__ import annotations

from tests.clip.people import stepping
from typer.testing import CliRunner

from brachiate.cli import app
from brachiate.io.bvh import format_bvh


def test_what_was_assumed_is_told_and_poses_are_drawn(tmp_path):
    path = tmp_path / "walk.bvh"
    path.write_text(format_bvh(stepping()))
    result = CliRunner().invoke(app, ["info", str(path), "--mass", "61", "--draw", str(tmp_path / "strip.png")])
    assert result.exit_code == 0, result.output
    told = " ".join(result.output.split())
    assert "60 frames, 60 a second, 0.98 s, 23 joints" in told
    for word in ("up axis", "unit", "--height", "body: 61.0 kg, 42 degrees of freedom (1 free, 10 spherical, 6 revolute)", "8 poses drawn"):
        assert word in told, told
    assert (tmp_path / "strip.png").stat().st_size > 10_000


def test_a_number_is_a_unit(tmp_path):
    path = tmp_path / "walk.bvh"
    path.write_text(format_bvh(stepping()))
    result = CliRunner().invoke(app, ["info", str(path), "--unit", "0.01"])
    assert result.exit_code == 0
    assert "--unit" not in result.output
