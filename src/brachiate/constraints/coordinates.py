"""Which velocities describe a closed chain: generalized and dependent ones, what is redundant, what is nearly lost [CKC] 2.

From the rows J v = 0 (they may be redundant, and carry m/s and rad/s side by side) and the diagonal of the mass matrix. For
people who want to know, not for the inner loop: plain NumPy, arrays in and arrays out, one singular value decomposition a call.

Velocities are compared as √A_ii v_i, whose squares are twice a kinetic energy: so metres and radians, heavy and light are alike.
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

RANK = 1e-8  # singular values below this part of the largest are zero
NEAR = 1e-2  # and those below this part of it are near a singular posture
KEEP = 5.0  # a set of coordinates is kept while no dependent velocity is more than this times a generalized one
ENOUGH = 1.0 + 1e-9  # and exchanged until none is more than this; a little above 1, so that round-off makes no circles
ALIKE = 1e-9  # columns whose sizes differ by this part are equally good, and the first of them is taken
DEPENDS = 1e-6  # rows that contribute less than this part to another are not named


class NearSingular(NamedTuple):
    """A motion that the rows hardly hold: at the singular posture itself it is free."""

    sigma: float  # singular value, as part of the largest
    direction: Array  # (n,) velocity [rad/s, m/s] with Σ A_ii v_i² = 1, its largest part positive


@dataclass(frozen=True, eq=False)
class Coordinates:
    """Generalized coordinates of a closed chain of n velocities, m rows and N_F freedoms, at one posture. Arrays are read-only.

    Attributes:
        generalized: (N_F,) which velocities are generalized, in order.
        dependent: (rank,) which velocities follow from them, in order.
        H: (rank, N_F) dependent velocities from generalized ones [CKC] eq. 17.
        W: (n, N_F) all velocities from generalized ones: J W = 0 [CKC] eq. 4.
        J_S_inverse: (rank, m) dependent velocities that meet J v = rate while the generalized ones are zero.
        measure: (n,) √A_ii [√kg or √kg·m], by which velocities are compared.
        redundant: Rows that say what rows before them say.
        depends: For each redundant row, the rows it is made of, with their factors. A row of zeros is made of none.
        near_singular: Motions that are hardly held, the least held one last.
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
        """How many rows are independent."""
        return len(self.dependent)

    @property
    def mobility(self) -> int:
        """How many freedoms are left: N_F [CKC] eq. 14."""
        return len(self.generalized)

    def S(self, actuated: Sequence[int] | Array) -> Array:
        """Return actuated velocities from generalized ones [CKC] fig. 6: (N_A, N_F).

        Args:
            actuated: Which velocities have motors.
        """
        return self.W[places(actuated, len(self.W))]

    def inertia(self, A: ArrayLike) -> Array:
        """Return the mass matrix of the generalized coordinates, WᵀAW: (N_F, N_F).

        Args:
            A: (n, n) mass matrix of the tree.
        """
        n = len(self.W)
        return self.W.T @ validation.numbers(A, (n, n), "mass matrix") @ self.W

    def drift(self, gamma: ArrayLike) -> Array:
        """Return accelerations (n,) while no generalized coordinate accelerates: Ḣθ̇_G, and zero at generalized [CKC] eq. 22.

        Redundant rows count as well: a γ that contradicts itself is met as well as can be.

        Args:
            gamma: (m,) J̇v, less the rate of what J v is to be: J a + γ = 0 [m/s² or rad/s²].
        """
        w = np.zeros(len(self.W))
        w[self.dependent] = -self.J_S_inverse @ validation.numbers(gamma, self.J_S_inverse.shape[1:], "gamma")
        return w


