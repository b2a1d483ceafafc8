"""Torque distribution: inverse dynamics of closed chains, distributed over their actuators [CKC] 2.1, 3.1.

τ_O are the torques of the tree with a motor at every velocity. The closed chain requires τ_G = Wᵀτ_O, which its motors generate by
Sᵀτ_A = τ_G: uniquely, in many ways, or not at all, depending on the rank of S, not on the number of motors.

With √A W = Q R (Q orthonormal, √A = diag √A_ii) that is Q_Aᵀ (τ_A/√A_A) = Qᵀ (τ_O/√A): the singular values of Q_A are cosines of the
angles between motions and motors, and the norm of the residual does not depend on the choice of generalized coordinates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import daqp
import numpy as np
from numpy.typing import ArrayLike

from brachiate import validation
from brachiate.constraints.coordinates import RANK_TOLERANCE, Coordinates, velocity_indices
from brachiate.errors import ArgumentError, StateError
from brachiate.validation import Array

RESIDUAL_TOLERANCE = 1e-9  # a residual below this fraction of τ_O is round-off
SATURATION_TOLERANCE = 1e-6  # relative gradient above which a motor at its limit is saturated
SINGULAR_TOLERANCE = 1e-10  # relative singular values, and relative violation of limits
DAQP_INFINITY, DAQP_SOLVED, DAQP_PROXIMAL = (
    1e30,
    1,
    1e-6,
)  # of DAQP: infinity, exit flag of success, proximal regularization


@dataclass(frozen=True, eq=False)
class TorqueDistribution:
    """Motor torques for a motion of a closed chain, and the residual they cannot generate. Arrays are read-only.

    Attributes:
        torque: (n,) [N·m or N] of every velocity, zero without a motor.
        generalized_force: (N_F,) τ_G, required by the motion [N·m or N].
        residual: (N_F,) part of τ_G that the motors do not generate [N·m or N], the smallest in the metric ΣA_ii v_i².
        realized: Whether they generate all of it.
        rank: Of S: number of independent motions that motors can drive.
        unique: Whether no other torques do the same; if not, these have the minimum weighted norm.
        saturated: Velocities whose motors are at their limits, in order.
        passive: (n, N_F - rank) motions v = W x with S x = 0 that no motor can drive, as columns of velocities [rad/s, m/s] with
            Σ A_ii v_i² = 1.
    """

    torque: Array
    generalized_force: Array
    residual: Array
    realized: bool
    rank: int
    unique: bool
    saturated: tuple[int, ...]
    passive: Array


def distribute_torques(
    coordinates: Coordinates,
    tau_O: ArrayLike,
    actuated: Sequence[int] | Array,
    *,
    effort: ArrayLike | None = None,
    weights: ArrayLike | None = None,
) -> TorqueDistribution:
    """Distribute the generalized force of a closed chain over its motors: Sᵀτ_A = Wᵀτ_O [CKC] eq. 7-9.

    Of the solutions the one with the minimum Σ w_i τ_i² is returned. If there is none, because motors are missing or too weak, the one
    of the smallest residual, and of these again the minimum; ``realized``, ``residual`` and ``passive`` tell.

    Args:
        coordinates: Of the current posture.
        tau_O: (n,) torques of the tree's inverse dynamics [N·m or N].
        actuated: (N_A,) indices of velocities with motors.
        effort: Largest torque of each motor (N_A,), or of all [N·m or N]; may be infinite.
        weights: Cost of a squared torque, for each motor (N_A,) or all; by default 1.

    Raises:
        ArgumentError: If shapes do not fit, numbers are not finite, a weight is not positive or an effort negative.
    """
    W, measure = coordinates.W, coordinates.measure
    n = len(W)
    tau_O = validation.numbers(tau_O, (n,), "tau_O")
    motors = velocity_indices(actuated, n)
    cost, limit = _checked(weights, effort, len(motors))
    Q, R = np.linalg.qr(measure[:, None] * W)
    required = Q.T @ (tau_O / measure)
    _, cosines, Vt = np.linalg.svd(Q[motors])
    rank = int((cosines > RANK_TOLERANCE).sum())
    # In z = √w τ_A, on the motions that motors drive: F z = driven force, least |z|, |z| ≤ bound
    weight = np.sqrt(cost)
    F = Vt[:rank] @ (Q[motors] / (measure[motors] * weight)[:, None]).T
    z = _bounded_least_squares(F, Vt[:rank] @ required, weight * limit, rank)
    torque = np.zeros(n)
    torque[motors] = np.clip(z / weight, -limit, limit)
    missing = required - Q.T @ (torque / measure)
    return TorqueDistribution(
        torque=validation.frozen(torque),
        generalized_force=validation.frozen(W.T @ tau_O),
        residual=validation.frozen(R.T @ missing),
        realized=bool(np.linalg.norm(missing) <= RESIDUAL_TOLERANCE * np.linalg.norm(tau_O / measure)),
        rank=rank,
        unique=rank == len(motors),
        saturated=tuple(int(i) for i in np.sort(motors[np.abs(torque[motors]) >= limit * (1 - RESIDUAL_TOLERANCE)])),
        passive=validation.frozen(Q @ Vt[rank:].T / measure[:, None]),
    )


def _checked(weights: ArrayLike | None, effort: ArrayLike | None, motors: int) -> tuple[Array, Array]:
    """Return a weight and a limit for each motor."""
    each = f"one number, or {motors}: one for each motor"
    cost = np.ones(motors) if weights is None else validation.broadcast(weights, (motors,), "weights", each)
    limit = np.full(motors, np.inf) if effort is None else validation.broadcast(effort, (motors,), "effort", each)
    if not ((cost > 0) & (cost < np.inf)).all():
        raise ArgumentError(
            f"weights must be more than 0 and finite, got {validation.short_repr(cost)}. With weight 0 the minimum is not unique."
        )
    if not (limit >= 0).all():
        raise ArgumentError(f"effort must be at least 0, got {validation.short_repr(limit)}. Leave missing motors out of ``actuated``.")
    return cost, limit


def _bounded_least_squares(F: Array, force: Array, bound: Array, rank: int) -> Array:
    """Minimum-norm z of those with the smallest |F z - force| and |z| ≤ bound."""
    z = _minimum_norm(F, force, bound, rank)
    if z is not None:
        return z
    z = _nearest_within_bounds(F, force, bound)
    # Many z may be nearest, but all with the same F z. So motors with a nonzero gradient are at their limits in each of them, and
    # the others generate the rest with minimum norm.
    gradient, slack = F.T @ (force - F @ z), SATURATION_TOLERANCE * np.abs(z).max()
    saturated = (np.abs(gradient) > SATURATION_TOLERANCE * np.abs(gradient).max()) & (np.sign(gradient) * z >= bound - slack)
    z[saturated] = np.sign(gradient[saturated]) * bound[saturated]
    rest = _minimum_norm(F[:, ~saturated], force - F[:, saturated] @ z[saturated], bound[~saturated])
    if rest is not None:
        z[~saturated] = rest
    return z


def _minimum_norm(F: Array, force: Array, bound: Array, rank: int | None = None) -> Array | None:
    """Minimum-norm z with the smallest |F z - force| of all, if the bounds allow it."""
    U, s, Vt = np.linalg.svd(F)
    rank = int((s > SINGULAR_TOLERANCE * s.max(initial=0.0)).sum()) if rank is None else rank
    z = Vt[:rank].T @ (U[:, :rank].T @ force / s[:rank])
    if (np.abs(z) <= bound * (1 + SINGULAR_TOLERANCE)).all():
        return z
    null_space, limited, size = Vt[rank:].T, np.isfinite(bound), np.abs(z).max()
    if not null_space.size:
        return None
    # z + null_space y does the same as z, and |z + null_space y|² = |z|² + |y|²
    zero = np.zeros(null_space.shape[1])
    y = _solve_qp(np.eye(len(zero)), zero, null_space[limited], (-bound - z)[limited] / size, (bound - z)[limited] / size)
    return None if y is None else z + size * (null_space @ y)


def _nearest_within_bounds(F: Array, force: Array, bound: Array) -> Array:
    """One z with the smallest |F z - force| and |z| ≤ bound."""
    columns = np.linalg.norm(F, axis=0)
    unit = np.linalg.norm(force) / np.where(columns > 0, columns, 1.0)  # of each torque: scales all of them, and the force, to about 1
    F = F * unit / np.linalg.norm(force)
    limit = np.minimum(bound / unit, DAQP_INFINITY)
    x = _solve_qp(F.T @ F, -F.T @ force / np.linalg.norm(force), np.zeros((0, len(limit))), -limit, limit, DAQP_PROXIMAL)
    if x is None:
        raise StateError("The torque distribution did not converge: limits or weights differ by too many orders of magnitude.")
    return unit * x


def _solve_qp(H: Array, f: Array, A: Array, lower: Array, upper: Array, proximal: float = 0.0) -> Array | None:
    """Minimizer of ½yᵀHy + fᵀy with A y (or y, if A has no rows) between bounds, or None if infeasible (DAQP)."""
    y, _, flag, _ = daqp.solve(H, f, np.ascontiguousarray(A), upper, lower, primal_tol=SINGULAR_TOLERANCE, eps_prox=proximal)
    return y if flag == DAQP_SOLVED else None
