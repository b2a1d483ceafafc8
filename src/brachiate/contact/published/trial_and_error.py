"""Contact forces by trial and error over the states of every contact, as published for the dynamics filter [DF] V, VI.

Every contact starts with all directions constrained that may be. Forces along these directions follow from one linear system; the first
contact whose force is impossible changes its state by Table II, and everything is solved again until every force is possible. The same
method finds forces from accelerations and impulses from velocities.

Separation passes every check of forces, so the method always terminates; the paper does not check the resulting motion.
``problem.residual`` does: the largest speed (or acceleration) of a corner into the ground. With one contact it is mostly zero; with many
it often is not, and the simulator does not use this method. It is kept for comparison.

Deviations from the paper, each noted where it is coded: the sign of the center of pressure (V-E 2), of the moment about it (eq. 26) and
the function p (eq. 23); the limit of torsion (eq. 25); friction of a slipping and spinning contact (eq. 27); where C2 and C6 act.
"""

from __future__ import annotations

import math

from brachiate.compiled import Key, entry, kernel, outlined
from brachiate.contact.published.checks import first_failure, torsional_moment
from brachiate.contact.published.directions import assemble_directions, solve_forces
from brachiate.contact.published.states import ALLOWED, C0, C1, C2, C3, C4, C5, C6, C7, FACE, LINE, NEXT, POINT
from brachiate.contact.published.trial import NUM_SOLVES, contact_kind, initial_frame, move_frame, open_trial, pair_wrench

# Speed below which a contact is at rest [m/s, rad/s].
REST_SPEED = 1e-6


@kernel
def initialize_states(problem, trial, collide, edges):
    """Put every contact into its fullest state.

    With ``collide`` this is the fullest of its kind whatever the motion: an impact may stop it [DF] VI. Otherwise a slipping contact is not
    constrained along the plane and a rocking one not against rocking [DF] V-D, according to ``trial.motion``.
    """
    for i in range(problem.count[0]):
        m = trial.motion
        slips = not collide and (math.hypot(m[i, 0], m[i, 1]) > REST_SPEED or abs(m[i, 5]) > REST_SPEED)
        rocks = not collide and (abs(m[i, 4]) > REST_SPEED or (contact_kind(problem, i) == FACE and abs(m[i, 3]) > REST_SPEED))
        state = fullest_state(contact_kind(problem, i), slips, rocks, edges)
        trial.state[i] = state
        initial_frame(problem, trial, i, state, edges)
        if slips:
            slip_from_motion(trial, i, trial.frame[i, 0], trial.frame[i, 1])


@kernel
def fullest_state(kind, slips, rocks, edges):
    """State of a kind of contact that constrains most directions."""
    if kind == FACE and not rocks:
        return C4 if slips else C0
    if (kind == LINE and not rocks) or (kind == FACE and edges):
        return C5 if slips else C1
    if slips:
        return C6
    return C3 if kind == POINT or edges else C2


@outlined
def solve_states(problem, trial, edges):
    """Find states and forces by trial and error, from the present states. Returns the number of solutions.

    ``edges``: move to the edge or corner over which the center of pressure leaves; without, to the spot where it leaves, as printed.
    """
    trial.count[NUM_SOLVES] = 0
    for i in range(problem.count[0]):
        trial.tried[i] = 1 << trial.state[i]
    while True:
        assemble_directions(problem, trial)
        solve_forces(problem, trial)
        trial.count[NUM_SOLVES] += 1
        i, check = first_failure(problem, trial)
        if check == 0:
            break
        change_state(problem, trial, i, check, edges)
    check_motion(problem)
    return trial.count[NUM_SOLVES]


@kernel
def change_state(problem, trial, i, check, edges):
    """Put a contact into the next state of Table II that it has not been in."""
    now, state = trial.state[i], C7
    table = 1 if edges else 0
    for n in range(NEXT.shape[3]):
        s = NEXT[table, now, check, n]
        if s >= 0 and ALLOWED[table, contact_kind(problem, i), s] == 1 and trial.tried[i] & (1 << s) == 0:
            state = s
            break
    if now <= C3 and state >= C4:
        start_slipping(problem, trial, i)
    move_frame(problem, trial, i, state, edges)
    trial.state[i] = state
    trial.tried[i] |= 1 << state


@kernel
def start_slipping(problem, trial, i):
    """Slip along the motion of the contact; if it is at rest, against the force that should have held it [DF] eq. 21."""
    fx, fy, fz, nx, ny, _ = pair_wrench(problem, i)
    if max(math.hypot(trial.motion[i, 0], trial.motion[i, 1]), abs(trial.motion[i, 5])) > REST_SPEED:
        inside = fz > 0.0 and trial.frame[i, 5] > 0.0
        x, y = (-ny / fz, nx / fz) if inside else (trial.frame[i, 0], trial.frame[i, 1])
        slip_from_motion(trial, i, x, y)
    else:
        length = trial.frame[i, 5]
        trial.slip_velocity[i, 0], trial.slip_velocity[i, 1] = -fx, -fy
        # Against (f_x, f_y, n̂_z / l); eq. 21 leaves out the moment, and a contact that only spins would have no friction.
        trial.slip_velocity[i, 2] = -torsional_moment(problem, i) / (length * length) if length > 0.0 else 0.0


@kernel
def slip_from_motion(trial, i, x, y):
    """Slip velocity from the motion of the contact at a point of its plane."""
    trial.slip_velocity[i, 0] = trial.motion[i, 0] - trial.motion[i, 5] * y
    trial.slip_velocity[i, 1] = trial.motion[i, 1] + trial.motion[i, 5] * x
    trial.slip_velocity[i, 2] = trial.motion[i, 5]


@kernel
def check_motion(problem):
    """u = u0 + G w, and the check of motion that the paper does not have: the largest speed of a corner into the ground."""
    stride, worst = problem.count[2], 0.0
    for r in range(problem.count[1]):
        s = problem.u0[r]
        for c in range(problem.count[1]):
            s += problem.G[r * stride + c] * problem.w[c]
        problem.u[r] = s
    for i in range(problem.count[0]):
        a = problem.row_start[i]
        for j in range(problem.corners[i]):
            about_x = problem.u[a + 3] if problem.corners[i] > 2 else 0.0
            about_y = problem.u[problem.row_start[i + 1] - 2] if problem.corners[i] > 1 else 0.0
            worst = max(worst, -(problem.u[a + 2] + problem.V[i, j, 1] * about_x - problem.V[i, j, 0] * about_y))
    problem.residual[0] = worst


@entry
def solve_by_trial(key: Key, start: bool, collide: bool, edges: bool):
    """Solve a problem by trial and error, from the fullest states if ``start``, else from those in the trial arrays.

    Returns the number of solutions.
    """
    problem, trial = open_trial(key)
    if start:
        initialize_states(problem, trial, collide, edges)
    return solve_states(problem, trial, edges)
