"""MJCF files: joints, frames, inertias, shapes, loops, couplings and actuators, against MuJoCo."""

from __future__ import annotations

import subprocess
import sys
import warnings
from pathlib import Path

import mujoco
import numpy as np
import pytest

from brachiate import Box, Capsule, Cylinder, Data, Ellipsoid, Free, Mesh, Plane, Sphere, dynamics, kinematics
from brachiate.errors import ModelFileError
from brachiate.io import load_model

BALL_GEOM = '<geom type="sphere" size="0.1" mass="1" pos="0.1 0.2 0.3"/>'


def peer(inside):
    m = mujoco.MjModel.from_xml_string(f"<mujoco>{inside}</mujoco>")
    m.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT | mujoco.mjtDisableBit.mjDSBL_ACTUATION
    return m, mujoco.MjData(m)


def assert_same_motion(model, m, d, seed=3):
    """Compare poses, mass matrix and bias with MuJoCo's, for models without free joints; our q is its qpos."""
    rng = np.random.default_rng(seed)
    q = rng.uniform(-1, 1, m.nq)
    for j in np.flatnonzero(m.jnt_type == mujoco.mjtJoint.mjJNT_BALL):
        at = slice(m.jnt_qposadr[j], m.jnt_qposadr[j] + 4)
        q[at] /= np.linalg.norm(q[at])
    v = rng.normal(size=m.nv)
    data = Data(model)
    d.qpos[:], d.qvel[:] = q, v
    mujoco.mj_forward(m, d)
    data.assign(q=q)
    poses = kinematics.link_poses(data)
    for b in range(1, m.nbody):
        np.testing.assert_allclose(poses[m.body(b).name].position, d.xpos[b], atol=1e-12)
        np.testing.assert_allclose(poses[m.body(b).name].rotation, d.xmat[b].reshape(3, 3), atol=1e-12)
    M = np.zeros((m.nv, m.nv))
    mujoco.mj_fullM(m, d, M)
    np.testing.assert_allclose(dynamics.mass_matrix(data, q), M, atol=1e-12)
    np.testing.assert_allclose(dynamics.bias(data, q, v), d.qfrc_bias - d.qfrc_passive, atol=1e-11)


MANY_JOINTS = f"""
<worldbody><body name="a" pos="1 2 3" quat="0.9 0.1 0.3 0.2">
  <joint name="a1" type="slide" axis="1 2 0" {{r1}} stiffness="2" springref="0.3" damping="0.5"/>
  <joint name="a2" type="hinge" axis="0 1 1" pos="0.1 -0.2 0.3" {{r2}} armature="0.1"/>
  <joint name="a3" type="hinge" axis="1 0 0" pos="-0.3 0.1 0.2" {{r3}} stiffness="1"/>
  {BALL_GEOM}
  <body name="b" pos="0 0.5 0">
    <joint name="b1" type="hinge" axis="0 0 1" pos="0 0.2 0" {{r1}}/>
    <joint name="b2" type="ball" pos="0.1 0.1 0.4" damping="0.2" stiffness="3"/>
    {BALL_GEOM}<geom type="box" size="0.1 0.2 0.3" euler="10 20 30" pos="0.2 0 0"/>
    <body name="c" pos="0 0.5 0"><joint name="c1" type="hinge" axis="1 1 1" pos="0.2 0 0.1" {{r3}}/>{BALL_GEOM}</body>
  </body>
</body></worldbody>"""


def test_several_joints_on_one_body(mjcf):
    text = MANY_JOINTS.format(r1="", r2="", r3="")
    model = mjcf(text)
    assert model.coordinates == ("a1", "a2", "a3", "b1", "b2.x", "b2.y", "b2.z", "c1")
    assert_same_motion(model, *peer(text))


def test_reference_angles(mjcf):
    """Our q is MuJoCo's qpos although the file is drawn at ref, also for preceding joints of the body."""
    text = MANY_JOINTS.format(r1='ref="0.4"', r2='ref="-50"', r3='ref="70"')
    model = mjcf(text)
    m, d = peer(text)
    assert_same_motion(model, m, d)
    np.testing.assert_array_equal(model.poses["reference"], m.qpos0)
    data = Data(model)
    data.assign(q=model.poses["reference"])
    drawn = kinematics.link_poses(data)["a"]
    np.testing.assert_allclose(drawn.position, (1, 2, 3), atol=1e-14)


