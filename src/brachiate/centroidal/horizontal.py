"""The horizontal plan: centre of mass along the ground, orientation, and where feet land, once heights are known.

State: c (2), ċ (2), turn θ (3), spin ω (3) and the offset of every foot (2 each). Controls: centre of pressure p (2) or, where hands hold,
c̈ (2); angular acceleration α (3); and new offsets of feet that land (2 each). Positions are counted from where the centre of mass is now.
"""

from __future__ import annotations

import math

import numpy as np

from brachiate.centroidal.pendulum import (
    ALPHA,
    LANDS,
    OFFSET,
    P_,
    SIDES,
    SPIN,
    TURN,
    C,
    V,
    lay_friction,
    lay_motors,
    lay_pressure,
    lay_stance,
    offset_place,
)
from brachiate.centroidal.problem import FEET, FLIGHT, HELD, MOTORS, STANDS
from brachiate.centroidal.support_polygon import collect, extent
from brachiate.centroidal.vertical import clear_step, near, new_row
from brachiate.compiled import kernel

USUAL = 0.6  # [s] for which somebody who walks stands on a foot
LEAST, MOST = 1.0, 4.0  # times as long, as far as it matters


def sizes(feet: int) -> tuple[int, int, int]:
    """Numbers of states, controls and rows of a stage, at most."""
    return OFFSET + 2 * feet, LANDS + 2 * feet, 36 + SIDES + 2 + 2 + 3 + 10 + 5 + 2 * MOTORS + feet * (2 + SIDES + 2 + 1 + 2)


@kernel
def find_landings(W, O, P, k):
    """Which landings take over at an interval; from there on their feet are assumed where they are heading for."""
    for f in range(FEET):
        P.taken[f] = -1
    for n in range(O.landing_foot.shape[0]):
        if O.landing_foot[n] >= 0 and O.landing_from[n] == k:
            f = O.landing_foot[n]
            P.taken[f] = n
            P.held[f, 0], P.held[f, 1] = P.landing[n, 0], P.landing[n, 1]


@kernel
def lay_turning(S, at, h):
    """Steps of turn and spin but for α."""
    x, w = S.size[2], S.size[4]
    for i in range(3):
        t, o = at + (TURN + i) * w, at + (SPIN + i) * w
        S.step[t + x + TURN + i], S.step[t + x + SPIN + i], S.step[o + x + SPIN + i] = 1.0, h, 1.0


@kernel
def lay_alpha(S, at, h):
    """Turn and spin follow α."""
    w = S.size[4]
    for i in range(3):
        S.step[at + (TURN + i) * w + ALPHA + i], S.step[at + (SPIN + i) * w + ALPHA + i] = 0.5 * h * h, h


@kernel
def lay_constant(S, at, place, h, a):
    """Numbers whose second derivative is a: those at ``place``, in steps that are there."""
    one, w = S.size[1] + S.size[2], S.size[4]
    S.step[at + place[0] * w + one], S.step[at + place[1] * w + one] = 0.5 * h * h * a, h * a


@kernel
def solve3(I, k, x, y, z):
    """I⁻¹ (x, y, z) of a symmetric matrix."""
    a, b, c, d, e, f = I[k, 0, 0], I[k, 1, 1], I[k, 2, 2], I[k, 0, 1], I[k, 0, 2], I[k, 1, 2]
    A, B, D = b * c - f * f, e * f - d * c, d * f - e * b
    E, F, G = a * c - e * e, d * e - a * f, a * b - d * d
    det = a * A + d * B + e * D
    return (A * x + B * y + D * z) / det, (B * x + E * y + F * z) / det, (D * x + F * y + G * z) / det


