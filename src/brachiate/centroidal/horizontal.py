"""Horizontal plan: horizontal CoM, orientation and footholds, for given CoM heights.

State: c (2), ċ (2), orientation θ (3), angular velocity ω (3) and the offset of every foot (2 each). Controls: CoP p (2) or, with grips,
c̈ (2); angular acceleration α (3); and new offsets of landing feet (2 each). Positions are relative to the present CoM.
"""

from __future__ import annotations

import math

import numpy as np

from brachiate.centroidal.pendulum import (
    ANGULAR_ACCELERATION,
    ANGULAR_VELOCITY,
    CIRCLE_SIDES,
    COM,
    COM_VELOCITY,
    COP,
    FOOT_OFFSET,
    LANDING,
    ORIENTATION,
    add_friction_rows,
    add_pendulum_dynamics,
    add_support_polygon_rows,
    add_torque_limit_rows,
    offset_index,
)
from brachiate.centroidal.problem import FLIGHT, GRIP, MAX_FEET, MAX_MOTORS, STANCE
from brachiate.centroidal.support_polygon import collect_support_points, radius_of_gyration
from brachiate.centroidal.vertical import add_tracking_row, clear_dynamics, new_row
from brachiate.compiled import kernel
from brachiate.linalg.symmetric3 import solve_symmetric3
from brachiate.spatial import vec3

USUAL_STANCE_DURATION = 0.6  # [s] in walking
MIN_DURATION_FACTOR, MAX_DURATION_FACTOR = 1.0, 4.0  # of the usual stance duration: range in which the foothold weight depends on it


def stage_sizes(feet: int) -> tuple[int, int, int]:
    """Largest numbers of states, controls and rows of a stage."""
    return (
        FOOT_OFFSET + 2 * feet,
        LANDING + 2 * feet,
        36 + CIRCLE_SIDES + 2 + 2 + 3 + 10 + 5 + 2 * MAX_MOTORS + feet * (2 + CIRCLE_SIDES + 2 + 1 + 2),
    )


@kernel
def find_active_landings(params, problem, sol, k):
    """Landings that take effect at an interval; from there on the support polygon is linearized at their targets."""
    for f in range(MAX_FEET):
        sol.active_landing[f] = -1
    for n in range(problem.landing_foot.shape[0]):
        if problem.landing_foot[n] >= 0 and problem.landing_start[n] == k:
            f = problem.landing_foot[n]
            sol.active_landing[f] = n
            sol.assumed_offset[f, 0], sol.assumed_offset[f, 1] = sol.landing_offset[n, 0], sol.landing_offset[n, 1]


@kernel
def add_rotation_dynamics(lsq, at, h):
    """Dynamics of orientation and angular velocity without α."""
    x, w = lsq.size[2], lsq.size[4]
    for i in range(3):
        t, o = at + (ORIENTATION + i) * w, at + (ANGULAR_VELOCITY + i) * w
        lsq.dynamics[t + x + ORIENTATION + i], lsq.dynamics[t + x + ANGULAR_VELOCITY + i], lsq.dynamics[o + x + ANGULAR_VELOCITY + i] = (
            1.0,
            h,
            1.0,
        )


@kernel
def add_rotation_control(lsq, at, h):
    """Dependence of orientation and angular velocity on α."""
    w = lsq.size[4]
    for i in range(3):
        (
            lsq.dynamics[at + (ORIENTATION + i) * w + ANGULAR_ACCELERATION + i],
            lsq.dynamics[at + (ANGULAR_VELOCITY + i) * w + ANGULAR_ACCELERATION + i],
        ) = 0.5 * h * h, h


@kernel
def add_constant_acceleration(lsq, at, columns, h, a):
    """Constant second derivative a of the state ``columns`` (value, rate)."""
    one, w = lsq.size[1] + lsq.size[2], lsq.size[4]
    lsq.dynamics[at + columns[0] * w + one], lsq.dynamics[at + columns[1] * w + one] = 0.5 * h * h * a, h * a