def test_reference_angle_after_a_ball_joint_is_refused(mjcf):
    joints = '<joint name="x" type="ball"/><joint name="y" type="slide" ref="0.17"/>'
    with pytest.raises(ModelFileError, match=r"model\.xml: Joint 'y' has ref=0\.17.* follows the ball joint 'x' on one body"):
        mjcf(f"<worldbody><body>{joints}{BALL_GEOM}</body></worldbody>")


def test_initial_position_of_a_free_body(mjcf):
    model = mjcf(f'<worldbody><body name="a" pos="1 2 3"><freejoint name="f"/>{BALL_GEOM}</body></worldbody>')
    np.testing.assert_array_equal(model.poses["reference"], [1, 2, 3, 1, 0, 0, 0])
    data = Data(model)
    data.assign(q=model.poses["reference"])
    np.testing.assert_allclose(kinematics.link_poses(data)["a"].position, (1, 2, 3))


def test_defaults_and_includes(write):
    write("<mujocoinclude><default><joint damping='7' range='-10 20'/><geom mass='2'/></default></mujocoinclude>", "parts/defaults.xml")
    path = write(
        "<mujoco><include file='parts/defaults.xml'/>"
        "<worldbody><body name='a'><joint name='j'/><geom size='1'/></body></worldbody></mujoco>"
    )
    model = load_model(path)
    assert model.name == "model"
    assert model.links["a"].mass == 2
    assert model.tree.damping[0] == 7
    np.testing.assert_allclose(np.rad2deg(np.ravel(model.limits)), (-10, 20))


def test_generated_names(mjcf):
    model = mjcf(
        f"""<worldbody><site/><body><joint/>{BALL_GEOM}<body><joint/><joint axis="1 0 0"/>{BALL_GEOM}</body><body name="arm/left"/></body>
        <body name="body.1"><joint name="body.1.2"/>{BALL_GEOM}</body></worldbody>"""
    )
    assert list(model.links) == ["ground", "body.1_", "body.1_.1", "arm.left", "body.1"]
    assert model.coordinates == ("body.1_", "body.1_.1.1", "body.1_.1.2", "body.1.2")
    assert list(model.sites) == ["site.1"]
    assert model.sites["site.1"].link == "ground"


def test_static_bodies_stay_links(mjcf):
    model = mjcf(
        f"""<worldbody><body name="table" pos="0 0 1"><geom size="1"/><body name="lamp" pos="1 0 0"><geom size="1"/></body></body>
        <body name="arm"><joint name="j"/>{BALL_GEOM}<body name="hand" pos="1 0 0">{BALL_GEOM}</body></body></worldbody>"""
    )
    assert model.nv == 1
    assert model.links["lamp"].parent == "table"
    np.testing.assert_allclose(kinematics.link_poses(Data(model))["lamp"].position, (1, 0, 1))
    assert model.mass == pytest.approx(2)


def test_shapes(mjcf):
    model = mjcf(
        """<asset><mesh name="tet" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/><material name="red" rgba="1 0 0 1"/></asset>
        <worldbody><geom name="floor" type="plane" size="0 0 1"/>
        <body name="a" pos="0 0 1"><geom name="s" type="sphere" size="0.1" material="red"/>
        <geom name="c" type="capsule" size="0.1 0.2"/><geom name="y" type="cylinder" size="0.1 0.3" contype="0" conaffinity="0"/>
        <geom name="b" type="box" size="0.1 0.2 0.3" pos="1 0 0" euler="0 0 90"/><geom name="e" type="ellipsoid" size="0.1 0.2 0.3"/>
        <geom name="m" type="mesh" mesh="tet" rgba="0 1 0 0.5"/></body></worldbody>"""
    )
    (floor,) = model.links["ground"].shapes
    s, c, y, b, e, mesh = model.links["a"].shapes
    assert [type(x) for x in (floor, s, c, y, b, e, mesh)] == [Plane, Sphere, Capsule, Cylinder, Box, Ellipsoid, Mesh]
    assert (s.radius, s.color, s.name) == (0.1, (1, 0, 0, 1), "s")
    assert (c.radius, c.length, c.color) == (0.1, 0.4, None)
    assert (y.length, y.collides, c.collides) == (0.6, False, True)
    np.testing.assert_allclose(b.size, (0.2, 0.4, 0.6))
    np.testing.assert_allclose(b.rotation @ (1, 0, 0), (0, 1, 0), atol=1e-15)
    np.testing.assert_allclose(e.radii, (0.1, 0.2, 0.3))
    # MuJoCo rotates meshes to principal axes; their pose in the link is that of the file.
    vertices, _ = mesh.surface()
    for corner in ((0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)):
        assert np.linalg.norm(vertices - corner, axis=1).min() < 1e-6
    assert mesh.volume() == pytest.approx(1 / 6, rel=1e-5)


