"""What touches: contact areas of all pairs of shapes at the present poses."""

from __future__ import annotations

from brachiate.compiled import Handle, call_at, entry, far, kernel, outlined
from brachiate.contact.boxes import APART, NEAR, boxes
from brachiate.contact.broad import above_field, beside_box, near_pairs, turn_of
from brachiate.contact.convex import convex
from brachiate.contact.field import on_field
from brachiate.contact.join import join, on_plane
from brachiate.contact.rooms import BOX, CAPSULE, FIELD, PLANE, open_contact
from brachiate.contact.rounds import rounds
from brachiate.model.data import Data
from brachiate.model.rooms import OK, open_rooms
from brachiate.spatial import vec3


@kernel
def detect(T, W, Gm, A, S, margin):
    """Fill the areas A with what is nearer than the margin at the poses in W: A.count says how many are kept, and were found."""
    A.count[0] = A.count[1] = 0
    near = near_pairs(T, W, Gm, S, margin)
    for k in range(near):
        meet(W, Gm, A, S, S.near[k], margin)


@outlined
def meet(W, Gm, A, S, i, margin):
    """Areas of pair i, whose shapes are placed."""
    a, b = Gm.pair[i, 0], Gm.pair[i, 1]
    R1, R2, x1, x2 = turn_of(W, Gm, a), turn_of(W, Gm, b), vec3(S.x, a), vec3(S.x, b)
    margin += S.margin[i]
    if Gm.kind[a] == PLANE:
        on_plane(Gm, A, S, i, b, R1, x1, R2, x2, margin)
    elif Gm.kind[a] == FIELD:
        if not above_field(Gm, a, b, R1, x2 - x1, margin):
            on_field(Gm, A, S, i, a, b, R1, x1, R2, x2, margin)
    elif not (beside_box(Gm, a, b, R1, R2, x2 - x1, margin) or beside_box(Gm, b, a, R2, R1, x1 - x2, margin)):
        meet_convex(Gm, A, S, i, a, b, R1, x1, R2, x2, margin)


@outlined
def meet_convex(Gm, A, S, i, a, b, R1, x1, R2, x2, margin):
    """Area of two convex shapes: the direction between them in the quickest way that knows it, then what they touch with."""
    quick = Gm.kind[a] == BOX and Gm.kind[b] == BOX
    for _ in range(2):  # boxes that are corner to corner have to be asked a second time
        if quick:
            way, n, p, gap = boxes(Gm, S, i, a, b, R1, x1, R2, x2, margin)
        elif Gm.kind[a] <= CAPSULE and Gm.kind[b] <= CAPSULE:
            n, p, gap = rounds(Gm, a, b, R1, x1, R2, x2)
            way = NEAR if gap < margin else APART
        else:
            near, n, p, gap = convex(Gm, S, a, b, R1, x1, R2, x2, margin)
            way = NEAR if near else APART
        if way == APART or (way == NEAR and join(Gm, A, S, i, a, b, R1, x1, R2, x2, n, p, gap, margin, quick)):
            return
        quick = False


@far
def seek(key, held, x, n):
    """Contact areas at the poses of ``key`` in the rooms of ``held``, nearer than the margin x."""
    T, W = open_rooms(key)
    Gm, A, S = open_contact(held)
    detect(T, W, Gm, A, S, x)
    return OK


@entry
def _find_contact(address, key, held, margin):
    return call_at(address, key, held, margin, 0)


def find(data: Data, contact: Handle, margin: float) -> int:
    """Fill the areas of a contact handle (Geometry, Areas, Scratch) at poses already known. Returns how many are kept."""
    _find_contact(seek.address, data.key, contact.key, float(margin))
    return int(contact.rooms[1][0][0])