@kernel
def add_flight_dynamics(problem, lsq, at, k):
    """Flight: ċ and angular momentum are constant, so ω relative to the reference changes by minus the reference's momentum rate."""
    x, w, h = lsq.size[2], lsq.size[4], problem.dt[k]
    for i in range(2):
        c, v = at + (COM + i) * w, at + (COM_VELOCITY + i) * w
        lsq.dynamics[c + x + COM + i], lsq.dynamics[c + x + COM_VELOCITY + i], lsq.dynamics[v + x + COM_VELOCITY + i] = 1.0, h, 1.0
    a = solve_symmetric3(problem.inertia, k, -vec3(problem.angular_momentum_rate, k))
    add_constant_acceleration(lsq, at, (ORIENTATION, ANGULAR_VELOCITY), h, a.x)
    add_constant_acceleration(lsq, at, (ORIENTATION + 1, ANGULAR_VELOCITY + 1), h, a.y)
    add_constant_acceleration(lsq, at, (ORIENTATION + 2, ANGULAR_VELOCITY + 2), h, a.z)


@kernel
def add_grip_dynamics(params, problem, lsq, at, k):
    """Grips: any acceleration is possible; it tracks the reference."""
    x, w, h = lsq.size[2], lsq.size[4], problem.dt[k]
    root_weight = math.sqrt(h / params.reference_interval[0])
    for i in range(2):
        c, v = at + (COM + i) * w, at + (COM_VELOCITY + i) * w
        lsq.dynamics[c + x + COM + i], lsq.dynamics[c + x + COM_VELOCITY + i], lsq.dynamics[v + x + COM_VELOCITY + i] = 1.0, h, 1.0
        lsq.dynamics[c + COP + i], lsq.dynamics[v + COP + i] = 0.5 * h * h, h
        add_tracking_row(lsq, k, COP + i, problem.com_acceleration[k, i], params.vertical_acceleration[0] / root_weight)


@kernel
def landing_weight(problem, n):
    """Weight of a foothold: square root of its stance duration, as squared errors add up over time."""
    return math.sqrt(min(max(problem.landing_duration[n] / USUAL_STANCE_DURATION, MIN_DURATION_FACTOR), MAX_DURATION_FACTOR))


@kernel
def add_landing_rows(params, problem, sol, lsq, k, f, mean_x, mean_y):
    """Foothold: near that of the reference and within reach; at its target if it lands within the freeze time."""
    column, one, n = LANDING + 2 * f, lsq.size[1] + lsq.size[2], sol.active_landing[f]
    add_tracking_row(lsq, k, column, 0.0, params.foothold_offset[0] / landing_weight(problem, n))
    add_tracking_row(lsq, k, column + 1, 0.0, params.foothold_offset[0] / landing_weight(problem, n))
    if problem.landing_time[n] < params.landing_freeze_time[0]:
        add_tracking_row(lsq, k, column, problem.landing_target[n, 0], params.support_softness[0])
        add_tracking_row(lsq, k, column + 1, problem.landing_target[n, 1], params.support_softness[0])
        return
    for i in range(CIRCLE_SIDES):
        at = new_row(lsq, k, 1)
        dx, dy = math.cos(2.0 * math.pi * i / CIRCLE_SIDES), math.sin(2.0 * math.pi * i / CIRCLE_SIDES)
        lsq.rows[at + column], lsq.rows[at + column + 1] = dx / params.support_softness[0], dy / params.support_softness[0]
        lsq.rows[at + one] = -(params.step_reach[0] + dx * mean_x + dy * mean_y) / params.support_softness[0]
    add_landing_bound(params, problem, lsq, k, column, n, 1.0, problem.landing_max[n])
    add_landing_bound(params, problem, lsq, k, column, n, -1.0, -problem.landing_min[n])


