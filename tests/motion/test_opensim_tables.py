"""Motions as OpenSim tables, written and read."""

from __future__ import annotations

import numpy as np
import pytest
from tests.clip.people import stepping
from tests.motion.robots import moving, robot

import brachiate as br
from brachiate import rotations
from brachiate.errors import MotionError, MotionFileError
from brachiate.io.opensim import read_table
from brachiate.motion.motion import Motion
from brachiate.motion.opensim_tables import motion_from_table, motion_table, read_motion_table, write_motion_table


def max_difference(one: Motion, other: Motion) -> float:
    """Largest difference of two motions of a figure, up to the signs of quaternions."""
    a, b = one.q.copy(), other.q.copy()
    for link in one.figure.links.values():
        if link.joint.nq in (4, 7):
            place = one.figure.joints[link.joint_name].q
            at = slice(place.stop - 4, place.stop)
            b[:, at] *= np.sign(np.einsum("fi,fi->f", a[:, at], b[:, at]))[:, None]
    return float(np.abs(a - b).max())


def mixed() -> br.Model:
    """Model with joints of every type."""
    b = br.ModelBuilder("mixed")
    solid = {"mass": 1.0, "inertia": (0.1, 0.1, 0.1)}
    b.link("base", joint=br.Free(), joint_name="root", **solid)
    for k, joint in enumerate((br.Spherical(), br.Universal(), br.Cylindrical(), br.Planar(), br.Prismatic("x"))):
        b.link(f"link{k}", parent="base", joint=joint, joint_name=joint.type, **solid)
    parts = {"swing": br.Revolute("x"), "ball": br.Spherical(), "out": br.Prismatic("z")}
    b.link("last", parent="base", joint=br.Compound(parts), joint_name="compound", **solid)
    return b.build()


@pytest.mark.parametrize("make", [lambda: moving(), lambda: moving(mixed()), lambda: moving(br.figures.human28())])
def test_round_trip(make, tmp_path):
    motion = make()
    path = tmp_path / "motion.mot"
    write_motion_table(motion, path)
    back = read_motion_table(path, motion.figure)
    assert max_difference(motion, back) < 1e-9
    assert back.times == pytest.approx(motion.times, abs=1e-12)
    assert back.name == motion.name
    assert max_difference(motion, motion_from_table(read_table(path), motion.figure)) < 1e-9
    assert (read_table(path).values == motion_table(motion).values).all()


def test_columns_and_header(tmp_path):
    write_motion_table(moving(), tmp_path / "m.sto")
    text = (tmp_path / "m.sto").read_text()
    head = text[: text.index("endheader")].splitlines()
    assert head[:5] == ["moving", "version=1", "nRows=121", "nColumns=13", "inDegrees=yes"]
    assert "Lengths, not angles: root_tx, root_ty, root_tz, reach." in head
    assert any("about z, then x, then y" in line for line in head)
    table = read_table(tmp_path / "m.sto")
    assert table.degrees
    assert table.columns == (
        *("root_tx", "root_ty", "root_tz", "root_rz", "root_rx", "root_ry", "left_hip", "left_knee", "right_hip", "right_knee"),
        *("shoulder", "reach"),
    )
    motion = moving()
    assert table["left_knee"] == pytest.approx(np.degrees(motion.q[:, 8]))
    assert table["reach"] == pytest.approx(motion.q[:, -1])  # lengths stay in meters


def test_angles_of_ball_joints_are_intrinsic():
    motion = moving(mixed())
    table = motion_table(motion)
    angles = np.radians([table[f"spherical_r{axis}"] for axis in "zxy"])
    q = rotations.product(
        rotations.product(rotations.about_axis(2, angles[0]), rotations.about_axis(0, angles[1])), rotations.about_axis(1, angles[2])
    )
    given = motion.q[:, motion.figure.joints["spherical"].q]
    assert rotations.to_matrix(q) == pytest.approx(rotations.to_matrix(given), abs=1e-12)


def test_angles_are_continuous():
    model = robot()
    t = np.linspace(0, 10, 400)
    q = np.tile(model.neutral, (len(t), 1))
    q[:, 3:7] = rotations.about_axis(2, 2.0 * t)  # three turns about the vertical axis
    found = motion_table(Motion(model, t, q))["root_rz"]
    assert np.abs(np.diff(found)).max() < 10.0
    assert found[-1] == pytest.approx(np.degrees(20.0))


def test_body_built_from_a_clip(tmp_path):
    motion = Motion.from_clip(stepping())
    write_motion_table(motion, tmp_path / "step.mot")
    assert max_difference(motion, br.load_motion(tmp_path / "step.mot", motion.figure)) < 1e-9
    with pytest.raises(MotionFileError, match=r"does not say which figure moves"):
        br.load_motion(tmp_path / "step.mot")
    with pytest.raises(MotionFileError, match=r"unit= does not apply to this format"):
        br.load_motion(tmp_path / "step.mot", motion.figure, unit="cm")


def test_invalid_tables_are_refused(tmp_path):
    motion = moving()
    write_motion_table(motion, tmp_path / "m.mot")
    with pytest.raises(MotionFileError, match=r"m.mot: The table 'moving' has no column 'joint1', nor 2 others of figure 'chain3'"):
        read_motion_table(tmp_path / "m.mot", br.figures.chain(3))
    with pytest.raises(MotionError, match=r"has no column '.*', nor \d+ others of figure 'human28'"):
        motion_from_table(motion_table(motion), br.figures.human28())
