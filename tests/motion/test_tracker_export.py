"""Tracker files: joint and body states of a robot, in the order that their names say."""

from __future__ import annotations

import numpy as np
import pytest
from tests.motion.robots import at_times, moving, robot

import brachiate as br
from brachiate import rotations
from brachiate.errors import ArgumentError, MotionError, UnknownName
from brachiate.motion.motion import Motion
from brachiate.motion.tracker_export import link_order, write_tracker

ARRAYS = ("joint_pos", "joint_vel", "body_pos_w", "body_quat_w", "body_lin_vel_w", "body_ang_vel_w")
DEPTH = ["base", "left_thigh", "left_shank", "left_sole", "right_thigh", "right_shank", "right_sole", "arm", "rod"]
BREADTH = ["base", "left_thigh", "right_thigh", "arm", "left_shank", "right_shank", "rod", "left_sole", "right_sole"]


def written(tmp_path, motion=None, **more) -> dict:
    path = write_tracker(motion or moving(), tmp_path / "robot.tracker.npz", **more)
    with np.load(path, allow_pickle=False) as file:
        return dict(file)


def test_shapes_names_and_units(tmp_path):
    file = written(tmp_path)
    assert file["fps"].tolist() == [60.0]
    shapes = {name: file[name].shape for name in ARRAYS}
    assert shapes == {
        "joint_pos": (121, 6), "joint_vel": (121, 6), "body_pos_w": (121, 9, 3), "body_quat_w": (121, 9, 4),
        "body_lin_vel_w": (121, 9, 3), "body_ang_vel_w": (121, 9, 3),
    }  # fmt: skip
    assert all(file[name].dtype == np.float32 for name in ARRAYS)
    assert str(file["order"]) == "depth"
    assert "quaternions w x y z" in str(file["units"])
    assert not any(array.dtype.hasobject for array in file.values())


@pytest.mark.parametrize(("order", "bodies"), [("depth", DEPTH), ("breadth", BREADTH)])
def test_columns_have_the_order_of_the_names(order, bodies, tmp_path):
    # Every column is compared by name with the model, so an array in another order than the names fails.
    motion = moving(robot(anchored=True))
    model = motion.figure
    assert link_order(model, order) == bodies
    file = written(tmp_path, motion, order=order)
    assert list(file["body_names"]) == bodies
    assert list(file["joint_names"]) == [model.links[name].joint_name for name in bodies[1:] if model.links[name].joint.nv]
    data = br.Data(model)
    for k in (0, 50, 120):
        data.assign(q=motion.q[k])
        poses = br.kinematics.link_poses(data)
        for j, name in enumerate(file["body_names"]):
            assert file["body_pos_w"][k, j] == pytest.approx(poses[name].position, abs=1e-6)
            assert rotations.to_matrix(file["body_quat_w"][k, j].astype(float)) == pytest.approx(poses[name].rotation, abs=1e-6)
        for j, name in enumerate(file["joint_names"]):
            assert file["joint_pos"][k, j] == pytest.approx(motion.q[k, model.joints[name].q.start], abs=1e-6)


@pytest.mark.parametrize("rate", [60.0, 50.0])
def test_velocities_match_finite_differences(rate, tmp_path):
    # Central differences of the analytic motion, over much shorter times than the frame interval.
    model = robot(anchored=True)
    file = written(tmp_path, moving(model), order="breadth", rate=rate)
    assert file["fps"].tolist() == [rate]
    h = 1e-4
    for k in (3, 40, 90):
        t = k / rate
        before, after = at_times(model, np.array([t - h, t + h]))
        names = list(file["joint_names"])
        columns = [model.joints[name].q.start for name in names]
        assert file["joint_vel"][k] == pytest.approx((after - before)[columns] / (2 * h), abs=2e-5)
        data, poses = br.Data(model), []
        for q in (before, after):
            data.assign(q=q)
            poses.append(br.kinematics.link_poses(data))
        for j, name in enumerate(file["body_names"]):
            one, two = (pose[name] for pose in poses)
            assert file["body_lin_vel_w"][k, j] == pytest.approx((two.position - one.position) / (2 * h), abs=2e-5), name
            angular = rotations.to_rotation_vector(rotations.from_matrix(two.rotation @ one.rotation.T)) / (2 * h)
            assert file["body_ang_vel_w"][k, j] == pytest.approx(angular, abs=2e-5), name


