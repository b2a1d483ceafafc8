"""A problem in stages, as arrays.

All numbers of a stage are one row z = (u, x, 1, 0...), ``w`` wide, a multiple of four. A row of the problem is as wide,
(D, E, -e, 0...), so that r = row z; one of a step likewise.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from brachiate.compiled import Floats, Ints

LIMITED = 60  # iterations


class Stages(NamedTuple):
    """A problem in N stages and its solution. Sizes: nx states, nu controls at most, m rows at most in a stage, w the width of z."""

    size: Ints  # (6,) N, nx, nu, m, w, iterations allowed
    controls: Ints  # (N,) of each stage
    rows: Ints  # (N + 1,) of each stage; those of the last are about x alone
    step: Floats  # (N nx w) x⁺ = step z
    row: Floats  # ((N + 1) m w) r = row z
    sided: Ints  # ((N + 1) m) 1: one-sided, 0: two-sided
    start: Floats  # (nx,) x of the first stage
    z: Floats  # ((N + 1) w) the solution; before, the controls to begin with
    r: Floats  # ((N + 1) m) its rows
    press: Ints  # ((N + 1) m) which of them press, 0 or 1: the guess to begin with, then those of the solution
    cost: Floats  # (1,) its sum
    tries: Ints  # (1,) sweeps it took
    R: Floats  # ((N + 1) nx w) scratch: what a state costs from here on
    gain: Floats  # (N nu w) scratch: lines that give the controls
    there: Floats  # ((N + 1) w) scratch: z where the rows that press have their least sum
    r_there: Floats  # ((N + 1) m) scratch: rows there
    blur: Floats  # ((N + 1) m) scratch: round-off of rows
    M: Floats  # ((nx + m) w) scratch: rows to be brought to a triangle
    at: Ints  # (nx + m,) scratch: where they begin in M, in the order of the triangle
    live: Ints  # (nx + m,) scratch: those that are not zero in a column
    v: Floats  # (nx + m,) scratch: what is reflected
    slope: Floats  # (2 w) scratch: of the sum at z, and how large the terms are that it is made of


def stages(intervals: int, states: int, controls: int, rows: int) -> Stages:
    """Return an empty problem with room for so many intervals, states, and controls and rows of a stage."""
    N, nx, nu, m = intervals, states, controls, rows
    w = -(-(nu + nx + 1) // 4) * 4

    def real(*n: int) -> Any:
        return np.zeros(int(np.prod(n)))

    def integer(*n: int) -> Any:
        return np.zeros(int(np.prod(n)), np.int64)

    size = np.array([N, nx, nu, m, w, LIMITED])
    shared = (real(N, nx, w), real(N + 1, m, w), integer(N + 1, m), real(nx), real(N + 1, w), real(N + 1, m), integer(N + 1, m))
    scratch = (real(N + 1, nx, w), real(N, nu, w), real(N + 1, w), real(N + 1, m), real(N + 1, m), real(nx + m, w))
    return Stages(
        size, integer(N), integer(N + 1), *shared, real(1), integer(1), *scratch, integer(nx + m), integer(nx + m), real(nx + m), real(2, w)
    )
