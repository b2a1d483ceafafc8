"""The tables of contact states against the paper's, typed in a second time from its pages, and what makes trial and error end."""

from __future__ import annotations

import numpy as np
import pytest

from brachiate.contact.published import states
from brachiate.contact.published.states import ALLOWED, C0, C7, FACE, HOLDS, LINE, NEXT, POINT, TABLE_I, describe

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
def test_table_one_is_the_papers(state: int) -> None:
    assert [*HOLDS[state], *ALLOWED[0, :, state]] == PRINTED_I[state]


@pytest.mark.parametrize("kind", [FACE, LINE, POINT])
def test_table_two_is_the_papers(kind: int) -> None:
    for state in np.flatnonzero(ALLOWED[0, kind]):
        for check in range(1, 5):
            allowed = [s for s in NEXT[0, state, check] if s >= 0 and ALLOWED[0, kind, s]]
            assert allowed == (PRINTED_II[kind].get(state) or ([], [], [], []))[check - 1], (state, check)


def test_what_is_checked_is_held() -> None:
    """A dash stands where what is checked is not free: no centre of pressure without ω_y, no friction without v_x, no twist without ω_z."""
    for state in range(C7):
        checked = [NEXT[0, state, check, 0] >= 0 for check in range(1, 5)]
        assert checked == [bool(HOLDS[state, direction]) for direction in (2, 4, 0, 5)], describe(state)


@pytest.mark.parametrize("edges", [0, 1])
def test_every_failure_leads_to_letting_go_at_last(edges: int) -> None:
    """So trial and error ends: C7 is the last resort of every check, fails none, and no state leads to itself."""
    assert (NEXT[edges, C7] < 0).all()
    for state in range(C7):
        for row in NEXT[edges, state]:
            listed = row[row >= 0]
            assert state not in listed
            assert len(listed) == 0 or listed[-1] == C7


def test_by_edges_only_what_begins_to_slip_grows() -> None:
    """Face, line, point: by edges a state leads to one as large or smaller, but what stuck on a part slips with the whole at first."""
    size = {0: 3, 4: 3, 1: 2, 5: 2, 3: 1, 6: 1, 7: 0}
    for state, smaller in size.items():
        for s in map(int, NEXT[1, state].ravel()):
            begins = state < states.C4 <= s
            assert s < 0 or begins or size[s] <= smaller
    assert not ALLOWED[1, :, states.C2].any()
    assert not (NEXT[1] == states.C2).any()


def test_by_edges_a_kind_may_be_all_smaller_ones() -> None:
    assert [list(np.flatnonzero(row)) for row in ALLOWED[1]] == [[0, 1, 3, 4, 5, 6, 7], [1, 3, 5, 6, 7], [3, 6, 7]]


def test_by_edges_is_the_papers_table_with_smaller_areas_for_spots() -> None:
    """2 is sticking one size smaller, 6 slipping one size smaller; a part that sticks goes on to slip like the paper's C2."""
    sticking, slipping = {0: 1, 4: 1, 1: 3, 5: 3}, {0: 5, 4: 5, 1: 6, 5: 6}
    for state in (0, 1, 4, 5):
        for check in range(1, 5):
            expected = [{2: sticking[state], 6: slipping[state]}.get(int(s), int(s)) for s in NEXT[0, state, check] if s >= 0]
            found = [int(s) for s in NEXT[1, state, check] if s >= 0]
            assert [s for s in found if (state, s) != (1, 4)] == expected
    for check in (1, 3):
        assert list(NEXT[1, 3, check]) == list(NEXT[0, 2, check])


def test_states_have_words() -> None:
    words = [describe(state) for state in range(8)]
    assert len(set(words)) == 8
    assert words[C0] == "face, sticking"
    assert words[C7] == "letting go"
    for state, word in zip(TABLE_I, words):
        assert ("sticking" in word) == (state.holds[0] == "o")
