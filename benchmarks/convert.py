"""Model conversion to Pinocchio and MuJoCo, and of configurations and velocities between the libraries.

Both get the flattened tree, in which links fixed to a body are part of it. Joints are in depth-first order; Pinocchio's mass matrix is
silently wrong otherwise.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from brachiate.model.flatten import Placement
from brachiate.model.joints import BALL, ELEMENT_NQ, ELEMENT_NV, FLOAT, SLIDE, TURN
from brachiate.model.model import Model
from brachiate.validation import Array

GRAVITY = (0.0, 0.0, -9.81)
WRONG_SPARSE_FACTOR = "4.0.0"  # MuJoCo: wrong factor with a sparse constraint Jacobian; fixed in 4.0.1 (mujoco#3767)
SPARSE_FROM = 60  # velocities from which MuJoCo's constraint Jacobian is sparse by default (mjJAC_AUTO)


class JointTable(NamedTuple):
    """One row per elementary joint, depth first. Between the elementary joints of a compound joint are massless bodies."""

    parent: Array  # (n,) row of the parent, -1 for the world
    body: Array  # (n,) body of the brachiate model
    element: Array  # (n,) element of the brachiate model
    joint_placement: Array  # (n, 12) rotation matrix by rows and position [m] of the joint in its parent
    body_placement: Array  # (n, 12) of the body in the joint
    mass: Array  # (n,) [kg]
    center: Array  # (n, 3) [m]
    inertia: Array  # (n, 3, 3) [kg·m²] about the center of mass
    q_index: Array  # (nq,) index in brachiate's q of each number of the peer's; quaternions (w, x, y, z)
    v_index: Array  # (nv,) index in brachiate's v of each velocity of the peer


def depth_first(model: Model) -> list[int]:
    """Bodies in depth-first order: every subtree is contiguous."""
    children: dict[int, list[int]] = {}
    for body, parent in enumerate(model.tree.parent):
        children.setdefault(int(parent), []).append(body)
    order: list[int] = []
    stack = children.get(-1, [])[::-1]
    while stack:
        order.append(stack.pop())
        stack += children.get(order[-1], [])[::-1]
    return order


def joint_table(model: Model) -> JointTable:
    """Joints and bodies of the flattened model."""
    tree, rows = model.tree, []
    last: dict[int, tuple[int, Array]] = {-1: (-1, np.zeros(3))}  # by body: its row, and position of the body in the joint
    q: list[int] = []
    v: list[int] = []
    for b in depth_first(model):
        parent, shift = last[int(tree.parent[b])]
        R, p = tree.R_parent_joint[b], shift + tree.p_parent_joint[b]
        for e in range(tree.element[b], tree.element[b + 1]):
            rows.append([parent, b, e, [*R.ravel(), *(p + R @ tree.anchor[e])], -tree.anchor[e], e == tree.element[b + 1] - 1])
            parent, R, p = len(rows) - 1, np.eye(3), -tree.anchor[e]
            q += range(tree.q_at[e], tree.q_at[e] + ELEMENT_NQ[tree.kind[e]])
            v += range(tree.v_at[e], tree.v_at[e] + ELEMENT_NV[tree.kind[e]])
        last[b] = parent, p
    has_mass = np.array([row[5] for row in rows])
    inertia = tree.inertia[[row[1] for row in rows]] * has_mass[:, None]
    return JointTable(
        parent=np.array([row[0] for row in rows], np.int32),
        body=np.array([row[1] for row in rows]),
        element=np.array([row[2] for row in rows]),
        joint_placement=np.array([row[3] for row in rows], float),
        body_placement=np.array([[*np.eye(3).ravel(), *row[4]] for row in rows], float),
        mass=np.ascontiguousarray(inertia[:, 0]),
        center=np.ascontiguousarray(inertia[:, 1:4]),
        inertia=np.ascontiguousarray(inertia[:, [4, 5, 6, 5, 7, 8, 6, 8, 9]].reshape(-1, 3, 3)),
        q_index=np.array(q),
        v_index=np.array(v),
    )


class LoopPoints(NamedTuple):
    """The two coincident points of a spherical loop joint, each fixed in a body (-1: the inertial frame)."""

    first_body: int
    first: Array  # (3,) [m]
    second_body: int
    second: Array  # (3,) [m]


def loop_points(model: Model) -> list[LoopPoints]:
    """Coincident points of all loop joints."""
    found = []
    for loop in model.loops:
        if loop.joint.type != "spherical":
            raise ValueError(f"Loop {loop.name!r} is closed by a {loop.joint.type} joint; only spherical ones are converted.")
        points: list[Any] = []
        for link, at in ((loop.first, loop.first_position), (loop.second, loop.second_position)):
            placement = model.placements.get(link, Placement(-1, np.eye(3), np.zeros(3)))
            points += [placement.body, placement.position + placement.rotation @ at]
        found.append(LoopPoints(*points))
    return found


def to_pinocchio(model: Model) -> Any:
    """The model as a ``pinocchio.Model``."""
    import pinocchio as pin  # noqa: PLC0415

    tree, table, result = model.tree, joint_table(model), pin.Model()
    result.gravity.linear = np.array(GRAVITY)
    for i, e in enumerate(table.element):
        placement = pin.SE3(table.joint_placement[i, :9].reshape(3, 3), table.joint_placement[i, 9:])
        kind = _pinocchio_joint(pin, int(tree.kind[e]), tree.axis[e])
        joint = result.addJoint(int(table.parent[i]) + 1, kind, placement, f"joint{i}")
        body = pin.Inertia(table.mass[i], table.center[i], table.inertia[i])
        result.appendBodyToJoint(joint, body, pin.SE3(np.eye(3), table.body_placement[i, 9:]))
    result.armature = tree.armature[table.v_index]
    return result


def pinocchio_arrays(model: Model, table: JointTable) -> list[Array]:
    """Arguments of ``make_model`` in ``native/pinocchio_model.hpp``."""
    tree = model.tree
    arrays = (table.parent + 1, tree.kind[table.element].astype(np.int32), tree.axis[table.element], table.joint_placement,
              table.mass, table.center, table.inertia, table.body_placement, tree.armature[table.v_index])  # fmt: skip
    assert arrays[0].dtype == np.int32
    return [np.ascontiguousarray(x) for x in arrays]


def _pinocchio_joint(pin: Any, kind: int, axis: Array) -> Any:
    """Joint model; the specialized one if the axis is a coordinate axis, which is faster."""
    if kind == BALL:
        return pin.JointModelSpherical()
    if kind == FLOAT:
        return pin.JointModelFreeFlyer()
    letter = next((name for name, unit in zip("XYZ", np.eye(3)) if (axis == unit).all()), None)
    if letter:
        return getattr(pin, f"JointModel{'R' if kind == TURN else 'P'}{letter}")()
    return (pin.JointModelRevoluteUnaligned if kind == TURN else pin.JointModelPrismaticUnaligned)(axis)


def to_pinocchio_q(model: Model, table: JointTable, q: Array) -> Array:
    """Configuration in Pinocchio's order, quaternions (x, y, z, w)."""
    result, at = q[table.q_index], 0
    for e in table.element:
        kind = model.tree.kind[e]
        first = at + (3 if kind == FLOAT else 0)
        if kind in (BALL, FLOAT):
            result[first : first + 4] = np.roll(result[first : first + 4], -1)
        at += ELEMENT_NQ[kind]
    return result


