"""Tables of contact states against those of the paper, typed in a second time, and termination of trial and error."""

from __future__ import annotations

import numpy as np
import pytest

from brachiate.contact.published import states
from brachiate.contact.published.states import ALLOWED, C0, C7, CONSTRAINED, FACE, LINE, NEXT, POINT, TABLE_I, describe_state

# [DF] Table I: v_x v_y v_z ω_x ω_y ω_z | face line point.
PRINTED_I = [
    [1, 1, 1, 1, 1, 1, 1, 0, 0],
    [1, 1, 1, 0, 1, 1, 0, 1, 0],
    [1, 1, 1, 0, 0, 1, 1, 1, 0],
    [1, 1, 1, 0, 0, 0, 0, 0, 1],
    [0, 0, 1, 1, 1, 0, 1, 0, 0],
    [0, 0, 1, 0, 1, 0, 0, 1, 0],
    [0, 0, 1, 0, 0, 0, 1, 1, 1],
    [0, 0, 0, 0, 0, 0, 1, 1, 1],
]
# [DF] Table II for a face and for a line (its numbers in brackets): from a state, for each check, the states in this order.
PRINTED_II = {
    FACE: {
        0: ([2, 4, 6, 7], [2, 4, 6, 7], [4, 2, 6, 7], [4, 2, 6, 7]),
        2: ([4, 6, 7], [], [4, 6, 7], [4, 6, 7]),
        4: ([2, 6, 7], [2, 6, 7], [], []),
        6: ([7], [], [], []),
    },
    LINE: {
        1: ([2, 5, 6, 7], [2, 5, 6, 7], [5, 2, 6, 7], [5, 2, 6, 7]),
        2: ([5, 6, 7], [], [5, 6, 7], [5, 6, 7]),
        5: ([2, 6, 7], [2, 6, 7], [], []),
        6: ([7], [], [], []),
    },
    POINT: {3: ([6, 7], [], [6, 7], []), 6: ([7], [], [], [])},
}


@pytest.mark.parametrize("state", range(8))
def test_table_one_is_as_printed(state: int) -> None:
    assert [*CONSTRAINED[state], *ALLOWED[0, :, state]] == PRINTED_I[state]


@pytest.mark.parametrize("kind", [FACE, LINE, POINT])
def test_table_two_is_as_printed(kind: int) -> None:
    for state in np.flatnonzero(ALLOWED[0, kind]):
        for check in range(1, 5):
            allowed = [s for s in NEXT[0, state, check] if s >= 0 and ALLOWED[0, kind, s]]
            assert allowed == (PRINTED_II[kind].get(state) or ([], [], [], []))[check - 1], (state, check)


def test_checks_match_constrained_directions() -> None:
    """Only constrained directions are checked: no center of pressure without ω_y, no friction without v_x, no torsion without ω_z."""
    for state in range(C7):
        checked = [NEXT[0, state, check, 0] >= 0 for check in range(1, 5)]
        assert checked == [bool(CONSTRAINED[state, direction]) for direction in (2, 4, 0, 5)], describe_state(state)


@pytest.mark.parametrize("edges", [0, 1])
def test_every_failure_finally_leads_to_separation(edges: int) -> None:
    """Trial and error terminates: C7 is the last option of every check and fails none, and no state leads to itself."""
    assert (NEXT[edges, C7] < 0).all()
    for state in range(C7):
        for row in NEXT[edges, state]:
            listed = row[row >= 0]
            assert state not in listed
            assert len(listed) == 0 or listed[-1] == C7


def test_with_edges_only_contacts_that_start_to_slip_grow() -> None:
    """With edges a state leads to one of equal or smaller extent (face, line, point), except that sticking on a part leads to full slip."""
    size = {0: 3, 4: 3, 1: 2, 5: 2, 3: 1, 6: 1, 7: 0}
    for state, smaller in size.items():
        for s in map(int, NEXT[1, state].ravel()):
            begins = state < states.C4 <= s
            assert s < 0 or begins or size[s] <= smaller
    assert not ALLOWED[1, :, states.C2].any()
    assert not (NEXT[1] == states.C2).any()


def test_with_edges_a_patch_may_act_as_any_smaller_one() -> None:
    assert [list(np.flatnonzero(row)) for row in ALLOWED[1]] == [[0, 1, 3, 4, 5, 6, 7], [1, 3, 5, 6, 7], [3, 6, 7]]


def test_table_with_edges_is_the_printed_one_with_smaller_contacts_for_spots() -> None:
    """2 is sticking at the next smaller extent, 6 slipping at it; a sticking part leads to slip as C2 of the paper."""
    sticking, slipping = {0: 1, 4: 1, 1: 3, 5: 3}, {0: 5, 4: 5, 1: 6, 5: 6}
    for state in (0, 1, 4, 5):
        for check in range(1, 5):
            expected = [{2: sticking[state], 6: slipping[state]}.get(int(s), int(s)) for s in NEXT[0, state, check] if s >= 0]
            found = [int(s) for s in NEXT[1, state, check] if s >= 0]
            assert [s for s in found if (state, s) != (1, 4)] == expected
    for check in (1, 3):
        assert list(NEXT[1, 3, check]) == list(NEXT[0, 2, check])


def test_state_descriptions() -> None:
    words = [describe_state(state) for state in range(8)]
    assert len(set(words)) == 8
    assert words[C0] == "face, sticking"
    assert words[C7] == "separated"
    for state, word in zip(TABLE_I, words):
        assert ("sticking" in word) == (state.constrained[0] == "o")
