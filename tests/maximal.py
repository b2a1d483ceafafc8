"""Dynamics of trees and closed chains in maximal coordinates: dense, slow and plain, to judge the package by.

Nothing here is computed by the package; only descriptions (links, joints, where a joint's numbers are) are read from it.

The unknowns are six velocities for every link (of the origin of its frame, then angular; world axes) and the rates of every
joint. A joint of the tree and a connection that closes a loop are the same thing: a joint between a frame of a first link
(or the world) and a frame of a second link. Its elementary motions make a chain of frames that starts at the first frame and must
end at the second. Differentiated, with X moving velocities to the end of the chain and S the motions of the joint,

    X₂ V₂ − X₁ V₁ − S q̇ = 0,        X₂ A₂ − X₁ A₁ − S q̈ = γ,

which are six rows J x = γ for every joint. Their six multipliers are the whole wrench that the joint exerts on the second link:
what it constrains, and, by the equations of the rates, Sᵀλ = τ − armature · q̈, what acts in it. With M x = f + Jᵀλ that is all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from brachiate import Model
from brachiate.model.joints import BALL, ELEMENT_NQ, ELEMENT_NV, FLOAT, SLIDE, TURN, Joint
from brachiate.validation import Array

CREEP = 1e-3  # [rad/s or m/s] dry friction is F v/√(v² + CREEP²)
RANK = 1e-10  # singular values below this part of the largest one are zero
UNMET = 1e-7  # rows that cannot be met to this part of their size contradict each other


class Connection(NamedTuple):
    """A joint between frames of two links, as :class:`~brachiate.model.link.Loop`; ``"world"`` is a link, too."""

    first: str
    second: str
    joint: Joint
    first_position: Array
    first_rotation: Array
    second_position: Array
    second_rotation: Array
    start: Array | None = None  # (nq,) where to look for the joint's coordinates; by default neutral


class Pose(NamedTuple):
    rotation: Array  # (3, 3)
    position: Array  # (3,)


class Contradiction(ValueError):
    """No accelerations meet all rows, or none finite do."""


# --- vectors and rotations ----------------------------------------------------------------------


def cross(a: Array, b: Array) -> Array:
    """a × b; NumPy's own takes ten times as long for a single pair."""
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def cross_matrix(r: Array) -> Array:
    return np.array([[0, -r[2], r[1]], [r[2], 0, -r[0]], [-r[1], r[0], 0]])


def shifted(r: Array) -> Array:
    """X: the velocity (linear, angular) of a point at r from that of the origin of a rigid body: (6, 6)."""
    X = np.eye(6)
    X[:3, 3:] = -cross_matrix(r)
    return X


def turned_about(axis: Array, angle: float) -> Array:
    """Rodrigues' rotation."""
    K = cross_matrix(axis)
    return np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K


def rotation_of(quaternion: Array) -> Array:
    w, *xyz = quaternion / np.linalg.norm(quaternion)
    K = cross_matrix(np.array(xyz))
    return np.eye(3) + 2 * w * K + 2 * K @ K


def quaternion_of(R: Array) -> Array:
    """The quaternion of a rotation, from the largest of 4w², 4x², 4y², 4z² for the sake of digits."""
    x, y, z = R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]
    columns = np.array([
        [1 + R[0, 0] + R[1, 1] + R[2, 2], x, y, z],
        [x, 1 + R[0, 0] - R[1, 1] - R[2, 2], R[0, 1] + R[1, 0], R[0, 2] + R[2, 0]],
        [y, R[0, 1] + R[1, 0], 1 - R[0, 0] + R[1, 1] - R[2, 2], R[1, 2] + R[2, 1]],
        [z, R[0, 2] + R[2, 0], R[1, 2] + R[2, 1], 1 - R[0, 0] - R[1, 1] + R[2, 2]],
    ])  # fmt: skip
    best = columns[int(np.argmax(np.diag(columns)))]  # four times the quaternion times one of its parts
    return best / np.linalg.norm(best)


