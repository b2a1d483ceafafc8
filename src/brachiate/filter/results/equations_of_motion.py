"""The equations that a filtered motion obeys, step by step, in a file from which anybody can work out what is left of them.

A step of the simulator, of length h, has one equation, at the configuration q in its middle:

    M(q) a + ½ b(q, v - d) + ½ b(q, v + d) = torque + passive + stop + Σ Jᵀ wrench

which is inverse dynamics, as every library has it, at (q, v - d, a) and at (q, v + d, a), the mean of both. Nothing in it is estimated.
q is where half a step at the velocity of its start leads; a is the change of velocity over h; wrenches are the impulses of contact, and of
what holds, over h. The velocity v, at which the simulator took Coriolis and centrifugal forces, is the one that it expected in the
middle of the step: near the mean of start and end, but not that. Where something hits something, velocities jump there, by 2 d; else d is
zero. A recording keeps neither. They are what the same step, made once more, expects; and the step made once more must lead to the
recorded state, or there are no equations.

Where something takes hold between two steps, velocities jump by ``caught``, as an impulse there makes them, which what touches answers: the
step begins with frame_v + caught.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from brachiate import dynamics, kinematics, manifold, rotations
from brachiate.dynamics.inverse import CREEP
from brachiate.filter.results.replay import Again, made_again
from brachiate.filter.results.result import Filtered
from brachiate.io.archive import with_suffix
from brachiate.model.data import Data
from brachiate.model.joints import FLOAT, FREEDOMS, NUMBERS
from brachiate.model.model import Model
from brachiate.simulate.recording import Recording
from brachiate.validation import Array

FORMAT = "brachiate equations 1"
PARTS = slice(0, 3), slice(3, 6)  # of a wrench: force, moment
CONTACT, PUSH, HELD = range(3)  # whose a wrench is
UNITS = """\
SI: s, m, rad, kg, N, N·m; world axes, z up. Quaternions w x y z. A free joint: position, quaternion; its velocity, acceleration and \
force: linear, then angular, along the axes of the link that it carries. A ball joint: quaternion; angular velocity along those axes.
For every step: inverse dynamics of the links with gravity at (q, v - jump, a) and (q, v + jump, a), the mean of both, = torque + passive \
+ stop + sum of Jacobian^T of wrenches.
time, h: start of the step, its length. q: in its middle. v: velocity at which Coriolis and centrifugal forces were taken. jump: half \
of that by which velocities jump in the middle of a step in which something hits something, else 0. \
a: (v_end - v_start) / h, and of a free joint's linear part w x v taken off (of v - jump and v + jump, the mean), as it is seen from axes \
that turn. v_start, v_end: at start and end of the step, along the axes of its middle. torque: of motors. passive: of springs, dampers \
and dry friction in joints. stop: of limits of joints.
caught: by which velocities jump before a step in which something takes hold, by an impulse there: v_start is frame_v + caught, turned.
wrench_step, wrench_link: which step, which link. wrench_point, wrench_force, wrench_moment: a point, the force, the moment about that \
point, world axes. wrench_push: 0 of contact, 1 of a push from outside, 2 of what holds.
frame_time, frame_q, frame_v: the states between steps.
links, link_parent (-1: the world), link_position, link_rotation (of its joint in the parent), link_mass, link_center (of mass, link \
axes), link_inertia (about it, link axes). A joint is a row of elements: element_link, element_kind (0 turn, 1 slide, 2 ball, 3 free), \
element_axis, element_anchor (link axes), element_q, element_v (first place in q and v). armature: of rotors, added to the mass matrix.\
"""


class Wrenches(NamedTuple):
    """Forces on links, one line each."""

    step: Array  # (m,) in which step
    link: tuple[str, ...]  # (m,) on which link
    point: Array  # (m, 3) [m]
    force: Array  # (m, 3) [N] world axes
    moment: Array  # (m, 3) [N·m] about the point
    push: Array  # (m,) 0 of contact, 1 of a push from outside, 2 of what holds


@dataclass(frozen=True, eq=False)
class Equations:
    """One equation of motion for each of n steps: see the top of this file.

    Args:
        model: Of everything in the world.
        gravity: (3,) [m/s²].
        frame_time: Between steps (n + 1,) [s].
        frame_q: (n + 1, nq).
        frame_v: (n + 1, nv).
        h: Lengths of steps (n,) [s].
        q: In the middle of each (n, nq).
        v: That Coriolis and centrifugal forces were taken at (n, nv).
        jump: Half of that by which velocities jump there, where something hits something (n, nv).
        a: Accelerations (n, nv).
        v_start: Velocities at the start of a step, along the axes of its middle (n, nv).
        v_end: At its end, likewise.
        torque: Of motors (n, nv) [N·m or N].
        passive: Of springs, dampers and dry friction in joints.
        stop: Of limits of joints.
        caught: By which velocities jump before a step, as something takes hold (n, nv).
        wrenches: Of contact, pushes, and what holds.
    """

    model: Model
    gravity: Array
    frame_time: Array
    frame_q: Array
    frame_v: Array
    h: Array
    q: Array
    v: Array
    jump: Array
    a: Array
    v_start: Array
    v_end: Array
    torque: Array
    passive: Array
    stop: Array
    caught: Array
    wrenches: Wrenches

    def __len__(self) -> int:
        """Return how many steps there are."""
        return len(self.h)

    def nobody_brings(self) -> tuple[float, float]:
        """The largest force [N] and moment [N·m] that a floating root would need and does not get, in any step."""
        data, w, last = Data(self.model, self.gravity), self.wrenches, -1
        left = np.zeros_like(self.a)
        for k in range(len(self)):  # springs and dampers in joints are in it, too, but not at floating roots
            for v in (self.v[k] - self.jump[k], self.v[k] + self.jump[k]):
                left[k] += 0.5 * dynamics.inverse_dynamics(data, self.q[k], v, self.a[k])
        for m in np.argsort(w.step, kind="stable"):
            k, place = int(w.step[m]), self.model.placements[w.link[m]]
            if k != last:
                data.assign(q=self.q[k])
                kinematics.update_poses(data)
                last = k
            arm = w.point[m] - kinematics.pose(data, place).position
            left[k] -= kinematics.jacobian(data, place).T @ np.concatenate((w.force[m], w.moment[m] + np.cross(arm, w.force[m])))
        roots = [left[:, k : k + 6] for _, k in _floating(self.model)]
        force, moment = (max((np.linalg.norm(x[:, part], axis=1).max(initial=0.0) for x in roots), default=0.0) for part in PARTS)
        return float(force), float(moment)

    def save(self, path: str | PathLike[str]) -> Path:
        """Write a NumPy archive with the body, names and units inside; nothing in it is code."""
        path, w = with_suffix(path), self.wrenches
        steps = ("h", "q", "v", "jump", "a", "v_start", "v_end", "torque", "passive", "stop", "caught", "gravity")
        steps += ("frame_time", "frame_q", "frame_v")
        links = list(self.model.links)
        content: dict[str, Any] = {
            "format": np.array(FORMAT),
            "units": np.array(UNITS),
            "coordinates": np.array(self.model.coordinates, dtype=str),
            "time": self.frame_time[:-1],
            **{name: getattr(self, name) for name in steps},
            "wrench_link": np.array([links.index(name) for name in w.link], np.int64),
            **{f"wrench_{name}": getattr(w, name) for name in ("step", "point", "force", "moment", "push")},
            **_described(self.model),
        }
        np.savez_compressed(path, **content)
        return path


def equations(made: Filtered | Recording) -> Equations:
    """The equations that a filtered motion obeys; or those of any run in which things touch.

    Every step is made once more, from the recorded state and torques, to learn at which velocity the simulator took Coriolis and
    centrifugal forces. Refused if it then leads elsewhere, and for recordings read from files, which do not tell what the world was like.
    """
    run = made.run if isinstance(made, Filtered) else made
    model, h = run.model, np.diff(run.time)
    again = list(made_again(run))
    middle, jump, stop, first = (np.array([getattr(step, name) for step in again]).reshape(len(h), model.nv) for name in Again._fields[:4])
    q, start, end = _halfway(run, h, first)
    a = (end - start) / h[:, None]
    for _, k in _floating(model):
        for v in (middle, jump):
            a[:, k : k + 3] -= np.cross(v[:, k + 3 : k + 6], v[:, k : k + 3])
    passive = _passive(run, q, start, middle, a, h)
    states, caught = (run.time, run.q, run.v), first - run.v[:-1]
    wrenches = _wrenches(run, q, again)
    return Equations(model, run.gravity, *states, h, q, middle, jump, a, start, end, run.torque[1:], passive, stop, caught, wrenches)


def _floating(model: Model) -> list[tuple[int, int]]:
    """Floating roots: first places in q and v."""
    T = model.tree
    return [
        (int(T.q_at[e]), int(k))
        for e, k in enumerate(T.v_at)
        if T.kind[e] == FLOAT and T.parent[T.body[k]] < 0 and e == T.element[T.body[k]]
    ]


def _halfway(run: Recording, h: Array, start: Array) -> tuple[Array, Array, Array]:
    """Configurations in the middle of steps, and velocities at their starts and ends along the axes there.

    Floating roots go straight on while their axes turn.
    """
    data = Data(run.model)
    half, start, end = 0.5 * h[:, None], start.copy(), run.v[1:].copy()
    q = np.array([manifold.integrated(data, *state) for state in zip(run.q, start, half[:, 0])]).reshape(len(h), run.model.nq)
    for j, k in _floating(run.model):
        linear, angular = slice(k, k + 3), slice(k + 3, k + 6)
        q[:, j : j + 3] = run.q[:-1, j : j + 3] + half * rotations.turned(run.q[:-1, j + 3 : j + 7], start[:, linear])
        start[:, linear] = rotations.turned(rotations.from_vector(-half * start[:, angular]), start[:, linear])
        end[:, linear] = rotations.turned(rotations.from_vector(half * end[:, angular]), end[:, linear])
    return q, start, end


def _passive(run: Recording, q: Array, start: Array, middle: Array, a: Array, h: Array) -> Array:
    """Torques of springs, as they are in the middle of a step, and of dampers and friction, which are taken as they are at its end."""
    T, torque = run.model.tree, np.zeros_like(a)
    if T.passive[0]:
        data, still = Data(run.model, np.zeros(3)), np.zeros(run.model.nv)
        braking = T.damping * start + T.friction * start / np.sqrt(start**2 + CREEP**2)
        slope = T.damping + T.friction / np.sqrt(middle**2 + CREEP**2)
        torque -= np.array([dynamics.bias(data, each, still).copy() for each in q]) + braking + h[:, None] * slope * a
    return torque


def _wrenches(run: Recording, q: Array, again: Sequence[Again]) -> Wrenches:
    """What acts on links that move."""
    data, places = Data(run.model), run.model.placements
    lines: list[tuple[int, str, Array, Array, Array, int]] = []
    for k in range(len(q)):
        for c in run.contacts.at(k + 1):
            moment = c.axes @ c.wrench[3:]
            both = ((c.link, c.force, moment), (c.on, -c.force, -moment))
            lines += [(k, name, c.point, f, n, CONTACT) for name, f, n in both if places[name].body >= 0]
        for p in again[k].pulls:
            pair = ((p.link, p.force, p.moment), (p.to, -p.force, -p.moment))
            lines += [(k, name, p.point, f, n, HELD) for name, f, n in pair if name != "world" and places[name].body >= 0]
        if again[k].pushes:
            data.assign(q=q[k])
            poses = kinematics.link_poses(data)
            for p in again[k].pushes:
                pose = poses[p.link]
                turn = pose.rotation if p.axes == "link" else np.eye(3)
                lines.append((k, p.link, pose.position + pose.rotation @ p.at, turn @ p.force, turn @ p.moment, PUSH))
    point, force, moment = (np.array([line[i] for line in lines], float).reshape(-1, 3) for i in (2, 3, 4))
    step, push = (np.array([line[i] for line in lines], np.int64) for i in (0, 5))
    return Wrenches(step, tuple(line[1] for line in lines), point, force, moment, push)


def _described(model: Model) -> dict[str, Array]:
    """Links and joints as arrays."""
    links, names = list(model.links.values()), list(model.links)
    elements = []
    for n, link in enumerate(links):
        if link.joint.nv:
            q, v = model.joints[link.joint_name].q.start, model.joints[link.joint_name].v.start
            for e in link.joint.elements:
                elements.append((n, e.kind, q, v, *e.axis, *e.anchor))
                q, v = q + NUMBERS[e.kind], v + FREEDOMS[e.kind]
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
