"""Dual active-set solver of the whole-body QP: block principal pivoting, then principal pivoting one index at a time.

Indices number rows and rays, rays behind all rows.

From a warm start the active set is right but for a few indices. All of the wrong sign are exchanged at once, which is mostly enough;
where that does not keep improving, one after the other is driven to feasibility while the others stay feasible. This ends, as the problem
is strictly convex [Cottle & Dantzig 1968].
"""

from __future__ import annotations

from brachiate.compiled import Key, entry, index, kernel, outlined
from brachiate.filter.whole_body.active_set import assemble, solve_active_set, solve_sensitivity
from brachiate.filter.whole_body.qp import EQUALITY, INEQUALITY, RAYS, ROWS, SOLVES, open_qp, warm_start
from brachiate.model.status import NOT_CONVERGED, OK

MAX_BLOCK_PIVOTS, BLOCK_PIVOT_PATIENCE = 12, 3  # block exchanges, and how many of them without improvement
MAX_SOLVES = 1000  # linear solves per QP: far more than any has taken
SIGN_TOLERANCE = 1e-9  # relative to the row's scale: values this little below zero are feasible


@kernel
def is_active(qp, i):
    """Whether row or ray i is active."""
    return qp.active_rows[i] if i < qp.counts[ROWS] else qp.active_rays[i - qp.counts[ROWS]]


@kernel
def flip(qp, i):
    """Exchange row or ray i between active and inactive."""
    j = i - qp.counts[ROWS]
    if j < 0:
        qp.active_rows[i] = 1 - qp.active_rows[i]
    else:
        qp.active_rays[j] = 1 - qp.active_rays[j]


@kernel
def signed_value(qp, i, rho, y, slack):
    """Value of row or ray i that must not be negative: multiplier or force if it is active, else its slack."""
    j = i - qp.counts[ROWS]
    if j < 0:
        return y[i] if qp.active_rows[i] else slack[i]
    return rho[j] if qp.active_rays[j] else -rho[j]


@kernel
def current_value(qp, i):
    """That value in the present solution."""
    return signed_value(qp, i, qp.rho, qp.multipliers, qp.slack)


@kernel
def value_rate(qp, i):
    """Its derivative in the pivoting step (:func:`solve_sensitivity`)."""
    return signed_value(qp, i, qp.rho_rate, qp.multiplier_rate, qp.slack_rate)


@kernel
def sign_tolerance(qp, i, max_force, max_acceleration):
    """Round-off by which that value may be negative."""
    if i >= qp.counts[ROWS]:
        return SIGN_TOLERANCE * max_force
    return SIGN_TOLERANCE * qp.row_scale[i] * max_acceleration / (qp.diagonal[i] if qp.active_rows[i] else 1.0)


@kernel
def solution_scale(qp):
    """Largest force and largest acceleration of the solution, at least 1."""
    max_force = max_acceleration = 1.0
    for j in range(qp.counts[RAYS]):
        max_force = max(max_force, qp.rho[index(j)])
    for k in range(qp.weights.shape[0]):
        max_acceleration = max(max_acceleration, abs(qp.a[index(k)]))
    return max_force, max_acceleration


@kernel
def is_exchangeable(qp, i):
    """Whether row or ray i may change between active and inactive: all but equalities."""
    return i >= qp.counts[ROWS] or qp.kind[i] != EQUALITY


@outlined
def minimize(qp):
    """Solve the QP for a, ρ and y from the warm start. Returns OK or NOT_CONVERGED."""
    assemble(qp)
    status = block_pivoting(qp)
    if status != OK:
        for r in range(qp.counts[ROWS]):
            qp.active_rows[r] = qp.initial_rows[r]
        for j in range(qp.counts[RAYS]):
            qp.active_rays[j] = qp.initial_rays[j]
        status = principal_pivoting(qp)
    for j in range(qp.counts[RAYS]):
        qp.rho[j] = max(qp.rho[j], 0.0) if qp.active_rays[j] else 0.0
    for r in range(qp.counts[ROWS]):
        if qp.kind[r] == INEQUALITY:
            qp.multipliers[r] = max(qp.multipliers[r], 0.0)
    return status


@kernel
def block_pivoting(qp):
    """Exchange all indices of the wrong sign at once, as long as they become fewer."""
    best, patience = qp.counts[ROWS] + qp.counts[RAYS] + 1, BLOCK_PIVOT_PATIENCE
    for _ in range(MAX_BLOCK_PIVOTS):
        solve_active_set(qp)
        max_force, max_acceleration = solution_scale(qp)
        violations = 0
        for i in range(qp.counts[ROWS] + qp.counts[RAYS]):
            if is_exchangeable(qp, i) and current_value(qp, i) < -sign_tolerance(qp, i, max_force, max_acceleration):
                flip(qp, i)
                violations += 1
        if violations == 0:
            return OK
        if violations < best:
            best, patience = violations, BLOCK_PIVOT_PATIENCE
        elif patience == 0:
            break
        else:
            patience -= 1
    return NOT_CONVERGED


@kernel
def most_violated(qp):
    """Index of the most negative value in multiples of its tolerance; -1 if none is negative."""
    max_force, max_acceleration = solution_scale(qp)
    worst, found = -1.0, -1
    for i in range(qp.counts[ROWS] + qp.counts[RAYS]):
        if is_exchangeable(qp, i):
            x = current_value(qp, i) / sign_tolerance(qp, i, max_force, max_acceleration)
            if x < worst:
                worst, found = x, i
    return found


@kernel
def principal_pivoting(qp):
    """Drive the most violated index to feasibility, one at a time, until none is violated [Cottle & Dantzig 1968]."""
    while qp.counts[SOLVES] < MAX_SOLVES:
        solve_active_set(qp)
        i = most_violated(qp)
        if i < 0:
            return OK
        leaving, slack = is_active(qp, i), 0.0
        if not leaving:
            slack = current_value(qp, i) * (1.0 if i < qp.counts[ROWS] else qp.force_weight[0])
            flip(qp, i)
        drive_to_feasible(qp, i, leaving, slack)
    return NOT_CONVERGED


@kernel
def drive_to_feasible(qp, i, leaving, slack):
    """Increase the slack of row or ray i to zero if it has entered the active set; if it is leaving, until its multiplier is zero.

    All other feasible indices stay feasible: the one that reaches zero first is exchanged (ratio test). As the problem is strictly convex,
    the multiplier grows with the slack all the way, and no active set comes twice.
    """
    while qp.counts[SOLVES] < MAX_SOLVES:
        solve_sensitivity(qp, solve_active_set(qp), i)
        max_force, max_acceleration = solution_scale(qp)
        end, blocking = 0.0, -1
        if leaving:
            end = -current_value(qp, i) / value_rate(qp, i)
        for m in range(qp.counts[ROWS] + qp.counts[RAYS]):
            if m != i and is_exchangeable(qp, m):
                change = value_rate(qp, m)
                now = current_value(qp, m) + slack * change
                if change < 0.0 and now >= -sign_tolerance(qp, m, max_force, max_acceleration) and slack - max(now, 0.0) / change < end:
                    end, blocking = slack - max(now, 0.0) / change, m
        if blocking < 0:
            break
        flip(qp, blocking)
        slack = end
    if leaving:
        flip(qp, i)


@entry
def solve_single_qp(key: Key):
    """Solve one QP given by its key. Returns a status."""
    (qp,) = open_qp(key)
    warm_start(qp)
    return minimize(qp)
