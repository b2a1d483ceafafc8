"""Solver of the coupled contact problem u = u0 + G w with the contact law for every contact: a cascade of methods.

Mostly the warm start satisfies the law, or does after one or two Newton steps with the same modes (:mod:`.newton`). Otherwise modes are
searched in rounds, by Gauss-Seidel sweeps (:mod:`.gauss_seidel`) or by Douglas-Rachford splitting (:mod:`.douglas_rachford`), with a Newton
attempt after each; where one of them cycles the other mostly converges. If that fails, homotopy continuation follows the path from
decoupled to coupled contacts (:mod:`.continuation`). If that fails, centers of friction are frozen, and as a last resort a convex
relaxation is solved (:mod:`.convex_relaxation`). Every method is counted in ``counters``.
"""

from __future__ import annotations

import math

import numpy as np

from brachiate.compiled import Key, array_fields, by_address, call_address, entry, kernel
from brachiate.contact.arrays import (
    BLOCK_SIZE,
    CONTINUATION,
    CONVEX_RELAXATION,
    CORNERS,
    DOUGLAS_RACHFORD,
    FROZEN,
    GAUSS_SEIDEL,
    METHOD,
    METHOD_CONTINUATION,
    METHOD_CONVEX,
    METHOD_DOUGLAS_RACHFORD,
    METHOD_FROZEN_CENTERS,
    METHOD_GAUSS_SEIDEL,
    METHOD_NEWTON,
    METHOD_WARM_START,
    METHODS,
    NEWTON,
    NUM_CONTACTS,
    NUM_ROWS,
    SOLVE,
    UNSOLVED,
    ContactProblem,
    open_problem,
)
from brachiate.contact.solver.contact_law import (
    EXACT_RESIDUAL,
    MIN_TORSION_LENGTH,
    OPEN,
    SLIPPING,
    STICKING,
    TARGET_RESIDUAL,
    TOLERANCE,
    UNKNOWN,
    ContactVector,
    clear_forces,
    clip_norm,
    contact_vector,
    distance_outside,
    friction_at_center,
    full_mode,
    moment_at_center,
    normal_row,
    project_into_patch,
    put_contact_vector,
    residual,
    tangential_wrench,
    update_center,
)
from brachiate.contact.solver.continuation import continuation
from brachiate.contact.solver.convex_relaxation import convex_relaxation
from brachiate.contact.solver.douglas_rachford import douglas_rachford, select_modes
from brachiate.contact.solver.gauss_seidel import gauss_seidel
from brachiate.contact.solver.newton import LOOSE_PROXIMAL, TIGHT_PROXIMAL, newton
from brachiate.contact.solver.search_work import SEARCH_SHARE, affordable_iterations, begin_budget, limit_work
from brachiate.model.status import OK
from brachiate.spatial import Vec3, norm

CONTINUE, FROM_ZERO, FROM_BEST = range(3)  # initial forces of a round