def from_pinocchio_q(model: Model, table: JointTable, q: Array) -> Array:
    """Configuration of brachiate from Pinocchio's."""
    peer_q, at = q.copy(), 0
    for e in table.element:
        kind = model.tree.kind[e]
        first = at + (3 if kind == FLOAT else 0)
        if kind in (BALL, FLOAT):
            peer_q[first : first + 4] = np.roll(peer_q[first : first + 4], 1)
        at += ELEMENT_NQ[kind]
    result = np.empty(model.nq)
    result[table.q_index] = peer_q
    return result


def pinocchio_loop_points(model: Model, table: JointTable) -> list[LoopPoints]:
    """Coincident points in Pinocchio's joint frames (0: the universe); Pinocchio needs the moving body first."""
    last = {int(b): i for i, b in enumerate(table.body)}  # the last row of a compound joint carries the body

    def in_joint(body: int, at: Array) -> tuple[int, Array]:
        return (0, at) if body < 0 else (last[body] + 1, table.body_placement[last[body], 9:] + at)

    pairs = [(in_joint(p.first_body, p.first), in_joint(p.second_body, p.second)) for p in loop_points(model)]
    return [LoopPoints(*a, *b) if a[0] else LoopPoints(*b, *a) for a, b in pairs]


def to_mujoco(model: Model) -> Any:
    """The model as a ``mujoco.MjSpec``: the tree only, all optional stages of MuJoCo disabled.

    A spec instead of MJCF text, because MuJoCo's XML reader is limited to 500 levels. The constraint Jacobian is dense in MuJoCo 4.0.0:
    see :func:`jacobian_label`.
    """
    import mujoco  # noqa: PLC0415

    tree, spec, bodies = model.tree, mujoco.MjSpec(), {}
    bodies[-1] = spec.worldbody
    spec.option.gravity = GRAVITY
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_EULER
    if mujoco.__version__ == WRONG_SPARSE_FACTOR:
        spec.option.jacobian = mujoco.mjtJacobian.mjJAC_DENSE
    disabled = ("CONSTRAINT", "EQUALITY", "FRICTIONLOSS", "LIMIT", "CONTACT", "SPRING", "DAMPER", "WARMSTART", "ACTUATION", "SENSOR",
                "EULERDAMP", "AUTORESET", "ISLAND")  # fmt: skip
    spec.option.disableflags = sum(int(getattr(mujoco.mjtDisableBit, f"mjDSBL_{name}")) for name in disabled)
    spec.compiler.boundmass = spec.compiler.boundinertia = 0.0
    spec.compiler.degree = False
    for b in depth_first(model):
        i = tree.inertia[b]
        body = bodies[int(tree.parent[b])].add_body(name=f"body{b}", pos=tree.p_parent_joint[b], quat=quaternion(tree.R_parent_joint[b]))
        body.explicitinertial = True
        body.mass, body.ipos = i[0], i[1:4]
        moments, axes = np.linalg.eigh(i[[4, 5, 6, 5, 7, 8, 6, 8, 9]].reshape(3, 3))
        axes[:, 0] *= np.linalg.det(axes)
        body.inertia, body.iquat = np.maximum(moments, 0.0), quaternion(axes)
        for e in range(tree.element[b], tree.element[b + 1]):
            kind = {TURN: "HINGE", SLIDE: "SLIDE", BALL: "BALL", FLOAT: "FREE"}[int(tree.kind[e])]
            joint = body.add_joint(name=f"joint{e}", type=getattr(mujoco.mjtJoint, f"mjJNT_{kind}"), armature=tree.armature[tree.v_at[e]])
            if kind in ("HINGE", "SLIDE"):
                joint.axis = tree.axis[e]
            joint.pos = tree.anchor[e]
        bodies[b] = body
    return spec