@kernel
def add_landing_bound(params, problem, lsq, k, column, n, side, limit):
    """Bound of the offset of landing n along (side 1) or against (side -1) its direction."""
    if np.isfinite(limit):
        at = new_row(lsq, k, 1)
        for i in range(2):
            lsq.rows[at + column + i] = side * problem.landing_direction[n, i] / params.support_softness[0]
        lsq.rows[at + lsq.size[1] + lsq.size[2]] = -limit / params.support_softness[0]


@kernel
def add_leg_reach_rows(params, problem, sol, lsq, k):
    """Leg length: a foot that touches down here is within reach of the body."""
    x, one = lsq.size[2], lsq.size[1] + lsq.size[2]
    for n in range(problem.landing_foot.shape[0]):
        if problem.landing_foot[n] >= 0 and problem.landing_touchdown[n] == k and np.isfinite(problem.reach_slack[n]):
            at, column = new_row(lsq, k, 1), offset_index(lsq, sol, problem.landing_foot[n])
            limit = problem.reach_slack[n]
            for i in range(2):
                d = problem.reach_direction[n, i]
                lsq.rows[at + column + i], lsq.rows[at + x + COM + i] = d / params.support_softness[0], -d / params.support_softness[0]
                limit -= d * (problem.com[k, i] - sol.initial_state[i])
            lsq.rows[at + one] = -limit / params.support_softness[0]


@kernel
def subtract_offset_shift(params, problem, sol, lsq, k, at, i, scale):
    """Shift of the reference CoM with the offsets of the feet, in a row along an axis."""
    for f in range(params.feet[0]):
        lsq.rows[at + offset_index(lsq, sol, f) + i] -= problem.offset_share[k, f] * scale


@kernel
def add_tracking_rows(params, problem, sol, lsq, k):
    """Tracking of the reference at a node."""
    x, one = lsq.size[2], lsq.size[1] + lsq.size[2]
    root_weight = math.sqrt(problem.dt[k - 1] / params.reference_interval[0])
    for i in range(2):
        at = new_row(lsq, k, 0)
        scale = root_weight / params.com_position[0]
        lsq.rows[at + x + COM + i], lsq.rows[at + one] = scale, -scale * (problem.com[k, i] - sol.initial_state[i])
        subtract_offset_shift(params, problem, sol, lsq, k, at, i, scale)
        add_tracking_row(lsq, k, x + COM_VELOCITY + i, problem.com_velocity[k, i], params.com_velocity[0] / root_weight)
    for i in range(3):
        add_tracking_row(lsq, k, x + ORIENTATION + i, 0.0, params.orientation[0] / root_weight)
        add_tracking_row(lsq, k, x + ANGULAR_VELOCITY + i, 0.0, params.angular_velocity[0] / root_weight)


@kernel
def add_terminal_rows(params, problem, sol, lsq, N, height):
    """Terminal cost: capture point c + ċ/ω, and orientation + lookahead · angular velocity."""
    x, one = lsq.size[2], lsq.size[1] + lsq.size[2]
    time = math.sqrt(max(height, 3.0 * params.min_com_height[0]) / params.gravity[0])
    for i in range(2):
        at, scale = new_row(lsq, N, 0), 1.0 / params.capture_point[0]
        lsq.rows[at + x + COM + i], lsq.rows[at + x + COM_VELOCITY + i] = scale, scale * time
        lsq.rows[at + one] = -scale * (problem.com[N, i] - sol.initial_state[i] + problem.com_velocity[N, i] * time)
        subtract_offset_shift(params, problem, sol, lsq, N, at, i, scale)
    for i in range(3):
        at = new_row(lsq, N, 0)
        lsq.rows[at + x + ORIENTATION + i], lsq.rows[at + x + ANGULAR_VELOCITY + i] = (
            1.0 / params.terminal_orientation[0],
            params.terminal_lookahead[0] / params.terminal_orientation[0],
        )


