"""Who brings the force: inverse dynamics of closed chains, shared among the motors there are [CKC] 2.1, 3.1.

τ_O is what the tree would take with a motor at every velocity. The closed chain takes τ_G = Wᵀτ_O, which its motors bring by
Sᵀτ_A = τ_G: in one way, in many, or not at all, however many motors there are. So the rank of S is looked at, not their number.

With √A W = Q R (Q orthonormal, √A = diag √A_ii) that is Q_Aᵀ (τ_A/√A_A) = Qᵀ (τ_O/√A): the singular values of Q_A are cosines of the
angles between motions and motors, and the residual's size is the same for whatever set of generalized coordinates was chosen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import daqp
import numpy as np
from numpy.typing import ArrayLike

from brachiate import validation
from brachiate.constraints.coordinates import RANK, Coordinates, places
from brachiate.errors import ArgumentError, StateError
from brachiate.validation import Array

REALISED = 1e-9  # a residual below this part of what the tree takes is round-off
PUSHED = 1e-6  # a motor at its limit that would do good beyond it, this part of what the most useful one would, is held by it
NOTHING = 1e-10  # singular values below this part of the largest, and limits passed by this part
UNLIMITED, FOUND, PROXIMAL = 1e30, 1, 1e-6  # of DAQP: what is infinite, the exit flag, how singular problems are made regular


@dataclass(frozen=True, eq=False)
class Sharing:
    """Torques of motors that bring a motion of a closed chain, and what they cannot bring. Arrays are read-only.

    Attributes:
        torque: (n,) [N·m or N] of every velocity, zero where no motor is.
        generalized_force: (N_F,) τ_G, what the motion takes [N·m or N].
        residual: (N_F,) the part of τ_G that the motors do not bring [N·m or N]. The least there can be, measured by ΣA_ii v_i².
        realised: Whether they bring all of it.
        rank: Of S: how many independent motions motors can drive.
        unique: Whether no other torques do the same; if not, these are the least, weighted.
        saturated: Velocities whose motors are at their limits, in order.
        passive: (n, N_F - rank) motions v = W x with S x = 0 that no motor can drive, as columns of velocities [rad/s, m/s] with
            Σ A_ii v_i² = 1.
    """

    torque: Array
    generalized_force: Array
    residual: Array
    realised: bool
    rank: int
    unique: bool
    saturated: tuple[int, ...]
    passive: Array


def share(
    coordinates: Coordinates,
    tau_O: ArrayLike,
    actuated: Sequence[int] | Array,
    *,
    effort: ArrayLike | None = None,
    weights: ArrayLike | None = None,
) -> Sharing:
    """Share what a motion of a closed chain takes among its motors: Sᵀτ_A = Wᵀτ_O [CKC] eq. 7-9.

    Of torques that bring it those with the least Σ w_i τ_i² are returned. If none do, because motors are missing or too weak, those that
    leave the least residual, and of these again the least; ``realised``, ``residual`` and ``passive`` say so.

    Args:
        coordinates: Of the present posture.
        tau_O: (n,) torques the tree's inverse dynamics asks for [N·m or N].
        actuated: (N_A,) which velocities have motors.
        effort: Largest torque of each motor (N_A,), or of all [N·m or N]; may be infinite.
        weights: What a squared torque costs, for each motor (N_A,) or all; by default 1.

    Raises:
        ArgumentError: If shapes do not fit, numbers are not finite, a weight is not positive or an effort negative.
    """
    W, measure = coordinates.W, coordinates.measure
    n = len(W)
    tau_O = validation.numbers(tau_O, (n,), "tau_O")
    motors = places(actuated, n)
    cost, limit = _checked(weights, effort, len(motors))
    Q, R = np.linalg.qr(measure[:, None] * W)
    wanted = Q.T @ (tau_O / measure)
    _, cosines, Vt = np.linalg.svd(Q[motors])
    rank = int((cosines > RANK).sum())
    # In z = √w τ_A, on the motions that motors drive: F z = driven force, least |z|, |z| ≤ bound
    weight = np.sqrt(cost)
    F = Vt[:rank] @ (Q[motors] / (measure[motors] * weight)[:, None]).T
    z = _within(F, Vt[:rank] @ wanted, weight * limit, rank)
    torque = np.zeros(n)
    torque[motors] = np.clip(z / weight, -limit, limit)
    missing = wanted - Q.T @ (torque / measure)
    return Sharing(
        torque=validation.frozen(torque),
        generalized_force=validation.frozen(W.T @ tau_O),
        residual=validation.frozen(R.T @ missing),
        realised=bool(np.linalg.norm(missing) <= REALISED * np.linalg.norm(tau_O / measure)),
        rank=rank,
        unique=rank == len(motors),
        saturated=tuple(int(i) for i in np.sort(motors[np.abs(torque[motors]) >= limit * (1 - REALISED)])),
        passive=validation.frozen(Q @ Vt[rank:].T / measure[:, None]),
    )


def _checked(weights: ArrayLike | None, effort: ArrayLike | None, motors: int) -> tuple[Array, Array]:
    """Return a weight and a limit for each motor."""
    each = f"one number, or {motors}: one for each motor"
    cost = np.ones(motors) if weights is None else validation.each(weights, (motors,), "weights", each)
    limit = np.full(motors, np.inf) if effort is None else validation.each(effort, (motors,), "effort", each)
    if not ((cost > 0) & (cost < np.inf)).all():
        raise ArgumentError(f"weights must be more than 0 and finite, got {validation.shown(cost)}. What costs nothing has no least.")
    if not (limit >= 0).all():
        raise ArgumentError(
            f"effort must be at least 0, got {validation.shown(limit)}. Leave motors out of ``actuated`` that are not there."
        )
    return cost, limit


def _within(F: Array, force: Array, bound: Array, rank: int) -> Array:
    """The least z with |F z - force| least and |z| ≤ bound."""
    z = _least(F, force, bound, rank)
    if z is not None:
        return z
    z = _nearest(F, force, bound)
    # Many z may be nearest, but all with the same F z. So a motor that could still do good is at its limit in each of them, and the
    # others share what is left, with the least effort.
    good, near = F.T @ (force - F @ z), PUSHED * np.abs(z).max()
    held = (np.abs(good) > PUSHED * np.abs(good).max()) & (np.sign(good) * z >= bound - near)
    z[held] = np.sign(good[held]) * bound[held]
    rest = _least(F[:, ~held], force - F[:, held] @ z[held], bound[~held])
    if rest is not None:
        z[~held] = rest
    return z


def _least(F: Array, force: Array, bound: Array, rank: int | None = None) -> Array | None:
    """The least z with |F z - force| least of all, if bounds allow such a z."""
    U, s, Vt = np.linalg.svd(F)
    rank = int((s > NOTHING * s.max(initial=0.0)).sum()) if rank is None else rank
    z = Vt[:rank].T @ (U[:, :rank].T @ force / s[:rank])
    if (np.abs(z) <= bound * (1 + NOTHING)).all():
        return z
    idle, limited, size = Vt[rank:].T, np.isfinite(bound), np.abs(z).max()
    if not idle.size:
        return None
    # z + idle y does the same as z, and |z + idle y|² = |z|² + |y|²
    none = np.zeros(idle.shape[1])
    y = _minimum(np.eye(len(none)), none, idle[limited], (-bound - z)[limited] / size, (bound - z)[limited] / size)
    return None if y is None else z + size * (idle @ y)


def _nearest(F: Array, force: Array, bound: Array) -> Array:
    """One z with |F z - force| least and |z| ≤ bound."""
    columns = np.linalg.norm(F, axis=0)
    unit = np.linalg.norm(force) / np.where(columns > 0, columns, 1.0)  # of each torque: now all of them, and the force, are about 1
    F = F * unit / np.linalg.norm(force)
    limit = np.minimum(bound / unit, UNLIMITED)
    x = _minimum(F.T @ F, -F.T @ force / np.linalg.norm(force), np.zeros((0, len(limit))), -limit, limit, PROXIMAL)
    if x is None:
        raise StateError("The motors' torques were not found: limits or weights differ by too many powers of ten.")
    return unit * x


def _minimum(H: Array, f: Array, A: Array, lower: Array, upper: Array, proximal: float = 0.0) -> Array | None:
    """Where ½yᵀHy + fᵀy is least with A y (or y, if A has no rows) between bounds, or none if nothing is."""
    y, _, flag, _ = daqp.solve(H, f, np.ascontiguousarray(A), upper, lower, primal_tol=NOTHING, eps_prox=proximal)
    return y if flag == FOUND else None
