"""Standing: how a force at the centre of pressure moves the body, and where that centre can be.

What stands gets a force m (c̈, f), f = z̈ + g, at p, and a moment about the vertical. About the centre of mass, H above p, that makes

    L̇_x = m (f (p_y - c_y) + H c̈_y),    L̇_y = -m (f (p_x - c_x) + H c̈_x),    or    c̈ = s (c - cmp),
    cmp = (p_x + L̇_y / (m f), p_y - L̇_x / (m f)),    s = f / H,    L̇ = L̇_ref + I α.

With cmp and s constant over an interval, this is solved exactly: by cosh and sinh, or by cos and sin under a support. A motor of axis u,
which unit forces at p₀ turn by t (3), is turned by m (t · (c̈, f) + f (u_x (p - p₀)_y - u_y (p - p₀)_x)).
"""

from __future__ import annotations

import math

from brachiate.centroidal.support_polygon import inset, middle, sides
from brachiate.centroidal.vertical import new_row
from brachiate.compiled import kernel

P_, ALPHA, LANDS = 0, 2, 5  # places of controls
C, V, TURN, SPIN, OFFSET = 0, 2, 4, 7, 10  # places of states, after the controls
SIDES = 8  # of what stands for a circle


@kernel
def hyperbolic(s, h):
    """cosh ωh and sinh ωh / ω for ω² = s of any sign."""
    x = s * h * h
    if abs(x) < 1e-3:
        return 1.0 + x * (0.5 + x * (1.0 / 24.0 + x / 720.0)), h * (1.0 + x * (1.0 / 6.0 + x * (1.0 / 120.0 + x / 5040.0)))
    w = math.sqrt(abs(s))
    if s > 0.0:
        return math.cosh(w * h), math.sinh(w * h) / w
    return math.cos(w * h), math.sin(w * h) / w


@kernel
def offset_place(S, P, f):
    """Where the offset of a foot is in the rows of a stage: a control where it lands anew, else a state."""
    return LANDS + 2 * f if P.taken[f] >= 0 else S.size[2] + OFFSET + 2 * f


@kernel
def cmp_of(W, O, k, f, i):
    """cmp - p along an axis: a constant, and factors of α."""
    row, sign = (1, 1.0) if i == 0 else (0, -1.0)
    scale = sign / (W.mass[0] * f)
    I = O.inertia
    return scale * O.turning[k, row], (scale * I[k, row, 0], scale * I[k, row, 1], scale * I[k, row, 2])


@kernel
def lay_stance(W, O, P, S, at, k, f):
    """c̈ = s (c - cmp)."""
    x, one, w, h, s = S.size[2], S.size[1] + S.size[2], S.size[4], O.h[k], P.s[k]
    ch, sh = hyperbolic(s, h)
    for i in range(2):
        c, v = at + (C + i) * w, at + (V + i) * w
        base, by = cmp_of(W, O, k, f, i)
        S.step[c + x + C + i], S.step[c + x + V + i] = ch, sh
        S.step[v + x + C + i], S.step[v + x + V + i] = s * sh, ch
        S.step[c + P_ + i], S.step[v + P_ + i] = 1.0 - ch, -s * sh
        S.step[c + one], S.step[v + one] = (1.0 - ch) * base, -s * sh * base
        for j in range(3):
            S.step[c + ALPHA + j], S.step[v + ALPHA + j] = (1.0 - ch) * by[j], -s * sh * by[j]


