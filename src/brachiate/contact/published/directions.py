"""Directions that are held, as rows and columns, and the forces along them: H_C, Ĥ_C and eq. 17 of [DF]."""

from __future__ import annotations

import math

from brachiate.compiled import kernel
from brachiate.contact.published.states import C4, C5, C6, HOLDS
from brachiate.contact.published.trial import HELD
from brachiate.linalg.min_norm import smallest


@kernel
def put_packed(P, A, k, i, a, b, c, d, e, f):
    """Write six numbers of a pair as its packed rows."""
    A[k, 0], A[k, 1], A[k, 2] = a, b, c
    if P.corners[i] == 2:
        A[k, 3], A[k, 4] = e, f
    elif P.corners[i] > 2:
        A[k, 3], A[k, 4], A[k, 5] = d, e, f


@kernel
def slip_direction(X, i):
    """(v_x, v_y, l ω_z) of length 1.

    With r = |v| / |ω_z| its last part is sgn(ω_z) l / √(r² + l²): p(r) of [DF] eq. 23 so that p is 1 where the spot that bears is the
    centre of rotation, and 0 far from it (printed the other way round). The rest is shorter then: what spins has less grip along
    the plane.
    """
    x, y, z = X.slip[i, 0], X.slip[i, 1], X.frame[i, 5] * X.slip[i, 2]
    long = math.sqrt(x * x + y * y + z * z)
    return (x / long, y / long, z / long) if long > 0.0 else (0.0, 0.0, 0.0)


@kernel
def hold_directions(P, X):
    """H_C and Ĥ_C of all pairs in their states [DF] eq. 16, 28."""
    k = 0
    for i in range(P.count[0]):
        k = hold_pair(P, X, i, k)
    X.count[HELD] = k


@kernel
def hold_pair(P, X, i, k):
    """Write rows and columns of one pair from place k on; returns the next place.

    A force acts at the origin of the pair's frame, and there its velocity is held. The paper holds v_z of a spot at P, where the force
    is not: the contact would do work.
    """
    state, start = X.state[i], k
    for d in range(6):
        if HOLDS[state, d] == 1:
            X.pair[k] = i
            put_direction(P, X, i, d, X.row, k)
            put_direction(P, X, i, d, X.column, k)
            k += 1
    if state in (C4, C5, C6):
        add_friction(P, X, i, start, k)
    return k


@kernel
def put_direction(P, X, i, d, A, k):
    """Write direction d of a pair's frame, as a velocity of its rows or a wrench about P: these are the same six numbers."""
    x, y, along_x, along_y = X.frame[i, 0], X.frame[i, 1], X.frame[i, 2], X.frame[i, 3]
    if d == 0:
        put_packed(P, A, k, i, 1.0, 0.0, 0.0, 0.0, 0.0, -y)
    elif d == 1:
        put_packed(P, A, k, i, 0.0, 1.0, 0.0, 0.0, 0.0, x)
    elif d == 2:
        put_packed(P, A, k, i, 0.0, 0.0, 1.0, y, -x, 0.0)
    elif d == 3:
        put_packed(P, A, k, i, 0.0, 0.0, 0.0, along_x, along_y, 0.0)
    elif d == 4:
        put_packed(P, A, k, i, 0.0, 0.0, 0.0, -along_y, along_x, 0.0)
    else:
        put_packed(P, A, k, i, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)


@kernel
def add_friction(P, X, i, start, end):
    """Add the friction of what slips to the column of f_z, the first of the pair, and its moment to all [DF] eq. 23, 27-30.

    n_z = c_x f_y - c_y f_x + n̂_z with c the centre of pressure. In a face or line n_x and n_y move c, so that they have their part of
    n_z: μ (s_x n_x + s_y n_y). The paper leaves that out.
    """
    mu, x, y = P.friction[i], X.frame[i, 0], X.frame[i, 1]
    sx, sy, sz = slip_direction(X, i)
    put_packed(P, X.column, start, i, -mu * sx, -mu * sy, 1.0, y, -x, mu * (y * sx - x * sy - X.frame[i, 5] * sz))
    last = P.at[i + 1] - P.at[i] - 1
    for k in range(start + 1, end):
        about_x = X.row[k, 3] if P.corners[i] > 2 else 0.0
        X.column[k, last] = mu * (sx * about_x + sy * X.row[k, last - 1])


@kernel
def find_forces(P, X):
    """P.w from [H_C G Ĥ_Cᵀ] τ_C = -H_C u0 [DF] eq. 17, the smallest if several do."""
    n, stride = X.count[HELD], P.count[2]
    for b in range(n):
        j, size = P.at[X.pair[b]], P.at[X.pair[b] + 1] - P.at[X.pair[b]]
        for r in range(P.count[1]):
            s = 0.0
            for c in range(size):
                s += P.G[r * stride + j + c] * X.column[b, c]
            X.answer[r] = s
        for a in range(n):
            X.matrix[a * n + b] = along_row(P, X, a, X.answer)
    for a in range(n):
        X.force[a] = -along_row(P, X, a, P.u0)
    smallest(X.matrix, X.force, X.order, X.factor, n)
    for r in range(P.count[1]):
        P.w[r] = 0.0
    for b in range(n):
        j = P.at[X.pair[b]]
        for c in range(P.at[X.pair[b] + 1] - j):
            P.w[j + c] += X.column[b, c] * X.force[b]


@kernel
def along_row(P, X, a, u):
    """What velocities u are along a held direction."""
    s, j = 0.0, P.at[X.pair[a]]
    for c in range(P.at[X.pair[a] + 1] - j):
        s += X.row[a, c] * u[j + c]
    return s