def rotation_vector(R: Array) -> Array:
    """Axis times angle of a rotation, at most a half turn."""
    w, *xyz = quaternion_of(R)
    sine, sign = float(np.linalg.norm(xyz)), 1.0 if w >= 0 else -1.0
    angle = 2 * np.arctan2(sine, sign * w)
    return sign * np.array(xyz) * (angle / sine if sine > 0 else 2.0)


def vector_slope(w: Array) -> Array:
    """Change of the rotation vector w per small turn in child axes: (3, 3)."""
    K, t = cross_matrix(w), float(np.linalg.norm(w))
    c = 1 / t**2 - 1 / (2 * t * np.tan(t / 2)) if t > 0.01 else 1 / 12 + t**2 / 720 + t**4 / 30240
    return np.eye(3) + K / 2 + c * K @ K


# --- one joint ----------------------------------------------------------------------------------


class Moving(NamedTuple):
    """A frame on its way: velocity and acceleration of its origin, its angular velocity and acceleration; world axes."""

    R: Array
    p: Array
    v: Array
    w: Array
    a: Array
    alpha: Array

    def carrying(self, r: Array) -> Moving:
        """The frame of a point at r (world axes) that is fixed in this frame."""
        v = self.v + cross(self.w, r)
        a = self.a + cross(self.alpha, r) + cross(self.w, cross(self.w, r))
        return self._replace(p=self.p + r, v=v, a=a)

    def with_frame(self, position: Array, rotation: Array) -> Moving:
        """A frame that is fixed in this one."""
        return self.carrying(self.R @ position)._replace(R=self.R @ rotation)

    @property
    def twist(self) -> Array:
        return np.concatenate([self.v, self.w])

    @property
    def acceleration(self) -> Array:
        return np.concatenate([self.a, self.alpha])


def at_rest(R: Array, p: Array) -> Moving:
    return Moving(R, p, *np.zeros((4, 3)))


WORLD = at_rest(np.eye(3), np.zeros(3))


def chained(joint: Joint, q: Array, rates: Array, start: Moving) -> tuple[Moving, Array]:
    """Frame at the end of the joint's chain, accelerating as it does at constant rates, and S there: (6, nv)."""
    F = start
    motions: list[tuple[Array, Array, Array]] = []  # direction of sliding, axis of turning, a point on the axis
    none = np.zeros(3)
    i = k = 0
    for e in joint.elements:
        x, y = q[i : i + ELEMENT_NQ[e.kind]], rates[k : k + ELEMENT_NV[e.kind]]
        i, k = i + ELEMENT_NQ[e.kind], k + ELEMENT_NV[e.kind]
        if e.kind == SLIDE:
            u = F.R @ e.axis
            F = F.carrying(x[0] * u)
            F = F._replace(v=F.v + y[0] * u, a=F.a + 2 * cross(F.w, y[0] * u))
            motions.append((u, none, F.p))
        elif e.kind == TURN:
            u = F.R @ e.axis
            F = F.carrying(F.R @ e.anchor)
            F = F._replace(R=F.R @ turned_about(e.axis, x[0]), w=F.w + y[0] * u, alpha=F.alpha + cross(F.w, y[0] * u))
            motions.append((none, u, F.p))
            F = F.carrying(-F.R @ e.anchor)
        elif e.kind == BALL:
            F = F.carrying(F.R @ e.anchor)
            R = F.R @ rotation_of(x)
            w = R @ y
            F = F._replace(R=R, w=F.w + w, alpha=F.alpha + cross(F.w, w))
            motions += [(none, u, F.p) for u in R.T]
            F = F.carrying(-F.R @ e.anchor)
        elif e.kind == FLOAT:
            F = F.carrying(F.R @ x[:3])
            R = F.R @ rotation_of(x[3:])
            v, w = R @ y[:3], R @ y[3:]
            # v is along axes that turn with w against the parent, and the parent turns with F.w: hence w × v and 2 F.w × v
            F = F._replace(R=R, v=F.v + v, a=F.a + 2 * cross(F.w, v) + cross(w, v), w=F.w + w, alpha=F.alpha + cross(F.w, w))
            motions += [(u, none, F.p) for u in R.T] + [(none, u, F.p) for u in R.T]
    columns = [np.concatenate([along + cross(about, F.p - point), about]) for along, about, point in motions]
    return F, np.array(columns).reshape(-1, 6).T


