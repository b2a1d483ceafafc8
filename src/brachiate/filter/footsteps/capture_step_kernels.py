"""Rescue: steps that the reference does not have, for a body that is bound for where nothing bears.

Every plan says where the body will be bound for at its end. If that is farther from the reference than a sole is long, nothing that is
known catches it: not ankles, not hips, not a step that comes anyway. Then a leg that stands makes a step of its own. It is written over
what is known of the reference, for as long as it lasts; plan, contacts and footwork take it for one of the reference's.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from brachiate.centroidal.planner import open_plan
from brachiate.compiled import Floats, Ints, Rows3, entry, kernel, opener
from brachiate.filter.footsteps.mpc_problem import capture, first_node
from brachiate.filter.footsteps.swing_foot import place_of
from brachiate.filter.schedule.arrays import BLIND, CORNERS, open_ahead, open_footing
from brachiate.filter.schedule.leg_force_limits import repeat
from brachiate.filter.whole_body.arrays import open_control
from brachiate.filter.whole_body.tasks import is_held
from brachiate.model.arrays import OK, open_rooms
from brachiate.spatial import Vec3, norm, put_vec3, vec3

NOBODY = -1
AFTER = 0.15  # [s] for which legs have to stand after a step
PREFERRED = 0.2  # how much it counts that a leg carries nothing, beside that it steps outward
SHIFTS = 1.5  # times as long as a step takes the body to get off a leg, if it need not hurry
BEYOND = 1.0  # soles: a body that is bound for farther away than this is not caught
BENT = 0.9  # [rad] nor one that would have to turn so far, as who bends over by that steps rather
REST = 0.1  # [s] after a step before it is known what has come of it
LEG = 0.9  # of the height of the centre of mass: about how long legs are
CALM = 0.25  # soles: one that is no farther off is
APART = 0.5  # soles: feet that are farther apart or together than in the reference are brought back


class Rescue(NamedTuple):
    """A step of its own. Sizes: m soles."""

    swing: Floats  # (1,) [s] for which a foot is in the air; 0: it never is
    clearance: Floats  # (1,) [m] how high it is lifted
    sole: Floats  # (1,) [m] length of a sole
    leg: Ints  # (1,) whose step it is, NOBODY for none
    span: Ints  # (2,) frames: the first in the air, and the one in which it lands
    lifted: Ints  # (1,) whether it is or was in the air
    astray: Ints  # (1,) whether feet are elsewhere by steps like this
    catches: Ints  # (1,) whether it is to catch the body; else it brings a foot back that did
    bears: Ints  # (m,) which corners bore when it began
    left: Rows3  # (1, 3) [m] offset of the foot before
    bound: Floats  # (2,) [m] where the last plan's end was bound for, from where the reference is


open_rescue = opener(Rescue)


@kernel
def bound_for(G, O, P, R, gravity):
    """R.bound ← where the plan's end is bound for, c + ċ/ω, from where the reference is with the feet as they are then. Returns how far."""
    N, feet = G.planned[0], P.held.shape[0]
    period = (max(P.centre[N, 2], 0.1) / gravity) ** 0.5
    for i in range(2):
        x = P.centre[N, i] - O.centre[N, i] + period * (P.velocity[N, i] - O.velocity[N, i])
        for leg in range(min(G.stands.shape[0], feet)):
            offset = G.offset[leg, i]
            for n in range(G.planned[1]):
                if G.key[n, 0] == leg:
                    offset = P.landing[n, i]
            x -= O.weight[N, leg] * offset
        R.bound[i] = x
    return (R.bound[0] * R.bound[0] + R.bound[1] * R.bound[1]) ** 0.5


@kernel
def bends(G, P):
    """How far the body is to turn from the reference along the plan [rad]."""
    most = 0.0
    for j in range(G.planned[0] + 1):
        most = max(most, norm(vec3(P.turn, j)))
    return most


@kernel
def foot_of(T, W, K, S, k, leg):
    """Of the sole that leads a leg: where its middle is, where the reference has it, and the way it points, from heel to toes."""
    m, here, there, way = S.leg.shape[0], Vec3(0.0, 0.0, 0.0), Vec3(0.0, 0.0, 0.0), Vec3(0.0, 0.0, 0.0)
    for n in range(m):
        if S.leg[n] == leg and S.leads[n] == 1:
            part = 1.0 / S.corners[n]
            for j in range(S.corners[n]):
                p = part * place_of(T, W, K, n, j)
                here, there = here + p, there + part * vec3(S.places, CORNERS * (k * m + n) + j)
                way = way + (p if 2 * j >= S.corners[n] else -1.0 * p)  # corners of the heel come first
    return here, there, way


