"""Contact impulses in response to a new connection: connection and contacts share the impulse [SVC] 4.3."""

from __future__ import annotations

from brachiate.compiled import Key, call_address, entry
from brachiate.constraints.arrays import CONTACTS, DELASSUS, ROWS, open_constraints
from brachiate.contact.arrays import FOUND, KEPT, SOLVE
from brachiate.contact.solver.search_work import begin_budget
from brachiate.contact.stepping.contact_rows import (
    DETECT,
    PENETRATION_SLACK,
    assemble_contacts,
    build_problem,
    contact_velocity_change,
    open_contact,
)
from brachiate.kinematics import finite
from brachiate.model.arrays import open_model
from brachiate.model.status import OK, SINGULAR, TOO_MANY_CONTACTS


@entry
def apply_contact_impulses(key: Key, constraint_key: Key, contact_key: Key, problem_key: Key, dt: float):
    """Add the contact impulses to an impulse that has just projected the velocities W.v, from contact.v_start, onto the constraints.

    Only closed contacts respond; the others will within the next steps. ``dt`` converts gaps, which are nearly zero, into velocities.
    Constraints stay satisfied: their impulses cons.force change by the reaction to the contact impulses.
    """
    T, W = open_model(key)
    (cons,) = open_constraints(constraint_key)
    geometry, patches, _, problem, contact, limits = open_contact(contact_key)
    contact.gap_time[0], contact.restitution_scale[0] = dt, 1.0
    call_address(contact.functions[DETECT], key, contact_key, PENETRATION_SLACK, 0)
    if patches.count[FOUND] > patches.count[KEPT] or assemble_contacts(T, W, cons, geometry, patches, contact, limits) != OK:
        return TOO_MANY_CONTACTS
    if cons.count[CONTACTS] == 0:
        return OK
    call_address(cons.functions[DELASSUS], key, constraint_key, 0.0, 1)
    for k in range(W.v.shape[0]):
        contact.v_free[k] = W.v[k]
    build_problem(T, cons, patches, problem, contact, limits, dt, 0)
    begin_budget(problem)
    call_address(problem.functions[SOLVE], key, problem_key, 0.0, 0)
    contact_velocity_change(T, W, cons, problem, contact, limits, cons.z)
    for k in range(W.v.shape[0]):
        W.v[k] += cons.z[k]
    for r in range(cons.count[ROWS]):
        cons.force[r] += cons.rhs[r]
    return OK if finite(W.v) else SINGULAR
