"""Staged (linear-quadratic) least squares with one-sided rows.

Dynamics x⁺ = F x + G u + f between stages, and rows in every stage, each scaled by its tolerance:

    minimize  Σ ½ r²  over two-sided rows  +  Σ ½ max(r, 0)²  over one-sided rows,    r = E x + D u - e.

A stiff one-sided row is a soft inequality, so every problem has a solution. The cost is convex and piecewise quadratic. Newton's method
minimizes the cost of the active rows by a Riccati recursion over all stages (``riccati.py``), with a line search on the full cost; it
ends when the active set does not change.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from brachiate.centroidal.arrays import StageArrays, allocate_stages
from brachiate.centroidal.riccati import riccati_recursion
from brachiate.compiled import ArrayHandle, Key, by_address, call_address, entry, index, kernel, struct_opener
from brachiate.errors import ArgumentError
from brachiate.linalg.simd import abs_dot, dot
from brachiate.validation import integer, numbers

OPTIMAL, ITERATION_LIMIT, ILL_CONDITIONED, NOT_FINITE = range(4)
STATUS = (
    "optimal",
    "iteration limit: the active set still changes",
    "ill-conditioned: the gradient is not zero to round-off",
    "not finite",
)

EPS = 2.3e-16
GRADIENT_TOLERANCE = 1e-8  # of the magnitude of the terms of the gradient
ARMIJO = 1e-4  # sufficient decrease of the line search (Armijo condition)
MAX_LINE_SEARCH = 40  # evaluations of one line search


@kernel
def next_state(lsq, z, k):
    """z ← state of stage k + 1 by the dynamics."""
    nx, nu, w = lsq.size[1], lsq.size[2], lsq.size[4]
    for l in range(nx):
        z[index((k + 1) * w + nu + l)] = dot(lsq.dynamics, (k * nx + l) * w, z, k * w, w)


@kernel
def set_initial_state(lsq, z):
    """z ← state of the first stage, and the constants 1."""
    N, nx, nu, w = lsq.size[0], lsq.size[1], lsq.size[2], lsq.size[4]
    for l in range(nx):
        z[index(nu + l)] = lsq.initial_state[index(l)]
    for k in range(N + 1):
        z[index(k * w + nu + nx)] = 1.0


@kernel
def rollout(lsq):
    """Forward pass with the gains; controls on which the cost does not depend keep their values."""
    N, nu, w = lsq.size[0], lsq.size[2], lsq.size[4]
    set_initial_state(lsq, lsq.z_newton)
    for k in range(N):
        for j in range(lsq.control_count[index(k)]):
            lsq.z_newton[index(k * w + j)] = 0.0
        for j in range(lsq.control_count[index(k)] - 1, -1, -1):
            line = (k * nu + j) * w
            pivot = lsq.gain[index(line + j)]
            rest = dot(lsq.gain, line, lsq.z_newton, k * w, w)
            lsq.z_newton[index(k * w + j)] = -rest / pivot if pivot != 0.0 else lsq.z[index(k * w + j)]
        next_state(lsq, lsq.z_newton, k)


@kernel
def compute_residuals(lsq, z, r):
    """Residuals at z, and their round-off. Returns whether all are finite."""
    N, m, w, total = lsq.size[0], lsq.size[3], lsq.size[4], 0.0
    for k in range(N + 1):
        for i in range(lsq.row_count[index(k)]):
            n = k * m + i
            r[index(n)] = dot(lsq.rows, n * w, z, k * w, w)
            lsq.roundoff[index(n)] = 4.0 * EPS * abs_dot(lsq.rows, n * w, z, k * w, w)
            total += lsq.roundoff[index(n)]
    return math.isfinite(total)


@kernel
def update_active_set(lsq, r):
    """Active rows at r, ignoring changes within round-off. Returns the last stage in which the active set changes, -1 for none."""
    N, m, last = lsq.size[0], lsq.size[3], -1
    for k in range(N + 1):
        for i in range(lsq.row_count[index(k)]):
            n = index(k * m + i)
            pressing = 1 if r[n] > 0.0 else 0
            if lsq.one_sided[n] == 1 and pressing != lsq.active[n] and abs(r[n]) > lsq.roundoff[n]:
                lsq.active[n] = pressing
                last = k
    return last


@kernel
def line_derivatives(lsq, t):
    """First and second derivative of the cost at z + t (z_newton - z), and the cost."""
    N, m, slope, curve, total = lsq.size[0], lsq.size[3], 0.0, 0.0, 0.0
    for k in range(N + 1):
        for i in range(lsq.row_count[index(k)]):
            n = index(k * m + i)
            d = lsq.residual_newton[n] - lsq.residual[n]
            x = lsq.residual[n] + t * d
            if lsq.one_sided[n] == 0 or x > 0.0:
                slope += x * d
                curve += d * d
                total += x * x
    return slope, curve, 0.5 * total


@kernel
def step_length(lsq):
    """Step length from z towards z_newton: 1 if the cost decreases sufficiently, else exact line search.

    The derivative is piecewise linear and increasing, so few evaluations suffice. (Exact line search at every step takes more iterations.)
    """
    slope, _, cost = line_derivatives(lsq, 0.0)
    _, _, total = line_derivatives(lsq, 1.0)
    if total <= cost + ARMIJO * slope:
        return 1.0
    low, high, t = 0.0, 1.0, 0.5
    for _ in range(MAX_LINE_SEARCH):
        slope, curve, total = line_derivatives(lsq, t)
        if abs(slope) <= 1e-13 * (curve + total) or not curve > 0.0:
            break
        if slope > 0.0:
            high = t
        else:
            low = t
        candidate = t - slope / curve
        if not low < candidate < high:
            candidate = 0.5 * (low + high)
        if abs(candidate - t) <= 1e-15 * t:
            break
        t = candidate
    return t


@kernel
def apply_step(lsq, t):
    """z ← z + t (z_newton - z)."""
    numbers_of, rows_of = (lsq.size[0] + 1) * lsq.size[4], (lsq.size[0] + 1) * lsq.size[3]
    if t == 1.0:  # exactly, whatever z was
        for i in range(numbers_of):
            lsq.z[index(i)] = lsq.z_newton[index(i)]
        for i in range(rows_of):
            lsq.residual[index(i)] = lsq.residual_newton[index(i)]
    else:
        for i in range(numbers_of):
            lsq.z[index(i)] += t * (lsq.z_newton[index(i)] - lsq.z[index(i)])
        for i in range(rows_of):
            lsq.residual[index(i)] += t * (lsq.residual_newton[index(i)] - lsq.residual[index(i)])


@kernel
def add_gradient(lsq, sign, a, line, x, blur, w):
    """gradient += sign x line, and the magnitude of the terms, for the round-off bound."""
    size, x = GRADIENT_TOLERANCE * abs(x) + 64.0 * blur, sign * x
    for j in range(0, w, 4):
        p, q, o = index(line + j), index(j), index(w + j)
        c0, c1, c2, c3 = a[p], a[p + index(1)], a[p + index(2)], a[p + index(3)]
        y0, y1, y2, y3 = lsq.gradient[q], lsq.gradient[q + index(1)], lsq.gradient[q + index(2)], lsq.gradient[q + index(3)]
        s0, s1, s2, s3 = lsq.gradient[o], lsq.gradient[o + index(1)], lsq.gradient[o + index(2)], lsq.gradient[o + index(3)]
        lsq.gradient[q], lsq.gradient[q + index(1)] = y0 + x * c0, y1 + x * c1
        lsq.gradient[q + index(2)], lsq.gradient[q + index(3)] = y2 + x * c2, y3 + x * c3
        lsq.gradient[o], lsq.gradient[o + index(1)] = s0 + size * abs(c0), s1 + size * abs(c1)
        lsq.gradient[o + index(2)], lsq.gradient[o + index(3)] = s2 + size * abs(c2), s3 + size * abs(c3)


@kernel
def is_stationary(lsq):
    """Whether the gradient of the cost is zero to round-off, stage by stage with the cost-to-go R of the next stage."""
    N, nx, nu, m, w = lsq.size[0], lsq.size[1], lsq.size[2], lsq.size[3], lsq.size[4]
    for k in range(N, -1, -1):
        for j in range(2 * w):
            lsq.gradient[index(j)] = 0.0
        for i in range(lsq.row_count[index(k)]):
            n = k * m + i
            if lsq.one_sided[index(n)] == 0 or lsq.active[index(n)] == 1:
                add_gradient(lsq, 1.0, lsq.rows, n * w, lsq.residual[index(n)], lsq.roundoff[index(n)], w)
        if k < N:
            for i in range(nx):  # gradient of V at the next state ...
                line = ((k + 1) * nx + i) * w
                lsq.householder[index(i)] = dot(lsq.R, line, lsq.z, (k + 1) * w, w)
                lsq.M[index(i)] = GRADIENT_TOLERANCE * abs(lsq.householder[index(i)]) + 256.0 * EPS * abs_dot(
                    lsq.R, line, lsq.z, (k + 1) * w, w
                )
            for l in range(nx):  # ... pulled back by the dynamics
                pull, size = 0.0, 0.0
                for i in range(l + 1):
                    c = lsq.R[index(((k + 1) * nx + i) * w + nu + l)]
                    pull += lsq.householder[index(i)] * c
                    size += lsq.M[index(i)] * abs(c)
                if pull != 0.0 or size != 0.0:
                    add_gradient(lsq, 1.0, lsq.dynamics, (k * nx + l) * w, pull, size / 64.0, w)
            for j in range(lsq.control_count[index(k)]):
                if not abs(lsq.gradient[index(j)]) <= lsq.gradient[index(w + j)]:
                    return False
        if k > 0:
            for i in range(nx):
                line = (k * nx + i) * w
                add_gradient(
                    lsq, -1.0, lsq.R, line, dot(lsq.R, line, lsq.z, k * w, w), 4.0 * EPS * abs_dot(lsq.R, line, lsq.z, k * w, w), w
                )
            for j in range(nu, nu + nx):
                if not abs(lsq.gradient[index(j)]) <= lsq.gradient[index(w + j)]:
                    return False
    return True


@kernel
def activate_from_controls(lsq):
    """Initial active set: rows that are active under the controls in z; empty if the rollout diverges."""
    set_initial_state(lsq, lsq.z)
    for k in range(lsq.size[0]):
        next_state(lsq, lsq.z, k)
    if compute_residuals(lsq, lsq.z, lsq.residual):
        update_active_set(lsq, lsq.residual)


@kernel
def minimize_stages(lsq):
    """Minimize the cost, starting with the active set in ``active``. Returns a status."""
    changed, status = lsq.size[0], ITERATION_LIMIT
    lsq.iterations[0] = 0
    while lsq.iterations[0] < lsq.size[5] and status == ITERATION_LIMIT:
        riccati_recursion(lsq, changed)
        rollout(lsq)
        if not compute_residuals(lsq, lsq.z_newton, lsq.residual_newton):
            return NOT_FINITE
        lsq.iterations[0] += 1
        t = 1.0 if lsq.iterations[0] == 1 else step_length(lsq)
        apply_step(lsq, t)
        changed = update_active_set(lsq, lsq.residual)
        if changed < 0 and t == 1.0:
            status = OPTIMAL
    _, _, lsq.cost[0] = line_derivatives(lsq, 0.0)
    if status == OPTIMAL and not is_stationary(lsq):
        return ILL_CONDITIONED
    return status


open_stages = struct_opener(StageArrays)
KEEP_ACTIVE_SET, EMPTY_ACTIVE_SET, WARM_START = range(3)


@by_address
def solve_staged(key, held, x, start_mode):
    """Solve, with the active set kept, empty, or from the controls in z (warm start)."""
    (lsq,) = open_stages(key)
    if start_mode != KEEP_ACTIVE_SET:
        for i in range(lsq.active.shape[0]):
            lsq.active[index(i)] = 0
    if start_mode == WARM_START:
        activate_from_controls(lsq)
    return minimize_stages(lsq)


@entry
def solve_stages(key: Key, solver: int, start_mode: int):
    """Solve; ``find`` is the address of :func:`find_least`."""
    return call_address(solver, key, key, 0.0, start_mode)


class StagedLeastSquares:
    """Staged least-squares problem, set up and solved from Python.

    Args:
        intervals: N, transitions from one state to the next
        states: nx, size of a state
        controls: nu, largest number of controls of a stage
        rows: m, largest number of rows of a stage

    """

    def __init__(self, intervals: int, states: int, controls: int, rows: int) -> None:
        values = (intervals, states, controls, rows)
        lower = (1, 1, 0, 1)
        names = ("intervals", "states", "controls", "rows")
        self.intervals, self.states, self.controls, self.rows = (
            integer(value, name, minimum=low) for value, name, low in zip(values, names, lower, strict=True)
        )
        #: Arrays of the problem for the kernels.
        self.arrays = allocate_stages(self.intervals, self.states, self.controls, self.rows)
        self._handle = ArrayHandle(self.arrays)

    def set_step(self, k: int, F: ArrayLike, G: ArrayLike, f: ArrayLike) -> None:
        """Set the dynamics of a stage: x⁺ = F x + G u + f, with as many controls as G (nx, nu) has columns."""
        k, nx, nu, w = self._stage(k, self.intervals - 1), self.states, self.controls, int(self.arrays.size[4])
        G = np.asarray(G, float).reshape(nx, -1)
        if G.shape[1] > nu:
            raise ArgumentError(f"stage {k}: {G.shape[1]} controls were given, at most {nu} are possible.")
        step = self.arrays.dynamics.reshape(-1, nx, w)[k]
        step[:] = 0.0
        step[:, : G.shape[1]] = numbers(G, G.shape, "G")
        step[:, nu : nu + nx] = numbers(F, (nx, nx), "F")
        step[:, nu + nx] = numbers(f, (nx,), "f")
        self.arrays.control_count[k] = G.shape[1]

    def set_rows(self, k: int, E: ArrayLike, D: ArrayLike, e: ArrayLike, one_sided: ArrayLike) -> None:
        """Set the rows of a stage: residuals E x + D u - e; only the positive part counts of one-sided rows."""
        k, nx, nu, m, w = self._stage(k, self.intervals), self.states, self.controls, self.rows, int(self.arrays.size[4])
        e = np.asarray(e, float).reshape(-1)
        n = len(e)
        if n > m:
            raise ArgumentError(f"stage {k}: {n} rows were given, at most {m} are possible.")
        D = np.asarray(D, float).reshape(n, -1) if n else np.zeros((0, 0))
        used = int(self.arrays.control_count[k]) if k < self.intervals else 0
        row = self.arrays.rows.reshape(-1, m, w)[k]
        row[:] = 0.0
        row[:n, :used] = numbers(D, (n, used), "D")
        row[:n, nu : nu + nx] = numbers(E, (n, nx), "E")
        row[:n, nu + nx] = -numbers(e, (n,), "e")
        self.arrays.one_sided.reshape(-1, m)[k, :n] = np.asarray(one_sided, bool)
        self.arrays.row_count[k] = n

    def solve(self, start: ArrayLike, controls: ArrayLike | None = None, *, again: bool = False) -> int:
        """Solve from the state ``start``; returns an index of ``STATUS``.

        Args:
            start: (nx,) state of the first stage
            controls: (N, nu) warm start; without it the initial active set is empty
            again: start with the active set of the previous solution

        """
        lsq = self.arrays
        lsq.initial_state[:] = numbers(start, (self.states,), "start")
        if controls is not None:
            lsq.z.reshape(-1, int(lsq.size[4]))[:-1, : self.controls] = numbers(controls, (self.intervals, self.controls), "controls")
        start_mode = WARM_START if controls is not None else KEEP_ACTIVE_SET if again else EMPTY_ACTIVE_SET
        return int(solve_stages(self._handle.key, solve_staged.address, start_mode))

    @property
    def u(self) -> Any:
        """Controls of the solution (N, nu)."""
        return self.arrays.z.reshape(self.intervals + 1, -1)[:-1, : self.controls].copy()

    @property
    def x(self) -> Any:
        """States of the solution (N + 1, nx)."""
        return self.arrays.z.reshape(self.intervals + 1, -1)[:, self.controls : self.controls + self.states].copy()

    def _stage(self, k: int, most: int) -> int:
        k = integer(k, "stage", minimum=0)
        if k > most:
            raise ArgumentError(f"stage {k}: there are stages 0 to {most}.")
        return k