def passive_forces(joint: Joint, q: Array, rates: Array) -> Array:
    """What springs, dampers and dry friction of a joint add to its torques: (nv,)."""
    springs, _ = springs_of(joint, q)
    return springs + losing_forces(joint, rates)


def losing_forces(joint: Joint, rates: Array) -> Array:
    """Dampers and dry friction: (nv,)."""
    return -joint.damping * rates - joint.friction * rates / np.sqrt(rates**2 + CREEP**2)


def springs_of(joint: Joint, q: Array) -> tuple[Array, float]:
    """Torques of a joint's springs (nv,), and their energy."""
    torque, energy = np.zeros(joint.nv), 0.0
    i = k = 0
    for e in joint.elements:
        x, rest = q[i : i + ELEMENT_NQ[e.kind]], joint.rest[i : i + ELEMENT_NQ[e.kind]]
        mine = slice(k, k + ELEMENT_NV[e.kind])
        i, k = i + ELEMENT_NQ[e.kind], k + ELEMENT_NV[e.kind]
        stiffness = joint.stiffness[mine]
        if e.kind in (TURN, SLIDE):
            bent, slope = x - rest, np.eye(1)
        elif e.kind == BALL:
            bent = rotation_vector(rotation_of(rest).T @ rotation_of(x))
            slope = vector_slope(bent)
        else:
            continue  # a free joint has no spring
        torque[mine] = -slope.T @ (stiffness * bent)
        energy += 0.5 * float(stiffness @ bent**2)
    return torque, energy


# --- coordinates of a connection ----------------------------------------------------------------


def coordinates_between(joint: Joint, first: Moving, second: Moving, start: Array | None) -> Array:
    """The joint's coordinates (nq,) that bring the end of its chain from the first frame as near as possible to the second."""
    start = joint.neutral if start is None else np.asarray(start, float)
    if not joint.elements:
        return start
    if len(joint.elements) == 1:
        return _closed_form(joint, first, second, start)
    best, least = start, np.inf
    rng = np.random.default_rng(0)
    for trial in range(20):  # one that is nearly closed is found from the start at once, if that is any good
        step = np.zeros(joint.nv) if trial == 0 else rng.normal(0.0, 1.5, joint.nv)
        q, gap = _newton(joint, first, second, _stepped(joint, start, step))
        if gap < least:
            best, least = q, gap
        if least < 1e-3:
            break
    return best


def _closed_form(joint: Joint, first: Moving, second: Moving, start: Array) -> Array:
    (e,) = joint.elements
    quaternion = quaternion_of(first.R.T @ second.R)
    position = first.R.T @ (second.p - first.p)
    if e.kind == SLIDE:
        return np.array([position @ e.axis])
    if e.kind == TURN:
        angle = 2 * np.arctan2(quaternion[1:] @ e.axis, quaternion[0])
        return np.array([angle + 2 * np.pi * np.round((start[0] - angle) / (2 * np.pi))])  # the nearest of all that fit
    return quaternion if e.kind == BALL else np.concatenate([position, quaternion])


