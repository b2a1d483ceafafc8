"""Our models as Pinocchio's and MuJoCo's: the same tree, and where each of our numbers is in theirs.

Both peers get the flat tree (what is fixed is already part of the body that carries it). They number joints depth first;
Pinocchio's mass matrix is silently wrong otherwise.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from brachiate.model.flatten import Placement
from brachiate.model.joints import BALL, ELEMENT_NQ, ELEMENT_NV, FLOAT, SLIDE, TURN
from brachiate.model.model import Model
from brachiate.validation import Array

GRAVITY = (0.0, 0.0, -9.81)


class Joints(NamedTuple):
    """One row for each elementary motion, depth first. A joint of several has massless bodies between."""

    parent: Array  # (n,) row that carries this one, -1 for the world
    body: Array  # (n,) our body
    element: Array  # (n,) our element
    place: Array  # (n, 12) rotation by rows, position [m]: the joint in its parent
    carried: Array  # (n, 12) the body in the joint
    mass: Array  # (n,) [kg]
    center: Array  # (n, 3) [m]
    inertia: Array  # (n, 3, 3) [kg·m²] about the centre
    q: Array  # (nq,) our place in q of each of their numbers, quaternions as we have them: w first
    v: Array  # (nv,) our place in v of each of their velocities


def depth_first(model: Model) -> list[int]:
    """Bodies in an order in which every subtree is one run."""
    children: dict[int, list[int]] = {}
    for body, parent in enumerate(model.tree.parent):
        children.setdefault(int(parent), []).append(body)
    order: list[int] = []
    waiting = children.get(-1, [])[::-1]
    while waiting:
        order.append(waiting.pop())
        waiting += children.get(order[-1], [])[::-1]
    return order


def joints(model: Model) -> Joints:
    """Flat description of a model for peers."""
    tree, rows = model.tree, []
    last: dict[int, tuple[int, Array]] = {-1: (-1, np.zeros(3))}  # of every body: its row, and where the body is in it
    q: list[int] = []
    v: list[int] = []
    for b in depth_first(model):
        above, shift = last[int(tree.parent[b])]
        R, p = tree.R_parent_joint[b], shift + tree.p_parent_joint[b]
        for e in range(tree.element[b], tree.element[b + 1]):
            rows.append([above, b, e, [*R.ravel(), *(p + R @ tree.anchor[e])], -tree.anchor[e], e == tree.element[b + 1] - 1])
            above, R, p = len(rows) - 1, np.eye(3), -tree.anchor[e]
            q += range(tree.q_at[e], tree.q_at[e] + ELEMENT_NQ[tree.kind[e]])
            v += range(tree.v_at[e], tree.v_at[e] + ELEMENT_NV[tree.kind[e]])
        last[b] = above, p
    full = np.array([row[5] for row in rows])
    inertia = tree.inertia[[row[1] for row in rows]] * full[:, None]
    return Joints(
        parent=np.array([row[0] for row in rows], np.int32),
        body=np.array([row[1] for row in rows]),
        element=np.array([row[2] for row in rows]),
        place=np.array([row[3] for row in rows], float),
        carried=np.array([[*np.eye(3).ravel(), *row[4]] for row in rows], float),
        mass=np.ascontiguousarray(inertia[:, 0]),
        center=np.ascontiguousarray(inertia[:, 1:4]),
        inertia=np.ascontiguousarray(inertia[:, [4, 5, 6, 5, 7, 8, 6, 8, 9]].reshape(-1, 3, 3)),
        q=np.array(q),
        v=np.array(v),
    )


class Ends(NamedTuple):
    """The two points that a spherical loop keeps together, each in a body (-1: the inertial frame)."""

    first_body: int
    first: Array  # (3,) [m]
    second_body: int
    second: Array  # (3,) [m]


def loop_ends(model: Model) -> list[Ends]:
    """The points that the model's loops keep together."""
    found = []
    for loop in model.loops:
        if loop.joint.type != "spherical":
            raise ValueError(f"Loop {loop.name!r} is closed by a {loop.joint.type} joint; peers here get spherical ones only.")
        ends: list[Any] = []
        for link, at in ((loop.first, loop.first_position), (loop.second, loop.second_position)):
            place = model.placements.get(link, Placement(-1, np.eye(3), np.zeros(3)))
            ends += [place.body, place.position + place.rotation @ at]
        found.append(Ends(*ends))
    return found


