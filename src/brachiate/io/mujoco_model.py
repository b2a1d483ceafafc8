"""Conversion of a compiled MuJoCo model, body by body."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np

from brachiate.io.import_notes import ImportNotes
from brachiate.io.inertial import Inertial
from brachiate.io.mujoco_actuators import Motors, convert_actuators
from brachiate.io.mujoco_contact import add_contact_filters
from brachiate.io.mujoco_equality import add_equalities
from brachiate.io.mujoco_joints import convert_joint
from brachiate.io.mujoco_names import Names, unique_names
from brachiate.io.mujoco_shapes import CollisionBits, convert_shapes
from brachiate.io.mujoco_source import MujocoSource
from brachiate.model.builder import ModelBuilder
from brachiate.model.data import STANDARD_GRAVITY
from brachiate.model.model import Model
from brachiate.validation import Array, rotation_matrix

_SWITCHES = ("CONSTRAINT", "EQUALITY", "FRICTIONLOSS", "LIMIT", "CONTACT", "FILTERPARENT", "SPRING", "DAMPER", "ACTUATION")


def convert_model(m: Any, source: MujocoSource, name: str) -> Model:
    """Convert a compiled MuJoCo model.

    Args:
        m: The mujoco.MjModel.
        source: What MuJoCo cannot represent, and the import notes.
        name: Name of the model.
    """
    notes = source.notes
    names = Names(m)
    builder = ModelBuilder(name)
    motors = convert_actuators(m, names, notes, source.speeds)
    floating = _is_floating_figure(m)
    bits = CollisionBits.of_model(m, floating)
    has_ground = not floating and _add_ground(m, names, builder, bits, notes)
    for b in range(1, m.nbody):
        _link(m, b, names, builder, motors, bits, source)
    taken = {names.link(b) for b in range(m.nbody)}  # in MuJoCo a body and a site may have the same name
    named = [m.site(s).name for s in range(m.nsite)]
    sites = unique_names([f"{name}.site" if name.replace("/", ".") in taken else name for name in named], "site")
    for s, site in enumerate(sites):
        if m.site_bodyid[s] or has_ground:
            builder.site(site, names.link(int(m.site_bodyid[s])), m.site_pos[s], m.site_quat[s])
    if floating:
        _note_world(m, notes)
    add_equalities(m, names, builder, notes)
    add_contact_filters(m, names, builder, has_ground, notes)
    _add_unsupported_by_mujoco(m, names, builder, source)
    for actuator in motors.actuators:
        builder.actuator(**actuator)
    _poses(m, names, builder)
    _note_left_out(m, names, notes)
    return builder.build()


def _add_unsupported_by_mujoco(m: Any, names: Names, builder: ModelBuilder, source: MujocoSource) -> None:
    links = {m.body(b).name: link for b, link in enumerate(names.links)}
    joints = {m.joint(j).name: joint for j, joint in enumerate(names.joints)}
    for loop in source.loops:
        builder.loop(**{**loop, "first": links[loop["first"]], "second": links[loop["second"]]})
    for mimic in source.mimics:
        coefficients = (mimic.offset, mimic.multiplier) if mimic.of else (mimic.offset,)
        builder.couple(f"{joints[mimic.joint]}.mimic", joints[mimic.joint], joints[mimic.of] if mimic.of else None, coefficients)


def _is_floating_figure(m: Any) -> bool:
    """Whether the only root body of the file has a free joint: then the file is one floating figure."""
    roots = [b for b in range(1, m.nbody) if m.body_parentid[b] == 0]
    return len(roots) == 1 and m.body_jntnum[roots[0]] == 1 and m.jnt_type[m.body_jntadr[roots[0]]] == mujoco.mjtJoint.mjJNT_FREE


def _add_ground(m: Any, names: Names, builder: ModelBuilder, bits: CollisionBits, notes: ImportNotes) -> bool:
    """Add a fixed link with the shapes of the world itself, if it has shapes or sites; return whether it was added."""
    shapes = convert_shapes(m, 0, bits, notes)
    needed = bool(shapes) or bool((m.site_bodyid == 0).any())
    if needed:
        builder.link(names.ground, mass=0.0, center=np.zeros(3), inertia=np.zeros(3), shapes=shapes)
    return needed


def _note_world(m: Any, notes: ImportNotes) -> None:
    """Note the shapes and sites of the world, which are not part of a floating figure."""
    names = [m.geom(g).name or f"geom {g}" for g in np.flatnonzero(m.geom_bodyid == 0)]
    names += [m.site(s).name or f"site {s}" for s in np.flatnonzero(m.site_bodyid == 0)]
    for name in names:
        notes.add("shapes and sites of the world (left out of a floating figure; for a floor add br.figures.ground() to the world)", name)


def _link(m: Any, b: int, names: Names, builder: ModelBuilder, motors: Motors, bits: CollisionBits, source: MujocoSource) -> None:
    parent = int(m.body_parentid[b])
    joint, at, rotation = convert_joint(m, b, names, motors, source.notes)
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
        shapes=convert_shapes(m, b, bits, source.notes),
    )


def _inertial(m: Any, b: int) -> Inertial:
    R: Array = rotation_matrix(m.body_iquat[b], "inertial frame")
    inertia = R @ np.diag(m.body_inertia[b]) @ R.T
    return Inertial(float(m.body_mass[b]), m.body_ipos[b].copy(), (inertia + inertia.T) / 2)


def _poses(m: Any, names: Names, builder: ModelBuilder) -> None:
    """Add the reference configuration of the file, and its keyframes, as poses."""
    keys = [f"{key}_" if key == "reference" else key for key in unique_names([m.key(k).name for k in range(m.nkey)], "key")]
    for pose, qpos in [("reference", m.qpos0), *zip(keys, m.key_qpos, strict=True)]:
        values: dict[str, Array] = {}
        for j in range(m.njnt):
            first = int(m.jnt_qposadr[j])
            last = int(m.jnt_qposadr[j + 1]) if j + 1 < m.njnt else m.nq
            joint = names.joint_of_link[m.jnt_bodyid[j]]
            values[joint] = np.append(values.get(joint, np.zeros(0)), qpos[first:last])
        builder.pose(pose, values)


def _note_left_out(m: Any, names: Names, notes: ImportNotes) -> None:
    """Note what a model cannot represent and was not met before."""
    kinds = (
        ("tendons", "TENDON", m.ntendon),
        ("flexes", "FLEX", m.nflex),
        ("plugins", "PLUGIN", m.nplugin),
    )
    for kind, word, count in kinds:
        for i in range(count):
            notes.add(f"{kind} (left out)", mujoco.mj_id2name(m, getattr(mujoco.mjtObj, f"mjOBJ_{word}"), i) or f"number {i + 1}")
    for b in np.flatnonzero(m.body_gravcomp):
        notes.add("gravity compensation (left out)", names.links[b])
    for b in np.flatnonzero(m.body_mocapid >= 0):
        notes.add("mocap bodies (they are fixed here)", names.links[b])
    if m.opt.density or m.opt.viscosity:
        notes.add(f"the fluid around the bodies (left out: density {m.opt.density:g}, viscosity {m.opt.viscosity:g})")
    gravity = np.zeros(3) if m.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_GRAVITY else m.opt.gravity
    if np.abs(gravity - STANDARD_GRAVITY).max() > 1e-9:
        notes.add(f"gravity (a model has none; give {tuple(float(g) for g in gravity)} to Data or World)")
    for switch in _SWITCHES:
        bit = getattr(mujoco.mjtDisableBit, f"mjDSBL_{switch}", None)
        if bit is not None and m.opt.disableflags & bit:
            notes.add("disabled in the file (but not here)", switch.lower())
