"""Homotopy continuation from decoupled contacts to the coupled problem [Allgower & Georg 1990].

With the auxiliary variable z of :mod:`.douglas_rachford`, w(z) the forces of every contact alone against u = R (w - z), and t the degree of
coupling, solutions are zeros of

    u0 + R z + t (G - R) w(z).

For t = 0 the zero is z = -R⁻¹ u0. For t < 1 zeros are bounded, so a path leads from there to t = 1. Where forces are not unique it turns
back through smaller t, where monotone continuation in t would fail. So it is followed by its arc length in z and τ = -log(1 - t)
(predictor-corrector). Its orientation, also beyond kinks, is given by the sign of the determinant of the Jacobian.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from brachiate.compiled import by_address, kernel, outlined
from brachiate.contact.arrays import FACTORIZATIONS, NUM_CONTACTS, NUM_ROWS, STRIDE, open_problem
from brachiate.contact.solver.contact_law import ContactVector, contact_vector, put_contact_vector, residual, update_velocities
from brachiate.contact.solver.douglas_rachford import apply_metric, contact_metric, solve_from_auxiliary
from brachiate.contact.solver.gauss_seidel import solve_symmetric
from brachiate.contact.solver.mode_unknowns import block_start
from brachiate.contact.solver.search_work import add_work, continuation_work, search_exhausted
from brachiate.linalg.lu import lu_factor_pivoted, lu_solve_pivoted
from brachiate.model.status import OK
from brachiate.spatial import Vec3, four, put_four

TAU_END = 21.0  # τ at which 1 - t is negligible
FIRST_STEP, MAX_STEP, MIN_STEP = 0.05, 1e6, 1e-10  # arc length, in units of a typical speed; large for wedged bodies
MIN_SPEED = 1e-9  # [m/s] lower bound of the typical speed
CORRECTOR_TOLERANCE = 1e-8  # of the typical speed: residual of a point on the path
MAX_CORRECTIONS, MIN_CONTRACTION = 7, 0.5  # Newton steps of the corrector, and the residual ratio each has to reach
DIFFERENCE_STEP, DIFFERENCE_SCALE = 1e-7, 1e-3  # relative difference step, and the smallest magnitude it is relative to


class PathEvaluation(NamedTuple):
    """Evaluation of the homotopy at a point on or beside the path."""

    residual: float  # residual of the coupled equations, in units of the typical speed
    tau_tangent: float  # tangent of the path in τ; that of the auxiliary variable is in ``trial_tangent``
    tau_correction: float  # Newton correction of τ; that of the auxiliary variable is in ``solution``
    distance: float  # length of this correction


class PathPoint(NamedTuple):
    """A point the path was followed to."""

    corrections: int  # corrections it took, negative if it failed
    tau: float
    tau_tangent: float  # tangent of the path in τ


@kernel
def weighted_inner(problem, x, y):
    """Inner product of two changes of the auxiliary variable, in units of the typical speed."""
    total = 0.0
    for r in range(problem.count[NUM_ROWS]):
        total += problem.weight[r] * problem.weight[r] * x[r] * y[r]
    return total


@kernel
def start_decoupled(problem, share):
    """Auxiliary variable of decoupled contacts, without static friction. Returns a typical speed."""
    total = 0.0
    for r in range(problem.count[NUM_ROWS]):
        total += problem.u0[r] * problem.u0[r]
    speed = math.sqrt(total / problem.count[NUM_ROWS]) + MIN_SPEED
    for p in range(problem.count[NUM_CONTACTS]):
        problem.static_allowed[p] = 0
        at, rows, R, u = (
            problem.row_start[p],
            problem.row_start[p + 1] - problem.row_start[p],
            contact_metric(problem, p, share),
            contact_vector(problem, problem.u0, p),
        )
        put_contact_vector(
            problem.auxiliary, at, rows, ContactVector(-solve_symmetric(R.tangential, u.tangential), -solve_symmetric(R.normal, u.normal))
        )
        put_contact_vector(
            problem.weight,
            at,
            rows,
            ContactVector(Vec3(R.tangential.xx, R.tangential.yy, R.tangential.zz), Vec3(R.normal.xx, R.normal.yy, R.normal.zz)),
        )
        for r in range(at, at + rows):
            problem.weight[r] /= speed
    return speed


@kernel
def solve_with_jacobian(problem, p, R):
    """Forces of contact p, and their derivative by its auxiliary variable: central differences, to ``local_jacobian``."""
    at, rows = problem.row_start[p], problem.row_start[p + 1] - problem.row_start[p]
    for c in range(rows):
        z = problem.auxiliary[at + c]
        delta = DIFFERENCE_STEP * (abs(z) + DIFFERENCE_SCALE / problem.weight[at + c])
        for side in range(2):
            problem.auxiliary[at + c] = z - delta if side == 0 else z + delta
            solve_from_auxiliary(problem, p, R)
            for r in range(rows):
                problem.local_jacobian[block_start(p, r) + c] = (
                    problem.w[at + r] if side == 0 else (problem.w[at + r] - problem.local_jacobian[block_start(p, r) + c]) / (2.0 * delta)
                )
        problem.auxiliary[at + c] = z
    solve_from_auxiliary(problem, p, R)


@kernel
def put_jacobian_rows(problem, p, R, coupling):
    """Derivatives of all equations by the auxiliary variable of contact p: rows of the transposed Jacobian."""
    at, rows, n, stride = (
        problem.row_start[p],
        problem.row_start[p + 1] - problem.row_start[p],
        problem.count[NUM_ROWS],
        problem.count[STRIDE],
    )
    padded = (n + 3) // 4 * 4
    for c in range(rows):
        row = (at + c) * stride
        for i in range(0, padded, 4):
            x = (coupling * problem.local_jacobian[block_start(p, 0) + c]) * four(problem.G, at * stride + i)
            for r in range(1, rows):
                x = x + (coupling * problem.local_jacobian[block_start(p, r) + c]) * four(problem.G, (at + r) * stride + i)
            put_four(problem.factor, row + i, x)
        for r in range(rows):
            problem.solution[at + r] = (1.0 if r == c else 0.0) - coupling * problem.local_jacobian[block_start(p, r) + c]
        put_contact_vector(problem.solution, at, rows, apply_metric(R, contact_vector(problem, problem.solution, p)))
        for r in range(rows):
            problem.factor[row + at + r] += problem.solution[at + r]
        for r in range(n, padded):
            problem.factor[row + r] = 0.0


@kernel
def factor_jacobian(problem):
    """Factor the Jacobian, padded to whole blocks of four. Returns the sign of its determinant."""
    n, stride = problem.count[NUM_ROWS], problem.count[STRIDE]
    padded = (n + 3) // 4 * 4
    for r in range(n, padded):
        for c in range(padded):
            problem.factor[r * stride + c] = 1.0 if r == c else 0.0
        problem.solution[r] = problem.trial_tangent[r] = 0.0
    problem.counters[FACTORIZATIONS] += 1
    add_work(problem, continuation_work(problem))
    return lu_factor_pivoted(problem.factor, stride, padded, problem.pivots)


@kernel
def coupled_residual(problem, p, R, coupling):
    """Residual of contact p in the coupled equations, to ``solution``, and its derivative by τ, to ``trial_tangent``."""
    at, rows = problem.row_start[p], problem.row_start[p + 1] - problem.row_start[p]
    z, w = apply_metric(R, contact_vector(problem, problem.auxiliary, p)), apply_metric(R, contact_vector(problem, problem.w, p))
    put_contact_vector(problem.solution, at, rows, z)
    put_contact_vector(problem.trial_tangent, at, rows, w)
    worst = 0.0
    for r in range(at, at + rows):
        others = problem.u[r] - problem.u0[r] - problem.trial_tangent[r]
        problem.solution[r] += problem.u0[r] + coupling * others
        problem.trial_tangent[r] = (1.0 - coupling) * others
        worst = max(worst, abs(problem.solution[r])) if abs(problem.solution[r]) < math.inf else math.inf
    return worst


@outlined
def evaluate(problem, share, speed, tau):
    """Newton correction onto the path from the present auxiliary variable, and the tangent of the path there."""
    problem.factor_key[0] = -1
    coupling, error = -math.expm1(-tau), 0.0
    for p in range(problem.count[NUM_CONTACTS]):
        R = contact_metric(problem, p, share)
        solve_with_jacobian(problem, p, R)
        put_jacobian_rows(problem, p, R, coupling)
    sign = factor_jacobian(problem)
    update_velocities(problem)
    for p in range(problem.count[NUM_CONTACTS]):
        error = max(error, coupled_residual(problem, p, contact_metric(problem, p, share), coupling))
    stride, padded = problem.count[STRIDE], (problem.count[NUM_ROWS] + 3) // 4 * 4
    lu_solve_pivoted(problem.factor, stride, padded, problem.pivots, problem.solution)
    lu_solve_pivoted(problem.factor, stride, padded, problem.pivots, problem.trial_tangent)
    square = 1.0 + weighted_inner(problem, problem.trial_tangent, problem.trial_tangent)
    correction = -weighted_inner(problem, problem.trial_tangent, problem.solution) / square
    tangent = sign / math.sqrt(square)
    for r in range(problem.count[NUM_ROWS]):
        problem.solution[r] = -problem.solution[r] - correction * problem.trial_tangent[r]
        problem.trial_tangent[r] = -tangent * problem.trial_tangent[r]
    return PathEvaluation(
        error / speed, tangent, correction, math.sqrt(weighted_inner(problem, problem.solution, problem.solution) + correction * correction)
    )


@kernel
def correct(problem, share, speed, tau, step):
    """Corrector: Newton steps perpendicular to the path."""
    last = math.inf
    for n in range(MAX_CORRECTIONS):
        found = evaluate(problem, share, speed, tau)
        if (
            search_exhausted(problem)
            or not found.distance < 5.0 * step + DIFFERENCE_SCALE
            or (n > 1 and found.residual > max(MIN_CONTRACTION * last, CORRECTOR_TOLERANCE))
        ):
            break
        for r in range(problem.count[NUM_ROWS]):
            problem.auxiliary[r] += problem.solution[r]
        tau += found.tau_correction
        if found.residual <= CORRECTOR_TOLERANCE:
            return PathPoint(n, tau, found.tau_tangent)
        last = found.residual
    return PathPoint(-1, tau, 0.0)


@kernel
def predict(problem, direction, step):
    """Predictor: auxiliary variable one step along a direction."""
    for r in range(problem.count[NUM_ROWS]):
        problem.auxiliary[r] = problem.path_point[r] + step * direction[r]


@kernel
def step_along(problem, share, speed, present, tangent, step):
    """Correct a predicted point. It fails if the point is not onward on the path, or not about a step away."""
    reached = correct(problem, share, speed, present.tau + step * tangent, step)
    for r in range(problem.count[NUM_ROWS]):
        problem.solution[r] = problem.auxiliary[r] - problem.path_point[r]
    tau_change = reached.tau - present.tau
    length = math.sqrt(weighted_inner(problem, problem.solution, problem.solution) + tau_change * tau_change)
    forward = weighted_inner(problem, problem.solution, problem.trial_tangent) + tau_change * reached.tau_tangent > 0.0
    return reached if forward and 0.2 * step < length < 3.0 * step else PathPoint(-1, reached.tau, 0.0)


@kernel
def accept(problem):
    """Accept the trial point as the present point of the path."""
    for r in range(problem.count[NUM_ROWS]):
        problem.path_point[r], problem.path_tangent[r] = problem.auxiliary[r], problem.trial_tangent[r]


@by_address
def continuation(key, problem_key, share, max_steps):
    """Forces and modes at the end of the path, or as far as so many steps lead; R is the given multiple of the contacts' own response.

    The predictor follows the tangent. If the corrector fails, the path may have a kink: then the tangent beyond it is tried, else a shorter
    step. It ends early if the search has no work left.
    """
    (problem,) = open_problem(problem_key)
    speed, step = start_decoupled(problem, share), FIRST_STEP
    present = PathPoint(0, 0.0, evaluate(problem, share, speed, 0.0).tau_tangent)
    accept(problem)
    for _ in range(max_steps):
        if present.tau >= TAU_END or step < MIN_STEP or search_exhausted(problem):
            break
        predict(problem, problem.path_tangent, step)
        reached = step_along(problem, share, speed, present, present.tau_tangent, step)
        if reached.corrections < 0:
            predict(problem, problem.path_tangent, step)
            tangent = evaluate(problem, share, speed, present.tau + step * present.tau_tangent).tau_tangent
            predict(problem, problem.trial_tangent, step)
            reached = step_along(problem, share, speed, present, tangent, step)
        if reached.corrections < 0:
            step *= 0.5
            continue
        accept(problem)
        present = reached
        step = min(MAX_STEP, step * (2.0 if reached.corrections < 3 else 1.3 if reached.corrections < 4 else 1.0))
    predict(problem, problem.path_tangent, 0.0)
    for p in range(problem.count[NUM_CONTACTS]):
        solve_from_auxiliary(problem, p, contact_metric(problem, p, share))
    problem.residual[0] = residual(problem)
    return OK