@kernel
def all_stand(S, G, R, k, until):
    """Whether all legs stand until a frame; where nothing is known of it, whether the reference goes nowhere."""
    l = G.stands.shape[0]
    if l < 2:
        return False
    if until >= S.frames[0] and G.gain[BLIND] > 0.0:
        away = (until - k) * S.step[0] * norm(vec3(S.speed, k))
        if away > CALM * R.sole[0]:
            return False
    for leg in range(l):
        if not G.stands[leg] or not G.settled[leg] or G.stance[leg] != S.coming[k * l + leg]:
            return False
        for i in range(k, min(until, S.frames[0] - 1) + 1):
            if not S.on[i * l + leg]:
                return False
    return True


@kernel
def leg_to(T, W, K, S, G, k, x, y):
    """The leg that gets that way without crossing another one; if any does, the one that carries less."""
    l, best, found = G.stands.shape[0], -np.inf, NOBODY
    period = (max(K.com[2], 0.1) / -W.gravity[2]) ** 0.5
    bound = Vec3(K.com[0] + period * K.com[3], K.com[1] + period * K.com[4], 0.0)
    size = max((x * x + y * y) ** 0.5, 1e-9)
    for leg in range(l):
        here, there, way = foot_of(T, W, K, S, k, leg)
        others, aside = Vec3(0.0, 0.0, 0.0), Vec3(0.0, 0.0, 0.0)
        for other in range(l):
            if other != leg:
                now, then, _ = foot_of(T, W, K, S, k, other)
                others, aside = others + (1.0 / (l - 1)) * now, aside + (1.0 / (l - 1)) * (there - then)
        across = Vec3(way.y, -way.x, 0.0)  # the side of the body that the leg is on
        across = (1.0 if across @ aside > 0.0 else -1.0) / max(norm(across), 1e-9) * across
        outward = (x * across.x + y * across.y) / size
        apart = Vec3(here.x - others.x, here.y - others.y, 0.0)
        load = (bound - Vec3(others.x, others.y, 0.0)) @ apart / max(apart @ apart, 1e-9)
        score = outward - PREFERRED * (2.0 * min(max(load, 0.0), 1.0) - 1.0)
        if score > best:
            best, found = score, leg
    return found


@kernel
def begin_step(S, G, R, leg, start, k, catches):
    """Let a leg make a step. The stance it is in is the one it comes to; that it leaves is the one before, by number."""
    m, many = S.leg.shape[0], S.spans.shape[0] // G.stands.shape[0]
    R.leg[0], R.lifted[0], R.astray[0], R.catches[0] = leg, 0, 1, catches
    R.span[0], R.span[1] = start, start + max(int(R.swing[0] / S.step[0]), 2)
    for n in range(m):
        R.bears[n] = S.bears[k * m + n]
    G.aimed[leg * many + G.stance[leg]] = 0
    G.stance[leg] -= 1
    for i in range(3):
        R.left[0, i] = G.offset[leg, i]


@kernel
def end_step(G, R):
    """The step is over, or was never made."""
    leg = R.leg[0]
    if G.stands[leg] and not R.lifted[0]:
        G.stance[leg] += 1
    R.leg[0] = NOBODY


@kernel
def write_frame(S, V, G, R, i):
    """Frame i as it is with the step."""
    m, l, dt, mine = S.leg.shape[0], G.stands.shape[0], S.step[0], R.leg[0]
    start, end = R.span[0], R.span[1]
    for leg in range(l):
        at = i * l + leg
        V.on[at], V.stance[at], V.coming[at], V.until[at] = S.on[at], S.stance[at], S.coming[at], S.until[at]
        if leg == mine and i < end:
            left = G.stance[leg]
            V.stance[at] = left if i < (start + end) // 2 else left + 1
            V.coming[at] = left if i < start else left + 1
            V.on[at], V.until[at] = 1 if i < start else 0, 0.0 if i < start else (end - i) * dt
        elif leg != mine and start <= i < end and not S.on[at]:  # it stays until the other one has come
            V.on[at], V.stance[at], V.coming[at], V.until[at] = 1, G.stance[leg], G.stance[leg], 0.0
    for n in range(m):
        at, leg = i * m + n, S.leg[n]
        V.bears[at], V.soon[at] = S.bears[at], S.soon[at]
        if leg == mine and start <= i < end:
            V.bears[at], V.soon[at] = 0, (1 << S.corners[n]) - 1
        elif V.on[i * l + leg] and not S.on[i * l + leg]:
            V.bears[at] = V.soon[at] = R.bears[n]