def test_resampled_file_has_the_same_motion(tmp_path):
    file = written(tmp_path, rate=50.0)
    assert len(file["joint_pos"]) == 101
    model = robot()
    expected = at_times(model, np.arange(101) / 50.0)
    assert file["joint_pos"] == pytest.approx(expected[:, 7:], abs=1e-5)
    assert np.einsum("fbi,fbi->fb", file["body_quat_w"][1:], file["body_quat_w"][:-1]).min() > 0  # no sign jumps


def test_selected_bodies(tmp_path):
    moving_bodies = [name for name in DEPTH if "sole" not in name]
    file = written(tmp_path, bodies=moving_bodies[::-1])
    assert list(file["body_names"]) == moving_bodies
    assert len(file["joint_names"]) == 6
    with pytest.raises(MotionError, match=r"the root 'base' must be among them"):
        written(tmp_path, bodies=["arm"])
    with pytest.raises(UnknownName, match=r"'left_foot' is not a link of robot 'robot'"):
        written(tmp_path, bodies=["base", "left_foot"])


def test_static_floor_is_not_a_body(tmp_path):
    b = br.ModelBuilder("with ground")
    b.link("ground", joint=br.Fixed())
    b.link("base", joint=br.Free(), mass=1.0, inertia=(1, 1, 1))
    b.link("leg", parent="base", joint=br.Revolute("y"), joint_name="hip", mass=1.0, inertia=(1, 1, 1))
    assert list(written(tmp_path, moving(b.build()))["body_names"]) == ["base", "leg"]


def test_compound_hinges_are_separate_joints(tmp_path):
    b = br.ModelBuilder("with a hip")
    b.link("base", joint=br.Free(), mass=1.0, inertia=(1, 1, 1))
    hip = br.Compound({"hip_yaw": br.Revolute("z"), "hip_roll": br.Revolute("x")})
    b.link("leg", parent="base", joint=hip, joint_name="hip", mass=1.0, inertia=(1, 1, 1))
    motion = moving(b.build())
    file = written(tmp_path, motion)
    assert list(file["joint_names"]) == ["hip_yaw", "hip_roll"]
    assert file["joint_pos"] == pytest.approx(motion.q[:, 7:], abs=1e-6)
    assert file["joint_vel"][1:-1] == pytest.approx((motion.q[2:, 7:] - motion.q[:-2, 7:]) * 30, abs=1e-3)


def test_invalid_arguments_are_refused(tmp_path):
    path = tmp_path / "x"
    with pytest.raises(ArgumentError, match=r"order: 'deep' is not one of: depth, breadth"):
        write_tracker(moving(), path, order="deep")
    human = br.figures.human28()
    with pytest.raises(MotionError, match=r"\(spherical\) is neither revolute nor prismatic.*Retarget the motion"):
        write_tracker(moving(human), path)
    with pytest.raises(MotionError, match=r"has no floating base"):
        write_tracker(moving(br.figures.chain(3)), path)
    model = robot()
    with pytest.raises(MotionError, match=r"at least two frames"):
        write_tracker(moving(model).frames(slice(0, 1)), path)
    t = np.array([0.0, 0.1, 0.3])
    uneven = Motion(model, t, at_times(model, t))
    with pytest.raises(MotionError, match=r"not evenly spaced. Give the frame rate"):
        write_tracker(uneven, path)
    jitter = np.arange(7) / 60 + np.array([0, 1, -1, 1, -1, 1, 0]) * 0.02 / 60  # 4 % of an interval
    with pytest.raises(MotionError, match=r"not evenly spaced. Give the frame rate"):
        write_tracker(Motion(model, jitter, at_times(model, jitter)), path)
    assert write_tracker(uneven, path, rate=10.0) == tmp_path / "x.npz"
    with np.load(tmp_path / "x.npz") as file:
        assert len(file["joint_pos"]) == 4
    with pytest.raises(ArgumentError, match=r"rate must be .* at most 100000, got 1e\+09"):
        write_tracker(moving(model), path, rate=1e9)