EQUALITIES = """<worldbody>
  <body name="a" pos="1 0 0"><joint name="ja" axis="0 0 1" ref="30"/><geom size="0.1"/><site name="sa" pos="0.1 0 0" quat="0 1 0 0"/></body>
  <body name="b" pos="2 1 0" euler="0 0 45"><joint name="jb" axis="0 1 0"/><geom size="0.1"/><site name="sb" pos="0 0 0.2"/></body>
</worldbody><equality>{}</equality>"""


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('<connect name="e" body1="a" body2="b" anchor="0.5 0.2 0.1"/>', "spherical"),
        ('<connect name="e" body1="a" anchor="0.5 0.2 0.1"/>', "spherical"),
        ('<connect name="e" site1="sa" site2="sb"/>', "spherical"),
        ('<weld name="e" body1="a" body2="b"/>', "fixed"),
        ('<weld name="e" body1="a" body2="b" anchor="0.3 0.1 0"/>', "fixed"),
        ('<weld name="e" body1="a" body2="b" anchor="0.3 0.1 0" relpose="1 2 3 0.5 0.5 0.5 0.5"/>', "fixed"),
        ('<weld name="e" body1="b"/>', "fixed"),
        ('<weld name="e" site1="sa" site2="sb"/>', "fixed"),
    ],
)
def test_loops_match_mujoco(mjcf, text, kind):
    """MuJoCo's constraint violation at a random posture is the difference of the loop's two frames."""
    model = mjcf(EQUALITIES.format(text))
    (loop,) = model.loops
    assert (loop.name, loop.joint.type) == ("e", kind)
    m = mujoco.MjModel.from_xml_string(f"<mujoco>{EQUALITIES.format(text)}</mujoco>")
    d, q = mujoco.MjData(m), np.array([0.7, -0.4])
    d.qpos[:] = q
    mujoco.mj_forward(m, d)
    data = Data(model)
    data.assign(q=q)
    poses = {**kinematics.link_poses(data), "world": kinematics.Pose(np.eye(3), np.zeros(3))}
    first, second = poses[loop.first], poses[loop.second]
    p1, p2 = first.position + first.rotation @ loop.first_position, second.position + second.rotation @ loop.second_position
    np.testing.assert_allclose(d.efc_pos[:3], p1 - p2, atol=1e-12)
    if kind == "fixed":
        R = (first.rotation @ loop.first_rotation).T @ second.rotation @ loop.second_rotation
        turn = np.arccos(np.clip((np.trace(R) - 1) / 2, -1, 1))
        np.testing.assert_allclose(np.linalg.norm(d.efc_pos[3:6]), np.sin(turn / 2), atol=1e-9)


def test_joint_equalities_are_couplings(mjcf):
    polynomial = '<joint name="e" joint1="ja" joint2="jb" polycoef="0.1 2 0.5 0 0"/><joint name="f" joint1="ja" polycoef="0.2 0 0 0 0"/>'
    e, f = mjcf(EQUALITIES.format(polynomial)).couplings
    assert (e.coordinate, e.of, f.of) == ("ja", "jb", None)
    np.testing.assert_allclose(e.coefficients, (np.deg2rad(30) + 0.1, 2, 0.5))
    np.testing.assert_allclose(f.coefficients, (np.deg2rad(30) + 0.2,))
    (g,) = mjcf(EQUALITIES.format('<joint joint1="jb" joint2="ja" polycoef="0.1 2 0.5 0 0"/>')).couplings
    x, x0 = 0.9, np.deg2rad(30)
    assert g.name == "equality.1"
    assert np.polyval(g.coefficients[::-1], x) == pytest.approx(0.1 + 2 * (x - x0) + 0.5 * (x - x0) ** 2)


