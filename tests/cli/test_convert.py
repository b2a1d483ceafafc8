"""Command ``brachiate convert``: clips, robot tables and AMASS files from one format to another, and its error messages."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from tests.clip.people import stepping
from typer.testing import CliRunner

import brachiate as br
from brachiate.cli import app, main
from brachiate.io.bvh import format_bvh
from brachiate.io.clips import read_clip

URDF = """<robot name="walker">
  <link name="base"><inertial><mass value="5"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="leg"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="hip" type="revolute"><parent link="base"/><child link="leg"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" effort="9" velocity="9"/></joint>
</robot>"""


@pytest.fixture
def walk(tmp_path):
    path = tmp_path / "walk.bvh"
    path.write_text(format_bvh(stepping()))
    return path


@pytest.fixture
def robot(tmp_path):
    path = tmp_path / "walker.urdf"
    path.write_text(URDF)
    t = np.arange(31) / 30
    rows = np.column_stack((0.1 * t, 0 * t, 0 * t + 0.9, 0 * t, 0 * t, 0 * t, 0 * t + 1, np.sin(t)))
    (tmp_path / "walker.csv").write_text("\n".join(",".join(map(str, row)) for row in rows))
    return path


def run(*arguments) -> str:
    result = CliRunner().invoke(app, ["convert", *map(str, arguments)], env={"COLUMNS": "200"})
    assert result.exit_code == 0, (result.output, result.exception)
    return " ".join(result.output.split())


def test_assumptions_and_written_files_are_printed(walk, tmp_path):
    output = run(walk, tmp_path / "slow.bvh", "--to-rate", "20", "--mass", "61")
    for expected in ("up axis", "--unit", "slow.bvh", "20 frames/s", "42 degrees of freedom"):
        assert expected in output, output
    assert len(read_clip(tmp_path / "slow.bvh")) == 20


def test_options_override_the_inferred_unit_and_axis(walk, tmp_path):
    run(walk, tmp_path / "big.bvh", "--unit", "0.015", "--up", "y", "--no-rest-frame")
    clip = read_clip(tmp_path / "big.bvh", unit="m")
    assert clip.skeleton.offsets == pytest.approx(100 * stepping().skeleton.offsets[_order(clip)], abs=1e-3)


def _order(clip) -> list[int]:
    return [stepping().skeleton.index(name) for name in clip.skeleton.names]


def test_motion_of_a_robot_from_its_urdf(robot, tmp_path):
    output = run(
        tmp_path / "walker.csv", tmp_path / "walker.tracker.npz", "--figure", robot, "--rate", 30, "--to-rate", 50, "--order", "breadth"
    )
    assert "read as one that moves freely" in output
    with np.load(tmp_path / "walker.tracker.npz", allow_pickle=False) as file:
        assert list(file["joint_names"]) == ["hip"]
        assert file["fps"].tolist() == [50.0]
        assert str(file["order"]) == "breadth"
        assert file["joint_pos"][25, 0] == pytest.approx(np.sin(0.5), abs=1e-5)
    run(tmp_path / "walker.csv", tmp_path / "walker.mot", "--figure", robot)
    run(tmp_path / "walker.mot", tmp_path / "walker.npz", "--figure", robot)
    run(tmp_path / "walker.npz", tmp_path / "walker.glb", "--figure", robot)
    figure = br.load_model(robot, floating_base=True)
    assert br.load_motion(tmp_path / "walker.npz", figure).q[15, 7] == pytest.approx(np.sin(0.5))


def test_amass_file(tmp_path):
    poses = np.zeros((30, 66))
    poses[:, 0] = np.pi / 2
    poses[:, 12] = np.linspace(0, 0.5, 30)
    np.savez(tmp_path / "man.npz", poses=poses, trans=np.tile((0, 0, 0.9), (30, 1)), mocap_framerate=60.0)
    output = run(tmp_path / "man.npz", tmp_path / "man.bvh", "--height", 1.7)
    assert "that of a standard" in output
    clip = read_clip(tmp_path / "man.bvh")
    assert clip.positions[0, clip.skeleton.index("head"), 2] > 1.4
    result = CliRunner().invoke(app, ["info", str(tmp_path / "man.npz"), "--height", "1.7"])
    assert "AMASS, 30 frames, 60 frames/s" in " ".join(result.output.split())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["walk.bvh", "walk.xyz"], "the suffix of the file name selects the format"),
        (["walk.bvh", "walk.csv"], "is neither revolute nor prismatic"),
        (["none.bvh", "walk.npz"], "there is no such file"),
        (["walker.csv", "walker.bvh"], "does not say which figure moves"),
        (["walker.csv", "walker.bvh", "--figure", "human27"], "Did you mean 'human28'?"),
        (["walker.csv", "walker.bvh", "--figure", "walker.urdf", "--unit", "cm"], "unit= does not apply to this format"),
        (["walk.bvh", "walk.npz", "--order", "depth"], "order= does not apply to a .npz file"),
    ],
)
def test_errors_name_the_mistake(arguments, message, walk, robot, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["brachiate", "convert", *arguments])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 1
    assert message in capsys.readouterr().err
