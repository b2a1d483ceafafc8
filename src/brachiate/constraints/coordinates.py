"""Generalized coordinates of closed kinematic chains: independent and dependent velocities, redundancy, near singularities [CKC] 2.

From the rows J v = 0 (possibly redundant, of mixed units m/s and rad/s) and the diagonal of the mass matrix. For analysis, not for
the inner loop: plain NumPy, arrays in and arrays out, one singular value decomposition per call.

Velocities are compared as √A_ii v_i, whose squares are twice a kinetic energy, which makes meters and radians comparable.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from brachiate import validation
from brachiate.errors import ArgumentError, StateError
from brachiate.validation import Array

RANK_TOLERANCE = 1e-8  # relative singular values below this are zero
NEAR_SINGULAR_TOLERANCE = 1e-2  # and below this the posture is near a singular one
MAX_KEPT_RATIO = 5.0  # a set is kept while no dependent velocity is more than this times a generalized one
MAX_EXCHANGED_RATIO = 1.0 + 1e-9  # else exchanged until none is more than this; above 1, so that round-off causes no cycles
PIVOT_TIE = 1e-9  # columns whose norms differ by less than this are equal, and the first is taken
DEPENDENCE_TOLERANCE = 1e-6  # smaller relative contributions of rows to another are not listed


class NearSingular(NamedTuple):
    """Motion that the rows hardly constrain: at the singular posture itself it is free."""

    sigma: float  # singular value relative to the largest
    direction: Array  # (n,) velocity [rad/s, m/s] with Σ A_ii v_i² = 1, its largest component positive


@dataclass(frozen=True, eq=False)
class Coordinates:
    """Generalized coordinates of a closed chain of n velocities, m rows and N_F degrees of freedom, at one posture. Arrays are read-only.

    Attributes:
        generalized: (N_F,) indices of the generalized (independent) velocities, in order.
        dependent: (rank,) indices of the dependent velocities, in order.
        H: (rank, N_F) dependent velocities from generalized ones [CKC] eq. 17.
        W: (n, N_F) all velocities from generalized ones: J W = 0 [CKC] eq. 4.
        J_S_inverse: (rank, m) dependent velocities that satisfy J v = rate while the generalized ones are zero.
        measure: (n,) √A_ii [√kg or √kg·m], scale of the velocities.
        redundant: Rows in the span of rows before them.
        depends: For each redundant row, the rows it is a combination of, with their factors; empty for a zero row.
        near_singular: Motions that are hardly constrained, the least constrained one last.
    """

    generalized: Array
    dependent: Array
    H: Array
    W: Array
    J_S_inverse: Array
    measure: Array
    redundant: tuple[int, ...]
    depends: Mapping[int, Mapping[int, float]]
    near_singular: tuple[NearSingular, ...]

    @property
    def rank(self) -> int:
        """Number of independent rows."""
        return len(self.dependent)

    @property
    def mobility(self) -> int:
        """Degrees of freedom N_F [CKC] eq. 14."""
        return len(self.generalized)

    def S(self, actuated: Sequence[int] | Array) -> Array:
        """Return actuated velocities from generalized ones [CKC] fig. 6: (N_A, N_F).

        Args:
            actuated: Indices of velocities with motors.
        """
        return self.W[velocity_indices(actuated, len(self.W))]

    def inertia(self, A: ArrayLike) -> Array:
        """Return the mass matrix of the generalized coordinates, WᵀAW: (N_F, N_F).

        Args:
            A: (n, n) mass matrix of the tree.
        """
        n = len(self.W)
        return self.W.T @ validation.numbers(A, (n, n), "mass matrix") @ self.W

    def drift(self, gamma: ArrayLike) -> Array:
        """Return accelerations (n,) while no generalized coordinate accelerates: Ḣθ̇_G, and zero at generalized [CKC] eq. 22.

        Redundant rows are included: an inconsistent γ is satisfied in the least-squares sense.

        Args:
            gamma: (m,) J̇v minus the rate of the target of J v: J a + γ = 0 [m/s² or rad/s²].
        """
        w = np.zeros(len(self.W))
        w[self.dependent] = -self.J_S_inverse @ validation.numbers(gamma, self.J_S_inverse.shape[1:], "gamma")
        return w


def choose_coordinates(J: ArrayLike, mass_diagonal: ArrayLike, previous: Coordinates | None = None) -> Coordinates:
    """Choose generalized coordinates by column-pivoted QR of the scaled rows, or keep the previous ones while valid [CKC] 2.2.

    Args:
        J: (m, n) constraint rows. They may be redundant, and m may be 0.
        mass_diagonal: (n,) diagonal of the tree's mass matrix [kg or kg·m²].
        previous: The choice at a neighboring posture. Its set is kept while no entry of H, velocities scaled by √A_ii, is above 5;
            else the worst pairs are exchanged until none is above 1. If sizes or rank have changed, a new set is chosen.

    Raises:
        ArgumentError: If shapes do not fit, numbers are not finite, or a diagonal element is not positive.
    """
    J, measure = _checked(J, mass_diagonal)
    m, n = J.shape
    scaled = J / measure
    row_scale = np.linalg.norm(scaled, axis=1).max(initial=0.0) or 1.0  # one scale for all rows
    U, sigma, Vt = np.linalg.svd(scaled / row_scale, full_matrices=False)
    rank = int((sigma > RANK_TOLERANCE * sigma.max(initial=0.0)).sum())
    U, V = U[:, :rank], Vt[:rank]
    # J v = 0 is V (√A v) = 0 on the row space: pivots and H are computed there, where rows are orthonormal
    same_size = previous is not None and (previous.rank, previous.J_S_inverse.shape[1], len(previous.W)) == (rank, m, n)
    dependent = _exchange(V, previous.dependent) if previous is not None and same_size else None
    dependent = np.sort(_pivots(V) if dependent is None else dependent)
    generalized = np.setdiff1d(np.arange(n), dependent)
    H = _dependent_ratio(V, dependent, generalized) * measure[generalized] / measure[dependent, None]
    W = np.zeros((n, n - rank))
    W[generalized, np.arange(n - rank)] = 1.0  # [CKC] fig. 5
    W[dependent] = H
    inverse = np.linalg.solve(V[:, dependent], U.T / sigma[:rank, None]) / (row_scale * measure[dependent, None])
    depends = _redundant_rows(U, np.linalg.norm(scaled, axis=1) / row_scale)
    near = tuple(_near_singular(sigma[k] / sigma[0], V[k] / measure) for k in range(rank) if sigma[k] < NEAR_SINGULAR_TOLERANCE * sigma[0])
    arrays = (validation.frozen(x) for x in (generalized, dependent, H, W, inverse, measure))
    return Coordinates(*arrays, redundant=tuple(depends), depends=depends, near_singular=near)


def unit_vector_accelerations(
    inverse_dynamics: Callable[[Array], ArrayLike], coordinates: Coordinates, gamma: ArrayLike, tau_O: ArrayLike
) -> Array:
    """Return accelerations (n,) of a closed chain by the unit vector method, as published [CKC] 3.2.

    Steps 2 and 5 are printed with H θ̈_G instead of Ḣ θ̇_G.

    Args:
        inverse_dynamics: The tree's torques (n,) for accelerations (n,) at the current state.
        coordinates: Of the current posture.
        gamma: (m,) J̇v [m/s² or rad/s²].
        tau_O: (n,) joint torques of the tree, zero without a motor [N·m or N].

    Raises:
        StateError: If a motion that the rows allow has no inertia.
    """
    W = coordinates.W
    n, N_F = W.shape

    def generalized_force(a: Array) -> Array:
        return W.T @ validation.numbers(inverse_dynamics(a), (n,), "inverse_dynamics(a)")  # [CKC] eq. 7

    tau_G = W.T @ validation.numbers(tau_O, (n,), "tau_O")  # step 1
    w = coordinates.drift(gamma)
    b = generalized_force(w)  # step 2
    A = np.zeros((N_F, N_F))
    for i in range(N_F):  # step 3
        A[:, i] = generalized_force(w + W[:, i]) - b
    try:
        return w + W @ np.linalg.solve(A, tau_G - b)  # steps 4 and 5, [CKC] eq. 24, 19
    except np.linalg.LinAlgError:
        raise StateError("A motion that the constraints allow has no inertia. Give its links mass, or its joints armature.") from None


def velocity_indices(indices: Sequence[int] | Array, n: int) -> Array:
    """Return indices of velocities as an array; each must be valid and occur once.

    Raises:
        ArgumentError: If they are not integers from 0 to n - 1, or one occurs twice.
    """
    given = np.asarray(indices)
    if given.shape == (0,):
        return np.zeros(0, int)
    if given.dtype.kind not in "iu" or given.ndim != 1:
        hint = " From a mask, use np.flatnonzero(mask)." if given.dtype.kind == "b" else ""
        raise ArgumentError(f"actuated: expected a flat array of velocity indices, got {validation.short_repr(indices)}.{hint}")
    outside = given[(given < 0) | (given >= n)]
    if len(outside):
        raise ArgumentError(f"actuated: there is no velocity {outside[0]}; there are {n}, counted from 0.")
    if len(np.unique(given)) < len(given):
        raise ArgumentError(f"actuated: an index occurs twice in {validation.short_repr(indices)}.")
    return given.astype(int)


def _checked(J: Any, mass_diagonal: Any) -> tuple[Array, Array]:
    """Return the rows, and √A_ii."""
    diagonal = validation.reals(mass_diagonal, "mass_diagonal", "the diagonal of the mass matrix")
    n = len(diagonal) if diagonal.ndim == 1 else -1
    if n < 0 or not np.isfinite(diagonal).all():
        raise ArgumentError(
            f"mass_diagonal: expected a flat array of finite numbers, one for each velocity, got {validation.short_repr(mass_diagonal)}."
        )
    for i in np.flatnonzero(diagonal <= 0):
        raise ArgumentError(f"mass_diagonal[{i}] must be more than 0, got {diagonal[i]:g}: give its links mass, or its joint armature.")
    rows = validation.reals(J, "J", f"rows of {n} numbers")
    if rows.ndim != 2 or rows.shape[1] != n:
        hint = f" Without rows it is np.zeros((0, {n}))." if rows.size == 0 else ""
        raise ArgumentError(f"J: expected rows of {n} numbers, as mass_diagonal has, got shape {rows.shape}.{hint}")
    return validation.numbers(rows, rows.shape, "J"), np.sqrt(diagonal)


def _pivots(V: Array) -> Array:
    """Pivot columns of a column-pivoted QR, as many as there are rows."""
    V = V.copy()
    chosen: list[int] = []
    for _ in range(len(V)):
        sizes = np.linalg.norm(V, axis=0)
        j = int(np.argmax(sizes >= (1 - PIVOT_TIE) * sizes.max()))
        u = V[:, j] / sizes[j]
        V -= np.outer(u, u @ V)
        V[:, j] = 0.0
        chosen.append(j)
    return np.array(chosen, int)


def _dependent_ratio(V: Array, dependent: Array, generalized: Array) -> Array:
    """H in scaled velocities [CKC] eq. 18."""
    return -np.linalg.solve(V[:, dependent], V[:, generalized])


def _exchange(V: Array, dependent: Array) -> Array | None:
    """Dependent set with its worst members exchanged if needed; None if it has become singular."""
    if np.linalg.svd(V[:, dependent], compute_uv=False).min(initial=1.0) < RANK_TOLERANCE:
        return None
    dependent, max_ratio = dependent.copy(), MAX_KEPT_RATIO
    generalized = np.setdiff1d(np.arange(V.shape[1]), dependent)
    while dependent.size and generalized.size:
        size = np.abs(_dependent_ratio(V, dependent, generalized))
        i, j = np.unravel_index(int(np.argmax(size)), size.shape)
        if size[i, j] <= max_ratio:
            break
        # By Cramer's rule |det V_S| grows by the factor |H_ij|: no set occurs twice, so this terminates
        dependent[i], generalized[j] = generalized[j], dependent[i]
        max_ratio = MAX_EXCHANGED_RATIO
    return dependent


def _redundant_rows(U: Array, sizes: Array) -> dict[int, dict[int, float]]:
    """For each row in the span of rows before it, the rows it is a combination of, with factors.

    Combinations of rows of J are the same combinations of rows of U, and U has orthonormal columns: with k of them kept, the squared
    norms of the remainders of all rows add up to rank - k, so as many rows are kept as the rank.
    """
    left, kept, redundant = U.copy(), [], []
    for i in range(len(U)):
        size = np.linalg.norm(left[i])
        if size <= DEPENDENCE_TOLERANCE:
            redundant.append(i)
            continue
        u = left[i] / size
        left -= np.outer(left @ u, u)
        kept.append(i)
    depends: dict[int, dict[int, float]] = {}
    for i in redundant:
        factors = np.linalg.solve(U[kept].T, U[i])
        named = np.abs(factors) * sizes[kept] > DEPENDENCE_TOLERANCE * sizes[i] if sizes[i] > RANK_TOLERANCE else np.zeros(len(kept), bool)
        depends[i] = {k: float(c) for k, c, is_named in zip(kept, factors, named, strict=True) if is_named}
    return depends


def _near_singular(sigma: float, direction: Array) -> NearSingular:
    largest = direction[np.argmax(np.abs(direction))]
    return NearSingular(float(sigma), validation.frozen(direction * np.sign(largest)))