# Rounds of the search for modes: method; relaxation of Gauss-Seidel, or multiple of the contacts' own response as the metric of splitting
# and continuation; iterations; and initial forces: those of the round before, zero (sweeps may have led too far away), or the best so far.
# A small multiple converges over long distances, a large one reliably. Newton is tried after each round, so short rounds find more than
# long ones. Continuation is the most reliable, but each of its steps costs as much as many others, increasingly with more contacts. Every
# multiple has another path, in case one is too crooked.
SCHEDULE = (
    (GAUSS_SEIDEL, 1.0, 1, CONTINUE),
    (GAUSS_SEIDEL, 1.0, 2, CONTINUE),
    (GAUSS_SEIDEL, 1.0, 4, CONTINUE),
    (DOUGLAS_RACHFORD, 0.1, 16, CONTINUE),
    (DOUGLAS_RACHFORD, 0.01, 32, CONTINUE),
    (GAUSS_SEIDEL, 0.5, 16, CONTINUE),
    (DOUGLAS_RACHFORD, 0.1, 64, CONTINUE),
    (DOUGLAS_RACHFORD, 0.01, 128, CONTINUE),
    (GAUSS_SEIDEL, 0.5, 32, CONTINUE),
    (DOUGLAS_RACHFORD, 1.0, 256, CONTINUE),
    (DOUGLAS_RACHFORD, 0.1, 256, CONTINUE),
    (DOUGLAS_RACHFORD, 0.01, 512, CONTINUE),
    (GAUSS_SEIDEL, 0.5, 64, CONTINUE),
    (DOUGLAS_RACHFORD, 0.03, 128, FROM_BEST),
    *(((DOUGLAS_RACHFORD, 0.03, 128, CONTINUE),) * 15),
    (DOUGLAS_RACHFORD, 1.0, 64, FROM_ZERO),
    *(((DOUGLAS_RACHFORD, 1.0, 64, CONTINUE),) * 7),
    *(((DOUGLAS_RACHFORD, 0.5, 64, CONTINUE),) * 16),
    (CONTINUATION, 0.3, 300, FROM_ZERO),
    (CONTINUATION, 0.1, 300, FROM_ZERO),
    (CONTINUATION, 1.0, 300, FROM_ZERO),
    (CONTINUATION, 3.0, 300, FROM_ZERO),
    (CONTINUATION, 0.03, 300, FROM_ZERO),
    (GAUSS_SEIDEL, 0.5, 64, CONTINUE),  # with frozen centers, if no residual was acceptable
)
FIRST_NEWTON_STEPS, LATER_NEWTON_STEPS = 5, 6  # of the first attempt, and of later rounds
STRICT_ROUNDS, LATER_TARGET = 5, 5e-7  # rounds with TARGET_RESIDUAL; [m/s] target of later ones
CONE_EXCESS, CONE_ROUND_OFF = 1e-11, 1e-14  # relative excess of friction: more than round-off, and round-off
CENTER_ROUND_OFF = 1e-12  # [m] distance of a center of pressure outside its patch: more than round-off
MAX_RETAINED_RESIDUAL = 1.0  # [m/s] up to which forces of a failed attempt are continued from
ACCEPTABLE_RESIDUAL = 1e-4  # [m/s] up to which forces are preferred to the convex relaxation


@kernel
def initialize(problem, again):
    """Determine which contacts may use static friction, and which are new: those have no forces, and if all are new, all stick.

    Returns how many are new. ``again``: static friction is known from the first solution.
    """
    problem.count[FROZEN] = 0
    pairs, new = problem.count[NUM_CONTACTS], 0
    for p in range(pairs):
        if not again:
            problem.was_sticking[p] = int(problem.normal_mode[p] > OPEN and problem.tangential_mode[p] == STICKING)
        problem.static_allowed[p] = problem.was_sticking[p]
        problem.center[p, 0] = problem.center[p, 1] = problem.center[p, 2] = 0.0
        new += int(problem.normal_mode[p] == UNKNOWN)
        for r in range(problem.row_start[p], problem.row_start[p + 1]):
            if problem.normal_mode[p] == UNKNOWN or not abs(problem.w[r]) < math.inf:
                problem.w[r] = 0.0
    if new == pairs:
        for p in range(pairs):
            problem.normal_mode[p], problem.tangential_mode[p] = full_mode(problem, p), STICKING
    return new


@kernel
def copy_rows(problem, to, source):
    """Copy row values."""
    for r in range(problem.count[NUM_ROWS]):
        to[r] = source[r]


@kernel
def save_best(problem):
    """Save forces and modes as the best so far."""
    copy_rows(problem, problem.best_w, problem.w)
    for p in range(problem.count[NUM_CONTACTS]):
        problem.best_normal_mode[p], problem.best_tangential_mode[p] = problem.normal_mode[p], problem.tangential_mode[p]


@kernel
def restore_best(problem):
    """Restore the best forces and modes."""
    copy_rows(problem, problem.w, problem.best_w)
    for p in range(problem.count[NUM_CONTACTS]):
        problem.normal_mode[p], problem.tangential_mode[p] = problem.best_normal_mode[p], problem.best_tangential_mode[p]


