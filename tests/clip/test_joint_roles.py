"""Joint roles: found from the names of common tools, split names, given roles, invalid input."""

from __future__ import annotations

import pytest
from tests.clip.people import DIALECTS, skeleton_of

from brachiate.clip.joint_roles import find_joint_roles, split_name
from brachiate.clip.skeleton import Skeleton
from brachiate.errors import MotionError, UnknownName


@pytest.mark.parametrize("dialect", DIALECTS)
def test_all_roles_are_found(dialect):
    skeleton, names = skeleton_of(dialect)
    found = find_joint_roles(skeleton)
    assert found.missing() == []
    assert {role: skeleton.names[j] for role, j in found.joints.items()} == {role: name for role, name in names.items() if role != "spine2"}
    assert [skeleton.names[j] for j in found.spine] == [names["spine"], names["spine2"]]
    assert found.unknown == ()


@pytest.mark.parametrize(
    ("name", "side", "word"),
    [
        ("LeftUpLeg", "left", "upleg"), ("lhipjoint", "left", "hipjoint"), ("R_Hip", "right", "hip"),
        ("Foot_L", "left", "foot"), ("Bip01 R Thigh", "right", "thigh"),
        ("mixamorig:LeftToeBase", "left", "toebase"), ("rfemur", "right", "femur"), ("Spine1", "", "spine"), ("L5", "", "l5"),
        ("leftShoulder", "left", "shoulder"), ("root", "", "root"), ("RightHandIndex1", "right", "handindex"),
        ("lowerback", "", "lowerback"),
    ],
)  # fmt: skip
def test_split_name(name, side, word):
    assert split_name(name) == (side, word)


def test_given_roles():
    skeleton, names = skeleton_of("motionbuilder")
    renamed = Skeleton(tuple(f"bone{k}" for k in range(len(skeleton))), skeleton.parents, skeleton.offsets, skeleton.ends)
    assert "left_knee" in find_joint_roles(renamed).missing()
    roles = {role: f"bone{skeleton.index(name)}" for role, name in names.items() if role != "spine2"}
    found = find_joint_roles(renamed, roles)
    assert found.missing() == []
    assert found["left_knee"] == skeleton.index("LeftLeg")


def test_invalid_input_is_refused():
    skeleton, _ = skeleton_of()
    with pytest.raises(MotionError, match=r"'RightLeg' cannot be the left knee: it is not a descendant of 'LeftUpLeg', the left hip"):
        find_joint_roles(skeleton, {"left_knee": "RightLeg"})
    with pytest.raises(UnknownName, match=r"'LeftKnee' is not a joint of this skeleton"):
        find_joint_roles(skeleton, {"left_knee": "LeftKnee"})
    with pytest.raises(ValueError, match=r"lefty_knee"):
        find_joint_roles(skeleton, {"lefty_knee": "LeftLeg"})