@kernel
def mean_com_height(sol, k, h):
    """Mean height of the CoM in an interval."""
    return sol.com[k, 2] + h * (0.5 * sol.com_velocity[k, 2] + h * sol.vertical_acceleration[k] / 6.0)


@kernel
def height_above_support(params, sol, k, h, support_height):
    """Mean height of the CoM above the support in an interval; negative below it, bounded away from 0."""
    H = mean_com_height(sol, k, h) - support_height
    lower = params.min_com_height[0]
    return H if abs(H) >= lower else lower if H >= 0.0 else -lower


@kernel
def build_interval(params, problem, sol, lsq, k):
    """Dynamics and rows of an interval. Returns the height above the support, 0 without."""
    at, h, height_above = clear_dynamics(lsq, k), problem.dt[k], 0.0
    add_rotation_dynamics(lsq, at, h)
    sol.omega_squared[k] = 0.0
    if problem.contact_mode[k] == FLIGHT:
        add_flight_dynamics(problem, lsq, at, k)
        return height_above
    if problem.contact_mode[k] == GRIP:
        add_grip_dynamics(params, problem, lsq, at, k)
    else:
        count, support_height = collect_support_points(problem, sol, k, params.min_com_height[0])
        height_above = height_above_support(params, sol, k, h, support_height)
        f = max(sol.vertical_acceleration[k] + params.gravity[0], 0.02 * params.gravity[0])
        sol.omega_squared[k] = f / height_above
        add_pendulum_dynamics(params, problem, sol, lsq, at, k, f)
        add_support_polygon_rows(params, problem, sol, lsq, k, count)
        add_friction_rows(params, problem, sol, lsq, k, f, radius_of_gyration(problem, sol, k, count))
        add_torque_limit_rows(params, problem, sol, lsq, k, f)
    add_rotation_control(lsq, at, h)
    root_weight = math.sqrt(h / params.reference_interval[0])
    for i in range(3):
        add_tracking_row(lsq, k, ANGULAR_ACCELERATION + i, 0.0, params.angular_acceleration[0] / root_weight)
    return height_above


@kernel
def build_horizontal(params, problem, sol, lsq, N):
    """Build the stages of the horizontal plan, with support polygons at the offsets sol.landing_offset."""
    x, w, feet = lsq.size[2], lsq.size[4], params.feet[0]
    lsq.size[0] = N
    mean_x, mean_y, total = 0.0, 0.0, 1e-9
    for f in range(feet):
        sol.assumed_offset[f, 0], sol.assumed_offset[f, 1] = sol.initial_state[12 + 2 * f], sol.initial_state[13 + 2 * f]
        share = max(problem.offset_share[0, f], 0.0) + 1e-9
        mean_x, mean_y, total = mean_x + share * sol.assumed_offset[f, 0], mean_y + share * sol.assumed_offset[f, 1], total + share
    mean_x, mean_y = mean_x / total, mean_y / total
    for i in range(lsq.size[1]):
        lsq.initial_state[i] = 0.0
    for i in range(2):
        lsq.initial_state[COM_VELOCITY + i] = sol.initial_state[3 + i]
    for i in range(3):
        lsq.initial_state[ORIENTATION + i], lsq.initial_state[ANGULAR_VELOCITY + i] = sol.initial_state[6 + i], sol.initial_state[9 + i]
    for i in range(2 * feet):
        lsq.initial_state[FOOT_OFFSET + i] = sol.initial_state[12 + i]
    height = 0.0
    for k in range(N):
        lsq.row_count[k], lands = 0, False
        find_active_landings(params, problem, sol, k)
        height_above = build_interval(params, problem, sol, lsq, k)
        height = height_above if height_above > 0.0 else height
        for f in range(feet):
            column, at = offset_index(lsq, sol, f), (k * lsq.size[1] + FOOT_OFFSET + 2 * f) * w
            lsq.dynamics[at + column], lsq.dynamics[at + w + column + 1] = 1.0, 1.0
            if sol.active_landing[f] >= 0:
                lands = True
                add_landing_rows(params, problem, sol, lsq, k, f, mean_x, mean_y)
        lsq.control_count[k] = x if lands else 0 if problem.contact_mode[k] == FLIGHT else LANDING
        add_leg_reach_rows(params, problem, sol, lsq, k)
        if k > 0:
            add_tracking_rows(params, problem, sol, lsq, k)
    lsq.row_count[N] = 0
    for f in range(MAX_FEET):
        sol.active_landing[f] = -1
    add_tracking_rows(params, problem, sol, lsq, N)
    add_terminal_rows(params, problem, sol, lsq, N, height)


