"""Where a pair is held in a state of :mod:`.states`: the frame in its contact plane that [DF] V-C puts there.

Face: at the area's point P, along its axes. Line: in the middle of the segment, or of the edge that bears, x along it. One spot or a
point: there. Lengths are in the contact plane, from P, along the area's axes.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from brachiate.compiled import Floats, Ints, Rows3, Rows6, fields_of, kernel, opener
from brachiate.contact.arrays import Problem
from brachiate.contact.published.states import C0, C1, C2, C3, C4, C5, C6, C7, FACE, LINE, POINT

SOLVES, HELD = range(2)  # places of Trial.count


class Trial(NamedTuple):
    """What trial and error works on, beside a ``Problem`` of m pairs. Not more than k = 6 m directions are held."""

    count: Ints  # (2,) how often was solved; how many directions are held
    state: Ints  # (m,) C0 to C7; before the solution those to start from
    tried: Ints  # (m,) states it has been in, a bit for each
    frame: Rows6  # (m, 6) where it is held: (x, y), direction of its x axis (x, y), half length of its line [m], length of spinning l [m]
    motion: Rows6  # (m, 6) how the pair moves at present at P, all six; zero if at rest
    slip: Rows3  # (m, 3) how it slips, where it bears: v_x, v_y, ω_z; only the direction counts
    pair: Ints  # (k,) whose direction it is
    row: Rows6  # (k, 6) H_C: the direction in the pair's packed rows
    column: Rows6  # (k, 6) Ĥ_C: the wrench of a unit of its force, packed likewise
    answer: Floats  # (k,) what the rows answer to one column
    matrix: Floats  # (k·k,) H_C G Ĥ_Cᵀ
    force: Floats  # (k,) τ_C, the forces along held directions
    order: Ints  # (k,) scratch of the solution
    factor: Floats  # (k,) likewise


open_trial = opener(Problem, Trial)


def trial_for(pairs: int) -> Trial:
    """Make the arrays for so many pairs at most."""
    per_direction = dict.fromkeys(("pair", "row", "column", "answer", "force", "order", "factor"), 6 * pairs)
    length = {"count": 2, "matrix": (6 * pairs) ** 2} | per_direction
    return Trial(**{name: np.zeros((length.get(name, pairs), *field.row), field.dtype) for name, field in fields_of(Trial).items()})


@kernel
def kind_of(P, i):
    """FACE, LINE or POINT."""
    n = P.corners[i]
    return POINT if n == 1 else LINE if n == 2 else FACE


@kernel
def wrench(P, i):
    """Force and moment of a pair about P, all six."""
    a = P.at[i]
    if P.corners[i] == 1:
        return P.w[a], P.w[a + 1], P.w[a + 2], 0.0, 0.0, 0.0
    if P.corners[i] == 2:
        return P.w[a], P.w[a + 1], P.w[a + 2], 0.0, P.w[a + 3], P.w[a + 4]
    return P.w[a], P.w[a + 1], P.w[a + 2], P.w[a + 3], P.w[a + 4], P.w[a + 5]


@kernel
def middle(P, i):
    """Mean of the corners."""
    x, y, n = 0.0, 0.0, P.corners[i]
    for j in range(n):
        x, y = x + P.V[i, j, 0], y + P.V[i, j, 1]
    return x / n, y / n


@kernel
def spinning_length(P, i):
    """l of [DF] eq. 22, "the dimension of the contact area": mean distance of its corners from their middle, times the pair's factor."""
    x, y = middle(P, i)
    s, n = 0.0, P.corners[i]
    for j in range(n):
        s += math.hypot(P.V[i, j, 0] - x, P.V[i, j, 1] - y)
    return P.spin[i] * s / n


@kernel
def put_frame(X, i, x, y, along_x, along_y, half, length):
    """Write down where a pair is held."""
    X.frame[i, 0], X.frame[i, 1], X.frame[i, 2], X.frame[i, 3] = x, y, along_x, along_y
    X.frame[i, 4], X.frame[i, 5] = half, length


@kernel
def put_edge(P, X, i, j):
    """Hold a pair on the line from corner j to the next."""
    k = (j + 1) % P.corners[i]
    x, y = P.V[i, k, 0] - P.V[i, j, 0], P.V[i, k, 1] - P.V[i, j, 1]
    long = math.hypot(x, y)
    x, y = (x / long, y / long) if long > 0.0 else (1.0, 0.0)
    middle_x, middle_y = 0.5 * (P.V[i, j, 0] + P.V[i, k, 0]), 0.5 * (P.V[i, j, 1] + P.V[i, k, 1])
    put_frame(X, i, middle_x, middle_y, x, y, 0.5 * long, 0.5 * P.spin[i] * long)


