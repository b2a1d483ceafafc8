"""Motions in files."""

from __future__ import annotations

import numpy as np
import pytest
from tests.clip.people import stepping

import brachiate as br
from brachiate.errors import FileFormatError, MotionError, MotionFileError
from brachiate.motion.archive import load_motion, read_csv, save_motion, write_csv
from brachiate.motion.motion import Motion, motion_of


def robot() -> br.Model:
    b = br.ModelBuilder("robot")
    b.link("base", joint=br.Free(), mass=10.0, inertia=(1, 1, 1))
    for side in ("left", "right"):
        b.link(f"{side}_thigh", parent="base", joint=br.Revolute("y"), joint_name=f"{side}_hip", mass=1.0, inertia=(0.1, 0.1, 0.1))
        b.link(
            f"{side}_rod", parent=f"{side}_thigh", joint=br.Prismatic("z"), joint_name=f"{side}_slide", mass=1.0, inertia=(0.1, 0.1, 0.1)
        )
    return b.build()


def swaying(model: br.Model, frames: int = 20) -> Motion:
    random = np.random.default_rng(0)
    q = np.tile(model.neutral, (frames, 1)) + 0.1 * random.normal(size=(frames, model.nq))
    q[:, 3:7] /= np.linalg.norm(q[:, 3:7], axis=1)[:, None]
    return Motion(model, np.arange(frames) / 30, q, "sway")


def test_an_archive_comes_back_as_it_was(tmp_path):
    motion = motion_of(stepping())
    save_motion(motion, tmp_path / "step")
    back = load_motion(tmp_path / "step.npz", motion.figure)
    assert (back.q == motion.q).all()
    assert (back.times == motion.times).all()
    assert back.name == "stepping"
    with np.load(tmp_path / "step.npz", allow_pickle=False) as file:
        assert "quaternions w x y z" in str(file["units"])
        assert list(file["coordinates"]) == list(motion.figure.coordinates)


def test_archives_that_are_refused(tmp_path):
    motion = motion_of(stepping())
    save_motion(motion, tmp_path / "step.npz")
    with pytest.raises(FileFormatError, match=r"42 coordinates, figure 'human28' 34, .*motion of another figure \(stepping\)"):
        load_motion(tmp_path / "step.npz", br.figures.human28())
    with pytest.raises(FileFormatError, match=r"There is no file"):
        load_motion(tmp_path / "none", motion.figure)
    data = (tmp_path / "step.npz").read_bytes()
    (tmp_path / "cut.npz").write_bytes(data[: len(data) // 2])
    with pytest.raises(FileFormatError, match=r"is not a motion, or it is damaged"):
        load_motion(tmp_path / "cut.npz", motion.figure)
    np.savez(tmp_path / "other.npz", format=np.array("something else"))
    with pytest.raises(FileFormatError, match=r"says 'something else'"):
        load_motion(tmp_path / "other.npz", motion.figure)
    with np.load(tmp_path / "step.npz") as file:
        content = dict(file)
    content["q"] = content["q"][:-1]
    np.savez(tmp_path / "short.npz", **content)
    with pytest.raises(FileFormatError, match=r"q is \(59, 53\) float64; finite numbers for every frame"):
        load_motion(tmp_path / "short.npz", motion.figure)


def test_tables_of_robots(tmp_path):
    model = robot()
    motion = swaying(model)
    write_csv(motion, tmp_path / "sway.csv")
    back = read_csv(tmp_path / "sway.csv", model)
    assert back.q == pytest.approx(motion.q, abs=1e-8)
    assert back.times == pytest.approx(motion.times)
    assert [g.what for g in back.guesses] == ["quaternions", "angles", "joints", "frame rate"]
    names = (tmp_path / "sway.names.txt").read_text().split("\n")
    assert names[0] == "# robot, 30 frames/s, metres and radians, z up"
    assert names[1:12] == ["x", "y", "z", "qx", "qy", "qz", "qw", "left_hip", "left_slide", "right_hip", "right_slide"]
    assert read_csv(tmp_path / "sway.csv", model, rate=60.0).times[1] == pytest.approx(1 / 60)


def test_tables_that_are_refused(tmp_path):
    model, path = robot(), tmp_path / "t.csv"
    path.write_text("0,0,1,0,0,0,1,0.1,0,0,0\n0,0,1,0,0,0,1,0.1,0,0\n")
    with pytest.raises(MotionFileError, match=r"line 2: 11 numbers expected \(7 of the root and 4 joints of 'robot'\), 10 found"):
        read_csv(path, model)
    path.write_text("0,0,1,0,0,0,2,0.1,0,0,0\n")
    with pytest.raises(MotionFileError, match=r"line 1: columns 4-7 are no unit quaternion .*2 long"):
        read_csv(path, model)
    path.write_text("0,0,1,0,0,0,1,nan,0,0,0\n")
    with pytest.raises(MotionFileError, match=r"line 1: 'nan' is not finite"):
        read_csv(path, model)
    path.write_text("x,y,z,qx,qy,qz,qw,a,b,c,d\n")
    with pytest.raises(MotionFileError, match=r"line 1: 'x' is no number"):
        read_csv(path, model)
    with pytest.raises(MotionError, match=r"'chest' \(spherical\) is no hinge or slide.*Retarget it"):
        read_csv(path, br.figures.human28())


def test_columns_are_taken_by_name_where_names_are_beside(tmp_path):
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
    assert {guess.what: guess.value for guess in back.guesses}["joints"] == "by name"
    (tmp_path / "sway.names.txt").write_text("\n".join(names).replace("left_hip", "left_hop"))
    with pytest.raises(MotionFileError, match=r"table of another robot; it lacks 'left_hip' and has 'left_hop'"):
        read_csv(path, motion.figure)


def test_letters_that_are_none_are_refused(tmp_path):
    motion = swaying(robot())
    save_motion(motion, tmp_path / "sway.npz")
    with np.load(tmp_path / "sway.npz") as file:
        content = dict(file)
    content["name"] = np.array([0x110000], np.uint32).view("<U1")
    np.savez(tmp_path / "sway.npz", **content)
    with pytest.raises(FileFormatError, match="'name' has letters that are none"):
        load_motion(tmp_path / "sway.npz", motion.figure)
