"""Motion archives (.npz)."""

from __future__ import annotations

import numpy as np
import pytest
from tests.clip.people import stepping
from tests.motion.robots import robot, swaying

import brachiate as br
from brachiate.errors import FileFormatError
from brachiate.motion.archive import load_motion_archive, save_motion_archive
from brachiate.motion.motion import Motion


def test_archive_round_trip(tmp_path):
    motion = Motion.from_clip(stepping())
    save_motion_archive(motion, tmp_path / "step")
    back = load_motion_archive(tmp_path / "step.npz", motion.figure)
    assert (back.q == motion.q).all()
    assert (back.times == motion.times).all()
    assert back.name == "stepping"
    with np.load(tmp_path / "step.npz", allow_pickle=False) as file:
        assert "quaternions w x y z" in str(file["units"])
        assert list(file["coordinates"]) == list(motion.figure.coordinates)


def test_invalid_archives_are_refused(tmp_path):
    motion = Motion.from_clip(stepping())
    save_motion_archive(motion, tmp_path / "step.npz")
    with pytest.raises(FileFormatError, match=r"42 coordinates, figure 'human28' 34, .*motion of another figure \(stepping\)"):
        load_motion_archive(tmp_path / "step.npz", br.figures.human28())
    with pytest.raises(FileFormatError, match=r"There is no file"):
        load_motion_archive(tmp_path / "none", motion.figure)
    data = (tmp_path / "step.npz").read_bytes()
    (tmp_path / "cut.npz").write_bytes(data[: len(data) // 2])
    with pytest.raises(FileFormatError, match=r"is not a motion, or it is damaged"):
        load_motion_archive(tmp_path / "cut.npz", motion.figure)
    np.savez(tmp_path / "other.npz", format=np.array("something else"))
    with pytest.raises(FileFormatError, match=r"its format is 'something else'"):
        load_motion_archive(tmp_path / "other.npz", motion.figure)
    with np.load(tmp_path / "step.npz") as file:
        content = dict(file)
    content["q"] = content["q"][:-1]
    np.savez(tmp_path / "short.npz", **content)
    with pytest.raises(FileFormatError, match=r"q is \(59, 53\) float64; expected finite numbers for every frame"):
        load_motion_archive(tmp_path / "short.npz", motion.figure)


def test_invalid_characters_are_refused(tmp_path):
    motion = swaying(robot())
    save_motion_archive(motion, tmp_path / "sway.npz")
    with np.load(tmp_path / "sway.npz") as file:
        content = dict(file)
    content["name"] = np.array([0x110000], np.uint32).view("<U1")
    np.savez(tmp_path / "sway.npz", **content)
    with pytest.raises(FileFormatError, match="'name' has invalid characters"):
        load_motion_archive(tmp_path / "sway.npz", motion.figure)