def test_actuators(mjcf, warned):
    model, message = warned(
        mjcf,
        f"""<worldbody><body name="a"><joint name="j1"/><joint name="j2" axis="1 0 0" actuatorfrcrange="-3 2"/>{BALL_GEOM}
        <body name="b"><joint name="ball" type="ball"/>{BALL_GEOM}<site name="s"/></body></body></worldbody>
        <tendon><fixed name="t"><joint joint="j1" coef="1"/></fixed></tendon>
        <actuator><motor name="m" joint="j1" gear="50" ctrlrange="-0.5 1"/><motor name="m2" joint="j1" gear="-2" forcerange="-4 3"/>
        <position name="p" joint="j2" kp="10" ctrlrange="-1 1" forcerange="-5 5"/><velocity name="v" joint="j2" kv="10"/>
        <general name="g" joint="j2" gainprm="3"/><motor name="r" joint="ball" gear="0 7 0" armature="0.01" damping="0.1"/>
        <motor name="skew" joint="ball" gear="1 7 0"/><motor name="on_t" tendon="t"/><motor name="on_s" site="s"/>
        <general name="slow" joint="j2" dyntype="filter" dynprm="0.1"/><muscle name="muscle" joint="j1"/></actuator>""",
    )
    kinds = {name: (a.coordinate, a.kind, a.gear) for name, a in model.actuators.items()}
    assert kinds == {
        "m": ("j1", "motor", 50), "m2": ("j1", "motor", -2), "p": ("j2", "position", 1), "v": ("j2", "velocity", 1),
        "g": ("j2", "general", 1), "r": ("ball.y", "motor", 7), "slow": ("j2", "general", 1),
    }  # fmt: skip
    assert model.actuators["m"].control_range == (-0.5, 1)
    assert model.actuators["p"].force_range == (-5, 5)
    assert model.actuators["v"].force_range == (-np.inf, np.inf)
    laws = {name: (a.gain, a.bias) for name, a in model.actuators.items()}
    assert laws["m"] == (1, (0, 0, 0))
    assert laws["p"] == (10, (0, -10, 0))
    assert laws["v"] == (10, (0, 0, -10))
    assert laws["g"] == (3, (0, 0, 0))
    effort = dict(zip(model.coordinates, model.effort, strict=True))
    assert effort["j1"] == 50 * 1 + 2 * 4
    assert effort["j2"] == 3
    at = model.coordinate_index["ball.y"]
    assert model.tree.armature[at] == pytest.approx(0.01 * 49)
    assert model.tree.damping[at] == pytest.approx(0.1 * 49)
    for words in (
        "tendons (left out): t\n",
        "crank (left out): on_t, on_s",
        "not linear in control, length and speed (kept without the rest): slow\n",
        "(left out): muscle",
        "not the same both ways (the larger side is the limit): m2, j2\n",
        "skew",
    ):
        assert words in message + "\n"


def test_keyframes_are_poses(mjcf):
    model = mjcf(
        f"""<worldbody><body name="a"><joint name="x"/><joint name="y" axis="1 0 0"/>{BALL_GEOM}</body></worldbody>
        <keyframe><key name="up" qpos="0.1 0.2"/><key qpos="0.3 0.4"/></keyframe>"""
    )
    assert list(model.poses) == ["reference", "up", "key.2"]
    np.testing.assert_array_equal(model.poses["up"], (0.1, 0.2))


def test_floating_base_is_added_or_removed(mjcf):
    fixed = f'<worldbody><body name="a" pos="0 0 1">{BALL_GEOM}</body></worldbody>'
    model = mjcf(fixed, floating_base=True)
    assert model.coordinates[:4] == ("root.x", "root.y", "root.z", "root.rx")
    free = fixed.replace('pos="0 0 1">', 'pos="0 0 1"><freejoint name="f"/>')
    assert mjcf(free, floating_base=True).coordinates[0] == "f.x"
    assert mjcf(free, floating_base=False).nv == 0
    with pytest.raises(ModelFileError, match="floating_base=True, but the root 'a' already has the joint 'j'"):
        mjcf(fixed.replace('pos="0 0 1">', 'pos="0 0 1"><joint name="j"/>'), floating_base=True)
    with pytest.raises(ModelFileError, match="floating_base=True needs one root body, this file has 0"):
        mjcf('<worldbody><body name="a"><geom size="1"/></body><body name="b"><geom size="1"/></body></worldbody>', floating_base=True)


