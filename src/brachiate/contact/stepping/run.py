"""Many steps of a world in which things touch, in one go of compiled code."""

from __future__ import annotations

from brachiate.compiled import call_at, entry
from brachiate.constraints.arrays import HOLD, ROWS, open_bonds
from brachiate.constraints.constrained_dynamics import SETTLE
from brachiate.contact.stepping.contact_log import STEPS, has_room, log_sample, open_log
from brachiate.contact.stepping.contact_rows import open_touch
from brachiate.contact.stepping.time_step import touching_step
from brachiate.kinematics import copy_to, finite, sound
from brachiate.model.arrays import NOT_FINITE, OK, open_rooms

FULL = 14  # status: the log is full; Log.count says after how many steps


@entry
def run_touching(key, held, touch, problem, log, t, dt, n, every, done, Q, V):
    """Advance by n steps of dt, ``done`` of which are done; keep states, and what touched, after every ``every`` steps.

    A single step that is not to be kept is a trial: what touched is, and forces of what holds stay those of the step.
    """
    T, W = open_rooms(key)
    (B,) = open_bonds(held)
    _, A, _, _, S, _ = open_touch(touch)
    (L,) = open_log(log)
    if not (sound(T, W.q, W.v) and finite(W.tau)):
        return NOT_FINITE
    B.step[0] = dt
    for i in range(done, n):
        if not has_room(A, L):
            return FULL
        B.clock[0] = t + (i + 0.5) * dt
        last, trial = (i + 1) % every == 0, n == 1 and every > 1
        S.noted[0] = int(last or trial)
        status = touching_step(key, held, touch, problem, dt)
        if status == OK and B.count[ROWS] > 0 and (last or i + 1 == n) and not trial:
            B.clock[0] = t + (i + 1) * dt
            status = call_at(B.far[HOLD], key, held, 0.0, SETTLE)
        if not (finite(W.v) and finite(W.q)):
            return NOT_FINITE
        if status != OK:
            return status
        if last:
            row = (i + 1) // every - 1
            copy_to(W.q, Q[row])
            copy_to(W.v, V[row])
        if last or trial:
            log_sample(A, S, L)
        L.count[STEPS] = i + 1
    return OK