@kernel
def lay_flight(O, S, at, k):
    """Nothing acts: ċ and angular momentum stay, so spin changes by what the reference would have added to it."""
    x, w, h = S.size[2], S.size[4], O.h[k]
    for i in range(2):
        c, v = at + (C + i) * w, at + (V + i) * w
        S.step[c + x + C + i], S.step[c + x + V + i], S.step[v + x + V + i] = 1.0, h, 1.0
    a = solve3(O.inertia, k, -O.turning[k, 0], -O.turning[k, 1], -O.turning[k, 2])
    lay_constant(S, at, (TURN, SPIN), h, a[0])
    lay_constant(S, at, (TURN + 1, SPIN + 1), h, a[1])
    lay_constant(S, at, (TURN + 2, SPIN + 2), h, a[2])


@kernel
def lay_held(W, O, S, at, k):
    """Any acceleration can be had; it shall be near that of the reference."""
    x, w, h = S.size[2], S.size[4], O.h[k]
    spread = math.sqrt(h / W.unit[0])
    for i in range(2):
        c, v = at + (C + i) * w, at + (V + i) * w
        S.step[c + x + C + i], S.step[c + x + V + i], S.step[v + x + V + i] = 1.0, h, 1.0
        S.step[c + P_ + i], S.step[v + P_ + i] = 0.5 * h * h, h
        near(S, k, P_ + i, O.acceleration[k, i], W.push[0] / spread)


@kernel
def lasting(O, n):
    """How much it matters where a landing is: by the root of how long it stands there, as squares add up over time."""
    return math.sqrt(min(max(O.landing_lasts[n] / USUAL, LEAST), MOST))


@kernel
def lay_landing(W, O, P, S, k, f, mean_x, mean_y):
    """Where a foot shall land: near its place in the reference, within reach; where it is heading for if there is no time left."""
    place, one, n = LANDS + 2 * f, S.size[1] + S.size[2], P.taken[f]
    near(S, k, place, 0.0, W.offset[0] / lasting(O, n))
    near(S, k, place + 1, 0.0, W.offset[0] / lasting(O, n))
    if O.landing_time[n] < W.freeze[0]:
        near(S, k, place, O.landing_heading[n, 0], W.inside[0])
        near(S, k, place + 1, O.landing_heading[n, 1], W.inside[0])
        return
    for i in range(SIDES):
        at = new_row(S, k, 1)
        dx, dy = math.cos(2.0 * math.pi * i / SIDES), math.sin(2.0 * math.pi * i / SIDES)
        S.row[at + place], S.row[at + place + 1] = dx / W.inside[0], dy / W.inside[0]
        S.row[at + one] = -(W.reach[0] + dx * mean_x + dy * mean_y) / W.inside[0]
    lay_room(W, O, S, k, place, n, 1.0, O.landing_most[n])
    lay_room(W, O, S, k, place, n, -1.0, -O.landing_least[n])


@kernel
def lay_room(W, O, S, k, place, n, side, most):
    """The offset of landing n at ``place`` is no farther along its way, or against it, than there is room."""
    if np.isfinite(most):
        at = new_row(S, k, 1)
        for i in range(2):
            S.row[at + place + i] = side * O.landing_way[n, i] / W.inside[0]
        S.row[at + S.size[1] + S.size[2]] = -most / W.inside[0]


@kernel
def lay_reach(W, O, P, S, k):
    """A foot that touches down here stands no farther from the body than its leg stretches."""
    x, one = S.size[2], S.size[1] + S.size[2]
    for n in range(O.landing_foot.shape[0]):
        if O.landing_foot[n] >= 0 and O.landing_touch[n] == k and np.isfinite(O.reach_slack[n]):
            at, place = new_row(S, k, 1), offset_place(S, P, O.landing_foot[n])
            limit = O.reach_slack[n]
            for i in range(2):
                d = O.reach_direction[n, i]
                S.row[at + place + i], S.row[at + x + C + i] = d / W.inside[0], -d / W.inside[0]
                limit -= d * (O.centre[k, i] - P.present[i])
            S.row[at + one] = -limit / W.inside[0]


@kernel
def follow(W, O, P, S, k, at, i, scale):
    """Take the offsets that the reference moves with off a row along an axis."""
    for f in range(W.feet[0]):
        S.row[at + offset_place(S, P, f) + i] -= O.weight[k, f] * scale