@kernel
def zero_forces(problem):
    """Set all forces to zero."""
    for r in range(problem.count[NUM_ROWS]):
        problem.w[r] = 0.0


@kernel
def freeze_centers(problem):
    """Fix the points where friction acts at the centers of pressure of the best forces: convergent, and friction still dissipates."""
    restore_best(problem)
    for p in range(problem.count[NUM_CONTACTS]):
        update_center(problem, p, contact_vector(problem, problem.w, p))
    problem.count[FROZEN] = 1


@kernel
def drop_static_friction(problem, k):
    """In later rounds slipping contacts lose static friction, so that they do not alternate with sticking; finally all do."""
    for p in range(problem.count[NUM_CONTACTS]):
        if (k > 2 and problem.tangential_mode[p] == SLIPPING) or k > 4:
            problem.static_allowed[p] = 0


@kernel
def project_center(problem, p):
    """Project the center of pressure of contact p, outside its patch within the tolerance, onto it. Returns whether it was outside."""
    w = contact_vector(problem, problem.w, p)
    normal_force, f = w.normal.x, friction_at_center(problem, p, w.tangential)
    x, y = -w.normal.z / normal_force, w.normal.y / normal_force
    if problem.corners[p] == 1 or distance_outside(problem, p, x, y) <= CENTER_ROUND_OFF:
        return False
    x, y = project_into_patch(problem, p, x, y)
    normal = Vec3(normal_force, normal_force * y, -normal_force * x)
    update_center(problem, p, ContactVector(w.tangential, normal))
    put_contact_vector(
        problem.w,
        problem.row_start[p],
        problem.row_start[p + 1] - problem.row_start[p],
        ContactVector(tangential_wrench(problem, p, f), normal),
    )
    return True


@kernel
def project_forces(problem):
    """Remove violations within the tolerance: pull, friction beyond its cone, moments without torsional length, pressure outside the patch.

    Returns whether anything changed. Centers of pressure are known from the last evaluation of the residual.
    """
    found = False
    for p in range(problem.count[NUM_CONTACTS]):
        if not problem.w[normal_row(problem, p)] > 0.0:
            found = clear_forces(problem, p) or found
            continue
        if problem.row_start[p + 1] - problem.row_start[p] == 1:
            continue
        found = project_center(problem, p) or found
        w = contact_vector(problem, problem.w, p)
        f = friction_at_center(problem, p, w.tangential)
        limit = (
            problem.static_friction[p] if problem.static_allowed[p] and problem.tangential_mode[p] == STICKING else problem.friction[p]
        ) * w.normal.x
        has_moment = (
            problem.center[p, 2] <= MIN_TORSION_LENGTH and moment_at_center(problem, p, w.tangential) != 0.0 and problem.corners[p] > 1
        )
        if has_moment or norm(f) > (1.0 + CONE_ROUND_OFF) * limit:
            put_contact_vector(
                problem.w,
                problem.row_start[p],
                problem.row_start[p + 1] - problem.row_start[p],
                ContactVector(tangential_wrench(problem, p, clip_norm(f, limit)), w.normal),
            )
            found = True
    return found


@kernel
def finish(problem, method, error):
    """Count the method that was needed, and store the residual. Contacts without normal force are open, whatever mode was tried."""
    for p in range(problem.count[NUM_CONTACTS]):
        if not problem.w[normal_row(problem, p)] > 0.0:
            problem.normal_mode[p], problem.tangential_mode[p] = OPEN, SLIPPING
    problem.counters[method] += 1
    problem.count[METHOD] = method
    problem.count[FROZEN] = 0
    if method in (METHOD_FROZEN_CENTERS, METHOD_CONVEX):
        error = residual(problem)
    problem.residual[0] = residual(problem) if project_forces(problem) else error
    return OK


@kernel
def try_newton(problem, key, error, steps, loose, tight):
    """Newton from the present modes: loosely, then tightly. Returns the residual."""
    problem.residual[0] = error
    for n in range(2):
        attempt = loose if n == 0 else tight
        if attempt and not problem.residual[0] <= (TARGET_RESIDUAL if n else EXACT_RESIDUAL):
            if n:
                problem.factor_key[0] = -1
            call_address(problem.functions[NEWTON], key, key, TIGHT_PROXIMAL if n else LOOSE_PROXIMAL, steps)
    if tight:
        problem.factor_key[0] = -1  # too tight to be reused
    return problem.residual[0]


