"""The vertical plan: height z and its rate, by accelerations that what bears can bring. State (z, ż), control z̈."""

from __future__ import annotations

import math

import numpy as np

from brachiate.centroidal.problem import FLIGHT, HELD
from brachiate.compiled import index, kernel, outlined

STATES, CONTROLS, ROWS = 2, 1, 6
U, Z, DZ, ONE = range(4)  # places in a row


@outlined
def new_row(S, k, one_sided):
    """Return where the next row of a stage begins; it is all zeros."""
    i, w = k * S.size[3] + S.rows[k], S.size[4]
    for j in range(i * w, (i + 1) * w):
        S.row[index(j)] = 0.0
    S.sided[i] = one_sided
    S.rows[k] += 1
    return i * w


@outlined
def clear_step(S, k):
    """Return where the step of a stage begins; it is all zeros."""
    size = S.size[1] * S.size[4]
    for j in range(k * size, (k + 1) * size):
        S.step[index(j)] = 0.0
    return k * size


@outlined
def near(S, k, place, target, tolerance):
    """A number of a stage shall be near a target."""
    at = new_row(S, k, 0)
    S.row[at + place] = 1.0 / tolerance
    S.row[at + S.size[1] + S.size[2]] = -target / tolerance


@outlined
def below(S, k, place, sign, limit, tolerance):
    """A number of a stage, times a sign, shall not exceed a limit."""
    at = new_row(S, k, 1)
    S.row[at + place] = sign / tolerance
    S.row[at + S.size[1] + S.size[2]] = -limit / tolerance


@kernel
def least_up(W, O, k):
    """The least acceleration upward [m/s²]: what stands does not pull; what holds does, as hard as it pushes."""
    g = W.gravity[0]
    return -O.most[k] - 2.0 * g if O.how[k] == HELD else W.least_push[0] * g


@kernel
def lay_vertical(W, O, P, S, N):
    """Stages of the vertical plan."""
    S.size[0] = N
    S.start[0], S.start[1] = P.present[2], P.present[5]
    for k in range(N + 1):
        S.rows[k] = 0
        if k > 0:
            spread = math.sqrt(O.h[k - 1] / W.unit[0])
            near(S, k, Z, O.centre[k, 2], W.height[0] / spread)
            near(S, k, DZ, O.velocity[k, 2], W.climb[0] / spread)
            if np.isfinite(O.slack[k]):
                below(S, k, Z, 1.0, O.centre[k, 2] + O.slack[k], W.stretch[0])
        if k < N:
            h, at, w = O.h[k], clear_step(S, k), S.size[4]
            S.step[at + Z], S.step[at + DZ], S.step[at + w + DZ] = 1.0, h, 1.0
            if O.how[k] == FLIGHT:
                S.controls[k] = 0
                S.step[at + ONE], S.step[at + w + ONE] = -0.5 * h * h * W.gravity[0], -h * W.gravity[0]
            else:
                S.controls[k] = 1
                S.step[at + U], S.step[at + w + U] = 0.5 * h * h, h
                low = least_up(W, O, k)
                near(S, k, U, min(max(O.acceleration[k, 2], low), O.most[k]), W.push[0] / math.sqrt(h / W.unit[0]))
                below(S, k, U, 1.0, O.most[k], W.bound[0])
                below(S, k, U, -1.0, -low, W.bound[0])


@kernel
def read_vertical(W, O, P, S, N):
    """Heights, their rates and accelerations as planned."""
    w = S.size[4]
    for k in range(N + 1):
        P.centre[k, 2], P.velocity[k, 2] = S.z[k * w + Z], S.z[k * w + DZ]
    for k in range(N):
        P.up[k] = -W.gravity[0] if O.how[k] == FLIGHT else S.z[k * w + U]