def to_pinocchio(model: Model) -> Any:
    """The same model for Pinocchio: a ``pinocchio.Model``."""
    import pinocchio as pin  # noqa: PLC0415

    tree, plan, theirs = model.tree, joints(model), pin.Model()
    theirs.gravity.linear = np.array(GRAVITY)
    for i, e in enumerate(plan.element):
        place = pin.SE3(plan.place[i, :9].reshape(3, 3), plan.place[i, 9:])
        joint = theirs.addJoint(int(plan.parent[i]) + 1, _pinocchio_joint(pin, int(tree.kind[e]), tree.axis[e]), place, f"joint{i}")
        body = pin.Inertia(plan.mass[i], plan.center[i], plan.inertia[i])
        theirs.appendBodyToJoint(joint, body, pin.SE3(np.eye(3), plan.carried[i, 9:]))
    theirs.armature = tree.armature[plan.v]
    return theirs


def pinocchio_arrays(model: Model, plan: Joints) -> list[Array]:
    """The same model as ``model_of`` in ``native/pinocchio_model.hpp`` takes it."""
    tree = model.tree
    arrays = (plan.parent + 1, tree.kind[plan.element].astype(np.int32), tree.axis[plan.element], plan.place, plan.mass, plan.center,
              plan.inertia, plan.carried, tree.armature[plan.v])  # fmt: skip
    assert arrays[0].dtype == np.int32
    return [np.ascontiguousarray(x) for x in arrays]


def _pinocchio_joint(pin: Any, kind: int, axis: Array) -> Any:
    """Joint about an axis of the frame where there is one: that is faster than about any axis."""
    if kind == BALL:
        return pin.JointModelSpherical()
    if kind == FLOAT:
        return pin.JointModelFreeFlyer()
    letter = next((name for name, unit in zip("XYZ", np.eye(3)) if (axis == unit).all()), None)
    if letter:
        return getattr(pin, f"JointModel{'R' if kind == TURN else 'P'}{letter}")()
    return (pin.JointModelRevoluteUnaligned if kind == TURN else pin.JointModelPrismaticUnaligned)(axis)


def to_pinocchio_q(model: Model, plan: Joints, q: Array) -> Array:
    """Our configuration in Pinocchio's order; its quaternions have w last."""
    result, at = q[plan.q], 0
    for e in plan.element:
        kind = model.tree.kind[e]
        first = at + (3 if kind == FLOAT else 0)
        if kind in (BALL, FLOAT):
            result[first : first + 4] = np.roll(result[first : first + 4], -1)
        at += ELEMENT_NQ[kind]
    return result


def from_pinocchio_q(model: Model, plan: Joints, q: Array) -> Array:
    """Pinocchio's configuration as ours."""
    theirs, at = q.copy(), 0
    for e in plan.element:
        kind = model.tree.kind[e]
        first = at + (3 if kind == FLOAT else 0)
        if kind in (BALL, FLOAT):
            theirs[first : first + 4] = np.roll(theirs[first : first + 4], 1)
        at += ELEMENT_NQ[kind]
    result = np.empty(model.nq)
    result[plan.q] = theirs
    return result


def pinocchio_ends(model: Model, plan: Joints) -> list[Ends]:
    """The model's loops by Pinocchio's joints (0: the universe) and points in them; what moves comes first, as it has it."""
    last = {int(b): i for i, b in enumerate(plan.body)}  # of a body of several joints, the last one carries it

    def end(body: int, at: Array) -> tuple[int, Array]:
        return (0, at) if body < 0 else (last[body] + 1, plan.carried[last[body], 9:] + at)

    found = [(end(e.first_body, e.first), end(e.second_body, e.second)) for e in loop_ends(model)]
    return [Ends(*a, *b) if a[0] else Ends(*b, *a) for a, b in found]