def choose(J: ArrayLike, mass_diagonal: ArrayLike, previous: Coordinates | None = None) -> Coordinates:
    """Choose generalized coordinates by column-pivoted QR of the scaled rows, or keep the previous ones while they do [CKC] 2.2.

    Args:
        J: (m, n) rows of what holds. Rows may be redundant, and there may be none.
        mass_diagonal: (n,) diagonal of the tree's mass matrix [kg or kg·m²].
        previous: The choice at a neighbouring posture. Its set is kept while no entry of H, velocities measured by √A_ii, is above 5;
            else the worst pairs are exchanged until none is above 1. If sizes or rank have changed, everything is chosen anew.

    Raises:
        ArgumentError: If shapes do not fit, numbers are not finite, or a diagonal element is not positive.
    """
    J, measure = _checked(J, mass_diagonal)
    m, n = J.shape
    scaled = J / measure
    one = np.linalg.norm(scaled, axis=1).max(initial=0.0) or 1.0  # one scale for all rows
    U, sigma, Vt = np.linalg.svd(scaled / one, full_matrices=False)
    rank = int((sigma > RANK * sigma.max(initial=0.0)).sum())
    U, V = U[:, :rank], Vt[:rank]
    # J v = 0 is V (√A v) = 0 on the rows' own space: pivots and H are taken there, where no row is longer than another
    same = previous is not None and (previous.rank, previous.J_S_inverse.shape[1], len(previous.W)) == (rank, m, n)
    dependent = _exchanged(V, previous.dependent) if previous is not None and same else None
    dependent = np.sort(_pivots(V) if dependent is None else dependent)
    generalized = np.setdiff1d(np.arange(n), dependent)
    H = _relation(V, dependent, generalized) * measure[generalized] / measure[dependent, None]
    W = np.zeros((n, n - rank))
    W[generalized, np.arange(n - rank)] = 1.0  # [CKC] fig. 5
    W[dependent] = H
    inverse = np.linalg.solve(V[:, dependent], U.T / sigma[:rank, None]) / (one * measure[dependent, None])
    depends = _redundant(U, np.linalg.norm(scaled, axis=1) / one)
    near = tuple(_near(sigma[k] / sigma[0], V[k] / measure) for k in range(rank) if sigma[k] < NEAR * sigma[0])
    arrays = (validation.frozen(x) for x in (generalized, dependent, H, W, inverse, measure))
    return Coordinates(*arrays, redundant=tuple(depends), depends=depends, near_singular=near)


