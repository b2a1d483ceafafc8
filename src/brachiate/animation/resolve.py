"""Joint velocities and accelerations from those of functions [EGC] 4.2, 5.2: redundancy, priorities, singularities, joint limits.

The least-squares problem by levels of priority is solved in compiled code (:mod:`.levels`); this is its interface by arrays, with
results and reports by name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from brachiate.animation import arrays
from brachiate.animation.levels import RANK_TOLERANCE, solve_problem
from brachiate.compiled import ArrayHandle
from brachiate.validation import Array
from brachiate.world.motion_directions import Direction, readable_basis
from brachiate.world.named_values import NamedValues


class Level(NamedTuple):
    """Functions of one priority, G x = y: damped, or solved as far as singular values above the rank tolerance go."""

    G: Array  # (m, n)
    y: Array  # (m,)
    damping: Array | None = None  # (m,) added to squared lengths of gradients; None: an exact level
    truncated: bool = False  # of functions: small singular values are left out, instead of damped


class VelocityMetric(NamedTuple):
    """Metric M of the joint velocities: x = x₀ + T z, where |z| is the distance from x₀."""

    T: Array  # (n,) if it is diagonal, or (n, n)
    preferred: Array  # (n,) x₀


def solve(levels: Sequence[Level], metric: VelocityMetric, bounds: tuple[Array, Array] | None = None) -> tuple[Array, Array]:
    """x nearest to the preferred one that satisfies every level as far as those above it allow: (n,), and where it is held at a bound.

    Args:
        levels: The most important first.
        metric: Distance from the preferred x.
        bounds: Of x (n,): after exact levels, before all others.
    """
    n, m = len(metric.preferred), sum(len(level.G) for level in levels)
    dense = metric.T.ndim == 2
    L = arrays.new_levels(n, m + n, len(levels), dense)
    L.size[:] = n, 0, 0, dense
    for level in levels:
        at, r, end = L.size[arrays.LEVELS], L.size[arrays.ROWS], L.size[arrays.ROWS] + len(level.G)
        L.row[r * n : end * n], L.target[r:end] = np.ravel(level.G), level.y
        if level.damping is not None:
            L.damping[r:end] = level.damping
        L.kind[at] = arrays.EXACT if level.damping is None else arrays.TRUNCATED if level.truncated else arrays.DAMPED
        L.start[at + 1] = end
        L.size[arrays.LEVELS : arrays.ROWS + 1] = at + 1, end
    (L.dense if dense else L.scale)[:] = metric.T.ravel()
    L.preferred[:] = metric.preferred
    if bounds is not None:
        L.lower[:], L.upper[:] = bounds
    solve_problem(ArrayHandle(L).key, bounds is not None)
    return L.x, L.held.astype(bool)


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


def null_space(B: Array) -> Array:
    """Orthonormal basis (n, n - rank) of the null space of B (m, n); singular values below RANK_TOLERANCE |B| are zero."""
    _, s, Vt = np.linalg.svd(B)
    return Vt[int((s > RANK_TOLERANCE * np.linalg.norm(B)).sum()) :].T


@dataclass(frozen=True)
class Controllability:
    """Which motions functions control at the present state, by name.

    Attributes:
        rank: Number of independent functions, constraints of the world disregarded.
        mobility: Degrees of freedom of the world at this state.
        uncontrolled: Number of degrees of freedom that no function controls.
        directions: These motions, by name: each has a coordinate that the others leave at rest.
        free: Coordinates that no function depends on.
        dependent: Functions whose gradient depends on those before them, or on constraints of the world.
        vanishing: Functions whose gradient is zero, such as a square at its target.
    """

    rank: int
    mobility: int
    uncontrolled: int
    directions: tuple[Direction, ...]
    free: tuple[str, ...]
    dependent: tuple[str, ...]
    vanishing: tuple[str, ...]

    def __str__(self) -> str:
        """Return the findings in words."""
        words = [f"{self.rank} independent functions control {self.mobility - self.uncontrolled} of {self.mobility} degrees of freedom"]
        for what, names in (("not involved", self.free), ("dependent on others", self.dependent), ("vanishing gradient", self.vanishing)):
            if names:
                words.append(f"{what}: {', '.join(names[:8])}{f' and {len(names) - 8} more' if len(names) > 8 else ''}")
        if self.directions and len(self.directions) <= _MAX_DIRECTIONS:
            words.append(f"uncontrolled: {'; '.join(map(str, self.directions))}")
        return "; ".join(words)


_MAX_DIRECTIONS = 6  # uncontrolled motions that are printed


def controllability(G: Array, J: Array, names: Sequence[str], coordinates: tuple[str, ...], measure: Array) -> Controllability:
    """Analyse gradients G (m, n) under constraint rows J (k, n); ``measure`` (n,): √A_ii, scale of the joint velocities."""
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
    left = allowed @ null_space(chosen) if len(chosen) else allowed
    directions = readable_basis(coordinates, measure, left)
    return Controllability(len(chosen), mobility, mobility - len(chosen), directions, free, tuple(dependent), tuple(vanishing))
