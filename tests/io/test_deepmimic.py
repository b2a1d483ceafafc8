"""DeepMimic files: columns and signs of joint rotations, frame durations, loops, malformed files."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from brachiate import rotations
from brachiate.clip.clip import Clip, Origin
from brachiate.clip.joint_roles import find_joint_roles
from brachiate.clip.units_and_axes import normalize_clip
from brachiate.errors import MotionFileError
from brachiate.io.deepmimic import parse_deepmimic, read_deepmimic

#: First column and number of columns of each joint in a row.
COLUMNS = {
    "root": (4, 4), "chest": (8, 4), "neck": (12, 4), "right_hip": (16, 4), "right_knee": (20, 1), "right_ankle": (21, 4),
    "right_shoulder": (25, 4), "right_elbow": (29, 1), "left_hip": (30, 4), "left_knee": (34, 1), "left_ankle": (35, 4),
    "left_shoulder": (39, 4), "left_elbow": (43, 1),
}  # fmt: skip
AXES = np.array([(1, 0, 0), (0, 0, -1), (0, 1, 0)]).T  # our axes (forward, left, up) as columns in the file's axes


def origin(clip: Clip) -> Origin:
    """Conventions of the clip's file."""
    assert clip.origin is not None
    return clip.origin


def row(dt: Any = 0.05, position: Any = (0.0, 0.9, 0.0), **joints: Any):
    """Numbers of a frame, with joint rotations or angles [rad]."""
    numbers = [dt, *position] + 40 * [0.0]
    for name, (at, count) in COLUMNS.items():
        if count == 4:
            q = joints.get(name, Rotation.identity()).as_quat()
            numbers[at : at + 4] = float(q[3]), *map(float, q[:3])
        else:
            numbers[at] = float(joints.get(name, 0.0))
    return numbers


def text(*rows, **more):
    return json.dumps({"Loop": "wrap", "Frames": list(rows), **more})


def at(clip, name, frame=0):
    return clip.positions[frame, clip.skeleton.index(name)]


# --- columns ------------------------------------------------------------------------------------


def test_rest_pose_is_upright_and_faces_x():
    clip = parse_deepmimic(text(row()), "x")
    assert at(clip, "root") == pytest.approx([0, 0, 0.9])
    assert at(clip, "left_hip") == pytest.approx([0, 0.084887, 0.9])
    assert at(clip, "right_hip") == pytest.approx([0, -0.084887, 0.9])
    assert at(clip, "neck") == pytest.approx([0, 0, 0.9 + 0.236151 + 0.223894])
    assert at(clip, "left_ankle") == pytest.approx([0, 0.084887, 0.9 - 0.421546 - 0.40987])
    assert at(clip, "left_shoulder") == pytest.approx([-0.02405, 0.18311, 0.9 + 0.236151 + 0.2435])
    assert at(clip, "right_wrist") == pytest.approx([-0.02405, -0.18311, 0.9 + 0.236151 + 0.2435 - 0.274788 - 0.258947])
    tips = {clip.skeleton.names[end.joint]: clip.tips[0, k] for k, end in enumerate(clip.skeleton.ends)}
    assert set(tips) == {"head", "left_ankle", "right_ankle", "left_wrist", "right_wrist"}
    assert tips["head"][2] == pytest.approx(0.9 + 0.236151 + 0.223894 + 0.2775)
    assert tips["left_ankle"] - at(clip, "left_ankle") == pytest.approx([0.1335, 0, -0.05])
    assert -0.03 < tips["left_ankle"][2] < 0.03  # 0.9 m is about the root height in stance


