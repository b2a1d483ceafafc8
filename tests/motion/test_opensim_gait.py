"""Motions in the coordinates of OpenSim gait models, and their figure."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import brachiate as br
from brachiate.errors import ArgumentError, BrachiateError, MotionError
from brachiate.evaluation.check import check
from brachiate.figures import gait23
from brachiate.io.opensim import Plate, Table, write_table
from brachiate.kinematics import link_poses
from brachiate.motion.opensim_gait import gait_motion, has_gait_coordinates, plate_to_z_up
from brachiate.motion.read import load_motion

RECORDED = Path(__file__).parents[2].parent / "shared/data/opensim/gait2354"
NAMES = (
    "pelvis_tilt", "pelvis_list", "pelvis_rotation", "pelvis_tx", "pelvis_ty", "pelvis_tz",
    *(f"{name}_{side}" for side in "rl" for name in
      ("hip_flexion", "hip_adduction", "hip_rotation", "knee_angle", "ankle_angle", "subtalar_angle", "mtp_angle")),
    "lumbar_extension", "lumbar_bending", "lumbar_rotation",
)  # fmt: skip


def table(frames=20, **values):
    numbers = np.zeros((frames, len(NAMES)))
    for name, value in {"pelvis_ty": 1.0, **values}.items():
        numbers[:, NAMES.index(name)] = value
    return Table("walk", np.arange(frames) / 60, NAMES, numbers, degrees=True)


def poses(motion, frame=0):
    data = br.Data(motion.figure)
    data.assign(q=motion.q[frame])
    return link_poses(data)


def test_mass_lengths_and_stance_of_the_figure():
    figure = gait23(1.80, 72.6, thigh=0.45, shank=0.42)
    assert figure.mass == pytest.approx(72.6)
    assert (figure.nq, figure.nv) == (27, 23)
    data = br.Data(figure)
    stands = link_poses(data)
    for side in ("left", "right"):
        hip, knee, ankle = (stands[f"{side}_{name}"].position for name in ("thigh", "shank", "talus"))
        assert np.linalg.norm(hip - knee) == pytest.approx(0.45)
        assert np.linalg.norm(knee - ankle) == pytest.approx(0.42)
        for link in ("foot", "toes"):
            pose, (sole,) = stands[f"{side}_{link}"], figure.links[f"{side}_{link}"].shapes
            corners = sole.surface(2)[0] @ pose.rotation.T + pose.position
            assert corners[:, 2].min() == pytest.approx(0.0, abs=1e-9)
    left, right = (stands[f"{side}_foot"].position for side in ("left", "right"))
    assert left == pytest.approx(right * (1, -1, 1))
    # Upright: the center of mass is in the middle, over the feet
    center = br.dynamics.totals(data).center
    assert center[1] == pytest.approx(0.0, abs=1e-9)
    assert left[0] - 0.05 < center[0] < left[0] + 0.2


def test_hip_flexion_moves_the_knee_forward_and_knee_flexion_the_heel_back():
    figure = gait23()
    still = poses(gait_motion(table(), figure))
    bent = poses(gait_motion(table(hip_flexion_r=40.0, knee_angle_l=-60.0), figure))
    assert bent["right_shank"].position[0] > still["right_shank"].position[0] + 0.2
    assert bent["left_shank"].position == pytest.approx(still["left_shank"].position)
    assert bent["left_foot"].position[0] < still["left_foot"].position[0] - 0.2
    assert bent["left_foot"].position[2] > still["left_foot"].position[2] + 0.1


def test_left_and_right_are_mirror_images():
    figure = gait23()
    angles = {"hip_flexion": 20.0, "hip_adduction": 8.0, "hip_rotation": -5.0, "knee_angle": -30.0, "ankle_angle": 10.0,
              "subtalar_angle": 6.0, "mtp_angle": 15.0}  # fmt: skip
    motion = gait_motion(table(**{f"{name}_{side}": value for name, value in angles.items() for side in "rl"}), figure)
    found = poses(motion)
    for link in ("shank", "talus", "foot", "toes"):
        assert found[f"left_{link}"].position == pytest.approx(found[f"right_{link}"].position * (1, -1, 1), abs=1e-12)


def test_adduction_moves_the_foot_inward():
    figure = gait23()
    still, inwards = (poses(gait_motion(table(hip_adduction_r=angle), figure)) for angle in (0.0, 15.0))
    assert inwards["right_foot"].position[1] > still["right_foot"].position[1] + 0.1


def test_pelvis_position():
    motion = gait_motion(table(pelvis_tx=0.3, pelvis_ty=1.1, pelvis_tz=0.2), gait23())
    assert poses(motion)["pelvis"].position == pytest.approx((0.3, -0.2, 1.1))


def test_plate_to_z_up():
    one = np.array([[1.0, 2.0, 3.0]])
    plate = plate_to_z_up(Plate("p", one, one, one))
    assert plate.force[0] == pytest.approx((1.0, -3.0, 2.0))


def test_both_signs_of_knee_flexion():
    figure = gait23()
    old = poses(gait_motion(table(knee_angle_r=-40.0, knee_angle_l=-40.0), figure))
    new = poses(gait_motion(table(knee_angle_r=40.0, knee_angle_l=40.0), figure))
    assert new["left_foot"].position == pytest.approx(old["left_foot"].position)


def test_other_tables_are_refused():
    other = Table("other", np.arange(3.0), ("x",), np.zeros((3, 1)))
    assert not has_gait_coordinates(other)
    with pytest.raises(MotionError, match="pelvis_tilt"):
        gait_motion(other, gait23())


def test_load_motion_builds_the_figure(tmp_path):
    path = tmp_path / "walk.mot"
    write_table(table(knee_angle_r=-5.0), path)
    motion = load_motion(path, mass=60.0)
    assert motion.figure.name == "gait23"
    assert motion.figure.mass == pytest.approx(60.0)
    assert any(str(assumption).startswith("height: 1.75 m") for assumption in motion.assumptions)
    given = load_motion(path, gait23(1.6, 50.0))
    assert given.figure.mass == pytest.approx(50.0)
    with pytest.raises(BrachiateError, match="unit"):
        load_motion(path, unit="cm")


@pytest.mark.skipif(not RECORDED.is_dir(), reason="needs OpenSim's example Gait2354, which is not part of this project")
def test_recorded_walk_is_nearly_physical():
    report = check(load_motion(RECORDED / "subject01_walk1_ik.mot", mass=72.6, height=1.80), cutoff=6.0)
    assert any(assumption.quantity == "treadmill" for assumption in report.assumptions)
    assert report.verdict == "nearly physical", str(report)
    assert report.summary["root_residual_force_rms_percent_weight"] < 5.0


@pytest.mark.parametrize("part", ["thigh", "shank"])
def test_lengths_of_legs_are_those_given(part):
    # Knee to hip, or ankle to knee, in the neutral posture; lengths of no person are refused.
    joints = {"thigh": ("left_hip", "left_knee"), "shank": ("left_knee", "left_ankle")}[part]
    for length in (0.1, 0.45, 1.0):
        model = gait23(**{part: length})
        at = link_poses(br.Data(model))
        upper, lower = (next(name for name, link in model.links.items() if link.joint_name == joint) for joint in joints)
        assert np.linalg.norm(at[upper].position - at[lower].position) == pytest.approx(length, rel=1e-9)
    for length in (0.09, 1.01, 1.9):
        with pytest.raises(ArgumentError, match=f"{part} must be at"):
            gait23(**{part: length})
