"""Linear inverted pendulum with centroidal moment pivot (CMP): stance dynamics, support polygon, friction and leg torque rows.

The ground reaction force m (c̈, f), f = z̈ + g, acts at the center of pressure p, with a yaw moment. About the CoM, H above p:

    L̇_x = m (f (p_y - c_y) + H c̈_y),    L̇_y = -m (f (p_x - c_x) + H c̈_x),    or    c̈ = s (c - cmp),
    cmp = (p_x + L̇_y / (m f), p_y - L̇_x / (m f)),    s = f / H,    L̇ = L̇_ref + I α.

With cmp and s = ω² constant over an interval, the solution is exact: cosh and sinh, or cos and sin below a support (s < 0). Unit forces
at p₀ have moments t (3) about a leg joint of axis u; its torque is m (t · (c̈, f) + f (u_x (p - p₀)_y - u_y (p - p₀)_x)).
"""

from __future__ import annotations

import math

from brachiate.centroidal.support_polygon import centroid, edge_margin, hull_edges
from brachiate.centroidal.vertical import new_row
from brachiate.compiled import kernel

COP, ANGULAR_ACCELERATION, LANDING = 0, 2, 5  # columns of controls
COM, COM_VELOCITY, ORIENTATION, ANGULAR_VELOCITY, FOOT_OFFSET = 0, 2, 4, 7, 10  # columns of states, after the controls
CIRCLE_SIDES = 8  # of the polygon that approximates a circle


@kernel
def cosh_sinh(s, h):
    """cosh ωh and sinh ωh / ω for ω² = s of any sign."""
    x = s * h * h
    if abs(x) < 1e-3:
        return 1.0 + x * (0.5 + x * (1.0 / 24.0 + x / 720.0)), h * (1.0 + x * (1.0 / 6.0 + x * (1.0 / 120.0 + x / 5040.0)))
    w = math.sqrt(abs(s))
    if s > 0.0:
        return math.cosh(w * h), math.sinh(w * h) / w
    return math.cos(w * h), math.sin(w * h) / w


@kernel
def offset_index(lsq, sol, f):
    """Column of a foot's offset in the rows of a stage: a control where a landing takes effect, else a state."""
    return LANDING + 2 * f if sol.active_landing[f] >= 0 else lsq.size[2] + FOOT_OFFSET + 2 * f


@kernel
def cmp_coefficients(params, problem, k, f, i):
    """Coefficients of cmp - p along an axis: constant, and factors of α."""
    row, sign = (1, 1.0) if i == 0 else (0, -1.0)
    scale = sign / (params.mass[0] * f)
    I = problem.inertia
    return scale * problem.angular_momentum_rate[k, row], (scale * I[k, row, 0], scale * I[k, row, 1], scale * I[k, row, 2])


@kernel
def add_pendulum_dynamics(params, problem, sol, lsq, at, k, f):
    """Linear inverted pendulum: c̈ = s (c - cmp)."""
    x, one, w, h, s = lsq.size[2], lsq.size[1] + lsq.size[2], lsq.size[4], problem.dt[k], sol.omega_squared[k]
    ch, sh = cosh_sinh(s, h)
    for i in range(2):
        c, v = at + (COM + i) * w, at + (COM_VELOCITY + i) * w
        base, by = cmp_coefficients(params, problem, k, f, i)
        lsq.dynamics[c + x + COM + i], lsq.dynamics[c + x + COM_VELOCITY + i] = ch, sh
        lsq.dynamics[v + x + COM + i], lsq.dynamics[v + x + COM_VELOCITY + i] = s * sh, ch
        lsq.dynamics[c + COP + i], lsq.dynamics[v + COP + i] = 1.0 - ch, -s * sh
        lsq.dynamics[c + one], lsq.dynamics[v + one] = (1.0 - ch) * base, -s * sh * base
        for j in range(3):
            lsq.dynamics[c + ANGULAR_ACCELERATION + j], lsq.dynamics[v + ANGULAR_ACCELERATION + j] = (1.0 - ch) * by[j], -s * sh * by[j]


