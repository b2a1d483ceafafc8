"""Constrained directions as rows and columns, and the forces along them: H_C, Ĥ_C and eq. 17 of [DF]."""

from __future__ import annotations

import math

from brachiate.compiled import kernel
from brachiate.contact.published.states import C4, C5, C6, CONSTRAINED
from brachiate.contact.published.trial import NUM_HELD
from brachiate.linalg.min_norm import min_norm_solve


@kernel
def put_packed(problem, A, k, i, a, b, c, d, e, f):
    """Write six components of a contact as its packed rows."""
    A[k, 0], A[k, 1], A[k, 2] = a, b, c
    if problem.corners[i] == 2:
        A[k, 3], A[k, 4] = e, f
    elif problem.corners[i] > 2:
        A[k, 3], A[k, 4], A[k, 5] = d, e, f


@kernel
def slip_direction(trial, i):
    """(v_x, v_y, l ω_z) of length 1.

    With r = |v| / |ω_z| its last component is sgn(ω_z) l / √(r² + l²): p(r) of [DF] eq. 23 such that p is 1 where the contact point is the
    center of rotation, and 0 far from it (printed the other way round). The others are smaller then: a spinning contact has less friction
    along the plane.
    """
    x, y, z = trial.slip_velocity[i, 0], trial.slip_velocity[i, 1], trial.frame[i, 5] * trial.slip_velocity[i, 2]
    norm = math.sqrt(x * x + y * y + z * z)
    return (x / norm, y / norm, z / norm) if norm > 0.0 else (0.0, 0.0, 0.0)


@kernel
def assemble_directions(problem, trial):
    """H_C and Ĥ_C of all contacts in their states [DF] eq. 16, 28."""
    k = 0
    for i in range(problem.count[0]):
        k = assemble_pair(problem, trial, i, k)
    trial.count[NUM_HELD] = k


@kernel
def assemble_pair(problem, trial, i, k):
    """Write rows and columns of one contact from index k on; returns the next index.

    A force acts at the origin of the contact's frame, and there its velocity is constrained. The paper constrains v_z of a spot at P, where
    the force does not act: the contact would do work.
    """
    state, start = trial.state[i], k
    for d in range(6):
        if CONSTRAINED[state, d] == 1:
            trial.pair[k] = i
            put_direction(problem, trial, i, d, trial.row, k)
            put_direction(problem, trial, i, d, trial.column, k)
            k += 1
    if state in (C4, C5, C6):
        add_friction(problem, trial, i, start, k)
    return k


@kernel
def put_direction(problem, trial, i, d, A, k):
    """Write direction d of a contact's frame, as a velocity of its rows or a wrench about P: the same six components."""
    x, y, along_x, along_y = trial.frame[i, 0], trial.frame[i, 1], trial.frame[i, 2], trial.frame[i, 3]
    if d == 0:
        put_packed(problem, A, k, i, 1.0, 0.0, 0.0, 0.0, 0.0, -y)
    elif d == 1:
        put_packed(problem, A, k, i, 0.0, 1.0, 0.0, 0.0, 0.0, x)
    elif d == 2:
        put_packed(problem, A, k, i, 0.0, 0.0, 1.0, y, -x, 0.0)
    elif d == 3:
        put_packed(problem, A, k, i, 0.0, 0.0, 0.0, along_x, along_y, 0.0)
    elif d == 4:
        put_packed(problem, A, k, i, 0.0, 0.0, 0.0, -along_y, along_x, 0.0)
    else:
        put_packed(problem, A, k, i, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)


@kernel
def add_friction(problem, trial, i, start, end):
    """Add the friction of a slipping contact to the column of f_z, its first, and its moment to all [DF] eq. 23, 27-30.

    n_z = c_x f_y - c_y f_x + n̂_z with c the center of pressure. In a face or line n_x and n_y move c, so that they contribute to n_z:
    μ (s_x n_x + s_y n_y). The paper leaves that out.
    """
    mu, x, y = problem.friction[i], trial.frame[i, 0], trial.frame[i, 1]
    sx, sy, sz = slip_direction(trial, i)
    put_packed(problem, trial.column, start, i, -mu * sx, -mu * sy, 1.0, y, -x, mu * (y * sx - x * sy - trial.frame[i, 5] * sz))
    last = problem.row_start[i + 1] - problem.row_start[i] - 1
    for k in range(start + 1, end):
        about_x = trial.row[k, 3] if problem.corners[i] > 2 else 0.0
        trial.column[k, last] = mu * (sx * about_x + sy * trial.row[k, last - 1])


@kernel
def solve_forces(problem, trial):
    """problem.w from [H_C G Ĥ_Cᵀ] τ_C = -H_C u0 [DF] eq. 17, of minimum norm if it is not unique."""
    n, stride = trial.count[NUM_HELD], problem.count[2]
    for b in range(n):
        j, size = problem.row_start[trial.pair[b]], problem.row_start[trial.pair[b] + 1] - problem.row_start[trial.pair[b]]
        for r in range(problem.count[1]):
            s = 0.0
            for c in range(size):
                s += problem.G[r * stride + j + c] * trial.column[b, c]
            trial.response[r] = s
        for a in range(n):
            trial.matrix[a * n + b] = row_velocity(problem, trial, a, trial.response)
    for a in range(n):
        trial.force[a] = -row_velocity(problem, trial, a, problem.u0)
    min_norm_solve(trial.matrix, trial.force, trial.order, trial.factor, n)
    for r in range(problem.count[1]):
        problem.w[r] = 0.0
    for b in range(n):
        j = problem.row_start[trial.pair[b]]
        for c in range(problem.row_start[trial.pair[b] + 1] - j):
            problem.w[j + c] += trial.column[b, c] * trial.force[b]


@kernel
def row_velocity(problem, trial, a, u):
    """Component of velocities u along a constrained direction."""
    s, j = 0.0, problem.row_start[trial.pair[a]]
    for c in range(problem.row_start[trial.pair[a] + 1] - j):
        s += trial.row[a, c] * u[j + c]
    return s