@kernel
def edge_towards(P, i, x, y):
    """The edge, by its first corner, that a ray from the middle of a polygon leaves over."""
    n = P.corners[i]
    mx, my = middle(P, i)
    for j in range(n):
        k = (j + 1) % n
        before = (P.V[i, j, 0] - mx) * y - (P.V[i, j, 1] - my) * x
        after = x * (P.V[i, k, 1] - my) - y * (P.V[i, k, 0] - mx)
        if before >= 0.0 and after > 0.0:
            return j
    return 0


@kernel
def nearest(P, i, x, y):
    """The point of the area nearest to a point of the plane [DF] V-E 2."""
    n = P.corners[i]
    inside, best, near_x, near_y = n > 2, math.inf, x, y
    for j in range(n if n > 2 else 1):
        k = (j + 1) % n
        a, b = P.V[i, j, 0], P.V[i, j, 1]
        dx, dy = P.V[i, k, 0] - a, P.V[i, k, 1] - b
        inside = inside and dx * (y - b) - dy * (x - a) >= 0.0
        long = dx * dx + dy * dy
        t = min(max(((x - a) * dx + (y - b) * dy) / long, 0.0), 1.0) if long > 0.0 else 0.0
        far = math.hypot(a + t * dx - x, b + t * dy - y)
        if far < best:
            best, near_x, near_y = far, a + t * dx, b + t * dy
    return (x, y) if inside else (near_x, near_y)


@kernel
def hold_spot(P, X, i):
    """Hold a pair at the centre of pressure, or what is nearest to it in the area: C2 and C6 of a face or line as the paper has them."""
    _, _, fz, nx, ny, _ = wrench(P, i)
    x, y = middle(P, i)  # a force that pulls has no centre of pressure, and the paper does not say what to take
    if fz > 0.0:
        x, y = nearest(P, i, -ny / fz, nx / fz)
    put_frame(X, i, x, y, 1.0, 0.0, 0.0, spinning_length(P, i))


@kernel
def hold_end(X, i, towards):
    """Hold a pair at one end of the line it is held on."""
    s = X.frame[i, 4] if towards > 0.0 else -X.frame[i, 4]
    put_frame(X, i, X.frame[i, 0] + s * X.frame[i, 2], X.frame[i, 1] + s * X.frame[i, 3], 1.0, 0.0, 0.0, 0.0)


@kernel
def pressure_along(P, X, i):
    """f_z times how far the centre of pressure is from the middle of the line that bears."""
    _, _, fz, nx, ny, _ = wrench(P, i)
    return X.frame[i, 2] * (-ny - X.frame[i, 0] * fz) + X.frame[i, 3] * (nx - X.frame[i, 1] * fz)


@kernel
def hold_face_or_line(P, X, i, state, x, y):
    """Hold a pair as a face, its own line, or the edge in a direction from its middle."""
    if state in (C0, C4):
        put_frame(X, i, 0.0, 0.0, 1.0, 0.0, 0.0, spinning_length(P, i))
    else:
        put_edge(P, X, i, 0 if kind_of(P, i) == LINE else edge_towards(P, i, x, y))


@kernel
def move_frame(P, X, i, state, edges):
    """Put the frame where a pair that was found wanting is to be held in its next state."""
    now = X.state[i]
    if state == C7:
        return
    if state in (C0, C1, C4, C5):
        if now not in (C1, C5):
            # The centre of pressure from the middle, times f_z: it goes on past infinity when f_z changes sign.
            _, _, fz, nx, ny, _ = wrench(P, i)
            mx, my = middle(P, i)
            hold_face_or_line(P, X, i, state, -ny - mx * fz, nx - my * fz)
    elif now in (C1, C5):
        if edges:
            hold_end(X, i, pressure_along(P, X, i))
        else:
            hold_spot(P, X, i)
    elif now not in (C2, C3, C6):
        hold_spot(P, X, i)


@kernel
def put_first_frame(P, X, i, state, edges):
    """Put the frame for the state a pair starts from, before any force is known."""
    # Where a rocking area goes down most, or rises least.
    down_x, down_y = X.motion[i, 4], -X.motion[i, 3]
    kind = kind_of(P, i)
    if kind == POINT:
        put_frame(X, i, P.V[i, 0, 0], P.V[i, 0, 1], 1.0, 0.0, 0.0, 0.0)
    elif state not in (C2, C3, C6):
        hold_face_or_line(P, X, i, state, down_x, down_y)
    elif edges and kind == LINE:
        put_edge(P, X, i, 0)
        hold_end(X, i, X.frame[i, 2] * down_x + X.frame[i, 3] * down_y)
    else:
        x, y = middle(P, i)
        put_frame(X, i, x, y, 1.0, 0.0, 0.0, spinning_length(P, i))
