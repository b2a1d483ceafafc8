"""Impulses where something is connected while things touch: what holds and what touches take them together [SVC] 4.3."""

from __future__ import annotations

from brachiate.compiled import call_at, entry
from brachiate.constraints.arrays import RELATE, ROWS, TOUCHES, open_bonds
from brachiate.contact.arrays import SOLVE
from brachiate.contact.stepping.contact_rows import SLACK, lay, open_touch, pose_problem, pushed
from brachiate.contact.stepping.time_step import CROWDED
from brachiate.kinematics import finite
from brachiate.model.arrays import OK, SINGULAR, open_rooms


@entry
def answer_impulses(key, held, touch, problem, dt):
    """Let what touches answer the impulses that have just brought W.v onto everything that holds, from S.start.

    Only what is closed answers; what is on its way will within the next steps. ``dt`` is what gaps are measured by, which are next
    to nothing. What holds goes on holding: its impulses B.force grow by what contact asks of it.
    """
    T, W = open_rooms(key)
    (B,) = open_bonds(held)
    Gm, A, _, P, S, L = open_touch(touch)
    call_at(S.far[0], key, touch, SLACK, 0)
    if A.count[1] > A.count[0] or lay(T, W, B, Gm, A, S, L, dt) != OK:
        return CROWDED
    if B.count[TOUCHES] == 0:
        return OK
    call_at(B.far[RELATE], key, held, 0.0, 1)
    for k in range(W.v.shape[0]):
        S.free[k] = W.v[k]
    pose_problem(T, W, B, A, P, S, L, dt, 0)
    call_at(P.far[SOLVE], key, problem, 0.0, 0)
    pushed(T, W, B, P, S, L, B.z)
    for k in range(W.v.shape[0]):
        W.v[k] += B.z[k]
    for r in range(B.count[ROWS]):
        B.force[r] += B.rhs[r]
    return OK if finite(W.v) else SINGULAR
