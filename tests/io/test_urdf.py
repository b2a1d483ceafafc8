"""URDF files: links and joints, massless links, mimic joints, meshes in packages, invalid inertias."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from brachiate import Data, Mesh, dynamics, kinematics
from brachiate.errors import ModelFileError
from brachiate.io import load_model

INERTIAL = '<inertial><origin xyz="0.1 0 0" rpy="0 0 1.5707963267948966"/><mass value="2"/>' + (
    '<inertia ixx="1" ixy="0" ixz="0" iyy="2" iyz="0" izz="2.5"/></inertial>'
)


def link(name, inside=INERTIAL):
    return f'<link name="{name}">{inside}</link>'


def joint(name, parent, child, kind="revolute", inside="", axis="0 0 1"):
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/><origin xyz="0 0 1" rpy="0.1 0.2 0.3"/>'
        f'<axis xyz="{axis}"/>{inside}</joint>'
    )


LIMITS = '<limit lower="-1" upper="2" effort="30" velocity="1"/><dynamics damping="0.3" friction="0.2"/>'
ARM = "".join([
    link("base"), link("a"), link("frame", ""), link("b"), joint("j", "base", "a", inside=LIMITS), joint("fix", "a", "frame", "fixed"),
    joint("k", "frame", "b", "continuous", axis="0 3 4"),
])  # fmt: skip


def tetrahedron():
    """A binary STL file."""
    points = np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)], np.float32)
    faces = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]
    body = b"".join(struct.pack("<12fH", 0, 0, 0, *points[list(f)].ravel(), 0) for f in faces)
    return b"\0" * 80 + struct.pack("<I", len(faces)) + body


def test_links_limits_and_joint_parameters(urdf):
    model = urdf(ARM)
    assert (model.name, list(model.links), model.coordinates) == ("test", ["base", "a", "frame", "b"], ("j", "k"))
    np.testing.assert_array_equal(np.array(model.limits).T, [(-1, 2), (-np.inf, np.inf)])
    np.testing.assert_array_equal(model.effort, (30, np.inf))
    assert (model.tree.damping[0], model.tree.friction[0]) == (0.3, 0.2)
    np.testing.assert_allclose(model.links["b"].joint.elements[0].axis, (0, 0.6, 0.8))
    np.testing.assert_allclose(model.links["a"].inertia, np.diag((2, 1, 2.5)), atol=1e-15)
    np.testing.assert_allclose(model.links["a"].center, (0.1, 0, 0))


def test_link_without_inertial_is_massless(urdf):
    solid = '<collision><geometry><sphere radius="1"/></geometry></collision>'
    model = urdf(
        link("base", solid) + link("middle", solid) + link("end") + joint("i", "base", "middle") + joint("j", "middle", "end", axis="1 0 0")
    )
    assert model.links["middle"].mass == 0
    assert len(model.links["middle"].shapes) == 1
    assert model.mass == 2
    assert dynamics.mass_matrix(Data(model), model.neutral).shape == (2, 2)


@pytest.mark.parametrize(("text", "speed"), [("1.5", 1.5), ("0", np.inf), ("-1", np.inf), ("inf", np.inf)])
def test_velocity_limits(urdf, text, speed):
    model = urdf(link("base") + link("a") + joint("j", "base", "a", inside=f'<limit lower="-1" upper="2" effort="3" velocity="{text}"/>'))
    assert model.speed.tolist() == [speed]


def test_invalid_velocity_limit_is_refused(urdf):
    with pytest.raises(ModelFileError, match="joint 'j': attribute 'velocity' of <limit> must be 1 finite number, got 'fast'"):
        urdf(link("base") + link("a") + joint("j", "base", "a", inside='<limit lower="-1" upper="2" effort="3" velocity="fast"/>'))


def test_floating_base(urdf):
    model = urdf(ARM, floating_base=True)
    assert model.nv == 8
    assert list(model.joints) == ["root", "j", "k"]
    assert urdf(ARM).nv == 2


def test_root_named_world_is_the_world(urdf):
    model = urdf(link("world", "") + link("a") + joint("j", "world", "a"))
    assert list(model.links) == ["a"]
    np.testing.assert_allclose(kinematics.link_poses(Data(model))["a"].position, (0, 0, 1))


def test_planar_and_floating_joints(urdf):
    model = urdf(link("world", "") + link("a") + joint("f", "world", "a", "floating") + link("b") + joint("p", "a", "b", "planar"))
    assert model.coordinates[6:] == ("p_TX", "p_TY", "p_RZ")
    assert model.nv == 9


def test_mimic_is_a_coupling(urdf, warned):
    follow = '<mimic joint="j" multiplier="-2" offset="0.1"/>'
    model = urdf(ARM + link("c") + joint("l", "b", "c", inside=follow + '<limit lower="-1" upper="1" effort="1" velocity="1"/>'))
    (coupling,) = model.couplings
    assert (coupling.coordinate, coupling.of, coupling.coefficients) == ("l", "j", (0.1, -2))
    model = urdf(ARM + link("c") + joint("l", "b", "c", "continuous", inside=follow.replace('"j"', '"fix"')))
    assert (model.couplings[0].of, model.couplings[0].coefficients) == (None, (0.1,))
    assert urdf(ARM + link("c") + joint("l", "b", "c", "fixed", inside=follow)).couplings == ()
    model, message = warned(urdf, ARM + link("c") + joint("l", "b", "c", "continuous", inside=follow.replace('"j"', '"no"')))
    assert "mimics of joints that are missing or not scalar (left out): l of no" in message


@pytest.mark.parametrize(
    ("address", "file"),
    [
        ("package://robot/meshes/x%20y.stl", "ws/robot/meshes/x y.stl"),
        ("package://robot/meshes/x.STL", "ws/robot/meshes/x.STL"),
        ("package://parts/x.stl", "ws/parts/x.stl"),
        ("package://elsewhere/meshes/x.stl", "ws/robot/meshes/x.stl"),
        ("meshes/x.stl", "ws/robot/urdf/meshes/x.stl"),
        ("../x.stl", "ws/robot/x.stl"),
        ("file://{root}/ws/robot/far/x.stl", "ws/robot/far/x.stl"),
    ],
)
def test_meshes_are_located(write, tmp_path, address, file):
    write(tetrahedron(), file)
    shape = f'<visual><geometry><mesh filename="{address.format(root=tmp_path)}" scale="2 2 2"/></geometry></visual>'
    model = load_model(write(f'<robot name="r">{link("a", INERTIAL + shape)}</robot>', "ws/robot/urdf/model.urdf"), strict=True)
    (mesh,) = model.links["a"].shapes
    assert isinstance(mesh, Mesh)
    assert not mesh.collides
    assert mesh.volume() == pytest.approx(8 / 6, rel=1e-5)


def test_meshes_from_assets_with_one_name_in_two_folders(urdf):
    shapes = "".join(f'<collision name="same"><geometry><mesh filename="package://{p}/x.stl"/></geometry></collision>' for p in "ab")
    model = urdf(link("a", INERTIAL + shapes), assets={"package://a/x.stl": tetrahedron(), "package://b/x.stl": tetrahedron()})
    assert [s.collides for s in model.links["a"].shapes] == [True, True]


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("package://no/x.stl", "meshes (not found, shapes left out): package://no/x.stl"),
        ("http://example.org/x.stl", "meshes (not found, shapes left out): http://example.org/x.stl"),
        ("x.dae", "meshes (only .stl, .obj, .msh are read, shapes left out): x.dae"),
        ("broken.stl", "meshes (MuJoCo cannot use them, shapes left out): broken.stl"),
    ],
)
def test_inertia_does_not_depend_on_meshes(urdf, write, warned, address, message):
    write(b"\0" * 80 + struct.pack("<I", 9) + b"\1" * 30, "broken.stl")
    shapes = (f'<mesh filename="{address}"/>', '<box size="1 1 1"/>')
    shape = "".join(f"<collision><geometry>{s}</geometry></collision>" for s in shapes)
    text = link("base", "") + link("a", INERTIAL + shape) + joint("j", "base", "a", "continuous")
    model, warning = warned(urdf, text)
    assert message in warning
    assert len(model.links["a"].shapes) == 1
    assert model.mass == 2
    with pytest.raises(ModelFileError, match="strict=True"):
        urdf(text, strict=True)


def test_empty_limits_mean_unlimited(urdf, warned):
    model, warning = warned(urdf, link("base") + link("a") + joint("j", "base", "a", inside='<limit effort="1" velocity="1"/>'))
    assert "limits with lower = upper (left out): j" in warning
    assert model.limits[1][0] == np.inf


def test_impossible_inertias_are_refused_or_repaired(urdf, warned):
    def with_inertia(mass, xx, yy, zz):
        inertial = f'<inertial><mass value="{mass}"/><inertia ixx="{xx}" ixy="0" ixz="0" iyy="{yy}" iyz="0" izz="{zz}"/></inertial>'
        return link("base") + link("a", inertial) + joint("j", "base", "a", "continuous") + link("b") + joint("k", "a", "b", "continuous")

    for numbers, why in (
        ((1, 1, 1, 3), "no solid has"),
        ((1, -1, 1, 1), "negative principal moment"),
        ((0, 1, 1, 1), "inertia but no mass"),
    ):
        with pytest.raises(ModelFileError, match=rf"model\.urdf: Link 'a'.*{why}.* fix_inertia=True"):
            urdf(with_inertia(*numbers))
        model, warning = warned(urdf, with_inertia(*numbers), fix_inertia=True)
        assert "(physically impossible; replaced by the nearest possible ones): a" in warning
        moments = np.linalg.eigvalsh(model.links["a"].inertia)
        assert moments[0] + moments[1] >= moments[2] * (1 - 1e-9)
    # Round-off of the exporter is taken for zero: a point mass.
    assert not urdf(with_inertia(1, "-1e-20", 0, "1e-19")).links["a"].inertia.any()