@kernel
def add_support_polygon_rows(params, problem, sol, lsq, k, count):
    """CoP p inside the support polygon, and near its centroid."""
    one = lsq.size[1] + lsq.size[2]
    edge_count, area = hull_edges(sol, count)
    margin = edge_margin(sol, edge_count, count, params.support_margin[0]) if area else 0.0
    for n in range(edge_count):
        at, stiffness = new_row(lsq, k, 1), 1.0 / params.support_softness[0]
        nx, ny = sol.edge_normal[n, 0], sol.edge_normal[n, 1]
        limit = sol.edge_offset[n] - margin - nx * sol.initial_state[0] - ny * sol.initial_state[1]
        lsq.rows[at + COP], lsq.rows[at + COP + 1] = nx * stiffness, ny * stiffness
        for end in range(2):
            f = sol.edge_owner[n, end]
            if f >= 0:
                column = at + offset_index(lsq, sol, f)
                lsq.rows[column] -= 0.5 * nx * stiffness
                lsq.rows[column + 1] -= 0.5 * ny * stiffness
                limit -= 0.5 * (nx * sol.assumed_offset[f, 0] + ny * sol.assumed_offset[f, 1])
        lsq.rows[at + one] = -limit * stiffness
    mx, my = centroid(sol, count)
    ax, ay = new_row(lsq, k, 0), new_row(lsq, k, 0)
    scale = math.sqrt(problem.dt[k] / params.reference_interval[0]) / params.center_of_pressure[0]
    lsq.rows[ax + COP], lsq.rows[ay + COP + 1] = scale, scale
    mx, my = mx - sol.initial_state[0], my - sol.initial_state[1]
    for i in range(count):
        f = sol.support_owner[i]
        if f >= 0:
            column = offset_index(lsq, sol, f)
            lsq.rows[ax + column] -= scale / count
            lsq.rows[ay + column + 1] -= scale / count
            mx, my = mx - sol.assumed_offset[f, 0] / count, my - sol.assumed_offset[f, 1] / count
    lsq.rows[ax + one], lsq.rows[ay + one] = -mx * scale, -my * scale


@kernel
def add_friction_rows(params, problem, sol, lsq, k, f, size):
    """Friction limits of c̈ at the start of the interval and of the yaw moment."""
    x, one, s = lsq.size[2], lsq.size[1] + lsq.size[2], sol.omega_squared[k]
    limit = params.friction_share[0] * problem.friction[k] * f
    (bx, ax), (by, ay) = cmp_coefficients(params, problem, k, f, 0), cmp_coefficients(params, problem, k, f, 1)
    for n in range(CIRCLE_SIDES):
        at = new_row(lsq, k, 1)
        dx, dy = (
            math.cos(2.0 * math.pi * n / CIRCLE_SIDES) * s / params.friction_softness[0],
            math.sin(2.0 * math.pi * n / CIRCLE_SIDES) * s / params.friction_softness[0],
        )
        lsq.rows[at + x + COM], lsq.rows[at + x + COM + 1], lsq.rows[at + COP], lsq.rows[at + COP + 1] = dx, dy, -dx, -dy
        for j in range(3):
            lsq.rows[at + ANGULAR_ACCELERATION + j] = -dx * ax[j] - dy * ay[j]
        lsq.rows[at + one] = -dx * bx - dy * by - limit / params.friction_softness[0]
    scale = 1.0 / (params.mass[0] * f * params.yaw_moment_softness[0])
    for sign in (-1.0, 1.0):
        at = new_row(lsq, k, 1)
        for j in range(3):
            lsq.rows[at + ANGULAR_ACCELERATION + j] = sign * scale * problem.inertia[k, 2, j]
        lsq.rows[at + one] = (
            sign * scale * problem.angular_momentum_rate[k, 2]
            - params.yaw_friction[0] * problem.friction[k] * size / params.yaw_moment_softness[0]
        )


@kernel
def add_torque_limit_rows(params, problem, sol, lsq, k, f):
    """Torque limits of the single stance leg under the force m (c̈, f) at p."""
    x, one, ratio, foot = lsq.size[2], lsq.size[1] + lsq.size[2], sol.omega_squared[k] / f, problem.motor_foot[k]
    (bx, ax), (by, ay) = cmp_coefficients(params, problem, k, f, 0), cmp_coefficients(params, problem, k, f, 1)
    at_x, at_y = problem.motor_point[k, 0] - sol.initial_state[0], problem.motor_point[k, 1] - sol.initial_state[1]
    for n in range(problem.motor_count[k]):
        ux, uy, limit = problem.motor_rows[k, n, 3], problem.motor_rows[k, n, 4], problem.motor_rows[k, n, 5] / (params.mass[0] * f)
        tx, ty = ratio * problem.motor_rows[k, n, 0], ratio * problem.motor_rows[k, n, 1]
        rest = problem.motor_rows[k, n, 2] - ux * at_y + uy * at_x - tx * bx - ty * by
        for sign in (-1.0, 1.0):
            at, scale = new_row(lsq, k, 1), sign / params.leg_torque_softness[0]
            lsq.rows[at + x + COM], lsq.rows[at + x + COM + 1] = scale * tx, scale * ty
            lsq.rows[at + COP], lsq.rows[at + COP + 1] = -scale * (tx + uy), -scale * (ty - ux)
            for j in range(3):
                lsq.rows[at + ANGULAR_ACCELERATION + j] = -scale * (tx * ax[j] + ty * ay[j])
            if foot >= 0:
                column = at + offset_index(lsq, sol, foot)
                lsq.rows[column], lsq.rows[column + 1] = scale * uy, -scale * ux
            lsq.rows[at + one] = scale * rest - limit / params.leg_torque_softness[0]
