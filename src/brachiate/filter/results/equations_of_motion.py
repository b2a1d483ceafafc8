"""Discrete equations of motion of a recorded simulation, step by step, their root residual, and a file for independent verification.

A step of the simulator, of length h, satisfies one equation, at the configuration q in its middle:

    M(q) a + ½ b(q, v - d) + ½ b(q, v + d) = torque + passive_torque + limit_torque + Σ Jᵀ wrench

that is, the mean of two inverse dynamics, at (q, v - d, a) and at (q, v + d, a). Nothing in it is estimated. q is reached by half a step
at the velocity of its start; a is the change of velocity over h; wrenches are the impulses of contacts and connections over h. The
velocity v, at which the simulator evaluated Coriolis and centrifugal forces, is the one that it predicted for the middle of the step:
close to the mean of start and end. At an impact velocities jump there by 2 d; otherwise d is zero. A recording keeps neither v nor d;
they are recovered by replaying the step (:mod:`brachiate.filter.results.replay`), which must reproduce the recorded state.

Where a connection is made between two steps, velocities jump by ``connection_jump``, the effect of its impulse and of the contact
impulses that respond to it: the step starts with frame_v + connection_jump.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from brachiate import dynamics, kinematics, manifold, rotations
from brachiate.dynamics.inverse import FRICTION_SPEED_SCALE
from brachiate.filter.results.replay import ReplayedStep, replay_steps
from brachiate.io.archive import write_archive
from brachiate.kinematics_batch import BatchKinematics
from brachiate.model.data import Data
from brachiate.model.flatten import Placement
from brachiate.model.joints import ELEMENT_NQ, ELEMENT_NV, FLOAT
from brachiate.model.model import Model
from brachiate.simulate.recording import Recording
from brachiate.validation import Array

if TYPE_CHECKING:
    from brachiate.filter.results.result import FilterResult

FORMAT = "brachiate equations 2"
PARTS = slice(0, 3), slice(3, 6)  # of a wrench: force, moment
CONTACT, PUSH, CONNECTION = range(3)  # sources of a wrench
UNITS = """\
SI: s, m, rad, kg, N, N·m; world axes, z up. Quaternions w x y z. A free joint: position, quaternion; its velocity, acceleration and \
force: linear, then angular, in the axes of its link. A ball joint: quaternion; angular velocity in the axes of its link.
For every step: the mean of the inverse dynamics of the links with gravity at (q, v - half_jump, a) and (q, v + half_jump, a) = torque \
+ passive_torque + limit_torque + sum of Jacobian^T of wrenches.
time, h: start of the step, its length. q: configuration in its middle. v: velocity at which Coriolis and centrifugal forces were \
evaluated. half_jump: half the velocity jump in the middle of a step with an impact, otherwise 0. \
a: (v_end - v_start) / h, minus w x v for the linear part of a free joint (mean for v - half_jump and v + half_jump), as its axes \
rotate. v_start, v_end: velocities at start and end of the step, in the axes of its middle. torque: of motors. passive_torque: of \
springs, dampers and dry friction in joints. limit_torque: of joint limits.
connection_jump: velocity jump before a step in which a connection is made, by its impulse: v_start is frame_v + connection_jump, rotated.
wrench_step, wrench_link: index of the step, of the link. wrench_point, wrench_force, wrench_moment: point, force, moment about the \
point, world axes. wrench_source: 0 contact, 1 external push, 2 connection.
frame_time, frame_q, frame_v: states between steps.
links, link_parent (-1: the world), link_position, link_rotation (of its joint in the parent), link_mass, link_center (of mass, link \
axes), link_inertia (about it, link axes). A joint is a row of elements: element_link, element_kind (0 revolute, 1 prismatic, 2 ball, \
3 free), element_axis, element_anchor (link axes), element_q, element_v (first index in q and v). armature: of rotors, added to the \
diagonal of the mass matrix.\
"""


class Wrenches(NamedTuple):
    """Forces on moving links, one row each."""

    step: Array  # (m,) index of the step
    link: tuple[str, ...]  # (m,) name of the link
    point: Array  # (m, 3) [m]
    force: Array  # (m, 3) [N] world axes
    moment: Array  # (m, 3) [N·m] about the point
    source: Array  # (m,) CONTACT, PUSH or CONNECTION


@dataclass(frozen=True, eq=False)
class EquationsOfMotion:
    """Equations of motion of n steps: see the module docstring.

    Args:
        model: All figures of the world.
        gravity: (3,) [m/s²].
        frame_time: Times between steps (n + 1,) [s].
        frame_q: Configurations there (n + 1, nq).
        frame_v: Velocities there (n + 1, nv).
        h: Step lengths (n,) [s].
        q: Configurations in the middle of steps (n, nq).
        v: Velocities at which Coriolis and centrifugal forces were evaluated (n, nv).
        half_jump: Half the velocity jump in the middle of a step with an impact (n, nv).
        a: Accelerations (n, nv).
        v_start: Velocities at the start of steps, in the axes of their middle (n, nv).
        v_end: Velocities at the end of steps, likewise.
        torque: Motor torques (n, nv) [N·m or N].
        passive_torque: Torques of springs, dampers and dry friction in joints.
        limit_torque: Torques of joint limits.
        connection_jump: Velocity jumps before steps in which a connection is made (n, nv).
        wrenches: Of contacts, pushes and connections.
    """

    model: Model
    gravity: Array
    frame_time: Array
    frame_q: Array
    frame_v: Array
    h: Array
    q: Array
    v: Array
    half_jump: Array
    a: Array
    v_start: Array
    v_end: Array
    torque: Array
    passive_torque: Array
    limit_torque: Array
    connection_jump: Array
    wrenches: Wrenches

    def __len__(self) -> int:
        """Return how many steps there are."""
        return len(self.h)

    def root_residual(self) -> tuple[float, float]:
        """Largest root residual over all steps: force [N] and moment [N·m] that are missing at floating bases."""
        data, missing = Data(self.model, self.gravity), np.zeros_like(self.a)
        for k, jumps in enumerate(np.any(self.half_jump, axis=1)):  # passive joint torques are included, but are zero at the bases
            jump = self.half_jump[k]
            for v in (self.v[k] - jump, self.v[k] + jump) if jumps else (self.v[k],):
                missing[k] += (0.5 if jumps else 1.0) * dynamics.inverse_dynamics(data, self.q[k], v, self.a[k])
        roots = [missing[:, k : k + 6] - self._base_forces(k) for _, k in _floating_bases(self.model)]
        force, moment = (max((np.linalg.norm(x[:, part], axis=1).max(initial=0.0) for x in roots), default=0.0) for part in PARTS)
        return float(force), float(moment)

    def _base_forces(self, k: int) -> Array:
        """Generalized forces (n, 6) of all wrenches on the tree of a floating base, at its velocities from k on."""
        w, model, parent = self.wrenches, self.model, self.model.tree.parent
        base = int(model.tree.body[k])
        in_tree = np.zeros(len(parent), bool)
        for body in range(len(parent)):  # parents come first
            in_tree[body] = body == base or (parent[body] >= 0 and in_tree[parent[body]])
        links = {name: in_tree[model.placements[name].body] for name in set(w.link)}
        mine = np.flatnonzero([links[name] for name in w.link])
        R, x = BatchKinematics(model).root_poses(base, self.q)
        step, force = w.step[mine], w.force[mine]
        moment = w.moment[mine] + np.cross(w.point[mine] - x[step], force)
        wrench = np.concatenate([np.einsum("nji,nj->ni", R[step], part) for part in (force, moment)], axis=1)
        data = Data(model)  # the velocities of the base are along its own axes: as seen from there, its Jacobian is constant
        data.assign(q=self.q[0])
        kinematics.update_poses(data)
        J = kinematics.jacobian(data, Placement(base, np.eye(3), np.zeros(3)))[:, k : k + 6].reshape(2, 3, 6)
        total = np.zeros((len(self), 6))
        np.add.at(total, step, wrench @ (R[0].T @ J).reshape(6, 6))
        return total

    def save(self, path: str | PathLike[str]) -> Path:
        """Write a NumPy archive (no pickles) of the equations and the body, with names and units."""
        w = self.wrenches
        steps = (
            "h",
            "q",
            "v",
            "half_jump",
            "a",
            "v_start",
            "v_end",
            "torque",
            "passive_torque",
            "limit_torque",
            "connection_jump",
            "gravity",
        )
        steps += ("frame_time", "frame_q", "frame_v")
        links = list(self.model.links)
        content: dict[str, Any] = {
            "format": np.array(FORMAT),
            "units": np.array(UNITS),
            "coordinates": np.array(self.model.coordinates, dtype=str),
            "time": self.frame_time[:-1],
            **{name: getattr(self, name) for name in steps},
            "wrench_link": np.array([links.index(name) for name in w.link], np.int64),
            **{f"wrench_{name}": getattr(w, name) for name in ("step", "point", "force", "moment", "source")},
            **_model_arrays(self.model),
        }
        return write_archive(path, content, "the equations of motion")


def equations_of_motion(run: FilterResult | Recording) -> EquationsOfMotion:
    """Equations of motion of a filter result, or of any run with contact.

    Every step is replayed from the recorded state and torques.

    Raises:
        ArgumentError: The recording was loaded from a file, so that its world is not known.
        StateError: A replayed step does not reproduce the recorded state.
    """
    recording = run if isinstance(run, Recording) else run.recording
    model, h = recording.model, np.diff(recording.time)
    steps = list(replay_steps(recording))
    v, half_jump, limit_torque, first = (
        np.array([getattr(step, name) for step in steps]).reshape(len(h), model.nv) for name in ReplayedStep._fields[:4]
    )
    q, v_start, v_end = _midpoints(recording, h, first)
    a = (v_end - v_start) / h[:, None]
    for _, k in _floating_bases(model):
        for velocity in (v, half_jump):
            a[:, k : k + 3] -= np.cross(velocity[:, k + 3 : k + 6], velocity[:, k : k + 3])
    return EquationsOfMotion(
        model=model,
        gravity=recording.gravity,
        frame_time=recording.time,
        frame_q=recording.q,
        frame_v=recording.v,
        h=h,
        q=q,
        v=v,
        half_jump=half_jump,
        a=a,
        v_start=v_start,
        v_end=v_end,
        torque=recording.torque[1:],
        passive_torque=_passive_torques(recording, q, v_start, v, a, h),
        limit_torque=limit_torque,
        connection_jump=first - recording.v[:-1],
        wrenches=_wrenches(recording, q, steps),
    )


def _floating_bases(model: Model) -> list[tuple[int, int]]:
    """First indices in q and v of floating bases."""
    T = model.tree
    return [
        (int(T.q_at[e]), int(k))
        for e, k in enumerate(T.v_at)
        if T.kind[e] == FLOAT and T.parent[T.body[k]] < 0 and e == T.element[T.body[k]]
    ]


def _midpoints(recording: Recording, h: Array, start: Array) -> tuple[Array, Array, Array]:
    """Configurations in the middle of steps, and velocities at start and end in the axes there.

    Floating bases translate straight on while their axes rotate.
    """
    data = Data(recording.model)
    half, start, end = 0.5 * h[:, None], start.copy(), recording.v[1:].copy()
    q = np.array([manifold.integrate(data, *state) for state in zip(recording.q, start, half[:, 0])]).reshape(len(h), recording.model.nq)
    for j, k in _floating_bases(recording.model):
        linear, angular = slice(k, k + 3), slice(k + 3, k + 6)
        q[:, j : j + 3] = recording.q[:-1, j : j + 3] + half * rotations.rotate(recording.q[:-1, j + 3 : j + 7], start[:, linear])
        start[:, linear] = rotations.rotate(rotations.from_rotation_vector(-half * start[:, angular]), start[:, linear])
        end[:, linear] = rotations.rotate(rotations.from_rotation_vector(half * end[:, angular]), end[:, linear])
    return q, start, end


def _passive_torques(recording: Recording, q: Array, v_start: Array, v: Array, a: Array, h: Array) -> Array:
    """Torques of springs, evaluated in the middle of a step, and of dampers and friction, implicit at its end."""
    T, torque = recording.model.tree, np.zeros_like(a)
    if T.passive[0]:
        data, zero = Data(recording.model, np.zeros(3)), np.zeros(recording.model.nv)
        resistance = T.damping * v_start + T.friction * v_start / np.sqrt(v_start**2 + FRICTION_SPEED_SCALE**2)
        slope = T.damping + T.friction / np.sqrt(v**2 + FRICTION_SPEED_SCALE**2)
        torque -= np.array([dynamics.bias(data, configuration, zero).copy() for configuration in q]) + resistance + h[:, None] * slope * a
    return torque


def _wrenches(recording: Recording, q: Array, steps: Sequence[ReplayedStep]) -> Wrenches:
    """Wrenches on moving links, step by step: of contacts, then of connections, then pushes."""
    data, places = Data(recording.model), recording.model.placements
    contacts, rows = _contact_wrenches(recording), []
    for k, replayed in enumerate(steps):
        for p in replayed.connection_wrenches:
            pair = ((p.link, p.force, p.moment), (p.to, -p.force, -p.moment))
            rows += [(k, name, p.point, f, n, CONNECTION) for name, f, n in pair if name != "world" and places[name].body >= 0]
        if replayed.pushes:
            data.assign(q=q[k])
            poses = kinematics.link_poses(data)
            for p in replayed.pushes:
                pose = poses[p.link]
                R = pose.rotation if p.axes == "link" else np.eye(3)
                rows.append((k, p.link, pose.position + pose.rotation @ p.at, R @ p.force, R @ p.moment, PUSH))
    point, force, moment = (np.array([row[i] for row in rows], float).reshape(-1, 3) for i in (2, 3, 4))
    step, source = (np.array([row[i] for row in rows], np.int64) for i in (0, 5))
    others = Wrenches(step, tuple(row[1] for row in rows), point, force, moment, source)
    order = np.argsort(np.concatenate((contacts.step, others.step)), kind="stable")
    links = contacts.link + others.link
    step, point, force, moment, source = (
        np.concatenate((getattr(contacts, name), getattr(others, name)))[order] for name in ("step", "point", "force", "moment", "source")
    )
    return Wrenches(step, tuple(links[n] for n in order.tolist()), point, force, moment, source)


def _contact_wrenches(recording: Recording) -> Wrenches:
    """Wrenches of contacts on the moving ones of their two links."""
    records, places = recording.contacts.records, recording.model.placements
    pairs, which = records.line_links()
    lines = np.arange(len(which))
    point, R, wrench = (records.line_column(name, lines) for name in ("P", "R", "wrench"))
    force, moment = (np.einsum("nij,nj->ni", R, wrench[:, part]) for part in PARTS)
    sides = np.stack((lines, lines), axis=1).ravel()  # the resting link of each contact, then the supporting one
    sign = np.tile((1.0, -1.0), len(lines))[:, None]
    names = [name for on, link in pairs for name in (link, on)]
    moves = np.array([places[name].body >= 0 for name in names], bool)
    of_side = np.stack((2 * which, 2 * which + 1), axis=1).ravel()
    kept = np.flatnonzero(moves[of_side] & (records.line_states()[sides] > 0))
    line = sides[kept]
    links = tuple(names[n] for n in of_side[kept].tolist())
    step, source = records.line_states()[line] - 1, np.full(len(line), CONTACT)
    return Wrenches(step, links, point[line], sign[kept] * force[line], sign[kept] * moment[line], source)


def _model_arrays(model: Model) -> dict[str, Array]:
    """Links and joints of the model as arrays."""
    links, names = list(model.links.values()), list(model.links)
    elements = []
    for n, link in enumerate(links):
        if link.joint.nv:
            q, v = model.joints[link.joint_name].q.start, model.joints[link.joint_name].v.start
            for e in link.joint.elements:
                elements.append((n, e.kind, q, v, *e.axis, *e.anchor))
                q, v = q + ELEMENT_NQ[e.kind], v + ELEMENT_NV[e.kind]
    rows = np.array(elements, float).reshape(-1, 10)
    return {
        "links": np.array(names, dtype=str),
        "link_parent": np.array([-1 if link.parent is None else names.index(link.parent) for link in links], np.int64),
        **{
            f"link_{what}": np.array([getattr(link, what) for link in links])
            for what in ("position", "rotation", "mass", "center", "inertia")
        },
        **{f"element_{what}": rows[:, i].astype(np.int64) for i, what in enumerate(("link", "kind", "q", "v"))},
        "element_axis": rows[:, 4:7],
        "element_anchor": rows[:, 7:],
        "armature": model.tree.armature.copy(),
    }
