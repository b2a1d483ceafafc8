"""Whole-body QP (quadratic program) [DF] VII-C 2: joint accelerations and contact forces nearest to the tasks.

    minimize    ½ Σ wₖ (aₖ − âₖ)² + ½ ε Σ ρⱼ² + ½ Σ (C a + D ρ − d)² / compliance    over the soft rows,
    subject to  C a + D ρ = d  (hard equalities),   C a + D ρ ≥ d  (inequalities),   ρ ≥ 0.

a are generalized accelerations, ρ magnitudes of forces along the generators (extreme rays) of linearized friction cones. [DF] solves the
whole system by a pseudoinverse, with contact states by trial and error; here forces are inside their cones by construction, and limits are
rows like others.

The weights of a and ρ are diagonal, so the dual system has the size of the rows, not of the body:

    (C w⁻¹ Cᵀ + D ε⁻¹ Dᵀ + compliance) y = d − C â,    a = â + w⁻¹ Cᵀ y,    ρ = ε⁻¹ Dᵀ y

over the active rows and rays (:mod:`.active_set`). The active set is found by principal pivoting from a warm start
(:mod:`.principal_pivoting`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from brachiate.compiled import Floats, Ints, array_fields, kernel, struct_opener

EQUALITY, INEQUALITY = range(2)  # kinds of rows
ROWS, RAYS, SOLVES, STRIDE, LAST_ROWS, LAST_RAYS, REMAINING_START, REMAINING = range(8)  # places of Qp.counts
TINY = 1e-14  # lower bound of diagonals and scales: a row of forces none of which is active still calls for them
REGULARIZATION = 1e-10  # compliance of hard rows relative to their diagonal, so that redundant rows do not make the matrix singular
PADDING = 8  # places that padding to multiples of four and the right-hand side take


class Qp(NamedTuple):
    """Arrays of the QP. Sizes: n accelerations, R rows (a multiple of four), K rays. C is stored column by column: SIMD over rows.

    Rows and rays share one numbering, rays behind all rows. An active inequality has a multiplier, an active ray a force, an inactive one
    a slack; none of these may be negative.
    """

    counts: Ints  # (8,) rows, rays, solves, R, rows and rays of the last QP, start and number of the rows that are not eliminated
    weights: Floats  # (n,) w
    target: Floats  # (n,) â [rad/s² or m/s²] desired accelerations
    kind: Ints  # (R,) EQUALITY or INEQUALITY
    compliance: Floats  # (R,) inverse of the row's weight; 0: hard
    rhs: Floats  # (R,) d
    has_forces: Ints  # (R,) 1 if the row has entries in D
    C: Floats  # (n R,) column by column; zero where there is no row
    D: Floats  # (R K,) row by row
    force_weight: Floats  # (1,) ε
    active_rows: Ints  # (R,) whether an inequality is active; warm start of the next QP
    active_rays: Ints  # (K,) whether a force is not zero; warm start of the next QP
    a: Floats  # (n,) solution
    rho: Floats  # (K,) solution
    multipliers: Floats  # (R,) y
    initial_rows: Ints  # (R,) scratch: initial active set
    initial_rays: Ints  # (K,) scratch
    order: Ints  # (R + 8,) scratch: rows in the order of G, force-free equalities first; -1: padding to a multiple of four
    selected: Ints  # (R,) scratch: places in this order of the remaining active rows, those with forces first
    inv_sqrt_weights: Floats  # (n,) scratch: w^-½
    X: Floats  # (n (R + 8),) scratch: C w^-½ in this order, column by column
    G: Floats  # ((R + 8)²,) scratch: C w⁻¹ Cᵀ + compliance in this order, then its Schur complement; behind the last row d − C â
    diagonal: Floats  # (R,) scratch: diagonal of G before elimination
    residual: Floats  # (R,) scratch: d − C â
    row_scale: Floats  # (R,) scratch: largest entry of a row
    M: Floats  # (R R,) scratch: matrix of the active set
    x: Floats  # (R,) scratch: its solution
    ordered_multipliers: Floats  # (R + 8,) scratch: multipliers in the order of G
    column: Floats  # (R,) scratch: entries of one ray
    slack: Floats  # (R,) scratch: C a + D ρ − d of inactive inequalities
    rho_rate: Floats  # (K,) scratch: derivatives in the pivoting step
    multiplier_rate: Floats  # (R,)
    slack_rate: Floats  # (R,)


open_qp = struct_opener(Qp)


def allocate_qp(n: int, rows: int, rays: int) -> Qp:
    """Allocate the arrays for n accelerations and at most so many rows and rays."""
    stride = -(-rows // 4) * 4
    width = stride + PADDING
    length = {"counts": 8, "force_weight": 1, "C": n * stride, "D": stride * rays, "M": stride * stride, "X": n * width, "G": width * width}
    length |= dict.fromkeys(("order", "ordered_multipliers"), width)
    length |= dict.fromkeys(("active_rays", "initial_rays", "rho", "rho_rate"), rays)
    length |= dict.fromkeys(("weights", "target", "inv_sqrt_weights", "a"), n)
    qp = Qp(**{name: np.zeros((length.get(name, stride), *f.row), f.dtype) for name, f in array_fields(Qp).items()})
    qp.counts[STRIDE] = stride
    qp.weights[:] = 1.0
    qp.force_weight[0] = 1e-6
    return qp


@kernel
def round_up_to_four(n):
    """n rounded up to a multiple of four."""
    return (n + 3) // 4 * 4


@kernel
def warm_start(qp):
    """Initial active set: that of the last solution; if the number of rows or rays has changed, no inequality and every ray."""
    qp.counts[SOLVES] = 0
    if qp.counts[ROWS] != qp.counts[LAST_ROWS]:
        for r in range(qp.active_rows.shape[0]):
            qp.active_rows[r] = 0
    if qp.counts[RAYS] != qp.counts[LAST_RAYS]:
        for j in range(qp.active_rays.shape[0]):
            qp.active_rays[j] = 1
    qp.counts[LAST_ROWS], qp.counts[LAST_RAYS] = qp.counts[ROWS], qp.counts[RAYS]
