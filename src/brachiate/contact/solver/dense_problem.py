"""A contact problem from plain matrices, for studies and tests: six rows for each pair, packed here."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from brachiate.compiled import fields_of
from brachiate.contact.arrays import Problem
from brachiate.validation import Array

_ROWS = {1: (0, 1, 2), 2: (0, 1, 2, 4, 5)}
_ALL = (0, 1, 2, 3, 4, 5)


def rows_of(corners: int) -> tuple[int, ...]:
    """Which of the six rows a point (1), a segment (2) or a polygon has."""
    return _ROWS.get(corners, _ALL)


def packed_problem(areas: Sequence[Array], G: Array, u0: Array, friction: ArrayLike, grip: ArrayLike | None = None) -> Problem:
    """Return the room of a problem u = u0 + G w, given with six rows for each pair; ``areas`` are the corners of each, (k, 2) [m]."""
    m = len(areas)
    rows = [rows_of(len(area)) for area in areas]
    keep = np.concatenate([6 * i + np.array(these) for i, these in enumerate(rows)])
    n = len(keep)
    length = {"count": 5, "at": m + 1, "G": n * n, "residual": 1, "path": 10} | dict.fromkeys(("u0", "u", "w"), n)
    P = Problem(**{name: np.zeros((length.get(name, m), *field.row), field.dtype) for name, field in fields_of(Problem).items()})
    P.count[:3], P.at[1:], P.u0[:], P.spin[:] = (m, n, n), np.cumsum([len(these) for these in rows]), u0[keep], 1.0
    P.G.reshape(n, n)[:] = G[np.ix_(keep, keep)]
    P.corners[:] = [len(area) for area in areas]
    for i, area in enumerate(areas):
        P.V[i, : len(area)] = area
    P.friction[:], P.grip[:] = friction, friction if grip is None else grip
    return P


def unpacked(P: Problem, x: Array) -> Array:
    """Six numbers for each pair from packed rows: (m, 6), zero where a pair has no row."""
    out = np.zeros((len(P.corners), 6))
    for i, corners in enumerate(P.corners):
        out[i, rows_of(int(corners))] = x[P.at[i] : P.at[i + 1]]
    return out