def _newton(joint: Joint, first: Moving, second: Moving, q: Array) -> tuple[Array, float]:
    """Gauss and Newton's method, with steps halved until they bring the frames nearer."""

    def gap_at(q: Array) -> tuple[Array, Array, float]:
        end, S = chained(joint, q, np.zeros(joint.nv), at_rest(first.R, first.p))
        gap = gap_between(end, second)
        return gap, S, float(np.linalg.norm(gap))

    gap, S, size = gap_at(q)
    for _ in range(60):
        step = np.linalg.lstsq(S, gap, rcond=RANK)[0]
        for _ in range(12):
            tried = _stepped(joint, q, step)
            new_gap, new_S, new_size = gap_at(tried)
            if new_size < size:
                break
            step = step / 2
        else:
            break
        q, gap, S, size = tried, new_gap, new_S, new_size
        if np.linalg.norm(step) < 1e-12:
            break
    return q, size


def _stepped(joint: Joint, q: Array, step: Array) -> Array:
    """The coordinates after a step of the rates; quaternions by small turns in child axes."""
    result = np.array(q, float)
    i = k = 0
    for e in joint.elements:
        if e.kind == BALL:
            angle = float(np.linalg.norm(step[k : k + 3]))
            axis = step[k : k + 3] / angle if angle > 0 else np.zeros(3)
            result[i : i + 4] = quaternion_of(rotation_of(q[i : i + 4]) @ turned_about(axis, angle))
        else:
            result[i] += step[k]
        i, k = i + ELEMENT_NQ[e.kind], k + ELEMENT_NV[e.kind]
    return result


def gap_between(end: Moving, second: Moving) -> Array:
    """From the end of a chain to the frame it should meet, world axes: (position [m], rotation vector [rad])."""
    return np.concatenate([second.p - end.p, end.R @ rotation_vector(end.R.T @ second.R)])


# --- the whole mechanism ------------------------------------------------------------------------


class Jointed(NamedTuple):
    """A joint of the tree or a connection in its present state."""

    joint: Joint
    q: Array
    rates: Array
    first: int  # places of the links among all links, -1: the world
    second: int
    X_first: Array  # (6, 6) from the link's velocity to that at the end of the chain
    X_second: Array
    S: Array  # (6, nv)
    gap: Array  # (6,) between the end of the chain and the second frame
    drift: Array  # (6,) how fast it grows
    bias: Array  # (6,) how fast that grows while links and rates do not accelerate