def test_knee_and_elbow_flexion():
    clip = parse_deepmimic(text(row(left_knee=-1.0, right_knee=-0.5, left_elbow=1.2, right_elbow=0.3)), "x")
    for side, angle in (("left", 1.0), ("right", 0.5)):
        shin = at(clip, f"{side}_ankle") - at(clip, f"{side}_knee")
        assert shin == pytest.approx(0.40987 * np.array([-np.sin(angle), 0, -np.cos(angle)]))
    for side, angle in (("left", 1.2), ("right", 0.3)):
        forearm = at(clip, f"{side}_wrist") - at(clip, f"{side}_elbow")
        assert forearm == pytest.approx(0.258947 * np.array([np.sin(angle), 0, -np.cos(angle)]))


@pytest.mark.parametrize("name", [name for name, (_, count) in COLUMNS.items() if count == 4])
def test_columns_of_ball_joints(name):
    turn = Rotation.from_rotvec((0.4, -0.9, 0.7))
    clip = parse_deepmimic(text(row(**{name: turn})), "x")
    j = clip.skeleton.index(name)
    assert rotations.to_matrix(clip.rotations[0, j]) == pytest.approx(AXES.T @ turn.as_matrix() @ AXES)
    others = [k for k in range(len(clip.skeleton)) if k != j]
    assert clip.rotations[0, others] == pytest.approx(np.tile([1, 0, 0, 0], (len(others), 1)))


def test_root_translation():
    clip = parse_deepmimic(text(row(position=(1.0, 2.0, 3.0)), row(position=(1.5, 2.0, 2.5))), "x")
    assert clip.translations[:, 0] == pytest.approx(np.array([(1, -3, 2), (1.5, -2.5, 2)]))


def test_root_yaw():
    clip = parse_deepmimic(text(row(root=Rotation.from_rotvec((0, 0.5, 0)))), "x")  # about y, the up axis of the file
    ahead = rotations.rotate(clip.orientations[0, clip.skeleton.index("left_ankle")], np.array((1.0, 0, 0)))
    assert ahead == pytest.approx([np.cos(0.5), np.sin(0.5), 0])


def test_roles_units_and_axes_are_known():
    clip = parse_deepmimic(text(row(), row()), "x")
    assert not find_joint_roles(clip.skeleton).missing()
    assert (origin(clip).format, origin(clip).unit, origin(clip).up) == ("DeepMimic", 1.0, "z")
    again = normalize_clip(clip)
    assert again.positions == pytest.approx(clip.positions)


# --- times and loops ----------------------------------------------------------------------------


def test_frame_durations():
    for last in (0.0, 0.1, 50.0):
        clip = parse_deepmimic(text(row(0.1), row(0.2), row(0.05), row(last)), "x")
        assert clip.times == pytest.approx([0, 0.1, 0.3, 0.35])
    assert parse_deepmimic(text(row(0.0)), "x").times.tolist() == [0.0]


def test_loop_assumption():
    def loop_assumption(clip):
        return next((assumption.value, assumption.reason) for assumption in clip.assumptions if assumption.quantity == "loop")

    assert loop_assumption(parse_deepmimic(text(row()), "x")) == ("wrap", "stated in the file")
    assert loop_assumption(parse_deepmimic(text(row(), Loop="none"), "x")) == ("none", "stated in the file")
    assert loop_assumption(parse_deepmimic(json.dumps({"Frames": [row()]}), "x")) == ("none", "the file does not state it")


def test_other_keys_are_ignored():
    assert len(parse_deepmimic(text(row(), RightJoints=[3, 4], LeftJoints=[9, 10], EnableCycleSync=True), "x")) == 1


def test_quaternions_are_normalized():
    turn = Rotation.from_rotvec((0.4, -0.9, 0.7))
    numbers = row(chest=turn)
    numbers[8:12] = [0.6 * x for x in numbers[8:12]]
    clip = parse_deepmimic(text(numbers), "x")
    assert rotations.to_matrix(clip.rotations[0, 1]) == pytest.approx(AXES.T @ turn.as_matrix() @ AXES)
    assert "quaternions: normalized (some are off by up to 0.4)" in map(str, clip.assumptions)
    assert "quaternions" not in {assumption.quantity for assumption in parse_deepmimic(text(row(chest=turn)), "x").assumptions}


