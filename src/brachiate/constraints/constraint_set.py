"""Held: the constraint set of one :class:`~brachiate.Data`, bond by bond. The world gives the bonds their names."""

from __future__ import annotations

from typing import Any

import numpy as np

from brachiate.compiled import Handle, call_at, entry, fields_of
from brachiate.constraints.arrays import (
    ANY,
    BALL_LOCK,
    CONNECTION,
    COORDINATE,
    COUPLING,
    CROSS,
    HINGE,
    HOLD,
    NUMBERS_G,
    NUMBERS_Y,
    PAIRS,
    POINT,
    ROWS,
    SLIDER,
    USED,
    WELD,
    Bonds,
    open_bonds,
)
from brachiate.constraints.constrained_dynamics import ACCELERATE_AND_DECIDE, INSPECT, NEEDS_CROSSING, OPEN, SETTLE, TAKE_HOLD, hold, metric
from brachiate.constraints.rows import look
from brachiate.constraints.singular import cross
from brachiate.constraints.solve import relate
from brachiate.constraints.sparsity import LANES, arrange
from brachiate.errors import StateError
from brachiate.kinematics import finite, sound
from brachiate.model.arrays import NOT_FINITE, OK, OVERFLOW, open_rooms
from brachiate.model.data import Data
from brachiate.model.flatten import Placement
from brachiate.model.joints import BALL, SLIDE, TURN, Joint
from brachiate.model.joints import FREEDOMS as FREEDOMS_OF
from brachiate.model.joints import NUMBERS as NUMBERS_OF
from brachiate.spatial import turn_between
from brachiate.validation import Array

# Every bond owns this many places for its joint, whatever it is: a joint that closes a loop has at most five freedoms.
_ELEMENTS, _NUMBERS, _VELOCITIES = 5, 8, 6
# How long each array of the room is: by the name of a size below, or a number.
_PER_ELEMENT = ("e_kind", "e_axis", "e_anchor", "e_q", "e_v")
_PER_NUMBER = ("q", "rest")
_PER_VELOCITY = ("v", "tau", "damping", "stiffness", "friction", "S", "N")
_PER_ROW = ("T", "c", "gamma", "rate", "goal", "speed", "rhs", "force", "state", "weak", "meets", "g_at", "pivot", "whole")
_PER_ROW += ("sine", "sine_last", "reach", "left")
_SHORT_CUTS = {TURN: HINGE, SLIDE: SLIDER, BALL: POINT}
_SCRATCH = ("J", "Y", "Z", "G", "pair", "far", "cross", "dense")


@entry
def _arrange(key, held):
    T, _ = open_rooms(key)
    (B,) = open_bonds(held)
    return arrange(T, B)


@entry
def _hold(key, held, what):
    T, W = open_rooms(key)
    (B,) = open_bonds(held)
    if not (sound(T, W.q, W.v) and finite(W.tau)):
        return NOT_FINITE
    if what == SETTLE:
        call_at(B.far[HOLD], key, held, 0.0, TAKE_HOLD)
    status = call_at(B.far[HOLD], key, held, 0.0, what)
    return status if status != OK or (finite(W.a) and finite(W.v)) else OVERFLOW