@kernel
def go_on(S, G, i):
    """Frame i, of which nothing is known, like the one before: as if the reference went on as it does."""
    m, l = S.leg.shape[0], G.stands.shape[0]
    put_vec3(S.centre, i, vec3(S.centre, i - 1) + S.step[0] * vec3(S.speed, i - 1))
    put_vec3(S.speed, i, vec3(S.speed, i - 1))
    put_vec3(S.spin, i, vec3(S.spin, i - 1))
    put_vec3(S.turn, i, vec3(S.turn, i - 1))
    put_vec3(S.acceleration, i, Vec3(0.0, 0.0, 0.0))
    put_vec3(S.turning, i, Vec3(0.0, 0.0, 0.0))
    S.slack[i], S.long_flight[i] = S.slack[i - 1], S.long_flight[i - 1]
    for x in range(3):
        for y in range(3):
            S.inertia[i, x, y] = S.inertia[i - 1, x, y]
    for n in range(m):
        S.bears[i * m + n], S.soon[i * m + n] = S.bears[(i - 1) * m + n], S.soon[(i - 1) * m + n]
        for j in range(S.corners[n]):
            put_vec3(S.places, CORNERS * (i * m + n) + j, vec3(S.places, CORNERS * ((i - 1) * m + n) + j))
    if S.most.shape[0] > 0:
        repeat(S, l, i, i - 1, Vec3(0.0, 0.0, 0.0), 1.0, 0.0)
    for leg in range(l):
        at, was = i * l + leg, (i - 1) * l + leg
        S.on[at], S.stance[at], S.coming[at], S.until[at] = S.on[was], S.stance[was], S.coming[was], S.until[was]
        S.share[at] = S.share[was]
        put_vec3(S.moved, at, vec3(S.moved, was))
        put_vec3(S.moved_rate, at, vec3(S.moved_rate, was))


