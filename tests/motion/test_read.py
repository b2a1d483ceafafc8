"""Any motion file in."""

from __future__ import annotations

import pytest
from tests.clip.people import stepping

import brachiate as br
from brachiate.errors import MotionFileError
from brachiate.io.bvh import format_bvh
from brachiate.motion.archive import save_motion


@pytest.fixture
def walk(tmp_path):
    path = tmp_path / "walk.bvh"
    path.write_text(format_bvh(stepping()))
    return path


def test_what_was_assumed_is_said(walk, capsys):
    motion = br.read_motion(walk, mass=61.0)
    told = capsys.readouterr().err
    assert "walk.bvh: unit: 0.01 m (cm: the figure is then about 1.76 m tall)" in told
    assert len(told.splitlines()) == len(motion.guesses)
    assert motion.figure.mass == pytest.approx(61.0)
    br.read_motion(walk, quiet=True)
    assert capsys.readouterr().err == ""


def test_archives_need_their_figure(walk, tmp_path):
    motion = br.read_motion(walk, quiet=True)
    save_motion(motion, tmp_path / "walk.npz")
    assert (br.read_motion(tmp_path / "walk.npz", motion.figure).q == motion.q).all()
    with pytest.raises(MotionFileError, match=r"whose motion is it\? The file does not say. Give the figure"):
        br.read_motion(tmp_path / "walk.npz")
    with pytest.raises(MotionFileError, match=r"brings a skeleton of its own"):
        br.read_motion(walk, motion.figure)
