"""Vertical plan: CoM height z with bounded accelerations. State (z, ż), control z̈."""

from __future__ import annotations

import math

import numpy as np

from brachiate.centroidal.problem import FLIGHT, GRIP
from brachiate.compiled import index, kernel, outlined

STATE_COUNT, CONTROL_COUNT, MAX_ROWS = 2, 1, 6
VERTICAL_ACCELERATION, HEIGHT, VERTICAL_VELOCITY, CONSTANT = range(4)  # columns of a row


@outlined
def new_row(lsq, k, one_sided):
    """Append a zero row to a stage. Returns where it begins."""
    i, w = k * lsq.size[3] + lsq.row_count[k], lsq.size[4]
    for j in range(i * w, (i + 1) * w):
        lsq.rows[index(j)] = 0.0
    lsq.one_sided[i] = one_sided
    lsq.row_count[k] += 1
    return i * w


@outlined
def clear_dynamics(lsq, k):
    """Clear the dynamics of a stage. Returns where they begin."""
    size = lsq.size[1] * lsq.size[4]
    for j in range(k * size, (k + 1) * size):
        lsq.dynamics[index(j)] = 0.0
    return k * size


@outlined
def add_tracking_row(lsq, k, column, target, tolerance):
    """Two-sided row: (variable - target) / tolerance."""
    at = new_row(lsq, k, 0)
    lsq.rows[at + column] = 1.0 / tolerance
    lsq.rows[at + lsq.size[1] + lsq.size[2]] = -target / tolerance


@outlined
def add_upper_bound(lsq, k, column, sign, limit, tolerance):
    """One-sided row: (sign · variable - limit) / tolerance ≤ 0."""
    at = new_row(lsq, k, 1)
    lsq.rows[at + column] = sign / tolerance
    lsq.rows[at + lsq.size[1] + lsq.size[2]] = -limit / tolerance


@kernel
def vertical_acceleration_bound(params, problem, k):
    """Lower bound of the vertical acceleration [m/s²]: supports do not pull; grips do, as hard as they push."""
    g = params.gravity[0]
    return -problem.max_vertical_acceleration[k] - 2.0 * g if problem.contact_mode[k] == GRIP else params.min_vertical_acceleration[0] * g


@kernel
def build_vertical(params, problem, sol, lsq, N):
    """Build the stages of the vertical plan."""
    lsq.size[0] = N
    lsq.initial_state[0], lsq.initial_state[1] = sol.initial_state[2], sol.initial_state[5]
    for k in range(N + 1):
        lsq.row_count[k] = 0
        if k > 0:
            root_weight = math.sqrt(problem.dt[k - 1] / params.reference_interval[0])
            add_tracking_row(lsq, k, HEIGHT, problem.com[k, 2], params.com_height[0] / root_weight)
            add_tracking_row(lsq, k, VERTICAL_VELOCITY, problem.com_velocity[k, 2], params.vertical_velocity[0] / root_weight)
            if np.isfinite(problem.height_slack[k]):
                add_upper_bound(lsq, k, HEIGHT, 1.0, problem.com[k, 2] + problem.height_slack[k], params.leg_length_softness[0])
        if k < N:
            h, at, w = problem.dt[k], clear_dynamics(lsq, k), lsq.size[4]
            lsq.dynamics[at + HEIGHT], lsq.dynamics[at + VERTICAL_VELOCITY], lsq.dynamics[at + w + VERTICAL_VELOCITY] = 1.0, h, 1.0
            if problem.contact_mode[k] == FLIGHT:
                lsq.control_count[k] = 0
                lsq.dynamics[at + CONSTANT], lsq.dynamics[at + w + CONSTANT] = -0.5 * h * h * params.gravity[0], -h * params.gravity[0]
            else:
                lsq.control_count[k] = 1
                lsq.dynamics[at + VERTICAL_ACCELERATION], lsq.dynamics[at + w + VERTICAL_ACCELERATION] = 0.5 * h * h, h
                lower = vertical_acceleration_bound(params, problem, k)
                add_tracking_row(
                    lsq,
                    k,
                    VERTICAL_ACCELERATION,
                    min(max(problem.com_acceleration[k, 2], lower), problem.max_vertical_acceleration[k]),
                    params.vertical_acceleration[0] / math.sqrt(h / params.reference_interval[0]),
                )
                add_upper_bound(
                    lsq, k, VERTICAL_ACCELERATION, 1.0, problem.max_vertical_acceleration[k], params.vertical_acceleration_softness[0]
                )
                add_upper_bound(lsq, k, VERTICAL_ACCELERATION, -1.0, -lower, params.vertical_acceleration_softness[0])


@kernel
def read_vertical_solution(params, problem, sol, lsq, N):
    """Read CoM height, velocity and acceleration from the solution."""
    w = lsq.size[4]
    for k in range(N + 1):
        sol.com[k, 2], sol.com_velocity[k, 2] = lsq.z[k * w + HEIGHT], lsq.z[k * w + VERTICAL_VELOCITY]
    for k in range(N):
        sol.vertical_acceleration[k] = -params.gravity[0] if problem.contact_mode[k] == FLIGHT else lsq.z[k * w + VERTICAL_ACCELERATION]
