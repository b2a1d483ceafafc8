"""Loading of motion files of any format."""

from __future__ import annotations

import pytest
from tests.clip.people import stepping

import brachiate as br
from brachiate.errors import MotionFileError
from brachiate.io.bvh import format_bvh
from brachiate.motion.archive import save_motion_archive


@pytest.fixture
def walk(tmp_path):
    path = tmp_path / "walk.bvh"
    path.write_text(format_bvh(stepping()))
    return path


def test_assumptions_are_kept_and_nothing_is_printed(walk, capsys):
    motion = br.load_motion(walk, mass=61.0)
    assert "unit: 0.01 m (cm: the figure is then about 1.76 m tall)" in map(str, motion.assumptions)
    assert motion.figure.mass == pytest.approx(61.0)
    assert capsys.readouterr() == ("", "")
    with pytest.warns(DeprecationWarning, match="'quiet' of load_motion is deprecated"):
        assert br.load_motion(walk, quiet=True).assumptions
    with pytest.warns(DeprecationWarning, match=r"Motion\.guesses is deprecated.*use Motion\.assumptions"):
        assert motion.guesses is motion.assumptions


def test_archives_need_their_figure(walk, tmp_path):
    motion = br.load_motion(walk)
    save_motion_archive(motion, tmp_path / "walk.npz")
    assert (br.load_motion(tmp_path / "walk.npz", motion.figure).q == motion.q).all()
    with pytest.raises(MotionFileError, match=r"does not say which figure moves. Give it: figure="):
        br.load_motion(tmp_path / "walk.npz")
    with pytest.raises(MotionFileError, match=r"contains a skeleton, and a body is built for it"):
        br.load_motion(walk, motion.figure)
