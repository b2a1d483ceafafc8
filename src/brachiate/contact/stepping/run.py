"""Simulation steps with contact, many in one compiled call."""

from __future__ import annotations

import math

from brachiate.compiled import Key, Matrix, call_address, entry, kernel, outlined
from brachiate.constraints.arrays import OPERATION, ROWS, open_constraints
from brachiate.constraints.constrained_dynamics import PROJECT_STATE
from brachiate.contact.arrays import WORK_DONE
from brachiate.contact.solver.search_work import DISTANCE_WORK, PAIR_WORK, add_work, begin_budget, step_exhausted
from brachiate.contact.stepping.contact_log import NUM_LINES, NUM_STEPS, finish_sample, has_capacity, log_contacts, open_log
from brachiate.contact.stepping.contact_rows import open_contact
from brachiate.contact.stepping.step_control import AFTER_STEP, BEFORE_STEP, CHECK_STEP, exchange_step_start, open_step_control
from brachiate.contact.stepping.time_of_impact import FAST_DISPLACEMENT, MAX_DISTANCES, MAX_IMPACTS, may_be_fast, part_length
from brachiate.contact.stepping.time_step import contact_step
from brachiate.kinematics import copy_to, finite, valid_state
from brachiate.model.arrays import open_model
from brachiate.model.status import LOG_FULL, NOT_FINITE, OK, TOO_MANY_CONTACTS

# Indices of ContactArrays.part: time since the start of the step [s], impacts and distances that are left, and work of the solver so far
PART_ELAPSED, PART_IMPACTS, PART_DISTANCES, PART_WORK = range(4)
MAX_SPEED = 1e9  # [rad/s or m/s] above it a state has diverged; it is also the largest that users can give


@kernel
def make_part(key, constraint_key, contact_key, problem_key, cons, contact, middle, h, next_part):
    """Advance by h, a step or a part of one with this midpoint in time; ``next_part``: longest part that may come next."""
    cons.time[0], cons.dt[0], contact.gap_time[0] = middle, h, 0.5 * (h + next_part)
    return contact_step(key, constraint_key, contact_key, problem_key, h)


@kernel
def diverged(W):
    """Whether the state is not finite, or so fast that it soon will be: between shapes at such speeds every pair would be a contact."""
    fastest = 0.0
    for k in range(W.v.shape[0]):
        fastest = max(fastest, abs(W.v[k]))
    return fastest > MAX_SPEED or not (finite(W.v) and finite(W.q))


@kernel
def keep_part_start(W, cons, scratch, contact):
    """Keep what a part of a step changes before it detects contacts."""
    copy_to(W.q, contact.q_part)
    copy_to(W.v, contact.v_part)
    copy_to(cons.q, cons.q_part)
    for i in range(scratch.last_face.shape[0]):
        contact.face_part[i] = scratch.last_face[i]


@kernel
def restore_part_start(W, cons, scratch, contact):
    """Return to the start of a part whose contacts do not fit."""
    copy_to(contact.q_part, W.q)
    copy_to(contact.v_part, W.v)
    copy_to(cons.q_part, cons.q)
    for i in range(scratch.last_face.shape[0]):
        scratch.last_face[i] = contact.face_part[i]


@outlined
def make_divided_step(key, constraint_key, contact_key, problem_key, log_key, t, dt, logged):
    """Advance by dt in parts: see :mod:`.time_of_impact`. Contacts of all parts are logged; W.a is that of the last one.

    Where the contacts of a later part do not fit, the step is interrupted and goes on from there in longer arrays: made anew, it would take
    the work of its first parts twice, which is bounded only together.
    """
    T, W = open_model(key)
    (cons,) = open_constraints(constraint_key)
    geometry, patches, scratch, problem, contact, _ = open_contact(contact_key)
    (log,) = open_log(log_key)
    elapsed, impacts, budget, status = contact.part[PART_ELAPSED], MAX_IMPACTS, MAX_DISTANCES, OK
    if elapsed > 0.0:
        impacts, budget = int(contact.part[PART_IMPACTS]), int(contact.part[PART_DISTANCES])
        problem.work[WORK_DONE] = contact.part[PART_WORK]
        contact.part[PART_ELAPSED] = 0.0
    while elapsed < dt and status == OK:
        remaining = dt - elapsed
        impacts_left, work = impacts, problem.work[WORK_DONE]
        keep_part_start(W, cons, scratch, contact)
        problem.factor_key[0] = -1  # longer arrays have no factor
        h, swept, distances = remaining, False, budget
        if not step_exhausted(problem):
            h, swept, impacts, budget = part_length(T, W, geometry, scratch, dt, remaining, impacts, budget)
            add_work(problem, DISTANCE_WORK * (distances - budget))
        # Pairs that are far apart: in collision detection, and in the search for impacts
        add_work(problem, (2.0 if swept else 1.0) * PAIR_WORK * geometry.pair.shape[0])
        last = remaining - h < 1e-9 * dt
        # In parts without an impact gaps that seem to close are those beside a shape, to the plane of its closest feature
        contact.swept_time[0] = 0.5 * h if impacts < impacts_left else 0.0
        contact.fast_speed[0] = FAST_DISPLACEMENT / dt if swept else math.inf
        middle, next_part = t + elapsed + 0.5 * h, dt if last else remaining - h
        status = make_part(key, constraint_key, contact_key, problem_key, cons, contact, middle, h, next_part)
        if status == TOO_MANY_CONTACTS and elapsed > 0.0:
            restore_part_start(W, cons, scratch, contact)
            contact.part[PART_ELAPSED], contact.part[PART_IMPACTS] = elapsed, impacts_left
            contact.part[PART_DISTANCES], contact.part[PART_WORK] = distances, work
        if status == OK and diverged(W):
            status = NOT_FINITE
        if status == OK and logged:
            log_contacts(patches, contact, log, h / dt)
        elapsed = dt if last else elapsed + h
    contact.fast_speed[0] = math.inf
    return status


