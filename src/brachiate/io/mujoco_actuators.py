"""Conversion of MuJoCo actuators on single coordinates; their armature and damping are added to the joint."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np

from brachiate.io.import_notes import ImportNotes
from brachiate.io.mujoco_names import Names, unique_names
from brachiate.validation import Array

_T, _G, _B, _D = mujoco.mjtTrn, mujoco.mjtGain, mujoco.mjtBias, mujoco.mjtDyn
_ELSEWHERE = "actuators that act on no joint: tendon, site, body or crank (left out)"
_LATER = (_D.mjDYN_NONE, _D.mjDYN_FILTER, _D.mjDYN_FILTEREXACT)


@dataclass
class Motors:
    """Actuators as arguments of the model builder, and their effects by velocity coordinate."""

    actuators: list[dict[str, Any]]
    effort: Array  # (nv,) largest torque or force, infinite if unlimited
    armature: Array  # (nv,) of the rotors
    damping: Array  # (nv,)
    speed: Array  # (nv,) largest speed, infinite if unlimited


def convert_actuators(m: Any, names: Names, notes: ImportNotes, speeds: Mapping[str, float]) -> Motors:
    """Convert all actuators; ``speeds``: velocity limits by joint, which MuJoCo does not have."""
    motors = Motors([], np.full(m.nv, np.inf), np.zeros(m.nv), np.zeros(m.nv), np.full(m.nv, np.inf))
    for j in range(m.njnt):
        motors.speed[m.jnt_dofadr[j]] = speeds.get(m.joint(j).name, np.inf)
    strength: dict[int, float] = {}
    for i, name in enumerate(unique_names([m.actuator(i).name for i in range(m.nactuator)], "actuator")):
        axis = _axis(m, i, name, notes)
        if axis is None:
            continue
        j, k = axis
        v, gear = int(m.jnt_dofadr[j]) + k, float(m.actuator_gear[i, k])
        kind = _kind(m, i)
        gain, bias = _law(m, i, name, notes)
        motors.armature[v] += gear**2 * m.actuator_armature[i]
        motors.damping[v] += gear**2 * m.actuator_damping[i]
        if m.actuator_dampingpoly[i].any():
            notes.add("springs and dampers that are not linear (their linear part is kept)", name)
        c = int(m.actuator_ctrladr[i])
        control = tuple(m.actuator_ctrlrange[c]) if m.actuator_ctrllimited[c] else (-np.inf, np.inf)
        force = tuple(m.actuator_forcerange[i]) if m.actuator_forcelimited[i] else (-np.inf, np.inf)
        if np.isfinite(force).any() and -force[0] != force[1]:
            notes.add("ranges of force that are not the same both ways (the larger side is the limit)", name)
        strength[v] = strength.get(v, 0.0) + abs(gear) * _max_force(m, i, kind, control, force)
        coordinate = names.coordinates(j)[k]
        motors.actuators.append(
            {
                "name": name,
                "coordinate": coordinate,
                "gear": gear,
                "kind": kind,
                "control_range": control,
                "force_range": force,
                "gain": gain,
                "bias": bias,
            }
        )
    for v, most in strength.items():
        motors.effort[v] = most
    for j in np.flatnonzero(m.jnt_actfrclimited):
        v = int(m.jnt_dofadr[j])
        if -m.jnt_actfrcrange[j][0] != m.jnt_actfrcrange[j][1]:
            notes.add("ranges of force that are not the same both ways (the larger side is the limit)", names.joints[j])
        motors.effort[v] = min(motors.effort[v], float(np.abs(m.jnt_actfrcrange[j]).max()))
    return motors


def _axis(m: Any, i: int, name: str, notes: ImportNotes) -> tuple[int, int] | None:
    """Joint of an actuator, and the index of the velocity it drives; None if it does not drive a single one."""
    transmission = _T(m.actuator_trntype[i])
    if transmission not in (_T.mjTRN_JOINT, _T.mjTRN_JOINTINPARENT):
        notes.add(_ELSEWHERE, name)
        return None
    muscle = _G(m.actuator_gaintype[i]) == _G.mjGAIN_MUSCLE or _D(m.actuator_dyntype[i]) == _D.mjDYN_MUSCLE
    if muscle or m.actuator_ctrlnum[i] != 1 or m.actuator_plugin[i] >= 0:
        notes.add("muscles, plugins and actuators with several controls (left out)", name)
        return None
    j = int(m.actuator_trnid[i, 0])
    type_ = mujoco.mjtJoint(m.jnt_type[j])
    if type_ in (mujoco.mjtJoint.mjJNT_HINGE, mujoco.mjtJoint.mjJNT_SLIDE):
        return j, 0
    used = np.flatnonzero(m.actuator_gear[i, : 3 if type_ == mujoco.mjtJoint.mjJNT_BALL else 6])
    # Forces of a free joint are in world axes in MuJoCo, and in link axes here; torques are in link axes in both.
    turning = type_ == mujoco.mjtJoint.mjJNT_BALL or (used >= 3).all()
    if len(used) != 1 or not turning or transmission == _T.mjTRN_JOINTINPARENT:
        notes.add("actuators of ball and free joints that are not about one axis of the link (left out)", name)
        return None
    return j, int(used[0])


def _law(m: Any, i: int, name: str, notes: ImportNotes) -> tuple[float, tuple[float, float, float]]:
    """Gain and bias of an actuator whose force is linear in control, length and velocity; others are noted."""
    affine = _B(m.actuator_biastype[i]) == _B.mjBIAS_AFFINE
    known = _G(m.actuator_gaintype[i]) == _G.mjGAIN_FIXED and (affine or _B(m.actuator_biastype[i]) == _B.mjBIAS_NONE)
    if not known or _D(m.actuator_dyntype[i]) != _D.mjDYN_NONE:
        notes.add("actuators whose force is not linear in control, length and speed (kept without the rest)", name)
    b = m.actuator_biasprm[i]
    return float(m.actuator_gainprm[i, 0]), (float(b[0]), float(b[1]), float(b[2])) if affine else (0.0, 0.0, 0.0)


def _kind(m: Any, i: int) -> str:
    gain, bias = m.actuator_gainprm[i], m.actuator_biasprm[i]
    plain = _G(m.actuator_gaintype[i]) == _G.mjGAIN_FIXED and _D(m.actuator_dyntype[i]) == _D.mjDYN_NONE
    if plain and _B(m.actuator_biastype[i]) == _B.mjBIAS_NONE and gain[0] == 1.0:
        return "motor"
    if plain and _B(m.actuator_biastype[i]) == _B.mjBIAS_AFFINE and gain[0] and not bias[0]:
        if bias[1] == -gain[0]:
            return "position"
        if bias[1] == 0.0 and bias[2] == -gain[0]:
            return "velocity"
    return "general"


def _max_force(m: Any, i: int, kind: str, control: tuple[float, ...], force: tuple[float, ...]) -> float:
    """Largest force of an actuator, before its gear ratio."""
    most = max(abs(x) for x in force)
    proportional = (
        _G(m.actuator_gaintype[i]) == _G.mjGAIN_FIXED
        and _B(m.actuator_biastype[i]) == _B.mjBIAS_NONE
        and _D(m.actuator_dyntype[i]) in _LATER
    )
    gain = abs(float(m.actuator_gainprm[i, 0]))
    if (kind == "motor" or proportional) and gain:
        most = min(most, gain * max(abs(x) for x in control))
    return most