@kernel
def lay_tracking(W, O, P, S, k):
    """A node near the reference."""
    x, one = S.size[2], S.size[1] + S.size[2]
    spread = math.sqrt(O.h[k - 1] / W.unit[0])
    for i in range(2):
        at = new_row(S, k, 0)
        scale = spread / W.centre[0]
        S.row[at + x + C + i], S.row[at + one] = scale, -scale * (O.centre[k, i] - P.present[i])
        follow(W, O, P, S, k, at, i, scale)
        near(S, k, x + V + i, O.velocity[k, i], W.velocity[0] / spread)
    for i in range(3):
        near(S, k, x + TURN + i, 0.0, W.turn[0] / spread)
        near(S, k, x + SPIN + i, 0.0, W.spin[0] / spread)


@kernel
def lay_end(W, O, P, S, N, height):
    """Where the last node is bound for: c + ċ/ω and turn + ahead · spin."""
    x, one = S.size[2], S.size[1] + S.size[2]
    time = math.sqrt(max(height, 3.0 * W.least_height[0]) / W.gravity[0])
    for i in range(2):
        at, scale = new_row(S, N, 0), 1.0 / W.capture[0]
        S.row[at + x + C + i], S.row[at + x + V + i] = scale, scale * time
        S.row[at + one] = -scale * (O.centre[N, i] - P.present[i] + O.velocity[N, i] * time)
        follow(W, O, P, S, N, at, i, scale)
    for i in range(3):
        at = new_row(S, N, 0)
        S.row[at + x + TURN + i], S.row[at + x + SPIN + i] = 1.0 / W.end_turn[0], W.ahead[0] / W.end_turn[0]


@kernel
def mean_height(P, k, h):
    """Of the centre of mass in an interval."""
    return P.centre[k, 2] + h * (0.5 * P.velocity[k, 2] + h * P.up[k] / 6.0)


@kernel
def height_over(W, P, k, h, ground):
    """Mean height of the centre of mass over what bears, in an interval; below it if negative, and never next to nothing."""
    H = mean_height(P, k, h) - ground
    least = W.least_height[0]
    return H if abs(H) >= least else least if H >= 0.0 else -least


@kernel
def lay_interval(W, O, P, S, k):
    """What happens in an interval. Returns the height over what bears, 0 if nothing does."""
    at, h, over = clear_step(S, k), O.h[k], 0.0
    lay_turning(S, at, h)
    P.s[k] = 0.0
    if O.how[k] == FLIGHT:
        lay_flight(O, S, at, k)
        return over
    if O.how[k] == HELD:
        lay_held(W, O, S, at, k)
    else:
        count, ground = collect(O, P, k, W.least_height[0])
        over = height_over(W, P, k, h, ground)
        f = max(P.up[k] + W.gravity[0], 0.02 * W.gravity[0])
        P.s[k] = f / over
        lay_stance(W, O, P, S, at, k, f)
        lay_pressure(W, O, P, S, k, count)
        lay_friction(W, O, P, S, k, f, extent(O, P, k, count))
        lay_motors(W, O, P, S, k, f)
    lay_alpha(S, at, h)
    spread = math.sqrt(h / W.unit[0])
    for i in range(3):
        near(S, k, ALPHA + i, 0.0, W.spin_change[0] / spread)
    return over