class Held:
    """Owns the arrays of the bonds; ``held.key`` is what compiled entries take."""

    def __init__(self, data: Data) -> None:
        self.data = data
        self.count = 0
        self._order: list[int] = []  # places, the oldest first
        self.limits: dict[int, str] = {}  # places of limits that are rows now, and their names
        self.limited: dict[int, tuple[str, Joint]] = {}  # connections whose joints have limits, and their names
        self._cross = 0
        self._make({"bonds": 8, "touches": 0, "rows": 48, "y": 1024, "g": 1024, "pairs": 128})

    def _make(self, sizes: dict[str, int], old: Bonds | None = None) -> None:
        """Make the arrays with these sizes, and take over what was there."""
        h = sizes["bonds"]
        places = h + sizes["touches"]
        length = dict.fromkeys(_PER_ELEMENT, _ELEMENTS * h) | dict.fromkeys(_PER_NUMBER, _NUMBERS * h)
        length |= dict.fromkeys(_PER_VELOCITY, _VELOCITIES * h) | dict.fromkeys(_PER_ROW, sizes["rows"])
        length |= {"J": sizes["y"], "Y": sizes["y"], "Z": sizes["y"], "G": sizes["g"], "pair": sizes["pairs"]}
        length |= {"v_before": self.data.model.nv, "dense": sizes["rows"] * self.data.model.nv}
        length |= {"count": 13, "far": 5, "most": 2, "clock": 2, "step": 1, "z": self.data.model.nv, "cross": self._cross}
        room = {name: np.zeros((length.get(name, places), *field.row), field.dtype) for name, field in fields_of(Bonds).items()}
        self.room = Bonds(**room)
        self._sizes = sizes
        if old is not None:
            for name, mine, given in zip(Bonds._fields, self.room, old, strict=True):
                if name not in _SCRATCH:
                    mine[: len(given)] = given
        self.handle = Handle(self.room)
        self.key = self.handle.key

    def __reduce__(self) -> Any:
        """Copy and pickle by the numbers; addresses mean nothing elsewhere."""
        return _restored, (self.data, self.count, dict(self.limits), dict(self.limited), self._cross, self._sizes, tuple(self.room))

    def _free_slot(self) -> int:
        free = int(self.room.alive[: self._sizes["bonds"]].argmin())
        if self.room.alive[free]:
            self._make(self._sizes | {"bonds": 2 * self._sizes["bonds"]}, self.room)
            return self._free_slot()
        return free

    def arrange(self) -> None:
        """Number the rows anew after a change, with longer arrays if they are needed."""
        if not self.count:  # nothing holds: no need for the code either
            self.room.count[:] = 0
            return
        self.room.count[USED] = len(self._order)
        self.room.order[: len(self._order)] = self._order
        while _arrange(self.data.key, self.key) != OK:
            need = {"rows": ROWS, "y": NUMBERS_Y, "g": NUMBERS_G, "pairs": PAIRS}
            sizes = {name: max(self._sizes[name], 2 * int(self.room.count[place])) for name, place in need.items()}
            self._make(self._sizes | sizes, self.room)
        self._find_code()
        # With more rows than it has room for, crossing must be prepared anew.
        self.room.far[CROSS] = cross.address if self._cross >= self._crossing() else 0

    def _find_code(self) -> None:
        if not self.room.far[HOLD]:
            self.room.far[:4] = [piece.address for piece in (look, metric, relate, hold)]

    def make_room(self, touches: int) -> None:
        """Make room for so many contact areas after the bonds, whatever bodies they are between."""
        n, longest = touches, 2 * LANES * (int(self.data.model.tree.depth.max(initial=0)) + 1)
        bonds, rows = self._sizes["bonds"], int(self.room.count[ROWS]) + 6 * n
        need = {"rows": rows + 48, "y": int(self.room.count[NUMBERS_Y]) + n * 2 * longest, "pairs": int(self.room.count[PAIRS])}
        need |= {"g": int(self.room.count[NUMBERS_G]) + n * 2 * LANES * (rows + LANES), "touches": n}
        need["pairs"] += 4 * n * (bonds + n)
        if any(self._sizes[name] < size for name, size in need.items()):
            states = self.decided()
            self._make(self._sizes | {name: max(self._sizes[name], size) for name, size in need.items()}, self.room)
            self.arrange()
            self.decided(states)
        self._find_code()

    def connect(self, first: Placement, second: Placement, joint: Joint, name: str = "loop") -> int:
        """Add a connection between frames fixed in two bodies; returns its place."""
        n = self._free_slot()
        B = self.room
        elements = joint.elements
        B.alive[n], B.kind[n], B.form[n] = 1, CONNECTION, _form(joint)
        B.first[n], B.second[n], B.coordinate[n], B.other[n] = first.body, second.body, -1, -1
        B.R_first[n], B.p_first[n], B.R_second[n], B.p_second[n] = first.rotation, first.position, second.rotation, second.position
        B.element[n], B.elements[n] = _ELEMENTS * n, len(elements)
        q, v = _NUMBERS * n, _VELOCITIES * n
        B.q_at[n], B.v_at[n], B.freedoms[n] = q, v, joint.nv
        B.q[q : q + joint.nq], B.rest[q : q + joint.nq] = joint.neutral, joint.rest
        B.v[v : v + _VELOCITIES] = B.tau[v : v + _VELOCITIES] = 0.0
        mine = slice(v, v + joint.nv)
        B.damping[mine], B.stiffness[mine], B.friction[mine] = joint.damping, joint.stiffness, joint.friction
        B.acts[n], B.side[n], B.sleeps[n], B.soft[n], B.owner[n] = int(joint.acts or joint.limited), 0, 0, 0, -1
        if joint.limited:
            self.limited[n] = name, joint
        for m, element in enumerate(elements, _ELEMENTS * n):
            B.e_kind[m], B.e_axis[m], B.e_anchor[m], B.e_q[m], B.e_v[m] = element.kind, element.axis, element.anchor, q, v
            q, v = q + NUMBERS_OF[element.kind], v + FREEDOMS_OF[element.kind]
        self.count += 1
        self._order.append(n)
        return n

    def soften(self, place: int, stiffness: tuple[float, float], damping: tuple[float, float]) -> None:
        """Make a connection a spring and damper in every direction it would hold: against moving, and against turning."""
        B = self.room
        B.soft[place] = 1
        B.give_move[place] = stiffness[0], damping[0], 0.0
        B.give_turn[place] = stiffness[1], damping[1], 0.0

    def limit(self, kind: int, coordinate: int, number: int, bound: float, side: int, axis: Array | None = None, owner: int = -1) -> int:
        """Keep a coordinate, or a ball's swing or twist about an axis, on one side of a bound; returns its place.

        The coordinate is one of the tree, or of the joint of the connection ``owner``.
        """
        n = self._coordinate_bond(kind, coordinate, number)
        if owner >= 0:
            self.room.owner[n], self.room.first[n], self.room.second[n] = owner, self.room.first[owner], self.room.second[owner]
        self.room.course[n], self.room.side[n], self.room.sleeps[n] = 0.0, side, 0
        self.room.course[n, 0] = self.room.bound[n] = bound
        if axis is not None:
            self.room.target[n, :3] = axis
        return n

    def lock(self, coordinate: int, number: int, course: Array, since: float, until: float) -> int:
        """Hold a coordinate to a polynomial of the time since a moment, until another; returns its place."""
        n = self._coordinate_bond(COORDINATE, coordinate, number)
        self.room.course[n], self.room.since[n], self.room.until[n] = 0.0, since, until
        self.room.course[n, : len(course)] = course
        return n

    def lock_ball(self, coordinate: int, number: int, target: Array) -> int:
        """Hold a ball joint at a quaternion; returns its place."""
        n = self._coordinate_bond(BALL_LOCK, coordinate, number)
        self.room.target[n, :4] = target
        return n

    def couple(self, coordinate: int, number: int, other: int, other_number: int, coefficients: Array) -> int:
        """Let a coordinate follow another by a polynomial; returns its place."""
        n = self._coordinate_bond(COUPLING, coordinate, number)
        self.room.other[n], self.room.other_number[n] = other, other_number
        self.room.course[n] = 0.0
        self.room.course[n, : len(coefficients)] = coefficients
        return n

    def _coordinate_bond(self, kind: int, coordinate: int, number: int) -> int:
        n = self._free_slot()
        B = self.room
        B.alive[n], B.kind[n], B.form[n], B.first[n], B.second[n] = 1, kind, ANY, -1, -1
        B.coordinate[n], B.number[n], B.other[n], B.other_number[n], B.owner[n] = coordinate, number, -1, 0, -1
        B.freedoms[n], B.elements[n], B.acts[n], B.side[n], B.sleeps[n], B.soft[n] = 0, 0, 0, 0, 0, 0
        self.count += 1
        self._order.append(n)
        return n

    def forget_limits(self) -> None:
        """Take every limit away; those that are still pressed against will be noticed."""
        for place in list(self.limits):
            self.remove(place)
        if self.limits:
            self.limits.clear()
            self.arrange()

    def remove(self, place: int) -> None:
        """Take a bond away, and with a connection the limits of its joint."""
        self.limited.pop(place, None)
        for limit in [limit for limit in self.limits if self.room.owner[limit] == place]:
            del self.limits[limit]
            self.remove(limit)
        self.room.alive[place] = 0
        self._order.remove(place)
        self.count -= 1

    # --- what follows ---------------------------------------------------------------------------

    def decided(self, states: Array | None = None) -> Array:
        """Which rows hold and which are redundant, as found so far; given, it is taken back."""
        if states is not None:
            self.room.state[: len(states)] = states
        return self.room.state[: self.room.count[ROWS]].copy()

    def prepare_crossing(self, states: Array) -> None:
        """Bring in what it takes to cross singular postures: code that most runs never need, and room for it."""
        self._cross = self._crossing()
        self._make(self._sizes, self.room)
        self.arrange()
        self.decided(states)

    def _crossing(self) -> int:
        """How much room crossing takes."""
        n, rows = self.data.model.nv, int(self.room.count[ROWS])
        return self.data.model.nq + 2 * n + rows * (rows + 2 * n + 1 + rows)

    def accelerations(self) -> Array:
        """Accelerations at the data's state and torques; the forces that hold are in ``room.force``. A view."""
        self.do(ACCELERATE_AND_DECIDE)
        return self.data.a

    def take_hold(self) -> None:
        """Bring the data's velocity onto every row by impulses, left in ``room.force``."""
        self.do(TAKE_HOLD)

    def look(self) -> None:
        """Compute residuals ``room.c`` and rows at the data's configuration; nothing moves."""
        self.do(INSPECT)

    def worst_rate(self) -> float:
        """What the rows asked of the velocity in the last :meth:`take_hold` and did not get [m/s or rad/s]."""
        return float(self.room.most[1])

    def settle(self) -> None:
        """Bring the data's state onto the constraints: position, then velocity."""
        self.do(SETTLE)

    def gap(self) -> float:
        """Largest residual of any row when last looked at [m or rad]."""
        return float(np.abs(self.room.c[: self.room.count[ROWS]]).max(initial=0.0))

    def read_joint(self, place: int) -> tuple[Array, Array]:
        """Coordinates and velocities of a connection's joint at the data's state: two new arrays."""
        B = self.room
        acts = int(B.acts[place])
        B.acts[place] = 1  # joints that nothing acts in are not looked at otherwise
        try:
            self.accelerations()
        finally:
            B.acts[place] = acts
        q, v, n = int(B.q_at[place]), int(B.v_at[place]), int(B.freedoms[place])
        numbers = sum(NUMBERS_OF[B.e_kind[e]] for e in range(B.element[place], B.element[place] + B.elements[place]))
        return B.q[q : q + numbers].copy(), B.v[v : v + n].copy()

    def wrench(self, place: int) -> tuple[Array, Array]:
        """Moment and force (6,) of a connection on its second body about its point, world axes, and that point (3,).

        From the forces last computed; springs, dampers, friction and motors of its joint included.
        """
        B, rows = self.room, self.rows_of(place)
        six = B.yielding[place].copy() if B.soft[place] else B.force[rows] @ B.T[rows]
        if B.acts[place]:
            six = six + B.applied[place]
        body = int(B.second[place])
        origin = self.data.work.origin[self.data.model.tree.root[body]] if body >= 0 else np.zeros(3)
        return six, origin + B.P_second[place]

    def spring_energy(self) -> float:
        """Energy of the springs in connections at the data's configuration [J]."""
        B = self.room
        acts = B.acts.copy()
        B.acts[:] = 1  # joints that nothing acts in are not looked at otherwise
        self.look()
        B.acts[:] = acts
        energy = 0.0
        for i in B.order[: B.count[USED]]:
            if B.soft[i]:
                rows = self.rows_of(i)
                n, f = (B.T[rows][:, part] for part in (slice(0, 3), slice(3, 6)))
                k = (f * f).sum(axis=1) * B.give_move[i, 0] + (n * n).sum(axis=1) * B.give_turn[i, 0]
                energy += 0.5 * float(k @ B.c[rows] ** 2)
            for e in range(B.element[i], B.element[i] + B.elements[i]):
                k, q = int(B.e_v[e]), int(B.e_q[e])
                if B.e_kind[e] == BALL:
                    w = np.array(turn_between(B.rest, B.q, q))
                    energy += 0.5 * float(B.stiffness[k : k + 3] @ (w * w))
                else:
                    energy += 0.5 * float(B.stiffness[k] * (B.q[q] - B.rest[q]) ** 2)
        return energy

    def jacobian(self) -> Array:
        """The rows J as last computed: a new (rows, nv)."""
        B, T = self.room, self.data.model.tree
        J = np.zeros((int(B.count[ROWS]), self.data.model.nv))
        for i in B.order[: B.count[USED]]:
            for tip, offset, start in ((int(B.tip_first[i]), 0, 0), (int(B.tip_second[i]), int(B.y_second[i]), int(B.common[i]))):
                if tip < 0:
                    continue
                d = np.arange(start, T.depth[tip] + 1)
                for m in range(B.rows[i]):
                    at = int(B.y_at[i] + (m // LANES) * B.y_stride[i] + offset + m % LANES)
                    J[B.row[i] + m, T.above[T.row[tip] + d]] += B.J[at + LANES * d]
        return J

    def rows_of(self, place: int) -> slice:
        """Where the rows of a bond are."""
        start = int(self.room.row[place])
        return slice(start, start + int(self.room.rows[place]))

    def do(self, what: int) -> None:
        """Do one of the things that :func:`.motion.hold` may be asked for."""
        states = self.room.state.copy()
        self.room.step[0] = 0.0
        status = _hold(self.data.key, self.key, what)
        if status == NEEDS_CROSSING:
            self.prepare_crossing(states)
            status = _hold(self.data.key, self.key, what)
        if status == OPEN:
            raise StateError(f"The loops cannot be closed from here: {self.gap():.3g} m or rad remain.")
        if status:
            self.data.refuse(status)


def _restored(
    data: Data, count: int, limits: dict[int, str], limited: dict[int, tuple[str, Joint]], cross_size: int, sizes: dict[str, int],
    room: tuple[Array, ...],
) -> Held:  # fmt: skip
    """Make a constraint set again from its numbers."""
    held = Held(data)
    held.count, held.limits, held.limited, held._cross = count, limits, limited, cross_size
    held._order = [int(place) for place in Bonds(*room).order[:count]]
    held._make(sizes, Bonds(*room))
    states = held.decided()
    held.arrange()
    held.decided(states)
    return held


def _form(joint: Joint) -> int:
    """Which short cut a joint is."""
    if not joint.elements:
        return WELD
    one = joint.elements[0]
    if len(joint.elements) > 1 or any(one.anchor.tolist()):
        return ANY
    return _SHORT_CUTS[one.kind]
