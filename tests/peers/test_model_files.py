"""Models from files against MuJoCo (MJCF) and Pinocchio (URDF, SDF).

Fails if a joint, inertia, frame or passive force is read wrongly, or a coordinate has another index: the mass
matrix, bias, poses, inverse and forward dynamics at random states agree to 1e-9 of their largest entry.
"""

from __future__ import annotations

import importlib
import sysconfig
import warnings
from pathlib import Path
from xml.etree import ElementTree

import mujoco
import numpy as np
import pytest

from brachiate import Data, dynamics, kinematics
from brachiate.dynamics.inverse import FRICTION_SPEED_SCALE
from brachiate.errors import ModelFileError
from brachiate.io import ModelFileWarning, load_model
from brachiate.model.joints import BALL, ELEMENT_NQ, FLOAT

STATES = 4
CLOSE = 1e-9


def read(path, **more):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelFileWarning)
        return load_model(path, **more)


def random_state(model, rng):
    """Return q with unit quaternions, v, a and tau."""
    q = rng.uniform(-1.0, 1.0, model.nq)
    for kind, at in zip(model.tree.kind, model.tree.q_at, strict=True):
        if kind in (BALL, FLOAT):
            quaternion = slice(at + ELEMENT_NQ[kind] - 4, at + ELEMENT_NQ[kind])
            q[quaternion] /= np.linalg.norm(q[quaternion])
    return q, rng.normal(size=model.nv), rng.normal(size=model.nv), 10 * rng.normal(size=model.nv)


def relative_error(got, expected):
    """Return the largest difference, relative to the largest entry."""
    return float(np.abs(got - expected).max() / max(np.abs(expected).max(), 1e-12))


def check(name, state, **pairs):
    """Compare all quantities with the peer's at once, so that a failure lists the wrong ones."""
    errors = {what: relative_error(ours, theirs) for what, (ours, theirs) in pairs.items()}
    print(name, state, {what: f"{error:.1e}" for what, error in errors.items()})
    assert {what: error for what, error in errors.items() if not error < CLOSE} == {}


# --- MJCF and MuJoCo ---------------------------------------------------------------------------