@kernel
def exceeds_cone(problem, p):
    """Whether a sticking contact exceeds its friction cone, however slightly."""
    if problem.normal_mode[p] == OPEN or problem.tangential_mode[p] == SLIPPING:
        return False
    w = contact_vector(problem, problem.w, p)
    return (
        norm(friction_at_center(problem, p, w.tangential))
        > (1.0 + CONE_EXCESS) * (problem.static_friction[p] if problem.static_allowed[p] else problem.friction[p]) * w.normal.x
    )


@kernel
def release_exceeding(problem):
    """Let such contacts slip, after saving forces and modes. Returns whether there are any."""
    found = False
    for p in range(problem.count[NUM_CONTACTS]):
        found = found or exceeds_cone(problem, p)
    if found:
        save_best(problem)
        for p in range(problem.count[NUM_CONTACTS]):
            if exceeds_cone(problem, p):
                problem.tangential_mode[p] = SLIPPING
    return found


@kernel
def newton_after_release(problem, key, before):
    """Newton after contacts were released, if it reduces the residual. Returns the residual."""
    problem.residual[0] = before
    call_address(problem.functions[NEWTON], key, key, TIGHT_PROXIMAL, 3)
    problem.factor_key[0] = -1
    if problem.residual[0] < before:
        return problem.residual[0]
    restore_best(problem)
    return residual(problem)


@kernel
def newton_tight(problem, key, before):
    """Newton, tightly, from the forces and modes of the step before. Returns the residual.

    Where bodies are wedged, the response to a normal force can have the wrong sign: loose steps then diverge from a solution, however near.
    ``before`` is the residual they led to; forces stay there if this fails, too.
    """
    copy_rows(problem, problem.path_point, problem.w)
    restore_best(problem)
    problem.factor_key[0] = -1
    problem.residual[0] = residual(problem)
    call_address(problem.functions[NEWTON], key, key, TIGHT_PROXIMAL, 3)
    problem.factor_key[0] = -1
    if problem.residual[0] <= TARGET_RESIDUAL:
        return problem.residual[0]
    copy_rows(problem, problem.w, problem.path_point)
    return before


@kernel
def last_resort(problem, key, best, again):
    """The best forces so far if their residual is acceptable, otherwise those of the convex relaxation.

    ``again``: the relaxation of this problem, except for u0, was just solved.
    """
    problem.count[FROZEN] = 0
    if best <= ACCEPTABLE_RESIDUAL:
        restore_best(problem)
        return finish(problem, UNSOLVED if best > TOLERANCE else METHOD_DOUGLAS_RACHFORD, residual(problem))
    call_address(problem.functions[CONVEX_RELAXATION], key, key, 0.0, again)
    call_address(problem.functions[GAUSS_SEIDEL], key, key, 0.0, 0)
    return finish(problem, METHOD_CONVEX, problem.residual[0])


@kernel
def method_of_round(problem, k, warm):
    """Method by which the solution of round k was found."""
    if problem.count[FROZEN]:
        return METHOD_FROZEN_CENTERS
    if k == 0:
        return METHOD_WARM_START if warm else METHOD_NEWTON
    function = SCHEDULE[k - 1][0]
    return (
        METHOD_GAUSS_SEIDEL
        if function == GAUSS_SEIDEL
        else METHOD_DOUGLAS_RACHFORD
        if function == DOUGLAS_RACHFORD
        else METHOD_CONTINUATION
    )


