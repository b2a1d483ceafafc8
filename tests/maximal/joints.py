"""Joints in maximal coordinates: kinematics of the chain of elementary motions, passive forces, and coordinates between two frames."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from tests.maximal.rotations import (
    axis_rotation,
    cross,
    quaternion_of,
    rotation_of,
    rotation_vector,
    rotation_vector_jacobian,
)

from brachiate.model.joints import BALL, ELEMENT_NQ, ELEMENT_NV, FLOAT, SLIDE, TURN, Joint
from brachiate.validation import Array

CREEP = 1e-3  # [rad/s or m/s] dry friction is F v/√(v² + CREEP²)
RANK = 1e-10  # relative to the largest: smaller singular values are zero


# --- kinematics ---------------------------------------------------------------------------------


class MovingFrame(NamedTuple):
    """Moving frame: pose, velocity and acceleration of its origin, angular velocity and acceleration; world axes."""

    R: Array
    p: Array
    v: Array
    w: Array
    a: Array
    alpha: Array

    def translated(self, r: Array) -> MovingFrame:
        """Parallel frame fixed in this one, at r (world axes)."""
        v = self.v + cross(self.w, r)
        a = self.a + cross(self.alpha, r) + cross(self.w, cross(self.w, r))
        return self._replace(p=self.p + r, v=v, a=a)

    def fixed_frame(self, position: Array, rotation: Array) -> MovingFrame:
        """Frame fixed in this one."""
        return self.translated(self.R @ position)._replace(R=self.R @ rotation)

    @property
    def twist(self) -> Array:
        return np.concatenate([self.v, self.w])

    @property
    def acceleration(self) -> Array:
        return np.concatenate([self.a, self.alpha])


def at_rest(R: Array, p: Array) -> MovingFrame:
    return MovingFrame(R, p, *np.zeros((4, 3)))


WORLD = at_rest(np.eye(3), np.zeros(3))


def chain_end(joint: Joint, q: Array, rates: Array, start: MovingFrame) -> tuple[MovingFrame, Array]:
    """Frame at the end of the joint's chain, with its acceleration at constant rates, and S there: (6, nv)."""
    F = start
    motions: list[tuple[Array, Array, Array]] = []  # direction of translation, axis of rotation, a point on the axis
    zero = np.zeros(3)
    i = k = 0
    for e in joint.elements:
        x, y = q[i : i + ELEMENT_NQ[e.kind]], rates[k : k + ELEMENT_NV[e.kind]]
        i, k = i + ELEMENT_NQ[e.kind], k + ELEMENT_NV[e.kind]
        if e.kind == SLIDE:
            u = F.R @ e.axis
            F = F.translated(x[0] * u)
            F = F._replace(v=F.v + y[0] * u, a=F.a + 2 * cross(F.w, y[0] * u))
            motions.append((u, zero, F.p))
        elif e.kind == TURN:
            u = F.R @ e.axis
            F = F.translated(F.R @ e.anchor)
            F = F._replace(R=F.R @ axis_rotation(e.axis, x[0]), w=F.w + y[0] * u, alpha=F.alpha + cross(F.w, y[0] * u))
            motions.append((zero, u, F.p))
            F = F.translated(-F.R @ e.anchor)
        elif e.kind == BALL:
            F = F.translated(F.R @ e.anchor)
            R = F.R @ rotation_of(x)
            w = R @ y
            F = F._replace(R=R, w=F.w + w, alpha=F.alpha + cross(F.w, w))
            motions += [(zero, u, F.p) for u in R.T]
            F = F.translated(-F.R @ e.anchor)
        elif e.kind == FLOAT:
            F = F.translated(F.R @ x[:3])
            R = F.R @ rotation_of(x[3:])
            v, w = R @ y[:3], R @ y[3:]
            # the axes of v rotate with w relative to the parent, and the parent with F.w: hence w × v and 2 F.w × v
            F = F._replace(R=R, v=F.v + v, a=F.a + 2 * cross(F.w, v) + cross(w, v), w=F.w + w, alpha=F.alpha + cross(F.w, w))
            motions += [(u, zero, F.p) for u in R.T] + [(zero, u, F.p) for u in R.T]
    columns = [np.concatenate([linear + cross(axis, F.p - point), axis]) for linear, axis, point in motions]
    return F, np.array(columns).reshape(-1, 6).T


def passive_forces(joint: Joint, q: Array, rates: Array) -> Array:
    """Torques of springs, dampers and dry friction of a joint: (nv,)."""
    springs, _ = spring_torques(joint, q)
    return springs + dissipative_forces(joint, rates)


