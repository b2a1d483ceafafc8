"""URDF export with hinges only, for peers without ball joints: each becomes three hinges about x, y and z (intrinsic Euler angles).

Inertia and degrees of freedom are the same, only the coordinates differ. The hinge of velocity 12 of brachiate is named ``v12``; the base
floats.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple
from xml.etree.ElementTree import Element, SubElement, tostring

import numpy as np
from scipy.spatial.transform import Rotation

import convert
from brachiate.model.flatten import Placement
from brachiate.model.joints import BALL, FLOAT, TURN
from brachiate.model.model import Model
from brachiate.validation import Array

UNLIMITED_VELOCITY = 1e3  # [rad/s]
UNLIMITED_ANGLE = 2.0 * np.pi  # [rad]


def urdf(model: Model, frames: Mapping[str, Placement]) -> str:
    """The model as a URDF; frames that are fixed in bodies become massless links."""
    table, tree, robot = convert.joint_table(model), model.tree, Element("robot", name=model.name)
    lower, upper = (np.where(np.isfinite(x), x, sign * UNLIMITED_ANGLE) for x, sign in zip(model.limits, (-1.0, 1.0)))
    for i, e in enumerate(table.element):
        kind, k = int(tree.kind[e]), int(tree.v_at[e])
        _add_link(robot, f"row{i}", table.mass[i], table.body_placement[i, 9:] + table.center[i], table.inertia[i])
        if kind == FLOAT:
            if i:
                raise ValueError("Only the first body of a URDF can float.")
            continue
        if kind not in (BALL, TURN):
            raise ValueError(f"Only ball joints and hinges can be exported; joint {i} is of kind {kind}.")
        parent, placement = f"row{table.parent[i]}", table.joint_placement[i]
        axes = np.eye(3) if kind == BALL else tree.axis[e][None]
        for n, axis in enumerate(axes):
            child = f"row{i}" if n == len(axes) - 1 else f"row{i}_{n}"
            if child != f"row{i}":
                SubElement(robot, "link", name=child)
            joint = _add_joint(robot, f"v{k + n}", "revolute", parent, child, placement)
            SubElement(joint, "axis", xyz=_text(axis))
            SubElement(
                joint,
                "limit",
                lower=repr(float(lower[k + n])),
                upper=repr(float(upper[k + n])),
                effort=repr(float(model.effort[k + n])),
                velocity=repr(UNLIMITED_VELOCITY),
            )
            parent, placement = child, np.concatenate((np.eye(3).ravel(), np.zeros(3)))
    last = {int(b): i for i, b in enumerate(table.body)}
    for name, frame in frames.items():
        i = last[frame.body]
        SubElement(robot, "link", name=name)
        placement = np.concatenate((frame.rotation.ravel(), table.body_placement[i, 9:] + frame.position))
        _add_joint(robot, f"to_{name}", "fixed", f"row{i}", name, placement)
    return tostring(robot, "unicode")


def _add_link(robot: Element, name: str, mass: float, center: Array, inertia: Array) -> None:
    link = SubElement(robot, "link", name=name)
    if mass == 0.0:
        return
    inertial = SubElement(link, "inertial")
    SubElement(inertial, "origin", xyz=_text(center), rpy="0 0 0")
    SubElement(inertial, "mass", value=repr(float(mass)))
    SubElement(inertial, "inertia", {f"i{'xyz'[r]}{'xyz'[c]}": repr(float(inertia[r, c])) for r in range(3) for c in range(r, 3)})


def _add_joint(robot: Element, name: str, kind: str, parent: str, child: str, placement: Array) -> Element:
    joint = SubElement(robot, "joint", name=name, type=kind)
    rpy = Rotation.from_matrix(placement[:9].reshape(3, 3)).as_euler("xyz")
    SubElement(joint, "origin", xyz=_text(placement[9:]), rpy=_text(rpy))
    SubElement(joint, "parent", link=parent)
    SubElement(joint, "child", link=child)
    return joint


def _text(numbers: Array) -> str:
    return " ".join(repr(float(x)) for x in numbers)


class HingeState(NamedTuple):
    """A state in hinge coordinates, in the order of brachiate's velocities; the first six are the base's, along its own axes."""

    base: Array  # (7,) of the base: position [m], quaternion (x, y, z, w)
    angle: Array  # (nv,) [rad], zero for the base
    rate: Array  # (nv,)
    acceleration: Array  # (nv,)
    jacobian: Array  # (nv, nv) E of v = E rate; hinge torques are Eᵀ τ


def hinge_state(model: Model, q: Array, v: Array, a: Array) -> HingeState:
    """A state in hinge coordinates."""
    tree = model.tree
    angle, jacobian, bias = np.zeros(model.nv), np.eye(model.nv), np.zeros(model.nv)
    base = np.zeros(7)
    for e, kind in enumerate(tree.kind):
        j, k = int(tree.q_at[e]), int(tree.v_at[e])
        if kind == FLOAT:
            R, p = tree.R_parent_joint[0], tree.p_parent_joint[0]
            base[:3] = p + R @ q[j : j + 3]
            base[3:] = (Rotation.from_matrix(R) * _rotation(q[j + 3 : j + 7])).as_quat()
        elif kind == BALL:
            angle[k : k + 3] = _rotation(q[j : j + 4]).as_euler("XYZ")
            jacobian[k : k + 3, k : k + 3] = E = _hinge_axes(*angle[k + 1 : k + 3])
            r = np.linalg.solve(E, v[k : k + 3])
            x, y, z = E.T
            bias[k : k + 3] = -r[0] * np.cross(r[1] * y + r[2] * z, x) - r[1] * np.cross(r[2] * z, y)
        else:
            angle[k] = q[j]
    return HingeState(base, angle, np.linalg.solve(jacobian, v), np.linalg.solve(jacobian, a - bias), jacobian)


def _rotation(quaternion: Array) -> Rotation:
    return Rotation.from_quat(np.roll(quaternion, -1))


def _hinge_axes(second: float, third: float) -> Array:
    """Axes of the three hinges as columns, in the frame of the child link."""
    y, z = Rotation.from_euler("y", second).as_matrix(), Rotation.from_euler("z", third).as_matrix()
    return np.stack((z.T @ y.T[:, 0], z.T[:, 1], np.eye(3)[2]), axis=1)