@kernel
def lay_pressure(W, O, P, S, k, count):
    """p inside what bears, and near its middle."""
    one = S.size[1] + S.size[2]
    found, area = sides(P, count)
    keep = inset(P, found, count, W.margin[0]) if area else 0.0
    for n in range(found):
        at, stiff = new_row(S, k, 1), 1.0 / W.inside[0]
        nx, ny = P.normal[n, 0], P.normal[n, 1]
        limit = P.side[n] - keep - nx * P.present[0] - ny * P.present[1]
        S.row[at + P_], S.row[at + P_ + 1] = nx * stiff, ny * stiff
        for end in range(2):
            f = P.ends[n, end]
            if f >= 0:
                place = at + offset_place(S, P, f)
                S.row[place] -= 0.5 * nx * stiff
                S.row[place + 1] -= 0.5 * ny * stiff
                limit -= 0.5 * (nx * P.held[f, 0] + ny * P.held[f, 1])
        S.row[at + one] = -limit * stiff
    mx, my = middle(P, count)
    ax, ay = new_row(S, k, 0), new_row(S, k, 0)
    scale = math.sqrt(O.h[k] / W.unit[0]) / W.pressure[0]
    S.row[ax + P_], S.row[ay + P_ + 1] = scale, scale
    mx, my = mx - P.present[0], my - P.present[1]
    for i in range(count):
        f = P.owner[i]
        if f >= 0:
            place = offset_place(S, P, f)
            S.row[ax + place] -= scale / count
            S.row[ay + place + 1] -= scale / count
            mx, my = mx - P.held[f, 0] / count, my - P.held[f, 1] / count
    S.row[ax + one], S.row[ay + one] = -mx * scale, -my * scale


@kernel
def lay_friction(W, O, P, S, k, f, size):
    """c̈ at the start, and the moment about the vertical, within what friction brings."""
    x, one, s = S.size[2], S.size[1] + S.size[2], P.s[k]
    most = W.friction_share[0] * O.friction[k] * f
    (bx, ax), (by, ay) = cmp_of(W, O, k, f, 0), cmp_of(W, O, k, f, 1)
    for n in range(SIDES):
        at = new_row(S, k, 1)
        dx, dy = math.cos(2.0 * math.pi * n / SIDES) * s / W.slip[0], math.sin(2.0 * math.pi * n / SIDES) * s / W.slip[0]
        S.row[at + x + C], S.row[at + x + C + 1], S.row[at + P_], S.row[at + P_ + 1] = dx, dy, -dx, -dy
        for j in range(3):
            S.row[at + ALPHA + j] = -dx * ax[j] - dy * ay[j]
        S.row[at + one] = -dx * bx - dy * by - most / W.slip[0]
    scale = 1.0 / (W.mass[0] * f * W.lever[0])
    for sign in (-1.0, 1.0):
        at = new_row(S, k, 1)
        for j in range(3):
            S.row[at + ALPHA + j] = sign * scale * O.inertia[k, 2, j]
        S.row[at + one] = sign * scale * O.turning[k, 2] - W.twist[0] * O.friction[k] * size / W.lever[0]


@kernel
def lay_motors(W, O, P, S, k, f):
    """Moments that the force m (c̈, f) at p has about the motors of a leg that stands alone, within what they hold."""
    x, one, ratio, foot = S.size[2], S.size[1] + S.size[2], P.s[k] / f, O.motor_foot[k]
    (bx, ax), (by, ay) = cmp_of(W, O, k, f, 0), cmp_of(W, O, k, f, 1)
    at_x, at_y = O.motor_at[k, 0] - P.present[0], O.motor_at[k, 1] - P.present[1]
    for n in range(O.motors[k]):
        ux, uy, limit = O.motor[k, n, 3], O.motor[k, n, 4], O.motor[k, n, 5] / (W.mass[0] * f)
        tx, ty = ratio * O.motor[k, n, 0], ratio * O.motor[k, n, 1]
        rest = O.motor[k, n, 2] - ux * at_y + uy * at_x - tx * bx - ty * by
        for sign in (-1.0, 1.0):
            at, scale = new_row(S, k, 1), sign / W.strain[0]
            S.row[at + x + C], S.row[at + x + C + 1] = scale * tx, scale * ty
            S.row[at + P_], S.row[at + P_ + 1] = -scale * (tx + uy), -scale * (ty - ux)
            for j in range(3):
                S.row[at + ALPHA + j] = -scale * (tx * ax[j] + ty * ay[j])
            if foot >= 0:
                place = at + offset_place(S, P, foot)
                S.row[place], S.row[place + 1] = scale * uy, -scale * ux
            S.row[at + one] = scale * rest - limit / W.strain[0]