class System:
    """Rows, inertias and forces at one state. Columns: velocities of links, rates of tree joints, rates of connections."""

    def __init__(self, model: Model, q: Array, v: Array, connections: Iterable[Connection] = ()) -> None:
        self.model, self.nv = model, model.nv
        self.names = {"world": -1} | {name: i for i, name in enumerate(model.links)}
        self.frames = _frames(model, np.asarray(q, float), np.asarray(v, float))
        self.tree = [self._jointed(c, x, rates) for c, x, rates in _tree_joints(model, q, v)]
        self.connections = [self._jointed(c) for c in connections]
        self.joints = self.tree + self.connections
        self.at = 6 * len(model.links)  # where the rates begin
        self.tree_rates = slice(self.at, self.at + self.nv)
        self.size = self.at + sum(len(j.rates) for j in self.joints)
        rates = [j.rates for j in self.joints]
        self.u: Array = np.concatenate([*(self.frames[name].twist for name in model.links), *rates, np.zeros(0)])

    def _jointed(self, c: Connection, q: Array | None = None, rates: Array | None = None) -> Jointed:
        first, second = (self.frames[name]._replace(a=np.zeros(3), alpha=np.zeros(3)) for name in (c.first, c.second))
        start, goal = first.with_frame(c.first_position, c.first_rotation), second.with_frame(c.second_position, c.second_rotation)
        if q is None:
            q = coordinates_between(c.joint, start, goal, c.start)
        if rates is None:
            carried, S = chained(c.joint, q, np.zeros(c.joint.nv), start)
            rates = np.linalg.lstsq(S, goal.twist - carried.twist, rcond=RANK)[0]
        end, S = chained(c.joint, q, rates, start)
        return Jointed(
            c.joint, q, rates, self.names[c.first], self.names[c.second], shifted(end.p - first.p), shifted(goal.p - second.p), S,
            gap_between(end, goal), goal.twist - end.twist, goal.acceleration - end.acceleration,
        )  # fmt: skip

    def rows(self, prescribed: Iterable[str] = ()) -> Array:
        """J: six rows for every joint, then one for every prescribed coordinate."""
        prescribed = list(prescribed)
        J = np.zeros((6 * len(self.joints) + len(prescribed), self.size))
        k = self.at
        for n, j in enumerate(self.joints):
            mine = slice(6 * n, 6 * n + 6)
            for link, X in ((j.first, -j.X_first), (j.second, j.X_second)):
                if link >= 0:
                    J[mine, 6 * link : 6 * link + 6] += X
            J[mine, k : k + len(j.rates)] = -j.S
            k += len(j.rates)
        for n, name in enumerate(prescribed):
            J[6 * len(self.joints) + n, self.at + self.model.coordinate_index[name]] = 1.0
        return J

    def root_inertia(self) -> Array:
        """B with BᵀB = M, the inertia of links and rotors."""
        B = np.zeros((self.size, self.size))
        for i, (name, link) in enumerate(self.model.links.items()):
            R = self.frames[name].R
            moments, axes = np.linalg.eigh(R @ link.inertia @ R.T)
            root = np.zeros((6, 6))
            root[:3, :3] = np.sqrt(link.mass) * np.eye(3)
            root[3:, 3:] = np.sqrt(np.maximum(moments, 0.0))[:, None] * axes.T
            B[6 * i : 6 * i + 6, 6 * i : 6 * i + 6] = root @ shifted(R @ link.center)
        rotors = np.concatenate([j.joint.armature for j in self.joints] + [np.zeros(0)])
        B[self.at :, self.at :] = np.diag(np.sqrt(rotors))
        return B

    def forces(self, tau: Array, gravity: Array) -> Array:
        """f: weights and gyroscopic forces of links, torques in joints."""
        f = np.zeros(self.size)
        for i, (name, link) in enumerate(self.model.links.items()):
            R, w = self.frames[name].R, self.frames[name].w
            c, I = R @ link.center, R @ link.inertia @ R.T
            force = link.mass * (gravity - cross(w, cross(w, c)))
            f[6 * i : 6 * i + 3] = force
            f[6 * i + 3 : 6 * i + 6] = cross(c, force) - cross(w, I @ w)
        f[self.at :] = np.concatenate([passive_forces(j.joint, j.q, j.rates) for j in self.joints] + [np.zeros(0)])
        f[self.tree_rates] += tau
        return f


def _tree_joints(model: Model, q: Array, v: Array) -> list[tuple[Connection, Array, Array]]:
    """The joint of every link, with its numbers in q and v."""
    joints = []
    i = k = 0
    for name, link in model.links.items():
        joint = link.joint
        c = Connection(link.parent or "world", name, joint, link.position, link.rotation, np.zeros(3), np.eye(3))
        joints.append((c, np.asarray(q, float)[i : i + joint.nq], np.asarray(v, float)[k : k + joint.nv]))
        i, k = i + joint.nq, k + joint.nv
    return joints


def _frames(model: Model, q: Array, v: Array) -> dict[str, Moving]:
    """Frame of every link and of the world; they accelerate as at constant rates."""
    frames = {"world": WORLD}
    for c, x, rates in _tree_joints(model, q, v):
        frames[c.second], _ = chained(c.joint, x, rates, frames[c.first].with_frame(c.first_position, c.first_rotation))
    return frames


