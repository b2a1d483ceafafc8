"""Contact states of [DF]: C0 to C7, the directions each constrains (Table I), and transitions when a check fails (Table II).

Directions are those of a frame in the contact: v_x, v_y along the plane, v_z along the normal, ω_x, ω_y rocking, ω_z spinning; a line lies
along x. The checks of a force are numbered as in [DF] V-E. This module is data, used by :mod:`.trial_and_error`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

C0, C1, C2, C3, C4, C5, C6, C7 = range(8)
FACE, LINE, POINT = range(3)
# Checks [DF] V-E: normal force not negative; center of pressure in the patch; friction in its cone; moment about the normal likewise.
NORMAL, PRESSURE, FRICTION, TWIST = range(1, 5)

DIRECTIONS = ("v_x", "v_y", "v_z", "ω_x", "ω_y", "ω_z")
KINDS = ("face", "line", "point")


class StateRow(NamedTuple):
    """One row of Table I: o for yes, x for no."""

    constrained: str  # v_x v_y v_z, then ω_x ω_y ω_z
    kinds: str  # whether a face, a line, a point may be in it
    words: str  # description for reports


# [DF] Table I. Eq. 19 constrains ω_z of a slipping line, unlike the table and V-D (a slipping contact is not constrained in ω_z either):
# the table is right, as torsional friction is given by eq. 23 and cannot be constrained a second time.
TABLE_I = (
    StateRow("ooo ooo", "oxx", "face, sticking"),
    StateRow("ooo xoo", "xox", "line, sticking"),
    StateRow("ooo xxo", "oox", "one spot of the area, sticking"),
    StateRow("ooo xxx", "xxo", "point, sticking"),
    StateRow("xxo oox", "oxx", "face, slipping"),
    StateRow("xxo xox", "xox", "line, slipping"),
    StateRow("xxo xxx", "ooo", "point, slipping"),
    StateRow("xxx xxx", "ooo", "separated"),
)

# [DF] Table II: by state, the states to try next if check 1, 2, 3, 4 fails, best first. States that are not allowed for a kind of contact,
# or were tried before, are skipped; so "4 5" is the table's 4(5), and its rows 0(1) and 4(5) are written out. None: not checked.
TABLE_II = {
    C0: ("2467", "2467", "4267", "4267"),
    C1: ("2567", "2567", "5267", "5267"),
    C2: ("4567", None, "4567", "4567"),
    C3: ("67", None, "67", None),
    C4: ("267", "267", None, None),
    C5: ("267", "267", None, None),
    C6: ("7", None, None, None),
}

# Our correction. A face whose center of pressure leaves over an edge rocks about that edge, not about the one spot where it left: C2
# and C6 free ω_x and ω_y there and rotate the edge into the ground. So 2 becomes "sticking, one size smaller" (the line on that edge,
# then the point at its end) and 6 "slipping, one size smaller"; a face may therefore be a line or a point, and a line a point. A contact
# that became smaller while sticking and then slips is first tried at its full size, as from C2 in the printed table.
TABLE_II_BY_EDGES = {
    C0: ("1457", "1457", "4157", "4157"),
    C1: ("34567", "34567", "45367", "45367"),
    C3: ("4567", None, "4567", None),
    C4: ("157", "157", None, None),
    C5: ("367", "367", None, None),
    C6: ("7", None, None, None),
}


def describe_state(state: int) -> str:
    """Description of a state."""
    return TABLE_I[state].words


def _constrained() -> np.ndarray:
    return np.array([[mark == "o" for mark in state.constrained.replace(" ", "")] for state in TABLE_I], np.int64)


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


# The same as arrays, constants of compiled code.
CONSTRAINED = _constrained()  # (8, 6)
ALLOWED = _allowed()  # (2, 3, 8): as printed or by edges; face, line, point; state
NEXT = _next()  # (2, 8, 5, 5): as printed or by edges; state; check; in this order, -1 for no more