@by_address
def solve(key, problem_key, unused, again):
    """Find forces w, velocities u and modes that satisfy the contact law, for the problem of ``problem_key``.

    Initial values of w and modes are the warm start; a contact whose normal mode is UNKNOWN has none. ``again`` is 1 if the same problem,
    except for u0, was just solved.
    """
    (problem,) = open_problem(problem_key)
    new = initialize(problem, again)
    fresh, warm = new == problem.count[NUM_CONTACTS], new == 0
    best = error = math.inf
    relaxed = int(again and problem.count[METHOD] == METHOD_CONVEX)
    limit_work(problem, SEARCH_SHARE)
    for k in range(len(SCHEDULE) + 1):
        if k == len(SCHEDULE):
            if best <= ACCEPTABLE_RESIDUAL:
                break
            freeze_centers(problem)
            limit_work(problem, SEARCH_SHARE)
        if k > 0:
            function, scale, iterations, start = SCHEDULE[k - 1]
            iterations = affordable_iterations(problem, function, iterations)
            if iterations == 0:
                continue
            drop_static_friction(problem, k)
            if start == FROM_ZERO:
                zero_forces(problem)
            elif start == FROM_BEST or (best < error and error > MAX_RETAINED_RESIDUAL):
                restore_best(problem)
            call_address(problem.functions[function], problem_key, problem_key, scale, iterations)
        found = residual(problem)
        copy_rows(problem, problem.newton_start, problem.w)
        if k == 0:
            save_best(problem)
        error = try_newton(
            problem, problem_key, found, LATER_NEWTON_STEPS if k > 0 else FIRST_NEWTON_STEPS, warm or k > 0, fresh if k == 0 else k % 2 == 0
        )
        if k == 0 and warm and not error <= TARGET_RESIDUAL:
            error = newton_tight(problem, problem_key, error)
        if k == 0 and EXACT_RESIDUAL < error <= TARGET_RESIDUAL and release_exceeding(problem):
            error = newton_after_release(problem, problem_key, error)
        if error > TARGET_RESIDUAL and not error < (found if k > 0 else 0.0 if fresh else MAX_RETAINED_RESIDUAL):
            copy_rows(problem, problem.w, problem.newton_start)
            error = residual(problem)
        if error <= (TARGET_RESIDUAL if k < STRICT_ROUNDS else LATER_TARGET):
            if project_forces(problem):
                error = residual(problem)
            if error <= TOLERANCE:
                return finish(problem, method_of_round(problem, k, warm), error)
        if 0 < k < len(SCHEDULE) and error < best:
            best = error
            save_best(problem)
    return last_resort(problem, problem_key, best, relaxed)


@entry
def solve_problem(key: Key):
    """Solve one problem from Python. Returns the residual [m/s]."""
    (problem,) = open_problem(key)
    begin_budget(problem)
    call_address(problem.functions[SOLVE], key, key, 0.0, 0)
    return problem.residual[0]


#: Functions called by address, in the order of the indices NEWTON ... SOLVE of ``ContactProblem.functions``.
FUNCTIONS = (newton, gauss_seidel, douglas_rachford, select_modes, convex_relaxation, continuation, solve)
_ROW_ARRAYS = (
    "u0", "u", "w", "solution", "best_w", "newton_start", "auxiliary", "path_point", "path_tangent", "trial_tangent", "weight",
    "active_blocks", "pivots",
)  # fmt: skip


def new_problem(contacts: int) -> ContactProblem:
    """Arrays for so many contacts of any kind."""
    m = max(contacts, 1)
    n = (6 * m + 3) // 4 * 4
    squares, blocks = ("G", "response", "factor"), ("basis", "test", "local_jacobian")
    size = {"count": 5, "counters": len(METHODS) + 3, "functions": 7, "residual": 1, "work": 2, "corner_force": 3 * CORNERS * m}
    size.update(
        dict.fromkeys(squares, n * n + 4),  # blocks of four may reach beyond the last row
        **dict.fromkeys(blocks, BLOCK_SIZE * m),
        **dict.fromkeys(_ROW_ARRAYS, n),
    )
    size.update(row_start=m + 1, unknown_start=m + 1, factor_key=m + 1)
    problem = ContactProblem(*(np.zeros((size.get(name, m), *kind.row), kind.dtype) for name, kind in array_fields(ContactProblem).items()))
    problem.functions[:] = [function.address for function in FUNCTIONS]
    return problem