class _Rows:
    """J x = γ taken apart: what meets it, what it leaves free, and the least multipliers."""

    def __init__(self, J: Array) -> None:
        self.J = J
        self.U, s, self.Vt = np.linalg.svd(J)
        self.rank = int((s > RANK * s.max(initial=0.0)).sum())
        self.s = s[: self.rank]

    @property
    def free(self) -> Array:
        """Columns that span what the rows leave free."""
        return self.Vt[self.rank :].T

    @property
    def idle(self) -> Array:
        """Columns that span the multipliers without effect."""
        return self.U[:, self.rank :]

    def solution(self, gamma: Array, unmet: float) -> Array:
        x = self.Vt[: self.rank].T @ (self.U[:, : self.rank].T @ gamma / self.s)
        if np.linalg.norm(self.J @ x - gamma) > unmet * (1 + np.linalg.norm(gamma)):
            raise Contradiction(
                "No accelerations meet all rows: loops are wrongly closed or singular, or prescribed coordinates fight them."
            )
        return x

    def multipliers(self, force: Array) -> Array:
        """The least λ with Jᵀλ = force."""
        return self.U[:, : self.rank] @ (self.Vt[: self.rank] @ force / self.s)


# --- for tests ----------------------------------------------------------------------------------


def bodies(model: Model, q: Array, v: Array) -> tuple[dict[str, Pose], dict[str, Array]]:
    """Pose of every link, and velocity (of its origin, then angular; world axes)."""
    frames = _frames(model, np.asarray(q, float), np.asarray(v, float))
    return {name: Pose(frames[name].R, frames[name].p) for name in model.links}, {name: frames[name].twist for name in model.links}


def accelerations(
    model: Model,
    q: Array,
    v: Array,
    tau: Array,
    gravity: Array,
    connections: Sequence[Connection] = (),
    prescribed: Mapping[str, float] | None = None,
    unmet: float = UNMET,
) -> tuple[Array, Array]:
    """Accelerations of the tree's coordinates (nv,), and the wrench of every connection (number of connections, 6).

    A wrench is what the connection exerts on its second link, springs, dampers and friction in it included: force, then moment
    about the origin of the second frame, world axes. Where :func:`determined` is false it is one of many.

    The state must be closed, and v go with it: gaps, and velocities at which they grow, are errors of the result of that size.

    Args:
        tau: Torques of the motors of the tree (nv,).
        prescribed: Accelerations that coordinates of the tree are to have, by name.
        unmet: Rows that cannot be met to this part of their size are refused as contradictory; below it they are met as well as
            can be.
    """
    prescribed = prescribed or {}
    system = System(model, q, v, connections)
    rows = _Rows(system.rows(prescribed))
    gamma = np.concatenate([*(-j.bias for j in system.joints), list(prescribed.values())])
    f, B = system.forces(np.asarray(tau, float), np.asarray(gravity, float)), system.root_inertia()
    x = rows.solution(gamma, unmet)
    # M (x + N y) = f + Jᵀλ, and NᵀJᵀ = 0; NᵀMN = (BN)ᵀBN is inverted by the singular values of BN, which keeps more digits
    N = rows.free
    pull = N.T @ (f - B.T @ (B @ x))
    _, s, Wt = np.linalg.svd(B @ N)
    moved = s > RANK * s.max(initial=0.0)
    if np.linalg.norm(Wt[: len(s)][~moved] @ pull) > UNMET * (1 + np.linalg.norm(pull)):
        raise Contradiction("A force acts along a motion that has no inertia.")
    x = x + N @ (Wt[: len(s)][moved].T @ (Wt[: len(s)][moved] @ pull / s[moved] ** 2))
    wrenches = rows.multipliers(B.T @ (B @ x) - f)[6 * len(system.tree) : 6 * len(system.joints)]
    return x[system.tree_rates], wrenches.reshape(-1, 6)


def impulse(model: Model, q: Array, v: Array, connections: Sequence[Connection], prescribed: Iterable[str] = ()) -> Array:
    """Velocities (nv,) after all connections have closed at once, inelastically, prescribed coordinates at rest.

    Of all velocities that the joints allow they are the nearest to those before, in the measure of kinetic energy.
    """
    system = System(model, q, v, connections)
    N, B = _Rows(system.rows(prescribed)).free, system.root_inertia()
    after = N @ np.linalg.lstsq(B @ N, B @ system.u, rcond=RANK)[0]
    return after[system.tree_rates]