def close_mujoco(spec: Any, model: Model, solref: tuple[float, float], solimp: tuple[float, float, float, float, float]) -> None:
    """Add the loop joints to the spec as ``connect`` equality constraints between two sites.

    Not by an anchor: MuJoCo would place it by the neutral pose, in which the loops are open.
    """
    import mujoco  # noqa: PLC0415

    for name in ("CONSTRAINT", "EQUALITY"):
        spec.option.disableflags &= ~int(getattr(mujoco.mjtDisableBit, f"mjDSBL_{name}"))
    for i, points in enumerate(loop_points(model)):
        names = []
        for body, at in ((points.first_body, points.first), (points.second_body, points.second)):
            parent = spec.worldbody if body < 0 else spec.body(f"body{body}")
            names.append(f"loop{i}_{len(names)}")
            parent.add_site(name=names[-1], pos=at)
        spec.add_equality(
            name=f"loop{i}", type=mujoco.mjtEq.mjEQ_CONNECT, objtype=mujoco.mjtObj.mjOBJ_SITE, name1=names[0], name2=names[1],
            solref=solref, solimp=solimp,
        )  # fmt: skip


def jacobian_label(model: Model) -> str:
    """``", dense Jacobian"`` if MuJoCo's default would be sparse and :func:`to_mujoco` overrides it; otherwise empty."""
    import mujoco  # noqa: PLC0415

    return ", dense Jacobian" if mujoco.__version__ == WRONG_SPARSE_FACTOR and model.nv >= SPARSE_FROM else ""