@kernel
def lay_horizontal(W, O, P, S, N):
    """Stages of the horizontal plan, with what bears laid out for the offsets in P.landing."""
    x, w, feet = S.size[2], S.size[4], W.feet[0]
    S.size[0] = N
    mean_x, mean_y, total = 0.0, 0.0, 1e-9
    for f in range(feet):
        P.held[f, 0], P.held[f, 1] = P.present[12 + 2 * f], P.present[13 + 2 * f]
        share = max(O.weight[0, f], 0.0) + 1e-9
        mean_x, mean_y, total = mean_x + share * P.held[f, 0], mean_y + share * P.held[f, 1], total + share
    mean_x, mean_y = mean_x / total, mean_y / total
    for i in range(S.size[1]):
        S.start[i] = 0.0
    for i in range(2):
        S.start[V + i] = P.present[3 + i]
    for i in range(3):
        S.start[TURN + i], S.start[SPIN + i] = P.present[6 + i], P.present[9 + i]
    for i in range(2 * feet):
        S.start[OFFSET + i] = P.present[12 + i]
    height = 0.0
    for k in range(N):
        S.rows[k], lands = 0, False
        find_landings(W, O, P, k)
        over = lay_interval(W, O, P, S, k)
        height = over if over > 0.0 else height
        for f in range(feet):
            place, at = offset_place(S, P, f), (k * S.size[1] + OFFSET + 2 * f) * w
            S.step[at + place], S.step[at + w + place + 1] = 1.0, 1.0
            if P.taken[f] >= 0:
                lands = True
                lay_landing(W, O, P, S, k, f, mean_x, mean_y)
        S.controls[k] = x if lands else 0 if O.how[k] == FLIGHT else LANDS
        lay_reach(W, O, P, S, k)
        if k > 0:
            lay_tracking(W, O, P, S, k)
    S.rows[N] = 0
    for f in range(FEET):
        P.taken[f] = -1
    lay_tracking(W, O, P, S, N)
    lay_end(W, O, P, S, N, height)


@kernel
def read_landings(W, O, P, S, N):
    """Offsets of landings as planned. Returns how far the farthest is from where it was assumed."""
    w, far = S.size[4], 0.0
    for n in range(O.landing_foot.shape[0]):
        k = O.landing_from[n]
        if O.landing_foot[n] >= 0 and k < N:
            at = k * w + LANDS + 2 * O.landing_foot[n]
            far = max(far, abs(S.z[at] - P.landing[n, 0]), abs(S.z[at + 1] - P.landing[n, 1]))
            P.landing[n, 0], P.landing[n, 1] = S.z[at], S.z[at + 1]
    return far


@kernel
def read_horizontal(W, O, P, S, N):
    """The course along the ground as planned."""
    x, w = S.size[2], S.size[4]
    for k in range(N + 1):
        at = k * w + x
        for i in range(2):
            P.centre[k, i], P.velocity[k, i] = P.present[i] + S.z[at + C + i], S.z[at + V + i]
        for i in range(3):
            P.turn[k, i], P.spin[k, i] = S.z[at + TURN + i], S.z[at + SPIN + i]
    for k in range(N):
        at = k * w
        for i in range(3):
            P.pressure[k, i], P.alpha[k, i], P.turning[k, i] = P.centre[k, i], 0.0, 0.0
        for i in range(2):
            P.cmp[k, i], P.along[k, i] = P.centre[k, i], 0.0
        if O.how[k] == FLIGHT:
            for i in range(3):
                P.alpha[k, i] = (P.spin[k + 1, i] - P.spin[k, i]) / O.h[k]
            continue
        for i in range(3):
            P.alpha[k, i] = S.z[at + ALPHA + i]
        for i in range(3):
            P.turning[k, i] = O.turning[k, i]
            for j in range(3):
                P.turning[k, i] += O.inertia[k, i, j] * P.alpha[k, j]
        if O.how[k] == HELD:
            for i in range(2):
                P.along[k, i] = S.z[at + P_ + i]
        if O.how[k] == STANDS:
            f = max(P.up[k] + W.gravity[0], 0.02 * W.gravity[0])
            P.pressure[k, 2] = mean_height(P, k, O.h[k]) - f / P.s[k]
            for i in range(2):
                P.pressure[k, i] = P.present[i] + S.z[at + P_ + i]
            P.cmp[k, 0] = P.pressure[k, 0] + P.turning[k, 1] / (W.mass[0] * f)
            P.cmp[k, 1] = P.pressure[k, 1] - P.turning[k, 0] / (W.mass[0] * f)
            for i in range(2):
                P.along[k, i] = P.s[k] * (P.centre[k, i] - P.cmp[k, i])