def gaps(model: Model, q: Array, connections: Sequence[Connection]) -> Array:
    """From the end of each connection's chain to its second frame, world axes: rows (position [m], rotation vector [rad])."""
    return np.array([j.gap for j in System(model, q, np.zeros(model.nv), connections).connections]).reshape(-1, 6)


def residuals(model: Model, q: Array, connections: Sequence[Connection]) -> Array:
    """How far each connection is from closed: rows (position gap [m], angle gap [rad]) after its joint did what it can."""
    g = gaps(model, q, connections)
    return np.stack([np.linalg.norm(g[:, :3], axis=1), np.linalg.norm(g[:, 3:], axis=1)], axis=1)


def drifts(model: Model, q: Array, v: Array, connections: Sequence[Connection]) -> Array:
    """How fast each connection opens, whatever its joint's rates: rows (linear [m/s], angular [rad/s]), world axes."""
    return np.array([j.drift for j in System(model, q, v, connections).connections]).reshape(-1, 6)


def coordinates(model: Model, q: Array, v: Array, connection: Connection) -> tuple[Array, Array]:
    """Coordinates (nq,) and rates (nv,) of a connection's joint."""
    (j,) = System(model, q, v, [connection]).connections
    return j.q, j.rates


def mobility(model: Model, q: Array, connections: Sequence[Connection], prescribed: Iterable[str] = (), rank: float = RANK) -> int:
    """How many independent velocities the tree has left. Rows that differ by less than ``rank`` are alike."""
    system = System(model, q, np.zeros(model.nv), connections)
    _, s, Vt = np.linalg.svd(system.rows(prescribed))
    N = Vt[int((s > rank * s.max(initial=0.0)).sum()) :].T
    return int(np.linalg.matrix_rank(N[system.tree_rates], tol=1e-8)) if N.size else 0


def determined(model: Model, q: Array, connections: Sequence[Connection], prescribed: Iterable[str] = ()) -> list[bool]:
    """Whether each connection's wrench follows from the motion, or redundant rows leave a part of it open."""
    system = System(model, q, np.zeros(model.nv), connections)
    idle = _Rows(system.rows(prescribed)).idle
    first = len(system.tree)
    return [bool(np.abs(idle[6 * n : 6 * n + 6]).max(initial=0.0) < 1e-8) for n in range(first, first + len(connections))]


def momentum(model: Model, q: Array, v: Array) -> tuple[Array, Array]:
    """Linear and angular momentum of all links, the latter about the origin of the world."""
    frames = _frames(model, np.asarray(q, float), np.asarray(v, float))
    linear, angular = np.zeros(3), np.zeros(3)
    for name, link in model.links.items():
        center = frames[name].with_frame(link.center, np.eye(3))
        linear += link.mass * center.v
        angular += cross(center.p, link.mass * center.v) + center.R @ link.inertia @ center.R.T @ center.w
    return linear, angular


def energy(model: Model, q: Array, v: Array, gravity: Array, connections: Sequence[Connection] = ()) -> tuple[float, float]:
    """Kinetic energy, with rotors, and potential energy, with springs (those of connections, too)."""
    system = System(model, q, v, connections)
    potential = sum(springs_of(j.joint, j.q)[1] for j in system.joints)
    for name, link in model.links.items():
        potential -= link.mass * float(np.dot(gravity, system.frames[name].with_frame(link.center, np.eye(3)).p))
    return 0.5 * float(np.sum((system.root_inertia() @ system.u) ** 2)), potential


def losses(model: Model, q: Array, v: Array, connections: Sequence[Connection] = ()) -> float:
    """Power [W] that dampers and dry friction take out."""
    return -sum(float(losing_forces(j.joint, j.rates) @ j.rates) for j in System(model, q, v, connections).joints)