def dissipative_forces(joint: Joint, rates: Array) -> Array:
    """Torques of dampers and dry friction: (nv,)."""
    return -joint.damping * rates - joint.friction * rates / np.sqrt(rates**2 + CREEP**2)


def spring_torques(joint: Joint, q: Array) -> tuple[Array, float]:
    """Torques of a joint's springs (nv,), and their energy."""
    torque, energy = np.zeros(joint.nv), 0.0
    i = k = 0
    for e in joint.elements:
        x, rest = q[i : i + ELEMENT_NQ[e.kind]], joint.rest[i : i + ELEMENT_NQ[e.kind]]
        dofs = slice(k, k + ELEMENT_NV[e.kind])
        i, k = i + ELEMENT_NQ[e.kind], k + ELEMENT_NV[e.kind]
        stiffness = joint.stiffness[dofs]
        if e.kind in (TURN, SLIDE):
            deflection, jacobian = x - rest, np.eye(1)
        elif e.kind == BALL:
            deflection = rotation_vector(rotation_of(rest).T @ rotation_of(x))
            jacobian = rotation_vector_jacobian(deflection)
        else:
            continue  # a free joint has no spring
        torque[dofs] = -jacobian.T @ (stiffness * deflection)
        energy += 0.5 * float(stiffness @ deflection**2)
    return torque, energy


# --- coordinates of a connection ----------------------------------------------------------------


def coordinates_between(joint: Joint, first: MovingFrame, second: MovingFrame, start: Array | None) -> Array:
    """Coordinates (nq,) of the joint that bring the end of its chain as near as possible to the second frame."""
    start = joint.neutral if start is None else np.asarray(start, float)
    if not joint.elements:
        return start
    if len(joint.elements) == 1:
        return _closed_form(joint, first, second, start)
    best, smallest = start, np.inf
    rng = np.random.default_rng(0)
    for trial in range(20):  # the first trial converges for nearly closed connections
        step = np.zeros(joint.nv) if trial == 0 else rng.normal(0.0, 1.5, joint.nv)
        q, gap = _newton(joint, first, second, _stepped(joint, start, step))
        if gap < smallest:
            best, smallest = q, gap
        if smallest < 1e-3:
            break
    return best


def _closed_form(joint: Joint, first: MovingFrame, second: MovingFrame, start: Array) -> Array:
    (e,) = joint.elements
    quaternion = quaternion_of(first.R.T @ second.R)
    position = first.R.T @ (second.p - first.p)
    if e.kind == SLIDE:
        return np.array([position @ e.axis])
    if e.kind == TURN:
        angle = 2 * np.arctan2(quaternion[1:] @ e.axis, quaternion[0])
        return np.array([angle + 2 * np.pi * np.round((start[0] - angle) / (2 * np.pi))])  # the solution nearest to the start
    return quaternion if e.kind == BALL else np.concatenate([position, quaternion])


def _newton(joint: Joint, first: MovingFrame, second: MovingFrame, q: Array) -> tuple[Array, float]:
    """Gauss-Newton method with step halving."""

    def gap_at(q: Array) -> tuple[Array, Array, float]:
        end, S = chain_end(joint, q, np.zeros(joint.nv), at_rest(first.R, first.p))
        gap = gap_between(end, second)
        return gap, S, float(np.linalg.norm(gap))

    gap, S, size = gap_at(q)
    for _ in range(60):
        step = np.linalg.lstsq(S, gap, rcond=RANK)[0]
        for _ in range(12):
            trial = _stepped(joint, q, step)
            new_gap, new_S, new_size = gap_at(trial)
            if new_size < size:
                break
            step = step / 2
        else:
            break
        q, gap, S, size = trial, new_gap, new_S, new_size
        if np.linalg.norm(step) < 1e-12:
            break
    return q, size


def _stepped(joint: Joint, q: Array, step: Array) -> Array:
    """Coordinates after a step along the rates; quaternions by a rotation in child axes."""
    result = np.array(q, float)
    i = k = 0
    for e in joint.elements:
        if e.kind == BALL:
            angle = float(np.linalg.norm(step[k : k + 3]))
            axis = step[k : k + 3] / angle if angle > 0 else np.zeros(3)
            result[i : i + 4] = quaternion_of(rotation_of(q[i : i + 4]) @ axis_rotation(axis, angle))
        else:
            result[i] += step[k]
        i, k = i + ELEMENT_NQ[e.kind], k + ELEMENT_NV[e.kind]
    return result


def gap_between(end: MovingFrame, second: MovingFrame) -> Array:
    """Gap from the end of a chain to the second frame, world axes: (position [m], rotation vector [rad])."""
    return np.concatenate([second.p - end.p, end.R @ rotation_vector(end.R.T @ second.R)])
