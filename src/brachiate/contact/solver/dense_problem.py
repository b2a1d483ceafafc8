"""Contact problem from dense matrices with six rows per contact, for studies and tests."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from brachiate.compiled import array_fields
from brachiate.contact.arrays import ContactProblem
from brachiate.validation import Array

_ROWS = {1: (0, 1, 2), 2: (0, 1, 2, 4, 5)}
_ALL = (0, 1, 2, 3, 4, 5)


def row_indices(corners: int) -> tuple[int, ...]:
    """Which of the six rows a point (1), a segment (2) or a polygon has."""
    return _ROWS.get(corners, _ALL)


def problem_from_dense(
    patches: Sequence[Array], G: Array, u0: Array, friction: ArrayLike, static_friction: ArrayLike | None = None
) -> ContactProblem:
    """Return the problem u = u0 + G w, given with six rows per contact; ``patches`` are the corners of each, (k, 2) [m]."""
    m = len(patches)
    rows = [row_indices(len(corners)) for corners in patches]
    keep = np.concatenate([6 * i + np.array(indices) for i, indices in enumerate(rows)])
    n = len(keep)
    length = {"count": 5, "row_start": m + 1, "G": n * n, "residual": 1, "counters": 11, "work": 2} | dict.fromkeys(("u0", "u", "w"), n)
    fields = array_fields(ContactProblem).items()
    problem = ContactProblem(**{name: np.zeros((length.get(name, m), *field.row), field.dtype) for name, field in fields})
    problem.count[:3], problem.row_start[1:], problem.u0[:], problem.torsion_scale[:] = (
        (m, n, n),
        np.cumsum([len(indices) for indices in rows]),
        u0[keep],
        1.0,
    )
    problem.G.reshape(n, n)[:] = G[np.ix_(keep, keep)]
    problem.corners[:] = [len(corners) for corners in patches]
    for i, corners in enumerate(patches):
        problem.V[i, : len(corners)] = corners
    problem.friction[:], problem.static_friction[:] = friction, friction if static_friction is None else static_friction
    return problem


def unpack_rows(problem: ContactProblem, x: Array) -> Array:
    """Six components per contact from packed rows: (m, 6), zero where a contact has no row."""
    out = np.zeros((len(problem.corners), 6))
    for i, corners in enumerate(problem.corners):
        out[i, row_indices(int(corners))] = x[problem.row_start[i] : problem.row_start[i + 1]]
    return out
