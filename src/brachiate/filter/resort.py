"""Resort: the optimizer's program solved by another method, where exchanging what is wrong does not come to an end.

Motors at their limits, soles on an edge and joints at their stops together may ask for what cannot be had, or for the same thing twice;
then exchanging goes round in circles. A dual active-set method takes in one bound at a time and gets better with each [Arnström 2022].
"""

from __future__ import annotations

import daqp
import numpy as np

from brachiate.errors import StateError
from brachiate.filter.optimizer import AT_LEAST, EQUAL, RAYS, ROWS, STRIDE, Program

FREE, HARD = 0, 5  # kinds of rows, as the solver has them: bounds, equations
FIRM = 1e-9  # bounds of forces and rows that do not give are held this well
FAR = 1e30


def find_by_steps(P: Program) -> None:
    """Find a, ρ and y of a program; what acts and lives is kept for the next one."""
    n, rays, stride = len(P.weight), int(P.count[RAYS]), int(P.count[STRIDE])
    rows = slice(0, int(P.count[ROWS]))
    C = P.C.reshape(n, stride).T[rows]
    D = np.where(P.pulls[rows, None] == 1, P.D.reshape(stride, -1)[rows, :rays], 0.0)
    J, want, give, kind = np.concatenate((C, D), axis=1), P.want[rows], P.give[rows], P.kind[rows]
    soft, hard = (kind == EQUAL) & (give > 0.0), (kind == EQUAL) & (give == 0.0)
    bounds = np.flatnonzero(kind == AT_LEAST)
    # Bounds give a little, too: each has a number of its own by which it is not kept
    m, size = len(bounds), n + rays + len(bounds)
    H = np.zeros((size, size))
    H[np.arange(size), np.arange(size)] = np.concatenate((P.weight, np.full(rays, P.light[0]), 1.0 / give[bounds]))
    H[: n + rays, : n + rays] += (J[soft].T / give[soft]) @ J[soft]
    f = np.zeros(size)
    f[:n] = -P.weight * P.wish
    f[: n + rays] -= J[soft].T @ (want[soft] / give[soft])
    A = np.zeros((int(hard.sum()) + m, size))
    A[: len(A) - m, : n + rays], A[len(A) - m :, : n + rays] = J[hard], J[bounds]
    A[len(A) - m :, n + rays :] = np.eye(m)
    least = np.concatenate((np.full(n, -FAR), np.zeros(rays), np.full(m, -FAR), want[hard], want[bounds]))
    most = np.concatenate((np.full(size, FAR), want[hard], np.full(m, FAR)))
    sense = np.zeros(len(least), np.int32)
    sense[size : size + len(A) - m] = HARD
    # Numbers of about one: weights of rows and forces differ by many powers of ten
    unit = 1.0 / np.sqrt(np.diagonal(H))
    least[:size], most[:size] = np.maximum(least[:size] / unit, -FAR), np.minimum(most[:size] / unit, FAR)
    x, _, flag, found = daqp.solve(H * unit * unit[:, None], f * unit, np.ascontiguousarray(A * unit), most, least, sense, primal_tol=FIRM)
    if flag < 1 or not np.isfinite(x).all():
        raise StateError("Nothing that physics allows was found for the next step.")
    x = x * unit
    P.a[:], P.rho[:rays] = x[:n], np.maximum(x[n : n + rays], 0.0)
    P.lives[:rays] = x[n : n + rays] > FIRM * max(1.0, float(np.abs(x[n : n + rays]).max(initial=0.0)))
    P.acts[bounds] = np.abs(np.asarray(found["lam"])[size + len(A) - m :]) > 0.0