def suite_file(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it searches for a display
        suite = pytest.importorskip("dm_control.suite", reason="dm_control is not installed")
    return Path(suite.__file__).parent / f"{name}.xml"


def world_axes(m, q, v):
    """B and Ḃ v, where MuJoCo's velocity is B v: its free joints have linear velocities in world axes."""
    B, Bdot_v = np.eye(m.nv), np.zeros(m.nv)
    for j in np.flatnonzero(m.jnt_type == mujoco.mjtJoint.mjJNT_FREE):
        k, R = m.jnt_dofadr[j], np.zeros(9)
        mujoco.mju_quat2Mat(R, q[m.jnt_qposadr[j] + 3 : m.jnt_qposadr[j] + 7])
        R = R.reshape(3, 3)
        B[k : k + 3, k : k + 3] = R
        Bdot_v[k : k + 3] = R @ np.cross(v[k + 3 : k + 6], v[k : k + 3])
    return B, Bdot_v


def remove_unsupported(m):
    """Remove from MuJoCo's model the parts that our warning names as unsupported, and non-smooth forces."""
    m.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT | mujoco.mjtDisableBit.mjDSBL_ACTUATION
    m.tendon_stiffness[:] = m.tendon_damping[:] = m.tendon_armature[:] = 0
    m.opt.gravity[:] = (0, 0, -9.81)
    assert not m.dof_frictionloss.any()


def compare_with_mujoco(model, m, name):
    data, d, rng = Data(model), mujoco.MjData(m), np.random.default_rng(7)
    assert (model.nq, model.nv) == (m.nq, m.nv)
    for state in range(STATES):
        q, v, a, tau = random_state(model, rng)
        B, Bdot_v = world_axes(m, q, v)
        d.qpos[:], d.qvel[:], d.qfrc_applied[:] = q, B @ v, B @ tau  # B is orthogonal
        mujoco.mj_forward(m, d)
        poses = kinematics_of(data, q)
        M = np.zeros((m.nv, m.nv))
        for k, row in enumerate(np.eye(m.nv)):
            mujoco.mj_mulM(m, d, M[k], row)
        acceleration = B.T @ (d.qacc - Bdot_v)
        bias = B.T @ (d.qfrc_bias - d.qfrc_passive + M @ Bdot_v)
        bodies = [b for b in range(1, m.nbody) if m.body(b).name]
        d.qacc[:] = B @ a + Bdot_v
        d.qfrc_applied[:] = 0
        mujoco.mj_inverse(m, d)
        check(
            name, state,
            mass=(dynamics.mass_matrix(data, q), B.T @ M @ B),
            bias=(dynamics.bias(data, q, v).copy(), bias),
            position=(np.array([poses[m.body(b).name].position for b in bodies]), d.xpos[bodies]),
            rotation=(np.array([poses[m.body(b).name].rotation for b in bodies]), d.xmat[bodies].reshape(-1, 3, 3)),
            inverse=(dynamics.inverse_dynamics(data, q, v, a).copy(), B.T @ d.qfrc_inverse),
            forward=(dynamics.forward_dynamics(data, q, v, tau), acceleration),
        )  # fmt: skip


def kinematics_of(data, q):
    data.assign(q=q)
    return kinematics.link_poses(data)


@pytest.mark.parametrize("name", ["humanoid", "humanoid_CMU", "dog", "quadruped"])
def test_mjcf_agrees_with_mujoco(name):
    path = suite_file(name)
    m = mujoco.MjModel.from_xml_path(str(path))
    remove_unsupported(m)
    model = read(path)
    compare_with_mujoco(model, m, name)
    np.testing.assert_array_equal(model.poses["reference"], m.qpos0)
    limited = (m.jnt_limited == 1) & (m.jnt_type == mujoco.mjtJoint.mjJNT_HINGE)
    dofs = m.jnt_dofadr[limited]
    np.testing.assert_array_equal(np.array(model.limits)[:, dofs].T, m.jnt_range[limited])
    floating = name.startswith("humanoid")  # single floating body: shapes and sites of the world are omitted
    geoms, sites = (m.geom_bodyid > 0, m.site_bodyid > 0) if floating else (m.geom_bodyid >= 0, m.site_bodyid >= 0)
    assert sum(len(link.shapes) for link in model.links.values()) == np.sum(geoms & (m.geom_type != mujoco.mjtGeom.mjGEOM_HFIELD))
    assert len(model.sites) == sites.sum()


def test_mjcf_with_includes_from_assets(tmp_path):
    suite_file("humanoid")
    module = importlib.import_module("dm_control.suite.humanoid")
    text, assets = module.get_model_and_assets()
    alone = tmp_path / "humanoid.xml"
    alone.write_bytes(text if isinstance(text, bytes) else text.encode())
    there = {name: content if isinstance(content, bytes) else content.encode() for name, content in assets.items()}
    model = read(alone, assets=there)
    m = mujoco.MjModel.from_xml_path(str(suite_file("humanoid")))
    remove_unsupported(m)
    compare_with_mujoco(model, m, "humanoid from assets")
    with pytest.raises(ModelFileError, match=r"humanoid\.xml: MuJoCo cannot read it: .*skybox"):
        read(alone)


# --- URDF and Pinocchio ------------------------------------------------------------------------

ROBOTS = {
    "g1": "g1_description/urdf/g1_29dof_rev_1_0.urdf",
    "talos": "talos_data/robots/talos_full_v2.urdf",
    "icub": "icub_description/robots/icub.urdf",
    "solo": "solo_description/robots/solo12.urdf",
    "human": "human_description/robots/human.urdf",
    "simple_humanoid": "simple_humanoid_description/urdf/simple_humanoid.urdf",
}


def robots_folder():
    """Folder of example-robot-data, which has files only and nothing to import."""
    folder = Path(sysconfig.get_path("purelib")) / "cmeel.prefix/share/example-robot-data/robots"
    if not folder.is_dir():
        pytest.skip("example-robot-data is not installed")
    return folder


class Match:
    """Indices of our coordinates in Pinocchio's, by joint name; quaternions have w last there."""

    def __init__(self, model, peer):
        self.q, self.v = np.zeros(peer.nq, int), np.zeros(peer.nv, int)
        assert (model.nq, model.nv) == (peer.nq, peer.nv)
        for name, joint in zip(peer.names[1:], peer.joints[1:], strict=True):
            place = model.joints["root" if name == "root_joint" else name]
            q = np.arange(place.q.start, place.q.stop)
            if len(q) == 7:
                q[3:] = q[[4, 5, 6, 3]]
            self.q[joint.idx_q : joint.idx_q + joint.nq] = q
            self.v[joint.idx_v : joint.idx_v + joint.nv] = np.arange(place.v.start, place.v.stop)


@pytest.mark.parametrize("name", ROBOTS)
def test_urdf_agrees_with_pinocchio(name):
    pin = pytest.importorskip("pinocchio", reason="Pinocchio is not installed")
    path = robots_folder() / ROBOTS[name]
    model = read(path, floating_base=True)
    peer = pin.buildModelFromUrdf(str(path), pin.JointModelFreeFlyer())
    links = [f.name for f in peer.frames if f.type == pin.FrameType.BODY and f.name in model.links]
    assert set(model.links) == set(links)
    compare_with_pinocchio(pin, model, peer, links, name)


def compare_with_pinocchio(pin, model, peer, links, name):
    match, there = Match(model, peer), peer.createData()
    data, rng = Data(model), np.random.default_rng(11)
    for state in range(STATES):
        q, v, a, tau = random_state(model, rng)
        # Pinocchio's dynamics have no springs, dampers or friction.
        passive = model.tree.damping * v + model.tree.friction * v / np.sqrt(v**2 + FRICTION_SPEED_SCALE**2)
        for kind, i, k in zip(model.tree.kind, model.tree.q_at, model.tree.v_at, strict=True):
            if kind < BALL:
                passive[k] += model.tree.stiffness[k] * (q[i] - model.tree.rest[i])
        qp, vp, ap = q[match.q], v[match.v], a[match.v]
        M = np.triu(pin.crba(peer, there, qp))
        M = M + np.triu(M, 1).T
        bias = pin.rnea(peer, there, qp, vp, 0 * ap).copy()
        torque = pin.rnea(peer, there, qp, vp, ap).copy()
        acceleration = pin.aba(peer, there, qp, vp, (tau - passive)[match.v]).copy()
        pin.framesForwardKinematics(peer, there, qp)
        frames = [there.oMf[peer.getFrameId(link, pin.FrameType.BODY)] for link in links]
        poses = kinematics_of(data, q)
        check(
            name, state,
            mass=(dynamics.mass_matrix(data, q)[np.ix_(match.v, match.v)], M),
            bias=((dynamics.bias(data, q, v) - passive)[match.v], bias),
            position=(np.array([poses[link].position for link in links]), np.array([f.translation for f in frames])),
            rotation=(np.array([poses[link].rotation for link in links]), np.array([f.rotation for f in frames])),
            inverse=((dynamics.inverse_dynamics(data, q, v, a) - passive)[match.v], torque),
            forward=(dynamics.forward_dynamics(data, q, v, tau)[match.v], acceleration),
        )  # fmt: skip


@pytest.mark.parametrize("name", ["g1", "talos", "icub", "solo", "human"])
def test_urdf_limits_agree_with_pinocchio(name):
    pin = pytest.importorskip("pinocchio", reason="Pinocchio is not installed")
    path = robots_folder() / ROBOTS[name]
    model = read(path)
    peer = pin.buildModelFromUrdf(str(path))
    match = Match(model, peer)
    lower, upper = (limit[match.v] for limit in model.limits)
    np.testing.assert_allclose(lower, peer.lowerPositionLimit, atol=1e-12)
    np.testing.assert_allclose(upper, peer.upperPositionLimit, atol=1e-12)
    stated = peer.effortLimit > 0
    np.testing.assert_allclose(model.effort[match.v][stated], peer.effortLimit[stated])
    assert model.mass == pytest.approx(sum(i.mass for i in peer.inertias[1:]))


# --- SDF: not read by Pinocchio's wheels, so its model is built here ---------------------------


def sdf_in_pinocchio(pin, path):
    """Pinocchio model of an SDF file with revolute and fixed joints; the first joint of a link is its tree joint."""

    def pose(element):
        numbers = np.array([float(x) for x in (element.findtext("pose") or "0 0 0 0 0 0").split()])
        return pin.SE3(pin.rpy.rpyToMatrix(*numbers[3:]), numbers[:3])

    def tensor(inertial):
        xx, xy, xz, yy, yz, zz = (float(inertial.findtext(f"inertia/{k}")) for k in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"))
        return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])

    sdf = ElementTree.parse(path).getroot().find("model")
    links = {link.get("name"): link for link in sdf.findall("link")}
    place = {name: pose(link) for name, link in links.items()}
    carrier = {}
    for joint in sdf.findall("joint"):
        carrier.setdefault(joint.findtext("child"), joint)
    peer, ids, hinge = pin.Model(), {}, {}

    def add(name):
        if name in ids:
            return
        joint = carrier.get(name)
        if joint is None:
            hinge[name] = pin.SE3.Identity()
            ids[name] = peer.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "root_joint")
        else:
            parent = joint.findtext("parent")
            add(parent)
            hinge[name] = pose(joint)
            axis = np.array([float(x) for x in joint.findtext("axis/xyz").split()])
            at = (place[parent] * hinge[parent]).actInv(place[name] * hinge[name])
            ids[name] = peer.addJoint(ids[parent], pin.JointModelRevoluteUnaligned(axis / np.linalg.norm(axis)), at, joint.get("name"))
        inertial = links[name].find("inertial")
        body = pose(inertial).act(pin.Inertia(float(inertial.findtext("mass")), np.zeros(3), tensor(inertial)))
        peer.appendBodyToJoint(ids[name], body, hinge[name].inverse())
        peer.addBodyFrame(name, ids[name], hinge[name].inverse(), 0)

    for name in links:
        add(name)
    return peer, list(links)


def test_sdf_agrees_with_pinocchio():
    """Cassie; older files of it have gearbox joints, which are refused."""
    pin = pytest.importorskip("pinocchio", reason="Pinocchio is not installed")
    path = robots_folder() / "cassie_description/robots/cassie_v2.sdf"
    model = read(path)
    peer, links = sdf_in_pinocchio(pin, path)
    assert [loop.joint.type for loop in model.loops] == ["spherical"] * 4
    compare_with_pinocchio(pin, model, peer, links, "cassie")
