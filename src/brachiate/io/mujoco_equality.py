"""Conversion of MuJoCo equality constraints: between links to loops, between joints to couplings."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np
from numpy.polynomial import Polynomial

from brachiate.io.import_notes import ImportNotes
from brachiate.io.mujoco_names import Names, unique_names
from brachiate.model.builder import ModelBuilder
from brachiate.model.joints import Fixed, Spherical
from brachiate.validation import Array

_E = mujoco.mjtEq
_UNIT = np.array([1.0, 0.0, 0.0, 0.0])


def add_equalities(m: Any, names: Names, builder: ModelBuilder, notes: ImportNotes) -> None:
    """Add every equality constraint that is a loop or a coupling; note the others."""
    for i, name in enumerate(unique_names([m.equality(i).name for i in range(m.neq)], "equality")):
        kind = _E(m.eq_type[i])
        if not m.eq_active0[i]:
            notes.add("equality constraints that are switched off (left out)", name)
        elif kind in (_E.mjEQ_CONNECT, _E.mjEQ_WELD):
            _loop(m, i, kind, name, names, builder)
        elif kind == _E.mjEQ_JOINT:
            _coupling(m, i, name, names, builder, notes)
        else:
            word = kind.name.removeprefix("mjEQ_").lower()
            notes.add("equality constraints of tendons, flexes and distances (left out)", f"{name} ({word})")


def _loop(m: Any, i: int, kind: mujoco.mjtEq, name: str, names: Names, builder: ModelBuilder) -> None:
    data = m.eq_data[i]
    ids = int(m.eq_obj1id[i]), int(m.eq_obj2id[i])
    if mujoco.mjtObj(m.eq_objtype[i]) == mujoco.mjtObj.mjOBJ_SITE:
        bodies = [int(m.site_bodyid[s]) for s in ids]
        frames: list[tuple[Array, Array]] = [(m.site_pos[s], m.site_quat[s]) for s in ids]
    elif kind == _E.mjEQ_CONNECT:
        bodies, frames = list(ids), [(data[0:3], _UNIT), (data[3:6], _UNIT)]
    else:
        # Data of a weld: the point on the second body, then its pose in the first body.
        bodies, frames = list(ids), [(data[3:6], data[6:10]), (data[0:3], _UNIT)]
    first, second = (names.links[b] for b in bodies)
    point = kind == _E.mjEQ_CONNECT
    builder.loop(
        name,
        Spherical() if point else Fixed(),
        first,
        second,
        first_at=frames[0][0],
        first_rotation=None if point else frames[0][1],
        second_at=frames[1][0],
        second_rotation=None if point else frames[1][1],
    )


def _coupling(m: Any, i: int, name: str, names: Names, builder: ModelBuilder, notes: ImportNotes) -> None:
    """Add y - y0 = a0 + a1 (x - x0) + ..., with x0 and y0 the reference posture, as a polynomial in x."""
    scalar = (mujoco.mjtJoint.mjJNT_HINGE, mujoco.mjtJoint.mjJNT_SLIDE)
    joints = [int(j) for j in (m.eq_obj1id[i], m.eq_obj2id[i]) if j >= 0]
    if any(mujoco.mjtJoint(m.jnt_type[j]) not in scalar for j in joints):
        notes.add("equality constraints of joints that are not one number (left out)", name)
        return
    y, *x = joints
    y0 = float(m.qpos0[m.jnt_qposadr[y]])
    coefficients = np.array(m.eq_data[i, :5])
    if x:
        moved = Polynomial(coefficients)(Polynomial([-float(m.qpos0[m.jnt_qposadr[x[0]]]), 1.0]))
        coefficients = np.append(moved.coef, np.zeros(5 - len(moved.coef)))
    else:
        coefficients = coefficients[:1]
    coefficients[0] += y0
    last = int(np.flatnonzero(coefficients).max(initial=0))
    builder.couple(name, names.joints[y], names.joints[x[0]] if x else None, tuple(float(c) for c in coefficients[: last + 1]))
