"""Joints: sizes and coordinate names, kinematics, parameters."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from brachiate import (
    Compound,
    Cylindrical,
    Data,
    Fixed,
    Free,
    Joint,
    ModelBuilder,
    Planar,
    Prismatic,
    Revolute,
    Spherical,
    Universal,
    cone_limit,
)
from brachiate.errors import ArgumentError
from brachiate.kinematics import Pose, link_poses
from brachiate.model.joints import BALL, FLOAT, JOINT_TYPES, SLIDE, TURN

TIGHT = 1e-14  # round-off of a few operations on numbers of size one


def link_pose(joint: Joint, q: list[float]) -> Pose:
    """Pose of a link whose joint has these coordinates."""
    b = ModelBuilder("one")
    b.link("it", joint=joint, mass=1.0, inertia=(1, 1, 1))
    data = Data(b.build())
    data.assign(q=q)
    return link_poses(data)["it"]


def rotation_from_vector(vector) -> np.ndarray:
    return Rotation.from_rotvec(vector).as_matrix()


def same(pose: Pose, rotation, position) -> bool:
    return bool(np.allclose(pose.rotation, rotation, rtol=0, atol=TIGHT) and np.allclose(pose.position, position, rtol=0, atol=TIGHT))


@pytest.mark.parametrize(
    ("joint", "kinds", "nq", "nv", "names"),
    [
        (Fixed(), [], 0, 0, []),
        (Revolute("x"), [TURN], 1, 1, ["j"]),
        (Prismatic("x"), [SLIDE], 1, 1, ["j"]),
        (Universal("x", "y"), [TURN, TURN], 2, 2, ["j.first", "j.second"]),
        (Cylindrical("x"), [TURN, SLIDE], 2, 2, ["j.angle", "j.slide"]),
        (Planar("z"), [SLIDE, SLIDE, TURN], 3, 3, ["j.x", "j.y", "j.angle"]),
        (Spherical(), [BALL], 4, 3, ["j.x", "j.y", "j.z"]),
        (Free(), [FLOAT], 7, 6, ["j.x", "j.y", "j.z", "j.rx", "j.ry", "j.rz"]),
        (Compound({"a": Revolute("x"), "b": Spherical()}), [TURN, BALL], 5, 4, ["a", "b.x", "b.y", "b.z"]),
        (Compound({}), [], 0, 0, []),
    ],
    ids=lambda x: x.type if isinstance(x, Joint) else None,
)
def test_sizes_and_names(joint, kinds, nq, nv, names):
    assert [e.kind for e in joint.elements] == kinds
    assert (joint.nq, joint.nv, len(joint.neutral)) == (nq, nv, nq)
    assert joint.coordinate_names("j") == names
    for what in ("lower", "upper", "damping", "stiffness", "friction", "armature", "effort", "speed"):
        assert getattr(joint, what).shape == (nv,), what
    assert joint.rest.shape == (nq,)


def test_every_joint_type_is_listed():
    assert list(JOINT_TYPES) == ["fixed", "revolute", "prismatic", "universal", "cylindrical", "planar", "spherical", "free"]
    for name, cls in JOINT_TYPES.items():
        assert cls.type == name
        assert name in repr(cls())


# --- kinematics ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("axis", "vector"),
    [("x", (1, 0, 0)), ("y", (0, 1, 0)), ("z", (0, 0, 1)), ("-x", (-1, 0, 0)), ("-z", (0, 0, -1)), ((3, 0, 4), (0.6, 0, 0.8))],
)
def test_axes_by_letter_or_by_three_numbers(axis, vector):
    assert same(link_pose(Revolute(axis), [0.7]), rotation_from_vector(0.7 * np.array(vector)), (0, 0, 0))
    assert same(link_pose(Prismatic(axis), [0.7]), np.eye(3), 0.7 * np.array(vector))


def test_neutral_coordinates_are_the_identity():
    for joint in (Revolute(anchor=(1, 2, 3)), Universal(), Planar(), Spherical(anchor=(1, 2, 3)), Free(), Cylindrical()):
        assert same(link_pose(joint, joint.neutral), np.eye(3), (0, 0, 0))


def test_the_anchor_is_a_fixed_point():
    # Fails if the anchor is expressed in the rotated frame, or subtracted on the wrong side.
    anchor = np.array([0.3, -0.2, 0.5])
    quaternion = np.array([0.5, -0.5, 0.5, 0.5])
    for joint, q in ((Revolute((1, 2, 3), anchor=anchor), [1.1]), (Spherical(anchor=anchor), quaternion)):
        pose = link_pose(joint, q)
        assert not np.allclose(pose.position, 0)
        assert np.allclose(pose.position + pose.rotation @ anchor, anchor, rtol=0, atol=TIGHT)


def test_first_rotation_of_a_universal_joint_moves_its_second_axis():
    assert same(
        link_pose(Universal("x", "y"), [0.4, 0.9]), rotation_from_vector((0.4, 0, 0)) @ rotation_from_vector((0, 0.9, 0)), (0, 0, 0)
    )


def test_cylindrical_joint_rotates_and_slides_along_one_axis():
    assert same(link_pose(Cylindrical("y"), [0.4, 2.0]), rotation_from_vector((0, 0.4, 0)), (0, 2.0, 0))


def test_planar_moves_in_its_plane():
    assert same(link_pose(Planar("z"), [1.0, 2.0, 0.3]), rotation_from_vector((0, 0, 0.3)), (1, 2, 0))
    for normal in ("x", "y", (0.1, 0.95, 0.2), (1, 1, 1)):
        axes = [e.axis for e in Planar(normal).elements]
        assert np.allclose(np.linalg.det(np.array(axes)), 1, rtol=0, atol=TIGHT)  # right-handed and orthogonal
        assert np.allclose(np.array(axes) @ np.array(axes).T, np.eye(3), rtol=0, atol=TIGHT)


def test_spherical_quaternion_is_w_x_y_z():
    half = np.sqrt(0.5)
    assert same(link_pose(Spherical(), [half, 0, 0, half]), rotation_from_vector((0, 0, np.pi / 2)), (0, 0, 0))


def test_free_is_a_position_and_a_quaternion():
    half = np.sqrt(0.5)
    assert same(link_pose(Free(), [1, 2, 3, half, half, 0, 0]), rotation_from_vector((np.pi / 2, 0, 0)), (1, 2, 3))


def test_compound_composes_its_parts_each_about_its_anchor():
    joint = Compound({"lift": Prismatic("z"), "hip": Revolute("x", anchor=(0, 1, 0)), "knee": Revolute("y", anchor=(0, 0, 2))})
    pose = link_pose(joint, [0.5, 0.3, 0.8])

    def about(rotation, anchor):
        return rotation, anchor - rotation @ anchor

    A, a = about(rotation_from_vector((0.3, 0, 0)), np.array([0, 1, 0]))
    B, b = about(rotation_from_vector((0, 0.8, 0)), np.array([0, 0, 2]))
    assert same(pose, A @ B, np.array([0, 0, 0.5]) + a + A @ b)


# --- parameters ---------------------------------------------------------------------------------


def test_parameters_are_scalars_or_one_per_coordinate():
    joint = Universal(damping=2.0, armature=(0.1, 0.2), limits=(-1, 1), effort=(5, 6), speed=(7, 8))
    assert joint.damping.tolist() == [2, 2]
    assert joint.armature.tolist() == [0.1, 0.2]
    assert joint.effort.tolist() == [5, 6]
    assert joint.speed.tolist() == [7, 8]
    assert (joint.lower.tolist(), joint.upper.tolist()) == ([-1, -1], [1, 1])
    joint = Universal(limits=((-1, 1), (-2, 3)))
    assert (joint.lower.tolist(), joint.upper.tolist()) == ([-1, -2], [1, 3])


def test_default_joints_have_no_passive_forces_and_no_limits():
    joint = Planar()
    assert not any(getattr(joint, what).any() for what in ("damping", "stiffness", "friction", "armature"))
    assert np.isinf(joint.effort).all()
    assert np.isinf(joint.speed).all()
    assert (joint.lower == -np.inf).all()
    assert (joint.upper == np.inf).all()
    assert joint.rest.tolist() == joint.neutral.tolist()


@pytest.mark.parametrize(("speed", "words"), [(0.0, "with 0 it never moves"), (-1.0, "speed of a revolute joint"), (np.nan, "speed")])
def test_invalid_speed_limits_raise_errors(speed, words):
    with pytest.raises(ArgumentError, match=words):
        Revolute(speed=speed)


def test_parameters_are_copied():
    damping = np.array([1.0])
    joint = Revolute(damping=damping)
    damping[0] = 9.0
    assert joint.damping.tolist() == [1.0]


def test_compound_has_the_parameters_of_its_parts_in_order():
    joint = Compound({"a": Revolute(damping=1.0, limits=(-1, 2)), "b": Prismatic(damping=3.0, rest=0.4), "c": Spherical(damping=(5, 6, 7))})
    assert joint.damping.tolist() == [1, 3, 5, 6, 7]
    assert joint.rest.tolist() == [0, 0.4, 1, 0, 0, 0]
    assert joint.upper.tolist() == [2, np.inf, np.inf, np.inf, np.inf]


def test_compound_renames_its_parts_only():
    joint = Compound({"a": Revolute(damping=1.0), "b": Spherical()}).renamed(lambda name: f"left/{name}")
    assert joint.coordinate_names("ignored") == ["left/a", "left/b.x", "left/b.y", "left/b.z"]
    assert joint.damping.tolist() == [1, 0, 0, 0]
    simple = Revolute()
    assert simple.renamed(str.upper) is simple


def test_cone_keeps_axis_swing_and_twist():
    limit = cone_limit("-x", 0.5, (-0.1, 0.2))
    assert limit.axis.tolist() == [-1, 0, 0]
    assert (limit.swing, limit.twist) == (0.5, (-0.1, 0.2))
    assert Spherical(cone=limit).cone is limit
    assert cone_limit("x", np.pi).twist == (-np.inf, np.inf)
    with pytest.raises(ArgumentError, match=r"at most 3\.14159"):
        cone_limit("x", 3.2)