@kernel
def step_times(control, i, t, dt):
    """Start, middle and end of step i, and its length."""
    if control.time.shape[0] > 0:
        start, end = control.time[i], control.time[i + 1]
        return start, start + 0.5 * (end - start), end, end - start
    return t + i * dt, t + (i + 0.5) * dt, t + (i + 1) * dt, dt


@entry
def run_contact_steps(
    key: Key, constraint_key: Key, contact_key: Key, problem_key: Key, log_key: Key, control_key: Key,
    t: float, dt: float, n: int, every: int, done: int, project: bool, Q: Matrix, V: Matrix,
):  # fmt: skip
    """Advance by n steps of dt, of which ``done`` are done already; store states and contacts after every ``every`` steps.

    Under a control law (:mod:`.step_control`) torques change from step to step, and each step is a run of its own. ``project``: whether
    states that are stored, and the last one, are projected onto the constraints; if not, constraint forces stay those of the last step.
    """
    T, W = open_model(key)
    (cons,) = open_constraints(constraint_key)
    geometry, patches, scratch, problem, contact, _ = open_contact(contact_key)
    (log,) = open_log(log_key)
    (control,) = open_step_control(control_key)
    law = control.function[0]
    if not (valid_state(T, W.q, W.v) and finite(W.tau)):
        return NOT_FINITE
    for i in range(done, n):
        if not has_capacity(patches, log):
            return LOG_FULL
        start, middle, end, h = step_times(control, i, t, dt)
        stored, amid = (i + 1) % every == 0, contact.part[PART_ELAPSED] > 0.0
        contact.twist_wanted[0] = int(stored)
        begin_budget(problem)
        if law != 0 and not amid:
            problem.factor_key[0] = -1  # as in runs of one step
            call_address(law, key, control_key, BEFORE_STEP, i)
        divided = contact.divided[0] and (amid or may_be_fast(W, geometry, h))
        checks, lines = control.checks[0] and not amid, log.count[NUM_LINES]
        if checks:
            exchange_step_start(W, cons, scratch, contact, True)
        while True:
            if divided:
                status = make_divided_step(key, constraint_key, contact_key, problem_key, log_key, start, h, stored)
            else:
                status = make_part(key, constraint_key, contact_key, problem_key, cons, contact, middle, h, h)
            if status != OK or not checks or call_address(law, key, control_key, CHECK_STEP, i) == 0:
                break
            exchange_step_start(W, cons, scratch, contact, False)
            begin_budget(problem)
            problem.factor_key[0], log.count[NUM_LINES] = -1, lines
        if status == OK and stored and not divided:
            log_contacts(patches, contact, log, 1.0)
        if status == OK and law != 0:
            call_address(law, key, control_key, AFTER_STEP, i)
        if status == OK and cons.count[ROWS] > 0 and project and (stored or i + 1 == n or law != 0):
            cons.time[0] = end
            status = call_address(cons.functions[OPERATION], key, constraint_key, 0.0, PROJECT_STATE)
        if diverged(W):
            return NOT_FINITE
        if status != OK:
            return status
        if stored:
            row = (i + 1) // every - 1
            copy_to(W.q, Q[row])
            copy_to(W.v, V[row])
            finish_sample(contact, log)
        log.count[NUM_STEPS] = i + 1
    return OK
