"""From MuJoCo's compiled model to ours, body by body."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np

from brachiate.io.inertia import Inertial
from brachiate.io.mujoco_actuators import Motors, motors_of
from brachiate.io.mujoco_equality import add_equalities
from brachiate.io.mujoco_joints import joint_of
from brachiate.io.mujoco_shapes import shapes_of
from brachiate.io.names import Names, unique_names
from brachiate.io.notes import Notes
from brachiate.io.source import Source
from brachiate.model.builder import ModelBuilder
from brachiate.model.data import STANDARD_GRAVITY
from brachiate.model.model import Model
from brachiate.validation import Array, rotation_matrix

_SWITCHES = ("CONSTRAINT", "EQUALITY", "FRICTIONLOSS", "LIMIT", "CONTACT", "SPRING", "DAMPER", "ACTUATION")


def model_of(m: Any, source: Source, name: str) -> Model:
    """Turn a compiled MuJoCo model into a model of ours.

    Args:
        m: The mujoco.MjModel.
        source: Where it came from: what MuJoCo had no place for, and the notes to write to.
        name: Name of the model.
    """
    notes = source.notes
    names = Names(m)
    builder = ModelBuilder(name)
    motors = motors_of(m, names, notes, source.speeds)
    _ground(m, names, builder, notes)
    for b in range(1, m.nbody):
        _link(m, b, names, builder, motors, source)
    taken = {names.link(b) for b in range(m.nbody)}  # MuJoCo lets a body and a site share a name; a frame of ours has one
    named = [m.site(s).name for s in range(m.nsite)]
    sites = unique_names([f"{name}.site" if name.replace("/", ".") in taken else name for name in named], "site")
    for s, site in enumerate(sites):
        builder.site(site, names.link(int(m.site_bodyid[s])), m.site_pos[s], m.site_quat[s])
    add_equalities(m, names, builder, notes)
    _add_what_mujoco_has_no_place_for(m, names, builder, source)
    for actuator in motors.actuators:
        builder.actuator(**actuator)
    _poses(m, names, builder)
    _note_the_rest(m, names, notes)
    return builder.build()


def _add_what_mujoco_has_no_place_for(m: Any, names: Names, builder: ModelBuilder, source: Source) -> None:
    links = {m.body(b).name: link for b, link in enumerate(names.links)}
    joints = {m.joint(j).name: joint for j, joint in enumerate(names.joints)}
    for loop in source.loops:
        builder.loop(**{**loop, "first": links[loop["first"]], "second": links[loop["second"]]})
    for mimic in source.mimics:
        coefficients = (mimic.offset, mimic.multiplier) if mimic.of else (mimic.offset,)
        builder.couple(f"{joints[mimic.joint]}.mimic", joints[mimic.joint], joints[mimic.of] if mimic.of else None, coefficients)


def _ground(m: Any, names: Names, builder: ModelBuilder, notes: Notes) -> None:
    """Make a fixed link for what is part of the world itself, if anything is."""
    shapes = shapes_of(m, 0, notes)
    if shapes or (m.site_bodyid == 0).any():
        builder.link(names.ground, mass=0.0, center=np.zeros(3), inertia=np.zeros(3), shapes=shapes)


def _link(m: Any, b: int, names: Names, builder: ModelBuilder, motors: Motors, source: Source) -> None:
    parent = int(m.body_parentid[b])
    joint, at, rotation = joint_of(m, b, names, motors, source.notes)
    inertial = _inertial(m, b) if source.inertials is None else source.inertials[m.body(b).name]
    builder.link(
        names.links[b],
        parent=names.links[parent] if parent else None,
        joint=joint,
        joint_name=names.joint_of_link[b],
        at=at,
        rotation=rotation,
        mass=inertial.mass,
        center=inertial.center,
        inertia=inertial.inertia,
        shapes=shapes_of(m, b, source.notes),
    )


def _inertial(m: Any, b: int) -> Inertial:
    R: Array = rotation_matrix(m.body_iquat[b], "inertial frame")
    about = R @ np.diag(m.body_inertia[b]) @ R.T
    return Inertial(float(m.body_mass[b]), m.body_ipos[b].copy(), (about + about.T) / 2)


def _poses(m: Any, names: Names, builder: ModelBuilder) -> None:
    """Keep the posture the file is drawn in, and its keyframes."""
    keys = [f"{key}_" if key == "reference" else key for key in unique_names([m.key(k).name for k in range(m.nkey)], "key")]
    for pose, qpos in [("reference", m.qpos0), *zip(keys, m.key_qpos, strict=True)]:
        values: dict[str, Array] = {}
        for j in range(m.njnt):
            first = int(m.jnt_qposadr[j])
            last = int(m.jnt_qposadr[j + 1]) if j + 1 < m.njnt else m.nq
            joint = names.joint_of_link[m.jnt_bodyid[j]]
            values[joint] = np.append(values.get(joint, np.zeros(0)), qpos[first:last])
        builder.pose(pose, values)


def _note_the_rest(m: Any, names: Names, notes: Notes) -> None:
    """Name what has no place in a model of ours and was not met on the way."""
    kinds = (
        ("tendons", "TENDON", m.ntendon),
        ("flexes", "FLEX", m.nflex),
        ("contact pairs", "PAIR", m.npair),
        ("plugins", "PLUGIN", m.nplugin),
    )
    for kind, word, count in kinds:
        for i in range(count):
            notes.add(f"{kind} (left out)", mujoco.mj_id2name(m, getattr(mujoco.mjtObj, f"mjOBJ_{word}"), i) or f"number {i + 1}")
    for i in range(m.nexclude):
        first, second = int(m.exclude_signature[i]) >> 16, int(m.exclude_signature[i]) & 0xFFFF
        notes.add("contact exclusions (left out)", f"{names.links[first]} and {names.links[second]}")
    for b in np.flatnonzero(m.body_gravcomp):
        notes.add("gravity compensation (left out)", names.links[b])
    for b in np.flatnonzero(m.body_mocapid >= 0):
        notes.add("mocap bodies (they stand still here)", names.links[b])
    if m.opt.density or m.opt.viscosity:
        notes.add(f"the fluid around the bodies (left out: density {m.opt.density:g}, viscosity {m.opt.viscosity:g})")
    gravity = np.zeros(3) if m.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_GRAVITY else m.opt.gravity
    if np.abs(gravity - STANDARD_GRAVITY).max() > 1e-9:
        notes.add(f"gravity (a model has none; give {tuple(float(g) for g in gravity)} to Data or World)")
    for switch in _SWITCHES:
        bit = getattr(mujoco.mjtDisableBit, f"mjDSBL_{switch}", None)
        if bit is not None and m.opt.disableflags & bit:
            notes.add("switched off in the file (but not here)", switch.lower())