@kernel
def read_landing_offsets(params, problem, sol, lsq, N):
    """Read foothold offsets from the solution. Returns the largest distance from those assumed."""
    w, largest = lsq.size[4], 0.0
    for n in range(problem.landing_foot.shape[0]):
        k = problem.landing_start[n]
        if problem.landing_foot[n] >= 0 and k < N:
            at = k * w + LANDING + 2 * problem.landing_foot[n]
            largest = max(largest, abs(lsq.z[at] - sol.landing_offset[n, 0]), abs(lsq.z[at + 1] - sol.landing_offset[n, 1]))
            sol.landing_offset[n, 0], sol.landing_offset[n, 1] = lsq.z[at], lsq.z[at + 1]
    return largest


@kernel
def read_horizontal_solution(params, problem, sol, lsq, N):
    """Read the horizontal solution."""
    x, w = lsq.size[2], lsq.size[4]
    for k in range(N + 1):
        at = k * w + x
        for i in range(2):
            sol.com[k, i], sol.com_velocity[k, i] = sol.initial_state[i] + lsq.z[at + COM + i], lsq.z[at + COM_VELOCITY + i]
        for i in range(3):
            sol.orientation[k, i], sol.angular_velocity[k, i] = lsq.z[at + ORIENTATION + i], lsq.z[at + ANGULAR_VELOCITY + i]
    for k in range(N):
        at = k * w
        for i in range(3):
            sol.cop[k, i], sol.angular_acceleration[k, i], sol.angular_momentum_rate[k, i] = sol.com[k, i], 0.0, 0.0
        for i in range(2):
            sol.cmp[k, i], sol.horizontal_acceleration[k, i] = sol.com[k, i], 0.0
        if problem.contact_mode[k] == FLIGHT:
            for i in range(3):
                sol.angular_acceleration[k, i] = (sol.angular_velocity[k + 1, i] - sol.angular_velocity[k, i]) / problem.dt[k]
            continue
        for i in range(3):
            sol.angular_acceleration[k, i] = lsq.z[at + ANGULAR_ACCELERATION + i]
        for i in range(3):
            sol.angular_momentum_rate[k, i] = problem.angular_momentum_rate[k, i]
            for j in range(3):
                sol.angular_momentum_rate[k, i] += problem.inertia[k, i, j] * sol.angular_acceleration[k, j]
        if problem.contact_mode[k] == GRIP:
            for i in range(2):
                sol.horizontal_acceleration[k, i] = lsq.z[at + COP + i]
        if problem.contact_mode[k] == STANCE:
            f = max(sol.vertical_acceleration[k] + params.gravity[0], 0.02 * params.gravity[0])
            sol.cop[k, 2] = mean_com_height(sol, k, problem.dt[k]) - f / sol.omega_squared[k]
            for i in range(2):
                sol.cop[k, i] = sol.initial_state[i] + lsq.z[at + COP + i]
            sol.cmp[k, 0] = sol.cop[k, 0] + sol.angular_momentum_rate[k, 1] / (params.mass[0] * f)
            sol.cmp[k, 1] = sol.cop[k, 1] - sol.angular_momentum_rate[k, 0] / (params.mass[0] * f)
            for i in range(2):
                sol.horizontal_acceleration[k, i] = sol.omega_squared[k] * (sol.com[k, i] - sol.cmp[k, i])
