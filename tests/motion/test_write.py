"""Writing of motion files; the suffix selects the format."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from tests.clip.people import stepping
from tests.motion.robots import at_times, moving, robot

import brachiate as br
from brachiate import rotations
from brachiate.clip.resample import resample_clip
from brachiate.errors import ArgumentError, MotionError
from brachiate.io.bvh import format_bvh, read_bvh
from brachiate.io.clips import read_clip
from brachiate.motion.archive import load_motion_archive
from brachiate.motion.link_skeleton import link_clip, link_shapes, skeleton_shapes
from brachiate.motion.motion import Motion
from brachiate.motion.opensim_tables import read_motion_table
from brachiate.motion.robot_csv import read_csv
from brachiate.motion.write import write_motion


def link_positions(motion: Motion, names: tuple[str, ...]) -> np.ndarray:
    """Positions of links from the kinematics of the figure: (f, n, 3) [m]."""
    data, found = br.Data(motion.figure), []
    for q in motion.q:
        data.assign(q=q)
        poses = br.kinematics.link_poses(data)
        found.append([poses[name].position for name in names])
    return np.array(found)


@pytest.mark.parametrize("model", [robot, lambda: robot(anchored=True), br.figures.human28, lambda: br.figures.chain(4)])
def test_link_clip_has_the_positions_of_the_links(model):
    motion = moving(model(), seconds=0.5)
    clip = link_clip(motion)
    assert clip.positions == pytest.approx(link_positions(motion, clip.skeleton.names), abs=1e-9)
    assert clip.skeleton.names[0] == next(iter(motion.figure.links))
    # Its rest pose is the neutral posture, with all axes those of the world.
    neutral = replace(motion, times=np.zeros(1), q=motion.figure.neutral[None])
    rest = link_clip(neutral)
    assert rotations.angle(rest.rotations).max() < 1e-7
    assert rest.positions[0] - rest.positions[0, 0] == pytest.approx(clip.skeleton.rest, abs=1e-9)


def test_robot_as_bvh(tmp_path):
    motion = moving(robot(anchored=True))
    assert write_motion(motion, tmp_path / "robot.bvh") == tmp_path / "robot.bvh"
    clip = read_clip(tmp_path / "robot.bvh", unit="cm", up="y", rest_frame=False)
    assert clip.positions == pytest.approx(link_positions(motion, clip.skeleton.names), abs=1e-6)
    channels = dict(zip(clip.skeleton.names, clip.origin.channels, strict=True))
    assert channels["base"] == "XYZzxy"
    assert channels["rod"] == "XYZzxy"  # it slides
    assert channels["arm"] == "XYZzxy"  # its hinge is off its origin
    assert channels["left_shank"] == "zxy"
    assert {clip.skeleton.names[end.joint] for end in clip.skeleton.ends} == {"rod"}  # whose center of mass is off its joint


def test_skeleton_of_the_source_clip(tmp_path):
    source = stepping()
    motion = Motion.from_clip(source)
    write_motion(motion, tmp_path / "step.bvh")
    clip = read_clip(tmp_path / "step.bvh")
    order = [source.skeleton.index(name) for name in clip.skeleton.names]
    assert clip.positions == pytest.approx(source.positions[:, order], abs=1e-6)
    assert "LeftHandIndex1" in clip.skeleton.names  # fingers are not links
    # Also at another rate, and after an edit that drops the skeleton.
    write_motion(motion, tmp_path / "slow.bvh", rate=20.0)
    slow = read_clip(tmp_path / "slow.bvh")
    assert slow.rate == pytest.approx(20.0)
    assert slow.positions == pytest.approx(source.positions[:58:3, order], abs=1e-6)
    write_motion(replace(motion, clip=None, links={}), tmp_path / "links.bvh")
    assert "left_thigh" in read_bvh(tmp_path / "links.bvh").skeleton.names


def test_round_trips(tmp_path):
    motion = moving()
    for name in ("m.npz", "m.csv", "m.mot", "m.sto", "m.tracker.npz", "m.bvh", "m.glb", "m.gltf"):
        assert motion.save(tmp_path / name) == tmp_path / name
    assert (load_motion_archive(tmp_path / "m.npz", motion.figure).q == motion.q).all()
    assert read_csv(tmp_path / "m.csv", motion.figure, rate=60.0).q == pytest.approx(motion.q, abs=1e-8)
    assert read_motion_table(tmp_path / "m.mot", motion.figure).q[:, 7:] == pytest.approx(motion.q[:, 7:], abs=1e-9)
    with np.load(tmp_path / "m.tracker.npz", allow_pickle=False) as file:
        assert str(file["order"]) == "depth"
    write_motion(motion, tmp_path / "b.tracker.npz", order="breadth", rate=50.0)
    with np.load(tmp_path / "b.tracker.npz", allow_pickle=False) as file:
        assert (str(file["order"]), file["fps"].tolist()) == ("breadth", [50.0])
    write_motion(motion, tmp_path / "slow.npz", rate=30.0)
    assert load_motion_archive(tmp_path / "slow.npz", motion.figure).q == pytest.approx(
        at_times(motion.figure, np.arange(61) / 30), abs=1e-5
    )


def test_shapes_are_exported(tmp_path):
    # At rest the vertices of the glTF skin are on the surfaces of the links.
    motion = moving()
    write_motion(motion, tmp_path / "m.gltf")
    tree = json.loads((tmp_path / "m.gltf").read_text())
    assert [node["name"] for node in tree["nodes"][:9]] == list(link_clip(motion).skeleton.names)
    names, shapes = zip(*link_shapes(motion), strict=True)
    assert names == ("base", "left_thigh", "right_thigh")
    data = br.Data(motion.figure)
    data.assign(q=motion.figure.neutral)
    pose = br.kinematics.link_poses(data)["left_thigh"]
    link = motion.figure.links["left_thigh"]
    there = link.shapes[0].surface(6)[0] @ pose.rotation.T
    assert shapes[1].surface(6)[0] == pytest.approx(there)
    body = Motion.from_clip(stepping())
    data, clip = br.Data(body.figure), body.to_clip()
    data.assign(q=body.q[20])
    poses = br.kinematics.link_poses(data)
    for j, name in body.links.items():  # links of a body correspond to joints, so shapes have the same axes
        assert rotations.to_matrix(clip.orientations[20, j]) == pytest.approx(poses[name].rotation, abs=1e-3)
    assert {name for name, _ in skeleton_shapes(body)} <= set(clip.skeleton.names)
    write_motion(body, tmp_path / "body.glb")
    assert (tmp_path / "body.glb").stat().st_size > 10_000


def test_hulls_are_rotated():
    b = br.ModelBuilder("rock")
    corners = np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)], float)
    b.link("rock", joint=br.Free(), rotation=(0.6, 0.8, 0, 0), shapes=[br.Hull(vertices=corners), br.Plane()], mass=1.0, inertia=(1, 1, 1))
    ((_, shape),) = link_shapes(moving(b.build()))
    assert isinstance(shape, br.Hull)


def test_resampled_clips():
    clip = stepping(frames=61)
    assert resample_clip(clip, 60.0).positions == pytest.approx(clip.positions, abs=1e-9)
    twice = resample_clip(clip, 120.0)
    assert len(twice) == 121
    assert twice.positions[::2] == pytest.approx(clip.positions, abs=1e-9)
    assert np.linalg.norm(twice.rotations, axis=-1) == pytest.approx(1.0)
    assert np.abs(np.diff(twice.positions, 2, axis=0)).max() < 0.01
    with pytest.raises(MotionError, match=r"one frame cannot be resampled"):
        resample_clip(clip.frames(slice(0, 1)), 30.0)
    with pytest.raises(ArgumentError, match=r"rate must be .* at most 100000, got 1e\+09"):
        resample_clip(clip, 1e9)


def test_invalid_arguments_are_refused(tmp_path):
    motion = moving()
    with pytest.raises(ArgumentError, match=r"m\.xyz: the suffix of the file name selects the format; valid: \.tracker\.npz, \.npz, \.bvh"):
        write_motion(motion, tmp_path / "m.xyz")
    with pytest.raises(ArgumentError, match=r"order= does not apply to a \.bvh file. It takes none"):
        write_motion(motion, tmp_path / "m.bvh", order="depth")
    with pytest.raises(ArgumentError, match=r"ordr= does not apply to a \.tracker\.npz file. It takes order, bodies"):
        write_motion(motion, tmp_path / "m.tracker.npz", ordr="depth")
    with pytest.raises(ArgumentError, match=r"there is no folder"):
        write_motion(motion, tmp_path / "none" / "m.bvh")
    (tmp_path / "folder.bvh").mkdir()
    with pytest.raises(ArgumentError, match=r"cannot be written \(Is a directory\)"):
        write_motion(motion, tmp_path / "folder.bvh")
    with pytest.raises(MotionError, match=r"one frame cannot be resampled"):
        write_motion(motion.frames(slice(0, 1)), tmp_path / "m.mot", rate=30.0)
    b = br.ModelBuilder("two")
    for name in ("one", "other"):
        b.link(name, joint=br.Free(), mass=1.0, inertia=(1, 1, 1))
    with pytest.raises(MotionError, match=r"'two' consists of 2 separate trees: one, other"):
        write_motion(moving(b.build()), tmp_path / "two.bvh")
    assert format_bvh(link_clip(motion.frames(slice(0, 1)))).count("JOINT") == 8
