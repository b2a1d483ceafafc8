"""Work of the search for contact forces: multiplications so far, and iterations that are left of a bound."""

from __future__ import annotations

from brachiate.compiled import kernel
from brachiate.contact.arrays import (
    DOUGLAS_RACHFORD,
    DOUGLAS_RACHFORD_STEPS,
    FACTORIZATIONS,
    GAUSS_SEIDEL_SWEEPS,
    NUM_CONTACTS,
    NUM_ROWS,
)

MAX_WORK = 2e8  # multiplications of one search, about 0.1 s; beyond, only Gauss-Seidel sweeps and the last resort are left
MIN_ITERATIONS = 8  # of a round that is worth its while


@kernel
def work_done(problem):
    """Multiplications by all searches so far, from the counters of sweeps, steps and factors."""
    n, unknowns = float(problem.count[NUM_ROWS]), float(problem.unknown_start[problem.count[NUM_CONTACTS]])
    steps = problem.counters[GAUSS_SEIDEL_SWEEPS] + problem.counters[DOUGLAS_RACHFORD_STEPS]
    return n * n * steps + max(unknowns, n) ** 3 / 3.0 * problem.counters[FACTORIZATIONS]


@kernel
def affordable_iterations(problem, function, iterations, work):
    """Iterations of a round, fewer if they would take more than this many multiplications."""
    n = float(problem.count[NUM_ROWS])
    each = n * n if function == DOUGLAS_RACHFORD else n * n * n / 3.0
    return min(iterations, int(max(work, 0.0) / (each + 1.0)))