@entry
def write(source, view, footing, rescue, k, horizon):
    """Write the step over what is known from frame k on. Returns whether there is one: the reference may have lifted the leg itself."""
    (S,) = open_ahead(source)
    (V,) = open_ahead(view)
    (G,) = open_footing(footing)
    (R,) = open_rescue(rescue)
    l, leg = G.stands.shape[0], R.leg[0]
    if not S.on[k * l + leg]:
        end_step(G, R)
        return 0
    V.frames[0] = S.frames[0]
    if G.gain[BLIND] > 0.0:  # else what is known ends because the motion does
        V.frames[0] = max(S.frames[0], min(R.span[1] + int(AFTER / S.step[0]), S.slack.shape[0]))
    for i in range(S.frames[0], V.frames[0]):
        go_on(S, G, i)
    for i in range(max(k - 1, 0), min(k + horizon, V.frames[0])):
        write_frame(S, V, G, R, i)
    for n in range(S.spans.shape[0]):
        V.spans[n, 0], V.spans[n, 1] = S.spans[n, 0], S.spans[n, 1]
    at = leg * (S.spans.shape[0] // l) + G.stance[leg] + 1
    V.spans[at, 0], V.spans[at, 1] = R.span[1], max(S.spans[at, 1], R.span[1] + 1)
    if G.stance[leg] >= 0:
        V.spans[at - 1, 1] = R.span[0]
    return 1


@kernel
def stretched(G, O, P, j, patch):
    """By how much lower the body has to be at node j than over feet where the reference has them, for a leg to reach its patch."""
    leg, x, y = O.foot[j, patch], P.centre[j, 0] - O.centre[j, 0], P.centre[j, 1] - O.centre[j, 1]
    to_x, to_y = G.offset[leg, 0], G.offset[leg, 1]
    for n in range(G.planned[1]):
        if O.landing_foot[n] == leg and O.landing_from[n] <= j:
            to_x, to_y = O.landing_heading[n, 0], O.landing_heading[n, 1]
    long = LEG * (O.centre[j, 2] - O.patch[j, patch, 0, 2])
    across = min((to_x - x) ** 2 + (to_y - y) ** 2, 0.25 * long * long)
    return long - (long * long - across) ** 0.5


@entry
def amend(footing, plan, rescue, dt, k):
    """Tell a plan what is other with steps of its own: when a foot is elsewhere, and how low the body has to be for legs to reach."""
    (G,) = open_footing(footing)
    (R,) = open_rescue(rescue)
    _, O, P, _, _ = open_plan(plan)
    N = G.planned[0]
    for n in range(G.planned[1]):
        if R.leg[0] != NOBODY and G.key[n, 0] == R.leg[0] and G.key[n, 1] == G.stance[R.leg[0]] + 1:
            middle = ((R.span[0] + R.span[1]) // 2 - k) * dt
            O.landing_from[n] = min(first_node(G, N, middle) if middle > 0.0 else 0, O.landing_touch[n], N - 1)
    for j in range(1, min(N, P.count[0])):
        lower = 0.0
        for patch in range(O.points.shape[1]):
            if O.points[j, patch] > 0 and O.foot[j, patch] >= 0:
                lower = max(lower, stretched(G, O, P, j, patch))
        O.slack[j] -= lower
    return OK


@entry
def carry(control, ahead, footing, rescue, k):
    """Lift the foot that steps, and bring it down again."""
    (K,) = open_control(control)
    (S,) = open_ahead(ahead)
    (G,) = open_footing(footing)
    (R,) = open_rescue(rescue)
    leg, dt = R.leg[0], S.step[0]
    start, end = R.span[0], R.span[1]
    if k < start or k >= end or G.stands[leg]:
        return OK
    R.lifted[0] = 1
    x = (k - start) / (end - start)
    high, whole = 16.0 * R.clearance[0], (end - start) * dt
    y = 1.0 - x
    up = Vec3(0.0, 0.0, high * x * x * y * y)
    climb = Vec3(0.0, 0.0, 2.0 * high * x * y * (y - x) / whole)
    jolt = Vec3(0.0, 0.0, 2.0 * high * ((y - x) * (y - x) - 2.0 * x * y) / whole**2)
    for n in range(S.leg.shape[0]):
        if S.leg[n] == leg and S.leads[n] == 1:
            put_vec3(K.offset, n, vec3(K.offset, n) + up)
            put_vec3(K.drift, n, vec3(K.drift, n) + climb)
            put_vec3(K.swerve, n, vec3(K.swerve, n) + jolt)
    return OK


@kernel
def apart(G):
    """How much farther apart or together two feet are than in the reference, at most; and whose foot is farthest away."""
    far, most, which = 0.0, -1.0, NOBODY
    for leg in range(G.stands.shape[0]):
        x = vec3(G.offset, leg)
        size = (x.x * x.x + x.y * x.y) ** 0.5
        if size > most:
            most, which = size, leg
        for other in range(leg):
            d = x - vec3(G.offset, other)
            far = max(far, (d.x * d.x + d.y * d.y) ** 0.5)
    return far, which


@entry
def watch(key, control, ahead, footing, plan, rescue, k):
    """See whether the last plan catches the body, and let a leg make a step if not. Returns whether it does."""
    T, W = open_rooms(key)
    (K,) = open_control(control)
    (S,) = open_ahead(ahead)
    (G,) = open_footing(footing)
    (R,) = open_rescue(rescue)
    _, O, P, _, _ = open_plan(plan)
    dt, gravity = S.step[0], -W.gravity[2]
    if is_held(K, k, True):  # hands catch it
        return 0
    far, (x, y) = bound_for(G, O, P, R, gravity), capture(K, S, G, k, gravity)
    away = (x * x + y * y) ** 0.5 > CALM * R.sole[0]
    # Who is on his way back already need not step, however far he bends over
    lost = far > BEYOND * R.sole[0] or (x * R.bound[0] + y * R.bound[1] > 0.0 and bends(G, P) > BENT)
    if R.leg[0] != NOBODY:
        if not lost or R.span[0] <= k + 1:
            return 0
        end_step(G, R)  # there was no hurry, now there is
    swing, after = int(R.swing[0] / dt), int(AFTER / dt)
    if k < R.span[1] + int(REST / dt):
        return 0
    if lost:
        if not all_stand(S, G, R, k, k + swing + after):
            return 0
        leg = leg_to(T, W, K, S, G, k, x, y)
        begin_step(S, G, R, leg, k + 1, k, 1)
        many = S.spans.shape[0] // G.stands.shape[0]
        at = leg * many + G.stance[leg] + 1
        G.aims[at, 0], G.aims[at, 1], G.aimed[at] = G.shift[0] + x, G.shift[1] + y, 1
        return 1
    if R.astray[0]:
        if away or far > CALM * R.sole[0]:
            return 0
        wide, leg = apart(G)
        if wide < APART * R.sole[0]:
            R.astray[0] = 0
            return 0
        shift = int(SHIFTS * R.swing[0] / dt)
        if not all_stand(S, G, R, k, k + shift + swing + after):
            return 0
        begin_step(S, G, R, leg, k + shift, k, 0)
        return 1
    return 0
