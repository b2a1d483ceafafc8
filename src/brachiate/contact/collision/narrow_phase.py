"""What touches: contact areas of all pairs of shapes at the present poses.

Planes, spheres and capsules are looked at here. The rest is large, so it is called by address, and compiled only once.
"""

from __future__ import annotations

from brachiate.compiled import Handle, call_at, entry, far, kernel
from brachiate.contact.arrays import APART, BOX, CAPSULE, FIELD, NEAR, PLANE, open_contact
from brachiate.contact.collision.box_box import boxes
from brachiate.contact.collision.broad_phase import above_field, beside_box, near_pairs, turn_of
from brachiate.contact.collision.gjk import convex
from brachiate.contact.collision.height_field import on_field
from brachiate.contact.collision.patch_from_features import join
from brachiate.contact.collision.plane import on_plane
from brachiate.contact.collision.sphere_capsule import rounds
from brachiate.model.arrays import OK, open_rooms
from brachiate.model.data import Data
from brachiate.spatial import put_vec3_at, vec3


@kernel
def detect(key, held, margin):
    """Find the areas nearer than the margin at the poses that ``key`` (Tree, Work) knows, in the rooms of ``held``.

    Those are Geometry, Areas and Scratch; Areas.count says how many are kept, and how many there were.
    """
    T, W = open_rooms(key)
    Gm, A, S = open_contact(held)
    A.count[0] = A.count[1] = 0
    for k in range(near_pairs(T, W, Gm, S, margin)):
        i = S.near[k]
        a, b = Gm.pair[i, 0], Gm.pair[i, 1]
        within = margin + S.margin[i]
        if Gm.kind[a] == PLANE:
            on_plane(Gm, A, S, i, b, turn_of(W, Gm, a), vec3(S.x, a), turn_of(W, Gm, b), vec3(S.x, b), within)
        elif Gm.kind[a] <= CAPSULE and Gm.kind[b] <= CAPSULE:
            n, p, gap = rounds(Gm, S, a, b)
            if gap < within:
                put_meeting(S, n, p, gap, 0.0)
                call_at(S.address[JOIN], key, held, within, i)
        elif Gm.kind[a] == FIELD:
            call_at(S.address[ON_FIELD], key, held, within, i)
        else:
            call_at(S.address[MEET], key, held, within, i)


@kernel
def put_meeting(S, n, p, gap, doubtful):
    """Remember how a pair meets."""
    put_vec3_at(S.meeting, 0, n)
    put_vec3_at(S.meeting, 3, p)
    S.meeting[6], S.meeting[7] = gap, doubtful


@kernel
def placed(W, Gm, S, i):
    """The shapes of pair i, and where they are."""
    a, b = Gm.pair[i, 0], Gm.pair[i, 1]
    return a, b, turn_of(W, Gm, a), vec3(S.x, a), turn_of(W, Gm, b), vec3(S.x, b)


@far
def meet(key, held, x, n):
    """Area of pair n, two convex shapes: the direction between them in the quickest way that knows it, then what they touch with."""
    _, W = open_rooms(key)
    Gm, _, S = open_contact(held)
    a, b, R1, x1, R2, x2 = placed(W, Gm, S, n)
    if beside_box(Gm, a, b, R1, R2, x2 - x1, x) or beside_box(Gm, b, a, R2, R1, x1 - x2, x):
        return OK
    if Gm.kind[a] == BOX and Gm.kind[b] == BOX:
        way, m, p, gap = boxes(Gm, S, n, a, b, R1, x1, R2, x2, x)
        put_meeting(S, m, p, gap, 1.0)
        if way == APART or (way == NEAR and call_at(S.address[JOIN], key, held, x, n) == 1):
            return OK
    call_at(S.address[CONVEX], key, held, x, n)
    return OK


@far
def meet_convex(key, held, x, n):
    """Area of pair n, two convex shapes."""
    _, W = open_rooms(key)
    Gm, _, S = open_contact(held)
    a, b, R1, x1, R2, x2 = placed(W, Gm, S, n)
    way, m, p, gap = convex(Gm, S, a, b, R1, x1, R2, x2, x)
    if way == NEAR:
        put_meeting(S, m, p, gap, 0.0)
        call_at(S.address[JOIN], key, held, x, n)
    return OK


@far
def join_pair(key, held, x, n):
    """Area of pair n, whose S.meeting is known. Returns 1 if it is found, 0 if the direction was not the right one."""
    _, W = open_rooms(key)
    Gm, A, S = open_contact(held)
    a, b, R1, x1, R2, x2 = placed(W, Gm, S, n)
    return join(Gm, A, S, n, a, b, R1, x1, R2, x2, x)


@far
def meet_field(key, held, x, n):
    """Areas of pair n, a height field and a convex shape."""
    _, W = open_rooms(key)
    Gm, A, S = open_contact(held)
    a, b, R1, x1, R2, x2 = placed(W, Gm, S, n)
    if not above_field(Gm, a, b, R1, x2 - x1, x):
        on_field(Gm, A, S, n, a, b, R1, x1, R2, x2, x)
    return OK


#: What is called by address, in the order of Scratch.address.
WAYS = (join_pair, meet, meet_convex, meet_field)
JOIN, MEET, CONVEX, ON_FIELD = range(4)


@far
def seek(key, held, x, n):
    """Find the areas nearer than the margin x; see :func:`detect`."""
    detect(key, held, x)
    return OK


@entry
def _find_contact(address, key, held, margin):
    return call_at(address, key, held, margin, 0)


def find(data: Data, contact: Handle, margin: float) -> int:
    """Find the areas nearer than the margin [m] at poses already known; ``contact`` holds Geometry, Areas and Scratch.

    Returns how many are kept.
    """
    _find_contact(seek.address, data.key, contact.key, float(margin))
    return int(contact.rooms[1][0][0])
