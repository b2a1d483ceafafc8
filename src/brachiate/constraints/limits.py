"""Limits of joints: watched while time runs, and held as rows while they are pressed against.

A limit that no coordinate touches costs a comparison each step. One that is passed becomes a row that can only push: the
coordinate stops there, by an impulse without rebound, and leaves as soon as the row would have to pull.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from brachiate.compiled import Floats, Handle, Ints, Rows3, call_at, entry, kernel, opener
from brachiate.constraints.arrays import LIMIT, LOOK, SWING, TWIST, open_bonds
from brachiate.constraints.constraint_set import Held
from brachiate.constraints.rows import UPSIDE_DOWN
from brachiate.kinematics import poses
from brachiate.model.arrays import open_rooms
from brachiate.model.data import Data
from brachiate.model.joints import FREEDOMS, NUMBERS, Cone, Joint
from brachiate.model.model import Model
from brachiate.spatial import Vec3, normalized, quaternion_at, vec3
from brachiate.validation import Array

PASSED = 12  # status: a limit was passed; Limits.count says which, and after how many steps
CLEAR = 1e-2  # [rad or m] a coordinate this far from its limit is no longer watched as a row


class Limits(NamedTuple):
    """Every limit of a model: nl of them."""

    count: Ints  # (2,) steps done, limit passed
    kind: Ints  # (nl,) LIMIT, SWING, TWIST
    coordinate: Ints  # (nl,) (first) velocity
    number: Ints  # (nl,) (first) place in q
    bound: Floats  # (nl,) [rad or m]
    side: Ints  # (nl,) 1: a lower limit, -1: an upper one
    axis: Rows3  # (nl, 3) of a cone
    owner: Ints  # (nl,) connection whose joint it limits, -1 for a joint of the tree
    place: Ints  # (nl,) of the bond that it is; -1 if it is none


open_limits = opener(Limits)


@kernel
def passed(key, held, limits, steps):
    """Whether a limit is passed that does not push yet; says which, and after how many steps."""
    T, W = open_rooms(key)
    (L,) = open_limits(limits)
    L.count[0], L.count[1] = steps, -1
    loops = W.q
    if held is not None:
        (B,) = open_bonds(held)
        if L.kind.shape[0] and L.owner[L.kind.shape[0] - 1] >= 0:  # those of loops come last
            poses(T, W)
            call_at(B.far[LOOK], key, held, 0.0, 0)
            loops = B.q
    for n in range(L.kind.shape[0]):
        if L.place[n] < 0 and room(W.q if L.owner[n] < 0 else loops, L, n) < 0.0:
            L.count[1] = n
            return True
    return False


@kernel
def room(values, L, n):
    """How much room is left before limit n [rad or m], going by the numbers of its joints; negative if it is passed."""
    at = L.number[n]
    if L.kind[n] == LIMIT:
        value = values[at]
    else:
        q, u = normalized(quaternion_at(values, at)), vec3(L.axis, n)
        v = Vec3(q.x, q.y, q.z)
        along = u @ v
        if L.kind[n] == TWIST:
            if q.w * q.w + along * along < UPSIDE_DOWN:
                return 1.0
            value = 2.0 * math.atan2(along, q.w)
            value -= 2.0 * math.pi * math.floor((value + math.pi) / (2.0 * math.pi))
        else:
            value = 2.0 * math.atan2(math.sqrt(max(v @ v - along * along, 0.0)), math.sqrt(q.w * q.w + along * along))
    return L.side[n] * (value - L.bound[n])


@entry
def _room(key, held, limits, n):
    T, W = open_rooms(key)
    (B,) = open_bonds(held)
    (L,) = open_limits(limits)
    if L.owner[n] < 0:
        return room(W.q, L, n)
    poses(T, W)
    call_at(B.far[LOOK], key, held, 0.0, 0)
    return room(B.q, L, n)


class Watch:
    """The limits of a model, and which of them are rows of its constraint set now."""

    def __init__(self, model: Model, held: Held) -> None:
        self.held = held
        self.limited = dict(held.limited)
        rows = _all_rows(model, held)
        self.names = [row[0] for row in rows]
        n = len(rows)
        self.room = _room_of(rows)
        for place, name in held.limits.items():  # that are rows already
            for k in range(n):
                if self.names[k] == name and self.room.side[k] == held.room.side[place] and self.room.kind[k] == held.room.kind[place]:
                    self.room.place[k] = place
        self.handle = Handle(self.room)
        self.key = self.handle.key

    def enter(self, n: int) -> int:
        """Make limit n a row; returns its place."""
        L, held = self.room, self.held
        whose = int(L.coordinate[n]), int(L.number[n])
        place = held.limit(int(L.kind[n]), *whose, float(L.bound[n]), int(L.side[n]), L.axis[n], int(L.owner[n]))
        held.limits[place] = self.names[n]
        L.place[n] = place
        return place

    def press(self, n: int) -> None:
        """Make limit n a row, and stop what has reached it."""
        L, held = self.room, self.held
        place = self.enter(n)
        # Who is beyond a limit already is held where he is: nothing snaps.
        held.room.course[place, 0] += L.side[n] * min(self.room_left(held.data, n), 0.0)
        held.arrange()
        held.take_hold()

    def room_left(self, data: Data, n: int | None = None) -> float:
        """How much room is left before limit n, or the one last passed [rad or m]."""
        return float(_room(data.key, self.held.key, self.key, int(self.room.count[1]) if n is None else n))

    def back(self) -> None:
        """Let limits push or sleep as they did before the last step."""
        B = self.held.room
        if self.held.limits:
            B.sleeps[:], B.course[:, 0] = B.sleeps_last, np.where(B.side != 0, B.bound_last, B.course[:, 0])
            self.held.arrange()
            self.held.accelerations()

    def prune(self) -> None:
        """Forget rows of limits that nothing is near to any more."""
        L, B, removed = self.room, self.held.room, False
        for n in np.flatnonzero(L.place >= 0):
            place = int(L.place[n])
            here = place in self.held.limits  # not so if the world was set back
            if here and B.sleeps[place] and L.side[n] * B.c[B.row[place]] > CLEAR:
                self.held.remove(place)
                del self.held.limits[place]
                here, removed = False, True
            if not here:
                L.place[n] = -1
        if removed:
            self.held.arrange()
            if self.held.count:
                self.held.accelerations()


_Row = tuple[str, int, int, int, float, int, Array, int]


def limits_of(model: Model, held: Held) -> Limits:
    """Every limit of the joints of a tree, and of those that close loops."""
    return _room_of(_all_rows(model, held))


def _all_rows(model: Model, held: Held) -> list[_Row]:
    return [*_rows(model), *(row for place, (name, joint) in held.limited.items() for row in _loop_rows(held, place, name, joint))]


def _room_of(rows: list[_Row]) -> Limits:
    n = len(rows)
    return Limits(
        count=np.zeros(2, np.int64),
        kind=np.array([row[1] for row in rows], np.int64),
        coordinate=np.array([row[2] for row in rows], np.int64),
        number=np.array([row[3] for row in rows], np.int64),
        bound=np.array([row[4] for row in rows], float),
        side=np.array([row[5] for row in rows], np.int64),
        axis=np.array([row[6] for row in rows], float).reshape(n, 3),
        owner=np.array([row[7] for row in rows], np.int64),
        place=np.full(n, -1, np.int64),
    )


def _rows(model: Model) -> list[_Row]:
    """Name, kind, velocity, place in q, bound, side, axis and owner of every limit of the tree."""
    rows: list[_Row] = []
    lower, upper = model.limits
    for name, number in model.scalar_coordinates.items():
        k = model.coordinate_index[name]
        rows += _bounds(name, k, number, lower[k], upper[k], -1)
    for name, joined in model.joints.items():
        rows += _cone(name, joined.v.start, joined.q.start, model.links[joined.link].joint.cone, -1)
    return rows


def _loop_rows(held: Held, place: int, name: str, joint: Joint) -> list[_Row]:
    """The same of a connection's joint."""
    q, v = int(held.room.q_at[place]), int(held.room.v_at[place])
    if joint.cone is not None:
        return _cone(name, v, q, joint.cone, place)
    rows: list[_Row] = []
    names, number, k = joint.coordinate_names(name), 0, 0
    for element in joint.elements:
        if FREEDOMS[element.kind] == 1:
            rows += _bounds(names[k], v + k, q + number, joint.lower[k], joint.upper[k], place)
        number, k = number + NUMBERS[element.kind], k + FREEDOMS[element.kind]
    return rows


def _bounds(name: str, k: int, number: int, lower: float, upper: float, owner: int) -> list[_Row]:
    found = ((bound, side) for bound, side in ((lower, 1), (upper, -1)) if np.isfinite(bound))
    return [(f"limit of {name}", LIMIT, k, number, bound, side, np.zeros(3), owner) for bound, side in found]


def _cone(name: str, k: int, number: int, cone: Cone | None, owner: int) -> list[_Row]:
    if cone is None:
        return []
    rows: list[_Row] = []
    if cone.swing < np.pi:
        rows.append((f"swing limit of {name}", SWING, k, number, cone.swing, -1, cone.axis, owner))
    for bound, side in ((cone.twist[0], 1), (cone.twist[1], -1)):
        if np.isfinite(bound) and abs(bound) < np.pi:
            rows.append((f"twist limit of {name}", TWIST, k, number, bound, side, cone.axis, owner))
    return rows
