"""Problems of the whole-body QP: solution, KKT conditions, and the solution of DAQP."""

from __future__ import annotations

from typing import NamedTuple

import daqp
import numpy as np
import pytest

from brachiate.compiled import MODE, ArrayHandle
from brachiate.filter.whole_body.principal_pivoting import SIGN_TOLERANCE, solve_single_qp
from brachiate.filter.whole_body.qp import EQUALITY, INEQUALITY, LAST_ROWS, RAYS, REGULARIZATION, ROWS, TINY, allocate_qp
from brachiate.model.status import OK

ROUND_OFF = 1e-12  # relative to the sum of the absolute values of all terms
fast_only = pytest.mark.skipif(MODE != "fast", reason="the filter is compiled for this")


class Problem(NamedTuple):
    """QP without padding; see :mod:`brachiate.filter.whole_body.qp` for the notation."""

    weights: np.ndarray
    target: np.ndarray
    C: np.ndarray
    D: np.ndarray
    kind: np.ndarray
    compliance: np.ndarray
    rhs: np.ndarray
    force_weight: float


def solved(problem: Problem, qp=None, guess: int | None = None):
    """QP arrays with the solution, from the warm start of ``qp``, from a cold start, or from a random active set (seed)."""
    rows, forces = problem.D.shape
    P = qp or allocate_qp(len(problem.weights), max(rows, 1), max(forces, 1))
    P.counts[ROWS], P.counts[RAYS], P.force_weight[0] = rows, forces, problem.force_weight
    P.weights[:], P.target[:] = problem.weights, problem.target
    P.kind[:rows], P.compliance[:rows], P.rhs[:rows] = problem.kind, problem.compliance, problem.rhs
    P.has_forces[:rows] = problem.D.any(axis=1)
    P.C.reshape(len(P.weights), -1)[:, :rows] = problem.C.T
    P.D.reshape(-1, len(P.active_rays))[:rows, :forces] = problem.D
    if guess is not None:
        rng = np.random.default_rng(guess)
        P.active_rows[:rows], P.active_rays[:forces] = rng.integers(0, 2, rows), rng.integers(0, 2, forces)
        P.counts[LAST_ROWS : LAST_ROWS + 2] = rows, forces
    handle = ArrayHandle(P)
    assert solve_single_qp(handle.key) == OK
    return P


def row_compliance(problem: Problem) -> np.ndarray:
    """Compliance of all rows, with the regularization of hard ones."""
    return problem.compliance + REGULARIZATION * np.einsum("rn,rn,n->r", problem.C, problem.C, 1.0 / problem.weights) + TINY


def check_kkt(problem: Problem, P) -> None:
    """KKT conditions to round-off: stationarity, feasibility with compliance, complementarity."""
    weights, target, C, D, kind, _, rhs, force_weight = problem
    rows, forces = D.shape
    a, rho, y = P.a, P.rho[:forces], P.multipliers[:rows]
    compliance = row_compliance(problem)
    residual = C @ a + D @ rho + compliance * y - rhs
    gradient = force_weight * rho - D.T @ y
    scale = np.abs(y) @ (np.abs(C).max(axis=1) + np.abs(D).max(axis=1, initial=0.0)) + 1.0
    size = (
        np.abs(C) @ (np.abs(target) + np.abs(C).T @ np.abs(y) / weights)
        + np.abs(D) @ (np.abs(D).T @ np.abs(y) / force_weight)
        + np.abs(rhs)
    )
    assert np.abs(weights * (a - target) - C.T @ y).max() < 1e-13 * (scale + np.abs(weights * target).max())
    equal, bound = kind == EQUALITY, kind == INEQUALITY
    assert (np.abs(residual) <= ROUND_OFF * size)[equal].all()
    assert (residual >= -SIGN_TOLERANCE * (np.abs(rhs) + np.abs(C).max(axis=1, initial=0.0)) * max(np.abs(a).max(), 1.0))[bound].all()
    assert (y >= 0.0)[bound].all()
    assert (np.abs(residual) <= ROUND_OFF * size)[bound & (y > 0.0)].all()
    assert (rho >= 0.0).all()
    assert (gradient >= -SIGN_TOLERANCE * force_weight * max(rho.max(initial=0.0), 1.0)).all()
    assert np.abs(gradient[rho > 0.0]).max(initial=0.0) < 1e-13 * scale


def by_daqp(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """Solution by DAQP; the slacks of soft rows are variables as well, scaled so that all weights are 1."""
    weights, target, C, D, kind, _, rhs, force_weight = problem
    rows, forces = D.shape
    n, size = len(weights), len(weights) + forces + rows
    unit = np.concatenate((weights, np.full(forces, force_weight), 1.0 / row_compliance(problem))) ** -0.5
    A = np.ascontiguousarray(np.hstack((C, D, np.eye(rows))) * unit)
    f = np.concatenate((-weights * target, np.zeros(forces + rows))) * unit
    lower = np.concatenate((np.full(n, -1e30), np.zeros(forces), np.full(rows, -1e30), rhs))
    upper = np.concatenate((np.full(size, 1e30), np.where(kind == EQUALITY, rhs, 1e30)))
    sense = np.concatenate((np.zeros(size), np.where(kind == EQUALITY, 5, 0))).astype(np.int32)
    x, _, flag, _ = daqp.solve(np.eye(size), f, A, upper, lower, sense, primal_tol=1e-9)
    assert flag >= 1
    return x[:n] * unit[:n], x[n : n + forces] * unit[n : n + forces]


def check_daqp_agrees(problem: Problem, P) -> None:
    a, rho = by_daqp(problem)
    assert np.abs(P.a - a).max() < 1e-6 * max(np.abs(a).max(), 1.0)
    assert np.abs(P.rho[: len(rho)] - rho).max(initial=0.0) < 1e-5 * max(np.abs(rho).max(initial=0.0), 1.0)
