"""Command ``brachiate info``: assumptions, contents and pose strips of motion, marker and table files; its error messages."""

from __future__ import annotations

import numpy as np
import pytest
from tests.clip.people import stepping
from typer.testing import CliRunner

import brachiate as br
from brachiate import procedural
from brachiate.cli import app, main
from brachiate.cli.info import draw_strip
from brachiate.clip.markers import Markers
from brachiate.io.bvh import format_bvh, write_bvh
from brachiate.io.opensim import Table, write_table
from brachiate.io.trc import format_trc


def test_assumptions_are_printed_and_poses_drawn(tmp_path):
    path = tmp_path / "walk.bvh"
    path.write_text(format_bvh(stepping()))
    result = CliRunner().invoke(app, ["info", str(path), "--mass", "61", "--draw", str(tmp_path / "strip.png")])
    assert result.exit_code == 0, result.output
    output = " ".join(result.output.split())
    assert "60 frames, 60 frames/s, 0.98 s, 23 joints" in output
    for word in ("up axis", "unit", "--height", "body: 61.0 kg, 42 degrees of freedom (1 free, 10 spherical, 6 revolute)", "8 poses drawn"):
        assert word in output, output
    assert (tmp_path / "strip.png").stat().st_size > 10_000


def test_unit_may_be_a_number(tmp_path):
    path = tmp_path / "walk.bvh"
    path.write_text(format_bvh(stepping()))
    result = CliRunner().invoke(app, ["info", str(path), "--unit", "0.01"])
    assert result.exit_code == 0
    assert "--unit" not in result.output


def run(*options):
    return CliRunner(env={"COLUMNS": "140"}).invoke(app, ["info", *map(str, options)], catch_exceptions=False)


def test_poses_of_a_stationary_motion_are_drawn_side_by_side(tmp_path):
    pytest.importorskip("matplotlib")
    for name, side_by_side in (("squat", True), ("walk", False)):
        motion = procedural.sample_motion(name, seconds=8.0, rate=10.0)
        before = motion.q.copy()
        assert draw_strip(motion, tmp_path / "strip.png", 6) == (6, side_by_side)
        assert (motion.q == before).all()


def test_markers(tmp_path):
    positions = np.linspace(0.1, 1.7, 5 * 2 * 3).reshape(5, 2, 3)
    positions[2, 1] = np.nan
    (tmp_path / "m.trc").write_text(format_trc(Markers(("Heel", "Head"), np.arange(5) / 100, positions)))
    output = run(tmp_path / "m.trc").output
    for expected in ("TRC, 5 frames, 100 frames/s, 0.04 s, 2 markers", "Heel, Head; 1 gaps, in Head", "to 1.700 m high", "--up"):
        assert expected in output
    with pytest.raises(br.BrachiateError, match="no body to draw"):
        run(tmp_path / "m.trc", "--draw", tmp_path / "m.png")
    with pytest.raises(br.BrachiateError, match="rate= means nothing for markers"):
        run(tmp_path / "m.trc", "--rate", 3)
    with pytest.raises(br.BrachiateError, match=r"contains markers, not joint angles.*inverse kinematics"):
        br.load_motion(tmp_path / "m.trc")


def test_force_plates_and_other_tables(tmp_path):
    names = [f"ground_force_{k}{axis}" for k in "vp" for axis in "xyz"]
    values = np.tile((0.0, 700.0, 0.0, 0.0, 0.0, 0.0), (4, 1))
    values[0, 1] = 0.0
    write_table(Table("grf", np.arange(4) / 10, tuple(names), values), tmp_path / "grf.mot")
    assert "plate ground_force: up to 700 N upwards, more than 20 N in 75 % of the rows" in run(tmp_path / "grf.mot").output
    with pytest.raises(br.BrachiateError, match="contains forces of 1 force plates, and no motion"):
        br.load_motion(tmp_path / "grf.mot")
    write_table(Table("angles", np.arange(4) / 10, ("a", "b"), np.ones((4, 2))), tmp_path / "other.sto")
    assert "give it with --figure" in run(tmp_path / "other.sto").output


def test_motion_archive_with_a_figure_from_its_source_file(tmp_path):
    clip = procedural.make_clip("squat", seconds=1.0)
    write_bvh(clip, tmp_path / "squat.bvh")
    motion = br.load_motion(tmp_path / "squat.bvh")
    motion.save(tmp_path / "squat.npz")
    with pytest.raises(br.BrachiateError, match=r"does not say which figure moves.*figure="):
        run(tmp_path / "squat.npz")
    output = run(tmp_path / "squat.npz", "--figure", tmp_path / "squat.bvh", "--frames", "10:50").output
    assert "squat.npz: NPZ, 40 frames" in output
    assert f"{motion.figure.nv} degrees of freedom" in output


@pytest.mark.parametrize(("frames", "count"), [(":20", 20), ("100:", 21), ("5:8", 3)])
def test_selected_frames(tmp_path, frames, count):
    write_bvh(procedural.make_clip("squat", seconds=1.0, rate=120.0), tmp_path / "squat.bvh")
    assert f"BVH, {count} frames" in run(tmp_path / "squat.bvh", "--frames", frames).output
    for wrong in ("7", "a:b", ":", "-3:5"):
        with pytest.raises(br.BrachiateError, match=r"expected FIRST:END"):
            run(tmp_path / "squat.bvh", f"--frames={wrong}")


def test_frames_beyond_the_end_say_how_many_there_are(tmp_path):
    write_bvh(procedural.make_clip("squat", seconds=1.0, rate=120.0), tmp_path / "squat.bvh")
    with pytest.raises(br.BrachiateError, match=r"squat\.bvh has 121 frames, numbered 0 to 120: none of them is in .*500:600"):
        run(tmp_path / "squat.bvh", "--frames", "500:600")


def test_messages_name_the_options(tmp_path, monkeypatch, capsys):
    text = format_bvh(procedural.make_clip("squat", seconds=1.0)).replace("Head", "X1")
    (tmp_path / "renamed.bvh").write_text(text)
    monkeypatch.setattr("sys.argv", ["brachiate", "info", str(tmp_path / "renamed.bvh")])
    with pytest.raises(SystemExit):
        main()
    output = capsys.readouterr().err
    assert "(On the command line: --up, --roles.)" in output
    assert output.count("\n") == 1


def test_markup_in_messages_is_not_interpreted(tmp_path, monkeypatch, capsys):
    (tmp_path / "users").write_text("root:x:0:0:[bold]:/root\n")
    monkeypatch.setattr("sys.argv", ["brachiate", "info", str(tmp_path / "users")])
    with pytest.raises(SystemExit):
        main()
    assert "root:x:0:0:[bold]:/root" in capsys.readouterr().err
