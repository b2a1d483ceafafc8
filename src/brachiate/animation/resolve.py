"""Joint velocities and accelerations from those of functions [EGC] 4.2, 5.2: redundancy, priorities, singularities, joint limits.

Of all x with G x = y the one nearest to a preferred x₀ in a metric, by Lagrange multipliers; functions of lower priority act in the null
space of those above. Near singularities the inverse is damped in proportion to the error [Chan & Lawrence 1988], or
small singular values are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from brachiate.validation import Array
from brachiate.world.named_values import NamedValues

#: Smallest singular value over the largest that counts.
RANK_TOLERANCE = 1e-9
#: Singular value of gradients of unit length below which a combination of functions is damped: it would take one over this of joint
#: motion. Functions of lower priority yield earlier, before those above bring the body to a singular posture.
SINGULAR, SINGULAR_LOWER = 0.02, 0.3
#: Length of a gradient [per rad or m] below which a function is damped: that of (φ - a)² vanishes at its target, and nothing is to be
#: divided by it.
VANISHING = 1e-3


class Level(NamedTuple):
    """Functions of one priority, G x = y: damped, or solved as far as singular values above the rank tolerance go."""

    G: Array  # (m, n)
    y: Array  # (m,)
    damping: Array | None  # (m,) added to the diagonal of G M⁻¹ Gᵀ; None: small singular values are left out


class VelocityMetric(NamedTuple):
    """Metric M of the joint velocities: x = x₀ + T z, where |z| is the distance from x₀."""

    T: Array  # (n,) if it is diagonal, or (n, n)
    scale: Array | None  # (n,) scale of joint velocities by which the length of a gradient is measured; None: T
    preferred: Array  # (n,) x₀

    def scaled(self, G: Array) -> Array:
        """G T."""
        return G * self.T if self.T.ndim == 1 else G @ self.T

    def lengths(self, G: Array) -> Array:
        """Length of each gradient (m,)."""
        scaled = self.scaled(G) if self.scale is None else G * self.scale
        return np.sqrt(np.einsum("ij,ij->i", scaled, scaled))

    def step(self, z: Array) -> Array:
        """T z."""
        return self.T * z if self.T.ndim == 1 else self.T @ z


@dataclass(frozen=True, eq=False)
class Resolution:
    """Joint velocities or accelerations that give functions their rates or accelerations.

    Attributes:
        values: (nv,) by name of the coordinate.
        names: (m,) of the functions.
        wanted: (m,) rates or accelerations that were asked for.
        residual: (m,) what is obtained minus what was asked for.
        at_limit: Coordinates held at a joint limit.
    """

    values: NamedValues
    names: tuple[str, ...]
    wanted: Array
    residual: Array
    at_limit: tuple[str, ...]

    def conflicts(self, tolerance: float = 1e-6) -> dict[str, float]:
        """Functions that do not get what was asked for, and by how much: in conflict with others, out of reach, or singular."""
        size = tolerance * (1.0 + np.abs(self.wanted))
        return {name: float(r) for name, r, s in zip(self.names, self.residual, size, strict=True) if abs(r) > s}


def solve_levels(levels: Sequence[Level], metric: VelocityMetric) -> Array:
    """x nearest to the preferred one that satisfies every level as far as those above it allow: (n,)."""
    first = True  # of the levels of functions
    x, basis = metric.preferred.copy(), None  # orthonormal basis of the null space of the levels so far, in z
    for number, level in enumerate(levels):
        if len(level.G) == 0:
            continue
        scaled = metric.scaled(level.G)
        B = scaled if basis is None else scaled @ basis
        wanted, size = (
            level.y - level.G @ x,
            float(np.linalg.norm(scaled)),
        )  # what the levels above leave of B may be round-off of this size
        if level.damping is None:
            z = _truncated_solution(B, wanted, size)
        else:
            z = _damped_solution(B, wanted, level.damping, metric.lengths(level.G), SINGULAR if first else SINGULAR_LOWER)
            first = False
        x = x + metric.step(z if basis is None else basis @ z)
        if number + 1 < len(levels):
            null = null_space(B, size)
            basis = null if basis is None else basis @ null
            if basis.shape[1] == 0:
                break
    return x


def _damped_solution(B: Array, wanted: Array, damping: Array, lengths: Array, singular: float) -> Array:
    """Solution of B z = wanted, damped: rows by their error, and combinations of rows that are nearly dependent.

    Args:
        B: (m, n) gradients in what the levels above leave free.
        wanted: (m,).
        damping: (m,) of the squared lengths of the gradients.
        lengths: (m,) of the gradients themselves, so that a row of which little is left free counts as dependent.
        singular: Singular value below which combinations of rows are damped.
    """
    unit = B / np.maximum(lengths, 1e-300)[:, None]
    size, U = np.linalg.eigh(unit @ unit.T)
    size = np.maximum(size, 0.0)
    y = wanted * lengths / (lengths**2 + damping + _filtered(lengths**2, VANISHING**2))
    return unit.T @ (U @ ((U.T @ y) / (size + _filtered(size, singular**2))))


def _filtered(x: Array, limit: float) -> Array:
    """Damping of squared singular values x: none above a limit, smoothly growing to the limit itself at zero."""
    return limit * np.maximum(1.0 - x / limit, 0.0) ** 2


def _truncated_solution(B: Array, wanted: Array, size: float) -> Array:
    """Pseudoinverse by singular values, without those below the rank tolerance."""
    U, s, Vt = np.linalg.svd(B, full_matrices=False)
    kept = s > RANK_TOLERANCE * size
    return Vt[kept].T @ ((U[:, kept].T @ wanted) / s[kept])


def null_space(B: Array, size: float | None = None) -> Array:
    """Orthonormal basis (n, n - rank) of the null space of B (m, n); singular values below RANK_TOLERANCE · ``size`` (|B|) are zero."""
    _, s, Vt = np.linalg.svd(B)
    return Vt[int((s > RANK_TOLERANCE * (np.linalg.norm(B) if size is None else size)).sum()) :].T


def solve_within_bounds(levels: Sequence[Level], metric: VelocityMetric, lower: Array, upper: Array) -> tuple[Array, Array]:
    """As :func:`solve_levels`, within lower ≤ x ≤ upper: coordinates beyond a bound are held there, before all levels. Returns x and where.

    A coordinate is released again if it would move inside, the others as they are.
    """
    n = len(lower)
    held = np.zeros(n, bool)
    at = np.zeros(n)
    x = solve_levels(levels, metric)
    for _ in range(2 * n):
        low, high = x < lower - _slack(lower), x > upper + _slack(upper)
        if not (low | high).any():
            break
        worst = np.argmax(np.where(low, lower - x, 0.0) + np.where(high, x - upper, 0.0))
        held[worst], at[worst] = True, (lower if low[worst] else upper)[worst]
        for k in np.flatnonzero(held):
            if k != worst:
                without = held.copy()
                without[k] = False
                trial = solve_levels([_held(without, at), *levels], metric)
                if lower[k] < trial[k] < upper[k]:
                    held = without
        x = solve_levels([_held(held, at), *levels], metric)
    return x, held


def _held(held: Array, at: Array) -> Level:
    return Level(np.eye(len(held))[held], at[held], None)


def _slack(bound: Array) -> Array:
    return 1e-9 * (1.0 + np.where(np.isfinite(bound), np.abs(bound), 0.0))


@dataclass(frozen=True)
class Controllability:
    """Which motions functions control at the present state, by name.

    Attributes:
        rank: Number of independent functions, constraints of the world disregarded.
        mobility: Degrees of freedom of the world at this state.
        uncontrolled: Number of degrees of freedom that no function controls.
        free: Coordinates that no function depends on.
        dependent: Functions whose gradient depends on those before them, or on constraints of the world.
        vanishing: Functions whose gradient is zero, such as a square at its target.
    """

    rank: int
    mobility: int
    uncontrolled: int
    free: tuple[str, ...]
    dependent: tuple[str, ...]
    vanishing: tuple[str, ...]

    def __str__(self) -> str:
        """Return the findings in words."""
        words = [f"{self.rank} independent functions control {self.mobility - self.uncontrolled} of {self.mobility} degrees of freedom"]
        for what, names in (("not involved", self.free), ("dependent on others", self.dependent), ("vanishing gradient", self.vanishing)):
            if names:
                words.append(f"{what}: {', '.join(names[:8])}{f' and {len(names) - 8} more' if len(names) > 8 else ''}")
        return "; ".join(words)


def controllability(G: Array, J: Array, names: Sequence[str], coordinates: Sequence[str]) -> Controllability:
    """Analyse gradients G (m, n) under constraint rows J (k, n)."""
    allowed = null_space(J) if len(J) else np.eye(G.shape[1])
    vanishing, dependent, chosen = [], [], np.zeros((0, allowed.shape[1]))
    size = np.abs(G).max(initial=0.0)
    for name, row in zip(names, G, strict=True):
        length = np.linalg.norm(row)
        if length <= RANK_TOLERANCE * max(size, 1.0):
            vanishing.append(name)
            continue
        reduced = (row / length) @ allowed
        rest = reduced - chosen.T @ (chosen @ reduced)
        rest -= chosen.T @ (chosen @ rest)  # once more, against round-off
        if np.linalg.norm(rest) <= 1e3 * RANK_TOLERANCE:
            dependent.append(name)
        else:
            chosen = np.vstack([chosen, rest / np.linalg.norm(rest)])
    free = tuple(name for name, column in zip(coordinates, G.T, strict=True) if not column.any())
    mobility = allowed.shape[1]
    return Controllability(len(chosen), mobility, mobility - len(chosen), free, tuple(dependent), tuple(vanishing))
