"""Arrays of a staged least-squares problem.

The variables of a stage are one vector z = (u, x, 1, 0...) of width ``w``, a multiple of four for SIMD. A row of the problem has the same
width, (D, E, -e, 0...), so that r = row · z; so has a row of the dynamics.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from brachiate.compiled import Floats, Ints

MAX_ITERATIONS = 60


class StageArrays(NamedTuple):
    """Staged least-squares problem and its solution. Sizes: N stages, nx states, at most nu controls and m rows a stage, w width of z."""

    size: Ints  # (6,) N, nx, nu, m, w, maximum number of iterations
    control_count: Ints  # (N,) controls of each stage
    row_count: Ints  # (N + 1,) rows of each stage; those of the last depend on x alone
    dynamics: Floats  # (N nx w) x⁺ = dynamics z
    rows: Floats  # ((N + 1) m w) residuals r = rows z
    one_sided: Ints  # ((N + 1) m) 1: one-sided, 0: two-sided
    initial_state: Floats  # (nx,) x of the first stage
    z: Floats  # ((N + 1) w) solution; before, the initial controls
    residual: Floats  # ((N + 1) m) residuals at z
    active: Ints  # ((N + 1) m) active one-sided rows, 0 or 1: initial guess, then those of the solution
    cost: Floats  # (1,) sum of squares at z
    iterations: Ints  # (1,) Newton iterations
    R: Floats  # ((N + 1) nx w) scratch: square root of the cost-to-go
    gain: Floats  # (N nu w) scratch: triangular rows that determine the controls
    z_newton: Floats  # ((N + 1) w) scratch: minimizer for the active rows
    residual_newton: Floats  # ((N + 1) m) scratch: residuals there
    roundoff: Floats  # ((N + 1) m) scratch: round-off of residuals
    M: Floats  # ((nx + m) w) scratch: rows to be triangularized
    line_start: Ints  # (nx + m,) scratch: starts of rows in M, in the order of the triangle
    nonzero: Ints  # (nx + m,) scratch: rows that are not zero in a column
    householder: Floats  # (nx + m,) scratch: Householder vector
    gradient: Floats  # (2 w) scratch: gradient of the cost at z and the magnitude of its terms; column norms of M


def allocate_stages(intervals: int, states: int, controls: int, rows: int) -> StageArrays:
    """Empty problem of this many intervals and states, and at most this many controls and rows a stage."""
    N, nx, nu, m = intervals, states, controls, rows
    w = -(-(nu + nx + 1) // 4) * 4

    def real(*n: int) -> Any:
        return np.zeros(int(np.prod(n)))

    def integer(*n: int) -> Any:
        return np.zeros(int(np.prod(n)), np.int64)

    size = np.array([N, nx, nu, m, w, MAX_ITERATIONS])
    shared = (real(N, nx, w), real(N + 1, m, w), integer(N + 1, m), real(nx), real(N + 1, w), real(N + 1, m), integer(N + 1, m))
    scratch = (real(N + 1, nx, w), real(N, nu, w), real(N + 1, w), real(N + 1, m), real(N + 1, m), real(nx + m, w))
    return StageArrays(
        size, integer(N), integer(N + 1), *shared, real(1), integer(1), *scratch, integer(nx + m), integer(nx + m), real(nx + m), real(2, w)
    )
