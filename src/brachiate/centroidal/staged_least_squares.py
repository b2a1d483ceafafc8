"""Least squares in stages, with rows of which only the positive part counts.

A state x goes from stage to stage by what controls u make of it, x⁺ = F x + G u + f, and every stage has rows, each divided by what it
may be off by:

    minimise  Σ ½ r²  over two-sided rows  +  Σ ½ max(r, 0)²  over one-sided rows,    r = E x + D u - e.

A stiff one-sided row stands for an inequality, so no problem is without a solution. The sum is convex and made of pieces of quadratic
functions. Newton's method takes the rows that press and goes to where their sum is least, or as far along the way there as the sum of all
rows falls; when the same rows press there, it is done. The way there is a sweep over all stages (``sweep.py``).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from brachiate.centroidal.arrays import Stages, stages
from brachiate.centroidal.riccati import sweep
from brachiate.compiled import Handle, call_at, entry, far, index, kernel, opener
from brachiate.errors import ArgumentError
from brachiate.linalg.simd import dot, size_of_dot
from brachiate.validation import numbers, whole

DONE, LIMIT, ROUGH, NOT_FINITE = range(4)
STATUS = (
    "the least sum is found",
    "rows still change between pressing and not, after all iterations that are allowed",
    "numbers differ so much in size that the slope is not zero to round-off",
    "something is not finite",
)

EPS = 2.3e-16
CLOSE = 1e-8  # of the terms a slope is summed from
ENOUGH = 1e-4  # of the decrease that the slope promises
TRIALS = 40  # along one step


@kernel
def go_on(S, z, k):
    """State of the stage after k."""
    nx, nu, w = S.size[1], S.size[2], S.size[4]
    for l in range(nx):
        z[index((k + 1) * w + nu + l)] = dot(S.step, (k * nx + l) * w, z, k * w, w)


@kernel
def begin(S, z):
    """State of the first stage, and all ones."""
    N, nx, nu, w = S.size[0], S.size[1], S.size[2], S.size[4]
    for l in range(nx):
        z[index(nu + l)] = S.start[index(l)]
    for k in range(N + 1):
        z[index(k * w + nu + nx)] = 1.0


@kernel
def roll(S):
    """Go through all stages with the gains; controls that nothing depends on stay as they are."""
    N, nu, w = S.size[0], S.size[2], S.size[4]
    begin(S, S.there)
    for k in range(N):
        for j in range(S.controls[index(k)]):
            S.there[index(k * w + j)] = 0.0
        for j in range(S.controls[index(k)] - 1, -1, -1):
            line = (k * nu + j) * w
            pivot = S.gain[index(line + j)]
            rest = dot(S.gain, line, S.there, k * w, w)
            S.there[index(k * w + j)] = -rest / pivot if pivot != 0.0 else S.z[index(k * w + j)]
        go_on(S, S.there, k)


@kernel
def look(S, z, r):
    """Rows at z, and their round-off. Says whether all is finite."""
    N, m, w, total = S.size[0], S.size[3], S.size[4], 0.0
    for k in range(N + 1):
        for i in range(S.rows[index(k)]):
            n = k * m + i
            r[index(n)] = dot(S.row, n * w, z, k * w, w)
            S.blur[index(n)] = 4.0 * EPS * size_of_dot(S.row, n * w, z, k * w, w)
            total += S.blur[index(n)]
    return math.isfinite(total)


@kernel
def choose(S, r):
    """Which rows press at r. Returns the last stage in which that changes, -1 if nowhere: round-off changes nothing."""
    N, m, last = S.size[0], S.size[3], -1
    for k in range(N + 1):
        for i in range(S.rows[index(k)]):
            n = index(k * m + i)
            pressing = 1 if r[n] > 0.0 else 0
            if S.sided[n] == 1 and pressing != S.press[n] and abs(r[n]) > S.blur[n]:
                S.press[n] = pressing
                last = k
    return last


@kernel
def along(S, t):
    """Slope and curvature of the sum at z + t (there - z), and the sum."""
    N, m, slope, curve, total = S.size[0], S.size[3], 0.0, 0.0, 0.0
    for k in range(N + 1):
        for i in range(S.rows[index(k)]):
            n = index(k * m + i)
            d = S.r_there[n] - S.r[n]
            x = S.r[n] + t * d
            if S.sided[n] == 0 or x > 0.0:
                slope += x * d
                curve += d * d
                total += x * x
    return slope, curve, 0.5 * total


@kernel
def how_far(S):
    """How far to go from z towards ``there``: all the way if the sum falls, else to where it is least.

    Its slope is a broken line that rises, so few trials tell. (Going to the least each time takes more steps, not fewer.)
    """
    slope, _, here = along(S, 0.0)
    _, _, total = along(S, 1.0)
    if total <= here + ENOUGH * slope:
        return 1.0
    low, high, t = 0.0, 1.0, 0.5
    for _ in range(TRIALS):
        slope, curve, total = along(S, t)
        if abs(slope) <= 1e-13 * (curve + total) or not curve > 0.0:
            break
        if slope > 0.0:
            high = t
        else:
            low = t
        new = t - slope / curve
        if not low < new < high:
            new = 0.5 * (low + high)
        if abs(new - t) <= 1e-15 * t:
            break
        t = new
    return t


@kernel
def take(S, t):
    """Go to z + t (there - z)."""
    numbers_of, rows_of = (S.size[0] + 1) * S.size[4], (S.size[0] + 1) * S.size[3]
    if t == 1.0:  # exactly, whatever z was
        for i in range(numbers_of):
            S.z[index(i)] = S.there[index(i)]
        for i in range(rows_of):
            S.r[index(i)] = S.r_there[index(i)]
    else:
        for i in range(numbers_of):
            S.z[index(i)] += t * (S.there[index(i)] - S.z[index(i)])
        for i in range(rows_of):
            S.r[index(i)] += t * (S.r_there[index(i)] - S.r[index(i)])


@kernel
def add_slope(S, sign, a, line, x, blur, w):
    """slope += sign x line; and how large what is added is, where digits are lost."""
    size, x = CLOSE * abs(x) + 64.0 * blur, sign * x
    for j in range(0, w, 4):
        p, q, o = index(line + j), index(j), index(w + j)
        c0, c1, c2, c3 = a[p], a[p + index(1)], a[p + index(2)], a[p + index(3)]
        y0, y1, y2, y3 = S.slope[q], S.slope[q + index(1)], S.slope[q + index(2)], S.slope[q + index(3)]
        s0, s1, s2, s3 = S.slope[o], S.slope[o + index(1)], S.slope[o + index(2)], S.slope[o + index(3)]
        S.slope[q], S.slope[q + index(1)] = y0 + x * c0, y1 + x * c1
        S.slope[q + index(2)], S.slope[q + index(3)] = y2 + x * c2, y3 + x * c3
        S.slope[o], S.slope[o + index(1)] = s0 + size * abs(c0), s1 + size * abs(c1)
        S.slope[o + index(2)], S.slope[o + index(3)] = s2 + size * abs(c2), s3 + size * abs(c3)


@kernel
def level(S):
    """Whether the slope of the sum is zero to round-off: every stage is weighed against what R says the next state costs."""
    N, nx, nu, m, w = S.size[0], S.size[1], S.size[2], S.size[3], S.size[4]
    for k in range(N, -1, -1):
        for j in range(2 * w):
            S.slope[index(j)] = 0.0
        for i in range(S.rows[index(k)]):
            n = k * m + i
            if S.sided[index(n)] == 0 or S.press[index(n)] == 1:
                add_slope(S, 1.0, S.row, n * w, S.r[index(n)], S.blur[index(n)], w)
        if k < N:
            for i in range(nx):  # the slope of V at the next state ...
                line = ((k + 1) * nx + i) * w
                S.v[index(i)] = dot(S.R, line, S.z, (k + 1) * w, w)
                S.M[index(i)] = CLOSE * abs(S.v[index(i)]) + 256.0 * EPS * size_of_dot(S.R, line, S.z, (k + 1) * w, w)
            for l in range(nx):  # ... brought here by the step
                pull, size = 0.0, 0.0
                for i in range(l + 1):
                    c = S.R[index(((k + 1) * nx + i) * w + nu + l)]
                    pull += S.v[index(i)] * c
                    size += S.M[index(i)] * abs(c)
                if pull != 0.0 or size != 0.0:
                    add_slope(S, 1.0, S.step, (k * nx + l) * w, pull, size / 64.0, w)
            for j in range(S.controls[index(k)]):
                if not abs(S.slope[index(j)]) <= S.slope[index(w + j)]:
                    return False
        if k > 0:
            for i in range(nx):
                line = (k * nx + i) * w
                add_slope(S, -1.0, S.R, line, dot(S.R, line, S.z, k * w, w), 4.0 * EPS * size_of_dot(S.R, line, S.z, k * w, w), w)
            for j in range(nu, nu + nx):
                if not abs(S.slope[index(j)]) <= S.slope[index(w + j)]:
                    return False
    return True


@kernel
def guess(S):
    """Let those rows press to begin with that would under the controls in z; on a long way unstable states run off, and none is better."""
    begin(S, S.z)
    for k in range(S.size[0]):
        go_on(S, S.z, k)
    if look(S, S.z, S.r):
        choose(S, S.r)


@kernel
def least(S):
    """Find the least sum, from the rows in ``press``. Returns a status."""
    changed, status = S.size[0], LIMIT
    S.tries[0] = 0
    while S.tries[0] < S.size[5] and status == LIMIT:
        sweep(S, changed)
        roll(S)
        if not look(S, S.there, S.r_there):
            return NOT_FINITE
        S.tries[0] += 1
        t = 1.0 if S.tries[0] == 1 else how_far(S)
        take(S, t)
        changed = choose(S, S.r)
        if changed < 0 and t == 1.0:
            status = DONE
    _, _, S.cost[0] = along(S, 0.0)
    if status == DONE and not level(S):
        return ROUGH
    return status


open_stages = opener(Stages)
NOW, RELAXED, FROM_CONTROLS = range(3)


@far
def find_least(key, held, x, how):
    """Solve, with those rows pressing to begin with that are marked NOW, none, or those that press under the controls in z."""
    (S,) = open_stages(key)
    if how != NOW:
        for i in range(S.press.shape[0]):
            S.press[index(i)] = 0
    if how == FROM_CONTROLS:
        guess(S)
    return least(S)


@entry
def solve_stages(key, find, how):
    """Solve; ``find`` is the address of :func:`find_least`."""
    return call_at(find, key, key, 0.0, how)


class StagedLeastSquares:
    """A problem in stages, to be filled and solved from Python.

    Args:
        intervals: N, steps from one state to the next
        states: numbers of a state
        controls: at most, in a stage
        rows: at most, in a stage

    """

    def __init__(self, intervals: int, states: int, controls: int, rows: int) -> None:
        given = (intervals, states, controls, rows)
        least_of = (1, 1, 0, 1)
        words = ("intervals", "states", "controls", "rows")
        self.intervals, self.states, self.controls, self.rows = (
            whole(value, word, least=low) for value, word, low in zip(given, words, least_of, strict=True)
        )
        #: The arrays of the problem, as compiled code has them.
        self.room = stages(self.intervals, self.states, self.controls, self.rows)
        self._handle = Handle(self.room)

    def set_step(self, k: int, F: ArrayLike, G: ArrayLike, f: ArrayLike) -> None:
        """Say how a state goes on: x⁺ = F x + G u + f, with as many controls as G (nx, nu) has columns."""
        k, nx, nu, w = self._stage(k, self.intervals - 1), self.states, self.controls, int(self.room.size[4])
        G = np.asarray(G, float).reshape(nx, -1)
        if G.shape[1] > nu:
            raise ArgumentError(f"stage {k}: {G.shape[1]} controls were given, there is room for {nu}.")
        step = self.room.step.reshape(-1, nx, w)[k]
        step[:] = 0.0
        step[:, : G.shape[1]] = numbers(G, G.shape, "G")
        step[:, nu : nu + nx] = numbers(F, (nx, nx), "F")
        step[:, nu + nx] = numbers(f, (nx,), "f")
        self.room.controls[k] = G.shape[1]

    def set_rows(self, k: int, E: ArrayLike, D: ArrayLike, e: ArrayLike, one_sided: ArrayLike) -> None:
        """Say what shall be small in a stage: E x + D u - e, of which only the positive part counts where a row is one-sided."""
        k, nx, nu, m, w = self._stage(k, self.intervals), self.states, self.controls, self.rows, int(self.room.size[4])
        e = np.asarray(e, float).reshape(-1)
        n = len(e)
        if n > m:
            raise ArgumentError(f"stage {k}: {n} rows were given, there is room for {m}.")
        D = np.asarray(D, float).reshape(n, -1) if n else np.zeros((0, 0))
        used = int(self.room.controls[k]) if k < self.intervals else 0
        row = self.room.row.reshape(-1, m, w)[k]
        row[:] = 0.0
        row[:n, :used] = numbers(D, (n, used), "D")
        row[:n, nu : nu + nx] = numbers(E, (n, nx), "E")
        row[:n, nu + nx] = -numbers(e, (n,), "e")
        self.room.sided.reshape(-1, m)[k, :n] = np.asarray(one_sided, bool)
        self.room.rows[k] = n

    def solve(self, start: ArrayLike, controls: ArrayLike | None = None, *, again: bool = False) -> int:
        """Solve from the state ``start``; returns a place in ``STATUS``.

        Args:
            start: (nx,) state of the first stage
            controls: (N, nu) to begin with; without them no one-sided row presses to begin with
            again: begin with the rows that pressed in the solution before

        """
        S = self.room
        S.start[:] = numbers(start, (self.states,), "start")
        if controls is not None:
            S.z.reshape(-1, int(S.size[4]))[:-1, : self.controls] = numbers(controls, (self.intervals, self.controls), "controls")
        how = FROM_CONTROLS if controls is not None else NOW if again else RELAXED
        return int(solve_stages(self._handle.key, find_least.address, how))

    @property
    def u(self) -> Any:
        """Controls of the solution (N, nu)."""
        return self.room.z.reshape(self.intervals + 1, -1)[:-1, : self.controls].copy()

    @property
    def x(self) -> Any:
        """States of the solution (N + 1, nx)."""
        return self.room.z.reshape(self.intervals + 1, -1)[:, self.controls : self.controls + self.states].copy()

    def _stage(self, k: int, most: int) -> int:
        k = whole(k, "stage", least=0)
        if k > most:
            raise ArgumentError(f"stage {k}: there are stages 0 to {most}.")
        return k