def unit_vector_accelerations(
    inverse_dynamics: Callable[[Array], ArrayLike], coordinates: Coordinates, gamma: ArrayLike, tau_O: ArrayLike
) -> Array:
    """Return accelerations (n,) of a closed chain by the unit vector method, as published [CKC] 3.2.

    Steps 2 and 5 are printed with H θ̈_G where Ḣ θ̇_G is meant.

    Args:
        inverse_dynamics: The tree's torques (n,) for accelerations (n,) at the present state.
        coordinates: Of the present posture.
        gamma: (m,) J̇v [m/s² or rad/s²].
        tau_O: (n,) torques that act in the tree, zero where no motor is [N·m or N].

    Raises:
        StateError: If a motion that the rows leave has no inertia.
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
        raise StateError("A motion that the loops leave free has no inertia. Give its links mass, or its joints armature.") from None


def places(indices: Sequence[int] | Array, n: int) -> Array:
    """Return indices of velocities as an array, each of them there and named once.

    Raises:
        ArgumentError: If they are not whole numbers from 0 to n - 1, or one is named twice.
    """
    given = np.asarray(indices)
    if given.shape == (0,):
        return np.zeros(0, int)
    if given.dtype.kind not in "iu" or given.ndim != 1:
        hint = " From a mask, use np.flatnonzero(mask)." if given.dtype.kind == "b" else ""
        raise ArgumentError(f"actuated: expected indices of velocities in a row, got {validation.shown(indices)}.{hint}")
    outside = given[(given < 0) | (given >= n)]
    if len(outside):
        raise ArgumentError(f"actuated: there is no velocity {outside[0]}; there are {n}, counted from 0.")
    if len(np.unique(given)) < len(given):
        raise ArgumentError(f"actuated: a velocity is named twice in {validation.shown(indices)}.")
    return given.astype(int)


def _checked(J: Any, mass_diagonal: Any) -> tuple[Array, Array]:
    """Return the rows, and √A_ii."""
    diagonal = validation.reals(mass_diagonal, "mass_diagonal", "the diagonal of the mass matrix")
    n = len(diagonal) if diagonal.ndim == 1 else -1
    if n < 0 or not np.isfinite(diagonal).all():
        raise ArgumentError(
            f"mass_diagonal: expected finite numbers in a row, one for each velocity, got {validation.shown(mass_diagonal)}."
        )
    for i in np.flatnonzero(diagonal <= 0):
        raise ArgumentError(f"mass_diagonal[{i}] must be more than 0, got {diagonal[i]:g}: give what it moves mass, or its joint armature.")
    rows = validation.reals(J, "J", f"rows of {n} numbers")
    if rows.ndim != 2 or rows.shape[1] != n:
        hint = f" Without rows it is np.zeros((0, {n}))." if rows.size == 0 else ""
        raise ArgumentError(f"J: expected rows of {n} numbers, as mass_diagonal has, got shape {rows.shape}.{hint}")
    return validation.numbers(rows, rows.shape, "J"), np.sqrt(diagonal)


def _pivots(V: Array) -> Array:
    """Columns that a column-pivoted QR takes first, as many as there are rows."""
    V = V.copy()
    chosen: list[int] = []
    for _ in range(len(V)):
        sizes = np.linalg.norm(V, axis=0)
        j = int(np.argmax(sizes >= (1 - ALIKE) * sizes.max()))
        u = V[:, j] / sizes[j]
        V -= np.outer(u, u @ V)
        V[:, j] = 0.0
        chosen.append(j)
    return np.array(chosen, int)


def _relation(V: Array, dependent: Array, generalized: Array) -> Array:
    """H in measured velocities [CKC] eq. 18."""
    return -np.linalg.solve(V[:, dependent], V[:, generalized])


def _exchanged(V: Array, dependent: Array) -> Array | None:
    """The dependent set, its worst members exchanged if that is needed; none if it determines nothing any more."""
    if np.linalg.svd(V[:, dependent], compute_uv=False).min(initial=1.0) < RANK:
        return None
    dependent, most = dependent.copy(), KEEP
    generalized = np.setdiff1d(np.arange(V.shape[1]), dependent)
    while dependent.size and generalized.size:
        size = np.abs(_relation(V, dependent, generalized))
        i, j = np.unravel_index(int(np.argmax(size)), size.shape)
        if size[i, j] <= most:
            break
        # By Cramer's rule |det V_S| grows by the factor |H_ij|: no set comes twice, so this ends
        dependent[i], generalized[j] = generalized[j], dependent[i]
        most = ENOUGH
    return dependent


def _redundant(U: Array, sizes: Array) -> dict[int, dict[int, float]]:
    """For each row that rows before it say already, those it is made of, with factors.

    Combinations of rows of J are the same combinations of rows of U, and U has orthonormal columns: with k of them kept, the squared
    sizes of what is left of all rows add up to rank - k, so the first rows that bring something new are as many as the rank.
    """
    left, kept, redundant = U.copy(), [], []
    for i in range(len(U)):
        size = np.linalg.norm(left[i])
        if size <= DEPENDS:
            redundant.append(i)
            continue
        u = left[i] / size
        left -= np.outer(left @ u, u)
        kept.append(i)
    depends: dict[int, dict[int, float]] = {}
    for i in redundant:
        factors = np.linalg.solve(U[kept].T, U[i])
        named = np.abs(factors) * sizes[kept] > DEPENDS * sizes[i] if sizes[i] > RANK else np.zeros(len(kept), bool)
        depends[i] = {k: float(c) for k, c, is_named in zip(kept, factors, named, strict=True) if is_named}
    return depends


def _near(sigma: float, direction: Array) -> NearSingular:
    largest = direction[np.argmax(np.abs(direction))]
    return NearSingular(float(sigma), validation.frozen(direction * np.sign(largest)))
