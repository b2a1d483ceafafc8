"""Anatomical landmarks: roles of links by name, by position, or by a map of the user."""

from __future__ import annotations

import numpy as np
import pytest
from tests.clip.people import stepping
from tests.retargeting.bipeds import biped, robot

import brachiate as br
from brachiate.anatomy.landmarks import find_landmarks
from brachiate.errors import ArgumentError, MotionError, UnknownName
from brachiate.kinematics_batch import BatchKinematics
from brachiate.motion.motion import Motion


def landmark_positions(model: br.Model, roles=None) -> dict[str, np.ndarray]:
    """Positions of the landmarks in the standing pose [m]."""
    marks = find_landmarks(model, roles)
    poses = BatchKinematics(model).poses(marks.standing_q[None])
    return {role: poses.point(*point)[0] for role, point in marks.points.items()}


@pytest.mark.parametrize("name", ["human16", "human28", "human40", "monkey16"])
def test_joint_centers_of_built_in_figures(name):
    model = br.figures.FIGURES[name]()
    found = landmark_positions(model)
    data = br.Data(model)
    poses = br.kinematics.link_poses(data)
    for side in ("left", "right"):
        for role, link in (("hip", "thigh"), ("knee", "shank"), ("ankle", "foot"), ("shoulder", "upper_arm"), ("elbow", "forearm")):
            assert np.allclose(found[f"{side}_{role}"], poses[f"{side}_{link}"].position, atol=1e-12), role
    assert np.allclose(found["pelvis"], 0.5 * (found["left_hip"] + found["right_hip"]))


def test_soles_are_flat_on_the_ground():
    model = br.figures.human28()
    marks = find_landmarks(model)
    poses = BatchKinematics(model).poses(marks.standing_q[None])
    for side, sole in marks.soles.items():
        corners = poses.x[marks.bodies[f"{side}_foot"], 0] + sole.corners @ poses.R[marks.bodies[f"{side}_foot"], 0].T
        assert np.allclose(corners[:, 2], 0, atol=1e-12)
        assert (corners[2:, 0] > corners[:2, 0] + 0.2).all()  # toes in front
        assert np.allclose(sole.axes, np.eye(3))


@pytest.mark.parametrize("dialect", ["motionbuilder", "asf", "smpl", "biped"])
def test_roles_in_figures_made_from_skeletons(dialect):
    motion = Motion.from_clip(stepping(dialect, frames=20))
    marks = find_landmarks(motion.figure)
    assert marks.links["left_knee"] == "left_shank"
    assert marks.links["chest"].startswith("spine")
    assert marks.links["left_foot"] == "left_foot"


@pytest.mark.parametrize("style", ["unitree", "talos", "icub", "numbers"])
def test_roles_do_not_depend_on_naming_conventions(style):
    """The same robot with four naming conventions has its joint centers in the same positions."""
    found = landmark_positions(biped(style))
    expected = {"hip": (0, 0.1, 0.75), "knee": (0, 0.1, 0.42), "ankle": (0, 0.1, 0.08)}
    for role, (x, y, z) in expected.items():
        assert np.allclose(found[f"left_{role}"], (x, y, z), atol=1e-9), role
        assert np.allclose(found[f"right_{role}"], (x, -y, z), atol=1e-9), role
    if style != "numbers":  # arms are found by name only
        for role, z in (("shoulder", 1.15), ("elbow", 0.92), ("wrist", 0.7)):
            assert np.allclose(found[f"left_{role}"], (0, 0.2, z), atol=1e-9), role


def test_forward_direction_of_a_robot_with_swapped_sides():
    marks = find_landmarks(biped("unitree", swapped=True))
    assert np.allclose(marks.axes[:, 0], (-1, 0, 0))
    assert any(assumption.quantity == "forward direction" for assumption in marks.assumptions)


def test_g1():
    found = landmark_positions(robot("g1_description/urdf/g1_29dof_rev_1_0.urdf"))
    assert np.allclose(found["left_knee"], (0, 0.119, -0.439), atol=1e-3)
    assert np.linalg.norm(found["left_shoulder"] - found["left_elbow"]) == pytest.approx(0.19, abs=0.01)
    marks = find_landmarks(robot("g1_description/urdf/g1_29dof_rev_1_0.urdf"))
    assert marks.links["chest"] == "torso_link"
    assert "head" not in marks.bodies  # it is fixed
    assert marks.soles["left"].hull[:, 2].min() == pytest.approx(-0.035, abs=1e-6)  # spheres of 5 mm, 30 mm below the ankle's roll


def test_talos_by_the_order_of_its_joints():
    marks = find_landmarks(robot("talos_data/robots/talos_reduced.urdf"))
    assert marks.links["left_knee"] == "leg_left_4_link"
    assert marks.links["right_elbow"] == "arm_right_4_link"
    assert marks.links["pelvis"] == "base_link"


def test_mapped_roles_take_precedence():
    model = biped("numbers")
    assert "left_elbow" not in landmark_positions(model)
    marks = find_landmarks(model, {"left_hand": "n36", "right_hand": "n46", "pelvis": "n0"})
    assert marks.links["left_elbow"] == "n34"


def test_invalid_figures_and_roles_are_refused():
    with pytest.raises(MotionError, match=r"No two legs.*roles=\{'left_foot'"):
        find_landmarks(_lump())
    with pytest.raises(MotionError, match=r"no floating base.*floating_base=True"):
        find_landmarks(br.figures.arm2())
    with pytest.raises(ArgumentError, match="left_nose"):
        find_landmarks(br.figures.human28(), {"left_nose": "head"})
    with pytest.raises(UnknownName, match="no_link"):
        find_landmarks(br.figures.human28(), {"left_foot": "no_link"})


def _lump() -> br.Model:
    builder = br.ModelBuilder("lump")
    builder.link("lump", joint=br.Free(), joint_name="root", mass=1.0, inertia=(1, 1, 1))
    return builder.build()
