"""The states of a contact as [DF] has them: C0 to C7, what each holds (Table I), and where to go when a check fails (Table II).

Directions are those of a frame in the contact: v_x, v_y along the plane, v_z along the normal, ω_x, ω_y rocking, ω_z spinning; a line
lies along x. The checks of a force that was found are numbered as in [DF] V-E. This file is data: :mod:`.paper` goes by it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

C0, C1, C2, C3, C4, C5, C6, C7 = range(8)
FACE, LINE, POINT = range(3)
# [DF] V-E: the normal force pushes; the centre of pressure is in the area; friction is in its cone; so is the moment about the normal.
NORMAL, PRESSURE, FRICTION, TWIST = range(1, 5)

DIRECTIONS = ("v_x", "v_y", "v_z", "ω_x", "ω_y", "ω_z")
KINDS = ("face", "line", "point")


class State(NamedTuple):
    """One row of Table I, an o for yes and an x for no."""

    holds: str  # v_x v_y v_z, then ω_x ω_y ω_z
    kinds: str  # whether a face, a line, a point may be in it
    words: str  # for reports to people


# [DF] Table I. Eq. 19 holds ω_z of a line that slips, against the table and against V-D (what slips is not held in ω_z either):
# the table is right, for there friction against spinning is given by eq. 23 and cannot be asked for a second time.
TABLE_I = (
    State("ooo ooo", "oxx", "face, sticking"),
    State("ooo xoo", "xox", "line, sticking"),
    State("ooo xxo", "oox", "one spot of the area, sticking"),
    State("ooo xxx", "xxo", "point, sticking"),
    State("xxo oox", "oxx", "face, slipping"),
    State("xxo xox", "xox", "line, slipping"),
    State("xxo xxx", "ooo", "point, slipping"),
    State("xxx xxx", "ooo", "letting go"),
)

# [DF] Table II: by state, the states to try next if check 1, 2, 3, 4 fails, best first. What cannot be of a kind of contact, or has been
# tried before, is passed over; so "4 5" is the table's 4(5), and its rows 0(1) and 4(5) are written out. None: not checked.
TABLE_II = {
    C0: ("2467", "2467", "4267", "4267"),
    C1: ("2567", "2567", "5267", "5267"),
    C2: ("4567", None, "4567", "4567"),
    C3: ("67", None, "67", None),
    C4: ("267", "267", None, None),
    C5: ("267", "267", None, None),
    C6: ("7", None, None, None),
}

# Our correction. A face whose centre of pressure leaves over an edge rocks about that edge, not about the one spot where it left: C2
# and C6 free ω_x and ω_y there and turn the edge into the ground. So 2 becomes "sticking, one size smaller" (the line on that edge,
# then the point at its end) and 6 "slipping, one size smaller"; a face may therefore be a line or a point, and a line a point. What
# has become smaller while it stuck and then slips is first tried as large as it can be, as from C2 in the table that is printed.
TABLE_II_BY_EDGES = {
    C0: ("1457", "1457", "4157", "4157"),
    C1: ("34567", "34567", "45367", "45367"),
    C3: ("4567", None, "4567", None),
    C4: ("157", "157", None, None),
    C5: ("367", "367", None, None),
    C6: ("7", None, None, None),
}


def describe(state: int) -> str:
    """Say a state in words."""
    return TABLE_I[state].words


def _holds() -> np.ndarray:
    return np.array([[mark == "o" for mark in state.holds.replace(" ", "")] for state in TABLE_I], np.int64)


def _allowed() -> np.ndarray:
    """Whether a kind of contact may be in a state: as printed, and by edges."""
    printed = np.array([[state.kinds[kind] == "o" for state in TABLE_I] for kind in (FACE, LINE, POINT)])
    face = printed[FACE] | printed[LINE] | printed[POINT]
    by_edges = np.array([face, printed[LINE] | printed[POINT], printed[POINT]])
    by_edges[:, C2] = False
    return np.array([printed, by_edges], np.int64)


def _next() -> np.ndarray:
    table = np.full((2, 8, 5, 5), -1, np.int64)
    for n, rows in enumerate((TABLE_II, TABLE_II_BY_EDGES)):
        for state, row in rows.items():
            for check, states in enumerate(row, 1):
                table[n, state, check, : len(states or "")] = [int(s) for s in states or ""]
    return table


# The same as arrays, which compiled code takes for constants.
HOLDS = _holds()  # (8, 6)
ALLOWED = _allowed()  # (2, 3, 8): as printed or by edges; face, line, point; state
NEXT = _next()  # (2, 8, 5, 5): as printed or by edges; state; check; in this order, -1 for no more
