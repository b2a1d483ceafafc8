"""A model as a URDF and its states, for peers that know hinges only: every ball joint becomes three hinges, about x, y and z in turn.

The body and its freedoms are the same, and so are its motions; only the coordinates differ. Hinges are named by the place of their velocity
in ours, ``v12``; the root floats.
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

FAST = 1e3  # [rad/s] no limit
AROUND = 2.0 * np.pi  # [rad] likewise


def urdf(model: Model, frames: Mapping[str, Placement]) -> str:
    """The same body as a URDF, with frames that are fixed in its bodies as links without mass."""
    plan, tree, robot = convert.joints(model), model.tree, Element("robot", name=model.name)
    lower, upper = (np.where(np.isfinite(x), x, s * AROUND) for x, s in zip(model.limits, (-1.0, 1.0)))
    for i, e in enumerate(plan.element):
        kind, k, link = int(tree.kind[e]), int(tree.v_at[e]), _link(robot, f"row{i}", plan.mass[i], plan.carried[i, 9:] + plan.center[i])
        if link is not None:
            _inertia(link, plan.inertia[i])
        if kind == FLOAT:
            if i:
                raise ValueError("A URDF has one floating body, the first.")
            continue
        if kind not in (BALL, TURN):
            raise ValueError(f"Joints here are balls and hinges; row {i} is of kind {kind}.")
        above, place = f"row{plan.parent[i]}", plan.place[i]
        axes = np.eye(3) if kind == BALL else tree.axis[e][None]
        for n, axis in enumerate(axes):
            below = f"row{i}" if n == len(axes) - 1 else f"row{i}_{n}"
            if below != f"row{i}":
                SubElement(robot, "link", name=below)
            joint = _joint(robot, f"v{k + n}", "revolute", above, below, place)
            SubElement(joint, "axis", xyz=_words(axis))
            SubElement(
                joint,
                "limit",
                lower=repr(float(lower[k + n])),
                upper=repr(float(upper[k + n])),
                effort=repr(float(model.effort[k + n])),
                velocity=repr(FAST),
            )
            above, place = below, np.concatenate((np.eye(3).ravel(), np.zeros(3)))
    last = {int(b): i for i, b in enumerate(plan.body)}
    for name, frame in frames.items():
        i = last[frame.body]
        SubElement(robot, "link", name=name)
        _joint(
            robot, f"to_{name}", "fixed", f"row{i}", name, np.concatenate((frame.rotation.ravel(), plan.carried[i, 9:] + frame.position))
        )
    return tostring(robot, "unicode")


def _link(robot: Element, name: str, mass: float, center: Array) -> Element | None:
    """A link; its inertial, if it has mass."""
    link = SubElement(robot, "link", name=name)
    if mass == 0.0:
        return None
    inertial = SubElement(link, "inertial")
    SubElement(inertial, "origin", xyz=_words(center), rpy="0 0 0")
    SubElement(inertial, "mass", value=repr(float(mass)))
    return inertial


def _inertia(inertial: Element, I: Array) -> None:
    SubElement(inertial, "inertia", {f"i{'xyz'[r]}{'xyz'[c]}": repr(float(I[r, c])) for r in range(3) for c in range(r, 3)})


def _joint(robot: Element, name: str, kind: str, above: str, below: str, place: Array) -> Element:
    joint = SubElement(robot, "joint", name=name, type=kind)
    rpy = Rotation.from_matrix(place[:9].reshape(3, 3)).as_euler("xyz")
    SubElement(joint, "origin", xyz=_words(place[9:]), rpy=_words(rpy))
    SubElement(joint, "parent", link=above)
    SubElement(joint, "child", link=below)
    return joint


def _words(numbers: Array) -> str:
    return " ".join(repr(float(x)) for x in numbers)


class Hinged(NamedTuple):
    """A state by hinges, in the order of our velocities; the first six are the root's, in its own axes as ours are."""

    base: Array  # (7,) of the root: position [m], quaternion with w last
    angle: Array  # (nv,) [rad], of the root zero
    rate: Array  # (nv,)
    acceleration: Array  # (nv,)
    turns: Array  # (nv, nv) our velocities are this times the rates; the torques of hinges are its transpose times ours


def hinged(model: Model, q: Array, v: Array, a: Array) -> Hinged:
    """The same state by hinges."""
    tree = model.tree
    angle, turns, drift = np.zeros(model.nv), np.eye(model.nv), np.zeros(model.nv)
    base = np.zeros(7)
    for e, kind in enumerate(tree.kind):
        j, k = int(tree.q_at[e]), int(tree.v_at[e])
        if kind == FLOAT:
            R, p = tree.R_parent_joint[0], tree.p_parent_joint[0]
            base[:3] = p + R @ q[j : j + 3]
            base[3:] = (Rotation.from_matrix(R) * _turn(q[j + 3 : j + 7])).as_quat()
        elif kind == BALL:
            angle[k : k + 3] = _turn(q[j : j + 4]).as_euler("XYZ")
            turns[k : k + 3, k : k + 3] = E = _axes(*angle[k + 1 : k + 3])
            r = np.linalg.solve(E, v[k : k + 3])
            x, y, z = E.T
            drift[k : k + 3] = -r[0] * np.cross(r[1] * y + r[2] * z, x) - r[1] * np.cross(r[2] * z, y)
        else:
            angle[k] = q[j]
    return Hinged(base, angle, np.linalg.solve(turns, v), np.linalg.solve(turns, a - drift), turns)


def _turn(quaternion: Array) -> Rotation:
    return Rotation.from_quat(np.roll(quaternion, -1))


def _axes(second: float, third: float) -> Array:
    """Axes of the three hinges as columns, seen from what they carry."""
    y, z = Rotation.from_euler("y", second).as_matrix(), Rotation.from_euler("z", third).as_matrix()
    return np.stack((z.T @ y.T[:, 0], z.T[:, 1], np.eye(3)[2]), axis=1)
