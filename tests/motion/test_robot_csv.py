"""Robot motion tables (.csv)."""

from __future__ import annotations

import numpy as np
import pytest
from tests.motion.robots import robot, swaying

import brachiate as br
from brachiate.errors import MotionError, MotionFileError
from brachiate.motion.robot_csv import read_csv, write_csv

JOINTS = ["left_hip", "left_knee", "right_hip", "right_knee", "shoulder", "reach"]


def test_table_round_trip(tmp_path):
    model = robot()
    motion = swaying(model)
    write_csv(motion, tmp_path / "sway.csv")
    back = read_csv(tmp_path / "sway.csv", model)
    assert back.q == pytest.approx(motion.q, abs=1e-8)
    assert back.times == pytest.approx(motion.times)
    assert [g.quantity for g in back.assumptions] == ["quaternions", "angles", "joints", "frame rate"]
    names = (tmp_path / "sway.names.txt").read_text().splitlines()
    assert names[0] == "# robot, 30 frames/s, meters and radians, z up"
    assert names[1:] == ["x", "y", "z", "qx", "qy", "qz", "qw", *JOINTS]
    assert read_csv(tmp_path / "sway.csv", model, rate=60.0).times[1] == pytest.approx(1 / 60)


def test_invalid_tables_are_refused(tmp_path):
    model, path = robot(), tmp_path / "t.csv"
    path.write_text("0,0,1,0,0,0,1,0.1,0,0,0,0,0\n0,0,1,0,0,0,1,0.1,0,0,0,0\n")
    with pytest.raises(MotionFileError, match=r"line 2: 13 numbers expected \(7 of the root and 6 joints of 'robot'\), 12 found"):
        read_csv(path, model)
    path.write_text("0,0,1,0,0,0,2,0.1,0,0,0,0,0\n")
    with pytest.raises(MotionFileError, match=r"line 1: columns 4-7 are not a unit quaternion .*their norm is 2"):
        read_csv(path, model)
    path.write_text("0,0,1,0,0,0,1,nan,0,0,0,0,0\n")
    with pytest.raises(MotionFileError, match=r"line 1: 'nan' is not finite"):
        read_csv(path, model)
    path.write_text("x,y,z,qx,qy,qz,qw,a,b,c,d,e,f\n")
    with pytest.raises(MotionFileError, match=r"line 1: 'x' is not a number"):
        read_csv(path, model)
    with pytest.raises(MotionError, match=r"'chest' \(spherical\) is neither revolute nor prismatic.*Retarget the motion"):
        read_csv(path, br.figures.human28())


def test_columns_are_taken_by_name_with_a_names_file(tmp_path):
    motion = swaying(robot())
    path = tmp_path / "sway.csv"
    write_csv(motion, path)
    rows = [line.split(",") for line in path.read_text().splitlines()]
    names = (tmp_path / "sway.names.txt").read_text().splitlines()
    order = np.random.default_rng(1).permutation(len(rows[0]))
    path.write_text("\n".join(",".join(row[k] for k in order) for row in rows))
    (tmp_path / "sway.names.txt").write_text("\n".join([names[0].replace("30", "50"), *(names[1 + k] for k in order)]))
    back = read_csv(path, motion.figure)
    assert back.q == pytest.approx(motion.q, abs=1e-8)
    assert back.times[1] == pytest.approx(0.02)
    assert {assumption.quantity: assumption.value for assumption in back.assumptions}["joints"] == "by name"
    (tmp_path / "sway.names.txt").write_text("\n".join(names).replace("left_hip", "left_hop"))
    with pytest.raises(MotionFileError, match=r"table of another robot; it lacks 'left_hip' and has 'left_hop'"):
        read_csv(path, motion.figure)
