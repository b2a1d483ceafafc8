"""Limits of joints: watched while time runs, and held as rows while they are pressed against.

A limit that no coordinate touches costs a comparison each step. One that is passed becomes a row that can only push: the
coordinate stops there, by an impulse without rebound, and leaves as soon as the row would have to pull.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from brachiate.compiled import Floats, Handle, Ints, Rows3, entry, kernel, opener
from brachiate.constraints.held import Held
from brachiate.constraints.rooms import LIMIT, SWING, TWIST
from brachiate.constraints.rows import UPSIDE_DOWN
from brachiate.doors import Array
from brachiate.model.data import Data
from brachiate.model.model import Model
from brachiate.model.rooms import open_rooms
from brachiate.spatial import Vec3, normalized, quaternion_at, vec3

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
    place: Ints  # (nl,) of the bond that it is; -1 if it is none


open_limits = opener(Limits)


@kernel
def first_passed(W, L):
    """The first limit that is passed and not a row yet; -1 if there is none."""
    for n in range(L.kind.shape[0]):
        if L.place[n] < 0 and room(W, L, n) < 0.0:
            return n
    return -1


@kernel
def room(W, L, n):
    """How much room is left before limit n [rad or m]; negative if it is passed."""
    at = L.number[n]
    if L.kind[n] == LIMIT:
        value = W.q[at]
    else:
        q, u = normalized(quaternion_at(W.q, at)), vec3(L.axis, n)
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
def _room(key, limits, n):
    _, W = open_rooms(key)
    (L,) = open_limits(limits)
    return room(W, L, n)


class Watch:
    """The limits of a model, and which of them are rows of its constraint set now."""

    def __init__(self, model: Model, held: Held) -> None:
        self.held = held
        rows = _rows(model)
        self.names = [row[0] for row in rows]
        n = len(rows)
        self.room = Limits(
            count=np.zeros(2, np.int64),
            kind=np.array([row[1] for row in rows], np.int64),
            coordinate=np.array([row[2] for row in rows], np.int64),
            number=np.array([row[3] for row in rows], np.int64),
            bound=np.array([row[4] for row in rows], float),
            side=np.array([row[5] for row in rows], np.int64),
            axis=np.array([row[6] for row in rows], float).reshape(n, 3),
            place=np.full(n, -1, np.int64),
        )
        self.handle = Handle(self.room)
        self.key = self.handle.key

    def press(self, n: int) -> None:
        """Make limit n a row, and stop what has reached it."""
        L, held = self.room, self.held
        place = held.limit(int(L.kind[n]), int(L.coordinate[n]), int(L.number[n]), float(L.bound[n]), int(L.side[n]), L.axis[n])
        held.limits[place] = self.names[n]
        L.place[n] = place
        # Who is beyond a limit already is held where he is: nothing snaps.
        held.room.course[place, 0] += L.side[n] * min(self.room_left(held.data, n), 0.0)
        held.arrange()
        held.take_hold()

    def room_left(self, data: Data, n: int | None = None) -> float:
        """How much room is left before limit n, or the one last passed [rad or m]."""
        return float(_room(data.key, self.key, int(self.room.count[1]) if n is None else n))

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


def _rows(model: Model) -> list[tuple[str, int, int, int, float, int, Array]]:
    """Name, kind, velocity, place in q, bound, side and axis of every limit."""
    rows = []
    lower, upper = model.limits
    for name, number in model.scalar_coordinates.items():
        k = model.coordinate_index[name]
        for bound, side in ((lower[k], 1), (upper[k], -1)):
            if np.isfinite(bound):
                rows.append((f"limit of {name}", LIMIT, k, number, bound, side, np.zeros(3)))
    for name, joined in model.joints.items():
        cone = model.links[joined.link].joint.cone
        if cone is None:
            continue
        if cone.swing < np.pi:
            rows.append((f"swing limit of {name}", SWING, joined.v.start, joined.q.start, cone.swing, -1, cone.axis))
        for bound, side in ((cone.twist[0], 1), (cone.twist[1], -1)):
            if np.isfinite(bound) and abs(bound) < np.pi:
                rows.append((f"twist limit of {name}", TWIST, joined.v.start, joined.q.start, bound, side, cone.axis))
    return rows