def test_floating_figure_excludes_the_floor(mjcf, warned):
    scene = f"""<worldbody><geom name="floor" type="plane" size="1 1 1"/><site name="mark"/>
    <body name="a" pos="0 0 1">{{}}{BALL_GEOM}<body name="b"><joint name="j"/>{BALL_GEOM}</body></body>{{}}</worldbody>"""
    free = '<freejoint name="f"/>'
    model, message = warned(mjcf, scene.format(free, ""))
    assert "shapes and sites of the world (left out of a floating figure" in message
    assert message.endswith(": floor, mark")
    assert list(model.links) == ["a", "b"]
    assert not model.sites
    with pytest.raises(ModelFileError, match=r"strict=True.*\n.*left out of a floating figure.*floor, mark"):
        mjcf(scene.format(free, ""), strict=True)
    assert list(warned(mjcf, scene.format("", ""), floating_base=True)[0].links) == ["a", "b"]
    assert list(mjcf(scene.format(free, ""), floating_base=False).links) == ["ground", "a", "b"]
    assert list(mjcf(scene.format("", "")).links) == ["ground", "a", "b"]
    second = f'<body name="c" pos="3 0 1"><freejoint/>{BALL_GEOM}</body>'
    assert list(mjcf(scene.format(free, second)).links) == ["ground", "a", "b", "c"]  # two separate bodies and a floor


@pytest.mark.parametrize("name", ["humanoid", "humanoid_CMU", "fish"])
def test_floating_figures_of_dm_control(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it searches for a display
        suite = pytest.importorskip("dm_control.suite", reason="dm_control is not installed")
        model = load_model(Path(suite.__file__).parent / f"{name}.xml")
    roots = [link for link in model.links.values() if link.parent is None]
    assert [type(link.joint) for link in roots] == [Free]


def test_unsupported_parts_are_listed_or_refused(mjcf, warned):
    text = f"""<option gravity="0 0 -1.6" density="1.2"><flag contact="disable"/></option>
    <asset><hfield name="h" nrow="2" ncol="2" size="1 1 1 1"/></asset>
    <worldbody><geom name="hills" type="hfield" hfield="h"/>
    <body name="a" gravcomp="1"><joint name="f" type="free" stiffness="3"/>{BALL_GEOM}</body>
    <body name="b"><joint name="ball" type="ball" range="0 40"/>{BALL_GEOM}</body><body name="m" mocap="true"/></worldbody>
    <equality><weld name="off" body1="a" body2="b" active="false"/></equality>"""
    model, message = warned(mjcf, text)
    for words in (
        "model.xml: parts of this file could not be kept as they are:",
        "gravity (a model has none; give (0.0, 0.0, -1.6) to Data or World)",
        "the fluid around the bodies (left out: density 1.2", "height fields and signed distance fields (left out): hills",
        "gravity compensation (left out): a", "springs of free joints (left out): f", "mocap bodies (they are fixed here): m",
        "switched off (left out): off", "disabled in the file (but not here): contact",
    ):  # fmt: skip
        assert words in message
    cone = model.links["b"].joint.cone
    assert cone.swing == pytest.approx(np.deg2rad(40))
    with pytest.raises(ModelFileError, match=r"(?s)strict=True, and this file has parts that cannot be kept as they are:.*hills"):
        mjcf(text, strict=True)


def test_strict_accepts_complete_files(mjcf):
    assert mjcf(f"<worldbody><body><joint/>{BALL_GEOM}</body></worldbody>", strict=True, name="mine").name == "mine"


def test_impossible_inertia(mjcf, warned):
    text = """<worldbody><body name="plate"><joint/><inertial pos="0 0 0" mass="1" diaginertia="1 1 3"/>
    <body name="full"><joint/><inertial pos="0 0 0" mass="1" fullinertia="1 1 3 0.1 0 0"/></body></body></worldbody>"""
    with pytest.raises(ModelFileError, match=r"A \+ B >= C.*'plate'.*fix_inertia=True"):
        mjcf(text)
    model, message = warned(mjcf, text, fix_inertia=True)
    assert "replaced by the nearest possible ones): plate, full" in message
    np.testing.assert_allclose(model.links["plate"].inertia, np.diag((1.5, 1.5, 3)), rtol=1e-6)


def test_files_are_read_without_the_viewers_of_mujoco(tmp_path):
    path = tmp_path / "ball.xml"
    path.write_text(f'<mujoco><worldbody><body name="ball"><freejoint/>{BALL_GEOM}</body></worldbody></mujoco>')
    missing = "sys.modules.update(dict.fromkeys(('glfw', 'OpenGL', 'websockets', 'mujoco.studio')))"
    script = f"import sys; {missing}; from brachiate.io import load_model; print(load_model({str(path)!r}).nv)"
    assert subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout == "6\n"
