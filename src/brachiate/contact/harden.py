"""Soft first, then harder and harder: what has no way to its solution mostly has one from a softer problem.

Every row gets a share of its own answer on top, as if it gave way a little by itself. With much of it pairs hardly feel each other, and
states are found at once; with half of it the states before are nearly right, and so on down to nothing.
"""

from __future__ import annotations

from brachiate.compiled import call_at, far, kernel
from brachiate.contact.law import NEW, STICKS, residual
from brachiate.contact.rooms import PAIRS, ROWS, SOLVE, STRIDE, WAYS, open_problem
from brachiate.model.rooms import OK

HALVINGS = 24  # from as much as its own answer to a ten-millionth of it


@kernel
def soften(P, share):
    """Let every row answer by that share more than it does."""
    stride = P.count[STRIDE]
    for r in range(P.count[ROWS]):
        P.G[r * stride + r] = (1.0 + share) * P.hard[r]
    P.kept[0] = -1


@far
def harden(key, held, x, n):
    """Forces and states by way of softer problems, from nothing. What was counted is not: it is one solution."""
    (P,) = open_problem(held)
    stride = P.count[STRIDE]
    for r in range(P.count[ROWS]):
        P.hard[r] = P.G[r * stride + r]
    for p in range(P.count[PAIRS]):
        P.area[p], P.slip[p] = NEW, STICKS
    for k in range(len(WAYS)):
        P.tally[k] = P.path[k]
    share = 1.0
    for k in range(HALVINGS + 1):
        if k == HALVINGS:
            share = 0.0
        soften(P, share)
        call_at(P.far[SOLVE], key, held, 1.0, 0)
        share *= 0.5
    for k in range(len(WAYS)):
        P.path[k] = P.tally[k]
    P.residual[0] = residual(P)
    return OK
