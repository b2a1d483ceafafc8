"""Simulation steps with contact, many in one compiled call."""

from __future__ import annotations

from brachiate.compiled import call_address, entry
from brachiate.constraints.arrays import OPERATION, ROWS, open_constraints
from brachiate.constraints.constrained_dynamics import PROJECT_STATE
from brachiate.contact.stepping.contact_log import NUM_STEPS, has_capacity, log_sample, open_log
from brachiate.contact.stepping.contact_rows import open_contact
from brachiate.contact.stepping.time_step import contact_step
from brachiate.kinematics import copy_to, finite, valid_state
from brachiate.model.arrays import open_model
from brachiate.model.status import LOG_FULL, NOT_FINITE, OK


@entry
def run_contact_steps(key, constraint_key, contact_key, problem_key, log_key, t, dt, n, every, done, Q, V):
    """Advance by n steps of dt, of which ``done`` are done already; store states and contacts after every ``every`` steps.

    A single step that is not stored (n = 1 < every) is a trial: its contacts are logged, and constraint forces stay those of the step.
    """
    T, W = open_model(key)
    (cons,) = open_constraints(constraint_key)
    _, patches, _, _, contact, _ = open_contact(contact_key)
    (log,) = open_log(log_key)
    if not (valid_state(T, W.q, W.v) and finite(W.tau)):
        return NOT_FINITE
    cons.dt[0] = dt
    for i in range(done, n):
        if not has_capacity(patches, log):
            return LOG_FULL
        cons.time[0] = t + (i + 0.5) * dt
        stored, trial = (i + 1) % every == 0, n == 1 and every > 1
        contact.twist_wanted[0] = int(stored or trial)
        status = contact_step(key, constraint_key, contact_key, problem_key, dt)
        if status == OK and cons.count[ROWS] > 0 and (stored or i + 1 == n) and not trial:
            cons.time[0] = t + (i + 1) * dt
            status = call_address(cons.functions[OPERATION], key, constraint_key, 0.0, PROJECT_STATE)
        if not (finite(W.v) and finite(W.q)):
            return NOT_FINITE
        if status != OK:
            return status
        if stored:
            row = (i + 1) // every - 1
            copy_to(W.q, Q[row])
            copy_to(W.v, V[row])
        if stored or trial:
            log_sample(patches, contact, log)
        log.count[NUM_STEPS] = i + 1
    return OK
