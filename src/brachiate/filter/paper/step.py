"""One step of the published filter: contacts, collision, feedback, optimization, integration [DF] VII."""

from __future__ import annotations

from brachiate.compiled import Floats, Key, entry, index, kernel
from brachiate.contact.arrays import NUM_CONTACTS, NUM_ROWS
from brachiate.contact.published.trial import open_trial
from brachiate.contact.stepping.contact_rows import open_contact
from brachiate.contact.stepping.time_step import add_transport_acceleration
from brachiate.dynamics.inverse import bias_forces, passive_forces
from brachiate.dynamics.mass import mass_matrix
from brachiate.filter.paper.arrays import NUM_COLLISION_SOLVES, TIME_STEP, WIDTH, open_paper
from brachiate.filter.paper.contact_pairs import find_pairs, resolve_collision, store_drift
from brachiate.filter.paper.feedback import point_feedback
from brachiate.filter.paper.pseudoinverse import optimize
from brachiate.filter.whole_body.state import pd_accelerations
from brachiate.kinematics import (
    ball_motion_columns,
    body_accelerations,
    body_inertias,
    body_velocities,
    finite,
    forward_kinematics,
    valid_state,
)
from brachiate.manifold import integrate_unforced
from brachiate.model.arrays import open_model
from brachiate.model.status import NOT_FINITE, OK, OVERFLOW


@kernel
def mass_matrix_and_bias(T, W, sol):
    """Mass matrix A and bias b of [DF] eq. 13, with external forces on links (f_ext of eq. 12) in b."""
    n, width = W.v.shape[0], sol.count[WIDTH]
    forward_kinematics(T, W)
    body_inertias(T, W)
    bias_forces(T, W)
    passive_forces(T, W, W.bias)
    mass_matrix(T, W)
    for k in range(n * width):
        sol.A[index(k)] = 0.0
    for k in range(n):
        sol.b[k] = W.bias[k]
        for d in range(T.row[k], T.row[k] + T.depth[k] + 1):
            j = T.above[index(d)]
            sol.A[index(k * width + j)] = W.L[index(d)]
            sol.A[index(j * width + k)] = W.L[index(d)]


@kernel
def integrate_step(T, W, sol):
    """Integrate the accelerations (semi-implicit Euler); floating bases translate straight on while they rotate."""
    dt = sol.gain[TIME_STEP]
    for k in range(W.v.shape[0]):
        W.a[k], W.tau[k] = sol.a[k], sol.tau[k] * sol.actuated[k]
        sol.error[k] = dt * sol.a[k]
    add_transport_acceleration(T, W.v, dt, sol.error)
    for k in range(W.v.shape[0]):
        W.v[k] += sol.error[k]
    integrate_unforced(T, W.q, W.v, dt)


@entry
def detect_and_collide(data_key: Key, contact_key: Key, trial_key: Key, paper_key: Key):
    """Detect contact pairs at the state (W.q, W.v), and change W.v if there is a collision."""
    T, W = open_model(data_key)
    geometry, areas, _, _, contact, _ = open_contact(contact_key)
    problem, trial = open_trial(trial_key)
    (sol,) = open_paper(paper_key)
    if not valid_state(T, W.q, W.v):
        return NOT_FINITE
    forward_kinematics(T, W)
    body_inertias(T, W)
    body_velocities(T, W)
    ball_motion_columns(T, W)
    status = find_pairs(data_key, contact_key, T, W, geometry, areas, contact, problem, sol)
    return resolve_collision(T, W, problem, trial, sol) if status == OK else status


@entry
def filter_step(data_key: Key, reference_key: Key, trial_key: Key, paper_key: Key, has_contact: bool):
    """Advance the state by one step towards the reference; ``has_contact``: whether contact pairs were detected."""
    T, W = open_model(data_key)
    _, Wr = open_model(reference_key)
    problem, trial = open_trial(trial_key)
    (sol,) = open_paper(paper_key)
    if not valid_state(T, W.q, W.v):
        return NOT_FINITE
    if not has_contact:
        problem.count[NUM_CONTACTS] = problem.count[NUM_ROWS] = sol.count[NUM_COLLISION_SOLVES] = 0
    forward_kinematics(T, Wr)
    body_velocities(T, Wr)
    body_accelerations(T, Wr)
    mass_matrix_and_bias(T, W, sol)
    store_drift(T, W, problem, sol)
    pd_accelerations(T, W, Wr, sol)
    point_feedback(T, W, Wr, sol)
    optimize(problem, trial, sol)
    if not (finite(sol.a) and finite(sol.tau)):
        return OVERFLOW
    integrate_step(T, W, sol)
    return OK


@entry
def reference_is_valid(data_key: Key, q: Floats, v: Floats, a: Floats):
    """Whether a reference can be tracked: all numbers are finite, and quaternions are rotations."""
    T, _ = open_model(data_key)
    return valid_state(T, q, v) and finite(a)