def to_mujoco(model: Model) -> Any:
    """The same model for MuJoCo, as a ``mujoco.MjSpec``: nothing but a free tree, every other stage switched off.

    A spec and not an XML text, because the reader of XML gives up at 500 levels; ``to_xml`` of the spec gives the text.
    """
    import mujoco  # noqa: PLC0415

    tree, spec, bodies = model.tree, mujoco.MjSpec(), {}
    bodies[-1] = spec.worldbody
    spec.option.gravity = GRAVITY
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_EULER
    if mujoco.__version__ == "4.0.0":  # its factor is wrong where the Jacobian is sparse (nv >= 60); fixed in 4.0.1, mujoco#3767
        spec.option.jacobian = mujoco.mjtJacobian.mjJAC_DENSE
    off = ("CONSTRAINT", "EQUALITY", "FRICTIONLOSS", "LIMIT", "CONTACT", "SPRING", "DAMPER", "WARMSTART", "ACTUATION", "SENSOR",
           "EULERDAMP", "AUTORESET", "ISLAND")  # fmt: skip
    spec.option.disableflags = sum(int(getattr(mujoco.mjtDisableBit, f"mjDSBL_{name}")) for name in off)
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
    """Add the model's loops to its spec as ``connect`` constraints.

    Each is between two sites. One given by an anchor would be closed in the neutral posture, where our loops are open.
    """
    import mujoco  # noqa: PLC0415

    for name in ("CONSTRAINT", "EQUALITY"):
        spec.option.disableflags &= ~int(getattr(mujoco.mjtDisableBit, f"mjDSBL_{name}"))
    for i, ends in enumerate(loop_ends(model)):
        names = []
        for body, at in ((ends.first_body, ends.first), (ends.second_body, ends.second)):
            carrier = spec.worldbody if body < 0 else spec.body(f"body{body}")
            names.append(f"loop{i}_{len(names)}")
            carrier.add_site(name=names[-1], pos=at)
        spec.add_equality(
            name=f"loop{i}", type=mujoco.mjtEq.mjEQ_CONNECT, objtype=mujoco.mjtObj.mjOBJ_SITE, name1=names[0], name2=names[1],
            solref=solref, solimp=solimp,
        )  # fmt: skip


def mjcf(model: Model) -> str:
    """The same model as an MJCF text."""
    spec = to_mujoco(model)
    spec.compile()
    return spec.to_xml()


def quaternion(R: Array) -> Array:
    """Quaternion (w, x, y, z) of a rotation matrix."""
    import mujoco  # noqa: PLC0415

    result = np.zeros(4)
    mujoco.mju_mat2Quat(result, np.ascontiguousarray(R).ravel())
    return result


def to_mujoco_q(model: Model, plan: Joints, q: Array) -> Array:
    """Our configuration in MuJoCo's order. A free root's position is in its parent for us, in the world for MuJoCo."""
    result = q[plan.q]
    for at, _, b in _free(model, plan):
        R, p = model.tree.R_parent_joint[b], model.tree.p_parent_joint[b]
        result[at : at + 3] = p + R @ result[at : at + 3]
        turned = np.zeros((3, 3))
        for k, unit in enumerate(np.eye(3)):
            turned[:, k] = R @ _rotate(result[at + 3 : at + 7], unit)
        result[at + 3 : at + 7] = quaternion(turned)
    return result


def from_mujoco_q(model: Model, plan: Joints, q: Array) -> Array:
    """MuJoCo's configuration as ours."""
    theirs = q.copy()
    for at, _, b in _free(model, plan):
        R, p = model.tree.R_parent_joint[b], model.tree.p_parent_joint[b]
        theirs[at : at + 3] = R.T @ (theirs[at : at + 3] - p)
        theirs[at + 3 : at + 7] = quaternion(R.T @ np.stack([_rotate(theirs[at + 3 : at + 7], unit) for unit in np.eye(3)], axis=1))
    result = np.empty(model.nq)
    result[plan.q] = theirs
    return result


def mujoco_basis(model: Model, plan: Joints, q: Array) -> Array:
    """B of v_theirs = B v_ours at q: their order, and a free joint's linear velocity along world axes."""
    B = np.eye(model.nv)[plan.v]
    theirs = to_mujoco_q(model, plan, q)
    for at, k, _ in _free(model, plan):
        R = np.stack([_rotate(theirs[at + 3 : at + 7], unit) for unit in np.eye(3)], axis=1)
        B[k : k + 3] = R @ B[k : k + 3]
    return B


def mujoco_drift(model: Model, plan: Joints, q: Array, v: Array) -> Array:
    """Ḃ v of a_theirs = B a_ours + Ḃ v: their linear velocity of a free joint does not turn with the body."""
    drift = np.zeros(model.nv)
    theirs = to_mujoco_q(model, plan, q)
    for at, k, _ in _free(model, plan):
        own = v[plan.v[k : k + 6]]
        drift[k : k + 3] = _rotate(theirs[at + 3 : at + 7], np.cross(own[3:], own[:3]))
    return drift


def _free(model: Model, plan: Joints) -> list[tuple[int, int, int]]:
    """Of every free joint: where its numbers and velocities start in the peer's order, and our body."""
    found, q, v = [], 0, 0
    for e, b in zip(plan.element, plan.body):
        kind = int(model.tree.kind[e])
        if kind == FLOAT:
            found.append((q, v, int(b)))
        q, v = q + ELEMENT_NQ[kind], v + ELEMENT_NV[kind]
    return found


def _rotate(quaternion: Array, vector: Array) -> Array:
    w, u = quaternion[0], quaternion[1:]
    return vector + 2.0 * np.cross(u, np.cross(u, vector) + w * vector)