def mjcf(model: Model) -> str:
    """The model as MJCF text."""
    spec = to_mujoco(model)
    spec.compile()
    return spec.to_xml()


def quaternion(R: Array) -> Array:
    """Quaternion (w, x, y, z) of a rotation matrix."""
    import mujoco  # noqa: PLC0415

    result = np.zeros(4)
    mujoco.mju_mat2Quat(result, np.ascontiguousarray(R).ravel())
    return result


def to_mujoco_q(model: Model, table: JointTable, q: Array) -> Array:
    """Configuration in MuJoCo's order. The pose of a free joint is relative to the world, in brachiate to the parent frame."""
    result = q[table.q_index]
    for at, _, b in _free_joints(model, table):
        R, p = model.tree.R_parent_joint[b], model.tree.p_parent_joint[b]
        result[at : at + 3] = p + R @ result[at : at + 3]
        result[at + 3 : at + 7] = quaternion(R @ _rotation_matrix(result[at + 3 : at + 7]))
    return result


def from_mujoco_q(model: Model, table: JointTable, q: Array) -> Array:
    """Configuration of brachiate from MuJoCo's."""
    peer_q = q.copy()
    for at, _, b in _free_joints(model, table):
        R, p = model.tree.R_parent_joint[b], model.tree.p_parent_joint[b]
        peer_q[at : at + 3] = R.T @ (peer_q[at : at + 3] - p)
        peer_q[at + 3 : at + 7] = quaternion(R.T @ _rotation_matrix(peer_q[at + 3 : at + 7]))
    result = np.empty(model.nq)
    result[table.q_index] = peer_q
    return result


def mujoco_basis(model: Model, table: JointTable, q: Array) -> Array:
    """B of v_MuJoCo = B v at q: MuJoCo's order, and linear velocities of free joints along world axes. B is orthogonal."""
    B = np.eye(model.nv)[table.v_index]
    peer_q = to_mujoco_q(model, table, q)
    for at, k, _ in _free_joints(model, table):
        B[k : k + 3] = _rotation_matrix(peer_q[at + 3 : at + 7]) @ B[k : k + 3]
    return B


def mujoco_bias_acceleration(model: Model, table: JointTable, q: Array, v: Array) -> Array:
    """Ḃ v of a_MuJoCo = B a + Ḃ v: linear velocities of free joints are along fixed axes in MuJoCo, along body axes in brachiate."""
    bias = np.zeros(model.nv)
    peer_q = to_mujoco_q(model, table, q)
    for at, k, _ in _free_joints(model, table):
        own = v[table.v_index[k : k + 6]]
        bias[k : k + 3] = _rotate(peer_q[at + 3 : at + 7], np.cross(own[3:], own[:3]))
    return bias


def _free_joints(model: Model, table: JointTable) -> list[tuple[int, int, int]]:
    """First index in q and in v of every free joint, in the peer's order, and its body."""
    found, q, v = [], 0, 0
    for e, b in zip(table.element, table.body):
        kind = int(model.tree.kind[e])
        if kind == FLOAT:
            found.append((q, v, int(b)))
        q, v = q + ELEMENT_NQ[kind], v + ELEMENT_NV[kind]
    return found


def _rotation_matrix(quaternion: Array) -> Array:
    return np.stack([_rotate(quaternion, unit) for unit in np.eye(3)], axis=1)


def _rotate(quaternion: Array, vector: Array) -> Array:
    w, u = quaternion[0], quaternion[1:]
    return vector + 2.0 * np.cross(u, np.cross(u, vector) + w * vector)
