"""Work of the contact solver: one budget for all contact problems of a step, in multiplications.

Work is counted, not timed, so that results are reproducible. A step may have many problems: parts of a divided step, repetitions with
corrected midpoint velocities or less restitution, positional correction. Each search may take a share of the work that is left in the
step, so that later ones have some, too, and their sum is bounded. With nothing left, a problem has the Newton attempt from the warm start
and a few iterations of the last resort.
"""

from __future__ import annotations

from brachiate.compiled import kernel
from brachiate.contact.arrays import CONTINUATION, DOUGLAS_RACHFORD, NUM_CONTACTS, NUM_ROWS, WORK_DONE, WORK_LIMIT

STEP_WORK = 2.4e8  # multiplications in a step: 50 to 90 ms; piles such as a row of dominoes need it
SEARCH_SHARE, RELAXATION_SHARE = 0.75, 0.5  # of the work left in the step: of one search for modes, and of one convex relaxation
MIN_ITERATIONS = 8  # of a round that is worth its while
# Multiplications that take as long as:
LOCAL_WORK = 400.0  # the law of one contact alone
AUXILIARY_WORK = 1000.0  # the same from an auxiliary variable, in the metric of a continuation: measured 0.25 µs
DISTANCE_WORK = 8000.0  # a distance of two shapes: measured 2.7 µs, where that of a solver's multiplication was 0.35 ns
PAIR_WORK = 150.0  # a pair of shapes that is found to be far apart
DYNAMICS_WORK = 1000.0  # dynamics, for each degree of freedom: measured 0.2 to 0.3 µs


@kernel
def begin_budget(problem):
    """Start the budget of a step."""
    problem.work[WORK_DONE] = 0.0
    problem.work[WORK_LIMIT] = STEP_WORK


@kernel
def add_work(problem, multiplications):
    """Count work."""
    problem.work[WORK_DONE] += multiplications


@kernel
def limit_work(problem, share):
    """Allow a search this share of the work that is left in the step."""
    problem.work[WORK_LIMIT] = problem.work[WORK_DONE] + share * max(STEP_WORK - problem.work[WORK_DONE], 0.0)


@kernel
def search_exhausted(problem):
    """Whether the search has used its share."""
    return problem.work[WORK_DONE] >= problem.work[WORK_LIMIT]


@kernel
def step_exhausted(problem):
    """Whether the step has used its budget."""
    return problem.work[WORK_DONE] >= STEP_WORK


@kernel
def product_work(problem):
    """Multiplications of a product with G, and of the law of every contact alone: a sweep, a splitting step, or a residual."""
    n = float(problem.count[NUM_ROWS])
    return n * n + LOCAL_WORK * problem.count[NUM_CONTACTS]


@kernel
def factor_work(size):
    """Multiplications of a factorization of this size, its assembly included."""
    n = float(size)
    return n * n * (n / 3.0 + 6.0)


@kernel
def continuation_work(problem):
    """Multiplications of an evaluation of the homotopy: a factor, and the derivative of every contact by central differences."""
    n = float(problem.count[NUM_ROWS])
    return factor_work(n) + product_work(problem) + 2.0 * AUXILIARY_WORK * n


@kernel
def affordable_iterations(problem, function, iterations):
    """Iterations of a round, fewer if they would take more than the search has left; none if the round is not worth its while."""
    left, each = problem.work[WORK_LIMIT] - problem.work[WORK_DONE], product_work(problem)
    if function == CONTINUATION:
        each = continuation_work(problem)
    elif function == DOUGLAS_RACHFORD:
        left -= factor_work(problem.count[NUM_ROWS])
    affordable = int(max(left, 0.0) / (each + 1.0))
    return min(iterations, affordable) if affordable >= min(iterations, MIN_ITERATIONS) else 0