# --- malformed files ----------------------------------------------------------------------------


def changed(k, value):
    numbers = row()
    numbers[k] = value
    return text(row(), numbers)


ZERO = row()
ZERO[8:12] = [0.0] * 4
MALFORMED = {
    "no JSON": ("hello", "x line 1: not valid JSON, or cut short: Expecting value"),
    "cut short": (text(row(), row()).replace("], [", "],\n[")[:-200], "x line 2: not valid JSON, or cut short: "),
    "a list": ("[1, 2]", "x: a JSON object with 'Loop' and 'Frames' was expected"),
    "no frames": ('{"Loop": "wrap"}', "x: a JSON object with 'Loop' and 'Frames' was expected"),
    "empty": (text(), "x: 'Frames' must be a list of rows of 44 numbers, at least one"),
    "frames a word": ('{"Frames": "many"}', "x: 'Frames' must be a list of rows of 44 numbers"),
    "frames a number": ('{"Frames": 3}', "x: 'Frames' must be a list of rows of 44 numbers"),
    "row short": (text(row(), row()[:-1]), r"x frame 1: 44 numbers expected \(duration, .* 13 joints\), 43 found"),
    "row no list": (text(row(), 5), "x frame 1: 44 numbers expected .*, '5' found"),
    "a word": (changed(7, "up"), r"x frame 1: 'up' is not a finite number up to 1e\+12 \(column 7\)"),
    "nothing": (changed(7, None), "x frame 1: 'None' is not a finite number"),
    "true": (changed(7, True), "x frame 1: 'True' is not a finite number"),
    "a list in it": (changed(7, [1]), r"x frame 1: '\[1\]' is not a finite number"),
    "NaN": (changed(7, float("nan")), "x frame 1: 'nan' is not a finite number"),
    "infinite": (changed(7, 0.5).replace("0.5", "1e999"), "x frame 1: 'inf' is not a finite number"),
    "beyond": (changed(2, 10**300), "x frame 1: '1000.*' is not a finite number"),
    "digits without end": (
        changed(2, 0.5).replace("0.5", "9" * 5000),
        "x: this JSON is nested too deeply, or has a number with thousands of",
    ),
    "nested": ("[" * 100_000, "x: this JSON is nested too deep"),
    "no quaternion": (text(row(), ZERO), "x frame 1: the quaternion of 'chest' has the norm 0, expected 1"),
    "long quaternion": (changed(8, 50.0), "x frame 1: the quaternion of 'chest' has the norm 50, expected 1"),
    "no time": (text(row(), row(0.0), row()), "x frame 1: it lasts 0 s. All frames but the last must last up to 1000 s"),
    "time runs back": (text(row(-1.0), row()), "x frame 0: it lasts -1 s"),
    "time without end": (text(row(1e9), row()), r"x frame 0: it lasts 1e\+09 s"),
    "loop": (text(row(), Loop="often"), "x: 'Loop' is 'wrap' or 'none', not 'often'"),
    "loop a list": (text(row(), Loop=["wrap"]), "x: 'Loop' is 'wrap' or 'none', not"),
}


@pytest.mark.parametrize("case", MALFORMED)
def test_errors_name_the_frame(case):
    content, message = MALFORMED[case]
    with pytest.raises(MotionFileError, match=message) as caught:
        parse_deepmimic(content, "x")
    assert len(str(caught.value)) < 400


def test_files(tmp_path):
    path = tmp_path / "humanoid3d_wave.txt"
    path.write_bytes(text(row(), row()).encode("utf-8-sig"))
    assert read_deepmimic(path).name == "humanoid3d_wave"
    with pytest.raises(MotionFileError, match=r"gone\.txt: there is no such file"):
        read_deepmimic(tmp_path / "gone.txt")
