"""Landmarks: which links of a figure are which, by name, by place, or as told."""

from __future__ import annotations

import sysconfig
import warnings
from pathlib import Path

import numpy as np
import pytest
from tests.clip.people import stepping
from tests.retargeting.bipeds import biped

import brachiate as br
from brachiate.anatomy.landmarks import landmarks_of
from brachiate.errors import ArgumentError, MotionError, UnknownName
from brachiate.kinematics_batch import Many
from brachiate.motion.motion import motion_of

ROBOTS = Path(sysconfig.get_path("purelib")) / "cmeel.prefix/share/example-robot-data/robots"


def robot(name: str) -> br.Model:
    """A robot of example-robot-data."""
    path = ROBOTS / name
    if not path.exists():
        pytest.skip("example-robot-data is not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return br.read_model(path, floating=True)


def places(model: br.Model, roles=None) -> dict[str, np.ndarray]:
    """Where landmarks are as the figure stands."""
    marks = landmarks_of(model, roles)
    poses = Many(model).poses(marks.stand[None])
    return {role: poses.point(*point)[0] for role, point in marks.points.items()}


@pytest.mark.parametrize("name", ["human16", "human28", "human40", "monkey16"])
def test_built_in_figures_have_their_joints_where_they_are(name):
    model = br.figures.FIGURES[name]()
    found = places(model)
    data = br.Data(model)
    poses = br.kinematics.link_poses(data)
    for side in ("left", "right"):
        for role, link in (("hip", "thigh"), ("knee", "shank"), ("ankle", "foot"), ("shoulder", "upper_arm"), ("elbow", "forearm")):
            assert np.allclose(found[f"{side}_{role}"], poses[f"{side}_{link}"].position, atol=1e-12), role
    assert np.allclose(found["pelvis"], 0.5 * (found["left_hip"] + found["right_hip"]))


def test_soles_are_flat_on_the_ground():
    model = br.figures.human28()
    marks = landmarks_of(model)
    poses = Many(model).poses(marks.stand[None])
    for side, sole in marks.soles.items():
        corners = poses.x[marks.bodies[f"{side}_foot"], 0] + sole.corners @ poses.R[marks.bodies[f"{side}_foot"], 0].T
        assert np.allclose(corners[:, 2], 0, atol=1e-12)
        assert (corners[2:, 0] > corners[:2, 0] + 0.2).all()  # toes in front
        assert np.allclose(sole.axes, np.eye(3))


@pytest.mark.parametrize("dialect", ["motionbuilder", "asf", "smpl", "biped"])
def test_bodies_grown_for_skeletons(dialect):
    motion = motion_of(stepping(dialect, frames=20))
    marks = landmarks_of(motion.figure)
    assert marks.links["left_knee"] == "left_shank"
    assert marks.links["chest"].startswith("spine")
    assert marks.links["left_foot"] == "left_foot"


@pytest.mark.parametrize("style", ["unitree", "talos", "icub", "numbers"])
def test_names_of_robots(style):
    """The same robot by four ways of naming: what is found is where it is, not what it is called."""
    found = places(biped(style))
    expected = {"hip": (0, 0.1, 0.75), "knee": (0, 0.1, 0.42), "ankle": (0, 0.1, 0.08)}
    for role, (x, y, z) in expected.items():
        assert np.allclose(found[f"left_{role}"], (x, y, z), atol=1e-9), role
        assert np.allclose(found[f"right_{role}"], (x, -y, z), atol=1e-9), role
    if style != "numbers":  # arms are found by name alone
        for role, z in (("shoulder", 1.15), ("elbow", 0.92), ("wrist", 0.7)):
            assert np.allclose(found[f"left_{role}"], (0, 0.2, z), atol=1e-9), role


def test_a_robot_that_faces_backwards_by_its_names():
    marks = landmarks_of(biped("unitree", swapped=True))
    assert np.allclose(marks.axes[:, 0], (-1, 0, 0))
    assert any(guess.what == "faces" for guess in marks.guesses)


def test_g1():
    found = places(robot("g1_description/urdf/g1_29dof_rev_1_0.urdf"))
    assert np.allclose(found["left_knee"], (0, 0.119, -0.439), atol=1e-3)
    assert np.linalg.norm(found["left_shoulder"] - found["left_elbow"]) == pytest.approx(0.19, abs=0.01)
    marks = landmarks_of(robot("g1_description/urdf/g1_29dof_rev_1_0.urdf"))
    assert marks.links["chest"] == "torso_link"
    assert "head" not in marks.bodies  # it does not turn
    assert marks.soles["left"].hull[:, 2].min() == pytest.approx(-0.035, abs=1e-6)  # spheres of 5 mm, 30 mm below the ankle's roll


def test_talos_by_the_order_of_its_joints():
    marks = landmarks_of(robot("talos_data/robots/talos_reduced.urdf"))
    assert marks.links["left_knee"] == "leg_left_4_link"
    assert marks.links["right_elbow"] == "arm_right_4_link"
    assert marks.links["pelvis"] == "base_link"


def test_a_map_of_the_user_wins():
    model = biped("numbers")
    assert "left_elbow" not in places(model)
    marks = landmarks_of(model, {"left_hand": "n36", "right_hand": "n46", "pelvis": "n0"})
    assert marks.links["left_elbow"] == "n34"


def test_doors():
    with pytest.raises(MotionError, match=r"no two legs.*roles=\{'left_foot'"):
        landmarks_of(_lump())
    with pytest.raises(MotionError, match=r"no free root.*floating=True"):
        landmarks_of(br.figures.arm2())
    with pytest.raises(ArgumentError, match="left_nose"):
        landmarks_of(br.figures.human28(), {"left_nose": "head"})
    with pytest.raises(UnknownName, match="no_link"):
        landmarks_of(br.figures.human28(), {"left_foot": "no_link"})


def _lump() -> br.Model:
    builder = br.ModelBuilder("lump")
    builder.link("lump", joint=br.Free(), joint_name="root", mass=1.0, inertia=(1, 1, 1))
    return builder.build()
