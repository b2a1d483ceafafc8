"""Conversion of MuJoCo joints: single joints, several on one body, and nonzero reference angles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np

from brachiate.errors import ModelError
from brachiate.io.import_notes import ImportNotes
from brachiate.io.mujoco_actuators import Motors
from brachiate.io.mujoco_names import SUFFIXES, Names
from brachiate.model.joints import Compound, Fixed, Free, Joint, Prismatic, Revolute, Spherical, cone_limit
from brachiate.validation import Array, rotation_matrix

HINGE, SLIDE, BALL, FREE = (
    mujoco.mjtJoint.mjJNT_HINGE,
    mujoco.mjtJoint.mjJNT_SLIDE,
    mujoco.mjtJoint.mjJNT_BALL,
    mujoco.mjtJoint.mjJNT_FREE,
)


@dataclass
class _Part:
    """MuJoCo joint on a body: its axis in the body at q = 0."""

    j: int
    type: mujoco.mjtJoint
    axis: Array
    anchor: Array
    ref: float


def convert_joint(m: Any, b: int, names: Names, motors: Motors, notes: ImportNotes) -> tuple[Joint, Array, Array]:
    """Return the joint of body b, and its position and orientation in the parent."""
    at, R = m.body_pos[b].copy(), rotation_matrix(m.body_quat[b], f"rotation of {names.links[b]!r}")
    first, count = int(m.body_jntadr[b]), int(m.body_jntnum[b])
    if count == 0:
        return Fixed(), at, R
    parts = [_part(m, j) for j in range(first, first + count)]
    if parts[0].type == FREE:
        # The position of a free body is in the world; that in the file is only its initial value.
        return _joint(m, parts[0], names, motors, notes), np.zeros(3), np.eye(3)
    at, R = _fold_references(parts, at, R, names)
    if count == 1:
        return _joint(m, parts[0], names, motors, notes), at, R
    return Compound({names.joints[p.j]: _joint(m, p, names, motors, notes, alone=False) for p in parts}), at, R


def _part(m: Any, j: int) -> _Part:
    type_ = mujoco.mjtJoint(m.jnt_type[j])
    ref = float(m.qpos0[m.jnt_qposadr[j]]) if type_ in (HINGE, SLIDE) else 0.0
    return _Part(j, type_, m.jnt_axis[j].copy(), m.jnt_pos[j].copy(), ref)


def _fold_references(parts: list[_Part], at: Array, R: Array, names: Names) -> tuple[Array, Array]:
    """Move the constants of E(q - ref) into the placement of the joint, so that q equals MuJoCo's qpos.

    E1(q1 - r1) E2(q2 - r2) ... = K1 E1(q1) K2 E2(q2) ... with the constant motions Ki = Ei(-ri). Each K goes to the front;
    on the way it carries the axes and anchors of the joints it passes. A ball it cannot pass: its quaternion would change.
    """
    for i, part in enumerate(parts):
        if part.ref == 0.0:
            continue
        K, k = _constant(part)
        for passed in parts[:i]:
            if passed.type == BALL:
                raise ModelError(
                    f"Joint {names.joints[part.j]!r} has ref={part.ref:g} and follows the ball joint {names.joints[passed.j]!r} "
                    "on one body, which is not supported. Put them on separate bodies."
                )
            passed.axis = K.T @ passed.axis
            passed.anchor = K.T @ (passed.anchor - k)
        at, R = at + R @ k, R @ K
    return at, R


def _constant(part: _Part) -> tuple[Array, Array]:
    """Rotation and displacement of a hinge or slide joint at minus its reference."""
    if part.type == SLIDE:
        return np.eye(3), -part.ref * part.axis
    half = -part.ref / 2
    K = rotation_matrix(np.array([np.cos(half), *(np.sin(half) * part.axis)]), "reference of a joint")
    return K, part.anchor - K @ part.anchor


def _joint(m: Any, part: _Part, names: Names, motors: Motors, notes: ImportNotes, *, alone: bool = True) -> Joint:
    j = part.j
    name = names.joints[j]
    size = len(SUFFIXES[part.type])
    v = slice(int(m.jnt_dofadr[j]), int(m.jnt_dofadr[j]) + size)
    q = int(m.jnt_qposadr[j])
    _note_nonlinear(m, j, v, name, notes)
    more: dict[str, Any] = {
        "damping": m.dof_damping[v] + motors.damping[v],
        "friction": m.dof_frictionloss[v],
        "armature": m.dof_armature[v] + motors.armature[v],
        "effort": motors.effort[v],
        "speed": motors.speed[v],
    }
    if part.type == FREE:
        if m.jnt_stiffness[j]:
            notes.add("springs of free joints (left out)", name)
        if more["armature"][:3].any():
            notes.add("armature of free joints (along the link's axes here, the world's there)", name)
        return Free(**more)
    more |= {"stiffness": m.jnt_stiffness[j], "rest": m.qpos_spring[q : q + (4 if part.type == BALL else 1)]}
    if part.type == BALL:
        if m.jnt_limited[j] and alone:
            most = min(float(m.jnt_range[j, 1]), np.pi)
            notes.add("ranges of ball joints (MuJoCo's is on the whole angle; here swing from z and twist each have it)", name)
            more["cone"] = cone_limit("z", most, (-most, most))
        elif m.jnt_limited[j]:
            notes.add("ranges of ball joints that share a body with other joints (left out)", name)
        return Spherical(anchor=part.anchor, **more)
    if m.jnt_limited[j]:
        more["limits"] = tuple(m.jnt_range[j])
    return Revolute(part.axis, anchor=part.anchor, **more) if part.type == HINGE else Prismatic(part.axis, **more)


def _note_nonlinear(m: Any, j: int, v: slice, name: str, notes: ImportNotes) -> None:
    if m.jnt_stiffnesspoly[j].any() or m.dof_dampingpoly[v].any() or m.jnt_plasticadr[j] >= 0:
        notes.add("springs and dampers that are not linear (their linear part is kept)", name)
